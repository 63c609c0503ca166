/* Points of the polar method and normal numbers of them, eight at a time (AVX-512), with the bits of the loops in
 * draw_loops.h. Points in the circle are moved to the front by one instruction, so no number is stored alone and loaded
 * as a part of a vector, for which few numbers waited longer than they were computed.
 */
#ifndef PHINTYS_POLAR_VECTORS_H
#define PHINTYS_POLAR_VECTORS_H

#if defined(__GNUC__) && defined(__x86_64__)
#define PHINTYS_WIDE __attribute__((target("avx512f,avx512dq,bmi2,lzcnt,popcnt")))

/* Coordinates from -1 to 1 of 16 words, two words each. */
PHINTYS_WIDE static inline __m512d phintys_coordinates(__m512i y) {
    y = _mm512_xor_si512(y, _mm512_srli_epi32(y, 11));
    y = _mm512_xor_si512(y, _mm512_and_si512(_mm512_slli_epi32(y, 7), _mm512_set1_epi32((int)0x9d2c5680u)));
    y = _mm512_xor_si512(y, _mm512_and_si512(_mm512_slli_epi32(y, 15), _mm512_set1_epi32((int)0xefc60000u)));
    y = _mm512_xor_si512(y, _mm512_srli_epi32(y, 18));
    const __m512i high = _mm512_and_si512(_mm512_srli_epi64(y, 5), _mm512_set1_epi64(0x7ffffff));
    const __m512i integer = _mm512_or_si512(_mm512_slli_epi64(high, 26), _mm512_srli_epi64(y, 38));
    return _mm512_sub_pd(_mm512_mul_pd(_mm512_cvtepu64_pd(integer), _mm512_set1_pd(0x1p-52)), _mm512_set1_pd(1));
}

/* The points of `count` times four words that are in the circle, at most `wanted`. Returns how many there are; `*used`
 * becomes the number of points up to the last of them, or `count` when there are less. */
PHINTYS_WIDE static ptrdiff_t phintys_points_by_vectors(const uint32_t* key, ptrdiff_t count, ptrdiff_t wanted,
                                                        phintys_points* points, ptrdiff_t* used) {
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_add_epi64(even, _mm512_set1_epi64(1));
    ptrdiff_t found = 0;
    for (ptrdiff_t done = 0; done < count; done += 8) {
        const int left = count - done < 8 ? (int)(count - done) : 8;
        const uint32_t words = (uint32_t)((1ULL << 4 * left) - 1);          /* those that exist */
        const __m512d a = phintys_coordinates(_mm512_maskz_loadu_epi32((__mmask16)words, key + 4 * done));
        const __m512d b = phintys_coordinates(_mm512_maskz_loadu_epi32((__mmask16)(words >> 16), key + 4 * done + 16));
        const __m512d x = _mm512_permutex2var_pd(a, even, b), y = _mm512_permutex2var_pd(a, odd, b);
        const __m512d square = _mm512_add_pd(_mm512_mul_pd(x, x), _mm512_mul_pd(y, y));
        uint32_t inside = _mm512_cmp_pd_mask(square, _mm512_set1_pd(1), _CMP_LT_OQ)
            & _mm512_cmp_pd_mask(square, _mm512_setzero_pd(), _CMP_NEQ_UQ) & ((1u << left) - 1);
        const ptrdiff_t more = __builtin_popcount(inside), missing = wanted - found;
        if (more >= missing) inside = _pdep_u32((1u << missing) - 1, inside);
        _mm512_storeu_pd(points->x + found, _mm512_maskz_compress_pd((__mmask8)inside, x));
        _mm512_storeu_pd(points->y + found, _mm512_maskz_compress_pd((__mmask8)inside, y));
        _mm512_storeu_pd(points->square + found, _mm512_maskz_compress_pd((__mmask8)inside, square));
        if (more >= missing) {
            *used = done + 32 - (ptrdiff_t)_lzcnt_u32(inside);
            return wanted;
        }
        found += more;
    }
    *used = count;
    return found;
}

/* Two normal numbers of each point; `logarithms` has room for whole vectors. */
PHINTYS_WIDE static void phintys_pairs_by_vectors(const phintys_points* points, const double* logarithms,
                                                  ptrdiff_t count, double mean, double deviation, double* out) {
    const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i second = _mm512_add_epi64(first, _mm512_set1_epi64(4));
    for (ptrdiff_t place = 0; place < count; place += 8) {
        const int left = count - place < 8 ? (int)(count - place) : 8;
        const uint32_t numbers = (1u << 2 * left) - 1;
        const double* l = logarithms + place;               /* number by number, as they have just been stored */
        const __m512d logarithm = _mm512_setr_pd(l[0], l[1], l[2], l[3], l[4], l[5], l[6], l[7]);
        const __m512d square = _mm512_load_pd(points->square + place);
        const __m512d factor = _mm512_sqrt_pd(_mm512_div_pd(_mm512_mul_pd(_mm512_set1_pd(-2), logarithm), square));
        const __m512d scale = _mm512_set1_pd(deviation), shift = _mm512_set1_pd(mean);
        const __m512d x = _mm512_mul_pd(factor, _mm512_load_pd(points->x + place));
        const __m512d y = _mm512_mul_pd(factor, _mm512_load_pd(points->y + place));
        const __m512d after = _mm512_add_pd(shift, _mm512_mul_pd(scale, x));
        const __m512d before = _mm512_add_pd(shift, _mm512_mul_pd(scale, y));
        _mm512_mask_storeu_pd(out + 2 * place, (__mmask8)numbers, _mm512_permutex2var_pd(before, first, after));
        _mm512_mask_storeu_pd(out + 2 * place + 8, (__mmask8)(numbers >> 8),
                              _mm512_permutex2var_pd(before, second, after));
    }
}
#else                                                           /* never called: phintys_vectors_allowed is 0 */
static ptrdiff_t phintys_points_by_vectors(const uint32_t* key, ptrdiff_t count, ptrdiff_t wanted,
                                           phintys_points* points, ptrdiff_t* used) {
    (void)key, (void)count, (void)wanted, (void)points, (void)used;
    return 0;
}
static void phintys_pairs_by_vectors(const phintys_points* points, const double* logarithms, ptrdiff_t count,
                                     double mean, double deviation, double* out) {
    (void)points, (void)logarithms, (void)count, (void)mean, (void)deviation, (void)out;
}
#endif

#endif
