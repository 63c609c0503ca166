"""The states of NumPy's ``Generator`` objects on PCG64, read and written without NumPy's dictionaries.

A state is copied from and to the memory that the capsule of the bit generator names. NumPy does not document how it
lies there, so `knows_layout` compares it once with the documented dictionary; without agreement, the dictionaries are
used.
"""
from copy import deepcopy

import numpy

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint32_t, uint64_t

from phintys.ops.random.generator_states import bit_generator_of, words_of

cnp.import_array()

cdef enum:
    WORDS = 7                           # of a state of PCG64: see bit_generators.h

cdef struct BitGenerator:               # the first field of NumPy's bitgen_t
    void* state

cdef struct Pcg64:                      # NumPy's pcg64_state
    uint64_t* wide                      # the state and the increment, each with its low word first
    int has_half
    uint32_t half

cdef object PCG64 = numpy.random.PCG64
cdef object UNUSED = numpy.random.SeedSequence(0)       # of generators whose state is replaced at once
cdef int layout = -1                    # whether states lie in memory as described here; -1: not known yet


cdef inline Pcg64* address_of(object bit_generator) except NULL:
    return <Pcg64*>(<BitGenerator*>PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")).state


cdef object read(object bit_generator):
    cdef cnp.npy_intp length = WORDS
    cdef cnp.ndarray words = cnp.PyArray_EMPTY(1, &length, cnp.NPY_UINT64, 0)
    cdef uint64_t* out = <uint64_t*>cnp.PyArray_DATA(words)
    cdef Pcg64* state = address_of(bit_generator)
    out[0], out[1], out[2] = 0, state.has_half, state.half
    out[3], out[4], out[5], out[6] = state.wide[1], state.wide[0], state.wide[3], state.wide[2]
    return words


cdef int write(object bit_generator, cnp.ndarray words) except -1:
    cdef const uint64_t* given = <const uint64_t*>cnp.PyArray_DATA(words)
    cdef Pcg64* state = address_of(bit_generator)
    state.has_half, state.half = <int>given[1], <uint32_t>given[2]
    state.wide[1], state.wide[0], state.wide[3], state.wide[2] = given[3], given[4], given[5], given[6]
    return 0


cpdef bint knows_layout() except -1:
    """Whether states are copied from and to memory."""
    global layout
    if layout < 0:
        layout = 0
        bit_generator = PCG64(20)
        numpy.random.Generator(bit_generator).integers(9, dtype="uint32")
        wanted = words_of(bit_generator)
        if numpy.array_equal(read(bit_generator), wanted):
            other = PCG64(21)
            write(other, wanted)
            layout = other.state == bit_generator.state
    return layout == 1


def state_of(generator):
    """The state of a ``numpy.random.Generator`` on PCG64 as a vector of uint64; None of everything else."""
    bit_generator = getattr(generator, "bit_generator", None)
    if type(bit_generator) is not PCG64:
        return None
    return read(bit_generator) if knows_layout() else words_of(bit_generator)


def set_state(generator, cnp.ndarray words not None):
    """Let a generator on PCG64 continue from a state.

    Parameters
    ----------
    generator : numpy.random.Generator
    words : numpy.ndarray
        A state returned by `state_of`.

    Raises
    ------
    TypeError
        If the generator does not draw from PCG64.
    ValueError
        If it is no state of PCG64.
    """
    bit_generator = generator.bit_generator
    if type(bit_generator) is not PCG64:
        raise TypeError(f"expected a generator on PCG64, got {generator!r}")
    store(bit_generator, words)


cdef int store(object bit_generator, cnp.ndarray words) except -1:
    if words.ndim != 1 or words.shape[0] != WORDS or cnp.PyArray_TYPE(words) != cnp.NPY_UINT64:
        raise ValueError(f"a state of PCG64 is a vector of {WORDS} uint64, got {words!r}")
    if knows_layout() and cnp.PyArray_ISBEHAVED(words) and cnp.PyArray_IS_C_CONTIGUOUS(words):
        write(bit_generator, words)
    else:
        bit_generator.state = bit_generator_of(words).state
    return 0


def generator_of(words, like=None):
    """A new generator on PCG64 in a state.

    Parameters
    ----------
    words : numpy.ndarray
        A state returned by `state_of`.
    like : numpy.random.Generator, optional
        The generator whose seed sequence is copied, which decides what ``spawn`` makes.
    """
    source = None if like is None else deepcopy(like.bit_generator.seed_seq)
    generator = numpy.random.Generator(PCG64(UNUSED if source is None else source))
    set_state(generator, words)
    return generator


cdef class ProgramWithGenerators:
    """A function of states, called with generators on PCG64.

    The bit generators are locked during a call, in the order of their addresses, so that calls in several threads draw
    different numbers. A generator changes only after the function has returned.

    Parameters
    ----------
    program : callable
        It takes states in place of generators, and returns a list.
    positions : tuple of int
        Which arguments are generators.
    results : tuple of (int, int or None, bool)
        Which results are states; from which argument they come, if that is known; and whether that argument gets the
        new state and is returned. Otherwise a new generator is.
    otherwise : callable
        Called instead, with the generators themselves, if one of them draws from another kind of bit generator.
    """
    cdef readonly object program, otherwise
    cdef readonly tuple positions, results
    cdef tuple order                 # numbers of positions: the order in which generators were locked last

    def __init__(self, program, positions, results, otherwise):
        self.program, self.otherwise = program, otherwise
        self.positions, self.results = tuple(positions), tuple(results)
        self.order = tuple(range(len(self.positions)))

    def __call__(self, *args):
        cdef list bits = [], taken = []
        cdef int position
        cdef tuple order
        for position in self.positions:
            bit_generator = getattr(args[position], "bit_generator", None)
            if type(bit_generator) is not PCG64:
                return self.otherwise(*args)
            bits.append(bit_generator)
        order = self.order
        are_different = is_ascending(bits, order)
        if not are_different:
            order = self.order = tuple(sorted(order, key=lambda number: id(bits[number])))
            are_different = is_ascending(bits, order)
        last = None
        try:
            for position in order:
                lock = bits[position].lock
                if lock is not last:        # one generator may come twice; NumPy 2.2's locks can be taken once
                    lock.acquire()
                    taken.append(lock)
                    last = lock
            return self.run(args, bits, are_different)
        finally:
            for lock in taken:
                lock.release()

    cdef list run(self, tuple args, list bits, bint are_different):
        cdef list given = list(args), found
        cdef bint known = knows_layout()
        cdef int position, number = 0, output
        for position in self.positions:
            given[position] = read(bits[number]) if known else words_of(bits[number])
            number += 1
        found = self.program(*given)
        for output, source, changes in self.results:
            if changes and are_different:
                store(args[source].bit_generator, found[output])
                found[output] = args[source]
            else:
                found[output] = generator_of(found[output], None if source is None else args[source])
        return found


cdef bint is_ascending(list bits, tuple order):
    """Whether objects are different, and their addresses ascend in an order."""
    cdef void* last = NULL
    cdef void* address
    cdef int number
    for number in order:
        address = <void*>bits[number]
        if address <= last:
            return False
        last = address
    return True
