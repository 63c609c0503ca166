"""The parts of an index in kernels: integers, which are constant or in an operand, and slices of integers.

The rules are Python's: integers must be in range, slices are clipped.
"""
cimport numpy as cnp
from libc.stdint cimport INTPTR_MAX
from numpy cimport npy_intp

from phintys.ops.native.integers cimport integer_at
from phintys.vm.abi cimport Cell

cdef enum PartSource:
    ABSENT = 0
    CONSTANT = 1
    OPERAND = 2

cdef struct Part:
    PartSource source
    npy_intp value                  # the constant, or the operand's number

cdef struct Range:                  # the elements of a dimension that a slice selects
    npy_intp start, step, length

cdef inline Part read_part(part) except *:
    """Convert None, an int, or ``("operand", number)`` to a part."""
    cdef Part result
    result.source, result.value = ABSENT, 0
    if isinstance(part, tuple):
        result.source, result.value = OPERAND, part[1]
    elif part is not None:
        result.source, result.value = CONSTANT, part
    return result

cdef inline npy_intp part_value(const Part* part, npy_intp absent, Cell** operands) noexcept nogil:
    cdef npy_intp value
    if part.source == CONSTANT:
        return part.value
    if part.source == ABSENT:
        return absent
    value = integer_at(operands[part.value], 0)
    if value < 0 and operands[part.value].typenum == cnp.NPY_UINT64:
        return INTPTR_MAX                # like the number itself, this is greater than every length
    return value

cdef inline npy_intp clip(npy_intp position, npy_intp length, npy_intp lowest, npy_intp highest) noexcept nogil:
    """Clip a bound of a slice to [lowest, highest]; a negative bound counts from the end."""
    if position < 0:
        position += length
    return lowest if position < lowest else highest if position > highest else position

cdef inline npy_intp integer_position(const Part* part, Cell** operands, npy_intp length, int axis) except -1 nogil:
    """The position given by an integer, counted from the start."""
    cdef npy_intp position = part_value(part, 0, operands)
    if position < -length or position >= length:
        with gil:
            raise IndexError(f"index {position} is out of bounds for axis {axis} with size {length}")
    return position + length if position < 0 else position

cdef inline bint is_computed(const Part* part) noexcept nogil:
    return part.source == OPERAND

cdef inline tuple checked_operands(bint slices_vary, int first, int stop):
    """``checked`` of a kernel: of the operands of an index those that decide no layout. A slice that is computed does,
    and then no step is bound."""
    return () if slices_vary else tuple(range(first, stop))

cdef inline int slice_range(const Part* first, const Part* last, const Part* by, Cell** operands, npy_intp length,
                            int axis, Range* result) except -1 nogil:
    """The elements of a dimension that ``first:last:by`` selects."""
    cdef npy_intp start, stop, step = part_value(by, 1, operands)
    if step == 0:
        with gil:
            raise ValueError(f"slice step cannot be zero (axis {axis})")
    result.step = step
    if step > 0:
        start = clip(part_value(first, 0, operands), length, 0, length) if first.source else 0
        stop = clip(part_value(last, 0, operands), length, 0, length) if last.source else length
        result.length = (stop - start - 1) // step + 1 if stop > start else 0
    else:
        start = clip(part_value(first, 0, operands), length, -1, length - 1) if first.source else length - 1
        stop = clip(part_value(last, 0, operands), length, -1, length - 1) if last.source else -1
        result.length = (start - stop - 1) // -step + 1 if start > stop else 0
    result.start = start
    return 0
