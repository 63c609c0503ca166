"""Further models of the kinds in PyMC's gallery, in the table of ``gallery_models``."""
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from gallery_models import LINE, draw, gallery, loop
from pytensor.tensor.fft import rfft
from scipy.interpolate import BSpline

transforms = pm.distributions.transforms


# ---- choices, ranks and scores -------------------------------------------------------------------------------------
@gallery
def putts_by_distance():
    """The chance to hole a ball, by the angle and the length of a putt."""
    feet, tries = np.arange(2.0, 20), np.full(18, 50)
    angle = pm.math.invprobit(pt.arcsin((4.25 - 1.68) / 24 / feet) / pm.HalfNormal("angle", 0.1)) * 2 - 1
    length = pm.HalfNormal("length", 0.2) * (feet + 1)
    far = pm.math.invprobit(2 / length) - pm.math.invprobit(-1 / length)
    pm.Binomial("y", tries, pt.clip(angle * far, 1e-9, 1 - 1e-9), observed=(tries / (1 + feet / 6)).astype(int))


@gallery
def binned_normal():
    """Two studies that binned the same normal numbers in other ways."""
    center, width = pm.Normal("center"), pm.HalfNormal("width", 2)
    for name, cuts, seen in (("a", [-1.0, 0.5, 2.0], [20, 31, 30, 9]), ("b", [-2.0, -1.0, 0.0], [4, 9, 25, 30])):
        below = pt.exp(pm.logcdf(pm.Normal.dist(center, width), pt.constant(cuts)))
        chances = pt.diff(pt.concatenate([[0.0], below, [1.0]]))
        pm.Multinomial(name, p=chances, n=sum(seen), observed=seen)


@gallery
def nested_choices():
    """Travellers' choices in two nests of alternatives, by prices."""
    prices, chosen = draw().normal(size=(20, 4)), draw().integers(0, 4, size=20)
    use = pm.Normal("taste", shape=4) + pm.Normal("slope") * prices
    parts = pm.Beta("parts", 2, 2, shape=2)
    logs = []
    for nest, members in enumerate(([0, 1], [2, 3])):
        inside = use[:, members] / parts[nest]
        inclusive = pt.logsumexp(inside, axis=1, keepdims=True)
        logs.append((inside - inclusive, parts[nest] * inclusive))
    total = pt.logsumexp(pt.concatenate([outer for _, outer in logs], axis=1), axis=1, keepdims=True)
    p = pt.concatenate([pt.exp(inner + outer - total) for inner, outer in logs], axis=1)
    pm.Categorical("y", p=p, observed=chosen)


@gallery
def mixed_choices():
    """Tastes that differ between persons by a covariance of their own."""
    person, chosen = np.repeat(np.arange(5), 4), draw().integers(0, 3, size=20)
    features = draw().normal(size=(20, 3, 2))
    factor, *_ = pm.LKJCholeskyCov("factor", n=2, eta=2, sd_dist=pm.HalfNormal.dist(1.0))
    tastes = pm.Normal("mean", shape=2) + pm.Normal("z", shape=(5, 2)) @ factor.T
    pm.Categorical("y", logit_p=(features * tastes[person][:, None, :]).sum(axis=-1), observed=chosen)


@gallery
def rankings():
    """Plackett's and Luce's chances of rankings."""
    orders = np.array([draw().permuted(np.arange(5)) for _ in range(4)])
    strength = pm.ZeroSumNormal("strength", shape=5)
    ranked = strength[orders]
    rest = pt.log(pt.cumsum(pt.exp(ranked[:, ::-1]), axis=1))[:, ::-1]
    pm.Potential("y", (ranked - rest).sum())


@gallery
def partial_credit():
    """Scores of 0 to 2 points, with steps of each item, and guessing in others."""
    points, right = draw().integers(0, 3, size=(8, 5)), draw().integers(0, 2, size=(8, 4))
    ability = pm.Normal("ability", shape=8)
    steps = pm.Normal("steps", shape=(5, 2))
    sums = pt.concatenate([pt.zeros((8, 5, 1)), pt.cumsum(ability[:, None, None] - steps[None], axis=2)], axis=2)
    pm.Categorical("points", p=pm.math.softmax(pm.LogNormal("sharp", 0, 0.3, shape=(1, 5, 1)) * sums, axis=-1),
                   observed=points)
    guess = pm.Beta("guess", 5, 17, shape=4)
    pm.Bernoulli("right", p=guess + (1 - guess) * pm.math.sigmoid(ability[:, None] - pm.Normal("hard", shape=4)),
                 observed=right)


@gallery
def latent_classes():
    answers = draw().integers(0, 2, size=(15, 6))
    shares, chances = pm.Dirichlet("shares", np.ones(3)), pm.Beta("chances", 1, 1, shape=(3, 6))
    each = pm.logp(pm.Bernoulli.dist(p=chances[None]), pt.constant(answers[:, None, :])).sum(axis=-1)
    pm.Potential("y", pm.math.logsumexp(each + pt.log(shares), axis=1).sum())


@gallery
def learning_by_rewards():
    """Choices between two arms by values that a scan learns."""
    chosen, rewards = draw().integers(0, 2, size=20), draw().integers(0, 2, size=20)
    rate, sharp = pm.Beta("rate", 1, 1), pm.HalfNormal("sharp", 10)

    def learn(arm, reward, values, rate):
        return pt.set_subtensor(values[arm], values[arm] + rate * (reward - values[arm]))

    values = loop(learn, sequences=[pt.constant(chosen), pt.constant(rewards)],
                  outputs_info=[pt.constant([0.5, 0.5], dtype="float64")], non_sequences=[rate])
    before = sharp * pt.concatenate([np.full((1, 2), 0.5), values[:-1]])
    logs = before - pm.math.logsumexp(before, axis=1, keepdims=True)
    pm.Potential("y", logs[pt.arange(20), chosen].sum())


@gallery
def elo():
    """Strengths that change after each match."""
    first, second = draw().integers(0, 4, 25), (draw().integers(0, 3, 25) + 1)
    second, won = (first + second) % 4, draw().integers(0, 2, 25)

    def played(a, b, won, strengths, step):
        p = pm.math.sigmoid(strengths[a] - strengths[b])
        change = step * (won - p)
        after = pt.inc_subtensor(strengths[a], change)
        return pt.inc_subtensor(after[b], -change), won * pt.log(p) + (1 - won) * pt.log1p(-p)

    _, logs = loop(played, sequences=[pt.constant(each) for each in (first, second, won)],
                   outputs_info=[pm.Normal("start", shape=4), None], non_sequences=[pm.HalfNormal("step", 0.3)])
    pm.Potential("y", logs.sum())


# ---- hidden causes -------------------------------------------------------------------------------------------------
@gallery
def structural_equations():
    """Two factors behind six indicators, with the residuals' covariance."""
    load = pm.Normal("load", 1, 1, shape=4)
    one, zero = pt.ones(1), pt.zeros(3)
    loadings = pt.stack([pt.concatenate([one, load[:2], zero]), pt.concatenate([zero, one, load[2:]])], axis=1)
    factor, *_ = pm.LKJCholeskyCov("factor", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0))
    slope = pm.Normal("slope")
    path = pt.linalg.inv(pt.eye(2) - pt.set_subtensor(pt.zeros((2, 2))[1, 0], slope))
    spread = path @ factor
    covariance = loadings @ spread @ spread.T @ loadings.T + pt.diag(pm.InverseGamma("own", 3, 2, shape=6))
    pm.MvNormal("y", pm.Normal("mean", shape=6), cov=covariance, observed=draw().normal(size=(10, 6)))


@gallery
def factors_by_packed_loadings():
    packed = pm.Normal("packed", shape=6)
    top = pm.expand_packed_triangular(3, packed)
    loadings = pt.concatenate([top, pm.Normal("rest", shape=(2, 3))])
    covariance = loadings @ loadings.T + pt.eye(5) * pm.HalfNormal("own") ** 2
    pm.MvNormal("y", pt.zeros(5), chol=pt.linalg.cholesky(covariance),
                observed=draw().normal(size=(9, 5)))


@gallery
def moderated_mediation():
    x, z, m = draw().normal(size=(3, 20))
    path = pm.Normal("path", shape=5)
    through = path[0] * x + path[1] * z + path[2] * x * z
    pm.Normal("m", through, pm.HalfNormal("sm"), observed=m)
    pm.StudentT("y", nu=5, mu=path[3] * m + path[4] * x * m, sigma=pm.HalfNormal("sy"), observed=x + z)


@gallery
def occupied_sites():
    """Sites that are occupied or not, visited three times."""
    seen, x = draw().integers(0, 2, size=(12, 3)) * (np.arange(12)[:, None] % 3 > 0), draw().normal(size=12)
    chance = pm.math.sigmoid(pm.Normal("a") + pm.Normal("b") * x)
    found = pm.Beta("found", 2, 2)
    there = pt.log(chance) + pm.logp(pm.Binomial.dist(3, found), seen.sum(axis=1))
    pm.Potential("y", pt.switch(seen.any(axis=1), there, pt.logaddexp(there, pt.log1p(-chance))).sum())


@gallery
def density_that_depends():
    """A mixture whose weights are sticks that break by a probit of a feature."""
    x = np.linspace(-2, 2, 18)
    stick = pm.math.invprobit(pm.Normal("a", shape=4) + pm.Normal("b", shape=4) * x[:, None])
    rest = pt.concatenate([pt.ones((18, 1)), pt.cumprod(1 - stick, axis=1)[:, :-1]], axis=1)
    weights = stick * rest
    centers = pm.Normal("c", shape=4) + pm.Normal("d", shape=4) * x[:, None]
    pm.NormalMixture("y", w=weights / weights.sum(axis=1, keepdims=True), mu=centers, tau=pm.Gamma("t", 1, 1, shape=4),
                     observed=np.sin(x))


@gallery
def mixture_of_truncated_and_censored():
    w = pm.Dirichlet("w", np.ones(2))
    low = pm.Truncated.dist(pm.Normal.dist(pm.Normal("m"), pm.HalfNormal("s")), lower=0.0)
    pm.Mixture("y", w, [low, pm.Gamma.dist(pm.HalfNormal("a", 3), pm.HalfNormal("b", 3))],
               observed=draw().gamma(2, size=9))
    pm.Censored("z", pm.Weibull.dist(pm.HalfNormal("k", 2), pm.HalfNormal("l", 2)), lower=None, upper=1.5,
                observed=np.minimum(draw().weibull(2, size=9), 1.5))


@gallery
def shares_with_ends():
    """Fractions of which some are exactly 0 or 1."""
    y = np.array([0, 0, 0.2, 0.4, 0.55, 0.8, 1.0, 0.1])
    inside = (y > 0) & (y < 1)
    kinds = pm.Dirichlet("kinds", np.ones(3))
    pm.Categorical("kind", kinds, observed=np.where(inside, 1, np.where(y > 0, 2, 0)))
    pm.Beta("y", mu=pm.Beta("mean", 2, 2), sigma=pm.Uniform("spread", 0.05, 0.25), observed=y[inside])
    pm.HurdleGamma("rain", psi=pm.Beta("wet", 2, 2), alpha=2.0, beta=pm.HalfNormal("b"), observed=[0, 0, 1.2, 0.3])
    pm.HurdleLogNormal("wind", psi=0.6, mu=pm.Normal("mu"), sigma=pm.HalfNormal("s"), observed=[0, 0.5, 1.2, 0.3])


# ---- in time -------------------------------------------------------------------------------------------------------
@gallery
def rolling_regression():
    x = draw().normal(size=25)
    start = pm.Normal.dist(0, 1)
    level = pm.GaussianRandomWalk("level", sigma=pm.Exponential("s", 20), init_dist=start, shape=25)
    slope = pm.GaussianRandomWalk("slope", mu=pm.Normal("drift", 0, 0.1), sigma=pm.Exponential("t", 20),
                                  init_dist=start, shape=25)
    pm.Normal("y", level + slope * x, pm.HalfNormal("noise"), observed=np.sin(x))


@gallery
def moving_average():
    """ARMA(1, 1) by its errors."""
    y = draw().normal(size=30)
    level, kept, echo = pm.Normal("level"), pm.Uniform("kept", -1, 1), pm.Uniform("echo", -1, 1)
    errors = loop(lambda now, before, error, level, kept, echo: now - (level + kept * before + echo * error),
                  sequences=[{"input": pt.constant(y), "taps": [0, -1]}], outputs_info=[y[0] - level - kept * level],
                  non_sequences=[level, kept, echo])
    pm.Potential("y", pm.logp(pm.Normal.dist(0, pm.HalfNormal("noise")), errors).sum())


@gallery
def smoothing_with_seasons():
    """Holt's and Winters' exponential smoothing, with a season of four that is a vector of the state."""
    y = 3 + np.sin(np.arange(24) * np.pi / 2) + 0.1 * draw().normal(size=24)
    a, b, c = [pm.Beta(name, 2, 4) for name in "abc"]

    def smooth(now, level, trend, season, a, b, c):
        forecast = level + trend + season[0]
        after = a * (now - season[0]) + (1 - a) * (level + trend)
        trend = b * (after - level) + (1 - b) * trend
        return after, trend, pt.concatenate([season[1:], [c * (now - after) + (1 - c) * season[0]]]), forecast

    *_, forecasts = loop(smooth, sequences=[pt.constant(y)], outputs_info=[
        pm.Normal("level", 3, 1), pm.Normal("trend", 0, 0.1), pm.ZeroSumNormal("season", shape=4), None],
        non_sequences=[a, b, c])
    pm.Normal("y", forecasts, pm.HalfNormal("noise"), observed=y)


@gallery
def growth_with_changes():
    """Logistic growth whose rate changes at fixed times, with waves."""
    t = np.linspace(0, 1, 30)
    places = np.linspace(0.1, 0.8, 5)
    after = (t[:, None] > places) * 1.0
    rate, start, changes = pm.Normal("rate", 0, 1), pm.Normal("start"), pm.Laplace("changes", 0, 0.1, shape=5)
    before = rate + pt.concatenate([[0.0], pt.cumsum(changes)])
    shifts = (places - start) * (1 - before[:-1] / before[1:])
    trend = 5 / (1 + pt.exp(-(rate + pt.dot(after, changes)) * (t - (start + pt.dot(after, shifts)))))
    waves = np.concatenate([np.sin(2 * np.pi * k * t[:, None]) for k in (3, 6)], axis=1)
    pm.Normal("y", trend * (1 + pt.dot(waves, pm.Normal("waves", 0, 0.1, shape=2))), pm.HalfNormal("s"),
              observed=2 + t)


@gallery
def panel_of_vector_autoregressions():
    y = draw().normal(size=(2, 15, 2))
    mean, spread = pm.Normal("mean", 0, 0.3, shape=(2, 2)), pm.HalfNormal("spread", 0.3)
    lags = pm.Deterministic("lags", mean + spread * pm.Normal("z", shape=(2, 2, 2)))
    mixing = pm.Beta("mixing", 2, 2)
    shared, *_ = pm.LKJCholeskyCov("shared", n=2, eta=10, sd_dist=pm.Exponential.dist(1.0))
    for place in range(2):
        own, *_ = pm.LKJCholeskyCov(f"own {place}", n=2, eta=10, sd_dist=pm.Exponential.dist(1.0))
        factor = mixing * shared + (1 - mixing) * own
        pm.MvNormal(f"y {place}", pt.dot(y[place, :-1], lags[place].T), chol=factor, observed=y[place, 1:])


@gallery
def points_that_excite():
    """A process in which each event makes others more likely for a while."""
    times = np.sort(draw().uniform(0, 10, size=14))
    base, height, decay = pm.Gamma("base", 2, 2), pm.Beta("height", 2, 2), pm.Gamma("decay", 3, 2)
    apart = times[:, None] - times
    earlier = apart > 0
    rates = base + height * decay * (pt.exp(-decay * np.where(earlier, apart, 0)) * earlier).sum(axis=1)
    pm.Potential("y", pt.log(rates).sum() - base * 10 - height * (1 - pt.exp(-decay * (10 - times))).sum())


@gallery
def drug_in_the_body():
    """One compartment with absorption, in closed form, of several persons."""
    hours, person = np.tile([0.5, 1, 2, 4, 8], 4), np.repeat(np.arange(4), 5)
    spread = pm.HalfNormal("spread", 0.5, shape=3)
    logs = pm.Normal("mean", [0, 1, -1], 1, shape=3) + spread * pm.Normal("z", shape=(4, 3))
    volume, absorbed, cleared = [pt.exp(logs[person, place]) for place in range(3)]
    amount = 5 * absorbed / (volume * (absorbed - cleared)) * (pt.exp(-cleared * hours) - pt.exp(-absorbed * hours))
    pm.LogNormal("y", pt.log(pt.maximum(amount, 1e-6)), pm.HalfNormal("s"), observed=draw().lognormal(size=20))


# ---- survival ------------------------------------------------------------------------------------------------------
@gallery
def shared_frailty():
    """Hazards that are constant in each interval, and of groups that are frail to another degree."""
    group, x = np.repeat(np.arange(4), 5), draw().normal(size=20)
    ends, length = draw().uniform(0.3, 3, size=20), 0.75
    exposed = np.clip(ends[:, None] - length * np.arange(4), 0, length)
    died = (exposed > 0) & (exposed < length) & (np.arange(20)[:, None] % 3 > 0)
    frail = pm.Gamma("frail", pm.HalfNormal("k", 2), 1.0, shape=4)
    rate = pm.Gamma("hazard", 1, 1, shape=4) * pt.exp(pm.Normal("b") * x)[:, None] * frail[group][:, None]
    pm.Poisson("y", exposed * rate + 1e-9, observed=died.astype(int))


@gallery
def failures_within_intervals():
    """By distribution functions of several families: seen only to have failed between two inspections."""
    low, high = np.array([0.2, 0.5, 1.0]), np.array([0.9, 1.5, 4.0])
    families = [pm.Gamma.dist(pm.HalfNormal("a"), pm.HalfNormal("b")), pm.LogNormal.dist(pm.Normal("m"), 1.0),
                pm.Weibull.dist(pm.HalfNormal("k"), 1.0), pm.StudentT.dist(nu=3, mu=pm.Normal("n"), sigma=1.0),
                pm.InverseGamma.dist(pm.HalfNormal("c"), 1.0), pm.Gumbel.dist(pm.Normal("o"), pm.HalfNormal("p")),
                pm.Beta.dist(pm.HalfNormal("d"), pm.HalfNormal("e")), pm.Wald.dist(pm.HalfNormal("f"), 1.0)]
    for place, family in enumerate(families):
        ends = (low / 5, high / 5) if place == 6 else (low, high)
        pm.Potential(f"y {place}", pm.math.logdiffexp(pm.logcdf(family, ends[1]), pm.logcdf(family, ends[0])).sum())


@gallery
def cured_patients():
    """A share never fails; the times of the others are generalized gamma."""
    t, seen = draw().gamma(2, size=12), np.arange(12) % 3 > 0
    cured = pm.Beta("cured", 1, 3)
    q, s, m = pm.HalfNormal("q"), pm.HalfNormal("s"), pm.Normal("m")
    w = (np.log(t) - m) / s
    u = q ** -2 * pt.exp(q * w)
    log_density = pt.log(q) - pt.log(s * t) - pt.gammaln(q ** -2) + q ** -2 * pt.log(q ** -2) + q ** -2 * q * w - u
    log_survival = pt.log(pt.gammaincc(q ** -2, u))
    pm.Potential("y", pt.switch(seen, pt.log1p(-cured) + log_density,
                                pt.logaddexp(pt.log(cured), pt.log1p(-cured) + log_survival)).sum())


# ---- processes -----------------------------------------------------------------------------------------------------
@gallery
def classified_by_a_process():
    process = pm.gp.Latent(cov_func=pm.HalfNormal("height") ** 2 * pm.gp.cov.Matern52(1, pm.InverseGamma("ls", 3, 2)))
    pm.Bernoulli("y", logit_p=process.prior("f", X=LINE[:, None]), observed=(LINE > 1.5) * 1)


@gallery
def noise_that_varies():
    latent = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, 1.0)).prior("log noise", X=LINE[:, None])
    process = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, pm.Gamma("ls", 2, 1)))
    kernel = process.cov_func(LINE[:, None]) + pt.diag(pt.exp(2 * latent) + 1e-6)
    pm.MvNormal("y", np.zeros(12), cov=kernel, observed=np.sin(LINE))


@gallery
def events_on_a_map():
    """A Cox process whose log-intensity has a kernel of two dimensions."""
    grid = np.stack(np.meshgrid(np.arange(3.0), np.arange(3.0)), -1).reshape(-1, 2)
    kernel = pm.gp.cov.Matern32(2, ls=pm.Gamma("ls", 3, 2, shape=2)) + pm.gp.cov.Linear(2, c=pm.Normal("c", shape=2))
    process = pm.gp.Latent(mean_func=pm.gp.mean.Constant(pm.Normal("mean")), cov_func=kernel)
    pm.Poisson("y", pt.exp(process.prior("f", X=grid)), observed=draw().poisson(2, size=9))


@gallery
def process_on_a_circle():
    angles = np.linspace(0, 2 * np.pi, 10, endpoint=False)[:, None]
    kernel = pm.gp.cov.Circular(1, period=2 * np.pi, tau=pm.Gamma("tau", 2, 0.2) + 4)
    pm.gp.Marginal(cov_func=pm.HalfNormal("h") ** 2 * kernel).marginal_likelihood(
        "y", X=angles, y=np.cos(angles[:, 0]), sigma=pm.HalfNormal("s"))


@gallery
def warped_process():
    kernel = pm.gp.cov.WarpedInput(1, cov_func=pm.gp.cov.Matern52(1, 1.0), args=(pm.HalfNormal("a"), pm.Normal("b")),
                                   warp_func=lambda x, a, b: x + a * pt.tanh(b * x))
    pm.gp.Marginal(cov_func=kernel * pm.gp.cov.RatQuad(1, ls=pm.HalfNormal("ls", 2), alpha=2.0)).marginal_likelihood(
        "y", X=LINE[:, None], y=np.sin(LINE), sigma=pm.HalfNormal("s"))


@gallery
def process_by_random_waves():
    """Random Fourier features, whose spectrum is drawn too."""
    waves = pm.StudentT("waves", nu=5, mu=0, sigma=pm.HalfNormal("width"), shape=4)
    angles = LINE[:, None] * waves
    design = pt.concatenate([pt.cos(angles), pt.sin(angles)], axis=1) / 2
    gram = design.T @ design + pm.HalfNormal("noise") * pt.eye(8)
    pm.Potential("y", -0.5 * pt.linalg.slogdet(gram)[1] - 0.5 * (np.sin(LINE) @ np.sin(LINE) - pt.dot(
        design.T @ np.sin(LINE), pt.linalg.solve(gram, design.T @ np.sin(LINE), assume_a="pos"))))


# ---- priors, transforms and what PyMC derives ----------------------------------------------------------------------
@gallery
def regularized_horseshoe():
    x = draw().normal(size=(15, 6))
    tau = pm.HalfStudentT("tau", nu=2, sigma=0.1)
    local, slab = pm.HalfCauchy("local", 1, shape=6), pm.InverseGamma("slab", 1, 1)
    scale = tau * local * pt.sqrt(slab / (slab + tau ** 2 * local ** 2))
    pm.Normal("y", x @ (scale * pm.Normal("z", shape=6)), pm.HalfNormal("s"), observed=x[:, 0])


@gallery
def shrinkage_of_variance():
    """R2D2: shares of the explained variance."""
    x = draw().normal(size=(15, 4))
    r2, phi, s = pm.Beta("r2", mu=0.5, sigma=0.2), pm.Dirichlet("phi", np.ones(4)), pm.HalfNormal("s")
    scale = s * pt.sqrt(phi * r2 / (1 - r2))
    pm.Normal("y", x @ pm.Normal("b", 0, scale, shape=4), s, observed=x[:, 1])


@gallery
def ordinal_of_groups():
    group, x, y = np.repeat(np.arange(4), 5), draw().normal(size=20), draw().integers(0, 4, size=20)
    cuts = pm.Normal("cuts", [-1.0, 0.0, 1.0], 1, transform=transforms.ordered, shape=3, initval=[-1.0, 0.0, 1.0])
    factor, *_ = pm.LKJCholeskyCov("factor", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0))
    own = pt.dot(factor, pm.Normal("z", shape=(2, 4))).T
    pm.OrderedProbit("y", eta=own[group, 0] + own[group, 1] * x, cutpoints=cuts, sigma=1.0, observed=y,
                     compute_p=False)


@gallery
def transforms_in_turn():
    pm.HalfNormal("a", 1, transform=transforms.Chain([transforms.log, transforms.ordered]), shape=3,
                  default_transform=None, initval=[0.5, 1.0, 2.0])
    pm.Normal("b", 0, 1, transform=transforms.Interval(-1.0, 2.0), shape=2, initval=[0.5, 1.0])
    pm.Exponential("c", 1, transform=transforms.log_exp_m1, default_transform=None)
    pm.Uniform("d", -np.pi, np.pi, transform=transforms.circular, default_transform=None)
    pm.Beta("e", 2, 3, transform=transforms.logodds, default_transform=None, shape=2)
    pm.Dirichlet("f", np.array([[1.0, 2, 3], [3.0, 2, 1]]))


@gallery
def densities_that_pymc_derives():
    pm.CustomDist("a", pm.Normal("m"), dist=lambda m, size: pm.math.sigmoid(pm.Normal.dist(m, 1, size=size)),
                  observed=draw().uniform(0.1, 0.9, size=5))
    pm.CustomDist("b", pm.HalfNormal("s"), dist=lambda s, size: pt.log(pm.Exponential.dist(s, size=size)),
                  observed=draw().normal(size=5))
    pm.CustomDist("c", pm.Normal("n"), dist=lambda n, size: pt.abs(pm.Normal.dist(n, 1, size=size)),
                  observed=draw().gamma(2, size=5))
    pm.CustomDist("d", pm.Normal("o"), dist=lambda o, size: pt.clip(pm.Normal.dist(o, 1, size=size), -1, 1),
                  observed=np.clip(draw().normal(size=5), -1, 1))
    pm.CustomDist("e", pm.Normal("q"), dist=lambda q, size: pt.floor(pm.Normal.dist(q, 1, size=size)),
                  observed=np.floor(draw().normal(size=5)))


@gallery
def quantiles_as_priors():
    """Uniform numbers through quantile functions."""
    u = pm.Uniform("u", 0.01, 0.99, shape=6)
    families = [pm.Normal.dist(1, 2), pm.Exponential.dist(1), pm.Logistic.dist(0, 1), pm.Weibull.dist(2, 1),
                pm.Cauchy.dist(0, 1), pm.Kumaraswamy.dist(2, 3)]
    values = pt.stack([pm.icdf(family, u[place]) for place, family in enumerate(families)])
    pm.Normal("y", values, pm.HalfNormal("s"), observed=np.arange(6.0))


@gallery
def counts_of_many_kinds():
    y = np.array([0, 1, 2, 2, 5])
    pm.BetaBinomial("a", n=6, alpha=pm.HalfNormal("a1"), beta=pm.HalfNormal("a2"), observed=y)
    pm.NegativeBinomial("b", n=pm.HalfNormal("b1", 3), p=pm.Beta("b2", 2, 2), observed=y)
    pm.ZeroInflatedNegativeBinomial("c", psi=pm.Beta("c1", 2, 2), mu=2.0, alpha=pm.HalfNormal("c2"), observed=y)
    pm.ZeroInflatedBinomial("d", psi=0.8, n=6, p=pm.Beta("d1", 2, 2), observed=y)


@gallery
def counts_beyond_hurdles():
    y = np.array([0, 1, 2, 2, 5])
    pm.HurdlePoisson("e", psi=0.7, mu=pm.HalfNormal("e1", 3), observed=y)
    pm.HurdleNegativeBinomial("f", psi=0.7, mu=2.0, alpha=pm.HalfNormal("f1"), observed=y)
    pm.DiscreteWeibull("g", q=pm.Beta("g1", 2, 2), beta=pm.HalfNormal("g2"), observed=y)
    pm.HyperGeometric("h", N=20, k=8, n=9, observed=y)


@gallery
def counts_within_bounds():
    y = np.array([0, 1, 2, 2, 5])
    pm.Geometric("i", pm.Beta("i1", 2, 2), observed=y + 1)
    pm.Truncated("j", pm.Poisson.dist(pm.HalfNormal("j1", 3)), lower=1, upper=6, observed=y[1:])
    pm.Censored("k", pm.Poisson.dist(pm.HalfNormal("k1", 3)), lower=None, upper=5, observed=y)


@gallery
def a_part_of_the_data():
    """A likelihood that counts for more rows than are seen."""
    x = draw().normal(size=8)
    pm.Normal("y", pm.Normal("a") + pm.Normal("b") * pm.Data("x", x), pm.HalfNormal("s"), observed=x, total_size=80)


@gallery
def spectrum():
    """The Whittle likelihood, of a Fourier transform of what is left of the data."""
    y = draw().normal(size=16) + np.sin(np.arange(16))
    rest = y - pm.Normal("height") * np.sin(np.arange(16))
    turned = rfft(rest[None, :])[0]
    power = (turned ** 2).sum(axis=-1)[1:-1]
    waves = np.linspace(0, np.pi, 9)[1:-1]
    kept = pm.Uniform("kept", -0.9, 0.9)
    density = pm.HalfNormal("s") ** 2 / (1 - 2 * kept * np.cos(waves) + kept ** 2)
    pm.Potential("y", -(pt.log(density) + power / density / 16).sum())


# ---- series, scores and survival by other formulas ------------------------------------------------------------------
@gallery
def drift_diffusion():
    """Two choices and their times, by a Wiener process: densities by two series, for short and long times."""
    rt, choice = draw().gamma(3, 0.2, size=20) + 0.3, draw().integers(0, 2, size=20)

    def logp(value, v, a, w, t):
        up = value > 0
        time = pt.maximum((pt.abs(value) - t) / a ** 2, 1e-10)
        v, w = pt.switch(up, -v, v), pt.switch(up, 1 - w, w)
        k = pt.arange(1, 8)[:, None]
        large = pt.pi * pt.sum(k * pt.exp(-k ** 2 * np.pi ** 2 * time / 2) * pt.sin(k * np.pi * w), axis=0)
        j = pt.arange(-3, 4)[:, None]
        small = pt.sum((w + 2 * j) * pt.exp(-(w + 2 * j) ** 2 / 2 / time), axis=0) / pt.sqrt(2 * np.pi * time ** 3)
        density = pt.log(pt.maximum(pt.switch(time > 0.4, large, small), 1e-30))
        result = density - v * a * w - v ** 2 * (pt.abs(value) - t) / 2 - 2 * pt.log(a)
        return pm.distributions.dist_math.check_parameters(
            pt.switch(pt.abs(value) > t, result, -np.inf), a > 0, w > 0, w < 1)
    pm.CustomDist("rt", pm.Normal("v", 0, 2), pm.HalfNormal("a", 2), pm.Beta("w", 5, 5),
                  pm.Uniform("t", 0, 0.3), logp=logp, observed=np.where(choice, rt, -rt))


@gallery
def autoregression_of_panels():
    """Coefficients of two lags and a constant for each of several panels."""
    rho = pm.Normal("rho", 0, 0.3, shape=(4, 1, 3))
    y = draw().normal(size=(4, 2, 15))
    pm.AR("y", rho=rho, sigma=pm.HalfNormal("sigma", shape=(4, 1)), constant=True,
          init_dist=pm.Normal.dist(0, 2, shape=(4, 2, 2)), observed=y)


@gallery
def walk_with_gaps():
    """A random walk seen with noise, but not always."""
    y = draw().normal(size=30).cumsum()
    y[[3, 11, 12, 29]] = np.nan
    level = pm.GaussianRandomWalk("level", mu=pm.Normal("drift", 0, 0.1), sigma=pm.HalfNormal("step"),
                                  init_dist=pm.Normal.dist(0, 3), steps=29)
    pm.Normal("y", level, pm.HalfNormal("noise"), observed=y)


@gallery
def groups_of_correlated_effects():
    """Effects that are correlated within two ways to group the rows."""
    coords = {"group": list("abcde"), "effect": ["one", "slope", "square"], "sort": ["x", "y"]}
    pm.modelcontext(None).add_coords(coords)
    group, sort = draw().integers(0, 5, 40), draw().integers(0, 2, 40)
    x = draw().normal(size=40)
    total = 0
    for name, index, size in (("group", group, 5), ("sort", sort, 2)):
        chol, corr, stds = pm.LKJCholeskyCov(f"chol_{name}", n=3, eta=2, sd_dist=pm.HalfNormal.dist(1, shape=3))
        z = pm.Normal(f"z_{name}", dims=(name, "effect"))
        effects = pm.Deterministic(f"effects_{name}", z @ chol.T, dims=(name, "effect"))
        total = total + effects[index, 0] + effects[index, 1] * x + effects[index, 2] * x ** 2
    pm.StudentT("y", nu=pm.Gamma("nu", 2, 0.1) + 1, mu=total, sigma=pm.HalfCauchy("noise", 1),
                observed=draw().normal(size=40))


@gallery
def four_parameter_items():
    """Right answers by guessing, and wrong ones by slips."""
    right = draw().integers(0, 2, size=(12, 6))
    theta = pm.Normal("theta", shape=12)
    a, b = pm.LogNormal("a", 0, 0.5, shape=6), pm.Normal("b", shape=6)
    c, d = pm.Beta("c", 5, 20, shape=6), pm.Beta("d", 20, 2, shape=6)
    p = c + pt.maximum(d - c, 1e-6) * pm.math.invlogit(a * (theta[:, None] - b))
    pm.Bernoulli("y", p=p, observed=right)


@gallery
def weibull_and_cox():
    """Censored times by Weibull's distribution, by a partial likelihood, and by a hazard in pieces."""
    time, seen = draw().weibull(1.5, 30) * 2 + 0.1, draw().random(30) < 0.7
    x = draw().normal(size=(30, 2))
    alpha = pm.HalfNormal("alpha", 2)
    beta = pt.exp(x @ pm.Normal("coef", shape=2))
    pm.Censored("t", pm.Weibull.dist(alpha=alpha, beta=beta), lower=None, upper=np.where(seen, np.inf, time),
                observed=time)
    order = np.argsort(-time)
    risk = (x @ pm.Normal("coef2", shape=2))[order]
    pm.Potential("partial", ((risk - pt.log(pt.cumsum(pt.exp(risk)))) * seen[order]).sum())
    pieces = pm.GaussianRandomWalk("pieces", sigma=0.5, steps=4, init_dist=pm.Normal.dist(0, 1))
    width = np.clip(time[:, None] - np.arange(5) * 0.8, 0, 0.8)
    hazard = pt.exp(pieces)
    pm.Potential("piecewise", (pt.log(hazard)[np.minimum((time / 0.8).astype(int), 4)] * seen).sum()
                 - (width * hazard).sum())


@gallery
def spatial_lag():
    """A simultaneous autoregression: the determinant of 1 - rho W, and a solution with it."""
    w = (draw().random((12, 12)) < 0.3).astype(float)
    np.fill_diagonal(w, 0)
    w /= np.maximum(w.sum(1, keepdims=True), 1)
    x, y = draw().normal(size=(12, 2)), draw().normal(size=12)
    rho = pm.Uniform("rho", -0.9, 0.9)
    a = pt.eye(12) - rho * w
    sign, logdet = pt.linalg.slogdet(a)
    noise = pm.HalfNormal("noise")
    mean = pt.linalg.solve(a, x @ pm.Normal("b", shape=2))
    residual = a @ (y - mean)
    pm.Potential("y", logdet - 12 * pt.log(noise) - 0.5 * pt.sum(residual ** 2) / noise ** 2)
    pm.Deterministic("inverse", pt.linalg.matrix_inverse(a).sum())


@gallery
def penalized_splines():
    """Splines with a penalty of second differences, and products of two of them."""
    knots = np.r_[[0.0] * 4, np.linspace(0.2, 0.8, 4), [1.0] * 4]
    x = np.sort(draw().uniform(size=30))
    basis = BSpline.design_matrix(x, knots, 3).toarray()
    rough = np.diff(np.eye(8), 2, axis=0)
    w = pm.MvNormal("w", mu=np.zeros(8), tau=pt.eye(8) * 0.1 + pm.HalfCauchy("lam", 2) * (rough.T @ rough))
    tensor = pt.einsum("ni,nj,ij->n", basis, basis[::-1], pm.Normal("inter", 0, 0.3, shape=(8, 8)))
    pm.AsymmetricLaplace("y", kappa=pm.HalfNormal("kappa"), mu=basis @ w + tensor, b=pm.HalfNormal("b"),
                         observed=draw().normal(size=30))


@gallery
def copulas():
    """Four copulas at once: Clayton's, Frank's, Gumbel's and the normal one."""
    u = draw().uniform(0.05, 0.95, size=(20, 2))
    theta = pm.Gamma("theta", 2, 1)
    total = u[:, 0] ** -theta + u[:, 1] ** -theta - 1
    pm.Potential("clayton", (pt.log1p(theta) - (theta + 1) * np.log(u).sum(1) - (2 + 1 / theta) * pt.log(total)).sum())
    delta = pm.Normal("delta", 0, 3)
    d = pt.expm1(-delta)
    e = pt.expm1(-delta * u)
    pm.Potential("frank", (pt.log(-delta * d) - delta * u.sum(1) - 2 * pt.log(pt.abs(d + e[:, 0] * e[:, 1]))).sum())
    k = 1 + pm.HalfNormal("k")
    logs = -np.log(u)
    s = (logs ** k).sum(axis=1)
    pm.Potential("gumbel", (-s ** (1 / k) + ((k - 1) * np.log(logs)).sum(1) + logs.sum(1)
                            + (1 / k - 2) * pt.log(s) + pt.log(s ** (1 / k) + k - 1)).sum())
    rho = pm.Uniform("rho", -1, 1)
    q = pt.sqrt(2.0) * pt.erfinv(2 * u - 1)
    pm.Potential("gauss", (-0.5 * pt.log(1 - rho ** 2) - (rho ** 2 * (q ** 2).sum(1) - 2 * rho * q[:, 0] * q[:, 1])
                           / (2 * (1 - rho ** 2))).sum())


@gallery
def margins_by_inverses():
    """Quantiles and probabilities of several distributions."""
    y = draw().gamma(2, size=15)
    u = pt.exp(pm.logcdf(pm.Gamma.dist(pm.HalfNormal("a", 2), pm.HalfNormal("b")), y))
    z = pm.icdf(pm.Normal.dist(), pt.clip(u, 1e-9, 1 - 1e-9))
    center = pm.Normal("m")
    pm.Potential("z", pm.logp(pm.Normal.dist(center, 1), z).sum())
    q = pm.icdf(pm.Weibull.dist(pm.HalfNormal("c", 2), 2), pt.clip(u, 1e-9, 1 - 1e-9))
    pm.Normal("more", q, 1, observed=draw().normal(size=15))
    s = pm.icdf(pm.Kumaraswamy.dist(pm.HalfNormal("ka"), pm.HalfNormal("kb")), draw().random(4))
    pm.Normal("some", s, 1, observed=draw().normal(size=4))
    for dist in (pm.Gumbel.dist(0.2, 2), pm.Logistic.dist(1, 2), pm.Laplace.dist(0, 2), pm.Cauchy.dist(1, 2),
                 pm.Pareto.dist(3, 1.5), pm.Exponential.dist(2.0), pm.Triangular.dist(0, 2, 1), pm.Moyal.dist(0.2, 2),
                 pm.LogNormal.dist(0, 0.5), pm.HalfNormal.dist(2), pm.HalfCauchy.dist(1), pm.Uniform.dist(-1, 2)):
        pm.Potential(f"quantile{len(pm.modelcontext(None).potentials)}", -0.1 * pm.icdf(dist, pt.sigmoid(center)) ** 2)


@gallery
def state_space_of_two():
    """A local linear trend with gaps, by a Kalman filter in Joseph's form."""
    y = draw().normal(size=20).cumsum()
    seen = np.ones(20)
    seen[[4, 5, 13]] = 0
    q, r = pm.HalfNormal("q", shape=2), pm.HalfNormal("r")
    step, look = pt.as_tensor(np.array([[1.0, 1.0], [0.0, 1.0]])), pt.as_tensor(np.array([[1.0, 0.0]]))

    def filtered(now, there, mean, cov, q, r):
        mean, cov = step @ mean, step @ cov @ step.T + pt.diag(q ** 2)
        error, size = now - (look @ mean)[0], (look @ cov @ look.T)[0, 0] + r ** 2
        gain = (cov @ look.T)[:, 0] / size * there
        keep = pt.eye(2) - pt.outer(gain, look[0])
        return (mean + gain * error, keep @ cov @ keep.T + pt.outer(gain, gain) * r ** 2,
                there * (-0.5 * (pt.log(2 * np.pi * size) + error ** 2 / size)))
    means, covs, logs = loop(filtered, sequences=[pt.as_tensor(y), pt.as_tensor(seen)],
                             outputs_info=[pt.zeros(2), pt.eye(2) * 10, None], non_sequences=[q, r])
    pm.Potential("y", logs.sum())
    pm.Deterministic("level", means[:, 0])


@gallery
def var_of_two_lags():
    """A vector autoregression with priors that shrink by lag."""
    y = draw().normal(size=(25, 3))
    tight = pm.HalfNormal("tight", 0.3)
    lags = pm.Normal("lags", 0, tight / np.arange(1, 3)[:, None, None], shape=(2, 3, 3))
    mean = pm.Normal("c", shape=3) + sum(y[2 - lag:-lag] @ lags[lag - 1].T for lag in (1, 2))
    chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=1, sd_dist=pm.Exponential.dist(1.0))
    pm.MvNormal("y", mean, chol=chol, observed=y[2:])
    companion = pt.concatenate([pt.concatenate([lags[0], lags[1]], axis=1), np.eye(6)[:3]], axis=0)
    pm.Potential("stable", -pt.sum(pt.abs(companion @ companion)))


@gallery
def davidson_ties():
    """Matches with ties."""
    home, away = draw().integers(0, 5, 30), draw().integers(0, 5, 30)
    result = draw().integers(0, 3, 30)
    skill = pm.ZeroSumNormal("skill", sigma=pm.HalfNormal("s"), shape=5)
    gap = skill[home] - skill[away] + pm.Normal("home")
    logits = pt.stack([gap, pm.Normal("tie") + gap / 2, pt.zeros_like(gap)], axis=1)
    pm.Categorical("y", logit_p=logits, observed=result)
