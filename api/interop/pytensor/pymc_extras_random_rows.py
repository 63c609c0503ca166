"""Random variables of pymc-extras; they are read when a graph has the first of them."""
from pymc_extras.distributions import continuous, discrete

from phintys import tensor as T
from phintys.interop.pytensor.random_rows import ANY, by_scipy, drawn
from phintys.ops.loops.building import Body, make_loop

MANY = 1 << 62                                          # steps of a loop that ends by its condition


@drawn(continuous.GenExtremeRV)
def _generalized_extreme_value(draws, op, mean, scale, shape):
    shape = draws.floating(shape)

    def quantile(p):
        x = -T.log(-T.log(p))
        return T.switch(T.eq(shape, 0), x, T.expm1(shape * x) / shape)

    return by_scipy(draws, mean, scale, "random", ("xi", shape, "finite"), then=quantile)


@drawn(discrete.GeneralizedPoissonRV)
def _generalized_poisson(draws, op, theta, lam):
    """By inversion where lam is negative, as the sum of generations where it is not; each draws for all elements, if
    there is one that needs it."""
    theta, lam = draws.real(theta), draws.real(lam)
    whole = T.zeros(draws.lengths(), dtype="float64")
    negative = T.lt(lam + whole, 0)
    before = draws.state
    inverse = _by_inversion(T.log(draws.draw("random", ("lam", lam, ANY))), theta, lam, negative)
    draws.state = before = T.switch(T.any(negative), draws.state, before)
    branching = _by_generations(draws, theta, abs(lam), T.invert(negative))
    draws.state = T.switch(T.all(negative), before, draws.state)
    return T.switch(negative, inverse, branching)


def _by_inversion(log_u, theta, lam, wanted):
    """How many of the sums of probabilities are below a number, all as logarithms."""
    whole = T.zeros_like(log_u)
    first = [T.constant(0.0), whole, whole - theta, whole - theta]

    def below(sums):
        return T.and_(T.lt(sums, log_u), wanted)

    number, count, log_p, sums = inner = [each.type() for each in first]
    after = number + 1
    log_c = T.log(theta - lam + lam * after)
    ratio = T.log(abs(lam)) - log_c
    log_p = log_c + T.log1p(-T.exp(ratio)) * (after - 1) + log_p - T.log(after) - lam
    outputs = [after, count + T.lt(sums, log_u), log_p, T.logaddexp(sums, log_p)]
    return _looped(first, inner, outputs, below)[1]


def _by_generations(draws, theta, lam, wanted):
    """Each element's sum of Poisson numbers, the later ones of the mean lam times the one before."""
    first = draws.draw("poisson", ("theta", theta, "at least 0 and at most 9.22e18"))
    start = [draws.state, first, first]
    draws.state, born, total = inner = [each.type() for each in start]
    children = draws.draw("poisson", ("lam", lam * born, "at least 0 and at most 9.22e18"))
    outputs = [draws.state, children, T.switch(T.gt(born, 0), total + children, total)]
    draws.state, _, total = _looped(start, inner, outputs, lambda born: T.and_(T.gt(born, 0), wanted), 1)
    return total


def _looped(first, inner, outputs, goes_on, position=-1):
    """Repeat a step while the condition of one of its variables holds for an element."""
    steps = T.switch(T.any(goes_on(first[position])), T.constant(MANY), T.constant(0))
    body = Body(carried=list(zip(inner, outputs, first)), condition=T.invert(T.any(goes_on(outputs[position]))))
    return make_loop(steps, body, "a generalized Poisson distribution", lifts=False).carried
