#!/bin/bash
# PyTensor 3.3.8: one seed, two modes, other draws. NUMBA, the default, has its own Bernoulli, Cauchy and Gumbel, chooses
# without replacement by a permutation, and divides gamma numbers for every Dirichlet sample: parameters of 1e-6 give
# NaN, which NumPy avoids. The other distributions agree. If all scales are 0, HalfNormal leaves the generator as it is,
# in FAST_COMPILE only, because SciPy returns the location without a draw.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.3.8 numpy==2.4.6 scipy==1.18.1 numba==0.68.0
shows "bernoulli: FAST_COMPILE [1, 1, 0, 1, 0, 0, 1, 0], NUMBA [0, 0, 1, 0, 1, 1, 0, 1]
cauchy: FAST_COMPILE [0.037, 6.374], NUMBA [0.421, -0.254]
gumbel: FAST_COMPILE [0.401, 2.98], NUMBA [0.333, -1.1]
dirichlet: FAST_COMPILE [0.0, 1.0], NUMBA [nan, nan]
choice: FAST_COMPILE [2, 1, 3], NUMBA [4, 0, 1]
normal: FAST_COMPILE [0.346, 0.822], NUMBA [0.346, 0.822]
halfnormal of scale 0: FAST_COMPILE draws nothing, NUMBA draws" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "base_compiledir=" + os.getcwd()
import warnings
import numpy, pytensor, pytensor.tensor as pt
warnings.simplefilter("ignore")

R = pt.random
CASES = {"bernoulli": lambda rng: R.bernoulli(0.5, size=8, rng=rng),
         "cauchy": lambda rng: R.cauchy(0.0, 1.0, size=2, rng=rng),
         "gumbel": lambda rng: R.gumbel(0.0, 1.0, size=2, rng=rng),
         "dirichlet": lambda rng: R.dirichlet(numpy.full(2, 1e-6), rng=rng),
         "choice": lambda rng: R.choice(5, size=3, replace=False, rng=rng),
         "normal": lambda rng: R.normal(size=2, rng=rng)}
for name, draw in CASES.items():
    found = []
    for mode in "FAST_COMPILE", "NUMBA":
        rng = pytensor.shared(numpy.random.default_rng(1))
        found.append(f"{mode} {pytensor.function([], draw(rng), mode=mode)().round(3).tolist()}")
    print(f"{name}: " + ", ".join(found))
found = []
for mode in "FAST_COMPILE", "NUMBA":
    rng = pytensor.shared(numpy.random.default_rng(1))
    sample = R.halfnormal(0.0, numpy.zeros(2), rng=rng)
    pytensor.function([], sample, updates={rng: sample.owner.outputs[0]}, mode=mode)()
    same = rng.get_value().bit_generator.state == numpy.random.default_rng(1).bit_generator.state
    found.append(f"{mode} draws" + " nothing" * same)
print("halfnormal of scale 0: " + ", ".join(found))
PROGRAM
