#!/bin/bash
# PyTensor 3.3.8: Lop multiplies the Jacobian of several outputs by a vector for each. If one output is computed from
# another, or is there twice, terms are lost: for u = tanh(x) and exp(u) at 0.3 the sum of both derivatives is 2.14, and
# Lop with ones says 0.915, the derivative of u alone. What is known of a variable's gradient replaces the rest of it.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.3.8 numpy==2.4.6 scipy==1.18.1
shows "Lop 0.915137, grad of the sum 2.139758
Lop 0.915137, grad of the sum 1.830274" <<'PROGRAM'
import warnings
import pytensor.tensor as pt
from pytensor.gradient import Lop, grad

warnings.simplefilter("ignore")
x = pt.dscalar("x")
u, one = pt.tanh(x), pt.constant(1.0)
for outputs in [u, pt.exp(u)], [u, u]:
    values = [result.eval({x: 0.3}, mode="FAST_COMPILE") for result in (Lop(outputs, x, [one, one]), grad(sum(outputs), x))]
    print(f"Lop {values[0]:.6f}, grad of the sum {values[1]:.6f}")
PROGRAM
