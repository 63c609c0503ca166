/* Vectors of float32 and float64 for three instruction sets, as products need them: a type Vector, multiply_add,
 * broadcast, and the first elements of a vector (load_part: the others are 0; store_part). Names end in type and set.
 *
 * Wide vectors have 32 bytes on all sets, so that sums of their lanes are added in one order: `wide_sums` writes the
 * sums of four. `transposed` writes a square of SQUARE numbers.
 */
#ifndef PHINTYS_FLOAT_VECTORS_H
#define PHINTYS_FLOAT_VECTORS_H

#include <numpy/ndarraytypes.h>
#include <stdint.h>

#include "native/sets.h"
#include "native/partial_stores.h"

/* ---- baseline: what the compiler makes of vectors; a product is rounded before it is added ----------------------- */
#define DEFINE_VECTORS(T, KIND, NAME, BYTES)                                                                           \
    typedef T KIND##_##T##_baseline __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));                \
    PHINTYS_INLINE KIND##_##T##_baseline NAME##multiply_add_##T##_baseline(                                            \
        KIND##_##T##_baseline a, KIND##_##T##_baseline b, KIND##_##T##_baseline c) {                                   \
        return a * b + c;                                                                                              \
    }                                                                                                                  \
    PHINTYS_INLINE KIND##_##T##_baseline NAME##load_part_##T##_baseline(const T *from, int rest) {                     \
        KIND##_##T##_baseline value = {0};                                                                             \
        for (int lane = 0; lane < rest; lane++) value[lane] = from[lane];                                              \
        return value;                                                                                                  \
    }
#define DEFINE_BASELINE(T)                                                                                             \
    DEFINE_VECTORS(T, Vector, , 16)                                                                                    \
    DEFINE_VECTORS(T, Wide, wide_, 32)                                                                                 \
    PHINTYS_INLINE Vector_##T##_baseline broadcast_##T##_baseline(T value) {                                           \
        return (Vector_##T##_baseline){0} + value;                                                                     \
    }                                                                                                                  \
    PHINTYS_INLINE void store_part_##T##_baseline(T *to, Vector_##T##_baseline value, int rest) {                      \
        for (int lane = 0; lane < rest; lane++) to[lane] = value[lane];                                                \
    }                                                                                                                  \
    PHINTYS_INLINE T number_multiply_add_##T##_baseline(T a, T b, T c) { return a * b + c; }                           \
    PHINTYS_INLINE void transposed_##T##_baseline(const T *from, npy_intp step, T *to, npy_intp width) {               \
        for (int i = 0; i < SQUARE_##T; i++)                                                                           \
            for (int j = 0; j < SQUARE_##T; j++) to[i * width + j] = ((const T *)((const char *)from + j * step))[i];  \
    }
enum { SQUARE_float = 8, SQUARE_double = 4 };
DEFINE_BASELINE(float)
DEFINE_BASELINE(double)
#undef DEFINE_VECTORS
#undef DEFINE_BASELINE

PHINTYS_INLINE void wide_sums_double_baseline(Wide_double_baseline a, Wide_double_baseline b, Wide_double_baseline c,
                                              Wide_double_baseline d, double *sums) {
    sums[0] = (a[0] + a[1]) + (a[2] + a[3]);
    sums[1] = (b[0] + b[1]) + (b[2] + b[3]);
    sums[2] = (c[0] + c[1]) + (c[2] + c[3]);
    sums[3] = (d[0] + d[1]) + (d[2] + d[3]);
}

PHINTYS_INLINE float sum_of_lanes(Wide_float_baseline a) {
    return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
}
PHINTYS_INLINE void wide_sums_float_baseline(Wide_float_baseline a, Wide_float_baseline b, Wide_float_baseline c,
                                             Wide_float_baseline d, float *sums) {
    sums[0] = sum_of_lanes(a);
    sums[1] = sum_of_lanes(b);
    sums[2] = sum_of_lanes(c);
    sums[3] = sum_of_lanes(d);
}

#if defined(__GNUC__) && defined(__x86_64__)
#define PHINTYS_PRODUCT_SETS 3
#include <immintrin.h>

/* ---- AVX2 -------------------------------------------------------------------------------------------------------- */
typedef __m256d Vector_double_avx2 __attribute__((aligned(8)));
typedef __m256 Vector_float_avx2 __attribute__((aligned(4)));
typedef Vector_double_avx2 Wide_double_avx2;
typedef Vector_float_avx2 Wide_float_avx2;

static const int64_t phintys_first_lanes[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t phintys_first_half_lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

PHINTYS_FOR_AVX2 PHINTYS_INLINE __m256i lanes_double_avx2(int count) {
    return _mm256_loadu_si256((const __m256i *)(phintys_first_lanes + 4 - count));
}
PHINTYS_FOR_AVX2 PHINTYS_INLINE __m256i lanes_float_avx2(int count) {
    return _mm256_loadu_si256((const __m256i *)(phintys_first_half_lanes + 8 - count));
}
#define DEFINE_AVX2(T, KIND, SUFFIX)                                                                                   \
    PHINTYS_FOR_AVX2 PHINTYS_INLINE KIND multiply_add_##T##_avx2(KIND a, KIND b, KIND c) {                             \
        return _mm256_fmadd_##SUFFIX(a, b, c);                                                                         \
    }                                                                                                                  \
    PHINTYS_FOR_AVX2 PHINTYS_INLINE KIND broadcast_##T##_avx2(T value) { return _mm256_set1_##SUFFIX(value); }         \
    PHINTYS_FOR_AVX2 PHINTYS_INLINE KIND load_part_##T##_avx2(const T *from, int rest) {                               \
        return _mm256_maskload_##SUFFIX(from, lanes_##T##_avx2(rest));                                                 \
    }                                                                                                                  \
    PHINTYS_FOR_AVX2 PHINTYS_INLINE void store_part_##T##_avx2(T *to, KIND value, int rest) {                          \
        phintys_store_first_##SUFFIX(to, value, rest);                                                                 \
    }                                                                                                                  \
    PHINTYS_FOR_AVX2 PHINTYS_INLINE KIND wide_multiply_add_##T##_avx2(KIND a, KIND b, KIND c) {                        \
        return _mm256_fmadd_##SUFFIX(a, b, c);                                                                         \
    }                                                                                                                  \
    PHINTYS_FOR_AVX2 PHINTYS_INLINE KIND wide_load_part_##T##_avx2(const T *from, int rest) {                          \
        return _mm256_maskload_##SUFFIX(from, lanes_##T##_avx2(rest));                                                 \
    }
DEFINE_AVX2(double, __m256d, pd)
DEFINE_AVX2(float, __m256, ps)
#undef DEFINE_AVX2

PHINTYS_FOR_AVX2 PHINTYS_INLINE double number_multiply_add_double_avx2(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
PHINTYS_FOR_AVX2 PHINTYS_INLINE float number_multiply_add_float_avx2(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}

PHINTYS_FOR_AVX2 PHINTYS_INLINE void wide_sums_double_avx2(__m256d a, __m256d b, __m256d c, __m256d d, double *sums) {
    const __m256d ab = _mm256_hadd_pd(a, b), cd = _mm256_hadd_pd(c, d);     /* a0+a1, b0+b1, a2+a3, b2+b3 */
    _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_permute2f128_pd(ab, cd, 0x20), _mm256_permute2f128_pd(ab, cd, 0x31)));
}
PHINTYS_FOR_AVX2 PHINTYS_INLINE void wide_sums_float_avx2(__m256 a, __m256 b, __m256 c, __m256 d, float *sums) {
    const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
}

PHINTYS_FOR_AVX2 PHINTYS_INLINE void transposed_double_avx2(const double *from, npy_intp step, double *to,
                                                            npy_intp width) {
    const char *at = (const char *)from;
    const __m256d a = _mm256_loadu_pd((const double *)at), b = _mm256_loadu_pd((const double *)(at + step));
    const __m256d c = _mm256_loadu_pd((const double *)(at + 2 * step));
    const __m256d d = _mm256_loadu_pd((const double *)(at + 3 * step));
    const __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    const __m256d cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    _mm256_storeu_pd(to, _mm256_permute2f128_pd(ab0, cd0, 0x20));
    _mm256_storeu_pd(to + width, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    _mm256_storeu_pd(to + 2 * width, _mm256_permute2f128_pd(ab0, cd0, 0x31));
    _mm256_storeu_pd(to + 3 * width, _mm256_permute2f128_pd(ab1, cd1, 0x31));
}

/* Rows r and r + 4 of a square in the halves of a register. */
PHINTYS_FOR_AVX2 PHINTYS_INLINE __m256 rows_apart(const char *from, npy_intp step) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((const float *)from)),
                                _mm_loadu_ps((const float *)(from + 4 * step)), 1);
}
/* Four columns of eight rows. */
PHINTYS_FOR_AVX2 PHINTYS_INLINE void transposed_half(const char *from, npy_intp step, float *to, npy_intp width) {
    const __m256 a = rows_apart(from, step), b = rows_apart(from + step, step);
    const __m256 c = rows_apart(from + 2 * step, step), d = rows_apart(from + 3 * step, step);
    const __m256 ab0 = _mm256_unpacklo_ps(a, b), ab1 = _mm256_unpackhi_ps(a, b);
    const __m256 cd0 = _mm256_unpacklo_ps(c, d), cd1 = _mm256_unpackhi_ps(c, d);
    _mm256_storeu_ps(to, _mm256_shuffle_ps(ab0, cd0, 0x44));
    _mm256_storeu_ps(to + width, _mm256_shuffle_ps(ab0, cd0, 0xee));
    _mm256_storeu_ps(to + 2 * width, _mm256_shuffle_ps(ab1, cd1, 0x44));
    _mm256_storeu_ps(to + 3 * width, _mm256_shuffle_ps(ab1, cd1, 0xee));
}
PHINTYS_FOR_AVX2 PHINTYS_INLINE void transposed_float_avx2(const float *from, npy_intp step, float *to,
                                                           npy_intp width) {
    transposed_half((const char *)from, step, to, width);
    transposed_half((const char *)(from + 4), step, to + 4 * width, width);
}

/* ---- AVX-512; wide vectors and squares are those of AVX2 --------------------------------------------------------- */
typedef __m512d Vector_double_avx512 __attribute__((aligned(8)));
typedef __m512 Vector_float_avx512 __attribute__((aligned(4)));

#define DEFINE_AVX512(T, KIND, SUFFIX, MASK)                                                                           \
    PHINTYS_FOR_AVX512 PHINTYS_INLINE KIND multiply_add_##T##_avx512(KIND a, KIND b, KIND c) {                         \
        return _mm512_fmadd_##SUFFIX(a, b, c);                                                                         \
    }                                                                                                                  \
    PHINTYS_FOR_AVX512 PHINTYS_INLINE KIND broadcast_##T##_avx512(T value) { return _mm512_set1_##SUFFIX(value); }     \
    PHINTYS_FOR_AVX512 PHINTYS_INLINE KIND load_part_##T##_avx512(const T *from, int rest) {                           \
        return _mm512_maskz_loadu_##SUFFIX((MASK)((1u << rest) - 1), from);                                            \
    }                                                                                                                  \
    PHINTYS_FOR_AVX512 PHINTYS_INLINE void store_part_##T##_avx512(T *to, KIND value, int rest) {                      \
        _mm512_mask_storeu_##SUFFIX(to, (MASK)((1u << rest) - 1), value);                                              \
    }
DEFINE_AVX512(double, __m512d, pd, __mmask8)
DEFINE_AVX512(float, __m512, ps, __mmask16)
#undef DEFINE_AVX512

#else
#define PHINTYS_PRODUCT_SETS 1
#endif
#endif
