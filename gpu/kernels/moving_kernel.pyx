"""Kernels that move elements on the device without arithmetic: reshape, alloc, join.

They take the arguments of the processor's kernels of the same names without "Gpu", and check what those check. Lengths,
shapes and axes are on the host.
"""
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.gpu.kernels.moving_source import NAMES, vector_source
from phintys.gpu.runtime.copies cimport copy_elements
from phintys.gpu.runtime.driver cimport Arguments, put, put_address, put_integer
from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.result_shapes cimport broadcast_strides, check_filling, read_shape, shape_to_reshape
from phintys.ops.native.strided_copy cimport view_strides
from phintys.ops.shape.join_kernel import shapes_differ
from phintys.vm.abi cimport (
    BOUND, BOUND_VIEW, Binding, BoundRun, Cell, Context, Kernel, allocate, set_contiguous_strides, share)
from phintys.vm.limits cimport MAX_RANK

cdef enum:
    MOST_NUMBERS = 32               # as in ``moving_source.py``


cdef class GpuReshapeKernel(Kernel):
    """``(x, shape, out)``; a view if strides permit, else a copy."""

    def __cinit__(self):
        self.examined, self.may_fail = (1,), True

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
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[2]
        cdef Cell target
        cdef npy_intp strides[MAX_RANK]
        if view_strides(source.ndim, source.shape, source.strides, source.itemsize, result.ndim, result.shape, strides):
            share(context, result, source, source.data)
            return 0
        target = source[0]                          # the shape of the source, in C order
        target.data, target.strides = result.data, strides
        set_contiguous_strides(&target)
        return copy_elements(&target, source)

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[2]
        cdef npy_intp strides[MAX_RANK]
        return BOUND_VIEW if view_strides(source.ndim, source.shape, source.strides, source.itemsize, result.ndim,
                                          result.shape, strides) else BOUND


cdef class GpuAllocKernel(Kernel):
    """``(value, length, ..., length, out)``: the value is broadcast."""
    cdef int rank
    cdef object repeats

    def __init__(self, int rank, repeats=None):
        self.rank, self.repeats, self.may_fail = rank, repeats, True
        self.examined, self.binding = tuple(range(1, 1 + rank)), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef int axis
        read_shape(operands + 1, self.rank, shape)
        for axis in range(self.rank):
            if shape[axis] < 0:
                with gil:
                    if self.repeats is not None:
                        raise ValueError(f"{self.repeats}: a number of repetitions is negative: {shape[axis]}")
        check_filling(operands[0], self.rank, shape)
        allocate(context, operands[1 + self.rank], shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* value = operands[0]
        cdef Cell* result = operands[1 + self.rank]
        cdef Cell source = result[0]                # the value, seen in the shape of the result
        cdef npy_intp strides[MAX_RANK]
        broadcast_strides(value, result, strides)
        source.data, source.strides = value.data, strides
        return copy_elements(result, &source)


cdef class GpuAllocEmptyKernel(Kernel):
    """``(length, ..., length, out)``: the content is unspecified."""
    cdef int rank

    def __init__(self, int rank):
        self.rank, self.may_fail = rank, True
        self.examined, self.binding = tuple(range(rank)), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        read_shape(operands, self.rank, shape)
        allocate(context, operands[self.rank], shape)
        return 0


cdef class GpuJoinKernel(Kernel):
    """``(axis, x, ..., x, out)``, arrays of one dtype."""
    cdef int count

    def __init__(self, dtypes, dtype, view=-1):
        self.count, self.may_fail = len(dtypes), True
        self.examined, self.binding = (0,), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell** arrays = operands + 1
        cdef Cell* result = operands[1 + self.count]
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp axis = integer_at(operands[0], 0)
        cdef int index, dimension, rank = result.ndim
        if axis < -rank or axis >= rank:
            with gil:
                raise IndexError(f"Join: axis {axis} is out of bounds for arrays of {rank} dimensions")
        if axis < 0:
            axis += rank
        memcpy(shape, arrays[0].shape, rank * sizeof(npy_intp))
        for index in range(1, self.count):
            for dimension in range(rank):
                if dimension == axis:
                    shape[dimension] += arrays[index].shape[dimension]
                elif arrays[index].shape[dimension] != shape[dimension]:
                    with gil:
                        raise shapes_differ(axis, [shape_of(arrays[other]) for other in range(self.count)])
        allocate(context, result, shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[1 + self.count]
        cdef Cell part
        cdef npy_intp axis = integer_at(operands[0], 0)
        cdef npy_intp start = 0
        cdef int index
        if axis < 0:
            axis += result.ndim
        for index in range(self.count):
            part = operands[1 + index][0]
            part.data, part.strides = result.data + start, result.strides
            if copy_elements(&part, operands[1 + index]) < 0:
                return -1
            start += part.shape[axis] * result.strides[axis]
        return 0


cdef class GpuMakeVectorKernel(DeviceKernel):
    """``(x, ..., x, out)``: a vector of numbers of one dtype."""
    cdef npy_intp count

    def __init__(self, npy_intp count):
        self.count, self.source, self.names = count, vector_source(), NAMES

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        self.ready()
        allocate(context, operands[self.count], &self.count)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[self.count]
        cdef Arguments arguments
        cdef char* target
        cdef npy_intp index, count, first = 0
        cdef int which = 0
        while (1 << which) < result.itemsize:
            which += 1
        while first < self.count:
            count = min(self.count - first, <npy_intp>MOST_NUMBERS)
            arguments.size, arguments.full = 0, False
            put_integer(&arguments, count)
            for index in range(MOST_NUMBERS):
                put_address(&arguments, operands[first + (index if index < count else 0)])
            target = result.data + first * result.itemsize
            put(&arguments, <const char*>&target, 8)
            if self.start(which, 1, MOST_NUMBERS, &arguments) < 0:
                return -1
            first += count
        return 0
