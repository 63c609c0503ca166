"""First and second derivatives of elementwise functions of one operand at many points, compared with mpmath.

It found the rows of ``test_slopes_at_corners.py``. `KNOWN` has the points where our derivatives are inexact: they are
right up to the last digits of the largest term.
"""
import math

import mpmath
import numpy
import pytest

import phintys.tensor as T
from phintys import function, grad
from phintys.ops.elementwise.scalar_op import SCALAR_OPS

mp = mpmath
FUNCTIONS = {
    "inv": lambda x: 1 / x, "sqrt": mp.sqrt, "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x, "expm1": mp.expm1,
    "log": mp.log, "log2": lambda x: mp.log(x, 2), "log10": mp.log10, "log1p": mp.log1p,
    "log1mexp": lambda x: mp.log(-mp.expm1(x)), "xlogx": lambda x: x * mp.log(x),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)), "softplus": lambda x: mp.log1p(mp.exp(x)),
    "scalar_softsign": lambda x: x / (1 + abs(x)), "cos": mp.cos, "sin": mp.sin, "tan": mp.tan, "arccos": mp.acos,
    "arcsin": mp.asin, "arctan": mp.atan, "cosh": mp.cosh, "sinh": mp.sinh, "tanh": mp.tanh, "arccosh": mp.acosh,
    "arcsinh": mp.asinh, "arctanh": mp.atanh, "erf": mp.erf, "erfc": mp.erfc,
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x), "log_erfc": lambda x: mp.log(mp.erfc(x)), "gamma": mp.gamma,
    "gammaln": lambda x: mp.log(abs(mp.gamma(x))), "psi": mp.digamma, "tri_gamma": lambda x: mp.psi(1, x),
    "j0": lambda x: mp.besselj(0, x), "j1": lambda x: mp.besselj(1, x), "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x), "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
    "ndtr": mp.ncdf, "log_ndtr": lambda x: mp.log(mp.ncdf(x)),
    "logit": lambda x: mp.log(x / (1 - x)), "entr": lambda x: -x * mp.log(x), "sinc": mp.sincpi,
}
POINTS = [1e-200, 1e-30, 1e-8, 1e-5, 1e-3, 0.1, 0.29, 0.75, 0.9, 1 - 1e-8, 1 + 1e-8, 1.1, 1.5, 2.0, 2.5, 5.0, 8.0, 10.0,
          20.0, 26.0, 30.0, 37.0, 50.0, 88.0, 100.0, 300.0, 600.0, 700.0, 709.0]
FEW = [1e-5, 0.1, 0.75, 1.5, 5.0, 10.0, 20.0, 50.0]            # where the reference takes long
FAR = [1e4, 1e8, 1e16, 1e100, 1e155, 1e200, 1e300]
# Functions whose reference takes long, or has no digits, for larger operands.
NEAR_ONLY = {"gamma", "gammaln", "psi", "tri_gamma", "j0", "j1", "i0", "i1", "i0e", "i1e", "erf", "erfc",
             "erfcx", "log_erfc", "ndtr", "log_ndtr", "sin", "cos", "tan", "sinc", "exp", "exp2", "expm1", "cosh",
             "sinh", "tanh", "sigmoid", "softplus", "log1mexp"}
SLOW = {"gamma", "gammaln", "psi", "tri_gamma", "j0", "j1", "i0", "i1", "i0e", "i1e", "erf", "erfc",
        "erfcx", "log_erfc", "ndtr", "log_ndtr"}
# Row and order → the points at which a difference of terms that are almost equal remains.
KNOWN = {
    ("arcsin", 2): lambda x: abs(x) < 1e-4, ("arccos", 2): lambda x: abs(x) < 1e-4,
    ("arctanh", 2): lambda x: abs(x) < 1e-4, ("sigmoid", 2): lambda x: abs(x) < 1e-4,
    ("tanh", 1): lambda x: abs(x) > 4, ("tanh", 2): lambda x: abs(x) > 4,
    ("gammaln", 1): lambda x: x < 0, ("arctan", 2): lambda x: abs(x) > 1e90,
    ("scalar_softsign", 2): lambda x: abs(x) > 1e90, ("sinc", 2): lambda x: abs(x) > 20,
}


LARGEST = {**dict.fromkeys(SLOW, 100), "erf": 20, "erfc": 20, "erfcx": 20, "log_erfc": 20, "ndtr": 26, "log_ndtr": 26}


def slope(name, x, order):
    """The derivative by mpmath from points so near that the error is far below the last digit of a float."""
    distance = min(abs(x), *[abs(x - pole) or 1 for pole in (1, -1)], 1)
    digits = 60 + 4 * max(0, -int(mp.log10(distance)), int(mp.log10(abs(x))))
    power = 2 if name in ("erf", "erfc", "erfcx", "log_erfc", "log_ndtr", "ndtr") else 1       # of x in exponentials
    with mp.workdps(digits + int(abs(x) ** power) * (name in NEAR_ONLY) // (2 if power == 1 else 1)):
        return mp.diff(FUNCTIONS[name], x, order, h=distance * mp.mpf(10) ** (-digits // 4))


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_as_mpmath(name, dtype):
    limits = numpy.finfo(dtype)
    least, most = float(limits.smallest_normal), min(float(limits.max), LARGEST.get(name, math.inf))
    chosen = FEW if name in SLOW else POINTS if name in NEAR_ONLY else POINTS + FAR
    points = numpy.array([x for x in chosen if least <= x <= most], dtype)
    points = numpy.concatenate([points, -points])
    x = T.vector("x", dtype=dtype)
    value = SCALAR_OPS[name].elementwise(x)
    first = grad(value.sum(), x)
    results = [value, first, grad(first.sum(), x)]
    found = [function([x], results, mode=mode)(points) for mode in ("FAST_RUN", "FAST_COMPILE")]
    wrong = []
    for order in (1, 2):
        for number, point in enumerate(points.tolist()):
            if not numpy.isfinite(found[0][0][number]) or KNOWN.get((name, order), lambda x: False)(point):
                continue
            want = slope(name, mp.mpf(point), order)
            if mp.im(want) or not abs(want) < float(limits.max):
                continue
            want = float(mp.re(want))
            allowed = (1e-8 if dtype == "float64" else 3e-3) * abs(want) + 1e3 * float(limits.smallest_normal)
            wrong += [(order, point, float(got[order][number]), want) for got in found
                      if not math.isclose(float(got[order][number]), want, rel_tol=0, abs_tol=allowed)]
    assert wrong == []
