#!/bin/bash
# PyMC 6.4.0: the density of ExGaussian is replaced by that of the normal part alone where nu is at most 0.05 * sigma.
# So it jumps there, as the mean mu + nu is forgotten, and its slope by nu is 0 below: a sampler finds no way back. The
# density of NegativeBinomial with a large alpha, once replaced by Poisson's, is a difference of large numbers: at alpha
# = 1e16 it is wrong by 0.18. And the probability that a uniform number is below NaN is 1, that of a normal one NaN.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pymc==6.4.0 pytensor==3.3.8 numpy==2.5.5 scipy==1.18.1 numba==0.68.0
shows "ExGaussian at -3, nu 0.0501: PyMC -5.5608, slope -2.67, SciPy -5.5608
ExGaussian at -3, nu 0.0499: PyMC -5.4189, slope 0.00, SciPy -5.5603
NegativeBinomial at 2, mean 3, alpha 1e+06: PyMC -1.4959, Poisson -1.4959
NegativeBinomial at 2, mean 3, alpha 1e+16: PyMC -1.3182, Poisson -1.4959
logcdf of NaN: Uniform 0.0, Normal nan" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "cxx=,base_compiledir=" + os.getcwd()
import logging, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
import numpy, pymc, pytensor, scipy.stats

def value(variable):
    return float(pytensor.function([], variable, mode="FAST_COMPILE")())

zero, one = numpy.float64(0), numpy.float64(1)
for nu in 0.0501, 0.0499:
    parameter = pytensor.tensor.constant(nu)
    density = pymc.logp(pymc.ExGaussian.dist(mu=zero, sigma=one, nu=parameter), numpy.float64(-3))
    slope = value(pytensor.grad(density, parameter))
    print(f"ExGaussian at -3, nu {nu}: PyMC {value(density):.4f}, slope {slope:.2f}, "
          f"SciPy {scipy.stats.exponnorm(nu).logpdf(-3):.4f}")
for alpha in 1e6, 1e16:
    density = pymc.logp(pymc.NegativeBinomial.dist(mu=numpy.float64(3), alpha=numpy.float64(alpha)), 2)
    print(f"NegativeBinomial at 2, mean 3, alpha {alpha:.0e}: PyMC {value(density):.4f}, "
          f"Poisson {scipy.stats.poisson(3).logpmf(2):.4f}")
print("logcdf of NaN: " + ", ".join(f"{kind.__name__} {value(pymc.logcdf(kind.dist(zero, one), numpy.nan))}"
                                    for kind in (pymc.Uniform, pymc.Normal)))
PROGRAM
