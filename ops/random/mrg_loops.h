/* MRG31k3p of L'Ecuyer and Touzin: two recurrences modulo 2^31 - 1 and 2^31 - 21069, whose difference is the number.
 *
 * A state has six numbers for each stream; sample i comes from stream i % streams. A run of PHINTYS_MRG_LANES streams
 * advances side by side, so that the compiler can use vectors; which lanes share a run changes no value. All
 * arithmetic is on unsigned 32-bit integers, and a sample needs one conversion and one product, so another device gets
 * the same bits with the same few lines.
 */
#ifndef PHINTYS_MRG_LOOPS_H
#define PHINTYS_MRG_LOOPS_H

#include "native/sets.h"
#include "../native/half_floats.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PHINTYS_MRG_M1 2147483647u
#define PHINTYS_MRG_M2 2147462579u
#define PHINTYS_MRG_LANES 64
#define PHINTYS_MRG_FEW 16

/* y modulo m for y < 2 m: y - m wraps around if y is smaller than m. */
static inline uint32_t phintys_mrg_reduced(uint32_t y, uint32_t m) {
    return y - m < y ? y - m : y;
}

/* The next integer of a stream, from 1 to 2^31 - 1, of those of its numbers that it is made of: x[1], x[2], x[3] and
 * x[5]. `*first` and `*second` become the new x[0] and x[3]; the others move on by one position. */
static inline int32_t phintys_mrg_joined(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t* first,
                                         uint32_t* second) {
    uint32_t sum = phintys_mrg_reduced(((a & 511) << 22) + (a >> 9) + ((b & 0xffffff) << 7) + (b >> 24),
                                       PHINTYS_MRG_M1);
    sum = phintys_mrg_reduced(sum + b, PHINTYS_MRG_M1);
    uint32_t left = phintys_mrg_reduced(((c & 0xffff) << 15) + 21069 * (c >> 16), PHINTYS_MRG_M2);
    uint32_t right = phintys_mrg_reduced(((d & 0xffff) << 15) + 21069 * (d >> 16), PHINTYS_MRG_M2);
    right = phintys_mrg_reduced(right + d, PHINTYS_MRG_M2);
    const uint32_t other = phintys_mrg_reduced(right + left, PHINTYS_MRG_M2);
    *first = sum;
    *second = other;
    return (int32_t)(sum <= other ? sum - other + PHINTYS_MRG_M1 : sum - other);
}

/* Advance one stream, whose numbers are x[0], x[step], ...; returns its next integer. */
static inline int32_t phintys_mrg_next(uint32_t* x, ptrdiff_t step) {
    uint32_t first, second;
    const int32_t z = phintys_mrg_joined(x[step], x[2 * step], x[3 * step], x[5 * step], &first, &second);
    x[2 * step] = x[step], x[step] = x[0], x[0] = first;
    x[5 * step] = x[4 * step], x[4 * step] = x[3 * step], x[3 * step] = second;
    return z;
}

/* The same for a stream alone, of which the compiler makes no vectors: sums of 64 bits are reduced once, and without a
 * comparison, of which it would make a branch that is mispredicted half of the time (12 ns a step; this takes 3). */
static inline uint32_t phintys_mrg_reduced_alone(uint32_t y, uint32_t m) {
    return y - m + (m & -((y - m) >> 31));
}
static inline int32_t phintys_mrg_next_alone(uint32_t* x) {
    const uint64_t sum = ((uint64_t)x[1] << 22) + 129 * (uint64_t)x[2];                         /* below 2^54 */
    const uint64_t other = ((uint64_t)x[3] << 15) + 32769 * (uint64_t)x[5];                     /* below 2^47 */
    const uint32_t first = phintys_mrg_reduced_alone((uint32_t)((sum & PHINTYS_MRG_M1) + (sum >> 31)), PHINTYS_MRG_M1);
    const uint32_t second = phintys_mrg_reduced_alone(
        (uint32_t)((other & PHINTYS_MRG_M1) + 21069 * (other >> 31)), PHINTYS_MRG_M2);          /* 2^31 = M2 + 21069 */
    x[2] = x[1], x[1] = x[0], x[0] = first;
    x[5] = x[4], x[4] = x[3], x[3] = second;
    return (int32_t)(first - second + (PHINTYS_MRG_M1 & -((first - second - 1) >> 31)));
}

/* ---- one integer of each of a few streams, by vectors (AVX-512) -------------------------------------------------- */
#ifdef PHINTYS_HAS_SETS
#include <immintrin.h>
#define PHINTYS_MRG_WIDE __attribute__((target("avx512f,avx512bw")))

/* Of which stream the new first number (+ 16: the new fourth number) is at each position of 16 states. */
#define PHINTYS_MRG_SOURCES(S) S, S, S, S + 16, S + 16, S + 16
static const int32_t phintys_mrg_sources[6 * PHINTYS_MRG_FEW] = {
    PHINTYS_MRG_SOURCES(0), PHINTYS_MRG_SOURCES(1), PHINTYS_MRG_SOURCES(2), PHINTYS_MRG_SOURCES(3),
    PHINTYS_MRG_SOURCES(4), PHINTYS_MRG_SOURCES(5), PHINTYS_MRG_SOURCES(6), PHINTYS_MRG_SOURCES(7),
    PHINTYS_MRG_SOURCES(8), PHINTYS_MRG_SOURCES(9), PHINTYS_MRG_SOURCES(10), PHINTYS_MRG_SOURCES(11),
    PHINTYS_MRG_SOURCES(12), PHINTYS_MRG_SOURCES(13), PHINTYS_MRG_SOURCES(14), PHINTYS_MRG_SOURCES(15)};

/* Number `part` of each of 16 streams, whose states follow each other in six vectors. */
PHINTYS_MRG_WIDE static inline __m512i phintys_mrg_part(const __m512i* states, int part) {
    const __m512i position = _mm512_add_epi32(
        _mm512_setr_epi32(0, 6, 12, 18, 24, 30, 36, 42, 48, 54, 60, 66, 72, 78, 84, 90), _mm512_set1_epi32(part));
    const __m512i low = _mm512_permutex2var_epi32(states[0], position, states[1]);
    const __m512i middle = _mm512_permutex2var_epi32(states[2], position, states[3]);
    const __m512i high = _mm512_permutex2var_epi32(states[4], position, states[5]);
    const __m512i below = _mm512_mask_blend_epi32(_mm512_cmplt_epi32_mask(position, _mm512_set1_epi32(32)), middle,
                                                  low);
    return _mm512_mask_blend_epi32(_mm512_cmplt_epi32_mask(position, _mm512_set1_epi32(64)), high, below);
}

/* The lanes of a vector of 16 that exist, of `count` numbers from `start` on. */
static inline uint16_t phintys_mrg_mask(int count, int start) {
    return count <= start ? 0 : count - start < 16 ? (uint16_t)((1u << (count - start)) - 1) : 0xffff;
}

/* The next integers of at most 16 streams; `advanced` becomes the states after them, and may be `state`. */
PHINTYS_MRG_WIDE static inline void phintys_mrg_integers_of_few(const int32_t* state, int32_t* advanced, int streams,
                                                                int32_t* integers) {
    uint32_t part[4][PHINTYS_MRG_FEW] __attribute__((aligned(64)));
    uint32_t first[PHINTYS_MRG_FEW] __attribute__((aligned(64))), second[PHINTYS_MRG_FEW] __attribute__((aligned(64)));
    __m512i states[6];
    for (int vector = 0; vector < 6; vector++)
        states[vector] = _mm512_maskz_loadu_epi32(phintys_mrg_mask(6 * streams, 16 * vector), state + 16 * vector);
    _mm512_store_si512(part[0], phintys_mrg_part(states, 1));
    _mm512_store_si512(part[1], phintys_mrg_part(states, 2));
    _mm512_store_si512(part[2], phintys_mrg_part(states, 3));
    _mm512_store_si512(part[3], phintys_mrg_part(states, 5));
    for (int lane = 0; lane < PHINTYS_MRG_FEW; lane++)
        integers[lane] = phintys_mrg_joined(part[0][lane], part[1][lane], part[2][lane], part[3][lane], first + lane,
                                            second + lane);
    const __m512i new_first = _mm512_load_si512(first), new_second = _mm512_load_si512(second);
    const __mmask16 is_new[3] = {0x9249, 0x4924, 0x2492};        /* every third position */
    __m512i before = _mm512_setzero_si512();
    for (int vector = 0; vector < 6; vector++) {
        const __m512i moved = _mm512_alignr_epi32(states[vector], before, 15);
        const __m512i source = _mm512_loadu_si512(phintys_mrg_sources + 16 * vector);
        const __m512i made = _mm512_permutex2var_epi32(new_first, source, new_second);
        before = states[vector];
        _mm512_mask_storeu_epi32(advanced + 16 * vector, phintys_mrg_mask(6 * streams, 16 * vector),
                                 _mm512_mask_blend_epi32(is_new[vector % 3], moved, made));
    }
}

/* The numbers of 64 streams as rows of one number of each stream. */
PHINTYS_MRG_WIDE static void phintys_mrg_lanes_by_vectors(const int32_t* state, uint32_t* lanes) {
    for (int first = 0; first < PHINTYS_MRG_LANES; first += PHINTYS_MRG_FEW) {
        __m512i states[6];
        for (int vector = 0; vector < 6; vector++)
            states[vector] = _mm512_loadu_si512(state + 6 * first + 16 * vector);
        for (int part = 0; part < 6; part++)
            _mm512_storeu_si512(lanes + part * PHINTYS_MRG_LANES + first, phintys_mrg_part(states, part));
    }
}

/* Of which stream a number is at each position of 16 states (+ 16: in the second one of two rows). */
#define PHINTYS_MRG_PLACES(S) S, S + 16, S, S + 16, S, S + 16
static const int32_t phintys_mrg_positions[6 * PHINTYS_MRG_FEW] = {
    PHINTYS_MRG_PLACES(0), PHINTYS_MRG_PLACES(1), PHINTYS_MRG_PLACES(2), PHINTYS_MRG_PLACES(3),
    PHINTYS_MRG_PLACES(4), PHINTYS_MRG_PLACES(5), PHINTYS_MRG_PLACES(6), PHINTYS_MRG_PLACES(7),
    PHINTYS_MRG_PLACES(8), PHINTYS_MRG_PLACES(9), PHINTYS_MRG_PLACES(10), PHINTYS_MRG_PLACES(11),
    PHINTYS_MRG_PLACES(12), PHINTYS_MRG_PLACES(13), PHINTYS_MRG_PLACES(14), PHINTYS_MRG_PLACES(15)};

/* The same rows as the numbers of 64 streams. */
PHINTYS_MRG_WIDE static void phintys_mrg_states_by_vectors(const uint32_t* lanes, int32_t* advanced) {
    const __mmask16 is_middle[3] = {0xc30c, 0x0c30, 0x30c3};        /* numbers 2 and 3 of a stream, */
    const __mmask16 is_last[3] = {0x0c30, 0x30c3, 0xc30c};          /* and numbers 4 and 5 */
    for (int first = 0; first < PHINTYS_MRG_LANES; first += PHINTYS_MRG_FEW) {
        __m512i part[6];
        for (int row = 0; row < 6; row++)
            part[row] = _mm512_loadu_si512(lanes + row * PHINTYS_MRG_LANES + first);
        for (int vector = 0; vector < 6; vector++) {
            const __m512i position = _mm512_loadu_si512(phintys_mrg_positions + 16 * vector);
            __m512i states = _mm512_permutex2var_epi32(part[0], position, part[1]);
            states = _mm512_mask_blend_epi32(is_middle[vector % 3], states,
                                             _mm512_permutex2var_epi32(part[2], position, part[3]));
            states = _mm512_mask_blend_epi32(is_last[vector % 3], states,
                                             _mm512_permutex2var_epi32(part[4], position, part[5]));
            _mm512_storeu_si512(advanced + 6 * first + 16 * vector, states);
        }
    }
}

/* Make two vectors of the integers, of which the second one begins at the position `half`. */
PHINTYS_MRG_WIDE static inline void phintys_mrg_halves(int32_t* integers, int half) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i positions = _mm512_add_epi32(lanes, _mm512_set1_epi32(half));
    _mm512_store_si512(integers + PHINTYS_MRG_FEW, _mm512_permutexvar_epi32(positions, _mm512_load_si512(integers)));
}

/* Store the first `bytes` of a vector, or all. */
PHINTYS_MRG_WIDE static inline void phintys_mrg_store(const void* samples, ptrdiff_t bytes, void* out) {
    const __mmask64 wanted = bytes < 64 ? (1ULL << bytes) - 1 : ~0ULL;
    _mm512_mask_storeu_epi8(out, wanted, _mm512_load_si512(samples));
}
#else
#define PHINTYS_MRG_WIDE
static void phintys_mrg_integers_of_few(const int32_t* state, int32_t* advanced, int streams, int32_t* integers) {
    (void)state, (void)advanced, (void)streams, (void)integers;             /* never called */
}
static void phintys_mrg_lanes_by_vectors(const int32_t* state, uint32_t* lanes) { (void)state, (void)lanes; }
static void phintys_mrg_states_by_vectors(const uint32_t* lanes, int32_t* advanced) { (void)lanes, (void)advanced; }
static void phintys_mrg_halves(int32_t* integers, int half) { (void)integers, (void)half; }
static void phintys_mrg_store(const void* samples, ptrdiff_t bytes, void* out) {
    (void)samples, (void)bytes, (void)out;
}
#endif

/* Whether there are such instructions, and they may be used. */
static inline int phintys_mrg_vectors(void) { return PHINTYS_HAS_BW(*phintys_set); }

/* The numbers of PHINTYS_MRG_LANES streams as rows of one number of each stream, and back. */
static inline void phintys_mrg_lanes_of(const int32_t* state, uint32_t* lanes) {
    if (phintys_mrg_vectors()) {
        phintys_mrg_lanes_by_vectors(state, lanes);
        return;
    }
    for (int lane = 0; lane < PHINTYS_MRG_LANES; lane++)
        for (int part = 0; part < 6; part++) lanes[part * PHINTYS_MRG_LANES + lane] = (uint32_t)state[6 * lane + part];
}
static inline void phintys_mrg_states_of(const uint32_t* lanes, int32_t* advanced) {
    if (phintys_mrg_vectors()) {
        phintys_mrg_states_by_vectors(lanes, advanced);
        return;
    }
    for (int lane = 0; lane < PHINTYS_MRG_LANES; lane++)
        for (int part = 0; part < 6; part++)
            advanced[6 * lane + part] = (int32_t)lanes[part * PHINTYS_MRG_LANES + lane];
}

/* The integer as a number between 0 and 1. The smallest of the dtype is not 0. */
static inline float phintys_mrg_float(int32_t z) { return (float)z * 4.6566126e-10f; }
static inline double phintys_mrg_double(int32_t z) { return (double)z * 4.656612873077392578125e-10; }
static inline uint16_t phintys_mrg_half(int32_t z) {
    return phintys_to_half((double)((z & 0x7fff) + 1) * 0x1.ffp-16);
}

#define T float
#define SAMPLE phintys_mrg_float
#define NAME(name) name##_float
#include "mrg_loops.template.h"
#undef T
#undef SAMPLE
#undef NAME
#define T double
#define SAMPLE phintys_mrg_double
#define NAME(name) name##_double
#include "mrg_loops.template.h"
#undef T
#undef SAMPLE
#undef NAME
#define T uint16_t
#define SAMPLE phintys_mrg_half
#define NAME(name) name##_half
#include "mrg_loops.template.h"
#undef T
#undef SAMPLE
#undef NAME

/* (matrix * vector) modulo m, all below 2^31. */
static inline void phintys_mrg_product(const int64_t* matrix, const int32_t* vector, int64_t m, int32_t* out) {
    for (int row = 0; row < 3; row++) {
        int64_t sum = 0;
        for (int column = 0; column < 3; column++)
            sum += matrix[3 * row + column] * vector[column] % m;
        out[row] = (int32_t)(sum % m);
    }
}

/* Fill rows 1, 2, ... of a state: each is the row before it, advanced by the steps that the two matrices represent. */
static void phintys_mrg_substreams(int32_t* state, ptrdiff_t rows, const int64_t* first, const int64_t* second) {
    for (ptrdiff_t row = 1; row < rows; row++, state += 6) {
        phintys_mrg_product(first, state, PHINTYS_MRG_M1, state + 6);
        phintys_mrg_product(second, state + 3, PHINTYS_MRG_M2, state + 9);
    }
}

#endif
