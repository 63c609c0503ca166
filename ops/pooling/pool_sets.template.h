/* What the loops of pool_squares.template.h and pool_walks.template.h do with vectors, for one instruction set, and
 * these loops.
 */
/* LARGER(A, B)                  the larger of each two, NaN if one is: of NaN and B, MAX is B, so A is put back
 * EVEN(A, B), ODD(A, B)         the elements of A and then B that have even, or odd, numbers
 * EVEN_IN_LANES, ODD_IN_LANES   the same within each 128 bits: one instruction, but another order. PARTED gives it to
 *                               other vectors; LOW_IN_LANES and HIGH_IN_LANES put both back as they were
 * MASK_BETWEEN(P, FROM, TO)     the elements [FROM, TO); if P (`paired`), of both halves of a vector
 * LOAD_WHERE, ZERO_ELSE         what the mask leaves out is not read, or 0
 * HALVES(A, B)                  half a vector from each of two addresses: rows of two images, where rows are short
 * ADD_WHERE_EQUAL(S, A, B, V)   S + V where A == B, else S: the gradient goes to elements that are the maximum */
#define VECTOR TYPED(Vector)
#define LOAD(FROM) (*(const VECTOR*)(FROM))
#define STORE(TO, VALUE) (*(VECTOR*)(TO) = (VALUE))
#define STORE_FIRST(TO, VALUE, COUNT) TYPED(store_part)(TO, VALUE, (int)(COUNT))
#define LOAD_FIRST(FROM, COUNT) TYPED(load_part)(FROM, (int)(COUNT))
#if SET_LEVEL == 2
/* Sixteen numbers from `first` on by a step. */
PHINTYS_INLINE __m512i phintys_numbers(int first, int step) {
    const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_add_epi32(_mm512_set1_epi32(first), _mm512_mullo_epi32(numbers, _mm512_set1_epi32(step)));
}

PHINTYS_INLINE unsigned phintys_bits_between(int half, int from, int to) {
    const unsigned bits = ((1u << to) - 1) & ~((1u << from) - 1);
    return half ? bits | bits << half : bits;
}

PHINTYS_INLINE __m512 phintys_both_halves(__m256 first, __m256 second) {
    return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(first)),
                                               _mm256_castps_pd(second), 1));
}

#define PHINTYS_PARTED _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7)
#define T float
#define LARGER(A, B) _mm512_mask_mov_ps(_mm512_max_ps(A, B), _mm512_cmp_ps_mask(A, A, _CMP_UNORD_Q), A)
#define EVEN(A, B) _mm512_permutex2var_ps(A, phintys_numbers(0, 2), B)
#define ODD(A, B) _mm512_permutex2var_ps(A, phintys_numbers(1, 2), B)
#include "pool_squares.template.h"
#define MASK __mmask16
#define MASK_BETWEEN(PAIRED, FROM, TO) (__mmask16)phintys_bits_between((PAIRED) ? 8 : 0, FROM, TO)
#define LOAD_WHERE(MASK, FROM) _mm512_maskz_loadu_ps(MASK, FROM)
#define ZERO_ELSE(MASK, VALUE) _mm512_maskz_mov_ps(MASK, VALUE)
#define HALVES(A, B) phintys_both_halves(_mm256_loadu_ps(A), _mm256_loadu_ps(B))
#define PARTED(VALUE) _mm512_castpd_ps(_mm512_permutexvar_pd(PHINTYS_PARTED, _mm512_castps_pd(VALUE)))
#define EVEN_IN_LANES(A, B) _mm512_shuffle_ps(A, B, _MM_SHUFFLE(2, 0, 2, 0))
#define ODD_IN_LANES(A, B) _mm512_shuffle_ps(A, B, _MM_SHUFFLE(3, 1, 3, 1))
#define LOW_IN_LANES _mm512_unpacklo_ps
#define HIGH_IN_LANES _mm512_unpackhi_ps
#define IF_EQUAL(A, B, VALUE) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(A, B, _CMP_EQ_OQ), VALUE)
#define ADD_WHERE_EQUAL(SUM, A, B, VALUE) _mm512_mask_add_ps(SUM, _mm512_cmp_ps_mask(A, B, _CMP_EQ_OQ), SUM, VALUE)
#include "pool_walks.template.h"
#undef T
#define T double
#define LARGER(A, B) _mm512_mask_mov_pd(_mm512_max_pd(A, B), _mm512_cmp_pd_mask(A, A, _CMP_UNORD_Q), A)
#define EVEN(A, B) _mm512_permutex2var_pd(A, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), B)
#define ODD(A, B) _mm512_permutex2var_pd(A, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), B)
#include "pool_squares.template.h"
#define MASK __mmask8
#define MASK_BETWEEN(PAIRED, FROM, TO) (__mmask8)phintys_bits_between((PAIRED) ? 4 : 0, FROM, TO)
#define LOAD_WHERE(MASK, FROM) _mm512_maskz_loadu_pd(MASK, FROM)
#define ZERO_ELSE(MASK, VALUE) _mm512_maskz_mov_pd(MASK, VALUE)
#define HALVES(A, B) _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(A)), _mm256_loadu_pd(B), 1)
#define PARTED(VALUE) _mm512_permutexvar_pd(PHINTYS_PARTED, VALUE)
#define EVEN_IN_LANES _mm512_unpacklo_pd
#define ODD_IN_LANES _mm512_unpackhi_pd
#define LOW_IN_LANES _mm512_unpacklo_pd
#define HIGH_IN_LANES _mm512_unpackhi_pd
#define IF_EQUAL(A, B, VALUE) _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(A, B, _CMP_EQ_OQ), VALUE)
#define ADD_WHERE_EQUAL(SUM, A, B, VALUE) _mm512_mask_add_pd(SUM, _mm512_cmp_pd_mask(A, B, _CMP_EQ_OQ), SUM, VALUE)
#include "pool_walks.template.h"
#undef T
#elif SET_LEVEL == 1
/* Masks of the lanes from one to before another; `paired`: in each half. */
PHINTYS_INLINE __m256i phintys_lanes_between(int paired, int from, int to) {
    const __m256i lanes = paired ? _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3)
                                 : _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_and_si256(_mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(from - 1)),
                            _mm256_cmpgt_epi32(_mm256_set1_epi32(to), lanes));
}
PHINTYS_INLINE __m256i phintys_pairs_between(int paired, int from, int to) {
    const __m256i lanes = paired ? _mm256_setr_epi64x(0, 1, 0, 1) : _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_and_si256(_mm256_cmpgt_epi64(lanes, _mm256_set1_epi64x(from - 1)),
                            _mm256_cmpgt_epi64(_mm256_set1_epi64x(to), lanes));
}
/* Pairs 0, 2, 1, 3 in order. */
PHINTYS_INLINE __m256 phintys_in_order_ps(__m256 pairs) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(pairs), _MM_SHUFFLE(3, 1, 2, 0)));
}

#define T float
#define LARGER(A, B) _mm256_blendv_ps(_mm256_max_ps(A, B), A, _mm256_cmp_ps(A, A, _CMP_UNORD_Q))
#define EVEN(A, B) phintys_in_order_ps(_mm256_shuffle_ps(A, B, _MM_SHUFFLE(2, 0, 2, 0)))
#define ODD(A, B) phintys_in_order_ps(_mm256_shuffle_ps(A, B, _MM_SHUFFLE(3, 1, 3, 1)))
#include "pool_squares.template.h"
#define MASK __m256
#define MASK_BETWEEN(PAIRED, FROM, TO) _mm256_castsi256_ps(phintys_lanes_between(PAIRED, FROM, TO))
#define ZERO_ELSE(MASK, VALUE) _mm256_and_ps(MASK, VALUE)
#define LOAD_WHERE(MASK, FROM) ZERO_ELSE(MASK, LOAD(FROM))
#define HALVES(A, B) _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(A)), _mm_loadu_ps(B), 1)
#define PARTED phintys_in_order_ps
#define EVEN_IN_LANES(A, B) _mm256_shuffle_ps(A, B, _MM_SHUFFLE(2, 0, 2, 0))
#define ODD_IN_LANES(A, B) _mm256_shuffle_ps(A, B, _MM_SHUFFLE(3, 1, 3, 1))
#define LOW_IN_LANES _mm256_unpacklo_ps
#define HIGH_IN_LANES _mm256_unpackhi_ps
#define IF_EQUAL(A, B, VALUE) _mm256_and_ps(_mm256_cmp_ps(A, B, _CMP_EQ_OQ), VALUE)
#define ADD_WHERE_EQUAL(SUM, A, B, VALUE) _mm256_add_ps(SUM, IF_EQUAL(A, B, VALUE))
#include "pool_walks.template.h"
#undef T
#define T double
#define LARGER(A, B) _mm256_blendv_pd(_mm256_max_pd(A, B), A, _mm256_cmp_pd(A, A, _CMP_UNORD_Q))
#define EVEN(A, B) _mm256_permute4x64_pd(_mm256_unpacklo_pd(A, B), _MM_SHUFFLE(3, 1, 2, 0))
#define ODD(A, B) _mm256_permute4x64_pd(_mm256_unpackhi_pd(A, B), _MM_SHUFFLE(3, 1, 2, 0))
#include "pool_squares.template.h"
#define MASK __m256d
#define MASK_BETWEEN(PAIRED, FROM, TO) _mm256_castsi256_pd(phintys_pairs_between(PAIRED, FROM, TO))
#define ZERO_ELSE(MASK, VALUE) _mm256_and_pd(MASK, VALUE)
#define LOAD_WHERE(MASK, FROM) ZERO_ELSE(MASK, LOAD(FROM))
#define HALVES(A, B) _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(A)), _mm_loadu_pd(B), 1)
#define PARTED(VALUE) _mm256_permute4x64_pd(VALUE, _MM_SHUFFLE(3, 1, 2, 0))
#define EVEN_IN_LANES _mm256_unpacklo_pd
#define ODD_IN_LANES _mm256_unpackhi_pd
#define LOW_IN_LANES _mm256_unpacklo_pd
#define HIGH_IN_LANES _mm256_unpackhi_pd
#define IF_EQUAL(A, B, VALUE) _mm256_and_pd(_mm256_cmp_pd(A, B, _CMP_EQ_OQ), VALUE)
#define ADD_WHERE_EQUAL(SUM, A, B, VALUE) _mm256_add_pd(SUM, IF_EQUAL(A, B, VALUE))
#include "pool_walks.template.h"
#undef T
#else
#ifdef __clang__
#define SHUFFLED(A, B, ...) __builtin_shufflevector(A, B, __VA_ARGS__)
#else
#define SHUFFLED(A, B, ...) __builtin_shuffle(A, B, (TYPED(Bits)){__VA_ARGS__})
#endif
#define T float
#define EVEN(A, B) SHUFFLED(A, B, 0, 2, 4, 6)
#define ODD(A, B) SHUFFLED(A, B, 1, 3, 5, 7)
#define LOW_IN_LANES(A, B) SHUFFLED(A, B, 0, 4, 1, 5)
#define HIGH_IN_LANES(A, B) SHUFFLED(A, B, 2, 6, 3, 7)
#include "pool_baseline.template.h"
#define T double
#define EVEN(A, B) SHUFFLED(A, B, 0, 2)
#define ODD(A, B) SHUFFLED(A, B, 1, 3)
#define LOW_IN_LANES EVEN
#define HIGH_IN_LANES ODD
#include "pool_baseline.template.h"
#undef SHUFFLED
#endif
#undef VECTOR
#undef LOAD
#undef STORE
#undef STORE_FIRST
#undef LOAD_FIRST
