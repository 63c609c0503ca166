"""BLAS as C function pointers; see ``blas_library.pyx``."""

# Fortran conventions: all arguments are pointers, and matrices are in column order. Pointers have type void*, so that
# one signature covers the four element types.
ctypedef void (*GemmFunction)(char* trans_a, char* trans_b, int* m, int* n, int* k, void* alpha, void* a, int* lda,
                              void* b, int* ldb, void* beta, void* c, int* ldc) noexcept nogil
ctypedef void (*GemvFunction)(char* trans, int* m, int* n, void* alpha, void* a, int* lda, void* x, int* incx,
                              void* beta, void* y, int* incy) noexcept nogil
ctypedef float (*FloatDotFunction)(int* n, float* x, int* incx, float* y, int* incy) noexcept nogil
ctypedef double (*DoubleDotFunction)(int* n, double* x, int* incx, double* y, int* incy) noexcept nogil

cdef struct BlasFunctions:
    GemmFunction gemm
    GemvFunction gemv
    void* dot                      # NULL for complex elements: there is no portable convention for returning them

# The functions for a NumPy type number; the first call loads the library. Raises TypeError for other element types.
cdef BlasFunctions blas_functions(int typenum) except *

# The address of a function of BLAS or LAPACK, named without its first letter (``"potrf"``), for a NumPy type number.
# Loads the libraries at the first call. Raises TypeError for other element types, KeyError for an unknown name.
cdef void* library_function(str name, int typenum) except NULL

# Between these two calls BLAS runs on one thread. Calls may be nested and made by several threads at once; the last
# call of leave restores the user's setting. They have no effect for a BLAS whose number of threads cannot be set.
cdef void enter_single_thread() noexcept nogil
cdef void leave_single_thread() noexcept nogil
# The number of threads that the user permits BLAS to use; 1 if that is not known.
cdef int wanted_threads() noexcept nogil
