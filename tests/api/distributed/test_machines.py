"""A client and a worker of Dask on two machines, which have only a network in common: ``dask_program``, in
namespaces of this machine."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import mpi

PROGRAM = Path(__file__).parents[2] / "support" / "dask_program.py"
NAMES = re.findall(r"^def (test_\w+)", PROGRAM.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def printed():
    """The names of the functions that were run, and what was written besides."""
    pytest.importorskip("dask.distributed")
    mpi.in_namespaces("--net", "--mount", "--uts", "--ipc")
    run = subprocess.run(["sh", str(mpi.TWO_MACHINES), sys.executable, "-I", str(PROGRAM)], capture_output=True,
                         text=True, timeout=300, check=False)
    return run.stdout.splitlines(), run.stdout + run.stderr


@pytest.mark.parametrize("name", NAMES)
def test_two_machines(printed, name):
    names, everything = printed
    assert name in names, everything[-5000:]
