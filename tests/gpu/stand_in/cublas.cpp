// The functions of cuBLAS that phintys calls, on the memory of the stand-in: matrices are stored by columns. Products are
// work in a stream of the driver's stand-in, so that they can be captured.
#include "library.h"
enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7 };

static long calls, in_tf32;
static int mode;

static bool fits(int transposed, int rows, int columns, int leading) {
    return leading >= (transposed ? columns : rows) && leading > 0;
}
template <class T>
static int gemm(void* handle, int ta, int tb, int m, int n, int k, const T* alpha, const T* a, int lda, const T* b,
                int ldb, const T* beta, T* c, int ldc) {
    if (!handle) return NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || !fits(ta, m, k, lda) || !fits(tb, k, n, ldb) || ldc < m) return INVALID_VALUE;
    calls++;
    in_tf32 += mode == 3;
    const T factor = *alpha, old = *beta;
    return submitted([=] {
    for (long j = 0; j < n; j++)
        for (long i = 0; i < m; i++) {
            T sum = 0;
            for (long d = 0; d < k; d++)
                sum += (ta ? a[d + i * lda] : a[i + d * lda]) * (tb ? b[j + d * ldb] : b[d + j * ldb]);
            c[i + j * ldc] = factor * sum + (old == 0 ? (T)0 : old * c[i + j * ldc]);
        }
    return 0;
    });
}

template <class T>
static int gemms(void* handle, int ta, int tb, int m, int n, int k, const T* alpha, const T* a, int lda, long long next_a,
                 const T* b, int ldb, long long next_b, const T* beta, T* c, int ldc, long long next_c, int items) {
    if (items < 1 || next_a < 0 || next_b < 0 || next_c < (long long)m * n) return INVALID_VALUE;
    int error = SUCCESS;
    for (int item = 0; item < items && !error; item++)
        error = gemm(handle, ta, tb, m, n, k, alpha, a + item * next_a, lda, b + item * next_b, ldb, beta,
                     c + item * next_c, ldc);
    calls -= error ? 0 : items - 1;
    return error;
}

EXPORT int cublasSetStream_v2(void* handle, void* stream) { stream_of_library = stream; return SUCCESS; }
EXPORT int cublasSetWorkspace_v2(void* handle, void* memory, unsigned long size) {
    return memory && size >= 4 << 20 ? SUCCESS : INVALID_VALUE;
}
EXPORT int cublasSetMathMode(void* handle, int asked) {
    if (!handle || (asked != 0 && asked != 3)) return INVALID_VALUE;
    mode = asked;
    return SUCCESS;
}
EXPORT int cublasCreate_v2(void** handle) { *handle = &calls; return SUCCESS; }
EXPORT int cublasSgemm_v2(void* handle, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda,
                          const float* b, int ldb, const float* beta, float* c, int ldc) {
    return gemm(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
EXPORT int cublasDgemm_v2(void* handle, int ta, int tb, int m, int n, int k, const double* alpha, const double* a,
                          int lda, const double* b, int ldb, const double* beta, double* c, int ldc) {
    return gemm(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
EXPORT int cublasSgemmStridedBatched(void* handle, int ta, int tb, int m, int n, int k, const float* alpha, const float* a,
                                     int lda, long long next_a, const float* b, int ldb, long long next_b,
                                     const float* beta, float* c, int ldc, long long next_c, int items) {
    return gemms(handle, ta, tb, m, n, k, alpha, a, lda, next_a, b, ldb, next_b, beta, c, ldc, next_c, items);
}
EXPORT int cublasDgemmStridedBatched(void* handle, int ta, int tb, int m, int n, int k, const double* alpha,
                                     const double* a, int lda, long long next_a, const double* b, int ldb,
                                     long long next_b, const double* beta, double* c, int ldc, long long next_c,
                                     int items) {
    return gemms(handle, ta, tb, m, n, k, alpha, a, lda, next_a, b, ldb, next_b, beta, c, ldc, next_c, items);
}
EXPORT long stand_in_products() { return calls; }
EXPORT long stand_in_products_in_tf32() { return in_tf32; }    // that were called while the handle was in this mode
