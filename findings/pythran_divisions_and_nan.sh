#!/bin/bash
# Pythran 0.19.0, which compiles functions of NumPy to C++ (a compiler is needed): 7 // -2 of integers is -5 and -7 % -3 is
# -4, so that neither is NumPy's, nor C's, and quotient and remainder do not fit to each other. unique of [nan, 1, 3] is
# [nan]; the median of values with a NaN is one of them; argsort leaves a NaN where it is. logaddexp(1000, 1000)
# is inf, -1 of int64 is not below 1 of uint64, and minus 1 of uint8 is -1.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pythran==0.19.0 numpy==2.5.5 setuptools==80.9.0
cat >"$folder/compiled.py" <<'SOURCE'
import numpy as np
#pythran export quotient(int32[], int32[])
def quotient(a, b): return a // b
#pythran export remainder(int32[], int32[])
def remainder(a, b): return a % b
#pythran export below(int64[], uint64[])
def below(a, b): return a < b
#pythran export negative(uint8[])
def negative(a): return -a
#pythran export unique(float64[])
def unique(a): return np.unique(a)
#pythran export median(float64[])
def median(a): return np.median(a)
#pythran export argsort(float64[])
def argsort(a): return np.argsort(a)
#pythran export logaddexp(float64[], float64[])
def logaddexp(a, b): return np.logaddexp(a, b)
SOURCE
(cd "$folder" && cp compiled.py original.py && venv/bin/pythran -O1 compiled.py 2>"$folder/messages" ||
    { cat "$folder/messages"; exit 1; })
shows "quotient([7], [-2]): Pythran [-5], NumPy [-4]
remainder([-7], [-3]): Pythran [-4], NumPy [-1]
below([-1], [1]): Pythran [False], NumPy [True]
negative([1]): Pythran [-1], NumPy [255]
unique([nan, 1.0, 3.0]): Pythran [nan], NumPy [1.0, 3.0, nan]
median([1.0, nan, 3.0]): Pythran 3.0, NumPy nan
argsort([nan, 1.0, 3.0]): Pythran [0, 1, 2], NumPy [1, 2, 0]
logaddexp([1000.0], [1000.0]): Pythran [inf], NumPy [1000.6931471805599]" <<'PROGRAM'
import importlib.util
import glob
import numpy
import original
spec = importlib.util.spec_from_file_location("compiled", glob.glob("compiled.*.so")[0])
compiled = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compiled)

nan = numpy.nan
for name, *arrays in (
        ("quotient", numpy.array([7], "int32"), numpy.array([-2], "int32")),
        ("remainder", numpy.array([-7], "int32"), numpy.array([-3], "int32")),
        ("below", numpy.array([-1]), numpy.array([1], "uint64")),
        ("negative", numpy.array([1], "uint8")),
        ("unique", numpy.array([nan, 1, 3])), ("median", numpy.array([1, nan, 3])),
        ("argsort", numpy.array([nan, 1, 3])), ("logaddexp", numpy.array([1000.0]), numpy.array([1000.0]))):
    found, expected = (numpy.asarray(getattr(module, name)(*arrays)).tolist() for module in (compiled, original))
    print(f"{name}({', '.join(str(array.tolist()) for array in arrays)}): Pythran {found}, NumPy {expected}")
PROGRAM
