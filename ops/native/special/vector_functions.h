/* Vector functions that are faster here than in the C library, in the same form: vectors in registers in and out.
 *
 * tanh: with y = 2 |x| = k log(2) + r and expm1(y) = 2^k expm1(r) + (2^k - 1), it is expm1(y) / (expm1(y) + 2), with
 * the sign of x. expm1(r) is its Taylor series, to the last bit for |r| <= log(2) / 2; all terms have the order of r,
 * so nothing cancels near 0. From 20 on (float32: 10) the result is 1. Included by vector_math.h only.
 */
#ifndef PHINTYS_VECTOR_FUNCTIONS_H
#define PHINTYS_VECTOR_FUNCTIONS_H

#include <immintrin.h>

#include "native/sets.h"
#include "softplus_vectors.h"
#include "special_vectors.h"

#define PHINTYS_TANH_DOUBLE(NAME, FOR_SET, V, I, MM, SI) \
FOR_SET static V NAME(V x) { \
    const V sign = MM##and_pd(x, MM##set1_pd(-0.0)), round = MM##set1_pd(0x1.8p52); \
    const V half = MM##min_pd(MM##set1_pd(20.0), MM##andnot_pd(MM##set1_pd(-0.0), x));  /* of NaN, NaN: the second */ \
    const V y = MM##add_pd(half, half); \
    V k = MM##fmadd_pd(half, MM##set1_pd(0x1.71547652b82fep+1), round); \
    const I bits = MM##castpd_##SI(k); \
    k = MM##sub_pd(k, round); \
    V r = MM##fnmadd_pd(k, MM##set1_pd(0x1.62e42fefa39efp-1), y); \
    r = MM##fnmadd_pd(k, MM##set1_pd(0x1.abc9e3b39803fp-56), r); \
    const V power = MM##cast##SI##_pd(MM##add_epi64(MM##slli_epi64(bits, 52), MM##castpd_##SI(MM##set1_pd(1.0)))); \
    const V r2 = MM##mul_pd(r, r), r4 = MM##mul_pd(r2, r2), r8 = MM##mul_pd(r4, r4); \
    const V q0 = MM##fmadd_pd(r, MM##set1_pd(1.0 / 6), MM##set1_pd(0.5)); \
    const V q2 = MM##fmadd_pd(r, MM##set1_pd(1.0 / 120), MM##set1_pd(1.0 / 24)); \
    const V q4 = MM##fmadd_pd(r, MM##set1_pd(1.0 / 5040), MM##set1_pd(1.0 / 720)); \
    const V q6 = MM##fmadd_pd(r, MM##set1_pd(1.0 / 362880), MM##set1_pd(1.0 / 40320)); \
    const V q8 = MM##fmadd_pd(r, MM##set1_pd(1.0 / 39916800), MM##set1_pd(1.0 / 3628800)); \
    const V q10 = MM##fmadd_pd(r, MM##set1_pd(1.0 / 6227020800), MM##set1_pd(1.0 / 479001600)); \
    const V low = MM##fmadd_pd(r4, MM##fmadd_pd(r2, q6, q4), MM##fmadd_pd(r2, q2, q0)); \
    const V series = MM##fmadd_pd(r2, MM##fmadd_pd(r8, MM##fmadd_pd(r2, q10, q8), low), r); \
    const V expm1 = MM##fmadd_pd(power, series, MM##sub_pd(power, MM##set1_pd(1.0))); \
    return MM##div_pd(MM##or_pd(expm1, sign), MM##add_pd(expm1, MM##set1_pd(2.0))); \
}

#define PHINTYS_TANH_FLOAT(NAME, FOR_SET, V, I, MM, SI) \
FOR_SET static V NAME(V x) { \
    const V sign = MM##and_ps(x, MM##set1_ps(-0.0f)), round = MM##set1_ps(0x1.8p23f); \
    const V half = MM##min_ps(MM##set1_ps(10.0f), MM##andnot_ps(MM##set1_ps(-0.0f), x)); \
    const V y = MM##add_ps(half, half); \
    V k = MM##fmadd_ps(half, MM##set1_ps(0x1.715476p+1f), round); \
    const I bits = MM##castps_##SI(k); \
    k = MM##sub_ps(k, round); \
    V r = MM##fnmadd_ps(k, MM##set1_ps(0x1.62e43p-1f), y); \
    r = MM##fnmadd_ps(k, MM##set1_ps(-0x1.05c61p-29f), r); \
    const V power = MM##cast##SI##_ps(MM##add_epi32(MM##slli_epi32(bits, 23), MM##castps_##SI(MM##set1_ps(1.0f)))); \
    const V r2 = MM##mul_ps(r, r); \
    const V q0 = MM##fmadd_ps(r, MM##set1_ps(1.0f / 6), MM##set1_ps(0.5f)); \
    const V q2 = MM##fmadd_ps(r, MM##set1_ps(1.0f / 120), MM##set1_ps(1.0f / 24)); \
    const V q4 = MM##fmadd_ps(r, MM##set1_ps(1.0f / 5040), MM##set1_ps(1.0f / 720)); \
    const V series = MM##fmadd_ps(r2, MM##fmadd_ps(r2, MM##fmadd_ps(r2, q4, q2), q0), r); \
    const V expm1 = MM##fmadd_ps(power, series, MM##sub_ps(power, MM##set1_ps(1.0f))); \
    return MM##div_ps(MM##or_ps(expm1, sign), MM##add_ps(expm1, MM##set1_ps(2.0f))); \
}

PHINTYS_TANH_DOUBLE(phintys_tanh_double_avx2, PHINTYS_FOR_AVX2, __m256d, __m256i, _mm256_, si256)
PHINTYS_TANH_DOUBLE(phintys_tanh_double_avx512, PHINTYS_FOR_AVX512, __m512d, __m512i, _mm512_, si512)
PHINTYS_TANH_FLOAT(phintys_tanh_float_avx2, PHINTYS_FOR_AVX2, __m256, __m256i, _mm256_, si256)
PHINTYS_TANH_FLOAT(phintys_tanh_float_avx512, PHINTYS_FOR_AVX512, __m512, __m512i, _mm512_, si512)

/* By the names that libmvec has for such functions. */
static const struct { const char* symbol; void* function; } phintys_vector_functions[] = {
    {"_ZGVdN4v_tanh", (void*)phintys_tanh_double_avx2}, {"_ZGVeN8v_tanh", (void*)phintys_tanh_double_avx512},
    {"_ZGVdN8v_tanhf", (void*)phintys_tanh_float_avx2}, {"_ZGVeN16v_tanhf", (void*)phintys_tanh_float_avx512},
    {"_ZGVdN4v_gammaln", (void*)phintys_gammaln_double_avx2},
    {"_ZGVeN8v_gammaln", (void*)phintys_gammaln_double_avx512},
    {"_ZGVdN8v_gammalnf", (void*)phintys_gammaln_float_avx2},
    {"_ZGVeN16v_gammalnf", (void*)phintys_gammaln_float_avx512},
    {"_ZGVdN4v_psi", (void*)phintys_psi_double_avx2}, {"_ZGVeN8v_psi", (void*)phintys_psi_double_avx512},
    {"_ZGVdN8v_psif", (void*)phintys_psi_float_avx2}, {"_ZGVeN16v_psif", (void*)phintys_psi_float_avx512},
    {"_ZGVdN4v_erfinv", (void*)phintys_erfinv_double_avx2}, {"_ZGVeN8v_erfinv", (void*)phintys_erfinv_double_avx512},
    {"_ZGVdN8v_erfinvf", (void*)phintys_erfinv_float_avx2}, {"_ZGVeN16v_erfinvf", (void*)phintys_erfinv_float_avx512},
    {"_ZGVdN4v_softplus", (void*)phintys_softplus_double_avx2},
    {"_ZGVeN8v_softplus", (void*)phintys_softplus_double_avx512},
    {"_ZGVdN8v_softplusf", (void*)phintys_softplus_float_avx2},
    {"_ZGVeN16v_softplusf", (void*)phintys_softplus_float_avx512},
    {NULL, NULL}};

#endif
