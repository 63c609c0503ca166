#!/bin/bash
# Numbagg 0.9.6 (Numba 0.68.1, NumPy 2.5.5): variances of groups and of windows are differences of two sums of squares.
# Those of four numbers near 1e9 are 0 in a group and in windows, and right over a whole array. Groups of int8 are added
# in int8: their sum wraps. By flox 0.11.2 with engine="numbagg" the nanvar of 100 and 100 in int8 is 16384, and its var
# is 0; and all() of a group that nothing is in is True, where the other engines say False. Numbagg divides by n - 1.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install numbagg==0.9.6 flox==0.11.2 numba==0.68.1 numpy==2.5.5 scipy==1.18.1 pandas==3.1.1
shows "variance of [0, 1, 2, 3] + 1e9: all 1.667, of a group 0.0, of windows of two [nan, 0.0, 0.0, 0.0]
sum of 100, 100 in int8: all 200, of a group -56
variance of 100, 100 in int8: all 0.0, of a group 0.0
flox nanvar of 100, 100 in int8: flox 0.0, numpy 0.0, numbagg 16384.0
flox var of 100, 100 in int8: flox 0.0, numpy 0.0, numbagg 0.0
flox all of nothing: flox False, numpy False, numbagg True" <<'PROGRAM'
import numbagg
import numpy
from flox.core import groupby_reduce
large, small, one = 1e9 + numpy.arange(4.), numpy.full(2, 100, "int8"), numpy.zeros(4, int)
print("variance of [0, 1, 2, 3] + 1e9:", f"all {numbagg.nanvar(large):.3f},",
      f"of a group {numbagg.group_nanvar(large, one)[0]},",
      "of windows of two", numbagg.move_var(large, window=2).tolist())
print(f"sum of 100, 100 in int8: all {numbagg.nansum(small)}, of a group {numbagg.group_nansum(small, one[:2])[0]}")
print(f"variance of 100, 100 in int8: all {numbagg.nanvar(small)},",
      f"of a group {numbagg.group_nanvar(small, one[:2])[0]}")

def engines(function, values, groups, shown):
    found = [groupby_reduce(values, one[:2], func=function, engine=engine, expected_groups=numpy.arange(groups))[0]
             for engine in ("flox", "numpy", "numbagg")]
    print(f"flox {function} of {shown}: flox {found[0][-1]}, numpy {found[1][-1]}, numbagg {found[2][-1]}")

engines("nanvar", small, 1, "100, 100 in int8")
engines("var", small, 1, "100, 100 in int8")
engines("all", small, 2, "nothing")
PROGRAM
