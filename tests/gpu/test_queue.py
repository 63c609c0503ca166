"""The queue of the device's work by itself: threads push without a lock, and nothing is lost, torn or out of order."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
HEADERS = HERE.parents[1] / "gpu" / "runtime"
COMPILER = shutil.which(os.environ.get("CC", "gcc").split()[0])


@pytest.fixture(scope="module", params=["plain", "thread sanitizer"])
def program(request, tmp_path_factory):
    if COMPILER is None:
        pytest.skip("there is no compiler of C")
    made = tmp_path_factory.mktemp("queue") / "queue_threads"
    options = ["-fsanitize=thread", "-g"] if request.param == "thread sanitizer" else ["-Wall"]
    done = subprocess.run([COMPILER, "-O2", "-pthread", "-Wno-unused-function", *options, f"-I{HEADERS}",
                           str(HERE / "queue_threads.c"), "-o", str(made)], capture_output=True, text=True)
    if done.returncode and request.param == "thread sanitizer":
        pytest.skip("the compiler has no thread sanitizer")
    assert done.returncode == 0 and not done.stderr, done.stderr
    if request.param == "thread sanitizer" and "ThreadSanitizer" in run(made, 1, 1, 0, 1, check=False).stderr:
        pytest.skip("the thread sanitizer does not run on this system")
    return made


def run(program, *arguments, check=True):
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("threads, work, submitters, collects", [
    (1, 30000, 0, 1),               # more than a list holds
    (4, 5000, 1, 1), (2, 5000, 2, 1), (4, 300, 0, 0)])
def test_work_of_threads(program, threads, work, submitters, collects):
    total = threads * work
    assert run(program, threads, work, submitters, collects).stdout == (
        f"{total} of {total}, 0 wrong, error 0, all submitted: 1, pushed {total}\n")


def test_a_list_that_is_lost(program):
    """Each thread with work in it is told, once; others are not."""
    assert run(program).stdout.splitlines() == ["submits: 719", "later: 0, 0, 0, then 1, 0",
                                                "pushed: 0, 719, 719, then 1, 0"]
