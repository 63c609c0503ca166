#!/bin/bash
# PyTensor 3.3.8: x == x is rewritten to True, x != x to False, without a look at the values. So the usual
# test for NaN by `x != x` finds none, in all modes; `pt.isnan` does.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.3.8 numpy==2.4.6 scipy==1.18.1
shows "x == x [True, True], x != x [False, False], isnan [True, False]" <<'PROGRAM'
import numpy, pytensor, pytensor.tensor as pt

x = pt.dvector("x")
f = pytensor.function([x], [pt.eq(x, x), pt.neq(x, x), pt.isnan(x)], mode="FAST_COMPILE")
print("x == x {}, x != x {}, isnan {}".format(*[value.tolist() for value in f(numpy.array([numpy.nan, 1.0]))]))
PROGRAM
