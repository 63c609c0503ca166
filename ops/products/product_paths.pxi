# What computes a product: built-in loops or BLAS. Included by blas_kernel.pyx.
#
# Measured on a Xeon with AVX-512 (family 6, model 167), one thread, against SciPy's OpenBLAS 0.3, for AVX2 with
# OPENBLAS_CORETYPE=Haswell: 32 x 64 by 64 x 64 in float64 2.7 and 2.7 us (AVX2 4.7 and 7.2), by its transpose 3.4 and
# 5.4 us (5.3 and 6.4), 60 x 784 by 784 x 500 608 and 729 us (925 and 1024). A product has m * n * k multiplications.

cdef enum Path:
    LOOPS = 0                      # float_product_loops.h or small_product_loops.h; the others are calls of BLAS:
    DOT = 1                        # vector by vector
    MATRIX_VECTOR = 2
    VECTOR_MATRIX = 3
    GEMM = 4                       # matrix by matrix

# Multiplications up to which loops are faster than a call of BLAS, for complex numbers and for floats without AVX2.
cdef double SMALL_ROWS = 600       # matrix by vector, memory along the rows: 24 x 24
cdef double SMALL_COLUMNS = 4096   # matrix by vector, memory along the columns: 64 x 64
cdef double SMALL_COMPLEX = 50     # matrix by vector, complex: 7 x 7
cdef double SMALL_MATRIX = 125     # matrix by matrix: 5 x 5 by 5 x 5

# With AVX2 loops are faster until the operands leave the caches, which BLAS divides into blocks. An x whose memory runs
# along its columns leaves them sooner: each of its numbers is in another page. On a Xeon of family 6, model 207,
# 784 x 1024 by 1024 x 500 in float32 5.74 and 5.34 ms, with x by columns 6.5 and 5.2 ms.
cdef npy_intp LONGEST_SUM = 1024
cdef double CACHED_BYTES = 1048576 # of the smaller operand
cdef double CACHED_COLUMNS = 262144            # of an x by columns with AVX2; twice as much with AVX-512
cdef npy_intp LONGEST_DOT = 256    # BLAS adds up one long row by several sums
# With AVX-512, OpenBLAS has functions of its own for small matrices. From so many multiplications on they are faster
# for results that are narrow, or that have few rows.
cdef double FEW_MULTIPLICATIONS = 8000
cdef npy_intp NARROW_BYTES = 96    # of a row
cdef npy_intp FEW_ROWS = 4
cdef npy_intp FEW_ROWS_BY_COLUMNS = 8          # of a product with a y whose memory runs along its columns
cdef double SMALL_BYTES = 1048576  # of y


cdef inline double multiplications(const Product* product) noexcept nogil:
    return <double>product.m * <double>product.n * <double>product.k


cdef inline double plain_limit(const Product* product, int itemsize, bint is_complex) noexcept nogil:
    """Multiplications up to which simple loops are faster than BLAS."""
    cdef bint by_columns                # whether the matrix is contiguous along the results instead of the sums
    if product.m > 1 and product.n > 1:
        return SMALL_MATRIX
    if is_complex:
        return SMALL_COMPLEX
    by_columns = product.xs1 != itemsize if product.n == 1 and product.m > 1 else product.ys1 == itemsize
    return SMALL_COLUMNS if by_columns else SMALL_ROWS


cdef inline bint loops_are_faster(const Product* product, int itemsize, bint wide) noexcept nogil:
    """Whether the loops for AVX2, or AVX-512 (``wide``), are faster than BLAS."""
    cdef npy_intp m = product.m, n = product.n, k = product.k
    if m == 1 and n == 1:
        return k <= LONGEST_DOT
    if m == 1 or n == 1:
        return loops_take_vector(product, itemsize)
    if k > LONGEST_SUM or <double>min(m, n) * k * itemsize > CACHED_BYTES:
        return False
    if product.xs1 != itemsize and <double>m * k * itemsize > (2 if wide else 1) * CACHED_COLUMNS:
        return False
    if not wide or multiplications(product) <= FEW_MULTIPLICATIONS:
        return True
    if n * itemsize < NARROW_BYTES and n * itemsize != 64:
        return False
    return m >= (FEW_ROWS if product.ys1 == itemsize else FEW_ROWS_BY_COLUMNS) or <double>k * n * itemsize > SMALL_BYTES


cdef inline bint loops_take_vector(const Product* product, int itemsize) noexcept nogil:
    """Matrix by vector: whether the matrix is contiguous in one direction, and large in both."""
    cdef npy_intp length = product.n if product.m == 1 else product.m
    cdef npy_intp inner = product.ys0 if product.m == 1 else product.xs1        # strides of the matrix
    cdef npy_intp outer = product.ys1 if product.m == 1 else product.xs0
    cdef npy_intp step = product.xs1 if product.m == 1 else product.ys0         # and of the vector
    if multiplications(product) <= SMALL_ROWS:
        return True
    if inner != itemsize and outer != itemsize:
        return False
    return length >= FEW_ROWS and step == itemsize and multiplications(product) * itemsize <= CACHED_BYTES
