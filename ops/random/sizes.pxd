"""The shape of a sample, which an integer vector says."""
from numpy cimport npy_intp

from phintys.ops.native.integers cimport integer_at
from phintys.vm.abi cimport Cell

cdef inline int read_size(const Cell* size, int rank, npy_intp* shape, const char* what) except -1 nogil:
    """Read a shape of ``rank`` lengths; ``what`` is who asks for it, for errors."""
    cdef int axis
    if size.shape[0] != rank:
        with gil:
            raise ValueError(f"{what.decode()}: size must have length {rank} (not {size.shape[0]})")
    for axis in range(rank):
        shape[axis] = integer_at(size, axis)
        if shape[axis] < 0:
            with gil:
                raise ValueError(f"{what.decode()}: the length of dimension {axis} is negative: {shape[axis]}")
    return 0
