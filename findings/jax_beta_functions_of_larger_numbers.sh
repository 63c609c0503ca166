#!/bin/bash
# JAX 0.12.0 in 64 bits: the logarithm of the beta function, and with it the density of the beta distribution, has 15
# digits if both numbers are below 8. If the larger one is 8 it has 7, at 50 it has 9, and 15 from about 1000 on: its
# correction to Stirling's formula is one of float32. The slope at (8, 5) is wrong by 2e-7. Three calls of gammaln have
# 15 digits, which is how one would write it oneself.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.5.5
shows "(7, 7): betaln off by 0e+00, by gammaln 0e+00, log density off by 0e+00
(8, 5): betaln off by 1e-06, by gammaln 0e+00, log density off by -1e-06
(20, 10): betaln off by 8e-08, by gammaln 0e+00, log density off by -8e-08" <<'PROGRAM'
import math
import jax
jax.config.update("jax_enable_x64", True)
from jax.scipy.special import betaln, gammaln
from jax.scipy.stats import beta

def off(found, exact):
    """The difference, with one digit; 0 if it is below 1e-12."""
    difference = float(found) - exact
    return f"{difference if abs(difference) > 1e-12 else 0:.0e}"

for a, b in (7.0, 7.0), (8.0, 5.0), (20.0, 10.0):
    exact = -math.log(math.comb(int(a + b) - 2, int(a) - 1) * (a + b - 1))
    density = (a - 1) * math.log(0.3) + (b - 1) * math.log(0.7) - exact
    print(f"({a:.0f}, {b:.0f}): betaln off by {off(betaln(a, b), exact)}, "
          f"by gammaln {off(gammaln(a) + gammaln(b) - gammaln(a + b), exact)}, "
          f"log density off by {off(beta.logpdf(0.3, a, b), density)}")
PROGRAM
