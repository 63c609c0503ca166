"""Whether samplers on functions of phintys draw from the posterior: exact means, and simulation-based calibration.

In simulation-based calibration (Talts et al. 2018) parameters are drawn from the prior, data from the model with them,
and posteriors of these data are sampled: among the draws of its posterior each parameter has a rank that is uniform.
"""
import logging
import warnings

import numpy as np
import pytest

pytest.importorskip("pytensor_reference")
pytest.importorskip("pymc", reason="PyMC is not installed: pip install phintys[pymc]")

import phintys

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc as pm
    import pytensor.tensor as pt

    import phintys.interop.pymc

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.long]
RUNS, DRAWS, BINS = 240, 119, 8          # ranks 0 to 119 in eight bins
LEAST_PROBABILITY = 1e-3                  # of a test of uniform ranks; the seeds are fixed
X = np.linspace(-1, 1, 20)
GROUPS = np.repeat(np.arange(4), 5)
RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def quiet():
    """PyMC reports what it samples."""
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


# ---- exact means -----------------------------------------------------------------------------------------------------
def normal_with_known_noise():
    y = RANDOM.normal(1.5, 2.0, 30)
    pm.Normal("mean", 0.5, 1.0)
    pm.Normal("y", pm.modelcontext(None)["mean"], 2.0, observed=y)
    precision = 1 + len(y) / 4
    return {"mean": (0.5 + y.sum() / 4) / precision}


def poisson_with_gamma_rate():
    y = RANDOM.poisson(3.0, 25)
    pm.Poisson("y", pm.Gamma("rate", 2.0, 1.5), observed=y)
    return {"rate": (2 + y.sum()) / (1.5 + len(y))}


def successes_with_beta_probability():
    y = RANDOM.binomial(7, 0.3, 12)
    pm.Binomial("y", 7, pm.Beta("probability", 2.0, 3.0), observed=y)
    return {"probability": (2 + y.sum()) / (5 + 7 * len(y))}


def line_with_known_noise():
    y = 0.5 + 2 * X + RANDOM.normal(size=20)
    pm.Normal("y", pm.Normal("level", 0, 3) + pm.Normal("slope", 0, 3) * X, 1.0, observed=y)
    design = np.column_stack([np.ones(20), X])
    level, slope = np.linalg.solve(design.T @ design + np.eye(2) / 9, design.T @ y)
    return {"level": level, "slope": slope}


def variance_with_inverse_gamma():
    y = RANDOM.normal(0, 1.5, 40)
    pm.Normal("y", 0, pt.sqrt(pm.InverseGamma("variance", 3.0, 2.0)), observed=y)
    return {"variance": (2 + (y ** 2).sum() / 2) / (3 + 20 - 1)}


@pytest.mark.parametrize("build", [normal_with_known_noise, poisson_with_gamma_rate, successes_with_beta_probability,
                                   line_with_known_noise, variance_with_inverse_gamma])
@pytest.mark.parametrize("sampler", ["nutpie", "pymc"])
def test_means_are_those_of_the_exact_posterior(build, sampler):
    """Within four standard errors, which means of batches of draws tell."""
    if sampler == "nutpie":
        pytest.importorskip("nutpie", minversion="0.16.10")
    with pm.Model() as model:
        wanted = build()
    samples = phintys.interop.pymc.sample(model, draws=2000, tune=1000, chains=2, cores=1, random_seed=1, quiet=True,
                                          progressbar=False, nuts_sampler=sampler, compute_convergence_checks=False)
    for name, mean in wanted.items():
        batches = samples.posterior[name].values.reshape(40, 100).mean(1)
        error = batches.std(ddof=1) / np.sqrt(len(batches))
        assert abs(batches.mean() - mean) < 4 * error, (name, batches.mean(), mean, error)


# ---- calibration -----------------------------------------------------------------------------------------------------
def level_and_noise():
    data = pm.Data("seen", np.zeros(20))
    pm.Normal("y", pm.Normal("level", 0, 1), pm.HalfNormal("noise", 1), observed=data)


def groups_around_a_mean():
    data = pm.Data("seen", np.zeros(20))
    spread, offsets = pm.HalfNormal("spread", 1), pm.Normal("offsets", 0, 1, shape=4)
    pm.Normal("y", (pm.Normal("mean", 0, 1) + spread * offsets)[GROUPS], 1.0, observed=data)


def counts_along_a_line():
    data = pm.Data("seen", np.zeros(20, "int64"))
    pm.Poisson("y", pt.exp(pm.Normal("level", 0, 1) + pm.Normal("slope", 0, 1) * X), observed=data)


@pytest.mark.parametrize("build", [level_and_noise, groups_around_a_mean, counts_along_a_line])
def test_ranks_of_what_was_drawn_from_the_prior_are_uniform(build):
    nutpie = pytest.importorskip("nutpie", minversion="0.16.10")
    stats = pytest.importorskip("scipy.stats")
    from phintys.interop.nutpie import compile_pymc_model
    with pm.Model() as model:
        build()
    with phintys.interop.pymc.installed():
        prior = pm.sample_prior_predictive(RUNS, model=model, random_seed=1)
    seen = prior.prior_predictive["y"].values[0]
    compiled, ranks = compile_pymc_model(model), {}
    for run in range(RUNS):
        samples = nutpie.sample(compiled.with_data(seen=seen[run]), draws=8 * DRAWS, tune=400, chains=1, seed=run,
                                progress_bar=False)
        for variable in model.free_RVs:
            drawn = samples.posterior[variable.name].values[0, ::8]
            known = prior.prior[variable.name].values[0, run]
            ranks.setdefault(variable.name, []).append((drawn < known).sum(axis=0))
    for name, found in ranks.items():
        for ranks_of_one in np.reshape(found, (RUNS, -1)).T:
            counts = np.bincount(ranks_of_one * BINS // (DRAWS + 1), minlength=BINS)
            assert stats.chisquare(counts).pvalue > LEAST_PROBABILITY, (name, counts)
