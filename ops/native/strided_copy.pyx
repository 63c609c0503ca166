"""The one module that the loops of strided copies are compiled into (``strided_copy.h``)."""
from libc.stdlib cimport labs
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.vm.abi cimport Context, interrupted
from phintys.vm.limits cimport MAX_RANK     # the header needs it

phintys_set = set_of_process()

cdef extern from "native/strided_copy.h" nogil:
    void copy_elements "copy_strided"(int ndim, const npy_intp* shape, char* target, const npy_intp* target_strides,
                                      const char* source, const npy_intp* source_strides, int itemsize)


cdef void copy_strided(int ndim, const npy_intp* shape, char* target, const npy_intp* target_strides,
                       const char* source, const npy_intp* source_strides, int itemsize) noexcept nogil:
    """Copy every element of ``source`` to ``target``, which do not overlap."""
    copy_elements(ndim, shape, target, target_strides, source, source_strides, itemsize)


cdef void copy_parts(Context* context, int ndim, const npy_intp* shape, char* target, const npy_intp* target_strides,
                     const char* source, const npy_intp* source_strides, int itemsize) noexcept nogil:
    cdef npy_intp bytes = itemsize, place = 0, count, whole
    cdef npy_intp part[2 * MAX_RANK]
    cdef int axis, longest = 0
    for axis in range(ndim):
        part[axis] = shape[axis]
        bytes *= shape[axis]
        if shape[axis] > 1 and labs(target_strides[axis]) > labs(target_strides[longest]) or shape[longest] == 1:
            longest = axis
    whole = shape[longest]
    count = max(PART // (bytes // whole), <npy_intp>1)
    while place < whole and not (place and interrupted(context)):
        part[longest] = min(count, whole - place)
        copy_in_parts(context, ndim, part, target + place * target_strides[longest], target_strides,
                      source + place * source_strides[longest], source_strides, itemsize)
        place += count


cdef void clear_in_parts(Context* context, char* data, npy_intp bytes) noexcept nogil:
    while bytes > 0 and not interrupted(context):
        memset(data, 0, min(bytes, <npy_intp>PART))
        data, bytes = data + PART, bytes - PART
