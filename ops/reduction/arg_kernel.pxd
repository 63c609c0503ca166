"""Positions of extrema: see ``arg_kernel.pyx``."""
from libc.stdint cimport int64_t
from numpy cimport npy_intp

from phintys.vm.abi cimport Kernel

cdef extern from "reduction/arg_loops.h" nogil:
    ctypedef struct phintys_search:
        void (*run)(const char* data, Py_ssize_t stride, Py_ssize_t n, int64_t position, char* best,
                    int64_t* index) noexcept nogil
        void (*row)(const char* data, Py_ssize_t stride, Py_ssize_t n, int64_t position, char* best,
                    int64_t* index) noexcept nogil
        void (*lines)(const char* data, Py_ssize_t n, Py_ssize_t next_row, Py_ssize_t rows,
                      int64_t* positions) noexcept nogil

# NumPy's function for the position of the first extremum of contiguous values; it ignores the array argument for
# numeric dtypes.
ctypedef int (*ArgFunction)(void* data, npy_intp n, npy_intp* position, void* array) noexcept nogil

cdef class ArgKernel(Kernel):
    cdef str which                       # what it searches for, "argmin" or "argmax"
    cdef unsigned long long mask         # bit d: dimension d is searched
    cdef bint keepdims
    cdef int rank
    cdef const phintys_search* search
    cdef ArgFunction of_run
