/* Loops over the rows of a matrix for softmax and cross-entropy, once for float and once for double.
 *
 * Each does one step for rows that are in the cache; exp and log, which take most of the time, are NumPy's loops and
 * stand between them. Sums and maxima run in 8 lanes whatever the processor has, so that results do not depend on it.
 * A row is `columns` elements of x, plus those of a bias if there is one, with any strides. NaN need not be looked for:
 * it makes the sum of its row NaN, and so the whole row.
 */
#ifndef PHINTYS_SOFTMAX_LOOPS_H
#define PHINTYS_SOFTMAX_LOOPS_H

#include <numpy/ndarraytypes.h>

#include "native/clones.h"

#define PHINTYS_INLINE static inline __attribute__((always_inline))

typedef struct {
    npy_intp columns;
    const char *x, *bias;               /* bias == NULL: none */
    npy_intp xs0, xs1, bs;              /* bytes */
} phintys_rows;

enum { PHINTYS_LANES = 8 };

#define PHINTYS_LARGER(T, a, b) \
    ((lanes_##T)(((mask_##T)(a) & ((a) > (b))) | ((mask_##T)(b) & ~((a) > (b)))))

#define PHINTYS_DEFINE_LOOPS(T, INTEGER)                                                                               \
typedef T lanes_##T __attribute__((vector_size(sizeof(T) * PHINTYS_LANES), aligned(sizeof(T)), may_alias));            \
typedef INTEGER mask_##T __attribute__((vector_size(sizeof(T) * PHINTYS_LANES)));                                      \
                                                                                                                       \
PHINTYS_INLINE T maximum_##T(const T* x, npy_intp n) {                                                                 \
    npy_intp j = 1;                                                                                                    \
    T best = x[0];                                                                                                     \
    if (n >= PHINTYS_LANES) {                                                                                          \
        lanes_##T a = *(const lanes_##T*)x;                                                                            \
        j = PHINTYS_LANES;                                                                                             \
        if (n >= 8 * PHINTYS_LANES) {                                                                                  \
            lanes_##T b = a, c = a, d = a;                                                                             \
            for (; j + 4 * PHINTYS_LANES <= n; j += 4 * PHINTYS_LANES) {                                               \
                const lanes_##T* y = (const lanes_##T*)(x + j);                                                        \
                a = PHINTYS_LARGER(T, y[0], a);                                                                        \
                b = PHINTYS_LARGER(T, y[1], b);                                                                        \
                c = PHINTYS_LARGER(T, y[2], c);                                                                        \
                d = PHINTYS_LARGER(T, y[3], d);                                                                        \
            }                                                                                                          \
            a = PHINTYS_LARGER(T, b, a);                                                                               \
            c = PHINTYS_LARGER(T, d, c);                                                                               \
            a = PHINTYS_LARGER(T, c, a);                                                                               \
        }                                                                                                              \
        for (; j + PHINTYS_LANES <= n; j += PHINTYS_LANES) {                                                           \
            lanes_##T y = *(const lanes_##T*)(x + j);                                                                  \
            a = PHINTYS_LARGER(T, y, a);                                                                               \
        }                                                                                                              \
        T half[4], quarter[2];                                                                                         \
        for (int l = 0; l < 4; l++) half[l] = a[l] > a[l + 4] ? a[l] : a[l + 4];                                       \
        for (int l = 0; l < 2; l++) quarter[l] = half[l] > half[l + 2] ? half[l] : half[l + 2];                        \
        best = quarter[0] > quarter[1] ? quarter[0] : quarter[1];                                                      \
    }                                                                                                                  \
    for (; j < n; j++) best = x[j] > best ? x[j] : best;                                                               \
    return best;                                                                                                       \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE T sum_##T(const T* x, npy_intp n) {                                                                     \
    npy_intp j = 0;                                                                                                    \
    T total = 0;                                                                                                       \
    if (n >= PHINTYS_LANES) {                                                                                          \
        lanes_##T a = {0}, b = {0}, c = {0}, d = {0};                                                                  \
        for (; j + 4 * PHINTYS_LANES <= n; j += 4 * PHINTYS_LANES) {                                                   \
            const lanes_##T* y = (const lanes_##T*)(x + j);                                                            \
            a += y[0]; b += y[1]; c += y[2]; d += y[3];                                                                \
        }                                                                                                              \
        a = (a + b) + (c + d);                                                                                         \
        for (; j + PHINTYS_LANES <= n; j += PHINTYS_LANES) a += *(const lanes_##T*)(x + j);                            \
        total = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));                                     \
    }                                                                                                                  \
    for (; j < n; j++) total += x[j];                                                                                  \
    return total;                                                                                                      \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE T dot_##T(const T* x, const T* y, npy_intp n) {                                                         \
    npy_intp j = 0;                                                                                                    \
    T total = 0;                                                                                                       \
    if (n >= PHINTYS_LANES) {                                                                                          \
        lanes_##T a = {0}, b = {0};                                                                                    \
        for (; j + 2 * PHINTYS_LANES <= n; j += 2 * PHINTYS_LANES) {                                                   \
            const lanes_##T* p = (const lanes_##T*)(x + j);                                                            \
            const lanes_##T* q = (const lanes_##T*)(y + j);                                                            \
            a += p[0] * q[0]; b += p[1] * q[1];                                                                        \
        }                                                                                                              \
        a += b;                                                                                                        \
        if (j + PHINTYS_LANES <= n) {                                                                                  \
            a += *(const lanes_##T*)(x + j) * *(const lanes_##T*)(y + j);                                              \
            j += PHINTYS_LANES;                                                                                        \
        }                                                                                                              \
        total = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));                                     \
    }                                                                                                                  \
    for (; j < n; j++) total += x[j] * y[j];                                                                           \
    return total;                                                                                                      \
}                                                                                                                      \
                                                                                                                       \
/* One row of x + bias without gaps: where it stands, or gathered into `room`. */                                      \
PHINTYS_INLINE const T* row_##T(const phintys_rows* p, npy_intp row, T* room) {                                        \
    const char* x = p->x + row * p->xs0;                                                                               \
    const npy_intp n = p->columns;                                                                                     \
    if (p->bias == NULL && p->xs1 == sizeof(T)) return (const T*)x;                                                    \
    if (p->xs1 == sizeof(T) && p->bs == sizeof(T)) {                                                                   \
        const T *y = (const T*)x, *b = (const T*)p->bias;                                                              \
        for (npy_intp j = 0; j < n; j++) room[j] = y[j] + b[j];                                                        \
    } else if (p->bias != NULL) {                                                                                      \
        for (npy_intp j = 0; j < n; j++) room[j] = *(const T*)(x + j * p->xs1) + *(const T*)(p->bias + j * p->bs);     \
    } else {                                                                                                           \
        for (npy_intp j = 0; j < n; j++) room[j] = *(const T*)(x + j * p->xs1);                                        \
    }                                                                                                                  \
    return room;                                                                                                       \
}                                                                                                                      \
                                                                                                                       \
/* The first place of the largest element, or of a NaN if there is one. */                                             \
PHINTYS_INLINE npy_intp place_##T(const T* x, npy_intp n, T largest) {                                                 \
    enum { STRIDE = 64 };                                                                                              \
    npy_intp j = 0;                                                                                                    \
    int nan = 0;                                                                                                       \
    for (npy_intp i = 0; i < n; i++) nan |= x[i] != x[i];                                                              \
    if (nan) {                                                                                                         \
        while (x[j] == x[j]) j++;                                                                                      \
        return j;                                                                                                      \
    }                                                                                                                  \
    for (; j + STRIDE <= n; j += STRIDE) {                                                                             \
        int found = 0;                                                                                                 \
        for (int l = 0; l < STRIDE; l++) found |= x[j + l] == largest;                                                 \
        if (found) break;                                                                                              \
    }                                                                                                                  \
    while (x[j] != largest) j++;                                                                                       \
    return j;                                                                                                          \
}                                                                                                                      \
                                                                                                                       \
/* Rows minus their maxima, so that exp cannot overflow. `labels` (with `targets`: the element at the label) and       \
 * `best` (where the maximum is) may be NULL. */                                                                       \
PHINTYS_CLONES static void shift_rows_##T(const phintys_rows* p, npy_intp first, npy_intp count, T* out,               \
                                          const npy_intp* labels, T* targets, npy_intp* best) {                        \
    const npy_intp n = p->columns;                                                                                     \
    for (npy_intp i = 0; i < count; i++, out += n) {                                                                   \
        const T* x = row_##T(p, first + i, out);                                                                       \
        const T largest = maximum_##T(x, n);                                                                           \
        if (best) best[i] = place_##T(x, n, largest);                                                                  \
        for (npy_intp j = 0; j < n; j++) out[j] = x[j] - largest;                                                      \
        if (labels) targets[i] = out[labels[i]];                                                                       \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_CLONES static void sum_rows_##T(npy_intp count, npy_intp n, const T* x, T* sums) {                             \
    for (npy_intp i = 0; i < count; i++, x += n) sums[i] = sum_##T(x, n);                                              \
}                                                                                                                      \
                                                                                                                       \
/* Rows divided by their sums. */                                                                                      \
PHINTYS_CLONES static void normalize_rows_##T(npy_intp count, npy_intp n, T* x, T* sums) {                             \
    for (npy_intp i = 0; i < count; i++, x += n) {                                                                     \
        const T scale = 1 / (sums[i] = sum_##T(x, n));                                                                 \
        for (npy_intp j = 0; j < n; j++) x[j] *= scale;                                                                \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_CLONES static void scale_##T(npy_intp n, T* x, T scale) {                                                      \
    for (npy_intp j = 0; j < n; j++) x[j] *= scale;                                                                    \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_CLONES static void subtract_from_rows_##T(npy_intp count, npy_intp n, T* x, const T* numbers) {                \
    for (npy_intp i = 0; i < count; i++, x += n) {                                                                     \
        const T number = numbers[i];                                                                                   \
        for (npy_intp j = 0; j < n; j++) x[j] -= number;                                                               \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
/* The gradient by the input of a softmax: p * (g - sum(g * p)) for each row of probabilities p. */                    \
PHINTYS_CLONES static void softmax_gradient_##T(const phintys_rows* gradient, const phintys_rows* softmax,             \
                                                npy_intp first, npy_intp count, T* out, T* room) {                     \
    const npy_intp n = softmax->columns;                                                                               \
    out += first * n;                                                                                                  \
    for (npy_intp i = first; i < first + count; i++, out += n) {                                                       \
        const T* g = row_##T(gradient, i, out);                                                                        \
        const T* p = row_##T(softmax, i, room);                                                                        \
        const T mean = dot_##T(g, p, n);                                                                               \
        for (npy_intp j = 0; j < n; j++) out[j] = p[j] * (g[j] - mean);                                                \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
/* One row of the gradient of a cross-entropy: g * p, without g at the label. */                                       \
PHINTYS_CLONES static void crossentropy_gradient_##T(const phintys_rows* softmax, npy_intp first, npy_intp count,      \
                                                     const char* gradient, npy_intp stride, const npy_intp* labels,    \
                                                     T* out) {                                                         \
    const npy_intp n = softmax->columns;                                                                               \
    for (npy_intp i = 0; i < count; i++, out += n) {                                                                   \
        const T g = *(const T*)(gradient + (first + i) * stride);                                                      \
        const T* p = row_##T(softmax, first + i, out);                                                                 \
        for (npy_intp j = 0; j < n; j++) out[j] = g * p[j];                                                            \
        out[labels[i]] -= g;                                                                                           \
    }                                                                                                                  \
}

PHINTYS_DEFINE_LOOPS(double, npy_int64)
PHINTYS_DEFINE_LOOPS(float, npy_int32)

#endif
