#!/bin/bash
# NumPy 2.4.6: the number of trials until a success of probability 1e-300 does not fit int64. Both interfaces return
# without an error or a warning, one the largest integer, the other the smallest: a negative number of trials.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==2.4.6
shows "Generator 9223372036854775807, RandomState -9223372036854775808" <<'PROGRAM'
import numpy
print(f"Generator {numpy.random.default_rng(0).geometric(1e-300)}, "
      f"RandomState {numpy.random.RandomState(0).geometric(1e-300)}")
PROGRAM
