"""The Makefile, with a Python that does nothing: what it builds, in which order; folders with a space in the name."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# It makes environments, answers questions, and writes down everything else that it is asked to do.
PYTHON = """#!/bin/sh
case "$1 $2" in
    "-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
    "-c "*) exec "{python}" "$@" ;;
    *) echo "$*" >> calls ;;
esac
"""
pytestmark = pytest.mark.skipif(shutil.which("make") is None or not (ROOT / "Makefile").exists(), reason="needs make")


@pytest.fixture
def make(tmp_path):
    """Runs make in a copy of what it reads; returns what it asked Python to do."""
    folder = tmp_path / "a clone"
    (folder / "ops").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "setup.py", ".ci"):
        (shutil.copytree if name == ".ci" else shutil.copy)(ROOT / name, folder / name)
    for name in ("api", "graph", "vm", "optimizer", "gpu"):
        (folder / name).mkdir()
    (folder / "ops" / "room.py").touch()
    (folder / "python").write_text(PYTHON.format(python=sys.executable))
    (folder / "python").chmod(0o755)
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("MAKE", "MFLAGS", "GNUMAKE"))
            and name not in ("PYTHON", "VENV", "EDITABLE", "ARGS", "WORKERS")}

    def run(*arguments):
        (folder / "calls").write_text("")
        done = subprocess.run(["make", "PYTHON=./python", *arguments], cwd=folder, capture_output=True, text=True,
                              env={**kept, "CC": "true"})
        assert done.returncode == 0, done.stdout + done.stderr
        return (folder / "calls").read_text().splitlines()

    run.folder = folder
    return run


@pytest.mark.parametrize("variables", [[], ["VENV=an environment/of mine"]], ids=["default", "a space"])
def test_a_second_run_builds_only_what_changed(make, variables):
    if variables:
        (make.folder / "an environment").mkdir()
    first = make("test", *variables)
    assert [words.split()[0] for words in first] == ["-m", "setup.py", "-m", "-m", "-I"]
    assert first[1] == "setup.py -q build" and first[3].endswith("phintys[test]")
    assert make("test", *variables) == first[-1:] == ["-I -m pytest -n auto"]
    assert make("test-long", "ARGS=-x", *variables) == ["-I -m pytest -n auto -m long -x"]
    (make.folder / "ops" / "another.py").touch()
    assert make("test", *variables) == first[1:]
    assert make("demo", *variables)[-1].startswith("examples/logistic_regression.py")
