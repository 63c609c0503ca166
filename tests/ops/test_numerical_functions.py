"""polyval, interp, gradient and trapezoid, against NumPy."""
import numpy
import pytest
from family_cases import LAYOUTS, check_gradient, check_r_op, check_values, values

import phintys
import phintys.tensor as T

FAST = ("FAST_RUN",)


def test_polynomials():
    p, x = values(5), values((3, 4), seed=1)
    check_values(lambda c, y: T.polyval(c, y), numpy.polyval, [p, x])                       # unknown number
    check_values(lambda y: T.polyval(p, y), lambda a: numpy.polyval(p, a), [x])
    check_values(lambda y: T.polyval([1.0, y.sum(), 2], y), lambda a: numpy.polyval([1.0, a.sum(), 2], a), [x])
    check_values(lambda y: T.polyval(numpy.zeros(0), y), lambda a: numpy.polyval(numpy.zeros(0), a), [x])
    check_values(lambda y: T.polyval(numpy.ones(100), y), lambda a: numpy.polyval(numpy.ones(100), a), [x / 3])
    check_gradient(lambda c, y: T.polyval(c, y), [p, x])
    check_gradient(lambda y: T.polyval(p, y), [x])
    y = T.dmatrix()
    assert len(phintys.function([y], T.polyval(p, y)).maker.fgraph.toposort()) == 1


XP, FP = numpy.array([-1.0, 0.0, 0.5, 2.0]), numpy.array([3.0, 1.0, -1.0, 4.0])


def test_interpolation():
    x = numpy.concatenate([values(20) * 2, XP, [numpy.nan, -numpy.inf, numpy.inf]]).reshape(9, 3)
    for options in ({}, {"left": -7.0, "right": 9.0}, {"period": 1.75}, {"period": -4.0}):
        given = x if "period" not in options else numpy.nan_to_num(x, posinf=3, neginf=-5)
        for layout in LAYOUTS.values():
            check_values(lambda a, b, c: T.interp(a, b, c, **options), lambda a, b, c: numpy.interp(a, b, c, **options),
                         [layout(given), layout(XP), layout(FP)], modes=FAST)
    check_values(lambda a: T.interp(a, [1.0], [2.0]), lambda a: numpy.interp(a, [1.0], [2.0]), [values(5)])
    check_gradient(lambda a, b, c: T.interp(a, b, c), [values(9), XP, FP])
    check_gradient(lambda a, b: T.interp(a, XP, FP, left=b, right=2.0), [values(9) * 2, numpy.array(0.5)])
    check_r_op(lambda a, b, c: T.interp(a, b, c), [values(9), XP, FP])


POSITIONS = numpy.array([0.0, 0.5, 2.0, 2.5, 4.0])


@pytest.mark.parametrize("edge_order", [1, 2])
def test_slopes(edge_order):
    array = values((5, 4, 5))
    for distances, axis in (((), 0), ((), 1), ((0.5,), (0, 2)), ((POSITIONS,), 2), ((2.0, POSITIONS), (1, 0))):
        wanted = numpy.gradient(array, *distances, axis=axis, edge_order=edge_order)
        several = isinstance(axis, tuple)
        for place in range(len(wanted) if several else 1):
            def build(x):
                found = T.gradient(x, *distances, axis=axis, edge_order=edge_order)
                return found[place] if several else found
            check_values(build, lambda a: wanted[place] if several else wanted, [array], modes=FAST)
    check_gradient(lambda x, h: T.gradient(x, h, edge_order=edge_order), [values(5), numpy.array(0.5)])
    check_gradient(lambda x, p: T.gradient(x, p, edge_order=edge_order), [values(5), POSITIONS])
    assert len(T.gradient(T.dmatrix())) == 2


def test_integrals():
    array, positions = values((5, 4)), values((5, 4), seed=1)
    for axis in (0, 1, -1):
        check_values(lambda y: T.trapezoid(y, dx=0.25, axis=axis), lambda a: numpy.trapezoid(a, dx=0.25, axis=axis),
                     [array])
        check_values(lambda y, x: T.trapezoid(y, x, axis=axis), lambda a, b: numpy.trapezoid(a, b, axis=axis),
                     [array, positions])
    check_values(lambda y, x: T.trapezoid(y, x, axis=0), lambda a, b: numpy.trapezoid(a, b, axis=0),
                 [array, POSITIONS])
    check_values(T.trapezoid, lambda a: numpy.asarray(numpy.trapezoid(a)), [values(6, "int32")])
    check_gradient(lambda y, x: T.trapezoid(y, x), [array, positions])


@pytest.mark.parametrize("call, error, message", [
    (lambda: T.convolve(values((2, 2)), values(2)), ValueError, "too deep"),
    (lambda: T.convolve(values(2), values(2), "half"), ValueError, "mode must be one of"),
    (lambda: T.Convolution()(values(2), values(2, "float32")), TypeError, "of one dtype"),
    (lambda: T.polyval(values((2, 2)), 1.0), ValueError, "must be a vector"),
    (lambda: T.interp(1.0, 2.0, values(2)), ValueError, "1-D sequences"),
    (lambda: T.gradient(values(3), axis=1), ValueError, "axis 1 is out of bounds"),
    (lambda: T.gradient(values((3, 3)), 1.0, 2.0, 3.0), TypeError, "invalid number of arguments"),
    (lambda: T.gradient(values(3), edge_order=3), ValueError, "edge_order"),
    (lambda: T.trapezoid(values(3), axis=-2), ValueError, "axis -2 is out of bounds"),
])
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "complex128"])
@pytest.mark.parametrize("terms", [0, 1, 2, 70])
def test_polynomials_of_any_length(terms, dtype):
    """The number of coefficients is not known when the graph is made."""
    p = numpy.random.default_rng(0).integers(-3, 4, terms).astype(dtype)
    for shape in ((), (0,), (5,), (3, 70), (2, 3, 65)):
        x = (numpy.random.default_rng(1).integers(-4, 5, shape) / (1 if dtype == "int64" else 5)).astype(dtype)
        x = numpy.minimum(x, 1) if dtype == "int64" and terms > 2 else x
        for array in (x, numpy.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x, x.T):
            inputs = [T.vector(dtype=dtype), T.tensor(dtype, (False,) * array.ndim)]
            found = phintys.function(inputs, T.polyval(*inputs))(p, array)
            wanted = numpy.asarray(numpy.polyval(p.astype(float if dtype == "float16" else dtype), array))
            assert found.shape == wanted.shape and found.dtype == dtype
            tolerance = {"float32": 1e-5, "float16": 5e-2}.get(dtype, 1e-12)
            numpy.testing.assert_allclose(found, wanted.astype(dtype), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("terms", [2, 66])
def test_derivatives_of_polynomials(terms):
    random = numpy.random.default_rng(terms)
    p, x = random.normal(size=terms), random.uniform(-0.9, 0.9, (3, 30))
    check_gradient(T.polyval, [p, x])
    check_r_op(T.polyval, [p, x])
    check_gradient(lambda p, x: phintys.grad((T.polyval(p, x) ** 2).sum(), p), [p, x])
    check_gradient(lambda p, x: phintys.grad((T.polyval(p, x) ** 2).sum(), x), [p, x])
    check_r_op(lambda p, x: phintys.grad((T.polyval(p, x) ** 2).sum(), p), [p, x])
    variables = T.dvector(), T.dmatrix()
    f = phintys.function(variables, T.polyval(*variables))
    assert [type(node.op).__name__ for node in f.maker.fgraph.toposort()] == ["Horner"]
