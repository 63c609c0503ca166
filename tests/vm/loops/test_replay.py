"""Steps of loops that are recorded and replayed, against the same steps run by the interpreter, bit by bit."""
from dataclasses import replace

import numpy
import pytest
from random_loops import random_loop
from replays import replayed, replays

import phintys
import phintys.tensor as T
from phintys.vm.loops.loop_kernel import record_steps
from phintys.vm.pool import fail_allocation

SIZES = [3, 40, 200]                    # values of a few bytes, of a small block, and larger ones in matrices


@pytest.fixture
def recorded():
    """Functions that set before which step one is recorded, and undo it."""
    yield record_steps
    record_steps()


def compare(f, *arguments, last=8):
    """Call a function twice with steps that are replayed, and without; returns the results."""
    record_steps(0)
    wanted = f(*arguments)
    record_steps(last)
    for _ in range(2):
        found = f(*arguments)
        for value, expected in zip(found, wanted):
            numpy.testing.assert_array_equal(value, expected)
    return wanted


@pytest.mark.parametrize("seed", range(100, 130))
def test_random_loops_with_gradients(seed, recorded):
    loop = replace(random_loop(seed), steps=25, symbolic_steps=False)
    inputs, _, outputs, _ = loop.graph()
    cost = sum([(output ** 2).sum() for output in outputs])
    gradients = phintys.grad(cost, inputs, disconnected_inputs="ignore")
    with phintys.change_flags(allow_gc=[True, False, "plan"][seed % 3]):
        f = phintys.function(inputs, [*outputs, *gradients], on_unused_input="ignore")
        last = phintys.function(inputs, [output[-1] for output in outputs], on_unused_input="ignore")
    compare(f, *loop.values())
    compare(last, *loop.values())


def network(rank, reading):
    """A recurrent network with a product in each step, and its gradients."""
    x, h, w = T.TensorType("float64", (False,) * (rank + 1))(), T.TensorType("float64", (False,) * rank)(), T.dmatrix()
    rows, _ = phintys.scan(lambda x, h, w: T.tanh(T.dot(h, w) + x), x, h, w)
    return phintys.function([x, h, w], [rows[reading], *phintys.grad((rows[reading] ** 2).sum(), [h, w])])


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("reading", [slice(None), -1, slice(-3, None)], ids=["all", "last", "last three"])
def test_networks_of_changing_sizes(rank, reading, recorded):
    f, rng = network(rank, reading), numpy.random.RandomState(0)
    for size in [*SIZES, *SIZES[::-1]]:
        for steps in (5, 9, 10, 11, 30):
            shape = (size,) * (rank - 1) + (size,)
            compare(f, rng.randn(steps, *shape), rng.randn(*shape), rng.randn(size, size) / size)


@pytest.mark.parametrize("size", [*SIZES, 2000])
def test_carried_values(size, recorded):
    """Values that are exchanged, added to in place, or computed anew."""
    start, x = T.dvector(), T.dmatrix()

    def step(row, a, b, total):
        return [b, a + 1, T.inc_subtensor(total[1:2], row[0])]

    (a, b, total), _ = phintys.scan(step, x, [start, start * 2, start * 3])
    f = phintys.function([x, start], [a[-1], b[-1], total[-1]])
    values = numpy.random.RandomState(size).randn(30, size)
    found = compare(f, values, numpy.arange(size) * 1.0)
    numpy.testing.assert_array_equal(found[:2], [numpy.arange(size) + 15, 2 * numpy.arange(size) + 15])
    wanted = numpy.arange(size) * 3.0
    for row in values:
        wanted[1] += row[0]
    numpy.testing.assert_array_equal(found[2], wanted)


def test_results_twice_and_views_of_arguments(recorded):
    x, start = T.dmatrix(), T.dmatrix()
    outputs, _ = phintys.scan(lambda row, state: [state + row, state + row, state.T, row], x, [start, None, None, None])
    f = phintys.function([x, start], outputs)
    values = numpy.random.RandomState(0).randn(20, 3)
    states, again, turned, rows = compare(f, values, numpy.zeros((3, 3)))
    numpy.testing.assert_array_equal(states, again)
    numpy.testing.assert_array_equal(rows, values)
    numpy.testing.assert_array_equal(turned[1:], states[:-1].transpose(0, 2, 1))


def test_rows_in_another_order(recorded):
    """A row that a kernel computes in Fortran order is put in C order."""
    x, start = T.dmatrix(), T.dmatrix()
    states, _ = phintys.scan(lambda row, state: T.exp(-abs(state.T)) * 2 + row[0], x, start)
    f = phintys.function([x, start], [states])
    start = numpy.random.RandomState(0).randn(3, 5)
    square = numpy.random.RandomState(0).randn(4, 4)
    for value in (square, numpy.asfortranarray(square)):
        compare(f, numpy.ones((20, 2)), value)


@pytest.mark.parametrize("taps", [[-1], [-2], [-3, -1]])
def test_states_of_which_no_row_is_kept_but_the_last(taps, recorded):
    start = T.dmatrix()
    states, _ = phintys.scan(lambda *rows: sum(rows) * 0.5 + rows[0][::-1],
                             outputs_info=[{"initial": start, "taps": taps}] if taps != [-1] else [start[0]],
                             n_steps=40)
    compare(phintys.function([start], [states[-1]]), numpy.random.RandomState(0).randn(3, 30))


def test_a_loop_that_grows_and_ends_by_its_condition(recorded):
    limit, start = T.dscalar(), T.dvector()
    states, _ = phintys.scan(lambda x: (x * 1.01, phintys.scan_module.until(x.sum() > limit)), outputs_info=[start],
                             n_steps=100000)
    f = phintys.function([limit, start], [states])
    for bound in (1.5, 3.1, 1e5, 2.0):
        compare(f, bound, numpy.array([1.0, 2.0, 0.1]))


def test_taps_follow_rows_that_grow(recorded):
    """They read memory that was given back, here to the system."""
    start, limit = T.dvector(), T.dscalar()
    states, _ = phintys.scan(lambda x: (x + 1, phintys.scan_module.until(x[0] > limit)), outputs_info=[start],
                             n_steps=100000)
    f = phintys.function([start, limit], states[:, ::999])
    with phintys.change_flags(pool_limit=1):                # mebibytes, fewer than 256 rows have
        found = f(numpy.zeros(2000), 600.0)
    numpy.testing.assert_array_equal(found, numpy.arange(1.0, 603)[:, None] + numpy.zeros(3))


@pytest.mark.parametrize("step", [0, 1, 2, 3, 4, 20, 29])
def test_an_error_names_its_step(step):
    x, positions = T.dvector(), T.lmatrix()
    total = phintys.shared(0.0)
    rows, _ = phintys.scan(lambda chosen, before, x: x[chosen] + 0 * before, positions, T.zeros_like(x[:2]), x)
    f = phintys.function([x, positions], rows, updates={total: total + rows.sum()})
    chosen = numpy.ones((30, 2), "int64")
    wanted = f(numpy.arange(3.0), chosen)
    assert wanted.tolist() == [[1, 1]] * 30
    chosen[step, 1] = 7
    with pytest.raises(IndexError, match=f"in step {step} of"):
        f(numpy.arange(3.0), chosen)
    assert total.get_value() == 60
    numpy.testing.assert_array_equal(f(numpy.arange(3.0), numpy.ones((30, 2), "int64")), wanted)


def test_memory_that_runs_out():
    f, rng = network(2, slice(None)), numpy.random.RandomState(0)
    arguments = rng.randn(20, 60, 60), rng.randn(60, 60), rng.randn(60, 60) / 60
    wanted = f(*arguments)
    for position in range(1, 30):
        phintys.memory.trim()
        fail_allocation(position)
        try:
            f(*arguments)
        except MemoryError:
            pass
        finally:
            fail_allocation(0)
        for value, expected in zip(f(*arguments), wanted):
            numpy.testing.assert_array_equal(value, expected)


def test_bodies_that_are_not_replayed(recorded):
    """Indices that are computed, products whose shapes change, lazy branches: bodies that are not bound."""
    x, start, lengths = T.dmatrix(), T.dvector(), T.lvector()

    def step(row, length, position, state):
        part = phintys.ifelse.ifelse(T.eq(length % 2, 0), row[:length].sum(), row[length:].prod())
        return [position + 1, state + part * row[position % 3]]

    (_, states), _ = phintys.scan(step, [x, lengths], [T.constant(0, dtype="int64"), start])
    f = phintys.function([x, lengths, start], [states])
    compare(f, numpy.random.RandomState(0).randn(25, 3), numpy.arange(25) % 4, numpy.zeros(4))
    assert replayed(f) == 0


def test_bodies_that_are_replayed(recorded):
    f, rng = network(1, slice(None)), numpy.random.RandomState(0)
    with replays(f, 2 * 2 * 41):                        # two loops, two calls
        compare(f, rng.randn(50, 4), rng.randn(4), rng.randn(4, 4))
    with phintys.change_flags(**{"scan.allow_gc": True}):
        f = network(1, slice(None))
    compare(f, rng.randn(50, 4), rng.randn(4), rng.randn(4, 4))
    assert replayed(f) == 0
    f = network(1, slice(None))
    compare(f, rng.randn(8, 4), rng.randn(4), rng.randn(4, 4))
    assert replayed(f) == 0                             # not worth recording one
