"""The Cholesky factor of each matrix of a stack, its inverse by the factor, and Hermitian matrices by one triangle.

LAPACK sees a matrix in C order as its transpose, so the lower factor here is the upper factor there, also for complex
matrices: ``x.T = U^H U`` means ``x = U^T conj(U)``, and the memory of U, read by rows, is ``U^T``. OpenBLAS takes a
quarter more time for upper factors (order 500: 1,555 us, lower ones 1,230), so large matrices are copied to the other
triangle before, and back. Matrices of low order are left to built-in loops (``short_loops.h``).
"""
from numpy cimport npy_intp

from phintys.ops.factorizations.stack_kernel cimport (
    NOT_FINITE, Item, StackKernel, all_finite, at_least_1, clear_triangle, copy_item, fill_with_nan, raise_linalg_error,
    check_square)
from phintys.ops.products.blas_library cimport library_function
from phintys.vm.abi cimport Context

from phintys.ops.native.sets cimport usable_set

include "short_orders.pxi"

cdef extern from "factorizations/short_loops.h" nogil:
    ctypedef int (*ShortCholesky)(char* matrix, npy_intp order, int lower, char* room) noexcept nogil
    ShortCholesky[3] short_choleskys_float     # by instruction set: the baseline, AVX2, AVX-512
    ShortCholesky[3] short_choleskys_double
    size_t short_cholesky_bytes(npy_intp order, int itemsize)

ctypedef void (*Potrf)(char* uplo, int* n, void* a, int* lda, int* info) noexcept nogil


cdef enum:
    FOLDED_ORDER = 64                  # from which the copies cost less than they gain
    TILE = 32                          # rows and columns of the parts of both triangles that are processed together

ctypedef fused number:
    float
    double


cdef inline void fold_tile(number* data, npy_intp order, int parts, int sign, npy_intp high,
                           npy_intp wide) noexcept nogil:
    cdef npy_intp row, column
    cdef number* source
    cdef number* target
    for row in range(high, min(high + TILE, order)):
        for column in range(wide, min(wide + TILE, row)):
            source, target = data + parts * (row * order + column), data + parts * (column * order + row)
            target[0] = source[0]
            if parts == 2:
                target[1] = sign * source[1]


cdef inline void unfold_tile(number* data, npy_intp order, int parts, npy_intp high, npy_intp wide) noexcept nogil:
    cdef npy_intp row, column
    cdef int part
    cdef number* source
    cdef number* target
    for row in range(high, min(high + TILE, order)):
        for column in range(wide, min(wide + TILE, row)):
            target, source = data + parts * (row * order + column), data + parts * (column * order + row)
            for part in range(parts):
                target[part], source[part] = source[part], 0


cdef void fold_numbers(number* data, npy_intp order, int parts, int sign) noexcept nogil:
    """Copy the lower triangle to the upper one; multiply imaginary parts, if there are, by the sign."""
    cdef npy_intp high = 0, wide
    while high < order:
        wide = 0
        while wide <= high:
            if parts == 1:
                fold_tile(data, order, 1, 1, high, wide)
            else:
                fold_tile(data, order, 2, sign, high, wide)
            wide += TILE
        high += TILE


cdef void unfold_numbers(number* data, npy_intp order, int parts) noexcept nogil:
    """Move the upper triangle to the lower one."""
    cdef npy_intp high = 0, wide
    while high < order:
        wide = 0
        while wide <= high:
            if parts == 1:
                unfold_tile(data, order, 1, high, wide)
            else:
                unfold_tile(data, order, 2, high, wide)
            wide += TILE
        high += TILE


cdef inline void fold(char* data, npy_intp order, int precision, bint is_complex, int sign) noexcept nogil:
    if precision == 8:
        fold_numbers(<double*>data, order, 1 + is_complex, sign)
    else:
        fold_numbers(<float*>data, order, 1 + is_complex, sign)


cdef inline void unfold(char* data, npy_intp order, int precision, bint is_complex) noexcept nogil:
    if precision == 8:
        unfold_numbers(<double*>data, order, 1 + is_complex)
    else:
        unfold_numbers(<float*>data, order, 1 + is_complex)


cdef void mirror(char* data, npy_intp order, int precision, bint is_complex) noexcept nogil:
    """Make a matrix Hermitian whose lower triangle is set."""
    cdef npy_intp position
    fold(data, order, precision, is_complex, -1)
    if is_complex:
        for position in range(order):
            if precision == 8:
                (<double*>data)[2 * position * (order + 1) + 1] = 0
            else:
                (<float*>data)[2 * position * (order + 1) + 1] = 0


cdef class CholeskyKernel(StackKernel):
    """See the docstring of the file.

    Parameters
    ----------
    lower : bool
        Whether to return the lower factor, and to read the lower triangle only.
    nan : bool
        Whether the factor of a matrix that has none is NaN, instead of an error.
    """
    cdef Potrf potrf
    cdef bint lower, nan
    cdef ShortCholesky loops           # for low orders
    cdef npy_intp most                 # the highest of these

    def __init__(self, str dtype, int lead, bint lower, bint nan):
        cdef int instructions = usable_set()
        self.describe(dtype, lead, (2, 2), 1)
        self.potrf = <Potrf>library_function("potrf", self.typenum)
        self.lower, self.nan = lower, nan
        self.loops = short_choleskys_float[instructions]
        if self.precision == 8:
            self.loops = short_choleskys_double[instructions]
        self.most = -1 if self.is_complex else SHORT_CHOLESKY[instructions]

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("cholesky", &items[0])
        items[1].rows = items[1].columns = order
        cost[0] = <double>order * order * order / 3
        return short_cholesky_bytes(order, self.itemsize) if order <= self.most else 0

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef Item* x = &items[0]
        cdef char* factor = items[1].data
        cdef int order = <int>x.rows, leading = at_least_1(x.rows), info = 0
        copy_item(x, factor, order * self.itemsize, self.itemsize, self.itemsize)
        if not all_finite(factor, <npy_intp>order * order, self.precision, self.is_complex):
            info = NOT_FINITE
        elif order <= self.most:
            info = self.loops(factor, order, self.lower, room)
        elif self.lower and order >= FOLDED_ORDER:
            fold(factor, order, self.precision, self.is_complex, 1)
            self.potrf(b"L", &order, factor, &leading, &info)
            unfold(factor, order, self.precision, self.is_complex)
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


cdef class MirrorKernel(StackKernel):
    """The Hermitian matrix with the given lower triangle, and a real diagonal: ``(x, out)``."""

    def __init__(self, str dtype, int lead):
        self.describe(dtype, lead, (2, 2), 1)
        self.may_fail = False

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("mirrored", &items[0])
        items[1].rows = items[1].columns = order
        cost[0] = <double>order * order
        return 0

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp order = items[0].rows
        copy_item(&items[0], items[1].data, order * self.itemsize, self.itemsize, self.itemsize)
        mirror(items[1].data, order, self.precision, self.is_complex)
        return 0


cdef class CholeskyInverseKernel(StackKernel):
    """The inverse of a matrix from its lower factor: ``(factor, inverse)``; the inverse may overwrite the factor.

    Parameters
    ----------
    nan : bool
        Whether the inverse is NaN where there is none, instead of an error.
    """
    cdef Potrf potri

    def __init__(self, str dtype, int lead, bint nan):
        self.describe(dtype, lead, (2, 2), 1)
        self.potri = <Potrf>library_function("potri", self.typenum)
        self.fails_with_nan = nan

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("cho_solve", &items[0])
        items[1].rows = items[1].columns = order
        cost[0] = <double>order * order * order * 2 / 3
        return 0

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef char* inverse = items[1].data
        cdef int order = <int>items[0].rows, leading = at_least_1(order), info = 0
        copy_item(&items[0], inverse, order * self.itemsize, self.itemsize, self.itemsize)
        if order:
            self.potri(b"U", &order, inverse, &leading, &info)
            mirror(inverse, order, self.precision, self.is_complex)
        return info

    cdef int refuse(self, int reason) except -1:
        raise_linalg_error(f"cho_solve: singular matrix: resolution failed at diagonal {reason - 1}")
