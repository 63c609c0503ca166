"""The one module that the loops of strided copies are compiled into (``strided_copy.h``)."""
from numpy cimport npy_intp

from phintys.vm.limits cimport MAX_RANK     # the header needs it

cdef extern from "native/strided_copy.h" nogil:
    void copy_elements "copy_strided"(int ndim, const npy_intp* shape, char* target, const npy_intp* target_strides,
                                      const char* source, const npy_intp* source_strides, int itemsize)


cdef void copy_strided(int ndim, const npy_intp* shape, char* target, const npy_intp* target_strides,
                       const char* source, const npy_intp* source_strides, int itemsize) noexcept nogil:
    """Copy every element of ``source`` to ``target``, which do not overlap."""
    copy_elements(ndim, shape, target, target_strides, source, source_strides, itemsize)
