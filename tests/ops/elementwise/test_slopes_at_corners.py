"""First and second derivatives of elementwise functions where formulas cancel, overflow or divide by zero.

The derivatives are compared with mpmath's, as formulas with many digits; numbers are those that a dtype holds.
"""
import mpmath
import numpy
import pytest

import phintys.tensor as T
from phintys import function, grad
from phintys.ops.elementwise.scalar_op import SCALAR_OPS

DIGITS = 60
SMALL = [0.0, 1e-300, 1e-200, 1e-30, 1e-8, 1e-5, 1e-3, 0.01, 0.29, 0.31, 0.75]
MIDDLE = [1.5, 2.0, 5.0, 10.0, 20.0, 29.0, 31.0, 40.0, 100.0, 350.0, 700.0]
LARGE = [1e4, 1e5, 1e9, 1e100, 1e155, 1e200, 1e300]
# The points of float32 that stand for those of float64.
NARROW = {1e-300: 1e-38, 1e-200: 1e-30, 1e-30: 1e-20, 100.0: 60.0, 350.0: 80.0, 700.0: 87.0, 1e100: 1e15, 1e155: 1e19,
          1e200: 1e25, 1e300: 1e38}


def erfcx(x):
    """A factor of 1 + O(x**-16) is left out of the series."""
    if x < 1e3:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    terms = [mpmath.fac2(2 * k - 1) * (-1) ** k / (2 * x * x) ** k for k in range(8)]
    return mpmath.fsum(terms) / (x * mpmath.sqrt(mpmath.pi))


def erfcx_slope(x):
    """As above: 2 x erfcx(x) - 2 / sqrt(pi) without the first term of the series, which cancels."""
    if x < 1e3:
        return 2 * x * erfcx(x) - 2 / mpmath.sqrt(mpmath.pi)
    terms = [mpmath.fac2(2 * k - 1) * (-1) ** k / (2 * x * x) ** k for k in range(1, 9)]
    return 2 * mpmath.fsum(terms) / mpmath.sqrt(mpmath.pi)


def hazard(x):
    """The slope of the logarithm of the normal distribution function."""
    return mpmath.sqrt(2 / mpmath.pi) / erfcx(-x / mpmath.sqrt(2)) if x < 0 else mpmath.npdf(x) / mpmath.ncdf(x)


def hazard_slope(x):
    """-hazard (x + hazard), whose second factor cancels for large negative x."""
    if x > -1e3:
        return -hazard(x) * (x + hazard(x))
    return -1 + 1 / x ** 2 - 6 / x ** 4


def scaled_bessel(order, derivative):
    """Derivatives of exp(-x) I(x) for x > 0, from series in 1 / x if x is large."""
    def slope(x):
        if x < 300:
            return mpmath.diff(lambda t: mpmath.besseli(order, t) * mpmath.exp(-t), x, derivative)
        total, last = mpmath.mpf(0), 1 / mpmath.sqrt(2 * mpmath.pi)
        for k in range(12):
            power = -mpmath.mpf(k) - 0.5
            total += last * mpmath.fprod([power - j for j in range(derivative)]) * x ** (power - derivative)
            last *= mpmath.mpf((2 * k + 1) ** 2 - 4 * order ** 2) / (8 * (k + 1))
        return total
    return slope


def sinc_slope(x):
    if abs(x) < 1e-7:
        return -mpmath.pi ** 2 * x / 3
    return (mpmath.cos(mpmath.pi * x) - mpmath.sincpi(x)) / x


def sinc_bend(x):
    return -mpmath.pi ** 2 * mpmath.sincpi(x) - 2 * sinc_slope(x) / x if x else -mpmath.pi ** 2 / 3


def logistic(x):
    return 1 / (1 + mpmath.exp(-x))


def logistic_slope(x):
    return mpmath.exp(-abs(x)) / (1 + mpmath.exp(-abs(x))) ** 2


def k1_slope(x):
    return -mpmath.besselk(0, x) - mpmath.besselk(1, x) / x


BOTH = [*SMALL, *MIDDLE, *LARGE, *[-x for x in (*SMALL[1:], *MIDDLE, *LARGE)]]
# Row → points, first derivative, second derivative (None: not tested).
ROWS = {
    "sinc": ([*SMALL, 1.5, 2.25, 10.3, -1e-3, -0.01, -0.75], sinc_slope, sinc_bend),
    "arcsinh": (BOTH, lambda x: 1 / mpmath.sqrt(1 + x * x), lambda x: -x / (1 + x * x) ** mpmath.mpf(1.5)),
    "arccosh": ([*MIDDLE, *LARGE], lambda x: 1 / mpmath.sqrt(x * x - 1), lambda x: -x / (x * x - 1) ** mpmath.mpf(1.5)),
    "arctan": (BOTH, lambda x: 1 / (1 + x * x), None),
    "erfcx": ([*SMALL, *MIDDLE, *LARGE, -1.0, -5.0], erfcx_slope, lambda x: 2 * erfcx(x) + 2 * x * erfcx_slope(x)
              if x < 1e3 else 2 / (x ** 3 * mpmath.sqrt(mpmath.pi)) * (1 - 3 / x ** 2)),
    "log_ndtr": (BOTH, hazard, hazard_slope),
    "sigmoid": ([*MIDDLE, *LARGE, -1.0, *[-x for x in MIDDLE]], logistic_slope,
                lambda x: -logistic_slope(x) * mpmath.tanh(x / 2)),
    "softplus": ([*SMALL, *MIDDLE, *LARGE, -1.0, -40.0, -700.0], logistic, logistic_slope),
    "k1": ([1e-30, 0.01, 2.0, 100.0, 350.0, 690.0, 700.0], k1_slope,
           lambda x: mpmath.besselk(1, x) * (1 + 2 / x ** 2) + mpmath.besselk(0, x) / x),
    "i0e": ([0.1, *MIDDLE, 990.0, 1010.0, *LARGE[:4]], scaled_bessel(0, 1), scaled_bessel(0, 2)),
    "i1e": ([0.1, *MIDDLE, 990.0, 1010.0, *LARGE[:4]], scaled_bessel(1, 1), scaled_bessel(1, 2)),
    "log1mexp": ([-700.0, -40.0, -1.0, -1e-3, -1e-8], lambda x: 1 / (1 - mpmath.exp(-x)), None),
}


def check(rows, points, wanted, dtype, mode, order, tolerance):
    x = T.vector("x", dtype=dtype)
    result = SCALAR_OPS[rows].elementwise(x)
    for _ in range(order):
        result = grad(result.sum(), x)
    found = function([x], result, mode=mode)(points)
    limits = numpy.finfo(dtype)
    for point, got in zip(points, found):
        with mpmath.workdps(DIGITS):
            want = float(wanted(mpmath.mpf(float(point))))
        if abs(want) < float(limits.max):
            error = abs(float(got) - want)
            assert error <= tolerance * abs(want) + 4 * float(limits.smallest_normal), (float(point), float(got), want)


def in_dtype(points, dtype):
    return numpy.array([NARROW.get(abs(x), abs(x)) * numpy.sign(x) if dtype == "float32" else x for x in points], dtype)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", ROWS)
def test_first_and_second_derivative(row, dtype, mode):
    points, *derivatives = ROWS[row]
    for order, wanted in enumerate(derivatives, 1):
        if wanted is not None:
            check(row, in_dtype(points, dtype), wanted, dtype, mode, order, 2e-9 if dtype == "float64" else 3e-3)


SIZES = {"float64": (1e200, 1.0, 1e-200), "float32": (1e30, 1.0, 1e-30)}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("dtype", SIZES)
def test_slopes_of_an_angle_do_not_overflow(dtype, mode):
    y, x = T.vector("y", dtype=dtype), T.vector("x", dtype=dtype)
    z = T.complex(x, y)
    results = [*grad(T.arctan2(y, x).sum(), [y, x]), *grad(T.angle(z).sum(), [y, x])]
    f = function([y, x], results, mode=mode)
    sizes = numpy.array(SIZES[dtype], dtype)
    by_y, by_x, angle_by_y, angle_by_x = f(3 * sizes, 4 * sizes)
    for got in (by_y, angle_by_y):
        numpy.testing.assert_allclose(got * sizes, 4 / 25, 1e-5)
    for got in (by_x, angle_by_x):
        numpy.testing.assert_allclose(got * sizes, -3 / 25, 1e-5)
    infinite = f(numpy.array([0, 1, numpy.inf], dtype), numpy.array([numpy.inf, -numpy.inf, 1], dtype))
    assert [part.tolist() for part in infinite[:2]] == [[0, 0, 0]] * 2


def test_second_slopes_of_an_angle():
    y, x = T.dvector("y"), T.dvector("x")
    by_y = grad(T.arctan2(y, x).sum(), y)
    f = function([y, x], grad(by_y.sum(), [y, x]))
    for scale in (1.0, 1e-90, 1e120):
        got = [part * scale ** 2 for part in f([3 * scale], [4 * scale])]
        numpy.testing.assert_allclose(got, [[-24 / 625], [-7 / 625]])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_slopes_of_logaddexp_at_infinities(mode):
    a, b = T.dvector("a"), T.dvector("b")
    infinity = numpy.inf
    f = function([a, b], grad(T.logaddexp(a, b).sum(), [a, b]), mode=mode)
    by_a, by_b = f([infinity, -infinity, infinity, -infinity, 9.0], [-infinity, infinity, infinity, -infinity, 9.0])
    assert by_a.tolist() == [1, 0, 0.5, 0.5, 0.5] and by_b.tolist() == [0, 1, 0.5, 0.5, 0.5]
    bend = function([a, b], grad(grad(T.logaddexp(a, b).sum(), a).sum(), b), mode=mode)
    assert bend([1.0], [1.0]).tolist() == [-0.25]


@pytest.mark.parametrize("exponent", [2j, 1 + 2j, 0j, 2 + 0j, 0.5 - 1j])
def test_powers_with_complex_constants_have_gradients(exponent):
    z, x = T.zvector("z"), T.dvector("x")
    for variable, values in ((z, numpy.array([1 + 2j, 0.5 - 1j])), (x, numpy.array([1.5, 2.0]))):
        slope = exponent * values ** (exponent - 1)
        wanted = slope.conj() if variable is z else slope.real
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            found = function([variable], grad(T.real(variable ** exponent).sum(), variable), mode=mode)(values)
            numpy.testing.assert_allclose(found, wanted)


def test_slope_of_gammainc_at_zero():
    k, x = T.dvector("k"), T.dvector("x")
    f = function([k, x], grad(T.gammainc(k, x).sum(), x))
    assert f([0.5, 1.0, 2.0], [0.0, 0.0, 0.0]).tolist() == [numpy.inf, 1, 0]


def test_functions_of_their_inverses_are_nan_where_these_are():
    x = T.dvector("x")
    values = numpy.array([-numpy.inf, -2.0, -1.0, -0.5, 0.0, 3.0, numpy.inf, numpy.nan])
    for outer, inner in ((T.exp, T.log), (T.expm1, T.log1p)):
        with numpy.errstate(all="ignore"):
            wanted = numpy.where(numpy.isnan(getattr(numpy, inner.scalar_op.name)(values)), numpy.nan, values)
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            numpy.testing.assert_allclose(function([x], outer(inner(x)), mode=mode)(values), wanted)


def test_slopes_in_float16():
    """Squares of 256 and more have no float16."""
    x = T.TensorType("float16", (False,))("x")
    points = numpy.array([0.0, 1.0, 60.0, 300.0, 20000.0], "float16")
    wide = points.astype(float)
    rows = {"arcsinh": 1 / numpy.sqrt(1 + wide ** 2), "sigmoid": 0.25 / numpy.cosh(numpy.minimum(wide, 60) / 2) ** 2}
    for name, wanted in rows.items():
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            found = function([x], grad(SCALAR_OPS[name].elementwise(x).sum(), x), mode=mode)(points)
            assert found.dtype == "float16"
            numpy.testing.assert_allclose(found, wanted, 4e-3, 1e-6)
    hazard_ = function([x], grad(T.log_ndtr(x).sum(), x))(-points)
    numpy.testing.assert_allclose(hazard_[2:], wide[2:], 4e-3)
