"""States of bit generators in cells: the check that kernels make of one, and the generator that advances its copy."""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint64_t
from numpy cimport npy_intp

from phintys.ops.native.distributions cimport bitgen_t
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.vm.abi cimport Cell

cdef extern from "random/bit_generators.h" nogil:
    const int phintys_state_words[]
    void phintys_copy_state(uint64_t* copy, const uint64_t* state, ptrdiff_t words)
    void phintys_make_valid(uint64_t* state)
    bitgen_t phintys_bit_generator(uint64_t* state)

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
