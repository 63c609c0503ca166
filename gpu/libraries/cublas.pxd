"""Products of matrices by cuBLAS; see ``cublas.pyx``."""
from numpy cimport npy_intp

# Whether cuBLAS has been found.
cdef bint has_cublas
# The dtypes of products. Of HALF the sums and factors are in float32.
cdef enum Of:
    SINGLE, FULL, HALF, COMPLEX_SINGLE, COMPLEX_FULL, OTHER
cdef int type_of(str dtype) except -1
# out = alpha x.y + beta out, out in C order; strides in elements. Returns 0, or an error of cuBLAS; REFUSED: cuBLAS
# cannot take operands with these strides or lengths, and nothing was done.
cdef enum:
    REFUSED = -1
cdef int gemm(int of, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x, npy_intp xs0,
              npy_intp xs1, const char* y, npy_intp ys0, npy_intp ys1, const void* beta, char* out) noexcept nogil
# out = alpha x.y + beta start, of which rows have no gaps, in one call.
cdef int gemm_added(int of, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x, npy_intp xs0,
                    npy_intp xs1, const char* y, npy_intp ys0, npy_intp ys1, const void* beta, const char* start,
                    npy_intp ss0, npy_intp ss1, char* out) noexcept nogil
# The same for each item of a batch; `next_x` and `next_y` are elements from item to item, 0 if all have one.
cdef int gemms(int of, npy_intp items, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x,
               npy_intp next_x, npy_intp xs0, npy_intp xs1, const char* y, npy_intp next_y, npy_intp ys0, npy_intp ys1,
               const void* beta, char* out) noexcept nogil
# y = inverse(x) y for a triangular matrix x of order n; y in C order with so many columns. `lower` is the triangle of
# what x is, whose transpose is solved with if `transposed`. Only of matrices for which `can_trsm`.
cdef bint can_trsm(npy_intp n, npy_intp xs0, npy_intp xs1) noexcept nogil
cdef int trsm(int of, npy_intp n, npy_intp columns, bint lower, bint transposed, bint unit, const char* x, npy_intp xs0,
              npy_intp xs1, char* y) noexcept nogil
