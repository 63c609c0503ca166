"""Inner loops of indexing (``indexed_loops.h``)."""
from numpy cimport npy_intp

from phintys.ops.native.strided_copy cimport CopyPlan

cdef extern from "native/indexed_loops.h" nogil:
    ctypedef npy_intp (*OutsideLoop)(const char* positions, npy_intp stride, npy_intp count, npy_intp length) nogil
    ctypedef void (*OffsetLoop)(npy_intp* offsets, const char* positions, npy_intp stride, npy_intp count,
                                npy_intp length, npy_intp step, int first) nogil
    ctypedef npy_intp (*TakeLoop)(char* result, const char* array, npy_intp step, npy_intp length,
                                  const char* positions, npy_intp stride, npy_intp count) nogil
    ctypedef void (*ItemLoop)(char* base, const npy_intp* offsets, char* partner, npy_intp stride,
                              npy_intp count) nogil
    ctypedef void (*LineLoop)(char* line, npy_intp line_stride, char* partner, npy_intp stride, npy_intp count) nogil
    ctypedef void (*AddAtLoop)(char* array, npy_intp step, npy_intp length, const char* positions, npy_intp stride,
                               const char* partner, npy_intp partner_stride, npy_intp count) nogil
    const OutsideLoop* phintys_first_outside
    const OffsetLoop* phintys_offsets
    const TakeLoop (*phintys_take)[5]
    const ItemLoop* phintys_get_items
    const ItemLoop* phintys_set_items
    const ItemLoop* phintys_add_items
    const LineLoop* phintys_get_line
    const LineLoop* phintys_set_line
    const LineLoop* phintys_add_line
    const AddAtLoop (*phintys_add_at)[14]
    void move_lines(LineLoop loop, const CopyPlan* plan, char* array, char* partner)
    void line_by_line(LineLoop loop, int ndim, const npy_intp* shape, char* array, const npy_intp* array_strides,
                      char* partner, const npy_intp* partner_strides)

# The index of a dtype of positions in the tables.
cdef inline int position_dtype(str dtype) except -1:
    return ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64").index(dtype)

# The index of an element size in the tables.
cdef inline int size_class(npy_intp itemsize) noexcept nogil:
    return 0 if itemsize == 1 else 1 if itemsize == 2 else 2 if itemsize == 4 else 3 if itemsize == 8 else 4
