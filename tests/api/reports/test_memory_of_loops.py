"""The memory of loops: how little a call needs, and that f.memory_report() says so."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.scan_module import until

WIDTH = 2000                                        # elements of a state: 16,000 bytes
ROW = 8 * WIDTH
a, k, rows = T.dvector("a"), T.lscalar("k"), T.dmatrix("rows")
VALUE = numpy.linspace(0.5, 1.5, WIDTH)


def peak_of_call(f, *arguments):
    """The most memory that the pool gave out during a call, beyond what is in use before it.

    Idle blocks of other tests would be used again, although they are up to an eighth too large.
    """
    f.free()
    phintys.memory.trim()
    before = phintys.memory.stats()["live_bytes"]
    phintys.memory.reset_peak()
    f(*arguments)
    return phintys.memory.stats()["peak_bytes"] - before


def step(state, a):
    return T.tanh(state * a)


def powers(kind="scan", **options):
    return getattr(phintys, kind)(step, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k, **options)[0]


# ---- what a call needs -----------------------------------------------------------------------------------------------
def test_the_last_of_a_million_states():
    x, start = T.dvectors("x", "start")
    states, _ = phintys.scan(lambda row, state: T.tanh(state * 0.5 + row), x, start)
    f = phintys.function([x, start], states[-1])
    few, many = [peak_of_call(f, numpy.zeros(steps), numpy.ones(100)) for steps in (100, 1_000_000)]
    assert few == many < 10_000


def network(batch):
    """The last state of a recurrent network, whose products of rows are computed in blocks of steps."""
    x, start = [T.TensorType("float64", (False,) * (rank + (batch is not None)))() for rank in (2, 1)]
    w_in, w, b = T.dmatrix(), T.dmatrix(), T.dvector()
    states, _ = phintys.scan(lambda row, state: T.tanh(T.dot(row, w_in) + T.dot(state, w) + b), x, start)
    f = phintys.function([x, start, w_in, w, b], states[-1])

    def values(steps):
        more = [] if batch is None else [batch]
        rng = numpy.random.RandomState(0)
        return [rng.uniform(-1, 1, shape) for shape in ([steps, *more, 8], [*more, 8], [8, 8], [8, 8], [8])]

    return f, values


@pytest.mark.parametrize("batch", [None, 4])
def test_the_last_state_of_a_network_does_not_need_the_products_of_all_rows(batch):
    f, values = network(batch)
    few, many, more = [peak_of_call(f, *values(steps)) for steps in (100, 30_000, 100_003)]
    assert few < 100 * 64 * (batch or 1) + 20_000 and many < 650_000 and more < 650_000
    reported = f.memory_report().modes[True].peak
    assert 500_000 < reported < 550_000
    assert f.memory_report([value.shape for value in values(100_003)]).modes[True].peak == reported


def test_scalars_of_a_million_steps():
    states, _ = phintys.scan(lambda state: state * 0.5 + 1, outputs_info=T.constant(0, dtype="float64"), n_steps=k)
    f, g = phintys.function([k], states[-1]), phintys.function([k], states[-3:].sum())
    assert peak_of_call(f, 1_000_000) < 1000 and peak_of_call(g, 1_000_000) < 1000
    assert f(1_000_000) == 2 and g(1_000_000) == 6


def test_a_while_loop_without_a_bound():
    states, _ = phintys.scan(lambda state: (state + 1, until(state >= 999_999)),
                             outputs_info=T.constant(0, dtype="float64"))
    f = phintys.function([], states[-1])
    assert peak_of_call(f) < 1000 and f() == 1_000_000


def test_a_gradient_keeps_the_states_alone():
    """The body has three intermediate values; the gradient needs the states, and a row of each of the others."""
    states, _ = phintys.scan(lambda row, state: T.tanh(T.exp(-state * a) + row), rows, T.zeros_like(a))
    f = phintys.function([rows, a], T.grad(states[-1].sum(), a))
    values = numpy.zeros((100, WIDTH)), VALUE
    assert 100 * ROW < peak_of_call(f, *values) < 112 * ROW


@pytest.mark.parametrize("every", [5, 20, 50])
@pytest.mark.parametrize("steps", [400, 397])
def test_checkpoints_keep_every_nth_state_and_n_states_at_a_time(every, steps):
    plain, saving = [phintys.function([a, k], T.grad(states[-1].sum(), a))
                     for states in (powers(), powers("scan_checkpoints", save_every_N=every))]
    numpy.testing.assert_allclose(plain(VALUE, steps), saving(VALUE, steps))
    kept = -(-steps // every) + every           # the last block is padded
    assert peak_of_call(plain, VALUE, steps) > steps * ROW
    assert kept * ROW < peak_of_call(saving, VALUE, steps) < (kept + 14) * ROW


@pytest.mark.parametrize("padding, copies", [(False, 0), (True, 1)])
def test_checkpoints_copy_sequences_to_pad_them(padding, copies):
    states, _ = phintys.scan_checkpoints(lambda row, state, a: T.tanh(state * a + row), rows, T.zeros_like(a), a,
                                         save_every_N=10, padding=padding)
    f = phintys.function([rows, a], T.grad(states[-1].sum(), a))
    values = numpy.zeros((200, WIDTH)), VALUE
    assert copies * 200 * ROW + 30 * ROW < peak_of_call(f, *values) < (copies * 200 + 45) * ROW


# ---- the report ------------------------------------------------------------------------------------------------------
def every_row():
    return [powers()]


def last_row():
    return [powers()[-1]]


def gradient():
    return [T.grad(powers()[-1].sum(), a)]


def checkpoints():
    return [T.grad(powers("scan_checkpoints", save_every_N=10)[-1].sum(), a)]


def carried():
    """Sums that the loop carries, and a state that is written in part."""
    states, _ = phintys.scan(lambda state, a: T.set_subtensor(state[:1], T.exp(-state * a)[1:2]) * a,
                             outputs_info=T.ones_like(a), non_sequences=a, n_steps=k)
    return T.grad(T.exp(states).sum(), [a])


@pytest.mark.parametrize("outputs", [every_row, last_row, gradient, checkpoints, carried])
def test_the_report_is_what_a_call_needs(outputs):
    f = phintys.function([a, k], outputs())
    predicted = f.memory_report([(WIDTH,), numpy.asarray(200)])
    needed = peak_of_call(f, VALUE, 200)
    measured = f.memory_report()
    assert predicted.modes == measured.modes and not predicted.unknown
    assert abs(predicted.modes[True].peak - needed) < 2 * ROW + 0.03 * needed


def test_the_memory_of_steps_is_shown():
    f = phintys.function([a, k], checkpoints())
    report = f.memory_report({"a": (WIDTH,), "k": numpy.asarray(200)})
    forward, backward = report.loops.values()
    largest = max([piece.bytes for piece in report.pieces if piece.use == "loop"])
    assert forward.lower_bound < backward.lower_bound == largest - ROW      # and a sum, which the loop carries
    assert len(backward.loops) == 2                 # ten steps once more, and their gradient
    for position in report.loops:
        assert f"steps of instruction {position}" in str(report)
    assert report.unshared > 20 * ROW


def test_the_report_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    f = phintys.function([a, k], checkpoints())
    axes = f.memory_report([(WIDTH,), numpy.asarray(200)]).plot(tmp_path / "memory.png")
    assert "loop" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_lengths_that_are_not_known_are_named():
    f = phintys.function([a, k], checkpoints())
    assert f.memory_report([(WIDTH,), ()]).unknown
