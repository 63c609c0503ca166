"""Solves ``x y = b`` for a triangular matrix: ``(x, b, y)``, in the memory of b if the optimizer permits it.

BLAS sees b, in C order, as its transpose, so it solves ``y.T op(x).T = b.T`` there; no operand is copied as long as
the rows or the columns of x have no gaps. Systems of low order are left to built-in loops (``short_loops.h``), which
take matrices of any strides for several right-hand sides.
"""
from libc.limits cimport INT_MAX
from numpy cimport npy_intp

from phintys.ops.factorizations.stack_kernel cimport (
    NOT_FINITE, Item, StackKernel, all_finite, copy_item, raise_linalg_error, check_square, rounded)
from phintys.ops.products.blas_library cimport library_function
from phintys.vm.abi cimport Context

from phintys.ops.native.sets cimport usable_set

include "short_orders.pxi"

cdef extern from "factorizations/short_loops.h" nogil:
    ctypedef struct ShortSystem:
        const char* x
        npy_intp row_step, column_step     # bytes
        npy_intp order
        char* out                          # the right-hand sides, and the solution: rows without gaps
        npy_intp out_step
        npy_intp columns
        int unit
    ctypedef void (*ShortSolve)(const ShortSystem*, int lower) noexcept nogil
    ShortSolve[3] short_solves_float       # by instruction set: the baseline, AVX2, AVX-512
    ShortSolve[3] short_solves_double

ctypedef void (*Trsm)(char* side, char* uplo, char* trans, char* diag, int* m, int* n, void* alpha, void* a, int* lda,
                      void* b, int* ldb) noexcept nogil
ctypedef void (*Trsv)(char* uplo, char* trans, char* diag, int* n, void* a, int* lda, void* x, int* incx) noexcept nogil

cdef enum Transposition:
    NO = 0
    TRANSPOSED = 1
    CONJUGATED = 2                  # and transposed


cdef class TriangularSolveKernel(StackKernel):
    """See the docstring of the file.

    Parameters
    ----------
    rank : int
        The rank of the right-hand sides: 1 or 2.
    lower : bool
        Which triangle of x is read.
    transposition : {0, 1, 2}
        Whether to solve with x, its transpose or its conjugate transpose.
    unit : bool
        Whether the diagonal of x is taken to be all ones, and not read.
    nan : bool
        Whether the solution of a singular system is NaN, and infinities and NaN are computed with; otherwise all of
        these raise.
    """
    cdef Trsm trsm
    cdef Trsv trsv
    cdef bint lower, unit
    cdef int transposition
    cdef double one[2]              # the number 1, of the matrices' type
    cdef ShortSolve loops           # for low orders
    cdef npy_intp most              # the highest of these
    cdef npy_intp most_of_vector    # and for one right-hand side

    def __init__(self, str dtype, int lead, int rank, bint lower, int transposition, bint unit,
                 bint nan=False, spread=()):
        cdef int instructions = usable_set()
        self.describe(dtype, lead, (2, rank, rank), 2, spread)
        self.fails_with_nan = nan
        self.trsm = <Trsm>library_function("trsm", self.typenum)
        self.trsv = <Trsv>library_function("trsv", self.typenum)
        self.lower, self.unit = lower, unit
        self.transposition = transposition if self.is_complex or not transposition else TRANSPOSED
        self.loops = short_solves_float[instructions]
        if self.precision == 8:
            self.loops = short_solves_double[instructions]
        self.most = -1 if self.is_complex else SHORT_SOLUTIONS[instructions]
        self.most_of_vector = -1 if self.is_complex else SHORT_SOLUTION[instructions]
        self.one[0] = self.one[1] = 0
        if self.precision == 8:
            self.one[0] = 1
        else:
            (<float*>self.one)[0] = 1

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("solve_triangular", &items[0])
        if items[1].rows != order:
            with gil:
                raise ValueError(f"solve_triangular: incompatible dimensions: the matrix has {order} rows, the "
                                 f"right-hand side {items[1].rows}")
        items[2].rows, items[2].columns = order, items[1].columns
        cost[0] = <double>order * order * items[1].columns
        return rounded(order * order * self.itemsize)

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef Item x = items[0]
        cdef int order = <int>x.rows, columns = <int>items[1].columns, leading
        cdef npy_intp size = self.itemsize, position
        cdef char* out = items[2].data
        cdef bint by_rows, vector = columns == 1
        cdef char uplo, trans, diag = c'U' if self.unit else c'N'
        copy_item(&items[1], out, columns * size, size, self.itemsize)
        if order == 0 or columns == 0:
            return 0
        by_rows = x.column_step == size or order == 1
        if not vector and order <= self.most and self.fails_with_nan:
            return self.solve_short(&x, out, columns)
        # BLAS has no conjugation without transposition, so these are copied to the other order.
        if (self.transposition == CONJUGATED and by_rows == vector) or not can_take(&x, by_rows, size):
            by_rows = not vector
            if by_rows:
                copy_item(&x, room, order * size, size, self.itemsize)
                x.row_step, x.column_step = order * size, size
            else:
                copy_item(&x, room, size, order * size, self.itemsize)
                x.row_step, x.column_step = size, order * size
            x.data = room
        if not self.fails_with_nan and not (self.triangle_is_finite(&x) and all_finite(
                out, <npy_intp>order * columns, self.precision, self.is_complex)):
            return NOT_FINITE
        if order <= (self.most_of_vector if vector else self.most):
            return self.solve_short(&x, out, columns)
        position = 0 if self.unit else self.zero_of(&x)
        if position:
            return <int>position
        leading = <int>((x.row_step if by_rows else x.column_step) // size) if order > 1 else 1
        uplo = c'U' if self.lower == by_rows else c'L'
        trans = c'C' if self.transposition == CONJUGATED else c'T' if by_rows == (not self.transposition) else c'N'
        if vector:
            self.trsv(&uplo, &trans, &diag, &order, x.data, &leading, out, &vector_step)
        else:
            if self.transposition != CONJUGATED:     # the matrix is on the other side
                trans = c'N' if trans == c'T' else c'T'
            self.trsm(b"R", &uplo, &trans, &diag, &columns, &order, self.one, x.data, &leading, out, &columns)
        return 0

    cdef int solve_short(self, const Item* x, char* out, int columns) noexcept nogil:
        cdef ShortSystem system
        cdef npy_intp position = 0 if self.unit else self.zero_of(x)
        if position:
            return <int>position
        system.x, system.row_step, system.column_step, system.order = x.data, x.row_step, x.column_step, x.rows
        if self.transposition:
            system.row_step, system.column_step = x.column_step, x.row_step
        system.out, system.out_step, system.columns, system.unit = out, columns * self.itemsize, columns, self.unit
        self.loops(&system, self.lower != (self.transposition != NO))
        return 0

    cdef inline npy_intp zero_of(self, const Item* x) noexcept nogil:
        """The number, from 1, of the first element of the diagonal that is zero; 0: there is none."""
        cdef npy_intp position
        for position in range(x.rows):
            if self.is_zero(x.data + position * (x.row_step + x.column_step)):
                return position + 1
        return 0

    cdef inline bint is_zero(self, const char* element) noexcept nogil:
        if self.precision == 8:
            return (<const double*>element)[0] == 0 and (not self.is_complex or (<const double*>element)[1] == 0)
        return (<const float*>element)[0] == 0 and (not self.is_complex or (<const float*>element)[1] == 0)

    cdef inline bint triangle_is_finite(self, const Item* x) noexcept nogil:
        """Whether the triangle that is read is finite; lines of x have no gaps."""
        cdef npy_intp line, order = x.rows
        cdef bint by_rows = x.column_step == self.itemsize or order == 1
        cdef npy_intp step = x.row_step if by_rows else x.column_step
        for line in range(order):
            if self.lower == by_rows:
                if not all_finite(x.data + line * step, line + 1, self.precision, self.is_complex):
                    return False
            elif not all_finite(x.data + line * (step + self.itemsize), order - line, self.precision, self.is_complex):
                return False
        return True

    cdef int refuse(self, int reason) except -1:
        if reason == NOT_FINITE:
            raise ValueError("solve_triangular: array must not contain infs or NaNs")
        raise_linalg_error(f"singular matrix: resolution failed at diagonal {reason - 1}")


cdef int vector_step = 1


cdef inline bint can_take(const Item* x, bint by_rows, npy_intp size) noexcept nogil:
    """Whether BLAS can read the matrix where it is."""
    cdef npy_intp step = x.row_step if by_rows else x.column_step
    if x.rows == 1:
        return True
    if (x.column_step if by_rows else x.row_step) != size:
        return False
    return step >= x.rows * size and step % size == 0 and step // size <= INT_MAX
