#!/bin/bash
# Awkward Array 2.14.0: the largest of a row that holds a NaN ignores it with axis=-1, and is NaN with axis=None; argmax
# never sees it. A column with only NaN has -inf as its largest and as its range. sort puts NaN first, ascending and
# descending. softmax subtracts no maximum, so that [1000, 1000] gives NaN.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install awkward==2.14.0 numpy==2.5.5
shows "max, axis=-1: Awkward [3.0], NumPy [nan]
max, axis=None: Awkward nan, NumPy nan
argmax, axis=-1: Awkward [2], NumPy [1]
max of a column of NaN: [-inf]
range of a column of NaN: [-inf]
ascending: Awkward [nan, 1.0, 3.0], NumPy [1.0, 3.0, nan]
descending: Awkward [nan, 3.0, 1.0]
softmax: [[nan, nan]]" <<'PROGRAM'
import awkward
import numpy
numpy.seterr(all="ignore")
row = numpy.array([[1, numpy.nan, 3]])
nan = awkward.Array([[numpy.nan], []])
array = awkward.Array(row)
print(f"max, axis=-1: Awkward {awkward.max(array, axis=-1).to_list()}, NumPy {numpy.max(row, -1).tolist()}")
print(f"max, axis=None: Awkward {awkward.max(array, axis=None)}, NumPy {numpy.max(row)}")
print(f"argmax, axis=-1: Awkward {awkward.argmax(array, axis=-1).to_list()}, NumPy {numpy.argmax(row, -1).tolist()}")
print("max of a column of NaN:", awkward.max(nan, axis=0).to_list())
print("range of a column of NaN:", awkward.ptp(nan, axis=0).to_list())
print(f"ascending: Awkward {awkward.sort(array[0]).to_list()}, NumPy {numpy.sort(row[0]).tolist()}")
print("descending: Awkward", awkward.sort(array[0], ascending=False).to_list())
print("softmax:", awkward.softmax(awkward.Array([[1000.0, 1000.0]]), axis=-1).to_list())
PROGRAM
