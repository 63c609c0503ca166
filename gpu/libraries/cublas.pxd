"""Products of matrices by cuBLAS; see ``cublas.pyx``."""
from numpy cimport npy_intp

# Whether cuBLAS has been found.
cdef bint has_cublas
# out = alpha x.y + beta out, out in C order; strides in elements, 4 or 8 bytes each. Returns 0, or an error of cuBLAS;
# REFUSED: cuBLAS cannot take operands with these strides or lengths, and nothing was done.
cdef enum:
    REFUSED = -1
cdef int gemm(int itemsize, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x, npy_intp xs0,
              npy_intp xs1, const char* y, npy_intp ys0, npy_intp ys1, const void* beta, char* out) noexcept nogil
# The same for each item of a batch; `next_x` and `next_y` are elements from item to item, 0 if all have one.
cdef int gemms(int itemsize, npy_intp items, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x,
               npy_intp next_x, npy_intp xs0, npy_intp xs1, const char* y, npy_intp next_y, npy_intp ys0, npy_intp ys1,
               const void* beta, char* out) noexcept nogil
