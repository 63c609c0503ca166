#!/bin/bash
# PyTensor 3.0.7: two roots in one function, of equations that read the same variables, are taken for one: equality of
# RootOp compares method and jac, and not the equations. 3.1 has mended it.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.0.7 numpy==2.4.6 scipy==1.18.1
shows "root of x**3 = 8: 2.0000, root of x**5 = 8: 2.0000" <<'PROGRAM'
import pytensor, pytensor.tensor as pt
from pytensor.tensor.optimize import root

x, a = pt.dvector("x"), pt.dvector("a")
f = pytensor.function([a, x], [root(x ** 3 - a, x)[0], root(x ** 5 - a, x)[0]], mode="FAST_COMPILE")
cube, fifth = f([8.0], [1.5])
print(f"root of x**3 = 8: {cube[0]:.4f}, root of x**5 = 8: {fifth[0]:.4f}")
PROGRAM
