/* Points of the polar method and normal numbers of them, eight at a time (AVX-512), with the bits of the loops in
 * draw_loops.h. Points in the circle are moved to the front by one instruction, so no number is stored alone and loaded
 * as a part of a vector, for which few numbers waited longer than they were computed.
 *
 * NumPy's bits contain the rounding of the C library's logarithm. Here logarithms are computed as sums of two numbers,
 * whose error is below 0.01 ulp. The C library is asked only where the sum is so close to the middle between two
 * numbers that it might round to the other one.
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

typedef struct {__m512d x, y, square;} phintys_eight_points;

/* The points of `count` times four words, at most eight. */
PHINTYS_WIDE static inline phintys_eight_points phintys_eight_points_of(const uint32_t* key, int count) {
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_add_epi64(even, _mm512_set1_epi64(1));
    const uint32_t words = (uint32_t)((1ULL << 4 * count) - 1);                             /* those that exist */
    const __m512d a = phintys_coordinates(_mm512_maskz_loadu_epi32((__mmask16)words, key));
    const __m512d b = phintys_coordinates(_mm512_maskz_loadu_epi32((__mmask16)(words >> 16), key + 16));
    phintys_eight_points points = {_mm512_permutex2var_pd(a, even, b), _mm512_permutex2var_pd(a, odd, b)};
    points.square = _mm512_add_pd(_mm512_mul_pd(points.x, points.x), _mm512_mul_pd(points.y, points.y));
    return points;
}

/* The first `wanted` of `count` points that are in the circle, as a mask. */
PHINTYS_WIDE static inline uint32_t phintys_inside(__m512d square, int count, ptrdiff_t wanted) {
    const uint32_t inside = _mm512_cmp_pd_mask(square, _mm512_set1_pd(1), _CMP_LT_OQ)
        & _mm512_cmp_pd_mask(square, _mm512_setzero_pd(), _CMP_NEQ_UQ) & ((1u << count) - 1);
    return wanted < 8 ? _pdep_u32((1u << wanted) - 1, inside) : inside;
}

/* The points of `count` times four words that are in the circle, at most `wanted`. Returns how many there are; `*used`
 * becomes the number of points up to the last of them, or `count` when there are less. */
PHINTYS_WIDE static ptrdiff_t phintys_points_by_vectors(const uint32_t* key, ptrdiff_t count, ptrdiff_t wanted,
                                                        phintys_points* points, ptrdiff_t* used) {
    ptrdiff_t found = 0;
    for (ptrdiff_t done = 0; done < count; done += 8) {
        const int left = count - done < 8 ? (int)(count - done) : 8;
        const phintys_eight_points eight = phintys_eight_points_of(key + 4 * done, left);
        const uint32_t inside = phintys_inside(eight.square, left, wanted - found);
        _mm512_storeu_pd(points->x + found, _mm512_maskz_compress_pd((__mmask8)inside, eight.x));
        _mm512_storeu_pd(points->y + found, _mm512_maskz_compress_pd((__mmask8)inside, eight.y));
        _mm512_storeu_pd(points->square + found, _mm512_maskz_compress_pd((__mmask8)inside, eight.square));
        found += __builtin_popcount(inside);
        if (found == wanted) {
            *used = done + 32 - (ptrdiff_t)_lzcnt_u32(inside);
            return wanted;
        }
    }
    *used = count;
    return found;
}

/* The logarithm of x = 2^exponent * z is -log(c) + exponent * log(2) + log(1 + r) with c = n / 16 near 1 / z, n from 11
 * to 21, and r = z * c - 1, which is exact. The table has -log(c) at place n modulo 16. High parts are multiples of
 * 2^-44, so that their sums are exact. */
static const double phintys_log_high[16] = {
    0x0.0p+0, -0x1.f0a30c0118000p-5, -0x1.e27076e2b0000p-4, -0x1.5ff3070a79800p-3, -0x1.c8ff7c79aa000p-3,
    -0x1.1675cababa800p-2, 0, 0, 0, 0, 0, 0x1.7fafa3bd81400p-2, 0x1.269621134d800p-2, 0x1.a93ed3c8ad800p-3,
    0x1.1178e8227e000p-3, 0x1.08598b59e3000p-4};
static const double phintys_log_low[16] = {
    0x0.0p+0, 0x1.d599e83368e91p-45, 0x1.a342c2af0003cp-45, 0x1.0b0de3077d7e3p-45, 0x1.7794f689f8434p-45,
    0x1.f1fc63382a8f0p-46, 0, 0, 0, 0, 0, 0x1.1bede6fdb532cp-46, 0x1.c93c1df5bb3b6p-45, 0x1.e36f2bea77a5dp-47,
    0x1.1ef78ce2d07f2p-45, 0x1.40d1147fb37eap-45};

/* log(1 + r) - r + r^2 / 2, for |r| < 0.048. */
PHINTYS_WIDE static inline __m512d phintys_rest_of_log(__m512d r, __m512d square) {
#define PHINTYS_TERMS(A, B) _mm512_fmadd_pd(r, _mm512_set1_pd(-1.0 / (B)), _mm512_set1_pd(1.0 / (A)))
    const __m512d fourth = _mm512_mul_pd(square, square);
    const __m512d low = _mm512_fmadd_pd(square, PHINTYS_TERMS(5, 6), PHINTYS_TERMS(3, 4));
    const __m512d middle = _mm512_fmadd_pd(square, PHINTYS_TERMS(9, 10), PHINTYS_TERMS(7, 8));
    const __m512d high = _mm512_fmadd_pd(square, _mm512_set1_pd(1.0 / 13), PHINTYS_TERMS(11, 12));
#undef PHINTYS_TERMS
    const __m512d sum = _mm512_fmadd_pd(fourth, _mm512_fmadd_pd(fourth, high, middle), low);
    return _mm512_mul_pd(_mm512_mul_pd(r, square), sum);
}

/* Logarithms of eight positive normal numbers; `*unsure` becomes those that a C library with errors of at most 0.525
 * ulp may round differently (glibc and musl state 0.52). */
PHINTYS_WIDE static inline __m512d phintys_sure_logarithms(__m512d x, uint32_t* unsure) {
    const __m512d one = _mm512_set1_pd(1), z = _mm512_getmant_pd(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero);
    const __m512d exponent = _mm512_mask_add_pd(_mm512_getexp_pd(x), _mm512_cmp_pd_mask(z, one, _CMP_LT_OQ),
                                                _mm512_getexp_pd(x), one);
    const __m512d c = _mm512_roundscale_pd(_mm512_rcp14_pd(z), 4 << 4);                     /* multiples of 2^-4 */
    const __m512i place = _mm512_cvtpd_epi64(_mm512_mul_pd(c, _mm512_set1_pd(16)));
    const __m512d r = _mm512_fmsub_pd(z, c, one), square = _mm512_mul_pd(r, r);
    const __m512d above = _mm512_add_pd(
        _mm512_permutex2var_pd(_mm512_loadu_pd(phintys_log_high), place, _mm512_loadu_pd(phintys_log_high + 8)),
        _mm512_mul_pd(exponent, _mm512_set1_pd(0x1.62e42fefa3800p-1)));
    __m512d below = _mm512_fmadd_pd(
        exponent, _mm512_set1_pd(0x1.ef35793c76730p-45),
        _mm512_permutex2var_pd(_mm512_loadu_pd(phintys_log_low), place, _mm512_loadu_pd(phintys_log_low + 8)));
    const __m512d half = _mm512_mul_pd(square, _mm512_set1_pd(0.5));
    const __m512d first = _mm512_add_pd(above, r), high = _mm512_sub_pd(first, half);
    below = _mm512_add_pd(below, _mm512_fnmadd_pd(_mm512_fmsub_pd(r, r, square), _mm512_set1_pd(0.5),
                                                  phintys_rest_of_log(r, square)));
    below = _mm512_add_pd(below, _mm512_add_pd(_mm512_add_pd(_mm512_sub_pd(above, first), r),
                                               _mm512_sub_pd(_mm512_sub_pd(first, high), half)));
    const __m512d result = _mm512_add_pd(high, below);
    const __m512d power = _mm512_castsi512_pd(_mm512_set1_epi64(0x7ff0000000000000));       /* of 2 in the result */
    const __m512d margin = _mm512_mul_pd(_mm512_and_pd(result, power), _mm512_set1_pd(0.025 * 0x1p-52));
    *unsure = _mm512_cmp_pd_mask(_mm512_add_pd(high, _mm512_add_pd(below, margin)),
                                 _mm512_add_pd(high, _mm512_sub_pd(below, margin)), _CMP_NEQ_UQ);
    return result;
}

/* Logarithms with those of the C library where a mask says so. It is seldom called, and apart from its caller, which
 * then needs no aligned stack. */
PHINTYS_WIDE __attribute__((noinline, cold))
static __m512d phintys_with_sure_logarithms(__m512d found, __m512d x, uint32_t unsure) {
    double numbers[8] __attribute__((aligned(64)));
    _mm512_store_pd(numbers, x);
    for (; unsure; unsure &= unsure - 1)
        found = _mm512_mask_mov_pd(found, (__mmask8)(unsure & -unsure),
                                   _mm512_set1_pd(log(numbers[__builtin_ctz(unsure)])));
    return found;
}

/* The logarithms of the C library of those of eight numbers that are in a mask. */
PHINTYS_WIDE static inline __m512d phintys_logarithms(__m512d x, uint32_t wanted) {
    uint32_t unsure;
    const __m512d found = phintys_sure_logarithms(x, &unsure);
    unsure &= wanted;
    return __builtin_expect(unsure != 0, 0) ? phintys_with_sure_logarithms(found, x, unsure) : found;
}

/* What the coordinates of points in the circle are multiplied by to become normal numbers. */
PHINTYS_WIDE static inline __m512d phintys_polar_factors(__m512d square, uint32_t wanted) {
    const __m512d logarithm = phintys_logarithms(square, wanted);
    return _mm512_sqrt_pd(_mm512_div_pd(_mm512_mul_pd(_mm512_set1_pd(-2), logarithm), square));
}

/* Store the first numbers of a vector, an even number of them. A store by a mask would do it, but a load of what that
 * has stored waits until it is in the cache (8 ns on Zen 4), and few numbers are copied into a result at once. */
PHINTYS_WIDE static inline void phintys_store_first(__m512d vector, int count, double* out) {
    if (count >= 8) {
        _mm512_storeu_pd(out, vector);
        return;
    }
    __m256d half = _mm512_castpd512_pd256(vector);
    if (count & 4) {
        _mm256_storeu_pd(out, half);
        half = _mm512_extractf64x4_pd(vector, 1), out += 4;
    }
    if (count & 2) _mm_storeu_pd(out, _mm256_castpd256_pd128(half));
}

/* Store two normal numbers of each of `count` points, y times the factor and x times the factor. */
PHINTYS_WIDE static inline void phintys_store_pairs(__m512d y, __m512d x, int count, double mean, double deviation,
                                                    double* out) {
    const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i second = _mm512_add_epi64(first, _mm512_set1_epi64(4));
    const __m512d scale = _mm512_set1_pd(deviation), shift = _mm512_set1_pd(mean);
    y = _mm512_add_pd(shift, _mm512_mul_pd(scale, y));
    x = _mm512_add_pd(shift, _mm512_mul_pd(scale, x));
    phintys_store_first(_mm512_permutex2var_pd(y, first, x), 2 * count, out);
    if (count > 4) phintys_store_first(_mm512_permutex2var_pd(y, second, x), 2 * count - 8, out + 8);
}

/* Two normal numbers of each point. */
PHINTYS_WIDE static void phintys_pairs_by_vectors(const phintys_points* points, ptrdiff_t count, double mean,
                                                  double deviation, double* out) {
    for (ptrdiff_t place = 0; place < count; place += 8) {
        const int left = count - place < 8 ? (int)(count - place) : 8;
        const __m512d factor = phintys_polar_factors(_mm512_load_pd(points->square + place), (1u << left) - 1);
        phintys_store_pairs(_mm512_mul_pd(factor, _mm512_load_pd(points->y + place)),
                            _mm512_mul_pd(factor, _mm512_load_pd(points->x + place)), left, mean, deviation,
                            out + 2 * place);
    }
}

/* The same of at most eight points from words, of which at most `wanted` are in the circle: how many, and `*used`, are
 * as phintys_points_by_vectors computes them. Factors are computed of all points, so that they need not wait until it
 * is known which of them are in the circle. */
PHINTYS_WIDE static ptrdiff_t phintys_few_pairs_by_vectors(const uint32_t* key, int count, ptrdiff_t wanted,
                                                           double mean, double deviation, double* out,
                                                           ptrdiff_t* used) {
    const phintys_eight_points eight = phintys_eight_points_of(key, count);
    const uint32_t inside = phintys_inside(eight.square, count, wanted);
    const __m512d factor = phintys_polar_factors(eight.square, inside);
    const int found = __builtin_popcount(inside);
    phintys_store_pairs(_mm512_maskz_compress_pd((__mmask8)inside, _mm512_mul_pd(factor, eight.y)),
                        _mm512_maskz_compress_pd((__mmask8)inside, _mm512_mul_pd(factor, eight.x)), found, mean,
                        deviation, out);
    *used = found < wanted ? count : 32 - (ptrdiff_t)_lzcnt_u32(inside);
    return found;
}
#else                                                           /* never called: phintys_vectors_allowed is 0 */
static ptrdiff_t phintys_points_by_vectors(const uint32_t* key, ptrdiff_t count, ptrdiff_t wanted,
                                           phintys_points* points, ptrdiff_t* used) {
    (void)key, (void)count, (void)wanted, (void)points, (void)used;
    return 0;
}
static void phintys_pairs_by_vectors(const phintys_points* points, ptrdiff_t count, double mean, double deviation,
                                     double* out) {
    (void)points, (void)count, (void)mean, (void)deviation, (void)out;
}
static ptrdiff_t phintys_few_pairs_by_vectors(const uint32_t* key, int count, ptrdiff_t wanted, double mean,
                                              double deviation, double* out, ptrdiff_t* used) {
    (void)key, (void)count, (void)wanted, (void)mean, (void)deviation, (void)out, (void)used;
    return 0;
}
#endif

#endif
