"""The shape of a sample, which an integer vector says; elements of samples, which have several dtypes."""
cimport numpy as cnp
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from numpy cimport npy_intp

from phintys.ops.native.integers cimport integer_at
from phintys.vm.abi cimport Cell

cdef inline int read_size(const Cell* size, int rank, npy_intp* shape, const char* what) except -1 nogil:
    """Read a shape of ``rank`` lengths; ``what`` is who asks for it, for errors."""
    cdef int axis
    if size.shape[0] != rank:
        with gil:
            raise ValueError(f"{what.decode()}: Shape mismatch: size must have length {rank} (not {size.shape[0]})")
    for axis in range(rank):
        shape[axis] = integer_at(size, axis)
        if shape[axis] < 0:
            with gil:
                raise ValueError(f"{what.decode()}: the length of dimension {axis} is negative: {shape[axis]}")
    return 0

cdef inline void store_real(Cell* sample, npy_intp place, double value) noexcept nogil:
    if sample.typenum == cnp.NPY_FLOAT64:
        (<double*>sample.data)[place] = value
    else:
        (<float*>sample.data)[place] = <float>value

cdef inline void store_count(Cell* sample, npy_intp place, int64_t value) noexcept nogil:
    """Store an integer; signed and unsigned ones of one size have the same bits."""
    if sample.typenum == cnp.NPY_FLOAT64 or sample.typenum == cnp.NPY_FLOAT32:
        store_real(sample, place, <double>value)
    elif sample.itemsize == 8:
        (<int64_t*>sample.data)[place] = value
    elif sample.itemsize == 4:
        (<int32_t*>sample.data)[place] = <int32_t>value
    elif sample.itemsize == 2:
        (<int16_t*>sample.data)[place] = <int16_t>value
    else:
        (<int8_t*>sample.data)[place] = <int8_t>value
