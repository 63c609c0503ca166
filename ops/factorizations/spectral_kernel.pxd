"""The base class of kernels that ask LAPACK how much memory it wants; see ``spectral_kernel.pyx``."""

from phintys.ops.factorizations.stack_kernel cimport Item, StackKernel
from phintys.vm.abi cimport Context

cdef struct Lengths:               # of LAPACK's work arrays, in elements
    int work
    int real_work
    int integers

cdef inline int asked(const char* answer, int precision) noexcept nogil:
    """The length that LAPACK wrote to a work array, rounded up where a float cannot hold it exactly."""
    if precision == 8:
        return <int>(<const double*>answer)[0]
    return <int>((<const float*>answer)[0] * <float>1.0000002) + 1


cdef class SpectralKernel(StackKernel):
    # Ask LAPACK for the lengths of its work arrays.
    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil
    # For `fit`: ask, and keep what LAPACK returns.
    cdef Lengths keep_lengths(self, Context* context, Item* items) noexcept nogil
    # For `compute`.
    cdef Lengths kept_lengths(self, Context* context, Item* items) noexcept nogil
