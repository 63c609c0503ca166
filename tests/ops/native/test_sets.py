"""Kernels compute the same bits with each instruction set."""
import numpy as np
import pytest
from kernel_cases import CASES, case, kernel_classes

from phintys.graph.config import change_flags
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.native.sets import sets_of_processor, usable_sets
from phintys.vm.abi import run_kernel

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


def test_the_option_decides():
    for position, cpu in enumerate(("baseline", "avx2")):
        with change_flags(cpu=cpu):
            assert usable_sets() == sets_of_processor()[:position]
    assert usable_sets() == sets_of_processor()
