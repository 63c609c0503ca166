"""Checks of labels, which several losses use: see ``crossentropy_kernel.pyx``."""
from phintys.vm.abi cimport Cell

cdef int check_labels(const Cell* labels, const Cell* matrix, bint as_index, bint leading) except -1 nogil
