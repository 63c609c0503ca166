"""Polynomials, geometric ranges and windows, and the array API's cumulative functions."""
import numpy
import pytest
from family_cases import check_gradient, check_values, values

import phintys
import phintys.tensor as T

P, Q, POINTS = values(4), values(2, seed=1), numpy.array([0.0, 0.5, 1.5, 2.0, 4.0])

CASES = {
    "polyadd": (lambda p, q: T.polyadd(p, q), numpy.polyadd), "polysub": (lambda p, q: T.polysub(q, p),
                                                                           lambda p, q: numpy.polysub(q, p)),
    "polymul": (lambda p, q: T.polymul(p, q), numpy.polymul),
    "polyder": (lambda p, q: T.polyder(p, 2), lambda p, q: numpy.polyder(p, 2)),
    "polyint": (lambda p, q: T.polyint(p, 2, [1.5, 2]), lambda p, q: numpy.polyint(p, 2, [1.5, 2])),
    "poly": (lambda p, q: T.poly(T.specify_shape(p, (4,))), lambda p, q: numpy.poly(p)),
    "polyfit": (lambda p, q: T.polyfit(POINTS[:4], p, 1), lambda p, q: numpy.polyfit(POINTS[:4], p, 1)),
    "polyfit with weights": (lambda p, q: T.polyfit(POINTS[:4], p, 2, w=[1.0, 2.0, 1.0, 3.0]),
                             lambda p, q: numpy.polyfit(POINTS[:4], p, 2, w=[1.0, 2.0, 1.0, 3.0])),
    "logspace": (lambda p, q: T.logspace(p, 2.0, 5, base=3.0, axis=-1),
                 lambda p, q: numpy.logspace(p, 2.0, 5, base=3.0, axis=-1)),
    "geomspace": (lambda p, q: T.geomspace(abs(p) + 1, 7.0, 5, axis=1),
                  lambda p, q: numpy.geomspace(abs(p) + 1, 7.0, 5, axis=1)),
    "geomspace of negative numbers": (lambda p, q: T.geomspace(-abs(p) - 1, -7.0, 5, endpoint=False),
                                      lambda p, q: numpy.geomspace(-abs(p) - 1, -7.0, 5, endpoint=False)),
    "cumulative_sum": (lambda p, q: T.cumulative_sum(p, include_initial=True),
                       lambda p, q: numpy.concatenate([[0], numpy.cumsum(p)])),
    "cumulative_prod": (lambda p, q: T.cumulative_prod(p), lambda p, q: numpy.cumprod(p)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    ours, theirs = CASES[name]
    check_values(ours, theirs, [P, Q])
    check_gradient(lambda p, q: ours(p, q) + 0 * q.sum(), [P, Q])


@pytest.mark.parametrize("count", [0, 1, 2, 3, 8])
def test_windows(count):
    n = T.lscalar("n")
    for name in ("hanning", "hamming", "blackman"):
        numpy.testing.assert_allclose(phintys.function([n], getattr(T, name)(n))(count), getattr(numpy, name)(count),
                                      atol=1e-15)
    for beta in (0.0, 5.0, 14.0):
        numpy.testing.assert_allclose(phintys.function([n], T.kaiser(n, beta))(count), numpy.kaiser(count, beta),
                                      rtol=1e-12, atol=1e-15)


def test_distinct_elements_by_the_standard_names():
    array = numpy.array([[3, 1], [3, 2]])
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        for number, wanted in enumerate(getattr(numpy, name)(array)):
            check_values(lambda x: getattr(T, name)(x)[number], lambda x: wanted, [array])
    check_values(T.unique_values, lambda x: numpy.array([1, 2, 3]), [array])
    x = T.dvector("x")
    assert T.astype(x, "float32").type.dtype == "float32" and T.concat is T.concatenate and T.acos is T.arccos


@pytest.mark.parametrize("build, error, message", [
    (lambda p: T.polyder(p, -1), ValueError, "must be positive, got -1"),
    (lambda p: T.polyint(p, -1), ValueError, "must be positive, got -1"),
    (lambda p: T.polyint(p, 3, [1, 2]), ValueError, "k must be a scalar or"),
    (lambda p: T.poly(p), ValueError, "a vector of known length"),
    (lambda p: T.polyfit(p, p, -1), ValueError, "deg >= 0"),
    (lambda p: T.polyfit(p, 1.0, 1), TypeError, "expected a vector for x"),
    (lambda p: T.cumulative_sum(T.dmatrix()), ValueError, "axis"),
])
def test_mistakes(build, error, message):
    with pytest.raises(error, match=message):
        build(T.dvector("p"))


def test_derivatives_of_another_length_are_refused():
    """As many numbers were read as they are, and so beside the memory of those of which they are derivatives."""
    p, x, g = T.dvectors("p", "x", "g")
    f = phintys.function([p, x, g], T.Lop(T.polyval(p, x), p, g))
    assert (f(numpy.ones(3), numpy.arange(3.0), numpy.ones(3)) == [5, 3, 3]).all()
    for length in (2, 4, 5000):
        with pytest.raises(ValueError, match=rf"PowerSums: the factors have shape \({length},\), .* \(3,\)"):
            f(numpy.ones(3), numpy.arange(3.0), numpy.ones(length))
