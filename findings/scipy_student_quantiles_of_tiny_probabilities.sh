#!/bin/bash
# SciPy 1.18.1: quantiles of Student's distribution of tiny probabilities have the wrong sign or stop. With 3 degrees of
# freedom stdtrit(3, 1e-300) is +inf and t(3).isf(1e-300) -inf (about -1.03e100 and +1.03e100, and stdtr of these is
# right); with half a degree, -4.74e153 for each probability below 1e-77. With 1 and 2 degrees all is right.
# The logarithm of Laplace's density is -inf from 746 on, where it is -746.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install scipy==1.18.1 numpy==2.5.5
shows "stdtrit(3, 1e-200) -2.3976e+66
stdtrit(3, 1e-300) inf
stdtr(3, -1.0331108e+99) 1.0000e-297
t(3).isf(1e-300) -inf
t(1).isf(1e-300) 3.1831e+299
stdtrit(0.5, 1e-100) -4.7404e+153
stdtrit(0.5, 1e-150) -4.7404e+153
laplace.logpdf(700) -700.69
laplace.logpdf(1000) -inf" <<'PROGRAM'
import numpy
from scipy import special, stats
numpy.seterr(all="ignore")
print(f"stdtrit(3, 1e-200) {special.stdtrit(3, 1e-200):.5g}")
print(f"stdtrit(3, 1e-300) {special.stdtrit(3, 1e-300):.5g}")
print(f"stdtr(3, -1.0331108e+99) {special.stdtr(3, -1.0331108e99):.4e}")
print(f"t(3).isf(1e-300) {stats.t(3).isf(1e-300):.5g}")
print(f"t(1).isf(1e-300) {stats.t(1).isf(1e-300):.5g}")
for probability in 1e-100, 1e-150:
    print(f"stdtrit(0.5, {probability:g}) {special.stdtrit(0.5, probability):.5g}")
for x in 700, 1000:
    print(f"laplace.logpdf({x}) {stats.laplace.logpdf(x):.5g}")
PROGRAM
