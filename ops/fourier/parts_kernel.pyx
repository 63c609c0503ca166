"""The parts of complex numbers as a view with one dimension more: ``(x, out)``.

Ops of ``ops/fourier`` use it around functions that take real arrays. Nothing is computed: the view has the memory of x,
and its strides may be any but the last one.
"""

from phintys.vm.abi cimport BOUND_VIEW, Cell, Context, Kernel, share


cdef class ComplexPartsKernel(Kernel):
    """See the docstring of the file."""

    def __cinit__(self):
        self.examined, self.binding = (), BOUND_VIEW

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[0]
        cdef Cell* out = operands[1]
        cdef int axis
        for axis in range(x.ndim):
            out.shape[axis], out.strides[axis] = x.shape[axis], x.strides[axis]
        out.shape[x.ndim], out.strides[x.ndim] = 2, out.itemsize
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[1], operands[0], operands[0].data)
        return 0
