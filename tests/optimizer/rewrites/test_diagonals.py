"""A multiple of a matrix's own diagonal that is subtracted from it needs no matrix of its own."""
import numpy
import pytest
from optimized_graphs import FAST_RUN, UNFUSED, assert_same_results, evaluate, operations, optimized, variable

from phintys.graph.gradients.gradient import grad
from phintys.ops.linalg.diagonal import AllocDiag, diagonal
from phintys.ops.types.constant import constant

X, Y, V, F = variable("d2"), variable("d2"), variable("d1"), variable("f2")
LOWER = constant(numpy.tril(numpy.ones((3, 3))))
MIXED = constant(numpy.arange(9.0).reshape(3, 3))
LOWER32 = constant(numpy.tril(numpy.ones((3, 3), "float32")))


def on_diagonal(values):
    return AllocDiag()(values)


# name: inputs, output, whether a matrix is made of a diagonal
CASES = {
    "half of the diagonal": ([X], X * LOWER - on_diagonal(diagonal(X) / 2), False),
    "a diagonal that is added, twice": ([X], X * MIXED + on_diagonal(2.0 * diagonal(X)), False),
    "less the product": ([X], on_diagonal(0.25 * diagonal(X)) - X * MIXED, False),
    "beside the transpose": ([X], (X + X.T) * LOWER - on_diagonal(diagonal(X)), False),
    "the diagonal of the transpose": ([X], X * LOWER - on_diagonal(diagonal(X.T)), False),
    "other terms": ([X, Y], X * LOWER + Y - on_diagonal(diagonal(X)), False),
    "float32": ([F], F * LOWER32 - on_diagonal(diagonal(F) * numpy.float32(0.5)), False),
    "the diagonal of another matrix stays": ([X, Y], Y * LOWER - on_diagonal(diagonal(X)), True),
    "a sum with another matrix stays": ([X, Y], (X + Y) * LOWER - on_diagonal(diagonal(X)), True),
    "a diagonal times a vector stays": ([X, V], X * LOWER - on_diagonal(diagonal(X) * V), True),
    "the square of a diagonal stays": ([X], X * LOWER - on_diagonal(diagonal(X) ** 2), True),
    "no constant matrix": ([X, Y], X * Y - on_diagonal(diagonal(X)), True),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_operations(name):
    inputs, output, is_made = CASES[name]
    random = numpy.random.RandomState(0)
    values = [random.uniform(-1, 1, (3,) * item.type.ndim).astype(item.type.dtype) for item in inputs]
    assert_same_results(inputs, [output], values=values, rtol=1e-5 if inputs == [F] else 1e-12)
    assert ("AllocDiag" in operations(optimized(inputs, [output], UNFUSED))) == is_made


def test_gradient():
    cost = (Y * (X * MIXED - on_diagonal(0.5 * diagonal(X)))).sum()
    values = [numpy.random.RandomState(1).uniform(-1, 1, (3, 3)) for _ in range(2)]
    assert_same_results([X, Y], [cost, grad(cost, X)], values=values)


def test_nothing_is_subtracted_from_what_is_infinite():
    values = [numpy.full((3, 3), numpy.inf)]
    found, = evaluate(optimized([X], [X * MIXED - on_diagonal(diagonal(X) * 0.5)], FAST_RUN), values)
    assert numpy.isposinf(numpy.diagonal(found)[1:]).all()
