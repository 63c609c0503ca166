#!/bin/bash
# PyTensor 3.3.8: x ** 2 of uint8 is declared int16, so that 100 ** 2 fits. In the default mode, NUMBA, and in CVM it is
# rewritten to a product in uint8, which is 16. 1 / x of int8 is declared float64, and
# becomes a reciprocal in float32. The least of [-128, 5] in int8 is 5 in FAST_COMPILE, since min is -max(-x) there.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.3.8 numpy==2.5.5 scipy==1.18.1 numba==0.68.0
shows "x ** 2 of 100 in uint8, declared int16: FAST_COMPILE [10000], CVM [16], NUMBA [16]
1 / x of 3 in int8, declared float64: FAST_COMPILE [0.3333333333333333], CVM [0.3333333432674408], NUMBA [0.3333333432674408]
min of -128, 5 in int8, declared int8: FAST_COMPILE 5, CVM -128, NUMBA -128" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "base_compiledir=" + os.getcwd()
import numpy, pytensor, pytensor.tensor as pt

for text, function, values, dtype in (("x ** 2", lambda x: x ** 2, [100], "uint8"),
                                      ("1 / x", lambda x: 1 / x, [3], "int8"),
                                      ("min", pt.min, [-128, 5], "int8")):
    x = pt.vector("x", dtype=dtype)
    result = function(x)
    found = [f"{mode} {pytensor.function([x], result, mode=mode)(numpy.array(values, dtype)).tolist()}"
             for mode in ("FAST_COMPILE", "CVM", "NUMBA")]
    print(f"{text} of {', '.join(map(str, values))} in {dtype}, declared {result.dtype}: " + ", ".join(found))
PROGRAM
