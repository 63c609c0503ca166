"""What NVIDIA's libraries do for kernels of the device; see ``routine.pyx``."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell

cdef enum:
    REFUSED = -1                    # the library is not there, or the kernel of our own is to be used
    STEP_OF_MEMORY = 256            # parts of scratch memory begin at multiples

cdef class Library:
    cdef readonly str name
    cdef object names, needs
    cdef void** functions
    cdef int (*begin)() noexcept nogil              # makes the handle; returns the library's error
    cdef long tried                                 # the driver's `generation` in which the library was looked for
    cdef bint found
    cdef int load(self) except -1 nogil             # look for the library, unless that has been done

cdef class Routine:
    # At the beginning of `prepare`.
    cdef int ready(self) except -1 nogil
    # The bytes of scratch memory for these operands, or REFUSED.
    cdef npy_intp room(self, Cell** operands) noexcept nogil
    # Whether a launch is needed for these operands that is marked with this step.
    cdef bint wants(self, int step, Cell** operands) noexcept nogil
    # Step `step` of the routine, with its scratch memory of so many bytes (those of `room`). Returns 0, the driver's
    # error, or -1 with an exception set.
    cdef int call(self, int step, Cell** operands, char* scratch, npy_intp bytes) noexcept nogil

cdef inline npy_intp rounded_room(npy_intp bytes) noexcept nogil:
    return (bytes + STEP_OF_MEMORY - 1) // STEP_OF_MEMORY * STEP_OF_MEMORY
