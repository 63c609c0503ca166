"""Integrals against SciPy's, and their derivatives."""
import numpy
import pytest
import scipy.integrate

import phintys
import phintys.tensor as T
from phintys.solvers import quad

# (function, limits), also where a root or an edge needs many intervals
INTEGRALS = [
    ("exp(-x)", 0.0, 3.0), ("exp(-x)", 3.0, 0.0), ("exp(-x)", 0.0, numpy.inf), ("exp(-x)", numpy.inf, 0.0),
    ("exp(-x * x)", -numpy.inf, numpy.inf), ("exp(-x * x)", numpy.inf, -numpy.inf), ("exp(x)", -numpy.inf, 1.0),
    ("exp(x)", 1.0, -numpy.inf), ("1 / sqrt(x)", 0.0, 1.0), ("abs(sin(3 * x))", 0.0, 3.0), ("cos(50 * x)", 0.0, 2.0),
    ("x * 0", 0.0, 1.0), ("x", 2.0, 2.0),
]


@pytest.mark.parametrize("text, low, high", INTEGRALS)
def test_values_are_those_of_scipy(text, low, high):
    def of(names):
        return lambda x: eval(text, {name: getattr(names, name) for name in "exp sqrt sin cos abs".split()}, {"x": x})
    value, error = [part.eval() for part in quad(of(T), low, high)]
    wanted = scipy.integrate.quad(of(numpy), low, high)[0]
    numpy.testing.assert_allclose(value, wanted, rtol=1e-8, atol=1e-8)
    assert abs(value - wanted) <= max(error, 1e-14)


def test_the_estimate_of_a_smooth_function_is_that_of_quadpack():
    value, error = scipy.integrate.quad(lambda x: numpy.exp(-x * x) * numpy.cos(x), 0, 3)
    found = [part.eval() for part in quad(lambda x: T.exp(-x * x) * T.cos(x), 0, 3)]
    numpy.testing.assert_allclose(found, [value, error], rtol=1e-6)


def test_derivatives_of_both_orders_and_of_the_limits():
    a, b, k = T.dscalars("a", "b", "k")
    found = quad(lambda x: T.exp(-k * x ** 2), a, b).value
    slopes = phintys.grad(found, [a, b, k])
    f = phintys.function([a, b, k], found)
    g = phintys.function([a, b, k], [*slopes, phintys.grad(slopes[2], k), phintys.grad(slopes[2], b),
                                     T.Rop(found, [a, b, k], [T.constant(1.0)] * 3)])
    values = numpy.array([0.2, 1.5, 1.3])
    by_a, by_b, by_k, by_kk, by_kb, along = g(*values)
    for place, slope in enumerate((by_a, by_b, by_k)):
        step = numpy.eye(3)[place] * 1e-5
        numpy.testing.assert_allclose(slope, (f(*values + step) - f(*values - step)) / 2e-5, rtol=1e-7)
    numpy.testing.assert_allclose(along, by_a + by_b + by_k, rtol=1e-10)
    numpy.testing.assert_allclose(by_kk, scipy.integrate.quad(lambda x: x ** 4 * numpy.exp(-1.3 * x * x), 0.2, 1.5)[0])
    numpy.testing.assert_allclose(by_kb, -1.5 ** 2 * numpy.exp(-1.3 * 1.5 ** 2), rtol=1e-10)


def test_functions_of_several_elements_and_of_other_variables():
    v = T.fvector("v")
    shift = phintys.shared(0.5)
    found = quad(lambda x, w: T.outer(T.cos(w * x), [1.0, 2.0]) + shift, 0, 2, v).value
    f = phintys.function([v], [found, *phintys.grad(found.sum(), [v, shift])])
    value, slope, by_shift = f(numpy.array([1.0, 2.0, 3.0], "float32"))
    w = numpy.array([1.0, 2.0, 3.0])
    numpy.testing.assert_allclose(value, numpy.outer(numpy.sin(2 * w) / w, [1, 2]) + 1, rtol=1e-7)
    numpy.testing.assert_allclose(slope, 3 * (2 * numpy.cos(2 * w) / w - numpy.sin(2 * w) / w ** 2), rtol=1e-5)
    numpy.testing.assert_allclose(by_shift, 12)


def test_too_few_intervals_are_told_by_the_error():
    assert quad(lambda x: 1 / T.sqrt(x), 0.0, 1.0, limit=3).error.eval() > 1e-3
    assert numpy.isnan(quad(lambda x: T.log(x - 2), 0.0, 1.0).value.eval())


def test_mistakes():
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        quad(T.cos, 0, 1, limit=0)
    with pytest.raises(ValueError, match="the limits must be numbers, got 0.0 and nan"):
        quad(T.cos, 0, numpy.nan)
    with pytest.raises(TypeError, match="quad: the function must return real numbers"):
        quad(lambda x: x * 1j, 0, 1)
