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

#define AVX2_BITS(MASK) _mm256_movemask_ps(_mm256_castsi256_ps(MASK))
#define AVX2_SIGN_32 _mm256_set1_epi32(INT32_MIN)
#define AVX2_SIGN_64 _mm256_set1_epi64x(INT64_MIN)
#define AVX2_UNSIGNED(WIDTH, a, b) _mm256_cmpgt_epi##WIDTH(_mm256_xor_si256(b, AVX2_SIGN_##WIDTH), \
                                                           _mm256_xor_si256(a, AVX2_SIGN_##WIDTH))
/* The bits of a < b. */
#define BELOW_int32_avx2(a, b) AVX2_BITS(_mm256_cmpgt_epi32(b, a))
#define BELOW_int64_avx2(a, b) AVX2_BITS(_mm256_cmpgt_epi64(b, a))
#define BELOW_uint32_avx2(a, b) AVX2_BITS(AVX2_UNSIGNED(32, a, b))
#define BELOW_uint64_avx2(a, b) AVX2_BITS(AVX2_UNSIGNED(64, a, b))
#define AVX2_FLOATS(a, b, HOW) _mm256_movemask_ps(_mm256_cmp_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), HOW))
#define AVX2_DOUBLES(a, b, HOW) \
    _mm256_movemask_ps(_mm256_castpd_ps(_mm256_cmp_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b), HOW)))
#define BELOW_float32_avx2(a, b) AVX2_FLOATS(a, b, _CMP_LT_OQ)
#define BELOW_float64_avx2(a, b) AVX2_DOUBLES(a, b, _CMP_LT_OQ)
/* The bits of a <= b. */
#define AT_MOST_int32_avx2(a, b) (BELOW_int32_avx2(b, a) ^ 255)
#define AT_MOST_int64_avx2(a, b) (BELOW_int64_avx2(b, a) ^ 255)
#define AT_MOST_uint32_avx2(a, b) (BELOW_uint32_avx2(b, a) ^ 255)
#define AT_MOST_uint64_avx2(a, b) (BELOW_uint64_avx2(b, a) ^ 255)
#define AT_MOST_float32_avx2(a, b) AVX2_FLOATS(a, b, _CMP_LE_OQ)
#define AT_MOST_float64_avx2(a, b) AVX2_DOUBLES(a, b, _CMP_LE_OQ)

#define SPREAD_int32_avx2(x) _mm256_set1_epi32(x)
#define SPREAD_int64_avx2(x) _mm256_set1_epi64x(x)
#define SPREAD_uint32_avx2(x) _mm256_set1_epi32((int32_t)(x))
#define SPREAD_uint64_avx2(x) _mm256_set1_epi64x((int64_t)(x))
#define SPREAD_float32_avx2(x) _mm256_castps_si256(_mm256_set1_ps(x))
#define SPREAD_float64_avx2(x) _mm256_castpd_si256(_mm256_set1_pd(x))
#define POSITIONS_4_avx2(first) \
    _mm256_add_epi32(_mm256_set1_epi32((int32_t)(first)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define POSITIONS_8_avx2(first) _mm256_add_epi64(_mm256_set1_epi64x(first), _mm256_setr_epi64x(0, 1, 2, 3))

#define AVX512_FLOATS(a, b, HOW) ((int)_mm512_cmp_ps_mask(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), HOW))
#define AVX512_DOUBLES(a, b, HOW) ((int)_mm512_cmp_pd_mask(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b), HOW))
#define BELOW_int32_avx512(a, b) ((int)_mm512_cmplt_epi32_mask(a, b))
#define BELOW_int64_avx512(a, b) ((int)_mm512_cmplt_epi64_mask(a, b))
#define BELOW_uint32_avx512(a, b) ((int)_mm512_cmplt_epu32_mask(a, b))
#define BELOW_uint64_avx512(a, b) ((int)_mm512_cmplt_epu64_mask(a, b))
#define BELOW_float32_avx512(a, b) AVX512_FLOATS(a, b, _CMP_LT_OQ)
#define BELOW_float64_avx512(a, b) AVX512_DOUBLES(a, b, _CMP_LT_OQ)
#define AT_MOST_int32_avx512(a, b) ((int)_mm512_cmple_epi32_mask(a, b))
#define AT_MOST_int64_avx512(a, b) ((int)_mm512_cmple_epi64_mask(a, b))
#define AT_MOST_uint32_avx512(a, b) ((int)_mm512_cmple_epu32_mask(a, b))
#define AT_MOST_uint64_avx512(a, b) ((int)_mm512_cmple_epu64_mask(a, b))
#define AT_MOST_float32_avx512(a, b) AVX512_FLOATS(a, b, _CMP_LE_OQ)
#define AT_MOST_float64_avx512(a, b) AVX512_DOUBLES(a, b, _CMP_LE_OQ)
#define SPREAD_int32_avx512(x) _mm512_set1_epi32(x)
#define SPREAD_int64_avx512(x) _mm512_set1_epi64(x)
#define SPREAD_uint32_avx512(x) _mm512_set1_epi32((int32_t)(x))
#define SPREAD_uint64_avx512(x) _mm512_set1_epi64((int64_t)(x))
#define SPREAD_float32_avx512(x) _mm512_castps_si512(_mm512_set1_ps(x))
#define SPREAD_float64_avx512(x) _mm512_castpd_si512(_mm512_set1_pd(x))
#define PACK_avx512_4(vector, mask) _mm512_maskz_compress_epi32((__mmask16)(mask), vector)
#define PACK_avx512_8(vector, mask) _mm512_maskz_compress_epi64((__mmask8)(mask), vector)
#define POSITIONS_4_avx512(first) _mm512_add_epi32(_mm512_set1_epi32((int32_t)(first)), \
    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
#define POSITIONS_8_avx512(first) _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))

/* Of the set that is being compiled. */
#define IN_SET_OF(NAME) PHINTYS_NAMED(PHINTYS_NAMED(NAME, DTYPE), SET)
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
#define SPREAD(x) IN_SET_OF(SPREAD)(x)
#define BELOW(a, b) IN_SET_OF(BELOW)(a, b)
#define AT_MOST(a, b) IN_SET_OF(AT_MOST)(a, b)

#endif
