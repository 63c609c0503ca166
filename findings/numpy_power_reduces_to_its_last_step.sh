#!/bin/bash
# NumPy 2.5.5: `power.reduce` along the axis in which memory runs forgets the powers before the last one: of 0.5, 2 and 3
# it is 0.125, which is 0.5 ** 3, in place of (0.5 ** 2) ** 3, the last number of `power.accumulate`. Along another axis
# it is right.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install numpy==2.5.5
shows "reduce 0.125, of rows 0.125, of columns 0.015625, accumulate 0.015625" <<'PROGRAM'
import numpy
x = numpy.array([0.5, 2.0, 3.0])
columns = numpy.power.reduce(numpy.stack([x, x], axis=1), axis=0)[0]
print(f"reduce {numpy.power.reduce(x)}, of rows {numpy.power.reduce(x[None], axis=1)[0]}, of columns {columns}, "
      f"accumulate {numpy.power.accumulate(x)[-1]}")
PROGRAM
