"""Tests mirror the source: each folder has one of the same name here, and README.md says where a module's tests are."""
import fnmatch
import os
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
FLOORS = ("api", "graph", "ops", "optimizer", "vm")
SOURCES = {".py", ".pyx", ".pxd", ".pxi", ".h"}
MADE = {"opcodes.pxi"}                          # by setup.py
NEVER_RUN = ROOT / "vm" / "windows"             # headers that a system lacks; .ci/platforms compiles with them
ROW = re.compile(r"^\| `([\w/]+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def modules():
    """Folder → the names of its modules, without suffixes."""
    found = {}
    for path in sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*")):
        if path.suffix in SOURCES and path.name not in MADE and not path.name.startswith("__init__") \
                and NEVER_RUN not in path.parents:
            found.setdefault(path.parent.relative_to(ROOT).as_posix(), set()).add(path.name.split(".")[0])
    return found


MODULES = modules()
ROWS = [(folder, re.findall(r"`([^`]+)`", names), re.findall(r"`([^`]+)`", tests))
        for folder, names, tests in ROW.findall((TESTS / "README.md").read_text())]


def has_tests_of_its_name(folder, module):
    """Whether a file of tests is named after a module, or after what its name begins with."""
    tests = [path.stem.removeprefix("test_") for path in (TESTS / folder).glob("test_*.py")]
    return any(module == name or module.startswith(f"{name}_") for name in tests)


@pytest.mark.parametrize("folder", [folder for folder in MODULES if folder.count("/") == 1])
def test_each_folder_is_mirrored(folder):
    assert [*(TESTS / folder).rglob("test_*.py")], f"tests/{folder} has no tests"


@pytest.mark.parametrize("folder", MODULES)
def test_each_module_is_in_the_table(folder):
    patterns = [name for row, names, _ in ROWS if row == folder for name in names]
    missing = {module for module in MODULES[folder] if not has_tests_of_its_name(folder, module)
               and not any(fnmatch.fnmatch(module, pattern) for pattern in patterns)}
    assert not missing, f"tests/README.md does not say where the tests of these modules of {folder} are: {missing}"


def test_the_table_names_what_exists():
    for folder, names, tests in ROWS:
        for name in names:
            assert fnmatch.filter(MODULES.get(folder, ()), name), f"{folder} has no module {name}"
        for test in tests:
            assert Path(os.path.normpath(TESTS / folder / f"{test}.py")).is_file(), f"{folder}: there is no {test}.py"


def test_folders_of_tests_are_folders_of_the_source():
    files = [path for floor in FLOORS for path in (TESTS / floor).rglob("test_*.py")]
    ours = {path.parent.relative_to(TESTS).as_posix() for path in files}
    assert not ours - set(MODULES) - set(FLOORS), "folders that the source does not have"
