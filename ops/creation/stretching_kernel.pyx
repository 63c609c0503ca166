"""The sum over an axis along which a value was repeated, if it was: ``(x, length, out)``.

Gradients use it where only the call knows whether a dimension of length 1 was stretched. What happens follows from
layouts and from ``length``, so a kernel is bound to a view or to the sum, and a view costs nothing.
"""
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.ops.native.integers cimport shape_of
from phintys.vm.abi cimport BOUND, BOUND_VIEW, Binding, BoundRun, Cell, Context, Kernel, share


cdef class SumStretchedKernel(Kernel):
    """A view of x if ``length`` is its length, else, for a length of 1, the sum over the axis.

    Parameters
    ----------
    axis : int
    total : ReductionKernel
        The sum over the axis, which is kept with length 1.
    """
    cdef int axis
    cdef Kernel total

    def __cinit__(self):
        self.examined = (1,)

    def __init__(self, int axis, Kernel total):
        self.axis, self.total, self.private_bytes = axis, total, total.private_bytes

    cdef bint is_whole(self, Cell** operands) noexcept nogil:
        return (<const int64_t*>operands[1].data)[0] == operands[0].shape[self.axis]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[0]
        cdef Cell* out = operands[2]
        cdef Cell* summed[2]
        if self.is_whole(operands):
            memcpy(out.shape, x.shape, x.ndim * sizeof(npy_intp))
            memcpy(out.strides, x.strides, x.ndim * sizeof(npy_intp))
            return 0
        if (<const int64_t*>operands[1].data)[0] != 1:
            with gil:
                raise ValueError(f"a value of length {(<const int64_t*>operands[1].data)[0]} in dimension {self.axis} "
                                 f"cannot have been broadcast to the shape {shape_of(x)}")
        summed[0], summed[1] = x, out
        return self.total.prepare(context, summed)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* summed[2]
        if self.is_whole(operands):
            share(context, operands[2], operands[0], operands[0].data)
            return 0
        summed[0], summed[1] = operands[0], operands[2]
        return self.total.run(context, summed)

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        return BOUND_VIEW if self.is_whole(operands) else BOUND
