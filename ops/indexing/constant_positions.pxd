"""Elements at positions that are constants (``constant_positions.h``)."""
from libc.stdint cimport int32_t
from numpy cimport npy_intp

cdef extern from "indexing/constant_positions.h" nogil:
    ctypedef struct Target:
        int32_t offset
        int32_t end
    ctypedef void (*GatherLoop)(char* result, const char* array, const int32_t* offsets, npy_intp count) nogil
    ctypedef void (*AddGroupsLoop)(char* array, const Target* targets, npy_intp count, const int32_t* offsets,
                                   const char* partner) nogil
    const GatherLoop* phintys_gather
    const AddGroupsLoop* phintys_add_groups
    bint table_of_offsets(int32_t* table, int dtype, const char* positions, npy_intp stride, npy_intp count,
                          npy_intp length, npy_intp step)
    npy_intp group_positions(Target* targets, int32_t* offsets, int dtype, const char* positions, npy_intp stride,
                             npy_intp count, npy_intp length, npy_intp step, npy_intp partner_stride)
