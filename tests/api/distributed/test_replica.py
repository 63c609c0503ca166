"""Training in several processes of MPI: ``tests/support/replica_program.py``, run by four of them."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.mpi import SETTINGS, mpirun

PROGRAM = Path(__file__).parents[2] / "support" / "replica_program.py"
NAMES = re.findall(r"^def (test_\w+)", PROGRAM.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The names of the functions that all four processes have run, and what they wrote besides."""
    pytest.importorskip("mpi4py")
    if mpirun() is None:
        pytest.skip("there is no mpirun: pip install mpich")
    folder = tmp_path_factory.mktemp("checkpoints")
    run = subprocess.run([mpirun(), "-n", "4", sys.executable, "-I", "-m", "mpi4py", str(PROGRAM), str(folder)],
                         env=os.environ | SETTINGS, capture_output=True, text=True, timeout=300)
    return run.stdout.splitlines(), run.stdout + run.stderr


@pytest.mark.parametrize("name", NAMES)
def test_four_processes(printed, name):
    names, everything = printed
    assert name in names, everything[-5000:]


def test_they_are_found():
    assert len(NAMES) > 10
