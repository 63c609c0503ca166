"""Eigenvalues and -vectors of general matrices, and matrix exponentials, for each matrix of a stack.

``eigen.py`` and ``exponential.py`` make these kernels; ``StackKernel`` calls ``compute`` for each matrix. LAPACK
overwrites what it is given, so it gets copies, and no eigenvalues of a matrix that is not finite are asked of it.
"""
import warnings

import numpy
from libc.math cimport NAN, ceil, cos, exp, fabs, isfinite, log2, sin, sqrt
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.ops.factorizations.stack_kernel cimport (
    NOT_FINITE, Item, StackKernel, all_finite, at_least_1, copy_item, fill_with_nan, note, raise_linalg_error,
    check_square, rounded)
from phintys.ops.products.blas_library cimport GemmFunction, library_function
from phintys.vm.abi cimport Context

ctypedef void (*RealGeev)(char* left, char* right, int* n, void* a, int* lda, void* wr, void* wi, void* vl, int* ldvl,
                          void* vr, int* ldvr, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*ComplexGeev)(char* left, char* right, int* n, void* a, int* lda, void* w, void* vl, int* ldvl, void* vr,
                             int* ldvr, void* work, int* lwork, void* rwork, int* info) noexcept nogil
ctypedef void (*Gesv)(int* n, int* nrhs, void* a, int* lda, int* pivots, void* b, int* ldb, int* info) noexcept nogil


cdef class EigKernel(StackKernel):
    """Eigenvalues and right eigenvectors: ``(x, values, vectors)``, of the dtype of x. Where those of a real matrix are
    complex, only their real parts are kept, with a ComplexWarning.
    """
    cdef void* geev

    def __init__(self, str dtype, int lead):
        self.describe(dtype, lead, (2, 1, 2), 1)
        self.geev = library_function("geev", self.typenum)

    cdef npy_intp work_length(self, npy_intp order) noexcept nogil:
        """Elements: more than LAPACK needs, and enough for blocks of 64 columns."""
        return 68 * order + 64

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("eig", &items[0])
        items[1].rows = items[2].rows = items[2].columns = order
        cost[0] = <double>order * order * order * 25
        return (2 * rounded(order * order * self.itemsize) + 2 * rounded(2 * order * self.itemsize)
                + rounded(self.work_length(order) * self.itemsize))

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp order = items[0].rows, size = self.itemsize, column
        cdef char* vectors = room + rounded(order * order * size)
        cdef char* values = vectors + rounded(order * order * size)
        cdef char* rest = values + rounded(2 * order * size)
        cdef char* work = rest + rounded(2 * order * size)
        cdef char* imaginary = values + order * size
        cdef int n = <int>order, lead = at_least_1(order), length = <int>self.work_length(order), info = 0
        cdef Item item = items[2]
        if order == 0:
            return 0
        copy_item(&items[0], room, size, order * size, self.itemsize)
        if not all_finite(room, order * order, self.precision, self.is_complex):
            return NOT_FINITE
        if self.is_complex:
            (<ComplexGeev>self.geev)(b"N", b"V", &n, room, &lead, values, NULL, &lead, vectors, &lead, work, &length,
                                     rest, &info)
        else:
            (<RealGeev>self.geev)(b"N", b"V", &n, room, &lead, values, imaginary, NULL, &lead, vectors, &lead, work,
                                  &length, &info)
        if info:
            return info
        self.give(values, order, &items[1])
        self.give(vectors, order, &items[2])
        if not self.is_complex:
            for column in range(1, order):
                if is_negative(imaginary + column * size, self.precision):
                    # The second of a conjugate pair: both have the same real part, in the first one's column.
                    note(room)
                    item.data, item.columns = items[2].data + column * items[2].column_step, 1
                    self.give(vectors + (column - 1) * order * size, order, &item)
        return 0

    cdef int refuse(self, int reason) except -1:
        if reason == NOT_FINITE:
            raise_linalg_error("eig: Array must not contain infs or NaNs")
        raise_linalg_error("eig: Eigenvalues did not converge")

    cdef int report(self) except -1:
        warnings.warn("eig: the imaginary parts of complex eigenvalues of a real matrix are discarded; cast it to a "
                      "complex dtype to keep them", numpy.exceptions.ComplexWarning, stacklevel=2)
        return 0


cdef inline bint is_negative(const char* number, int precision) noexcept nogil:
    return (<const double*>number)[0] < 0 if precision == 8 else (<const float*>number)[0] < 0


# ---- the exponential -------------------------------------------------------------------------------------------------
# Coefficients of Padé approximants of the orders 3, 5, 7, 9 and 13, and the largest norms for which they are exact to
# the last bit, of float32 and float64; see Higham, "The scaling and squaring method for the matrix exponential
# revisited".
cdef int[5] ORDERS = [3, 5, 7, 9, 13]
cdef double[2][5] LARGEST = [
    [4.258730016922831e-1, 1.880152677804762, 3.925724783138660, 0, 0],
    [1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068, 5.371920351148152]]
cdef double[5][14] COEFFICIENTS = [
    [120, 60, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [30240, 15120, 3360, 420, 30, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    [17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1, 0, 0, 0, 0, 0, 0],
    [17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1, 0, 0, 0, 0],
    [64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
     670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1]]
cdef enum:
    MATRICES = 8                       # work matrices of an exponential


cdef class ExpmKernel(StackKernel):
    """The exponential of each matrix: ``(x, out)``, by scaling, a Padé approximant and squaring.

    LAPACK sees matrices in C order as their transposes, and the transpose of the exponential is that of the transpose.
    """
    cdef GemmFunction gemm
    cdef Gesv gesv

    def __init__(self, str dtype, int lead):
        self.describe(dtype, lead, (2, 2), 1)
        self.gemm = <GemmFunction>library_function("gemm", self.typenum)
        self.gesv = <Gesv>library_function("gesv", self.typenum)
        self.may_fail = False

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        cdef npy_intp order = items[0].rows
        check_square("expm", &items[0])
        items[1].rows = items[1].columns = order
        cost[0] = <double>order * order * order * 12
        return MATRICES * rounded(order * order * self.itemsize) + rounded(order * sizeof(int))

    cdef double norm(self, const char* x, npy_intp order) noexcept nogil:
        """The largest sum of magnitudes of a line."""
        cdef double largest = 0, total
        cdef npy_intp line, position, parts = 1 + self.is_complex
        cdef const double* wide = <const double*>x
        cdef const float* narrow = <const float*>x
        for line in range(order):
            total = 0
            for position in range(line * order, (line + 1) * order):
                if self.precision == 8:
                    total += fabs(wide[position]) if parts == 1 else sqrt(
                        wide[2 * position] * wide[2 * position] + wide[2 * position + 1] * wide[2 * position + 1])
                else:
                    total += fabs(narrow[position]) if parts == 1 else sqrt(
                        <double>narrow[2 * position] * narrow[2 * position]
                        + <double>narrow[2 * position + 1] * narrow[2 * position + 1])
            if not total <= largest:
                largest = total
            if not isfinite(total):
                return NAN
        return largest

    cdef void multiply(self, const char* a, const char* b, char* out, int order) noexcept nogil:
        cdef double[4] wide = [1, 0, 0, 0]               # one and zero, of complex numbers perhaps
        cdef float[4] narrow = [1, 0, 0, 0]
        cdef char* one = <char*>wide if self.precision == 8 else <char*>narrow
        self.gemm(b"N", b"N", &order, &order, &order, one, <char*>a, &order, <char*>b, &order,
                  one + 2 * self.precision, out, &order)

    cdef void add(self, char* total, double factor, const char* x, npy_intp order) noexcept nogil:
        """Add a multiple of a matrix, or of the identity if there is none."""
        cdef npy_intp position, parts = 1 + self.is_complex
        if x == NULL:
            for position in range(order):
                if self.precision == 8:
                    (<double*>total)[position * (order + 1) * parts] += factor
                else:
                    (<float*>total)[position * (order + 1) * parts] += <float>factor
            return
        for position in range(order * order * parts):
            if self.precision == 8:
                (<double*>total)[position] += factor * (<const double*>x)[position]
            else:
                (<float*>total)[position] += <float>factor * (<const float*>x)[position]

    cdef void scale(self, char* x, double factor, npy_intp count) noexcept nogil:
        cdef npy_intp position
        for position in range(count << self.is_complex):
            if self.precision == 8:
                (<double*>x)[position] *= factor
            else:
                (<float*>x)[position] *= <float>factor

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        cdef npy_intp order = items[0].rows, count = order * order, bytes_of_one = rounded(count * self.itemsize)
        cdef char* x = room
        cdef int squarings = 0, which = 0, last = 4 if self.precision == 8 else 2
        cdef const double* largest = LARGEST[self.precision == 8]
        cdef double norm
        if order == 0:
            return 0
        copy_item(&items[0], x, order * self.itemsize, self.itemsize, self.itemsize)
        norm = self.norm(x, order)
        if not isfinite(norm):
            fill_with_nan(items[1].data, count, self.precision, self.is_complex)
            return 0
        if order == 1:
            self.exponential(x, items[1].data)
            return 0
        while which < last and norm > largest[which]:
            which += 1
        if norm > largest[last]:
            squarings = <int>ceil(log2(norm / largest[last]))
            self.scale(x, 2.0 ** -squarings, count)
        self.approximate(x, room + bytes_of_one, bytes_of_one, <int>order, which)
        self.square(room + 6 * bytes_of_one, room + 5 * bytes_of_one, items[1].data, <int>order, squarings)
        return 0

    cdef void exponential(self, const char* x, char* out) noexcept nogil:
        """Of a single number."""
        cdef double real = (<const double*>x)[0] if self.precision == 8 else (<const float*>x)[0]
        cdef double imaginary = 0, size = exp(real)
        if self.is_complex:
            imaginary = (<const double*>x)[1] if self.precision == 8 else (<const float*>x)[1]
        if self.precision == 8:
            (<double*>out)[0] = size * cos(imaginary)
            if self.is_complex:
                (<double*>out)[1] = size * sin(imaginary)
        else:
            (<float*>out)[0] = <float>(size * cos(imaginary))
            if self.is_complex:
                (<float*>out)[1] = <float>(size * sin(imaginary))

    cdef void approximate(self, char* x, char* room, npy_intp size, int order, int which) noexcept nogil:
        """Leave the approximant in the sixth matrix of `room`, counted from 1: its first four are for the powers 2, 4,
        6 and 8 of x, the next ones for the odd terms, the even ones, and a sum."""
        cdef char* powers = room
        cdef char* odd = room + 4 * size
        cdef char* even = room + 5 * size
        cdef char* total = room + 6 * size
        cdef const double* b = COEFFICIENTS[which]
        cdef int degree = ORDERS[which], power, info = 0, known = 3 if degree == 13 else degree // 2
        cdef npy_intp count = <npy_intp>order * order
        self.multiply(x, x, powers, order)
        for power in range(1, known):
            self.multiply(powers, powers + (power - 1) * size, powers + power * size, order)
        memset(total, 0, count * self.itemsize)
        memset(even, 0, count * self.itemsize)
        if degree == 13:                             # higher powers are products with the sixth
            for power in range(3):
                self.add(total, b[9 + 2 * power], powers + power * size, order)
                self.add(even, b[8 + 2 * power], powers + power * size, order)
            self.multiply(powers + 2 * size, total, odd, order)
            memcpy(total, odd, count * self.itemsize)
            self.multiply(powers + 2 * size, even, odd, order)
            memcpy(even, odd, count * self.itemsize)
        for power in range(known):
            self.add(total, b[3 + 2 * power], powers + power * size, order)
            self.add(even, b[2 + 2 * power], powers + power * size, order)
        self.add(total, b[1], NULL, order)
        self.add(even, b[0], NULL, order)
        self.multiply(x, total, odd, order)
        memcpy(total, even, count * self.itemsize)
        self.add(even, 1, odd, order)
        self.add(total, -1, odd, order)
        self.gesv(&order, &order, total, &order, <int*>(room + 7 * size), even, &order, &info)
        if info:
            fill_with_nan(even, count, self.precision, self.is_complex)

    cdef void square(self, char* x, char* other, char* out, int order, int times) noexcept nogil:
        """The power 2 ** times of x; both matrices are overwritten."""
        cdef char* kept
        for _ in range(times):
            self.multiply(x, x, other, order)
            kept = x
            x, other = other, kept
        memcpy(out, x, <npy_intp>order * order * self.itemsize)
