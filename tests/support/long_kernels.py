"""Inputs on which each kernel of the package works for about a second: one row a kind of shape.

A row is made when it is tried, because all rows together would need more memory than a machine has.
"""
import numpy as np
from kernel_cases import INDICES, MADE, MERSENNE, NUMBER, PCG64, VECTOR, kernel_classes, number

import phintys
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.tensor import TensorType

MATRIX, STACK, IMAGES = ((2, "float64"),), ((3, "float64"),), ((4, "float64"),)
STATE = (1, "uint64")


def values(*shape, dtype="float64"):
    """Numbers from 0 to 1, the same each time; cheap to make."""
    size = int(np.prod(shape))
    return np.resize(np.random.default_rng(0).random(100_003), size).astype(dtype, copy=False).reshape(shape)


def places(below, *shape, dtype="int64"):
    """Places below a number, in no order."""
    return np.resize(np.random.default_rng(1).integers(0, below, 1_000_003), shape).astype(dtype, copy=False)


def definite(count, length, dtype="float64"):
    """Matrices that are symmetric and positive definite."""
    one = np.cov(np.random.default_rng(2).random((length, 2 * length + 2))) + np.eye(length)
    return np.ascontiguousarray(np.broadcast_to(one.astype(dtype), (count, length, length)))


def labels(count, below):
    return places(below, count)


def window(*lengths):
    return np.array(lengths)


LONG = {}       # "kernel: what kind of input" → (arguments of the constructor or None, inputs, outputs)


def case(name, what, inputs, outputs=MATRIX, arguments=None):
    LONG[f"{name}: {what}"] = arguments, inputs, outputs


# ---- elementwise work, reductions, cumulative sums -------------------------------------------------------------------
def chain(rank):
    layout = ("float64", (False,) * rank)
    return [layout], [], [(function, (index,), ("float64",) * 2) for index, function in enumerate(
        [np.sin, np.arctan, np.log1p, np.exp, np.arctan, np.cosh, np.arcsinh])], [7]


case("ElementwiseKernel", "a long line", lambda: [values(20_000_000)], VECTOR, chain(1))
case("ElementwiseKernel", "columns", lambda: [values(5_000_000, 4).T], MATRIX, chain(2))
case("ReductionKernel", "a long line", lambda: [values(20_000_000)], NUMBER,
     (*chain(1)[:3], 7, np.add, [0], "float64", "float64"))
case("ReductionKernel", "columns", lambda: [values(3_000_000, 8)], VECTOR,
     (*chain(2)[:3], 7, np.add, [0], "float64", "float64"))
case("ReductionKernel", "many short rows", lambda: [values(8_000_000, 3)], VECTOR,
     (*chain(2)[:3], 7, np.add, [1], "float64", "float64"))
case("MeanKernel", "a long line", lambda: [values(100_000_000)], NUMBER)
case("SumStretchedKernel", "a long line", lambda: [values(100_000_000), number(1)], VECTOR)
for kind in ("ArgKernel", "ExtremumKernel"):
    outputs = [*VECTOR, *INDICES] if kind == "ExtremumKernel" else INDICES
    for what, shape, axes in [("a long line", (1, 100_000_000), (1,)), ("many short rows", (20_000_000, 4), (1,)),
                              ("columns", (100_000, 500), (0,)), ("few columns", (20_000_000, 3), (0,))]:
        case(kind, what, lambda shape=shape: [values(*shape)], outputs, ("float64", 2, axes, "argmax"))
for what, shape, axis in [("a long line", (100_000_000,), 0), ("many short rows", (10_000_000, 4), 1),
                          ("columns", (100_000, 500), 0), ("few columns", (20_000_000, 3), 0)]:
    case("CumulativeKernel", what, lambda shape=shape: [values(*shape)], ((len(shape), "float64"),),
         ("float64", axis, "mul"))

# ---- products --------------------------------------------------------------------------------------------------------
case("ProductKernel", "matrices", lambda: [values(4000, 4000), number(2.0), values(4000, 4000), values(4000, 4000),
                                           number(1.0)])
case("ProductKernel", "a matrix by a vector", lambda: [values(20_000, 5000), values(5000)], VECTOR, ("float64", 2, 1))
case("ProductKernel", "a vector by a matrix", lambda: [values(20_000), values(20_000, 5000)], VECTOR,
     ("float64", 1, 2))
case("ProductKernel", "vectors", lambda: [values(100_000_000)] * 2, NUMBER, ("float64", 1, 1))
case("ProductKernel", "strided vectors", lambda: [values(50_000_000, 2)[:, 1]] * 2, NUMBER, ("float64", 1, 1))
case("ProductKernel", "whole numbers", lambda: [places(9, 1500, 1500)] * 2, ((2, "int64"),), ("int64", 2, 2))
case("ProductKernel", "whole vectors", lambda: [places(9, 100_000_000)] * 2, ((0, "int64"),), ("int64", 1, 1))
case("ProductKernel", "whole numbers by a vector", lambda: [places(9, 10_000, 10_000), places(9, 10_000)], INDICES,
     ("int64", 2, 1))
case("ProductKernel", "an outer product", lambda: [values(10_000, 1), values(1, 10_000)], MATRIX, ("float64", 2, 2))
case("ProductKernel", "an outer product of whole numbers", lambda: [places(9, 10_000, 1), places(9, 1, 10_000)],
     ((2, "int64"),), ("int64", 2, 2))
case("GerKernel", "matrix", lambda: [values(10_000, 10_000), number(2.0), values(10_000), values(10_000)])
case("GerKernel", "few long rows", lambda: [values(2, 50_000_000), number(2.0), values(2), values(50_000_000)])
case("GerKernel", "many short rows", lambda: [values(30_000_000, 2), number(2.0), values(30_000_000), values(2)])
case("GerKernel", "columns", lambda: [values(10_000, 10_000).T, number(2.0), values(10_000), values(10_000)])
case("GerKernel", "whole numbers", lambda: [places(9, 10_000, 10_000), number(2), *[places(9, 10_000)] * 2],
     ((2, "int64"),), ("int64",))
case("BatchedProductKernel", "many short ones", lambda: [values(10_000_000, 2, 2), values(10_000_000, 2, 2)], STACK)
case("BatchedProductKernel", "few long ones", lambda: [values(3, 3000, 3000), values(3, 3000, 3000)], STACK)
case("BatchedProductKernel", "whole numbers", lambda: [places(9, 2, 1200, 1200)] * 2, ((3, "int64"),),
     ("int64", 2, 2))
case("VectorConvolutionKernel", "long and short", lambda: [values(10_000_000), values(200)], VECTOR)
case("VectorConvolutionKernel", "equally long", lambda: [values(60_000), values(60_000)], VECTOR)
case("HornerKernel", "many terms", lambda: [values(20_000), values(20_000)], VECTOR)
case("HornerKernel", "many elements", lambda: [values(10), values(100_000_000)], VECTOR)
case("PowerSumsKernel", "a long line", lambda: [values(50_000_000, dtype="float32")] * 2 + [number(8)],
     ((1, "float32"),))

# ---- indexing --------------------------------------------------------------------------------------------------------
BIG = 30_000_000
case("AdvancedSubtensorKernel", "a vector", lambda: [values(BIG), places(BIG, BIG)], VECTOR)
case("AdvancedSubtensorKernel", "a mask", lambda: [values(10_000, 10_000), values(10_000, 10_000) > 0.5], VECTOR,
     ([("mask", 1, 2)], 0, 2))
case("AdvancedSubtensorKernel", "columns", lambda: [values(10_000, 1000), number(1), places(1000, 5000)], MATRIX,
     ([("slice", ("operand", 1), None, None), ("array", 2, "int64", 1)], 1, 3))
case("AdvancedIncSubtensorKernel", "a vector", lambda: [values(BIG), values(BIG), places(BIG, BIG)], VECTOR,
     ([("array", 2, "int64", 1)], 0, 3, "float64", True))
case("AdvancedIncSubtensorKernel", "set", lambda: [values(BIG), values(BIG), places(BIG, BIG)], VECTOR,
     ([("array", 2, "int64", 1)], 0, 3, "float64", False))
case("AdvancedIncSubtensorKernel", "a mask", lambda: [values(10_000, 10_000), number(1.0),
                                                      values(10_000, 10_000) > 0.5], MATRIX,
     ([("mask", 2, 2)], 0, 3, "float64", False))
case("RowsKernel", "many short ones", lambda: [values(1_000_000, 3), places(1_000_000, BIG, dtype="int32")])
case("RowsKernel", "long ones", lambda: [values(100, 1_000_000), places(100, 100, dtype="int32")])
case("IncSubtensorKernel", "a part", lambda: [values(100_000_002), values(99_999_999)], VECTOR,
     ([(False, 1, -2, None)], 0, "float64", True))
case("IncSubtensorKernel", "columns", lambda: [values(10_000, 10_000), values(9999, 10_000)], MATRIX,
     ([(False, 1, None, None)], 0, "float64", False))
case("ChooseKernel", "of an array", lambda: [places(4, BIG), values(4, BIG)], VECTOR, ("int64", "clip", False, 1))
case("ChooseKernel", "of arrays", lambda: [places(2, BIG), values(BIG), values(BIG)], VECTOR,
     ("int64", "raise", True, 2))
case("RavelMultiIndexKernel", "vectors", lambda: [places(900, BIG), places(900, BIG), number([900, 900])], INDICES,
     (2, "raise", "F"))
case("UnravelIndexKernel", "a vector", lambda: [places(900 * 900, BIG), number([900, 900])], INDICES * 2)
case("NonzeroKernel", "many dimensions", lambda: [values(500, 500, 50, 4) > 0.5], ((2, "int64"),))
case("NonzeroKernel", "a line", lambda: [values(100_000_000) > 0.5], ((2, "int64"),))
case("SearchsortedKernel", "many needles", lambda: [np.sort(values(1_000_000)), values(10_000_000),
                                                    np.arange(1_000_000)], INDICES)

# ---- copies and memory -----------------------------------------------------------------------------------------------
case("AllocKernel", "rows", lambda: [values(10_000), number(10_000), number(10_000)])
case("AllocDiagKernel", "a matrix", lambda: [values(12_000)])
case("ARangeKernel", "whole numbers", lambda: [number(0), number(100_000_000), number(1)], INDICES)
case("ARangeKernel", "numbers", lambda: [number(0.0), number(1e8), number(1.0)], VECTOR, (False,))
case("ContiguousKernel", "columns", lambda: [values(10_000, 10_000).T])
case("ReshapeKernel", "columns", lambda: [values(10_000, 10_000).T, number([-1, 100])])
case("EyeKernel", "a matrix", lambda: [number(15_000), number(15_000), number(1)], ((2, "float32"),))
case("TriKernel", "a matrix", lambda: [number(15_000), number(15_000), number(1)], ((2, "float32"),))
case("TriKernel", "many short rows", lambda: [number(80_000_000), number(3), number(1)], ((2, "float32"),))
case("TriangleKernel", "a matrix", lambda: [values(10_000, 10_000), number(1)])
case("TriangleKernel", "short rows", lambda: [values(BIG, 3), number(1)])
case("TriangleKernel", "few long rows", lambda: [values(2, 50_000_000), number(-1)])
case("JoinKernel", "rows", lambda: [number(0), values(5000, 10_000, dtype="float32"), values(5000, 10_000)])
case("JoinKernel", "columns", lambda: [number(1), values(20_000_000, 1, dtype="float32"), values(20_000_000, 2)])
case("RepeatKernel", "a number of times", lambda: [values(3, 10_000_000), number(3)])
case("RepeatKernel", "columns", lambda: [values(10_000_000, 3), number(3)])
case("RepeatKernel", "many", lambda: [values(2, 1), number(50_000_000)])
case("RepeatKernel", "few of many", lambda: [values(2, 10_000_000), places(9, 10_000_000)])
case("SumRepeatsKernel", "times", lambda: [values(90_000_000, 1), np.array([45_000_000] * 2), number(2)],
     arguments=("float64", 0))
case("SumRepeatsKernel", "few of many", lambda: [values(90_000_000, 1), np.full(30_000_000, 3), number(30_000_000)],
     arguments=("float64", 0))
case("SetDiagonalKernel", "of many matrices", lambda: [values(BIG // 2, 2, 2), values(BIG // 2, 2)], STACK, (0, 1, 2))
case("SetDiagonalKernel", "of a matrix", lambda: [values(10_000, 10_000), values(10_000)], MATRIX, (0, 0, 1))

# ---- matrices --------------------------------------------------------------------------------------------------------
for kind, outputs, inputs in [
        ("CholeskyKernel", STACK, lambda x: [x]), ("MirrorKernel", STACK, lambda x: [x]),
        ("InverseKernel", ((3, "float32"),), lambda x: [x.astype("float32")]),
        ("CholeskyInverseKernel", ((3, "complex128"),), lambda x: [x.astype("complex128")]),
        ("DeterminantKernel", VECTOR * 2, lambda x: [x]), ("AdjugateKernel", STACK, lambda x: [x]),
        ("EigKernel", [*MATRIX, *STACK], lambda x: [x]), ("ExpmKernel", STACK, lambda x: [x]),
        ("EighKernel", [*MATRIX, (3, "complex128")], lambda x: [x.astype("complex128")]),
        ("RelativeEighKernel", [*MATRIX, *STACK], lambda x: [x]),
        ("LUFactorKernel", [*STACK, (2, "int32")], lambda x: [x]),
        ("LUSolveKernel", MATRIX, lambda x: [x, np.full(x.shape[:2], 3, "int32"), x[:, 0]]),
        ("QRKernel", STACK * 2, lambda x: [x]), ("PivotedQRKernel", [*STACK * 2, (2, "int32")], lambda x: [x]),
        ("SchurKernel", [*STACK * 2, (1, "int32")], lambda x: [x]),
        ("GeneralizedSchurKernel", [*STACK * 2, (2, "complex128"), *MATRIX, *STACK * 2], lambda x: [x, x]),
        ("SylvesterKernel", STACK, lambda x: [x, x, x]), ("SolveKernel", STACK, lambda x: [x, x]),
        ("SVDKernel", [*STACK, *MATRIX, *STACK], lambda x: [x]),
        ("TriangularSolveKernel", STACK, lambda x: [x, x]),
        ("LeastSquaresKernel", [*STACK, *MATRIX, *INDICES, *MATRIX], lambda x: [x, x])]:
    arguments = [*MADE[kind]]
    arguments[1] = 1
    if kind == "SVDKernel":
        arguments[2:] = False, True
    if kind == "LeastSquaresKernel":
        continue
    share = {"SolveKernel": 10, "SVDKernel": 10, "CholeskyInverseKernel": 4, "EighKernel": 16,
             "RelativeEighKernel": 8}.get(kind, 1)
    for what, count, length in [("many short ones", 300_000 // share, 3), ("some longer ones", 400 // share, 80)]:
        case(kind, what, lambda inputs=inputs, count=count, length=length: inputs(definite(count, length)), outputs,
             tuple(arguments))

# ---- orders ----------------------------------------------------------------------------------------------------------
case("SortKernel", "short lines", lambda: [values(1_000_000, 20), number(1)])
case("SortKernel", "columns", lambda: [values(20, 1_000_000), number(0)])
case("ArgSortKernel", "short lines", lambda: [values(1_000_000, 20, dtype="float32"), number(1)], ((2, "int64"),))
case("ArgSortKernel", "columns", lambda: [values(20, 1_000_000, dtype="float32"), number(0)], ((2, "int64"),))
case("PartitionKernel", "short lines", lambda: [values(1_000_000, 30), number([0, 2]), number(1)])
case("PartitionKernel", "places", lambda: [values(1_000_000, 30), number([0, 2]), number(1)], ((2, "int64"),),
     ("float64", True))
case("TopKKernel", "short lines", lambda: [values(1_000_000, 30), number(2)], ((2, "float64"), (2, "int32")),
     ("float64", 1, True, "int32", True, True))
case("TopKKernel", "columns", lambda: [values(30, 1_000_000), number(2)], ((2, "float64"), (2, "int32")))
case("TransformKernel", "short lines", lambda: [values(1_000_000, 30), number(30), number(0.5)], ((2, "complex128"),),
     ("real", "float64", 1))
case("TransformKernel", "columns", lambda: [values(30, 1_000_000), number(30), number(0.5)], ((2, "complex128"),))

# ---- networks --------------------------------------------------------------------------------------------------------
for what, shape in [("rows", (10_000, 4000)), ("short rows", (10_000_000, 3)), ("few long rows", (2, 20_000_000))]:
    case("SoftmaxKernel", what, lambda shape=shape: [values(*shape)])
    case("SoftmaxGradKernel", what, lambda shape=shape: [values(*shape), values(*shape)])
    case("CrossentropyKernel", what, lambda s=shape: [values(*s), values(s[1]), labels(s[0], s[1])],
         [*VECTOR, (2, "float64"), *INDICES])
    case("CrossentropyGradKernel", what, lambda s=shape: [values(s[0]), values(*s), labels(s[0], s[1])])
    case("LabelLossKernel", what, lambda s=shape: [values(*s), labels(s[0], s[1])], VECTOR)
    case("LabelLossGradKernel", what, lambda s=shape: [values(s[0]), values(*s), labels(s[0], s[1])])
    case("BatchNormTrainKernel", what, lambda s=shape: [values(*s), values(1, s[1]), values(1, s[1]), number(1e-3),
                                                        number(0.1), values(1, s[1]), values(1, s[1])], MATRIX * 5)
    case("BatchNormTrainGradKernel", what, lambda s=shape: [
        *[values(*s, dtype="float32")] * 2, *[values(1, s[1], dtype="float32")] * 3, number(1e-3)],
        ((2, "float32"),) * 3)
    case("BatchNormInferenceKernel", what, lambda s=shape: [
        values(*s)[:, :, None], *[values(1, s[1])[:, :, None]] * 4, number(1e-3)], STACK)
case("BlockGemvKernel", "many blocks", lambda: [
    values(5000, 4, 8), values(50, 50, 8, 8), values(5000, 40, 8), places(50, 5000, 40),
    places(50, 5000, 4, dtype="int32")], STACK)
case("BlockGemvKernel", "one large block", lambda: [
    values(2, 1, 8000), values(1, 1, 8000, 8000), values(2, 1, 8000), places(1, 2, 1),
    places(1, 2, 1, dtype="int32")], STACK)
case("BlockOuterKernel", "many blocks", lambda: [
    values(50, 50, 8, 8), values(5000, 40, 8), values(5000, 4, 8), places(50, 5000, 40), places(50, 5000, 4),
    number(2.0)], IMAGES)
case("BlockOuterKernel", "one large block", lambda: [
    values(1, 1, 8000, 8000), values(2, 1, 8000), values(2, 1, 8000), places(1, 2, 1), places(1, 2, 1), number(2.0)],
    IMAGES)

# ---- images ----------------------------------------------------------------------------------------------------------
def half_of(shape):
    return shape[0], shape[1] // 2, shape[2] // 2


for what, shape in [("many", (400_000, 8, 8)), ("one large", (1, 5000, 5000))]:
    two, none = window(2, 2), window(0, 0)
    case("PoolKernel", what, lambda s=shape: [values(*s), two, two, none], STACK)
    case("PoolKernel", f"{what}, wide windows", lambda s=shape: [values(*s), window(7, 7), window(1, 1), none], STACK)
    case("MaxPoolGradKernel", what, lambda s=shape: [values(*s), *[values(*half_of(s))] * 2, two, two, none], STACK,
         ("float64", 2, "max", True))
    case("AveragePoolGradKernel", what, lambda s=shape: [values(*s), values(*half_of(s)), two, two, none], STACK,
         ("float64", 2, "average_inc_pad", False))
    case("MaxSelectedKernel", what, lambda s=shape: [values(*s), values(*half_of(s)), values(*s), two, two, none],
         STACK)
    case("MaxFirstKernel", what, lambda s=shape: [values(*s), values(*s), two, two, none], STACK, ("float64", 2))
    case("ConvolutionKernel", f"{what}, forward", lambda s=shape: [values(*s)[:, None], values(2, 1, 5, 5)], IMAGES,
         ("float64", "forward", 2, [(0, 0)] * 2, (1, 1), (1, 1), False, 1, False, [None] * 4, [None] * 4))
    case("ConvolutionKernel", f"{what}, by images", lambda s=shape: [
        values(2, 1, 5, 5), values(s[0], 2, s[1] - 4, s[2] - 4), number(s[1:])], IMAGES,
        ("float64", "by images", 2, [(0, 0)] * 2, (1, 1), (1, 1), False, 1, False, [None] * 4, [None] * 4))
    case("ConvolutionKernel", f"{what}, by filters", lambda s=shape: [
        values(*s)[:, None], values(s[0], 2, s[1] - 4, s[2] - 4), number([5, 5])], IMAGES,
        ("float64", "by filters", 2, [(0, 0)] * 2, (1, 1), (1, 1), False, 1, False, [None] * 4, [None] * 4))
    case("ConvolutionKernel", f"{what}, strided", lambda s=shape: [values(*s)[:, None], values(8, 1, 5, 5)], IMAGES,
         ("float64", "forward", 2, [(2, 2)] * 2, (3, 2), (1, 2), True, 1, False, [None] * 4, [None] * 4))
case("ConvolutionKernel", "many channels", lambda: [values(8, 256, 40, 40), values(256, 256, 3, 3)], IMAGES,
     ("float64", "forward", 2, [(1, 1)] * 2, (1, 1), (1, 1), True, 1, False, [None] * 4, [None] * 4))
case("ConvolutionKernel", "many channels by filters", lambda: [values(8, 256, 40, 40), values(8, 256, 38, 38),
                                                               number([3, 3])], IMAGES,
     ("float64", "by filters", 2, [(0, 0)] * 2, (1, 1), (1, 1), True, 1, False, [None] * 4, [None] * 4))
case("ConvolutionKernel", "depthwise", lambda: [values(8, 512, 80, 80), values(512, 1, 7, 7)], IMAGES,
     ("float64", "forward", 2, [(3, 3)] * 2, (1, 1), (1, 1), True, 512, False, [None] * 4, [None] * 4))

# ---- random numbers --------------------------------------------------------------------------------------------------
for bits, state in [("Generator", PCG64), ("RandomState", MERSENNE)]:
    number_of, legacy = (0, False) if bits == "Generator" else (4, True)
    drawn = [STATE, *INDICES]
    for what, size, n in [("one", 1, 10_000_000), ("some", 500, 60_000), ("many", 1_000_000, 20)]:
        case("PermutationKernel", f"{what}, {bits}", lambda a=state, s=size, n=n: [a, number([s]), number(n)],
             [STATE, (2, "int64")], (number_of, legacy))
    many = 10_000_000 if legacy else 100_000_000    # a RandomState orders all
    for what, n, wanted in [("all", 10_000_000, 10_000_000), ("a few of many", many, 1000),
                            ("some of many", 1_000_000_000, 4_000_000), ("half", 10_000_000, 5_000_000)]:
        if legacy and n > 200_000_000:
            continue
        case("ChoiceKernel", f"without replacement, {what}, {bits}", lambda a=state, n=n, wanted=wanted: [
            a, number([wanted]), number(n), number(0), np.zeros(0)], drawn, (number_of, legacy, not legacy, 1e-8))
    for what, n, wanted in [("all", 200_000, 200_000), ("half", 3_000_000, 1_500_000), ("one", 30_000_000, 1)]:
        case("ChoiceKernel", f"by shares, {what}, {bits}", lambda a=state, n=n, wanted=wanted: [
            a, number([wanted]), number(n), number(0), np.full(n, 1 / n)], drawn, (number_of, legacy, False, 1e-8))
        case("ChoiceKernel", f"by shares with replacement, {what}, {bits}", lambda a=state, n=n: [
            a, number([1_000_000]), number(n), number(1), np.full(n, 1 / n)], drawn, (number_of, legacy, False, 1e-8))
    case("ChoiceKernel", f"with replacement, {bits}", lambda a=state: [
        a, number([BIG]), number(1000), number(1), np.zeros(0)], drawn, (number_of, legacy, False, 1e-8))
    for what, size, outcomes in [("many", 1_000_000, 10), ("long", 300, 100_000), ("one", 1, 10_000_000)]:
        case("DirichletKernel", f"{what}, {bits}", lambda a=state, s=size, n=outcomes: [
            a, number([s]), values(n) + 0.2], [STATE, (2, "float64")], (number_of, legacy))
        case("DirichletKernel", f"small alphas, {what}, {bits}", lambda a=state, s=size, n=outcomes: [
            a, number([s]), values(n) * 0.01], [STATE, (2, "float64")], (number_of, legacy))
        case("MultinomialDrawKernel", f"{what}, {bits}", lambda a=state, s=size, n=outcomes: [
            a, number([s]), number(4000), np.full(n, 1 / n)], [STATE, (2, "int64")], (number_of, legacy, False))
case("DrawKernel", "numbers", lambda: [np.array([3, 0, 0, *range(11)], "uint64"), number([10_000_000]), number(1.5),
                                       number(2.0)], [STATE, *VECTOR])
case("DrawKernel", "numbers of RandomState", lambda: [MERSENNE, number([20_000_000]), number(1.5), number(2.0)],
     [STATE, *VECTOR], ("randomstate_normal", 4, [("avg", "any"), ("std", "at least 0")]))
case("DrawnElementwiseKernel", "numbers", lambda: [PCG64, number([20_000_000]), number(1.5), number(2.0),
                                                   values(20_000_000)], [STATE, *VECTOR])
case("MrgUniformKernel", "numbers", lambda: [np.full((3, 6), 12345, "int32"), number([10_000, 5000])],
     ((2, "int32"), (2, "float64")))
case("MrgUniformKernel", "many streams", lambda: [np.full((6_000_000, 6), 12345, "int32"), number([BIG])],
     ((2, "int32"), (1, "float64")))
case("MrgNormalKernel", "numbers", lambda: [np.full((3, 6), 12345, "int32"), number([30_000_000])],
     ((2, "int32"), (1, "float64")))
case("MultinomialKernel", "rows", lambda: [np.full((1_000_000, 5), 0.2), values(5_000_000), number(5)],
     ((2, "int64"),))
case("MultinomialKernel", "few long rows", lambda: [np.full((2, 10_000_000), 1e-7), values(20), number(10)],
     ((2, "int64"),))

# Kernels whose time does not grow with the number of elements, or that are one function of NumPy.
SHORT = {
    "AllocEmptyKernel": "asks for memory", "AssertKernel": "a view, and a few conditions",
    "ComplexPartsKernel": "a view",
    "DimShuffleKernel": "a view", "ExtractDiagKernel": "a view", "EqualLengthsKernel": "a view",
    "FirstRowsKernel": "a view",
    "MakeVectorKernel": "as many numbers as operands",
    "RebroadcastKernel": "a view", "RowOrderKernel": "one sort", "ShapeIKernel": "reads a shape",
    "ShapeKernel": "reads a shape", "SpecifyShapeKernel": "a view", "SplitKernel": "views",
    "StateRowsKernel": "states of streams", "StepCountKernel": "a number",
    "SubtensorKernel": "a view", "LeastSquaresKernel": "calls of LAPACK, asked between them as others of stacks",
}

# What runs to its end first, as the guide says, and the CPU seconds that it may take.
LATE = {"ProductKernel: matrices": 2, "BatchedProductKernel: few long ones": 2, "SoftmaxKernel: few long rows": 1,
        "SoftmaxGradKernel: few long rows": 1, **{
            f"ChoiceKernel: by shares{how}, one, {bits}": 1 for how in ("", " with replacement")
            for bits in ("Generator", "RandomState")}, **{
            f"MultinomialDrawKernel: one, {bits}": 1 for bits in ("Generator", "RandomState")}}


class KernelOp(Op):
    """An op that runs a given kernel."""

    def __init__(self, kernel, outputs):
        self.kernel, self.layouts = kernel, outputs

    def make_node(self, *inputs):
        return Apply(self, [*inputs], [TensorType(dtype, (False,) * rank)() for rank, dtype in self.layouts])

    def make_kernel(self, node):
        return self.kernel

    def infer_shape(self, node, input_shapes):
        raise NotImplementedError


def called(title, updates=()):
    """A function that runs the kernel of a case, and its arguments."""
    arguments, inputs, outputs = LONG[title]
    name = title.split(":")[0]
    kernel = kernel_classes()[name](*(MADE[name] if arguments is None else arguments))
    arrays = inputs()
    variables = [TensorType(array.dtype.name, (False,) * array.ndim)() for array in arrays]
    results = KernelOp(kernel, outputs)(*variables)
    results = results if isinstance(results, list) else [results]
    results = [phintys.Out(result, borrow=True) for result in results]
    return phintys.function([phintys.In(v, borrow=True) for v in variables], results, updates=updates), arrays
