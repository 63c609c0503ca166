#!/bin/bash
# Dask 2026.8.0: unique finds NaN, but counts it 0 times, and the positions that should rebuild the array point to the
# first value in place of NaN. The matrix product of bools is bool if there is one chunk, as in NumPy; with more chunks
# it is int64 and counts. So what is declared depends on the chunks, too.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install dask==2026.8.0 numpy==2.5.5
shows "array [1, nan, nan, 2]: unique values [1.0, 2.0, nan], counts [1, 1, 0], rebuilt [1.0, 1.0, 1.0, 2.0]
NumPy: unique values [1.0, 2.0, nan], counts [1, 1, 2], rebuilt [1.0, nan, nan, 2.0]
product of bools: chunks of 2 bool [[True, True], [True, True]], chunks of 1 int64 [[2, 2], [2, 2]]" <<'PROGRAM'
import dask, numpy
import dask.array

dask.config.set(scheduler="synchronous")
array = numpy.array([1, numpy.nan, numpy.nan, 2])
for name, module, data in (("array [1, nan, nan, 2]", dask.array, dask.array.from_array(array, chunks=2)),
                           ("NumPy", numpy, array)):
    values, inverse, counts = map(numpy.asarray, module.unique(data, return_inverse=True, return_counts=True))
    print(f"{name}: unique values {values.tolist()}, counts {counts.tolist()}, rebuilt {values[inverse].tolist()}")
found = []
for chunk in 2, 1:
    flags = dask.array.ones((2, 2), dtype=bool, chunks=chunk)
    product = flags @ flags
    found.append(f"chunks of {chunk} {product.dtype} {product.compute().tolist()}")
print("product of bools:", ", ".join(found))
PROGRAM
