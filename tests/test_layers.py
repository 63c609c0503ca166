"""The floors and rooms of ARCHITECTURE.md, enforced: a file imports only what is below it.

Every import counts: at the top of a file, inside a function, in Cython (``cimport``) and by ``import_module``. Files
are read as text, so nothing is imported or built here. What is below ``if TYPE_CHECKING:`` is never imported, and
may name any type. A folder of one floor is a *room*; rooms have an order, too.
"""
import ast
import re
import runpy
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("api", "gpu", "graph", "ops", "optimizer", "vm")

# Floor 0 is part of the folder vm: what every kernel may use.
FLOOR_0 = {"vm.abi", "vm.call_stack", "vm.free_threads", "vm.guards", "vm.kernel_spec", "vm.limits", "vm.places",
           "vm.pool", "vm.python_api", "vm.scalar_steps", "vm.thresholds", "vm.workers"}

# floor → floors it may import from, its own included
ALLOWED = {
    "floor 0": {"floor 0"},
    "graph": {"graph", "floor 0"},
    "vm": {"vm", "graph", "floor 0"},
    "ops": {"ops", "graph", "floor 0"},
    "optimizer": {"optimizer", "ops", "vm", "graph", "floor 0"},
    "gpu": {"gpu", "optimizer", "ops", "vm", "graph", "floor 0"},
    "api": {"api", "gpu", "optimizer", "ops", "vm", "graph", "floor 0"},
}

# The rooms of a floor, lowest first: a file imports from its own room and those before it. "" is the folder itself.
# The rooms of graph and api import from each other; only their files have an order.
ROOMS = {
    "ops": ["native", "types", "elementwise", "shape", "identity", "reduction", "creation", "cumulative", "products",
            "indexing", "rearranging", "linalg", "factorizations", "sorting", "fourier", "lists", "pooling", "nnet",
            "convolution", "sparse", "random", "graphs", "loops", "", "compositions"],
    "vm": ["", "linking", "explaining", "containers", "machine", "loops", "callables", "files"],
    "optimizer": ["engine", "passes", "rewrites", ""],
}

# Folders whose import name is not ``phintys.`` and their path; ``setup.py`` says the same to pip.
RENAMED_FOLDERS = {"api": "phintys", "api/theano": "phintys"}
MOST_FILES = 32                     # in one folder: Python, Cython, stubs and headers
MOST_COLUMNS = 120
MOST_LINES_OF_A_MACRO = 50

CYTHON_IMPORT = re.compile(r"^\s*(?:from\s+(phintys[\w.]*)\s+c?import\s+\(?(.+)|c?import\s+(phintys[\w.]*))")


def import_name(path):
    """``ops/shape/join.py`` → ``phintys.ops.shape.join``; a package's ``__init__`` is the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    for depth in range(len(parts), 0, -1):
        if "/".join(parts[:depth]) in RENAMED_FOLDERS:
            return ".".join([RENAMED_FOLDERS["/".join(parts[:depth])], *parts[depth:]])
    return ".".join(["phintys", *parts])


@cache
def modules():
    """Import name → the files of that module: one of Python, or the two of Cython."""
    found = {}
    for folder in FOLDERS:
        for suffix in ("*.py", "*.pyx", "*.pxd", "*.pxi"):
            for path in sorted((ROOT / folder).rglob(suffix)):
                found.setdefault(import_name(path), []).append(path)
    return found


@cache
def of_theano():
    """The modules that are there only because Theano has them: files, and rows of a table."""
    rows = runpy.run_path(str(ROOT / "api/theano/theano_modules.py"))["MODULES"]
    files = {name for name, paths in modules().items() if is_of_theano(paths[0])}
    return files - {"phintys"} | {f"phintys.{name}" for name in rows}


def is_of_theano(path):
    return path.is_relative_to(ROOT / "api/theano")


class _Run(ast.NodeTransformer):
    """A module without what only type checkers read."""

    def visit_If(self, node):
        only_for_checkers = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return node.orelse or ast.Pass() if only_for_checkers else self.generic_visit(node)


def called(call):
    """The last part of the name that is called."""
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def python_imports(path):
    """Absolute names of what a Python file imports."""
    for node in ast.walk(_Run().visit(ast.parse(path.read_text()))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield from (most_precise(node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and called(node).lstrip("_") == "import_module":
            yield from (piece.value for piece in ast.walk(node) if isinstance(piece, ast.Constant)
                        and isinstance(piece.value, str))


def cython_imports(path):
    """The same of a Cython file, line by line."""
    for line in path.read_text().splitlines():
        found = CYTHON_IMPORT.match(line)
        if found:
            module, names, plain = found.groups()
            yield from [plain] if plain else (most_precise(module, name) for name in re.findall(r"\w+", names))


def most_precise(module, name):
    """What ``from module import name`` reads: a module of that name if there is one."""
    return f"{module}.{name}" if f"{module}.{name}" in {*modules(), *of_theano()} else module


@cache
def imports_of(name):
    """The modules of phintys that a module imports, without itself."""
    found = set()
    for path in modules()[name]:
        found.update((python_imports if path.suffix == ".py" else cython_imports)(path))
    return {target for target in found if target in modules()} - {name}


def floor_of(name):
    inner = name.removeprefix("phintys.")
    first = inner.split(".")[0]
    return "floor 0" if inner in FLOOR_0 else first if first in ALLOWED and first != "api" else "api"


def room_of(name):
    """The position of a module's room on its floor."""
    parts = name.split(".")
    rooms = ROOMS[parts[1]]
    return rooms.index(parts[2] if len(parts) > 3 or parts[2:] and parts[2] in rooms and is_folder(name) else "")


def is_folder(name):
    return any(path.stem == "__init__" for path in modules()[name])


def test_files_import_only_from_the_floors_below():
    wrong = [f"{name} imports {target}" for name in modules() for target in imports_of(name)
             if floor_of(target) not in ALLOWED[floor_of(name)]]
    assert wrong == []


def test_nothing_else_imports_what_is_there_for_theano():
    """The package imports it when a program asks for it, `theano_finder` when a name is missing."""
    ours = {name: path for name, paths in modules().items() for path in paths
            if path.suffix == ".py" and not is_of_theano(path)}
    imports = {name: of_theano().intersection(python_imports(path)) for name, path in ours.items()}
    assert {name: sorted(found) for name, found in imports.items() if found} == {
        "phintys": ["phintys.missing_names"],
        "phintys.namespace": ["phintys.gof.link", "phintys.theano_flags"],
        "phintys.theano_finder": ["phintys.missing_names", "phintys.theano_modules"]}


@pytest.mark.parametrize("floor", ROOMS)
def test_files_import_only_from_the_rooms_below(floor):
    here = [name for name in modules() if name.startswith(f"phintys.{floor}.")]
    wrong = [f"{name} imports {target}" for name in here for target in imports_of(name)
             if target in here and floor_of(target) == floor_of(name) and room_of(target) > room_of(name)]
    assert wrong == []


def test_every_room_has_a_place():
    for floor, rooms in ROOMS.items():
        assert {path.parent.name for path in (ROOT / floor).glob("*/__init__.py")} == {*rooms} - {""}


def test_there_are_sources_on_every_floor():
    assert {floor_of(name) for name in modules()} == set(ALLOWED)


def test_no_two_modules_need_each_other():
    """No circle of imports, not even one that closes while a program runs."""
    above = {name: set() for name in modules()}
    missing = {name: len(imports_of(name)) for name in modules()}
    for name in modules():
        for target in imports_of(name):
            above[target].add(name)
    ready = [name for name, count in missing.items() if not count]
    while ready:
        for name in above[ready.pop()]:
            missing[name] -= 1
            if not missing[name]:
                ready.append(name)
    assert {name: sorted(target for target in imports_of(name) if missing[target])
            for name, count in missing.items() if count} == {}


def test_no_module_is_looked_up_where_it_may_not_be_imported():
    lookup = re.compile(r"""sys\.modules(\[|\.get\()["']phintys""")
    assert [name for name, paths in modules().items() for path in paths if lookup.search(path.read_text())] == []


@pytest.mark.parametrize("floor", ["vm", "ops", "graph", "optimizer"])
def test_package_inits_below_the_api_import_nothing(floor):
    inits = [ROOT / floor / "__init__.py", *(ROOT / floor).glob("*/__init__.py")]
    trees = [ast.parse(path.read_text()) for path in inits]
    assert not [node for tree in trees for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def test_no_folder_is_crowded():
    counts = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".pyx", ".pxd", ".pyi", ".pxi", ".h") and path.stem != "__init__":
                folder = path.parent.relative_to(ROOT).as_posix()
                counts[folder] = counts.get(folder, 0) + 1
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_no_macro_of_c_is_long():
    """A debugger cannot step through a macro; long ones are templates (``ops/native/sets.h``)."""
    long_macros = {}
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.h"))):
        for macro in re.finditer(r"^ *# *define (\w+)(?:.*\\\n)*.*", path.read_text(), re.MULTILINE):
            length = macro[0].count("\n") + 1
            if length > MOST_LINES_OF_A_MACRO:
                long_macros[path.relative_to(ROOT).as_posix(), macro[1]] = length
    assert long_macros == {}


def test_lines_of_native_sources_fit():
    """Up to 120 columns, as ruff demands of Python's files."""
    long_lines = [f"{path.relative_to(ROOT).as_posix()}:{number}" for folder in FOLDERS
                  for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".pyx", ".pxd", ".pxi", ".h")
                  for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > MOST_COLUMNS]
    assert long_lines == []


@pytest.mark.parametrize("floor", ROOMS)
def test_the_architecture_page_lists_every_room_in_order(floor):
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.split(f"| room of `{floor}/` | holds |\n|---|---|\n")[1].split("\n\n")[0]
    named = [row.split("|")[1].strip().strip("`") for row in table.splitlines()]
    assert ["" if name == "(root)" else name for name in named] == ROOMS[floor]


def test_the_architecture_page_is_short():
    """It is read from start to end; what concerns one part is at the head of its files."""
    words = [word for word in (ROOT / "ARCHITECTURE.md").read_text().split() if re.search(r"\w", word)]
    assert len(words) <= 3500


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md",
                                      *sorted(f"docs/guide/{path.name}" for path in (ROOT / "docs/guide").iterdir())])
def test_paths_in_the_documents_exist(document):
    """Paths of source files that begin with a folder of the source, placeholders such as ``<family>`` excepted."""
    paths = re.findall(rf"`((?:{'|'.join([*FOLDERS, 'tests'])})/[\w/.]+)`", (ROOT / document).read_text())
    assert [path for path in paths if not (ROOT / path).exists() and not [*ROOT.glob(f"{path}.py*")]] == []


def test_every_folder_says_what_it_holds():
    inits = [path for folder in FOLDERS for path in (ROOT / folder).rglob("__init__.py")]
    assert [path.parent.relative_to(ROOT).as_posix() for path in inits
            if not ast.get_docstring(ast.parse(path.read_text()))] == []
