"""How several processes of MPI are started, in one of these ways:

* "here": by the command that belongs to the environment, or is installed
* "apart": the same, with an MPICH that takes each process for one on a machine of its own
* "openmpi": by Open MPI
* "containers": by Open MPI, which takes all for processes of one machine, though the last has a /dev/shm of its own
* "machines": by Open MPI, half of the processes on each of two machines, which are namespaces of this one
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TWO_MACHINES = Path(__file__).with_name("two_machines.sh")

# Open MPI refuses to run as root and on fewer cores than processes, unless it is told to.
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMP_NUM_THREADS": "1"}
# One of Open MPI 4 makes windows over a network only by messages, and those not for several threads at once.
WINDOWS = {"OMPI_MCA_osc": "pt2pt", "MPI4PY_RC_THREAD_LEVEL": "serialized"}


def mpirun():
    """The command that belongs to the environment, or is installed."""
    beside = Path(sys.executable).parent / "mpirun"
    return str(beside) if beside.exists() else shutil.which("mpirun")


def run(way, count, program, *arguments, seconds=300, **settings):
    """Run a program in some processes; skip the test where they cannot be started in this way."""
    pytest.importorskip("mpi4py")
    child = [sys.executable, "-m", "mpi4py", str(program), *map(str, arguments)]
    if way in ("here", "apart"):
        if mpirun() is None:
            pytest.skip("there is no mpirun: pip install mpich")
        if way == "apart":
            if "HYDRA" not in _printed([mpirun(), "--version"]):
                pytest.skip("the mpirun is not MPICH's")
            settings["MPIR_CVAR_NOLOCAL"] = "1"
        command = [mpirun(), "-n", str(count), *child]
    else:
        child = ["env", "MPI4PY_MPIABI=openmpi", *[f"{name}={value}" for name, value in settings.items()], *child]
        command = [_openmpi(), *_PLACES[way](count, child)]
        if way == "machines":
            command = ["sh", str(TWO_MACHINES), *command]
    # not -I: mpi4py would ignore its settings
    return subprocess.run(command, env=os.environ | SETTINGS | settings | {"PYTHONSAFEPATH": "1"}, capture_output=True,
                          text=True, timeout=seconds)


def _openmpi():
    """Open MPI's command, if mpi4py speaks to that library, too."""
    command = shutil.which("mpirun.openmpi") or shutil.which("mpirun") or ""
    if not command or "Open" not in _printed([command, "--version"]):
        pytest.skip("there is no Open MPI")
    version = _printed([sys.executable, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"],
                       MPI4PY_MPIABI="openmpi")
    if "Open MPI" not in version:
        pytest.skip("this mpi4py does not use Open MPI")
    return command


def in_namespaces(*names):
    """How a command is run in new namespaces."""
    command = ["unshare", *names]
    if not (shutil.which("ip") and shutil.which("nsenter") and shutil.which("unshare")
            and subprocess.run([*command, "true"], check=False).returncode == 0):
        pytest.skip("new namespaces may not be made here")
    return command


def _in_containers(count, child):
    container = [*in_namespaces("--mount"), "sh", "-c", 'mount -t tmpfs none /dev/shm; exec "$@"', "sh"]
    return ["--mca", "btl", "self,tcp", "-n", str(count - 1), *child, ":", "-n", "1", *container, *child]


def _on_machines(count, child):
    in_namespaces("--net", "--mount", "--uts", "--ipc")
    places = ",".join([f"10.77.0.{machine}:{count // 2}" for machine in (1, 2)])
    return ["--mca", "btl", "self,vader,tcp", "--host", places, "-n", str(count), *child]


_PLACES = {"openmpi": lambda count, child: ["-n", str(count), *child], "containers": _in_containers,
           "machines": _on_machines}


def _printed(command, **settings):
    return subprocess.run(command, env=os.environ | SETTINGS | settings, capture_output=True, text=True, timeout=60,
                          check=False).stdout
