#!/bin/bash
# NumPy 2.4.6 (2.5.5 the same): `sum` adds integers of 8 bits in 64 bits, and one expects other functions that add to do
# so. einsum, trapezoid, polyval and the weights of histogram add in 8 bits, and wrap around without a warning. std of
# float16 adds squares in float16: that of 200 and -200 is inf.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==2.4.6
shows "sum 200, einsum -56, trapezoid -56.0, polyval 44, histogram -56, std of float16 inf" <<'PROGRAM'
import numpy
two = numpy.array([100, 100], "int8")
print(f"sum {two.sum()}, einsum {numpy.einsum('i->', two)}, "
      f"trapezoid {numpy.trapezoid(numpy.array([100, 100, 100], 'int8'))}, polyval {numpy.polyval(two, numpy.int8(2))}, "
      f"histogram {numpy.histogram([0.0, 0.0], weights=two, bins=1)[0][0]}, "
      f"std of float16 {numpy.array([200, -200], 'float16').std()}")
PROGRAM
