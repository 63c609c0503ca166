#!/bin/bash
# numpy_quaddtype 1.0.0 beside NumPy 2.5.5: products of quadruple matrices are right only where both lie in C order.
# A transposed matrix, one in Fortran order or every second column are read as if they lay in C order, and nothing is
# said. einsum gives zeros wherever it has to multiply or to add. The place of the largest passes NaN over, though the
# largest is NaN. int() of 1e30 and of NaN is 2 ** 63 - 1. (A form of einsum whose result is a scalar ends the process.)
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install numpy-quaddtype==1.0.0 numpy==2.5.5
shows "a @ a: [[2.0, 3.0], [6.0, 11.0]], of float64 [[2.0, 3.0], [6.0, 11.0]]
a.T @ a: [[2.0, 3.0], [4.0, 7.0]], of float64 [[4.0, 6.0], [6.0, 10.0]]
a.T.copy() @ a: [[4.0, 6.0], [6.0, 10.0]], of float64 [[4.0, 6.0], [6.0, 10.0]]
a.T @ v: [1.0, 2.0], of float64 [2.0, 3.0]
numpy.asfortranarray(a) @ a: [[4.0, 6.0], [2.0, 5.0]], of float64 [[2.0, 3.0], [6.0, 11.0]]
numpy.einsum('ij,jk->ik', a, a): [[0.0, 0.0], [0.0, 0.0]], of float64 [[2.0, 3.0], [6.0, 11.0]]
numpy.einsum('ij->i', a): [0.0, 0.0], of float64 [1.0, 5.0]
numpy.einsum('i,i->i', v, v): [0.0, 0.0], of float64 [0.0, 1.0]
largest of [1, nan, 3]: nan at 2, of float64 at 1
int of 1e30, nan: 9223372036854775807 9223372036854775807" <<'PROGRAM'
import numpy
from numpy_quaddtype import QuadPrecDType, QuadPrecision
floats = {"a": numpy.arange(4.).reshape(2, 2), "v": numpy.arange(2.)}
quads = {name: value.astype(QuadPrecDType()) for name, value in floats.items()}
for expression in ["a @ a", "a.T @ a", "a.T.copy() @ a", "a.T @ v", "numpy.asfortranarray(a) @ a",
                   "numpy.einsum('ij,jk->ik', a, a)", "numpy.einsum('ij->i', a)", "numpy.einsum('i,i->i', v, v)"]:
    quad, double = [eval(expression, {"numpy": numpy}, names) for names in (quads, floats)]
    print(f"{expression}: {quad.astype(float).tolist()}, of float64 {double.tolist()}")
values = numpy.array([1, numpy.nan, 3])
quads = values.astype(QuadPrecDType())
print(f"largest of [1, nan, 3]: {float(quads.max())} at {quads.argmax()}, of float64 at {values.argmax()}")
print("int of 1e30, nan:", int(QuadPrecision("1e30")), int(QuadPrecision("nan")))
PROGRAM
