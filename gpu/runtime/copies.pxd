"""Copies of elements on the device; see ``copies.pyx``."""
from phintys.vm.abi cimport Cell

# To be called by `prepare`; then `copy_elements` may be called by `run`. It returns 0, or the driver's error.
cdef int copies_ready() except -1 nogil
cdef int copy_elements(Cell* target, Cell* source) noexcept nogil
