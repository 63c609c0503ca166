"""A folder of the run's own, which tests and the programs that they start see in the place of the user's home.

Libraries keep caches, stamps, configuration and compiled code below the home folder. So a test would depend on what
its user has done before, and leave something behind; and workers that write the same file at the same time have made
imports fail. ``tests/conftest.py`` calls ``enter`` before it imports anything else: each worker of pytest-xdist has a
folder of its own, and all are removed when the run ends.
"""
import atexit
import os
import shutil
import tempfile
from pathlib import Path

RUN = "PHINTYS_TEST_RUN"                # the variable that names the folder of the run, for workers and child processes
# What names a folder in the environment, and where it is in the worker's folder.
FOLDERS = {
    "HOME": "",
    "XDG_CACHE_HOME": ".cache",         # ArviZ, pip, phintys's kernels for GPUs, whatever asks platformdirs
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "CUDA_CACHE_PATH": "cuda",
    "HYPOTHESIS_STORAGE_DIRECTORY": "hypothesis",
    "IPYTHONDIR": "ipython",
    "JUPYTER_CONFIG_DIR": "jupyter",
    "MPLCONFIGDIR": "matplotlib",
    "MYPY_CACHE_DIR": "mypy",
    "NUMBA_CACHE_DIR": "numba",
    "PIP_CACHE_DIR": "pip",
    "PYCUDA_CACHE_DIR": "pycuda",
    "SCIKIT_LEARN_DATA": "scikit_learn",
}
UNSET = ["PYTENSORRC", "THEANORC", "THEANO_FLAGS", "MATPLOTLIBRC"]      # configuration of the user


def enter():
    """Point the environment to the folder of this worker; return the folder."""
    if RUN not in os.environ:
        os.environ[RUN] = tempfile.mkdtemp(prefix="phintys-tests-")
        atexit.register(remove, os.environ[RUN], os.getpid())
    home = Path(os.environ[RUN], os.environ.get("PYTEST_XDIST_WORKER", "main"))
    for name, place in FOLDERS.items():
        (home / place).mkdir(parents=True, exist_ok=True)
        os.environ[name] = str(home / place)
    # Python functions: no compiler, no cache of compiled modules.
    os.environ["PYTENSOR_FLAGS"] = f"cxx=,base_compiledir={home / 'pytensor'}"
    for name in UNSET:
        os.environ.pop(name, None)
    return home


def remove(folder, process):
    """At the end of the process that began the run, not at that of a fork."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
