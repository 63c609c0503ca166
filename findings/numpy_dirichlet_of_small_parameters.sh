#!/bin/bash
# NumPy 2.4.6: a Dirichlet sample with parameters of 1e-9 has almost all weight in one place. Generator returns that (it
# draws ratios of beta numbers where parameters are below 0.1); RandomState divides three gamma numbers that are all 0
# and returns NaN. With parameters of exactly 0, which RandomState refuses, Generator returns zeros, whose sum is not 1.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==2.4.6
shows "RandomState [nan nan nan]
Generator [1. 0. 0.], of zeros [0. 0.]" <<'PROGRAM'
import numpy
print("RandomState", numpy.random.RandomState(0).dirichlet([1e-9] * 3))
print(f"Generator {numpy.random.default_rng(0).dirichlet([1e-9] * 3)}, "
      f"of zeros {numpy.random.default_rng(0).dirichlet([0.0, 0.0])}")
PROGRAM
