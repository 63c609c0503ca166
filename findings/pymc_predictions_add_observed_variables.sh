#!/bin/bash
# PyMC 5.28.5: sample_posterior_predictive adds the observed variables to the model's own list of them, if no names are
# given: the list is taken without a copy, and extended by the names in the trace, which PyMC looks for among variables.
# The model then counts them twice, and its log-density cannot be built again, so neither can it be sampled again. With
# var_names=["y"] nothing is added. PyMC 6 takes a copy.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.11} install pymc==5.28.5 pytensor==2.38.3 numpy==2.4.6 scipy==1.17.1
shows "['y', 'y']
Cannot convert None to a tensor variable." <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "cxx=,base_compiledir=" + os.getcwd()
import logging
logging.disable(logging.CRITICAL)
import pymc

with pymc.Model() as model:
    pymc.Normal("y", pymc.Normal("x"), 1.0, observed=[1.0, 2.0])
    trace = pymc.sample(draws=5, tune=5, chains=1, cores=1, progressbar=False, compute_convergence_checks=False)
    pymc.sample_posterior_predictive(trace, progressbar=False)
    print([variable.name for variable in model.observed_RVs])
    try:
        model.logp()
    except NotImplementedError as error:
        print(error)
PROGRAM
