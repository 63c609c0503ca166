"""Vector functions as inner loops: see ``vector_math.pyx``."""
from numpy cimport npy_intp

ctypedef void (*VectorLoop)(char** arguments, const npy_intp* dimensions, const npy_intp* steps,
                            void* data) noexcept nogil

cdef extern from "native/special/vector_call.h" nogil:
    ctypedef struct phintys_vector_call:
        void* function
        bint takes_lines
        int fills

cdef VectorLoop vector_loop(str name, str dtype, str provider, phintys_vector_call* call) except? NULL
cdef int vector_bytes(str provider) except -1
cdef VectorLoop vector_cast(str source, str target, int level) noexcept
