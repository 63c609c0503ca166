"""PyMC's own random variables; they are read when a graph has the first of them."""
import math

import numpy
from pymc.distributions import continuous, discrete, multivariate
from scipy.sparse import csgraph, csr_matrix

from phintys import tensor as T
from phintys.graph.variable import Constant
from phintys.interop.pytensor.elementwise_rows import ndtri_exp
from phintys.interop.pytensor.random_rows import ANY, POSITIVE, SCALE, are_integers, by_scipy, drawn, fitting
from phintys.ops.factorizations.cholesky import cholesky
from phintys.ops.factorizations.solve import solve_triangular
from phintys.optimizer.engine.forms import constant_value

SMALLEST, LARGEST = numpy.nextafter([0.0, 1.0], [1.0, 0.0])             # of samples of the beta distribution
MOST_SITES = 300                # of an autoregression: for more, SciPy's banded matrices are faster than dense ones
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
    position = T.searchsorted(cdf, p) - 1
    density, over = pdf[position], p - cdf[position]
    slope = (pdf[position + 1] - density) / (x[position + 1] - x[position])
    constant = T.switch(T.le(T.abs(density), FLAT), 0.0, over / density)
    linear = (T.sqrt(density ** 2 + 2 * slope * over) - density) / slope
    return x[position] + T.switch(T.le(T.abs(slope), FLAT), constant, linear)


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


@drawn(multivariate.CARRV)
def _conditional_autoregression(draws, op, mean, weights, alpha, tau, is_valid):
    """What SciPy's banded solver gives; the order of the sites, in which PyMC draws, must be known.

    Without an autocorrelation PyMC hands SciPy a vector for the bands, which gives other numbers.
    """
    weights = _known_matrix(weights)
    if weights is None or weights.shape[0] > MOST_SITES or constant_value(alpha) == 0:
        return None
    sums = weights.sum(axis=0)
    alpha, tau, is_valid = [each.flatten()[0] for each in (alpha, tau, is_valid)]
    order = csgraph.reverse_cuthill_mckee(csr_matrix(numpy.diag(sums) - weights / 2), symmetric_mode=True)
    numbers = draws.draw("normal", ("W_is_valid", is_valid, "true"), ("alpha < 1", T.lt(alpha, 1), "true"),
                         ("alpha > -1", T.gt(alpha, -1), "true"), size=draws.lengths(len(sums)), ndim=draws.ndim + 1)
    numbers = numbers.take(numpy.argsort(order), axis=-1)
    factor = cholesky(tau * (numpy.diag(sums) - alpha * weights))
    columns = numbers.reshape((-1, len(sums))).T
    solved = solve_triangular(factor.T, solve_triangular(factor, columns, lower=True), lower=False)
    return draws.real(mean, 1) + solved.T.reshape(numbers.shape, ndim=draws.ndim + 1)


def _known_matrix(variable):
    """The values of a constant, dense or sparse, with dimensions of length 1 before it or without, as a matrix."""
    while variable.owner is not None and type(variable.owner.op).__name__ in ("DimShuffle", "DenseFromSparse"):
        variable = variable.owner.inputs[0]
    if not isinstance(variable, Constant):
        return None
    values = variable.data.toarray() if hasattr(variable.data, "toarray") else numpy.asarray(variable.data)
    return values.reshape(values.shape[-2:]).astype("float64")


def _wishart(draws, op, count, scale):
    """As SciPy: first the numbers below the diagonal, of all samples, then each number on it, of all samples."""
    size = scale.type.shape[-1]
    if size is None or not all(count.type.broadcastable) or not all(scale.type.broadcastable[:-2]):
        return None
    count = T.cast(count.flatten()[0], "int64")
    scale = scale.dimshuffle(scale.type.ndim - 2, scale.type.ndim - 1)
    rows, columns = numpy.tril_indices(size, -1)
    below = draws.draw("normal", ("nu > p - 1", T.gt(count, size - 1), "true"), size=draws.lengths(len(rows)),
                       ndim=draws.ndim + 1)
    squares = draws.draw("chisquare", ("df", (count - T.arange(size)).dimshuffle(0, *["x"] * draws.ndim), POSITIVE),
                         size=[size, *draws.lengths()[::-1]], ndim=draws.ndim + 1)
    axes = (slice(None),) * draws.ndim
    factor = T.zeros(draws.lengths(size, size), dtype="float64")
    factor = T.set_subtensor(factor[(*axes, rows, columns)], below)
    position = numpy.arange(size)
    factor = T.set_subtensor(factor[(*axes, position, position)], T.sqrt(squares).T)
    product = T.matmul(cholesky(T.cast(scale, "float64")), factor)
    return T.matmul(product, product.dimshuffle(*range(draws.ndim), draws.ndim + 1, draws.ndim))


if hasattr(multivariate, "WishartRV"):                  # PyMC 6 has none
    drawn(multivariate.WishartRV)(_wishart)
