#!/bin/bash
# SciPy 1.17.1 (1.18.1 the same): `solve_sylvester` of matrices near 0 is wrong by many orders of magnitude, and does
# not say so. LAPACK's trsyl returns y and a scale with a y + y b = scale * q, so that the solution is y / scale; SciPy
# returns scale * y. The scale is 1 unless y would overflow.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==2.4.6 scipy==1.17.1
shows "solve_sylvester 5e+279, q / (a + b) 5e+299" <<'PROGRAM'
import numpy
from scipy import linalg

a, q = numpy.array([[1e-290]]), numpy.array([[1e10]])
print(f"solve_sylvester {linalg.solve_sylvester(a, a, q).item():.3g}, q / (a + b) {(q / (a + a)).item():.3g}")
PROGRAM
