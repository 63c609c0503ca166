"""Activation functions and what goes with classifiers: values, dtypes, derivatives, extreme values, errors."""
import numpy
import pytest
import scipy.special

import phintys
import phintys.tensor as T
from family_cases import LAYOUTS, check_gradient, check_values, values, variable_for
from phintys.ops.activations import elu, hard_sigmoid, relu, selu, softsign, ultra_fast_sigmoid
from phintys.ops.classification import confusion_matrix, h_softmax, multiclass_hinge_loss

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def elu_reference(x, alpha=1):
    return numpy.where(x > 0, x, alpha * numpy.expm1(numpy.minimum(x, 0)))


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
    if name in ("relu", "softsign", "hard sigmoid", "sigmoid", "softplus"):
        assert build(v).dtype == dtype


@pytest.mark.parametrize("dtype, wanted", [("int8", "float32"), ("int64", "float64"), ("uint8", "float32")])
@pytest.mark.parametrize("build", [relu, softsign, hard_sigmoid, ultra_fast_sigmoid])
def test_integers_become_floats(build, dtype, wanted):
    assert build(T.TensorType(dtype, (False,))()).dtype == wanted


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    check_gradient(CASES[name][0], [values((3, 4)) * 2])


@pytest.mark.parametrize("name", CASES)
def test_extreme_values_and_their_slopes_are_finite(name):
    build, expected = CASES[name]
    x = numpy.array([-1e300, -800, 800, 1e300])
    if name == "leaky relu":
        x = x / 4                      # its two halves add up
    v = T.dvector()
    got, slope = phintys.function([v], [build(v), T.grad(build(v).sum(), v)], mode="FAST_COMPILE")(x)
    with numpy.errstate(over="ignore"):
        numpy.testing.assert_allclose(got, expected(x), rtol=1e-12)
    assert numpy.isfinite(slope).all()


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
    with pytest.raises(IndexError):
        phintys.function([v := T.dmatrix()], multiclass_hinge_loss(v, [4]))(x[:1])


def test_prepended_columns():
    x = values((2, 3))
    check_values(T.nnet.prepend_1_to_each_row, lambda x: numpy.c_[numpy.ones(2), x], [x])
    check_values(T.nnet.prepend_scalar_to_each_row, lambda c, x: numpy.c_[[c, c], x], [numpy.array(3.0), x])
    check_gradient(T.nnet.prepend_scalar_to_each_row, [numpy.array(3.0), x])
