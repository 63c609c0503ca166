"""Softmax, its logarithm, its gradient: values against SciPy, extreme values, layouts, shapes, derivatives, errors."""
import numpy
import pytest
import scipy.special
from family_cases import LAYOUTS, check_gradient, check_values, values, variable_for

import phintys
import phintys.tensor as T
from phintys.ops.nnet.softmax import (
    LogSoftmax,
    Softmax,
    SoftmaxGrad,
    SoftmaxWithBias,
    logsoftmax,
    logsoftmax_op,
    softmax,
    softmax_grad,
    softmax_graph,
    softmax_op,
    softmax_with_bias,
)


def reference(x):
    return scipy.special.softmax(x.astype("float64"), axis=1).astype(x.dtype) if x.size else x


def log_reference(x):
    return scipy.special.log_softmax(x.astype("float64"), axis=1).astype(x.dtype) if x.size else x


# Rows shorter than a register, of several registers, of several blocks, and longer than a block; no rows, no columns.
SHAPES = [(1, 1), (3, 4), (60, 10), (7, 8), (2, 100), (300, 3), (3, 2100), (2, 9000), (0, 4), (3, 0)]
OPS = {"softmax": (softmax_op, reference), "logsoftmax": (logsoftmax_op, log_reference)}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OPS)
def test_value(name, shape, dtype):
    op, expected = OPS[name]
    check_values(op, expected, [values(shape, dtype)], modes=["FAST_RUN"])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPS)
def test_layouts(name, layout):
    op, expected = OPS[name]
    check_values(op, expected, [LAYOUTS[layout](values((5, 11)))])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bias(layout):
    x, b = LAYOUTS[layout](values((6, 9), seed=1)), LAYOUTS[layout](values((9,), seed=2))
    check_values(softmax_with_bias, lambda x, b: reference(x + b), [x, b])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradient_op(layout):
    dy, sm = LAYOUTS[layout](values((6, 19), seed=1)), LAYOUTS[layout](values((6, 19), seed=2))
    check_values(softmax_grad, lambda dy, sm: sm * (dy - (dy * sm).sum(axis=1, keepdims=True)), [dy, sm])


def test_vector_is_one_row():
    x = values((5,))
    for op, expected in OPS.values():
        got = phintys.function([v := variable_for(x)], op(v))(x)
        numpy.testing.assert_allclose(got, expected(x[None]), rtol=1e-12)


EXTREMES = numpy.array([[1e308, -1e308, 0], [-1e308, -1e308, -1e308], [800, 0, -800], [1e-300, 0, -1e-300],
                        [0, -numpy.inf, 1], [5, 5, 5]])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_extreme_values(mode):
    x = T.dmatrix()
    probabilities, logarithms = phintys.function([x], [softmax(x), logsoftmax(x)], mode=mode)(EXTREMES)
    with numpy.errstate(over="ignore"):
        shifted = EXTREMES - EXTREMES.max(axis=1, keepdims=True)
        numpy.testing.assert_allclose(probabilities, scipy.special.softmax(EXTREMES, axis=1), rtol=1e-15)
    numpy.testing.assert_allclose(
        logarithms, shifted - numpy.log([[1], [3], [1], [3], [1 + numpy.exp(-1)], [3]]), rtol=1e-14)


def test_nan_and_infinity_spoil_their_row_only():
    x = T.dmatrix()
    got = phintys.function([x], softmax(x))([[1, numpy.nan, 2], [numpy.inf, 1, 1], [1, 2, 3]])
    assert numpy.isnan(got[:2]).all() and numpy.isfinite(got[2]).all()


def test_large_results_with_workers_are_those_of_one_thread():
    x = values((700, 300))
    function = phintys.function([v := variable_for(x)], [softmax(v), logsoftmax(v), softmax_grad(v, v)])
    for got, wanted in zip(function(x), [reference(x), log_reference(x), x * (x - (x * x).sum(1, keepdims=True))]):
        numpy.testing.assert_allclose(got, wanted, rtol=1e-10)


def test_softmax_graph_takes_any_rank():
    check_values(softmax_graph, lambda x: scipy.special.softmax(x, axis=-1), [values((2, 3, 4))])


BUILDS = {"softmax": (softmax_op, [(3, 4)]), "logsoftmax": (logsoftmax_op, [(3, 4)]),
          "softmax of a vector": (softmax_op, [(4,)]), "bias": (softmax_with_bias, [(3, 4), (4,)]),
          "gradient": (softmax_grad, [(3, 4), (3, 4)]), "graph": (softmax_graph, [(2, 3, 4)])}


@pytest.mark.parametrize("name", BUILDS)
def test_gradient(name):
    build, shapes = BUILDS[name]
    check_gradient(build, [values(shape, seed=seed) for seed, shape in enumerate(shapes)])


@pytest.mark.parametrize("name", BUILDS)
def test_r_operator(name):
    """The Jacobian times a direction is the difference quotient."""
    build, shapes = BUILDS[name]
    arrays = [values(shape, seed=seed) for seed, shape in enumerate(shapes)]
    points = [values(shape, seed=seed + 10) for seed, shape in enumerate(shapes)]
    inputs, directions = [variable_for(array) for array in arrays], [variable_for(array) for array in points]
    derivative = phintys.function(inputs + directions, T.Rop(build(*inputs), inputs, directions),
                                  on_unused_input="ignore")
    function, step = phintys.function(inputs, build(*inputs)), 1e-6
    ahead, behind = [function(*[array + sign * step * point for array, point in zip(arrays, points)])
                     for sign in (1, -1)]
    numpy.testing.assert_allclose(derivative(*arrays, *points), (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("op", [Softmax(), LogSoftmax()])
@pytest.mark.parametrize("argument", [T.tensor3(), T.dscalar(), T.imatrix(), T.zmatrix()])
def test_refuses_other_ranks_and_dtypes(op, argument):
    with pytest.raises(ValueError, match="1-d or 2-d tensor of floats"):
        op(argument)


def test_other_refusals():
    x, b = T.dmatrix(), T.dvector()
    with pytest.raises(ValueError, match="b must be 1-d"):
        SoftmaxWithBias()(x, x)
    with pytest.raises(ValueError, match="dy must be"):
        SoftmaxGrad()(T.tensor3(), x)
    with pytest.raises(ValueError, match="columns in x .4. does not match length of b .3."):
        phintys.function([x, b], softmax_with_bias(x, b))(numpy.zeros((2, 4)), numpy.zeros(3))
    with pytest.raises(ValueError, match="does not match sm.shape"):
        phintys.function([x, y := T.dmatrix()], softmax_grad(x, y))(numpy.zeros((2, 4)), numpy.zeros((2, 3)))


def test_warns_where_there_is_one_class():
    with pytest.warns(UserWarning, match="dimension of shape 1"):
        softmax(T.col())
