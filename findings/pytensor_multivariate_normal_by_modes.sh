#!/bin/bash
# PyTensor 3.3.8: multivariate normal numbers by the method "eigh" differ from mode to mode for one seed, because NumPy
# and PyTensor's Numba code call different routines of LAPACK, which choose the signs of eigenvectors differently. By
# "cholesky", the default, they agree.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.3.8 numpy==2.5.5 scipy==1.18.1 numba==0.68.0
shows "cholesky: modes agree
eigh: modes differ" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "base_compiledir=" + os.getcwd()
import warnings
import numpy, pytensor, pytensor.tensor as pt
warnings.simplefilter("ignore")

factor = numpy.random.default_rng(0).normal(size=(5, 5))
for method in "cholesky", "eigh":
    found = []
    for mode in "FAST_COMPILE", "NUMBA":
        rng = pytensor.shared(numpy.random.default_rng(1))
        sample = pt.random.multivariate_normal(numpy.zeros(5), factor @ factor.T, method=method, rng=rng)
        found.append(pytensor.function([], sample, mode=mode)())
    print(f"{method}: modes " + ("agree" if numpy.allclose(*found) else "differ"))
PROGRAM
