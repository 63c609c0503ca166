"""Positions of extrema on the device; see ``ArgKernel`` and ``ExtremumKernel``, of which they take the arguments.

A block of threads searches the elements of one result (``arg_source.py``). Of equal elements the first one counts, and
the first NaN before all numbers, as on the host: the order in which threads meet decides nothing.
"""
from numpy cimport npy_intp

from phintys.gpu.kernels.arg_source import NAMES, THREADS, arg_source
from phintys.gpu.runtime.driver cimport Arguments, put_address, put_integer
from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.ops.native.joined_dimensions cimport join_axis
from phintys.vm.abi cimport Cell, Context, allocate, cell_size
from phintys.vm.limits cimport MAX_RANK

cdef int THREADS_OF_RESULT = THREADS


cdef class GpuArgKernel(DeviceKernel):
    """``(x, position)``."""
    cdef int rank
    cdef unsigned long long searched
    cdef bint keepdims
    cdef str which

    def __init__(self, dtype, rank, axes, which, keepdims=False):
        cdef int axis
        self.source, self.names = arg_source(dtype, rank, which), NAMES
        self.rank, self.keepdims, self.which, self.searched = rank, keepdims, which, 0
        for axis in axes:
            self.searched |= <unsigned long long>1 << axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return self.prepare_for(context, operands[0], operands[1], NULL)

    cdef int prepare_for(self, Context* context, Cell* x, Cell* position, Cell* value) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef int axis, kept = 0
        cdef bint nothing = False
        self.ready()
        for axis in range(self.rank):
            if self.searched >> axis & 1:
                nothing |= x.shape[axis] == 0
                if self.keepdims:
                    shape[kept] = 1
                    kept += 1
            else:
                shape[kept] = x.shape[axis]
                kept += 1
        if nothing:
            with gil:
                raise ValueError(f"attempt to get {self.which} of an empty sequence")
        allocate(context, position, shape)
        if value != NULL:
            allocate(context, value, shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return self.search(operands[0], operands[1], NULL)

    cdef int search(self, Cell* x, Cell* position, Cell* value) noexcept nogil:
        cdef Arguments arguments
        cdef npy_intp lengths[2][MAX_RANK]
        cdef npy_intp strides[2][MAX_RANK]
        cdef npy_intp count = 1
        cdef int joined[2]
        cdef int axis, part
        if cell_size(position) == 0:
            return 0
        joined[0] = joined[1] = 0
        for axis in range(self.rank - 1, -1, -1):
            part = self.searched >> axis & 1
            if part:
                count *= x.shape[axis]
            if x.shape[axis] != 1:
                joined[part] = join_axis(&x, 1, axis, x.shape[axis], True, lengths[part], strides[part], joined[part])
        arguments.size, arguments.full = 0, False
        put_integer(&arguments, count)
        put_integer(&arguments, joined[0])
        put_integer(&arguments, joined[1])
        for part in range(2):
            for axis in range(self.rank if self.rank else 1):
                put_integer(&arguments, lengths[part][axis] if axis < joined[part] else 1)
        for part in range(2):
            for axis in range(self.rank if self.rank else 1):
                put_integer(&arguments, strides[part][axis] if axis < joined[part] else 0)
        put_address(&arguments, x)
        put_address(&arguments, position)
        put_integer(&arguments, <npy_intp>value.data if value != NULL else 0)
        return self.start(0, cell_size(position), THREADS_OF_RESULT, &arguments)


cdef class GpuExtremumKernel(GpuArgKernel):
    """``(x, value, position)``."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return self.prepare_for(context, operands[0], operands[2], operands[1])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return self.search(operands[0], operands[2], operands[1])
