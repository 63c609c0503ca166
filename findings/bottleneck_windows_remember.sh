#!/bin/bash
# Bottleneck 1.6.0, which pandas and xarray use, and numbagg 0.9.6: what has left a moving window stays in it. Sums of
# two after 1e16 are 0, means after an infinite value NaN to the end, variances after 1e8 are 0 by one and -0.5, a
# negative variance, by the other. nansum of int32 wraps in both, the median of int64 near the top is negative,
# and partition leaves NaN where it is, with a larger element behind it.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install bottleneck==1.6.0 numbagg==0.9.6 numpy==2.5.5
shows "moving sums of [1e16, 1, 1, 1], window 2: Bottleneck [nan, 1e+16, 0.0, 0.0], numbagg [nan, 1e+16, 0.0, 0.0]
moving means of [inf, 1, 2, 3], window 2: Bottleneck [nan, inf, nan, nan], numbagg [nan, inf, nan, nan]
variances of [1e8, 1, 2, 1], window 2, the last two: Bottleneck [0.0, 0.0], numbagg [-0.5, -0.5]
nansum of int32 [2**31 - 1] * 3: Bottleneck 2147483645, numbagg 2147483645, NumPy 6442450941
median of int64 [2**62, 2**62]: Bottleneck -4.611686018427388e+18, NumPy 4.611686018427388e+18
partition of [3, nan, 1, 2] at 1: Bottleneck [1.0, 2.0, nan, 3.0], NumPy [1.0, 2.0, 3.0, nan]" <<'PROGRAM'
import bottleneck
import numbagg
import numpy

def windows(name, values):
    values = numpy.array(values, float)
    return [function(values, **window).tolist() for function, window in (
        (getattr(bottleneck, name), {"window": 2}), (getattr(numbagg, name), {"window": 2}))]

first, second = windows("move_sum", [1e16, 1, 1, 1])
print(f"moving sums of [1e16, 1, 1, 1], window 2: Bottleneck {first}, numbagg {second}")
first, second = windows("move_mean", [numpy.inf, 1, 2, 3])
print(f"moving means of [inf, 1, 2, 3], window 2: Bottleneck {first}, numbagg {second}")
first, second = bottleneck.move_var(numpy.array([1e8, 1, 2, 1]), 2, ddof=0), numbagg.move_var(
    numpy.array([1e8, 1, 2, 1]), window=2)
print(f"variances of [1e8, 1, 2, 1], window 2, the last two: Bottleneck {first[2:].tolist()}, "
      f"numbagg {second[2:].tolist()}")
whole = numpy.array([2 ** 31 - 1] * 3, "int32")
print(f"nansum of int32 [2**31 - 1] * 3: Bottleneck {bottleneck.nansum(whole)}, numbagg {numbagg.nansum(whole)}, "
      f"NumPy {numpy.nansum(whole)}")
high = numpy.array([2 ** 62] * 2)
print(f"median of int64 [2**62, 2**62]: Bottleneck {bottleneck.median(high)}, NumPy {numpy.median(high)}")
mixed = numpy.array([3, numpy.nan, 1, 2])
print(f"partition of [3, nan, 1, 2] at 1: Bottleneck {bottleneck.partition(mixed, 1).tolist()}, "
      f"NumPy {numpy.partition(mixed, 1).tolist()}")
PROGRAM
