"""The log-density of hierarchical models with its gradient, as samplers and optimizers call it: 2,000 observations in
200 groups, five families of distributions.

The parameters are one vector: the mean, the logarithms of the groups' deviation and of the family's own parameter, a
slope, and a standard normal number for each group. ``log_density`` takes the names of a library for arrays, so the same
model can be measured with others.
"""
import math

import numpy

GROUPS, OBSERVATIONS, TRIALS = 200, 2000, 12
FAMILIES = ("normal", "student", "gamma", "binomial", "poisson")


def data(family):
    """The group, a covariate and the observed value of each observation."""
    random = numpy.random.default_rng(0)
    group, covariate = random.integers(0, GROUPS, OBSERVATIONS), random.normal(size=OBSERVATIONS)
    location = 0.3 + 0.5 * random.normal(size=GROUPS)[group] + 0.2 * covariate
    values = {
        "normal": lambda: random.normal(location), "student": lambda: location + random.standard_t(4, OBSERVATIONS),
        "gamma": lambda: random.gamma(2, numpy.exp(location) / 2),
        "binomial": lambda: random.binomial(TRIALS, 1 / (1 + numpy.exp(-location))),
        "poisson": lambda: random.poisson(numpy.exp(location)),
    }[family]()
    return group, covariate, values.astype("float64")


def start():
    """Parameters at which the density is computed."""
    return numpy.random.default_rng(1).normal(size=4 + GROUPS) * 0.1


def likelihood(xp, family, location, own, y):
    """The log-likelihood of each observation; ``own`` is the logarithm of the family's own parameter."""
    if family == "normal":
        return -0.5 * ((y - location) * xp.exp(-own)) ** 2 - own
    if family == "student":
        freedom = xp.exp(own) + 1.0
        return (xp.gammaln(0.5 * freedom + 0.5) - xp.gammaln(0.5 * freedom) - 0.5 * xp.log(freedom)
                - (0.5 * freedom + 0.5) * xp.log1p((y - location) ** 2 / freedom))
    if family == "gamma":
        shape = xp.exp(own)
        rate = shape * xp.exp(-location)
        return shape * xp.log(rate) - xp.gammaln(shape) + (shape - 1.0) * xp.log(y) - rate * y
    if family == "binomial":
        return (math.lgamma(TRIALS + 1) - xp.gammaln(y + 1.0) - xp.gammaln(TRIALS - y + 1.0) + y * location
                - TRIALS * xp.softplus(location))
    return y * location - xp.exp(location) - xp.gammaln(y + 1.0)


def log_density(xp, family, parameters, group, covariate, y):
    """The logarithm of the joint density, up to a constant."""
    mean, deviation, own, slope, groups = parameters[0], parameters[1], parameters[2], parameters[3], parameters[4:]
    location = mean + xp.exp(deviation) * groups[group] + slope * covariate
    prior = (-0.5 * (groups ** 2).sum() - 0.005 * mean ** 2 - 0.5 * xp.exp(2.0 * deviation) + deviation
             - 0.5 * own ** 2 - 0.5 * slope ** 2)
    return prior + likelihood(xp, family, location, own, y).sum()


class HierarchicalModel:
    """The value and the gradient in one call; the observations are constants."""

    params = [list(FAMILIES)]
    param_names = ["family"]

    def setup(self, family):
        import phintys
        import phintys.tensor as T
        parameters = T.dvector("parameters")
        group, covariate, values = [T.constant(array) for array in data(family)]
        density = log_density(T, family, parameters, group, covariate, values)
        self.function = phintys.function([parameters], [density, T.grad(density, parameters)])
        self.start = start()
        self.function(self.start)

    def time_value_and_gradient(self, family):
        self.function(self.start)
