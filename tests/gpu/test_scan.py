"""Loops whose values are on the device: the numbers of the host, and no transfer in a step."""
import numpy
import pytest
from support_gpu import assert_close, at_device, on_both

import phintys
import phintys.tensor as T
from phintys.gpu.device_loop import DeviceLoop
from phintys.ifelse import IfElse
from phintys.ops.loops.loop import Scan


@pytest.fixture
def there(device):
    with at_device():
        yield device


def floats(*shape, seed=0):
    return numpy.random.RandomState(seed).uniform(-0.5, 0.5, shape).astype("float32")


def loops(function):
    return [node.op for node in function.maker.fgraph.toposort() if isinstance(node.op, (Scan, DeviceLoop))]


def recurrent(go_backwards=False):
    """A recurrent layer's last state and a step of training by its gradient."""
    w, u, b = [phintys.shared(floats(*shape, seed=seed)) for seed, shape in enumerate([(4, 5), (5, 5), (5,)])]
    x = T.ftensor3()

    def step(row, state):
        return T.tanh(T.dot(row, w) + T.dot(state, u) + b)
    rows, _ = phintys.scan(step, sequences=x, outputs_info=T.zeros((x.shape[1], 5), "float32"),
                           go_backwards=go_backwards)
    cost = (rows[-1] ** 2).sum() + rows.mean()
    parameters = w, u, b
    updates = [(each, each - numpy.float32(0.1) * gradient)
               for each, gradient in zip(parameters, T.grad(cost, list(parameters)))]
    return phintys.function([x], [cost, rows[-1]], updates=updates), parameters


@pytest.mark.parametrize("go_backwards", [False, True])
def test_training_a_recurrent_layer(there, order, go_backwards):
    (at_host, host_parameters), (function, parameters) = on_both(lambda: recurrent(go_backwards))
    assert loops(function) and all([isinstance(op, DeviceLoop) for op in loops(function)])
    for length in (7, 7, 7, 20, 1, 7):
        for mine, theirs in zip(function(floats(length, 3, 4)), at_host(floats(length, 3, 4))):
            assert_close(mine, theirs, rtol=1e-4)
    for mine, theirs in zip(parameters, host_parameters):
        assert_close(mine.get_value(), theirs.get_value(), rtol=1e-4)


def several(n_steps):
    """Taps, stacked rows, numbers and counters, and rows of which the last are kept."""
    v = phintys.shared(floats(6))
    start = phintys.shared(floats(3, 6, seed=1))

    def step(number, before, last, total, count):
        state = T.sin(before + last * v) * number / 40      # larger factors would be chaotic
        return state, total + state.sum(), count + 1, T.exp(state[::-1])
    (states, totals, counts, stacked), _ = phintys.scan(
        step, sequences=T.arange(1, n_steps + 1).astype("float32"),
        outputs_info=[{"initial": start, "taps": [-3, -1]}, numpy.float32(0), numpy.int64(0), None])
    return phintys.function([], [states, states[-2:], totals[-1], counts, stacked[-1], stacked])


@pytest.mark.parametrize("n_steps", [1, 2, 9, 40])
def test_all_kinds_of_values(there, n_steps):
    at_host, function = on_both(lambda: several(n_steps))
    assert any([isinstance(op, DeviceLoop) for op in loops(function)])
    for _ in range(3):
        for mine, theirs in zip(function(), at_host()):
            assert_close(mine, theirs, rtol=1e-4)


def test_a_while_loop(there):
    def build():
        v = phintys.shared(floats(6) + 1)

        def step(state):
            new = state * numpy.float32(1.5)
            return new, phintys.scan_module.until(new.sum() > 1000)
        rows, _ = phintys.scan(step, outputs_info=v, n_steps=3000)
        return phintys.function([], [rows, rows[-1], rows.shape[0]])
    at_host, function = on_both(build)
    for mine, theirs in zip(function(), at_host()):
        assert_close(mine, theirs, rtol=1e-4)


def test_last_rows_in_a_ring(there):
    def build():
        v = phintys.shared(floats(6))
        rows, _ = phintys.scan(lambda a, b: T.cos(a + b), outputs_info=[{"initial": T.stack([v, v + 1]),
                                                                        "taps": [-2, -1]}], n_steps=25)
        return phintys.function([], rows[-3:])
    at_host, function = on_both(build)
    for _ in range(2):
        assert_close(function(), at_host(), rtol=1e-4)


def test_no_steps(there):
    def build():
        v = phintys.shared(floats(6))
        n = T.lscalar()
        rows, _ = phintys.scan(lambda state: (T.cos(state), T.outer(state, state[:2]) / state[0]),
                               outputs_info=[v, None], n_steps=n)
        return phintys.function([n], rows)
    at_host, function = on_both(build)
    for steps in (0, 3, 0):
        for mine, theirs in zip(function(steps), at_host(steps)):
            assert_close(mine, theirs, rtol=1e-4)


def test_steps_transfer_nothing(there):
    if not there.is_stand_in:
        pytest.skip("only the stand-in counts")
    function, _ = recurrent()
    for length in (30, 30, 30):
        before = there.counts()
        function(floats(length, 3, 4))
        after = there.counts()
    assert after["to_host"] - before["to_host"] < 8 and after["to_device"] - before["to_device"] < 8


def test_a_body_that_needs_the_host_stays_there(there):
    def build():
        v = phintys.shared(floats(3, 3))
        rows, _ = phintys.scan(lambda state: T.slinalg.schur(T.tanh(state) - 1)[0],
                               outputs_info=v, n_steps=4)
        return phintys.function([], rows)
    at_host, function = on_both(build)
    assert not any([isinstance(op, DeviceLoop) for op in loops(function)])
    assert_close(function(), at_host(), rtol=1e-4)


def test_an_error_in_a_step(there):
    v = phintys.shared(floats(3, 4))
    x = T.ftensor3()
    rows, _ = phintys.scan(lambda row, state: T.dot(state, row), sequences=x, outputs_info=v)
    f = phintys.function([x], rows, updates=[(v, rows[-1])])
    before = v.get_value()
    with pytest.raises(ValueError, match="(?s)not aligned.*step 0 of"):
        f(floats(2, 3, 3))
    assert numpy.array_equal(v.get_value(), before)
    f(floats(2, 4, 4))


def test_debug_mode_compares_loops(there):
    w = [phintys.shared(floats(4, 4, seed=seed)) for seed in range(2)]
    rows, _ = phintys.scan(lambda row, state: T.tanh(T.dot(row, w[0]) + T.dot(state, w[1])),
                           sequences=T.as_tensor_variable(floats(5, 3, 4)), outputs_info=T.zeros((3, 4), "float32"))
    function = phintys.function([], [rows[-1], *T.grad(rows[::-1].sum(), w)], mode="DebugMode")
    function()
    assert [str(op)[:8] for op in loops(function)] == ["for{gpu,"] * 2


def test_programs_with_loops_are_pickled(there):
    import pickle
    function, (w, u, b) = recurrent()
    v = phintys.shared(floats(9, 4))
    other = phintys.function([], T.cumsum(v, 0)[[0, 2, -1]] + T.sort(v, 0)[:3])
    for each, arguments in ((function, [floats(7, 3, 4)]), (other, [])):
        again = pickle.loads(pickle.dumps(each))
        for mine, theirs in zip(again(*arguments), each(*arguments)):
            assert_close(mine, theirs)


def test_values_before_a_loop_stay_at_the_device(there):
    """Whether a sum of two biases is computed depends on whether there is a step, but not at the price of transfers."""
    first, second = [phintys.shared(floats(4, seed=seed)) for seed in (1, 2)]
    x = T.fmatrix()
    rows, _ = phintys.scan(lambda row, state: T.tanh(row * state + (first + second)), x, T.zeros(4, "float32") + first)
    f = phintys.function([x], rows)
    assert all([isinstance(op, DeviceLoop) for op in loops(f)])
    assert not any([isinstance(node.op, IfElse) for node in f.maker.fgraph.apply_nodes])
    state, given = first.get_value(), floats(3, 4)
    for row, found in zip(given, f(given), strict=True):
        state = numpy.tanh(row * state + first.get_value() + second.get_value())
        assert_close(found, state)
    assert f(floats(0, 4)).shape == (0, 4)
