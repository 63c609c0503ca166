#!/bin/bash
# PyMC 6.4.0: the density of CAR has the precision matrix Q = tau * (D - alpha * W), but its draws have the covariance
# inv(Q) @ inv(Q) in place of inv(Q): standard normal numbers are solved for with both Cholesky factors, not with one.
# With alpha = 0 SciPy gets the bands of Q as a vector, and every variance is 1. PyMC 5.28.5 does the same. So prior and
# posterior predictive draws of a CAR are not those of the model that is sampled.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pymc==6.4.0 pytensor==3.3.8 numpy==2.5.5 scipy==1.18.1 numba==0.68.0
shows "covariance of draws [[0.14, 0.11], [0.11, 0.14]], inv(Q) [[0.33, 0.17], [0.17, 0.33]], squared [[0.14, 0.11], [0.11, 0.14]]
alpha = 0: variances of draws [1.0, 1.0, 1.0], inv(Q) [1.0, 0.5, 1.0]" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "cxx=,base_compiledir=" + os.getcwd()
import logging, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
import numpy, pymc

def draws(neighbours, alpha, tau):
    sites = pymc.CAR.dist(numpy.zeros(len(neighbours)), neighbours, alpha=alpha, tau=tau)
    return pymc.draw(sites, 50_000, random_seed=1, mode="FAST_COMPILE")

two = numpy.array([[0.0, 1], [1, 0]])
inverse = numpy.linalg.inv(4 * (numpy.diag(two.sum(0)) - 0.5 * two))
covariance = numpy.cov(draws(two, 0.5, 4.0).T)
print(f"covariance of draws {covariance.round(2).tolist()}, inv(Q) {inverse.round(2).tolist()}, "
      f"squared {(inverse @ inverse).round(2).tolist()}")
three = numpy.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
variances = draws(three, 0.0, 1.0).var(0)
print(f"alpha = 0: variances of draws {variances.round(1).tolist()}, inv(Q) {(1 / three.sum(0)).tolist()}")
PROGRAM
