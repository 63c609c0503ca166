"""LU factors, and what follows from them: determinants, inverses and solutions of systems.

LAPACK sees a matrix in C order as its transpose, and factors that: ``P L U = x.T``. The factors stay as LAPACK leaves
them, so ``factor`` is the transpose of the matrix that has U on and above its diagonal and L below. Solving
``x y = b`` is then LAPACK's transposed solution.
"""
from libc.math cimport fabs, hypot, log
from numpy cimport npy_intp

from phintys.ops.factorizations.stack_kernel cimport (
    NOT_FINITE, Item, StackKernel, all_finite, at_least_1, copy_item, raise_linalg_error, check_square, rounded)
from phintys.ops.products.blas_library cimport library_function
from phintys.vm.abi cimport Context

ctypedef void (*Getrf)(int* m, int* n, void* a, int* lda, int* pivots, int* info) noexcept nogil
ctypedef void (*Getrs)(char* trans, int* n, int* nrhs, void* a, int* lda, int* pivots, void* b, int* ldb,
                       int* info) noexcept nogil
ctypedef void (*Getri)(int* n, void* a, int* lda, int* pivots, void* work, int* lwork, int* info) noexcept nogil

cdef enum:
    BLOCK = 64                     # columns of the blocks for which getri gets room
    NO_PIVOTS = NOT_FINITE - 1     # what `compute` returns for pivots that are no rows


cdef inline double cubed(npy_intp order) noexcept nogil:
    return <double>order * order * order


cdef class LUFactorKernel(StackKernel):
    """The factors of the transpose of each matrix of a stack: ``(x, factor, pivots)``. A singular matrix has factors,
    too; only solving with them fails.
    """
    cdef Getrf getrf

    def __init__(self, str dtype, int lead):
        self.describe(dtype, lead, (2, 2, 1), 1)
        self.getrf = <Getrf>library_function("getrf", self.typenum)
        self.may_fail = False

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        check_square("lu_factor", &items[0])
        items[1].rows = items[1].columns = items[2].rows = items[0].rows
        cost[0] = cubed(items[0].rows) * 2 / 3
        return 0

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef int order = <int>items[0].rows, leading = at_least_1(order), info = 0
        copy_item(&items[0], items[1].data, order * self.itemsize, self.itemsize, self.itemsize)
        if order:
            self.getrf(&order, &order, items[1].data, &leading, <int*>items[2].data, &info)
        return 0


cdef bint is_singular(const char* factor, npy_intp order, int precision, bint is_complex) noexcept nogil:
    """Whether an element of U's diagonal is zero."""
    cdef npy_intp position, step = (order + 1) << is_complex
    cdef const double* wide = <const double*>factor
    cdef const float* narrow = <const float*>factor
    for position in range(order):
        if precision == 8:
            if wide[position * step] == 0 and (not is_complex or wide[position * step + 1] == 0):
                return True
        elif narrow[position * step] == 0 and (not is_complex or narrow[position * step + 1] == 0):
            return True
    return False


cdef class LUSolveKernel(StackKernel):
    """Solves with the factors of `LUFactorKernel`: ``(factor, pivots, b, y)``.

    Parameters
    ----------
    rank : int
        The rank of the right-hand sides: 1 or 2.
    transposed : bool
        Whether to solve ``x.T y = b`` instead of ``x y = b``.
    nan : bool
        Whether the solution of a singular system is NaN, and infinities and NaN are computed with; otherwise all of
        these raise.
    """
    cdef Getrs getrs
    cdef bint transposed

    def __init__(self, str dtype, int lead, int rank, bint transposed, bint nan=False, spread=()):
        self.describe(dtype, lead, (2, 1, rank, rank), 3, spread)
        self.fails_with_nan = nan
        self.getrs = <Getrs>library_function("getrs", self.typenum)
        self.transposed = transposed

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        check_square("lu_solve", &items[0])
        check_sides("lu_solve", &items[0], &items[2])
        if items[1].rows != items[0].rows:
            with gil:
                raise ValueError(f"lu_solve: {items[0].rows} pivots are expected, got {items[1].rows}")
        items[3].rows, items[3].columns = items[2].rows, items[2].columns
        cost[0] = <double>items[0].rows * items[0].rows * items[2].columns * 2
        return (rounded(items[0].rows * items[0].columns * self.itemsize) + rounded(items[0].rows * sizeof(int))
                + rounded(items[2].rows * items[2].columns * self.itemsize))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef int order = <int>items[0].rows
        cdef char* factor = items[0].data
        cdef int* pivots = <int*>items[1].data
        if items[0].column_step != self.itemsize or items[0].row_step != order * self.itemsize:
            factor = room
            copy_item(&items[0], room, order * self.itemsize, self.itemsize, self.itemsize)
        if not self.fails_with_nan and not all_finite(factor, items[0].rows * order, self.precision, self.is_complex):
            return NOT_FINITE
        room += rounded(items[0].rows * order * self.itemsize)
        if items[1].row_step != sizeof(int):
            pivots = <int*>room
            copy_item(&items[1], room, sizeof(int), sizeof(int), sizeof(int))
        room += rounded(order * sizeof(int))
        if not are_pivots(pivots, order):
            return NO_PIVOTS
        return solve_factored(self, self.getrs, order, factor, pivots, self.transposed, &items[2], &items[3], room)

    cdef int refuse(self, int reason) except -1:
        if reason == NO_PIVOTS:
            raise ValueError("lu_solve: pivots must be numbers of rows, from 1 on")
        refuse_system("lu_solve", reason)


cdef bint are_pivots(const int* pivots, int order) noexcept nogil:
    """Whether LAPACK may exchange the rows that pivots name."""
    cdef bint wrong = False
    cdef int position
    for position in range(order):
        wrong |= not 1 <= pivots[position] <= order
    return not wrong


cdef inline int check_sides(str name, Item* x, Item* b) except -1 nogil:
    if b.rows != x.rows:
        with gil:
            raise ValueError(f"{name}: incompatible dimensions: the matrix has {x.rows} rows, the right-hand side "
                             f"{b.rows}")
    return 0


cdef int refuse_system(str name, int reason) except -1:
    if reason == NOT_FINITE:
        raise ValueError(f"{name}: array must not contain infs or NaNs")
    raise_linalg_error(f"{name}: Matrix is singular.")


cdef int solve_factored(StackKernel kernel, Getrs getrs, int order, char* factor, int* pivots, bint transposed,
                        Item* b, Item* y, char* room) noexcept nogil:
    """Solve for the right-hand sides ``b``; ``room`` has the size of ``b``."""
    cdef int columns = <int>b.columns, leading = at_least_1(order), info = 0
    cdef int itemsize = kernel.itemsize
    cdef char* target = y.data if columns == 1 else room
    if is_singular(factor, order, kernel.precision, kernel.is_complex):
        return 1
    copy_item(b, target, itemsize, order * itemsize, itemsize)
    if not kernel.fails_with_nan and not all_finite(target, <npy_intp>order * columns, kernel.precision,
                                                    kernel.is_complex):
        return NOT_FINITE
    if order == 0 or columns == 0:
        return 0
    getrs(b"N" if transposed else b"T", &order, &columns, factor, &leading, pivots, target, &leading, &info)
    if target == room:
        kernel.give(room, order, y)
    return 0


cdef class SolveKernel(StackKernel):
    """Solves ``x y = b``: ``(x, b, y)``.

    Parameters
    ----------
    rank : int
        The rank of the right-hand sides: 1 or 2.
    nan : bool
        Whether the solution of a singular system is NaN, and infinities and NaN are computed with; otherwise all of
        these raise.
    """
    cdef Getrf getrf
    cdef Getrs getrs

    def __init__(self, str dtype, int lead, int rank, bint nan=False, spread=()):
        self.describe(dtype, lead, (2, rank, rank), 2, spread)
        self.fails_with_nan = nan
        self.getrf = <Getrf>library_function("getrf", self.typenum)
        self.getrs = <Getrs>library_function("getrs", self.typenum)

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("solve", &items[0])
        check_sides("solve", &items[0], &items[1])
        items[2].rows, items[2].columns = order, items[1].columns
        cost[0] = cubed(order) * 2 / 3 + 2. * order * order * items[1].columns
        return (rounded(order * order * self.itemsize) + rounded(order * sizeof(int))
                + rounded(order * items[1].columns * self.itemsize))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef int order = <int>items[0].rows, leading = at_least_1(order), info = 0
        cdef npy_intp size = <npy_intp>order * order
        cdef char* factor = room
        cdef int* pivots = <int*>(room + rounded(size * self.itemsize))
        cdef bint columns = items[0].row_step == self.itemsize and items[0].column_step != self.itemsize
        if columns:                                  # x is stored by columns: LAPACK takes it as it is
            copy_item(&items[0], factor, self.itemsize, order * self.itemsize, self.itemsize)
        else:
            copy_item(&items[0], factor, order * self.itemsize, self.itemsize, self.itemsize)
        if not self.fails_with_nan and not all_finite(factor, size, self.precision, self.is_complex):
            return NOT_FINITE
        if order:
            self.getrf(&order, &order, factor, &leading, pivots, &info)
        return solve_factored(self, self.getrs, order, factor, pivots, columns, &items[1], &items[2],
                              <char*>pivots + rounded(order * sizeof(int)))

    cdef int refuse(self, int reason) except -1:
        refuse_system("solve", reason)


cdef class InverseKernel(StackKernel):
    """The inverse of each matrix of a stack: ``(x, inverse)``."""
    cdef Getrf getrf
    cdef Getri getri

    def __init__(self, str dtype, int lead):
        self.describe(dtype, lead, (2, 2), 1)
        self.getrf = <Getrf>library_function("getrf", self.typenum)
        self.getri = <Getri>library_function("getri", self.typenum)

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("matrix_inverse", &items[0])
        items[1].rows = items[1].columns = order
        cost[0] = cubed(order) * 2
        return rounded(order * sizeof(int)) + order * BLOCK * self.itemsize

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef int order = <int>items[0].rows, leading = at_least_1(order), info = 0, length = order * BLOCK
        cdef char* work = room + rounded(order * sizeof(int))
        copy_item(&items[0], items[1].data, order * self.itemsize, self.itemsize, self.itemsize)
        if order == 0:
            return 0
        self.getrf(&order, &order, items[1].data, &leading, <int*>room, &info)
        if info == 0:
            self.getri(&order, items[1].data, &leading, <int*>room, work, &length, &info)
        return info

    cdef int refuse(self, int reason) except -1:
        raise_linalg_error("matrix_inverse: Singular matrix")


# A complex number, in which the cofactors of singular matrices of all dtypes are computed.
cdef struct Number:
    double real
    double imaginary


cdef inline Number times(Number a, Number b) noexcept nogil:
    return Number(a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real)


cdef inline Number over(Number a, Number b) noexcept nogil:
    cdef double size = b.real * b.real + b.imaginary * b.imaginary
    return Number((a.real * b.real + a.imaginary * b.imaginary) / size,
                  (a.imaginary * b.real - a.real * b.imaginary) / size)


cdef class DeterminantKernel(StackKernel):
    """The determinant of each matrix of a stack, or its sign and the logarithm of its magnitude: ``(x, determinant)``
    or ``(x, sign, logarithm)``; or the same from the factors of `LUFactorKernel`: ``(factor, pivots, ...)``.

    Parameters
    ----------
    logarithm : bool
    factored : bool
    """
    cdef Getrf getrf
    cdef bint logarithm, factored

    def __init__(self, str dtype, int lead, bint logarithm, bint factored):
        self.describe(dtype, lead, [2, 1][:1 + factored] + [0] * (1 + logarithm), 1 + factored)
        self.getrf = <Getrf>library_function("getrf", self.typenum)
        self.logarithm, self.factored = logarithm, factored
        self.may_fail = False

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("determinant", &items[0])
        if self.factored and items[1].rows != order:
            with gil:
                raise ValueError(f"determinant: {order} pivots are expected, got {items[1].rows}")
        cost[0] = 10 * order if self.factored else cubed(order) * 2 / 3
        return rounded(order * order * self.itemsize) + rounded(order * sizeof(int))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef int order = <int>items[0].rows, leading = at_least_1(order), info = 0, position
        cdef npy_intp size = <npy_intp>order * order
        cdef int* pivots = <int*>(room + rounded(size * self.itemsize))
        cdef Item diagonal = items[0]
        cdef bint odd = False
        if self.factored:
            diagonal.row_step += diagonal.column_step
            for position in range(order):
                odd ^= (<int*>(items[1].data + position * items[1].row_step))[0] != position + 1
        else:
            copy_item(&items[0], room, order * self.itemsize, self.itemsize, self.itemsize)
            if order:
                self.getrf(&order, &order, room, &leading, pivots, &info)
            diagonal.data, diagonal.row_step = room, (order + 1) * self.itemsize
            for position in range(order):
                odd ^= pivots[position] != position + 1
        if self.logarithm:
            self.store_logarithm(&diagonal, odd, items[1 + self.factored].data, items[2 + self.factored].data)
        else:
            self.store_product(&diagonal, odd, items[1 + self.factored].data)
        return 0

    cdef inline void read(self, const char* element, double* real, double* imaginary) noexcept nogil:
        imaginary[0] = 0
        if self.precision == 8:
            real[0] = (<const double*>element)[0]
            if self.is_complex:
                imaginary[0] = (<const double*>element)[1]
        else:
            real[0] = (<const float*>element)[0]
            if self.is_complex:
                imaginary[0] = (<const float*>element)[1]

    cdef inline void store(self, char* element, double real, double imaginary) noexcept nogil:
        if self.precision == 8:
            (<double*>element)[0] = real
            if self.is_complex:
                (<double*>element)[1] = imaginary
        else:
            (<float*>element)[0] = <float>real
            if self.is_complex:
                (<float*>element)[1] = <float>imaginary

    cdef void store_product(self, Item* diagonal, bint odd, char* out) noexcept nogil:
        cdef double real = -1 if odd else 1, imaginary = 0, a, b, old
        cdef npy_intp position
        for position in range(diagonal.rows):
            self.read(diagonal.data + position * diagonal.row_step, &a, &b)
            if self.is_complex:
                old = real
                real, imaginary = old * a - imaginary * b, old * b + imaginary * a
            else:
                real *= a
        self.store(out, real, imaginary)

    cdef void store_logarithm(self, Item* diagonal, bint odd, char* sign, char* logarithm) noexcept nogil:
        """A zero on the diagonal gives the sign 0 and the logarithm minus infinity, as in NumPy."""
        cdef double real = -1 if odd else 1, imaginary = 0, total = 0, a, b, old, magnitude
        cdef npy_intp position
        for position in range(diagonal.rows):
            self.read(diagonal.data + position * diagonal.row_step, &a, &b)
            magnitude = hypot(a, b) if self.is_complex else fabs(a)
            total += log(magnitude)
            if magnitude == 0:
                real = imaginary = 0
                continue
            a, b = a / magnitude, b / magnitude
            old = real
            real, imaginary = old * a - imaginary * b, old * b + imaginary * a
        self.store(sign, real, imaginary)
        if self.precision == 8:
            (<double*>logarithm)[0] = total
        else:
            (<float*>logarithm)[0] = <float>total


cdef class AdjugateKernel(DeterminantKernel):
    """The adjugate of each matrix of a stack, that is, its determinant times its inverse: ``(x, adjugate)``.

    Singular matrices have one, too. If LAPACK meets a pivot of 0, the matrix is factored anew with complete pivoting,
    ``P x Q = L U``. The adjugate of U, whose last pivot is 0, is the product of the other pivots times the vector that
    U maps to 0, in its last column; all other columns are 0.
    """
    cdef Getri getri

    def __init__(self, str dtype, int lead):
        self.describe(dtype, lead, (2, 2), 1)
        self.getrf = <Getrf>library_function("getrf", self.typenum)
        self.getri = <Getri>library_function("getri", self.typenum)
        self.may_fail = False

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("adjugate", &items[0])
        items[1].rows = items[1].columns = order
        cost[0] = cubed(order) * 2
        return rounded(2 * order * sizeof(int)) + rounded(order * (BLOCK + 1) * self.itemsize) + (
            order + 2) * order * sizeof(Number)

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef int order = <int>items[0].rows, leading = at_least_1(order), info = 0, length = order * BLOCK, index
        cdef int* pivots = <int*>room
        cdef char* determinant = room + rounded(2 * order * sizeof(int))
        cdef char* work = determinant + order * self.itemsize
        cdef Item diagonal = items[1]
        cdef bint odd = False
        cdef Number scale, value
        cdef npy_intp position
        if order == 0:
            return 0
        copy_item(&items[0], items[1].data, order * self.itemsize, self.itemsize, self.itemsize)
        self.getrf(&order, &order, items[1].data, &leading, pivots, &info)
        if info > 0:
            self.from_complete_pivots(&items[0], items[1].data, pivots, <Number*>(
                determinant + rounded(order * (BLOCK + 1) * self.itemsize)))
            return 0
        for index in range(order):
            odd ^= pivots[index] != index + 1
        diagonal.row_step = (order + 1) * self.itemsize
        self.store_product(&diagonal, odd, determinant)
        self.read(determinant, &scale.real, &scale.imaginary)
        self.getri(&order, items[1].data, &leading, pivots, work, &length, &info)
        for position in range(<npy_intp>order * order):
            self.read(items[1].data + position * self.itemsize, &value.real, &value.imaginary)
            value = times(scale, value)
            self.store(items[1].data + position * self.itemsize, value.real, value.imaginary)
        return 0

    cdef void from_complete_pivots(self, const Item* x, char* out, int* rows, Number* a) noexcept nogil:
        """``a`` has room for the matrix, and then for two vectors; ``rows`` for two permutations."""
        cdef int order = <int>x.rows, i, j, k, row, column
        cdef int* columns = rows + order
        cdef Number* kernel = a + <npy_intp>order * order
        cdef Number* left = kernel + order
        cdef Number scale = Number(1, 0), factor, term
        cdef double size, largest
        for i in range(order):
            rows[i] = columns[i] = i
            for j in range(order):
                self.read(x.data + i * x.row_step + j * x.column_step, &a[i * order + j].real,
                          &a[i * order + j].imaginary)
        for k in range(order - 1):
            largest, row, column = 0, k, k
            for i in range(k, order):
                for j in range(k, order):
                    size = hypot(a[i * order + j].real, a[i * order + j].imaginary)
                    if size > largest:
                        largest, row, column = size, i, j
            if largest == 0:                                    # the rank is lower by two: no cofactor is left
                scale = Number(0, 0)
                break
            if row != k:
                rows[k], rows[row] = rows[row], rows[k]
                scale = Number(-scale.real, -scale.imaginary)
                for j in range(order):
                    term = a[k * order + j]
                    a[k * order + j] = a[row * order + j]
                    a[row * order + j] = term
            if column != k:
                columns[k], columns[column] = columns[column], columns[k]
                scale = Number(-scale.real, -scale.imaginary)
                for i in range(order):
                    term = a[i * order + k]
                    a[i * order + k] = a[i * order + column]
                    a[i * order + column] = term
            scale = times(scale, a[k * order + k])
            for i in range(k + 1, order):
                factor = a[i * order + k] = over(a[i * order + k], a[k * order + k])
                for j in range(k + 1, order):
                    term = times(factor, a[k * order + j])
                    a[i * order + j].real -= term.real
                    a[i * order + j].imaginary -= term.imaginary
        if scale.real == 0 and scale.imaginary == 0:
            for i in range(order * order):
                self.store(out + i * self.itemsize, 0, 0)
            return
        kernel[order - 1] = left[order - 1] = Number(1, 0)
        for i in range(order - 2, -1, -1):
            kernel[i] = left[i] = Number(0, 0)
            for j in range(i + 1, order):
                term = times(a[i * order + j], kernel[j])
                kernel[i] = Number(kernel[i].real - term.real, kernel[i].imaginary - term.imaginary)
                term = times(a[j * order + i], left[j])
                left[i] = Number(left[i].real - term.real, left[i].imaginary - term.imaginary)
            kernel[i] = over(kernel[i], a[i * order + i])
        for i in range(order):
            factor = times(scale, kernel[i])
            for j in range(order):
                term = times(factor, left[j])
                self.store(out + (<npy_intp>columns[i] * order + rows[j]) * self.itemsize, term.real, term.imaginary)
