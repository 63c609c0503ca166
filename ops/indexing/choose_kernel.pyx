"""Choosing between arrays element by element: ``(a, choices..., out)``; ``a`` contains the numbers of choices.

The choices are separate operands, or the slices of one operand along its first dimension. Dimensions of length 1 are
broadcast, whether their types declare it or not.
"""
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.native.asking cimport ends_after
from phintys.ops.native.indexed_loops cimport OffsetLoop, phintys_offsets, position_dtype, size_class
from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.native.strided_copy cimport Lines, first_line, next_line
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_CHOOSE

phintys_set = set_of_process()

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

cdef extern from "indexing/choose_loops.h" nogil:
    ctypedef void (*ListedLoop)(char* result, const npy_intp* numbers, npy_intp count, const char** data,
                                const npy_intp* strides) nogil
    ctypedef void (*SlicedLoop)(char* result, const npy_intp* numbers, npy_intp count, const char* data, npy_intp step,
                                npy_intp stride) nogil
    const ListedLoop* phintys_choose_listed
    const SlicedLoop* phintys_choose_sliced
    void wrap_numbers(npy_intp* numbers, npy_intp count, npy_intp choices)
    void clip_numbers(npy_intp* numbers, npy_intp count, npy_intp choices)
    npy_intp first_unknown(const npy_intp* numbers, npy_intp count, npy_intp choices)

cdef enum:
    BLOCK = 512                     # numbers: 4 KiB of the stack

cdef enum Mode:
    RAISE, WRAP, CLIP

MODES = {"raise": RAISE, "wrap": WRAP, "clip": CLIP}

cdef struct Operand:                # an operand, with strides along the result's dimensions
    const char* data
    npy_intp strides[MAX_RANK]

cdef struct Walk:                   # the result's dimensions, joined where all operands allow it
    int ndim
    npy_intp shape[MAX_RANK]
    Operand* operands               # the numbers, then the choices
    int count


cdef class ChooseKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    dtype : str
        The dtype of the numbers.
    mode : {'raise', 'wrap', 'clip'}
        The treatment of numbers out of range.
    listed : bool
        Whether the choices are separate operands.
    count : int
        The number of operands that contain choices.
    """
    cdef int mode, count
    cdef bint listed
    cdef OffsetLoop read            # converts numbers of any dtype to int64

    def __init__(self, str dtype, mode, bint listed, int count):
        self.mode, self.listed, self.count = MODES[mode], listed, count
        self.examined, self.binding = (0,) if self.mode == RAISE else (), BOUND
        self.read = phintys_offsets[position_dtype("uint8" if dtype == "bool" else dtype)]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* result = operands[1 + self.count]
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp length
        cdef int index, axis
        cdef bint fits = True
        for axis in range(result.ndim):
            shape[axis] = 1
            for index in range(1 + self.count):
                length = operands[index].shape[axis + (index > 0 and not self.listed)]
                if length != 1:
                    fits = fits and shape[axis] in (1, length)
                    shape[axis] = length
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
        return RUNS_ALONE if cell_size(result) >= LONG_CHOOSE else 0

    cdef int check(self, const Cell* numbers, npy_intp choices) except -1 nogil:
        """Raise an error unless every number is that of a choice."""
        cdef Lines lines
        cdef npy_intp done
        cdef bint more = first_line(&lines, numbers)
        while more:
            done = 0
            while done < lines.length:
                self.check_block(lines.data + done * lines.stride, lines.stride,
                                 min(lines.length - done, <npy_intp>BLOCK), choices)
                done += BLOCK
            more = next_line(&lines)
        return 0

    cdef int check_block(self, const char* line, npy_intp stride, npy_intp count, npy_intp choices) except -1 nogil:
        cdef npy_intp numbers[BLOCK]
        cdef npy_intp position
        self.read(numbers, line, stride, count, 0, 1, True)
        position = first_unknown(numbers, count, choices)
        if position >= 0:
            with gil:
                raise ValueError(f"invalid entry in choice array: {numbers[position]}, there are {choices} choices")
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[1 + self.count]
        cdef npy_intp index[MAX_RANK]
        cdef char* target = result.data
        cdef npy_intp done, count, length, unasked = 0
        cdef Walk walk
        if cell_size(result) == 0:
            return 0
        walk.count = 1 + self.count
        walk.operands = <Operand*>alloca(walk.count * sizeof(Operand))
        lay_out(&walk, operands, result, not self.listed)
        memset(index, 0, walk.ndim * sizeof(npy_intp))
        length = walk.shape[walk.ndim - 1]
        while True:
            done = 0
            while done < length:
                count = min(length - done, <npy_intp>BLOCK)
                self.choose(&walk, operands, target, done, count)
                target += count * result.itemsize
                done += count
                if ends_after(context, &unasked, count):
                    return 0
            if not next_lines(&walk, index):
                return 0

    cdef void choose(self, Walk* walk, Cell** operands, char* target, npy_intp start, npy_intp count) noexcept nogil:
        """Compute elements [start, start + count) of the current line."""
        cdef npy_intp numbers[BLOCK]
        cdef npy_intp choices = self.count if self.listed else operands[1].shape[0]
        cdef int last = walk.ndim - 1, number, size = size_class(operands[1].itemsize)
        cdef const char** data
        cdef npy_intp* strides
        self.read(numbers, walk.operands[0].data + start * walk.operands[0].strides[last],
                  walk.operands[0].strides[last], count, 0, 1, True)
        if self.mode == WRAP:
            wrap_numbers(numbers, count, choices)
        elif self.mode == CLIP:
            clip_numbers(numbers, count, choices)
        if not self.listed:
            phintys_choose_sliced[size](target, numbers, count,
                                        walk.operands[1].data + start * walk.operands[1].strides[last],
                                        operands[1].strides[0], walk.operands[1].strides[last])
            return
        data = <const char**>alloca(self.count * sizeof(char*))
        strides = <npy_intp*>alloca(self.count * sizeof(npy_intp))
        for number in range(self.count):
            strides[number] = walk.operands[1 + number].strides[last]
            data[number] = walk.operands[1 + number].data + start * strides[number]
        phintys_choose_listed[size](target, numbers, count, data, strides)


cdef void lay_out(Walk* walk, Cell** operands, const Cell* result, bint sliced) noexcept nogil:
    """Join adjacent dimensions of the result that all operands traverse with one stride; at least one dimension
    remains."""
    cdef int axis, number, last = -1
    cdef npy_intp stride
    cdef bint joins
    for number in range(walk.count):
        walk.operands[number].data = operands[number].data
    for axis in range(result.ndim):
        if result.shape[axis] == 1:
            continue
        joins = last >= 0
        for number in range(walk.count):
            stride = broadcast_stride(operands[number], axis, sliced and number > 0)
            joins = joins and walk.operands[number].strides[last] == stride * result.shape[axis]
        if not joins:
            last += 1
            walk.shape[last] = 1
        walk.shape[last] *= result.shape[axis]
        for number in range(walk.count):
            walk.operands[number].strides[last] = broadcast_stride(operands[number], axis, sliced and number > 0)
    if last < 0:
        last = 0
        walk.shape[0] = 1
        for number in range(walk.count):
            walk.operands[number].strides[0] = 0
    walk.ndim = last + 1


cdef inline bint next_lines(Walk* walk, npy_intp* index) noexcept nogil:
    """Step to the next line of all operands; returns False after the last line."""
    cdef int axis = walk.ndim - 2, number
    while axis >= 0:
        index[axis] += 1
        if index[axis] < walk.shape[axis]:
            for number in range(walk.count):
                walk.operands[number].data += walk.operands[number].strides[axis]
            return True
        for number in range(walk.count):
            walk.operands[number].data -= walk.operands[number].strides[axis] * (walk.shape[axis] - 1)
        index[axis] = 0
        axis -= 1
    return False


cdef inline npy_intp broadcast_stride(const Cell* cell, int axis, bint behind) noexcept nogil:
    """The stride of a dimension, 0 if it is broadcast; if ``behind`` is true, dimensions count from the second one."""
    return 0 if cell.shape[axis + behind] == 1 else cell.strides[axis + behind]
