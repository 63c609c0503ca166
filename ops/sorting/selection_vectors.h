/* Vectors for selections: of 4 or 8 bytes an element, with AVX2 or AVX-512. A comparison makes a mask of bits: with
 * AVX-512 a bit for each element, with AVX2 one for each 4 bytes. PACK moves the elements of a mask to the front;
 * what comes after them is undefined. Included by selection_loops.h, before the templates.
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

PHINTYS_FOR_AVX2 static inline __m256i phintys_pack_avx2(__m256i vector, int mask) {
    const __m128i numbers = _mm_loadl_epi64((const __m128i *)phintys_bits_of_mask[mask]);
    return _mm256_permutevar8x32_epi32(vector, _mm256_cvtepu8_epi32(numbers));
}

/* Writes the first `count` pieces of 4 bytes, and nothing else. */
PHINTYS_FOR_AVX2 static inline void phintys_store_first_avx2(int *to, __m256i vector, int count) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_epi32(to, _mm256_cmpgt_epi32(_mm256_set1_epi32(count), numbers), vector);
}
#define AVX512_FIRST(WIDTH, mask) (__mmask##WIDTH)((1u << __builtin_popcount(mask)) - 1)

#define AVX2_BITS(MASK) _mm256_movemask_ps(_mm256_castsi256_ps(MASK))
#define AVX2_SIGN_32 _mm256_set1_epi32(INT32_MIN)
#define AVX2_SIGN_64 _mm256_set1_epi64x(INT64_MIN)
#define AVX2_UNSIGNED(WIDTH, a, b) _mm256_cmpgt_epi##WIDTH(_mm256_xor_si256(b, AVX2_SIGN_##WIDTH), \
                                                           _mm256_xor_si256(a, AVX2_SIGN_##WIDTH))
/* The bits of a < b. */
#define AVX2_BELOW_int32(a, b) AVX2_BITS(_mm256_cmpgt_epi32(b, a))
#define AVX2_BELOW_int64(a, b) AVX2_BITS(_mm256_cmpgt_epi64(b, a))
#define AVX2_BELOW_uint32(a, b) AVX2_BITS(AVX2_UNSIGNED(32, a, b))
#define AVX2_BELOW_uint64(a, b) AVX2_BITS(AVX2_UNSIGNED(64, a, b))
#define AVX2_FLOATS(a, b, HOW) _mm256_movemask_ps(_mm256_cmp_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), HOW))
#define AVX2_DOUBLES(a, b, HOW) \
    _mm256_movemask_ps(_mm256_castpd_ps(_mm256_cmp_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b), HOW)))
#define AVX2_BELOW_float32(a, b) AVX2_FLOATS(a, b, _CMP_LT_OQ)
#define AVX2_BELOW_float64(a, b) AVX2_DOUBLES(a, b, _CMP_LT_OQ)
/* The bits of a <= b. */
#define AVX2_AT_MOST_int32(a, b) (AVX2_BELOW_int32(b, a) ^ 255)
#define AVX2_AT_MOST_int64(a, b) (AVX2_BELOW_int64(b, a) ^ 255)
#define AVX2_AT_MOST_uint32(a, b) (AVX2_BELOW_uint32(b, a) ^ 255)
#define AVX2_AT_MOST_uint64(a, b) (AVX2_BELOW_uint64(b, a) ^ 255)
#define AVX2_AT_MOST_float32(a, b) AVX2_FLOATS(a, b, _CMP_LE_OQ)
#define AVX2_AT_MOST_float64(a, b) AVX2_DOUBLES(a, b, _CMP_LE_OQ)

#define AVX2_SPREAD_int32(x) _mm256_set1_epi32(x)
#define AVX2_SPREAD_int64(x) _mm256_set1_epi64x(x)
#define AVX2_SPREAD_uint32(x) _mm256_set1_epi32((int32_t)(x))
#define AVX2_SPREAD_uint64(x) _mm256_set1_epi64x((int64_t)(x))
#define AVX2_SPREAD_float32(x) _mm256_castps_si256(_mm256_set1_ps(x))
#define AVX2_SPREAD_float64(x) _mm256_castpd_si256(_mm256_set1_pd(x))
#define AVX2_POSITIONS_4(first)                                                                                        \
    _mm256_add_epi32(_mm256_set1_epi32((int32_t)(first)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define AVX2_POSITIONS_8(first) _mm256_add_epi64(_mm256_set1_epi64x(first), _mm256_setr_epi64x(0, 1, 2, 3))

#define AVX512_FLOATS(a, b, HOW) ((int)_mm512_cmp_ps_mask(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), HOW))
#define AVX512_DOUBLES(a, b, HOW) ((int)_mm512_cmp_pd_mask(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b), HOW))
#define AVX512_BELOW_int32(a, b) ((int)_mm512_cmplt_epi32_mask(a, b))
#define AVX512_BELOW_int64(a, b) ((int)_mm512_cmplt_epi64_mask(a, b))
#define AVX512_BELOW_uint32(a, b) ((int)_mm512_cmplt_epu32_mask(a, b))
#define AVX512_BELOW_uint64(a, b) ((int)_mm512_cmplt_epu64_mask(a, b))
#define AVX512_BELOW_float32(a, b) AVX512_FLOATS(a, b, _CMP_LT_OQ)
#define AVX512_BELOW_float64(a, b) AVX512_DOUBLES(a, b, _CMP_LT_OQ)
#define AVX512_AT_MOST_int32(a, b) ((int)_mm512_cmple_epi32_mask(a, b))
#define AVX512_AT_MOST_int64(a, b) ((int)_mm512_cmple_epi64_mask(a, b))
#define AVX512_AT_MOST_uint32(a, b) ((int)_mm512_cmple_epu32_mask(a, b))
#define AVX512_AT_MOST_uint64(a, b) ((int)_mm512_cmple_epu64_mask(a, b))
#define AVX512_AT_MOST_float32(a, b) AVX512_FLOATS(a, b, _CMP_LE_OQ)
#define AVX512_AT_MOST_float64(a, b) AVX512_DOUBLES(a, b, _CMP_LE_OQ)
#define AVX512_SPREAD_int32(x) _mm512_set1_epi32(x)
#define AVX512_SPREAD_int64(x) _mm512_set1_epi64(x)
#define AVX512_SPREAD_uint32(x) _mm512_set1_epi32((int32_t)(x))
#define AVX512_SPREAD_uint64(x) _mm512_set1_epi64((int64_t)(x))
#define AVX512_SPREAD_float32(x) _mm512_castps_si512(_mm512_set1_ps(x))
#define AVX512_SPREAD_float64(x) _mm512_castpd_si512(_mm512_set1_pd(x))
#define AVX512_PACK_4(vector, mask) _mm512_maskz_compress_epi32((__mmask16)(mask), vector)
#define AVX512_PACK_8(vector, mask) _mm512_maskz_compress_epi64((__mmask8)(mask), vector)
#define AVX512_POSITIONS_4(first) _mm512_add_epi32(_mm512_set1_epi32((int32_t)(first)), \
    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
#define AVX512_POSITIONS_8(first) _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))

#endif
