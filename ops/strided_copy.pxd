"""Copies between strided arrays, and views with another shape (``strided_copy.h``)."""
from numpy cimport npy_intp

cdef extern from "strided_copy.h" nogil:
    void copy_strided(int ndim, const npy_intp* shape, char* target, const npy_intp* target_strides,
                      const char* source, const npy_intp* source_strides, int itemsize)
    int view_strides(int ndim, const npy_intp* shape, const npy_intp* strides, int itemsize,
                     int new_ndim, const npy_intp* new_shape, npy_intp* new_strides)
    int PHINTYS_MAX_RANK
