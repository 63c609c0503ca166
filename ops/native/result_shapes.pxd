"""The shapes of reshaped and filled arrays, with their checks, for kernels of the processor and of devices."""
from numpy cimport npy_intp

from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.vm.abi cimport Cell, cell_size


# ---- for error messages ----------------------------------------------------------------------------------------------
# A function without the GIL that has a local variable for such a tuple takes the GIL at its end, in each call, to
# release it; so error messages use these.
cdef inline tuple tuple_of(const npy_intp* lengths, int count):
    return tuple([lengths[index] for index in range(count)])


cdef inline tuple integers_of(const Cell* vector):
    """The elements of a vector of integers."""
    return tuple([integer_at(vector, index) for index in range(vector.shape[0])])


# ---- shapes ----------------------------------------------------------------------------------------------------------
cdef inline int shape_to_reshape(const Cell* source, const Cell* wanted, int rank, npy_intp* shape) except -1 nogil:
    """The shape of a reshape: ``wanted``, in which one length may be -1."""
    cdef npy_intp size = cell_size(source)
    cdef npy_intp known = 1
    cdef int axis, unknown = -1
    cdef bint right = wanted.shape[0] == rank
    if not right:
        with gil:
            raise ValueError(f"shape argument to Reshape has length {wanted.shape[0]}, should be {rank}")
    for axis in range(rank):
        shape[axis] = integer_at(wanted, axis)
        if shape[axis] == -1 and unknown < 0:
            unknown = axis
        elif shape[axis] < 0:
            right = False
        else:
            known *= shape[axis]
    if unknown >= 0:
        right = right and known != 0 and size % known == 0
        if right:
            shape[unknown] = size // known
    elif known != size:
        right = False
    if not right:
        with gil:
            raise ValueError(f"Cannot reshape input of shape {shape_of(source)} to shape {integers_of(wanted)}")
    return 0


cdef inline void read_shape(Cell** lengths, int rank, npy_intp* shape) noexcept nogil:
    """A shape from 0-d operands."""
    cdef int axis
    for axis in range(rank):
        shape[axis] = integer_at(lengths[axis], 0)


cdef inline int check_filling(const Cell* value, int rank, const npy_intp* shape) except -1 nogil:
    """Raise unless a value broadcasts to a shape."""
    cdef int axis, lead = rank - value.ndim
    for axis in range(value.ndim):
        if value.shape[axis] != 1 and value.shape[axis] != shape[axis + lead]:
            with gil:
                raise ValueError(f"Alloc: could not broadcast a value of shape {shape_of(value)} into "
                                 f"{tuple_of(shape, rank)}")
    return 0


cdef inline void broadcast_strides(const Cell* value, const Cell* target, npy_intp* strides) noexcept nogil:
    """The strides by which ``value`` is broadcast to the shape of ``target``."""
    cdef int axis, lead = target.ndim - value.ndim
    for axis in range(target.ndim):
        strides[axis] = 0 if axis < lead or value.shape[axis - lead] == 1 else value.strides[axis - lead]
