"""Inner loops: see ``loops.pyx``."""
from numpy cimport npy_intp

ctypedef void (*LoopFunction)(char** arguments, const npy_intp* dimensions, const npy_intp* steps,
                              void* data) noexcept nogil

cdef class InnerLoop:
    cdef LoopFunction function
    cdef void* data
    cdef readonly str name
    cdef readonly tuple dtypes           # of the operands and, last, of the result
    cdef readonly double cost            # nanoseconds an element on long contiguous operands, roughly
    cdef readonly str provider           # whose loop it is
    cdef readonly bint overwrites        # the result may take the memory of an operand of the same element size
    cdef int vector                      # bytes of the vectors that the loop works on, whole ones; 0: on elements
    cdef void* filling                   # data with which it writes whole vectors, though operands have fewer elements;
    #                                      NULL: there is none
    cdef object owner                    # keeps `data` and `filling` alive
    cdef bint use_vector_function(self, str provider) except -1

cpdef InnerLoop find_loop(loop, tuple dtypes)
cdef LoopFunction copy_function(int itemsize) noexcept nogil
