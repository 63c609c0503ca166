/* Vectors of float and of double for each instruction set: one vocabulary for all loops that say which registers they
 * use. Loops that the compiler makes vectors of by itself do not need it.
 *
 * In a file that each_set.h compiles, with T: TYPED(Vector), of a whole register; + - * / and comparisons are the
 * compiler's, *(TYPED(Vector)*)place loads and stores, at any address. TYPED(Wide) has 32 bytes for every set, so that
 * its lanes are always added in one order. What the compiler does not have is below; the name says what it does.
 *
 * NEON is one more branch where the compiler makes less of the last one, which is made of its own vectors, and right
 * everywhere. So is a set of yet another kind of processor.
 */
#ifndef SET
#ifndef PHINTYS_VECTORS_H
#define PHINTYS_VECTORS_H

#include <numpy/npy_common.h>
#include <stdint.h>

#include "native/sets.h"

#ifdef PHINTYS_HAS_SETS
#include <immintrin.h>
static const int64_t phintys_first_lanes_double[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t phintys_first_lanes_float[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
#elif defined(__GNUC__) && defined(__aarch64__)         /* part of the baseline there */
#define PHINTYS_HAS_NEON
#include <arm_neon.h>
static const uint32_t phintys_bits_of_lanes[4] = {1, 2, 4, 8};
#endif

/* In a file that each_set.h compiles: whether the set has fused multiplications and float16. */
#ifdef PHINTYS_HAS_NEON
#define SET_FUSES 1
#else
#define SET_FUSES (SET_LEVEL > 0)
#endif

#define BITS_float uint32_t
#define BITS_double uint64_t
#define SUFFIX_float ps                     /* of intrinsics */
#define SUFFIX_double pd
#define SUFFIX PHINTYS_NAMED(SUFFIX, T)
#define SSE(NAME) PHINTYS_NAMED(_mm_##NAME, SUFFIX)
#define AVX(NAME) PHINTYS_NAMED(_mm256_##NAME, SUFFIX)
#define AVX512(NAME) PHINTYS_NAMED(_mm512_##NAME, SUFFIX)
#define NEON_SUFFIX_float f32
#define NEON_SUFFIX_double f64
#define NEON(NAME) PHINTYS_NAMED(NAME, PHINTYS_NAMED(NEON_SUFFIX, T))
#define AVX512_MASK(NAME) PHINTYS_NAMED(AVX512(NAME), mask)

#define LOOPS "native/vectors.h"
#define FLOATS
#include "native/each_set.h"
#endif

#else
typedef T TYPED(Vector) __attribute__((vector_size(SET_BYTES), aligned(sizeof(T)), may_alias));
typedef T TYPED(Wide) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));

typedef PHINTYS_NAMED(BITS, T) TYPED(Bits) __attribute__((vector_size(SET_BYTES)));   /* a cast keeps the bits */
typedef T TYPED(Register) __attribute__((vector_size(SET_BYTES)));      /* as functions of vectors take and return it */

#ifdef PHINTYS_HAS_NEON
typedef union { TYPED(Wide) wide; TYPED(Register) half[2]; } TYPED(Halves);
#endif

PHINTYS_INLINE TYPED(Vector) TYPED(broadcast)(T value) { return value - (TYPED(Vector)){0}; }  /* also of -0 and NaN */

/* a * b + c: where there is such an instruction, rounded once. */
PHINTYS_INLINE TYPED(Vector) TYPED(multiply_add)(TYPED(Vector) a, TYPED(Vector) b, TYPED(Vector) c) {
#if SET_LEVEL == 2
    return AVX512(fmadd)(a, b, c);
#elif SET_LEVEL == 1
    return AVX(fmadd)(a, b, c);
#elif defined(PHINTYS_HAS_NEON)
    return NEON(vfmaq)(c, a, b);
#else
    return a * b + c;
#endif
}
PHINTYS_INLINE TYPED(Wide) TYPED(wide_multiply_add)(TYPED(Wide) a, TYPED(Wide) b, TYPED(Wide) c) {
#if SET_LEVEL
    return AVX(fmadd)(a, b, c);
#elif defined(PHINTYS_HAS_NEON)
    const TYPED(Halves) x = {.wide = a}, y = {.wide = b};
    TYPED(Halves) sum = {.wide = c};
    for (int half = 0; half < 2; half++) sum.half[half] = NEON(vfmaq)(sum.half[half], x.half[half], y.half[half]);
    return sum.wide;
#else
    return a * b + c;
#endif
}
PHINTYS_INLINE T TYPED(number_multiply_add)(T a, T b, T c) {
#if SET_FUSES
    return sizeof(T) == sizeof(float) ? (T)__builtin_fmaf((float)a, (float)b, (float)c) : (T)__builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* The larger and the smaller of two: the second if they are equal or one is NaN. */
PHINTYS_INLINE TYPED(Vector) TYPED(larger)(TYPED(Vector) a, TYPED(Vector) b) {
#if SET_LEVEL == 2
    return AVX512(max)(a, b);
#elif SET_LEVEL == 1
    return AVX(max)(a, b);
#elif defined(PHINTYS_HAS_SETS)
    return SSE(max)(a, b);
#elif defined(PHINTYS_HAS_NEON)
    return NEON(vbslq)((TYPED(Bits))(a > b), a, b);
#else
    for (int l = 0; l < SET_BYTES / (int)sizeof(T); l++) b[l] = a[l] > b[l] ? a[l] : b[l];
    return b;
#endif
}
PHINTYS_INLINE TYPED(Vector) TYPED(smaller)(TYPED(Vector) a, TYPED(Vector) b) {
#if SET_LEVEL == 2
    return AVX512(min)(a, b);
#elif SET_LEVEL == 1
    return AVX(min)(a, b);
#elif defined(PHINTYS_HAS_SETS)
    return SSE(min)(a, b);
#elif defined(PHINTYS_HAS_NEON)
    return NEON(vbslq)((TYPED(Bits))(a < b), a, b);
#else
    for (int l = 0; l < SET_BYTES / (int)sizeof(T); l++) b[l] = a[l] < b[l] ? a[l] : b[l];
    return b;
#endif
}

PHINTYS_INLINE TYPED(Vector) TYPED(root)(TYPED(Vector) a) {
#if SET_LEVEL == 2
    return AVX512(sqrt)(a);
#elif SET_LEVEL == 1
    return AVX(sqrt)(a);
#else
    for (int l = 0; l < SET_BYTES / (int)sizeof(T); l++) a[l] = (T)__builtin_sqrt(a[l]);
    return a;
#endif
}
PHINTYS_INLINE TYPED(Vector) TYPED(floor)(TYPED(Vector) a) {
#if SET_LEVEL == 2
    return AVX512(roundscale)(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif SET_LEVEL == 1
    return AVX(floor)(a);
#else
    for (int l = 0; l < SET_BYTES / (int)sizeof(T); l++) a[l] = (T)__builtin_floor(a[l]);
    return a;
#endif
}

/* Which lanes something holds for: & and | join masks. */
#if SET_LEVEL == 2
typedef unsigned TYPED(Mask);
#else
typedef TYPED(Bits) TYPED(Mask);
#endif
PHINTYS_INLINE TYPED(Mask) TYPED(less)(TYPED(Vector) a, TYPED(Vector) b) {
#if SET_LEVEL == 2
    return AVX512_MASK(cmp)(a, b, _CMP_LT_OQ);
#else
    return (TYPED(Bits))(a < b);
#endif
}
PHINTYS_INLINE TYPED(Vector) TYPED(choose)(TYPED(Mask) mask, TYPED(Vector) yes, TYPED(Vector) no) {
#if SET_LEVEL == 2
    return AVX512(mask_blend)(mask, no, yes);
#elif SET_LEVEL == 1
    return AVX(blendv)(no, yes, (TYPED(Vector))mask);
#elif defined(PHINTYS_HAS_NEON)
    return NEON(vbslq)(mask, yes, no);
#else
    return (TYPED(Vector))((mask & (TYPED(Bits))yes) | (~mask & (TYPED(Bits))no));
#endif
}
PHINTYS_INLINE unsigned TYPED(bits_of)(TYPED(Mask) mask) {      /* a bit for each lane */
#if SET_LEVEL == 2
    return mask;
#elif SET_LEVEL == 1
    return (unsigned)AVX(movemask)((TYPED(Vector))mask);
#elif defined(PHINTYS_HAS_NEON)
    if (sizeof(T) == sizeof(double)) return (unsigned)(mask[0] & 1) | (unsigned)(mask[1] & 2);
    return vaddvq_u32(vandq_u32((uint32x4_t)mask, vld1q_u32(phintys_bits_of_lanes)));
#else
    unsigned bits = 0;
    for (int l = 0; l < SET_BYTES / (int)sizeof(T); l++) bits |= (unsigned)(mask[l] & 1) << l;
    return bits;
#endif
}

PHINTYS_INLINE int TYPED(everywhere)(TYPED(Mask) mask) {        /* whether it holds for each lane */
#ifdef PHINTYS_HAS_NEON
    return vminvq_u32((uint32x4_t)mask) != 0;
#else
    return TYPED(bits_of)(mask) == (1u << SET_BYTES / sizeof(T)) - 1;
#endif
}

/* The sum of the lanes. */
PHINTYS_INLINE T TYPED(total)(TYPED(Vector) value) {
#if SET_LEVEL == 2
    return AVX512(reduce_add)(value);
#elif SET_LEVEL == 1
    if (sizeof(T) == sizeof(double)) {
        const __m256d a = (__m256d)value;
        const __m128d b = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
        return (T)_mm_cvtsd_f64(_mm_add_sd(b, _mm_unpackhi_pd(b, b)));
    }
    const __m256 a = (__m256)value;
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return (T)_mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
#elif defined(PHINTYS_HAS_NEON)
    return NEON(vaddvq)(value);
#else
    T total = value[0];
    for (int lane = 1; lane < SET_BYTES / (int)sizeof(T); lane++) total += value[lane];
    return total;
#endif
}

/* The first `count` elements, of at most a register; the others are 0. */
PHINTYS_INLINE TYPED(Wide) TYPED(wide_load_part)(const T* from, int count) {
#if SET_LEVEL
    enum { LANES = 32 / sizeof(T) };
    const __m256i lanes = _mm256_loadu_si256((const __m256i*)(PHINTYS_NAMED(phintys_first_lanes, T) + LANES - count));
    return AVX(maskload)(from, lanes);
#else
    TYPED(Wide) value = {0};
    for (int lane = 0; lane < count; lane++) value[lane] = from[lane];
    return value;
#endif
}
PHINTYS_INLINE TYPED(Vector) TYPED(load_part)(const T* from, int count) {
#if SET_LEVEL == 2
    return AVX512(maskz_loadu)((1u << count) - 1, from);
#elif SET_LEVEL == 1
    return TYPED(wide_load_part)(from, count);
#else
    TYPED(Vector) value = {0};
    for (int lane = 0; lane < count; lane++) value[lane] = from[lane];
    return value;
#endif
}

/* The first `count` elements, at least one; the others are the first one. */
PHINTYS_INLINE TYPED(Vector) TYPED(load_filled)(const T* from, int count) {
#if SET_LEVEL == 2
    return AVX512(mask_loadu)(TYPED(broadcast)(*from), (1u << count) - 1, from);
#elif SET_LEVEL == 1
    enum { LANES = 32 / sizeof(T) };
    const __m256i lanes = _mm256_loadu_si256((const __m256i*)(PHINTYS_NAMED(phintys_first_lanes, T) + LANES - count));
    return AVX(blendv)(TYPED(broadcast)(*from), AVX(maskload)(from, lanes), (TYPED(Vector))lanes);
#else
    TYPED(Vector) value = TYPED(broadcast)(*from);
    for (int lane = 1; lane < count; lane++) value[lane] = from[lane];
    return value;
#endif
}

/* Stores the first `count` elements, of at most a register, and nothing else.
 *
 * AVX2's own masked stores take 11 times as long as a whole store on processors of AMD (Zen 4: 3.3 ns beside 0.3), on
 * which they are a sequence of small steps. One to three ordinary stores take 0.8 ns there. Their number follows from
 * `count`, so this suits counts that repeat, which branches can be predicted for. AVX-512's masked stores take as long
 * as whole ones on both kinds of processors. */
PHINTYS_INLINE void TYPED(store_part)(T* to, TYPED(Vector) value, int count) {
#if SET_LEVEL == 2
    AVX512(mask_storeu)(to, (1u << count) - 1, value);
#elif SET_LEVEL == 1
    __m256i all = (__m256i)value;
    if (count * sizeof(T) >= 32) {
        *(TYPED(Vector)*)to = value;
        return;
    }
    __m128i half = _mm256_castsi256_si128(all);
    char* at = (char*)to;
    if (count * sizeof(T) & 16) {
        _mm_storeu_si128((__m128i*)at, half);
        half = _mm256_extracti128_si256(all, 1);
        at += 16;
    }
    if (count * sizeof(T) & 8) {
        _mm_storel_epi64((__m128i*)at, half);
        half = _mm_unpackhi_epi64(half, half);
        at += 8;
    }
    if (sizeof(T) == 4 && count & 1) *(int32_t __attribute__((may_alias, aligned(1)))*)at = _mm_cvtsi128_si32(half);
#else
    for (int lane = 0; lane < count; lane++) to[lane] = value[lane];
#endif
}

/* Writes the sums of the lanes of four. */
PHINTYS_INLINE void TYPED(wide_sums)(TYPED(Wide) a, TYPED(Wide) b, TYPED(Wide) c, TYPED(Wide) d, T* sums) {
#if SET_LEVEL
    const TYPED(Wide) ab = AVX(hadd)(a, b), cd = AVX(hadd)(c, d);           /* of double: a0+a1, b0+b1, a2+a3, b2+b3 */
    if (sizeof(T) == sizeof(double)) {
        const __m256d of_ab = (__m256d)ab, of_cd = (__m256d)cd;
        _mm256_storeu_pd((double*)sums, _mm256_add_pd(_mm256_permute2f128_pd(of_ab, of_cd, 0x20),
                                                      _mm256_permute2f128_pd(of_ab, of_cd, 0x31)));
    } else {
        const __m256 all = _mm256_hadd_ps((__m256)ab, (__m256)cd);
        _mm_storeu_ps((float*)sums, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
    }
#elif defined(PHINTYS_HAS_NEON)
    const TYPED(Halves) of[4] = {{.wide = a}, {.wide = b}, {.wide = c}, {.wide = d}};
    TYPED(Register) two[4];                                                 /* of double: a sum each, of neighbours */
    for (int k = 0; k < 4; k++) two[k] = NEON(vpaddq)(of[k].half[0], of[k].half[1]);
    const TYPED(Register) ab = NEON(vpaddq)(two[0], two[1]), cd = NEON(vpaddq)(two[2], two[3]);
    if (sizeof(T) == sizeof(double)) {
        *(TYPED(Vector)*)sums = ab;
        *(TYPED(Vector)*)(sums + 2) = cd;
    } else *(TYPED(Vector)*)sums = NEON(vpaddq)(ab, cd);
#else
    enum { LANES = 32 / sizeof(T) };
    const TYPED(Wide) all[4] = {a, b, c, d};
    for (int k = 0; k < 4; k++) {
        const T half = (all[k][0] + all[k][1]) + (all[k][2] + all[k][3]);
        sums[k] = LANES == 4 ? half : half + ((all[k][LANES - 4] + all[k][LANES - 3])
                                              + (all[k][LANES - 2] + all[k][LANES - 1]));
    }
#endif
}

/* Writes a square as columns: as many of its rows, `step` bytes apart, as a wide vector has lanes. */
PHINTYS_INLINE void TYPED(transposed)(const T* from, npy_intp step, T* to, npy_intp width) {
    enum { LANES = 32 / sizeof(T) };
    const char* at = (const char*)from;
#if SET_LEVEL
    if (sizeof(T) == sizeof(double)) {
        __m256d x[4];
        for (int k = 0; k < 4; k++) x[k] = _mm256_loadu_pd((const double*)(at + k * step));
        const __m256d ab0 = _mm256_unpacklo_pd(x[0], x[1]), ab1 = _mm256_unpackhi_pd(x[0], x[1]);
        const __m256d cd0 = _mm256_unpacklo_pd(x[2], x[3]), cd1 = _mm256_unpackhi_pd(x[2], x[3]);
        _mm256_storeu_pd((double*)to, _mm256_permute2f128_pd(ab0, cd0, 0x20));
        _mm256_storeu_pd((double*)(to + width), _mm256_permute2f128_pd(ab1, cd1, 0x20));
        _mm256_storeu_pd((double*)(to + 2 * width), _mm256_permute2f128_pd(ab0, cd0, 0x31));
        _mm256_storeu_pd((double*)(to + 3 * width), _mm256_permute2f128_pd(ab1, cd1, 0x31));
        return;
    }
    for (int half = 0; half < 2; half++, at += 16, to += 4 * width) {       /* four columns of eight rows */
        __m256 x[4];                                                        /* rows k and k + 4 */
        for (int k = 0; k < 4; k++)
            x[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((const float*)(at + k * step))),
                                        _mm_loadu_ps((const float*)(at + (k + 4) * step)), 1);
        const __m256 ab0 = _mm256_unpacklo_ps(x[0], x[1]), ab1 = _mm256_unpackhi_ps(x[0], x[1]);
        const __m256 cd0 = _mm256_unpacklo_ps(x[2], x[3]), cd1 = _mm256_unpackhi_ps(x[2], x[3]);
        _mm256_storeu_ps((float*)to, _mm256_shuffle_ps(ab0, cd0, 0x44));
        _mm256_storeu_ps((float*)(to + width), _mm256_shuffle_ps(ab0, cd0, 0xee));
        _mm256_storeu_ps((float*)(to + 2 * width), _mm256_shuffle_ps(ab1, cd1, 0x44));
        _mm256_storeu_ps((float*)(to + 3 * width), _mm256_shuffle_ps(ab1, cd1, 0xee));
    }
#elif defined(PHINTYS_HAS_NEON)
    enum { PART = 16 / sizeof(T) };
    for (int i = 0; i < LANES; i += PART)
        for (int j = 0; j < LANES; j += PART) {             /* a square of as many rows as a register has lanes */
            TYPED(Vector) x[4];
            for (int k = 0; k < PART; k++) x[k] = *(const TYPED(Vector)*)((const T*)(at + (j + k) * step) + i);
            T* out = to + i * width + j;
            const TYPED(Vector) ab0 = NEON(vtrn1q)(x[0], x[1]), ab1 = NEON(vtrn2q)(x[0], x[1]);
            if (PART == 2) {
                *(TYPED(Vector)*)out = ab0;
                *(TYPED(Vector)*)(out + width) = ab1;
                continue;
            }
            const float64x2_t cd0 = (float64x2_t)NEON(vtrn1q)(x[2], x[3]), cd1 = (float64x2_t)NEON(vtrn2q)(x[2], x[3]);
            *(TYPED(Vector)*)out = (TYPED(Vector))vtrn1q_f64((float64x2_t)ab0, cd0);
            *(TYPED(Vector)*)(out + width) = (TYPED(Vector))vtrn1q_f64((float64x2_t)ab1, cd1);
            *(TYPED(Vector)*)(out + 2 * width) = (TYPED(Vector))vtrn2q_f64((float64x2_t)ab0, cd0);
            *(TYPED(Vector)*)(out + 3 * width) = (TYPED(Vector))vtrn2q_f64((float64x2_t)ab1, cd1);
        }
#else
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < LANES; j++) to[i * width + j] = ((const T*)(at + j * step))[i];
#endif
}
#endif
