"""When a kernel that works long asks whether the call is to end: after so many elements, and between parts of copies.

A kernel that has been told so returns as soon as it can; nobody reads its results.
"""
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.native.strided_copy cimport PART, clear_in_parts, copy_in_parts
from phintys.vm.abi cimport Cell, Context, cell_is_contiguous, interrupted, set_contiguous_strides
from phintys.vm.limits cimport MAX_RANK

cdef enum:
    UNASKED = 1048576               # elements: 8 MB, of which fresh memory takes 2 to 10 ms

cdef inline bint ends_after(Context* context, npy_intp* unasked, npy_intp elements) noexcept nogil:
    """Whether the call is to end; asks once so many elements have made UNASKED of them since it last asked."""
    unasked[0] += elements
    if unasked[0] < UNASKED:
        return False
    unasked[0] = 0
    return interrupted(context)

cdef inline void clear(Context* context, char* data, npy_intp bytes) noexcept nogil:
    """Write zeros, in parts if there are many."""
    if bytes <= PART:
        memset(data, 0, bytes)
    else:
        clear_in_parts(context, data, bytes)

cdef inline char* data_without_gaps(Context* context, Cell* array, char* room) noexcept nogil:
    """The elements in C order: the array's own memory if it is contiguous, else a copy in ``room``."""
    cdef Cell copied
    cdef npy_intp strides[MAX_RANK]
    if cell_is_contiguous(array):
        return array.data
    copied = array[0]
    copied.strides = strides
    set_contiguous_strides(&copied)
    copy_in_parts(context, array.ndim, array.shape, room, strides, array.data, array.strides, array.itemsize)
    return room
