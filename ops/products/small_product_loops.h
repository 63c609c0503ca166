/* Products of matrices of integers, bool and complex numbers, by plain loops: BLAS does not support the former, and is
 * slow for small products of the latter. `start` is not used: it must be `out`. For float32 and float64 see
 * float_product_loops.h.
 */
#ifndef PHINTYS_SMALL_PRODUCT_LOOPS_H
#define PHINTYS_SMALL_PRODUCT_LOOPS_H

#include <stdint.h>
#include <stdlib.h>

#include "native/sets.h"
#include "products/product.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* The following macros define the functions of one type. FOLD(sum, a, b) adds the product of a and b to sum, for
 * numbers and for vector registers. Vector types are used explicitly, because compilers generate slow code for the same
 * loops over plain arrays.
 *
 * columnsN computes results of one row in N registers (or a single result), which keep the sums during the loop over k.
 * dot computes one result if both operands are contiguous along k; dots computes those of four rows, which share the
 * loads of y and add in the same order. product computes every row by the widest function that fits the remaining
 * columns. */
#define REGISTER_BYTES 32

#define DEFINE_TYPES(SUFFIX, T)                                                                                        \
    typedef T Lanes_##SUFFIX __attribute__((vector_size(REGISTER_BYTES), aligned(sizeof(T)), may_alias));              \
    enum { LANES_##SUFFIX = REGISTER_BYTES / sizeof(T) };                                                              \
    typedef struct { T alpha, beta; int scaled, accumulated; } Scale_##SUFFIX;

/* V is the element type T or the register type. */
#define DEFINE_COLUMNS(SUFFIX, NAME, T, V, COUNT, FOLD)                                                                \
    static ALWAYS_INLINE void NAME##_##SUFFIX(const Product *p, const char *x, const char *y, T *out,                  \
                                              const Scale_##SUFFIX *scale) {                                           \
        V sums[COUNT] = {0};                                                                                           \
        for (npy_intp l = 0; l < p->k; l++, x += p->xs1, y += p->ys0)                                                  \
            for (int j = 0; j < COUNT; j++) FOLD(sums[j], *(const T *)x, ((const V *)y)[j]);                           \
        for (int j = 0; j < COUNT; j++) {                                                                              \
            if (scale->scaled) sums[j] = scale->alpha * sums[j];                                                       \
            if (scale->accumulated) sums[j] += scale->beta * ((V *)out)[j];                                            \
            ((V *)out)[j] = sums[j];                                                                                   \
        }                                                                                                              \
    }

#define DEFINE_DOTS(SUFFIX, T)                                                                                         \
    static ALWAYS_INLINE void dots_##SUFFIX(const char *x, npy_intp step, const T *y, npy_intp k, T *results) {        \
        for (int i = 0; i < 4; i++) results[i] = dot_##SUFFIX((const T *)(x + i * step), y, k);                        \
    }

#define DEFINE_DOT(SUFFIX, T, FOLD)                                                                                    \
    static ALWAYS_INLINE T dot_##SUFFIX(const T *x, const T *y, npy_intp k) {                                          \
        T sum = 0;                                                                                                     \
        for (npy_intp l = 0; l < k; l++) FOLD(sum, x[l], y[l]);                                                        \
        return sum;                                                                                                    \
    }

#define DEFINE_PRODUCT(SUFFIX, T)                                                                                      \
    static ALWAYS_INLINE void rows_by_vector_##SUFFIX(const Product *p, const Scale_##SUFFIX *scale) {                 \
        const char *x = p->x;                                                                                          \
        char *out = p->out;                                                                                            \
        npy_intp i = 0;                                                                                                \
        for (; i + 4 <= p->m; i += 4, x += 4 * p->xs0) {                                                               \
            T sums[4];                                                                                                 \
            dots_##SUFFIX(x, p->xs0, (const T *)p->y, p->k, sums);                                                     \
            for (int j = 0; j < 4; j++, out += p->os0) {                                                               \
                if (scale->scaled) sums[j] = scale->alpha * sums[j];                                                   \
                *(T *)out = scale->accumulated ? sums[j] + scale->beta * *(T *)out : sums[j];                          \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < p->m; i++, x += p->xs0, out += p->os0) {                                                            \
            T sum = dot_##SUFFIX((const T *)x, (const T *)p->y, p->k);                                                 \
            if (scale->scaled) sum = scale->alpha * sum;                                                               \
            *(T *)out = scale->accumulated ? sum + scale->beta * *(T *)out : sum;                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void product_##SUFFIX(const Product *p) {                                                                   \
        const Scale_##SUFFIX scale = {p->alpha ? *(const T *)p->alpha : 1, p->beta ? *(const T *)p->beta : 0,          \
                                      p->alpha != NULL, p->beta != NULL};                                              \
        const npy_intp wide = p->ys1 == sizeof(T) ? p->n : 0, lanes = LANES_##SUFFIX;                                  \
        const char *x = p->x;                                                                                          \
        char *row = p->out;                                                                                            \
        if (p->n == 1 && p->xs1 == sizeof(T) && p->ys0 == sizeof(T)) {                                                 \
            rows_by_vector_##SUFFIX(p, &scale);                                                                        \
            return;                                                                                                    \
        }                                                                                                              \
        for (npy_intp i = 0; i < p->m; i++, x += p->xs0, row += p->os0) {                                              \
            T *out = (T *)row;                                                                                         \
            npy_intp j = 0;                                                                                            \
            for (; j + 4 * lanes <= wide; j += 4 * lanes)                                                              \
                columns4_##SUFFIX(p, x, p->y + j * sizeof(T), out + j, &scale);                                        \
            for (; j + lanes <= wide; j += lanes) columns1_##SUFFIX(p, x, p->y + j * sizeof(T), out + j, &scale);      \
            for (; j < p->n; j++) element_##SUFFIX(p, x, p->y + j * p->ys1, out + j, &scale);                          \
        }                                                                                                              \
    }

#define DEFINE_LOOPS(SUFFIX, T, FOLD)                                                                                  \
    DEFINE_COLUMNS(SUFFIX, columns4, T, Lanes_##SUFFIX, 4, FOLD)                                                       \
    DEFINE_COLUMNS(SUFFIX, columns1, T, Lanes_##SUFFIX, 1, FOLD)                                                       \
    DEFINE_COLUMNS(SUFFIX, element, T, T, 1, FOLD)                                                                     \
    DEFINE_PRODUCT(SUFFIX, T)

#define DEFINE_INTEGER(SUFFIX, T, FOLD)                                                                                \
    DEFINE_TYPES(SUFFIX, T) DEFINE_DOT(SUFFIX, T, FOLD) DEFINE_DOTS(SUFFIX, T) DEFINE_LOOPS(SUFFIX, T, FOLD)

#define ADD_PRODUCT(SUM, A, B) (SUM) += (A) * (B)
#define OR_PRODUCT(SUM, A, B) (SUM) |= (A) & (B)

#define LOOPS "products/small_product_loops.template.h"
#define TWO_SETS
#include "native/each_set.h"
BY_TWO_SETS(product_bool);
BY_TWO_SETS(product_int8);
BY_TWO_SETS(product_int16);
BY_TWO_SETS(product_int32);
BY_TWO_SETS(product_int64);

/* Complex numbers as pairs of numbers: C's complex multiplication calls a library function to handle infinities. */
#define DEFINE_COMPLEX(SUFFIX, T)                                                                                      \
    static void product_##SUFFIX(const Product *p) {                                                                   \
        const T *alpha = (const T *)p->alpha, *beta = (const T *)p->beta;                                              \
        for (npy_intp i = 0; i < p->m; i++) {                                                                          \
            T *out = (T *)(p->out + i * p->os0);                                                                       \
            for (npy_intp j = 0; j < p->n; j++, out += 2) {                                                            \
                const char *x = p->x + i * p->xs0, *y = p->y + j * p->ys1;                                             \
                T real = 0, imaginary = 0, swap;                                                                       \
                for (npy_intp l = 0; l < p->k; l++, x += p->xs1, y += p->ys0) {                                        \
                    const T *a = (const T *)x, *b = (const T *)y;                                                      \
                    real += a[0] * b[0] - a[1] * b[1];                                                                 \
                    imaginary += a[0] * b[1] + a[1] * b[0];                                                            \
                }                                                                                                      \
                if (alpha) {                                                                                           \
                    swap = real * alpha[0] - imaginary * alpha[1];                                                     \
                    imaginary = real * alpha[1] + imaginary * alpha[0];                                                \
                    real = swap;                                                                                       \
                }                                                                                                      \
                if (beta) {                                                                                            \
                    real += out[0] * beta[0] - out[1] * beta[1];                                                       \
                    imaginary += out[0] * beta[1] + out[1] * beta[0];                                                  \
                }                                                                                                      \
                out[0] = real;                                                                                         \
                out[1] = imaginary;                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }

DEFINE_COMPLEX(complex64, float)
DEFINE_COMPLEX(complex128, double)

/* Returns the loop for a NumPy type number and a set, or NULL. */
static ProductLoop product_loop(int typenum, int itemsize, int set) {
    switch (typenum) {
    case NPY_BOOL: return product_bool[set];
    case NPY_CFLOAT: return product_complex64;
    case NPY_CDOUBLE: return product_complex128;
    case NPY_HALF: case NPY_FLOAT: case NPY_DOUBLE: return NULL;
    }
    switch (itemsize) {
    case 1: return product_int8[set];
    case 2: return product_int16[set];
    case 4: return product_int32[set];
    case 8: return product_int64[set];
    }
    return NULL;
}

#endif
