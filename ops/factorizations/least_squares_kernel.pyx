"""Solutions in the sense of least squares by singular values (LAPACK's gelsd), for each matrix of a stack.

Matrices and right-hand sides are copied to the order of columns, where LAPACK overwrites them.
"""
from libc.float cimport DBL_EPSILON, FLT_EPSILON
from libc.stdint cimport int64_t
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.factorizations.spectral_kernel cimport Lengths, SpectralKernel, asked
from phintys.ops.factorizations.stack_kernel cimport (
    NOT_FINITE, Item, all_finite, at_least_1, copy_item, raise_linalg_error, rounded)
from phintys.ops.products.blas_library cimport library_function
from phintys.vm.abi cimport Context

ctypedef void (*Gelsd)(int* m, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb, void* s, void* rcond, int* rank,
                       void* work, int* lwork, int* iwork, int* info) noexcept nogil
ctypedef void (*ComplexGelsd)(int* m, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb, void* s, void* rcond,
                              int* rank, void* work, int* lwork, void* rwork, int* iwork, int* info) noexcept nogil

# What is passed to LAPACK for one system, and where its work arrays are. The right-hand sides have room for the
# solution, which is higher if there are more columns than rows.
cdef struct LeastSquaresCall:
    int rows
    int columns
    int sides                          # LAPACK refuses 0: there is a column of zeros, then
    int height
    char* matrix
    char* right
    char* work
    char* real_work
    int* integers
    int rank


cdef class LeastSquaresKernel(SpectralKernel):
    """``(a, b, solution, sums, rank, values)``, or with ``rcond``, a number for all systems, after b. The sums are
    those of squared residuals; where the rank is less than the number of columns, they are not.

    Parameters
    ----------
    rank : int
        1 if b is a vector, else 2.
    with_ratio : bool
        Whether there is an input ``rcond``; otherwise it is the precision times the larger of rows and columns.
    """
    cdef void* gelsd
    cdef bint with_ratio

    def __init__(self, str dtype, int lead, int rank, bint with_ratio, spread=()):
        self.describe(dtype, lead, [2, rank, *[0] * with_ratio, rank, 1, 0, 1], 2 + with_ratio, spread)
        self.gelsd = library_function("gelsd", self.typenum)
        self.with_ratio = with_ratio

    cdef LeastSquaresCall lengths_of(self, Item* items) noexcept nogil:
        cdef LeastSquaresCall one
        one.rows, one.columns = <int>items[0].rows, <int>items[0].columns
        one.sides, one.height = max(<int>items[1].columns, 1), max(one.rows, one.columns)
        one.matrix = one.right = one.work = one.real_work = NULL
        one.integers, one.rank = NULL, 0
        return one

    cdef int call(self, LeastSquaresCall* one, char* values, double ratio, int* length) noexcept nogil:
        cdef int leading = at_least_1(one.rows), right = at_least_1(one.height), info = 0
        cdef float narrow = <float>ratio
        cdef void* rcond = <void*>&ratio if self.precision == 8 else <void*>&narrow
        if self.is_complex:
            (<ComplexGelsd>self.gelsd)(&one.rows, &one.columns, &one.sides, one.matrix, &leading, one.right, &right,
                                       values, rcond, &one.rank, one.work, length, one.real_work, one.integers, &info)
        else:
            (<Gelsd>self.gelsd)(&one.rows, &one.columns, &one.sides, one.matrix, &leading, one.right, &right, values,
                                rcond, &one.rank, one.work, length, one.integers, &info)
        return info

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        cdef double answers[3][2]
        cdef LeastSquaresCall one = self.lengths_of(items)
        lengths.work, lengths.real_work, lengths.integers = -1, 0, 1
        if min(one.rows, one.columns) == 0:
            lengths.work = 1
            return
        answers[1][0] = answers[2][0] = 0
        one.work, one.real_work, one.integers = <char*>answers[0], <char*>answers[1], <int*>answers[2]
        self.call(&one, NULL, 0, &lengths.work)
        lengths.work = asked(<char*>answers[0], self.precision)
        lengths.real_work = asked(<char*>answers[1], self.precision) if self.is_complex else 0
        lengths.integers = max(one.integers[0], 1)

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp least = min(items[0].rows, items[0].columns)
        cdef Item* found = items + self.inputs
        cdef LeastSquaresCall one = self.lengths_of(items)
        cdef Lengths lengths
        if items[0].rows != items[1].rows:
            with gil:
                raise_linalg_error(f"lstsq: Incompatible dimensions: a has {items[0].rows} rows, and b {items[1].rows}")
        found[0].rows, found[0].columns = one.columns, items[1].columns
        found[1].rows, found[3].rows = items[1].columns, least
        cost[0] = 4. * one.rows * one.columns * least + 4. * one.rows * one.columns * one.sides
        lengths = self.keep_lengths(context, items)
        return (rounded(<npy_intp>one.rows * one.columns * self.itemsize)
                + rounded(<npy_intp>one.height * one.sides * self.itemsize)
                + rounded(<npy_intp>lengths.work * self.itemsize)
                + rounded(<npy_intp>lengths.real_work * self.precision) + rounded(lengths.integers * sizeof(int)))

    cdef double ratio(self, const Item* items) noexcept nogil:
        """The least ratio to the largest singular value of those that count."""
        if not self.with_ratio:
            return (DBL_EPSILON if self.precision == 8 else FLT_EPSILON) * max(items[0].rows, items[0].columns)
        if self.precision == 8:
            return (<const double*>items[2].data)[0]
        return (<const float*>items[2].data)[0]

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp size = self.itemsize
        cdef Item* found = items + self.inputs
        cdef Lengths lengths = self.kept_lengths(context, items)
        cdef LeastSquaresCall one = self.lengths_of(items)
        cdef int info = 0
        one.matrix = room
        one.right = one.matrix + rounded(<npy_intp>one.rows * one.columns * size)
        one.work = one.right + rounded(<npy_intp>one.height * one.sides * size)
        one.real_work = one.work + rounded(<npy_intp>lengths.work * size)
        one.integers = <int*>(one.real_work + rounded(<npy_intp>lengths.real_work * self.precision))
        copy_item(&items[0], one.matrix, size, one.rows * size, self.itemsize)
        memset(one.right, 0, <npy_intp>one.height * one.sides * size)
        copy_item(&items[1], one.right, size, one.height * size, self.itemsize)
        if not (all_finite(one.matrix, <npy_intp>one.rows * one.columns, self.precision, self.is_complex)
                and all_finite(one.right, <npy_intp>one.height * one.sides, self.precision, self.is_complex)):
            return NOT_FINITE
        if min(one.rows, one.columns) > 0:
            info = self.call(&one, found[3].data, self.ratio(items), &lengths.work)
        (<int64_t*>found[2].data)[0] = one.rank
        self.give(one.right, one.height, &found[0])
        self.sum_residuals(&one, items[1].columns, found[1].data)
        return info

    cdef void sum_residuals(self, const LeastSquaresCall* one, npy_intp sides, char* sums) noexcept nogil:
        """The squared magnitudes of what LAPACK leaves below the solution."""
        cdef npy_intp side, position, start
        cdef npy_intp parts = 1 + self.is_complex
        cdef double total
        for side in range(sides):
            total, start = 0, side * one.height * parts
            for position in range(start + one.columns * parts, start + one.rows * parts):
                if self.precision == 8:
                    total += (<const double*>one.right)[position] * (<const double*>one.right)[position]
                else:
                    total += <double>(<const float*>one.right)[position] * (<const float*>one.right)[position]
            if self.precision == 8:
                (<double*>sums)[side] = total
            else:
                (<float*>sums)[side] = <float>total

    cdef int refuse(self, int reason) except -1:
        if reason == NOT_FINITE:
            raise_linalg_error("lstsq: SVD did not converge in Linear Least Squares: an array contains infs or NaNs")
        raise_linalg_error("lstsq: SVD did not converge in Linear Least Squares")
