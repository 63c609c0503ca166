"""What is the same along the axes of a sum is outside of it; what is not, or would lose digits there, stays."""
import numpy
import pytest
from optimized_graphs import FAST_RUN, UNFUSED, evaluate, operations, optimized

from phintys.graph.config import change_flags
from phintys.graph.gradients.gradient import grad
from phintys.modes import OPT_NONE
from phintys.ops.creation.allocation import alloc
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar import exp, gt, isinf, log, sqr, switch
from phintys.ops.indexing.inc_subtensor import inc_subtensor
from phintys.ops.operators import TensorConstant
from phintys.ops.products.products import dot
from phintys.ops.types.tensor_type import TensorType

MINUS_INFINITY = -numpy.inf


def of_shape(*shape, dtype="float64"):
    """A variable whose lengths the type knows."""
    return TensorType(dtype, [length == 1 for length in shape], shape=shape)()


X, Y, Z = of_shape(10), of_shape(10), TensorType("float64", (False,))()
FREE, M3 = TensorType("float64", (False, False))(), TensorType("float64", (False, False))()
S, T, M, ROW = of_shape(), of_shape(), of_shape(4, 5), of_shape(1, 5)
X32, S32, NOTHING, ONE = of_shape(10, dtype="float32"), of_shape(dtype="float32"), of_shape(0), of_shape(1)
FEW, COLUMN = of_shape(3), of_shape(4, 1)
M32, ROW32 = of_shape(4, 5, dtype="float32"), of_shape(1, 5, dtype="float32")
PLACES = TensorConstant(TensorType("int64", (False,), shape=(10,)), numpy.array([0, 1, 1, 0, 0, 1, 0, 1, 1, 0]))
X5 = of_shape(5)
t1, scaled_matrix = (X - Y) / S, S * M
weights = sqr(M) / sqr(M).sum(axis=1, keepdims=True)
largest = M.max(axis=1, keepdims=True)
largest = switch(isinf(largest), 0, largest)
log_sum = log(exp(M - largest).sum(axis=1, keepdims=True)) + largest

# name: inputs, what is built, operations without fusion and dimshuffles
CASES = {
    "a scale inside of a square": ([X, S], lambda: sqr(X / S).sum(), ["sqr", "Sum", "sqr", "true_div"]),
    "a product of scales": ([X, Y, S, T], lambda: (S * (X * T) * (Y / S)).sum(), ["mul", "Sum", "mul"]),
    "behind values with other readers": (
        [X, Y, S], lambda: [t1, (t1 * Y).sum()], ["sub", "true_div", "mul", "Sum", "true_div"]),
    "nothing is computed twice": (
        [X, Y, S], lambda: [X * Y * S, (X * Y * S * X).sum()], ["mul", "mul", "Sum"]),
    "squares of float32 stay": ([X32, S32], lambda: sqr(X32 / S32).sum(), ["true_div", "sqr", "Sum"]),
    "a scale of float32": ([X32, S32], lambda: (-X32 / S32).sum(), ["Sum", "neg", "true_div"]),
    "repeated along one axis": ([M, ROW], lambda: sqr(M * ROW).sum(axis=0), ["sqr", "Sum", "sqr", "mul"]),
    "not along the other": ([M, ROW], lambda: exp(M * ROW).sum(axis=1), ["mul", "exp", "Sum"]),
    "a switch with zero": ([Z, S], lambda: switch(gt(S, 0), Z, 0).sum(), ["Sum", "gt", "switch"]),
    "a switch with infinity": (
        [X, S], lambda: switch(gt(S, 0), sqr(X / S), MINUS_INFINITY).sum(),
        ["sqr", "Sum", "sqr", "true_div", "gt", "switch"]),
    "infinity of unknown length stays": (
        [Z, S], lambda: switch(gt(S, 0), Z, MINUS_INFINITY).sum(), ["gt", "switch", "Sum"]),
    "branches of equal lengths": (
        [Z, S], lambda: switch(gt(S, 0), exp(Z), Z).sum(), ["exp", "Sum", "Sum", "gt", "switch"]),
    "branches of unknown lengths stay": (
        [FREE, M3, S], lambda: switch(gt(S, 0), exp(FREE), M3).sum(), ["gt", "exp", "switch", "Sum"]),
    "a quotient with 1 is not taken apart": (
        [Z, S, FREE], lambda: (S / (alloc(Z, *FREE.shape) + 1)).sum(axis=0), None),
    "a sum of nothing": ([NOTHING, S], lambda: switch(gt(S, 0), NOTHING, MINUS_INFINITY).sum(), None),
    "a condition of each element stays": ([X, S], lambda: switch(gt(X, S), X, 0).sum(), ["gt", "switch", "Sum"]),
    "terms beside rounded ones": ([X, S], lambda: (3 - exp(X) + S).sum(), ["exp", "Sum", "mul", "add", "sub"]),
    "terms beside exact ones stay": ([X, S], lambda: (X - S).sum(), ["sub", "Sum"]),
    "terms of a sum along an axis": ([M, ROW], lambda: (sqr(M) + ROW).sum(axis=0), None),
    "an outer product times a matrix": (
        [M, COLUMN, ROW], lambda: [dot(dot(COLUMN, ROW), M.T), dot(M.T, dot(COLUMN, ROW)), dot(M.T, COLUMN)],
        ["Dot22"] * 4),
    "a product of a matrix with a column and a row of one element": (
        [M, COLUMN, ROW], lambda: dot(dot(M.T, COLUMN), dot(ROW, M.T)), None),
    "an outer product beside a matrix": (
        [COLUMN, ROW, M], lambda: dot(COLUMN, ROW) * M, ["mul", "mul"]),
    "an outer product that is read alone, or added, stays": (
        [COLUMN, ROW, M, S], lambda: [exp(dot(COLUMN, ROW)), dot(COLUMN, ROW) - M],
        ["Dot22", "exp", "sub"]),
    "fewer divisions": (
        [COLUMN, ROW, S, M], lambda: [COLUMN * ROW / S, M * ROW / exp(ROW), ROW * S / COLUMN],
        ["true_div", "mul", "exp", "true_div", "mul", "true_div", "mul"]),
    "an outer product of float32 stays": (
        [M32, ROW32], lambda: dot(M32, dot(ROW32.T, ROW32)), ["Dot22", "Dot22"]),
    "a scaled matrix times a vector": (
        [M, X5, S, T], lambda: [dot(M * S / T, X5), dot(X5, -2.0 * M.T)], ["Dot", "mul", "true_div", "Dot", "mul"]),
    "a scaled matrix that two products read": (
        [M, X5, COLUMN, S], lambda: [dot(scaled_matrix, X5), dot(scaled_matrix.T, COLUMN)], None),
    "a scaled matrix that is an output, or has a matrix beside it, stays": (
        [M, X5, S], lambda: [scaled_matrix, dot(scaled_matrix, X5), dot(M * S, M.T)], None),
    "a scaled value that is summed already": ([M, COLUMN], lambda: [exp(M), exp(M).sum(axis=1), exp(M) * COLUMN, (
        exp(M) * COLUMN).sum(axis=1)], ["exp", "Sum", "mul", "mul"]),
    "a scaled value with other readers that is not": (
        [M, COLUMN], lambda: [exp(M) * COLUMN, (exp(M) * COLUMN).sum(axis=1)], ["exp", "mul", "Sum"]),
    "weights have the sum 1": ([M, COLUMN], lambda: [weights, (weights * COLUMN).sum(axis=1)], None),
    "the gradient of log(sum(exp(x - s))) + s by s is 0": (
        [M], lambda: [grad(log_sum.sum(), M), grad((log_sum * 3).sum(), M)], None),
    "one element": ([ONE, S], lambda: (exp(ONE) + S).sum(), None),
    "scaled after it is added": (
        [X, Y, S, FEW], lambda: inc_subtensor(FEW.zeros_like()[PLACES], X * Y / S), None),
}


def test_what_is_added_at_places_is_scaled_where_there_is_less_of_it():
    nodes = optimized([X, Y, S, FEW], [inc_subtensor(FEW.zeros_like()[PLACES], X * Y / S)], UNFUSED).toposort()
    assert [node.outputs[0].type.shape for node in nodes if type(node.op) is Elemwise
            and node.op.scalar_op.name == "true_div"] == [(3,)]


def test_shifts_of_sums_of_exponentials_leave_no_work_in_gradients():
    found = operations(optimized([M, COLUMN], [grad((log_sum * COLUMN).sum(), M)], UNFUSED))
    assert "eq" not in found and found.count("Sum") == 1
    assert operations(optimized([M], [weights.sum(axis=1)], UNFUSED)) == ["Alloc"]


def test_scaled_matrices_are_not_stored_for_products_with_vectors():
    outputs = [dot(scaled_matrix, X5), dot(scaled_matrix.T, COLUMN)]
    nodes = optimized([M, X5, COLUMN, S], outputs, UNFUSED).toposort()
    assert not [node for node in nodes if type(node.op) is Elemwise
                and node.outputs[0].type.broadcastable == (False, False)]
    nodes = optimized([M, X5, S], [scaled_matrix, dot(scaled_matrix, X5)], UNFUSED).toposort()
    assert len([node for node in nodes if type(node.op) is Elemwise]) == 1


# What differs under the default rules, which keep the range of scaled values: operations.
IN_RANGE = {
    "a scale inside of a square": ["true_div", "sqr", "Sum"],
    "behind values with other readers": ["sub", "true_div", "mul", "Sum"],
    "repeated along one axis": ["mul", "sqr", "Sum"],
    "a switch with infinity": ["true_div", "sqr", "Sum", "gt", "switch"],
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_operations(name):
    inputs, build, wanted = CASES[name]
    with change_flags(math_rules="fast"):
        compare(inputs, build, wanted)


@pytest.mark.parametrize("name", IN_RANGE)
def test_the_range_is_kept_by_default(name):
    inputs, build, _ = CASES[name]
    compare(inputs, build, IN_RANGE[name])


# A square of a quotient: the expression, and the operations. What others read is divided, as is by as many divisors.
SQUARES = {
    "a standard deviation": (lambda: exp(sqr((Z - T) / S)).sum(), ["sub", "inv", "mul", "sqr", "exp", "Sum"]),
    "a constant": (lambda: exp(sqr(X / 3)), ["mul", "sqr", "exp"]),
    "a constant whose inverse is out of range": (lambda: exp(sqr(X / 1e-310)), ["true_div", "sqr", "exp"]),
    "a few elements": (lambda: exp(sqr(X / S)), ["true_div", "sqr", "exp"]),
    "a divisor of each element": (lambda: exp(sqr(Z / FREE[0])), ["Subtensor", "true_div", "sqr", "exp"]),
    "another reader": (lambda: [Z / S, exp(sqr(Z / S))], ["true_div", "sqr", "exp"]),
}


@pytest.mark.parametrize("name", SQUARES)
def test_squares_of_quotients_by_few_are_squares_of_products(name):
    build, wanted = SQUARES[name]
    compare([X, Z, S, T, FREE], build, wanted)
    made = build()
    strict = optimized([X, Z, S, T, FREE], made if isinstance(made, list) else [made], UNFUSED.under("strict"))
    assert "inv" not in operations(strict)


def compare(inputs, build, wanted):
    """Compare values with those of no rewrites, and operations with those wanted, unless these are None."""
    made = build()
    outputs = made if isinstance(made, list) else [made]
    random = numpy.random.RandomState(0)
    for sign in (1, -1):
        values = [numpy.asarray(sign * (random.rand(*[3 if length is None else length for length in item.type.shape])
                                        + 0.5), item.type.dtype) for item in inputs]
        expected = evaluate(optimized(inputs, outputs, OPT_NONE), values)
        for query in (UNFUSED, FAST_RUN):
            for got, known in zip(evaluate(optimized(inputs, outputs, query), values), expected):
                numpy.testing.assert_allclose(got, known, rtol=1e-6 if known.dtype == "float32" else 1e-13)
                assert got.dtype == known.dtype and got.shape == known.shape
    if wanted is not None:
        found = [name for name in operations(optimized(inputs, outputs, UNFUSED)) if name != "DimShuffle"]
        assert sorted(found) == sorted(wanted)
