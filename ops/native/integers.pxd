"""Reads a symbolic integer (a length or an index) from a cell of any integer dtype."""
cimport numpy as cnp
from numpy cimport npy_intp
from phintys.vm.abi cimport Cell

cdef inline npy_intp integer_at(const Cell* cell, npy_intp index) noexcept nogil:
    """Element ``index`` of a vector, or the value of a 0-d cell (index 0)."""
    cdef const char* data = cell.data
    if cell.ndim:
        data += index * cell.strides[0]
    if cell.typenum == cnp.NPY_INT64:
        return (<const cnp.npy_int64*>data)[0]
    if cell.typenum == cnp.NPY_INT32:
        return (<const cnp.npy_int32*>data)[0]
    if cell.typenum == cnp.NPY_BOOL or cell.typenum == cnp.NPY_UINT8:
        return (<const cnp.npy_uint8*>data)[0]
    if cell.typenum == cnp.NPY_INT8:
        return (<const cnp.npy_int8*>data)[0]
    if cell.typenum == cnp.NPY_INT16:
        return (<const cnp.npy_int16*>data)[0]
    if cell.typenum == cnp.NPY_UINT16:
        return (<const cnp.npy_uint16*>data)[0]
    if cell.typenum == cnp.NPY_UINT32:
        return (<const cnp.npy_uint32*>data)[0]
    return (<const cnp.npy_int64*>data)[0]        # uint64, and longlong, which is int64

cdef inline tuple shape_of(const Cell* cell):
    """The shape as a Python tuple, for error messages."""
    return tuple([cell.shape[axis] for axis in range(cell.ndim)])
