#!/bin/bash
# PyTensor 3.3.8: three modes, other values for the same expression. At its poles digamma is -inf and NaN by SciPy and
# Numba, and inf in C; the absolute value of inf + nan j is inf by NumPy and NaN in C; 3**-1 of integers raises in
# FAST_COMPILE and is 0 elsewhere; the sign of -0.0 keeps its sign in NUMBA only; round(-0.5) loses it in C only.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.3.8 numpy==2.4.6 scipy==1.18.1 numba==0.68.0
shows "digamma: FAST_COMPILE [-inf, nan], CVM [inf, inf], NUMBA [-inf, nan]
abs: FAST_COMPILE [inf], CVM [nan], NUMBA [inf]
3 ** n: FAST_COMPILE ValueError, CVM [0], NUMBA [0]
sign: FAST_COMPILE [0.0], CVM [0.0], NUMBA [-0.0]
round: FAST_COMPILE [-0.0], CVM [0.0], NUMBA [-0.0]" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "base_compiledir=" + os.getcwd()
import numpy, pytensor, pytensor.tensor as pt

CASES = {"digamma": (pt.digamma, [0.0, -1.0]), "abs": (abs, [complex(numpy.inf, numpy.nan)]),
         "3 ** n": (lambda n: pt.constant(3, dtype="int64") ** n, [-1]), "sign": (pt.sign, [-0.0]),
         "round": (pt.round, [-0.5])}
for name, (function, values) in CASES.items():
    x = pt.as_tensor(values).type()
    found = []
    for mode in "FAST_COMPILE", "CVM", "NUMBA":
        try:
            found.append(f"{mode} {pytensor.function([x], function(x), mode=mode)(values).tolist()}")
        except ValueError as error:
            found.append(f"{mode} {type(error).__name__}")
    print(f"{name}: " + ", ".join(found))
PROGRAM
