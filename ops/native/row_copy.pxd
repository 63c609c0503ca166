"""Copies of rows of bytes from and to scattered addresses (``row_copy.h``)."""
from numpy cimport npy_intp

cdef extern from "native/row_copy.h" nogil:
    ctypedef void (*RowLoop)(char* base, const npy_intp* offsets, char* partner, npy_intp stride, npy_intp count,
                             npy_intp bytes) nogil
    void gather_rows "gather_rows[*phintys_set]"(char* base, const npy_intp* offsets, char* partner, npy_intp stride,
                                                 npy_intp count, npy_intp bytes)
    void scatter_rows "scatter_rows[*phintys_set]"(char* base, const npy_intp* offsets, char* partner, npy_intp stride,
                                                   npy_intp count, npy_intp bytes)
