"""Draws from PyMC models by phintys and PyTensor's other back ends: prior, posterior predictive, and single draws.

    python asv_bench/compare_pymc_draws.py [--modes PHINTYS,NUMBA,CVM] [--cases NAME,...] [--rounds 5]

Everything runs in one process, the modes one after the other in each round; of the processor's seconds, compiling
included, the smallest counts. The first round fills PyTensor's caches of compiled code.
"""
import argparse
import gc
import logging
import time
import warnings

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc as pm
    import pytensor

    from phintys.interop.pymc import installed

RANDOM = np.random.default_rng(0)


def small():
    with pm.Model() as model:
        mean, spread = pm.Normal("mean"), pm.HalfNormal("spread")
        x = pm.Normal("x", mean, spread, shape=10)
        pm.Poisson("count", pm.math.exp(x))
    return model


def eight_schools():
    with pm.Model() as model:
        mean, spread = pm.Normal("mean", 0, 5), pm.HalfCauchy("spread", 5)
        effect = pm.Normal("effect", mean, spread, shape=8)
        pm.Normal("y", effect, np.full(8, 12.0), observed=np.arange(8.0))
    return model


def radon(rows=919, groups=85):
    group, floor = RANDOM.integers(groups, size=rows), RANDOM.integers(2, size=rows)
    with pm.Model() as model:
        means, spreads = pm.Normal("means", 0, 10, shape=2), pm.HalfCauchy("spreads", 5, shape=2)
        a, b = [pm.Normal(name, means[place], spreads[place], shape=groups) for place, name in enumerate("ab")]
        pm.Normal("y", a[group] + b[group] * floor, pm.HalfCauchy("noise", 5), observed=RANDOM.normal(size=rows))
    return model


def gaussian_process(points=60, new=80):
    x = np.linspace(0, 1, points)[:, None]
    with pm.Model() as model:
        length, height, noise = pm.Gamma("length", 2, 1), pm.HalfNormal("height", 2), pm.HalfNormal("noise", 1)
        process = pm.gp.Marginal(cov_func=height ** 2 * pm.gp.cov.ExpQuad(1, length))
        process.marginal_likelihood("y", X=x, y=np.sin(6 * x[:, 0]), sigma=noise)
        process.conditional("f", np.linspace(0, 1.2, new)[:, None])
    return model


def in_mode(run):
    """By the name of a mode, run in it as the default one; PHINTYS with all that is installed."""
    def run_in(mode):
        with installed() if mode == "PHINTYS" else pytensor.config.change_flags(mode=mode):
            return run()
    return run_in


def prior(model, draws):
    return in_mode(lambda: pm.sample_prior_predictive(draws, model=model, random_seed=1))


def posterior(model, draws, name):
    """Predictions of a variable from draws of the prior, which take as long as those of a posterior."""
    given = [variable.name for variable in model.free_RVs if variable.name != name]
    points = pm.sample_prior_predictive(draws, model=model, var_names=given, random_seed=2).prior
    return in_mode(lambda: pm.sample_posterior_predictive(points, model=model, var_names=[name], random_seed=3,
                                                          progressbar=False))


def likelihood(model, draws):
    """The log-likelihoods of all rows at draws of the prior."""
    points = pm.sample_prior_predictive(draws, model=model, random_seed=2)
    points["posterior"] = points["prior"]
    return in_mode(lambda: pm.compute_log_likelihood(points, model=model, extend_inferencedata=False,
                                                     progressbar=False))


def calls(model, count):
    compiled = {}

    def run(mode):
        if mode not in compiled:
            compiled[mode] = pm.pytensorf.compile([], [model["x"], model["count"]], mode=mode)
        for _ in range(count):
            compiled[mode]()
    return run


CASES = {
    "pm.draw, one": lambda: (lambda model: in_mode(lambda: pm.draw(model["x"], random_seed=1)))(small()),
    "pm.draw, 10,000 of two": lambda: (lambda model: in_mode(lambda: pm.draw(
        [model["x"], model["count"]], 10_000, random_seed=1)))(small()),
    "10,000 calls of that function": lambda: calls(small(), 10_000),
    "prior predictive, eight schools, 5,000": lambda: prior(eight_schools(), 5000),
    "posterior predictive, radon, 4,000": lambda: posterior(radon(), 4000, "y"),
    "log-likelihoods, radon, 4,000": lambda: likelihood(radon(), 4000),
    "posterior predictive, Gaussian process, 1,000": lambda: posterior(gaussian_process(), 1000, "f"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default="PHINTYS,NUMBA,CVM")
    parser.add_argument("--cases", default=";".join(CASES), help="names, with semicolons between them")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    modes = options.modes.split(",")
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    print(f"{'CPU milliseconds':45}" + "".join([f"{mode:>10}" for mode in modes]))
    for name in options.cases.split(";"):
        run, spent = CASES[name](), {mode: [] for mode in modes}
        for _ in range(options.rounds):
            for mode in modes:
                gc.collect()
                start = time.process_time()
                run(mode)
                spent[mode].append(time.process_time() - start)
        print(f"{name:45}" + "".join([f"{min(spent[mode]) * 1e3:10.1f}" for mode in modes]), flush=True)


if __name__ == "__main__":
    main()
