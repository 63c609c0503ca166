"""BLAS as C function pointers; see ``blas_library.pyx``."""

# Fortran conventions: everything by pointer, matrices in column order. Pointers are typed void* because one signature
# serves the four element types.
ctypedef void (*GemmFunction)(char* trans_a, char* trans_b, int* m, int* n, int* k, void* alpha, void* a, int* lda,
                              void* b, int* ldb, void* beta, void* c, int* ldc) noexcept nogil
ctypedef void (*GemvFunction)(char* trans, int* m, int* n, void* alpha, void* a, int* lda, void* x, int* incx,
                              void* beta, void* y, int* incy) noexcept nogil
ctypedef float (*FloatDotFunction)(int* n, float* x, int* incx, float* y, int* incy) noexcept nogil
ctypedef double (*DoubleDotFunction)(int* n, double* x, int* incx, double* y, int* incy) noexcept nogil

cdef struct BlasFunctions:
    GemmFunction gemm
    GemvFunction gemv
    void* dot                      # NULL for complex elements, whose results have no portable calling convention

# The functions for a NumPy type number; loads the library at the first call. TypeError for other element types.
cdef BlasFunctions blas_functions(int typenum) except *

# Between these two BLAS runs on one thread; calls nest and may come from several threads at once. The setting the user
# had is back when the last one leaves. They do nothing for a BLAS whose threads cannot be set.
cdef void enter_single_thread() noexcept nogil
cdef void leave_single_thread() noexcept nogil
# How many threads the user lets BLAS use; 1 when that is not known.
cdef int wanted_threads() noexcept nogil
