"""PyTensor's Scan as a loop of phintys: values and gradients against PyTensor's Python mode."""
import numpy as np
import pytest

pytest.importorskip("pytensor_reference")

import pytensor_reference as reference
from pytensor.compile.mode import Mode
from pytensor.scan.utils import until
from pytensor_reference import pytensor

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]

ROWS = np.random.default_rng(3).normal(size=(6, 3))
WEIGHTS = np.random.default_rng(4).normal(size=(3, 3)) / 2


def scan(*arguments, **options):
    return pytensor.scan(*arguments, return_updates=False, **options)


def walk(x, w):
    return scan(lambda row, state, w: pt.tanh(row + pt.dot(state, w)), sequences=[x], outputs_info=[x[0]],
                non_sequences=[w])


def taps(x, w):
    return scan(lambda row, before, last, w: pt.tanh(pt.dot(before, w) * row + last),
                sequences=[x], outputs_info=[{"initial": x[:2], "taps": [-2, -1]}], non_sequences=[w])


def mapped(x, w):
    return scan(lambda row, w: pt.dot(row, w) ** 2, sequences=[x], non_sequences=[w])


def two_states(x, w):
    a, b = scan(lambda row, a, b, w: [pt.sin(b) + row, a * pt.dot(row, w).sum()], sequences=[x],
                outputs_info=[x[0], x[1]], non_sequences=[w])
    return a * b


def windows(x, w):
    return scan(lambda before, now, state, w: pt.tanh(before - now + pt.dot(state, w)),
                sequences=[{"input": x, "taps": [-1, 1]}], outputs_info=[x[0]], non_sequences=[w])


def backwards(x, w):
    return scan(lambda row, state, w: pt.tanh(row + pt.dot(state, w)), sequences=[x], outputs_info=[x[0]],
                non_sequences=[w], go_backwards=True)


def powers(x, w):
    return scan(lambda state, w: pt.tanh(pt.dot(state, w)), outputs_info=[x], non_sequences=[w], n_steps=4)


def last(x, w):
    return walk(x, w)[-1]


def nested(x, w):
    def step(row, state, w):
        inner = scan(lambda item, total, state: pt.tanh(total + item * state.sum()), sequences=[row],
                     outputs_info=[pt.zeros((), dtype="float64")], non_sequences=[state])
        return pt.tanh(state + inner[-1] + pt.dot(row, w))
    return scan(step, sequences=[x], outputs_info=[x[0]], non_sequences=[w])


def while_loop(x, w):
    return scan(lambda row, total: (total + row ** 2, until(total.sum() > 5)), sequences=[x], outputs_info=[x[0]])


def no_feedback_and_state(x, w):
    state, other = scan(lambda row, state, w: [pt.tanh(pt.dot(state, w) + row), (state * row).sum()], sequences=[x],
                        outputs_info=[x[0], None], non_sequences=[w])
    return state * other[:, None]


def no_steps(x, w):
    return scan(lambda state, w: pt.dot(state, w), outputs_info=[x], non_sequences=[w], n_steps=pt.cast(x.shape[0] - 6,
                                                                                                      "int64"))


LOOPS = [walk, taps, mapped, two_states, windows, backwards, powers, last, nested, while_loop, no_feedback_and_state,
         no_steps]


@pytest.mark.parametrize("rewrites", ["minimum_compile", "fast_run"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_loops_and_their_gradients_are_those_of_pytensor(loop, rewrites):
    x, w = pt.matrix("x", dtype="float64"), pt.matrix("w", dtype="float64")
    outputs = [loop(x, w)]
    outputs += pytensor.grad(pt.sin(outputs[0]).sum(), [x, w], disconnected_inputs="ignore")
    found = pytensor.function([x, w], outputs, mode=Mode("phintys", rewrites), on_unused_input="ignore")(ROWS, WEIGHTS)
    wanted = pytensor.function([x, w], outputs, mode=reference.PYTHON, on_unused_input="ignore")(ROWS, WEIGHTS)
    for value, other in zip(found, wanted, strict=True):
        assert value.shape == other.shape
        np.testing.assert_allclose(value, other, rtol=1e-9, atol=1e-12)


def test_second_derivatives_through_a_loop():
    x, w = pt.matrix("x", dtype="float64"), pt.matrix("w", dtype="float64")
    slope = pytensor.grad(pt.sin(walk(x, w)).sum(), w)
    outputs = [pytensor.grad((slope ** 2).sum(), w)]
    found, wanted = [f(ROWS, WEIGHTS) for f in reference.functions([x, w], outputs)]
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9, atol=1e-12)


def test_gradients_that_are_truncated():
    x, w = pt.matrix("x", dtype="float64"), pt.matrix("w", dtype="float64")
    states = scan(lambda row, state, w: pt.tanh(row + pt.dot(state, w)), sequences=[x], outputs_info=[x[0]],
                  non_sequences=[w], truncate_gradient=2)
    found, wanted = [f(ROWS, WEIGHTS) for f in reference.functions([x, w], pytensor.grad(states[-1].sum(), [x, w]))]
    for value, other in zip(found, wanted):
        np.testing.assert_allclose(value, other, rtol=1e-9, atol=1e-12)


def test_random_numbers_in_a_loop_are_numpys():
    """The generator is carried from step to step, and its last state is stored."""
    generator = pytensor.shared(np.random.default_rng(11))

    def step(before, rng):
        rng, draw = pt.random.normal(before, 1.0, rng=rng).owner.outputs
        return draw, {generator: rng}

    draws, updates = pytensor.scan(step, outputs_info=[np.float64(0.0)], non_sequences=[generator], n_steps=5)
    f = pytensor.function([], draws, updates=updates, mode="PHINTYS")
    same = np.random.default_rng(11)
    for _ in range(2):
        value, wanted = 0.0, []
        for _ in range(5):
            value = same.normal(value, 1.0)
            wanted.append(value)
        np.testing.assert_array_equal(f(), wanted)


def test_zeros_from_which_gradients_by_parts_begin_are_no_terms_of_a_loops_sums():
    """A differential equation: PyTensor fills zeros like the rates before the loop, and adds to one of their parts."""
    point = pt.vector("point", shape=(4,), dtype="float64")
    rates = pt.exp(point[:2])

    def step(state, rates):
        return state + 0.05 * pt.stack([rates[0] * state[0], -rates[1] * state[0] * state[1]])

    rows = scan(step, outputs_info=[pt.exp(point[2:])], non_sequences=[rates], n_steps=20, strict=True)
    slope = pytensor.grad((rows ** 2).sum(), point)
    f = pytensor.function([point], slope, mode="PHINTYS")
    value = np.array([0.1, -0.2, 0.3, 0.4])
    np.testing.assert_allclose(f(value), pytensor.function([point], slope, mode=reference.PYTHON)(value), rtol=1e-12)
    body = f.vm.jit_fn.explain().split("each step, in registers:")[-1].split("return")[0]
    assert "fill" not in body and body.count(" + ") <= 5, body
