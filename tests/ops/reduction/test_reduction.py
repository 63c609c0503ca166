"""Reductions as users call them: values, dtypes, axes, gradients, errors; and reductions fused with their producer."""
import numpy
import pytest
from family_cases import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    MODES,
    check_equal,
    check_gradient,
    check_values,
    values,
    variable_for,
    zero_strides,
)

import phintys
import phintys.tensor as T
from phintys.ops.cumulative.product import Prod, ProdWithoutZeros
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.composite import Composite
from phintys.ops.reduction.reduction import CAReduce, FusedReduction, Max, MaxAndArgmax, Sum
from phintys.ops.types.tensor_type import TensorType

# name: NumPy's function; Theano's results have its dtypes except where RESULT_DTYPES says so
FUNCTIONS = {"sum": numpy.sum, "prod": numpy.prod, "mean": numpy.mean, "var": numpy.var, "std": numpy.std,
             "max": numpy.max, "min": numpy.min, "any": numpy.any, "all": numpy.all, "argmax": numpy.argmax,
             "argmin": numpy.argmin}
SMOOTH = ("sum", "prod", "mean", "var", "std", "max", "min")
AXES = (None, 0, 1, 2, -1, (0, 2), [1, 2], (0, 1, 2), -3)
SHAPE = (3, 4, 5)


def over(name, axis, keepdims=False):
    """(build, expected) of a reduction."""
    symbolic, numeric = getattr(T, name), FUNCTIONS[name]
    axes = tuple(axis) if isinstance(axis, list) else axis

    def build(x):
        return symbolic(x, axis=axis, keepdims=keepdims)

    def expected(array):
        if not name.startswith("arg") or not isinstance(axes, tuple):
            return numpy.asarray(numeric(array, axis=axes, keepdims=keepdims))
        kept = [number for number in range(array.ndim) if number not in axes]
        flat = array.transpose(kept + list(axes)).reshape([array.shape[number] for number in kept] + [-1])
        result = numeric(flat, axis=-1)
        return numpy.expand_dims(result, axes) if keepdims else numpy.asarray(result)
    return build, expected


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_over_every_axis(name):
    for axis in AXES:
        for keepdims in (False, True):
            check_values(*over(name, axis, keepdims), [values(SHAPE)], modes=MODES[:1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_layouts(name):
    for axis in (None, 0, (0, 2)):
        for layout in LAYOUTS.values():
            check_values(*over(name, axis), [layout(values(SHAPE))], modes=MODES[1:])
        check_values(*over(name, axis), [zero_strides(SHAPE)], modes=MODES[1:])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scalars(name):
    check_values(*over(name, None), [values(())])


def result_dtype(name, dtype):
    if name.startswith("arg"):
        return "int64"
    if name in ("any", "all"):
        return "bool"
    if name in ("sum", "prod"):
        return "int64" if dtype == "bool" or dtype.startswith("int") else "uint64" if dtype.startswith("u") else dtype
    if name in ("mean", "var", "std"):
        return dtype if dtype in FLOATS + COMPLEX else "float64"
    return dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_dtype(name, dtype):
    if dtype in COMPLEX and name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(TypeError, match="complex"):
            over(name, 0)[0](variable_for(values(2, dtype)))
        return
    if name in ("var", "std") and dtype in COMPLEX:
        return                                         # Theano's formula squares without taking absolute values
    array = values((6, 7), dtype)
    build, expected = over(name, 1)
    wanted = expected(array.astype("float64")) if dtype == "float16" else expected(array)
    check_values(build, lambda a: wanted, [array], result_dtype(name, dtype), modes=MODES[:1])


DTYPE_RULES = [("float32", None, None, "float32", "float64"), ("float16", None, None, "float16", "float32"),
               ("float32", None, "float32", "float32", "float32"), ("int8", None, None, "int64", "int64"),
               ("uint8", "uint8", None, "uint8", "uint64"), ("complex64", None, None, "complex64", "complex128"),
               ("float32", "float64", None, "float64", "float64"),
               ("int32", "float32", "float64", "float32", "float64"),
               ("bool", None, None, "int64", "int64"), ("float64", "float16", None, "float16", "float64")]


@pytest.mark.parametrize("given, dtype, acc_dtype, result, accumulator", DTYPE_RULES)
def test_dtypes_of_sums_and_products(given, dtype, acc_dtype, result, accumulator):
    x = TensorType(given, (False,))()
    for function in (T.sum, T.prod):
        output = function(x, dtype=dtype, acc_dtype=acc_dtype)
        assert output.type.dtype == result
        assert output.owner.op.acc_dtype == accumulator
        array = values(9, given)
        numeric = numpy.sum if function is T.sum else numpy.prod
        check_equal(phintys.function([x], output)(array), numeric(array, dtype=accumulator), result)


def test_accumulators_may_not_lose_precision():
    with pytest.raises(TypeError, match="precision would be lost"):
        T.sum(TensorType("float64", (False,))(), acc_dtype="float32")


def extremes(dtype):
    """Arrays of the largest and smallest values of an integer dtype, and of random values."""
    lowest, highest = (0, 1) if dtype == "bool" else (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max)
    random = numpy.random.default_rng(0)
    drawn = random.integers(lowest, highest, 300, dtype=dtype, endpoint=True)
    return [numpy.full(300, highest, dtype), numpy.full(300, lowest, dtype), drawn, drawn[::-7]]


@pytest.mark.parametrize("dtype", ("bool",) + INTEGERS)
def test_integers_do_not_overflow_in_their_accumulators(dtype):
    """Means, and sums that fit in 64 bits, are compared with exact integer arithmetic, other sums with NumPy."""
    x = TensorType(dtype, (False,))()
    functions = {name: phintys.function([x], getattr(T, name)(x))
                 for name in ("sum", "mean", "var", "std", "max", "min")}
    for array in extremes(dtype):
        whole = [int(value) for value in array]
        mean = sum(whole) / len(whole)
        assert functions["sum"](array) == array.sum(dtype=functions["sum"](array).dtype)
        if "64" not in dtype:
            assert functions["sum"](array) == sum(whole)
        numpy.testing.assert_allclose(functions["mean"](array), mean, rtol=1e-14)
        variance = sum([(value - mean) ** 2 for value in whole]) / len(whole)
        numpy.testing.assert_allclose(functions["var"](array), variance, rtol=1e-12, atol=1e-30)
        numpy.testing.assert_allclose(functions["std"](array), variance ** 0.5, rtol=1e-12, atol=1e-30)
        assert (functions["max"](array), functions["min"](array)) == (max(whole), min(whole))


def test_the_accumulator_of_a_mean_has_the_requested_dtype():
    x = TensorType("int64", (False,))()
    large = numpy.full(4, 2 ** 62)
    for options, wanted in (({}, 2.0 ** 62), ({"dtype": "int64"}, 0.0), ({"acc_dtype": "int64"}, 0.0),
                            ({"acc_dtype": "float64"}, 2.0 ** 62), ({"op": True}, 2.0 ** 62)):
        assert phintys.function([x], T.mean(x, **options))(large) == wanted


def test_small_floats_are_accumulated_precisely():
    array = numpy.full(70000, 0.1, "float16")
    check_values(lambda x: x.mean(), lambda a: a.mean(dtype="float64").astype("float16"), [array])
    ones = numpy.full(2 ** 24 + 10, 1, "float32")
    check_values(lambda x: x.sum(), lambda a: numpy.float32(ones.size), [ones], modes=MODES[:1])


def test_large_arrays():
    for shape in ((1000, 300), (7, 50001)):
        for axis in (None, 0, 1):
            check_values(*over("sum", axis), [values(shape)], modes=MODES[:1])
            check_values(*over("argmax", axis), [values(shape)], modes=MODES[:1])


def test_empty_arrays():
    empty = values((0, 3))
    for name in ("sum", "prod", "any", "all"):
        for axis in (None, 0, 1):
            check_values(*over(name, axis), [empty])
    for name in ("max", "min", "argmax"):
        check_values(*over(name, 1), [empty])
        for axis in (None, 0):
            x = variable_for(empty)
            with pytest.raises(ValueError, match="zero-size|empty"):
                phintys.function([x], over(name, axis)[0](x))(empty)


def test_no_axes_change_nothing_but_the_dtype():
    check_values(lambda x: T.sum(x, axis=()), lambda a: a, [values((2, 3))])
    check_values(lambda x: T.sum(x, axis=[]), lambda a: a.astype("int64"), [values((2, 3), "int8")])


def test_nan_is_the_extremum():
    array = values((3, 4))
    array[1, 2] = numpy.nan
    for name in ("max", "min", "argmax", "argmin"):
        check_values(*over(name, 1), [array])


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name):
    for axis in (None, 0, -1, (0, 2)):
        for keepdims in (False, True):
            check_gradient(over(name, axis, keepdims)[0], [values((2, 3, 2))])
    check_gradient(over(name, None)[0] if name != "std" else over("var", None)[0], [values(())])


def test_symbolic_ddof():
    x, ddof = T.dmatrix(), T.iscalar()
    f = phintys.function([x, ddof], [T.var(x, 0, ddof=ddof), x.std(1, ddof=ddof)])
    array = numpy.arange(12.0).reshape(4, 3) ** 1.5
    for value in (0, 2):
        numpy.testing.assert_allclose(f(array, value)[0], array.var(0, ddof=value))
        numpy.testing.assert_allclose(f(array, value)[1], array.std(1, ddof=value))


def test_gradients_where_nothing_is_spread():
    """The square root's derivative at 0 is infinite: NaN, as in Theano, PyTensor and JAX. Variances have gradients."""
    x = T.dmatrix()
    by_std, by_var = phintys.function([x], [T.grad(T.std(x, 0).sum(), x), T.grad(T.var(x, 0).sum(), x)])(
        [[1.0, 2.0], [1.0, 3.0]])
    numpy.testing.assert_array_equal(by_std, [[numpy.nan, -0.5], [numpy.nan, 0.5]])
    numpy.testing.assert_array_equal(by_var, [[0, -0.5], [0, 0.5]])


def test_gradients_of_var_with_ddof_and_correction():
    array = values((3, 4))
    check_values(lambda x: T.var(x, 1, ddof=1), lambda a: a.var(1, ddof=1), [array])
    check_values(lambda x: T.std(x, ddof=2), lambda a: a.std(ddof=2), [array])
    check_values(lambda x: T.var(x, corrected=True), numpy.var, [array])
    check_values(lambda x: T.var(x, 0, ddof=1, corrected=True), lambda a: a.var(0, ddof=1), [array])
    check_gradient(lambda x: T.var(x, 1, ddof=1), [array])


ZEROS = {"none": [[1.5, 2, 3]], "one": [[1.5, 0, 3]], "two": [[0, 2, 0]], "all": [[0, 0, 0]], "alone": [[0]],
         "rows": [[1, 2, 3], [0, 5, 6], [0, 0, 9]]}


@pytest.mark.parametrize("name", ZEROS)
def test_gradient_of_products_with_zeros(name):
    array = numpy.array(ZEROS[name], "float64")
    check_gradient(lambda x: T.prod(x, axis=1), [array])
    x = variable_for(array)
    gradient = phintys.function([x], phintys.grad(T.prod(x, axis=1).sum(), x))(array)
    wanted = [[numpy.prod(numpy.delete(row, place)) for place in range(row.size)] for row in array]
    check_equal(gradient, wanted)


@pytest.mark.parametrize("name", ZEROS)
def test_higher_gradients_of_products_with_zeros(name):
    array = numpy.array(ZEROS[name]) / 3
    weights = numpy.arange(1.0, 1 + array.size).reshape(array.shape)
    for axis in (None, 0, 1):
        def gradient(x):
            return phintys.grad((T.prod(x, axis=axis) ** 2).sum(), x)
        check_gradient(gradient, [array])
        check_gradient(lambda x: phintys.grad((gradient(x) * weights).sum(), x), [array])


def test_gradient_of_products_without_zeros():
    check_gradient(lambda x: T.prod(x, no_zeros_in_input=True), [values((2, 2)) + 3])


def test_every_maximum_receives_the_gradient():
    x = variable_for(values(3))
    for function, wanted in ((T.max, [0.0, 1, 1]), (T.min, [1.0, 0, 0])):
        gradient = phintys.grad(function(x), x)
        check_equal(phintys.function([x], gradient)(numpy.array([1.0, 2, 2])), wanted)
    check_equal(phintys.function([x], phintys.grad(T.max_and_argmax(x)[0], x))(numpy.array([1.0, 3, 2])),
                [0.0, 1, 0])


def test_positions_have_a_zero_gradient():
    x = variable_for(values(3))
    gradient = phintys.grad((T.argmax(x) * x).sum(), x)
    check_equal(phintys.function([x], gradient)(numpy.array([1.0, 2, 5])), [2.0, 2, 2])


def test_directional_derivatives():
    x, direction = variable_for(values((2, 3))), variable_for(values((2, 3)))
    array, step = values((2, 3)), values((2, 3), seed=1)
    for name in ("sum", "prod", "mean", "max", "min"):
        build, expected = over(name, 1)
        derivative = phintys.gradient.Rop(build(x), x, direction)
        got = phintys.function([x, direction], derivative, on_unused_input="ignore")(array, step)
        numeric = (expected(array + 1e-6 * step) - expected(array - 1e-6 * step)) / 2e-6
        numpy.testing.assert_allclose(got, numeric, rtol=1e-6, atol=1e-8)


def test_other_functions():
    array = values((3, 4))
    check_values(lambda x: T.ptp(x, 1), lambda a: numpy.ptp(a, 1), [array])
    check_values(lambda x: T.max_and_argmax(x, 0)[1], lambda a: a.argmax(0), [array])
    check_values(lambda x: MaxAndArgmax([1])(x)[0], lambda a: a.max(1), [array])
    check_values(lambda x: MaxAndArgmax([0, 1])(x)[1], lambda a: numpy.array(a.argmax()), [array])
    check_gradient(lambda x: MaxAndArgmax([1])(x)[0], [array])
    with_zeros = numpy.array([[1.0, 0, 3], [0, 0, 0]])
    check_values(lambda x: ProdWithoutZeros(1)(x), lambda a: numpy.array([3.0, 0]), [with_zeros])
    check_values(lambda x: x.any(axis=0), lambda a: a.any(axis=0), [with_zeros])


@pytest.mark.parametrize("name, ufunc", [("and_", numpy.bitwise_and), ("or_", numpy.bitwise_or),
                                         ("xor", numpy.bitwise_xor), ("add", numpy.add), ("maximum", numpy.maximum)])
def test_careduce_of_scalar_ops(name, ufunc):
    op = CAReduce(getattr(scalar, name), 1)
    for dtype in INTEGERS:
        check_values(op, lambda a: ufunc.reduce(a, 1, dtype=a.dtype), [values((3, 5), dtype)], modes=MODES[:1])
    with pytest.raises(NotImplementedError):
        CAReduce(scalar.sub)


def test_maxima_and_their_positions():
    array = values((3, 4, 5))
    array[1, 2, 3] = array[0, 0, 0] = numpy.nan
    for axis in (None, 0, 1, -1, (0, 2), (1, 2), [0, 1, 2]):
        for keepdims in (False, True):
            largest = over("max", axis, keepdims)[1](array)
            position = over("argmax", axis, keepdims)[1](array)
            for layout in LAYOUTS.values():
                x = variable_for(array)
                outputs = T.max_and_argmax(x, axis, keepdims)
                for mode in MODES:
                    first, second, shape = phintys.function([x], [*outputs, outputs[1].shape], mode=mode)(layout(array))
                    check_equal(first, largest)
                    check_equal(second, position)
                    assert tuple(shape) == second.shape
    for dtype in ("bool",) + INTEGERS + FLOATS:
        array = values((3, 70), dtype)
        for axis in (0, 1):
            check_values(lambda x: MaxAndArgmax([axis])(x)[0], lambda a: a.max(axis), [array], modes=MODES[1:])
            check_values(lambda x: MaxAndArgmax([axis])(x)[1], lambda a: a.argmax(axis), [array], modes=MODES[1:])


def test_a_search_computes_only_the_outputs_that_are_used():
    x = variable_for(values((3, 4)))
    for position, op in ((0, Max), (1, T.Argmax)):
        function = phintys.function([x], T.max_and_argmax(x, 1)[position])
        assert [type(node.op) for node in function.maker.fgraph.apply_nodes] == [op]


def test_logsumexp():
    array = values((3, 4))
    for axis in (None, 0, -1, (0, 1)):
        for keepdims in (False, True):
            check_values(lambda x: T.logsumexp(x, axis, keepdims),
                         lambda a: numpy.asarray(numpy.log(numpy.exp(a).sum(axis, keepdims=keepdims))), [array])
        check_gradient(lambda x: T.logsumexp(x, axis), [array])
    check_values(T.logsumexp, lambda a: numpy.array(1000 + numpy.log(2)), [numpy.array([1000.0, 1000])])
    check_values(T.logsumexp, lambda a: a[0], [numpy.array([-numpy.inf, -numpy.inf])], modes=MODES[:1])
    check_values(T.logsumexp, lambda a: a[0], [numpy.array([numpy.inf, 0])], modes=MODES[:1])


def test_sums_of_short_rows_are_precise():
    array = numpy.full((5000, 7, 3), 0.1, "float32")
    exact = array.astype("float64").sum()
    x = variable_for(array)
    for axes in ((0, 2), (0, 1, 2)):
        total = phintys.function([x], T.sum(x, axis=axes, acc_dtype="float32").sum())(array[:, :, ::-1])
        assert abs(total - exact) < 1e-5 * exact


def test_axes_as_constants_and_arrays():
    x = variable_for(values(SHAPE))
    for axis in (numpy.int64(1), numpy.array(1), numpy.array([1]), phintys.tensor.constant(1), [numpy.int8(1)]):
        assert T.sum(x, axis=axis).owner.op == Sum(1, "float64", "float64")
    assert T.max(x, axis=-2).owner.op == Max(1)


def test_types():
    x = TensorType("float64", (True, False, False), shape=(1, 4, None))()
    assert T.sum(x, axis=1).type.broadcastable == (True, False)
    assert T.sum(x, axis=2).type.shape == (1, 4)
    assert T.argmax(x, axis=2, keepdims=True).type.broadcastable == (True, False, True)


BAD_GRAPHS = {
    "axis too large": (lambda x: T.sum(x, axis=2), ValueError),
    "axis too small": (lambda x: T.max(x, axis=-3), ValueError),
    "one of two": (lambda x: T.argmax(x, axis=(0, 2)), ValueError),
    "float axis": (lambda x: T.sum(x, axis=0.5), TypeError),
    "symbolic axis": (lambda x: T.sum(x, axis=x), TypeError),
    "bool axis": (lambda x: T.sum(x, axis=True), TypeError),
    "ddof": (lambda x: T.var(x, 0, False), ValueError),
    "mean": (lambda x: T.mean(x, axis=5), ValueError),
    "dtype": (lambda x: T.sum(x, dtype="object"), TypeError),
}


@pytest.mark.parametrize("name", [*FUNCTIONS, "max_and_argmax", "logsumexp", "ptp"])
def test_an_axis_that_occurs_twice(name):
    for axis in ((0, 0), (1, -1), [-2, 0, 1]):
        with pytest.raises(ValueError, match="duplicate value in 'axis'"):
            getattr(T, name)(variable_for(values((2, 3))), axis=axis)


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(name):
    build, error = BAD_GRAPHS[name]
    with pytest.raises(error):
        build(variable_for(values((2, 3))))


# (a - b)**2, which is then reduced
SQUARED_DISTANCE = Composite.of_steps(("float64", "float64"), [(scalar.sub, (0, 1)), (scalar.sqr, (2,))], [3])


@pytest.mark.parametrize("axis", [None, (0,), (1,), (0, 1)])
def test_fused_reductions(axis):
    for op, numeric in ((Sum(axis), numpy.sum), (Max(axis), numpy.max), (Prod(axis), numpy.prod)):
        fused = FusedReduction(op, SQUARED_DISTANCE)
        for layout in LAYOUTS.values():
            arrays = [layout(values((4, 5))), layout(values((4, 5), seed=1))]
            check_values(fused, lambda a, b: numpy.asarray(numeric((a - b) ** 2, axis=axis)), arrays, modes=MODES[:1])


def test_fused_reductions_broadcast():
    x, row = TensorType("float64", (False, False))(), TensorType("float64", (True, False))()
    output = FusedReduction(Sum(1), SQUARED_DISTANCE)(x, row)
    a, b = values((4, 5)), values((1, 5), seed=1)
    for mode in MODES:
        function = phintys.function([x, row], [output, output.shape], mode=mode)
        got, length = function(a, b)
        check_equal(got, ((a - b) ** 2).sum(1))
        check_equal(length, numpy.array([4]))
    assert FusedReduction(Sum(1), scalar.exp) == FusedReduction(Sum(1), scalar.exp)


def test_fused_reductions_cast():
    op = FusedReduction(Sum(None), scalar.eq)
    arrays = [values((4, 5), "int8"), values((4, 5), "int8", seed=1)]
    check_values(op, lambda a, b: numpy.asarray((a == b).sum()), arrays)


def test_the_optimizer_fuses_without_changing_results():
    check_values(lambda x: (x * 2 + 1).sum(axis=0), lambda a: (a * 2 + 1).sum(axis=0), [values((6, 7))])
    check_values(lambda x: (x ** 2).mean(), lambda a: (a ** 2).mean(), [values((6, 7))])
