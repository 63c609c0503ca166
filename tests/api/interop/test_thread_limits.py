"""threadpoolctl lists and limits the threads of phintys, whichever of both is imported first."""
import subprocess
import sys

import pytest

pytest.importorskip("threadpoolctl")

PROGRAM = """
import importlib.util
import sys
import numpy
import {first}
assert importlib.util.find_spec("threadpoolctl") is not None        # looking is not importing
import {second}
import phintys.tensor as T
import threadpoolctl
from phintys.vm.workers import workers_started

assert threadpoolctl.__spec__.loader is threadpoolctl.__loader__ and "SourceFileLoader" in str(threadpoolctl.__loader__)
assert not [finder for finder in sys.meta_path if type(finder).__name__ == "_WaitingFinder"]

def ours():
    found, = [library for library in threadpoolctl.threadpool_info() if library["user_api"] == "phintys"]
    return found

phintys.config.workers, values = 3, numpy.linspace(0.0, 1.0, 1000000)
x = T.dvector()
f = phintys.function([x], T.exp(T.tanh(x)))
assert ours()["num_threads"] == 3 and ours()["version"] == phintys.__version__, ours()
with threadpoolctl.threadpool_limits(1):
    assert ours()["num_threads"] == 1
    alone = f(values)
    assert workers_started() == 0
with threadpoolctl.threadpool_limits({{"phintys": 2}}):
    assert ours()["num_threads"] == 2
    for _ in range(100):                    # loops run alone while the machine is busy
        together = f(values)
        if workers_started():
            break
    assert workers_started() <= 1
assert ours()["num_threads"] == 3
phintys.config.workers = 4                  # a limit that is over has no effect
assert ours()["num_threads"] == 4
numpy.testing.assert_array_equal(alone, together)
"""


@pytest.mark.parametrize("first, second", [("phintys", "threadpoolctl"), ("threadpoolctl", "phintys")])
def test_limits(first, second):
    run = subprocess.run([sys.executable, "-I", "-c", PROGRAM.format(first=first, second=second)],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_versions_that_cannot_be_told_are_left_alone():
    from types import ModuleType

    from phintys.interop.thread_limits import register
    register(ModuleType("threadpoolctl"), "1.0")


def test_importing_a_missing_threadpoolctl_fails_as_ever():
    program = ("import phintys, sys; sys.path.clear()\n"
               "try: import threadpoolctl\n"
               "except ModuleNotFoundError as error: print(error.name)")
    run = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "threadpoolctl\n"
