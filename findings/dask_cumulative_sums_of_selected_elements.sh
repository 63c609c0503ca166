#!/bin/bash
# Dask 2026.8.0: the cumulative sum of the elements of an array that are above 2, in chunks of unknown size. If the
# first chunk keeps none and chunks have one element, the result is empty, without an error; with three elements it is
# an error about shapes; with five it is right. The partial sum of an empty chunk is an empty array, and it is added to
# all later chunks. The sum of the same selection, and method="blelloch", are right. cumprod is the same.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install dask==2026.8.0 numpy==2.5.5
shows "chunks of 5: [3, 7, 12, 18, 25], blelloch [3, 7, 12, 18, 25], sum 25
chunks of 3: ValueError, blelloch [3, 7, 12, 18, 25], sum 25
chunks of 1: [], blelloch [3, 7, 12, 18, 25], sum 25" <<'PROGRAM'
import dask, numpy
import dask.array

def cumulative(selected, **options):
    try:
        return selected.cumsum(axis=0, **options).compute().tolist()
    except ValueError as error:
        return type(error).__name__

dask.config.set(scheduler="synchronous")
for chunk in 5, 3, 1:
    array = dask.array.from_array(numpy.arange(8), chunks=chunk)
    selected = array[array > 2]
    print(f"chunks of {chunk}: {cumulative(selected)}, blelloch {cumulative(selected, method='blelloch')}, "
          f"sum {selected.sum().compute()}")
PROGRAM
