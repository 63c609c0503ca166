"""PyMC models of the kinds in its gallery of examples, beside the twenty of ``pymc_models``: small, on made data.

Each function adds its variables to the model whose block it runs in.
"""
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.ode import DifferentialEquation
from scipy.interpolate import BSpline

GALLERY = {}
ordered = pm.distributions.transforms.ordered
LINE = np.linspace(0, 3, 12)


def gallery(function):
    GALLERY[function.__name__] = function
    return function


def draw():
    return np.random.default_rng(7)


def made(name):
    """The model of this name."""
    with pm.Model() as model:
        GALLERY[name]()
    return model


def loop(function, **options):
    return pytensor.scan(function, strict=True, return_updates=False, **options)


# ---- mixtures and hidden states ----------------------------------------------------------------------------------
@gallery
def mixture_of_different_kinds():
    parts = [pm.Normal.dist(pm.Normal("center"), 1), pm.StudentT.dist(nu=4, mu=2, sigma=pm.HalfNormal("width"))]
    pm.Mixture("y", w=pm.Dirichlet("w", [1.0, 2.0]), comp_dists=parts, observed=draw().normal(size=15))


@gallery
def stick_breaking_mixture():
    stick = pm.Beta("stick", 1, pm.Gamma("concentration", 1, 1), shape=5)
    left = pt.concatenate([[1.0], pt.extra_ops.cumprod(1 - stick)[:-1]])
    weights = pm.Deterministic("weights", stick * left)
    pm.NormalMixture("y", w=weights / weights.sum(), mu=pm.Normal("mu", 0, 3, shape=5),
                     tau=pm.Gamma("tau", 1, 1, shape=5), observed=draw().normal(size=20))


@gallery
def stick_breaking_weights():
    weights = pm.StickBreakingWeights("weights", pm.Exponential("concentration", 1), K=4)
    pm.Multinomial("y", 20, weights, observed=[9, 5, 3, 2, 1])


@gallery
def mixture_of_vectors():
    parts = [pm.MvNormal.dist(pm.Normal(f"mu{place}", place, 1, shape=2), np.eye(2) * (1 + place)) for place in (0, 1)]
    pm.Mixture("y", w=pm.Dirichlet("w", [1.0, 1.0]), comp_dists=parts, observed=draw().normal(size=(10, 2)))


@gallery
def hidden_markov_model():
    chances = pm.Dirichlet("chances", np.ones((3, 3)) + 2 * np.eye(3))
    centers = pm.Normal("centers", [-1, 0, 1], 1, shape=3, transform=ordered, initval=[-1, 0, 1])
    emitted = pm.logp(pm.Normal.dist(centers, 0.7), draw().normal(size=25)[:, None])
    first = emitted[0] - np.log(3)
    forward = loop(lambda row, state, steps: pm.math.logsumexp(state[:, None] + steps, axis=0)[0] + row,
                   sequences=[emitted[1:]], outputs_info=[first], non_sequences=[pt.log(chances)])
    pm.Potential("y", pm.math.logsumexp(forward[-1]))


@gallery
def capture_and_recapture():
    survival, capture = pm.Beta("survival", 2, 2), pm.Beta("capture", 2, 2)
    never = loop(lambda chance, s, c: 1 - s + s * (1 - c) * chance, outputs_info=[pt.as_tensor(np.float64(1.0))],
                 non_sequences=[survival, capture], n_steps=6)
    pm.Potential("seen", 12 * pt.log(survival * capture) + (np.arange(1, 7) * pt.log(never)).sum())


@gallery
def mixture_of_counts():
    """Abundance that is only seen in part: sums over all numbers."""
    rate, seen = pm.Gamma("rate", 2, 0.5), pm.Beta("seen", 2, 2)
    numbers, counts = np.arange(30), draw().poisson(2, size=8)
    joint = (pm.logp(pm.Poisson.dist(rate), numbers)[None] +
             pm.logp(pm.Binomial.dist(numbers[None], seen), counts[:, None]))
    pm.Potential("y", pm.math.logsumexp(joint, axis=1).sum())


@gallery
def topics():
    share = pm.Dirichlet("share", np.ones((4, 3)))
    words = pm.Dirichlet("words", np.ones((3, 6)))
    pm.Potential("y", (draw().poisson(2, size=(4, 6)) * pt.log(pt.dot(share, words))).sum())


# ---- time series -------------------------------------------------------------------------------------------------
@gallery
def garch():
    pm.GARCH11("y", pm.HalfNormal("omega"), pm.Beta("alpha", 2, 8), pm.Beta("beta", 5, 5), 1.0,
               observed=draw().normal(size=30))


@gallery
def local_level_by_kalman_filter():
    """A level and its trend, filtered: 2 by 2 covariances in a loop."""
    noise, level, trend = (pm.HalfNormal(name, 1) for name in ("noise", "level", "trend"))
    move = np.array([[1.0, 1.0], [0.0, 1.0]])
    change = pt.diag(pt.stack([level, trend]) ** 2)

    def step(y, mean, covariance, found, change, noise):
        mean, covariance = pt.dot(move, mean), pt.dot(pt.dot(move, covariance), move.T) + change
        variance = covariance[0, 0] + noise ** 2
        gain, error = covariance[:, 0] / variance, y - mean[0]
        return (mean + gain * error, covariance - pt.outer(gain, covariance[0]),
                found - 0.5 * (pt.log(2 * np.pi * variance) + error ** 2 / variance))
    found = loop(step, sequences=[pt.as_tensor(np.cumsum(draw().normal(size=20)))],
                 outputs_info=[pt.zeros(2), pt.eye(2) * 10.0, pt.as_tensor(np.float64(0.0))],
                 non_sequences=[change, noise])[2]
    pm.Potential("y", found[-1])


@gallery
def autoregression_that_is_hidden():
    path = pm.AR("path", pm.Normal("rho", 0, 0.3, shape=2), sigma=pm.HalfNormal("s"), steps=13, constant=False,
                 init_dist=pm.Normal.dist(0, 2))
    pm.Poisson("y", pt.exp(path), observed=draw().poisson(2, size=15))


@gallery
def vector_autoregression():
    y = draw().normal(size=(15, 2))
    lag = pm.Normal("lag", 0, 0.4, shape=(2, 2))
    factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2, sd_dist=pm.HalfNormal.dist(1))
    pm.MvNormal("y", pt.dot(y[:-1], lag), chol=factor, observed=y[1:])


@gallery
def random_walk_of_vectors():
    factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=1, sd_dist=pm.Exponential.dist(1))
    walk = pm.MvGaussianRandomWalk("walk", mu=[0.1, 0.0], chol=factor, shape=(8, 2),
                                   init_dist=pm.MvNormal.dist(np.zeros(2), np.eye(2)))
    pm.Normal("y", walk, 0.5, observed=draw().normal(size=(8, 2)))


@gallery
def stochastic_differential_equation():
    pull, noise = pm.HalfNormal("pull"), pm.HalfNormal("noise")
    path = pm.EulerMaruyama("path", dt=0.1, sde_fn=lambda x, pull, noise: (-pull * x, noise), sde_pars=(pull, noise),
                            shape=12, init_dist=pm.Normal.dist(0, 1), initval=0.1 * np.ones(12))
    pm.Normal("y", path, 0.3, observed=draw().normal(size=12))


@gallery
def trend_with_seasons():
    time = np.linspace(0, 1, 24)
    change = pm.Laplace("change", 0, 0.5, shape=3)
    after = (time[:, None] > np.array([0.25, 0.5, 0.75])) * 1.0
    growth = pm.Normal("growth") + pt.dot(after, change)
    offset = pm.Normal("offset") - pt.dot(after, np.array([0.25, 0.5, 0.75]) * change)
    season = pt.dot(np.concatenate([np.sin(2 * np.pi * np.outer(time, [1, 2])), np.cos(2 * np.pi * np.outer(
        time, [1, 2]))], 1), pm.Normal("season", 0, 1, shape=4))
    pm.Normal("y", growth * time + offset + season, pm.HalfNormal("s"), observed=draw().normal(size=24))


@gallery
def change_of_a_rate():
    when = pm.Uniform("when", 0, 20)
    early, late = pm.Exponential("early", 1), pm.Exponential("late", 1)
    share = pm.math.sigmoid(2 * (np.arange(20) - when))
    pm.Poisson("y", (1 - share) * early + share * late, observed=draw().poisson(2, size=20))


@gallery
def walk_of_heavy_tails():
    pm.RandomWalk("y", innovation_dist=pm.StudentT.dist(nu=pm.Gamma("nu", 2, 0.2) + 1, sigma=pm.HalfNormal("s")),
                  init_dist=pm.Normal.dist(0, 1), observed=np.cumsum(draw().normal(size=15)))


# ---- space -------------------------------------------------------------------------------------------------------
def neighbors(size=9):
    found = np.zeros((size, size))
    for place in range(size - 1):
        found[place, place + 1] = found[place + 1, place] = 1
    found[0, 4] = found[4, 0] = found[2, 7] = found[7, 2] = 1
    return found


@gallery
def conditional_autoregression():
    effect = pm.CAR("effect", mu=np.zeros(9), W=neighbors(), alpha=pm.Beta("alpha", 2, 2), tau=pm.Gamma("tau", 2, 2))
    pm.Poisson("y", pt.exp(effect), observed=draw().poisson(2, size=9))


@gallery
def conditional_autoregression_seen():
    pm.CAR("y", mu=pm.Normal("mu", shape=9), W=neighbors(), alpha=pm.Uniform("alpha", 0, 0.95),
           tau=pm.HalfNormal("tau"), observed=draw().normal(size=(2, 9)))


@gallery
def besag_york_mollie():
    share, scale = pm.Beta("share", 0.5, 0.5), pm.HalfNormal("scale")
    effect = pt.sqrt(share) * pm.ICAR("structured", W=neighbors()) + pt.sqrt(1 - share) * pm.Normal("free", shape=9)
    pm.Poisson("y", pt.exp(pm.Normal("level") + scale * effect), observed=draw().poisson(2, size=9))


# ---- curves ------------------------------------------------------------------------------------------------------
@gallery
def splines():
    knots = np.concatenate([[0] * 4, [1.0, 2.0], [3] * 4])
    basis = BSpline.design_matrix(np.linspace(0, 2.99, 20), knots, 3).toarray()
    weights = pm.GaussianRandomWalk("weights", sigma=pm.HalfCauchy("step", 1), init_dist=pm.Normal.dist(0, 1),
                                    shape=basis.shape[1])
    pm.Normal("y", pt.dot(basis, weights), pm.Exponential("s", 1), observed=draw().normal(size=20))


@gallery
def logistic_growth():
    top, rate, middle = pm.LogNormal("top", 1, 1), pm.HalfNormal("rate", 2), pm.Normal("middle", 1, 1)
    pm.LogNormal("y", pt.log(top / (1 + pt.exp(-rate * (LINE - middle)))), pm.HalfNormal("s"),
                 observed=draw().lognormal(size=12))


@gallery
def quantile_regression():
    pm.AsymmetricLaplace("y", mu=pm.Normal("a") + pm.Normal("b") * LINE, b=pm.HalfNormal("s"), q=0.9,
                         observed=draw().normal(size=12))


@gallery
def epidemic_by_runge_kutta():
    rates = pm.LogNormal("rates", -1, 0.5, shape=2)

    def slope(state, rates):
        infected = rates[0] * state[0] * state[1]
        return pt.stack([-infected, infected - rates[1] * state[1]])

    def step(state, rates):
        first = slope(state, rates)
        second = slope(state + 0.25 * first, rates)
        third = slope(state + 0.25 * second, rates)
        return state + (first + 2 * second + 2 * third + slope(state + 0.5 * third, rates)) / 12
    states = loop(step, outputs_info=[pt.as_tensor([0.99, 0.01])], non_sequences=[rates], n_steps=15)
    pm.Beta("y", mu=states[:, 1], sigma=0.01, observed=np.linspace(0.012, 0.04, 15))


@gallery
def decay_by_pymcs_solver():
    times = np.arange(0.5, 3, 0.5)
    equation = DifferentialEquation(func=lambda y, t, p: [-p[0] * y[0] + p[1]], times=times, n_states=1, n_theta=2,
                                    t0=0)
    pm.Normal("y", equation(y0=[1.0], theta=[pm.HalfNormal("a"), pm.HalfNormal("b")])[:, 0], 0.1,
              observed=np.exp(-times))


# ---- copulas, bounds, missing values -----------------------------------------------------------------------------
@gallery
def gaussian_copula():
    values = draw().gamma(2, size=(15, 2))
    shape, scale = pm.HalfNormal("shape", 2, shape=2), pm.HalfNormal("scale", 2, shape=2)
    margin = pm.Weibull.dist(shape, scale)
    normal = pm.math.probit(pt.clip(pt.exp(pm.logcdf(margin, values)), 1e-12, 1 - 1e-12))
    factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2, sd_dist=pm.HalfNormal.dist(1))
    covariance = pt.dot(factor, factor.T)
    width = pt.sqrt(pt.diag(covariance))
    correlation = covariance / width[:, None] / width[None]
    pm.Potential("copula", (pm.logp(pm.MvNormal.dist(np.zeros(2), correlation), normal)
                            - pm.logp(pm.Normal.dist(), normal).sum(-1)).sum() + pm.logp(margin, values).sum())


@gallery
def correlation_matrix():
    correlation = pm.LKJCorr("correlation", n=3, eta=2, **({"return_matrix": True} if pm.__version__ < "6" else {}))
    pm.MvNormal("y", np.zeros(3), cov=correlation + 0.5 * np.eye(3), observed=draw().normal(size=(6, 3)))


@gallery
def tobit():
    line = pm.Normal.dist(pm.Normal("a") + pm.Normal("b") * LINE, pm.HalfNormal("s"))
    pm.Censored("y", line, lower=-0.5, upper=1.0, observed=np.clip(draw().normal(size=12), -0.5, 1.0))


@gallery
def censored_in_intervals():
    time = pm.LogNormal.dist(pm.Normal("mu"), pm.HalfNormal("sigma"))
    first, last = [pm.logcdf(time, edge) for edge in ([1.0, 2.0, 0.5], [2.0, 4.0, 0.7])]
    pm.Potential("y", (last + pt.log1mexp(first - last)).sum())


@gallery
def truncated_regression():
    pm.TruncatedNormal("y", mu=pm.Normal("a") + pm.Normal("b") * LINE, sigma=pm.HalfNormal("s"), lower=-1,
                       observed=np.abs(draw().normal(size=12)))


@gallery
def truncated_by_pymc():
    pm.Truncated("gamma", pm.Gamma.dist(pm.HalfNormal("a", 2), 1.0), lower=0.2, upper=4, observed=[0.5, 1.5, 3.0])
    pm.Truncated("count", pm.Poisson.dist(pm.HalfNormal("rate", 3)), lower=1, observed=[1, 2, 4])
    pm.Truncated("t", pm.StudentT.dist(nu=5, mu=pm.Normal("m")), upper=2, observed=[0.1, -1.0])


@gallery
def missing_values():
    x = np.ma.masked_invalid(np.where(np.arange(12) % 4 == 1, np.nan, LINE))
    seen = pm.Normal("x", pm.Normal("center"), 1, observed=x)
    y = np.ma.masked_invalid(np.where(np.arange(12) % 5 == 2, np.nan, draw().normal(size=12)))
    pm.Normal("y", pm.Normal("b") * seen, pm.HalfNormal("s"), observed=y)


@gallery
def errors_in_variables():
    truth = pm.Normal("truth", 0, pm.HalfNormal("spread", 2), shape=12)
    pm.Normal("x", truth, 0.3, observed=LINE)
    pm.StudentT("y", nu=4, mu=pm.Normal("a") + pm.Normal("b") * truth, sigma=pm.HalfNormal("s"),
                observed=draw().normal(size=12))


# ---- survival ----------------------------------------------------------------------------------------------------
@gallery
def proportional_hazards():
    """Cox's model with rates that are constant in intervals, as Poisson counts."""
    exposure, deaths = draw().uniform(size=(10, 4)), (draw().uniform(size=(10, 4)) < 0.2) * 1
    base = pm.Gamma("base", 0.5, 0.5, shape=4)
    pm.Poisson("y", pt.outer(pt.exp(pm.Normal("b") * (np.arange(10) % 2)), base) * exposure, observed=deaths)


@gallery
def accelerated_failure():
    times, died = draw().weibull(1.5, size=12), np.arange(12) % 3 > 0
    s, line = pm.HalfNormal("s", 2), pm.Normal("a") + pm.Normal("b") * LINE
    scaled = (np.log(times) - line) / s
    pm.Gumbel("seen", mu=line[died], beta=s, observed=np.log(times[died]))
    pm.Potential("longer", pt.log1mexp(-pt.exp(-scaled[~died])).sum())


@gallery
def log_logistic_survival():
    pm.Censored("y", pm.Logistic.dist(pm.Normal("a") + pm.Normal("b") * LINE, pm.HalfNormal("s")), None, 0.7,
                observed=np.minimum(draw().normal(size=12), 0.7))


# ---- classes and orders ------------------------------------------------------------------------------------------
@gallery
def ordinal_probit():
    cuts = pm.Normal("cuts", 0, 2, shape=3, transform=ordered, initval=[-1, 0, 1])
    pm.OrderedProbit("y", eta=pm.Normal("b") * LINE, cutpoints=cuts, observed=np.arange(12) % 4)


@gallery
def cumulative_chances_of_a_simplex():
    share = pm.Dirichlet("share", np.ones(4))
    cuts = pm.math.probit(pt.cumsum(share)[:-1])
    pm.OrderedProbit("y", eta=0.3 * LINE * pm.Normal("b"), cutpoints=cuts, observed=np.arange(12) % 4)


@gallery
def multinomial_regression():
    scores = pt.concatenate([pt.zeros((12, 1)), LINE[:, None] * pm.Normal("b", shape=2) + pm.Normal("a", shape=2)], 1)
    pm.Categorical("y", logit_p=scores, observed=np.arange(12) % 3)


@gallery
def softmax_regression():
    chances = pm.math.softmax(pt.outer(pt.as_tensor(LINE), pm.Normal("b", shape=3)), axis=1)
    pm.Multinomial("y", 5, chances, observed=draw().multinomial(5, [0.2, 0.3, 0.5], size=12))


@gallery
def dirichlet_multinomial():
    share, strength = pm.Dirichlet("share", np.ones(4)), pm.LogNormal("strength", 1, 1)
    pm.DirichletMultinomial("y", n=np.full(5, 20), a=share * strength,
                            observed=draw().multinomial(20, [0.1, 0.2, 0.3, 0.4], size=5))


@gallery
def regression_of_shares():
    strength = pt.exp(pm.Normal("a", 1, 1, shape=3) + LINE[:, None] * pm.Normal("b", 0, 0.3, shape=3))
    pm.Dirichlet("y", strength, observed=draw().dirichlet([1, 2, 3], size=12))


@gallery
def item_responses():
    ability, hardness = pm.Normal("ability", shape=8), pm.Normal("hardness", shape=5)
    power = pm.LogNormal("power", 0, 0.5, shape=5)
    pm.Bernoulli("y", logit_p=power * (ability[:, None] - hardness), observed=draw().integers(0, 2, size=(8, 5)))


@gallery
def pairs_of_competitors():
    skill = pm.ZeroSumNormal("skill", pm.HalfNormal("spread"), shape=6)
    first, second = draw().integers(0, 6, size=(2, 15))
    pm.Bernoulli("y", pm.math.invprobit(skill[first] - skill[second]), observed=np.arange(15) % 2)


# ---- counts ------------------------------------------------------------------------------------------------------
COUNTS = np.array([0, 0, 3, 1, 0, 7, 2, 0, 4, 1, 0, 2])


@gallery
def counts_with_many_zeros():
    rate = pt.exp(pm.Normal("a") + pm.Normal("b") * LINE)
    pm.ZeroInflatedNegativeBinomial("y", psi=pm.Beta("psi", 2, 2), mu=rate, alpha=pm.Gamma("alpha", 2, 1),
                                    observed=COUNTS)
    pm.ZeroInflatedBinomial("z", 0.6, 9, pm.Beta("p", 1, 1), observed=COUNTS)


@gallery
def hurdles():
    psi = pm.Beta("psi", 2, 2)
    positive = np.where(np.arange(12) % 3, draw().gamma(2, size=12), 0.0)
    pm.HurdlePoisson("a", psi=psi, mu=pm.HalfNormal("mu", 3), observed=COUNTS)
    pm.HurdleNegativeBinomial("b", psi=psi, mu=pm.HalfNormal("m", 3), alpha=pm.HalfNormal("alpha"), observed=COUNTS)
    pm.HurdleGamma("c", psi=psi, alpha=pm.HalfNormal("shape"), beta=1.0, observed=positive)
    pm.HurdleLogNormal("d", psi=psi, mu=pm.Normal("n"), sigma=1.0, observed=positive)


@gallery
def beta_binomial_of_rats():
    deaths, number = np.array([0, 1, 2, 5, 4, 9]), np.array([20, 20, 18, 19, 24, 30])
    rate = pm.Beta("rate", pm.HalfCauchy("a", 2), pm.HalfCauchy("b", 2), shape=6)
    pm.Binomial("y", number, rate, observed=deaths)
    pm.BetaBinomial("z", pm.HalfNormal("c", 3), pm.HalfNormal("d", 3), number, observed=deaths)


@gallery
def other_counts():
    pm.Geometric("a", pm.Beta("p", 2, 2), observed=COUNTS + 1)
    pm.DiscreteWeibull("b", pm.Beta("q", 2, 2), pm.HalfNormal("beta"), observed=COUNTS)
    pm.NegativeBinomial("c", p=pm.Beta("r", 2, 2), n=pm.HalfNormal("n", 3), observed=COUNTS)


@gallery
def rugby():
    home, attack = pm.Normal("home"), pm.ZeroSumNormal("attack", pm.HalfStudentT("spread", nu=3, sigma=2.5), shape=4)
    defense = pm.Normal("defense", 0, pm.HalfNormal("other"), shape=4)
    defense = defense - defense.mean()
    at, away = np.array([0, 1, 2, 3, 0, 2]), np.array([1, 2, 3, 0, 2, 1])
    pm.Poisson("y", pt.exp(2 + home + attack[at] - defense[away]), observed=[10, 20, 13, 6, 15, 9])


# ---- hierarchies, sparse effects, factors ------------------------------------------------------------------------
@gallery
def two_levels_of_groups():
    outer, inner = np.repeat([0, 1], 3), np.arange(18) % 6
    top = pm.Normal("top", 0, 3, shape=2)
    middle = pm.Normal("middle", top[outer], pm.HalfCauchy("between", 1), shape=6)
    pm.Normal("y", middle[inner], pm.HalfCauchy("within", 1), observed=draw().normal(size=18))


@gallery
def horseshoe():
    x = draw().normal(size=(15, 6))
    whole, local = pm.HalfCauchy("whole", 0.1), pm.HalfCauchy("local", 1, shape=6)
    slab = pm.InverseGamma("slab", 2, 8)
    shrunk = local * pt.sqrt(slab) / pt.sqrt(slab + whole ** 2 * local ** 2)
    pm.Normal("y", pt.dot(x, pm.Normal("z", shape=6) * whole * shrunk), pm.HalfNormal("s"),
              observed=x[:, 0] + draw().normal(size=15))


@gallery
def two_groups():
    mean, width = pm.Normal("mean", 0, 2, shape=2), pm.Uniform("width", 0.1, 5, shape=2)
    nu = pm.Exponential("nu", 1 / 29) + 1
    for place in (0, 1):
        pm.StudentT(f"y{place}", nu=nu, mu=mean[place], lam=width[place] ** -2, observed=draw().normal(size=8))
    pm.Deterministic("effect", (mean[0] - mean[1]) / pt.sqrt((width ** 2).sum() / 2))


@gallery
def factors():
    lower = pt.set_subtensor(pt.zeros((5, 2))[np.tril_indices(5, 0, 2)], pm.Normal("loadings", 0, 1, shape=9))
    covariance = pt.dot(lower, lower.T) + pt.diag(pm.HalfNormal("own", 1, shape=5) ** 2)
    pm.MvNormal("y", np.zeros(5), cov=covariance, observed=draw().normal(size=(8, 5)))


@gallery
def normal_matrix():
    rows, columns = [pm.LKJCholeskyCov(name, n=2, eta=2, sd_dist=pm.HalfNormal.dist(1))[0] for name in "ab"]
    pm.MatrixNormal("y", mu=np.zeros((2, 2)), rowchol=rows, colchol=columns, observed=draw().normal(size=(2, 2)))


@gallery
def product_of_normal_matrices():
    first, second = [pt.eye(size) + pm.HalfNormal(name) for size, name in ((2, "a"), (3, "b"))]
    pm.KroneckerNormal("y", mu=np.zeros(6), covs=[first, second], sigma=pm.HalfNormal("s"),
                       observed=draw().normal(size=6))


@gallery
def vectors_of_heavy_tails():
    factor, _, _ = pm.LKJCholeskyCov("factor", n=3, eta=2, sd_dist=pm.HalfNormal.dist(1))
    pm.MvStudentT("y", nu=pm.Exponential("nu", 0.1) + 2, mu=pm.Normal("mu", shape=3),
                  scale=pt.dot(factor, factor.T), observed=draw().standard_t(4, size=(6, 3)))


@gallery
def wishart():
    lower = pt.set_subtensor(pt.zeros((3, 3))[np.tril_indices(3)], pm.Normal("z", [1, 0, 1, 0, 0, 1], 1, shape=6))
    pm.Wishart("y", nu=6, V=pt.dot(lower, lower.T) + 0.1 * np.eye(3), observed=np.eye(3) + 0.2)


# ---- Gaussian processes ------------------------------------------------------------------------------------------
def marginal(covariance, mean=None, noise=None):
    process = pm.gp.Marginal(cov_func=covariance, **({} if mean is None else {"mean_func": mean}))
    process.marginal_likelihood("y", X=LINE[:, None], y=np.sin(LINE), sigma=pm.HalfNormal("s") if noise is None
                                else noise)


@gallery
def process_with_a_period():
    height = pm.HalfNormal("height")
    marginal(height ** 2 * pm.gp.cov.Periodic(1, period=pm.LogNormal("period"), ls=pm.Gamma("ls", 2, 1))
             * pm.gp.cov.ExpQuad(1, ls=3.0))


@gallery
def process_of_several_parts():
    cov = pm.gp.cov
    parts = [cov.Matern32(1, ls=pm.Gamma("a", 2, 1)), cov.RatQuad(1, ls=pm.Gamma("b", 2, 1), alpha=pm.HalfNormal("c")),
             cov.Linear(1, c=pm.Normal("d")), cov.Exponential(1, ls=pm.Gamma("e", 2, 1)), cov.WhiteNoise(0.1)]
    total = parts[0]
    for each in parts[1:]:
        total = total + each
    marginal(total, pm.gp.mean.Linear(coeffs=[pm.Normal("f")], intercept=0.1))


@gallery
def process_with_cosines_and_powers():
    cov = pm.gp.cov
    marginal(cov.Cosine(1, ls=pm.Gamma("a", 2, 1)) + cov.Polynomial(1, c=pm.Normal("b"), d=2, offset=0.5) * 0.1
             + cov.Matern12(1, ls=pm.Gamma("c", 2, 1)))


@gallery
def process_whose_scale_varies():
    cov = pm.gp.cov
    scale = pm.HalfNormal("scale")
    marginal(cov.Gibbs(1, lambda x, scale: 0.5 + scale * pt.tanh(x) ** 2, args=(scale,))
             + cov.WarpedInput(1, cov.Matern52(1, ls=pm.Gamma("a", 2, 1)), lambda x, scale: x ** 2 * scale,
                               args=(scale,)))


@gallery
def process_of_two_outputs():
    x = np.stack([np.tile(LINE[:6], 2), np.repeat([0, 1], 6)], 1)
    cov = pm.gp.cov.ExpQuad(2, ls=pm.Gamma("ls", 2, 1), active_dims=[0]) * pm.gp.cov.Coregion(
        2, W=pm.Normal("w", 0, 1, shape=(2, 1)), kappa=pm.HalfNormal("kappa", shape=2), active_dims=[1])
    pm.gp.Marginal(cov_func=cov).marginal_likelihood("y", X=x, y=draw().normal(size=12), sigma=pm.HalfNormal("s"))


@gallery
def process_on_a_grid():
    x = [LINE[:3, None], LINE[:4, None]]
    covs = [pm.gp.cov.ExpQuad(1, ls=pm.Gamma(name, 2, 1)) for name in "ab"]
    pm.gp.MarginalKron(cov_funcs=covs).marginal_likelihood("y", Xs=x, y=draw().normal(size=12),
                                                           sigma=pm.HalfNormal("s"))


@gallery
def hidden_process_on_a_grid():
    x = [LINE[:3, None], LINE[:4, None]]
    covs = [pm.gp.cov.Matern32(1, ls=pm.Gamma(name, 2, 1)) for name in "ab"]
    pm.Poisson("y", pt.exp(pm.gp.LatentKron(cov_funcs=covs).prior("f", Xs=x)), observed=draw().poisson(2, size=12))


def approximate(kind):
    process = pm.gp.MarginalApprox(cov_func=pm.gp.cov.Matern52(1, ls=pm.Gamma("ls", 2, 1)), approx=kind)
    process.marginal_likelihood("y", X=LINE[:, None], Xu=LINE[::3, None], y=np.sin(LINE), sigma=pm.HalfNormal("s"))


@gallery
def process_by_few_points():
    approximate("FITC")


@gallery
def process_by_variation():
    approximate("VFE")


@gallery
def process_by_a_basis():
    process = pm.gp.HSGP(m=[6], c=1.5, cov_func=pm.gp.cov.Matern52(1, ls=pm.InverseGamma("ls", 2, 1)))
    pm.Normal("y", process.prior("f", X=LINE[:, None]), pm.HalfNormal("s"), observed=np.sin(LINE))


@gallery
def process_by_a_basis_with_a_period():
    cov = pm.gp.cov.Periodic(1, period=1.5, ls=pm.InverseGamma("ls", 2, 1))
    process = pm.gp.HSGPPeriodic(m=5, scale=pm.HalfNormal("scale"), cov_func=cov)
    pm.Normal("y", process.prior("f", X=LINE[:, None]), 0.3, observed=np.sin(LINE))


@gallery
def process_of_heavy_tails():
    process = pm.gp.TP(scale_func=pm.gp.cov.ExpQuad(1, ls=pm.Gamma("ls", 2, 1)) + pm.gp.cov.WhiteNoise(0.1),
                       nu=pm.Gamma("nu", 2, 0.1) + 2)
    pm.Normal("y", process.prior("f", X=LINE[:, None]), 0.3, observed=np.sin(LINE))


# ---- distributions -----------------------------------------------------------------------------------------------
@gallery
def skewed_and_heavy():
    x = draw().normal(size=10)
    pm.SkewNormal("a", mu=pm.Normal("m"), sigma=1.0, alpha=pm.Normal("alpha", 1, 2), observed=x)
    pm.ExGaussian("b", mu=pm.Normal("n"), sigma=pm.HalfNormal("s"), nu=pm.HalfNormal("nu"), observed=x)
    pm.SkewStudentT("c", a=pm.HalfNormal("k", 3), b=pm.HalfNormal("l", 3), mu=0.0, sigma=1.0, observed=x)
    pm.Moyal("d", mu=pm.Normal("o"), sigma=pm.HalfNormal("t"), observed=x)
    pm.Laplace("e", mu=pm.Normal("p"), b=pm.HalfNormal("u"), observed=x)


@gallery
def positive():
    x = draw().gamma(2, size=8)
    pm.Wald("a", mu=pm.HalfNormal("m"), lam=pm.HalfNormal("l"), observed=x)
    pm.Rice("b", nu=pm.HalfNormal("nu"), sigma=pm.HalfNormal("s"), observed=x)
    pm.InverseGamma("c", alpha=pm.HalfNormal("alpha", 2), beta=pm.HalfNormal("beta", 2), observed=x)
    pm.Pareto("d", alpha=pm.HalfNormal("k"), m=pm.Uniform("low", 0.01, 0.1), observed=x)
    pm.ChiSquared("e", nu=pm.HalfNormal("f", 4), observed=x)
    pm.Weibull("g", alpha=pm.HalfNormal("h"), beta=pm.HalfNormal("i"), observed=x)


@gallery
def between_bounds():
    x = draw().uniform(0.05, 0.95, size=8)
    pm.Kumaraswamy("a", a=pm.HalfNormal("k"), b=pm.HalfNormal("l"), observed=x)
    pm.LogitNormal("b", mu=pm.Normal("m"), sigma=pm.HalfNormal("s"), observed=x)
    pm.Triangular("c", lower=0, c=pm.Uniform("peak"), upper=1, observed=x)
    pm.Beta("d", mu=pm.Uniform("mean"), nu=pm.HalfNormal("nu", 5), observed=x)
    pm.Uniform("e", 0, pm.Uniform("top", 0.95, 2), observed=x)


@gallery
def directions():
    pm.VonMises("y", mu=pm.VonMises("center", 0.0, 1.0), kappa=pm.HalfNormal("kappa", 3),
                observed=draw().vonmises(0.5, 2, size=10))


@gallery
def interpolated_and_own():
    pm.Interpolated("a", LINE, np.exp(-(LINE - 1) ** 2))
    pm.CustomDist("y", pm.Normal("b"), pm.HalfNormal("s"), logp=lambda value, b, s: -pt.log1p(((value - b) / s) ** 2)
                  - pt.log(s), observed=draw().normal(size=10))


@gallery
def transformed_by_pymc():
    """Densities that PyMC derives: of an exponential, a power, a maximum, sums with a constant."""
    pm.CustomDist("a", pm.Normal("m"), dist=lambda m, size: pt.exp(pm.Normal.dist(m, 1, size=size)) + 1.0,
                  observed=1.0 + draw().lognormal(size=6))
    pm.CustomDist("b", pm.HalfNormal("s"), dist=lambda s, size: pm.HalfNormal.dist(s, size=size) ** 2,
                  observed=draw().gamma(2, size=6))
    pm.CustomDist("c", pm.Normal("n"), dist=lambda n, size: pt.max(pm.Normal.dist(n, 1, size=(5,))), observed=1.5)


@gallery
def sparse_effects():
    import scipy.sparse
    matrix = scipy.sparse.random(12, 5, 0.4, format="csr", random_state=3)
    effects = pm.Normal("effects", 0, pm.HalfNormal("s"), shape=(5, 1))
    pm.Normal("y", pytensor.sparse.structured_dot(pytensor.sparse.as_sparse_variable(matrix), effects)[:, 0], 0.5,
              observed=draw().normal(size=12))


@gallery
def wishart_by_bartlett():
    precision = pm.WishartBartlett("precision", S=np.eye(3) + 0.3, nu=5)
    pm.MvNormal("y", np.zeros(3), tau=precision, observed=draw().normal(size=(6, 3)))


@gallery
def annotators():
    """Annotators whose labels are wrong at rates of their own; the true labels are summed out."""
    labels = np.where(draw().uniform(size=(12, 4)) < 0.7, np.arange(12)[:, None] % 3, draw().integers(0, 3, (12, 4)))
    confusion = pm.Dirichlet("confusion", np.eye(3) * 3 + 1, shape=(4, 3, 3))
    each = pt.log(confusion)[np.arange(4), :, labels].sum(1) + pt.log(pm.Dirichlet("shares", np.ones(3)))
    pm.Potential("labels", pt.logsumexp(each, axis=1).sum())


@gallery
def media_mix():
    """Sales that follow advertisements of the weeks before, which saturate, and the season."""
    spent, weeks = draw().gamma(2, 1, size=(40, 3)), np.arange(40) / 12
    weights = pm.Beta("kept", 3, 3, shape=3) ** np.arange(8)[:, None]
    lagged = pt.stack([pt.concatenate([pt.zeros((lag, 3)), pt.as_tensor(spent)[:40 - lag]]) for lag in range(8)])
    reached = pm.Gamma("steepness", 3, 1, shape=3) * (lagged * (weights / weights.sum(0))[:, None, :]).sum(0)
    sales = (pm.HalfNormal("effects", 2, shape=3) * (1 - pt.exp(-reached)) / (1 + pt.exp(-reached))).sum(1)
    waves = np.stack([wave(2 * np.pi * k * weeks) for k in (1, 2) for wave in (np.sin, np.cos)], 1)
    pm.Normal("y", sales + pt.dot(waves, pm.Laplace("season", 0, 1, shape=4)), 1, observed=draw().normal(3, 1, 40))


@gallery
def states_in_continuous_time():
    rates = pm.Gamma("rates", 2, 2, shape=(3, 3)) * (1 - np.eye(3))
    chances = pt.linalg.expm(0.5 * (rates - pt.diag(rates.sum(axis=1))))
    seen = np.array([0, 1, 1, 2, 0, 2, 1, 0, 0, 1])
    pm.Potential("seen", pt.log(chances[seen[:-1], seen[1:]]).sum())


@gallery
def effects_with_sum_zero():
    first, second = draw().integers(0, 4, 30), draw().integers(0, 3, 30)
    main = pm.ZeroSumNormal("main", sigma=pm.HalfNormal("s"), shape=4)
    both = pm.ZeroSumNormal("both", sigma=pm.HalfNormal("t"), shape=(4, 3), n_zerosum_axes=2)
    pm.NegativeBinomial("y", mu=pt.exp(1 + main[first] + both[first, second]), alpha=pm.Gamma("a", 2, 0.1),
                        observed=draw().poisson(3, 30))


@gallery
def ratings_of_films():
    seen, ratings = draw().uniform(size=(8, 6)) < 0.6, draw().normal(size=(8, 6))
    films = pm.MvNormal("films", mu=np.zeros(2), tau=np.eye(2) * 2, shape=(6, 2))
    pm.Normal("y", (pm.Normal("users", shape=(8, 2)) @ films.T)[seen], pm.HalfNormal("s"), observed=ratings[seen])


@gallery
def extreme_values():
    center, scale = pm.Normal("center", 3, 1), pm.HalfNormal("scale")
    shape = pm.TruncatedNormal("shape", 0, 0.2, lower=-0.4, upper=0.4)
    deviation = (3 + draw().gumbel(size=20) - center) / scale
    inside = pt.maximum(1 + shape * deviation, 1e-12)
    density = pt.switch(pt.abs(shape) < 1e-8, -pt.exp(-deviation) - deviation,
                        -(1 + 1 / shape) * pt.log(inside) - inside ** (-1 / shape)) - pt.log(scale)
    pm.Potential("y", pt.switch(1 + shape * deviation > 0, density, -1e3).sum())


@gallery
def mixture_of_correlated_vectors():
    parts = [pm.MvNormal.dist(pm.Normal(f"center {k}", 3 * k, 1, shape=2), chol=pm.LKJCholeskyCov(
        f"factor {k}", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0))[0]) for k in range(2)]
    pm.Mixture("y", pm.Dirichlet("w", np.ones(2)), parts, observed=draw().normal(1, 2, size=(12, 2)))


@gallery
def growth_curves_of_groups():
    group, time = np.repeat(np.arange(5), 6), np.tile(np.arange(6.0), 5)
    growth = pt.exp(-pm.HalfNormal("speed", shape=5)[group] * (time - pm.Normal("delay", 3, 1)))
    pm.StudentT("y", nu=pm.Gamma("nu", 2, 0.1), mu=pm.LogNormal("size", 1, 0.3, shape=5)[group] * pt.exp(-growth),
                sigma=pm.HalfCauchy("s", 1), observed=draw().normal(2, 0.1, size=30))


@gallery
def covariance_with_penalty():
    scales = pt.diag(pm.HalfNormal("scales", shape=3))
    covariance = scales @ pt.as_tensor(np.eye(3) + 0.3) @ scales
    effects = pm.MvNormal("effects", np.zeros(3), cov=covariance)
    pm.Potential("penalty", pt.linalg.slogdet(covariance)[1] - (pt.log(pt.linalg.eigh(covariance)[0]) ** 2).sum()
                 - pt.linalg.norm(pt.linalg.solve(covariance, effects)))


@gallery
def regimes_by_forward_sums():
    seen = draw().normal(size=25) + 2 * (np.arange(25) > 12)
    chances, centers = pm.Dirichlet("chances", np.full((2, 2), 2.0)), pm.Normal("centers", [0, 2], 1, shape=2)
    each = pm.logp(pm.Normal.dist(centers, pm.HalfNormal("s", shape=2)), seen[:, None])
    sums = loop(lambda now, before, chances: now + pt.logsumexp(before[:, None] + pt.log(chances), axis=0),
                sequences=[each[1:]], outputs_info=[each[0] - np.log(2)], non_sequences=[chances])
    pm.Potential("y", pt.logsumexp(sums[-1]))


@gallery
def sums_of_waves():
    height, phase = pm.HalfNormal("height", shape=5), pm.VonMises("phase", 0, 1, shape=5)
    angles = 2 * np.pi * np.arange(1, 6)[:, None] * np.linspace(0, 1, 32)
    wave = (height[:, None] * pt.cos(angles + phase[:, None])).sum(0)
    pm.Potential("roughness", -0.5 * (pt.diff(wave, n=2) ** 2).sum())
    pm.Normal("y", pt.cumsum(wave) / 10, pm.HalfNormal("s"), observed=draw().normal(size=32))
