#!/bin/bash
# NumPyro 0.22.0 with JAX in 64 bits: a normal distribution around -20, truncated to 0 .. 1, has the log density inf
# everywhere, and the probability NaN below any place; around -40, above 0, every draw is inf. SciPy has 0.99 at 0.1.
# The counts of NegativeBinomial2 have 15 digits up to 6, and 6 digits from 7 on, because JAX's betaln changes its
# formula at 8; so has BetaBinomial.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install numpyro==0.22.0 jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.5.5 scipy==1.18.1
shows "normal around -20 in 0 .. 1, at 0.1: log density inf, SciPy 0.993; below 0.1 nan, SciPy 0.866
normal around -40 above 0: draws [inf, inf], SciPy's median 0.0173
negative binomial at 6: off by 0e+00
negative binomial at 7: off by -1e-06" <<'PROGRAM'
import jax
jax.config.update("jax_enable_x64", True)
import numpy, scipy.stats
from numpyro import distributions

near = distributions.TruncatedNormal(-20.0, 1.0, low=0.0, high=1.0)
exact = scipy.stats.truncnorm(20, 21, loc=-20)
print(f"normal around -20 in 0 .. 1, at 0.1: log density {float(near.log_prob(0.1))}, SciPy {exact.logpdf(0.1):.3f}; "
      f"below 0.1 {float(near.cdf(0.1))}, SciPy {exact.cdf(0.1):.3f}")
far = distributions.TruncatedNormal(-40.0, 1.0, low=0.0)
print(f"normal around -40 above 0: draws {far.sample(jax.random.PRNGKey(1), (2,)).tolist()}, "
      f"SciPy's median {scipy.stats.truncnorm(40, numpy.inf, loc=-40).median():.4f}")
for count in 6, 7:
    off = float(distributions.NegativeBinomial2(3.0, 2.0).log_prob(count)) - scipy.stats.nbinom(2, 0.4).logpmf(count)
    print(f"negative binomial at {count}: off by {off if abs(off) > 1e-12 else 0:.0e}")
PROGRAM
