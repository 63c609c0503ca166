"""Kernels that work on shapes and strides without arithmetic: views, reshapes, contiguous copies, shapes.

A view sets its shape and strides in ``prepare`` and refers to the source's memory (``share``) in ``run``: a 0-d source
is copied into the view's cell, so its value must have been computed by then. A kernel whose result is either a view or
a copy makes this decision from the strides, in ``prepare`` and again in ``run``.
"""
cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.result_shapes cimport integers_of, shape_to_reshape
from phintys.ops.native.strided_copy cimport copy_in_parts, view_strides
from phintys.vm.abi cimport (
    BOUND, BOUND_VIEW, Binding, BoundRun, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, share)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_COPY

cnp.import_array()


cdef inline int is_long(const Cell* cell) noexcept nogil:
    return cell_size(cell) * cell.itemsize >= LONG_COPY


cdef inline void copy_cell(Context* context, Cell* target, const Cell* source) noexcept nogil:
    """Copy a cell's elements to another of the same shape."""
    copy_in_parts(context, source.ndim, source.shape, target.data, target.strides, source.data, source.strides,
                  source.itemsize)


cdef class ContiguousKernel(Kernel):
    """The array itself if it is contiguous in C order, else a contiguous copy: ``(x, out)``."""

    def __cinit__(self):
        self.examined = ()

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        if cell_is_contiguous(operands[0]):
            view_whole(operands[0], operands[1])
            return 0
        allocate(context, operands[1], operands[0].shape)
        return is_long(operands[1])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        if cell_is_contiguous(operands[0]):
            share(context, operands[1], operands[0], operands[0].data)
        else:
            copy_cell(context, operands[1], operands[0])
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        return BOUND_VIEW if cell_is_contiguous(operands[0]) else BOUND


cdef class DimShuffleKernel(Kernel):
    """A view with permuted, dropped and added dimensions: ``(x, out)``.

    Parameters
    ----------
    input_rank : int
    new_order : sequence of int or 'x'
    """
    cdef int order[MAX_RANK]
    cdef int dropped[MAX_RANK]
    cdef int ndim, drops

    def __cinit__(self):
        self.examined, self.binding = (), BOUND_VIEW

    def __init__(self, int input_rank, new_order):
        self.ndim = len(new_order)
        for axis, value in enumerate(new_order):
            self.order[axis] = -1 if value == "x" else value
        self.drops = 0
        for axis in range(input_rank):
            if axis not in new_order:
                self.dropped[self.drops] = axis
                self.drops += 1

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* source = operands[0]
        cdef Cell* view = operands[1]
        cdef int axis, old
        for axis in range(self.drops):
            if source.shape[self.dropped[axis]] != 1:
                with gil:
                    raise ValueError(f"DimShuffle drops dimension {self.dropped[axis]}, which must have length 1, of "
                                     f"an array of shape {shape_of(source)}")
        for axis in range(self.ndim):
            old = self.order[axis]
            view.shape[axis] = source.shape[old] if old >= 0 else 1
            view.strides[axis] = source.strides[old] if old >= 0 else source.itemsize
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[1], operands[0], operands[0].data)
        return 0


cdef class RebroadcastKernel(Kernel):
    """The same array under a type with other broadcastable dimensions: ``(x, out)``; ``ones`` must have length 1."""
    cdef int ones[MAX_RANK]
    cdef int count

    def __cinit__(self):
        self.examined, self.binding = (), BOUND_VIEW

    def __init__(self, ones):
        self.count = len(ones)
        for index, axis in enumerate(ones):
            self.ones[index] = axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int index
        for index in range(self.count):
            if operands[0].shape[self.ones[index]] != 1:
                with gil:
                    raise ValueError(f"Dimension {self.ones[index]} in Rebroadcast's input was supposed to be 1 "
                                     f"(got {operands[0].shape[self.ones[index]]} instead)")
        view_whole(operands[0], operands[1])
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[1], operands[0], operands[0].data)
        return 0


cdef inline void view_whole(const Cell* source, Cell* view) noexcept nogil:
    """Give a view the shape and the strides of its source."""
    memcpy(view.shape, source.shape, source.ndim * sizeof(npy_intp))
    memcpy(view.strides, source.strides, source.ndim * sizeof(npy_intp))


cdef class SpecifyShapeKernel(Kernel):
    """The same array, after a check of its shape: ``(x, shape, out)``."""

    def __cinit__(self):
        self.examined, self.binding = (1,), BOUND_VIEW

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int axis
        cdef bint right = operands[1].shape[0] == operands[0].ndim
        for axis in range(operands[0].ndim):
            right = right and integer_at(operands[1], axis) == operands[0].shape[axis]
        if not right:
            with gil:
                raise AssertionError(f"SpecifyShape: got shape {shape_of(operands[0])}, expected "
                                     f"{integers_of(operands[1])}")
        view_whole(operands[0], operands[2])
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[2], operands[0], operands[0].data)
        return 0


cdef class ReshapeKernel(Kernel):
    """The same elements in C order with another shape: ``(x, shape, out)``; a view if strides permit, else a copy."""

    def __cinit__(self):
        self.examined = (1,)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* source = operands[0]
        cdef Cell* wanted = operands[1]
        cdef Cell* result = operands[2]
        cdef npy_intp shape[MAX_RANK]
        shape_to_reshape(source, wanted, result.ndim, shape)
        if view_strides(source.ndim, source.shape, source.strides, source.itemsize, result.ndim, shape, result.strides):
            memcpy(result.shape, shape, result.ndim * sizeof(npy_intp))
            return 0
        allocate(context, result, shape)
        return is_long(result)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[2]
        cdef npy_intp strides[MAX_RANK]
        if view_strides(source.ndim, source.shape, source.strides, source.itemsize, result.ndim, result.shape, strides):
            share(context, result, source, source.data)
            return 0
        contiguous_strides(source.ndim, source.shape, source.itemsize, strides)
        copy_in_parts(context, source.ndim, source.shape, result.data, strides, source.data, source.strides,
                      source.itemsize)
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[2]
        cdef npy_intp strides[MAX_RANK]
        return BOUND_VIEW if view_strides(source.ndim, source.shape, source.strides, source.itemsize, result.ndim,
                                          result.shape, strides) else BOUND


cdef inline void contiguous_strides(int ndim, const npy_intp* shape, npy_intp itemsize,
                                    npy_intp* strides) noexcept nogil:
    cdef int axis
    for axis in range(ndim - 1, -1, -1):
        strides[axis] = itemsize
        itemsize *= shape[axis]


cdef class ShapeKernel(Kernel):
    """The shape as a vector of int64: ``(x, out)``."""

    follows_from_layouts = True         # the result's value does

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp length = operands[0].ndim
        allocate(context, operands[1], &length)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef int axis
        for axis in range(operands[0].ndim):
            (<int64_t*>operands[1].data)[axis] = operands[0].shape[axis]
        return 0


cdef class ShapeIKernel(Kernel):
    """One length as a 0-d int64: ``(x, out)``."""
    follows_from_layouts = True
    cdef int axis

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, int axis):
        self.axis = axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        allocate(context, operands[1], NULL)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        (<int64_t*>operands[1].data)[0] = operands[0].shape[self.axis]
        return 0
