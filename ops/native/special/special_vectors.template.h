/* gammaln, psi and erfinv of one instruction set; see special_vectors.h, which lets each_set.h include this file after
 * vector_functions.template.h. float32 is computed in double.
 */
#if SET_FUSES
#define T double
#define ALL ((1u << WIDTH) - 1)
#define MASK TYPED(Mask)
#define LESS(a, b) TYPED(less)(a, b)
#define CHOOSE(mask, yes, no) TYPED(choose)(mask, yes, no)
#define ONLY(mask, yes) TYPED(choose)(mask, yes, SET1(0.0))
#define BITS_OF(mask) TYPED(bits_of)(mask)

/* log(x) of normal numbers as a sum; with x = 2^k (1 + f), where 1 + f is between sqrt(1/2) and sqrt(2), it is
 * k log(2) + f - (f^2 / 2 - s (f^2 / 2 + r)), s = f / (2 + f), and r a series of s^2. */
typedef struct { V high, low; } IN_SET(Log);
static inline IN_SET(Log) IN_SET(log_of)(V x) {
    const BITS bits = (BITS)x, sign = (BITS){0} + 0x8000000000000000ull;
    const BITS shifted = bits - 0x3fe6a09e667f3bcdull + sign;           /* the exponent k, plus 2048 */
    const V k = (V)((shifted >> 52) | 0x4330000000000000ull) - SET1(0x1p52 + 2048);
    const V f = (V)(bits - ((shifted & 0xfff0000000000000ull) ^ sign)) - SET1(1.0);
    const V s = f / (SET1(2.0) + f), z = s * s, z2 = z * z;
    const V half = (f * f) * SET1(0.5);
    const V r0 = FMA(z, SET1(2.0 / 5), SET1(2.0 / 3)), r2 = FMA(z, SET1(2.0 / 9), SET1(2.0 / 7));
    const V r4 = FMA(z, SET1(2.0 / 13), SET1(2.0 / 11)), r6 = FMA(z, SET1(2.0 / 17), SET1(2.0 / 15));
    const V r8 = FMA(z, SET1(2.0 / 21), SET1(2.0 / 19));
    const V series = FMA(z2, FMA(z2, FMA(z2, FMA(z2, r8, r6), r4), r2), r0);
    const V rest = (s * FMA(z, series, half)) - half;
    const V whole = k * SET1(0x1.62e42feep-1);               /* exact: log(2) with 20 bits less */
    IN_SET(Log) found;
    found.high = whole + f;
    const V lost = (whole - found.high) + f;
    found.low = FMA(k, SET1(0x1.a39ef35793c76p-33), lost) + rest;
    return found;
}

/* Elements outside of the mask, by a scalar function. */
static V IN_SET(one_by_one)(V found, V x, unsigned inside, double (*of)(double)) {
    double in[WIDTH], out[WIDTH];
    *(V*)in = x, *(V*)out = found;
    for (int k = 0; k < WIDTH; k++) if (!(inside >> k & 1)) out[k] = of(in[k]);
    return *(V*)out;
}

/* Below 8: log(gamma(1 + u)), u = x - floor(x), plus the logarithm of the product that leads to x; below 1, minus that
 * of |x (x + 1) ...|, up to the last factor below 1. Its zeros at u = 0 and 1 are factors, so that it is exact there,
 * and little cancels elsewhere. A factor of the product that x does not have is max(x - i, 1) = 1. From 8 on:
 * Stirling's series. */
static TYPED(Register) IN_SET(phintys_gammaln_double)(TYPED(Register) given) {
    const V whole = given;
    const V one = SET1(1.0), zero = SET1(0.0);
    const MASK positive = LESS(SET1(0x1p-1022), whole) & LESS(whole, SET1(INFINITY));
    const MASK negative = LESS(SET1(-PHINTYS_NEGATIVE_FACTORS), whole) & LESS(whole, SET1(-0x1p-1022))
                          & LESS(TYPED(floor)(whole), whole);
    const MASK inside = positive | negative;
    const V x = CHOOSE(inside, whole, one);
    const MASK small = LESS(x, SET1(8.0)), below = LESS(x, one);
    V argument = x, found = x;
    if (BITS_OF(small)) {
        V first = TYPED(larger)(x - one, one), second = TYPED(larger)(x - SET1(2.0), one);
        for (int i = 3; i <= 6; i += 2) {
            first = first * TYPED(larger)(x - SET1(i), one);
            second = second * TYPED(larger)(x - SET1(i + 1), one);
        }
        V descent = x;
        if (BITS_OF(negative)) {
            for (int i = 1; i <= PHINTYS_NEGATIVE_FACTORS; i++) {
                const V factor = x + SET1(i);
                descent = descent * CHOOSE(LESS(factor, one), factor, one);
            }
            descent = TYPED(larger)(descent, zero - descent);
        }
        argument = CHOOSE(small, CHOOSE(below, descent, first * second), x);
    }
    const IN_SET(Log) log = IN_SET(log_of)(argument);
    if (BITS_OF(small) != ALL) {
        const V r = SET1(1.0) / x, z = r * r, length = x - SET1(0.5);
        V series = FMA(z, SET1(-3617.0 / 122400), SET1(1.0 / 156));
        series = FMA(z, series, SET1(-691.0 / 360360));
        series = FMA(z, series, SET1(1.0 / 1188));
        series = FMA(z, series, SET1(-1.0 / 1680));
        series = FMA(z, series, SET1(1.0 / 1260));
        series = FMA(z, series, SET1(-1.0 / 360));
        series = FMA(z, series, SET1(1.0 / 12));
        const V rest = FMA(length, log.low, FMA(r, series, SET1(0x1.acfe390c97d6ap-2)));     /* log(2 pi) / 2 - 1/2 */
        found = FMA(length, log.high - SET1(1.0), rest);
    }
    if (BITS_OF(small)) {
        const V u = x - TYPED(floor)(x), sign = CHOOSE(below, SET1(-1.0), one);
        const V slope = POWERS(phintys_log_gamma_between_1_and_2, u - SET1(0.5));
        const V value = FMA(u * (u - one), slope, sign * log.low);
        found = CHOOSE(small, FMA(sign, log.high, value), found);
    }
    const unsigned all = BITS_OF(inside);
    return all == ALL ? found : IN_SET(one_by_one)(found, whole, all, phintys_gammaln_rest);
}

/* Below 8: psi between 1 and 2, where its root is, plus the sum of reciprocals that leads there, computed as one
 * fraction. From 8 on: Stirling's series. */
static TYPED(Register) IN_SET(phintys_psi_double)(TYPED(Register) given) {
    const V whole = given;
    const MASK inside = LESS(SET1(0x1p-1022), whole) & LESS(whole, SET1(INFINITY));
    const V x = CHOOSE(inside, whole, SET1(1.0));
    const MASK small = LESS(x, SET1(8.0));
    V found = x;
    if (BITS_OF(small) != ALL) {
        const IN_SET(Log) log = IN_SET(log_of)(x);
        const V r = SET1(1.0) / x, z = r * r;
        V series = FMA(z, SET1(43867.0 / 14364), SET1(-3617.0 / 8160));
        series = FMA(z, series, SET1(1.0 / 12));
        series = FMA(z, series, SET1(-691.0 / 32760));
        series = FMA(z, series, SET1(1.0 / 132));
        series = FMA(z, series, SET1(-1.0 / 240));
        series = FMA(z, series, SET1(1.0 / 252));
        series = FMA(z, series, SET1(-1.0 / 120));
        series = FMA(z, series, SET1(1.0 / 12));
        const V rest = r * FMA(r, series, SET1(0.5));
        found = log.high + (log.low - rest);
    }
    if (BITS_OF(small)) {
        const V floor = TYPED(floor)(x), one = SET1(1.0);
        const MASK below = LESS(x, one);
        V top = ONLY(below, SET1(-1.0)), bottom = CHOOSE(below, x, one);
        for (int i = 1; i <= 6; i++) {
            const V factor = TYPED(larger)(x - SET1(i), one);
            top = FMA(top, factor, ONLY(LESS(SET1(i + 0.5), floor), bottom));
            bottom = bottom * factor;
        }
        const V y = CHOOSE(below, x + one, x - (floor - one));
        const V distance = (y - SET1(1.4616321449683622)) - SET1(9.549995429965697e-17);
        const V slope = POWERS(phintys_psi_between_1_and_2, y - SET1(1.5));
        found = CHOOSE(small, FMA(distance, slope, top / bottom), found);
    }
    const unsigned all = BITS_OF(inside);
    return all == ALL ? found : IN_SET(one_by_one)(found, whole, all, phintys_psi_rest);
}

/* x times a function of w = -log(1 - x^2), and of its square root where w is large. */
static TYPED(Register) IN_SET(phintys_erfinv_double)(TYPED(Register) given) {
    const V whole = given;
    const V one = SET1(1.0);
    const MASK inside = LESS(SET1(-1.0), whole) & LESS(whole, one);
    const V x = CHOOSE(inside, whole, SET1(0.5));
    const IN_SET(Log) log = IN_SET(log_of)((one - x) * (one + x));
    const V w = SET1(0.0) - (log.high + log.low);
    V found = POWERS(phintys_erfinv_center, w - SET1(2.5));
    const MASK far = LESS(SET1(5.0), w);
    if (BITS_OF(far)) {
        const V s = TYPED(root)(w);
        const V middle = POWERS(phintys_erfinv_middle, s - SET1(3.109375));
        const V end = POWERS(phintys_erfinv_end, s - SET1(5.125));
        found = CHOOSE(far, CHOOSE(LESS(SET1(4.0), s), end, middle), found);
    }
    found = found * x;
    const unsigned all = BITS_OF(inside);
    return all == ALL ? found : IN_SET(one_by_one)(found, whole, all, phintys_erfinv_rest);
}

/* Of float32, both halves in double. */
#if SET_LEVEL == 2
PHINTYS_INLINE __m512 phintys_in_double_avx512(IN_SET(Register_double) (*of)(IN_SET(Register_double)), __m512 x) {
    const __m256 low = _mm512_cvtpd_ps(of(_mm512_cvtps_pd(_mm512_castps512_ps256(x))));
    const __m256 high = _mm512_cvtpd_ps(of(_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))));
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
#elif SET_LEVEL == 1
PHINTYS_INLINE __m256 phintys_in_double_avx2(IN_SET(Register_double) (*of)(IN_SET(Register_double)), __m256 x) {
    const __m128 low = _mm256_cvtpd_ps(of(_mm256_cvtps_pd(_mm256_castps256_ps128(x))));
    const __m128 high = _mm256_cvtpd_ps(of(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}
#else
PHINTYS_INLINE float32x4_t phintys_in_double_baseline(IN_SET(Register_double) (*of)(IN_SET(Register_double)),
                                                      float32x4_t x) {
    const float32x2_t low = vcvt_f32_f64(of(vcvt_f64_f32(vget_low_f32(x))));
    return vcvt_high_f32_f64(low, of(vcvt_high_f64_f32(x)));
}
#endif
#define IN_DOUBLE(NAME) \
static IN_SET(Register_float) IN_SET(NAME##_float)(IN_SET(Register_float) x) { \
    return IN_SET(phintys_in_double)(IN_SET(NAME##_double), x); \
}
IN_DOUBLE(phintys_gammaln)
IN_DOUBLE(phintys_psi)
IN_DOUBLE(phintys_erfinv)
#undef T
#endif
