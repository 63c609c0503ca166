"""A multiple of a matrix's own diagonal that is subtracted from it needs no matrix of its own; diagonals of products
and products with diagonal matrices need no product."""
import numpy
import pytest
from optimized_graphs import FAST_RUN, UNFUSED, assert_same_results, evaluate, operations, optimized, variable

import phintys
from phintys.graph.gradients.gradient import grad
from phintys.ops.linalg.diagonal import AllocDiag, diagonal
from phintys.ops.products.products import dot
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


W, U, R, C32 = variable("d1"), variable("l2"), variable("dr"), variable("f1")
# name: inputs, their shapes, output, whether the product is gone
PRODUCTS = {
    "diagonal": ([X, Y], [(3, 4), (4, 3)], diagonal(dot(X, Y)), True),
    "diagonal of more rows": ([X, Y], [(5, 4), (4, 3)], diagonal(dot(X, Y)), True),
    "diagonal of more columns": ([X, Y], [(2, 4), (4, 3)], diagonal(dot(X, Y)), True),
    "diagonal of nothing": ([X, Y], [(0, 4), (4, 3)], diagonal(dot(X, Y)), True),
    "diagonal of sums of nothing": ([X, Y], [(3, 0), (0, 3)], diagonal(dot(X, Y)), True),
    "trace": ([X, Y], [(3, 4), (4, 3)], diagonal(dot(X, Y)).sum(), True),
    "trace of a square": ([X], [(3, 4)], diagonal(dot(X, X.T)).sum(), True),
    "float32": ([F], [(3, 4)], diagonal(dot(F, F.T)), True),
    "another reader": ([X, Y], [(3, 4), (4, 3)], diagonal(dot(X, Y)) + dot(X, Y)[0, 0] + dot(X, Y).sum(), False),
    "another diagonal": ([X, Y], [(3, 4), (4, 3)], diagonal(dot(X, Y), 1), False),
    "integers": ([U], [(3, 3)], diagonal(dot(U, U)), False),
    "a row": ([R, X], [(1, 4), (4, 1)], diagonal(dot(R, X)), False),
    "diagonal first": ([V, X], [(3,), (3, 4)], dot(on_diagonal(V), X), True),
    "diagonal last": ([V, X], [(4,), (3, 4)], dot(X, on_diagonal(V)), True),
    "both": ([V, W], [(3,), (3,)], dot(on_diagonal(V), on_diagonal(W)), True),
    "of float32": ([C32, F], [(3,), (3, 4)], dot(on_diagonal(C32), F), True),
    "of two dtypes": ([C32, X], [(3,), (3, 4)], dot(on_diagonal(C32), X), False),
    "off the diagonal": ([V, X], [(3,), (4, 4)], dot(AllocDiag(offset=1)(V), X), False),
    "of a row": ([V, R], [(1,), (1, 4)], dot(on_diagonal(V), R), False),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    inputs, shapes, output, is_gone = PRODUCTS[name]
    random = numpy.random.RandomState(2)
    values = [(random.uniform(-3, 3, shape)).astype(item.type.dtype) for item, shape in zip(inputs, shapes)]
    assert_same_results(inputs, [output], values=values, rtol=1e-4 if F in inputs else 1e-12)
    if not output.type.dtype.startswith("int") and len(inputs) < 3 and name != "of a row":
        total = output.sum()
        assert_same_results(inputs, grad(total, inputs), values=values, rtol=1e-4 if F in inputs else 1e-12)
    assert ("Dot" not in operations(optimized(inputs, [output], UNFUSED.excluding("blas")))) == is_gone


def test_lengths_of_products_are_compared():
    for output, shapes in ((dot(on_diagonal(V), X), [(2,), (3, 4)]), (diagonal(dot(X, Y)), [(3, 4), (5, 3)])):
        inputs = [V, X] if shapes[0] == (2,) else [X, Y]
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            f = phintys.function(inputs, output, mode=mode)
            with pytest.raises(ValueError):
                f(*[numpy.ones(shape) for shape in shapes])
