#!/bin/bash
# SciPy 1.18.1: a sparse array by diagonals keeps numbers that lie outside of the matrix. Sum, mean, count and @ leave
# them out; `sparse.linalg.norm` counts them in. And argmax of a sparse array with a NaN is neither the NaN, as max and
# NumPy say, nor the largest number, but the first element that is not stored.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install scipy==1.18.1 numpy==2.5.5
shows "dia_array: sum 1.0, count 1, norm 12.767, of its csr 1.0, of its dense form 1.0
csr_array: max nan, argmax 1 where 0.0 is, NumPy argmax 2 where nan is" <<'PROGRAM'
import numpy
from scipy import sparse

diagonal = sparse.dia_array((numpy.array([[9.0, 1.0, 9.0]]), [1]), shape=(2, 2))
print(f"dia_array: sum {diagonal.sum()}, count {diagonal.count_nonzero()}, norm {sparse.linalg.norm(diagonal):.3f}, "
      f"of its csr {sparse.linalg.norm(diagonal.tocsr())}, of its dense form {numpy.linalg.norm(diagonal.toarray())}")
dense = numpy.array([[1.0, 0.0], [numpy.nan, 3.0]])
stored = sparse.csr_array(dense)
place = stored.argmax()
print(f"csr_array: max {stored.max()}, argmax {place} where {dense.flat[place]} is, "
      f"NumPy argmax {dense.argmax()} where {dense.flat[dense.argmax()]} is")
PROGRAM
