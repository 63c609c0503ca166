"""Sums by group of formulas that are linear in few values take time for each group, not for each element."""
import numpy
import pytest
from optimized_graphs import UNFUSED, assert_same_results, optimized

from phintys.graph.gradients.gradient import grad
from phintys.ops.creation.allocation import alloc
from phintys.ops.elementwise.scalar import exp, sqr
from phintys.ops.indexing.inc_subtensor import inc_subtensor, set_subtensor
from phintys.ops.types.constant import constant
from phintys.ops.types.tensor_type import TensorType

random = numpy.random.RandomState(0)
PLACES = numpy.array([0, 2, 1, 1, 0, 2, 2, 1, 0, 1, 2, 2])
Y, W = [constant(random.uniform(-1, 1, 12)) for _ in range(2)]
A, B = [TensorType("float64", (False,), shape=(3,))() for _ in range(2)]
S, T = [TensorType("float64", ())() for _ in range(2)]
V = TensorType("float64", (False,), shape=(12,))()
M = TensorType("float64", (False, False), shape=(2, 3))()


def by_group(values, places=PLACES, count=3):
    return inc_subtensor(alloc(numpy.zeros(()), count)[places], values)


def in_rows(values):
    """Values added to the rows of a matrix of zeros, as the gradient of their elements does it."""
    return inc_subtensor(inc_subtensor(alloc(numpy.zeros(()), 2, 3)[0, PLACES], values)[1, PLACES], values * W)


residual = Y - (A[PLACES] + S * W)
UNUSED = numpy.where(PLACES == 1, 0, PLACES)

# name: inputs, what is built, whether the long vectors disappear
CASES = {
    "by group": ([A, S], lambda: by_group(residual), True),
    "by group, scaled": ([A, S, T], lambda: by_group(-residual / sqr(T)), True),
    "a group's value times a constant": ([A, B], lambda: by_group(Y - (A[PLACES] + B[PLACES] * W)), True),
    "with weights": ([A, B], lambda: by_group((Y - (A[PLACES] + B[PLACES] * W)) * W), True),
    "negative places": ([A, S], lambda: by_group(Y - (A[PLACES - 3] + S * W), PLACES - 3), True),
    "a sum with weights": ([A, S], lambda: (residual * W).sum(), True),
    "a sum with weights of products": ([A, B, S], lambda: (W * (S * A[PLACES] * Y - B[PLACES] * W)).sum(), True),
    "rows of a matrix": ([M], lambda: in_rows(Y - (M[0, PLACES] + M[1, PLACES] * W)), True),
    "a difference that is exact stays": ([A], lambda: by_group(Y - A[PLACES]), False),
    "a sum of what is not linear stays": ([A, S], lambda: by_group(Y - (exp(A[PLACES]) + S * W)), False),
    "an element of its own for each stays": ([A, V], lambda: by_group(Y - (A[PLACES] + V * W)), False),
    "other groups stay": ([A, S], lambda: by_group(Y - (A[PLACES[::-1]] + S * W)), False),
    "groups without elements stay": ([A, S], lambda: by_group(Y - (A[UNUSED] + S * W), UNUSED), False),
    "values that are set stay": (
        [A, S], lambda: set_subtensor(alloc(numpy.zeros(()), 3)[PLACES], Y - (A[PLACES] + S * W)), False),
    "a sum without weights": ([A, S, T], lambda: (residual * T).sum(), True),
    "a sum of squares stays": ([A, S], lambda: sqr(residual).sum(), False),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_lengths(name):
    inputs, build, is_short = CASES[name]
    output = build()
    values = [random.uniform(0.5, 1.5, item.type.shape) for item in inputs]
    assert_same_results(inputs, [output], values=values)
    lengths = {out.type.shape for node in optimized(inputs, [output], UNFUSED).toposort() for out in node.outputs}
    assert ((12,) in lengths) != is_short


def test_gradients_of_a_regression():
    """The gradients need no sum over observations; the sum of squares does."""
    cost = -0.5 * sqr(residual / exp(T)).sum()
    inputs, gradients = [A, S, T], grad(cost, [A, S])
    values = [random.uniform(0.5, 1.5, item.type.shape) for item in inputs]
    assert_same_results(inputs, [cost, *gradients], values=values)
    nodes = optimized(inputs, gradients, UNFUSED).toposort()
    assert (12,) not in {out.type.shape for node in nodes for out in node.outputs}
    assert_same_results(inputs, [grad(gradients[0].sum(), T)], values=values)


def test_what_is_infinite_in_a_group_stays_in_it():
    values = [numpy.array([numpy.inf, 1.0, 2.0]), numpy.array(0.5)]
    assert_same_results([A, S], [by_group(residual)], values=values)
