"""Twenty PyMC models of the kinds in PyMC's documentation, on data made by a rule. One function makes one model."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

SEED = 20


def rng():
    return np.random.default_rng(SEED)


def linear_regression():
    x = rng().normal(size=(100, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.3 * rng().normal(size=100)
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0, 10)
        slopes = pm.Normal("slopes", 0, 10, shape=3)
        noise = pm.HalfNormal("noise", 1)
        pm.Normal("y", intercept + pt.dot(x, slopes), noise, observed=y)
    return model


def robust_regression():
    x = rng().normal(size=100)
    y = 1 + 2 * x + rng().standard_t(3, size=100)
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0, 10)
        slope = pm.Normal("slope", 0, 10)
        noise = pm.HalfCauchy("noise", 2)
        freedom = pm.Exponential("freedom", 1 / 30)
        pm.StudentT("y", nu=freedom + 1, mu=intercept + slope * x, sigma=noise, observed=y)
    return model


def logistic_regression():
    x = rng().normal(size=(200, 4))
    y = (rng().uniform(size=200) < 1 / (1 + np.exp(-x @ [1, -1, 0.5, 0]))).astype(int)
    with pm.Model() as model:
        weights = pm.Normal("weights", 0, 2.5, shape=4)
        pm.Bernoulli("y", logit_p=pt.dot(x, weights), observed=y)
    return model


def eight_schools():
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model() as model:
        mean = pm.Normal("mean", 0, 5)
        spread = pm.HalfCauchy("spread", 5)
        offsets = pm.Normal("offsets", 0, 1, shape=8)
        pm.Normal("effects", mean + spread * offsets, errors, observed=effects)
    return model


def radon():
    """A hierarchical model of the size of the radon study: 919 rows in 85 groups."""
    draw = rng()
    group = draw.integers(0, 85, size=919)
    floor = draw.integers(0, 2, size=919).astype(float)
    uranium = draw.normal(size=85)
    y = 1.5 + 0.7 * uranium[group] - 0.6 * floor + 0.7 * draw.normal(size=919)
    with pm.Model() as model:
        level = pm.Normal("level", 0, 10, shape=2)
        spread = pm.HalfNormal("spread", 1)
        offsets = pm.Normal("offsets", 0, 1, shape=85)
        slope = pm.Normal("slope", 0, 10)
        noise = pm.HalfNormal("noise", 1)
        intercepts = level[0] + level[1] * uranium + spread * offsets
        pm.Normal("y", intercepts[group] + slope * floor, noise, observed=y)
    return model


def normal_mixture():
    draw = rng()
    y = draw.normal(loc=np.array([-3.0, 0.0, 4.0])[draw.integers(0, 3, size=200)])
    with pm.Model() as model:
        weights = pm.Dirichlet("weights", np.ones(3))
        centers = pm.Normal(
            "centers", 0, 5, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 1.0])
        spreads = pm.HalfNormal("spreads", 2, shape=3)
        pm.NormalMixture("y", w=weights, mu=centers, sigma=spreads, observed=y)
    return model


def gaussian_process():
    x = np.linspace(0, 5, 50)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng().normal(size=50)
    with pm.Model() as model:
        length = pm.Gamma("length", 2, 1)
        height = pm.HalfNormal("height", 2)
        noise = pm.HalfNormal("noise", 1)
        process = pm.gp.Marginal(cov_func=height**2 * pm.gp.cov.ExpQuad(1, ls=length))
        process.marginal_likelihood("y", X=x, y=y, sigma=noise)
    return model


def latent_gaussian_process():
    x = np.linspace(0, 5, 30)[:, None]
    y = rng().poisson(np.exp(np.sin(x[:, 0])))
    with pm.Model() as model:
        length = pm.InverseGamma("length", 5, 5)
        height = pm.HalfNormal("height", 1)
        process = pm.gp.Latent(cov_func=height**2 * pm.gp.cov.Matern52(1, ls=length))
        pm.Poisson("y", pt.exp(process.prior("rate", X=x)), observed=y)
    return model


def autoregression():
    y = np.cumsum(rng().normal(size=100)) * 0.1
    with pm.Model() as model:
        coefficients = pm.Normal("coefficients", 0, 0.5, shape=3)
        noise = pm.HalfNormal("noise", 1)
        pm.AR("y", rho=coefficients, sigma=noise, constant=True, init_dist=pm.Normal.dist(0, 10), observed=y)
    return model


def stochastic_volatility():
    returns = 0.1 * rng().standard_t(5, size=150)
    with pm.Model() as model:
        step = pm.Exponential("step", 10)
        volatility = pm.GaussianRandomWalk("volatility", sigma=step, init_dist=pm.Normal.dist(0, 1), shape=150)
        freedom = pm.Exponential("freedom", 0.1)
        pm.StudentT("returns", nu=freedom + 2, lam=pt.exp(-2 * volatility), observed=returns)
    return model


def time_series_by_scan():
    """A GARCH(1, 1) process: its variance is a loop over the data."""
    y = 0.5 * rng().normal(size=120)
    with pm.Model() as model:
        base = pm.HalfNormal("base", 1)
        reaction = pm.Beta("reaction", 2, 5)
        memory = pm.Beta("memory", 5, 2)

        def step(previous, variance, base, reaction, memory):
            return base + reaction * previous**2 + memory * variance

        variances = pytensor.scan(
            step, sequences=[pt.as_tensor(y[:-1])], outputs_info=[pt.as_tensor(np.float64(1.0))],
            non_sequences=[base, reaction, memory], strict=True, return_updates=False)
        pm.Normal("y", 0, pt.sqrt(variances), observed=y[1:])
    return model


def poisson_regression():
    x = rng().normal(size=(150, 2))
    y = rng().poisson(np.exp(0.5 + x @ [0.3, -0.5]))
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0, 2)
        slopes = pm.Normal("slopes", 0, 2, shape=2)
        pm.Poisson("y", pt.exp(intercept + pt.dot(x, slopes)), observed=y)
    return model


def negative_binomial():
    x = rng().normal(size=150)
    y = rng().negative_binomial(3, 0.4, size=150)
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0, 2)
        slope = pm.Normal("slope", 0, 2)
        spread = pm.Exponential("spread", 0.5)
        pm.NegativeBinomial("y", mu=pt.exp(intercept + slope * x), alpha=spread, observed=y)
    return model


def correlated_slopes():
    """Group intercepts and slopes with a correlation matrix under an LKJ prior."""
    draw = rng()
    group = draw.integers(0, 10, size=120)
    x = draw.normal(size=120)
    y = 1 + 2 * x + 0.5 * draw.normal(size=120)
    with pm.Model() as model:
        factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        offsets = pm.Normal("offsets", 0, 1, shape=(2, 10))
        effects = pt.dot(factor, offsets)
        noise = pm.HalfNormal("noise", 1)
        pm.Normal("y", effects[0, group] + effects[1, group] * x, noise, observed=y)
    return model


def multivariate_normal():
    y = rng().multivariate_normal([0, 1, 2], np.eye(3) + 0.3, size=50)
    with pm.Model() as model:
        mean = pm.Normal("mean", 0, 5, shape=3)
        factor, _, _ = pm.LKJCholeskyCov("factor", n=3, eta=1.0, sd_dist=pm.HalfNormal.dist(2.0))
        pm.MvNormal("y", mean, chol=factor, observed=y)
    return model


def ordinal_regression():
    draw = rng()
    x = draw.normal(size=120)
    y = np.clip(np.round(x + draw.normal(size=120) + 2), 0, 4).astype(int)
    with pm.Model() as model:
        cutpoints = pm.Normal(
            "cutpoints", 0, 3, shape=4, transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 1.0, 2.0])
        slope = pm.Normal("slope", 0, 2)
        pm.OrderedLogistic("y", eta=slope * x, cutpoints=cutpoints, observed=y)
    return model


def zero_inflated_poisson():
    draw = rng()
    y = draw.poisson(3, size=150) * (draw.uniform(size=150) < 0.7)
    with pm.Model() as model:
        share = pm.Beta("share", 1, 1)
        rate = pm.Gamma("rate", 2, 0.5)
        pm.ZeroInflatedPoisson("y", psi=share, mu=rate, observed=y)
    return model


def predator_and_prey():
    """A differential equation solved by hand: Euler's steps in a scan."""
    draw = rng()
    data = np.exp(draw.normal(scale=0.1, size=(60, 2))) * [1.0, 0.5]
    with pm.Model() as model:
        rates = pm.LogNormal("rates", -1, 0.5, shape=4)
        start = pm.LogNormal("start", 0, 0.5, shape=2)
        noise = pm.HalfNormal("noise", 0.5)

        def step(state, rates):
            prey, hunters = state[0], state[1]
            change = pt.stack(
                [rates[0] * prey - rates[1] * prey * hunters, rates[2] * prey * hunters - rates[3] * hunters])
            return state + 0.05 * change

        states = pytensor.scan(
            step, outputs_info=[start], non_sequences=[rates], n_steps=60, strict=True, return_updates=False)
        pm.LogNormal("data", pt.log(pt.maximum(states, 1e-6)), noise, observed=data)
    return model


def bayesian_neural_network():
    draw = rng()
    x = draw.normal(size=(100, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    with pm.Model() as model:
        first = pm.Normal("first", 0, 1, shape=(2, 5))
        second = pm.Normal("second", 0, 1, shape=(5, 5))
        last = pm.Normal("last", 0, 1, shape=5)
        hidden = pt.tanh(pt.dot(pt.tanh(pt.dot(x, first)), second))
        pm.Bernoulli("y", p=pt.sigmoid(pt.dot(hidden, last)), observed=y)
    return model


def survival():
    """Weibull times, some of them censored."""
    draw = rng()
    times = draw.weibull(1.5, size=100) * 2
    limit = 2.5
    with pm.Model() as model:
        shape = pm.Gamma("shape", 2, 1)
        scale = pm.HalfNormal("scale", 3)
        distribution = pm.Weibull.dist(shape, scale)
        pm.Censored("times", distribution, lower=None, upper=limit, observed=np.minimum(times, limit))
    return model


MODELS = {make.__name__: make for make in (
    linear_regression, robust_regression, logistic_regression, eight_schools, radon, normal_mixture, gaussian_process,
    latent_gaussian_process, autoregression, stochastic_volatility, time_series_by_scan, poisson_regression,
    negative_binomial, correlated_slopes, multivariate_normal, ordinal_regression, zero_inflated_poisson,
    predator_and_prey, bayesian_neural_network, survival)}
