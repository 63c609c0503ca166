"""Conversion between positions in a flattened array and coordinates: UnravelIndexKernel and RavelMultiIndexKernel.

Positions, coordinates and results are int64; lengths have any integer dtype. ``prepare`` detects values out of range,
so ``run`` cannot fail. Positions below 2**32 are divided as 32-bit numbers, which takes half the time.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.ops.native.asking cimport data_without_gaps, ends_after
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.result_shapes cimport tuple_of
from phintys.ops.native.strided_copy cimport Lines, first_line, next_line
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, scratch
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_FLAT_INDEX

cdef enum:
    BLOCK = 512

cdef enum Mode:
    RAISE, WRAP, CLIP

MODES = {"raise": RAISE, "wrap": WRAP, "clip": CLIP}

# A position in the iteration over the lines of several arrays that are broadcast together.
cdef struct Walk:
    int ndim
    npy_intp index[MAX_RANK]


cdef inline bint next_lines(Walk* walk, const npy_intp* shape) noexcept nogil:
    """Step to the next line; returns whether there is one."""
    cdef int axis
    for axis in range(walk.ndim - 2, -1, -1):
        walk.index[axis] += 1
        if walk.index[axis] < shape[axis]:
            return True
        walk.index[axis] = 0
    return False


cdef inline char* line_of(const Walk* walk, const Cell* cell) noexcept nogil:
    """The first element of the current line of an array; dimensions of length 1 are broadcast."""
    cdef char* data = cell.data
    cdef int axis
    for axis in range(walk.ndim - 1):
        if cell.shape[axis] != 1:
            data += walk.index[axis] * cell.strides[axis]
    return data


cdef inline npy_intp line_stride(const Cell* cell) noexcept nogil:
    return 0 if cell.ndim == 0 or cell.shape[cell.ndim - 1] == 1 else cell.strides[cell.ndim - 1]


cdef inline npy_intp line_length(const Cell* cell) noexcept nogil:
    return cell.shape[cell.ndim - 1] if cell.ndim else 1


cdef npy_intp read_lengths(str op, const Cell* lengths, int wanted, npy_intp* shape) except -2 nogil:
    """Read the lengths of the array; returns their product, or -1 if a length is negative."""
    cdef npy_intp size = 1
    cdef int axis
    cdef bint negative = False, empty = False, too_large = False
    if lengths.shape[0] != wanted:
        with gil:
            raise ValueError(f"{op}: expected {wanted} dimensions, got {lengths.shape[0]}")
    for axis in range(wanted):
        shape[axis] = integer_at(lengths, axis)
        negative = negative or shape[axis] < 0
        empty = empty or shape[axis] == 0
        if shape[axis] > 0 and not too_large:
            too_large = size > (<npy_intp>0x7fffffffffffffff) // shape[axis]
            size *= shape[axis]
    if negative:
        return -1
    if empty:
        return 0
    if too_large:
        with gil:
            raise ValueError(f"{op}: dimensions are too large; arrays and shapes with a total size greater than "
                             "'intp' are not supported.")
    return size


cdef inline bint any_outside(const char* line, npy_intp stride, npy_intp count, npy_intp size) noexcept nogil:
    """Whether a number of a line is not in [0, size). Then the sign bit of the number or of (size - 1 - number) is
    set."""
    cdef uint64_t signs = 0, last = <uint64_t>size - 1
    cdef npy_intp position
    if stride == sizeof(int64_t):
        for position in range(count):
            signs |= (<const uint64_t*>line)[position] | (last - (<const uint64_t*>line)[position])
    else:
        for position in range(count):
            signs |= (<const uint64_t*>(line + position * stride))[0] \
                | (last - (<const uint64_t*>(line + position * stride))[0])
    return signs >> 63


cdef int64_t first_outside(const Cell* positions, npy_intp size, bint* found) noexcept nogil:
    """The first position that is not in [0, size), if there is one."""
    cdef Lines lines
    cdef bint more = first_line(&lines, positions)
    cdef npy_intp position
    found[0] = False
    while more:
        if any_outside(lines.data, lines.stride, lines.length, size):
            found[0] = True
            for position in range(lines.length):
                if <size_t>(<int64_t*>(lines.data + position * lines.stride))[0] >= <size_t>size:
                    return (<int64_t*>(lines.data + position * lines.stride))[0]
        more = next_line(&lines)
    return 0


cdef class UnravelIndexKernel(Kernel):
    """The coordinates of flat positions: ``(positions, lengths, out, ..., out)``.

    Parameters
    ----------
    count : int
        The number of dimensions.
    order : {"C", "F"}
    """
    cdef int count
    cdef bint last_first            # whether the last dimension varies fastest

    def __init__(self, int count, order):
        self.examined, self.binding = (0, 1), BOUND
        self.count, self.last_first = count, order == "C"

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp size = read_lengths("unravel_index", operands[1], self.count, shape)
        cdef int64_t position
        cdef bint found
        cdef int axis
        position = first_outside(operands[0], size if size > 0 else 0, &found)
        if found:
            with gil:
                raise ValueError(f"unravel_index: index {position} is out of bounds for array with size {size}, the "
                                 f"dimensions are {tuple_of(shape, self.count)}")
        for axis in range(self.count):
            allocate(context, operands[2 + axis], operands[0].shape)
        if not cell_is_contiguous(operands[0]):
            scratch(context, cell_size(operands[0]) * sizeof(int64_t))
        return RUNS_ALONE if cell_size(operands[0]) * self.count >= LONG_FLAT_INDEX else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef npy_intp total = cell_size(operands[0]), done = 0, count, size = 1, unasked = 0
        cdef npy_intp shape[MAX_RANK]
        cdef int64_t left[BLOCK]
        cdef const int64_t* positions
        cdef int axis
        if total == 0:
            return 0
        for axis in range(self.count):
            shape[axis] = integer_at(operands[1], axis)
            size *= shape[axis]
        positions = <int64_t*>data_without_gaps(context, operands[0], context.scratch)
        while done < total:
            count = min(<npy_intp>BLOCK, total - done)
            memcpy(left, positions + done, count * sizeof(int64_t))
            self.divide_block(left, operands + 2, done, count, shape, size)
            done += count
            if ends_after(context, &unasked, count * self.count):
                return 0
        return 0

    cdef inline void divide_block(self, int64_t* left, Cell** results, npy_intp done, npy_intp count,
                                  const npy_intp* shape, npy_intp size) noexcept nogil:
        """Compute the coordinates of a block of positions, starting with the dimension that varies fastest."""
        cdef int step, axis
        cdef int64_t* coordinates
        for step in range(self.count):
            axis = self.count - 1 - step if self.last_first else step
            coordinates = <int64_t*>results[axis].data + done
            if step == self.count - 1:
                memcpy(coordinates, left, count * sizeof(int64_t))
            elif size <= <npy_intp>0xffffffff:
                divide_small(left, coordinates, count, <uint32_t>shape[axis])
            else:
                divide(left, coordinates, count, shape[axis])


cdef inline void divide_small(int64_t* left, int64_t* rest, npy_intp count, uint32_t length) noexcept nogil:
    """Divide numbers below 2**32: quotients are computed in place, and remainders are written to ``rest``."""
    cdef npy_intp position
    cdef uint32_t number, quotient
    for position in range(count):
        number = <uint32_t>left[position]
        quotient = number // length
        rest[position] = number - quotient * length
        left[position] = quotient


cdef inline void divide(int64_t* left, int64_t* rest, npy_intp count, int64_t length) noexcept nogil:
    cdef npy_intp position
    cdef int64_t number, quotient
    for position in range(count):
        number = left[position]
        quotient = number // length
        rest[position] = number - quotient * length
        left[position] = quotient


cdef class RavelMultiIndexKernel(Kernel):
    """Flat positions: ``(coordinates, ..., coordinates, lengths, out)``; coordinates are broadcast together.

    Parameters
    ----------
    count : int
        The number of dimensions.
    mode : {"raise", "wrap", "clip"}
        The treatment of coordinates out of range.
    order : {"C", "F"}
    """
    cdef int count, mode
    cdef bint last_first

    def __init__(self, int count, mode, order):
        self.examined, self.binding = tuple(range(count + 1)), BOUND
        self.count, self.mode, self.last_first = count, MODES[mode], order == "C"

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* result = operands[self.count + 1]
        cdef npy_intp lengths[MAX_RANK]
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp size = read_lengths("ravel_multi_index", operands[self.count], self.count, lengths)
        cdef int axis, dimension
        cdef int64_t coordinate
        cdef bint fits = True, found
        for axis in range(result.ndim):
            shape[axis] = operands[0].shape[axis]
            for dimension in range(1, self.count):
                if shape[axis] == 1:
                    shape[axis] = operands[dimension].shape[axis]
                fits = fits and operands[dimension].shape[axis] in (1, shape[axis])
        if not fits:
            with gil:
                raise ValueError("ravel_multi_index: operands could not be broadcast together with shapes "
                                 + " ".join([str(shape_of(operands[dimension])) for dimension in range(self.count)]))
        for dimension in range(self.count if self.mode == RAISE or size <= 0 else 0):
            coordinate = first_outside(operands[dimension], max(lengths[dimension], 0), &found)
            if found:
                with gil:
                    raise ValueError(f"ravel_multi_index: invalid entry in coordinates array: {coordinate}, dimension "
                                     f"{dimension} has length {lengths[dimension]}")
        allocate(context, result, shape)
        return RUNS_ALONE if cell_size(result) * self.count >= LONG_FLAT_INDEX else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* lengths = operands[self.count]
        cdef Cell* result = operands[self.count + 1]
        cdef npy_intp length = line_length(result), done, count, unasked = 0
        cdef int64_t* target = <int64_t*>result.data
        cdef Walk walk
        if cell_size(result) == 0:
            return 0
        walk.ndim = result.ndim
        memset(walk.index, 0, sizeof(walk.index))
        while True:
            done = 0
            while done < length:
                count = min(<npy_intp>BLOCK, length - done)
                self.find_part(&walk, operands, lengths, target, done, count)
                target += count
                done += count
                if ends_after(context, &unasked, count * self.count):
                    return 0
            if not next_lines(&walk, result.shape):
                return 0

    cdef inline void find_part(self, Walk* walk, Cell** operands, const Cell* lengths, int64_t* target, npy_intp done,
                               npy_intp count) noexcept nogil:
        """Compute the positions of a part of a line."""
        cdef int64_t weight = 1
        cdef npy_intp stride
        cdef int step, dimension
        memset(target, 0, count * sizeof(int64_t))
        for step in range(self.count):
            dimension = self.count - 1 - step if self.last_first else step
            stride = line_stride(operands[dimension])
            self.add_line(target, line_of(walk, operands[dimension]) + done * stride, stride, count,
                          integer_at(lengths, dimension), weight)
            weight *= integer_at(lengths, dimension)

    cdef inline void add_line(self, int64_t* target, const char* line, npy_intp stride, npy_intp count, int64_t length,
                              int64_t weight) noexcept nogil:
        """Add the contribution of one dimension's coordinates to the positions."""
        cdef npy_intp position
        cdef int64_t coordinate
        if self.mode == RAISE and stride == sizeof(int64_t):
            for position in range(count):
                target[position] += weight * (<const int64_t*>line)[position]
        elif self.mode == RAISE:
            for position in range(count):
                target[position] += weight * (<const int64_t*>(line + position * stride))[0]
        elif self.mode == CLIP:
            for position in range(count):
                coordinate = (<const int64_t*>(line + position * stride))[0]
                coordinate = 0 if coordinate < 0 else coordinate
                target[position] += weight * (length - 1 if coordinate >= length else coordinate)
        else:
            for position in range(count):
                coordinate = (<const int64_t*>(line + position * stride))[0]
                if coordinate < 0 or coordinate >= length:
                    coordinate = (coordinate % length + length) % length
                target[position] += weight * coordinate
