"""Elementwise kernels on the device: the launch of what ``elementwise_source.py`` writes.

It takes the arguments of the processor's ``ElementwiseKernel``. Results are in C order.
"""
from numpy cimport npy_intp

from phintys.gpu.kernels.elementwise_source import elementwise_walk
from phintys.gpu.kernels.walk_kernel cimport MOST_POINTERS, MOST_WORDS, WalkKernel
from phintys.ops.elementwise.block_code import length_mismatch
from phintys.vm.abi cimport Cell, Context, allocate, cell_size
from phintys.vm.limits cimport MAX_RANK


cdef class GpuElementwiseKernel(WalkKernel):
    """Steps over operands on the device.

    Parameters
    ----------
    code, patterns
        See ``ElementwiseKernel``.
    values : sequence of bool
        The inputs on the host: they have one element, and are passed by value.
    """
    cdef int rank, inputs
    cdef unsigned long long broadcastable[2 * MOST_POINTERS]

    def __init__(self, code, patterns, values):
        cdef int index, axis
        self.inputs = len(patterns)
        self.rank = len(patterns[0]) if patterns else 0
        if not fits_launch(self.inputs, len(code.outputs), self.rank, values):
            raise ValueError("too many operands for one kernel of the device")
        self.adopt(elementwise_walk(code, patterns, values))
        for index, pattern in enumerate(patterns):
            self.broadcastable[index] = 0
            for axis in range(self.rank):
                self.broadcastable[index] |= <unsigned long long>bool(pattern[axis]) << axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef int index
        self.ready()
        self.common_shape(operands, shape)
        for index in range(self.results):
            allocate(context, operands[self.inputs + index], shape)
        return 0

    cdef int common_shape(self, Cell** operands, npy_intp* shape) except -1 nogil:
        """The shape of the results. Raises ValueError if lengths differ."""
        cdef int axis, index
        cdef npy_intp found
        for axis in range(self.rank):
            found = -1
            for index in range(self.inputs):
                if self.broadcastable[index] >> axis & 1:
                    if operands[index].shape[axis] != 1:
                        return fail_shapes(self, operands, axis)
                elif found < 0:
                    found = operands[index].shape[axis]
                elif found != operands[index].shape[axis]:
                    return fail_shapes(self, operands, axis)
            shape[axis] = 1 if found < 0 else found
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[self.inputs]
        return self.walk(operands, self.rank, result.shape) if cell_size(result) else 0


def fits_launch(int inputs, int results, int rank, values):
    """Whether a kernel with these operands can be launched: the device takes 4096 bytes of arguments."""
    cdef int pointers = results + list(values).count(False)
    return inputs + results <= 2 * MOST_POINTERS and pointers <= MOST_POINTERS and (
        rank * (pointers + 2) + 4 + inputs + results <= MOST_WORDS)


cdef int fail_shapes(GpuElementwiseKernel kernel, Cell** operands, int axis) except -1 with gil:
    cdef int index
    raise length_mismatch([operands[index].shape[axis] for index in range(kernel.inputs)],
                          [kernel.broadcastable[index] >> axis & 1 for index in range(kernel.inputs)],
                          kernel.rank, axis)
