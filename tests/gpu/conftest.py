"""The GPU of these tests: the machine's own where it has one, else the stand-in, on which pycuda runs as it is.

Building the stand-in takes 45 seconds; it is kept in the folder ``build``. Where it cannot be built (no compiler, no
package index) and there is no GPU, the tests are skipped, with the reason. ``PHINTYS_TEST_GPU=1`` says that a GPU
must be there.
"""
import ctypes
import os
import runpy
import sys
import tempfile

import pytest

ORDERS = {"ascending": 0, "descending": 1, "shuffled": 2}


class Device:
    """What tests may ask of the device; on a real one, wishes to the stand-in are ignored."""

    def __init__(self, library=None, reason=None):
        self.library = library
        self.cublas = self.cublasLt = self.cusolver = self.cudnn = self.cufft = None      # the libraries' stand-ins
        self.reason = reason

    @property
    def is_stand_in(self):
        return self.library is not None

    def set_order(self, name):
        if self.library is not None:
            self.library.stand_in_set_order(ORDERS[name])

    def counts(self):
        """Allocations, launches, live blocks, live bytes, copies to the device, to the host, graphs, changed nodes."""
        numbers = (ctypes.c_size_t * 8)()
        self.library.stand_in_counts(numbers)
        return dict(zip(("allocations", "launches", "blocks", "bytes", "to_device", "to_host", "graphs", "changed"),
                        numbers))


def find_device():
    """The GPU, or the stand-in."""
    try:
        import pycuda.driver as driver
        driver.init()
        if driver.Device.count():
            return Device()
    except Exception as error:      # each kind of failure means that there is no GPU to use
        if os.environ.get("PHINTYS_TEST_GPU"):
            raise RuntimeError("PHINTYS_TEST_GPU asks for a GPU, and there is none") from error
    from stand_in.build import LIBRARIES, CannotBuild, ready
    try:
        folder, site = ready()
    except CannotBuild as error:
        return Device(reason=f"there is no GPU, and no stand-in: {error}")
    library = ctypes.CDLL(str(folder / "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
    found = Device(library)
    for name, number in LIBRARIES.items():
        setattr(found, name, ctypes.CDLL(str(folder / f"lib{name}.so.{number}"), mode=ctypes.RTLD_GLOBAL))
    library.stand_in_set_memory.argtypes = [ctypes.c_size_t]
    library.stand_in_complaint.restype = ctypes.c_char_p
    library.stand_in_fail_launch.argtypes = [ctypes.c_long]
    sys.path.append(str(site))
    # What g++ has compiled is of no use to a real driver.
    (folder / "pycuda_cache").mkdir(exist_ok=True)
    os.environ["PYCUDA_CACHE_DIR"] = str(folder / "pycuda_cache")
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    from phintys.graph.config import config
    config.gpu.cache = str(folder / "cache")
    config.gpu.compiler = "nvcc"
    compile_here(folder / "bin" / "nvcc")
    return found


def compile_here(nvcc):
    """Let the tests' process do what the stand-in of nvcc does, which is a Python program: to start it for each of a
    thousand kernels takes a quarter of the time. Another ``config.gpu.nvcc``, and what fails, is left to pycuda."""
    from phintys.gpu.runtime import compiler
    from phintys.graph.config import config
    main, by_pycuda = runpy.run_path(str(nvcc))["main"], compiler._by_nvcc

    def by_nvcc(source, architecture):
        if config.gpu.nvcc != "nvcc":
            return by_pycuda(source, architecture)
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/kernel.cu", "w") as file:
                file.write(source)
            if main(["--cubin", file.name]):
                return by_pycuda(source, architecture)
            with open(f"{folder}/kernel.cubin", "rb") as file:
                return file.read()
    compiler._by_nvcc = by_nvcc


@pytest.fixture(scope="session")
def device():
    """The device in use."""
    found = find_device()
    if found.reason:
        pytest.skip(found.reason)
    from phintys.graph.config import config
    config.gpu.warn_host_ops = "ignore"             # many tests are about ops that run on the host
    return found


@pytest.fixture(params=list(ORDERS))
def order(request, device):
    """The three orders in which the stand-in runs the threads of a block; a GPU has its own, and one is enough."""
    if not device.is_stand_in and request.param != "ascending":
        pytest.skip("a GPU chooses the order of threads itself")
    device.set_order(request.param)
    yield request.param
    device.set_order("ascending")
