"""Choosing between arrays element by element: ``(a, choices..., out)``; what ``a`` names is the number of a choice.

The choices are operands of their own, or the slices of one operand along its first dimension. All dimensions broadcast.
"""
from numpy cimport npy_intp
from libc.string cimport memcpy, memset

from phintys.ops.integers cimport integer_at, shape_of
from phintys.vm.abi cimport Cell, Context, Kernel, allocate, cell_size

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

cdef enum:
    MAX_RANK = 64
    LONG_COUNT = 8192               # elements: choosing as many takes about 20 microseconds

cdef enum Mode:
    RAISE, WRAP, CLIP

MODES = {"raise": RAISE, "wrap": WRAP, "clip": CLIP}

cdef struct Operand:                # one that is walked beside the result
    char* data
    npy_intp strides[MAX_RANK]


cdef class ChooseKernel(Kernel):
    """See the file.

    Parameters
    ----------
    mode : {'raise', 'wrap', 'clip'}
        For numbers out of range.
    listed : bool
        Whether the choices are operands of their own.
    count : int
        The number of operands that hold choices.
    """
    cdef int mode, count
    cdef bint listed

    def __init__(self, mode, bint listed, int count):
        self.mode, self.listed, self.count = MODES[mode], listed, count

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* result = operands[1 + self.count]
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp length
        cdef int index, axis
        cdef bint fits = True
        memcpy(shape, operands[0].shape, result.ndim * sizeof(npy_intp))
        for index in range(1, 1 + self.count):
            for axis in range(result.ndim):
                if shape[axis] == 1:
                    shape[axis] = operands[index].shape[axis + (not self.listed)]
        for index in range(1 + self.count):
            for axis in range(result.ndim):
                length = broadcast_length(operands[index], axis, index > 0 and not self.listed)
                fits = fits and (length == 1 or length == shape[axis])
        if not fits:
            with gil:
                raise ValueError("shape mismatch: objects cannot be broadcast to a single shape: "
                                 + " ".join([str(shape_of(operands[index])) for index in range(1 + self.count)]))
        if self.mode == RAISE:
            self.check(operands[0], self.count if self.listed else operands[1].shape[0])
        elif (self.count if self.listed else operands[1].shape[0]) == 0:
            with gil:
                raise ValueError("Choose: there are no choices")
        allocate(context, result, shape)
        return cell_size(result) >= LONG_COUNT

    cdef int check(self, const Cell* numbers, npy_intp count) except -1 nogil:
        """Every number must be that of a choice."""
        cdef npy_intp index[MAX_RANK]
        cdef npy_intp done, number
        cdef Cell one = numbers[0]
        cdef int axis
        one.ndim = 0
        memset(index, 0, sizeof(index))
        for done in range(cell_size(numbers)):
            number = integer_at(&one, 0)
            if number < 0 or number >= count:
                with gil:
                    raise ValueError(f"invalid entry in choice array: {number}, there are {count} choices")
            for axis in range(numbers.ndim - 1, -1, -1):
                one.data += numbers.strides[axis]
                index[axis] += 1
                if index[axis] < numbers.shape[axis]:
                    break
                one.data -= numbers.strides[axis] * numbers.shape[axis]
                index[axis] = 0
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[1 + self.count]
        cdef Operand* walked = <Operand*>alloca((1 + self.count) * sizeof(Operand))
        cdef npy_intp index[MAX_RANK]
        cdef npy_intp done, number, choices = self.count if self.listed else operands[1].shape[0]
        cdef npy_intp slice_stride = 0 if self.listed else operands[1].strides[0]
        cdef char* target = result.data
        cdef Cell one = operands[0][0]
        cdef int operand, axis
        one.ndim = 0
        for operand in range(1 + self.count):
            walked[operand].data = operands[operand].data
            for axis in range(result.ndim):
                walked[operand].strides[axis] = broadcast_stride(operands[operand], axis,
                                                                 operand > 0 and not self.listed)
        memset(index, 0, sizeof(index))
        for done in range(cell_size(result)):
            one.data = walked[0].data
            number = integer_at(&one, 0)
            if self.mode == CLIP:
                number = 0 if number < 0 else choices - 1 if number >= choices else number
            elif self.mode == WRAP:
                number = (number % choices + choices) % choices
            if self.listed:
                memcpy(target, walked[1 + number].data, result.itemsize)
            else:
                memcpy(target, walked[1].data + number * slice_stride, result.itemsize)
            target += result.itemsize
            for axis in range(result.ndim - 1, -1, -1):
                index[axis] += 1
                if index[axis] < result.shape[axis]:
                    for operand in range(1 + self.count):
                        walked[operand].data += walked[operand].strides[axis]
                    break
                for operand in range(1 + self.count):
                    walked[operand].data -= walked[operand].strides[axis] * (result.shape[axis] - 1)
                index[axis] = 0
        return 0


cdef inline npy_intp broadcast_length(const Cell* cell, int axis, bint behind) noexcept nogil:
    return cell.shape[axis + behind]


cdef inline npy_intp broadcast_stride(const Cell* cell, int axis, bint behind) noexcept nogil:
    """The stride of a dimension, 0 where it is repeated; ``behind``: of those behind the first one."""
    return 0 if cell.shape[axis + behind] == 1 else cell.strides[axis + behind]
