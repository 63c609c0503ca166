#!/bin/bash
# ndonnx 0.23.0 (the array API on ONNX's operations) with ONNX Runtime: the root of an integer is an integer, 2 of 8.
# uint64 is added, accumulated and sorted by way of another type: 2**63 + 1 is 2**63, and [2**63, 1] is already sorted.
# logaddexp(1000, 1000) is inf, infinity // 1 is infinity, the largest of no elements is -inf, where an error is due.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install ndonnx==0.23.0 onnxruntime==1.32.0 numpy==2.5.5
shows "sqrt of int64 8: ndonnx 2, NumPy 2.8284271247461903
sum of uint64 [2**63, 1]: ndonnx 9223372036854775808, NumPy 9223372036854775809
sort of uint64 [2**63, 1]: ndonnx [9223372036854775808, 1], NumPy [1, 9223372036854775808]
logaddexp(1000, 1000): ndonnx inf, NumPy 1000.6931471805599
inf // 1: ndonnx inf, NumPy nan
max of nothing: ndonnx -inf, NumPy ValueError" <<'PROGRAM'
import ndonnx
import numpy
numpy.seterr(all="ignore")

def row(text, function, *arrays):
    found = function(ndonnx, *(ndonnx.asarray(array) for array in arrays)).unwrap_numpy().tolist()
    try:
        expected = function(numpy, *arrays).tolist()
    except ValueError:
        expected = "ValueError"
    print(f"{text}: ndonnx {found}, NumPy {expected}")

high, thousand, empty = numpy.array([2 ** 63, 1], "uint64"), numpy.array(1000.0), numpy.zeros(0)
row("sqrt of int64 8", lambda xp, x: xp.sqrt(x), numpy.array(8))
row("sum of uint64 [2**63, 1]", lambda xp, x: xp.sum(x), high)
row("sort of uint64 [2**63, 1]", lambda xp, x: xp.sort(x), high)
row("logaddexp(1000, 1000)", lambda xp, x: xp.logaddexp(x, x), thousand)
row("inf // 1", lambda xp, x, y: x // y, numpy.array(numpy.inf), numpy.array(1.0))
row("max of nothing", lambda xp, x: xp.max(x), empty)
PROGRAM
