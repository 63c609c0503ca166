"""Products of matrices, as other kernels of the device use them; see ``product_kernel.pyx``."""
from numpy cimport npy_intp

from phintys.gpu.kernels.reduction_kernel cimport FoldKernel
from phintys.gpu.runtime.driver cimport Arguments
from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.vm.abi cimport Cell, Context

cdef enum:
    DEEP = 0                        # kernels of narrow products
    DOWN = 1
    SHALLOW = 2
    LARGE = 3                       # a product that is none
    MOST_NARROW = 32                # columns or terms of a narrow one

cdef struct Product:                # m x k times k x n; strides in elements
    const Cell* x
    const Cell* y
    const Cell* start               # what is added, or NULL
    const Cell* alpha
    const Cell* beta
    Cell* out
    npy_intp m, n, k
    npy_intp xs0, xs1, ys0, ys1, ss0, ss1

cdef class VectorProduct(FoldKernel):
    pass

cdef class GpuProductKernel(DeviceKernel):
    cdef str form
    cdef int left_rank, right_rank, itemsize
    cdef int dtype_of_cublas
    cdef bint spread[2]
    cdef double one[2]              # in the bits of the dtype
    cdef double zero[2]
    cdef bint by_cublas
    cdef VectorProduct by_vector
    cdef list narrow                # kernels of narrow products, by their columns
    cdef void* narrow_kernels[MOST_NARROW + 1]      # the same, or NULL
    cdef object dtype               # None: products of other dtypes are never narrow
    cdef int kind                   # of operands: plain, scaled, accumulated
    cdef void sort(self, Cell** operands, Product* product) noexcept nogil
    # Compare the shapes, and allocate the result.
    cdef int check(self, Context* context, Cell** operands, Product* product) except -1 nogil
    # Make what computes a narrow product with so many columns.
    cdef int narrow_ready(self, int columns) except -1 nogil
    # All of a product whose result has its shape.
    cdef void describe(self, Cell** operands, Product* product) noexcept nogil
    # Which kernel of `narrow_source` computes a product, or LARGE.
    cdef int form_of(self, const Product* product) noexcept nogil

cdef class NarrowProductKernel(DeviceKernel):
    cdef int rows
    cdef list pieces                # a kernel for each form, compiled when it is first needed
    cdef void* forms[3]             # the same
    # How many blocks the launch of a form has.
    cdef npy_intp blocks_of(self, const Product* product, int form) noexcept nogil

cdef inline int columns_of(const Product* product) noexcept nogil:
    """For how many columns the kernel of a narrow product is compiled; few terms need none of their own."""
    return <int>product.n if product.n <= MOST_NARROW else 1

# What the kernels of products take first.
cdef void put_product(Arguments* arguments, const Product* product, const char* one, int itemsize) noexcept nogil
