"""How kernels of the device walk operands of any strides: dimensions of length 1 are left out, and those are joined
that all operands traverse alike. The innermost dimension comes first, as the sources expect."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell

cdef inline npy_intp stride_of(const Cell* cell, int axis, npy_intp length) noexcept nogil:
    """The stride of an operand along an axis of the common shape; 0 where it is broadcast."""
    return 0 if cell.shape[axis] == 1 and length != 1 else cell.strides[axis]

cdef inline int join_dimensions(int rank, const npy_intp* shape, const Cell** cells, int count, npy_intp* lengths,
                                npy_intp* strides) noexcept nogil:
    """Write the lengths of the joined dimensions, and for each operand its strides, ``rank`` apart; returns how many
    dimensions there are."""
    cdef int axis, operand, joined = 0
    cdef bint alike
    for axis in range(rank - 1, -1, -1):
        if shape[axis] == 1:
            continue
        alike = joined > 0
        for operand in range(count):
            if alike and stride_of(cells[operand], axis, shape[axis]) != (
                    strides[operand * rank + joined - 1] * lengths[joined - 1]):
                alike = False
        if alike:
            lengths[joined - 1] *= shape[axis]
            continue
        lengths[joined] = shape[axis]
        for operand in range(count):
            strides[operand * rank + joined] = stride_of(cells[operand], axis, shape[axis])
        joined += 1
    return joined
