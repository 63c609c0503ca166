"""Activations whose derivatives no longer keep both operand and result through a network: same values, less memory."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.optimizer.passes import long_waits

STEPS = 12
EDGES = [0.0, -0.0, 1e-5, 1e-30, -1e-30, 30.0, -30.0, 86.0, -86.0, 1e30, -1e30]


def peak(results, inputs, shapes):
    return phintys.function(inputs, results).memory_report(shapes).modes[True].peak


def gated(x, u, steps):
    state, memory = x[0] * 0.0, x[0] * 0.0
    for step in range(steps):
        gates = T.dot(x[step], u) + T.dot(state, u)
        enter, leave, keep, new = [gates[:, 16 * part:16 * (part + 1)] for part in range(4)]
        memory = T.nnet.sigmoid(keep) * memory + T.nnet.sigmoid(enter) * T.tanh(new)
        state = T.nnet.sigmoid(leave) * T.tanh(memory)
    return state


def rectified(x, w, layers=STEPS):
    for _ in range(layers):
        x = T.nnet.relu(T.dot(x, w))
    return x


def test_a_step_of_gates_keeps_seven_values_of_its_eleven():
    x, u = T.dtensor3("x"), T.dmatrix("u")
    results = T.grad((gated(x, u, 2 * STEPS) ** 2).sum(), [u])
    shapes = [(2 * STEPS, 32, 16), (16, 64)]
    assert peak(results, [x, u], shapes) < 8 * 32 * 16 * 8 * 2 * STEPS


def test_a_layer_of_relu_keeps_its_result_and_a_byte_for_each_element():
    x, w = T.dmatrix("x"), T.dmatrix("w")
    results = T.grad((rectified(x, w) ** 2).sum(), [w])
    assert peak(results, [x, w], [(400, 16), (16, 16)]) < 1.5 * 400 * 16 * 8 * STEPS


def test_a_layer_of_normalized_rows_keeps_the_deviations_but_not_what_follows_from_them():
    x, weights = T.tensor3("x"), [T.matrix(f"W{number}") for number in range(12)]
    value = x
    for one, other in zip(weights[::2], weights[1::2]):
        rows = value - value.mean(axis=-1, keepdims=True)
        rows = rows / T.sqrt((rows * rows).mean(axis=-1, keepdims=True) + 1e-5)
        value = value + T.matmul(T.nnet.relu(T.matmul(rows, one)), other)
    function = phintys.function([x, *weights], T.grad((value ** 2).sum(), weights))
    report = function.memory_report([(4, 32, 16), *[(16, 32), (32, 16)] * 6])
    assert len([piece for piece in report.at_peak() if piece.bytes == 4 * 32 * 8]) <= 6


def with_and_without(monkeypatch, variables, results, values):
    """Results of a program, and of the program without what is tested, which is another one."""
    program = phintys.function(variables, results, on_unused_input="ignore")
    monkeypatch.setattr(long_waits, "LONG", 10 ** 6)
    plain = phintys.function(variables, results, on_unused_input="ignore")
    assert program.explain() != plain.explain()
    return list(zip(program(*values), plain(*values)))


@pytest.mark.parametrize("program, shapes", [
    (lambda x, u: gated(x, u, STEPS), [(STEPS, 5, 16), (16, 64)]), (rectified, [(5, 16), (16, 16)])])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_are_those_without_it(program, shapes, dtype, monkeypatch):
    chance = numpy.random.default_rng(3)
    values = [chance.standard_normal(shape).astype(dtype) for shape in shapes]
    variables = [T.TensorType(dtype, (False,) * len(shape))() for shape in shapes]
    gradients = T.grad((program(*variables) ** 2).sum(), variables)
    rtol, atol = (5e-5, 1e-7) if dtype == "float32" else (1e-12, 1e-15)
    for found, expected in with_and_without(monkeypatch, variables, gradients, values):
        numpy.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("activation", [T.nnet.relu, T.nnet.sigmoid, T.tanh])
def test_slopes_are_exact_at_the_edges(activation, dtype, monkeypatch):
    """All weights are those of the identity, and factors 1; sigmoid keeps the memory of its operand also for tanh."""
    x, factors, w = [T.TensorType(dtype, (False, False))() for _ in range(3)]
    operand = T.dot(x, w)
    far = activation(operand)
    if activation is not T.nnet.relu:
        far = far * factors + T.nnet.sigmoid(operand) * (factors - 1)
    for _ in range(STEPS):
        far = T.dot(far, w)
    rows = numpy.array(EDGES, dtype)[:, None]
    values = rows, numpy.ones_like(rows), numpy.ones((1, 1), dtype)
    (found, expected), _ = with_and_without(monkeypatch, [x, factors, w], T.grad(far.sum(), [x, w]), values)
    if activation is T.nnet.relu:
        numpy.testing.assert_array_equal(found, numpy.where(rows > 0, 1, numpy.where(rows == 0, 0.5, 0)))
    numpy.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "float32" else 1e-15, atol=0)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32"])
def test_signs_that_wait_beside_relu_have_their_dtype(dtype):
    """Unsigned integers have no -1, of which a sign is made."""
    given, w = T.TensorType(dtype, (False, False))(), T.matrix(dtype="float64")
    x = T.cumsum(given, axis=0).astype(dtype)
    positive = T.nnet.relu(x)
    far = T.dot(positive.astype("float64"), w)
    for step in range(STEPS):
        far = T.dot(T.cumsum(T.tanh(far), axis=step % 2), w)
    f = phintys.function([given, w], T.sgn(x) * 2 + positive + (far > 0).astype(dtype))
    value = numpy.array([[0, 1, 100], [0, 27, 2], [3, 0, 0]]).astype(dtype)
    value = value if dtype == "uint8" else value * numpy.array([1, -1, 1], dtype)
    total = value.cumsum(0).astype("float64")
    numpy.testing.assert_array_equal(f(value, numpy.zeros((3, 3))), 2 * numpy.sign(total) + numpy.maximum(total, 0))


def test_what_was_computed_again_may_be_had_from_the_opposite(monkeypatch):
    """``sigmoid(-y)`` is computed again, and then not needed: it is a product of what ``sigmoid(y)`` is made of."""
    x, w = T.dmatrix("x"), T.dmatrix("w")
    y = T.dot(x, w)
    opposite, own = T.nnet.sigmoid(-y), T.nnet.sigmoid(y)
    far = own + 2 * opposite
    for _ in range(STEPS):
        far = T.dot(far, w)
    values = numpy.random.default_rng(3).standard_normal((2, 4, 4))
    late = (far * opposite - y) * T.sin(far * own - y) * T.maximum(far, -y)
    (found, expected), = with_and_without(monkeypatch, [x, w], [late], values)
    numpy.testing.assert_allclose(found, expected, rtol=1e-12)
