"""Loops over short vectors as loops over their numbers: values against the same loops as they were written."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.solvers.root_loops import looped
from phintys.vm.loops.loop_kernel import loops_in

UNSPLIT = phintys.Mode("vm", "fast_run").excluding("scan_scalars")


def in_registers(f):
    return [loop.scalar_body is not None for loop in loops_in(f.program)]


def vector(name, length, dtype="float64"):
    return T.TensorType(dtype, (False,), shape=(length,))(name)


def compare(inputs, outputs, *values, split=True):
    fast = phintys.function(inputs, outputs, on_unused_input="ignore")
    usual = phintys.function(inputs, outputs, mode=UNSPLIT, on_unused_input="ignore")
    assert set(in_registers(fast)) == {split}
    assert not any(in_registers(usual))
    for _ in range(2):
        for found, wanted in zip(fast(*values), usual(*values)):
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            numpy.testing.assert_allclose(found, wanted, rtol=1e-5 if found.dtype == "float32" else 1e-12)
    return fast


def orbit(state, rates):
    change = T.stack([rates[0] * state[0] - state[0] * state[1], state[0] * state[1] - rates[1] * state[1]])
    return state + T.cast(0.05, state.dtype) * change


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("steps", [5, 60])
def test_state_of_an_equation_and_its_gradient(dtype, steps):
    start, rates = vector("start", 2, dtype), vector("rates", 2, dtype)
    rows, _ = phintys.scan(orbit, outputs_info=start, non_sequences=rates, n_steps=steps)
    cost = T.sqr(rows).sum()
    values = numpy.array([1.0, 0.5], dtype), numpy.array([0.7, 0.9], dtype)
    compare([start, rates], [rows, rows[-1], *T.grad(cost, [start, rates])], *values)


def test_where_the_gpu_package_is_imported():
    import phintys.gpu
    start, rates = vector("start", 2), vector("rates", 2)
    rows, _ = phintys.scan(orbit, outputs_info=start, non_sequences=rates, n_steps=5)
    compare([start, rates], [rows], [1.0, 0.5], [0.7, 0.9])


def test_no_steps():
    start, rates, steps = vector("start", 2), vector("rates", 2), T.lscalar()
    rows, _ = phintys.scan(orbit, outputs_info=start, non_sequences=rates, n_steps=steps)
    f = compare([start, rates, steps], [rows], [1.0, 0.5], [0.7, 0.9], 4)
    assert f([1.0, 0.5], [0.7, 0.9], 0)[0].shape == (0, 2)


def test_sequences_taps_stacked_rows_and_only_the_last_row():
    start = T.TensorType("float64", (False, False), shape=(2, 3))("start")
    data = T.TensorType("float64", (False, False), shape=(None, 3))("data")

    def step(row, before, previous):
        new = T.set_subtensor(previous[1:], T.tanh(before[:2]) * row[::-1][0])
        return T.inc_subtensor(new[0], row[2]), T.join(0, row[:1], before[1:2])

    (rows, made), _ = phintys.scan(step, data, [{"initial": start, "taps": [-2, -1]}, None])
    values = numpy.random.RandomState(0).normal(size=(2, 3)), numpy.random.RandomState(1).normal(size=(7, 3))
    compare([start, data], [rows, made], *values)
    compare([start, data], [rows[-1], made[-2:]], *values)
    compare([start, data], T.grad(rows.sum() + T.sqr(made).sum(), [start, data]), *values)


def test_while_loop():
    start, rates = vector("start", 2), vector("rates", 2)

    def step(state, rates):
        new = orbit(state, rates)
        return new, phintys.scan_module.until(new[1] > 0.55)

    rows, _ = phintys.scan(step, outputs_info=start, non_sequences=rates, n_steps=100)
    f = compare([start, rates], [rows], [1.0, 0.5], [0.7, 0.9])
    assert 1 < f([1.0, 0.5], [0.7, 0.9])[0].shape[0] < 100


@pytest.mark.parametrize("number", [1, -2, 2, -3])
def test_numbers_of_what_is_carried(number):
    """One that there is not is an error when the function runs."""
    x = T.specify_shape(T.dvector(), (2,))

    def step(y, steps):
        return {"y": T.stack([y[1] * 0.5, y[0] + T.sum(y)]), "steps": steps + 1}, T.ge(steps, 3)

    last = looped("carried", step, {"y": x, "steps": T.constant(0, dtype="int64")}, T.constant(100))["y"]
    f = phintys.function([x.owner.inputs[0]], [last.sum(), last[number]])
    assert in_registers(f)
    if number not in range(-2, 2):
        with pytest.raises(IndexError, match=f"index {number} is out of bounds"):
            f([1, 2])
    else:
        y = numpy.array([1.0, 2.0])
        for _ in range(4):
            y = numpy.array([y[1] * 0.5, y[0] + y.sum()])
        numpy.testing.assert_allclose(f([1, 2]), [y.sum(), y[number]])


def test_integers_and_mixed_dtypes():
    start, weights = vector("start", 2, "int64"), vector("weights", 2)

    def step(state, weights):
        return T.stack([state[1], state[0] + state[1]]), weights * state

    (numbers, products), _ = phintys.scan(step, outputs_info=[start, None], non_sequences=weights, n_steps=10)
    compare([start, weights], [numbers, products], [0, 1], [0.5, 2.0])


def test_what_stays_as_it_is():
    """Vectors of unknown length or of many numbers, bodies that take nothing apart or mostly compute with whole
    vectors, and computed positions."""
    unknown, long, short = T.dvector(), vector("long", 20), vector("short", 3)
    position = T.lscalar()
    rows, _ = phintys.scan(orbit, outputs_info=unknown, non_sequences=unknown, n_steps=5)
    compare([unknown], [rows], [1.0, 0.5], split=False)
    rows, _ = phintys.scan(lambda state: T.set_subtensor(state[1], state[0] * 2), outputs_info=long, n_steps=5)
    compare([long], [rows], numpy.arange(20.0), split=False)
    rows, _ = phintys.scan(lambda state: T.tanh(state) * 2, outputs_info=short, n_steps=5)
    compare([short], [rows], [1.0, 2.0, 3.0], split=False)
    for whole in (T.tanh, lambda state: sum([state * factor for factor in range(2, 80)])):
        rows, _ = phintys.scan(lambda s: whole(T.concatenate([s[1:], s[:1]])), outputs_info=short, n_steps=5)
        compare([short], [rows], [0.1, 0.2, 0.3], split=False)
    rows, _ = phintys.scan(lambda state, position: T.set_subtensor(state[position], state[0] + 1),
                           outputs_info=short, non_sequences=position, n_steps=5)
    compare([short, position], [rows], [1.0, 2.0, 3.0], 1, split=False)


def test_debug_mode():
    start, rates = vector("start", 2), vector("rates", 2)
    rows, _ = phintys.scan(orbit, outputs_info=start, non_sequences=rates, n_steps=4)
    found = phintys.function([start, rates], [rows, T.grad(rows.sum(), rates)], mode="DebugMode")([1, 0.5], [0.7, 0.9])
    wanted = phintys.function([start, rates], [rows, T.grad(rows.sum(), rates)], mode=UNSPLIT)([1, 0.5], [0.7, 0.9])
    for value, expected in zip(found, wanted):
        numpy.testing.assert_allclose(value, expected, rtol=1e-12)
