/* Stores of the first elements of a register of AVX2, and of nothing else.
 *
 * AVX2's own masked stores take 11 times as long as a whole store on processors of AMD (Zen 4: 3.3 ns beside 0.3), on
 * which they are a sequence of small steps. One to three ordinary stores take 0.8 ns there. Their number follows from
 * `count`, so this suits counts that repeat, which branches can be predicted for. AVX-512's masked stores take as long
 * as whole ones on both kinds of processors.
 */
#ifndef PHINTYS_PARTIAL_STORES_H
#define PHINTYS_PARTIAL_STORES_H

#include "native/sets.h"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

/* `count` is at most 8. */
PHINTYS_FOR_AVX2 PHINTYS_INLINE void phintys_store_first_ps(float* to, __m256 value, int count) {
    __m128 half = _mm256_castps256_ps128(value);
    if (count & 8) {
        _mm256_storeu_ps(to, value);
        return;
    }
    if (count & 4) {
        _mm_storeu_ps(to, half);
        half = _mm256_extractf128_ps(value, 1);
        to += 4;
    }
    if (count & 2) {
        _mm_storel_pi((__m64*)to, half);
        half = _mm_movehl_ps(half, half);
        to += 2;
    }
    if (count & 1) _mm_store_ss(to, half);
}

/* `count` is at most 4. */
PHINTYS_FOR_AVX2 PHINTYS_INLINE void phintys_store_first_pd(double* to, __m256d value, int count) {
    __m128d half = _mm256_castpd256_pd128(value);
    if (count & 4) {
        _mm256_storeu_pd(to, value);
        return;
    }
    if (count & 2) {
        _mm_storeu_pd(to, half);
        half = _mm256_extractf128_pd(value, 1);
        to += 2;
    }
    if (count & 1) _mm_store_sd(to, half);
}
#endif

#endif
