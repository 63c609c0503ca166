"""Instruction sets: see ``sets.pyx``."""
cdef extern from "native/sets.h" nogil:
    enum: PHINTYS_SETS
    const int* phintys_set
    int phintys_set_of_processor()

cdef int usable_set() noexcept nogil
cdef const int* set_of_process() noexcept nogil
