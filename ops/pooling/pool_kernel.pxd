"""Loops of pooling, for kernels that pool what they compute."""
from numpy cimport npy_intp

from phintys.vm.limits cimport MAX_RANK

cdef extern from "pooling/pool_tasks.h" nogil:
    enum:
        PHINTYS_POOL_MAX, PHINTYS_POOL_SUM, PHINTYS_POOL_AVERAGE_WINDOW, PHINTYS_POOL_AVERAGE_IMAGE
    ctypedef void (*phintys_pool_squares)(const void* image, npy_intp between, npy_intp rows, npy_intp count, void* out,
                                          int sums, int divisor) noexcept
    ctypedef struct phintys_images:
        char* data
        const npy_intp* strides
    ctypedef struct phintys_pooling:
        int outer
        int pooled
        int mode
        int typenum
        int itemsize
        const npy_intp* shape
        npy_intp window[MAX_RANK]
        npy_intp step[MAX_RANK]
        npy_intp pad[MAX_RANK]
        npy_intp count[MAX_RANK]
        npy_intp rows
        npy_intp width
        size_t room
        phintys_pool_squares squares
        phintys_images images[4]
    ctypedef void (*phintys_pool_task)(const phintys_pooling* p, npy_intp first, npy_intp last, char* room) noexcept
    ctypedef struct phintys_pool_tasks:
        phintys_pool_task forward
        phintys_pool_task max_gradient
        phintys_pool_task sum_gradient
        phintys_pool_task max_selected
        phintys_pool_task max_first

cdef const phintys_pool_tasks* pool_tasks(int typenum) noexcept nogil
cdef phintys_pool_squares pool_squares(int typenum)
cdef int mode_number(str mode, bint ignore_border) except -1
cdef void count_windows(phintys_pooling* p, bint ignore_border, int copied) noexcept nogil
