/* Vectors for selections: of 4 or 8 bytes an element, with AVX2 or AVX-512. A comparison makes a mask of bits: with
 * AVX-512 a bit for each element, with AVX2 one for each 4 bytes. PACK moves the elements of a mask to the front; what
 * comes after them is undefined. STORE_FIRST writes these and nothing else. POSITIONS are the numbers from n on.
 * Included by selection_loops.h; another set is one more row of the macros below.
 */
#ifndef PHINTYS_SELECTION_VECTORS_H
#define PHINTYS_SELECTION_VECTORS_H

#include <immintrin.h>
#include <stdint.h>

#include "native/sets.h"

/* For each mask of 8 bits: the numbers of its bits, ascending. */
static uint8_t phintys_bits_of_mask[256][8];

static void phintys_fill_bits_of_mask(void) {
    for (int mask = 0; mask < 256; mask++)
        for (int bit = 0, count = 0; bit < 8; bit++)
            if (mask >> bit & 1) phintys_bits_of_mask[mask][count++] = (uint8_t)bit;
}

/* The bits of a < b and of a <= b, where HOW is 1 and 2. */
#define COMPARED_int32(a, b, HOW) _mm512_cmp_epi32_mask(a, b, HOW)
#define COMPARED_int64(a, b, HOW) _mm512_cmp_epi64_mask(a, b, HOW)
#define COMPARED_uint32(a, b, HOW) _mm512_cmp_epu32_mask(a, b, HOW)
#define COMPARED_uint64(a, b, HOW) _mm512_cmp_epu64_mask(a, b, HOW)
#define COMPARED_float32(a, b, HOW) _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), HOW)
#define COMPARED_float64(a, b, HOW) _mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), HOW)
#define BELOW_avx512(a, b) (int)PHINTYS_NAMED(COMPARED, DTYPE)(a, b, 1)
#define NOT_ABOVE_avx512(a, b) (int)PHINTYS_NAMED(COMPARED, DTYPE)(a, b, 2)
#define BELOW_avx2(a, b) _mm256_movemask_ps((__m256)((LANES)(a) < (LANES)(b)))
#define NOT_ABOVE_avx2(a, b) _mm256_movemask_ps((__m256)((LANES)(a) <= (LANES)(b)))
#define PACK_avx512_4(vector, mask) _mm512_maskz_compress_epi32((__mmask16)(mask), vector)
#define PACK_avx512_8(vector, mask) _mm512_maskz_compress_epi64((__mmask8)(mask), vector)
#define POSITIONS_4_avx2(first) \
    _mm256_add_epi32(_mm256_set1_epi32((int32_t)(first)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define POSITIONS_8_avx2(first) _mm256_add_epi64(_mm256_set1_epi64x(first), _mm256_setr_epi64x(0, 1, 2, 3))
#define POSITIONS_4_avx512(first) _mm512_add_epi32(_mm512_set1_epi32((int32_t)(first)), \
    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
#define POSITIONS_8_avx512(first) _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))

/* Of the set that is being compiled. */
#define LANES PHINTYS_NAMED(PHINTYS_NAMED(lanes, DTYPE), SET)        /* as elements */
#define V_avx2 __m256i
#define V_avx512 __m512i
#define V PHINTYS_NAMED(V, SET)
#define WIDTH (SET_BYTES / (int)sizeof(T))
#define ALL_avx2 255
#define ALL_avx512 ((1 << WIDTH) - 1)
#define ALL PHINTYS_NAMED(ALL, SET)
#define COUNT_avx2(mask) (__builtin_popcount(mask) / (int)(sizeof(T) / 4))
#define COUNT_avx512(mask) __builtin_popcount(mask)
#define COUNT(mask) PHINTYS_NAMED(COUNT, SET)(mask)
#define LOAD_avx2(from) _mm256_loadu_si256((const __m256i *)(from))
#define LOAD_avx512(from) _mm512_loadu_si512(from)
#define LOAD(from) PHINTYS_NAMED(LOAD, SET)(from)
#define STORE_avx2(to, vector) _mm256_storeu_si256((__m256i *)(to), vector)
#define STORE_avx512(to, vector) _mm512_storeu_si512(to, vector)
#define STORE(to, vector) PHINTYS_NAMED(STORE, SET)(to, vector)
#define STORE_FIRST_avx2(to, vector, mask) \
    _mm256_maskstore_epi32((int *)(to), _mm256_cmpgt_epi32(_mm256_set1_epi32(__builtin_popcount(mask)), \
                                                           _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), vector)
#define STORE_FIRST_avx512(to, vector, mask) \
    (sizeof(T) == 4 ? _mm512_mask_storeu_epi32(to, (__mmask16)((1u << COUNT(mask)) - 1), vector) \
                    : _mm512_mask_storeu_epi64(to, (__mmask8)((1u << COUNT(mask)) - 1), vector))
#define STORE_FIRST(to, vector, mask) PHINTYS_NAMED(STORE_FIRST, SET)(to, vector, mask)
#define PACK_avx2(vector, mask) \
    _mm256_permutevar8x32_epi32(vector, _mm256_cvtepu8_epi32( \
        _mm_loadl_epi64((const __m128i *)phintys_bits_of_mask[mask])))
#define PACK_avx512(vector, mask) (sizeof(T) == 4 ? PACK_avx512_4(vector, mask) : PACK_avx512_8(vector, mask))
#define PACK(vector, mask) PHINTYS_NAMED(PACK, SET)(vector, mask)
#define POSITIONS(first) \
    (sizeof(T) == 4 ? PHINTYS_NAMED(POSITIONS_4, SET)(first) : PHINTYS_NAMED(POSITIONS_8, SET)(first))
#define SPREAD(x) ((V)((x) - (LANES){0}))
#define BELOW(a, b) PHINTYS_NAMED(BELOW, SET)(a, b)
#define NOT_ABOVE(a, b) PHINTYS_NAMED(NOT_ABOVE, SET)(a, b)

#endif
