"""The Cholesky factor of each matrix of a stack: ``(x, factor)``.

LAPACK sees a matrix in C order as its transpose, so the lower factor here is the upper factor there, also for complex
matrices: ``x.T = U^H U`` means ``x = U^T conj(U)``, and the memory of U, read by rows, is ``U^T``.
"""
from numpy cimport npy_intp

from phintys.ops.factorizations.stack_kernel cimport (
    NOT_FINITE, Item, StackKernel, all_finite, at_least_1, clear_triangle, copy_item, fill_with_nan, raise_linalg_error,
    raise_not_square)
from phintys.ops.products.blas_library cimport library_function
from phintys.vm.abi cimport Context

ctypedef void (*Potrf)(char* uplo, int* n, void* a, int* lda, int* info) noexcept nogil


cdef class CholeskyKernel(StackKernel):
    """See the docstring of the file.

    Parameters
    ----------
    dtype : str
    lead : int
        The number of leading dimensions.
    lower : bool
        Whether to return the lower factor, and to read the lower triangle only.
    nan : bool
        Whether the factor of a matrix that has none is NaN, instead of an error.
    """
    cdef Potrf potrf
    cdef bint lower, nan

    def __init__(self, str dtype, int lead, bint lower, bint nan):
        self.describe(dtype, lead, (2, 2), 1)
        self.potrf = <Potrf>library_function("potrf", self.typenum)
        self.lower, self.nan = lower, nan

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        if order != items[0].columns:
            with gil:
                raise_not_square("cholesky", order, items[0].columns)
        items[1].rows = items[1].columns = order
        cost[0] = <double>order * order * order / 3
        return 0

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef Item* x = &items[0]
        cdef char* factor = items[1].data
        cdef int order = <int>x.rows, leading = at_least_1(x.rows), info = 0
        copy_item(x, factor, order * self.itemsize, self.itemsize, self.itemsize)
        if not all_finite(factor, <npy_intp>order * order, self.precision, self.is_complex):
            info = NOT_FINITE
        elif order:
            self.potrf(b"U" if self.lower else b"L", &order, factor, &leading, &info)
            clear_triangle(factor, order, not self.lower, self.itemsize)
        if info and self.nan:
            fill_with_nan(factor, <npy_intp>order * order, self.precision, self.is_complex)
            return 0
        return info

    cdef int refuse(self, int reason) except -1:
        if reason == NOT_FINITE:
            raise ValueError("cholesky: array must not contain infs or NaNs")
        raise_linalg_error(f"{reason}-th leading minor of the array is not positive definite")
