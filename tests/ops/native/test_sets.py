"""Kernels compute the same bits with each instruction set."""
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from kernel_cases import CASES, MERSENNE, PCG64, case, kernel_classes

from phintys.graph.config import change_flags
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.native.loops import TYPES, find_loop
from phintys.ops.native.sets import sets_of_processor, usable_sets
from phintys.vm.abi import run_kernel

ROOT = Path(__file__).parents[3]

# Kernels whose last bits depend on the set, and why; the largest difference, in units of the largest result.
NOT_ALIKE = {
    "BatchedProductKernel": "sums of a product have as many parts as a register has lanes, and use FMA",
    "BlockGemvKernel": "sums have as many parts as a register has lanes",
    "CholeskyInverseKernel": "short factorizations subtract products by FMA",
    "CholeskyKernel": "short factorizations subtract products by FMA",
    "ConvolutionKernel": "sums of a convolution use FMA",
    "ProductKernel": "sums of a product have as many parts as a register has lanes, and use FMA",
    "SoftmaxKernel": "exp is a vector function, which libraries have for some sets only",
    "CrossentropyKernel": "exp and log are vector functions, which libraries have for some sets only",
    "TriangularSolveKernel": "short factorizations subtract products by FMA",
}


def numbers(*shape, dtype="float64"):
    values = np.random.default_rng(5).normal(0, 30, shape)
    return (values if np.dtype(dtype).kind != "b" else values > 0).astype(dtype)


def reductions(dtype):
    """Sums, products and tests of lines, of columns, and with gaps."""
    x, total = numbers(37, 41, dtype=dtype), "bool" if dtype == "bool" else dtype
    line = ScalarCode([dtype], outputs=[0]), [(False, False)]
    for function in [np.add, np.logical_or] if dtype != "bool" else [np.logical_and]:
        result = "bool" if function is not np.add else total
        for axis in (0, 1):
            yield case("ReductionKernel", x, outputs=((1, result),),
                       arguments=(*line, function, [axis], result, result))
    yield case("ArgKernel", x, outputs=((1, "int64"),), arguments=(dtype, 2, (0,), "argmax"))
    yield case("ArgKernel", x[:, :9], outputs=((1, "int64"),), arguments=(dtype, 2, (1,), "argmin"))


# Longer inputs than those of CASES, so that loops by vectors run, their ends too.
LONGER = [row for dtype in ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64")
          for row in reductions(dtype)]
X, X32 = numbers(37, 41), numbers(37, 41, dtype="float32")
LONGER += [
    case("AdvancedSubtensorKernel", X, X > 3, outputs=((1, "float64"),), arguments=([("mask", 1, 2)], 0, 2)),
    case("NonzeroKernel", X > 0, outputs=((2, "int64"),)), case("RepeatKernel", X, np.array(3)),
    case("RowsKernel", X, np.arange(30, dtype="int32")), case("HornerKernel", X[0], X),
    case("SoftmaxGradKernel", X, X),
    case("BatchNormTrainGradKernel", X32, X32[::-1], X32[:1], X32[:1], X32[:1], np.array(1e-3),
         outputs=((2, "float32"),) * 3),
    case("PoolKernel", X, *[np.array(two) for two in ([2, 2], [2, 2], [0, 0])]),
    case("MaxPoolGradKernel", X, X[:, 2:], X[:, 1:40], np.full(1, 3), np.ones(1, int), np.zeros(1, int)),
    case("SortKernel", X32[:, :9], np.array(1), outputs=((2, "float32"),), arguments=("float32", "quicksort")),
    case("PartitionKernel", X, np.array([7, 20]), np.array(1)),
    case("MrgUniformKernel", np.full((70, 6), 12345, "int32"), np.array([9, 41]),
         outputs=((2, "int32"), (2, "float64"))),
    case("DrawKernel", PCG64, np.array([700]), outputs=((1, "uint64"), (1, "float64")), arguments=("random", 0, [])),
    case("DrawKernel", MERSENNE, np.array([700]), np.array(1.5), np.array(2.0),
         outputs=((1, "uint64"), (1, "float64")),
         arguments=("randomstate_normal", 4, [("avg", "any"), ("std", "at least 0")])),
]


def title(row):
    return f"{row[0]}-{[value.shape for value in row[2]]}-{row[2][0].dtype}"


@pytest.mark.parametrize("row", [*CASES, *LONGER], ids=title)
def test_each_set_computes_the_same_bits(row):
    name, arguments, inputs, outputs = row
    layouts = [(np.dtype(dtype).num, rank) for rank, dtype in outputs]
    found = {}
    for cpu in ("baseline", "avx2", "native"):
        with change_flags(cpu=cpu, math="numpy"):
            found[cpu] = run_kernel(kernel_classes()[name](*arguments), [value.copy() for value in inputs], layouts)
    if name == "AllocEmptyKernel":
        return                                      # anything may be in there
    for cpu in ("avx2", "native"):
        for result, wanted in zip(found[cpu], found["baseline"]):
            assert result.shape == wanted.shape and result.dtype == wanted.dtype
            if name in NOT_ALIKE:
                np.testing.assert_allclose(result, wanted, rtol=1e-5 if result.dtype.itemsize < 8 else 1e-13,
                                           atol=1e-13 * np.abs(wanted).max(initial=0))
            else:
                assert result.tobytes() == wanted.tobytes(), cpu


def test_kernels_that_differ_are_the_ones_that_say_why():
    assert set(NOT_ALIKE) <= {name for name, *_ in CASES}


def test_the_option_decides():
    for position, cpu in enumerate(("baseline", "avx2")):
        with change_flags(cpu=cpu):
            assert usable_sets() == sets_of_processor()[:position]
    assert usable_sets() == sets_of_processor()


EXTREMES = [0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 0.49999999999999994, 3, 100, 127, 255, -128, 65504, 2.0 ** 31, -2.0 ** 31,
            2.0 ** 53 + 2, 2.0 ** 63, -2.0 ** 63, 1e19, 1e38, 1e300, 5e-324, np.inf, -np.inf, np.nan]


def operands_of(dtypes):
    """Numbers in all ranges of the dtypes, one operand each; an odd number of them, so that vectors have an end."""
    draws = np.random.default_rng(3)
    for dtype in map(np.dtype, dtypes):
        values = draws.permutation(EXTREMES * 9).tolist() + draws.normal(0, 50, 42).tolist()
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            values = [int(min(max(value, limits.min), limits.max)) if np.isfinite(value) else 7 for value in values]
        with np.errstate(all="ignore"):
            yield np.array(values, dtype if dtype.kind in "iu" else None).astype(dtype)


SHARED_LOOPS = ["cast", "copy", "switch", "power", "round_half_away_from_zero", "unless_overflow", "clip", "absolute",
                "remainder", "sign", "ultra_fast_sigmoid", "real", "imag", "complex", np.logical_and, np.bitwise_or]


@pytest.mark.parametrize("loop", SHARED_LOOPS, ids=str)
def test_each_set_has_loops_of_the_same_bits(loop):
    compared = 0
    for dtypes in signatures(loop):
        for step in (1, 2):                             # with gaps, too
            operands = [operand[::step] for operand in operands_of(dtypes[:-1])]
            found = {}
            for cpu in ("baseline", "avx2", "native"):
                with change_flags(cpu=cpu):
                    found[cpu] = find_loop(loop, dtypes)(*operands).tobytes()
            assert found["avx2"] == found["baseline"] == found["native"], (dtypes, step)
            compared += 1
    assert compared


def signatures(loop):
    """All that the loop takes."""
    for first, last in itertools.product(TYPES, TYPES):
        for dtypes in {(first, last), (first, first, last), (first, first, first, last), (first, last, last, last)}:
            try:
                find_loop(loop, dtypes)
            except TypeError:
                continue
            yield dtypes


# ---- the source ------------------------------------------------------------------------------------------------------
def test_one_file_asks_the_processor():
    asking = [path.relative_to(ROOT).as_posix() for folder in ("ops", "vm", "gpu")
              for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".h", ".pyx", ".pxd", ".pxi")
              and "__builtin_cpu" in path.read_text()]
    assert asking == ["ops/native/sets.h"]


def test_modules_with_shared_loops_follow_the_option():
    """Otherwise such loops would be those of the baseline."""
    source = (ROOT / "setup.py").read_text().partition("class BuildPackages")[0]
    setup = {"__file__": str(ROOT / "setup.py"), "__name__": "setup"}
    exec(source, setup)
    uses = {path: re.search(r"\*phintys_set\b", path.read_text()) for folder in ("ops", "vm", "gpu")
            for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".pyx", ".pxd", ".pxi")}
    uses[ROOT / "ops" / "native" / "sets.h"] = None
    modules = [path for path in uses if path.suffix == ".pyx"]
    assert [path.name for path in modules if "set_of_process()" not in path.read_text()
            and any(uses.get(file) for file in setup["sources_of"](path, ROOT / "build" / "cimport"))] == []
