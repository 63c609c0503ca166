"""Vector functions as inner loops: see ``vector_math.pyx``."""
from numpy cimport npy_intp

ctypedef void (*VectorLoop)(char** arguments, const npy_intp* dimensions, const npy_intp* steps,
                            void* data) noexcept nogil

cdef VectorLoop vector_loop(str name, str dtype, str provider, void** data) except? NULL
cdef VectorLoop vector_cast(str source, str target) noexcept
