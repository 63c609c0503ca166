"""Stable forms in their tails, at 1e-300 to 1e300 and both signs: values and gradients against mpmath.

A row is an expression as users write it, the same for mpmath, and where it is not defined. Values beyond the range of
the dtype have to be infinite, or zero.
"""
import mpmath
import numpy
import pytest
from optimized_graphs import evaluate, optimized, variable

from phintys import gradient
from phintys.ops.elementwise.scalar import erf, erfc, exp, expm1, log, log1p, sigmoid, softplus

SIZES = [1e-300, 1e-200, 1e-100, 1e-20, 1e-10, 1e-5, 1e-2, 0.5, 0.9, 1, 1.1, 3, 10, 30, 1e2, 700, 1000, 1e5, 1e10,
         1e100, 1e200, 1e300]
POINTS = sorted([sign * size for size in SIZES for sign in (1, -1)] + [0.0])
x, f = variable("d1", "x"), variable("f1", "f")


def logistic(t):
    return 1 / (1 + mpmath.exp(-t))


def always(t):
    return True


def negative(t):
    return t < 0


def positive(t):
    return t > 0


# expression, the same for mpmath, its derivative, where it is defined
ROWS = {
    "log(exp(x))": (lambda x: log(exp(x)), lambda t: t, lambda t: 1, always),
    "log1p(expm1(x))": (lambda x: log1p(expm1(x)), lambda t: t, lambda t: 1, always),
    "log(sigmoid(x))": (lambda x: log(sigmoid(x)), lambda t: -mpmath.log1p(mpmath.exp(-t)), lambda t: logistic(-t),
                        always),
    "log(1 / (1 + exp(-x)))": (lambda x: log(1 / (1 + exp(-x))), lambda t: -mpmath.log1p(mpmath.exp(-t)),
                               lambda t: logistic(-t), always),
    "log(1 - sigmoid(x))": (lambda x: log(1 - sigmoid(x)), lambda t: -mpmath.log1p(mpmath.exp(t)),
                            lambda t: -logistic(t), always),
    "log(1 + exp(x))": (lambda x: log(1 + exp(x)), lambda t: mpmath.log1p(mpmath.exp(t)), logistic, always),
    "log(3 + exp(x))": (lambda x: log(3 + exp(x)), lambda t: mpmath.log(3 + mpmath.exp(t)),
                        lambda t: 1 / (1 + 3 * mpmath.exp(-t)), always),
    "1 - sigmoid(x)": (lambda x: 1 - sigmoid(x), lambda t: logistic(-t), lambda t: -logistic(t) * logistic(-t), always),
    "exp(-softplus(x))": (lambda x: exp(-softplus(x)), lambda t: logistic(-t), lambda t: -logistic(t) * logistic(-t),
                          always),
    "log(exp(x) + exp(2 * x))": (lambda x: log(exp(x) + exp(2 * x)), lambda t: t + mpmath.log1p(mpmath.exp(t)),
                                 lambda t: 1 + logistic(t), always),
    "log(exp(x) + exp(-x) + exp(3 - x))": (
        lambda x: log(exp(x) + exp(-x) + exp(3 - x)),
        lambda t: mpmath.log(mpmath.exp(t) + mpmath.exp(-t) + mpmath.exp(3 - t)),
        lambda t: (mpmath.exp(t) - mpmath.exp(-t) - mpmath.exp(3 - t)) / (
            mpmath.exp(t) + mpmath.exp(-t) + mpmath.exp(3 - t)), always),
    "log(1 + exp(x) + exp(2 * x))": (
        lambda x: log(1 + exp(x) + exp(2 * x)),
        lambda t: mpmath.log1p(mpmath.exp(t) + mpmath.exp(2 * t)),
        lambda t: (mpmath.exp(t) + 2 * mpmath.exp(2 * t)) / (1 + mpmath.exp(t) + mpmath.exp(2 * t)), always),
    "log(1 + x)": (lambda x: log(1 + x), mpmath.log1p, lambda t: 1 / (1 + t), lambda t: t > -1),
    "log(1 - x)": (lambda x: log(1 - x), lambda t: mpmath.log1p(-t), lambda t: -1 / (1 - t), lambda t: t < 1),
    "exp(x) - 1": (lambda x: exp(x) - 1, mpmath.expm1, mpmath.exp, always),
    "-1 + exp(x)": (lambda x: -1 + exp(x), mpmath.expm1, mpmath.exp, always),
    "1 - exp(x)": (lambda x: 1 - exp(x), lambda t: -mpmath.expm1(t), lambda t: -mpmath.exp(t), always),
    "3 * exp(x) - 3": (lambda x: 3 * exp(x) - 3, lambda t: 3 * mpmath.expm1(t), lambda t: 3 * mpmath.exp(t), always),
    "log(1 - exp(x))": (lambda x: log(1 - exp(x)),
                        lambda t: mpmath.log(-mpmath.expm1(t)) if t > -1 else mpmath.log1p(-mpmath.exp(t)),
                        lambda t: mpmath.exp(t) / mpmath.expm1(t), negative),
    "log(exp(x) - 1)": (lambda x: log(exp(x) - 1), lambda t: t + mpmath.log(-mpmath.expm1(-t)),
                        lambda t: -1 / mpmath.expm1(-t), lambda t: t > 0 and abs(t - 0.7) > 0.3),
    "log(erfc(x))": (lambda x: log(erfc(x)), lambda t: log_erfc(t), lambda t: slope_of_log_erfc(t), always),
    "log(1 - erf(x))": (lambda x: log(1 - erf(x)), lambda t: log_erfc(t), lambda t: slope_of_log_erfc(t), always),
    "log1p(erf(x))": (lambda x: log1p(erf(x)), lambda t: log_erfc(-t), lambda t: -slope_of_log_erfc(-t), always),
    "log(erfc(-3 * x))": (lambda x: log(erfc(-3 * x)), lambda t: log_erfc(-3 * t),
                          lambda t: -3 * slope_of_log_erfc(-3 * t), always),
}
WITH_ERF = {
    "1 - erf(x)": (lambda x: 1 - erf(x), 1, 1), "-1 + erf(x)": (lambda x: -1 + erf(x), 1, -1),
    "erf(x) - 1": (lambda x: erf(x) - 1, 1, -1), "1 + erf(x)": (lambda x: 1 + erf(x), -1, 1),
    "1 - (-erf(x))": (lambda x: 1 - (-erf(x)), -1, 1), "-1 - erf(x)": (lambda x: -1 - erf(x), -1, -1),
    "1 + -1 * erf(x)": (lambda x: 1 + -1 * erf(x), 1, 1), "2 - erfc(x)": (lambda x: 2 - erfc(x), -1, 1),
    "0.5 + 0.5 * erf(x)": (lambda x: 0.5 + 0.5 * erf(x), -1, 0.5),
    "0.5 * (1 + erf(x))": (lambda x: 0.5 * (1 + erf(x)), -1, 0.5),
}
WITH_ERFC = {
    "1 - erfc(x)": (lambda x: 1 - erfc(x), 1), "-1 + erfc(x)": (lambda x: -1 + erfc(x), -1),
    "1 + -erfc(x)": (lambda x: 1 + -erfc(x), 1), "-1 + erfc(-x)": (lambda x: -1 + erfc(-x), 1),
}


def slope_of_erf(t):
    return 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-t ** 2)


def of_erfc(sign, factor):
    """factor * erfc(sign * t) and its derivative."""
    return lambda t: factor * complementary(sign * t), lambda t: -factor * sign * slope_of_erf(t)


def of_erf(factor):
    """factor * erf(t) and its derivative."""
    return lambda t: factor * mpmath.erf(t), lambda t: factor * slope_of_erf(t)


ROWS.update({name: (write, *of_erfc(sign, factor), always) for name, (write, sign, factor) in WITH_ERF.items()})
ROWS.update({name: (write, *of_erf(factor), always) for name, (write, factor) in WITH_ERFC.items()})


def complementary(t):
    """mpmath's erfc overflows far out."""
    return mpmath.erfc(t) if abs(t) < 1e4 else mpmath.mpf(0 if t > 0 else 2)


def log_erfc(t):
    """mpmath's erfc takes for ever beyond 1e10, where two terms of the asymptotic series have 40 digits."""
    if t < 1e8:
        return mpmath.log1p(-mpmath.erf(t)) if t < 1 else mpmath.log(mpmath.erfc(t))
    return -t ** 2 - mpmath.log(t * mpmath.sqrt(mpmath.pi)) - 1 / (2 * t ** 2)


def slope_of_log_erfc(t):
    if t < -1e8:
        return mpmath.mpf(0)
    return -slope_of_erf(t) / mpmath.erfc(t) if t < 1e8 else -2 * t - 1 / t


def exact(function, points):
    """What a function of mpmath's is at these points, as float64: beyond the range infinite, or zero."""
    with mpmath.workdps(60):
        return numpy.array([float(function(mpmath.mpf(float(point)))) for point in points])


@pytest.mark.parametrize("dtype, tolerance, tiny", [("float64", 4e-14, 1e-306), ("float32", 4e-5, 1e-37)])
@pytest.mark.parametrize("name", ROWS)
def test_tails(name, dtype, tolerance, tiny):
    write, function, derivative, defined = ROWS[name]
    t = x if dtype == "float64" else f
    limit = float(numpy.finfo(dtype).max)
    points = numpy.array([point for point in POINTS if abs(point) < limit and defined(point)], dtype)
    points = points[(points != 0) | numpy.array([defined(0.0)])]
    output = write(t)
    fgraph = optimized([t], [output, gradient.grad(output.sum(), t)])
    value, slope = evaluate(fgraph, [points])
    for found, wanted in ((value, exact(function, points)), (slope, exact(derivative, points))):
        with numpy.errstate(over="ignore"):
            wanted = wanted.astype(dtype)
        numpy.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tiny, err_msg=str(points))
