"""The kernel of small copies between the places; see ``mover.pyx``."""

# To be called by `prepare` of kernels that copy between the places: small copies are then parts of a call's graph.
cdef int mover_ready() except -1 nogil
