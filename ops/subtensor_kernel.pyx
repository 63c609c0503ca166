"""Kernels of basic indexing: a view of part of an array, and an array with part of it set or added to.

An index is a plan of rows ``(drops the dimension, start, stop, step)``; each part is ``None``, a Python int (a
constant), or ``("operand", number)`` for a symbolic integer. Rules are those of Python's slices: ints must be in
range, slices are clipped.
"""
from libc.string cimport memset
from numpy cimport npy_intp

import numpy

from phintys.ops.integers cimport integer_at, shape_of
from phintys.ops.loops cimport Loop, find_loop
from phintys.ops.strided_copy cimport copy_strided
from phintys.vm.abi cimport Cell, Context, Kernel, allocate, cell_size, share

cdef enum:
    MAX_RANK = 64
    LONG_BYTES = 131072             # copying as much takes about 20 microseconds from memory

cdef enum Source:
    ABSENT = 0
    CONSTANT = 1
    OPERAND = 2

cdef struct Part:
    Source source
    npy_intp value                  # the constant, or the operand's number

cdef struct Row:
    bint drops
    Part start, stop, step

cdef struct Region:                 # part of an array
    char* data
    npy_intp shape[MAX_RANK]
    npy_intp strides[MAX_RANK]


cdef Part read_part(part):
    cdef Part result
    result.source, result.value = ABSENT, 0
    if isinstance(part, tuple):
        result.source, result.value = OPERAND, part[1]
    elif part is not None:
        result.source, result.value = CONSTANT, part
    return result


cdef inline npy_intp part_value(const Part* part, npy_intp absent, Cell** operands) noexcept nogil:
    if part.source == CONSTANT:
        return part.value
    return integer_at(operands[part.value], 0) if part.source == OPERAND else absent


cdef inline npy_intp clip(npy_intp position, npy_intp length, npy_intp lowest, npy_intp highest) noexcept nogil:
    """A slice's end inside [lowest, highest], counted from the end when negative."""
    if position < 0:
        position += length
    return lowest if position < lowest else highest if position > highest else position


cdef class IndexKernel(Kernel):
    """What both kernels share: where the indexed part of an array lies."""
    cdef Row rows[MAX_RANK]
    cdef int count

    def __init__(self, plan):
        self.count = len(plan)
        for axis, (drops, start, stop, step) in enumerate(plan):
            self.rows[axis].drops = drops
            self.rows[axis].start = read_part(start)
            self.rows[axis].stop = read_part(stop)
            self.rows[axis].step = read_part(step)

    cdef int locate(self, Cell** operands, const Cell* array, Region* region) except -1 nogil:
        """Shape, strides and address of the indexed part of ``array``."""
        cdef npy_intp length, last, start, stop, step
        cdef int axis, kept = 0
        region.data = array.data
        for axis in range(array.ndim):
            length = array.shape[axis]
            if axis >= self.count:
                region.shape[kept], region.strides[kept] = length, array.strides[axis]
                kept += 1
                continue
            if self.rows[axis].drops:
                start = part_value(&self.rows[axis].start, 0, operands)
                if start < -length or start >= length:
                    with gil:
                        raise IndexError(f"index {start} is out of bounds for axis {axis} with size {length}")
                region.data += (start + length if start < 0 else start) * array.strides[axis]
                continue
            step = part_value(&self.rows[axis].step, 1, operands)
            if step == 0:
                with gil:
                    raise ValueError(f"slice step cannot be zero (axis {axis})")
            start = self.rows[axis].start.source
            stop = self.rows[axis].stop.source
            if step > 0:
                start = clip(part_value(&self.rows[axis].start, 0, operands), length, 0, length) if start else 0
                stop = clip(part_value(&self.rows[axis].stop, 0, operands), length, 0, length) if stop else length
                region.shape[kept] = (stop - start - 1) // step + 1 if stop > start else 0
            else:
                last = length - 1
                start = clip(part_value(&self.rows[axis].start, 0, operands), length, -1, last) if start else last
                stop = clip(part_value(&self.rows[axis].stop, 0, operands), length, -1, last) if stop else -1
                region.shape[kept] = (start - stop - 1) // -step + 1 if start > stop else 0
            region.strides[kept] = array.strides[axis] * step
            if region.shape[kept]:
                region.data += start * array.strides[axis]
            kept += 1
        return kept


cdef class SubtensorKernel(IndexKernel):
    """A view of the indexed part: ``(x, integers..., out)``."""
    cdef int result

    def __init__(self, plan, int integers):
        IndexKernel.__init__(self, plan)
        self.result = 1 + integers

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Region region
        cdef Cell* view = operands[self.result]
        cdef int axis, ndim = self.locate(operands, operands[0], &region)
        for axis in range(ndim):
            view.shape[axis] = region.shape[axis]
            view.strides[axis] = region.strides[axis]
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* view = operands[self.result]
        cdef Cell* source = operands[0]
        cdef Region region
        if cell_size(view) == 0:
            allocate(context, view, view.shape)      # an empty part may lie outside the array; nothing is allocated
            return 0
        self.locate(operands, source, &region)       # cannot fail any more
        share(context, view, source, region.data)
        return 0


cdef class IncSubtensorKernel(IndexKernel):
    """A copy of ``x`` with part of it set, or added to: ``(x, y, integers..., out)``; ``y`` broadcasts over the part.

    Parameters
    ----------
    plan, integers
        As for `SubtensorKernel`; operand numbers count from ``x``.
    dtype : str
    sets : bool
        Set the part; otherwise add to it.
    """
    cdef int result
    cdef bint sets
    cdef Loop add

    def __init__(self, plan, int integers, dtype, bint sets):
        IndexKernel.__init__(self, plan)
        self.result = 2 + integers
        self.sets = sets
        self.add = find_loop(numpy.add, (dtype, dtype, dtype))

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* part = operands[1]
        cdef Cell* result = operands[self.result]
        cdef Region region
        cdef int axis, ndim = self.locate(operands, operands[0], &region)
        for axis in range(part.ndim):
            if part.shape[axis] != 1 and part.shape[axis] != region.shape[ndim - part.ndim + axis]:
                with gil:
                    target = tuple([region.shape[other] for other in range(ndim)])
                    raise ValueError(f"IncSubtensor: could not broadcast a value of shape {shape_of(part)} into the "
                                     f"indexed part of shape {target}")
        allocate(context, result, operands[0].shape)
        return cell_size(result) * result.itemsize >= LONG_BYTES

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* part = operands[1]
        cdef Cell* result = operands[self.result]
        cdef Region region
        cdef npy_intp strides[MAX_RANK]
        cdef int axis, lead, ndim
        if result.data != source.data:               # the same memory when the linker made the pair in-place
            copy_strided(source.ndim, source.shape, result.data, result.strides, source.data, source.strides,
                         source.itemsize)
        ndim = self.locate(operands, result, &region)
        lead = ndim - part.ndim
        for axis in range(ndim):
            strides[axis] = 0 if axis < lead or part.shape[axis - lead] == 1 else part.strides[axis - lead]
        if self.sets:
            copy_strided(ndim, region.shape, region.data, region.strides, part.data, strides, part.itemsize)
        else:
            self.add_part(&region, ndim, part.data, strides)
        return 0

    cdef void add_part(self, Region* region, int ndim, char* part, const npy_intp* strides) noexcept nogil:
        """region += part, one line of the last dimension at a time."""
        cdef npy_intp index[MAX_RANK]
        cdef npy_intp steps[3]
        cdef npy_intp one = 1
        cdef npy_intp* length = &region.shape[ndim - 1] if ndim else &one
        cdef char* lines[3]
        cdef char* target = region.data
        cdef int axis
        for axis in range(ndim):
            if region.shape[axis] == 0:
                return
        steps[0] = steps[2] = region.strides[ndim - 1] if ndim else 8
        steps[1] = strides[ndim - 1] if ndim else 8
        memset(index, 0, sizeof(index))
        while True:
            lines[0] = lines[2] = target
            lines[1] = part
            self.add.function(lines, length, steps, self.add.data)
            axis = ndim - 2
            while axis >= 0:
                target += region.strides[axis]
                part += strides[axis]
                index[axis] += 1
                if index[axis] < region.shape[axis]:
                    break
                target -= region.strides[axis] * region.shape[axis]
                part -= strides[axis] * region.shape[axis]
                index[axis] = 0
                axis -= 1
            if axis < 0:
                return
