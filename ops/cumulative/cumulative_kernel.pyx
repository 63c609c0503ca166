"""Cumulative sums and products along an axis: each element of the result is the previous one plus or times an input.

An array is treated as ``outer`` x ``length`` x ``chunk``, where ``length`` is that of the axis. If chunks are long,
NumPy's loop adds each slice to the previous one, COLUMNS columns at a time. If they are short, a loop runs along each
line and keeps its total in a register; it is continued after some elements, when the kernel has asked whether the call
is to end. Operands that are not contiguous are copied first.
"""
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.ops.native.loops import TYPES
from phintys.ops.native.loops cimport InnerLoop, find_loop
from phintys.ops.native.strided_copy cimport copy_in_parts
from phintys.vm.abi cimport (
    BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, interrupted)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_CUMULATIVE

cdef extern from "cumulative/cumulative_loops.h" nogil:
    ctypedef void (*phintys_running)(const char* source, npy_intp stride, npy_intp next_source, char* target,
                                     npy_intp target_stride, npy_intp next_target, npy_intp count, npy_intp lines,
                                     bint continued) noexcept nogil
    const phintys_running phintys_cumulative[2][12]

cdef enum:
    COLUMNS = 1024                  # added at a time, so that the slice before is still in the L1 cache
    SLICES = 256                    # of so many columns, until the next question whether the call is to end
    UNASKED = 1048576               # elements between two questions whether the call is to end, of up to 10 ns
    LONG_CHUNK = 16                 # from here on slices are added, below lines are run along


cdef class CumulativeKernel(Kernel):
    """Cumulative sums or products: ``(x, out)``; the accumulator has the dtype of both.

    Parameters
    ----------
    dtype : str
    axis : int
        Not negative, or -1 for the flattened array.
    mode : {"add", "mul"}
    """
    cdef InnerLoop loop
    cdef phintys_running running    # NULL for dtypes without a built-in loop
    cdef int axis

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, dtype, int axis, mode):
        cdef bint multiplies = mode == "mul"
        cdef int number = TYPES.index(dtype)
        self.loop = find_loop(numpy.multiply if multiplies else numpy.add, (dtype,) * 3)
        self.running = NULL
        if number < 12:
            self.running = phintys_cumulative[<int>multiplies][number]
        self.axis = axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp size = cell_size(operands[0])
        allocate(context, operands[1], &size if self.axis < 0 else operands[0].shape)
        return RUNS_ALONE if size >= LONG_CUMULATIVE else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[1]
        cdef npy_intp outer = 1, length = 1, chunk = 1
        cdef npy_intp stride = source.itemsize
        cdef npy_intp strides[MAX_RANK]
        cdef const char* values = source.data
        cdef int dimension
        for dimension in range(source.ndim):
            if self.axis < 0 or dimension == self.axis:
                length *= source.shape[dimension]
            elif dimension < self.axis:
                outer *= source.shape[dimension]
            else:
                chunk *= source.shape[dimension]
        if outer == 0 or length == 0 or chunk == 0:
            return 0
        if not cell_is_contiguous(source):
            for dimension in range(source.ndim - 1, -1, -1):
                strides[dimension] = stride
                stride *= source.shape[dimension]
            copy_in_parts(context, source.ndim, source.shape, result.data, strides, source.data, source.strides,
                          source.itemsize)
            values = result.data
        self.accumulate(context, values, result.data, outer, length, chunk, source.itemsize)
        return 0

    cdef void accumulate(self, Context* context, const char* values, char* totals, npy_intp outer, npy_intp length,
                         npy_intp chunk, npy_intp itemsize) noexcept nogil:
        """Accumulate ``values`` into ``totals``, both contiguous; they may be the same memory."""
        cdef npy_intp block = length * chunk * itemsize, row = chunk * itemsize
        cdef npy_intp slab = 0, slabs
        while slab < outer and not (slab and interrupted(context)):
            slabs = 1
            if self.running == NULL and chunk == 1:
                self.add_along(context, values, totals, length, itemsize)
            elif self.running == NULL or chunk >= LONG_CHUNK:
                self.add_columns(context, values, totals, length, chunk, itemsize)
            elif chunk == 1 and length <= UNASKED:
                slabs = min(outer - slab, UNASKED // length)
                self.running(values, itemsize, block, totals, itemsize, block, length, slabs, False)
            else:
                self.run_along(context, values, totals, length, chunk, itemsize)
            values += slabs * block
            totals += slabs * block
            slab += slabs

    cdef inline void run_along(self, Context* context, const char* values, char* totals, npy_intp length,
                               npy_intp chunk, npy_intp itemsize) noexcept nogil:
        cdef npy_intp position = 0, row = chunk * itemsize
        while position < length and not (position and interrupted(context)):
            self.running(values + position * row, row, itemsize, totals + position * row, row, itemsize,
                         min(length - position, UNASKED // chunk), chunk, position > 0)
            position += UNASKED // chunk

    cdef inline void add_columns(self, Context* context, const char* values, char* totals, npy_intp length,
                                 npy_intp chunk, npy_intp itemsize) noexcept nogil:
        cdef npy_intp column = 0
        while column < chunk and not interrupted(context):
            self.add_slices(context, values + column * itemsize, totals + column * itemsize, length, chunk * itemsize,
                            min(<npy_intp>COLUMNS, chunk - column), itemsize)
            column += COLUMNS

    cdef inline void add_along(self, Context* context, const char* values, char* totals, npy_intp length,
                               npy_intp itemsize) noexcept nogil:
        """Accumulate one line by NumPy's loop. Its first operand is the result shifted by one element, so each step
        reads the total that the previous step wrote, as in ``ufunc.accumulate``."""
        cdef char* arguments[3]
        cdef npy_intp steps[3]
        cdef npy_intp position = 1, count
        if totals != values:
            memcpy(totals, values, itemsize)
        steps[0] = steps[1] = steps[2] = itemsize
        while position < length and not interrupted(context):
            count = min(length - position, <npy_intp>UNASKED)
            arguments[0], arguments[1] = totals + (position - 1) * itemsize, <char*>values + position * itemsize
            arguments[2] = totals + position * itemsize
            self.loop.function(arguments, &count, steps, self.loop.data)
            position += count

    cdef inline void add_slices(self, Context* context, const char* values, char* totals, npy_intp length, npy_intp row,
                                npy_intp columns, npy_intp itemsize) noexcept nogil:
        """Compute each slice of totals from the previous slice and the slice of values at the same position."""
        cdef char* arguments[3]
        cdef npy_intp steps[3]
        cdef npy_intp position
        if totals != values:
            memcpy(totals, values, columns * itemsize)
        steps[0] = steps[1] = steps[2] = itemsize
        for position in range(1, length):
            if position % SLICES == 0 and interrupted(context):
                return
            arguments[0], arguments[1] = totals + (position - 1) * row, <char*>values + position * row
            arguments[2] = totals + position * row
            self.loop.function(arguments, &columns, steps, self.loop.data)
