"""``argmax`` and ``argmin`` over any axes: the position of the first extremum in the searched axes, flattened in C
order.

One kernel computes positions, the other also values. If the searched axis has the smallest stride, each result is
computed by scans along it; else a row of columns is compared at a time, so that memory is read sequentially.
"""
cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.ops.native.loops import TYPES
from phintys.ops.elementwise.block_code cimport axes_mask, kept_dimensions
from phintys.ops.native.sets cimport PHINTYS_SETS, usable_set
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, interrupted, parallel
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_ARG, PIECE_ARG

cnp.import_array()

cdef extern from "reduction/arg_loops.h" nogil:
    const phintys_search (*phintys_searches[PHINTYS_SETS])[12]

cdef extern from "numpy/arrayobject.h" nogil:
    ctypedef struct PyArray_ArrFuncs:
        ArgFunction argmax
        ArgFunction argmin
    PyArray_ArrFuncs* PyDataType_GetArrFuncs(void* descriptor)

cdef enum:
    COLUMNS = 256                  # compared at a time; their best values are on the stack
    SHORT_LINE = 24                # elements; below, setting out costs NumPy's search more than it gains
    UNASKED = 1048576              # elements between two questions whether the call is to end

# The kept axes and the searched axes, each in order. If columns are compared, the innermost kept axis is separate
# (`columns`); if runs are scanned, the innermost searched axis is (`run`).
cdef struct SearchWalk:
    Context* context
    const phintys_search* search
    ArgFunction of_run                 # NumPy's search of contiguous values
    const char* data
    int64_t* results
    int itemsize
    int kept_count
    int searched_count
    npy_intp kept_lengths[MAX_RANK]
    npy_intp kept_strides[MAX_RANK]
    npy_intp searched_lengths[MAX_RANK]
    npy_intp searched_strides[MAX_RANK]
    npy_intp searched                  # elements, without the run
    npy_intp run                       # length of the innermost searched axis; 1 when columns are compared
    npy_intp run_stride
    npy_intp columns                   # length of the innermost kept axis; 0 if runs are scanned
    npy_intp column_stride


cdef class ArgKernel(Kernel):
    """The position of the first maximum or minimum, as int64.

    Parameters
    ----------
    dtype : str
        A real dtype.
    rank : int
        The rank of the input.
    axes : sequence of int
        The searched axes; positions count through them in C order.
    which : {"argmax", "argmin"}
    keepdims : bool
        Whether to keep the searched dimensions, with length 1.

    Raises
    ------
    TypeError
        For a complex dtype.
    ValueError
        For invalid axes; raised by ``prepare`` if there are no elements to search.
    """

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, dtype, rank, axes, which, keepdims=False):
        self.which = which
        cdef PyArray_ArrFuncs* functions
        cdef object descriptor = numpy.dtype(dtype)
        cdef Py_ssize_t index = TYPES.index(dtype)
        if index >= 12:
            raise TypeError(f"{which} needs a real dtype, not {dtype}")
        self.search = &phintys_searches[usable_set()][<int>("argmin", "argmax").index(which)][<int>index]
        functions = PyDataType_GetArrFuncs(<void*>descriptor)
        self.of_run = functions.argmax if which == "argmax" else functions.argmin
        self.rank = rank
        self.mask = axes_mask(axes, rank)
        self.keepdims = keepdims

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp kept = 1, searched = 1
        kept_dimensions(self.rank, self.mask, self.keepdims, operands[0].shape, shape, &kept, &searched)
        if searched == 0:
            with gil:
                raise ValueError(f"attempt to get {self.which} of an empty sequence")
        allocate(context, operands[1], shape)
        if kept * searched <= LONG_ARG:
            return 0
        return RUNS_ALONE if kept * searched < 2 * PIECE_ARG or kept == 1 else 1

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef SearchWalk walk
        cdef npy_intp kept = 1, searched, grain
        cdef int axis
        if cell_size(operands[1]) == 0:
            return 0
        walk.context, walk.search, walk.of_run = context, self.search, self.of_run
        walk.data, walk.results = operands[0].data, <int64_t*>operands[1].data
        walk.itemsize = operands[0].itemsize
        plan_walk(&walk, operands[0], self.mask)
        for axis in range(walk.kept_count):
            kept *= walk.kept_lengths[axis]
        searched = walk.searched * walk.run
        grain = PIECE_ARG // (searched * (walk.columns if walk.columns else 1)) + 1
        parallel(context, search_columns if walk.columns else search_runs, &walk, kept, grain)
        return 0


cdef class ExtremumKernel(ArgKernel):
    """The first maximum or minimum and its position in one search: ``(x, value, position)``; the parameters are those
    of ``ArgKernel``."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* search[2]
        cdef int is_long
        search[0], search[1] = operands[0], operands[2]
        is_long = ArgKernel.prepare(self, context, search)
        allocate(context, operands[1], operands[2].shape)
        return is_long

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* search[2]
        search[0], search[1] = operands[0], operands[2]
        ArgKernel.run(self, context, search)
        if not interrupted(context):                 # else not all positions are known
            take_extremes(context, operands[0], self.mask, operands[1].data, <int64_t*>operands[2].data,
                          cell_size(operands[2]))
        return 0


cdef struct Extremes:                                # values that are to be taken at positions
    const char* source
    char* values
    const int64_t* positions
    int itemsize
    int counts[2]                                    # of the kept axes, and of the searched ones
    npy_intp lengths[2][MAX_RANK]
    npy_intp strides[2][MAX_RANK]
    npy_intp columns                                 # the innermost kept axis is separate
    npy_intp step


cdef void take_extremes(Context* context, const Cell* source, unsigned long long mask, char* values,
                        const int64_t* positions, npy_intp count) noexcept nogil:
    cdef Extremes extremes
    cdef int axis, kind
    extremes.source, extremes.values, extremes.positions = source.data, values, positions
    extremes.itemsize, extremes.columns, extremes.step = source.itemsize, 1, 0
    extremes.counts[0] = extremes.counts[1] = 0
    for axis in range(source.ndim):
        kind = mask >> axis & 1
        if source.shape[axis] != 1:
            extremes.counts[kind] = append(extremes.counts[kind], extremes.lengths[kind], extremes.strides[kind],
                                           source.shape[axis], source.strides[axis])
    if extremes.counts[0]:
        extremes.counts[0] -= 1
        extremes.columns = extremes.lengths[0][extremes.counts[0]]
        extremes.step = extremes.strides[0][extremes.counts[0]]
    parallel(context, take_values, &extremes, count, 2 * PIECE_ARG)


cdef void take_values(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Take values [start, stop), a line of the innermost kept axis at a time."""
    cdef Extremes* extremes = <Extremes*>argument
    cdef npy_intp column, count, number
    cdef const char* line
    while start < stop:
        column = start % extremes.columns
        count = min(extremes.columns - column, stop - start)
        line = extremes.source + column * extremes.step + offset(extremes.counts[0], extremes.lengths[0],
                                                                 extremes.strides[0], start // extremes.columns)
        for number in range(start, start + count):
            memcpy(extremes.values + number * extremes.itemsize,
                   line + offset(extremes.counts[1], extremes.lengths[1], extremes.strides[1],
                                 extremes.positions[number]), extremes.itemsize)
            line += extremes.step
        start += count


cdef void plan_walk(SearchWalk* walk, Cell* cell, unsigned long long mask) noexcept nogil:
    cdef int axis
    walk.kept_count = walk.searched_count = 0
    walk.columns, walk.column_stride, walk.run, walk.run_stride, walk.searched = 0, 0, 1, 0, 1
    for axis in range(cell.ndim):
        if cell.shape[axis] == 1:
            continue
        if mask >> axis & 1:
            walk.searched_count = append(walk.searched_count, walk.searched_lengths, walk.searched_strides,
                                           cell.shape[axis], cell.strides[axis])
        else:
            walk.kept_count = append(walk.kept_count, walk.kept_lengths, walk.kept_strides, cell.shape[axis],
                                       cell.strides[axis])
    if walk.kept_count and (walk.searched_count == 0
                              or magnitude(walk.kept_strides[walk.kept_count - 1])
                              < magnitude(walk.searched_strides[walk.searched_count - 1])):
        walk.kept_count -= 1
        walk.columns = walk.kept_lengths[walk.kept_count]
        walk.column_stride = walk.kept_strides[walk.kept_count]
    elif walk.searched_count:
        walk.searched_count -= 1
        walk.run = walk.searched_lengths[walk.searched_count]
        walk.run_stride = walk.searched_strides[walk.searched_count]
    for axis in range(walk.searched_count):
        walk.searched *= walk.searched_lengths[axis]


cdef inline int append(int count, npy_intp* lengths, npy_intp* strides, npy_intp length,
                       npy_intp stride) noexcept nogil:
    """Append a dimension, or join it to the last one if both can be traversed with one stride; returns the number of
    dimensions."""
    if count and strides[count - 1] == length * stride:
        lengths[count - 1] *= length
        strides[count - 1] = stride
        return count
    lengths[count], strides[count] = length, stride
    return count + 1


cdef inline npy_intp magnitude(npy_intp number) noexcept nogil:
    return number if number >= 0 else -number


cdef inline npy_intp offset(int count, const npy_intp* lengths, const npy_intp* strides, npy_intp flat) noexcept nogil:
    """The offset of element number ``flat`` in bytes."""
    cdef npy_intp moved = 0
    cdef int axis
    for axis in range(count - 1, 0, -1):
        moved += flat % lengths[axis] * strides[axis]
        flat //= lengths[axis]
    return moved + flat * strides[0] if count else 0


cdef void search_runs(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Compute results [start, stop), each by scans along the innermost searched axis."""
    cdef SearchWalk* walk = <SearchWalk*>argument
    cdef const char* base
    cdef const char* run
    cdef char best[16]
    cdef npy_intp element, row, first, count, unasked = 0
    cdef bint contiguous = walk.run_stride == walk.itemsize
    if contiguous and walk.searched == 1 and walk.run <= UNASKED:
        search_lines(walk, start, stop)
        return
    for element in range(start, stop):
        base = walk.data + offset(walk.kept_count, walk.kept_lengths, walk.kept_strides, element)
        for row in range(walk.searched):
            run = base + offset(walk.searched_count, walk.searched_lengths, walk.searched_strides, row)
            first = 0
            while first < walk.run:
                count = min(walk.run - first, <npy_intp>UNASKED)
                if contiguous:
                    search_run(walk, run, count, row * walk.run + first, best, walk.results + element)
                else:
                    walk.search.run(run, walk.run_stride, count, row * walk.run + first, best,
                                      walk.results + element)
                first, unasked = first + count, unasked + count
                run += count * walk.run_stride
                if unasked >= UNASKED:
                    if interrupted(walk.context):
                        return
                    unasked = 0


cdef void search_run(const SearchWalk* walk, const char* run, npy_intp count, npy_intp position, char* best,
                     int64_t* result) noexcept nogil:
    """Go on with a search, by contiguous values from a position on."""
    cdef npy_intp place
    walk.of_run(<void*>run, count, &place, NULL)
    run += place * walk.itemsize
    if position == 0:
        memcpy(best, run, walk.itemsize)
        result[0] = place
    else:
        walk.search.run(run, 0, 1, position + place, best, result)


cdef void search_lines(SearchWalk* walk, npy_intp start, npy_intp stop) noexcept nogil:
    """Compute results [start, stop), each from one contiguous run, one line of the innermost kept axis at a time."""
    cdef int last = walk.kept_count - 1
    cdef npy_intp length = walk.kept_lengths[last] if walk.kept_count else 1
    cdef npy_intp next_row = walk.kept_strides[last] if walk.kept_count else 0
    cdef npy_intp rows, row
    cdef const char* line
    while start < stop:
        rows = min(length - start % length, stop - start)
        line = walk.data + offset(walk.kept_count, walk.kept_lengths, walk.kept_strides, start)
        if walk.run < SHORT_LINE:
            walk.search.lines(line, walk.run, next_row, rows, walk.results + start)
        else:
            for row in range(rows):
                walk.of_run(<void*>(line + row * next_row), walk.run, <npy_intp*>(walk.results + start + row),
                              NULL)
        start += rows


cdef void search_columns(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Compute all columns of the outer kept elements [start, stop)."""
    cdef SearchWalk* walk = <SearchWalk*>argument
    cdef const char* base
    cdef char best[16 * COLUMNS]
    cdef npy_intp element, row, first, count, unasked = 0
    for element in range(start, stop):
        base = walk.data + offset(walk.kept_count, walk.kept_lengths, walk.kept_strides, element)
        first = 0
        while first < walk.columns:
            count = walk.columns - first if walk.columns - first < COLUMNS else COLUMNS
            for row in range(walk.searched):
                walk.search.row(
                    base + offset(walk.searched_count, walk.searched_lengths, walk.searched_strides, row)
                    + first * walk.column_stride, walk.column_stride, count, row, best,
                    walk.results + element * walk.columns + first)
                unasked += count
                if unasked >= UNASKED:
                    if interrupted(walk.context):
                        return
                    unasked = 0
            first += COLUMNS
