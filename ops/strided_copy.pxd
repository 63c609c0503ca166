"""Copies between strided arrays, and views with another shape (``strided_copy.h``)."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, cell_is_contiguous, set_contiguous_strides

cdef extern from "strided_copy.h" nogil:
    void copy_strided(int ndim, const npy_intp* shape, char* target, const npy_intp* target_strides,
                      const char* source, const npy_intp* source_strides, int itemsize)
    int view_strides(int ndim, const npy_intp* shape, const npy_intp* strides, int itemsize,
                     int new_ndim, const npy_intp* new_shape, npy_intp* new_strides)
    enum:
        PHINTYS_MAX_RANK
    ctypedef struct CopyPlan:
        int ndim
        npy_intp shape[PHINTYS_MAX_RANK]
        npy_intp target[PHINTYS_MAX_RANK]
        npy_intp source[PHINTYS_MAX_RANK]
    npy_intp plan_copy(CopyPlan* plan, int ndim, const npy_intp* shape, const npy_intp* target,
                       const npy_intp* source)
    bint next_place(const CopyPlan* plan, int axes, npy_intp* index, char** target, const char** source)

cdef inline char* contiguous_data(Cell* array, char* room) noexcept nogil:
    """The elements in C order: where they stand, or copied to ``room``."""
    cdef Cell copied
    cdef npy_intp strides[PHINTYS_MAX_RANK]
    if cell_is_contiguous(array):
        return array.data
    copied = array[0]
    copied.strides = strides
    set_contiguous_strides(&copied)
    copy_strided(array.ndim, array.shape, room, strides, array.data, array.strides, array.itemsize)
    return room
