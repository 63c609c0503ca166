#!/bin/bash
# Dask 2026.8.0: NumPy's arguments, taken for something else without an error. A mask of what to delete is taken for
# positions 0 and 1, so one other element goes. An array of 3 elements that is padded by 5 on each side has 7, 8 or 8
# elements in place of 13: reflection, symmetry and repetition go round once. With chunks of one column the largest
# element's position is the second one of two equal ones, in other chunks and in NumPy the first.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install dask==2026.8.0 numpy==2.5.5
shows "delete by a mask: Dask [12, 13], NumPy [11, 12]
pad by 5, reflect: Dask (7,), NumPy (13,)
pad by 5, symmetric: Dask (8,), NumPy (13,)
pad by 5, wrap: Dask (8,), NumPy (13,)
argmax: chunks (2, 3) 2, chunks (1, 3) 2, chunks (2, 1) 3, NumPy 2" <<'PROGRAM'
import dask, numpy
import dask.array

dask.config.set(scheduler="synchronous")

def beside(function, array):
    return f"Dask {function(dask.array, dask.array.from_array(array, chunks=2))}, NumPy {function(numpy, array)}"

mask = numpy.array([True, False, False, True])
print("delete by a mask:", beside(lambda module, array: numpy.asarray(module.delete(array, mask, axis=0)).tolist(),
                                  numpy.arange(10, 14)))
for mode in "reflect", "symmetric", "wrap":
    print(f"pad by 5, {mode}:", beside(lambda module, array: numpy.asarray(module.pad(array, 5, mode=mode)).shape,
                                       numpy.arange(3.0)))
table = numpy.array([[0, 1, 9], [9, 8, 9]])
print("argmax:", ", ".join(f"chunks {chunks} {dask.array.from_array(table, chunks=chunks).argmax().compute()}"
                           for chunks in ((2, 3), (1, 3), (2, 1))) + f", NumPy {table.argmax()}")
PROGRAM
