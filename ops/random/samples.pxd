"""Samples in kernels: the state that they are drawn from, and the generator that advances its copy; their shape, which
an integer vector says; their elements, which have several dtypes; and a walk over them, with the elements of the
parameters that are broadcast to the sample."""
cimport numpy as cnp
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t
from numpy cimport npy_intp

from phintys.ops.native.distributions cimport bitgen_t
from phintys.ops.native.integers cimport integer_at
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.vm.abi cimport Cell
from phintys.vm.limits cimport MAX_RANK

cdef extern from "random/bit_generators.h" nogil:
    const int phintys_state_words[]
    void phintys_copy_state "phintys_copy_state[*phintys_set]"(uint64_t* copy, const uint64_t* state, ptrdiff_t words)
    void phintys_make_valid(uint64_t* state)
    bitgen_t phintys_bit_generator(uint64_t* state)

cdef enum:
    MOST = 6                        # parameters of a distribution, and conditions of them

cdef struct Positions:
    int ndim
    npy_intp shape[MAX_RANK]
    npy_intp index[MAX_RANK]
    npy_intp strides[MOST][MAX_RANK]
    char* data[MOST]

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

cdef inline void store_real(Cell* sample, npy_intp position, double value) noexcept nogil:
    if sample.typenum == cnp.NPY_FLOAT64:
        (<double*>sample.data)[position] = value
    else:
        (<float*>sample.data)[position] = <float>value

cdef inline void store_count(Cell* sample, npy_intp position, int64_t value) noexcept nogil:
    """Store an integer; signed and unsigned ones of one size have the same bits."""
    if sample.typenum == cnp.NPY_FLOAT64 or sample.typenum == cnp.NPY_FLOAT32:
        store_real(sample, position, <double>value)
    elif sample.itemsize == 8:
        (<int64_t*>sample.data)[position] = value
    elif sample.itemsize == 4:
        (<int32_t*>sample.data)[position] = <int32_t>value
    elif sample.itemsize == 2:
        (<int16_t*>sample.data)[position] = <int16_t>value
    else:
        (<int8_t*>sample.data)[position] = <int8_t>value

cdef inline void begin_walk(Positions* positions, int ndim, const npy_intp* shape, Cell** parameters, int count,
                            int own) noexcept nogil:
    """Go to the first element. The last ``own`` dimensions of the last parameter are no part of the walk."""
    cdef int axis, number, lead, rank
    cdef Cell* parameter
    positions.ndim = ndim
    for axis in range(ndim):
        positions.shape[axis], positions.index[axis] = shape[axis], 0
    for number in range(count):
        parameter = parameters[number]
        rank = parameter.ndim - (own if number == count - 1 else 0)
        lead = ndim - rank
        positions.data[number] = parameter.data
        for axis in range(ndim):
            positions.strides[number][axis] = (0 if axis < lead or parameter.shape[axis - lead] == 1
                                            else parameter.strides[axis - lead])

cdef inline void next_element(Positions* positions, int count) noexcept nogil:
    cdef int axis, parameter
    for axis in range(positions.ndim - 1, -1, -1):
        positions.index[axis] += 1
        for parameter in range(count):
            positions.data[parameter] += positions.strides[parameter][axis]
        if positions.index[axis] < positions.shape[axis]:
            return
        for parameter in range(count):
            positions.data[parameter] -= positions.strides[parameter][axis] * positions.shape[axis]
        positions.index[axis] = 0

cdef inline bint fits(const Cell* parameter, int rank, int ndim, const npy_intp* shape) noexcept nogil:
    """Whether the first ``rank`` dimensions of a parameter can be broadcast to a shape."""
    cdef int axis, lead = ndim - rank
    if lead < 0:
        return False
    for axis in range(rank):
        if parameter.shape[axis] != 1 and parameter.shape[axis] != shape[axis + lead]:
            return False
    return True

cdef inline int check_state(const Cell* state, int kind, str name) except -1 nogil:
    """Raise ``ValueError`` if a state has not the length of those of its kind."""
    if state.shape[0] != phintys_state_words[kind]:
        with gil:
            raise ValueError(f"{name}: the state has {state.shape[0]} words, but that of this generator has "
                             f"{phintys_state_words[kind]}: it is the state of another generator")
    return 0

cdef inline void copy_state(const Cell* state, uint64_t* words) noexcept nogil:
    """Copy a state to memory without gaps."""
    cdef npy_intp stride = sizeof(uint64_t)
    if state.strides[0] == stride:
        phintys_copy_state(words, <uint64_t*>state.data, state.shape[0])
    else:
        copy_strided(1, state.shape, <char*>words, &stride, state.data, state.strides, state.itemsize)

cdef inline bitgen_t generator_of_copy(const Cell* state, Cell* advanced, int kind) noexcept nogil:
    """Copy a state, unless it is overwritten; returns the generator that advances the copy."""
    if advanced.data != state.data:
        copy_state(state, <uint64_t*>advanced.data)
    (<uint64_t*>advanced.data)[0] = kind
    phintys_make_valid(<uint64_t*>advanced.data)
    return phintys_bit_generator(<uint64_t*>advanced.data)
