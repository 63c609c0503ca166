#!/bin/bash
# PyMC 5.28.5 with PyTensor 2.38.3, floatX float64: WishartBartlett builds its triangular factor in an array of float32,
# and what is set into it is rounded without a word. The matrix is declared float64 and has the precision of float32; so
# has the gradient of every model with it, which differs from the exact one by 1e-7 and more. PyMC 6 has another one.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.11} install pymc==5.28.5 pytensor==2.38.3 numpy==2.4.6 scipy==1.17.1
shows "float64, exp(0.1) = 1.105170918076, first element 1.105170885685" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "cxx=,base_compiledir=" + os.getcwd()
import logging, math
logging.disable(logging.CRITICAL)
import numpy, pymc

with pymc.Model() as model:
    pymc.WishartBartlett("precision", S=numpy.eye(2), nu=4)
point = {"precision_c_log__": numpy.array([0.1, 0.2]), "precision_z": numpy.array([0.3])}
found = model.compile_fn(model.replace_rvs_by_values([model["precision"]]), mode="FAST_COMPILE",
                         inputs=model.value_vars)(point)[0]
print(f"{found.dtype}, exp(0.1) = {math.exp(0.1):.12f}, first element {found[0, 0]:.12f}")
PROGRAM
