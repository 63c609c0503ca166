#!/bin/bash
# NumPy 2.4.6 (2.5.5 the same): the quantile of integers of 8 bits is interpolated from a difference that is computed in
# 8 bits. So the middle of 100 and -100 is 128, outside of the data; of 60 and -90 it is 113. The median of the same
# arrays, and quantiles of the same numbers in 16 bits, are right. A RuntimeWarning tells of it.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==2.4.6
shows "int8 [100, -100]: quantile 128.0, median 0.0, quantile of int16 0.0
int8 [60, -90]: quantile 113.0, median -15.0, quantile of int16 -15.0" <<'PROGRAM'
import numpy
for pair in [100, -100], [60, -90]:
    small, wide = numpy.array(pair, "int8"), numpy.array(pair, "int16")
    print(f"int8 {pair}: quantile {numpy.quantile(small, 0.5)}, median {numpy.median(small)}, "
          f"quantile of int16 {numpy.quantile(wide, 0.5)}")
PROGRAM
