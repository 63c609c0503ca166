"""``.ci/same_wheels`` accepts a package whose wheels are alike, and names the file in which they differ."""
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "same_wheels"
SETUP = """
import os
from setuptools import setup
{more}
setup(name="phintys", version="1", py_modules=["first", "second"])
"""
WRITES_ITS_FOLDER = "open('second.py', 'w').write(os.getcwd())"


@pytest.mark.skipif(not SCRIPT.exists() or shutil.which("git") is None, reason="needs git and the script")
@pytest.mark.parametrize("more", ["", WRITES_ITS_FOLDER])
def test_wheels_are_compared(tmp_path, more):
    folder = tmp_path / "a clone"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(SCRIPT, folder / ".ci")
    (folder / "setup.py").write_text(SETUP.format(more=more))
    for name in ("first.py", "second.py"):
        (folder / name).write_text("")
    git = ["git", "-C", folder, "-c", "user.name=A name", "-c", "user.email=name@example.org", "-c",
           "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "A tree"]):
        subprocess.run([*git, *words], check=True)
    done = subprocess.run([".ci/same_wheels", sys.executable], cwd=folder, capture_output=True, text=True)
    assert done.returncode == bool(more), done.stdout + done.stderr
    assert ("both builds gave the same bytes" in done.stdout) == (not more)
    assert [line.split()[:3] for line in done.stdout.splitlines() if line.startswith("second.py")] == (
        [["second.py", "other", "bytes"]] if more else [])
