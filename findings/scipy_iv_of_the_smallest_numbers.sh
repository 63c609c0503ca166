#!/bin/bash
# SciPy 1.17.1 (1.18.1 the same): the modified Bessel function I_2 at 1e-310 is 1e-620 / 8, so 0. `iv(2, x)` returns NaN
# for subnormal x, while `i0` and `i1` return 1 and 5e-311.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==2.4.6 scipy==1.17.1
shows "iv(2, 1e-310) nan, iv(2, 1e-300) 0.0, i0 1.0, i1 5e-311" <<'PROGRAM'
from scipy import special
print(f"iv(2, 1e-310) {special.iv(2, 1e-310)}, iv(2, 1e-300) {special.iv(2, 1e-300)}, "
      f"i0 {special.i0(1e-310)}, i1 {special.i1(1e-310)}")
PROGRAM
