#!/bin/bash
# PyTensor 2.38.3 without a C compiler (cxx=): the mode FAST_RUN is a tuple that contains a mode, and every function with
# mode="FAST_RUN" is refused, while the default mode, which has the same rewrites, works. PyTensor 3 has it mended.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.11} install pytensor==2.38.3 numpy==2.4.6 scipy==1.17.1
shows "None 2.0
FAST_COMPILE 2.0
FAST_RUN We do not support the passing of multiple modes" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "cxx=,base_compiledir=" + os.getcwd()
import pytensor, pytensor.tensor as pt

x = pt.dvector("x")
for mode in None, "FAST_COMPILE", "FAST_RUN":
    try:
        print(mode, pytensor.function([x], pt.exp(x).sum(), mode=mode)([0.0, 0.0]))
    except ValueError as error:
        print(mode, error)
PROGRAM
