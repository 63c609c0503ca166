"""Products of matrices by cuBLAS, where its library is found; nothing is compiled against it.

cuBLAS stores matrices by columns, so a product in C order is the product of the transposed operands in the other order.
An operand needs elements without gaps along one of its dimensions. Float32 is computed in float32 (no TF32). There is
one handle, on the default stream, and a lock, as a handle serves one thread at a time.
"""
from numpy cimport npy_intp

import importlib.util
from pathlib import Path

from phintys.gpu.runtime cimport driver

cdef extern from * nogil:
    """
    #include <dlfcn.h>
    #include <limits.h>
    #include <pthread.h>
    typedef int (*phintys_gemm)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
                                const void*, void*, int);
    static struct {
        int (*create)(void**);
        phintys_gemm single, full;
    } cublas;
    static void* phintys_cublas;
    static pthread_mutex_t phintys_cublas_lock = PTHREAD_MUTEX_INITIALIZER;
    static int phintys_open_cublas(const char* name) {
        void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library) return 0;
        cublas.create = (int (*)(void**))dlsym(library, "cublasCreate_v2");
        cublas.single = (phintys_gemm)dlsym(library, "cublasSgemm_v2");
        cublas.full = (phintys_gemm)dlsym(library, "cublasDgemm_v2");
        phintys_cublas = NULL;
        return cublas.create && cublas.single && cublas.full;
    }
    static int phintys_call_gemm(int itemsize, int left, int right, int m, int n, int k, const void* alpha,
                                 const void* a, int lda, const void* b, int ldb, const void* beta, void* c, int ldc) {
        int error = 0;
        pthread_mutex_lock(&phintys_cublas_lock);
        if (!phintys_cublas) error = cublas.create(&phintys_cublas);
        if (!error)
            error = (itemsize == 4 ? cublas.single : cublas.full)(phintys_cublas, left, right, m, n, k, alpha, a, lda,
                                                                 b, ldb, beta, c, ldc);
        pthread_mutex_unlock(&phintys_cublas_lock);
        return error;
    }
    """
    int phintys_open_cublas(const char*)
    int phintys_call_gemm(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*,
                          void*, int)
    enum: INT_MAX

cdef enum:
    AS_IT_IS = 0                    # CUBLAS_OP_N
    TRANSPOSED = 1                  # CUBLAS_OP_T

NAMES = ("libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so")

has_cublas = False


def packaged():
    """The libraries of the packages nvidia-cublas, the newest first."""
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec is not None else ()
    return sorted([str(path) for folder in folders or () for path in Path(folder).glob("*/lib/libcublas.so.*")],
                  reverse=True)


def find_cublas():
    """Load cuBLAS, if it is installed; return whether it is."""
    global has_cublas
    has_cublas = False
    for name in (*NAMES, *packaged()):
        has_cublas = has_cublas or phintys_open_cublas(name.encode()) != 0
    return has_cublas


cdef inline int order_of(npy_intp rows, npy_intp columns, npy_intp s0, npy_intp s1, int* leading) noexcept nogil:
    """How cuBLAS sees a matrix whose transpose it is to read: as it is, if rows have no gaps; REFUSED if neither rows
    nor columns are so."""
    if (s1 == 1 or columns == 1) and (rows == 1 or s0 >= columns):
        leading[0] = <int>(s0 if rows > 1 else columns)
        return AS_IT_IS if leading[0] <= INT_MAX else REFUSED
    if (s0 == 1 or rows == 1) and (columns == 1 or s1 >= rows):
        leading[0] = <int>(s1 if columns > 1 else rows)
        return TRANSPOSED if leading[0] <= INT_MAX else REFUSED
    return REFUSED


cdef int gemm(int itemsize, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x, npy_intp xs0,
              npy_intp xs1, const char* y, npy_intp ys0, npy_intp ys1, const void* beta, char* out) noexcept nogil:
    cdef int x_leading = 0, y_leading = 0, x_order, y_order
    if m > INT_MAX or n > INT_MAX or k > INT_MAX or xs0 > INT_MAX or xs1 > INT_MAX or ys0 > INT_MAX or ys1 > INT_MAX:
        return REFUSED
    x_order = order_of(m, k, xs0, xs1, &x_leading)
    y_order = order_of(k, n, ys0, ys1, &y_leading)
    if x_order == REFUSED or y_order == REFUSED or k == 0:
        return REFUSED
    if driver.enter_device() != 0:
        return 1
    return phintys_call_gemm(itemsize, y_order, x_order, <int>n, <int>m, <int>k, alpha, y, y_leading, x, x_leading,
                             beta, out, <int>n)
