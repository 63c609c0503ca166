"""Reductions: see ``reduction_kernel.pyx``."""
from numpy cimport npy_intp

from phintys.ops.elementwise.block_code cimport BlockCode
from phintys.ops.native.loops cimport InnerLoop, LoopFunction
from phintys.vm.abi cimport Kernel

cdef extern from "reduction/reduction_loops.h" nogil:
    ctypedef struct phintys_fold:
        void (*rows)(const char* data, npy_intp stride, npy_intp n, npy_intp next_row, npy_intp rows, char* totals,
                     npy_intp next_total, int fresh) noexcept nogil
        void (*columns)(const char* data, npy_intp stride, npy_intp n, npy_intp next_row, npy_intp rows, char* totals,
                        int fresh) noexcept nogil

cdef class ReductionKernel(Kernel):
    cdef readonly BlockCode blocks
    cdef readonly InnerLoop loop
    cdef LoopFunction cast               # accumulators to outputs; NULL when they are of one dtype
    cdef unsigned long long reduced      # bit d: dimension d is reduced
    cdef bint keepdims
    cdef bint pairwise
    cdef bint divides                    # by the number of elements: means
    cdef bint has_identity
    cdef char identity[16]
    cdef const phintys_fold* fold        # NULL: the ufunc's loop reduces
    cdef double cost                     # nanoseconds an element
    cdef int value_operand
    cdef int value_size                  # bytes
    cdef int itemsize                    # of an accumulator
    cdef int set_identity(self, object identity, str dtype) except -1
    cdef int set_producer(self, object code, list patterns, object loop, str accumulator, str output) except -1
