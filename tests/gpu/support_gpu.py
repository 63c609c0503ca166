"""What tests of the device share: a function made for the processor, and the same made for the device."""
import json
import struct
import subprocess
import sys
from contextlib import contextmanager
from functools import lru_cache
from zlib import crc32

import numpy
import pytest

from phintys.gpu.runtime.compiler import OPTIONS
from phintys.gpu.runtime.nvrtc import Refused, find_nvrtc
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


@lru_cache
def quick(nvrtc):
    """The options with which a version of NVRTC takes a third of the time, for what nothing runs or looks at."""
    options = (*OPTIONS, "--Ofast-compile=max")
    try:
        nvrtc.compile("", nvrtc.architectures[-1], options)
    except Refused:
        return OPTIONS
    return options


COMPILE = """
import json, sys
from phintys.gpu.runtime.compiler import OPTIONS
from phintys.gpu.runtime.nvrtc import find_nvrtc
for line in sys.stdin:
    source, target = json.loads(line)
    print(find_nvrtc().compile(source, target, OPTIONS).hex(), flush=True)
"""


@lru_cache(maxsize=1)
def compiling():
    """A process that compiles for `machine_code` alone: after one compilation with ``--Ofast-compile=max`` NVRTC 12.9
    and 13.5 compile everything so until the process ends, and other tests do this (`quick`)."""
    return subprocess.Popen([sys.executable, "-I", "-c", COMPILE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)


def compiled_alone(source, target):
    """What NVRTC makes of a source."""
    if find_nvrtc() is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    process = compiling()
    process.stdin.write(json.dumps([source, target]) + "\n")
    process.stdin.flush()
    return bytes.fromhex(process.stdout.readline())


def machine_code(source):
    """The PTX of a source."""
    return compiled_alone(source, "compute_90").decode().rstrip("\0")


REGISTERS, LOCAL_BYTES = 0x2f, 0x11             # kinds of entries in the section .nv.info of a cubin


def resources(source):
    """What each kernel of a source takes on sm_90: registers, and bytes of local memory in each thread, also those into
    which registers are spilled.

    Returns
    -------
    dict
        Name → (registers, bytes).
    """
    image = compiled_alone(source, "sm_90")
    begin, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQII", image, begin + size * index) for index in range(count)]

    def text(section, place):
        at = sections[section][4] + place
        return image[at:image.index(b"\0", at)].decode()
    symbols = next(section for section in sections if section[1] == 2)
    at, = [section[4] for section in sections if text(names, section[0]) == ".nv.info"]
    end = at + next(section[5] for section in sections if section[4] == at)
    found = {REGISTERS: {}, LOCAL_BYTES: {}}
    while at < end:
        kind, length = struct.unpack_from("<xBH", image, at)
        if kind in found:
            symbol, value = struct.unpack_from("<II", image, at + 4)
            name = text(symbols[6], struct.unpack_from("<I", image, symbols[4] + 24 * symbol)[0])
            found[kind][name] = value
        at += 4 + (length if image[at] == 4 else 0)
    return {name: (count, found[LOCAL_BYTES][name]) for name, count in found[REGISTERS].items()}
