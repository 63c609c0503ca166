#!/bin/bash
# Dr.Jit 1.5.0, arrays of its scalar backend: the sine of 1e10 in float64 is 9.5e117 and that of 1e9 in float32 is
# -117115, with no warning; one of 1e7 in float32 has no right digit (0.137 for 0.421). A power by an array is NaN for a
# negative base and for 0 to the 0; by the number 3 it is right. erf(NaN) is 1 and sign(NaN) -1, max and min pass NaN
# over while maximum keeps it. The logarithm of 1e-310 is about that of the smallest normal number.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install drjit==1.5.0 numpy==2.5.5
shows "sine of 1e9, 1e10: float64 0.5458, 9.535e+117; NumPy 0.5458, -0.4875
sine of 1e7, 1e8, 1e9: float32 0.1367, -0.9797, -1.171e+05; NumPy 0.4205, 0.9316, 0.5458
cosine of 1e10: float64 -4.597e+126
-2 to the 3: -8.0, by an array nan, 0 to the 0 by an array nan
of NaN: erf 1.0, sign -1.0, max with 1 1.0, maximum with 1 nan
logarithm of 1e-310: -709.1, NumPy -713.8" <<'PROGRAM'
import drjit
import numpy
from drjit.scalar import ArrayXf, ArrayXf64

nan = float("nan")


def values(array):
    return ", ".join(f"{value:.4g}" for value in array)


print(f"sine of 1e9, 1e10: float64 {values(drjit.sin(ArrayXf64([1e9, 1e10])))};",
      f"NumPy {values(numpy.sin([1e9, 1e10]))}")
print(f"sine of 1e7, 1e8, 1e9: float32 {values(drjit.sin(ArrayXf([1e7, 1e8, 1e9])))};",
      f"NumPy {values(numpy.sin(numpy.float32([1e7, 1e8, 1e9])))}")
print("cosine of 1e10: float64", values(drjit.cos(ArrayXf64([1e10]))))
power = drjit.power(ArrayXf64([-2, 0]), ArrayXf64([3, 0]))
print(f"-2 to the 3: {drjit.power(ArrayXf64([-2]), 3)[0]},",
      f"by an array {power[0]}, 0 to the 0 by an array {power[1]}")
unknown, both = ArrayXf64([nan]), ArrayXf64([nan, 1])
print(f"of NaN: erf {drjit.erf(unknown)[0]}, sign {drjit.sign(unknown)[0]}, max with 1 {drjit.max(both)},",
      f"maximum with 1 {drjit.maximum(unknown, ArrayXf64([1]))[0]}")
print("logarithm of 1e-310:", f"{values(drjit.log(ArrayXf64([1e-310])))}, NumPy {numpy.log(1e-310):.4g}")
PROGRAM
