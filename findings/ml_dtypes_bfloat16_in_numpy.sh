#!/bin/bash
# ml_dtypes 0.6.0 in NumPy 2.5.5: the mean of 1000 ones of bfloat16 is 0.256, because they are added one by one, where
# float16 and `dot` have a wider sum. With a NaN, sort changes nothing at all, and nan_to_num leaves it. The mean of
# 7 and 7 of int4 is -1. A float64 is rounded twice: 1 + 2**-8 + 2**-30, above the middle, becomes 1.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install ml_dtypes==0.6.0 numpy==2.5.5
shows "mean of 1000 ones: bfloat16 0.255859375, float16 1.0
dot of 1000 ones with ones: bfloat16 1000.0, sum 256.0
sort of [3, nan, 1, 2]: bfloat16 [3.0, nan, 1.0, 2.0], float16 [1.0, 2.0, 3.0, nan]
unique of [nan, nan, 1]: bfloat16 [nan, nan, 1.0], float16 [1.0, nan]
nan_to_num of [nan, 1]: bfloat16 [nan, 1.0], float16 [0.0, 1.0]
mean of int4 [7, 7]: -1
1 + 2**-8 + 2**-30 in bfloat16: 1.0, the nearest is 1.0078125" <<'PROGRAM'
import ml_dtypes
import numpy
nan, bfloat16 = numpy.nan, ml_dtypes.bfloat16
ones = numpy.ones(1000, bfloat16)
print(f"mean of 1000 ones: bfloat16 {ones.mean()}, float16 {ones.astype('float16').mean()}")
print(f"dot of 1000 ones with ones: bfloat16 {numpy.dot(ones, ones)}, sum {ones.sum()}")
for name, values in ("sort", [3, nan, 1, 2]), ("unique", [nan, nan, 1]), ("nan_to_num", [nan, 1]):
    found, expected = (getattr(numpy, name)(numpy.array(values, dtype)).tolist() for dtype in (bfloat16, "float16"))
    print(f"{name} of {values}: bfloat16 {found}, float16 {expected}")
print(f"mean of int4 [7, 7]: {numpy.array([7, 7], ml_dtypes.int4).mean()}")
value = 1 + 2.0 ** -8 + 2.0 ** -30
lower, upper = bfloat16(1), bfloat16(1 + 2.0 ** -7)
nearest = min(lower, upper, key=lambda one: abs(float(one) - value))
print(f"1 + 2**-8 + 2**-30 in bfloat16: {numpy.array(value).astype(bfloat16)}, the nearest is {nearest}")
PROGRAM
