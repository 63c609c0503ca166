/* The folds of reduction_loops.h, for one instruction set. Each fold is made from a template, float_fold.template.h or
 * integer_fold.template.h, whose parameters are explained there.
 *
 * Sums and products of floats run in eight registers of lanes over blocks, and blocks are combined pairwise, so that
 * rounding errors grow with the logarithm of the length. With FMA a sum is x * 1 + y, which rounds alike, but leaves
 * the unit that adds to the conversions from float, which share it. Loops over integers are plain: the compiler knows
 * that their order does not matter.
 *
 * Where there are other sets, the baseline calls a function for each float16, because it would be long to compile.
 */
#define OF IN_SET
#define MEMBER(NAME) OF(PHINTYS_NAMED(PHINTYS_NAMED(KIND, DTYPE), NAME))        /* of this fold */

/* ---- floats: how they are read and combined ---------------------------------------------------------------------- */
/* `one_...` reads one value, the others a register of lanes. */
PHINTYS_INLINE phintys_doubles OF(values_float64)(const char *data) { return *(const phintys_near_doubles *)data; }
PHINTYS_INLINE phintys_doubles OF(values_float32)(const char *data) {
#if SET_LEVEL
    return (phintys_doubles)_mm256_cvtps_pd(_mm_loadu_ps((const float *)data));
#elif defined(PHINTYS_HAS_NEON)
    const float32x4_t values = vld1q_f32((const float *)data);
    return (phintys_doubles){vcvt_f64_f32(vget_low_f32(values)), vcvt_high_f64_f32(values)};
#else
    return __builtin_convertvector(*(const phintys_near_short_floats *)data, phintys_doubles);
#endif
}
PHINTYS_INLINE phintys_register OF(magnitude)(phintys_register a, phintys_register same) {
    return (phintys_register)((phintys_words)a & 0x7fffffffffffffff);
}
#define PHINTYS_READERS(DTYPE, TYPE) \
    PHINTYS_INLINE double OF(one_values_##DTYPE)(const char *data) { return *(const TYPE *)data; } \
    PHINTYS_INLINE double OF(one_magnitudes_##DTYPE)(const char *data) { return fabs(*(const TYPE *)data); } \
    PHINTYS_INLINE double OF(one_squares_##DTYPE)(const char *data) { \
        return OF(one_values_##DTYPE)(data) * OF(one_values_##DTYPE)(data); \
    } \
    PHINTYS_INLINE phintys_doubles OF(squares_##DTYPE)(const char *data) { \
        const phintys_doubles values = OF(values_##DTYPE)(data); \
        return LANEWISE(phintys_doubles, PHINTYS_TIMES, values, values); \
    } \
    PHINTYS_INLINE phintys_doubles OF(magnitudes_##DTYPE)(const char *data) { \
        const phintys_doubles values = OF(values_##DTYPE)(data); \
        return LANEWISE(phintys_doubles, OF(magnitude), values, values); \
    }
PHINTYS_READERS(float32, float)
PHINTYS_READERS(float64, double)
#undef PHINTYS_READERS

#if SET_LEVEL
PHINTYS_INLINE phintys_doubles OF(plus_doubles)(phintys_doubles a, phintys_doubles b) {
    return (phintys_doubles)_mm256_fmadd_pd((__m256d)b, _mm256_set1_pd(1.0), (__m256d)a);
}
PHINTYS_INLINE phintys_doubles OF(add_float_squares)(phintys_doubles a, const char *data) {
    __m256d x = (__m256d)OF(values_float32)(data);
    return (phintys_doubles)_mm256_fmadd_pd(x, x, (__m256d)a);          /* the square of a float has no rounding */
}
PHINTYS_INLINE double OF(plus_double)(double a, double b) {
    double one = 1.0;
    __asm__("" : "+x"(one));            /* or the compiler would make it an addition again */
    return __builtin_fma(b, one, a);
}
PHINTYS_INLINE phintys_floats OF(values_float16)(const char *data) {
    return (phintys_floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)data));
}
PHINTYS_INLINE float OF(one_values_float16)(const char *data) { return _cvtsh_ss(*(const uint16_t *)data); }
#else
PHINTYS_INLINE phintys_doubles OF(plus_doubles)(phintys_doubles a, phintys_doubles b) {
    return LANEWISE(phintys_doubles, PHINTYS_PLUS, a, b);
}
PHINTYS_INLINE double OF(plus_double)(double a, double b) { return a + b; }
PHINTYS_INLINE phintys_doubles OF(add_float_squares)(phintys_doubles a, const char *data) {
    const phintys_doubles x = OF(values_float32)(data);
#ifdef PHINTYS_HAS_NEON
    return (phintys_doubles){vfmaq_f64(a.low, x.low, x.low), vfmaq_f64(a.high, x.high, x.high)};
#else
    return a + x * x;
#endif
}
#ifdef PHINTYS_HAS_NEON
PHINTYS_INLINE float OF(one_values_float16)(const char *data) { return *(const __fp16 *)data; }
#elif defined(PHINTYS_HAS_SETS)
static __attribute__((noinline)) float OF(one_values_float16)(const char *data) {
    return (float)phintys_from_half(*(const uint16_t *)data);
}
#else
PHINTYS_INLINE float OF(one_values_float16)(const char *data) {
    return (float)phintys_from_half(*(const uint16_t *)data);
}
#endif
PHINTYS_INLINE phintys_floats OF(values_float16)(const char *data) {
#ifdef PHINTYS_HAS_NEON
    const float16x8_t values = vld1q_f16((const __fp16 *)data);
    return (phintys_floats){vcvt_f32_f16(vget_low_f16(values)), vcvt_high_f32_f16(values)};
#else
    phintys_floats values;
    for (int l = 0; l < 8; l++) values[l] = OF(one_values_float16)(data + 2 * l);
    return values;
#endif
}
#endif
PHINTYS_INLINE phintys_doubles OF(times_doubles)(phintys_doubles a, phintys_doubles b) {
    return LANEWISE(phintys_doubles, PHINTYS_TIMES, a, b);
}
PHINTYS_INLINE phintys_floats OF(times_floats)(phintys_floats a, phintys_floats b) {
    return LANEWISE(phintys_floats, PHINTYS_TIMES, a, b);
}
PHINTYS_INLINE phintys_floats OF(plus_floats)(phintys_floats a, phintys_floats b) {
    return LANEWISE(phintys_floats, PHINTYS_PLUS, a, b);
}

/* Extrema: the first NaN stays, as in NumPy. */
PHINTYS_INLINE phintys_register OF(chosen)(phintys_words first, phintys_register a, phintys_register b) {
    return (phintys_register)((first & (phintys_words)a) | (~first & (phintys_words)b));
}
PHINTYS_INLINE phintys_register OF(larger)(phintys_register a, phintys_register b) {
    return OF(chosen)((phintys_words)((a >= b) | (a != a)), a, b);
}
PHINTYS_INLINE phintys_register OF(smaller)(phintys_register a, phintys_register b) {
    return OF(chosen)((phintys_words)((a <= b) | (a != a)), a, b);
}
PHINTYS_INLINE phintys_doubles OF(larger_doubles)(phintys_doubles a, phintys_doubles b) {
    return LANEWISE(phintys_doubles, OF(larger), a, b);
}
PHINTYS_INLINE phintys_doubles OF(smaller_doubles)(phintys_doubles a, phintys_doubles b) {
    return LANEWISE(phintys_doubles, OF(smaller), a, b);
}
PHINTYS_INLINE double OF(larger_one)(double a, double b) { return a >= b || a != a ? a : b; }
PHINTYS_INLINE double OF(smaller_one)(double a, double b) { return a <= b || a != a ? a : b; }

/* ---- floats: folds ----------------------------------------------------------------------------------------------- */
#define PART double
#define LANES phintys_doubles
#define NEAR_LANES phintys_near_doubles

#define KIND sum
#define READER values
#define COMBINE OF(plus_doubles)
#define COMBINE_ONE OF(plus_double)
#include "float_folds.template.h"

#define KIND magnitudes
#define READER magnitudes
#define COMBINE OF(plus_doubles)
#define COMBINE_ONE OF(plus_double)
#include "float_folds.template.h"

#define KIND squares
#define READER squares
#define COMBINE OF(plus_doubles)
#define COMBINE_ONE OF(plus_double)
#define ADD_FLOAT32 OF(add_float_squares)
#include "float_folds.template.h"
#undef ADD_FLOAT32

#define KIND product
#define READER values
#define COMBINE OF(times_doubles)
#define COMBINE_ONE PHINTYS_TIMES
#include "float_folds.template.h"

#define ONLY float64
#define KIND maximum
#define READER values
#define COMBINE OF(larger_doubles)
#define COMBINE_ONE OF(larger_one)
#include "float_folds.template.h"

#define KIND minimum
#define READER values
#define COMBINE OF(smaller_doubles)
#define COMBINE_ONE OF(smaller_one)
#include "float_folds.template.h"
#undef ONLY
#undef PART
#undef LANES
#undef NEAR_LANES

/* float16, in lanes of float */
#define PART float
#define LANES phintys_floats
#define NEAR_LANES phintys_near_floats
#define ONLY float16
#define KIND sum
#define READER values
#define COMBINE OF(plus_floats)
#define COMBINE_ONE PHINTYS_PLUS
#include "float_folds.template.h"

#define KIND product
#define READER values
#define COMBINE OF(times_floats)
#define COMBINE_ONE PHINTYS_TIMES
#include "float_folds.template.h"
#undef ONLY
#undef PART
#undef LANES
#undef NEAR_LANES

/* ---- integers: sums ---------------------------------------------------------------------------------------------- */
/* They wrap, so those of signed and unsigned integers of 64 bits are the same. */
#define TOTAL uint64_t
#define READ(x) ((PART)(x))
#define COMBINE PHINTYS_PLUS
#define SETTLED(total) 0

#define KIND sum
#define BLOCK PHINTYS_SHORT_BLOCK
#define PART int32_t
#define DTYPE int8
#include "integer_fold.template.h"
#define DTYPE int16
#include "integer_fold.template.h"
#define DTYPE uint8
#include "integer_fold.template.h"
#define DTYPE uint16
#include "integer_fold.template.h"
#undef BLOCK
#undef PART
#define BLOCK n
#define PART int64_t
#define DTYPE int32
#include "integer_fold.template.h"
#undef PART
#define PART uint64_t
#define DTYPE uint32
#include "integer_fold.template.h"
#define DTYPE int64
#include "integer_fold.template.h"
#undef BLOCK
#undef PART
#undef KIND
#undef TOTAL
#undef READ
#undef COMBINE
#undef SETTLED

/* ---- tests ------------------------------------------------------------------------------------------------------- */
#define KIND any
#define COMBINE PHINTYS_OR
#define SETTLED(total) (total)
#include "test_folds.template.h"

#define KIND all
#define COMBINE PHINTYS_AND
#define SETTLED(total) (!(total))
#include "test_folds.template.h"

/* ---- the table: by kind, in the order of KINDS in folds.py, and by type ------------------------------------ */
#define PHINTYS_ONE_FOLD(NAME) {OF(NAME##_rows), OF(NAME##_columns)}
#define PHINTYS_INTEGER_FOLDS(KIND, UNSIGNED_8, UNSIGNED_16, UNSIGNED_32) \
    PHINTYS_ONE_FOLD(KIND##_##UNSIGNED_8), PHINTYS_ONE_FOLD(KIND##_int8), PHINTYS_ONE_FOLD(KIND##_int16), \
    PHINTYS_ONE_FOLD(KIND##_int32), PHINTYS_ONE_FOLD(KIND##_int64), PHINTYS_ONE_FOLD(KIND##_##UNSIGNED_8), \
    PHINTYS_ONE_FOLD(KIND##_##UNSIGNED_16), PHINTYS_ONE_FOLD(KIND##_##UNSIGNED_32), PHINTYS_ONE_FOLD(KIND##_int64)
#define PHINTYS_FLOAT_FOLDS(KIND) [10] = PHINTYS_ONE_FOLD(KIND##_float32), PHINTYS_ONE_FOLD(KIND##_float64)

static const phintys_fold OF(folds)[PHINTYS_FOLD_KINDS][PHINTYS_FOLD_TYPES] = {
    {PHINTYS_INTEGER_FOLDS(sum, uint8, uint16, uint32), PHINTYS_ONE_FOLD(sum_float16), PHINTYS_FLOAT_FOLDS(sum)},
    {[9] = PHINTYS_ONE_FOLD(product_float16), PHINTYS_FLOAT_FOLDS(product)},
    {PHINTYS_FLOAT_FOLDS(squares)},
    {PHINTYS_FLOAT_FOLDS(magnitudes)},
    {PHINTYS_INTEGER_FOLDS(any, int8, int16, int32), PHINTYS_ONE_FOLD(any_float16), PHINTYS_FLOAT_FOLDS(any)},
    {PHINTYS_INTEGER_FOLDS(all, int8, int16, int32), PHINTYS_ONE_FOLD(all_float16), PHINTYS_FLOAT_FOLDS(all)},
    {[11] = PHINTYS_ONE_FOLD(maximum_float64)},
    {[11] = PHINTYS_ONE_FOLD(minimum_float64)},
};
#undef MEMBER
#undef OF
