"""All kernels of the package: how each is made, and inputs that it accepts."""
import pkgutil
from importlib import import_module

import numpy as np

import phintys.ops
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.reduction.reduction_kernel import ReductionKernel
from phintys.vm.abi import Kernel

LINE = ScalarCode(["float64"], outputs=[0]), [(False,)]
ONE = np.ones((), "float32")
INDICES = [("array", 1, "int64", 1)]

# Class → arguments of its constructor, as the ops give them.
MADE = {
    "AdvancedIncSubtensorKernel": ([("array", 2, "int64", 1)], 0, 3, "float64", True),
    "AdvancedSubtensorKernel": (INDICES, 0, 2),
    "AllocDiagKernel": (1, 0, 1),
    "AllocEmptyKernel": (2,),
    "AllocKernel": (2, "tile"),
    "ARangeKernel": (True,),
    "ArgKernel": ("float64", 2, (0,), "argmax"),
    "ArgSortKernel": ("float32", "stable"),
    "AssertKernel": (2, "what is wrong"),
    "AveragePoolGradKernel": ("float64", 1, "average_inc_pad", False),
    "BatchedProductKernel": ("float64", 2, 2, (False, True)),
    "BatchNormInferenceKernel": ("float64", (0, 2)),
    "BatchNormTrainGradKernel": ("float32", [0]),
    "BatchNormTrainKernel": ("float64", (0,), True, True),
    "BlockGemvKernel": (("int64", "int32"),),
    "BlockOuterKernel": (("int64", "int64"),),
    "CholeskyKernel": ("float64", 0, True, False),
    "ChooseKernel": ("int64", "clip", False, 1),
    "ComplexPartsKernel": (),
    "ContiguousKernel": (),
    "ConvolutionKernel": ("float64", "forward", 2, [(1, 0), (0, 2)], (1, 2), (1, 1), True, 1, False, [None] * 4,
                          [None, 1, None, None]),
    "CrossentropyGradKernel": (1, True, False),
    "CrossentropyKernel": ("float64", True, False, False),
    "CumulativeKernel": ("float64", -1, "mul"),
    "DeterminantKernel": ("float64", 1, True, False), "AdjugateKernel": ("float64", 1),
    "DimShuffleKernel": (2, [1, "x", 0]),
    "DirichletKernel": (0, False),
    "DrawKernel": ("beta", 3, [("a", "above 0"), ("b", "at least 0")]),
    "EigKernel": ("float64", 0),
    "ExpmKernel": ("float64", 0),
    "EighKernel": ("complex128", 0, True, True), "RelativeEighKernel": ("float64", 0, True),
    "ChoiceKernel": (0, False, True, 1e-8),
    "DrawnElementwiseKernel": ("normal", 0, [("loc", "any"), ("scale", "at least 0")], 1, 12, ElementwiseKernel(
        ScalarCode(["float64"] * 2, [], [(np.add, [0, 1], ["float64"] * 3)], [2]), [(False,)] * 2)),
    "ElementwiseKernel": (ScalarCode(["float64"], [np.asarray(2.0)], [(np.multiply, [0, 1], ["float64"] * 3)], [2]),
                          [(False,)]),
    "EqualLengthsKernel": (3, (((0, 0, "x.shape[0]"), (1, 1, "y.shape[1]"), (2, -1, "n"), (-1, 3, "")),),
                           (((2, True),),), (2,)),
    "ExtractDiagKernel": (1, 0, 1),
    "ExtremumKernel": ("float64", 2, [1], "argmax"),
    "EyeKernel": (ONE,),
    "FirstRowsKernel": (2, "output 0"),
    "StepCountKernel": ("loop",),
    "GerKernel": ("float64",),
    "HornerKernel": ("float64",),
    "PowerSumsKernel": ("float32",),
    "IncSubtensorKernel": ([(False, None, None, 2), (True, 1, None, None)], 0, "float64", True),
    "InverseKernel": ("float32", 1),
    "JoinKernel": (["float32", "float64"], "float64", -1),
    "LabelLossGradKernel": (),
    "LabelLossKernel": ("float64",),
    "CholeskyInverseKernel": ("complex128", 1, True),
    "MirrorKernel": ("float64", 0),
    "LeastSquaresKernel": ("float64", 0, 2, False),
    "LUFactorKernel": ("float64", 0),
    "LUSolveKernel": ("float64", 0, 1, True),
    "MakeVectorKernel": (3,),
    "MaxFirstKernel": ("float64", 1),
    "MaxPoolGradKernel": ("float64", 1, "max", True),
    "MaxSelectedKernel": ("float64", 2),
    "MeanKernel": (*LINE, np.add, (0,), "float64", "float64"),
    "MrgNormalKernel": (),
    "MrgUniformKernel": (),
    "MultinomialDrawKernel": (4, True, True),
    "MultinomialKernel": (True, False, True),
    "NonzeroKernel": (),
    "PartitionKernel": ("float64", False),
    "PermutationKernel": (4, True),
    "PoolKernel": ("float64", 2, "average_exc_pad", False),
    "ProductKernel": ("float64", 2, 2, "accumulated", [False, True]),
    "QRKernel": ("float64", 0, "reduced"),
    "PivotedQRKernel": ("float64", 0, "reduced"),
    "SchurKernel": ("float64", 0, "lhp", False),
    "GeneralizedSchurKernel": ("float64", 0, (0, 0), "ouc", True),
    "SylvesterKernel": ("float64", 0, (0, 0, 0), False, True),
    "RavelMultiIndexKernel": (2, "wrap", "C"),
    "RebroadcastKernel": ([0, 2],),
    "ReductionKernel": (*LINE, np.maximum, [0], "float64", "float64"),
    "RepeatKernel": (1,),
    "ReshapeKernel": (),
    "RowsKernel": ("int32",),
    "SearchsortedKernel": ("float64", True, True),
    "SetDiagonalKernel": (1, 0, 1),
    "ShapeIKernel": (1,),
    "ShapeKernel": (),
    "SoftmaxGradKernel": ("float64", [True, False]),
    "StateRowsKernel": (),
    "SoftmaxKernel": ("float64", True, False),
    "SolveKernel": ("float64", 1, 2),
    "RowOrderKernel": ("float64",),
    "SortKernel": ("float64", "quicksort"),
    "SpecifyShapeKernel": (),
    "SplitKernel": (2,),
    "SubtensorKernel": ([(False, None, None, -1)], 0),
    "SumStretchedKernel": (0, ReductionKernel(*LINE, np.add, (0,), "float64", "float64", True)),
    "SumRepeatsKernel": ("float64", 0),
    "SVDKernel": ("float64", 0, True, False),
    "TopKKernel": ("float64", 0, True, "int32", True, True),
    "TransformKernel": ("real", "float64", 0),
    "TriangleKernel": (True,),
    "TriangularSolveKernel": ("float64", 0, 2, True, 1, False),
    "TriKernel": (ONE,),
    "UnravelIndexKernel": (2, "F"),
    "VectorConvolutionKernel": ("float64",),
}
# These are only bases of others; and the body of a loop, which has no operands and its own tests.
BASES = {"AdvancedIndexKernel", "BatchNormKernel", "BlockSparseKernel", "DiagonalsKernel", "IndexKernel", "LineKernel",
         "OrderKernel", "OrderedKernel", "PoolingKernel", "RecurrenceBody", "ScalarBody",
         "SpectralKernel", "StackKernel"}


def kernel_classes():
    """All classes of kernels of ops, by name."""
    for module in pkgutil.walk_packages(phintys.ops.__path__, "phintys.ops."):
        import_module(module.name)
    found, waiting = {}, [Kernel]
    while waiting:
        for cls in waiting.pop().__subclasses__():
            if cls.__module__.startswith("phintys.ops."):       # LoopKernel, whose body is a program, has its own tests
                found[cls.__name__] = cls
            waiting.append(cls)
    return found


# ---- cases that run ----
A = np.arange(12.0).reshape(4, 3) + 1
MERSENNE, PCG64 = np.array([4, 0, 0, 600, *range(312)], "uint64"), np.array([0, 0, 0, 1, 2, 3, 5], "uint64")
V, W, ROW = np.array([3.0, 1.0, 2.0]), np.arange(4.0) - 1, np.array([[0.5, 1.0, 2.0]])
A32, ROW32 = A.astype("float32"), ROW.astype("float32")
LABELS, PLACES, ORDER = np.array([0, 2, 1, 1]), np.array([2, 0, 1]), np.array([1, 2, 0])
MASK = A > 4
POSITIVE = np.array([[4, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]])          # definite
ONES, TWOS, ZEROS = np.ones(1, int), np.full(1, 2), np.zeros(1, int)          # steps, sizes and paddings of windows
BLOCKS, BLOCKS32 = np.array([[0, 1, 1], [-1, 0, 0]]), np.array([[3, 0], [1, 1]], "int32")
SHARES = A / A.sum(axis=1, keepdims=True)


def number(value, dtype=None):
    return np.array(value, dtype)


def case(name, *inputs, outputs=((2, "float64"),), arguments=None):
    """A kernel, inputs that it accepts, and (rank, dtype) of its outputs."""
    return name, MADE[name] if arguments is None else arguments, inputs, outputs


VECTOR, INDICES, NUMBER = ((1, "float64"),), ((1, "int64"),), ((0, "float64"),)
CASES = [
    case("AdvancedIncSubtensorKernel", W, V, PLACES, outputs=VECTOR,
         arguments=([("array", 2, "int64", 1)], 0, 3, "float64", True)),
    case("AdvancedIncSubtensorKernel", A, number(1.0), MASK, arguments=([("mask", 2, 2)], 0, 3, "float64", False)),
    case("AdvancedSubtensorKernel", W, PLACES, outputs=VECTOR),
    case("AdvancedSubtensorKernel", A, number(1), PLACES,
         arguments=([("slice", ("operand", 1), None, None), ("array", 2, "int64", 1)], 1, 3)),
    case("AdvancedSubtensorKernel", A, MASK, outputs=VECTOR, arguments=([("mask", 1, 2)], 0, 2)),
    case("AllocDiagKernel", V), case("AllocEmptyKernel", number(4), number(3)),
    case("AllocKernel", V, number(4), number(3)),
    case("ARangeKernel", number(1), number(9), number(2), outputs=INDICES),
    case("ARangeKernel", number(1.0), number(2.0), number(0.25), outputs=VECTOR, arguments=(False,)),
    case("ArgKernel", A, outputs=INDICES), case("AssertKernel", V, number(True), number(True), outputs=VECTOR),
    case("BatchedProductKernel", A.reshape(2, 2, 3), A[:2].reshape(1, 3, 2), outputs=((3, "float64"),)),
    case("BatchNormInferenceKernel", A.reshape(2, 3, 2), *[V.reshape(1, 3, 1)] * 4, number(1e-3),
         outputs=((3, "float64"),)),
    case("BatchNormTrainGradKernel", A32, A32[::-1], ROW32, ROW32, ROW32, number(1e-3), outputs=((2, "float32"),) * 3),
    case("BatchNormTrainKernel", A, ROW, ROW, number(1e-3), number(0.1), ROW, ROW, outputs=((2, "float64"),) * 5),
    case("ChooseKernel", number([2, 0, 5]), A, outputs=VECTOR, arguments=("int64", "clip", False, 1)),
    case("ChooseKernel", number([1, 0, 1]), V, V + 7, outputs=VECTOR, arguments=("int64", "raise", True, 2)),
    case("ContiguousKernel", A),
    case("CrossentropyGradKernel", W, A, LABELS),
    case("CrossentropyKernel", A, V, LABELS, outputs=[*VECTOR, (2, "float64"), *INDICES]),
    case("CumulativeKernel", A, arguments=("float64", 0, "mul")), case("CumulativeKernel", W, outputs=VECTOR),
    case("DimShuffleKernel", A, outputs=((3, "float64"),)),
    case("ElementwiseKernel", V, outputs=VECTOR), case("ExtractDiagKernel", A, outputs=VECTOR),
    case("ExtremumKernel", A, outputs=[*VECTOR, *INDICES]),
    case("EqualLengthsKernel", V, A, number(3), outputs=VECTOR),
    case("EyeKernel", number(4), number(3), number(1), outputs=((2, "float32"),)),
    case("GerKernel", A, number(2.0), W, V),
    case("FirstRowsKernel", A), case("FirstRowsKernel", A, number(3), arguments=(-1, "x")),
    case("StepCountKernel", number(3), outputs=((0, "int64"),)),
    case("IncSubtensorKernel", A, V[:2]),
    case("IncSubtensorKernel", A, V, number(2), arguments=([(True, ("operand", 2), None, None)], 1, "float64", False)),
    case("JoinKernel", number(0), A32, A), case("LabelLossGradKernel", W, A, LABELS),
    case("LabelLossKernel", A, LABELS, outputs=VECTOR),
    case("MakeVectorKernel", number(1.0), number(2.0), number(3.0), outputs=VECTOR),
    case("MeanKernel", V, outputs=NUMBER), case("NonzeroKernel", MASK, outputs=((2, "int64"),)),
    case("ProductKernel", A[:, :1], number(2.0), A, A[:3, :2], number(1.0)),
    case("ProductKernel", A, V, outputs=VECTOR, arguments=("float64", 2, 1)),
    case("RavelMultiIndexKernel", PLACES, ORDER, number([3, 3]), outputs=INDICES),
    case("RavelMultiIndexKernel", PLACES, ORDER, number([3, 3]), outputs=INDICES, arguments=(2, "raise", "F")),
    case("RebroadcastKernel", V.reshape(1, 3, 1), outputs=((3, "float64"),)),
    case("ReductionKernel", V, outputs=NUMBER), case("RepeatKernel", A, number(2)),
    case("RepeatKernel", A, number([2, 0, 1])), case("ReshapeKernel", A, number([2, -1])),
    case("RowsKernel", A, PLACES.astype("int32")), case("SearchsortedKernel", V, W, ORDER, outputs=INDICES),
    case("SetDiagonalKernel", A, V[:2]), case("ShapeIKernel", A, outputs=((0, "int64"),)),
    case("ShapeKernel", A, outputs=INDICES), case("SoftmaxGradKernel", ROW, A), case("SoftmaxKernel", A),
    case("SoftmaxKernel", A, V, arguments=("float64", False, True)), case("SpecifyShapeKernel", A, number([4, 3])),
    case("SplitKernel", A, number(0), number([1, 3]), outputs=((2, "float64"),) * 2), case("SubtensorKernel", A),
    case("SubtensorKernel", A, number(1), number(3),
         arguments=([(False, ("operand", 1), ("operand", 2), None)], 2)),
    case("SumRepeatsKernel", A, number([1, 3]), number(2)),
    case("TriangleKernel", A, number(1)), case("TriKernel", number(4), number(3), number(1), outputs=((2, "float32"),)),
    case("CholeskyKernel", POSITIVE), case("MirrorKernel", POSITIVE),
    case("CholeskyInverseKernel", POSITIVE.astype("complex128")[None], outputs=((3, "complex128"),)),
    case("DeterminantKernel", POSITIVE[None], outputs=VECTOR * 2),
    case("AdjugateKernel", POSITIVE[None], outputs=((3, "float64"),)),
    case("EigKernel", POSITIVE, outputs=[*VECTOR, (2, "float64")]), case("ExpmKernel", POSITIVE),
    case("EighKernel", POSITIVE.astype("complex128"), outputs=[*VECTOR, (2, "complex128")]),
    case("RelativeEighKernel", POSITIVE, outputs=[*VECTOR, (2, "float64")]),
    case("InverseKernel", POSITIVE.astype("float32")[None], outputs=((3, "float32"),)),
    case("LeastSquaresKernel", A, A[:, :2], outputs=[(2, "float64"), *VECTOR, (0, "int64"), *VECTOR]),
    case("LUFactorKernel", POSITIVE, outputs=((2, "float64"), (1, "int32"))),
    case("LUSolveKernel", POSITIVE, np.array([1, 2, 2], "int32"), V, outputs=VECTOR),
    case("QRKernel", A, outputs=((2, "float64"),) * 2),
    case("PivotedQRKernel", A, outputs=((2, "float64"), (2, "float64"), (1, "int32"))),
    case("SchurKernel", POSITIVE, outputs=((2, "float64"), (2, "float64"), (0, "int32"))),
    case("GeneralizedSchurKernel", POSITIVE, POSITIVE, outputs=[
        *((2, "float64"),) * 2, (1, "complex128"), (1, "float64"), *((2, "float64"),) * 2]),
    case("SylvesterKernel", POSITIVE, POSITIVE, POSITIVE),
    case("SolveKernel", POSITIVE[None], A[None, :3, :2], outputs=((3, "float64"),)),
    case("SumStretchedKernel", V, number(3), outputs=VECTOR), case("SumStretchedKernel", V, number(1), outputs=VECTOR),
    case("SVDKernel", A, outputs=[(2, "float64"), *VECTOR, (2, "float64")], arguments=("float64", 0, False, True)),
    case("SVDKernel", A, outputs=[(2, "float64"), *VECTOR, (2, "float64")],
         arguments=("float64", 0, False, True, True)),
    case("TriangularSolveKernel", POSITIVE, A[:3, :2]),
    case("SortKernel", A, number(0)), case("ArgSortKernel", A32, number(-1), outputs=((2, "int64"),)),
    case("PartitionKernel", A, number([0, 2]), number(1)),
    case("PartitionKernel", W, number([1]), number(0), outputs=INDICES, arguments=("float64", True)),
    case("HornerKernel", V, A), case("PowerSumsKernel", A32, A32, number(4), outputs=((1, "float32"),)),
    case("RowOrderKernel", A, outputs=((1, "int64"),)),
    case("TopKKernel", A, number(2), outputs=((2, "float64"), (2, "int32"))),
    case("TopKKernel", W, number(-3), outputs=VECTOR, arguments=("float64", 0, False, "int64", True, False)),
    case("TransformKernel", A, number(5), number(0.5), outputs=((2, "complex128"),)),
    case("TransformKernel", A.astype("complex64"), number(3), number(1.0, "float32"), outputs=((2, "complex64"),),
         arguments=("backward", "complex64", 1)),
    case("ComplexPartsKernel", A.astype("complex128"), outputs=((3, "float64"),)),
    case("VectorConvolutionKernel", V, W, outputs=VECTOR),
    case("MrgUniformKernel", np.full((3, 6), 12345, "int32"), number([2, 3]),
         outputs=((2, "int32"), (2, "float64"))),
    case("MrgNormalKernel", np.full((3, 6), 12345, "int32"), number([5]), outputs=((2, "int32"), (1, "float64"))),
    case("MrgNormalKernel", np.full((9, 6), 12345, "int32"), number([2, 3]), outputs=((2, "int32"), (2, "float32"))),
    case("StateRowsKernel", np.full((3, 6), 12345, "int32"), np.full((2, 6), 7, "int32"), outputs=((2, "int32"),)),
    case("DrawKernel", np.array([3, 0, 0, *range(11)], "uint64"), number([4]), number(1.5), number(2.0),
         outputs=((1, "uint64"), (1, "float64"))),
    case("DrawnElementwiseKernel", PCG64, number([4]), number(1.5), number(2.0),
         W, outputs=((1, "uint64"), (1, "float64"))),
    case("PermutationKernel", MERSENNE, number([4]), number(5), outputs=((1, "uint64"), (2, "int64"))),
    case("ChoiceKernel", PCG64, number([4]), number(5), number(0), np.full(5, 0.2),
         outputs=((1, "uint64"), (1, "int64"))),
    case("ChoiceKernel", PCG64, number([4]), number(20_000), number(0), np.zeros(0),
         outputs=((1, "uint64"), (1, "int64"))),
    case("DirichletKernel", PCG64, number([3]), V, outputs=((1, "uint64"), (2, "float64"))),
    case("MultinomialDrawKernel", MERSENNE, number([3]), number(40), V / 6.0, outputs=((1, "uint64"), (2, "int64"))),
    case("DrawKernel", MERSENNE, number([40]), number(1.5), number(2.0),
         outputs=((1, "uint64"), (1, "float64")),
         arguments=("randomstate_normal", 4, [("avg", "any"), ("std", "at least 0")])),
    case("MultinomialKernel", SHARES, np.linspace(0.1, 0.9, 8), number(2), outputs=((2, "int64"),)),
    case("PoolKernel", A, number([2, 2]), number([1, 2]), number([0, 0])),
    case("MaxPoolGradKernel", A, A[:, :2], A[:, 1:], TWOS, ONES, ZEROS),
    case("AveragePoolGradKernel", A, A[:, 1:], TWOS, TWOS, ZEROS),
    case("BlockGemvKernel", A.reshape(2, 2, 3), np.arange(48.0).reshape(2, 4, 2, 3), A.reshape(2, 3, 2), BLOCKS,
         BLOCKS32, outputs=((3, "float64"),)),
    case("BlockOuterKernel", A.reshape(2, 1, 2, 3), A[None, :2, :2], A[None, :1], np.array([[1, 0]]), np.array([[0]]),
         number(2.0), outputs=((4, "float64"),)),
    case("MaxFirstKernel", A, -A, TWOS, ONES, ZEROS),
    case("MaxSelectedKernel", A, A[1:, 1:], -A, number([2, 2]), number([1, 1]), number([0, 0])),
    case("ConvolutionKernel", A.reshape(1, 1, 4, 3), A[:2, :2].reshape(1, 1, 2, 2), outputs=((4, "float64"),)),
    case("ConvolutionKernel", A[:2, :2].reshape(1, 1, 2, 2), A[:3, :2].reshape(1, 1, 3, 2), number([4, 3]),
         outputs=((4, "float64"),), arguments=("float64", "by images", 2, [(0, 0)] * 2, (1, 1), (1, 1), False, 1, False,
                                               [None] * 4, [None] * 4)),
    case("ConvolutionKernel", A.reshape(1, 1, 4, 3), A.reshape(1, 1, 4, 3), number([3, 3]), outputs=((4, "float64"),),
         arguments=("float64", "by filters", 2, "half", (1, 1), (1, 1), False, 1, False, [None] * 4, [None] * 4)),
    case("UnravelIndexKernel", PLACES, number([4, 3]), outputs=INDICES * 2),
]


def made(position):
    """(the kernel, its inputs, the outputs' layouts, the inputs that are not examined)"""
    name, arguments, inputs, outputs = CASES[position]
    kernel = kernel_classes()[name](*arguments)
    layouts = [(np.dtype(dtype).num, rank) for rank, dtype in outputs]
    hidden = [index for index in range(len(inputs)) if index not in kernel.examined]
    return kernel, list(inputs), layouts, hidden
