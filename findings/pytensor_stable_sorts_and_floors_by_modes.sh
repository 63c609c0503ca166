#!/bin/bash
# PyTensor 3.3.8: argsort with kind="stable" keeps the order of equal elements, but not in the default mode, NUMBA,
# which takes no notice of the kind. 1 // 0.1 is 9 in FAST_COMPILE, as in Python and NumPy, and 10 in CVM and NUMBA,
# which take the floor of the rounded quotient; -5 // inf is -1, and -0 in NUMBA. And -1 of int64 is below 1 of uint64,
# but not in C.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.3.8 numpy==2.5.5 scipy==1.18.1 numba==0.68.0
shows "FAST_COMPILE: stable True, 1 // 0.1 and -5 // inf [9.0, -1.0], -1 < 1 [True]
CVM: stable True, 1 // 0.1 and -5 // inf [10.0, -1.0], -1 < 1 [False]
NUMBA: stable False, 1 // 0.1 and -5 // inf [10.0, -0.0], -1 < 1 [True]" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "base_compiledir=" + os.getcwd()
import numpy, pytensor, pytensor.tensor as pt

x, y, i, j = pt.dvectors("x", "y") + [pt.vector("i", dtype="int64"), pt.vector("j", dtype="uint64")]
ties = numpy.tile([1.0, 0.0], 20)
for mode in "FAST_COMPILE", "CVM", "NUMBA":
    order = pytensor.function([x], pt.argsort(x, kind="stable"), mode=mode)(ties)
    floors = pytensor.function([x, y], x // y, mode=mode)([1.0, -5.0], [0.1, numpy.inf])
    below = pytensor.function([i, j], i < j, mode=mode)(numpy.array([-1]), numpy.array([1], "uint64"))
    print(f"{mode}: stable {numpy.array_equal(order, numpy.argsort(ties, kind='stable'))}, "
          f"1 // 0.1 and -5 // inf {floors.tolist()}, -1 < 1 {below.tolist()}")
PROGRAM
