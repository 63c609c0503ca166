"""Permutes each row (last dimension) of an array: ``(x, order, inverse, out)``.

The array and the orders are broadcast together. Elements of a row are gathered from the positions in an order or, for
the inverse, scattered to these positions; positions that are missing in an invalid permutation are zero. ``prepare``
checks that all positions are in range.
"""
from numpy cimport npy_intp

from phintys.ops.native.asking cimport clear, ends_after
from phintys.ops.native.indexed_loops cimport (
    OffsetLoop, phintys_get_items, phintys_offsets, phintys_set_items, position_dtype, size_class)
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.positions cimport check_positions
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.native.strided_copy cimport CopyPlan, next_place
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_PERMUTATION

phintys_set = set_of_process()

cdef enum:
    BLOCK = 512


cdef inline npy_intp stride_of(const Cell* cell, int axis) noexcept nogil:
    """The stride of a dimension, 0 if it is broadcast."""
    return 0 if cell.shape[axis] == 1 else cell.strides[axis]


cdef class PermuteRowsKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    order_dtype : str
    repeated : sequence of (bool, bool)
        For each dimension, whether x and whether the order may be broadcast along it.
    """
    cdef int dtype                  # dtype of the order
    cdef OffsetLoop offsets
    cdef bint repeated[2][MAX_RANK]

    def __init__(self, order_dtype, repeated):
        self.examined, self.binding = (1,), BOUND
        self.dtype = position_dtype(order_dtype)
        self.offsets = phintys_offsets[self.dtype]
        for axis, (first, second) in enumerate(repeated):
            self.repeated[0][<int>axis], self.repeated[1][<int>axis] = first, second

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[0]
        cdef Cell* order = operands[1]
        cdef npy_intp shape[MAX_RANK]
        cdef int axis
        for axis in range(x.ndim):
            shape[axis] = order.shape[axis] if self.repeated[0][axis] else x.shape[axis]
            if x.shape[axis] != order.shape[axis] and not (self.repeated[0][axis] and x.shape[axis] == 1
                                                           or self.repeated[1][axis] and order.shape[axis] == 1):
                with gil:
                    raise ValueError(f"PermuteRowElements: dimension mismatch: {shape_of(x)}, {shape_of(order)}")
        check_positions(order, self.dtype, shape[x.ndim - 1], x.ndim - 1)
        allocate(context, operands[3], shape)
        return RUNS_ALONE if cell_size(operands[3]) >= LONG_PERMUTATION else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* x = operands[0]
        cdef Cell* order = operands[1]
        cdef Cell* result = operands[3]
        cdef bint inverse = integer_at(operands[2], 0) != 0
        cdef CopyPlan rows
        cdef npy_intp index[MAX_RANK]
        cdef const char* source = x.data
        cdef char* positions = order.data
        cdef char* target = result.data
        cdef npy_intp unasked = 0
        cdef int axis, last = result.ndim - 1
        if cell_size(result) == 0:
            return 0
        if inverse:
            clear(context, target, cell_size(result) * result.itemsize)
        rows.ndim = last
        for axis in range(last):
            index[axis], rows.shape[axis] = 0, result.shape[axis]
            rows.source[axis], rows.target[axis] = stride_of(x, axis), stride_of(order, axis)
        while True:
            if self.move_row(context, &unasked, x, order, <char*>source, positions, target, result.shape[last],
                             inverse):
                return 0
            target += result.shape[last] * result.itemsize
            if not next_place(&rows, last, index, &positions, &source):
                return 0

    cdef inline bint move_row(self, Context* context, npy_intp* unasked, const Cell* x, const Cell* order,
                              char* source, const char* positions, char* target, npy_intp length,
                              bint inverse) noexcept nogil:
        """Permute a row; returns whether the call is to end."""
        cdef npy_intp offsets[BLOCK]
        cdef npy_intp done = 0, count, itemsize = x.itemsize
        cdef npy_intp stride = stride_of(x, x.ndim - 1), order_stride = stride_of(order, order.ndim - 1)
        cdef int size = size_class(itemsize)
        while done < length:
            count = min(<npy_intp>BLOCK, length - done)
            self.offsets(offsets, positions + done * order_stride, order_stride, count, length,
                         itemsize if inverse else stride, True)
            if inverse:
                phintys_set_items[size](target, offsets, source + done * stride, stride, count)
            else:
                phintys_get_items[size](source, offsets, target + done * itemsize, itemsize, count)
            done += count
            if ends_after(context, unasked, count):
                return True
        return False
