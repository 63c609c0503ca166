"""A walk over the elements of a sample, with the elements of the parameters that are broadcast to it."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell
from phintys.vm.limits cimport MAX_RANK

cdef enum:
    MOST = 3                        # parameters of a distribution

cdef struct Places:
    int ndim
    npy_intp shape[MAX_RANK]
    npy_intp index[MAX_RANK]
    npy_intp strides[MOST][MAX_RANK]
    char* data[MOST]

cdef inline void begin_walk(Places* places, int ndim, const npy_intp* shape, Cell** parameters, int count,
                            int own) noexcept nogil:
    """Go to the first element. The last ``own`` dimensions of the last parameter are no part of the walk."""
    cdef int axis, number, lead, rank
    cdef Cell* parameter
    places.ndim = ndim
    for axis in range(ndim):
        places.shape[axis], places.index[axis] = shape[axis], 0
    for number in range(count):
        parameter = parameters[number]
        rank = parameter.ndim - (own if number == count - 1 else 0)
        lead = ndim - rank
        places.data[number] = parameter.data
        for axis in range(ndim):
            places.strides[number][axis] = (0 if axis < lead or parameter.shape[axis - lead] == 1
                                            else parameter.strides[axis - lead])

cdef inline void next_element(Places* places, int count) noexcept nogil:
    cdef int axis, parameter
    for axis in range(places.ndim - 1, -1, -1):
        places.index[axis] += 1
        for parameter in range(count):
            places.data[parameter] += places.strides[parameter][axis]
        if places.index[axis] < places.shape[axis]:
            return
        for parameter in range(count):
            places.data[parameter] -= places.strides[parameter][axis] * places.shape[axis]
        places.index[axis] = 0

cdef inline bint fits(const Cell* parameter, int rank, int ndim, const npy_intp* shape) noexcept nogil:
    """Whether the first ``rank`` dimensions of a parameter can be broadcast to a shape."""
    cdef int axis, lead = ndim - rank
    if lead < 0:
        return False
    for axis in range(rank):
        if parameter.shape[axis] != 1 and parameter.shape[axis] != shape[axis + lead]:
            return False
    return True
