"""Reductions without NaN: values of lines with none, some and only NaN, and derivatives, which are 0 at NaN."""
import warnings

import numpy
import pytest
from family_cases import check_gradient, check_values, values

import phintys
import phintys.tensor as T

X = values((4, 5))
X[0, :] = numpy.nan
X[1, 2], X[3, :3] = numpy.nan, numpy.nan
NAMES = "nansum nanprod nanmean nanvar nanstd nanmax nanmin nanmedian nancumsum nancumprod".split()
NOWHERE_NAN = values((3, 5), seed=5)


def quietly(function):
    def quiet(*arguments, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return numpy.asarray(function(*arguments, **options))
    return quiet


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64"])
def test_values(name, dtype):
    array = (numpy.nan_to_num(X) * 8).astype(dtype) if dtype == "int64" else X.astype(dtype)
    wanted = quietly(getattr(numpy, name))
    for axis in (None, 0, 1):
        check_values(lambda x: getattr(T, name)(x, axis=axis), lambda x: wanted(x, axis=axis), [array])


@pytest.mark.parametrize("name", [*NAMES, "nanquantile"])
def test_the_gradient_at_nan_is_0(name):
    arguments = (0.3,) if name == "nanquantile" else ()
    x = T.dmatrix("x")
    slopes = phintys.function([x], phintys.grad(getattr(T, name)(x, *arguments, axis=1).sum(), x))(X[1:])
    assert (slopes[numpy.isnan(X[1:])] == 0).all() and numpy.isfinite(slopes).all()
    check_gradient(lambda x: getattr(T, name)(x, *arguments, axis=1), [NOWHERE_NAN])


def test_quantiles_of_each_method():
    for method in ("linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased"):
        for q in (0.0, 0.3, [0.5, 1.0]):
            check_values(lambda x: T.nanquantile(x, numpy.asarray(q), 1, method), lambda x: quietly(numpy.nanquantile)(
                x, q, axis=1, method=method), [X])
    check_values(lambda x: T.nanpercentile(x, numpy.float64(40), (0, 1), keepdims=True),
                 lambda x: quietly(numpy.nanpercentile)(x, 40, (0, 1), keepdims=True), [X])


def test_positions_of_extrema():
    x = T.dmatrix("x")
    f = phintys.function([x], [T.nanargmax(x, 1), T.nanargmin(x, 1)])
    assert [part.tolist() for part in f(X[1:])] == [numpy.nanargmax(X[1:], 1).tolist(), numpy.nanargmin(X[1:],
                                                                                                        1).tolist()]
    with pytest.raises(ValueError, match="nanargmax: All-NaN slice"):
        f(X)


@pytest.mark.parametrize("build, error, message", [
    (lambda x: T.nanmax(x * 1j), TypeError, "nanmax: complex numbers"),
    (lambda x: T.nanmedian(x * 1j), TypeError, "complex numbers have no quantiles"),
    (lambda x: T.nanquantile(x, 0.5, method="no"), ValueError, "not a valid method"),
    (lambda x: T.nanquantile(x, 2.0), ValueError, r"must be in the range \[0, 1\]"),
    (lambda x: T.nanquantile(x, 0.5, axis=(0, 0)), ValueError, "repeated axis"),
])
def test_mistakes(build, error, message):
    with pytest.raises(error, match=message):
        build(T.dmatrix("x"))
