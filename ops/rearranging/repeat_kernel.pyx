"""Kernels of repeated slices: ``numpy.repeat`` with one number for all slices or one for each, and the sums over the
repetitions, which are its gradient.

Both treat an array as ``outer`` x ``length`` x ``chunk``, where slices of the middle dimension are repeated and a chunk
is contiguous; the array with repetitions is always in C order.
"""
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.ops.native.asking cimport UNASKED, clear, data_without_gaps, ends_after
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.loops cimport InnerLoop, find_loop
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.native.strided_copy cimport PART, copy_in_parts
from phintys.vm.abi cimport (
    BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, interrupted, scratch)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_COPY

phintys_set = set_of_process()

cdef extern from "rearranging/repeat_loops.h" nogil:
    char* repeat_chunks(char* target, const char* source, npy_intp bytes, npy_intp chunks, const npy_intp* counts)

cdef npy_intp MOST_SLICES = <npy_intp>1 << 62           # that an array can have

cdef struct Slices:
    npy_intp outer
    npy_intp length
    npy_intp chunk                  # in elements


cdef inline Slices slices_of(const npy_intp* shape, int rank, int axis) noexcept nogil:
    """The outer size, length and chunk size of an array for an axis; axis -1 means the flattened array."""
    cdef Slices slices
    cdef int dimension
    slices.outer = slices.length = slices.chunk = 1
    for dimension in range(rank):
        if axis < 0 or dimension == axis:
            slices.length *= shape[dimension]
        elif dimension < axis:
            slices.outer *= shape[dimension]
        else:
            slices.chunk *= shape[dimension]
    return slices


cdef inline npy_intp repetitions(const Cell* repeats, npy_intp position) noexcept nogil:
    """The number of repetitions of a slice; a single number applies to all slices."""
    return integer_at(repeats, 0 if repeats.ndim == 0 or repeats.shape[0] == 1 else position)


cdef npy_intp total_repetitions(const Cell* repeats, npy_intp length) except -1 nogil:
    """The sum of repetitions over all slices."""
    cdef npy_intp position, count, each, total = 0
    if repeats.ndim and repeats.shape[0] != 1 and repeats.shape[0] != length:
        with gil:
            raise ValueError(f"Repeat: there are {length} slices to repeat, but {repeats.shape[0]} repetition counts")
    if repeats.ndim == 0 or repeats.shape[0] == 1:
        count = integer_at(repeats, 0)
        total = count * length if count <= MOST_SLICES // max(length, <npy_intp>1) else -1
    else:
        count = 0
        for position in range(length):
            each = integer_at(repeats, position)
            count |= each                                    # negative if any number is negative
            total = total + each if 0 <= total <= MOST_SLICES - each else -1
    if count < 0:
        with gil:
            raise ValueError("repeat: a number of repetitions is negative")
    if total < 0:
        with gil:
            raise ValueError(f"repeat: the repetitions of {length} slices sum to more than an array can have")
    return total


cdef inline size_t scratch_bytes(Cell* array, npy_intp counts) noexcept nogil:
    """The size of the counts, followed by a contiguous copy of the array if it is not contiguous."""
    cdef size_t size = counts * sizeof(npy_intp)
    return size if cell_is_contiguous(array) else size + cell_size(array) * array.itemsize


cdef class RepeatKernel(Kernel):
    """Repeats slices along an axis: ``(x, repeats, out)``; ``repeats`` is 0-d or a vector.

    Parameters
    ----------
    axis : int
        Not negative, or -1 to repeat the elements of the flattened array.
    """
    cdef int axis

    def __cinit__(self):
        self.examined, self.binding = (1,), BOUND

    def __init__(self, int axis):
        self.axis = axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* source = operands[0]
        cdef npy_intp shape[MAX_RANK]
        cdef Slices slices = slices_of(source.shape, source.ndim, self.axis)
        cdef npy_intp total = total_repetitions(operands[1], slices.length)
        if self.axis < 0:
            shape[0] = total
        else:
            memcpy(shape, source.shape, source.ndim * sizeof(npy_intp))
            shape[self.axis] = total
        allocate(context, operands[2], shape)
        scratch(context, scratch_bytes(source, slices.length))
        return RUNS_ALONE if cell_size(operands[2]) * source.itemsize >= LONG_COPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* repeats = operands[1]
        cdef Slices slices = slices_of(source.shape, source.ndim, self.axis)
        cdef npy_intp bytes = slices.chunk * source.itemsize
        cdef npy_intp* counts = <npy_intp*>context.scratch
        cdef npy_intp outer, position, step
        cdef char* chunks
        cdef char* target = operands[2].data
        if cell_size(operands[2]) == 0:
            return 0
        for position in range(slices.length):
            counts[position] = repetitions(repeats, position)
        chunks = data_without_gaps(context, source, <char*>(counts + slices.length))
        for outer in range(slices.outer):
            position = 0
            while position < slices.length:
                step = chunks_of_part(counts + position, slices.length - position, bytes)
                if step:
                    target = repeat_chunks(target, chunks, bytes, step, counts + position)
                else:
                    step = 1
                    target = repeat_long(context, target, chunks, bytes, counts[position])
                chunks += bytes * step
                position += step
                if interrupted(context):
                    return 0
        return 0


cdef inline npy_intp chunks_of_part(const npy_intp* counts, npy_intp length, npy_intp bytes) noexcept nogil:
    """The number of chunks whose repetitions take up to PART bytes."""
    cdef npy_intp chunks = 0, left = PART // bytes
    while chunks < length and counts[chunks] < left:
        left -= counts[chunks] + 1                   # reading a count takes a while, too
        chunks += 1
    return chunks


cdef char* repeat_long(Context* context, char* target, const char* chunk, npy_intp bytes,
                       npy_intp count) noexcept nogil:
    """Repeat one chunk, of which all repetitions take more than PART bytes; returns the address after the last one."""
    cdef npy_intp step = max(PART // bytes, <npy_intp>1), one = 1
    while count > 0 and not interrupted(context):
        step = min(step, count)
        if bytes > PART:
            copy_in_parts(context, 1, &bytes, target, &one, chunk, &one, 1)
            target += bytes
        else:
            target = repeat_chunks(target, chunk, bytes, 1, &step)
        count -= step
    return target


cdef class SumRepeatsKernel(Kernel):
    """The sums over the repetitions of each slice: ``(repeated, repeats, length, out)``.

    Parameters
    ----------
    dtype : str
    axis : int
        Not negative.
    """
    cdef InnerLoop loop
    cdef int axis

    def __cinit__(self):
        self.examined, self.binding = (1, 2), BOUND

    def __init__(self, dtype, int axis):
        self.loop = find_loop(numpy.add, (dtype,) * 3)
        self.axis = axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* source = operands[0]
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp length = integer_at(operands[2], 0)
        cdef npy_intp total = total_repetitions(operands[1], length)
        if total != source.shape[self.axis]:
            with gil:
                raise ValueError(f"SumRepeats: the repetitions sum to {total}, but axis {self.axis} of the array of "
                                 f"shape {shape_of(source)} has another length")
        memcpy(shape, source.shape, source.ndim * sizeof(npy_intp))
        shape[self.axis] = length
        allocate(context, operands[3], shape)
        scratch(context, scratch_bytes(source, 0))
        return RUNS_ALONE if cell_size(source) * source.itemsize >= LONG_COPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[3]
        cdef Slices slices = slices_of(result.shape, result.ndim, self.axis)
        cdef npy_intp bytes = slices.chunk * source.itemsize
        cdef npy_intp outer, position, count, unasked = 0
        cdef char* repeated
        cdef char* target = result.data
        clear(context, result.data, cell_size(result) * result.itemsize)
        if cell_size(result) == 0 or cell_size(source) == 0:
            return 0
        repeated = data_without_gaps(context, source, context.scratch)
        for outer in range(slices.outer):
            for position in range(slices.length):
                count = repetitions(operands[1], position)
                repeated = self.add_repetitions(context, target, repeated, slices.chunk, source.itemsize, count)
                target += bytes
                if ends_after(context, &unasked, (count + 1) * slices.chunk):
                    return 0
        return 0

    cdef inline char* add_repetitions(self, Context* context, char* target, char* repeated, npy_intp chunk,
                                      npy_intp itemsize, npy_intp count) noexcept nogil:
        """Add ``count`` chunks to one; returns the address after the last chunk."""
        cdef char* arguments[3]
        cdef npy_intp steps[3]
        cdef npy_intp repetition, part, unasked = 0
        arguments[0] = arguments[2] = target
        if chunk == 1:
            steps[0] = steps[2] = 0                  # NumPy's loops reduce into an operand with stride 0
            steps[1] = itemsize
            while count:
                arguments[1] = repeated
                part = min(count, <npy_intp>UNASKED)
                self.loop.function(arguments, &part, steps, self.loop.data)
                repeated, count = repeated + part * itemsize, count - part
                if count and interrupted(context):
                    count = 0
            return repeated
        steps[0] = steps[1] = steps[2] = itemsize
        for repetition in range(count):
            arguments[1] = repeated
            self.loop.function(arguments, &chunk, steps, self.loop.data)
            repeated += chunk * itemsize
            if ends_after(context, &unasked, chunk):
                return repeated
        return repeated
