// The functions of cuSOLVER that phintys calls, on the memory of the stand-in: matrices are stored by columns.
#include <algorithm>
#include <cmath>
#include <vector>
#include "library.h"
enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 3, WORK = 64 };

static long calls;
static int checked(void* handle, bool valid) {
    if (!handle) return NOT_INITIALIZED;
    calls += valid;
    return valid ? SUCCESS : INVALID_VALUE;
}
template <class T> struct Matrix {
    T* data;
    long leading;
    bool transposed;
    T& operator()(long row, long column) const {
        return transposed ? data[column + row * leading] : data[row + column * leading];
    }
};
// The factor in the upper triangle of a matrix, or of its transpose; it is mirrored in the other triangle.
template <class T> static int factor(const Matrix<T>& a, int n) {
    for (int k = 0; k < n; k++) {
        T pivot = a(k, k);
        for (int j = 0; j < k; j++) pivot -= a(j, k) * a(j, k);
        if (!(pivot > 0)) return k + 1;
        a(k, k) = std::sqrt(pivot);
        for (int c = k + 1; c < n; c++) {
            T sum = a(k, c);
            for (int j = 0; j < k; j++) sum -= a(j, k) * a(j, c);
            a(k, c) = a(c, k) = sum / a(k, k);
        }
    }
    return 0;
}
template <class T> static int potrf(void* handle, int uplo, int n, T* a, int lda, T* work, int room, int* info) {
    if (int error = checked(handle, (uplo == 0 || uplo == 1) && n > 0 && lda >= n && room >= WORK && work)) return error;
    return submitted([=] {
        std::fill(work, work + WORK, (T)-1);
        *info = factor(Matrix<T>{a, lda, uplo == 0}, n);
        return 0;
    });
}
template <class T> static int potrfs(void* handle, int uplo, int n, T** a, int lda, int* info, int count) {
    if (int error = checked(handle, (uplo == 0 || uplo == 1) && n > 0 && lda >= n && count > 0)) return error;
    return submitted([=] {
        for (int item = 0; item < count; item++) info[item] = factor(Matrix<T>{a[item], lda, uplo == 0}, n);
        return 0;
    });
}
template <class T> static int getrf(void* handle, int m, int n, T* a, int lda, T* work, int* pivots, int* info) {
    if (int error = checked(handle, m == n && n > 0 && lda >= n && work && pivots)) return error;
    return submitted([=] {
        std::fill(work, work + WORK, (T)-1);
        const Matrix<T> x{a, lda, false};
        *info = 0;
        for (int k = 0; k < n; k++) {
            int chosen = k;
            for (int r = k + 1; r < n; r++)
                if (std::fabs(x(r, k)) > std::fabs(x(chosen, k))) chosen = r;
            pivots[k] = chosen + 1;
            for (int c = 0; c < n && chosen != k; c++) std::swap(x(k, c), x(chosen, c));
            if (x(k, k) == 0) {
                if (!*info) *info = k + 1;
                continue;
            }
            for (int r = k + 1; r < n; r++) {
                x(r, k) /= x(k, k);
                for (int c = k + 1; c < n; c++) x(r, c) -= x(r, k) * x(k, c);
            }
        }
        return 0;
    });
}
template <class T>
static int getrs(void* handle, int trans, int n, int sides, const T* a, int lda, const int* pivots, T* b, int ldb,
                 int* info) {
    if (int error = checked(handle, (trans == 0 || trans == 1) && n > 0 && sides > 0 && lda >= n && ldb >= n && info))
        return error;
    return submitted([=] {
        const Matrix<T> x{const_cast<T*>(a), lda, trans == 1};
        *info = 0;
        for (int c = 0; c < sides; c++) {
            T* y = b + (long)c * ldb;
            for (int k = 0; k < n && !trans; k++) std::swap(y[k], y[pivots[k] - 1]);
            for (int k = 0; k < n; k++) {           // the lower triangle, with a diagonal of ones if it is L
                for (int j = 0; j < k; j++) y[k] -= x(k, j) * y[j];
                if (trans) y[k] /= x(k, k);
            }
            for (int k = n - 1; k >= 0; k--) {
                for (int j = k + 1; j < n; j++) y[k] -= x(k, j) * y[j];
                if (!trans) y[k] /= x(k, k);
            }
            for (int k = n - 1; k >= 0 && trans; k--) std::swap(y[k], y[pivots[k] - 1]);
        }
        return 0;
    });
}
// Jacobi's rotations.
template <class T>
static int syevd(void* handle, int vectors, int uplo, int n, T* a, int lda, T* values, T* work, int room, int* info) {
    if (int error = checked(handle, (uplo == 0 || uplo == 1) && (vectors == 0 || vectors == 1) && n > 0 && lda >= n
                                        && room >= WORK && work))
        return error;
    return submitted([=] {
        std::fill(work, work + WORK, (T)-1);
        std::vector<double> x((long)n * n), v((long)n * n);
        for (int r = 0; r < n; r++)
            for (int c = 0; c < n; c++) {
                const bool there = uplo == 0 ? r >= c : r <= c;
                x[r * n + c] = there ? a[r + (long)c * lda] : a[c + (long)r * lda];
                v[r * n + c] = r == c;
            }
        for (int sweep = 0; sweep < 30; sweep++)
            for (int p = 0; p < n; p++)
                for (int q = p + 1; q < n; q++) {
                    if (x[p * n + q] == 0) continue;
                    const double theta = (x[q * n + q] - x[p * n + p]) / (2 * x[p * n + q]);
                    const double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::sqrt(1 + theta * theta));
                    const double c = 1 / std::sqrt(1 + t * t), s = c * t;
                    for (int k = 0; k < n; k++) {
                        const double first = x[k * n + p], second = x[k * n + q];
                        x[k * n + p] = c * first - s * second, x[k * n + q] = s * first + c * second;
                        const double one = v[k * n + p], other = v[k * n + q];
                        v[k * n + p] = c * one - s * other, v[k * n + q] = s * one + c * other;
                    }
                    for (int k = 0; k < n; k++) {
                        const double first = x[p * n + k], second = x[q * n + k];
                        x[p * n + k] = c * first - s * second, x[q * n + k] = s * first + c * second;
                    }
                }
        std::vector<int> order(n);
        for (int k = 0; k < n; k++) order[k] = k;
        std::sort(order.begin(), order.end(), [&](int i, int j) { return x[i * n + i] < x[j * n + j]; });
        for (int k = 0; k < n; k++) {
            values[k] = x[order[k] * n + order[k]];
            for (int r = 0; r < n && vectors; r++) a[r + (long)k * lda] = v[r * n + order[k]];
        }
        *info = 0;
        return 0;
    });
}
template <class T> static int square_room(void* handle, int n, int lda, int* room) {
    *room = WORK;
    return !handle ? NOT_INITIALIZED : n > 0 && lda >= n ? SUCCESS : INVALID_VALUE;
}

EXPORT int cusolverDnCreate(void** handle) { *handle = &calls; return SUCCESS; }
EXPORT int cusolverDnSetStream(void* handle, void* stream) {
    stream_of_library = stream;
    return handle ? SUCCESS : NOT_INITIALIZED;
}
#define FUNCTIONS(L, T) \
    EXPORT int cusolverDn##L##potrf_bufferSize(void* h, int, int n, T*, int lda, int* room) { \
        return square_room<T>(h, n, lda, room); \
    } \
    EXPORT int cusolverDn##L##potrf(void* h, int uplo, int n, T* a, int lda, T* work, int room, int* info) { \
        return potrf(h, uplo, n, a, lda, work, room, info); \
    } \
    EXPORT int cusolverDn##L##potrfBatched(void* h, int uplo, int n, T** a, int lda, int* info, int count) { \
        return potrfs(h, uplo, n, a, lda, info, count); \
    } \
    EXPORT int cusolverDn##L##getrf_bufferSize(void* h, int m, int n, T*, int lda, int* room) { \
        return square_room<T>(h, m == n ? n : 0, lda, room); \
    } \
    EXPORT int cusolverDn##L##getrf(void* h, int m, int n, T* a, int lda, T* work, int* pivots, int* info) { \
        return getrf(h, m, n, a, lda, work, pivots, info); \
    } \
    EXPORT int cusolverDn##L##getrs(void* h, int trans, int n, int sides, const T* a, int lda, const int* pivots, T* b, \
                                    int ldb, int* info) { \
        return getrs(h, trans, n, sides, a, lda, pivots, b, ldb, info); \
    } \
    EXPORT int cusolverDn##L##syevd_bufferSize(void* h, int, int, int n, const T*, int lda, const T*, int* room) { \
        return square_room<T>(h, n, lda, room); \
    } \
    EXPORT int cusolverDn##L##syevd(void* h, int vectors, int uplo, int n, T* a, int lda, T* values, T* work, int room, \
                                    int* info) { \
        return syevd(h, vectors, uplo, n, a, lda, values, work, room, info); \
    }
FUNCTIONS(S, float)
FUNCTIONS(D, double)
EXPORT long stand_in_calls() { return calls; }
