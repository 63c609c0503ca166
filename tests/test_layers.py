"""The layer table of ARCHITECTURE.md, enforced: a file imports only from the floors below its own.

Python files are read with ``ast``, Cython files line by line, so nothing is imported or built here.
"""
import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("api", "gpu", "graph", "ops", "optimizer", "vm")
EMPTY_INITS = ("vm", "ops", "graph", "optimizer")

# Floor 0 is part of the folder vm: what every kernel may use.
FLOOR_0 = {"vm.abi", "vm.call_stack", "vm.pool", "vm.workers"}

# layer → layers it may import from, its own included
ALLOWED = {
    "floor0": {"floor0"},
    "graph": {"graph", "floor0"},
    "vm": {"vm", "graph", "floor0"},
    "ops": {"ops", "graph", "floor0"},
    "optimizer": {"optimizer", "ops", "vm", "graph", "floor0"},
    "gpu": {"gpu", "optimizer", "ops", "vm", "graph", "floor0"},
    "api": {"api", "gpu", "optimizer", "ops", "vm", "graph", "floor0"},
}

CYTHON_IMPORT = re.compile(r"^\s*(?:from\s+(phintys[\w.]*)\s+c?import\s+(.+)|c?import\s+(phintys[\w.]*))")


def module_name(path):
    """``ops/types/dtypes.py`` → ``ops.dtypes``; a package's ``__init__`` is the package."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(name):
    """The layer of a module name without ``phintys.``; what is in none of the other folders is api."""
    if name in FLOOR_0:
        return "floor0"
    first = name.split(".")[0]
    return first if first in ALLOWED and first != "api" else "api"


def python_imports(path):
    """Absolute names of the phintys modules that a Python file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            for alias in node.names:
                yield f"{node.module}.{alias.name}" if is_module(f"{node.module}.{alias.name}") else node.module
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module":
            yield from (piece.value for piece in ast.walk(node) if isinstance(piece, ast.Constant)
                        and isinstance(piece.value, str))


def cython_imports(path):
    """The same of a Cython file."""
    for line in path.read_text().splitlines():
        found = CYTHON_IMPORT.match(line)
        if found:
            module, names, plain = found.groups()
            if plain:
                yield plain
                continue
            for name in re.findall(r"\w+", names):
                yield f"{module}.{name}" if is_module(f"{module}.{name}") else module


def is_module(name):
    """Whether an absolute name is a module of the project."""
    parts = name.split(".")
    if parts[0] != "phintys":
        return False
    place = ROOT.joinpath(*parts[1:]) if len(parts) > 1 and parts[1] in FOLDERS else ROOT.joinpath("api", *parts[1:])
    return any(place.with_name(place.name + suffix).exists() for suffix in (".py", ".pyx")) or place.is_dir()


def sources():
    for folder in FOLDERS:
        for suffix in ("*.py", "*.pyx", "*.pxd"):
            yield from sorted((ROOT / folder).rglob(suffix))


def violations(path):
    layer = layer_of(module_name(path))
    read = python_imports if path.suffix == ".py" else cython_imports
    for name in read(path):
        if name.split(".")[0] != "phintys":
            continue
        target = layer_of(name.partition(".")[2])
        if target not in ALLOWED[layer]:
            yield f"{path.relative_to(ROOT)} (layer {layer}) imports {name} (layer {target})"


def test_files_import_only_from_the_floors_below():
    assert [line for path in sources() for line in violations(path)] == []


def test_there_are_sources_on_every_floor():
    assert {layer_of(module_name(path)) for path in sources()} == set(ALLOWED)


@pytest.mark.parametrize("folder", EMPTY_INITS)
def test_package_init_imports_nothing(folder):
    tree = ast.parse((ROOT / folder / "__init__.py").read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def imports_at_load(path):
    """Modules of its own folder that a file needs while it is loaded: its imports outside functions."""
    tree = ast.parse(path.read_text())
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield f"{node.module}.{alias.name}" if is_module(f"{node.module}.{alias.name}") else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        waiting.extend(ast.iter_child_nodes(node))


def test_files_of_a_folder_import_downward_only():
    """No cycles among the imports that happen while modules are loaded."""
    graph = {}
    for path in sources():
        if path.suffix != ".py":
            continue
        name = "phintys." + module_name(path)
        name = "phintys" + name.removeprefix("phintys.api") if name.startswith("phintys.api") else name
        graph[name] = {target for target in imports_at_load(path) if target.startswith("phintys.") and target != name}
    done = set()
    while True:
        ready = {name for name in graph if name not in done and not (graph[name] & set(graph)) - done}
        if not ready:
            break
        done |= ready
    assert set(graph) - done == set()
