#!/bin/bash
# PyTensor 3.3.8: the cumulative sum of bool values is declared as bool, and is int64 in the modes FAST_COMPILE and
# NUMBA, 1 and 2; only C (mode CVM) keeps to the declaration, and gives True and True. What is computed from the result
# in one mode cannot be computed from it in another.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.3.8 numpy==2.4.6 scipy==1.18.1 numba==0.68.0
shows "declared as bool
FAST_COMPILE: int64 [1, 2]
CVM: bool [True, True]
NUMBA: int64 [1, 2]" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "base_compiledir=" + os.getcwd()
import numpy, pytensor, pytensor.tensor

flags = pytensor.tensor.vector("flags", dtype="bool")
total = pytensor.tensor.cumsum(flags)
print("declared as", total.dtype)
for mode in "FAST_COMPILE", "CVM", "NUMBA":
    found = pytensor.function([flags], total, mode=mode)(numpy.array([True, True]))
    print(f"{mode}: {found.dtype} {found.tolist()}")
PROGRAM
