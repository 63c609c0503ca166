#!/bin/bash
# SymEngine 0.15.0's Lambdify, which compiles SymPy's expressions: of NaN, sign is 1, Max and Min with 0 are 0, and
# "x != 0" is false; the square root of -inf is inf, and loggamma of -inf too. Arrays of integers become float64.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install symengine==0.15.0 numpy==2.5.5
shows "sign(x) of nan: SymEngine 1.0, NumPy nan
max(0, x) of nan: SymEngine 0.0, NumPy nan
min(0, x) of nan: SymEngine 0.0, NumPy nan
0 != x of nan: SymEngine 0.0, NumPy True
sqrt(x) of -inf: SymEngine inf, NumPy nan
x of int64 9007199254740993: SymEngine 9007199254740992.0" <<'PROGRAM'
import numpy
import symengine
numpy.seterr(all="ignore")
x = symengine.Symbol("x")

def computed(expression, values):
    return symengine.Lambdify([x], [expression])(values).tolist()[0]

for expression, function, value in (
        (symengine.sign(x), numpy.sign, numpy.nan), (symengine.Max(x, 0), lambda x: numpy.maximum(x, 0), numpy.nan),
        (symengine.Min(x, 0), lambda x: numpy.minimum(x, 0), numpy.nan),
        (symengine.Ne(x, 0), lambda x: x != 0, numpy.nan), (symengine.sqrt(x), numpy.sqrt, -numpy.inf)):
    print(f"{expression} of {value}: SymEngine {computed(expression, [value])}, NumPy {function(value)}")
print(f"x of int64 {2 ** 53 + 1}: SymEngine {computed(x, numpy.array([2 ** 53 + 1]))}")
PROGRAM
