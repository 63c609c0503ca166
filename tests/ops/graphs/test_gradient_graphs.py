"""Gradient graphs: their size is linear in that of the graph; and the ops that the optimizer makes have gradients."""
import numpy
import pytest

import phintys.tensor as T
from phintys import function, grad
from phintys.gradient import Lop, Rop, verify_grad
from phintys.graph.traversal import ancestors
from phintys.ops.products import blas

RANDOM = numpy.random.RandomState(3)


def size(variables):
    """The number of variables, and of uses of variables, from which ``variables`` are computed."""
    found = ancestors(variables)
    return sum([1 + (0 if variable.owner is None else len(variable.owner.inputs)) for variable in found])


def long_product(x, length):
    factors = [T.exp(x) for _ in range(length)]
    return T.mul(*factors), factors


def long_sum(x, length):
    terms = [T.exp(x) for _ in range(length)]
    return T.add(*terms), terms


def long_chain(x, length):
    value = x
    for _ in range(length):
        value = T.tanh(value) * x
    return value, [x]


@pytest.mark.parametrize("derivative", [
    lambda value, inputs: grad(value.sum(), inputs), lambda value, inputs: Lop(value, inputs, value),
    lambda value, inputs: [Rop(value, inputs, inputs)]], ids=["grad", "Lop", "Rop"])
@pytest.mark.parametrize("make", [long_product, long_sum, long_chain])
def test_size(make, derivative):
    x = T.dvector("x")
    first, second, third = [size(derivative(*make(x, length))) for length in (50, 100, 200)]
    assert third - second <= 2 * (second - first) + 10


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 9])
def test_products_of_many_factors(number):
    points = [RANDOM.uniform(0.5, 2, (2, 3) if position % 2 else (1, 3)) for position in range(number)]
    verify_grad(T.mul, points, rng=RANDOM)
    check_rop(T.mul, points)
    check_rop(T.add, points)


def test_products_of_many_complex_factors():
    factors = [T.zvector(f"z{position}") for position in range(5)]
    values = [RANDOM.rand(2) + 1j * RANDOM.rand(2) for _ in factors]
    weights = T.zvector("weights")
    results = function([weights, *factors], Lop(T.mul(*factors), factors, weights))(values[0], *values)
    for position, result in enumerate(results):
        others = numpy.prod(values[:position] + values[position + 1:], axis=0)
        numpy.testing.assert_allclose(result, values[0] * others.conj())


def check_rop(call, points, step=1e-6):
    """Compare an R-operator with central differences."""
    inputs = [T.TensorType("float64", [length == 1 for length in point.shape])() for point in points]
    directions = [value.type() for value in inputs]
    moves = [RANDOM.rand(*point.shape) for point in points]
    result = call(*inputs)
    value = function(inputs, result)
    forwards = value(*[numpy.asarray(point + step * move) for point, move in zip(points, moves)])
    backwards = value(*[numpy.asarray(point - step * move) for point, move in zip(points, moves)])
    f = function(inputs + directions, Rop(result, inputs, directions), on_unused_input="ignore")
    numpy.testing.assert_allclose(f(*points, *[numpy.asarray(move) for move in moves]),
                                  (forwards - backwards) / (2 * step), rtol=1e-5)


# (op, shapes of its inputs)
BLAS_CASES = [
    (blas.dot22, [(2, 3), (3, 4)]),
    (blas.dot22scalar, [(2, 3), (3, 4), ()]),
    (blas.gemm, [(2, 4), (), (2, 3), (3, 4), ()]),
    (blas.gemm, [(1, 4), (), (2, 3), (3, 4), ()]),
    (blas.gemv, [(2,), (), (2, 3), (3,), ()]),
    (blas.ger, [(2, 3), (), (2,), (3,)]),
]


@pytest.mark.parametrize("op, shapes", BLAS_CASES, ids=[f"{op} {shapes[0]}" for op, shapes in BLAS_CASES])
def test_products_that_the_optimizer_makes(op, shapes):
    points = [numpy.asarray(RANDOM.uniform(0.5, 2, shape)) for shape in shapes]
    verify_grad(op, points, rng=RANDOM)
    check_rop(op, points)


def test_products_that_overwrite_have_the_same_gradients():
    z, a, x, y, b = T.dmatrix(), T.dscalar(), T.dmatrix(), T.dmatrix(), T.dscalar()
    cost = (blas.Gemm(inplace=True)(z, a, x, y, b) ** 2).sum()
    plain = ((b * z + a * T.dot(x, y)) ** 2).sum()
    values = [RANDOM.rand(2, 2), numpy.array(2.0), RANDOM.rand(2, 3), RANDOM.rand(3, 2), numpy.array(0.5)]
    inputs = [z, a, x, y, b]
    f = function(inputs, grad(cost, inputs), accept_inplace=True)
    g = function(inputs, grad(plain, inputs))
    for result, expected in zip(f(*[value.copy() for value in values]), g(*values)):
        numpy.testing.assert_allclose(result, expected)


def test_a_slice_spreads_over_the_model_of_a_fill_and_the_value():
    model, value = T.dvector("model"), T.dmatrix("value")
    f = function([model, value], T.fill(T.exp(model).dimshuffle("x", 0), value))
    numpy.testing.assert_array_equal(f([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]), [[1.0, 2.0], [3.0, 4.0]])


# Points without a derivative: what Theano 1.0.5 returns there, in every mode.
KINKS = {
    "max": (lambda x: T.max(x), [1.0, 1.0, 0.0], [1, 1, 0]), "min": (lambda x: T.min(x), [1.0, 0.0, 0.0], [0, 1, 1]),
    "max over an axis": (lambda x: T.max(x.reshape((3, 1)), axis=0).sum(), [2.0, 2.0, 2.0], [1, 1, 1]),
    "max_and_argmax": (lambda x: T.max_and_argmax(x)[0], [1.0, 1.0, 0.0], [1, 1, 0]),
    "maximum, left": (lambda x: T.maximum(x, numpy.ones(3)).sum(), [1.0, 2.0, 0.0], [1, 1, 0]),
    "maximum, right": (lambda x: T.maximum(numpy.ones(3), x).sum(), [1.0, 2.0, 0.0], [0, 1, 0]),
    "minimum, left": (lambda x: T.minimum(x, numpy.ones(3)).sum(), [1.0, 2.0, 0.0], [1, 0, 1]),
    "std": (lambda x: T.std(x), [3.0, 3.0, 3.0], [numpy.nan] * 3),
    "var": (lambda x: T.var(x), [3.0, 3.0, 3.0], [0, 0, 0]),
    "norm": (lambda x: x.norm(2), [0.0, 0.0, 0.0], [numpy.nan] * 3),
    "abs": (lambda x: abs(x).sum(), [0.0, 2.0, -2.0], [0, 1, -1]),
    "sqrt": (lambda x: T.sqrt(x).sum(), [0.0, 4.0, 1.0], [numpy.inf, 0.25, 0.5]),
    "relu": (lambda x: T.nnet.relu(x).sum(), [0.0, 2.0, -2.0], [0.5, 1, 0]),
    "clip": (lambda x: T.clip(x, 0, 1).sum(), [0.0, 1.0, 2.0], [1, 1, 0]),
    "prod": (lambda x: T.prod(x), [0.0, 0.0, 2.0], [0, 0, 0]),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("name", KINKS)
def test_where_there_is_no_derivative(name, mode):
    build, point, expected = KINKS[name]
    x = T.dvector("x")
    numpy.testing.assert_array_equal(function([x], T.grad(build(x), x), mode=mode)(point), expected)
