#!/bin/bash
# nutpie 0.16.11 with PyMC 6.4.0: what gets lost without a word. Data of integers that are replaced by fractions
# (with_data(n=[1.9, 2.9])) are cut to 1 and 2; a variable that is named "draw" is not stored, because its dimension of
# this name takes its place (and pymc.sample with its own sampler loses it, too). The method benchmark_logp of a
# compiled PyMC model calls a method that does not exist.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install nutpie==0.16.11 pymc==6.4.0 pytensor==3.3.8 numba==0.68.0 numpy==2.4.6
shows "the mean with n = [1.9, 2.9]: 3.0
stored by nutpie: ['x']
stored by pymc.sample: ['x']
benchmark_logp: AttributeError" <<'PROGRAM'
import logging, os
os.environ["PYTENSOR_FLAGS"] = "base_compiledir=" + os.getcwd()
import numpy, nutpie, pymc

logging.getLogger("pymc").setLevel(logging.CRITICAL)
with pymc.Model() as model:
    n = pymc.Data("n", numpy.array([1, 2]))
    x = pymc.Normal("x", n.sum(), 0.01)
    pymc.Deterministic("draw", 2 * x)
    own = pymc.sample(20, tune=50, chains=1, cores=1, nuts_sampler="pymc", random_seed=1, progressbar=False)
compiled = nutpie.compile_pymc_model(model)
options = dict(draws=100, tune=200, chains=2, seed=1, progress_bar=False)
found = nutpie.sample(compiled.with_data(n=[1.9, 2.9]), **options).posterior
print("the mean with n = [1.9, 2.9]:", round(float(found["x"].mean()), 1))
print("stored by nutpie:", list(found.data_vars))
print("stored by pymc.sample:", list(own.posterior.data_vars))
try:
    compiled.benchmark_logp(numpy.zeros(1), 5, 1)
except AttributeError as error:
    print("benchmark_logp:", type(error).__name__)
PROGRAM
