"""Factors of matrices by cuSOLVER, solutions with them, and eigenvalues of symmetric matrices.

cuSOLVER stores matrices by columns. A matrix in C order is its own transpose there, which costs nothing for symmetric
matrices; other matrices are written to scratch memory by columns, by the kernels of the family, which also check what
LAPACK's callers check. What cuSOLVER finds (a matrix that is not positive definite, a zero on the diagonal) it writes
to words in scratch memory, which the family's last kernel reads; so nothing waits for the host.

There is one handle, which the queue of work calls in its order; a lock of its own lets ``room`` ask how much memory
cuSOLVER needs meanwhile.
"""
from libc.string cimport memset
from numpy cimport npy_intp

import numpy

from phintys.gpu.libraries cimport cublas
from phintys.gpu.libraries.routine cimport REFUSED, Library, Routine, rounded_room
from phintys.gpu.runtime cimport driver
from phintys.vm.abi cimport Cell, cell_is_contiguous, cell_size

cdef extern from * nogil:
    """
    #include <limits.h>
    #include <pthread.h>
    /* The functions in the order of `NAMES`; of each pair the first is for float32. */
    static struct {
        int (*create)(void**);
        int (*set_stream)(void*, void*);
        int (*factor_room[2])(void*, int, int, void*, int, int*);
        int (*factor[2])(void*, int, int, void*, int, void*, int, int*);
        int (*factor_all[2])(void*, int, int, void**, int, int*, int);
        int (*lu_room[2])(void*, int, int, void*, int, int*);
        int (*lu[2])(void*, int, int, void*, int, void*, int*, int*);
        int (*solve[2])(void*, int, int, int, const void*, int, const int*, void*, int, int*);
        int (*eigen_room[2])(void*, int, int, int, const void*, int, const void*, int*);
        int (*eigen[2])(void*, int, int, int, void*, int, void*, void*, int, int*);
    } cusolver;
    static void** phintys_cusolver_functions(void) { return (void**)&cusolver; }
    static void* phintys_cusolver;
    static pthread_mutex_t phintys_cusolver_lock = PTHREAD_MUTEX_INITIALIZER;
    enum { PHINTYS_CHOLESKY, PHINTYS_LU, PHINTYS_SOLVE, PHINTYS_EIGEN };
    /* What the queue of work keeps; its bytes are compared, so there are no gaps. For each of `count` matrices. */
    typedef struct {
        long what, is_double, n, columns, flag, count;
        char *matrix, *side, *work;
        int *pivots, *info;
        long matrix_step, side_step, room;          /* bytes; elements of work */
        void** matrices;                            /* their addresses, on the device, if there are several */
    } phintys_solving;
    static int phintys_begin_cusolver(void) {
        phintys_cusolver = NULL;
        return cusolver.create(&phintys_cusolver);
    }
    static int phintys_solve_one(phintys_solving* s, long item) {
        const int d = (int)s->is_double, n = (int)s->n;
        char* matrix = s->matrix + item * s->matrix_step;
        char* side = s->side + item * s->side_step;
        int *pivots = s->pivots + item * n, *info = s->info + item;
        switch (s->what) {
            case PHINTYS_CHOLESKY:
                return cusolver.factor[d](phintys_cusolver, (int)s->flag, n, matrix, n, s->work, (int)s->room, info);
            case PHINTYS_LU:
                return cusolver.lu[d](phintys_cusolver, n, n, matrix, n, s->work, pivots, info);
            case PHINTYS_SOLVE:
                return cusolver.solve[d](phintys_cusolver, (int)s->flag, n, (int)s->columns, matrix, n, pivots, side, n,
                                         (int*)s->work);
            default:
                return cusolver.eigen[d](phintys_cusolver, s->columns ? 1 : 0, (int)s->flag, n, matrix, n, side,
                                         s->work, (int)s->room, info);
        }
    }
    static int phintys_do_solving(phintys_solving* s, void* stream) {
        pthread_mutex_lock(&phintys_cusolver_lock);
        int error = cusolver.set_stream(phintys_cusolver, stream);
        if (!error && s->what == PHINTYS_CHOLESKY && s->count > 1)
            error = cusolver.factor_all[s->is_double](phintys_cusolver, (int)s->flag, (int)s->n, s->matrices,
                                                      (int)s->n, s->info, (int)s->count);
        else
            for (long item = 0; item < s->count && !error; item++) error = phintys_solve_one(s, item);
        pthread_mutex_unlock(&phintys_cusolver_lock);
        return error ? 200000 + error : 0;
    }
    /* How many elements of work memory a routine needs; -1: it refuses. `asked` is what was asked last. */
    static long phintys_room_of(phintys_solving* s, phintys_solving* asked) {
        const int d = (int)s->is_double, n = (int)s->n;
        int room = 0, error = 0;
        pthread_mutex_lock(&phintys_cusolver_lock);
        if (asked->n == n && asked->count == s->count) room = (int)asked->room;
        else switch (s->what) {
            case PHINTYS_CHOLESKY:
                error = s->count > 1 ? 0 : cusolver.factor_room[d](phintys_cusolver, (int)s->flag, n, NULL, n, &room);
                break;
            case PHINTYS_LU: error = cusolver.lu_room[d](phintys_cusolver, n, n, NULL, n, &room); break;
            case PHINTYS_EIGEN:
                error = cusolver.eigen_room[d](phintys_cusolver, s->columns ? 1 : 0, (int)s->flag, n, NULL, n, NULL,
                                               &room);
                break;
            default: break;
        }
        if (error) room = -1;
        *asked = *s, asked->room = room;
        pthread_mutex_unlock(&phintys_cusolver_lock);
        return room;
    }
    """
    ctypedef struct phintys_solving:
        long what, is_double, n, columns, flag, count
        char* matrix
        char* side
        char* work
        int* pivots
        int* info
        long matrix_step, side_step, room
        void** matrices
    int phintys_begin_cusolver()
    int phintys_do_solving(phintys_solving*, void*)
    long phintys_room_of(phintys_solving*, phintys_solving*)
    enum: PHINTYS_CHOLESKY, PHINTYS_LU, PHINTYS_SOLVE, PHINTYS_EIGEN, INT_MAX
    void** phintys_cusolver_functions()


def _names():
    """The functions in the order of the struct."""
    pairs = ("potrf_bufferSize", "potrf", "potrfBatched", "getrf_bufferSize", "getrf", "getrs", "syevd_bufferSize",
             "syevd")
    return ["cusolverDnCreate", "cusolverDnSetStream",
            *[f"cusolverDn{letter}{name}" for name in pairs for letter in "SD"]]


cdef Library cusolver = Library("cusolver", _names(), ("nvJitLink", "cublasLt", "cublas", "cusparse"))
cusolver.functions, cusolver.begin = phintys_cusolver_functions(), phintys_begin_cusolver



cdef inline bint is_usable() noexcept nogil:
    return cusolver.found and driver.enter_device() == 0


# Our own kernels have matrices up to these orders in shared memory, and are ahead then. cuSOLVER gets larger ones, one
# after the other; of many, our own kernels compute several at a time.
cdef enum:
    NEAR_SINGLE = 100
    NEAR_FULL = 70
    HELD_ORDER = 64                 # of Cholesky, in registers
    LEAST_EIGEN = 49
    MOST_ITEMS = 32

HELD = HELD_ORDER
NEAR_ORDERS = {"float32": NEAR_SINGLE, "float64": NEAR_FULL}

cdef enum Step:                     # as in kernels/described/factorization.py
    CLEAR, FACTOR, SOLVE

STEPS = {"clear": CLEAR, "factor": FACTOR, "solve": SOLVE}

# Where the parts of scratch memory begin: as `Room` in kernels/described/factorization.py. First words for what is
# wrong: of each matrix and each right side whether it has elements that are not finite, and what cuSOLVER says.
cdef struct Room:
    npy_intp info, pivots, matrices, factors, sides, work


cdef class MatrixRoutine(Routine):
    """What all routines have: the dtype, the order of matrices and the lengths of stacks."""
    cdef int lead, itemsize
    cdef npy_intp least             # order that is computed here
    cdef phintys_solving asked      # last for work memory; the answer is its `room`

    def __init__(self, dtype, int lead):
        self.lead, self.itemsize = lead, numpy.dtype(dtype).itemsize
        self.least = 1 + (NEAR_FULL if self.itemsize == 8 else NEAR_SINGLE)
        memset(&self.asked, 0, sizeof(phintys_solving))

    cdef int ready(self) except -1 nogil:
        return cusolver.load()

    cdef inline npy_intp items_of(self, const Cell* cell) noexcept nogil:
        cdef npy_intp items = 1
        cdef int axis
        for axis in range(self.lead):
            items *= cell.shape[axis]
        return items

    cdef void start(self, phintys_solving* solving, int what, npy_intp n, npy_intp count, int flag) noexcept nogil:
        memset(solving, 0, sizeof(phintys_solving))
        solving.what, solving.n, solving.count, solving.flag = what, n, count, flag
        solving.is_double = self.itemsize == 8


cdef int solve_or_refuse(phintys_solving* solving, void* stream) noexcept nogil:
    """What the queue of work calls. Eigenvalues wait for the host, so they cannot be captured; cuSOLVER may not try."""
    if solving.what == PHINTYS_EIGEN and driver.is_capture(stream):
        return 900                                  # CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    return phintys_do_solving(solving, stream)


cdef Room room_of(npy_intp items, npy_intp factors, npy_intp n, npy_intp columns, int itemsize) noexcept nogil:
    cdef Room room
    room.info = rounded_room(4 * (items + factors))
    room.pivots = room.info + rounded_room(4 * factors)
    room.matrices = room.pivots + rounded_room(4 * factors * n)
    room.factors = room.matrices + rounded_room(8 * factors)
    room.sides = room.factors + rounded_room(factors * n * n * itemsize)
    room.work = room.sides + rounded_room(items * n * columns * itemsize)
    return room


cdef class CholeskyRoutine(MatrixRoutine):
    """``(x, out)``: the matrix is in the upper triangle of the result when it is called, and its upper factor is there
    then. That is the lower triangle for cuSOLVER, which takes three times as long for the upper one."""

    def __init__(self, dtype, int lead):
        super().__init__(dtype, lead)
        self.least = HELD_ORDER + 1

    cdef npy_intp room(self, Cell** operands) noexcept nogil:
        cdef Cell* out = operands[1]
        cdef npy_intp n = out.shape[self.lead], count = self.items_of(out), work
        cdef phintys_solving solving
        if not is_usable() or n < self.least or n > INT_MAX or count < 1 or not cell_is_contiguous(out):
            return REFUSED
        self.start(&solving, PHINTYS_CHOLESKY, n, count, 0)
        work = phintys_room_of(&solving, &self.asked)
        if work < 0:
            return REFUSED
        return room_of(0, count, n, 0, 0).work + work * self.itemsize

    cdef int call(self, int step, Cell** operands, char* scratch, npy_intp bytes) noexcept nogil:
        cdef Cell* out = operands[1]
        cdef npy_intp n = out.shape[self.lead], count = self.items_of(out)
        cdef Room room = room_of(0, count, n, 0, 0)
        cdef phintys_solving solving
        if step == CLEAR:
            return driver.fill_bytes(scratch, 0, room.pivots)
        self.start(&solving, PHINTYS_CHOLESKY, n, count, 0)
        solving.matrix, solving.matrix_step = out.data, n * n * self.itemsize
        solving.matrices, solving.info = <void**>(scratch + room.matrices), <int*>(scratch + room.info)
        solving.work, solving.room = scratch + room.work, (bytes - room.work) // self.itemsize
        return driver.call_in_order(<void*>solve_or_refuse, &solving, sizeof(solving))


cdef class LUFactorRoutine(MatrixRoutine):
    """``(x, out, pivots)``: the matrix is in the result when it is called."""

    cdef npy_intp room(self, Cell** operands) noexcept nogil:
        cdef Cell* out = operands[1]
        cdef npy_intp n = out.shape[self.lead], count = self.items_of(out), work
        cdef phintys_solving solving
        if (not is_usable() or n < self.least or n > INT_MAX or not 1 <= count <= MOST_ITEMS
                or not cell_is_contiguous(out) or not cell_is_contiguous(operands[2]) or operands[2].itemsize != 4):
            return REFUSED
        self.start(&solving, PHINTYS_LU, n, count, 0)
        work = phintys_room_of(&solving, &self.asked)
        return REFUSED if work < 0 else room_of(0, count, 0, 0, 0).work + work * self.itemsize

    cdef int call(self, int step, Cell** operands, char* scratch, npy_intp bytes) noexcept nogil:
        cdef Cell* out = operands[1]
        cdef npy_intp n = out.shape[self.lead], count = self.items_of(out)
        cdef Room room = room_of(0, count, 0, 0, 0)
        cdef phintys_solving solving
        self.start(&solving, PHINTYS_LU, n, count, 0)
        solving.matrix, solving.matrix_step, solving.pivots = out.data, n * n * self.itemsize, <int*>operands[2].data
        solving.info, solving.work = <int*>(scratch + room.info), scratch + room.work
        return driver.call_in_order(<void*>solve_or_refuse, &solving, sizeof(solving))


cdef class EigenRoutine(MatrixRoutine):
    """``(x, values)`` or ``(x, values, vectors)``, in double precision: the matrix is in scratch memory when it is
    called, and its values and vectors are there then."""
    cdef int triangle
    cdef bint vectors

    def __init__(self, dtype, int lead, bint lower, bint vectors):
        super().__init__("float64", lead)
        self.triangle, self.vectors = 1 if lower else 0, vectors        # the upper one of the transpose

    cdef npy_intp room(self, Cell** operands) noexcept nogil:
        cdef npy_intp n = operands[0].shape[self.lead], count = self.items_of(operands[0]), work
        cdef phintys_solving solving
        if not is_usable() or n < LEAST_EIGEN or n > INT_MAX or not 1 <= count <= MOST_ITEMS:
            return REFUSED
        self.start(&solving, PHINTYS_EIGEN, n, count, self.triangle)
        solving.columns = self.vectors
        work = phintys_room_of(&solving, &self.asked)
        return REFUSED if work < 0 else room_of(count, count, n, 1, 8).work + work * 8

    cdef int call(self, int step, Cell** operands, char* scratch, npy_intp bytes) noexcept nogil:
        cdef npy_intp n = operands[0].shape[self.lead], count = self.items_of(operands[0])
        cdef Room room = room_of(count, count, n, 1, 8)
        cdef phintys_solving solving
        if step == CLEAR:
            return driver.fill_bytes(scratch, 0, room.pivots)
        self.start(&solving, PHINTYS_EIGEN, n, count, self.triangle)
        solving.columns, solving.matrix, solving.matrix_step = self.vectors, scratch + room.factors, n * n * 8
        solving.side, solving.side_step, solving.info = scratch + room.sides, n * 8, <int*>(scratch + room.info)
        solving.work, solving.room = scratch + room.work, (bytes - room.work) // 8
        return driver.call_in_order(<void*>solve_or_refuse, &solving, sizeof(solving))


cdef class TriangularRoutine(MatrixRoutine):
    """``(x, b, out)``: the right sides are in the result when it is called. cuBLAS reads x where it is, if its rows or
    its columns have no gaps."""
    cdef int rank, of
    cdef bint lower, transposed, unit

    def __init__(self, dtype, int lead, int rank, bint lower, bint transposed, bint unit):
        super().__init__(dtype, lead)
        self.rank, self.lower, self.transposed, self.unit = rank, lower, transposed, unit
        self.of = cublas.type_of(dtype)

    cdef int ready(self) except -1 nogil:
        return 0

    cdef npy_intp room(self, Cell** operands) noexcept nogil:
        cdef Cell* x = operands[0]
        cdef Cell* out = operands[2]
        cdef npy_intp n = x.shape[self.lead], count = self.items_of(x), items = self.items_of(out)
        if (n < self.least or not 1 <= count <= MOST_ITEMS or not 1 <= items <= MOST_ITEMS
                or not cell_is_contiguous(out) or not cell_size(out)
                or not cublas.can_trsm(n, x.strides[self.lead] // self.itemsize,
                                       x.strides[self.lead + 1] // self.itemsize)):
            return REFUSED
        return room_of(items, count, 0, 0, 0).work

    cdef int call(self, int step, Cell** operands, char* scratch, npy_intp bytes) noexcept nogil:
        cdef Cell* x = operands[0]
        cdef Cell* out = operands[2]
        cdef npy_intp n = x.shape[self.lead], items = self.items_of(out), item
        cdef npy_intp columns = out.shape[self.lead + 1] if self.rank == 2 else 1
        cdef npy_intp next_y = n * columns * self.itemsize
        cdef int error = 0
        if step == CLEAR:
            return driver.fill_bytes(scratch, 0, room_of(items, self.items_of(x), 0, 0, 0).pivots)
        for item in range(items):
            error = error or cublas.trsm(
                self.of, n, columns, self.lower, self.transposed, self.unit, item_of(x, out, self.lead, item),
                x.strides[self.lead] // self.itemsize, x.strides[self.lead + 1] // self.itemsize,
                out.data + item * next_y)
        return error


cdef char* item_of(const Cell* x, const Cell* leader, int lead, npy_intp number) noexcept nogil:
    """The matrix of item `number` of the stack of `leader`: one may be that of several."""
    cdef char* found = x.data
    cdef int axis
    for axis in range(lead - 1, -1, -1):
        if x.shape[axis] != 1:
            found += number % leader.shape[axis] * x.strides[axis]
        number //= leader.shape[axis]
    return found


cdef class SystemRoutine(MatrixRoutine):
    """Factors of ``x`` in scratch memory, and solutions with them.

    Parameters
    ----------
    dtype : str
    lead : int
    x, out : int
        The positions of the matrices, and of what has a right side for each of its items (as long as the solution).
    columns : {"all", "one", "none"}
        How many right sides an item has: the last dimension of ``out``, one or none.
    transposed : bool
        Whether to solve with the transpose of what the factors are of, as cuSOLVER sees them.
    """
    cdef int x, out
    cdef bint transposed, has_one, has_none

    def __init__(self, dtype, int lead, int x, int out, columns, bint transposed=False):
        super().__init__(dtype, lead)
        self.x, self.out, self.transposed = x, out, transposed
        self.has_one, self.has_none = columns == "one", columns == "none"

    cdef inline npy_intp columns_of(self, Cell** operands) noexcept nogil:
        if self.has_one or self.has_none:
            return self.has_one
        return operands[self.out].shape[self.lead + 1]

    cdef inline Room where(self, Cell** operands) noexcept nogil:
        cdef npy_intp n = operands[self.x].shape[self.lead], factors = self.items_of(operands[self.x])
        return room_of(0 if self.has_none else self.items_of(operands[self.out]), factors,
                       n, self.columns_of(operands), self.itemsize)

    cdef npy_intp room(self, Cell** operands) noexcept nogil:
        cdef Cell* x = operands[self.x]
        cdef npy_intp n = x.shape[self.lead], count = self.items_of(x), work
        cdef npy_intp items = 1 if self.has_none else self.items_of(operands[self.out])
        cdef npy_intp columns = self.columns_of(operands)
        cdef phintys_solving solving
        if (not is_usable() or n < self.least or n > INT_MAX or not 1 <= count <= MOST_ITEMS or not items
                or items > MOST_ITEMS or columns * items > INT_MAX or (columns == 0 and not self.has_none)):
            return REFUSED
        self.start(&solving, PHINTYS_LU, n, count, 0)
        work = phintys_room_of(&solving, &self.asked)
        return REFUSED if work < 0 else self.where(operands).work + work * self.itemsize + 4

    cdef int call(self, int step, Cell** operands, char* scratch, npy_intp bytes) noexcept nogil:
        cdef Room room = self.where(operands)
        cdef npy_intp n = operands[self.x].shape[self.lead], count = self.items_of(operands[self.x])
        cdef phintys_solving solving
        if step == CLEAR:
            return driver.fill_bytes(scratch, 0, room.pivots)
        self.start(&solving, PHINTYS_LU, n, count, 0)
        solving.matrix, solving.matrix_step = scratch + room.factors, n * n * self.itemsize
        solving.pivots, solving.info = <int*>(scratch + room.pivots), <int*>(scratch + room.info)
        solving.work = scratch + room.work
        if step == SOLVE:
            return self.solve(&solving, operands, scratch + room.sides)
        return driver.call_in_order(<void*>solve_or_refuse, &solving, sizeof(solving))

    cdef int solve(self, phintys_solving* solving, Cell** operands, char* sides) noexcept nogil:
        """All right sides of a matrix at once, if there is one; else those of each item with its own factors."""
        cdef npy_intp items = self.items_of(operands[self.out]), item, own, n = solving.n
        cdef npy_intp columns = self.columns_of(operands)
        cdef npy_intp matrix_step = solving.matrix_step, side_step = n * columns * self.itemsize
        cdef char* factors = solving.matrix
        cdef int* pivots = solving.pivots
        cdef int error = 0
        solving.what, solving.columns, solving.flag = PHINTYS_SOLVE, columns, self.transposed
        solving.side, solving.side_step, solving.info = sides, side_step, NULL
        if solving.count == 1:
            solving.columns *= items
            items = 1
        if solving.count == items:
            return driver.call_in_order(<void*>solve_or_refuse, solving, sizeof(phintys_solving))
        solving.count = 1
        for item in range(items):
            own = self.own_item(operands, item)
            solving.matrix, solving.pivots = factors + own * matrix_step, pivots + own * n
            solving.side = sides + item * side_step
            error = error or driver.call_in_order(<void*>solve_or_refuse, solving, sizeof(phintys_solving))
        return error

    cdef npy_intp own_item(self, Cell** operands, npy_intp number) noexcept nogil:
        """The number of the matrix of an item of the result: a matrix may be that of several."""
        cdef npy_intp found = 0, size = 1
        cdef const Cell* x = operands[self.x]
        cdef const Cell* out = operands[self.out]
        cdef int axis
        for axis in range(self.lead - 1, -1, -1):
            if x.shape[axis] != 1:
                found += number % out.shape[axis] * size
            size *= x.shape[axis]
            number //= out.shape[axis]
        return found
