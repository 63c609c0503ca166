/* Uniform numbers of PCG64 by the vector instructions for products of 52 bits (AVX-512 IFMA) or 32 bits (AVX2), with
 * the bits of phintys_pcg64_doubles and phintys_pcg64_floats.
 *
 * With AVX-512, eight numbers that follow each other are in a vector, and four vectors advance side by side, each by 32
 * steps at a time: state * factor + offset modulo 2**128. A state is three limbs, of 52, 52 and 24 bits. The
 * instructions ignore what is above 52 bits of a factor, so carries are added to the next limb and not taken away from
 * their own. With AVX2, a vector has four numbers, and a state is two halves.
 */
#ifndef PHINTYS_PCG64_VECTORS_H
#define PHINTYS_PCG64_VECTORS_H

#include "bit_generators.h"

enum {PHINTYS_AHEAD = 32, PHINTYS_AHEAD_AVX2 = 16};                         /* numbers that are in flight */

/* Many steps at once: state * factor + increment * sum. */
typedef struct {phintys_uint128 factor, sum;} phintys_jump;

static phintys_jump phintys_jump_of(uint64_t steps) {
    phintys_uint128 factor = PHINTYS_PCG_MULTIPLIER, sum = 1;
    phintys_jump jump = {1, 0};
    for (; steps; steps >>= 1) {
        if (steps & 1) {
            jump.factor *= factor;
            jump.sum = jump.sum * factor + sum;
        }
        sum *= factor + 1;
        factor *= factor;
    }
    return jump;
}

/* From a vector to the next one, and to the one after four: set when the module is loaded. */
static phintys_jump phintys_next_jump, phintys_vector_jump, phintys_next_jump_avx2, phintys_vector_jump_avx2;

static void phintys_prepare_vectors(void) {
    phintys_next_jump_avx2 = phintys_jump_of(4);
    phintys_vector_jump_avx2 = phintys_jump_of(PHINTYS_AHEAD_AVX2);
    phintys_next_jump = phintys_jump_of(8);
    phintys_vector_jump = phintys_jump_of(PHINTYS_AHEAD);
}

#ifdef PHINTYS_HAS_SETS
#include <immintrin.h>
PHINTYS_COMPILE_FOR("avx512f,avx512dq,avx512ifma")
typedef struct {__m512i low, middle, high;} phintys_limbs;
#define PHINTYS_LIMB 0xfffffffffffffULL

static inline phintys_limbs phintys_limbs_of(phintys_uint128 value) {
    phintys_limbs limbs = {_mm512_set1_epi64((long long)(value & PHINTYS_LIMB)),
                           _mm512_set1_epi64((long long)(value >> 52 & PHINTYS_LIMB)),
                           _mm512_set1_epi64((long long)(value >> 104))};
    return limbs;
}

static inline phintys_limbs phintys_advanced_limbs(phintys_limbs a, phintys_limbs b, phintys_limbs c) {
    phintys_limbs r;
    r.low = _mm512_madd52lo_epu64(c.low, a.low, b.low);
    r.middle = _mm512_madd52hi_epu64(c.middle, a.low, b.low);
    r.middle = _mm512_madd52lo_epu64(r.middle, a.low, b.middle);
    r.middle = _mm512_madd52lo_epu64(r.middle, a.middle, b.low);
    __m512i high = _mm512_madd52hi_epu64(c.high, a.low, b.middle);
    r.high = _mm512_madd52hi_epu64(_mm512_setzero_si512(), a.middle, b.low);
    high = _mm512_madd52lo_epu64(high, a.low, b.high);
    r.high = _mm512_madd52lo_epu64(r.high, a.middle, b.middle);
    high = _mm512_madd52lo_epu64(high, a.high, b.low);
    r.middle = _mm512_add_epi64(r.middle, _mm512_srli_epi64(r.low, 52));
    high = _mm512_add_epi64(high, _mm512_srli_epi64(r.middle, 52));
    r.high = _mm512_add_epi64(r.high, high);
    return r;
}

/* What phintys_pcg64_output makes of eight states. */
static inline __m512i phintys_output_of_limbs(phintys_limbs s) {
    const __m512i limb = _mm512_set1_epi64((long long)PHINTYS_LIMB), below = _mm512_set1_epi64((1LL << 40) - 1);
    const __m512i low = _mm512_or_si512(_mm512_and_si512(s.low, limb), _mm512_slli_epi64(s.middle, 52));
    const __m512i high = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi64(s.middle, 12), below),
                                         _mm512_slli_epi64(s.high, 40));
    return _mm512_rorv_epi64(_mm512_xor_si512(low, high), _mm512_srli_epi64(high, 58));
}

static inline void phintys_store_doubles(__m512i bits, double* out) {
    _mm512_storeu_pd(out, _mm512_mul_pd(_mm512_cvtepu64_pd(_mm512_srli_epi64(bits, 11)),
                                        _mm512_set1_pd(1.0 / 9007199254740992.0)));
}

/* Two of each number, the lower half first, as it is in memory. */
static inline void phintys_store_floats(__m512i bits, float* out) {
    _mm512_storeu_ps(out, _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(bits, 8)),
                                        _mm512_set1_ps(1.0f / 16777216.0f)));
}

/* Eight words as a vector: they have just been stored one by one, and a load of all would wait for that. */
static inline __m512i phintys_of_eight(const uint64_t* w) {
    return _mm512_setr_epi64((long long)w[0], (long long)w[1], (long long)w[2], (long long)w[3], (long long)w[4],
                             (long long)w[5], (long long)w[6], (long long)w[7]);
}

/* The states after 1, 2, ..., 32 steps, as limbs of four vectors: the first one step by step, others from the one
 * before (step by step, all took 8 % of a dropout layer). */
static void phintys_first_limbs(phintys_uint128 here, phintys_uint128 increment, phintys_limbs* vectors) {
    const phintys_limbs by = phintys_limbs_of(phintys_next_jump.factor);
    const phintys_limbs plus = phintys_limbs_of(increment * phintys_next_jump.sum);
    uint64_t limbs[3][8];
    for (int position = 0; position < 8; position++) {
        here = here * PHINTYS_PCG_MULTIPLIER + increment;
        limbs[0][position] = (uint64_t)here & PHINTYS_LIMB;
        limbs[1][position] = (uint64_t)(here >> 52) & PHINTYS_LIMB;
        limbs[2][position] = (uint64_t)(here >> 104);
    }
    vectors[0].low = phintys_of_eight(limbs[0]);
    vectors[0].middle = phintys_of_eight(limbs[1]);
    vectors[0].high = phintys_of_eight(limbs[2]);
    for (int vector = 1; vector < PHINTYS_AHEAD / 8; vector++)
        vectors[vector] = phintys_advanced_limbs(vectors[vector - 1], by, plus);
}

/* The state in the last lane of a vector. */
static phintys_uint128 phintys_last_state(phintys_limbs s) {
    uint64_t low[8], middle[8], high[8];
    _mm512_storeu_si512(low, s.low);
    _mm512_storeu_si512(middle, s.middle);
    _mm512_storeu_si512(high, s.high);
    return (phintys_uint128)(low[7] & PHINTYS_LIMB) + ((phintys_uint128)(middle[7] & PHINTYS_LIMB) << 52)
        + ((phintys_uint128)high[7] << 104);
}

#define PHINTYS_VECTORS(NAME, TYPE, EACH, STORE)                                                                       \
    static phintys_uint128 NAME(phintys_uint128 here, phintys_uint128 increment, ptrdiff_t rounds,        \
                                             TYPE* out) {                                                              \
        const phintys_limbs by = phintys_limbs_of(phintys_vector_jump.factor);                                         \
        const phintys_limbs plus = phintys_limbs_of(increment * phintys_vector_jump.sum);                              \
        phintys_limbs a[4];                                                                                            \
        phintys_first_limbs(here, increment, a);                                                                       \
        for (;;) {                                                                                                     \
            for (int vector = 0; vector < 4; vector++)                                                                 \
                STORE(phintys_output_of_limbs(a[vector]), out + EACH * vector);                                        \
            if (--rounds == 0) return phintys_last_state(a[3]);                                                        \
            out += 4 * EACH;                                                                                           \
            for (int vector = 0; vector < 4; vector++) a[vector] = phintys_advanced_limbs(a[vector], by, plus);        \
        }                                                                                                              \
    }

PHINTYS_VECTORS(phintys_vectors_of_doubles, double, 8, phintys_store_doubles)
PHINTYS_VECTORS(phintys_vectors_of_floats, float, 16, phintys_store_floats)

/* ---- AVX2 -------------------------------------------------------------------------------------------------------- */
PHINTYS_END_OF_SET
PHINTYS_COMPILE_FOR("avx2")
typedef struct {__m256i low, high;} phintys_halves;

/* A factor and what is added, as the instructions need them: 32 bits of a number in each position of 64. */
typedef struct {
    __m256i factor[3], low_pair, high_pair;             /* bits 0, 32, 64 on; (bits 96 on, 64 on), (32 on, 0 on) */
    __m256i plus[2], plus_high;
} phintys_halves_step;

static inline phintys_halves_step phintys_step_of_halves(phintys_uint128 factor, phintys_uint128 plus) {
    const uint64_t low = (uint64_t)factor, high = (uint64_t)(factor >> 64);
    phintys_halves_step step = {
        {_mm256_set1_epi64x((long long)low), _mm256_set1_epi64x((long long)(low >> 32)),
         _mm256_set1_epi64x((long long)high)},
        _mm256_set1_epi64x((long long)(high >> 32 | high << 32)),
        _mm256_set1_epi64x((long long)(low >> 32 | low << 32)),
        {_mm256_set1_epi64x((long long)((uint64_t)plus & 0xffffffffu)),
         _mm256_set1_epi64x((long long)((uint64_t)plus >> 32))},
        _mm256_set1_epi64x((long long)(uint64_t)(plus >> 64))};
    return step;
}

/* state * factor + plus: no sum of the lower half overflows 64 bits. */
static inline phintys_halves phintys_advanced_halves(phintys_halves s, const phintys_halves_step* by) {
    const __m256i below = _mm256_set1_epi64x(0xffffffff), upper = _mm256_srli_epi64(s.low, 32);
    const __m256i first = _mm256_add_epi64(_mm256_mul_epu32(s.low, by->factor[0]), by->plus[0]);
    const __m256i second = _mm256_add_epi64(_mm256_add_epi64(_mm256_mul_epu32(s.low, by->factor[1]), by->plus[1]),
                                            _mm256_srli_epi64(first, 32));
    const __m256i third = _mm256_add_epi64(_mm256_mul_epu32(upper, by->factor[0]), _mm256_and_si256(second, below));
    const __m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(s.low, by->factor[2]),
                                             _mm256_mul_epu32(s.high, by->factor[0]));
    const __m256i pairs = _mm256_add_epi32(_mm256_mullo_epi32(s.low, by->low_pair),         /* for the upper 32 bits */
                                           _mm256_mullo_epi32(s.high, by->high_pair));
    const __m256i top = _mm256_add_epi64(_mm256_slli_epi64(pairs, 32), _mm256_andnot_si256(below, pairs));
    const __m256i carried = _mm256_add_epi64(_mm256_srli_epi64(second, 32), _mm256_srli_epi64(third, 32));
    phintys_halves r = {_mm256_blend_epi32(first, _mm256_slli_epi64(third, 32), 0xaa)};
    r.high = _mm256_add_epi64(
        _mm256_add_epi64(_mm256_add_epi64(_mm256_mul_epu32(upper, by->factor[1]), by->plus_high), carried),
        _mm256_add_epi64(crossed, top));
    return r;
}

/* What phintys_pcg64_output makes of four states. */
static inline __m256i phintys_output_of_halves(phintys_halves s) {
    const __m256i folded = _mm256_xor_si256(s.low, s.high), turn = _mm256_srli_epi64(s.high, 58);
    return _mm256_or_si256(_mm256_srlv_epi64(folded, turn),
                           _mm256_sllv_epi64(folded, _mm256_sub_epi64(_mm256_set1_epi64x(64), turn)));
}

/* Halves of the integers are converted by adding them to powers of 2, as in phintys_fraction_of_pair. */
static inline void phintys_store_four_doubles(__m256i bits, double* out) {
    const __m256i powers[2] = {_mm256_set1_epi64x(0x4330000000000000), _mm256_set1_epi64x(0x4530000000000000)};
    const __m256d high = _mm256_castsi256_pd(_mm256_or_si256(_mm256_srli_epi64(bits, 43), powers[1]));
    const __m256d low = _mm256_castsi256_pd(_mm256_blend_epi32(_mm256_srli_epi64(bits, 11), powers[0], 0xaa));
    const __m256d integer = _mm256_add_pd(_mm256_sub_pd(high, _mm256_set1_pd(0x1p84 + 0x1p52)), low);
    _mm256_storeu_pd(out, _mm256_mul_pd(integer, _mm256_set1_pd(1.0 / 9007199254740992.0)));
}

static inline void phintys_store_eight_floats(__m256i bits, float* out) {
    _mm256_storeu_ps(out, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_srli_epi32(bits, 8)),
                                        _mm256_set1_ps(1.0f / 16777216.0f)));
}

/* The states after 1, 2, ..., 16 steps. */
static inline void phintys_first_halves(phintys_uint128 here, phintys_uint128 increment,
                                        phintys_halves* vectors) {
    const phintys_halves_step next = phintys_step_of_halves(phintys_next_jump_avx2.factor,
                                                            increment * phintys_next_jump_avx2.sum);
    long long low[4], high[4];
    for (int position = 0; position < 4; position++) {
        here = here * PHINTYS_PCG_MULTIPLIER + increment;
        low[position] = (long long)here;
        high[position] = (long long)(here >> 64);
    }
    vectors[0].low = _mm256_setr_epi64x(low[0], low[1], low[2], low[3]);
    vectors[0].high = _mm256_setr_epi64x(high[0], high[1], high[2], high[3]);
    for (int vector = 1; vector < 4; vector++) vectors[vector] = phintys_advanced_halves(vectors[vector - 1], &next);
}

#define PHINTYS_VECTORS_AVX2(NAME, TYPE, EACH, STORE)                                                                  \
    static phintys_uint128 NAME(phintys_uint128 here, phintys_uint128 increment, ptrdiff_t rounds,      \
                                               TYPE* out) {                                                            \
        const phintys_halves_step by = phintys_step_of_halves(phintys_vector_jump_avx2.factor,                         \
                                                              increment * phintys_vector_jump_avx2.sum);               \
        phintys_halves a[4];                                                                                           \
        phintys_first_halves(here, increment, a);                                                                      \
        for (;;) {                                                                                                     \
            for (int vector = 0; vector < 4; vector++)                                                                 \
                STORE(phintys_output_of_halves(a[vector]), out + EACH * vector);                                       \
            if (--rounds == 0) break;                                                                                  \
            out += 4 * EACH;                                                                                           \
            for (int vector = 0; vector < 4; vector++) a[vector] = phintys_advanced_halves(a[vector], &by);            \
        }                                                                                                              \
        return (phintys_uint128)(uint64_t)_mm256_extract_epi64(a[3].high, 3) << 64                                     \
            | (uint64_t)_mm256_extract_epi64(a[3].low, 3);                                                             \
    }

PHINTYS_VECTORS_AVX2(phintys_halves_of_doubles, double, 4, phintys_store_four_doubles)
PHINTYS_VECTORS_AVX2(phintys_halves_of_floats, float, 8, phintys_store_eight_floats)
PHINTYS_END_OF_SET

#else
static phintys_uint128 phintys_halves_of_doubles(phintys_uint128 here, phintys_uint128 increment, ptrdiff_t rounds,
                                                 double* out) { return here; }
static phintys_uint128 phintys_halves_of_floats(phintys_uint128 here, phintys_uint128 increment, ptrdiff_t rounds,
                                                float* out) { return here; }
static phintys_uint128 phintys_vectors_of_doubles(phintys_uint128 here, phintys_uint128 increment, ptrdiff_t rounds,
                                                  double* out) { return here; }
static phintys_uint128 phintys_vectors_of_floats(phintys_uint128 here, phintys_uint128 increment, ptrdiff_t rounds,
                                                 float* out) { return here; }
#endif

#endif
