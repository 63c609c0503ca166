#!/bin/bash
# PyData's sparse 0.19.3 (NumPy 2.5.5): numpy.subtract.reduce of a COO array of 0, 100, 100, 0 is 0 where NumPy's is
# -200, since elements that equal the fill value are taken last and the first of the others first; division and powers
# are refused by name. The largest element of an array that has none is 0, where NumPy raises. A product with a dense
# matrix passes over what stands beside a stored zero's place: 0 times NaN and 0 times infinity are 0 in x @ dense, and
# NaN in x * dense and in einsum.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install sparse==0.19.3 numba==0.68.1 numpy==2.5.5 scipy==1.18.1
shows "subtract.reduce of 0, 100, 100, 0: 0.0, NumPy -200.0
subtract.reduce of 5, 0, 3: 2.0, NumPy 2.0; of 0, 5, 3: 2.0, NumPy -8.0
max of nothing: 0.0, NumPy ValueError
[0, 2] @ [nan, 1]: 2.0, einsum nan, NumPy nan" <<'PROGRAM'
import numpy
import sparse


def both(values):
    array = numpy.array(values, float)
    return numpy.subtract.reduce(sparse.COO.from_numpy(array)).todense(), numpy.subtract.reduce(array)


print("subtract.reduce of 0, 100, 100, 0: {}, NumPy {}".format(*both([0, 100, 100, 0])))
print("subtract.reduce of 5, 0, 3: {}, NumPy {};".format(*both([5, 0, 3])),
      "of 0, 5, 3: {}, NumPy {}".format(*both([0, 5, 3])))
try:
    largest = numpy.zeros(0).max()
except ValueError as error:
    largest = type(error).__name__
print("max of nothing:", f"{sparse.COO.from_numpy(numpy.zeros(0)).max().todense()}, NumPy {largest}")
row, column = numpy.array([[0.0, 2.0]]), numpy.array([[numpy.nan], [1.0]])
few = sparse.COO.from_numpy(row)
product = sparse.einsum("ij,jk->ik", few, sparse.COO.from_numpy(column)).todense()
print(f"[0, 2] @ [nan, 1]: {(few @ column)[0, 0]}, einsum {product[0, 0]}, NumPy {(row @ column)[0, 0]}")
PROGRAM
