"""Parts of joins are what was joined, where lengths tell it; constants that are the same everywhere are numbers."""
import numpy
import pytest
from optimized_graphs import UNFUSED, assert_same_results, operations, optimized

from phintys.graph.gradients.gradient import grad
from phintys.ops.creation.allocation import Alloc
from phintys.ops.elementwise.scalar import sqr
from phintys.ops.indexing.inc_subtensor import inc_subtensor, set_subtensor
from phintys.ops.operators import TensorConstant
from phintys.ops.reduction import reduction
from phintys.ops.shape.join import MakeVector, join
from phintys.ops.shape.shape import Rebroadcast
from phintys.ops.shape.split import Split
from phintys.ops.types.tensor_type import TensorType


def of_shape(*shape, dtype="float64"):
    """A variable whose lengths the type knows."""
    return TensorType(dtype, [length == 1 for length in shape], shape=shape)()


A, X, Y, M, N = of_shape(1), of_shape(3), of_shape(4), of_shape(2, 3), of_shape(5, 3)
V, K = TensorType("float64", (False,))(), of_shape(3, dtype="int64")
ZEROS = Alloc()(numpy.zeros(()), 4)
B, LAST = of_shape(), numpy.array([-1])
AXY, MN, M1 = join(0, A, X, Y), join(0, M, N), join(1, M, Alloc()(numpy.ones(()), 2, 1))


def constant(value):
    """A constant array."""
    return TensorConstant(TensorType(value.dtype, (False,) * value.ndim, shape=value.shape), value)


def split(x, axis, *lengths):
    """The parts of x."""
    return list(Split(len(lengths))(x, axis, list(lengths)))


# name: inputs, outputs, operations without fusion
CASES = {
    "a split of a join": ([X, Y], [part * 2 for part in split(join(0, X, Y), 0, 3, 4)], ["mul", "mul"]),
    "with a part of length 1": ([A, X, Y], [split(AXY, 0, 1, 3, 4)[0] + 1], ["add", "Rebroadcast"]),
    "of matrices": ([M, N], [part * 2 for part in split(MN, -2, 2, 5)], ["mul", "mul"]),
    "along another axis": ([M, N], [part * 2 for part in split(MN, 1, 1, 2)], ["Join", "Split", "mul", "mul"]),
    "at other places": ([X, Y], [part * 2 for part in split(join(0, X, Y), 0, 4, 3)], ["Join", "Split", "mul", "mul"]),
    "of integers": ([X, K], [part * 2 for part in split(join(0, X, K), 0, 3, 3)], ["convert_to_float64", "mul", "mul"]),
    "unknown lengths": ([X, V], [split(join(0, X, V), 0, 3, 4)[1] * 2], ["Join", "Split", "mul"]),
    "a split of what is the same everywhere": ([X, Y], [
        part * value for part, value in zip(split(join(0, X, Y).zeros_like() + 2, 0, 3, 4), (X, Y))], ["mul", "mul"]),
    "a slice of a join": ([A, X, Y], [AXY[1:4] * 2, AXY[-4:] * 3, AXY[5] * 4, AXY[-8] + 1], None),
    "a slice over several parts": ([X, Y], [join(0, X, Y)[1:5] * 2], ["Join", "Subtensor", "mul"]),
    "a slice with steps": ([X, Y], [join(0, X, Y)[3::2] * 2], ["Join", "Subtensor", "mul"]),
    "columns of joined rows": ([M, N], [MN[3:6, 1] * 2], ["Subtensor", "mul"]),
    "a sum of a join": ([A, X, Y], [AXY.sum()], ["Sum", "Sum", "add", "DimShuffle"]),
    "along its axis": ([M, N], [MN.sum(axis=0)], ["Sum", "Sum", "add"]),
    "along the other": ([M, N], [MN.sum(axis=1)], ["Join", "Sum"]),
    "of a join that is read": ([X, Y], [join(0, X, Y).sum(), join(0, X, Y) * 2], ["Join", "Sum", "mul"]),
    "declared twice": ([X], [Rebroadcast((0, False))(Rebroadcast((0, False))(X)) * 2], ["mul"]),
    "parts that are set": ([A, X, Y], [set_subtensor(set_subtensor(Y[0], A[0])[1:], X) * 2],
                           ["Subtensor", "DimShuffle", "Join", "mul"]),
    "parts that are added to zeros": ([A, X], [inc_subtensor(set_subtensor(ZEROS[:1], A)[1:], X) * 2],
                                      ["Join", "mul"]),
    "parts that are added to others": ([A, X, Y], [inc_subtensor(set_subtensor(Y[:1], A)[1:], X)],
                                       ["IncSubtensor", "IncSubtensor"]),
    "parts that leave some": ([A, Y], [set_subtensor(set_subtensor(Y[:1], A)[2:], Y[:2])],
                              ["IncSubtensor", "IncSubtensor", "Subtensor"]),
    "places of short zeros that others leave": (
        [A, B], [inc_subtensor(inc_subtensor(ZEROS[LAST], A)[1], B) * 2],
        ["DimShuffle", "Join", "mul"]),
    "three of them": (
        [A, B], [set_subtensor(set_subtensor(set_subtensor(ZEROS[LAST], A)[1], B)[:1], A) * 2],
        ["DimShuffle", "Join", "mul"]),
    "places that are changed twice": (
        [A, B], [inc_subtensor(inc_subtensor(ZEROS[LAST], A)[3], B)],
        ["AdvancedIncSubtensor1", "Alloc", "IncSubtensor"]),
    "parts that overlap": (
        [A, X], [inc_subtensor(inc_subtensor(ZEROS[LAST], A)[1:], X)],
        ["AdvancedIncSubtensor1", "Alloc", "IncSubtensor"]),
    "a slice beside what is set": ([X, Y], [set_subtensor(Y[1:], X)[0] * 2], ["Subtensor", "mul"]),
    "a slice of what is set in part": (
        [X, Y], [set_subtensor(Y[1:], X)[:2] * 2], ["IncSubtensor", "Subtensor", "mul"]),
    "a slice of what is set": ([X, Y], [set_subtensor(Y[1:], X)[2:] * 2], ["Subtensor", "mul"]),
    "one of what is set": ([X, Y], [set_subtensor(Y[1:], X)[-1] * 2], ["Subtensor", "mul"]),
    "columns of what is set": (
        [M, N], [set_subtensor(N[:, 1:], M[0, 0])[:, 1:] * 2], ["IncSubtensor", "Subtensor", "Subtensor", "mul"]),
    "a slice of what is added": ([X, Y], [inc_subtensor(Y[1:], X)[2:] * 2], ["Subtensor", "Subtensor", "add", "mul"]),
    "a slice of what is added and read": (
        [X, Y], [inc_subtensor(Y[1:], X)[2:] * 2, inc_subtensor(Y[1:], X)], ["IncSubtensor", "Subtensor", "mul"]),
    "a split of what is changed": (
        [X, Y], [split(inc_subtensor(Y[1:], X), 0, 1, 3)[1] * 2], ["Subtensor", "add", "mul"]),
    "the gradient of differences between joined columns": (
        [M], [grad(sqr(M1[:, 1:] - M1[:, :-1]).sum(), M)],
        ["IncSubtensor", "Join", "Subtensor", "Subtensor", "mul", "second", "sub", "sub"]),
    "a join of joins": ([A, X, Y], [join(0, A, join(0, X, Y))], ["Join"]),
    "a join of a join that is read": ([A, X], [join(0, A, join(0, X, A)), join(0, X, A)], ["Join", "Join"]),
    "whether all are true": ([X], [reduction.all(MakeVector("bool")(X[0] > 0, X[1] > 1, X[2] > 0)) * X],
                             ["Subtensor"] * 3 + ["gt"] * 3 + ["and_", "and_", "DimShuffle", "mul"]),
    "a constant of ones": ([X], [X * constant(numpy.ones(3))], []),
    "a constant that differs": ([X], [X * constant(numpy.array([1.0, 2.0, 1.0]))], ["mul"]),
    "negative zeros": ([X], [X / constant(numpy.array([0.0, -0.0, 0.0]))], ["true_div"]),
    "a constant that has the only length": ([A], [A * constant(numpy.full(3, 2.0))], ["mul"]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_operations(name):
    inputs, outputs, wanted = CASES[name]
    random = numpy.random.RandomState(0)
    values = [numpy.asarray(5 * random.randn(*[4 if length is None else length for length in item.type.shape]),
                            item.type.dtype) for item in inputs]
    assert_same_results(inputs, outputs, values=values)
    found = operations(optimized(inputs, outputs, UNFUSED))
    assert "Split" not in found and "Join" not in found if wanted is None else sorted(found) == sorted(wanted)
