"""Large copies to the device are on a stream of their own, beside the work; small ones, and results, are work, and wait
on desks and in trays: who waits for whom.

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


def added_up(length=1 << 16):
    """What calls give that each upload an argument and read it twice."""
    w = phintys.shared(numpy.zeros(length, "float32"), target="cuda")
    x = T.fvector()
    f = phintys.function([x], updates=[(w, w * 2 + T.exp(x) + x.sum())])
    for step in range(STEPS):
        f(numpy.linspace(-1, step / STEPS, length).astype("float32"))
    return w.get_value()


def expected(length=1 << 16):
    w = numpy.zeros(length)
    for step in range(STEPS):
        x = numpy.linspace(-1, step / STEPS, length)
        w = w * 2 + numpy.exp(x) + x.sum()
    return w


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("length", [1 << 16, 1 << 20])      # one slot of pinned memory, and several
def test_calls_that_upload(lazy, graphs, length):
    with phintys.change_flags({"gpu.graphs": graphs}):
        before = phintys.gpu.memory_report()
        numpy.testing.assert_allclose(added_up(length), expected(length), rtol=1e-3)
        after = phintys.gpu.memory_report()
    assert after["uploads"] - before["uploads"] >= STEPS
    assert after["beside"] > before["beside"]                # copies that did not wait for the call before


@pytest.mark.parametrize("length", [1, 300, 1 << 15])
def test_small_arguments_are_work(lazy, length):
    """More calls than desks, which nobody waits for until there is none left."""
    before = phintys.gpu.memory_report()
    w = phintys.shared(numpy.zeros(length, "float32"), target="cuda")
    x = T.fvector()
    f = phintys.function([x], updates=[(w, w + x[::-1])])
    for step in range(100):
        f(numpy.arange(length, dtype="float32") + step)
    assert (w.get_value() == 100 * numpy.arange(length)[::-1] + 4950).all()
    after = phintys.gpu.memory_report()
    assert after["uploads"] - before["uploads"] >= 100 and after["beside"] == before["beside"]


@pytest.mark.parametrize("length", [300, 1 << 16])
def test_new_values_of_a_shared_variable(lazy, length):
    w = phintys.shared(numpy.zeros(length, "float32"), target="cuda")
    total = phintys.shared(numpy.zeros(length, "float32"), target="cuda")
    f = phintys.function([], updates=[(total, total + w * w)])
    for step in range(STEPS):
        w.set_value(numpy.full(length, step, "float32"))
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
    w = phintys.shared(numpy.zeros(1 << 16, "float32"), target="cuda")
    x = T.fvector()
    f = phintys.function([x], updates=[(w, w * 10 + x)])
    for step in range(STEPS):
        f(numpy.full(1 << 16, step, "float32"))
    assert w.get_value()[0] != 123456


# ---- copies to the host ----------------------------------------------------------------------------------------------
def results(lengths=(300, 1, 70, 1 << 17)):
    """What calls return of which each result is copied to the host before the work for the next is there."""
    w = phintys.shared(numpy.zeros(lengths[0], "float32"), target="cuda")
    x = T.fvector()
    wide = [T.exp(x).sum() * T.ones(length, dtype="float32") for length in lengths]
    f = phintys.function([x], [*wide, w[::2] + x[0], T.dot(x, x), w * 2], updates=[(w, w + T.tanh(x))])
    return [f(numpy.linspace(-1, step, 300).astype("float32")) for step in range(STEPS)]


def expected_results(lengths=(300, 1, 70, 1 << 17)):
    w, found = numpy.zeros(lengths[0]), []
    for step in range(STEPS):
        x = numpy.linspace(-1, step, 300)
        found.append([*[numpy.full(length, numpy.exp(x).sum()) for length in lengths], w[::2] + x[0], x @ x, w * 2])
        w = w + numpy.tanh(x)
    return found


def are_close(found, expected):
    return all(numpy.allclose(*pair, rtol=1e-3, atol=1e-4) for one, other in zip(found, expected, strict=True)
               for pair in zip(one, other, strict=True))


@pytest.mark.parametrize("graphs", [True, False])
def test_results_are_waited_for_at_the_end(lazy, graphs):
    with phintys.change_flags({"gpu.graphs": graphs}):
        before = phintys.gpu.memory_report()
        found = results()
        assert are_close(found, expected_results())
        after = phintys.gpu.memory_report()
    # in each call one is too large for that
    assert after["late"] - before["late"] == after["downloads"] - before["downloads"] - STEPS >= 5 * STEPS


def test_a_wait_for_results_that_is_missing_is_seen(lazy, device):
    device.library.stand_in_ignore_waits(2)         # of the host
    assert not are_close(results(), expected_results())


def test_memory_that_is_overwritten_after_a_copy_was_begun(lazy):
    """An old value of a shared variable is a result, and its memory gets the new value; an upload goes there next."""
    w = phintys.shared(numpy.zeros(300, "float32"), target="cuda")
    f = phintys.function([], w, updates=[(w, w + 1)])
    for step in range(STEPS):
        assert (f() == 10 * step).all() and (f() == 10 * step + 1).all()
        w.set_value(numpy.full(300, 10 * step + 10, "float32"))


def test_values_larger_than_all_trays(lazy):
    w = phintys.shared(numpy.arange(1 << 21, dtype="float32"), target="cuda")
    f = phintys.function([], [w + 1, w[1] * 3])
    assert (f()[0] == numpy.arange(1, (1 << 21) + 1)).all() and f()[1] == 3
    assert (w.get_value() == numpy.arange(1 << 21)).all()


def test_more_results_than_trays(lazy):
    w = phintys.shared(numpy.arange(5, dtype="float32"), target="cuda")
    f = phintys.function([], [w * number for number in range(40)])
    for _ in range(3):
        for number, found in enumerate(f()):
            assert (found == numpy.arange(5) * number).all()


def test_a_call_that_fails_gives_up_its_copies(lazy):
    """The memory of its results is used by others: nothing may be written there later."""
    w = phintys.shared(numpy.arange(300, dtype="float32"), target="cuda")
    y = T.fvector()
    f = phintys.function([y], [w * 2, T.exp(w), y.reshape((3,))])
    for _ in range(30):
        with pytest.raises(ValueError, match="reshape|cannot"):
            f(numpy.zeros(4, "float32"))
    before = phintys.gpu.memory_report()["late"]
    assert (f(numpy.zeros(3, "float32"))[0] == numpy.arange(300) * 2).all()
    assert phintys.gpu.memory_report()["late"] == before + 2        # trays were free
