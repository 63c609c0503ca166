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

/* Below 8: log(gamma(1 + u)), u = x - floor(x), plus the logarithm of the product that leads to x; below 1, minus that
 * of |x (x + 1) ...|, up to the last factor below 1. Its zeros at u = 0 and 1 are factors, so that it is exact there,
 * and little cancels elsewhere. A factor of the product that x does not have is max(x - i, 1) = 1. From 8 on:
 * Stirling's series. */
static V IN_SET(phintys_gammaln_double)(V whole) {
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
    const TYPED(Sum) log = TYPED(log_of)(argument);
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
    return TYPED(everywhere)(inside) ? found : TYPED(one_by_one)(found, whole, inside, phintys_gammaln_rest);
}

/* Below 8: psi between 1 and 2, where its root is, plus the sum of reciprocals that leads there, computed as one
 * fraction. From 8 on: Stirling's series. */
static V IN_SET(phintys_psi_double)(V whole) {
    const MASK inside = LESS(SET1(0x1p-1022), whole) & LESS(whole, SET1(INFINITY));
    const V x = CHOOSE(inside, whole, SET1(1.0));
    const MASK small = LESS(x, SET1(8.0));
    V found = x;
    if (BITS_OF(small) != ALL) {
        const TYPED(Sum) log = TYPED(log_of)(x);
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
    return TYPED(everywhere)(inside) ? found : TYPED(one_by_one)(found, whole, inside, phintys_psi_rest);
}

/* x times a function of w = -log(1 - x^2), and of its square root where w is large. */
static V IN_SET(phintys_erfinv_double)(V whole) {
    const V one = SET1(1.0);
    const MASK inside = LESS(SET1(-1.0), whole) & LESS(whole, one);
    const V x = CHOOSE(inside, whole, SET1(0.5));
    const TYPED(Sum) log = TYPED(log_of)((one - x) * (one + x));
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
    return TYPED(everywhere)(inside) ? found : TYPED(one_by_one)(found, whole, inside, phintys_erfinv_rest);
}
#define CALLED_LINE(NAME) \
    CALLED(NAME) { return TYPED(phintys_##NAME)(x); } \
    LINE(NAME, 1, NAME##_called)
CALLED_LINE(gammaln)
CALLED_LINE(psi)
CALLED_LINE(erfinv)
#undef T

/* Of float32, both halves in double. */
#define T float
typedef IN_SET(Vector_double) IN_SET(Half);
#if SET_LEVEL == 2
PHINTYS_INLINE V IN_SET(in_double)(V x, IN_SET(Half) (*of)(IN_SET(Half))) {
    const __m256 low = _mm512_cvtpd_ps(of(_mm512_cvtps_pd(_mm512_castps512_ps256(x))));
    const __m256 high = _mm512_cvtpd_ps(of(_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))));
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
#elif SET_LEVEL == 1
PHINTYS_INLINE V IN_SET(in_double)(V x, IN_SET(Half) (*of)(IN_SET(Half))) {
    const __m128 low = _mm256_cvtpd_ps(of(_mm256_cvtps_pd(_mm256_castps256_ps128(x))));
    const __m128 high = _mm256_cvtpd_ps(of(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}
#else
PHINTYS_INLINE V IN_SET(in_double)(V x, IN_SET(Half) (*of)(IN_SET(Half))) {
    const float32x2_t low = vcvt_f32_f64(of(vcvt_f64_f32(vget_low_f32(x))));
    return vcvt_high_f32_f64(low, of(vcvt_high_f64_f32(x)));
}
#endif
#define IN_DOUBLE(NAME) \
static inline V TYPED(phintys_##NAME)(V x) { return IN_SET(in_double)(x, IN_SET(NAME##_called_double)); } \
CALLED_LINE(NAME)
IN_DOUBLE(gammaln)
IN_DOUBLE(psi)
IN_DOUBLE(erfinv)
#undef T
#endif
