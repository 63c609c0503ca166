"""What ``.ci/prerequisites`` says of a machine that lacks something: one line, with the command that helps."""
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "prerequisites"
pytestmark = pytest.mark.skipif(shutil.which("sh") is None or not SCRIPT.exists(), reason="needs a shell and a clone")
COMPILER = {"apt": "sudo apt install gcc libc6-dev", "dnf": "sudo dnf install gcc glibc-devel",
            "apk": "apk add gcc musl-dev", "brew": "xcode-select --install",
            "winget": "winget install BrechtSanders.WinLibs.POSIX.UCRT"}


@pytest.fixture
def machine(tmp_path):
    """A machine that has a shell, Python and the named package managers; returns what the script says there."""
    for name in ("sh", "basename", "mktemp", "rm", "head", "sed"):
        (tmp_path / name).symlink_to(shutil.which(name))
    (tmp_path / "python3").symlink_to(sys.executable)
    (tmp_path / "python3.99").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3.99").chmod(0o755)

    def run(*arguments, managers=(), compiler="none"):
        for name in managers:
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
        done = subprocess.run(["sh", str(SCRIPT), *arguments], capture_output=True, text=True,
                              env={"PATH": str(tmp_path), "CC": compiler})
        assert done.stdout == "" and (done.returncode != 0) == bool(done.stderr)
        return done.stderr.splitlines()
    return run


@pytest.mark.parametrize("manager", COMPILER)
def test_one_line_says_how_a_compiler_is_installed(machine, manager):
    assert machine("python3", "headers", "compiler", managers=[manager]) == [
        f"phintys cannot be built: there is no C compiler (no 'none'). Install it: {COMPILER[manager]}  "
        "(another compiler: CC=clang)"]


def test_where_no_package_manager_is_known_all_are_named(machine):
    line, = machine("python3", "compiler")
    assert [command in line for command in COMPILER.values()] == [True] * len(COMPILER)


@pytest.mark.parametrize("manager, command", [
    ("apt", "sudo apt install python3 python3-venv python3-dev"), ("dnf", "sudo dnf install python3 python3-devel"),
    ("apk", "apk add python3 python3-dev"), ("brew", "brew install python3"),
    ("winget", "winget install Python.Python.3.12")])
def test_one_line_says_how_python_is_installed(machine, manager, command):
    line, = machine("python3.99", managers=[manager])
    assert "no Python interpreter called 'python3.99'" in line and command in line


def test_a_compiler_without_a_c_library(machine, tmp_path):
    (tmp_path / "half").write_text("#!/bin/sh\necho 'stdlib.h: No such file' >&2; exit 1\n")
    (tmp_path / "half").chmod(0o755)
    line, = machine("python3", "compiler", managers=["apt"], compiler="half")
    assert "'half' cannot compile an empty C program: stdlib.h: No such file." in line and "libc6-dev" in line


def test_a_whole_machine_is_met_with_silence(machine):
    assert machine("python3", "compiler", compiler="true") == []
