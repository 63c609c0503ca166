"""Eigenvalues of Hermitian matrices, singular values and orthogonal factors, for each matrix of a stack.

Matrices are copied to the order of columns, and vectors back to that of rows, as in NumPy: so signs, which are not
determined, are those of NumPy. Only singular values alone need no transposition.

``prepare`` asks LAPACK how much memory it wants. The numbers are kept in ``context.private_memory`` for ``run``;
outside of programs there is no such memory, and ``run`` asks again.
"""
import numpy

from libc.math cimport isnan
from numpy cimport NPY_COMPLEX128, NPY_FLOAT64, npy_intp

from phintys.ops.factorizations.stack_kernel cimport (
    NOT_FINITE, Item, StackKernel, all_finite, at_least_1, copy_item, raise_linalg_error, check_square, rounded)
from phintys.ops.products.blas_library cimport library_function
from phintys.vm.abi cimport Context
from phintys.vm.python_api cimport PyObject

cdef extern from "numpy/ufuncobject.h":
    ctypedef void (*Loop "PyUFuncGenericFunction")(char** arguments, const npy_intp* dimensions, const npy_intp* steps,
                                                   void* data) noexcept nogil
    ctypedef struct PyUFuncObject:
        Loop* functions
        void** data

ctypedef void (*Syevr)(char* jobz, char* range, char* uplo, int* n, void* a, int* lda, void* least, void* most,
                       int* first, int* last, void* tolerance, int* found, void* w, void* z, int* ldz, int* support,
                       void* work, int* lwork, int* iwork, int* liwork, int* info) noexcept nogil
ctypedef void (*Syevd)(char* jobz, char* uplo, int* n, void* a, int* lda, void* w, void* work, int* lwork, int* iwork,
                       int* liwork, int* info) noexcept nogil
ctypedef void (*Heevd)(char* jobz, char* uplo, int* n, void* a, int* lda, void* w, void* work, int* lwork, void* rwork,
                       int* lrwork, int* iwork, int* liwork, int* info) noexcept nogil
ctypedef void (*Gesdd)(char* jobz, int* m, int* n, void* a, int* lda, void* s, void* u, int* ldu, void* vt, int* ldvt,
                       void* work, int* lwork, int* iwork, int* info) noexcept nogil
ctypedef void (*ComplexGesdd)(char* jobz, int* m, int* n, void* a, int* lda, void* s, void* u, int* ldu, void* vt,
                              int* ldvt, void* work, int* lwork, void* rwork, int* iwork, int* info) noexcept nogil
ctypedef void (*Geqrf)(int* m, int* n, void* a, int* lda, void* tau, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*Orgqr)(int* m, int* n, int* k, void* a, int* lda, void* tau, void* work, int* lwork,
                       int* info) noexcept nogil
ctypedef void (*Geqp3)(int* m, int* n, void* a, int* lda, int* pivots, void* tau, void* work, int* lwork,
                       int* info) noexcept nogil
ctypedef void (*ComplexGeqp3)(int* m, int* n, void* a, int* lda, int* pivots, void* tau, void* work, int* lwork,
                              void* rwork, int* info) noexcept nogil

cdef class SpectralKernel(StackKernel):
    """The base class of the kernels in this file."""

    def __cinit__(self):
        self.private_bytes = sizeof(Lengths)

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        """Ask LAPACK for the lengths of its work arrays."""

    cdef Lengths keep_lengths(self, Context* context, Item* items) noexcept nogil:
        """For ``fit``: ask, and keep what LAPACK returns."""
        cdef Lengths lengths
        lengths.work = lengths.real_work = lengths.integers = 0
        self.ask(items, &lengths)
        if context.private_memory != NULL:
            (<Lengths*>context.private_memory)[0] = lengths
        return lengths

    cdef Lengths kept_lengths(self, Context* context, Item* items) noexcept nogil:
        """For ``compute``."""
        return ((<Lengths*>context.private_memory)[0] if context.private_memory != NULL
                else self.keep_lengths(context, items))


cdef void widen_item(const Item* item, char* target, npy_intp row_step, npy_intp column_step, int precision,
                     int parts) noexcept nogil:
    """Copy a matrix to one of double precision with the given distances in bytes."""
    cdef npy_intp row, column
    cdef int part
    if precision == 8:
        copy_item(item, target, row_step, column_step, 8 * parts)
        return
    for row in range(item.rows):
        for column in range(item.columns):
            for part in range(parts):
                (<double*>(target + row * row_step + column * column_step))[part] = (
                    <const float*>(item.data + row * item.row_step + column * item.column_step))[part]


cdef void narrow_item(const Item* item, Item* target, int precision, int parts) noexcept nogil:
    """Copy a matrix of double precision to a result."""
    cdef npy_intp row, column
    cdef int part
    if precision == 8:
        copy_item(item, target.data, target.row_step, target.column_step, 8 * parts)
        return
    for row in range(item.rows):
        for column in range(item.columns):
            for part in range(parts):
                (<float*>(target.data + row * target.row_step + column * target.column_step))[part] = <float>(
                    <const double*>(item.data + row * item.row_step + column * item.column_step))[part]


cdef class EighKernel(SpectralKernel):
    """Eigenvalues in ascending order, and eigenvectors: ``(x, values)`` or ``(x, values, vectors)``. All are computed
    in double precision, as NumPy's are.

    Parameters
    ----------
    lower : bool
        Which triangle of x is read.
    vectors : bool
    """
    cdef void* function
    cdef bint lower, vectors

    def __init__(self, str dtype, int lead, bint lower, bint vectors):
        self.describe(dtype, lead, [2, 1, 2][:2 + vectors], 1)
        self.function = library_function("heevd" if self.is_complex else "syevd",
                                         NPY_COMPLEX128 if self.is_complex else NPY_FLOAT64)
        self.lower, self.vectors = lower, vectors

    cdef inline npy_intp size(self) noexcept nogil:
        """Bytes of a number in double precision."""
        return 8 << self.is_complex

    cdef int call(self, int order, char* x, char* values, char* work, char* real_work, int* integers,
                  Lengths* lengths) noexcept nogil:
        """Call LAPACK on a matrix in column order, or let it write the lengths of its work arrays to them."""
        cdef int leading = at_least_1(order), info = 0
        cdef char uplo = c'L' if self.lower else c'U'
        cdef char job = c'V' if self.vectors else c'N'
        if self.is_complex:
            (<Heevd>self.function)(&job, &uplo, &order, x, &leading, values, work, &lengths.work, real_work,
                                   &lengths.real_work, integers, &lengths.integers, &info)
        else:
            (<Syevd>self.function)(&job, &uplo, &order, x, &leading, values, work, &lengths.work, integers,
                                   &lengths.integers, &info)
        return info

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        cdef double answers[3][2]
        lengths.work = lengths.real_work = lengths.integers = -1
        self.call(<int>items[0].rows, NULL, NULL, <char*>answers[0], <char*>answers[1], <int*>answers[2], lengths)
        lengths.work = asked(<char*>answers[0], 8)
        lengths.real_work = asked(<char*>answers[1], 8) if self.is_complex else 0
        lengths.integers = (<int*>answers[2])[0]

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        cdef Lengths lengths
        check_square("eigh", &items[0])
        items[1].rows = items[2].rows = items[2].columns = order
        cost[0] = <double>order * order * order * 9
        lengths = self.keep_lengths(context, items)
        return (rounded(order * order * self.size()) + rounded(order * 8)
                + rounded(<npy_intp>lengths.work * self.size()) + rounded(<npy_intp>lengths.real_work * 8)
                + rounded(lengths.integers * sizeof(int)))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp order = items[0].rows, size = self.size()
        cdef Lengths lengths = self.kept_lengths(context, items)
        cdef char* values = room + rounded(order * order * size)
        cdef char* work = values + rounded(order * 8)
        cdef char* real_work = work + rounded(<npy_intp>lengths.work * size)
        cdef char* integers = real_work + rounded(<npy_intp>lengths.real_work * 8)
        cdef Item found
        cdef int info
        if order == 0:
            return 0
        widen_item(&items[0], room, size, order * size, self.precision, 1 + self.is_complex)
        if not all_finite(room, order * order, 8, self.is_complex):
            return NOT_FINITE
        info = self.call(<int>order, room, values, work, real_work, <int*>integers, &lengths)
        if info:
            return info
        found.data, found.rows, found.columns, found.row_step, found.column_step = values, order, 1, 8, 8
        narrow_item(&found, &items[1], self.precision, 1)
        if self.vectors:
            found.data, found.columns, found.row_step, found.column_step = room, order, size, order * size
            narrow_item(&found, &items[2], self.precision, 1 + self.is_complex)
        return 0

    cdef int refuse(self, int reason) except -1:
        if reason == NOT_FINITE:
            raise_linalg_error("eigh: Array must not contain infs or NaNs")
        raise_linalg_error("eigh: Eigenvalues did not converge")


cdef class RelativeEighKernel(EighKernel):
    """Eigenvalues in ascending order, and eigenvectors, of real matrices, by relatively robust representations:
    ``(x, values, vectors)``.

    Parameters
    ----------
    lower : bool
        Which triangle of x is read.
    """
    cdef Syevr syevr

    def __init__(self, str dtype, int lead, bint lower):
        self.describe(dtype, lead, [2, 1, 2], 1)
        self.syevr = <Syevr>library_function("syevr", self.typenum)
        self.lower = lower

    cdef int by_representations(self, int order, char* x, char* values, char* vectors, int* support, char* work,
                                int* length, int* integers, int* count) noexcept nogil:
        """Call LAPACK on matrices in column order."""
        cdef char job = c'V', every = c'A', uplo = c'L' if self.lower else c'U'
        cdef int leading = at_least_1(order), nothing = 0, found = 0, info = 0
        cdef double zero = 0
        self.syevr(&job, &every, &uplo, &order, x, &leading, &zero, &zero, &nothing, &nothing, &zero, &found, values,
                   vectors, &leading, support, work, length, integers, count, &info)
        return info

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        cdef double answer[1]
        lengths.work = lengths.integers = -1
        self.by_representations(<int>items[0].rows, NULL, NULL, NULL, NULL, <char*>answer, &lengths.work,
                                &lengths.real_work, &lengths.integers)
        lengths.work, lengths.integers = asked(<char*>answer, self.precision), lengths.real_work

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        cdef Lengths lengths
        check_square("eigh", &items[0])
        items[1].rows = items[2].rows = items[2].columns = order
        cost[0] = <double>order * order * order * 9
        lengths = self.keep_lengths(context, items)
        return (2 * rounded(order * order * self.itemsize) + rounded(order * self.itemsize)
                + rounded(<npy_intp>lengths.work * self.itemsize) + rounded(2 * order * sizeof(int))
                + rounded(lengths.integers * sizeof(int)))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp order = items[0].rows, row
        cdef Lengths lengths = self.kept_lengths(context, items)
        cdef int info
        cdef char* vectors = room + rounded(order * order * self.itemsize)
        cdef char* values = vectors + rounded(order * order * self.itemsize)
        cdef char* work = values + rounded(order * self.itemsize)
        cdef char* support = work + rounded(<npy_intp>lengths.work * self.itemsize)
        cdef char* integers = support + rounded(2 * order * sizeof(int))
        if order == 0:
            return 0
        copy_item(&items[0], room, self.itemsize, order * self.itemsize, self.itemsize)
        if not all_finite(room, order * order, self.precision, False):
            return NOT_FINITE
        info = self.by_representations(<int>order, room, values, vectors, <int*>support, work, &lengths.work,
                                       <int*>integers, &lengths.integers)
        self.give(values, order, &items[1])
        self.give(vectors, order, &items[2])
        return info


cdef class SVDKernel(SpectralKernel):
    """Singular values and vectors: ``(x, u, s, vh)``, or only ``(x, s)``.

    Parameters
    ----------
    full : bool
        Whether u and vh are square.
    vectors : bool
    by_numpy : bool
        Call the LAPACK that NumPy has been built with, through the inner loop of its ufunc: vectors of equal singular
        values, which are not determined, are those of NumPy.
    """
    cdef void* function
    cdef void* data
    cdef Loop loop                      # NumPy's, or NULL
    cdef bint full, vectors

    def __init__(self, str dtype, int lead, bint full, bint vectors, bint by_numpy=False):
        self.describe(dtype, lead, [2, 2, 1, 2] if vectors else [2, 1], 1)
        self.function = library_function("gesdd", self.typenum)
        self.full, self.vectors = full, vectors
        if by_numpy and vectors:
            self.find_numpys_loop("svd_f" if full else "svd_s", dtype)

    cdef int find_numpys_loop(self, str name, str dtype) except -1:
        # Before NumPy 2.2 there are two ufuncs with this loop, for the length of one side and of the other.
        cdef object module = numpy.linalg._umath_linalg
        cdef object ufunc = getattr(module, name, None) or getattr(module, name.replace("_", "_m_"))
        cdef int index = [types[0] for types in ufunc.types].index(numpy.dtype(dtype).char)
        cdef PyUFuncObject* table = <PyUFuncObject*><PyObject*>ufunc
        self.loop, self.data = table.functions[index], table.data[index] if table.data != NULL else NULL
        return 0

    cdef int numpys(self, Item* items) noexcept nogil:
        """Call NumPy's inner loop; it stores NaN where LAPACK fails."""
        cdef npy_intp dimensions[4]
        cdef npy_intp steps[11]
        cdef char* arguments[4]
        cdef int place
        # The loop of a generalized ufunc, (m,n)->(m,k),(p),(k,n): how often, then the lengths; the steps of the four
        # operands from one time to the next (there is one only), then those of each of their dimensions.
        dimensions[0], dimensions[1], dimensions[2] = 1, items[0].rows, items[0].columns
        dimensions[3] = items[2].rows
        for place in range(4):
            arguments[place], steps[place] = items[place].data, 0
        steps[4], steps[5], steps[6], steps[7] = (items[0].row_step, items[0].column_step, items[1].row_step,
                                                  items[1].column_step)
        steps[8], steps[9], steps[10] = items[2].row_step, items[3].row_step, items[3].column_step
        self.loop(arguments, dimensions, steps, self.data)
        if isnan((<double*>items[2].data)[0] if self.precision == 8 else (<float*>items[2].data)[0]):
            return NOT_FINITE
        return 0

    cdef int call(self, int rows, int columns, char* x, char* u, char* s, char* vh, char* work, int* length,
                  char* real_work, int* integers) noexcept nogil:
        """Call LAPACK on matrices in column order."""
        cdef char job = c'N' if not self.vectors else c'A' if self.full else c'S'
        cdef int least = min(rows, columns), info = 0, leading = at_least_1(rows)
        cdef int leading_vh = at_least_1(columns if self.full else least)
        if self.is_complex:
            (<ComplexGesdd>self.function)(&job, &rows, &columns, x, &leading, s, u, &leading, vh, &leading_vh, work,
                                          length, real_work, integers, &info)
        else:
            (<Gesdd>self.function)(&job, &rows, &columns, x, &leading, s, u, &leading, vh, &leading_vh, work, length,
                                   integers, &info)
        return info

    cdef inline npy_intp vector_bytes(self, npy_intp rows, npy_intp columns) noexcept nogil:
        """The size of u and vh in column order."""
        cdef npy_intp least = min(rows, columns)
        if not self.vectors:
            return 0
        if self.full:
            return rounded(rows * rows * self.itemsize) + rounded(columns * columns * self.itemsize)
        return rounded(rows * least * self.itemsize) + rounded(least * columns * self.itemsize)

    cdef inline npy_intp real_length(self, npy_intp least, npy_intp most) noexcept nogil:
        """The length of the real work array of the complex function, by its documentation."""
        if not self.is_complex:
            return 0
        if not self.vectors:
            return 7 * least + 1
        return max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least) + 1

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        cdef double answer[2]
        cdef double integers[1]
        lengths.work = -1
        answer[0] = answer[1] = 0
        self.call(<int>items[0].rows, <int>items[0].columns, NULL, NULL, NULL, NULL, <char*>answer, &lengths.work,
                  NULL, <int*>integers)
        lengths.work = asked(<char*>answer, self.precision)

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp rows = items[0].rows, columns = items[0].columns
        cdef npy_intp least = min(rows, columns), most = max(rows, columns)
        cdef Lengths lengths
        if self.vectors:
            items[1].rows, items[1].columns = rows, rows if self.full else least
            items[2].rows = least
            items[3].rows, items[3].columns = columns if self.full else least, columns
        else:
            items[1].rows = least
        cost[0] = 20. * least * least * most
        lengths = self.keep_lengths(context, items)
        return (rounded(rows * columns * self.itemsize) + rounded(<npy_intp>lengths.work * self.itemsize)
                + self.vector_bytes(rows, columns) + rounded(self.real_length(least, most) * self.precision)
                + rounded(8 * least * sizeof(int)))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp rows = items[0].rows, columns = items[0].columns, size = rows * columns
        cdef npy_intp least = min(rows, columns), position
        cdef Lengths lengths = self.kept_lengths(context, items)
        cdef char* left
        cdef char* right
        cdef int info
        cdef char* work = room + rounded(size * self.itemsize)
        cdef char* real_work = work + rounded(<npy_intp>lengths.work * self.itemsize)
        cdef int* integers = <int*>(real_work + rounded(self.real_length(least, max(rows, columns)) * self.precision))
        if least == 0:
            if self.vectors and self.full:
                self.set_identity(&items[1])
                self.set_identity(&items[3])
            return 0
        if self.loop != NULL:
            return self.numpys(items)
        copy_item(&items[0], room, self.itemsize, rows * self.itemsize, self.itemsize)
        if not all_finite(room, size, self.precision, self.is_complex):
            return NOT_FINITE
        if not self.vectors:
            return self.call(<int>rows, <int>columns, room, NULL, items[1].data, NULL, work, &lengths.work, real_work,
                             integers)
        left = <char*>integers + rounded(8 * least * sizeof(int))
        right = left + rounded(items[1].rows * items[1].columns * self.itemsize)
        info = self.call(<int>rows, <int>columns, room, left, items[2].data, right, work, &lengths.work, real_work,
                         integers)
        self.give(left, items[1].rows, &items[1])
        self.give(right, items[3].rows, &items[3])
        return info

    cdef void set_identity(self, Item* item) noexcept nogil:
        cdef npy_intp row, column
        cdef char* element
        for row in range(item.rows):
            for column in range(item.columns):
                element = item.data + row * item.row_step + column * item.column_step
                if self.precision == 8:
                    (<double*>element)[0] = row == column
                    if self.is_complex:
                        (<double*>element)[1] = 0
                else:
                    (<float*>element)[0] = row == column
                    if self.is_complex:
                        (<float*>element)[1] = 0

    cdef int refuse(self, int reason) except -1:
        if reason == NOT_FINITE:
            raise_linalg_error("svd: SVD did not converge: the array contains infs or NaNs")
        raise_linalg_error("svd: SVD did not converge")


cdef class QRKernel(SpectralKernel):
    """Orthogonal factors: ``(x, q, r)``, only ``(x, r)``, or LAPACK's own ``(x, h, tau)``.

    Parameters
    ----------
    mode : {"reduced", "complete", "r", "raw"}
    """
    cdef Geqrf geqrf
    cdef Orgqr orgqr
    cdef bint complete, with_q, raw

    def __init__(self, str dtype, int lead, str mode):
        self.describe(dtype, lead, {"r": [2, 2], "raw": [2, 2, 1]}.get(mode, [2, 2, 2]), 1)
        self.geqrf = <Geqrf>library_function("geqrf", self.typenum)
        self.orgqr = <Orgqr>library_function("ungqr" if self.is_complex else "orgqr", self.typenum)
        self.complete, self.raw, self.with_q = mode == "complete", mode == "raw", mode in ("reduced", "complete")
        self.may_fail = False

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        cdef int rows = <int>items[0].rows, columns = <int>items[0].columns, least = min(rows, columns)
        cdef int width = rows if self.complete else least, leading = at_least_1(rows), info = 0
        cdef double answer[2]
        lengths.work = lengths.real_work = -1
        self.geqrf(&rows, &columns, NULL, &leading, NULL, answer, &lengths.work, &info)
        lengths.work = max(asked(<char*>answer, self.precision), 1)
        if self.with_q:
            self.orgqr(&rows, &width, &least, NULL, &leading, NULL, answer, &lengths.real_work, &info)
            lengths.work = max(lengths.work, asked(<char*>answer, self.precision))

    cdef int factor(self, int rows, int columns, char* x, char* tau, char* work, Lengths* lengths) noexcept nogil:
        """Replace a matrix in column order by r and the reflections."""
        cdef int leading = at_least_1(rows), info = 0
        if rows and columns:
            self.geqrf(&rows, &columns, x, &leading, tau, work, &lengths.work, &info)
        return info

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef int rows = <int>items[0].rows, columns = <int>items[0].columns, least = min(rows, columns)
        cdef int width = rows if self.complete else least
        cdef Lengths lengths
        cdef Item* r = &items[1]
        if self.raw:
            items[1].rows, items[1].columns, items[2].rows = columns, rows, least
        else:
            if self.with_q:
                items[1].rows, items[1].columns = rows, width
                r = &items[2]
            r.rows, r.columns = width, columns
        cost[0] = 4. * rows * columns * width
        lengths = self.keep_lengths(context, items)
        return (rounded(<npy_intp>rows * max(columns, width) * self.itemsize) + rounded(<npy_intp>least * self.itemsize)
                + rounded(<npy_intp>lengths.work * self.itemsize))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef int rows = <int>items[0].rows, columns = <int>items[0].columns, least = min(rows, columns)
        cdef int width = rows if self.complete else least, leading = at_least_1(rows), info = 0
        cdef npy_intp size = self.itemsize
        cdef Lengths lengths = self.kept_lengths(context, items)
        cdef char* tau = room + rounded(<npy_intp>rows * max(columns, width) * size)
        cdef char* work = tau + rounded(<npy_intp>least * size)
        cdef Item factor
        cdef Item* r = &items[2] if self.with_q else &items[1]
        copy_item(&items[0], room, size, rows * size, self.itemsize)
        self.factor(rows, columns, room, tau, work, &lengths)
        factor.data, factor.row_step, factor.column_step = room, size, rows * size
        if self.raw:                                 # transposed, as NumPy returns it
            factor.rows, factor.columns = rows, columns
            copy_item(&factor, items[1].data, size, rows * size, self.itemsize)
            factor.rows, factor.columns, factor.data = least, 1, tau
            copy_item(&factor, items[2].data, size, size, self.itemsize)
            return 0
        factor.rows, factor.columns = width, columns
        copy_item(&factor, r.data, columns * size, size, self.itemsize)
        self.clear_below(r)
        if self.with_q and rows:
            self.orgqr(&rows, &width, &least, room, &leading, tau, work, &lengths.work, &info)
            factor.rows, factor.columns = rows, width
            copy_item(&factor, items[1].data, width * size, size, self.itemsize)
        return 0

    cdef void clear_below(self, Item* r) noexcept nogil:
        """Set to zero what is below the diagonal."""
        cdef npy_intp row, position, count
        for row in range(1, r.rows):
            count = min(row, r.columns) * self.itemsize
            for position in range(count):
                (r.data + row * r.row_step)[position] = 0


cdef class PivotedQRKernel(QRKernel):
    """The same with the columns in such an order that the diagonal of r descends in magnitude. The last result is that
    order, of int32.

    Parameters
    ----------
    mode : {"reduced", "complete", "r", "raw"}
    """
    cdef void* geqp3

    def __init__(self, str dtype, int lead, str mode):
        QRKernel.__init__(self, dtype, lead, mode)
        self.describe(dtype, lead, {"r": [2, 2, 1], "raw": [2, 2, 1, 1]}.get(mode, [2, 2, 2, 1]), 1)
        self.geqp3 = library_function("geqp3", self.typenum)

    cdef int call(self, int rows, int columns, char* x, int* pivots, char* tau, char* work, int* length,
                  char* real_work) noexcept nogil:
        cdef int leading = at_least_1(rows), info = 0
        if self.is_complex:
            (<ComplexGeqp3>self.geqp3)(&rows, &columns, x, &leading, pivots, tau, work, length, real_work, &info)
        else:
            (<Geqp3>self.geqp3)(&rows, &columns, x, &leading, pivots, tau, work, length, &info)
        return info

    cdef void ask(self, Item* items, Lengths* lengths) noexcept nogil:
        cdef double answer[2]
        cdef int length = -1
        QRKernel.ask(self, items, lengths)
        self.call(<int>items[0].rows, <int>items[0].columns, NULL, NULL, NULL, <char*>answer, &length, NULL)
        lengths.work = max(lengths.work, asked(<char*>answer, self.precision))

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp columns = items[0].columns, room = rounded(QRKernel.fit(self, context, items, cost))
        items[self.operands - 1].rows = columns
        return room + rounded(columns * sizeof(int)) + rounded(2 * columns * self.precision)

    cdef int factor(self, int rows, int columns, char* x, char* tau, char* work, Lengths* lengths) noexcept nogil:
        cdef int* pivots = <int*>(work + rounded(<npy_intp>lengths.work * self.itemsize))
        cdef int position, info = 0
        for position in range(columns):
            pivots[position] = 0                        # any column may come first
        if rows and columns:
            info = self.call(rows, columns, x, pivots, tau, work, &lengths.work,
                             <char*>pivots + rounded(columns * sizeof(int)))
        else:
            for position in range(columns):
                pivots[position] = position + 1
        return info

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp rows = items[0].rows, columns = items[0].columns, least = min(rows, columns), position
        cdef npy_intp width = rows if self.complete else least
        cdef Lengths lengths = self.kept_lengths(context, items)
        cdef int* pivots = <int*>(room + rounded(rows * max(columns, width) * self.itemsize)
                                  + rounded(least * self.itemsize) + rounded(<npy_intp>lengths.work * self.itemsize))
        cdef Item* order = &items[self.operands - 1]
        QRKernel.compute(self, context, items, room)
        for position in range(columns):
            (<int*>(order.data + position * order.row_step))[0] = pivots[position] - 1
        return 0
