"""Folds: reductions by built-in loops, against NumPy; which reductions have a fold; the order of results."""
import itertools
import math
import pickle

import numpy
import pytest
from reductions import number, reduce, subsets

import phintys
from phintys import tensor as T
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.reduction.arg_kernel import ArgKernel
from phintys.ops.reduction.folds import choose_fold
from phintys.ops.reduction.reduction_kernel import MeanKernel, ReductionKernel
from phintys.vm.abi import run_kernel

INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
LENGTHS = (1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 130, 1023, 1024, 1025, 2049, 3100)
STRIDES = (1, 2, -1)


def random_values(shape, dtype, seed=1):
    random = numpy.random.default_rng(seed)
    if dtype in FLOATS:
        return random.standard_normal(shape).astype(dtype)
    if dtype == "bool":
        return random.random(shape) < 0.5
    limits = numpy.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def producer(test):
    """The step before a fold: (loop, dtype of the result, or None for that of the input)."""
    return {"squares": (numpy.square, None), "magnitudes": (numpy.absolute, None), "any": (numpy.not_equal, "bool"),
            "all": (numpy.not_equal, "bool")}[test]


def fold_after(x, name, axes, output):
    """A reduction of squares, magnitudes, or comparisons with zero."""
    dtype, (step, result) = x.dtype.name, producer(name)
    constants = [numpy.zeros((), dtype)] if result else []
    operands = [0, 1] if result else [0]
    signature = (dtype,) * len(operands) + (result or dtype,)
    loop = {"any": numpy.bitwise_or, "all": numpy.bitwise_and}.get(name, numpy.add)
    accumulator = result or "float64"
    kernel = ReductionKernel(ScalarCode([dtype], constants, [(step, operands, signature)], [1 + len(constants)]),
                             [(False,) * x.ndim], loop, axes, accumulator, output)
    return run_kernel(kernel, [x], [(number(output), x.ndim - len(axes))])[0]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_sums_of_every_length_wrap(dtype):
    wide = "uint64" if dtype.startswith("u") else "int64"
    for length, stride in itertools.product(LENGTHS, STRIDES):
        x = random_values((3, 2 * length), dtype)[:, ::stride][:, :length]
        for axes in [(1,), (0,), (0, 1)]:
            numpy.testing.assert_array_equal(reduce(x, numpy.add, axes, wide), x.sum(axis=axes, dtype=wide))
            numpy.testing.assert_array_equal(reduce(x.T, numpy.add, axes, wide), x.T.sum(axis=axes, dtype=wide))


@pytest.mark.parametrize("dtype, accumulator", [("float16", "float32"), ("float32", "float64"), ("float64", "float64")])
def test_float_sums_of_every_length(dtype, accumulator):
    epsilon = numpy.finfo(accumulator).eps
    for length, stride in itertools.product(LENGTHS, STRIDES):
        x = random_values((3, 2 * length), dtype)[:, ::stride][:, :length]
        for axes in [(1,), (0,), (0, 1)]:
            exact = x.astype("longdouble").sum(axis=axes)
            bound = 8 * epsilon * numpy.abs(x).astype("longdouble").sum(axis=axes)
            assert (abs(reduce(x, numpy.add, axes, accumulator) - exact) <= bound).all()
            assert (abs(reduce(x.T, numpy.add, tuple(1 - axis for axis in axes), accumulator) - exact) <= bound).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_squares_and_magnitudes(dtype):
    for length, stride in itertools.product(LENGTHS, STRIDES):
        x = random_values((3, 2 * length), dtype)[:, ::stride][:, :length]
        for axes in [(1,), (0,), (0, 1)]:
            near_one = (1 + x / 1000).astype(dtype)
            numpy.testing.assert_allclose(reduce(near_one, numpy.multiply, axes, "float64"),
                                          near_one.prod(axis=axes, dtype="float64"), rtol=1e-12)
            numpy.testing.assert_allclose(fold_after(x, "squares", axes, dtype),
                                          (x.astype("float64") ** 2).sum(axis=axes), rtol=4 * numpy.finfo(dtype).eps)
            numpy.testing.assert_allclose(fold_after(x, "magnitudes", axes, dtype),
                                          abs(x.astype("float64")).sum(axis=axes), rtol=4 * numpy.finfo(dtype).eps)


@pytest.mark.parametrize("loop", [numpy.maximum, numpy.minimum], ids=lambda loop: loop.__name__)
def test_extrema_of_every_length(loop):
    """With and without a NaN, at each place of a short line and in the middle of a long one."""
    for length, stride in itertools.product(LENGTHS, STRIDES):
        x = random_values((3, 2 * length), "float64")[:, ::stride][:, :length].copy()
        for place in {None, 0, length // 2, length - 1}:
            if place is not None:
                x[1, place] = numpy.nan
            for axes in [(1,), (0,), (0, 1)]:
                wanted = loop.reduce(x, axis=axes)
                numpy.testing.assert_array_equal(reduce(x, loop, axes), wanted)
                numpy.testing.assert_array_equal(reduce(x.T, loop, tuple(1 - axis for axis in axes)), wanted)


def test_products_of_float16_are_taken_in_float32():
    for length, axes in itertools.product(LENGTHS, [(1,), (0,), (0, 1)]):
        x = (1 + random_values((3, length), "float16") / 512).astype("float16")
        numpy.testing.assert_allclose(reduce(x, numpy.multiply, axes, "float32"), x.prod(axis=axes, dtype="float64"),
                                      rtol=1e-4)


@pytest.mark.parametrize("dtype", INTEGERS[1:] + FLOATS)
@pytest.mark.parametrize("name", ["any", "all"])
def test_tests_for_zero(name, dtype):
    """One element decides, wherever it is; -0.0 is zero, and NaN is not."""
    for length in LENGTHS:
        for place in {0, length // 2, length - 1}:
            x = numpy.full((2, length), 0 if name == "any" else 1, dtype)
            x[1, place] = 1 - x[1, place]
            for layout in (x, x[:, ::-1], numpy.repeat(x, 2, axis=1)[:, ::2]):
                numpy.testing.assert_array_equal(fold_after(layout, name, (1,), "bool"), getattr(x, name)(axis=1))
                numpy.testing.assert_array_equal(fold_after(layout.T, name, (1,), "bool"),
                                                 getattr(layout, name)(axis=0))
    if dtype in FLOATS:
        assert not fold_after(numpy.full(9, -0.0, dtype), "any", (0,), "bool")
        assert fold_after(numpy.full(9, numpy.nan, dtype), "all", (0,), "bool")


@pytest.mark.parametrize("special", [numpy.nan, numpy.inf, -numpy.inf])
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinities_are_kept(dtype, special):
    x = numpy.ones((40, 50), dtype)
    x[17, 33] = special
    accumulator = "float32" if dtype == "float16" else "float64"
    for axes in subsets(2)[1:]:
        numpy.testing.assert_array_equal(reduce(x, numpy.add, axes, accumulator), x.sum(axis=axes, dtype=accumulator))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int16"])
@pytest.mark.parametrize("ufunc", [numpy.add, numpy.multiply], ids=lambda ufunc: ufunc.__name__)
def test_results_are_in_c_order_for_every_layout_of_the_input(ufunc, dtype):
    """Accumulators follow the input; with and without a cast after them, and by workers."""
    accumulator = {"float32": "float64", "complex64": "complex128", "int16": "int64"}[dtype]
    x = (numpy.random.default_rng(3).integers(-3, 4, (4, 30, 5, 22))).astype(dtype)
    for order, axes in itertools.product([(3, 1, 0, 2), (2, 3, 1, 0), (1, 0, 3, 2)], subsets(4)[1:]):
        y = x.transpose(order)
        expected = ufunc.reduce(y.astype(accumulator), axis=axes)
        for output, keepdims, workers in [(accumulator, False, 1), (dtype, True, 1), (dtype, False, 2)]:
            got = reduce(y, ufunc, axes, accumulator, output, keepdims, workers)
            assert got.flags.c_contiguous
            numpy.testing.assert_allclose(got.ravel(), expected.ravel().astype(output), rtol=1e-5)


def test_sums_of_many_short_lines_are_pairwise():
    x = numpy.random.default_rng(5).random((100000, 20))[:, :10]
    exact = math.fsum(x.ravel().tolist())
    for workers in (1, 2):
        assert abs(reduce(x, numpy.add, (0, 1), workers=workers) - exact) <= 4 * numpy.finfo("float64").eps * exact


@pytest.mark.parametrize("loop, dtype, steps, accumulator, output, expected", [
    (numpy.add, "float32", [], "float64", "float32", "sum"),
    (numpy.add, "float32", [], "float32", "float32", None),
    (numpy.add, "complex64", [], "complex128", "complex64", None),
    (numpy.multiply, "int32", [], "int64", "int64", None),
    (numpy.multiply, "float64", [], "float64", "float64", "product"),
    (numpy.maximum, "float64", [], "float64", "float64", "maximum"),
    (numpy.minimum, "float32", [], "float32", "float32", None),
    (numpy.add, "float64", [(numpy.square, [0], ("float64",) * 2)], "float64", "float64", "squares"),
    (numpy.add, "float32", [(numpy.square, [0], ("float32",) * 2)], "float64", "float64", "sum"),
    (numpy.add, "int64", [(numpy.absolute, [0], ("int64",) * 2)], "int64", "int64", "sum"),
    (numpy.bitwise_or, "float16", [(numpy.not_equal, [0, 1], ("float16",) * 2 + ("bool",))], "bool", "bool", "any"),
], ids=str)
def test_which_reductions_have_a_fold(loop, dtype, steps, accumulator, output, expected):
    code = ScalarCode([dtype], [numpy.zeros((), dtype)], steps, [2 if steps else 0])
    kind, left = choose_fold(loop, code, accumulator, output)
    assert kind == expected
    assert (left.steps == () and left.outputs == (0,)) or expected in (None, "sum")


def test_a_comparison_with_another_number_is_not_a_test_for_zero():
    for constant in (1.0, numpy.nan):
        kernel = ReductionKernel(ScalarCode(["float64"], [numpy.array(constant)],
                                            [(numpy.not_equal, [0, 1], ("float64", "float64", "bool"))], [2]),
                                 [(False,)], numpy.bitwise_or, (0,), "bool", "bool")
        assert run_kernel(kernel, [numpy.zeros(3)], [(number("bool"), 0)])[0]


@pytest.mark.parametrize("shape, axes", [((0, 0), (0,)), ((2, 0, 0), (2,)), ((0, 2, 0), (0,)), ((0, 0), (0, 1))])
def test_extrema_of_no_elements_fail_even_for_an_empty_result(shape, axes):
    x = numpy.zeros(shape)
    with pytest.raises(ValueError, match="no identity"):
        reduce(x, numpy.maximum, axes)
    with pytest.raises(ValueError, match="empty sequence"):
        run_kernel(ArgKernel("float64", x.ndim, axes, "argmin"), [x], [(number("int64"), x.ndim - len(axes))])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_no_position_is_written_for_an_empty_result(order):
    """An empty kept dimension beside one that is not: nothing may be written after the end of the result."""
    x = numpy.zeros([(3, 16, 0)[axis] for axis in order], "int16")
    for axis in range(3):
        if x.shape[axis]:
            got, = run_kernel(ArgKernel("int16", 3, (axis,), "argmin"), [x], [(number("int64"), 2)])
            assert got.shape == numpy.argmin(x, axis=axis).shape


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.parametrize("which", ["argmax", "argmin"])
def test_positions_in_short_lines(which, dtype):
    for length in (1, 2, 5, 10, 23, 24, 25, 40):
        x = random_values((70, length), dtype, seed=length)
        if dtype in FLOATS:
            x[::5, length // 2] = numpy.nan
            x[1::5] = -0.0
            x[2::5, ::2] = 0.0
        for lines in (x, x[::-1], x[::3], numpy.asfortranarray(x)):
            got, = run_kernel(ArgKernel(dtype, 2, (1,), which), [lines], [(number("int64"), 1)])
            numpy.testing.assert_array_equal(got, getattr(lines, which)(axis=1))


# ---- Mean ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
@pytest.mark.parametrize("dtype", ["int8", "bool", "float16", "float32", "float64", "complex64"])
def test_mean_as_one_op(dtype, mode):
    x = T.TensorType(dtype, (False, False, False))("x")
    value = numpy.random.default_rng(4).integers(-2, 3, (3, 4, 5)).astype(dtype)
    wide = "complex128" if dtype == "complex64" else "float64"
    for axis, keepdims in itertools.product([None, 0, -1, (0, 2)], [False, True]):
        mean = T.mean(x, axis=axis, op=True, keepdims=keepdims)
        assert mean.dtype == wide
        got = phintys.function([x], mean, mode=mode)(value)
        numpy.testing.assert_allclose(got, value.mean(axis=axis, dtype=wide, keepdims=keepdims), rtol=1e-12)


def test_mean_has_a_gradient_a_direction_and_a_shape():
    x, v = T.dmatrix("x"), T.dmatrix("v")
    value, point = numpy.random.default_rng(5).random((2, 3, 4))
    mean = T.Mean(1)(x)
    cost = (mean * T.arange(3)).sum()
    gradient, along, shape = phintys.function([x, v], [T.grad(cost, x), T.Rop(mean, x, v), mean.shape])(value, point)
    numpy.testing.assert_allclose(gradient, numpy.repeat(numpy.arange(3.0)[:, None] / 4, 4, axis=1))
    numpy.testing.assert_allclose(along, point.mean(axis=1))
    assert shape.tolist() == [3]
    assert T.grad(T.Mean()(T.fmatrix()), x, disconnected_inputs="ignore").dtype == "float64"
    y = T.fmatrix("y")
    assert T.grad(T.Mean()(y), y).dtype == "float32"
    assert phintys.function([x], T.Mean(0)(x).shape).maker.fgraph.toposort()[-1].op != T.Mean((0,))


def test_mean_as_one_op_computes_in_float64_only():
    x = T.fmatrix("x")
    for given in ({"dtype": "float32"}, {"acc_dtype": "float32"}):
        with pytest.raises(NotImplementedError, match="always computes in float64"):
            T.mean(x, op=True, **given)
    with pytest.raises(ValueError, match="axis 2"):
        T.Mean(2)(x)
    assert numpy.isnan(phintys.function([x], T.Mean()(x))(numpy.zeros((0, 3), "float32")))


def test_mean_kernels_pickle():
    kernel = MeanKernel(ScalarCode(["int64"], outputs=[0]), [(False,)], numpy.add, (0,), "float64", "float64")
    assert run_kernel(pickle.loads(pickle.dumps(kernel)), [numpy.arange(4)], [(number("float64"), 0)])[0] == 1.5


# ---- rewrites --------------------------------------------------------------------------------------------------------
def test_the_square_of_a_magnitude_is_the_square():
    for dtype, has_magnitudes in (("float64", False), ("int32", False), ("complex128", True)):
        x = T.TensorType(dtype, (False,))("x")
        f = phintys.function([x], abs(x) ** 2)
        value = numpy.array([-3, 0, 2], dtype) * (1 + 2j if has_magnitudes else 1)
        assert ("abs" in str(f.maker.fgraph.outputs[0].owner.op)) == has_magnitudes
        numpy.testing.assert_allclose(f(value.astype(dtype)), abs(value) ** 2)
