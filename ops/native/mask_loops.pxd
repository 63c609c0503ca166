"""Loops over masks (``mask_loops.h``)."""
from libc.stdint cimport int64_t
from numpy cimport npy_intp

from phintys.vm.limits cimport MAX_RANK       # the header reads the macro

cdef extern from "native/mask_loops.h" nogil:
    ctypedef struct MaskCursor:
        npy_intp given
    npy_intp count_true(const char* mask, int ndim, const npy_intp* shape, const npy_intp* strides)
    npy_intp find_true "find_true[*phintys_set]"(int64_t* positions, npy_intp room, const char* line, npy_intp stride,
                                                 npy_intp length, npy_intp* column)
    void mask_start(MaskCursor* cursor, const char* mask, int ndim, const npy_intp* shape,
                    const npy_intp* mask_strides, const npy_intp* steps)
    void mask_restart(MaskCursor* cursor)
    void mask_next(MaskCursor* cursor, npy_intp* offsets, npy_intp count)
