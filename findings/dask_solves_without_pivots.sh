#!/bin/bash
# Dask 2026.8.0: `solve`, `inv` and `lu` exchange rows within a chunk, but never between chunks. So a matrix whose
# condition is 2.6 is solved wrongly, without a warning, if it has one element a chunk, and a permutation, which is its
# own inverse, is called singular if its quarters are chunks. With one chunk both are right, as in NumPy.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install dask==2026.8.0 numpy==2.5.5 scipy==1.18.1
shows "condition 2.6, NumPy [1.0, 1.0]
chunks of 2: [1.0, 1.0]
chunks of 1: [0.0, 1.0]
permutation, chunks of 4: the inverse is right True
permutation, chunks of 2: LinAlgError" <<'PROGRAM'
import dask, numpy
import dask.array

dask.config.set(scheduler="synchronous")
matrix, right = numpy.array([[1e-20, 1.0], [1.0, 1.0]]), numpy.array([1.0, 2.0])
print(f"condition {numpy.linalg.cond(matrix):.1f}, NumPy {numpy.linalg.solve(matrix, right).tolist()}")
for chunk in 2, 1:
    found = dask.array.linalg.solve(*[dask.array.from_array(part, chunks=chunk) for part in (matrix, right)])
    print(f"chunks of {chunk}: {found.compute().tolist()}")
exchange = numpy.eye(4)[[2, 3, 0, 1]]
for chunk in 4, 2:
    try:
        found = dask.array.linalg.inv(dask.array.from_array(exchange, chunks=chunk)).compute()
        outcome = f"the inverse is right {numpy.array_equal(found, exchange)}"
    except numpy.linalg.LinAlgError as error:
        outcome = type(error).__name__
    print(f"permutation, chunks of {chunk}: {outcome}")
PROGRAM
