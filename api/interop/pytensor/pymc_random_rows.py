"""PyMC's own random variables; they are read when a graph has the first of them."""
import math

import numpy
from pymc.distributions import continuous, discrete, multivariate

from phintys import tensor as T
from phintys.interop.pytensor.elementwise_rows import ndtri_exp
from phintys.interop.pytensor.random_rows import ANY, POSITIVE, SCALE, are_integers, by_scipy, drawn, fitting

SMALLEST, LARGEST = numpy.nextafter([0.0, 1.0], [1.0, 0.0])             # of samples of the beta distribution
FLAT = 1e-8                     # slopes and densities up to which an interpolated density is constant


@drawn(continuous.BetaClippedRV)
def _beta(draws, op, a, b):
    sample = draws.draw("beta", ("a", a, POSITIVE), ("b", b, POSITIVE))
    return T.maximum(T.minimum(sample, LARGEST), SMALLEST)


@drawn(continuous.WaldRV)
def _wald(draws, op, mean, scale, start):
    return draws.real(start) + draws.draw("wald", ("mean", mean, POSITIVE), ("scale", scale, POSITIVE),
                                          *fitting(start))


@drawn(continuous.SkewNormalRV)
def _skew_normal(draws, op, loc, scale, alpha):
    slope = draws.floating(alpha)
    slope = slope / T.sqrt(1 + slope ** 2)

    def skewed(first):
        sample = slope * first + draws.draw("normal") * T.sqrt(1 - slope ** 2)
        return T.switch(T.ge(first, 0), sample, -sample)

    return by_scipy(draws, loc, scale, "normal", ("alpha", alpha, "finite"), then=skewed)


@drawn(continuous.SkewStudentTRV)
def _skew_student_t(draws, op, a, b, loc, scale):
    def skewed(share):
        return (2 * share - 1) * T.sqrt(draws.floating(a) + draws.floating(b)) / (2 * T.sqrt(share * (1 - share)))

    return by_scipy(draws, loc, scale, "beta", ("a", a, POSITIVE), ("b", b, POSITIVE), then=skewed)


@drawn(continuous.MoyalRV)
def _moyal(draws, op, loc, scale):
    return by_scipy(draws, loc, scale, "gamma", ("shape", 0.5, ANY), then=lambda number: -T.log(2 * number))


@drawn(continuous.RiceRV)
def _rice(draws, op, b, scale):
    before = draws.state
    numbers = draws.draw("normal", ("b", b, SCALE), ("scale", scale, SCALE), size=draws.lengths(first=[2]),
                         ndim=draws.ndim + 1)
    draws.unless_all_zero(scale, before)
    shifted = draws.real(b) / math.sqrt(2) + numbers
    return draws.located(None, scale, T.sqrt(T.sqr(shifted).sum(axis=0)))


@drawn(continuous.InterpolatedRV)
def _interpolated(draws, op, x, pdf, cdf):
    if draws.ndim and not draws.given or not all([all(each.type.broadcastable[:-1]) for each in (x, pdf, cdf)]):
        return None
    x, pdf, cdf = [each.dimshuffle(each.type.ndim - 1) for each in (x, pdf, cdf)]
    p = draws.draw("random")
    place = T.searchsorted(cdf, p) - 1
    density, over = pdf[place], p - cdf[place]
    slope = (pdf[place + 1] - density) / (x[place + 1] - x[place])
    constant = T.switch(T.le(T.abs(density), FLAT), 0.0, over / density)
    linear = (T.sqrt(density ** 2 + 2 * slope * over) - density) / slope
    return x[place] + T.switch(T.le(T.abs(slope), FLAT), constant, linear)


@drawn(continuous.TruncatedNormalRV)
def _truncated_normal(draws, op, mean, deviation, lower, upper):
    mean, deviation = draws.floating(mean), draws.floating(deviation)
    a, b = [T.cast((draws.floating(end) - mean) / deviation, "float64") for end in (lower, upper)]
    return by_scipy(draws, mean, deviation, "random", ("lower < upper", T.lt(a, b), "true"),
                    then=lambda p: _truncated_quantile(p, a, b))


def _truncated_quantile(p, a, b):
    """The quantile of the standard normal distribution between two ends, from logarithms of probabilities, on the side
    of zero where they are exact."""
    mass = T.switch(T.le(b, 0), _log_difference(a, b),
                    T.switch(T.gt(a, 0), _log_difference(-b, -a), T.log1p(-T.ndtr(a) - T.ndtr(-b))))
    left = ndtri_exp(T.logaddexp(T.log_ndtr(a), T.log(p) + mass))
    right = -ndtri_exp(T.logaddexp(T.log_ndtr(-b), T.log1p(-p) + mass))
    return T.switch(T.lt(a, 0), left, right)


def _log_difference(a, b):
    """The logarithm of the probability between two ends that are not positive."""
    upper = T.log_ndtr(b)
    return upper + T.log(-T.expm1(T.log_ndtr(a) - upper))


@drawn(discrete.DiscreteUniformRV)
def _discrete_uniform(draws, op, lower, upper):
    lower, upper = draws.wide(lower), draws.wide(upper)
    conditions = [("lower <= upper", T.le(lower, upper), "true")]
    conditions += [("lower and upper are integers", T.eq(end, T.floor(end)), "true")
                   for end in (lower, upper) if not are_integers(end)]
    return draws.draw("integers", ("lower", lower, ANY), ("upper", upper, ANY), *conditions)


@drawn(multivariate.MatrixNormalRV)
def _matrix_normal(draws, op, mean, rows, columns):
    size = draws.lengths(T.shape_i(rows, rows.type.ndim - 2), T.shape_i(columns, columns.type.ndim - 2))
    numbers = draws.draw("normal", size=size, ndim=draws.ndim + 2)
    axes = [*range(columns.type.ndim - 2), columns.type.ndim - 1, columns.type.ndim - 2]
    return draws.real(mean, 2) + T.matmul(draws.real(rows, 2), T.matmul(numbers, columns.dimshuffle(*axes)))


@drawn(multivariate.StickBreakingWeightsRV)
def _stick_breaking(draws, op, alpha, count):
    alpha = alpha.dimshuffle(*range(alpha.type.ndim), "x")
    shares = draws.draw("beta", ("one", 1.0, ANY), ("alpha", alpha, POSITIVE), size=draws.lengths(count.flatten()[0]),
                        ndim=draws.ndim + 1)
    rest = T.cumprod(1 - shares[..., :-1], axis=-1)
    weights = shares * T.concatenate([T.ones_like(shares[..., :1]), rest], axis=-1)
    return T.concatenate([weights, 1 - weights.sum(axis=-1, keepdims=True)], axis=-1)
