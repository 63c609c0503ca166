"""Setting a part of an array on the device, or adding to it: ``x[1:, i] = y``.

The part is found by the processor's kernel of views, which reads indices and shapes only. Elements are set by copying,
and added to by an elementwise kernel that writes over what it reads. A basic index names no element twice, so the order
of additions does not matter.
"""
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

import numpy

from phintys.gpu.kernels.elementwise_kernel import GpuElementwiseKernel
from phintys.gpu.runtime.copies cimport copy_elements
from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.indexing.subtensor_kernel import SubtensorKernel
from phintys.ops.native.integers cimport shape_of
from phintys.vm.abi cimport BOUND, CELL_DEVICE, Cell, Context, Kernel, allocate, cell_size, drop
from phintys.vm.limits cimport MAX_RANK

cdef enum:
    MOST_OPERANDS = 3 * MAX_RANK + 3


cdef class GpuIncSubtensorKernel(Kernel):
    """A copy of ``x`` in which a part is set or added to: ``(x, y, integers..., out)``.

    Parameters
    ----------
    plan, integers, dtype, sets
        See ``IncSubtensorKernel``.
    rank : int
        Of the indexed part.
    """
    cdef Kernel view                # (array, anything, integers..., part)
    cdef DeviceKernel add
    cdef int integers, rank
    cdef bint sets

    def __init__(self, plan, integers, dtype, sets, rank):
        pattern = (False,) * rank
        self.view, self.integers, self.sets, self.rank = SubtensorKernel(plan, integers + 1), integers, sets, rank
        self.examined, self.binding, self.may_fail = tuple(range(2, 2 + integers)), BOUND, True
        self.private_bytes = 2 * rank * sizeof(npy_intp)     # the shape and the strides of the part
        self.add = None if sets else GpuElementwiseKernel(
            ScalarCode([dtype] * 2, (), [(numpy.add, (0, 1), (dtype,) * 3)], [2]), [pattern] * 2, [False, False])

    cdef void aim(self, Cell** operands, Cell** aimed, Cell* part, npy_intp* dimensions) noexcept nogil:
        """The operands of the kernel that finds the part of the result."""
        cdef Cell* result = operands[2 + self.integers]
        memset(part, 0, sizeof(Cell))
        part.ndim, part.typenum, part.itemsize, part.flags = self.rank, result.typenum, result.itemsize, CELL_DEVICE
        part.shape, part.strides = dimensions, dimensions + self.rank
        memcpy(aimed, operands, (2 + self.integers) * sizeof(Cell*))
        aimed[0], aimed[2 + self.integers] = result, part

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* aimed[MOST_OPERANDS]
        cdef Cell part
        cdef Cell* value = operands[1]
        cdef int axis, lead = self.rank - value.ndim
        if self.add is not None:
            self.add.ready()
        allocate(context, operands[2 + self.integers], operands[0].shape)
        self.aim(operands, aimed, &part, <npy_intp*>context.private_memory)
        self.view.prepare(context, aimed)
        for axis in range(value.ndim):
            if value.shape[axis] != 1 and value.shape[axis] != part.shape[lead + axis]:
                with gil:
                    raise ValueError(f"IncSubtensor: could not broadcast a value of shape {shape_of(value)} into the "
                                     f"indexed part of shape {shape_of(&part)}")
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* aimed[MOST_OPERANDS]
        cdef npy_intp strides[MAX_RANK]
        cdef Cell part, spread
        cdef Cell* value = operands[1]
        cdef Cell* result = operands[2 + self.integers]
        cdef int axis, error, lead = self.rank - value.ndim
        if result.data != operands[0].data and copy_elements(result, operands[0]) < 0:
            return -1
        self.aim(operands, aimed, &part, <npy_intp*>context.private_memory)
        if cell_size(&part) == 0:
            return 0
        self.view.run(context, aimed)
        for axis in range(self.rank):
            strides[axis] = 0 if axis < lead or value.shape[axis - lead] == 1 else value.strides[axis - lead]
        spread = part                               # the value, seen in the shape of the part
        spread.data, spread.strides = value.data, strides
        error = self.write(context, &part, &spread)
        drop(context, &part)
        return error

    cdef int write(self, Context* context, Cell* part, Cell* value) noexcept nogil:
        cdef Cell* operands[3]
        if self.sets:
            return copy_elements(part, value)
        operands[0], operands[1], operands[2] = part, value, part
        return self.add.run(context, operands)
