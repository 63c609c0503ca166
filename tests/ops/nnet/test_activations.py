"""Activation functions and what goes with classifiers: values, dtypes, derivatives, extreme values, errors."""
import numpy
import pytest
import scipy.special
from family_cases import DTYPES, LAYOUTS, check_gradient, check_r_op, check_values, values, variable_for

import phintys
import phintys.tensor as T
from phintys.ops.nnet.activations import elu, hard_sigmoid, relu, selu, softsign, ultra_fast_sigmoid
from phintys.ops.nnet.classification import confusion_matrix, h_softmax, multiclass_hinge_loss

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def elu_reference(x, alpha=1):
    return numpy.where(x > 0, x, alpha * numpy.expm1(numpy.minimum(x, 0)))


def ultra_fast_reference(x):
    half = numpy.abs(x) / 2
    outer = numpy.where(half < 3, 0.935409070603099 + 0.0458812946797165 * (half - 1.7), 0.99505475368673)
    return (numpy.copysign(numpy.where(half < 1.7, 1.5 * half / (1 + half), outer), x) + 1) / 2


CASES = {
    "relu": (relu, lambda x: numpy.maximum(x, 0)),
    "leaky relu": (lambda x: relu(x, 0.25), lambda x: numpy.where(x > 0, x, 0.25 * x)),
    "elu": (elu, elu_reference),
    "elu with a slope": (lambda x: elu(x, 0.5), lambda x: elu_reference(x, 0.5)),
    "selu": (selu, lambda x: SCALE * elu_reference(x, ALPHA)),
    "softsign": (softsign, lambda x: x / (1 + numpy.abs(x))),
    "hard sigmoid": (hard_sigmoid, lambda x: numpy.clip(0.2 * x + 0.5, 0, 1)),
    "sigmoid": (T.nnet.sigmoid, scipy.special.expit),
    "softplus": (T.nnet.softplus, lambda x: numpy.logaddexp(0, x)),
    "ultra fast sigmoid": (ultra_fast_sigmoid, ultra_fast_reference),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CASES)
def test_value(name, layout):
    build, expected = CASES[name]
    check_values(build, expected, [LAYOUTS[layout](values((3, 4)) * 3)])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_dtype_stays(name, dtype):
    build, expected = CASES[name]
    x = values((5,), dtype)
    got = phintys.function([v := variable_for(x)], build(v).astype(dtype))(x)
    numpy.testing.assert_allclose(got, expected(x.astype("float64")), rtol=5e-3 if dtype == "float16" else 1e-5)
    if name in ("relu", "softsign", "hard sigmoid", "sigmoid", "softplus", "ultra fast sigmoid"):
        assert build(v).dtype == dtype


@pytest.mark.parametrize("dtype, wanted", [("int8", "float32"), ("int64", "float64"), ("uint8", "float32"),
                                           ("uint16", "float32"), ("bool", "float32")])
@pytest.mark.parametrize("build", [relu, elu, softsign, hard_sigmoid, ultra_fast_sigmoid])
def test_integers_become_floats(build, dtype, wanted):
    assert build(T.TensorType(dtype, (False,))()).dtype == wanted


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    check_gradient(CASES[name][0], [values((3, 4)) * 2])


@pytest.mark.parametrize("name", CASES)
def test_extreme_values_and_their_slopes_are_finite(name):
    build, expected = CASES[name]
    x = numpy.array([-1e300, -800, 800, 1e300])
    v = T.dvector()
    got, slope = phintys.function([v], [build(v), T.grad(build(v).sum(), v)], mode="FAST_COMPILE")(x)
    with numpy.errstate(over="ignore"):
        numpy.testing.assert_allclose(got, expected(x), rtol=1e-12)
    assert numpy.isfinite(slope).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_nan_and_infinities(name, dtype):
    """Infinities give the limits, and NaN stays NaN."""
    build, expected = CASES[name]
    x = numpy.array([numpy.inf, -numpy.inf, numpy.nan, 0, -0.0], dtype)
    got = phintys.function([v := variable_for(x)], build(v))(x)
    with numpy.errstate(invalid="ignore"):
        wanted = expected(x.astype("float64"))
    if name.startswith("ultra"):
        wanted[2] = numpy.nan                               # where all comparisons fail
    numpy.testing.assert_allclose(got, wanted, rtol=2e-3 if dtype == "float16" else 1e-5)


def test_half_precision_does_not_underflow_early():
    """The exponential of 11.1 overflows, although the sigmoid of -11.1 is representable in the dtype."""
    x = numpy.array([-9, -11.1, -15, 9, 11.1], "float16")
    v = T.TensorType("float16", (False,))()
    function = phintys.function([v], [T.nnet.sigmoid(v), T.grad(T.nnet.softplus(v).sum(), v), ultra_fast_sigmoid(v)])
    sigmoid, slope, fast = function(x)
    numpy.testing.assert_allclose(sigmoid, scipy.special.expit(x.astype("float64")), rtol=1e-3, atol=3e-8)
    numpy.testing.assert_array_equal(slope, sigmoid)
    assert fast.dtype == "float16"


def test_small_slopes_lose_no_digits():
    """A sum of one term for each sign would lose digits if alpha is much smaller than 1."""
    x = -numpy.abs(values((50,)))
    for alpha in (1e-3, 1e-12):
        numpy.testing.assert_array_equal(phintys.function([v := T.dvector()], relu(v, alpha))(x), alpha * x)


def test_slope_of_relu_at_zero():
    """The mean of the slopes on either side."""
    v, alpha = T.dvector(), T.dscalar()
    by_x, by_alpha = phintys.function([v, alpha], T.grad(relu(v, alpha).sum(), [v, alpha]))([-2.0, 0.0, 3.0], 0.25)
    numpy.testing.assert_array_equal(by_x, [0.25, 0.625, 1])
    assert by_alpha == -2


def test_relu_with_learnt_slopes():
    check_values(relu, lambda x, a: numpy.where(x > 0, x, a * x), [values((3, 4)), numpy.abs(values((3, 4), seed=1))])
    check_gradient(relu, [values((3, 4)), numpy.abs(values((3, 4), seed=1))])


def test_ultra_fast_sigmoid_is_near():
    x = numpy.linspace(-10, 10, 2000)
    got = phintys.function([v := T.dvector()], ultra_fast_sigmoid(v))(x)
    assert numpy.abs(got - scipy.special.expit(x)).max() < 0.03
    numpy.testing.assert_allclose(got + got[::-1], 1)


# ---- classifiers ----------------------------------------------------------------------------------------------------
def test_confusion_matrix():
    a, p = T.lvector(), T.lvector()
    matrix, order = phintys.function([a, p], confusion_matrix(a, p))([2, 0, 2, 2, 0, 1], [0, 0, 2, 2, 0, 2])
    assert order.tolist() == [0, 1, 2] and matrix.tolist() == [[2, 0, 0], [0, 0, 1], [1, 0, 2]]
    assert matrix.dtype == "int64"
    with pytest.raises(ValueError, match="pred must be 1-d"):
        confusion_matrix(a, T.lmatrix())


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float64"])
def test_confusion_of_many_classes(dtype):
    """Compared with explicit counts; classes that occur in only one of both vectors are included."""
    random = numpy.random.default_rng(0)
    actual, predicted = random.integers(0, 90, (2, 400)).astype(dtype)
    predicted[:3] = 99
    a, p = [T.TensorType(dtype, (False,))() for _ in range(2)]
    matrix, order = phintys.function([a, p], confusion_matrix(a, p))(actual, predicted)
    numpy.testing.assert_array_equal(order, numpy.unique(numpy.concatenate([actual, predicted])))
    counted = numpy.zeros((len(order), len(order)), int)
    numpy.add.at(counted, (numpy.searchsorted(order, actual), numpy.searchsorted(order, predicted)), 1)
    numpy.testing.assert_array_equal(matrix, counted)


@pytest.mark.parametrize("lengths", [(2, 3), (1, 2), (0, 1)])
def test_confusion_of_vectors_of_different_lengths(lengths):
    a, p = T.lvector(), T.lvector()
    with pytest.raises(ValueError, match="mis-match"):
        phintys.function([a, p], confusion_matrix(a, p)[0])(*[numpy.arange(length) for length in lengths])


def test_h_softmax():
    """Probabilities of all outputs sum to 1, and those of targets are among them."""
    classes, inside, features, batch = 3, 4, 5, 6
    parameters = [values(shape, seed=seed) for seed, shape in enumerate(
        [(features, classes), (classes,), (classes, features, inside), (classes, inside)])]
    x, target = values((batch, features)), numpy.random.default_rng(0).integers(0, 12, batch)
    v, t = T.dmatrix(), T.lvector()
    arguments = (v, batch, 12, classes, inside, *parameters)
    every, some = phintys.function([v, t], [h_softmax(*arguments), h_softmax(*arguments, target=t)])(x, target)
    numpy.testing.assert_allclose(every.sum(axis=1), 1)
    numpy.testing.assert_allclose(some, every[numpy.arange(batch), target])


def hinge_reference(x, y, delta=1):
    right = x[numpy.arange(len(y)), y]
    wrong = numpy.where(y[:, None] % x.shape[1] == numpy.arange(x.shape[1]), -numpy.inf, x).max(axis=1)
    return numpy.maximum(0, wrong - right + delta)


def test_multiclass_hinge_loss():
    x, y = values((6, 4)), numpy.array([0, 3, 1, 2, 2, -1])
    check_values(multiclass_hinge_loss, hinge_reference, [x, y])
    check_values(lambda x, t: multiclass_hinge_loss(x, t, 0.5),
                 lambda x, t: hinge_reference(x, t.argmax(axis=1), 0.5), [x, numpy.eye(4)[y]])
    check_gradient(lambda x: multiclass_hinge_loss(x, y), [x])
    with pytest.raises(TypeError, match="labels must be integers"):
        multiclass_hinge_loss(T.dmatrix(), T.dvector())
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 1 with size 4"):
        phintys.function([v := T.dmatrix()], multiclass_hinge_loss(v, [4]))(x[:1])
    for labels, rows in (([1, 2], x[:1]), ([1], x[:2])):
        with pytest.raises(ValueError, match="dimension mis-match"):
            phintys.function([v := T.dmatrix()], multiclass_hinge_loss(v, labels))(rows)


@pytest.mark.parametrize("mode", [None, "DebugMode", phintys.compile.NanGuardMode()], ids=["default", "debug", "guard"])
def test_hinge_loss_of_booleans_has_no_infinities(mode):
    x, y = values((5, 2)), numpy.array([0, 1, 1, 0, 1], "bool")
    v, labels = T.dmatrix(), T.vector(dtype="bool")
    function = phintys.function([v, labels], multiclass_hinge_loss(v, labels), mode=mode)
    numpy.testing.assert_allclose(function(x, y), hinge_reference(x, y.astype(int)))
    assert function(x[:1, :1], [False]) == 0
    with pytest.raises(IndexError, match="index 1 is out of bounds for axis 1 with size 1"):
        function(x[:1, :1], [True])
    with pytest.raises(TypeError, match="delta must be a scalar"):
        multiclass_hinge_loss(v, labels, [1, 2])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_hinge_loss_of_any_layout(dtype, layout):
    """Labels first, last and in between; rows long enough for every loop."""
    for columns in (1, 2, 9, 100):
        x = values((7, columns), dtype)
        y = numpy.resize([0, columns - 1, columns // 2, -1], 7).astype("int32")
        check_values(multiclass_hinge_loss, hinge_reference, [LAYOUTS[layout](x), y], dtype)


def test_derivatives_of_the_hinge_loss():
    x, y = values((6, 5)), numpy.array([0, 4, 1, 2, 2, -1])
    check_gradient(lambda x, delta: multiclass_hinge_loss(x, y, delta), [x, numpy.array(0.7)])
    check_r_op(lambda x, delta: multiclass_hinge_loss(x, y, delta), [x, numpy.array(0.7)])


def test_hinge_loss_at_its_bend_and_of_nan():
    x = numpy.array([[0, 1, -1], [numpy.nan, 5, 0], [0, 0, numpy.nan], [3, 1, 1]])
    v = T.dmatrix()
    loss = multiclass_hinge_loss(v, [1, 2, 2, 0])
    losses, slopes = phintys.function([v], [loss, T.grad(loss.sum(), v)])(x)
    numpy.testing.assert_array_equal(losses, [0, numpy.nan, numpy.nan, 0])
    numpy.testing.assert_array_equal(slopes[[0, 3]], [[0.5, -0.5, 0], [0, 0, 0]])
    assert numpy.isnan(slopes[1:3]).any(axis=1).all()


def test_prepended_columns():
    x = values((2, 3))
    check_values(T.nnet.prepend_1_to_each_row, lambda x: numpy.c_[numpy.ones(2), x], [x])
    check_values(T.nnet.prepend_scalar_to_each_row, lambda c, x: numpy.c_[[c, c], x], [numpy.array(3.0), x])
    check_gradient(T.nnet.prepend_scalar_to_each_row, [numpy.array(3.0), x])
    check_r_op(T.nnet.prepend_scalar_to_each_row, [numpy.array(3.0), x])
    check_r_op(T.nnet.prepend_0_to_each_row, [x])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_prepended_columns_of_any_dtype(dtype, layout):
    for shape in ((2, 3), (0, 3), (2, 0)):
        x = LAYOUTS[layout](values(shape, dtype))
        one = numpy.ones((shape[0], 1), dtype)
        check_values(T.nnet.prepend_1_to_each_row, lambda x: numpy.hstack([one, x]), [x], modes=("FAST_RUN",))
        check_values(lambda x: T.nnet.prepend_scalar_to_each_row(1, x), lambda x: numpy.hstack([one, x]), [x],
                     modes=("FAST_RUN",))
