"""What ``import phintys`` loads, seen from a fresh process."""
import subprocess
import sys

import pytest

# Each costs 5 to 200 ms and is loaded when a program needs it.
NOT_AT_START = ["scipy.linalg", "scipy.special", "scipy.sparse", "numpy.ma", "numpy.random", "numpy.testing",
                "dataclasses", "hashlib", "logging", "unittest", "multiprocessing", "phintys.optimizer.passes.loops",
                "phintys.distributed", "phintys.tensor.nnet", "phintys.ops.convolution", "phintys.ops.sorting.sets",
                "phintys.ops.random.draw_kernel", "concurrent.futures", "dask", "mpi4py"]


@pytest.fixture(scope="module")
def loaded():
    """What phintys adds to the modules that numpy has loaded."""
    program = ("import sys, numpy; before = set(sys.modules); import phintys, phintys.tensor; "
               "print(*sorted(set(sys.modules) - before))")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return run.stdout.split()


@pytest.mark.parametrize("module", NOT_AT_START)
def test_start_does_not_load(loaded, module):
    assert module not in loaded


def test_start_loads_the_tensor_namespace(loaded):
    assert "phintys.tensor" in loaded


def test_the_names_of_many_machines_load_neither_dask_nor_mpi4py():
    program = ("import sys, phintys; names = phintys.distributed.__all__; "
               "[getattr(phintys.distributed, name) for name in names]; phintys.shared(1.0, target='memory'); "
               "print(*{'dask', 'distributed', 'mpi4py'}.intersection(sys.modules))")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "\n"


NUMPY_LOADS = subprocess.run([sys.executable, "-I", "-c", "import sys, numpy; print(*sys.modules)"],
                             capture_output=True, text=True, check=True).stdout.split()
BEYOND_NUMPY = """
import sys, numpy

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

before = resident()
if len(sys.argv) > 1:
    import phintys.runtime
    phintys.runtime.load(sys.argv[1])([1.0, 2.0])
else:
    import phintys
print(resident() - before, *sys.modules)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_process_that_runs_a_program_has_half_the_memory(tmp_path):
    import phintys
    import phintys.tensor as T

    x = T.dvector("x")
    phintys.function([x], [T.exp(x) * 2, x.sum()]).save(tmp_path / "program")
    runs = [subprocess.run([sys.executable, "-I", "-c", BEYOND_NUMPY, *arguments], capture_output=True, text=True,
                           check=True).stdout.split() for arguments in ([str(tmp_path / "program")], [])]
    assert int(runs[0][0]) <= int(runs[1][0]) / 2                       # 7.0 and 16.4 MB
    assert not {"hashlib", "_hashlib", "inspect", "tempfile"}.intersection(runs[0]) - {*NUMPY_LOADS}
