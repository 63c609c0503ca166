"""Elementwise kernels on the device: the launch of what ``elementwise_source.py`` writes.

It takes the arguments of the processor's ``ElementwiseKernel``. Results are in C order. Operands without gaps in one
order take the loop without offsets.
"""
from numpy cimport npy_intp

from phintys.gpu.kernels.elementwise_source import NAMES, elementwise_source
from phintys.gpu.runtime.driver cimport Arguments, put, put_address, put_integer, put_value
from phintys.gpu.runtime.kernel cimport THREADS, DeviceKernel, blocks_for
from phintys.ops.native.joined_dimensions cimport join_dimensions
from phintys.vm.abi cimport Cell, Context, allocate, cell_size
from phintys.vm.limits cimport MAX_RANK

cdef enum:
    FLAT, STRIDED, STRIDED_LONG
    MOST_POINTERS = 32              # and as many values; the arguments of a launch have 4096 bytes
    MOST_WORDS = 450                # of all strides and lengths


cdef class GpuElementwiseKernel(DeviceKernel):
    """Steps over operands on the device.

    Parameters
    ----------
    code, patterns
        See ``ElementwiseKernel``.
    values : sequence of bool
        The inputs on the host: they have one element, and are passed by value.
    """
    cdef int rank, inputs, results, pointers
    cdef bint by_value[2 * MOST_POINTERS]
    cdef bint single[2 * MOST_POINTERS]         # has one element, whatever the others have
    cdef unsigned long long broadcastable[2 * MOST_POINTERS]

    def __init__(self, code, patterns, values):
        cdef int index, axis
        self.inputs, self.results = len(patterns), len(code.outputs)
        self.rank = len(patterns[0]) if patterns else 0
        self.pointers = self.results + list(values).count(False)
        if not fits_launch(self.inputs, self.results, self.rank, values):
            raise ValueError("too many operands for one kernel of the device")
        self.source, self.names = elementwise_source(code, patterns, values), NAMES
        for index, pattern in enumerate(patterns):
            self.by_value[index], self.single[index] = values[index], all(pattern)
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
        cdef Cell* cells[MOST_POINTERS]
        cdef npy_intp lengths[MAX_RANK]
        cdef npy_intp strides[MOST_WORDS]
        cdef Arguments arguments
        cdef Cell* result = operands[self.inputs]
        cdef npy_intp count = cell_size(result)
        cdef int index, axis, joined, pointers = 0
        cdef bint flat
        if count == 0:
            return 0
        for index in range(self.inputs + self.results):
            if index >= self.inputs or not self.by_value[index]:
                cells[pointers] = operands[index]
                pointers += 1
        joined = join_dimensions(self.rank, result.shape, cells, pointers, lengths, strides)
        flat = joined <= 1 and self.is_flat(operands, strides, joined)
        arguments.size, arguments.full = 0, False
        put_integer(&arguments, count)
        if not flat:
            put_integer(&arguments, joined)
            for axis in range(self.rank):
                put_integer(&arguments, lengths[axis] if axis < joined else 1)
            for index in range(pointers):
                for axis in range(self.rank):
                    put_integer(&arguments, strides[axis * pointers + index] if axis < joined else 0)
        for index in range(self.inputs + self.results):
            if index < self.inputs and self.by_value[index]:
                put_value(&arguments, operands[index])
            else:
                put_address(&arguments, operands[index])
        return self.start(FLAT if flat else STRIDED if count < <npy_intp>1 << 31 else STRIDED_LONG, blocks_for(count),
                          THREADS, &arguments)

    cdef inline bint is_flat(self, Cell** operands, const npy_intp* strides, int joined) noexcept nogil:
        """Whether all operands of several elements have them one after the other."""
        cdef int index, pointer = 0
        for index in range(self.inputs + self.results):
            if index < self.inputs and self.by_value[index]:
                continue
            if joined and not (index < self.inputs and self.single[index]) and (
                    strides[pointer] != operands[index].itemsize):
                return False
            pointer += 1
        return True


def fits_launch(int inputs, int results, int rank, values):
    """Whether a kernel with these operands can be launched: the device takes 4096 bytes of arguments."""
    cdef int pointers = results + list(values).count(False)
    return inputs + results <= 2 * MOST_POINTERS and pointers <= MOST_POINTERS and (
        rank * (pointers + 1) + 2 + inputs + results <= MOST_WORDS)


cdef int fail_shapes(GpuElementwiseKernel kernel, Cell** operands, int axis) except -1 with gil:
    cdef int index
    lengths = [operands[index].shape[axis] for index in range(kernel.inputs)]
    for index in range(kernel.inputs):
        if kernel.broadcastable[index] >> axis & 1 and lengths[index] != 1:
            raise ValueError(f"Input dimension mis-match. (input[{index}].shape[{axis}] = {lengths[index]}, but it is "
                             "declared broadcastable, of length 1)")
    wide = [index for index in range(kernel.inputs) if not kernel.broadcastable[index] >> axis & 1]
    other = next(index for index in wide if lengths[index] != lengths[wide[0]])
    raise ValueError(f"Input dimension mis-match. (input[{wide[0]}].shape[{axis}] = {lengths[wide[0]]}, "
                     f"input[{other}].shape[{axis}] = {lengths[other]})")
