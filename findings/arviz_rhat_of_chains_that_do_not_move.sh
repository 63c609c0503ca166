#!/bin/bash
# ArviZ 1.3.0: chains that never move. If they stand at one value, rhat is NaN, and the effective sample size is the
# number of draws, the best there is; at two values, rhat is 9.8e15 and the size about 2. Three draws a chain are too
# few: both are NaN, without a warning.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install arviz==1.3.0 numpy==2.4.6 scipy==1.18.1
shows "equal: rhat nan, ess 200
unequal: rhat 9.81e+15, ess 2.17
three draws: rhat nan, ess nan" <<'PROGRAM'
import arviz, numpy

def table(chains):
    chains = numpy.asarray(chains, float)
    return ", ".join(f"{name} {float(value):.3g}" for name, value in (
        ("rhat", arviz.rhat(chains)), ("ess", arviz.ess(chains))))

print("equal:", table(numpy.ones((2, 100))))
print("unequal:", table([numpy.ones(100), numpy.full(100, 2.0)]))
print("three draws:", table([[1, 2, 3], [3, 1, 2]]))
PROGRAM
