"""Products of matrices and vectors on the device.

cuBLAS multiplies matrices of floats and complex numbers where it is installed (``config.gpu.cublas``), if it can take
the operands' strides and the factors are on the host; else the kernels of ``product_source.py`` do. The classes take
the arguments of the processor's kernels of the same names without "Gpu". Scaling factors may be at either place.
"""
from libc.stdlib cimport llabs
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

import numpy

from phintys.gpu.kernels.product_source import (
    NAMES, NARROW_NAMES, narrow_source, product_source, rows_of_a_block, with_sums)
from phintys.gpu.kernels.reduction_kernel cimport FoldKernel
from phintys.gpu.kernels.reduction_source import vector_product_source
from phintys.gpu.libraries cimport cublas
from phintys.gpu.runtime.copies cimport copy_elements
from phintys.gpu.runtime.driver cimport Arguments, multiprocessors, put, put_address, put_integer, put_value
from phintys.gpu.runtime.kernel cimport THREADS, DeviceKernel, loaded, piece
from phintys.graph.config import config
from phintys.ops.native.integers cimport shape_of
from phintys.vm.abi cimport (
    BOUND, CELL_DEVICE, UNBOUND, Binding, BoundRun, Cell, Context, Kernel, allocate, cell_size, drop)
from phintys.vm.python_api cimport PyErr_SetObject

cdef enum:
    TILES
    TILE = 64
    FEW_TERMS = 16                  # fewer than DEEP and DOWN are worth their exchange of sums
    MOST_WORK = 1 << 25             # multiplications: libraries are faster from then on
    MOST_RESULTS = 1 << 22
    MOST_SUMMED = 1 << 14           # rows of which a block sums columns
    MOST_INPUTS = 16                # of the scalar code after sums

cdef class VectorProduct(FoldKernel):
    """A product of a matrix and a vector: a fold of the matrix's columns."""

    def __init__(self, dtype):
        self.take_source(vector_product_source(dtype), 2)


cdef class GpuProductKernel(DeviceKernel):
    """``x.y``, ``alpha * x.y``, or ``beta * z + alpha * x.y``; see ``ProductKernel``."""

    def __init__(self, dtype, int left_rank, int right_rank, form="plain", spread=(False, False)):
        self.source, self.names = product_source(dtype), NAMES
        self.is_last_resort = True
        self.by_vector = VectorProduct(dtype)
        self.form, self.left_rank, self.right_rank = form, left_rank, right_rank
        self.itemsize = numpy.dtype(dtype).itemsize
        self.kind = ("plain", "scaled", "accumulated").index(form)
        for axis, flag in enumerate(spread):
            self.spread[axis] = flag
        set_one(self.one, numpy.ones((), dtype).tobytes())
        self.zero[0] = self.zero[1] = 0
        self.dtype_of_cublas = cublas.type_of(dtype)
        self.by_cublas = config.gpu.cublas and self.dtype_of_cublas != cublas.OTHER
        self.narrow, self.dtype = [], dtype if dtype in ("float32", "float64") else None
        memset(self.narrow_kernels, 0, sizeof(self.narrow_kernels))

    cdef void sort(self, Cell** operands, Product* product) noexcept nogil:
        """The operands by name, with lengths and strides."""
        cdef const Cell* x
        cdef const Cell* y
        memset(product, 0, sizeof(Product))
        if self.kind == 2:
            product.start, product.alpha, product.beta = operands[0], operands[1], operands[4]
            product.x, product.y, product.out = operands[2], operands[3], operands[5]
        else:
            product.x, product.y = operands[0], operands[1]
            product.alpha = operands[2] if self.kind == 1 else NULL
            product.out = operands[3] if self.kind == 1 else operands[2]
        x, y = product.x, product.y
        product.k = x.shape[self.left_rank - 1]
        product.xs1 = x.strides[self.left_rank - 1] // self.itemsize
        product.m = x.shape[0] if self.left_rank == 2 else 1
        product.xs0 = x.strides[0] // self.itemsize if self.left_rank == 2 else 0
        product.ys0 = y.strides[0] // self.itemsize
        product.n = y.shape[1] if self.right_rank == 2 else 1
        product.ys1 = y.strides[1] // self.itemsize if self.right_rank == 2 else 0

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Product product
        self.check(context, operands, &product)
        if self.form_of(&product) != LARGE:
            return self.narrow_ready(columns_of(&product))
        return 0                                    # others are compiled when they run, if no library computes them

    cdef int check(self, Context* context, Cell** operands, Product* product) except -1 nogil:
        """Compare the shapes, and allocate the result."""
        cdef npy_intp shape[2]
        cdef int axis
        self.sort(operands, product)
        if product.y.shape[0] != product.k:
            with gil:
                raise ValueError(f"Shape mismatch: shapes {shape_of(product.x)} and {shape_of(product.y)} are not "
                                 f"aligned: {product.k} (dim {self.left_rank - 1}) != {product.y.shape[0]} (dim 0)")
        shape[0] = product.m if self.left_rank == 2 else product.n
        shape[1] = product.n
        for axis in range(product.out.ndim):
            if product.start != NULL and product.start.shape[axis] != shape[axis] and not (
                    self.spread[axis] and product.start.shape[axis] == 1):
                with gil:
                    raise ValueError(f"Shape mismatch: z of shape {shape_of(product.start)} cannot be added to the "
                                     f"product of shapes {shape_of(product.x)} and {shape_of(product.y)}")
        allocate(context, product.out, shape)
        return 0

    cdef int narrow_ready(self, int columns) except -1 nogil:
        """Make what multiplies narrow matrices of so many columns."""
        if self.narrow_kernels[columns] == NULL:
            with gil:
                kernel = NarrowProductKernel(self.dtype, columns)
                self.narrow.append(kernel)
                self.narrow_kernels[columns] = <void*>kernel
        return (<NarrowProductKernel>self.narrow_kernels[columns]).ready()

    cdef int form_of(self, const Product* product) noexcept nogil:
        cdef npy_intp results = product.m * product.n
        if self.dtype is None or product.m < 2 or product.n < 2 or product.k < 1:
            return LARGE
        if product.k <= (FEW_TERMS if product.n <= MOST_NARROW else MOST_NARROW) and results <= MOST_RESULTS:
            return SHALLOW
        if product.n <= MOST_NARROW and results <= MOST_WORK // product.k:
            return DOWN if llabs(product.xs0) < llabs(product.xs1) else DEEP
        return LARGE

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Product product
        self.describe(operands, &product)
        return multiply(self, &product) if product.m and product.n else 0

    cdef void describe(self, Cell** operands, Product* product) noexcept nogil:
        """All of it, once the result has its shape."""
        cdef int axis
        cdef npy_intp strides[2]
        self.sort(operands, product)
        strides[0] = strides[1] = 0
        if product.start != NULL:
            for axis in range(product.out.ndim):
                if product.start.shape[axis] != 1 or product.out.shape[axis] == 1:
                    strides[axis] = product.start.strides[axis] // self.itemsize
        product.ss0, product.ss1 = strides[0], strides[1]
        if self.left_rank == 1:                     # a row of results: its columns are the result's only dimension
            product.ss1, product.ss0 = strides[0], 0


cdef class NarrowProductKernel(DeviceKernel):
    """Products with few columns or few terms, which others launch."""

    def __init__(self, dtype, int columns, sums=None, classes=None):
        self.rows, self.pieces = rows_of_a_block(columns), []
        for form, name in enumerate(NARROW_NAMES):
            made = piece(narrow_source(dtype, columns, sums, classes, form), (name,))
            self.pieces.append(made)
            self.forms[form] = <void*>made

    cdef int ready(self) except -1 nogil:
        return 0

    cdef int start(self, int form, npy_intp blocks, int threads, Arguments* arguments) noexcept nogil:
        if loaded(<DeviceKernel>self.forms[form]) < 0:
            return -1
        return (<DeviceKernel>self.forms[form]).start(0, blocks, threads, arguments)

    cdef npy_intp blocks_of(self, const Product* product, int form) noexcept nogil:
        cdef int rows = self.rows if form == DEEP else 8
        cdef npy_intp blocks = (product.m + rows - 1) // rows
        if form == DEEP:
            return max(blocks, min(product.m, <npy_intp>4 * multiprocessors))
        return ((product.m + 31) // 32) * ((product.n + 63) // 64) if form == SHALLOW else blocks


cdef int multiply_narrow(GpuProductKernel kernel, Product* product, int form) noexcept nogil:
    cdef void* narrow = kernel.narrow_kernels[columns_of(product)]
    cdef Arguments arguments
    put_product(&arguments, product, <const char*>kernel.one, kernel.itemsize)
    return (<NarrowProductKernel>narrow).start(form, (<NarrowProductKernel>narrow).blocks_of(product, form), THREADS,
                                               &arguments)


cdef class GpuProductSumsKernel(Kernel):
    """A narrow product, and the sums of the columns of its right factor, with scalar code for each sum: ``(operands of
    the product, inputs of the code without the sum, the product, results of the code)``.

    Parameters
    ----------
    product : GpuProductKernel
    total : GpuReductionKernel
        Sums the columns, where the product is not narrow.
    after : Kernel
        Computes the code then.
    code : ScalarCode
    place : int
        Which input of the code is the sum.
    values : sequence of bool
        Which of its inputs are on the host, and are passed by value.
    """
    cdef GpuProductKernel product
    cdef Kernel total, after
    cdef int n_product, n_inputs, place, typenum
    cdef bint values[MOST_INPUTS]
    cdef object sums
    cdef list narrow
    cdef void* narrow_kernels[MOST_NARROW + 1]

    def __init__(self, product, total, after, code, int place, values):
        self.examined, self.may_fail = (), True
        self.product, self.total, self.after, self.place = product, total, after, place
        self.n_product = (2, 3, 5)[self.product.kind]
        self.n_inputs, self.sums, self.narrow = len(values), with_sums(code, place, values), []
        self.typenum = numpy.dtype(code.input_dtypes[place]).num
        for index, value in enumerate(values):
            self.values[index] = value
        memset(self.narrow_kernels, 0, sizeof(self.narrow_kernels))

    cdef inline void choose(self, Cell** operands, Cell** of_product) noexcept nogil:
        """The operands of the product."""
        memcpy(of_product, operands, self.n_product * sizeof(Cell*))
        of_product[self.n_product] = operands[self.n_product + self.n_inputs - 1]

    cdef inline int form_of(self, const Product* product) noexcept nogil:
        """The sums of very many numbers are left to the reduction."""
        return self.product.form_of(product) if product.k <= MOST_SUMMED else LARGE

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* of_product[6]
        cdef Product product
        cdef Cell* result = operands[self.n_product + self.n_inputs]
        cdef int index, number = self.n_product
        self.choose(operands, of_product)
        self.product.check(context, of_product, &product)
        if self.form_of(&product) == LARGE:
            return self.one_by_one(context, operands, of_product, &product)
        for index in range(self.n_inputs):
            if index == self.place:
                continue
            if not self.values[index] and operands[number].shape[0] not in (1, product.n):
                return self.one_by_one(context, operands, of_product, &product)        # which fails
            number += 1
        allocate(context, result, &product.n)
        return self.narrow_ready(columns_of(&product))

    cdef int narrow_ready(self, int columns) except -1 nogil:
        if self.narrow_kernels[columns] == NULL:
            with gil:
                kernel = NarrowProductKernel(self.product.dtype, columns, self.sums)
                self.narrow.append(kernel)
                self.narrow_kernels[columns] = <void*>kernel
        return (<NarrowProductKernel>self.narrow_kernels[columns]).ready()

    cdef int one_by_one(self, Context* context, Cell** operands, Cell** of_product,
                        const Product* product) except -1 nogil:
        """The three kernels; the shapes of the product have been checked."""
        cdef Cell* cells[MOST_INPUTS + 1]
        cdef Cell sums
        cdef npy_intp shape, stride
        cdef int index, number = self.n_product
        cdef int failed = 0
        memset(&sums, 0, sizeof(Cell))
        sums.ndim, sums.typenum, sums.itemsize, sums.flags = 1, self.typenum, self.product.itemsize, CELL_DEVICE
        sums.shape, sums.strides = &shape, &stride
        if self.product.form_of(product) != LARGE:
            self.product.narrow_ready(columns_of(product))
        if self.product.run(context, of_product):
            return -1
        cells[0], cells[1] = <Cell*>product.y, &sums
        try:
            self.total.prepare(context, cells)
            failed = self.total.run(context, cells)
            for index in range(self.n_inputs):
                if index == self.place:
                    cells[index] = &sums
                else:
                    cells[index] = operands[number]
                    number += 1
            cells[self.n_inputs] = operands[number + 1]
            if not failed:
                self.after.prepare(context, cells)
                failed = self.after.run(context, cells)
        finally:
            drop(context, &sums)
        return -1 if failed else 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef Cell* of_product[6]
        cdef Product product
        self.choose(operands, of_product)
        self.product.describe(of_product, &product)
        return UNBOUND if self.form_of(&product) == LARGE else BOUND

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* of_product[6]
        cdef Product product
        cdef Arguments arguments
        cdef void* narrow
        cdef int index, form, number = self.n_product
        self.choose(operands, of_product)
        self.product.describe(of_product, &product)
        form = self.form_of(&product)
        if form == LARGE:
            return 0                                # `prepare` has computed all
        put_product(&arguments, &product, <const char*>self.product.one, self.product.itemsize)
        for index in range(self.n_inputs):
            if index == self.place:
                continue
            if self.values[index]:
                put_value(&arguments, operands[number])
            else:
                put_address(&arguments, operands[number])
                put_integer(&arguments, operands[number].strides[0] if operands[number].shape[0] != 1 else 0)
            number += 1
        put_address(&arguments, operands[number + 1])
        narrow = self.narrow_kernels[columns_of(&product)]
        return (<NarrowProductKernel>narrow).start(
            form, (<NarrowProductKernel>narrow).blocks_of(&product, form) + (product.n + 7) // 8, THREADS, &arguments)


cdef class GpuBatchedProductKernel(Kernel):
    """A product for each item of a leading dimension, ``(x, y, out)``: by cuBLAS where it can, else by a kernel of the
    device that is prepared by the processor's."""
    cdef Kernel own
    cdef int left_rank, right_rank, itemsize, dtype_of_cublas
    cdef double one[2]
    cdef double zero[2]
    cdef bint by_cublas

    def __init__(self, own, dtype, int left_rank, int right_rank):
        self.own, self.left_rank, self.right_rank = own, left_rank, right_rank
        self.examined, self.binding, self.may_fail = own.examined, BOUND, True
        self.private_bytes = self.own.private_bytes
        self.itemsize = numpy.dtype(dtype).itemsize
        self.zero[0] = self.zero[1] = 0
        set_one(self.one, numpy.ones((), dtype).tobytes())
        self.dtype_of_cublas = cublas.type_of(dtype)
        self.by_cublas = config.gpu.cublas and self.dtype_of_cublas != cublas.OTHER

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return self.own.prepare(context, operands)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef int result = cublas.REFUSED
        if self.by_cublas and cublas.has_cublas and cell_size(operands[2]):
            result = self.by_library(operands)
        if result == cublas.REFUSED:
            return self.own.run(context, operands)
        return fail_library(result) if result else 0

    cdef int by_library(self, Cell** operands) noexcept nogil:
        """Vectors are matrices of one row or one column."""
        cdef const Cell* x = operands[0]
        cdef const Cell* y = operands[1]
        cdef npy_intp m = 1, n = 1, k = x.shape[self.left_rank], xs0 = 0, ys1 = 0
        if self.left_rank == 2:
            m, xs0 = x.shape[1], x.strides[1] // self.itemsize
        if self.right_rank == 2:
            n, ys1 = y.shape[2], y.strides[2] // self.itemsize
        return cublas.gemms(self.dtype_of_cublas, operands[2].shape[0], m, n, k, self.one, x.data,
                            x.strides[0] // self.itemsize if x.shape[0] != 1 else 0, xs0,
                            x.strides[self.left_rank] // self.itemsize, y.data,
                            y.strides[0] // self.itemsize if y.shape[0] != 1 else 0, y.strides[1] // self.itemsize, ys1,
                            self.zero, operands[2].data)


cdef class GpuGerKernel(DeviceKernel):
    """``A + alpha * outer(x, y)``: ``(A, alpha, x, y, out)``."""
    cdef int itemsize
    cdef double one[2]

    def __init__(self, dtype):
        self.source, self.names = product_source(dtype), NAMES
        self.itemsize = numpy.dtype(dtype).itemsize
        set_one(self.one, numpy.ones((), dtype).tobytes())

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* start = operands[0]
        self.ready()
        if start.shape[0] != operands[2].shape[0] or start.shape[1] != operands[3].shape[0]:
            with gil:
                raise ValueError(f"Shape mismatch: A of shape {shape_of(start)} cannot be added to the outer product "
                                 f"of shapes {shape_of(operands[2])} and {shape_of(operands[3])}")
        allocate(context, operands[4], start.shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Product product
        memset(&product, 0, sizeof(Product))
        product.start, product.alpha, product.x, product.y = operands[0], operands[1], operands[2], operands[3]
        product.out = operands[4]
        product.m, product.n, product.k = operands[4].shape[0], operands[4].shape[1], 1
        product.xs0, product.ys1 = operands[2].strides[0] // self.itemsize, operands[3].strides[0] // self.itemsize
        product.ss0, product.ss1 = operands[0].strides[0] // self.itemsize, operands[0].strides[1] // self.itemsize
        if product.m == 0 or product.n == 0:
            return 0
        return tiles(self, &product, <const char*>self.one, self.itemsize)


cdef int set_one(double* one, bytes bits) except -1:
    cdef int index
    one[0] = 0
    for index in range(len(bits)):
        (<char*>one)[index] = (<const char*>bits)[index]
    return 0


cdef int multiply(GpuProductKernel kernel, Product* product) noexcept nogil:
    """The product of a matrix and a vector by its rows; all others by tiles."""
    cdef int result, form = kernel.form_of(product)
    if form != LARGE:
        return multiply_narrow(kernel, product, form)
    if product.n != 1 and product.m != 1 and kernel.by_cublas and cublas.has_cublas:
        result = by_library(kernel, product)
        if result != cublas.REFUSED:
            return result and -1
    if product.n == 1:
        return times_vector(kernel, product)
    if product.m == 1:                              # the transposed matrix by the vector
        product.x, product.y = product.y, product.x
        product.xs0, product.xs1, product.ys0 = product.ys1, product.ys0, product.xs1
        product.m, product.n = product.n, 1
        product.ss0 = product.ss1
        return times_vector(kernel, product)
    return tiles(kernel, product, <const char*>kernel.one, kernel.itemsize)


cdef inline bint is_at_host(const Cell* factor) noexcept nogil:
    return factor == NULL or not factor.flags & CELL_DEVICE


cdef int by_library(GpuProductKernel kernel, Product* product) noexcept nogil:
    """The product by cuBLAS: 0, REFUSED, or another number with an exception set. What is added is copied to the result
    first, unless the result has its memory, or cublasLt adds it from where it is."""
    cdef const void* alpha = product.alpha.data if product.alpha != NULL else <char*>kernel.one
    cdef const void* beta = product.beta.data if product.start != NULL else <char*>kernel.zero
    cdef Cell start
    cdef npy_intp strides[2]
    cdef int error
    if not is_at_host(product.alpha) or not is_at_host(product.beta) or product.out.ndim != 2:
        return cublas.REFUSED
    if product.start != NULL and product.start.data != product.out.data:
        error = cublas.gemm_added(kernel.dtype_of_cublas, product.m, product.n, product.k, alpha, product.x.data,
                                  product.xs0, product.xs1, product.y.data, product.ys0, product.ys1, beta,
                                  product.start.data, product.ss0, product.ss1, product.out.data)
        if error != cublas.REFUSED:
            return fail_library(error) + 2 if error else 0
        start = product.out[0]                      # seen in the shape of the result
        strides[0], strides[1] = product.ss0 * kernel.itemsize, product.ss1 * kernel.itemsize
        start.data, start.strides = product.start.data, strides
        if copy_elements(product.out, &start) < 0:
            return 1
    error = cublas.gemm(kernel.dtype_of_cublas, product.m, product.n, product.k, alpha, product.x.data, product.xs0,
                        product.xs1, product.y.data, product.ys0, product.ys1, beta, product.out.data)
    if error == cublas.REFUSED:
        if product.start != NULL and product.start.data != product.out.data:
            product.start = product.out             # what the kernel reads is there, too
            product.ss0, product.ss1 = product.n, 1
        return cublas.REFUSED
    if error:
        fail_library(error)
        return 1
    return 0


cdef int fail_library(int error) noexcept nogil:
    with gil:
        PyErr_SetObject(RuntimeError, f"a product of matrices: error {error} of cuBLAS")
    return -1


cdef inline void put_scaling(Arguments* arguments, const Product* product) noexcept nogil:
    """The struct `Scaling` of the source."""
    put_optional(arguments, product.alpha)
    put_optional(arguments, product.beta)
    put_integer(arguments, <npy_intp>product.start.data if product.start != NULL else 0)
    put_integer(arguments, product.ss0)
    put_integer(arguments, product.ss1)


cdef inline void put_optional(Arguments* arguments, const Cell* cell) noexcept nogil:
    """The address of a factor that is on the device, else NULL."""
    put_integer(arguments, <npy_intp>cell.data if cell != NULL and cell.flags & CELL_DEVICE else 0)


cdef inline void put_factor(Arguments* arguments, const Cell* cell, const char* one, int itemsize) noexcept nogil:
    """The value of a factor that is on the host, else 1."""
    put(arguments, cell.data if cell != NULL and not cell.flags & CELL_DEVICE else one, itemsize)


cdef inline void put_result(Arguments* arguments, const Product* product, const char* one, int itemsize) noexcept nogil:
    """What the kernels of all products take last: the struct, the result, and factors on the host."""
    put_scaling(arguments, product)
    put_address(arguments, product.out)
    put_factor(arguments, product.alpha, one, itemsize)
    put_factor(arguments, product.beta, one, itemsize)


cdef int tiles(DeviceKernel kernel, Product* product, const char* one, int itemsize) noexcept nogil:
    cdef Arguments arguments
    if loaded(kernel) < 0:
        return -1
    put_product(&arguments, product, one, itemsize)
    return kernel.start(TILES, ((product.m + TILE - 1) // TILE) * ((product.n + TILE - 1) // TILE), THREADS, &arguments)


cdef void put_product(Arguments* arguments, const Product* product, const char* one, int itemsize) noexcept nogil:
    arguments.size, arguments.full = 0, False
    put_integer(arguments, product.m)
    put_integer(arguments, product.n)
    put_integer(arguments, product.k)
    put_address(arguments, product.x)
    put_integer(arguments, product.xs0)
    put_integer(arguments, product.xs1)
    put_address(arguments, product.y)
    put_integer(arguments, product.ys0)
    put_integer(arguments, product.ys1)
    put_result(arguments, product, one, itemsize)


cdef int times_vector(GpuProductKernel kernel, Product* product) noexcept nogil:
    """The rows of `x` by the vector `y`."""
    cdef Arguments arguments
    cdef Cell matrix, vector
    cdef Cell* cells[3]
    cdef npy_intp shape[2]
    cdef npy_intp row[2]
    cdef npy_intp matrix_strides[2]
    cdef npy_intp vector_strides[2]
    shape[0], shape[1], row[0], row[1] = product.m, product.k, 1, product.k
    matrix_strides[0], matrix_strides[1] = product.xs0 * kernel.itemsize, product.xs1 * kernel.itemsize
    vector_strides[0], vector_strides[1] = 0, product.ys0 * kernel.itemsize
    matrix.data, matrix.shape, matrix.strides = product.x.data, shape, matrix_strides
    vector.data, vector.shape, vector.strides = product.y.data, row, vector_strides
    cells[0], cells[1] = &matrix, &vector
    arguments.size, arguments.full = 0, False
    put_address(&arguments, product.x)
    put_address(&arguments, product.y)
    put_result(&arguments, product, <const char*>kernel.one, kernel.itemsize)
    return kernel.by_vector.fold(cells, 2, shape, 2, &arguments)
