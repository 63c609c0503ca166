#!/bin/bash
# PyMC 6.4.0 with PyTensor 3.3.8 and its default floatX, float64: a parameter written as a Python number becomes a float32
# constant if it is exact there, and whatever is computed from such parameters alone is computed in float32, although
# the result is declared float64. The normalizing term of Student's t subtracts two values of gammaln, so it is wrong by
# 0.06 for nu=1e6 and by 9 for nu=1e8. With numpy.float64 around the number it is right. A truncated normal's is wrong by
# 2e-6 either way, since PyMC itself divides by the root of a literal 2.0, which is float32 too. Samplers do not see
# constant terms, comparisons of models do.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pymc==6.4.0 pytensor==3.3.8 numpy==2.4.6 scipy==1.18.1
shows "Student's t, nu 3e+01: PyMC -1.435512, of numpy.float64 -1.435513, SciPy -1.435513
Student's t, nu 1e+06: PyMC -1.480120, of numpy.float64 -1.418939, SciPy -1.418939
Student's t, nu 1e+08: PyMC -10.282705, of numpy.float64 -1.418939, SciPy -1.418939
normal truncated to 10 .. 11: PyMC 2.3123695, of numpy.float64 2.3123734, SciPy 2.3123717" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "base_compiledir=" + os.getcwd()
import numpy, pymc
import scipy.stats

def density(make, value):
    """The logarithm of the density of one observation, as a model has it."""
    with pymc.Model() as model:
        make("observed", observed=numpy.array([value]))
    return model.compile_logp(mode="FAST_COMPILE")({})

def student(nu):
    return density(lambda name, observed: pymc.StudentT(name, nu=nu, mu=0.0, sigma=1.0, observed=observed), 1.0)

def truncated(lower, upper):
    return density(lambda name, observed: pymc.TruncatedNormal(name, 0.0, 1.0, lower=lower, upper=upper,
                                                               observed=observed), 10.0)

for nu in 30.0, 1e6, 1e8:
    print(f"Student's t, nu {nu:.0e}: PyMC {student(nu):.6f}, of numpy.float64 {student(numpy.float64(nu)):.6f}, "
          f"SciPy {scipy.stats.t.logpdf(1, nu):.6f}")
print(f"normal truncated to 10 .. 11: PyMC {truncated(10.0, 11.0):.7f}, of numpy.float64 "
      f"{truncated(numpy.float64(10), numpy.float64(11)):.7f}, SciPy {scipy.stats.truncnorm(10, 11).logpdf(10):.7f}")
PROGRAM
