"""How kernels walk operands of any strides: axes that all operands traverse alike are one dimension.

Axes are added from the innermost on. Example: to the axes of C-contiguous operands of shape (2, 3, 5) a walk adds the
last, of 5 elements, and joins the others to it: one dimension of 30. If an operand is broadcast along the first axis,
its stride there is 0 and not 15 elements, so two dimensions remain: 15 and 2. Kernels leave out axes of length 1, which
would keep their neighbours apart.
"""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell

cdef inline npy_intp stride_along(const Cell* cell, int axis) noexcept nogil:
    """The stride of an operand along an axis of the common shape; 0 where it is repeated."""
    return cell.strides[axis] if cell.shape[axis] != 1 else 0


cdef inline int join_axis(Cell** cells, int count, int axis, npy_intp length, bint may_join, npy_intp* lengths,
                          npy_intp* strides, int joined) noexcept nogil:
    """Add an axis outside of ``joined`` dimensions; returns how many there are then.

    If it may, the axis joins the last dimension, where each operand's stride along it is what that dimension spans.
    ``strides[dimension * count + operand]`` are in bytes.
    """
    cdef int operand
    if joined and may_join:
        for operand in range(count):
            if stride_along(cells[operand], axis) != (
                    strides[(joined - 1) * count + operand] * lengths[joined - 1]):
                break
        else:
            lengths[joined - 1] *= length
            return joined
    lengths[joined] = length
    for operand in range(count):
        strides[joined * count + operand] = stride_along(cells[operand], axis)
    return joined + 1


cdef inline int join_dimensions(int rank, const npy_intp* shape, Cell** cells, int count, npy_intp* lengths,
                                npy_intp* strides) noexcept nogil:
    """Join all axes of a common shape; returns how many dimensions there are."""
    cdef int axis, joined = 0
    for axis in range(rank - 1, -1, -1):
        if shape[axis] != 1:
            joined = join_axis(cells, count, axis, shape[axis], True, lengths, strides, joined)
    return joined
