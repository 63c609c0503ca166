#!/bin/bash
# PreliZ 0.28.0: every upper tail is 1 - cdf, so that P(x > 40) of an exponential variable is 0 and its quantile for
# 1e-300 is infinity. Quantiles of skewed normal, ex-Gaussian and Wald variables end where rounding of cdf does: -2.63
# for -36.2, and -2.98 beside other probabilities. The density of a uniform variable at NaN is 0.5, a beta's cdf is 1.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install preliz==0.28.0 arviz==1.3.0 scipy==1.18.1 numpy==2.5.5
shows "Exponential(2).sf(40): PreliZ 0, SciPy 1.8e-35
Exponential(2).isf(1e-300): PreliZ inf, SciPy 345
SkewNormal(0, 1, 3).ppf(1e-300): PreliZ -2.63, SciPy -36.2
ExGaussian(0, 1, 2).ppf(1e-300): PreliZ -13.8, SciPy -36.9
Wald(1, 2).ppf(1e-300): PreliZ 0.00953, SciPy 0.00145
Uniform(0, 2).pdf(nan): PreliZ 0.5, SciPy nan
Beta(0.5, 0.5).cdf(nan): PreliZ 1, SciPy nan" <<'PROGRAM'
import numpy
import preliz
from scipy import stats

for name, parameters, of_scipy, function, x in (
        ("Exponential", (2,), stats.expon(scale=0.5), "sf", 40),
        ("Exponential", (2,), stats.expon(scale=0.5), "isf", 1e-300),
        ("SkewNormal", (0, 1, 3), stats.skewnorm(3), "ppf", 1e-300),
        ("ExGaussian", (0, 1, 2), stats.exponnorm(2), "ppf", 1e-300),
        ("Wald", (1, 2), stats.invgauss(0.5, scale=2), "ppf", 1e-300),
        ("Uniform", (0, 2), stats.uniform(0, 2), "pdf", numpy.nan),
        ("Beta", (0.5, 0.5), stats.beta(0.5, 0.5), "cdf", numpy.nan)):
    found = getattr(getattr(preliz, name)(*parameters), function)(numpy.array([x]))[0]
    called = f"{name}({', '.join(map(str, parameters))}).{function}({x:g})"
    print(f"{called}: PreliZ {found:.3g}, SciPy {getattr(of_scipy, function)(x):.3g}")
PROGRAM
