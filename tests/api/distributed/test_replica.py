"""Training in several processes of MPI: ``tests/support/replica_program.py``, run by four of them."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "support" / "replica_program.py"
NAMES = re.findall(r"^def (test_\w+)", PROGRAM.read_text(), re.MULTILINE)
# Open MPI refuses to run as root and on fewer cores than processes, unless it is told to.
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMP_NUM_THREADS": "1"}


def mpirun():
    """The command that belongs to the environment, or is installed."""
    beside = Path(sys.executable).parent / "mpirun"
    return str(beside) if beside.exists() else shutil.which("mpirun")


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
