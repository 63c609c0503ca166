"""Kernels of products: vectors and matrices in every combination, scaled and accumulated, and outer products.

A product is always treated as ``out = alpha * x.y + beta * z``, where x is m x k and y is k x n. Vectors are matrices
with one row or column, so a matrix with one row is computed like a vector. Built-in loops compute products up to the
sizes at which BLAS is faster (``product_paths.pxi``), and dtypes that BLAS does not support. Operands whose strides
BLAS does not support (negative, zero, or neither of both equal to the item size) are copied into scratch memory. If
``beta == 0``, z is not read.
"""
cimport numpy as cnp
from libc.limits cimport INT_MAX
from libc.math cimport sqrt
from libc.stdlib cimport llabs
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

import numpy

from phintys.ops.products.storage_orders cimport COLUMNS, COPY, ROWS, StorageOrder, copy_size, find_order, rounded
from phintys.ops.products.blas_library cimport (BlasFunctions, DoubleDotFunction, FloatDotFunction, blas_functions,
                                       enter_single_thread, leave_single_thread, wanted_threads)
from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.strided_copy cimport copy_in_parts, copy_strided
from phintys.vm.abi cimport (
    BOUND, RUNS_ALONE, Binding, BoundRun, Cell, Context, Kernel, allocate, interrupted, parallel, scratch)
from phintys.vm.thresholds cimport ALONE_MATRIX, ALONE_VECTOR, LONG_MATRIX, LONG_VECTOR, PIECE_MATRIX, PIECE_VECTOR
from phintys.vm.workers cimport workers_look

from phintys.ops.native.providers import built_in_title
from phintys.ops.native.sets cimport usable_set
from phintys.ops.products.blas_library import LOADING, blas_title

cnp.import_array()

cdef extern from "products/product.h" nogil:
    ctypedef struct Product:
        npy_intp m, n, k                   # x is m x k, y is k x n, out is m x n
        const char* x
        const char* y
        npy_intp xs0, xs1, ys0, ys1        # bytes
        char* out                          # rows without gaps
        npy_intp os0                       # bytes from row to row
        const char* start                  # rows without gaps, or out itself
        npy_intp ss0                       # bytes from row to row; 0: one row for all
        const void* alpha                  # NULL: 1
        const void* beta                   # NULL: 0, and start is not read
        char* room                         # scratch memory; NULL: none is needed
    ctypedef void (*ProductLoop)(const Product*) noexcept nogil

cdef extern from "products/small_product_loops.h" nogil:
    ProductLoop product_loop(int typenum, int itemsize, int set)

cdef extern from "products/float_product_loops.h" nogil:
    ProductLoop[3] float_products          # by instruction set: the baseline, AVX2, AVX-512
    ProductLoop[3] double_products
    size_t panel_bytes(const Product*, int itemsize)

cdef extern from *:
    long acquired "__atomic_load_n" (const long*, int) nogil
    void released "__atomic_store_n" (long*, long, int)
    int ACQUIRE "__ATOMIC_ACQUIRE"
    int RELEASE "__ATOMIC_RELEASE"

# Operands of the kernel.
cdef enum Form:
    PLAIN = 0                      # (x, y, out)
    SCALED = 1                     # (x, y, alpha, out)
    ACCUMULATED = 2                # (z, alpha, x, y, beta, out)

include "product_paths.pxi"

# Products are shared among the machine's own workers, each of which calls BLAS for its rows or columns (PIECE_MATRIX,
# PIECE_VECTOR). OpenBLAS's threads wait for each other by spinning: when another process uses a processor, a product of
# a millisecond takes ten. Pieces begin at multiples of so many rows or columns, where BLAS's inner loops begin.
cdef npy_intp PIECE_STEP = 8

# The pieces were measured on a Xeon. On a Zen 4 a worker that sleeps is worth it from a little less than two on: 20 x
# 784 by 784 x 300, 4.7 million, takes one worker 175 us, two after a pause 127, back to back 88. Workers that look for
# their next loop begin at once: for them a fifth of a piece is worth it (1.2 million: 43 us alone, 30 by two).
cdef inline bint are_worth(Context* context, double work, double piece) noexcept nogil:
    """Whether two pieces are worth two workers."""
    if context.workers == 1 or work < 2 * piece / 5:
        return False
    return work >= 7 * piece / 4 or workers_look(context.workers)


# Multiplications from which a product that no workers share is left to BLAS's threads. From ALONE_MATRIX and
# ALONE_VECTOR up to here, several products gain more by running beside each other than by being shared one by one.
cdef double THREADED = 4e6
# Multiplications up to which OpenBLAS itself uses one thread, so that its setting is left alone.
cdef double SINGLE_MATRIX = 262144
cdef double SINGLE_VECTOR = 8192

# Multiplications between two questions whether the call is to end: some 30 ms, or a second of BLAS, which packs both
# operands of each tile: smaller ones would take it notably longer.
cdef double UNASKED_LOOPS = 5e7
cdef double UNASKED_BLAS = 2.5e10
cdef enum:
    TILE_STEP = 64
    UNASKED_WRITTEN = 1048576       # elements of a tile of the loops, which fresh memory takes up to 10 ms for
    UNASKED_BY_BLAS = 16777216      # of BLAS: a tenth of a second or two

FORMS = {"plain": PLAIN, "scaled": SCALED, "accumulated": ACCUMULATED}

# The operands by name.
cdef struct Operands:
    Cell* start                    # z; NULL unless the form is ACCUMULATED
    Cell* alpha                    # NULL if the form is PLAIN
    Cell* x
    Cell* y
    Cell* beta                     # NULL unless the form is ACCUMULATED
    Cell* out

include "blas_operands.pxi"


# A product with all parameters that its workers need.
cdef struct Settled:
    void* kernel                   # the ProductKernel
    Context* context
    Path path
    Product product                # for BLAS: with copies in place of operands that it cannot take
    size_t room                    # of the loops: bytes of scratch memory for each worker
    StorageOrder x_order, y_order      # for BLAS; not COPY
    int x_leading, y_leading       # leading dimensions: elements from row to row, or from column to column
    int itemsize
    bint by_rows                   # workers share the rows of the result, else its columns
    npy_intp length                # how many there are
    npy_intp piece                 # how many are done at once


# A product of the loops that is bound to its shapes and strides.
cdef struct BoundProduct:
    Product product                # turned, but for addresses
    ProductLoop loops
    void* kernel
    int start, alpha, x, y, beta, out      # numbers of operands; -1: there is none
    bint reads_start               # the loops read z where it is


cdef int run_bound_plain(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a small product without scaling."""
    cdef BoundProduct* bound = <BoundProduct*>context.private_memory
    cdef Product* product = &bound.product
    product.x, product.y, product.out = operands[bound.x].data, operands[bound.y].data, operands[bound.out].data
    product.room = context.scratch
    bound.loops(product)
    return 0


cdef int run_bound(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a small product."""
    cdef BoundProduct* bound = <BoundProduct*>context.private_memory
    cdef Product* product = &bound.product
    cdef Operands cells
    product.x, product.y, product.out = operands[bound.x].data, operands[bound.y].data, operands[bound.out].data
    product.room = context.scratch
    if bound.alpha >= 0:
        product.alpha = operands[bound.alpha].data
    if bound.beta >= 0:
        product.beta = NULL
        if not is_zero(operands[bound.beta]):
            product.beta, product.start = operands[bound.beta].data, operands[bound.start].data
            if not bound.reads_start:
                (<ProductKernel>bound.kernel).sort(operands, &cells)
                (<ProductKernel>bound.kernel).copy_start(context, &cells)
                product.start = product.out
    bound.loops(product)
    return 0


cdef ProductLoop loops_of(int typenum, int itemsize) except? NULL:
    """The loops for a NumPy type number and for the instruction sets that may be used; NULL if there are none."""
    if typenum == cnp.NPY_FLOAT64:
        return double_products[usable_set()]
    if typenum == cnp.NPY_FLOAT32:
        return float_products[usable_set()]
    return product_loop(typenum, itemsize, usable_set())


def title_of_loops(int instructions):
    """Whose loops they are; ``instructions`` as in ``ProductKernel``."""
    return "phintys" if instructions < 0 else built_in_title(instructions)


cdef class ProductKernel(Kernel):
    """``x.y``, ``alpha * x.y``, or ``beta * z + alpha * x.y``.

    Parameters
    ----------
    dtype : str
        The dtype of all operands; not float16.
    left_rank, right_rank : int
        1 or 2.
    form : str
        ``"plain"``: operands (x, y, out); ``"scaled"``: (x, y, alpha, out); ``"accumulated"``: (z, alpha, x, y, beta,
        out).
    spread : sequence of bool
        For the accumulated form: the dimensions in which z may have length 1 and is broadcast.

    Raises
    ------
    TypeError
        For a dtype without products.
    ValueError
        Raised by ``prepare`` for shapes that do not match, and for lengths above 32 bits, which BLAS does not support.
    """
    cdef Form form
    cdef int left_rank, right_rank, itemsize, typenum
    cdef bint spread[2]
    cdef bint has_blas, is_complex
    cdef int instructions          # of the loops of floats: 0 the baseline, 1 AVX2, 2 AVX-512; -1: other loops
    cdef ProductLoop loops
    cdef BlasFunctions blas        # of a library that is loaded for the first product that may need it
    cdef long is_loaded
    cdef double one[2]
    cdef double zero[2]

    def __cinit__(self):
        self.examined, self.private_bytes = (), sizeof(BoundProduct)

    def __init__(self, dtype, int left_rank, int right_rank, form="plain", spread=(False, False)):
        cdef bytes one = numpy.ones((), dtype).tobytes()
        self.form = FORMS[form]
        self.left_rank, self.right_rank = left_rank, right_rank
        self.typenum, self.itemsize = numpy.dtype(dtype).num, numpy.dtype(dtype).itemsize
        self.loops, self.instructions = loops_of(self.typenum, self.itemsize), -1
        if self.loops == NULL:
            raise TypeError(f"there is no native product of {dtype}")
        if self.typenum in (cnp.NPY_FLOAT32, cnp.NPY_FLOAT64):
            self.instructions = usable_set()
        for axis, flag in enumerate(spread):
            self.spread[axis] = flag
        self.is_complex = numpy.dtype(dtype).kind == "c"
        self.has_blas = numpy.dtype(dtype).kind in "fc"
        self.is_loaded = not self.has_blas
        memset(self.zero, 0, sizeof(self.zero))
        memset(self.one, 0, sizeof(self.one))
        memcpy(self.one, <char*>one, len(one))

    @property
    def providers(self):
        """Names of loops, and whose they are; shapes and strides decide in each call."""
        whose = title_of_loops(self.instructions)
        return [("product", f"{whose}, or {blas_title()} where that is faster" if self.has_blas else whose)]

    # ---- the product ----
    cdef inline void sort(self, Cell** operands, Operands* sorted) noexcept nogil:
        """The operands by name."""
        sorted.start = sorted.alpha = sorted.beta = NULL
        if self.form == ACCUMULATED:
            sorted.start, sorted.alpha, sorted.x = operands[0], operands[1], operands[2]
            sorted.y, sorted.beta, sorted.out = operands[3], operands[4], operands[5]
        else:
            sorted.x, sorted.y, sorted.out = operands[0], operands[1], operands[2]
            if self.form == SCALED:
                sorted.alpha, sorted.out = operands[2], operands[3]

    cdef inline void measure(self, const Operands* cells, Product* product) noexcept nogil:
        """Set lengths, strides and addresses of x and y as matrices."""
        cdef const Cell* x = cells.x
        cdef const Cell* y = cells.y
        product.x, product.y = x.data, y.data
        product.k = x.shape[self.left_rank - 1]
        product.xs1 = x.strides[self.left_rank - 1]
        product.m = x.shape[0] if self.left_rank == 2 else 1
        product.xs0 = x.strides[0] if self.left_rank == 2 else 0
        product.ys0 = y.strides[0]
        product.n = y.shape[1] if self.right_rank == 2 else 1
        product.ys1 = y.strides[1] if self.right_rank == 2 else 0

    cdef inline Path path(self, const Product* product) noexcept nogil:
        """What computes: the loops, or a function of BLAS. For k <= 1 there is nothing to add up."""
        if not self.has_blas or product.k <= 1:
            return LOOPS
        if self.instructions > 0:
            if loops_are_faster(product, self.itemsize, self.instructions == 2):
                return LOOPS
        elif multiplications(product) <= plain_limit(product, self.itemsize, self.is_complex):
            return LOOPS
        if product.n == 1:
            return DOT if product.m == 1 and not self.is_complex else MATRIX_VECTOR
        return VECTOR_MATRIX if product.m == 1 else GEMM

    cdef inline size_t panel_room(self, const Product* product) noexcept nogil:
        """Bytes of scratch memory that the loops need for each worker."""
        cdef Product turned = product[0]
        if self.instructions < 0:
            return 0
        turn(&turned, self.itemsize)
        return panel_bytes(&turned, self.itemsize)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Operands cells
        cdef Product product
        cdef npy_intp shape[2]
        cdef double work
        cdef size_t bytes
        cdef Path path
        self.sort(operands, &cells)
        self.measure(&cells, &product)
        if cells.y.shape[0] != product.k:
            fail_mismatch(cells.x, cells.y)
        shape[0] = product.m if self.left_rank == 2 else product.n
        shape[1] = product.n
        if cells.start != NULL:
            self.check_start(&cells, shape)
        allocate(context, cells.out, shape)
        work, path = multiplications(&product), self.path(&product)
        if path != LOOPS and (product.m > INT_MAX or product.n > INT_MAX or product.k > INT_MAX):
            fail_long(cells.x, cells.y)
        if path != LOOPS and not acquired(&self.is_loaded, ACQUIRE):
            self.load()
        bytes = context.workers * self.panel_room(&product) if path == LOOPS else self.copied_bytes(&product)
        if bytes:
            scratch(context, bytes)
        if self.instructions < 0 and path == LOOPS:
            return RUNS_ALONE if work > ALONE_VECTOR else work > LONG_VECTOR
        if product.m == 1 or product.n == 1:
            return RUNS_ALONE if ALONE_VECTOR < work < THREADED else work > LONG_VECTOR
        return RUNS_ALONE if ALONE_MATRIX < work < THREADED else work > LONG_MATRIX

    cdef int load(self) except -1 with gil:
        cdef BlasFunctions functions = blas_functions(self.typenum)
        with LOADING:
            if not self.is_loaded:                      # else threads read them already
                self.blas = functions
                released(&self.is_loaded, True, RELEASE)
        return 0

    cdef int check_start(self, Operands* cells, const npy_intp* shape) except -1 nogil:
        """Check that z has the shape of the product, or length 1 where it is broadcast."""
        cdef Cell* start = cells.start
        cdef int axis
        for axis in range(cells.out.ndim):
            if start.shape[axis] != shape[axis] and not (self.spread[axis] and start.shape[axis] == 1):
                with gil:
                    raise ValueError(f"Shape mismatch: z of shape {shape_of(start)} cannot be added to the product of "
                                     f"shapes {shape_of(cells.x)} and {shape_of(cells.y)}")
        return 0

    cdef inline size_t copied_bytes(self, const Product* product) noexcept nogil:
        """Bytes of scratch memory for the operands that BLAS cannot take as they are."""
        return (copy_size(product.m, product.k, product.xs0, product.xs1, self.itemsize)
                + copy_size(product.k, product.n, product.ys0, product.ys1, self.itemsize))

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Operands cells
        cdef Product product
        cdef Path path
        self.sort(operands, &cells)
        self.measure(&cells, &product)
        product.out = cells.out.data
        product.os0 = product.n * self.itemsize
        product.start, product.ss0 = product.out, product.os0
        product.alpha = cells.alpha.data if cells.alpha != NULL else NULL
        product.beta = NULL
        path = self.path(&product)
        if path == LOOPS:
            turn(&product, self.itemsize)
        if cells.beta != NULL and not is_zero(cells.beta):
            product.beta = cells.beta.data
            if path == LOOPS and self.finds_start(&cells, &product):
                product.start = cells.start.data
            else:
                self.copy_start(context, &cells)
        if product.m == 0 or product.n == 0:
            return 0
        if path == LOOPS:
            self.run_loops(context, &product)
        else:
            self.run_blas(context, path, &product)
        return 0

    cdef bint finds_start(self, Operands* cells, Product* product) noexcept nogil:
        """Whether the loops can read z where it is; if so, its stride is set. ``product`` has been turned."""
        cdef const Cell* start = cells.start
        cdef npy_intp strides[2]
        cdef npy_intp across, along     # from row to row of the result, and within a row; the same for a vector
        cdef int axis
        if self.instructions < 0:
            return False
        strides[0] = strides[1] = 0
        for axis in range(start.ndim):
            strides[axis] = start.strides[axis] if start.shape[axis] == cells.out.shape[axis] else 0
        across = along = strides[0]
        if start.ndim == 2 and cells.out.shape[1] > 1:
            along = strides[1]
            if cells.out.shape[0] == 1:
                across = along
        if product.n > 1 and along != self.itemsize:
            return False
        product.ss0 = across
        return True

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef BoundProduct* bound = <BoundProduct*>context.private_memory
        cdef Operands cells
        cdef Product* product = &bound.product
        cdef int first = 2 if self.form == ACCUMULATED else 0
        self.sort(operands, &cells)
        self.measure(&cells, product)
        if product.m == 0 or product.n == 0 or self.path(product) != LOOPS:
            return BOUND
        if (context.workers > 1 and multiplications(product) >= PIECE_VECTOR / 2
                or multiplications(product) > unasked(LOOPS, product)):
            return BOUND
        product.os0 = product.ss0 = product.n * self.itemsize
        product.alpha = product.beta = NULL
        bound.x, bound.y, bound.out = first, first + 1, first + 2
        bound.start = bound.alpha = bound.beta = -1
        if self.form == SCALED:
            bound.alpha, bound.out = 2, 3
        elif self.form == ACCUMULATED:
            bound.start, bound.alpha, bound.beta, bound.out = 0, 1, 4, 5
        if turn(product, self.itemsize):
            bound.x, bound.y = bound.y, bound.x
        if self.form == ACCUMULATED:
            bound.reads_start = self.finds_start(&cells, product)
        bound.loops, bound.kernel = self.loops, <void*>self
        bound_run[0] = run_bound_plain if self.form == PLAIN else run_bound
        return BOUND

    cdef void copy_start(self, Context* context, Operands* cells) noexcept nogil:
        """Copy z to where the product is added; it is there already if the kernel works in place."""
        cdef Cell* start = cells.start
        cdef npy_intp strides[2]
        cdef int axis
        if start.data == cells.out.data:
            return
        for axis in range(start.ndim):
            strides[axis] = start.strides[axis] if start.shape[axis] == cells.out.shape[axis] else 0
        copy_in_parts(context, start.ndim, cells.out.shape, cells.out.data, cells.out.strides, start.data, strides,
                      self.itemsize)

    # ---- loops ----
    cdef void run_loops(self, Context* context, Product* product) noexcept nogil:
        cdef double work = multiplications(product)
        cdef double piece = PIECE_VECTOR if product.m == 1 or product.n == 1 else PIECE_MATRIX
        cdef Settled settled
        product.room = context.scratch
        if work <= unasked(LOOPS, product) and (self.instructions < 0 or not are_worth(context, work, piece)
                                                or wanted_threads() == 1):
            self.loops(product)
            return
        settled.kernel, settled.path, settled.itemsize = <void*>self, LOOPS, self.itemsize
        settled.context = context
        settled.product, settled.room = product[0], panel_bytes(product, self.itemsize)
        if self.instructions < 0 or wanted_threads() == 1:
            self.run_piece(&settled)
        else:
            self.share_out(context, &settled, work, piece)

    # ---- BLAS ----
    cdef void run_blas(self, Context* context, Path path, Product* product) noexcept nogil:
        """Copy operands that BLAS cannot take, then share the product among workers, or call BLAS once.

        BLAS runs on one thread while workers share a product, and for products that its threads make slower: see
        ``THREADED``. A multiplication of complex numbers counts as four.
        """
        cdef char* room = context.scratch
        cdef double work = <double>product.m * <double>product.n * <double>product.k
        cdef double single_limit = SINGLE_MATRIX if path == GEMM else SINGLE_VECTOR
        cdef double piece = PIECE_MATRIX if path == GEMM else PIECE_VECTOR
        cdef Settled settled
        cdef bint shared, single
        if self.is_complex:
            single_limit, piece = single_limit / 4, piece / 4
        shared = path != DOT and are_worth(context, work, piece) and wanted_threads() > 1
        single = shared or single_limit < work < THREADED
        settled.kernel, settled.context = <void*>self, context
        settled.path, settled.itemsize = path, self.itemsize
        settled.x_order = self.settle(context, product.m, product.k, &product.x, &product.xs0,
                                       &product.xs1, &settled.x_leading, &room)
        settled.y_order = self.settle(context, product.k, product.n, &product.y, &product.ys0,
                                       &product.ys1, &settled.y_leading, &room)
        settled.product = product[0]
        if single:
            enter_single_thread()
        if shared:
            self.share_out(context, &settled, work, piece)
        else:
            self.run_piece(&settled)
        if single:
            leave_single_thread()

    cdef void share_out(self, Context* context, Settled* settled, double work, double piece) noexcept nogil:
        """Divide the longer side of the result into pieces, and let the workers compute these."""
        cdef npy_intp length, whole, half
        settled.by_rows = settled.product.m >= settled.product.n
        length = settled.product.m if settled.by_rows else settled.product.n
        whole, half = piece_of(length, context.workers), piece_of(length, 2 * context.workers)
        # Two pieces for each worker, so that the others wait half as long for one that starts late. But one piece if
        # two would be short, or if rounding to PIECE_STEP makes them longer by more than a 16th.
        if work < 4 * context.workers * piece or 16 * (2 * half - whole) > whole:
            half = whole
        settled.length, settled.piece = length, half
        parallel(context, run_part, settled, (length + half - 1) // half, 1)

    cdef void run_piece(self, Settled* settled) noexcept nogil:
        """Compute a product, or a piece of one, in tiles that are about square if it is long."""
        cdef Product* product = &settled.product
        cdef double most = unasked(settled.path, product)
        cdef npy_intp number, row, column, rows, columns
        cdef Settled tile
        if settled.path not in (GEMM, LOOPS) or multiplications(product) <= most:
            self.run_tile(settled)
            return
        columns = min(product.n, max(<npy_intp>sqrt(most / product.k) // TILE_STEP, <npy_intp>1) * TILE_STEP)
        rows = max(<npy_intp>(most / product.k / columns) // TILE_STEP, <npy_intp>1) * TILE_STEP
        for number in range(ceil_divided(product.m, rows) * ceil_divided(product.n, columns)):
            if interrupted(settled.context):
                return
            row = number % ceil_divided(product.m, rows) * rows
            column = number // ceil_divided(product.m, rows) * columns
            tile = settled[0]
            show_part(&tile, True, row, min(row + rows, product.m))
            show_part(&tile, False, column, min(column + columns, product.n))
            self.run_tile(&tile)

    cdef void run_tile(self, Settled* settled) noexcept nogil:
        """BLAS multiplies a vector by a matrix as the transpose by the vector."""
        cdef Product* product = &settled.product
        if settled.path == LOOPS:
            self.loops(product)
        elif settled.path == GEMM:
            self.gemm(product, settled.x_order, settled.x_leading, settled.y_order, settled.y_leading)
        elif settled.path == MATRIX_VECTOR:
            self.gemv(product, product.m, product.x, settled.x_order == ROWS, settled.x_leading, product.y,
                      product.ys0)
        elif settled.path == VECTOR_MATRIX:
            self.gemv(product, product.n, product.y, settled.y_order == COLUMNS, settled.y_leading, product.x,
                      product.xs1)
        else:
            self.dot(product)

    cdef inline StorageOrder settle(self, Context* context, npy_intp rows, npy_intp columns, const char** data,
                              npy_intp* stride0, npy_intp* stride1, int* leading, char** room) noexcept nogil:
        """The storage order of an operand for BLAS, after copying it into ``room``, which moves on, if it has none."""
        cdef StorageOrder order = find_order(rows, columns, stride0[0], stride1[0], self.itemsize, leading)
        cdef npy_intp shape[2]
        cdef npy_intp source[2]
        cdef npy_intp target[2]
        cdef npy_intp* slow = stride0
        cdef npy_intp* fast = stride1
        if order != COPY:
            return order
        order, shape[0], shape[1] = ROWS, rows, columns
        if stride0[0] and llabs(stride0[0]) < llabs(stride1[0]):     # the copy keeps the order of the memory
            order, shape[0], shape[1], slow, fast = COLUMNS, columns, rows, stride1, stride0
        source[0], source[1], target[0], target[1] = slow[0], fast[0], shape[1] * self.itemsize, self.itemsize
        copy_in_parts(context, 2, shape, room[0], target, data[0], source, self.itemsize)
        data[0], slow[0], fast[0] = room[0], target[0], target[1]
        leading[0] = <int>shape[1]
        room[0] += rounded(rows * columns * self.itemsize)
        return order

    cdef void gemm(self, Product* product, StorageOrder x_order, int x_leading, StorageOrder y_order,
                   int y_leading) noexcept nogil:
        """``out`` is in row order; BLAS sees it in column order, as the transposed product ``y.T x.T``: y first."""
        cdef int m = <int>product.m, n = <int>product.n, k = <int>product.k
        cdef int out_leading = <int>(product.os0 // self.itemsize)
        cdef char* x_transposed = b"n" if x_order == ROWS else b"t"
        cdef char* y_transposed = b"n" if y_order == ROWS else b"t"
        self.blas.gemm(y_transposed, x_transposed, &n, &m, &k, self.alpha_of(product), <void*>product.y, &y_leading,
                       <void*>product.x, &x_leading, self.beta_of(product), product.out,
                       &out_leading)

    cdef void gemv(self, Product* product, npy_intp length, const char* matrix, bint by_rows, int leading,
                   const char* vector, npy_intp stride) noexcept nogil:
        """Call gemv for a matrix of ``length`` x k, stored by rows or by columns, and a vector."""
        cdef int rows = <int>product.k if by_rows else <int>length
        cdef int columns = <int>length if by_rows else <int>product.k
        cdef int step = <int>(stride // self.itemsize), one = 1
        cdef char* transposed = b"t" if by_rows else b"n"
        if product.beta == NULL:
            memset(product.out, 0, length * self.itemsize)       # some versions of BLAS read it if beta is 0
        self.blas.gemv(transposed, &rows, &columns, self.alpha_of(product), <void*>matrix, &leading, <void*>vector,
                       &step, self.beta_of(product), product.out, &one)

    cdef void dot(self, Product* product) noexcept nogil:
        """Vector by vector, for float32 and float64."""
        cdef int k = <int>product.k
        cdef int x_step = <int>(product.xs1 // self.itemsize), y_step = <int>(product.ys0 // self.itemsize)
        cdef double result
        if self.typenum == cnp.NPY_FLOAT64:
            result = (<DoubleDotFunction>self.blas.dot)(&k, <double*>product.x, &x_step, <double*>product.y, &y_step)
            store_scaled(<double*>product.out, result, <double*>product.alpha, <double*>product.beta)
        else:
            result = (<FloatDotFunction>self.blas.dot)(&k, <float*>product.x, &x_step, <float*>product.y, &y_step)
            store_scaled(<float*>product.out, <float>result, <float*>product.alpha, <float*>product.beta)

    cdef inline void* alpha_of(self, Product* product) noexcept nogil:
        return <void*>product.alpha if product.alpha != NULL else <void*>self.one

    cdef inline void* beta_of(self, Product* product) noexcept nogil:
        return <void*>product.beta if product.beta != NULL else <void*>self.zero


cdef inline double unasked(Path path, const Product* product) noexcept nogil:
    """Multiplications between two questions whether the call is to end."""
    if path == GEMM:
        return min(UNASKED_BLAS, <double>UNASKED_BY_BLAS * product.k)
    return min(UNASKED_LOOPS, <double>UNASKED_WRITTEN * max(product.k, 1))


cdef void run_part(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Pieces [start, stop) of the rows or columns of a product, as one product."""
    cdef Settled part = (<Settled*>argument)[0]
    part.product.room += worker * part.room
    show_part(&part, part.by_rows, start * part.piece, min(stop * part.piece, part.length))
    (<ProductKernel>part.kernel).run_piece(&part)


cdef inline npy_intp ceil_divided(npy_intp length, npy_intp part) noexcept nogil:
    return (length + part - 1) // part


cdef void show_part(Settled* settled, bint by_rows, npy_intp start, npy_intp stop) noexcept nogil:
    """Narrow a product to some rows or columns of its result."""
    cdef Product* product = &settled.product
    if by_rows:
        product.m = stop - start
        product.x += start * product.xs0
        product.out += start * product.os0
        product.start += start * product.ss0
    else:
        product.n = stop - start
        product.y += start * product.ys1
        product.out += start * settled.itemsize
        product.start += start * settled.itemsize


cdef int fail_mismatch(const Cell* x, const Cell* y) except -1 with gil:
    raise ValueError(f"Shape mismatch: shapes {shape_of(x)} and {shape_of(y)} are not aligned: "
                     f"{x.shape[x.ndim - 1]} (dim {x.ndim - 1}) != {y.shape[0]} (dim 0)")


cdef int fail_long(const Cell* x, const Cell* y) except -1 with gil:
    raise ValueError(f"dot: BLAS cannot take lengths beyond {INT_MAX}; the shapes are {shape_of(x)} and {shape_of(y)}")


cdef class GerKernel(Kernel):
    """``A + alpha * outer(x, y)``: (A, alpha, x, y, out). It uses built-in loops, because its speed is limited by
    memory bandwidth, not arithmetic."""
    cdef int itemsize, instructions
    cdef ProductLoop loops
    cdef double one[2]

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, dtype):
        cdef bytes one = numpy.ones((), dtype).tobytes()
        self.itemsize = numpy.dtype(dtype).itemsize
        self.loops = loops_of(numpy.dtype(dtype).num, self.itemsize)
        if self.loops == NULL:
            raise TypeError(f"there is no native product of {dtype}")
        self.instructions = usable_set() if numpy.dtype(dtype).kind == "f" else -1
        memcpy(self.one, <char*>one, len(one))

    @property
    def providers(self):
        """The name of the loop, and whose it is."""
        return [("outer product", title_of_loops(self.instructions))]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* start = operands[0]
        if start.shape[0] != operands[2].shape[0] or start.shape[1] != operands[3].shape[0]:
            with gil:
                raise ValueError(f"Shape mismatch: A of shape {shape_of(start)} cannot be added to the outer product "
                                 f"of shapes {shape_of(operands[2])} and {shape_of(operands[3])}")
        allocate(context, operands[4], start.shape)
        return <double>start.shape[0] * <double>start.shape[1] > LONG_VECTOR

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* out = operands[4]
        cdef npy_intp columns = min(out.shape[1], <npy_intp>UNASKED_WRITTEN), column = 0, row = 0, rows
        if out.shape[0] * out.shape[1] <= UNASKED_WRITTEN:
            self.add_tile(operands, 0, out.shape[0], 0, out.shape[1])
            return 0
        rows = UNASKED_WRITTEN // columns
        while column < out.shape[1]:
            while row < out.shape[0]:
                self.add_tile(operands, row, min(rows, out.shape[0] - row), column,
                              min(columns, out.shape[1] - column))
                row += rows
                if row < out.shape[0] and interrupted(context):
                    return 0
            row, column = 0, column + columns
            if column < out.shape[1] and interrupted(context):
                return 0
        return 0

    cdef inline void add_tile(self, Cell** operands, npy_intp row, npy_intp rows, npy_intp column,
                              npy_intp columns) noexcept nogil:
        cdef Cell* start = operands[0]
        cdef Cell* out = operands[4]
        cdef Product product
        cdef npy_intp shape[2]
        cdef char* target = out.data + row * out.strides[0] + column * out.strides[1]
        shape[0], shape[1] = rows, columns
        if start.data != out.data:
            copy_strided(2, shape, target, out.strides, start.data + row * start.strides[0] + column * start.strides[1],
                         start.strides, self.itemsize)
        product.m, product.n, product.k = rows, columns, 1
        product.x, product.xs0, product.xs1 = operands[2].data + row * operands[2].strides[0], operands[2].strides[0], 0
        product.ys0, product.ys1 = 0, operands[3].strides[0]
        product.y = operands[3].data + column * product.ys1
        product.out, product.os0 = target, out.strides[0]
        product.start, product.ss0 = product.out, product.os0
        product.alpha, product.beta, product.room = operands[1].data, <void*>self.one, NULL
        self.loops(&product)
