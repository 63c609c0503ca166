"""Schur forms of matrices and of pairs of matrices, and Sylvester's equation, for each item of a stack.

LAPACK asks a C function which eigenvalues come first (``eigenvalue_order.h``).
"""
from numpy cimport npy_intp

from phintys.ops.factorizations.spectral_kernel cimport Lengths, SpectralKernel, asked
from phintys.ops.factorizations.stack_kernel cimport (
    NOT_FINITE, Item, all_finite, at_least_1, copy_item, fill_item_with_nan, raise_linalg_error, check_square,
    rounded)
from phintys.ops.products.blas_library cimport GemmFunction, library_function
from phintys.vm.abi cimport Context

cdef extern from "factorizations/eigenvalue_order.h" nogil:
    void* eigenvalue_order(int order, int of_pairs, int is_wide, int is_complex)

ctypedef void (*RealGees)(char* vectors, char* sort, void* select, int* n, void* a, int* lda, int* selected, void* wr,
                          void* wi, void* vs, int* ldvs, void* work, int* lwork, int* chosen, int* info) noexcept nogil
ctypedef void (*ComplexGees)(char* vectors, char* sort, void* select, int* n, void* a, int* lda, int* selected, void* w,
                             void* vs, int* ldvs, void* work, int* lwork, void* rwork, int* chosen,
                             int* info) noexcept nogil
ctypedef void (*RealGges)(char* left, char* right, char* sort, void* select, int* n, void* a, int* lda, void* b,
                          int* ldb, int* selected, void* alphar, void* alphai, void* beta, void* vsl, int* ldvsl,
                          void* vsr, int* ldvsr, void* work, int* lwork, int* chosen, int* info) noexcept nogil
ctypedef void (*ComplexGges)(char* left, char* right, char* sort, void* select, int* n, void* a, int* lda, void* b,
                             int* ldb, int* selected, void* alpha, void* beta, void* vsl, int* ldvsl, void* vsr,
                             int* ldvsr, void* work, int* lwork, void* rwork, int* chosen, int* info) noexcept nogil
ctypedef void (*Trsyl)(char* trana, char* tranb, int* sign, int* m, int* n, void* a, int* lda, void* b, int* ldb,
                       void* c, int* ldc, void* scale, int* info) noexcept nogil

SORTS = ("lhp", "rhp", "iuc", "ouc")           # halves of the plane, inside and outside of the unit circle


cdef void* selection(str sort, bint of_pairs, int precision, bint is_complex) except? NULL:
    """The C function that says which eigenvalues come first; NULL if there is no order."""
    if sort is None:
        return NULL
    return eigenvalue_order(SORTS.index(sort), of_pairs, precision == 8, is_complex)


cdef class OrderedKernel(SpectralKernel):
    """The base class of kernels that compute Schur forms."""
    cdef void* function
    cdef void* select

    cdef inline char* sorting(self) noexcept nogil:
        return b"S" if self.select != NULL else b"N"

    cdef int gees(self, int order, char* x, int* selected, char* values, char* vectors, char* work, int* length,
                  int* chosen) noexcept nogil:
        """Compute a Schur form by ``function``, which is gees, in the order of ``select``; ``chosen`` is for one."""
        cdef int leading = at_least_1(order), info = 0
        if self.is_complex:
            (<ComplexGees>self.function)(b"V", self.sorting(), self.select, &order, x, &leading, selected, values,
                                         vectors, &leading, work, length, values + order * self.itemsize, chosen, &info)
        else:
            (<RealGees>self.function)(b"V", self.sorting(), self.select, &order, x, &leading, selected, values,
                                      values + order * self.itemsize, vectors, &leading, work, length, chosen, &info)
        return info


cdef class SchurKernel(OrderedKernel):
    """``x == z.t.adjoint(z)``, where z is unitary and t is upper triangular, or in blocks of 2 by 2 if x is real:
    ``(x, t, z, selected)``, with how many eigenvalues come first by the order.

    Parameters
    ----------
    sort : str or None
        Which eigenvalues come first: one of `SORTS`.
    nan : bool
        Whether what cannot be computed is NaN, and no error.
    """
    cdef bint with_nan

    def __init__(self, str dtype, int lead, sort, bint nan):
        self.describe(dtype, lead, (2, 2, 2, 0), 1)
        self.function = library_function("gees", self.typenum)
        self.select = selection(sort, False, self.precision, self.is_complex)
        self.with_nan = nan

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        cdef double answer[2]
        cdef int selected
        lengths.work = -1
        self.gees(<int>items[0].rows, NULL, &selected, <char*>answer, NULL, <char*>answer, &lengths.work, &selected)
        lengths.work = max(asked(<char*>answer, self.precision), 1)

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        cdef Lengths lengths
        check_square("schur", &items[0])
        items[1].rows = items[1].columns = items[2].rows = items[2].columns = order
        cost[0] = 25. * order * order * order
        lengths = self.keep_lengths(context, items)
        return (2 * rounded(order * order * self.itemsize) + rounded(2 * order * self.itemsize)
                + rounded(order * sizeof(int)) + rounded(<npy_intp>lengths.work * self.itemsize))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp order = items[0].rows, bytes_of_one = rounded(order * order * self.itemsize)
        cdef char* vectors = room + bytes_of_one
        cdef char* values = vectors + bytes_of_one
        cdef int* chosen = <int*>(values + rounded(2 * order * self.itemsize))
        cdef char* work = <char*>chosen + rounded(order * sizeof(int))
        cdef Lengths lengths = self.kept_lengths(context, items)
        cdef int* selected = <int*>items[3].data
        cdef int info = NOT_FINITE
        selected[0] = 0
        if order == 0:
            return 0
        copy_item(&items[0], room, self.itemsize, order * self.itemsize, self.itemsize)
        if all_finite(room, order * order, self.precision, self.is_complex):
            info = self.gees(<int>order, room, selected, values, vectors, work, &lengths.work, chosen)
        if info and self.with_nan:
            selected[0] = 0
            fill_item_with_nan(&items[1], self.precision, self.is_complex)
            fill_item_with_nan(&items[2], self.precision, self.is_complex)
            return 0
        self.give(room, order, &items[1])
        self.give(vectors, order, &items[2])
        # gees: 1 to the order is an eigenvalue that did not converge, the order + 1 and + 2 are failures of sorting:
        # here 1, 2 and 3, whatever the order, so that `refuse` can name them.
        return info if info == NOT_FINITE or info <= 0 else 1 if info <= order else info - <int>order + 1

    cdef int refuse(self, int reason) except -1:
        if reason == NOT_FINITE:
            raise ValueError("schur: array must not contain infs or NaNs")
        raise_linalg_error("schur: " + {2: "Eigenvalues could not be separated for reordering",
                                        3: "Leading eigenvalues do not satisfy sort condition"}.get(
                                            reason, "Schur form not found. Possibly ill-conditioned"))


cdef class GeneralizedSchurKernel(OrderedKernel):
    """``a == q.s.adjoint(z)`` and ``b == q.t.adjoint(z)``: ``(a, b, s, t, alpha, beta, q, z)``; the eigenvalues are
    ``alpha / beta``, and alpha is complex.

    Parameters
    ----------
    spread : tuple of int
        For each input, by bits, the leading dimensions in which it is broadcast.
    sort : str or None
        Which eigenvalues come first: one of `SORTS`.
    nan : bool
        Whether what cannot be computed is NaN, and no error.
    """
    cdef bint with_nan

    def __init__(self, str dtype, int lead, tuple spread, sort, bint nan):
        self.describe(dtype, lead, (2, 2, 2, 2, 1, 1, 2, 2), 2, spread)
        self.function = library_function("gges", self.typenum)
        self.select = selection(sort, True, self.precision, self.is_complex)
        self.with_nan = nan

    cdef int call(self, int order, char* a, char* b, char* alpha, char* rest, char* beta, char* left, char* right,
                  char* work, int* length, int* chosen) noexcept nogil:
        """``rest`` is for the imaginary parts of alpha, or a real work array of the complex function."""
        cdef int leading = at_least_1(order), info = 0, selected
        if self.is_complex:
            (<ComplexGges>self.function)(b"V", b"V", self.sorting(), self.select, &order, a, &leading, b, &leading,
                                         &selected, alpha, beta, left, &leading, right, &leading, work, length, rest,
                                         chosen, &info)
        else:
            (<RealGges>self.function)(b"V", b"V", self.sorting(), self.select, &order, a, &leading, b, &leading,
                                      &selected, alpha, rest, beta, left, &leading, right, &leading, work, length,
                                      chosen, &info)
        return 0 if info == order + 2 else info      # roundings have moved a selected eigenvalue: SciPy accepts it

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        cdef double answer[2]
        cdef int chosen
        lengths.work = -1
        self.call(<int>items[0].rows, NULL, NULL, NULL, NULL, NULL, NULL, NULL, <char*>answer, &lengths.work, &chosen)
        lengths.work = max(asked(<char*>answer, self.precision), 1)

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        cdef Lengths lengths
        cdef int position
        for position in range(2):
            if items[position].rows != order or items[position].columns != order:
                with gil:
                    raise ValueError(f"qz: Array dimensions must be square and agree: the matrices have shapes "
                                     f"({order}, {items[0].columns}) and ({items[1].rows}, {items[1].columns})")
        for position in range(2, 8):
            items[position].rows, items[position].columns = order, 1 if position in (4, 5) else order
        cost[0] = 66. * order * order * order
        lengths = self.keep_lengths(context, items)
        return (4 * rounded(order * order * self.itemsize) + 2 * rounded(order * self.itemsize)
                + rounded(8 * order * self.precision) + rounded(order * sizeof(int))
                + rounded(<npy_intp>lengths.work * self.itemsize))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp order = items[0].rows, size = self.itemsize, step = rounded(order * order * size)
        cdef char* alpha = room + 4 * step
        cdef char* beta = alpha + rounded(order * size)
        cdef char* rest = beta + rounded(order * size)
        cdef int* chosen = <int*>(rest + rounded(8 * order * self.precision))
        cdef char* work = <char*>chosen + rounded(order * sizeof(int))
        cdef Lengths lengths = self.kept_lengths(context, items)
        cdef int info = NOT_FINITE, position
        if order == 0:
            return 0
        for position in range(2):
            copy_item(&items[position], room + position * step, size, order * size, self.itemsize)
        if (all_finite(room, order * order, self.precision, self.is_complex)
                and all_finite(room + step, order * order, self.precision, self.is_complex)):
            info = self.call(<int>order, room, room + step, alpha, rest, beta, room + 2 * step, room + 3 * step, work,
                             &lengths.work, chosen)
        if info and self.with_nan:
            for position in range(2, 8):
                fill_item_with_nan(&items[position], self.precision, self.is_complex or position == 4)
            return 0
        for position in range(2):
            self.give(room + position * step, order, &items[2 + position])
            self.give(room + (2 + position) * step, order, &items[6 + position])
        self.give(beta, order, &items[5])
        if self.is_complex:
            self.give(alpha, order, &items[4])
        else:                                        # real and imaginary parts side by side
            self.give(alpha, order, &items[4])
            items[4].data += self.precision
            self.give(rest, order, &items[4])
            items[4].data -= self.precision
        # gges: the order + 3 is a failure of sorting (2 here); less is an iteration that did not converge (1).
        return info if info == NOT_FINITE or info <= 0 else 2 if info == order + 3 else 1

    cdef int refuse(self, int reason) except -1:
        if reason == NOT_FINITE:
            raise ValueError("qz: array must not contain infs or NaNs")
        if reason == 2:
            raise ValueError("qz: Reordering of (A, B) failed because the transformed matrix pair (A, B) would be too "
                             "far from generalized Schur form; the problem is very ill-conditioned")
        raise_linalg_error("qz: Something wrong happened in the QZ iteration: it did not converge")


cdef class SylvesterKernel(OrderedKernel):
    """The solution x of ``a.x + x.b == c``: ``(a, b, c, x)``.

    Parameters
    ----------
    spread : tuple of int
        For each input, by bits, the leading dimensions in which it is broadcast.
    triangular : bool
        Whether a and b are Schur forms; of other matrices they are computed.
    nan : bool
        Whether what cannot be computed is NaN, and no error.
    """
    cdef bint with_nan, triangular
    cdef Trsyl trsyl
    cdef GemmFunction gemm

    def __init__(self, str dtype, int lead, tuple spread, bint triangular, bint nan):
        self.describe(dtype, lead, (2, 2, 2, 2), 3, spread)
        self.function, self.select = library_function("gees", self.typenum), NULL
        self.trsyl = <Trsyl>library_function("trsyl", self.typenum)
        self.gemm = <GemmFunction>library_function("gemm", self.typenum)
        self.triangular, self.with_nan = triangular, nan

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        cdef double answer[2]
        cdef int length, selected
        lengths.work = 0
        if self.triangular:
            return
        for position in range(2):
            length = -1
            self.gees(<int>items[position].rows, NULL, &selected, NULL, NULL, <char*>answer, &length, NULL)
            lengths.work = max(lengths.work, asked(<char*>answer, self.precision))

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp rows = items[0].rows, columns = items[1].rows, most = max(rows, columns)
        cdef Lengths lengths
        cdef int position
        for position in range(2):
            check_square("solve_sylvester", &items[position])
        if items[2].rows != rows or items[2].columns != columns:
            with gil:
                raise ValueError(f"solve_sylvester: incompatible dimensions: a is ({rows}, {rows}), b is ({columns}, "
                                 f"{columns}), so that q must be ({rows}, {columns}); it is ({items[2].rows}, "
                                 f"{items[2].columns})")
        items[3].rows, items[3].columns = rows, columns
        cost[0] = <double>rows * columns * (rows + columns) * (1 if self.triangular else 3)
        if not self.triangular:
            cost[0] += 25. * rows * rows * rows + 25. * columns * columns * columns
        lengths = self.keep_lengths(context, items)
        return (2 * rounded(rows * rows * self.itemsize) + 2 * rounded(columns * columns * self.itemsize)
                + 2 * rounded(rows * columns * self.itemsize) + rounded(2 * most * self.itemsize)
                + rounded(<npy_intp>lengths.work * self.itemsize))

    cdef void multiply(self, char* first, const char* a, char* second, const char* b, char* out, int rows, int inner,
                       int columns, int leading_a, int leading_b) noexcept nogil:
        """``out = op(a).op(b)``, in column order."""
        cdef double[4] wide = [1, 0, 0, 0]               # one and zero, of complex numbers perhaps
        cdef float[4] narrow = [1, 0, 0, 0]
        cdef char* one = <char*>wide if self.precision == 8 else <char*>narrow
        cdef int leading = at_least_1(rows)
        self.gemm(first, second, &rows, &columns, &inner, one, <char*>a, &leading_a, <char*>b, &leading_b,
                  one + 2 * self.precision, out, &leading)

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef int rows = <int>items[0].rows, columns = <int>items[1].rows, info = 0, sign = 1, selected
        cdef npy_intp size = self.itemsize, position
        cdef npy_intp of_a = rounded(<npy_intp>rows * rows * size), of_b = rounded(<npy_intp>columns * columns * size)
        cdef npy_intp of_c = rounded(<npy_intp>rows * columns * size)
        # With a = u s u* and b = v t v*, the equation is s y + y t = u* c v for y = u* x v. Schur forms are triangular,
        # but for blocks of 2 by 2, so trsyl solves that by substitution. All matrices are in column order, one behind
        # the other, as `fit` adds them up.
        cdef char* a = room
        cdef char* b = a + of_a
        cdef char* left = b + of_b
        cdef char* right = left + of_a
        cdef char* c = right + of_b
        cdef char* other = c + of_c
        cdef char* values = other + of_c
        cdef char* work = values + rounded(2 * <npy_intp>max(rows, columns) * size)
        cdef Lengths lengths = self.kept_lengths(context, items)
        cdef double wide = 1
        cdef float narrow = 1
        if rows == 0 or columns == 0:
            return 0
        copy_item(&items[0], a, size, rows * size, self.itemsize)
        copy_item(&items[1], b, size, columns * size, self.itemsize)
        copy_item(&items[2], c, size, rows * size, self.itemsize)
        if not self.triangular:
            if not (all_finite(a, <npy_intp>rows * rows, self.precision, self.is_complex)
                    and all_finite(b, <npy_intp>columns * columns, self.precision, self.is_complex)):
                info = NOT_FINITE
            if info == 0:
                info = self.gees(rows, a, &selected, values, left, work, &lengths.work, NULL)
            if info == 0:
                info = self.gees(columns, b, &selected, values, right, work, &lengths.work, NULL)
            if info:
                if self.with_nan:
                    fill_item_with_nan(&items[3], self.precision, self.is_complex)
                    return 0
                return NOT_FINITE if info == NOT_FINITE else 1
            self.multiply(b"C", left, b"N", c, other, rows, rows, columns, rows, rows)             # u* c
            self.multiply(b"N", other, b"N", right, c, rows, columns, columns, rows, columns)      # u* c v
        self.trsyl(b"N", b"N", &sign, &rows, &columns, a, &rows, b, &columns, c, &rows,
                   <void*>&wide if self.precision == 8 else <void*>&narrow, &info)
        for position in range(<npy_intp>rows * columns << self.is_complex):     # LAPACK's scale prevents an overflow
            if self.precision == 8:
                (<double*>c)[position] /= wide
            else:
                (<float*>c)[position] /= narrow
        if not self.triangular:
            self.multiply(b"N", left, b"N", c, other, rows, rows, columns, rows, rows)             # u y
            self.multiply(b"N", other, b"C", right, c, rows, columns, columns, rows, columns)      # u y v* = x
        self.give(c, rows, &items[3])
        return 0

    cdef int refuse(self, int reason) except -1:
        if reason == NOT_FINITE:
            raise ValueError("solve_sylvester: array must not contain infs or NaNs")
        raise_linalg_error("solve_sylvester: Schur form not found. Possibly ill-conditioned")
