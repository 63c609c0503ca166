"""Copies to the device are on a stream of their own, beside the work: who waits for whom.

A lazy device runs nothing until somebody waits, and then the streams in one of two orders: the work first, or the
copies first. So a wait that is missing gives wrong numbers in one of them, which the last test shows.
"""
import numpy
import pytest
from support_gpu import at_device

import phintys
import phintys.tensor as T

STEPS = 7


@pytest.fixture(params=["work first", "copies first"])
def lazy(request, device):
    """The order of streams of a device that works only when it is waited for."""
    if not device.is_stand_in:
        pytest.skip("only the stand-in can be lazy")
    with at_device():
        device.library.stand_in_set_lazy(1 if request.param == "work first" else 2)
        yield request.param
        device.library.stand_in_set_lazy(0)
        device.library.stand_in_ignore_waits(0)


def added_up(length=300):
    """What calls give that each upload an argument and read it twice."""
    w = phintys.shared(numpy.zeros(length, "float32"), target="cuda")
    x = T.fvector()
    f = phintys.function([x], updates=[(w, w * 2 + T.exp(x) + x.sum())])
    for step in range(STEPS):
        f(numpy.linspace(-1, step / STEPS, length).astype("float32"))
    return w.get_value()


def expected(length=300):
    w = numpy.zeros(length)
    for step in range(STEPS):
        x = numpy.linspace(-1, step / STEPS, length)
        w = w * 2 + numpy.exp(x) + x.sum()
    return w


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("length", [300, 1 << 20])          # one slot of pinned memory, and several
def test_calls_that_upload(lazy, graphs, length):
    with phintys.change_flags({"gpu.graphs": graphs}):
        before = phintys.gpu.memory_report()
        numpy.testing.assert_allclose(added_up(length), expected(length), rtol=1e-3)
        after = phintys.gpu.memory_report()
    assert after["uploads"] - before["uploads"] >= STEPS
    assert after["beside"] > before["beside"]                # copies that did not wait for the call before


def test_new_values_of_a_shared_variable(lazy):
    w = phintys.shared(numpy.zeros(300, "float32"), target="cuda")
    total = phintys.shared(numpy.zeros(300, "float32"), target="cuda")
    f = phintys.function([], updates=[(total, total + w * w)])
    for step in range(STEPS):
        w.set_value(numpy.full(300, step, "float32"))
        f()
    assert (total.get_value() == sum([step * step for step in range(STEPS)])).all()


def test_memory_that_work_used_before(lazy):
    """Blocks that work has given back are used for copies before this work is done."""
    x = T.fvector()
    v = phintys.shared(numpy.arange(300, dtype="float32"), target="cuda")
    f = phintys.function([], phintys.gpu.gpu_from_host(T.exp(v / 300).sum() + T.dot(v, v)), mode="FAST_RUN")
    g = phintys.function([x], phintys.gpu.gpu_from_host(x[::2] * 2))
    kept = []
    for step in range(STEPS):
        kept += [f(), g(numpy.full(300, step, "float32"))]
    for step in range(STEPS):
        assert float(kept[2 * step].get()) == pytest.approx(float(kept[0].get()))
        assert (kept[2 * step + 1].get() == 2 * step).all()


def test_a_wait_that_is_missing_is_seen(lazy, device):
    device.library.stand_in_ignore_waits(1)
    assert not numpy.allclose(added_up(), expected(), rtol=1e-3)
