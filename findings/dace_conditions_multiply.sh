#!/bin/bash
# DaCe 1.0.2 (NumPy 1.26.4, g++), the same functions called by NumPy beside: np.where(a > 1, a, 0) of NaN is NaN, since
# what is chosen is a product with the condition. // and % of integers are C's (those of floats round down), np.rint
# rounds halves away from zero (np.round to even), a sum of int8 and even its mean are int8: the mean of four 100 is
# -28. np.max and np.maximum lose NaN, np.sign of NaN is 0, logaddexp of -1000 and -1000 is -inf. A square of int32 is
# float64. Beside networkx 3.7, which pip brings with it, each program fails with a KeyError: 3.4.2 is taken here.
# Needs CMake and a compiler of C++.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install dace==1.0.2 numpy==1.26.4 networkx==3.4.2 sympy==1.14.0 setuptools==80.9.0
shows "where: [0.0, nan, 3.0, 2.0], NumPy [0.0, 0.0, 3.0, 2.0]
quotient: [-3, -3, 3, 3], NumPy [-4, -4, 3, 3]
remainder: [-1, 1, -1, 1], NumPy [1, -1, -1, 1]
rint: [1.0, 2.0, 3.0, -1.0], NumPy [0.0, 2.0, 2.0, -0.0]
mean: [-28], NumPy 100.0
largest: [3.0], NumPy nan
sign: [1.0, 0.0, 1.0, 1.0], NumPy [1.0, nan, 1.0, 1.0]
logaddexp: [-inf, inf, -inf, -inf], NumPy [-999.3068528194401, 1000.6931471805599, -inf, -inf]
square: [49.0, 49.0, 49.0, 49.0], NumPy [49, 49, 49, 49]" <<'PROGRAM'
import contextlib
import io

import dace
import numpy as np

nan = float("nan")


def where(a: dace.float64[4]):
    return np.where(a > 1, a, 0)


def quotient(a: dace.int32[4], b: dace.int32[4]):
    return a // b


def remainder(a: dace.int32[4], b: dace.int32[4]):
    return a % b


def rint(a: dace.float64[4]):
    return np.rint(a)


def mean(a: dace.int8[4]):
    return np.mean(a)


def largest(a: dace.float64[4]):
    return np.max(a)


def sign(a: dace.float64[4]):
    return np.sign(a)


def logaddexp(a: dace.float64[4]):
    return np.logaddexp(a, a)


def square(a: dace.int32[4]):
    return a ** 2


whole, by = np.array([-7, 7, -7, 7], "int32"), np.array([2, -2, -2, 2], "int32")
some = np.array([1, nan, 3, 2])
for function, *arguments in ((where, some), (quotient, whole, by), (remainder, whole, by),
                             (rint, np.array([0.5, 1.5, 2.5, -0.5])), (mean, np.full(4, 100, "int8")),
                             (largest, some), (sign, some), (logaddexp, np.array([-1000, 1000, -np.inf, -np.inf])),
                             (square, whole)):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found = dace.program(function)(*arguments)
    with np.errstate(all="ignore"):
        print(f"{function.__name__}: {found.tolist()}, NumPy {function(*arguments).tolist()}")
PROGRAM
