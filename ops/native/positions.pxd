"""Checks of arrays of positions, before a kernel reads or writes the elements at these positions."""
from numpy cimport npy_intp

from phintys.ops.native.indexed_loops cimport phintys_first_outside, position_dtype
from phintys.ops.native.integers cimport integer_at
from phintys.ops.native.strided_copy cimport Lines, first_line, next_line
from phintys.vm.abi cimport Cell

cdef inline int check_positions(const Cell* positions, int dtype, npy_intp length, int axis) except -1 nogil:
    """Raise IndexError unless every position, counted from the start or from the end, is within the ``length`` of
    dimension ``axis``."""
    cdef Lines lines
    cdef npy_intp found
    cdef bint more = first_line(&lines, positions), repeated = is_repeated(positions)
    while more:
        found = phintys_first_outside[dtype](lines.data, lines.stride, 1 if repeated else lines.length, length)
        if found >= 0:
            return refuse_position(lines.data + found * lines.stride, positions, dtype, length, axis)
        more = not repeated and next_line(&lines)
    return 0

cdef inline bint is_repeated(const Cell* positions) noexcept nogil:
    """Whether all positions are one number in memory, such as the zero that stands for positions on a GPU."""
    cdef int axis
    for axis in range(positions.ndim):
        if positions.strides[axis] or not positions.shape[axis]:
            return False
    return True

cdef inline int refuse_position(char* place, const Cell* positions, int dtype, npy_intp length,
                                int axis) except -1 with gil:
    """Raise an error for the position at index ``place``."""
    cdef Cell one = positions[0]
    one.ndim, one.data = 0, place
    position = integer_at(&one, 0)
    if dtype == position_dtype("uint64"):
        position %= 2 ** 64
    error = IndexError(f"index {position} is out of bounds for axis {axis} with size {length}")
    if positions.ndim == 1 and positions.strides[0]:
        error.element = (place - positions.data) // positions.strides[0]        # see `advice` in vm/explaining
    raise error
