/* Loops of batch normalization, once for float and once for double.
 *
 * Moments are gathered in one pass: blocks sum distances from a pivot near the mean, and their squares, in the
 * operands' own dtype; the blocks' means and squared deviations are merged in double. The pivot is the mean of all that
 * came before (of the first elements at the start), so that the error of a variance is a few roundings of the variance
 * itself, however far the values are from 0. A pivot that is not finite is replaced by 0: then a mean of infinite
 * values is infinite, as NumPy's, and only the variance is NaN.
 *
 * Data stand either in runs, which are contiguous pieces of one channel each, or in rows, each with an element of every
 * column. Results may take the place of the elements they come from.
 */
#ifndef PHINTYS_BATCH_NORMALIZATION_LOOPS_H
#define PHINTYS_BATCH_NORMALIZATION_LOOPS_H

#include <float.h>
#include <numpy/npy_common.h>

#include "native/clones.h"

#if defined(__GNUC__) && !defined(__clang__)
#define PHINTYS_EACH _Pragma("GCC ivdep")
#else
#define PHINTYS_EACH
#endif
#define PHINTYS_INLINE static inline __attribute__((always_inline))

enum {
    VECTOR_BYTES = 32,
    BLOCK = 4096,                   /* elements of a run whose sums are kept in the dtype of x */
    BLOCK_ROWS = 128,               /* the same of columns */
    PIVOT_ELEMENTS = 256,           /* a 16th of the block that they are the pivot of: an error 16 times as large */
    PIVOT_ROWS = 16,
    COLUMNS = 512                   /* worked on together: their sums stay in the L1 cache */
};

typedef struct { double count, mean, square; } phintys_moments;     /* square: the sum of squared deviations */

/* A sum of squared deviations from the mean, of sums of distances from a pivot. */
PHINTYS_INLINE double phintys_centred(double count, double sum, double square) {
    const double centred = square - sum * (sum / count);
    if (square > DBL_MAX && sum <= DBL_MAX && sum >= -DBL_MAX) return square;       /* not NaN for an overflow */
    return centred < 0 ? 0 : centred;
}

PHINTYS_INLINE void phintys_merge(phintys_moments* all, double count, double mean, double square) {
    const double total = all->count + count, distance = mean - all->mean;
    const double share = count / total, others = all->count / total;
    all->square = all->count ? all->square + square + distance * distance * share * all->count : square;
    all->mean = all->count ? others * all->mean + share * mean : mean;      /* no difference: both may be infinite */
    all->count = total;
}

/* `out = (x - shift) * slope + offset`; `outer` runs of `inner` elements, `step` elements apart. */
#define PHINTYS_DEFINE_NORMALIZATION(T)                                                                                \
typedef T vector_##T __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));                        \
                                                                                                                       \
PHINTYS_INLINE T near_##T(double mean) {                                                                               \
    const T pivot = (T)mean;                                                                                           \
    return pivot - pivot == 0 ? pivot : 0;                                                                             \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE double total_##T(vector_##T x) {                                                                        \
    double total = 0;                                                                                                  \
    for (int l = 0; l < (int)(VECTOR_BYTES / sizeof(T)); l++) total += x[l];                                           \
    return total;                                                                                                      \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE double sum_of_##T(const T* x, npy_intp n) {                                                             \
    enum { W = VECTOR_BYTES / sizeof(T) };                                                                             \
    vector_##T a = {0}, b = a;                                                                                         \
    npy_intp j = 0;                                                                                                    \
    double rest = 0;                                                                                                   \
    for (; j + 2 * W <= n; j += 2 * W) {                                                                               \
        a += *(const vector_##T*)(x + j);                                                                              \
        b += *(const vector_##T*)(x + j + W);                                                                          \
    }                                                                                                                  \
    for (; j < n; j++) rest += x[j];                                                                                   \
    return total_##T(a + b) + rest;                                                                                    \
}                                                                                                                      \
                                                                                                                       \
/* ---- runs ---- */                                                                                                   \
PHINTYS_CLONES static phintys_moments moments_of_runs_##T(const T* x, npy_intp outer, npy_intp step,                   \
                                                          npy_intp inner) {                                            \
    enum { W = VECTOR_BYTES / sizeof(T) };                                                                             \
    phintys_moments all = {0, 0, 0};                                                                                   \
    npy_intp run = 0, at = 0;                                                                                          \
    const npy_intp few = inner < PIVOT_ELEMENTS ? inner : PIVOT_ELEMENTS;                                              \
    T pivot = near_##T(sum_of_##T(x, few) / few);                                                                      \
    while (run < outer) {                                                                                              \
        vector_##T s0 = {0}, s1 = s0, s2 = s0, s3 = s0, q0 = s0, q1 = s0, q2 = s0, q3 = s0;                            \
        const vector_##T p = s0 + pivot;                                                                               \
        T s = 0, q = 0;                                                                                                \
        npy_intp count = 0;                                                                                            \
        while (count < BLOCK && run < outer) {                                                                         \
            const T* from = x + run * step + at;                                                                       \
            npy_intp n = inner - at, j = 0;                                                                            \
            if (n > BLOCK - count) n = BLOCK - count;                                                                  \
            for (; j + 4 * W <= n; j += 4 * W) {                                                                       \
                const vector_##T* v = (const vector_##T*)(from + j);                                                   \
                const vector_##T d0 = v[0] - p, d1 = v[1] - p, d2 = v[2] - p, d3 = v[3] - p;                           \
                s0 += d0; s1 += d1; s2 += d2; s3 += d3;                                                                \
                q0 += d0 * d0; q1 += d1 * d1; q2 += d2 * d2; q3 += d3 * d3;                                            \
            }                                                                                                          \
            for (; j + W <= n; j += W) {                                                                               \
                const vector_##T d = *(const vector_##T*)(from + j) - p;                                               \
                s0 += d; q0 += d * d;                                                                                  \
            }                                                                                                          \
            for (; j < n; j++) {                                                                                       \
                const T d = from[j] - pivot;                                                                           \
                s += d; q += d * d;                                                                                    \
            }                                                                                                          \
            count += n;                                                                                                \
            at += n;                                                                                                   \
            if (at == inner) { at = 0; run++; }                                                                        \
        }                                                                                                              \
        const double sum = total_##T((s0 + s1) + (s2 + s3)) + s, square = total_##T((q0 + q1) + (q2 + q3)) + q;        \
        phintys_merge(&all, (double)count, pivot + sum / count, phintys_centred((double)count, sum, square));          \
        pivot = near_##T(all.mean);                                                                                    \
    }                                                                                                                  \
    return all;                                                                                                        \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_CLONES static void normalize_runs_##T(const T* x, T* out, npy_intp outer, npy_intp step, npy_intp inner,       \
                                              T shift, T slope, T offset) {                                            \
    for (npy_intp run = 0; run < outer; run++, x += step, out += step) {                                               \
        PHINTYS_EACH                                                                                                   \
        for (npy_intp j = 0; j < inner; j++) out[j] = (x[j] - shift) * slope + offset;                                 \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
/* sums: of dy, of dy * (x - mean), of x - mean */                                                                     \
PHINTYS_CLONES static void sums_of_runs_##T(const T* x, const T* dy, npy_intp outer, npy_intp step, npy_intp inner,    \
                                            T mean, double* sums) {                                                    \
    enum { W = VECTOR_BYTES / sizeof(T) };                                                                             \
    npy_intp run = 0, at = 0;                                                                                          \
    sums[0] = sums[1] = sums[2] = 0;                                                                                   \
    while (run < outer) {                                                                                              \
        vector_##T a0 = {0}, a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0;                                              \
        const vector_##T m = a0 + mean;                                                                                \
        T a = 0, b = 0, c = 0;                                                                                         \
        npy_intp count = 0;                                                                                            \
        while (count < BLOCK && run < outer) {                                                                         \
            const npy_intp start = run * step + at;                                                                    \
            const T *from = x + start, *by = dy + start;                                                               \
            npy_intp n = inner - at, j = 0;                                                                            \
            if (n > BLOCK - count) n = BLOCK - count;                                                                  \
            for (; j + 2 * W <= n; j += 2 * W) {                                                                       \
                const vector_##T *v = (const vector_##T*)(from + j), *g = (const vector_##T*)(by + j);                 \
                const vector_##T d0 = v[0] - m, d1 = v[1] - m, g0 = g[0], g1 = g[1];                                   \
                a0 += g0; b0 += g0 * d0; c0 += d0;                                                                     \
                a1 += g1; b1 += g1 * d1; c1 += d1;                                                                     \
            }                                                                                                          \
            for (; j < n; j++) {                                                                                       \
                const T d = from[j] - mean;                                                                            \
                a += by[j]; b += by[j] * d; c += d;                                                                    \
            }                                                                                                          \
            count += n;                                                                                                \
            at += n;                                                                                                   \
            if (at == inner) { at = 0; run++; }                                                                        \
        }                                                                                                              \
        sums[0] += total_##T(a0 + a1) + a;                                                                             \
        sums[1] += total_##T(b0 + b1) + b;                                                                             \
        sums[2] += total_##T(c0 + c1) + c;                                                                             \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
/* `out = dy * scale + (x - mean) * slope + offset` */                                                                 \
PHINTYS_CLONES static void gradient_of_runs_##T(const T* x, const T* dy, T* out, npy_intp outer, npy_intp step,        \
                                                npy_intp inner, T mean, T scale, T slope, T offset) {                  \
    for (npy_intp run = 0; run < outer; run++, x += step, dy += step, out += step) {                                   \
        PHINTYS_EACH                                                                                                   \
        for (npy_intp j = 0; j < inner; j++) out[j] = dy[j] * scale + ((x[j] - mean) * slope + offset);                \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
/* ---- columns: `rows` rows `step` elements apart, `width` <= COLUMNS neighbouring columns ---- */                    \
PHINTYS_CLONES static void moments_of_columns_##T(const T* x, npy_intp rows, npy_intp step, npy_intp width,            \
                                                  double* mean, double* square) {                                      \
    T pivot[COLUMNS], s[COLUMNS], q[COLUMNS];                                                                          \
    const npy_intp few = rows < PIVOT_ROWS ? rows : PIVOT_ROWS;                                                        \
    for (npy_intp j = 0; j < width; j++) s[j] = x[j];                                                                  \
    for (npy_intp i = 1; i < few; i++) for (npy_intp j = 0; j < width; j++) s[j] += x[i * step + j];                   \
    for (npy_intp j = 0; j < width; j++) pivot[j] = near_##T((double)s[j] / few);                                      \
    for (npy_intp start = 0; start < rows; start += BLOCK_ROWS) {                                                      \
        const npy_intp count = rows - start < BLOCK_ROWS ? rows - start : BLOCK_ROWS;                                  \
        const T* from = x + start * step;                                                                              \
        const double own = (double)count / (start + count), others = (double)start / (start + count);                  \
        npy_intp i = 0;                                                                                                \
        for (npy_intp j = 0; j < width; j++) s[j] = q[j] = 0;                                                          \
        for (; i + 4 <= count; i += 4, from += 4 * step) {                                                             \
            const T *x1 = from + step, *x2 = x1 + step, *x3 = x2 + step;                                               \
            PHINTYS_EACH                                                                                               \
            for (npy_intp j = 0; j < width; j++) {                                                                     \
                const T p = pivot[j], d0 = from[j] - p, d1 = x1[j] - p, d2 = x2[j] - p, d3 = x3[j] - p;                \
                s[j] += (d0 + d1) + (d2 + d3);                                                                         \
                q[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);                                                     \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < count; i++, from += step) {                                                                         \
            PHINTYS_EACH                                                                                               \
            for (npy_intp j = 0; j < width; j++) {                                                                     \
                const T d = from[j] - pivot[j];                                                                        \
                s[j] += d;                                                                                             \
                q[j] += d * d;                                                                                         \
            }                                                                                                          \
        }                                                                                                              \
        if (start == 0) {                                                                                              \
            for (npy_intp j = 0; j < width; j++) {                                                                     \
                mean[j] = pivot[j] + (double)s[j] / count;                                                             \
                square[j] = phintys_centred((double)count, s[j], q[j]);                                                \
            }                                                                                                          \
        } else {                                                                                                       \
            for (npy_intp j = 0; j < width; j++) {                                                                     \
                const double here = pivot[j] + (double)s[j] / count, distance = here - mean[j];                        \
                square[j] += phintys_centred((double)count, s[j], q[j]) + distance * distance * own * start;           \
                mean[j] = others * mean[j] + own * here;                                                               \
            }                                                                                                          \
        }                                                                                                              \
        for (npy_intp j = 0; j < width; j++) pivot[j] = near_##T(mean[j]);                                             \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_CLONES static void normalize_columns_##T(const T* x, T* out, npy_intp rows, npy_intp step, npy_intp width,     \
                                                 const T* shift, const T* slope, const T* offset) {                    \
    for (npy_intp i = 0; i < rows; i++, x += step, out += step) {                                                      \
        PHINTYS_EACH                                                                                                   \
        for (npy_intp j = 0; j < width; j++) out[j] = (x[j] - shift[j]) * slope[j] + offset[j];                        \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_CLONES static void sums_of_columns_##T(const T* x, const T* dy, npy_intp rows, npy_intp step, npy_intp width,  \
                                               const T* mean, double* of_dy, double* of_product, double* of_x) {       \
    T a[COLUMNS], b[COLUMNS], c[COLUMNS];                                                                              \
    for (npy_intp j = 0; j < width; j++) of_dy[j] = of_product[j] = of_x[j] = 0;                                       \
    for (npy_intp start = 0; start < rows; start += BLOCK_ROWS) {                                                      \
        const npy_intp count = rows - start < BLOCK_ROWS ? rows - start : BLOCK_ROWS;                                  \
        npy_intp i = 0;                                                                                                \
        for (npy_intp j = 0; j < width; j++) a[j] = b[j] = c[j] = 0;                                                   \
        for (; i + 2 <= count; i += 2, x += 2 * step, dy += 2 * step) {                                                \
            PHINTYS_EACH                                                                                               \
            for (npy_intp j = 0; j < width; j++) {                                                                     \
                const T m = mean[j], d0 = x[j] - m, d1 = x[step + j] - m, g0 = dy[j], g1 = dy[step + j];               \
                a[j] += g0 + g1;                                                                                       \
                b[j] += g0 * d0 + g1 * d1;                                                                             \
                c[j] += d0 + d1;                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < count; i++, x += step, dy += step) {                                                                \
            PHINTYS_EACH                                                                                               \
            for (npy_intp j = 0; j < width; j++) {                                                                     \
                const T d = x[j] - mean[j];                                                                            \
                a[j] += dy[j];                                                                                         \
                b[j] += dy[j] * d;                                                                                     \
                c[j] += d;                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
        for (npy_intp j = 0; j < width; j++) {                                                                         \
            of_dy[j] += a[j];                                                                                          \
            of_product[j] += b[j];                                                                                     \
            of_x[j] += c[j];                                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_CLONES static void gradient_of_columns_##T(const T* x, const T* dy, T* out, npy_intp rows, npy_intp step,      \
                                                   npy_intp width, const T* mean, const T* scale, const T* slope,      \
                                                   const T* offset) {                                                  \
    for (npy_intp i = 0; i < rows; i++, x += step, dy += step, out += step) {                                          \
        PHINTYS_EACH                                                                                                   \
        for (npy_intp j = 0; j < width; j++)                                                                           \
            out[j] = dy[j] * scale[j] + ((x[j] - mean[j]) * slope[j] + offset[j]);                                     \
    }                                                                                                                  \
}

PHINTYS_DEFINE_NORMALIZATION(double)
PHINTYS_DEFINE_NORMALIZATION(float)

#endif
