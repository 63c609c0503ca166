"""What tests of the device share: a function made for the processor, and the same made for the device."""
from contextlib import contextmanager

import numpy

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
