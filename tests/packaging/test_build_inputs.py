"""``setup.py``: on which files each extension module depends, and what ``PHINTYS_ONLY`` builds.

The oracle for Cython's files is Cython's own tree of dependencies, for headers the C compiler (``gcc -MM`` and alike).
"""
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import Cython
import Cython.Build
import numpy
import pytest
import setuptools
from Cython.Build.Dependencies import create_dependency_tree
from Cython.Compiler.Main import Context
from Cython.Compiler.Options import CompilationOptions, default_options
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parents[2]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
SOURCES = {
    "setup.py": (ROOT / "setup.py").read_text(),
    "vm/opcodes.py": 'NAMES = ["STOP"]\ndef cython_enum():\n    return "cdef enum: " + ", ".join(NAMES)\n',
    "vm/abi.pxd": "from phintys.vm.pool cimport (\n    Buffer,\n)\n",
    "vm/abi.pyx": "",
    "vm/pool.pxd": 'cdef extern from "pool_sizes.h":\n    pass\n',
    "vm/pool.pyx": "",
    "vm/pool_sizes.h": '#include "numbers.h"\n',
    "vm/numbers.h": "",
    "vm/machine/loop.pyx": 'include "opcodes.pxi"\n',
    "ops/sums/sum_kernel.pyx": 'cimport phintys.vm.abi\ncdef extern from "sums/sum_loops.h" nogil:\n    pass\n',
    "ops/sums/sum_loops.h": "",
}


@pytest.fixture
def setup_py(monkeypatch):
    """Runs the ``setup.py`` of a folder without building; returns its extension modules, and leaves nothing behind."""
    found = []
    monkeypatch.setattr(setuptools, "setup", lambda **arguments: found.extend(arguments["ext_modules"]))
    monkeypatch.setattr(Cython.Build, "cythonize", None)        # only building modules needs C code
    monkeypatch.chdir(Path.cwd())                       # setup.py goes to its own folder

    def run(folder, only=""):
        found.clear()
        monkeypatch.setenv("PHINTYS_ONLY", only)
        run.names = runpy.run_path(str(folder / "setup.py"))
        return {module.name: module for module in found}
    return run


@pytest.fixture
def tree(tmp_path):
    """A small source tree whose modules were built a while ago: all sources are older than all modules."""
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1000, 1000))
    return tmp_path


def build(tree, setup_py):
    """What a build leaves: each module newer than what it was made from."""
    setup_py(tree)
    os.utime(tree / "build/cimport/opcodes.pxi", (1000, 1000))
    for source in tree.glob("*/**/*.pyx"):
        if "build" not in source.relative_to(tree).parts:
            module = source.with_suffix(SUFFIX)
            module.touch()
            os.utime(module, (2000, 2000))


def chosen(setup_py, tree, only):
    return set(setup_py(tree, only))


def test_depends_on_what_it_includes_and_cimports_through_other_files(tree, setup_py):
    modules = setup_py(tree)
    assert set(modules["phintys.ops.sums.sum_kernel"].depends) == {
        "ops/sums/sum_kernel.pyx", "ops/sums/sum_loops.h", "vm/abi.pxd", "vm/pool.pxd", "vm/pool_sizes.h",
        "vm/numbers.h"}
    assert set(modules["phintys.vm.machine.loop"].depends) == {"vm/machine/loop.pyx", "build/cimport/opcodes.pxi"}


def test_only_modules_with_loops_in_c_are_optimized_most(tree, setup_py):
    """The compiler takes nearly twice as long for each level, and wrappers gain nothing from it."""
    levels = {name: [flag for flag in module.extra_compile_args if flag.startswith("-O")]
              for name, module in setup_py(tree).items()}
    assert levels.pop("phintys.ops.sums.sum_kernel") == ["-O3"]
    assert levels.pop("phintys.vm.machine.loop") == ["-O2"]
    assert set(map(tuple, levels.values())) == {("-O1",)}


def test_the_loops_of_strided_copies_are_compiled_once(setup_py):
    """They were compiled in seventeen modules, which took a tenth of a build."""
    users = {name for name, module in setup_py(ROOT).items() if "ops/native/strided_copy.h" in module.depends}
    assert users == {"phintys.ops.native.strided_copy"}


def test_the_named_module_alone_while_declarations_are_as_they_were(tree, setup_py):
    build(tree, setup_py)
    (tree / "vm/pool.pyx").touch()
    assert chosen(setup_py, tree, "ops.sums.sum_kernel") == {"phintys.ops.sums.sum_kernel"}


@pytest.mark.parametrize("changed, built", [
    ("vm/pool.pxd", {"vm.abi", "vm.pool", "ops.sums.sum_kernel"}),
    ("vm/numbers.h", {"vm.abi", "vm.pool", "ops.sums.sum_kernel"}),
    ("vm/abi.pxd", {"vm.abi", "ops.sums.sum_kernel"}),
    ("ops/sums/sum_loops.h", {"ops.sums.sum_kernel", "vm.abi"})])
def test_modules_whose_declarations_changed_are_built_too(tree, setup_py, changed, built):
    build(tree, setup_py)
    (tree / changed).touch()
    assert chosen(setup_py, tree, "vm.abi") == {f"phintys.{name}" for name in built}


def test_a_new_opcode_builds_the_loop_whatever_is_named(tree, setup_py):
    build(tree, setup_py)
    opcodes = tree / "vm/opcodes.py"
    opcodes.write_text(opcodes.read_text().replace('"STOP"', '"LOAD", "STOP"'))
    assert chosen(setup_py, tree, "vm.pool") == {"phintys.vm.pool", "phintys.vm.machine.loop"}


@pytest.mark.parametrize("changed, remains", [("vm/pool.pxd", False), ("ops/sums/sum_kernel.pyx", False),
                                              ("ops/sums/sum_loops.h", True), ("vm/machine/loop.pyx", True)])
def test_c_code_older_than_a_declaration_is_translated_again(tree, setup_py, changed, remains):
    """Also if the declaration is named by another file only, which Cython does not always see."""
    module = setup_py(tree)["phintys.ops.sums.sum_kernel"]
    code = tree / "ops/sums/sum_kernel.c"
    code.write_text(f"/* Generated by Cython {Cython.__version__} */\n")
    os.utime(code, (2000, 2000))
    setup_py.names["remove_outdated_translation"](module)
    assert code.exists()
    os.utime(tree / changed, (3000, 3000))
    setup_py.names["remove_outdated_translation"](module)
    assert code.exists() == remains


@pytest.mark.parametrize("first", ["/* Generated by Cython 0.29.1 */", "#error Do not use this file", ""])
def test_c_code_of_another_cython_or_of_none_is_translated_again(tree, setup_py, first):
    module = setup_py(tree)["phintys.ops.sums.sum_kernel"]
    code = tree / "ops/sums/sum_kernel.c"
    code.write_text(first + "\n")
    setup_py.names["remove_outdated_translation"](module)
    assert not code.exists()


def test_c_code_of_today_is_compiled_as_it_is(tree, setup_py, monkeypatch):
    """In a new environment, too, where the files of Cython itself are newer than it."""
    modules = setup_py(tree)
    code = tree / "ops/sums/sum_kernel.c"
    code.write_text(f"/* Generated by Cython {Cython.__version__} */\n")
    command = setup_py.names["TranslateAndBuild"](setuptools.Distribution())
    command.extensions = list(modules.values())
    asked = []

    def cythonize(extensions, **options):
        asked.extend(extension.name for extension in extensions)
        return [setuptools.Extension(extension.name, ["made.c"]) for extension in extensions]

    monkeypatch.setitem(command.translate.__globals__, "cythonize", cythonize)
    monkeypatch.setattr(build_ext, "run", lambda self: None)
    command.run()
    assert sorted([*asked, "phintys.ops.sums.sum_kernel"]) == sorted(modules)
    assert {extension.sources[0] for extension in command.extensions} == {"made.c", "ops/sums/sum_kernel.c"}


def test_an_unknown_module_is_refused(tree, setup_py):
    with pytest.raises(SystemExit, match="PHINTYS_ONLY names no extension module: vm.pol. Expected names like"):
        setup_py(tree, "vm.pol,vm.pool")


def copy_of_native_sources(tmp_path):
    """What ``setup.py`` reads of this tree, so that running it leaves the tree alone."""
    folders = ("vm", "ops")
    for path in (ROOT / "setup.py", *(path for folder in folders for path in (ROOT / folder).rglob("*"))):
        if path.suffix in {".py", ".pyx", ".pxd", ".pxi", ".h"}:
            target = tmp_path / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return tmp_path


@pytest.fixture
def native_sources(tmp_path, setup_py):
    """(folder, extension modules of this tree)"""
    tree = copy_of_native_sources(tmp_path)
    return tree, setup_py(tree).values()


def inside(tree, paths):
    """Those of some paths that are in the tree, relative to it, with links resolved."""
    resolved = {Path(path).resolve() for path in paths}
    return {str(path.relative_to(tree.resolve())) for path in resolved if path.is_relative_to(tree.resolve())}


def test_make_looks_at_every_kind_of_file_that_a_module_is_made_from(native_sources):
    listed = re.search(r"LIST_SOURCES := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text())
    kinds = {path.suffix for module in native_sources[1] for path in map(Path, module.depends)
             if path.parts[0] != "build"}
    assert ".pxi" in kinds
    assert kinds <= set(re.findall(r"'\*(\.\w+)'", listed[1]))


def test_nothing_that_cython_reads_is_missing(native_sources):
    tree, modules = native_sources
    options = CompilationOptions(default_options, include_path=[str(tree / "build" / "cimport")])
    cython = create_dependency_tree(Context.from_options(options))
    for module in modules:
        assert inside(tree, cython.all_dependencies(module.sources[0])) <= set(module.depends), module.name


def test_no_header_that_the_compiler_reads_is_missing(native_sources):
    """One file that includes the headers each module names, instead of Cython's output, which takes a minute."""
    tree, modules = native_sources
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))
    for folder in ("vm", "ops"):
        headers = [str(path.relative_to(tree)) for path in sorted((tree / folder).rglob("*.h"))
                         if not path.name.startswith("each_")]    # others say what these include
        rules = subprocess.run([*compiler, "-MM", "-I", folder, "-I", numpy.get_include(),
                                "-I", sysconfig.get_path("include"), "-x", "c", *headers],
                               cwd=tree, capture_output=True, text=True)
        assert rules.returncode == 0, rules.stderr
        read = {}
        for rule in rules.stdout.replace("\\\n", " ").splitlines():
            header, *others = shlex.split(rule.partition(":")[2])           # gcc writes a backslash before a space
            read[header] = inside(tree, [tree / other for other in others])
        named = [(module, header) for module in modules for header in module.depends if header in read]
        assert named
        for module, header in named:
            assert read[header] <= set(module.depends), (module.name, header)


IMPORT = re.compile(r"^(?:from +[\w.]+ +)?c?import +(\([^)]*\)|[^\n]*)\n", re.MULTILINE)


def unused_names(path):
    """The names that a file of Cython imports and does not use; those with a comment are for its readers."""
    text = path.read_text()
    included = [path.parent / name for name in re.findall(r'^include "([^"]+)"', text, re.MULTILINE)]
    rest = IMPORT.sub("", text) + "".join([other.read_text() for other in included if other.exists()])
    rest = re.sub(r"#.*", "", rest)
    imported = [match[1].strip("()").split(",") for match in IMPORT.finditer(text) if "#" not in match[1]]
    names = [name.split(" as ")[-1].strip().split(".")[0] for parts in imported for name in parts]
    return [name for name in names if name not in ("*", "") and not re.search(rf"\b{name}\b", rest)]


def test_files_of_cython_use_what_they_import(tmp_path):
    """As ruff sees to it in files of Python."""
    (tmp_path / "a.pyx").write_text("cimport numpy as cnp\nfrom x cimport (\n    y, z)\n\nz.cnp  # y\n")
    assert unused_names(tmp_path / "a.pyx") == ["y"]
    files = [path for folder in ("vm", "ops", "gpu") for path in (ROOT / folder).rglob("*.p[yx]*")
             if path.suffix in (".pyx", ".pxd", ".pxi")]
    assert {str(path): names for path in files if (names := unused_names(path))} == {}


def test_no_module_has_typed_memory_views():
    """Cython adds 12,000 lines of helpers to a module that has one; compiling them takes two seconds."""
    sources = [path for folder in ("vm", "ops") for path in (ROOT / folder).rglob("*.p[yx]*")]
    view = re.compile(r"^\s*(?:cdef\s+)?(?:const\s+)?(?:unsigned\s+)?\w+\s*\[:[^\]]*\]\s+\w+", re.MULTILINE)
    assert view.match("    cdef const unsigned char[:] code") and view.match("        double[::1] row = x")
    sources = [path for path in sources if path.suffix in (".pyx", ".pxd", ".pxi")]
    assert [path.name for path in sources if view.search(path.read_text())] == []


def test_modules_that_call_numpys_functions_import_its_table(native_sources):
    """``vm/numpy_api.pxd`` does not import it for them; without it such a call jumps to an address of nothing."""
    tree, modules = native_sources
    without = []
    for module in modules:
        texts = {name: (tree / name).read_text() for name in module.depends if name != "vm/numpy_api.pxd"}
        if any(re.search(r"\bPy(Array|DataType)_\w+\(", text) for text in texts.values()):
            without += [module.name] * ("import_array()" not in texts[module.sources[0]])
    assert without == []


def test_cython_reads_little_of_numpy(native_sources):
    """NumPy's own declarations took a third of Cython's time."""
    tree, modules = native_sources
    assert all((tree / name).resolve().is_file() for module in modules for name in module.depends)
    users = [module.name for module in modules if "vm/numpy_api.pxd" in module.depends]
    assert len(users) > len(modules) // 2


def test_cython_reads_little_of_python(native_sources):
    """Cython's own declarations of references and errors name those of types, files and more: an eighth of its time."""
    tree, modules = native_sources
    long_lists = re.compile(r"^from cpython\.(exc|object|ref) cimport|^cimport cpython", re.MULTILINE)
    assert not [name for module in modules for name in module.depends if long_lists.search((tree / name).read_text())]


def test_modules_that_are_mostly_glue_exist():
    table = re.search(r"MOSTLY_GLUE = {([^}]*)}", (ROOT / "setup.py").read_text())[1]
    names = re.findall(r'"([\w.]+)"', table)
    assert names and all((ROOT / f"{name.replace('.', '/')}.pyx").is_file() for name in names)


def test_every_file_is_installed_once_under_its_import_name(setup_py):
    """Also those of api/theano: a package may have files in two folders."""
    setup_py(ROOT)
    names = setup_py.names
    command = names["BuildPackages"](setuptools.Distribution({
        "script_name": "setup.py", "packages": list(names["PACKAGES"]), "package_dir": names["PACKAGES"]}))
    command.finalize_options()
    installed = [(file, f"{package}.{module}") for package, module, file in command.find_all_modules()]
    files = [path.relative_to(ROOT).as_posix() for folder in names["FOLDERS"] for path in (ROOT / folder).rglob("*.py")]
    assert sorted(installed) == sorted((file, names["import_name"](ROOT / file)) for file in files)


@pytest.mark.parametrize("name, value, words", [("byteorder", "big", "big-endian and has 64 bits"),
                                                ("maxsize", 2**31 - 1, "little-endian and has 32 bits")])
def test_other_processors_are_refused_by_one_sentence(tree, setup_py, monkeypatch, name, value, words):
    setup_py(tree)
    with monkeypatch.context() as patch:
        patch.setattr(sys, name, value)
        with pytest.raises(SystemExit, match=f"^phintys is for little-endian processors with 64 bits: .*{words}"):
            setup_py.names["refuse_what_cannot_be_built"]()


def test_the_build_says_what_is_missing(tree, setup_py, monkeypatch):
    shutil.copytree(ROOT / ".ci", tree / ".ci")
    setup_py(tree)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SystemExit, match=r"^phintys cannot be built: there is no C compiler .*Install it: .*[^\n]$"):
        setup_py.names["refuse_what_cannot_be_built"]()


def test_windows_without_a_shell_is_told_of_its_compiler(tree, setup_py, monkeypatch):
    setup_py(tree)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        patch.setattr(shutil, "which", lambda name: None)
        with pytest.raises(SystemExit, match="^phintys cannot be built: .*: winget install [^ ]*WinLibs[^ ]*$"):
            setup_py.names["refuse_what_cannot_be_built"]()


def test_clang_gets_no_flags_that_only_gcc_has(tree, setup_py):
    setup_py(tree)
    names = setup_py.names
    for level in ("LOOPS", "GLUE", "MACHINE", "VECTORIZED"):
        assert names["flags_for_clang"](names[level]) in (["-O3"], ["-O2"], ["-O2", "-foptimize-sibling-calls"],
                                                          ["-O2", "-ftree-vectorize"])
    assert not names["is_clang"]([]) and not names["is_clang"](["no-such-compiler"])
    if shutil.which("clang"):
        flags = [flag for level in ("LOOPS", "GLUE", "MACHINE", "VECTORIZED") for flag in names[level]]
        flags = names["flags_for_clang"](flags + names["COMPILE_ARGS"])
        done = subprocess.run(["clang", *flags, "-fsyntax-only", "-x", "c", "-"], input="", text=True,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        assert names["is_clang"](["ccache", "clang", "-shared"])
