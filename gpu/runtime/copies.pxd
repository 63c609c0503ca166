"""Copies of elements on the device; see ``copies.pyx``."""
from phintys.vm.abi cimport Cell

# Copy elements between cells of one shape. Returns 0, or -1 with an exception set.
cdef int copy_elements(Cell* target, Cell* source) noexcept nogil
