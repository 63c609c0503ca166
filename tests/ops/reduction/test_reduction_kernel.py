"""Reductions and positions of extremes against NumPy: layouts, axes, producers, accuracy, errors."""
import itertools
import math
import pickle

import numpy
import pytest
from reductions import number, reduce, subsets

from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.reduction.arg_kernel import ArgKernel
from phintys.ops.reduction.reduction_kernel import ReductionKernel
from phintys.vm.abi import run_kernel

D = "float64"
SHAPES = [(), (1,), (7,), (0,), (3, 4), (100, 70), (1000, 3), (3, 1000), (4, 5, 6), (1, 7, 1), (30, 1, 40), (0, 4),
          (4, 0), (2, 3, 4, 5), (150000,), (2, 140000), (140000, 2), (40, 3, 2100)]
LAYOUTS = {
    "C": lambda random, shape: random.random(shape) - 0.5,
    "Fortran": lambda random, shape: (random.random(shape[::-1]) - 0.5).T,
    "reversed": lambda random, shape: random.random(shape)[tuple(slice(None, None, -1) for _ in shape)],
    "every second": lambda random, shape: random.random([2 * n for n in shape])[(slice(None, None, 2),) * len(shape)],
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("ufunc", [numpy.add, numpy.maximum], ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_axes_and_layouts(shape, ufunc, workers):
    random = numpy.random.default_rng(1)
    for layout, axes, keepdims in itertools.product(LAYOUTS.values(), subsets(len(shape)), [False, True]):
        x = numpy.asarray(layout(random, shape))
        kept = math.prod(shape[axis] for axis in range(len(shape)) if axis not in axes)
        empty = kept and math.prod(shape[axis] for axis in axes) == 0
        if empty and ufunc is numpy.maximum:
            with pytest.raises(ValueError, match="maximum which has no identity"):
                reduce(x, ufunc, axes, keepdims=keepdims, workers=workers)
            continue
        got = reduce(x, ufunc, axes, keepdims=keepdims, workers=workers)
        expected = ufunc.reduce(x, axis=axes, keepdims=keepdims)
        assert got.shape == expected.shape
        numpy.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_producer(shape):
    """sum(tanh(x) * y + 1) with a broadcast second operand, in float64, with a float32 result."""
    random = numpy.random.default_rng(2)
    for layout, axes in itertools.product(LAYOUTS.values(), subsets(len(shape))):
        x, y = numpy.asarray(layout(random, shape)), numpy.asarray(random.random((1,) * min(1, len(shape)) + shape[1:]))
        patterns = [tuple(n == 1 for n in x.shape), tuple(n == 1 for n in y.shape)]
        steps = [(numpy.tanh, [0], [D, D]), (numpy.multiply, [3, 1], [D] * 3), (numpy.add, [4, 2], [D] * 3)]
        code = ScalarCode([D, D], [numpy.array(1.0)], steps, [5])
        kernel = ReductionKernel(code, patterns, numpy.add, axes, D, "float32")
        got, = run_kernel(kernel, [x, y], [(number("float32"), len(shape) - len(axes))])
        numpy.testing.assert_allclose(got, (numpy.tanh(x) * y + 1).sum(axis=axes).astype("float32"), rtol=1e-6)


@pytest.mark.parametrize("ufunc, dtype, accumulator", [
    (numpy.add, "bool", "int64"), (numpy.add, "int8", "int64"), (numpy.add, "uint8", "uint64"),
    (numpy.add, "float16", "float32"), (numpy.add, "complex64", "complex128"), (numpy.multiply, "int32", "int64"),
    (numpy.multiply, "float32", "float64"),
    (numpy.maximum, "int16", "int16"), (numpy.minimum, "float16", "float16"), (numpy.minimum, "uint64", "uint64"),
    (numpy.logical_and, "float64", "bool"), (numpy.logical_or, "int8", "bool"), (numpy.logical_and, "bool", "bool"),
    (numpy.bitwise_and, "int8", "int8"), (numpy.bitwise_or, "uint32", "uint32"), (numpy.bitwise_xor, "int64", "int64"),
], ids=str)
def test_dtypes(ufunc, dtype, accumulator):
    random = numpy.random.default_rng(4)
    for shape in [(5,), (9, 4), (4, 300), (300, 40), (0, 3)]:
        x = random.integers(0, 3, shape).astype(dtype)
        for axes in subsets(len(shape)):
            if 0 in shape and ufunc.identity is None:
                continue
            expected = ufunc.reduce(x.astype(accumulator), axis=axes, dtype=accumulator)
            numpy.testing.assert_array_equal(reduce(x, ufunc, axes, accumulator), expected)


def test_float16_output_of_a_float32_sum():
    x = numpy.full((3, 1000), 0.1, "float16")
    expected = x.astype("float32").sum(axis=1).astype("float16")
    numpy.testing.assert_array_equal(reduce(x, numpy.add, (1,), "float32", "float16"), expected)


@pytest.mark.parametrize("ufunc", [numpy.maximum, numpy.minimum])
@pytest.mark.parametrize("place", [0, 17, 299])
def test_nan_wins(ufunc, place):
    x = numpy.arange(600.0).reshape(2, 300)
    x[1, place] = numpy.nan
    for axes in [(0,), (1,), (0, 1)]:
        numpy.testing.assert_array_equal(reduce(x, ufunc, axes), ufunc.reduce(x, axis=axes))


@pytest.mark.parametrize("producer", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_are_pairwise(producer, dtype):
    """The error of a long sum stays at a few units in the last place, where adding one by one loses many."""
    x = numpy.random.default_rng(5).random(1000003).astype(dtype)
    steps = [(numpy.sqrt, [0], [dtype, dtype])] if producer else []
    kernel = ReductionKernel(ScalarCode([dtype], [], steps, [len(steps)]), [(False,)], numpy.add, (0,), dtype, dtype)
    exact = math.fsum((numpy.sqrt(x) if producer else x).tolist())
    for workers in (1, 2):
        got, = run_kernel(kernel, [x], [(number(dtype), 0)], workers)
        assert abs(got - exact) <= 4 * numpy.finfo(dtype).eps * exact


def test_the_result_does_not_depend_on_workers():
    x = numpy.random.default_rng(6).random((700, 1000))
    for axes in [(0, 1), (0,), (1,)]:
        one = reduce(x, numpy.add, axes)
        for _ in range(5):
            numpy.testing.assert_array_equal(reduce(x, numpy.add, axes, workers=2), one)


def test_value_may_be_a_constant():
    kernel = ReductionKernel(ScalarCode([D], [numpy.array(2.0)], [], [1]), [(False, False)], numpy.add, (0,), D, D)
    numpy.testing.assert_array_equal(run_kernel(kernel, [numpy.ones((3, 4))], [(number(D), 1)])[0], numpy.full(4, 6.0))


@pytest.mark.parametrize("arguments, error, said", [
    ((numpy.add, (2,), D, D), ValueError, r"axes \(2,\) are not distinct axes of 2 dimensions"),
    ((numpy.add, (0, 0), D, D), ValueError, "distinct"),
    ((numpy.add, (-1,), D, D), ValueError, "distinct"),
    ((numpy.bitwise_and, (0,), D, D), TypeError, "bitwise_and has no loop"),
    ((numpy.add, (0,), "complex128", D), TypeError, "complex to real"),
    (("switch", (0,), D, D), TypeError, "switch has no loop"),
    (("power", (0,), "int64", "int64"), TypeError, "cannot reduce"),
])
def test_bad_reductions(arguments, error, said):
    with pytest.raises(error, match=said):
        ReductionKernel(ScalarCode([D], outputs=[0]), [(False, False)], *arguments)


def test_pickle():
    kernel = ReductionKernel(ScalarCode([D], [], [(numpy.sqrt, [0], [D, D])], [1]), [(False,)], numpy.add, (0,), D, D)
    x = numpy.arange(3.0)
    assert run_kernel(pickle.loads(pickle.dumps(kernel)), [x], [(number(D), 0)])[0] == numpy.sqrt(x).sum()


@pytest.mark.parametrize("dtype", [D, "float32", "float16", "int8", "uint64", "bool"])
@pytest.mark.parametrize("which", ["argmax", "argmin"])
def test_positions_of_extrema(which, dtype):
    random = numpy.random.default_rng(7)
    for shape, layout in itertools.product(SHAPES, LAYOUTS.values()):
        if 0 in shape:
            continue
        x = numpy.asarray(layout(random, shape) * 5)
        x = x.astype("int64" if dtype == "uint64" else dtype).astype(dtype)     # negative ones wrap on any processor
        if x.dtype.kind == "f" and x.size > 5 and random.random() < 0.5:
            x.flat[[x.size // 2, x.size // 2 + 1]] = numpy.nan
        for axes in subsets(len(shape))[1:]:
            got, = run_kernel(ArgKernel(dtype, x.ndim, axes, which), [x], [(number("int64"), x.ndim - len(axes))])
            kept = [axis for axis in range(x.ndim) if axis not in axes]
            flat = x.transpose(kept + list(axes)).reshape([x.shape[axis] for axis in kept] + [-1])
            numpy.testing.assert_array_equal(got, getattr(numpy, which)(flat, axis=-1))


def test_position_among_no_elements():
    with pytest.raises(ValueError, match="attempt to get argmax of an empty sequence"):
        run_kernel(ArgKernel(D, 1, (0,), "argmax"), [numpy.ones(0)], [(number("int64"), 0)])
    got, = run_kernel(ArgKernel(D, 2, (0,), "argmax"), [numpy.ones((3, 0))], [(number("int64"), 1)])
    assert got.shape == (0,)


def test_positions_of_complex_numbers_are_refused():
    with pytest.raises(TypeError, match="real dtype"):
        ArgKernel("complex64", 1, (0,), "argmax")


@pytest.mark.parametrize("ufunc", [numpy.add, numpy.maximum], ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("lengths", [(300, 16, 8), (300, 100, 8), (70, 3, 27), (70, 3, 28), (5, 9, 10), (5, 100, 9)],
                         ids=str)
def test_short_rows_that_are_broadcast(lengths, ufunc):
    """Distances between all pairs of rows: lines are along any dimension that is long enough."""
    n, k, d = lengths
    random = numpy.random.default_rng(4)
    x, c = random.random((n, 1, d)), random.random((1, k, d))
    steps = [(numpy.subtract, [0, 1], [D] * 3), (numpy.multiply, [2, 2], [D] * 3)]
    for axes in subsets(3):
        patterns = [(False, True, False), (True, False, False)]
        kernel = ReductionKernel(ScalarCode([D, D], [], steps, [3]), patterns, ufunc, axes, D, D)
        for workers in (1, 2):
            (got,) = run_kernel(kernel, [x, c], [(number(D), 3 - len(axes))], workers)
            numpy.testing.assert_allclose(got, ufunc.reduce((x - c) ** 2, axis=axes), rtol=1e-12)
