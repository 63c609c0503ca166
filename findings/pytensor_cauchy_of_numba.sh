#!/bin/bash
# PyTensor 3.0.7: in its default mode, Numba, numbers of Cauchy's distribution are (location + z) / scale, where they are
# location + scale * z in the other modes, of the same z. So a distribution of scale 100 around 0 is one of scale 0.01.
# PyTensor 3.3.8 has mended it.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.0.7 numpy==2.4.6 scipy==1.18.1
shows "FAST_COMPILE: half of the numbers are within 94.7
NUMBA: half of the numbers are within 0.00975" <<'PROGRAM'
import numpy, pytensor
from pytensor.tensor.random.basic import cauchy

for mode in "FAST_COMPILE", "NUMBA":
    generator = pytensor.shared(numpy.random.default_rng(3))
    new, draws = cauchy(0.0, 100.0, size=(1001,), rng=generator).owner.outputs
    values = pytensor.function([], draws, mode=mode)()
    print(f"{mode}: half of the numbers are within {numpy.median(numpy.abs(values)):.3g}")
PROGRAM
