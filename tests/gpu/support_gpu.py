"""What tests of the device share: a function made for the processor, and the same made for the device."""
import subprocess
import sys
from contextlib import contextmanager
from zlib import crc32

import numpy
import pytest

from phintys.gpu.runtime.nvrtc import find_nvrtc
from phintys.graph.config import config


@contextmanager
def at(device):
    """Shared variables of float32 are made on a device, or on the host: "cpu"."""
    before, config.device = config.device, device
    try:
        yield
    finally:
        config.device = before


def at_device():
    """Shared variables of float32 are made on the device."""
    return at("cuda")


def on_both(build):
    """What ``build()`` returns on the host, and on the device."""
    with at("cpu"):
        at_host = build()
    with at_device():
        return at_host, build()


def assert_close(found, expected, rtol=2e-5, atol=1e-6):
    """Equal in shape and dtype, and up to rounding."""
    found, expected = numpy.asarray(found), numpy.asarray(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    numpy.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


# What is compiled takes one of them; over all tests, each has its turns.
ARCHITECTURES = ("sm_70", "sm_80", "sm_90", "sm_100")


def in_turn(source):
    """The architecture whose turn it is: always the same one for a source."""
    return ARCHITECTURES[crc32(source.encode()) % len(ARCHITECTURES)]


COMPILE = """
import sys
from phintys.gpu.runtime.compiler import OPTIONS
from phintys.gpu.runtime.nvrtc import find_nvrtc
sys.stdout.write(find_nvrtc().compile(sys.stdin.read(), "compute_90", OPTIONS).decode().rstrip("\\0"))
"""


def machine_code(source):
    """What NVRTC makes of a source, as PTX, in a process of its own: after one compilation with ``--Ofast-compile=max``
    NVRTC 12.9 and 13.5 compile everything so until the process ends, and test_cases.py does this."""
    if find_nvrtc() is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    return subprocess.run([sys.executable, "-I", "-c", COMPILE], input=source, capture_output=True, text=True,
                          check=True).stdout
