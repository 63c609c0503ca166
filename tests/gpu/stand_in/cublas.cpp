// The functions of cuBLAS that phintys calls, on the memory of the stand-in: matrices are stored by columns. Products are
// work in a stream of the driver's stand-in, so that they can be captured.
#include <complex>
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
    if (!handle || (asked != 0 && asked != 3 && asked != 16)) return INVALID_VALUE;
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

// Of any type: float16 has sums of float32, and alpha and beta, too.
enum { SINGLES = 0, DOUBLES = 1, HALVES = 2, COMPLEX_SINGLES = 4, COMPLEX_DOUBLES = 5, SUMS_32 = 68, SUMS_64 = 70 };
struct Any {
    int ta, tb, m, n, k, lda, ldb, ldc;
    const void *alpha, *a, *b, *beta;
    void* c;
};
template <class S, class T> static int gemm_of(const Any& p, long long next_a, long long next_b, long long next_c, int items) {
    const S* a = (const S*)p.a;
    const S* b = (const S*)p.b;
    S* c = (S*)p.c;
    const T alpha = *(const T*)p.alpha, beta = *(const T*)p.beta;
    return submitted([=] {
        for (int item = 0; item < items; item++)
            for (long j = 0; j < p.n; j++)
                for (long i = 0; i < p.m; i++) {
                    T sum = 0;
                    for (long d = 0; d < p.k; d++)
                        sum += (T)a[item * next_a + (p.ta ? d + i * p.lda : i + d * p.lda)]
                            * (T)b[item * next_b + (p.tb ? j + d * p.ldb : d + j * p.ldb)];
                    S& target = c[item * next_c + i + j * p.ldc];
                    target = (S)(alpha * sum + (beta == (T)0 ? (T)0 : beta * (T)target));
                }
        return 0;
    });
}
static int gemm_any(void* handle, const Any& p, int ka, int kb, int kc, int sums, long long next_a, long long next_b,
                    long long next_c, int items) {
    if (!handle) return NOT_INITIALIZED;
    if (p.m < 1 || p.n < 1 || p.k < 1 || !fits(p.ta, p.m, p.k, p.lda) || !fits(p.tb, p.k, p.n, p.ldb) || p.ldc < p.m
        || ka != kb || ka != kc || sums != (ka == DOUBLES || ka == COMPLEX_DOUBLES ? SUMS_64 : SUMS_32)
        || (ka == HALVES) != (mode == 16))
        return INVALID_VALUE;
    calls++;
    switch (ka) {
        case SINGLES: return gemm_of<float, float>(p, next_a, next_b, next_c, items);
        case DOUBLES: return gemm_of<double, double>(p, next_a, next_b, next_c, items);
        case HALVES: return gemm_of<_Float16, float>(p, next_a, next_b, next_c, items);
        case COMPLEX_SINGLES: return gemm_of<std::complex<float>, std::complex<float>>(p, next_a, next_b, next_c, items);
        case COMPLEX_DOUBLES: return gemm_of<std::complex<double>, std::complex<double>>(p, next_a, next_b, next_c, items);
        default: return INVALID_VALUE;
    }
}
EXPORT int cublasGemmEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int ka, int lda,
                        const void* b, int kb, int ldb, const void* beta, void* c, int kc, int ldc, int sums,
                        int algorithm) {
    if (algorithm != -1) return INVALID_VALUE;
    return gemm_any(handle, {ta, tb, m, n, k, lda, ldb, ldc, alpha, a, b, beta, c}, ka, kb, kc, sums, 0, 0, 0, 1);
}
EXPORT int cublasGemmStridedBatchedEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,
                                      int ka, int lda, long long next_a, const void* b, int kb, int ldb, long long next_b,
                                      const void* beta, void* c, int kc, int ldc, long long next_c, int items, int sums,
                                      int algorithm) {
    if (algorithm != -1 || items < 1 || next_a < 0 || next_b < 0 || next_c < (long long)m * n) return INVALID_VALUE;
    return gemm_any(handle, {ta, tb, m, n, k, lda, ldb, ldc, alpha, a, b, beta, c}, ka, kb, kc, sums, next_a, next_b,
                    next_c, items);
}
// Only with the matrix at the right: b = b inverse(op(a)).
template <class T> static int trsm(void* handle, int side, int uplo, int trans, int unit, int m, int n, const T* alpha,
                                   const T* a, int lda, T* b, int ldb) {
    if (!handle) return NOT_INITIALIZED;
    if (side != 1 || (uplo | trans | unit) & ~1 || m < 1 || n < 1 || lda < n || ldb < m || *alpha != 1) return INVALID_VALUE;
    calls++;
    return submitted([=] {
        const bool upper = (uplo == 1) != (trans == 1);     // op(a)
        for (long row = 0; row < m; row++)
            for (int step = 0; step < n; step++) {
                const long c = upper ? step : n - 1 - step;
                T value = b[row + c * ldb];
                for (long j = upper ? 0 : c + 1; j < (upper ? c : n); j++)
                    value -= b[row + j * ldb] * (trans ? a[c + j * lda] : a[j + c * lda]);
                b[row + c * ldb] = unit ? value : value / a[c + c * lda];
            }
        return 0;
    });
}
EXPORT int cublasStrsm_v2(void* handle, int side, int uplo, int trans, int unit, int m, int n, const float* alpha,
                          const float* a, int lda, float* b, int ldb) {
    return trsm(handle, side, uplo, trans, unit, m, n, alpha, a, lda, b, ldb);
}
EXPORT int cublasDtrsm_v2(void* handle, int side, int uplo, int trans, int unit, int m, int n, const double* alpha,
                          const double* a, int lda, double* b, int ldb) {
    return trsm(handle, side, uplo, trans, unit, m, n, alpha, a, lda, b, ldb);
}
template <class T> static int geam(void* handle, int ta, int tb, int m, int n, const T* alpha, const T* a, int lda,
                                   const T* beta, T* c, int ldc) {
    if (!handle || ta || tb || m < 1 || n < 1 || *alpha != 1 || *beta != 0 || lda < m || ldc < m) return INVALID_VALUE;
    return submitted([=] {
        for (long j = 0; j < n; j++)
            for (long i = 0; i < m; i++) c[i + j * ldc] = a[i + j * lda];
        return 0;
    });
}
EXPORT int cublasSgeam(void* handle, int ta, int tb, int m, int n, const float* alpha, const float* a, int lda,
                       const float* beta, const float*, int, float* c, int ldc) {
    return geam(handle, ta, tb, m, n, alpha, a, lda, beta, c, ldc);
}
EXPORT int cublasDgeam(void* handle, int ta, int tb, int m, int n, const double* alpha, const double* a, int lda,
                       const double* beta, const double*, int, double* c, int ldc) {
    return geam(handle, ta, tb, m, n, alpha, a, lda, beta, c, ldc);
}
EXPORT long stand_in_products() { return calls; }
EXPORT long stand_in_calls() { return calls; }
EXPORT long stand_in_products_in_tf32() { return in_tf32; }    // that were called while the handle was in this mode
