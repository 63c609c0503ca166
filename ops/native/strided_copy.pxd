"""Copies between strided arrays, views with another shape, and walks along the lines of an array.

``copy_strided`` is a function of a module, so that its many loops are compiled once; ``copy_plan.h`` is compiled in
each module that uses it.
"""
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context
from phintys.vm.limits cimport MAX_RANK

cdef extern from "native/copy_plan.h" nogil:
    int view_strides(int ndim, const npy_intp* shape, const npy_intp* strides, int itemsize,
                     int new_ndim, const npy_intp* new_shape, npy_intp* new_strides)
    ctypedef struct CopyPlan:
        int ndim
        npy_intp shape[MAX_RANK]
        npy_intp target[MAX_RANK]
        npy_intp source[MAX_RANK]
    npy_intp plan_copy(CopyPlan* plan, int ndim, const npy_intp* shape, const npy_intp* target,
                       const npy_intp* source)
    bint next_place(const CopyPlan* plan, int axes, npy_intp* index, char** target, const char** source)

cdef void copy_strided(int ndim, const npy_intp* shape, char* target, const npy_intp* target_strides,
                       const char* source, const npy_intp* source_strides, int itemsize) noexcept nogil

cdef enum:
    PART = 8388608                  # bytes that are copied at once: some milliseconds, most of them for fresh memory

# The same for an array of more than PART bytes: between parts it asks whether the call is to end.
cdef void copy_parts(Context* context, int ndim, const npy_intp* shape, char* target, const npy_intp* target_strides,
                     const char* source, const npy_intp* source_strides, int itemsize) noexcept nogil

cdef inline void copy_in_parts(Context* context, int ndim, const npy_intp* shape, char* target,
                               const npy_intp* target_strides, const char* source, const npy_intp* source_strides,
                               int itemsize) noexcept nogil:
    """The same for an array of any size."""
    cdef npy_intp bytes = itemsize
    cdef int axis
    for axis in range(ndim):
        bytes *= shape[axis]
    if bytes <= PART:
        copy_strided(ndim, shape, target, target_strides, source, source_strides, itemsize)
    else:
        copy_parts(context, ndim, shape, target, target_strides, source, source_strides, itemsize)

# Write zeros to so many bytes, likewise.
cdef void clear_in_parts(Context* context, char* data, npy_intp bytes) noexcept nogil

# Iterates over the lines of an array along its last dimension, after adjacent dimensions have been joined.
cdef struct Lines:
    CopyPlan plan
    npy_intp index[MAX_RANK]
    char* data                      # of the line where the walk stands
    npy_intp length, stride

cdef inline bint first_line(Lines* lines, const Cell* array) noexcept nogil:
    """Go to the first line; returns whether there is one."""
    lines.data, lines.length, lines.stride = array.data, 1, array.itemsize
    if plan_copy(&lines.plan, array.ndim, array.shape, array.strides, array.strides) == 0:
        return False
    memset(lines.index, 0, lines.plan.ndim * sizeof(npy_intp))
    if lines.plan.ndim:
        lines.length, lines.stride = lines.plan.shape[lines.plan.ndim - 1], lines.plan.target[lines.plan.ndim - 1]
    return True

cdef inline bint next_line(Lines* lines) noexcept nogil:
    """Go to the next line; returns whether there is one."""
    cdef const char* same = lines.data
    return next_place(&lines.plan, lines.plan.ndim - 1, lines.index, &lines.data, &same)

cdef inline bint next_part(const Cell* array, int axes, npy_intp* index, char** part) noexcept nogil:
    """Go to the next index of the first ``axes`` dimensions, which are not joined; returns whether there is one."""
    cdef int axis
    for axis in range(axes - 1, -1, -1):
        part[0] += array.strides[axis]
        index[axis] += 1
        if index[axis] < array.shape[axis]:
            return True
        part[0] -= array.strides[axis] * array.shape[axis]
        index[axis] = 0
    return False
