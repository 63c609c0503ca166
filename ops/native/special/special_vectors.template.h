/* gammaln, psi and erfinv of one instruction set; see special_vectors.h. Defined before the include, undefined at its
 * end: SET and FOR_SET; V, the vector of double; BITS, the same as integers; WIDTH; MASK, with LESS, BOTH, CHOOSE,
 * ONLY (a vector, and 0 elsewhere) and BITS_OF; OP, ROUND and FLOOR.
 */
#define NAMED(FUNCTION) PHINTYS_NAMED(FUNCTION, SET)
#define SET1(number) OP(set1_pd)(number)
#define FMA(a, b, c) OP(fmadd_pd)(a, b, c)
#define ALL ((1 << WIDTH) - 1)

/* A polynomial, the coefficient of the highest power first: even and odd powers by themselves, for shorter chains. */
#define POLYNOMIAL(TABLE, x) NAMED(polynomial)(TABLE, sizeof(TABLE) / sizeof(double), x)
FOR_SET static inline V NAMED(polynomial)(const double* table, int count, V x) {
    const V square = OP(mul_pd)(x, x);
    V high = SET1(table[0]), low = SET1(table[1]);
    for (int k = 2; k + 1 < count; k += 2) {
        high = FMA(high, square, SET1(table[k]));
        low = FMA(low, square, SET1(table[k + 1]));
    }
    const V sum = FMA(high, x, low);                /* `high` belongs to the powers that are higher by 1 */
    return count % 2 ? FMA(sum, x, SET1(table[count - 1])) : sum;
}

/* log(x) of normal numbers as a sum; with x = 2^k (1 + f), where 1 + f is between sqrt(1/2) and sqrt(2), it is
 * k log(2) + f - (f^2 / 2 - s (f^2 / 2 + r)), s = f / (2 + f), and r a series of s^2. */
typedef struct { V high, low; } NAMED(Log);
FOR_SET static inline NAMED(Log) NAMED(log_of)(V x) {
    const BITS bits = (BITS)x, sign = (BITS){0} + 0x8000000000000000ull;
    const BITS shifted = bits - 0x3fe6a09e667f3bcdull + sign;           /* the exponent k, plus 2048 */
    const V k = OP(sub_pd)((V)((shifted >> 52) | 0x4330000000000000ull), SET1(0x1p52 + 2048));
    const V f = OP(sub_pd)((V)(bits - ((shifted & 0xfff0000000000000ull) ^ sign)), SET1(1.0));
    const V s = OP(div_pd)(f, OP(add_pd)(SET1(2.0), f)), z = OP(mul_pd)(s, s), z2 = OP(mul_pd)(z, z);
    const V half = OP(mul_pd)(OP(mul_pd)(f, f), SET1(0.5));
    const V r0 = FMA(z, SET1(2.0 / 5), SET1(2.0 / 3)), r2 = FMA(z, SET1(2.0 / 9), SET1(2.0 / 7));
    const V r4 = FMA(z, SET1(2.0 / 13), SET1(2.0 / 11)), r6 = FMA(z, SET1(2.0 / 17), SET1(2.0 / 15));
    const V r8 = FMA(z, SET1(2.0 / 21), SET1(2.0 / 19));
    const V series = FMA(z2, FMA(z2, FMA(z2, FMA(z2, r8, r6), r4), r2), r0);
    const V rest = OP(sub_pd)(OP(mul_pd)(s, FMA(z, series, half)), half);
    const V whole = OP(mul_pd)(k, SET1(0x1.62e42feep-1));               /* exact: log(2) with 20 bits less */
    NAMED(Log) found;
    found.high = OP(add_pd)(whole, f);
    const V lost = OP(add_pd)(OP(sub_pd)(whole, found.high), f);
    found.low = OP(add_pd)(FMA(k, SET1(0x1.a39ef35793c76p-33), lost), rest);
    return found;
}

/* Elements outside of the mask, by a scalar function. */
FOR_SET static V NAMED(one_by_one)(V found, V x, int inside, double (*of)(double)) {
    double in[WIDTH], out[WIDTH];
    OP(storeu_pd)(in, x), OP(storeu_pd)(out, found);
    for (int k = 0; k < WIDTH; k++) if (!(inside >> k & 1)) out[k] = of(in[k]);
    return OP(loadu_pd)(out);
}

/* Below 8: log(gamma(1 + u)), u = x - floor(x), plus the logarithm of the product that leads to x; below 1, minus that
 * of |x (x + 1) ...|, up to the last factor below 1. Its zeros at u = 0 and 1 are factors, so that it is exact there,
 * and little cancels elsewhere. A factor of the product that x does not have is max(x - i, 1) = 1. From 8 on:
 * Stirling's series. */
FOR_SET static V NAMED(phintys_gammaln_double)(V whole) {
    const V one = SET1(1.0), zero = SET1(0.0);
    const MASK positive = BOTH(LESS(SET1(0x1p-1022), whole), LESS(whole, SET1(INFINITY)));
    const MASK negative = BOTH(BOTH(LESS(SET1(-PHINTYS_NEGATIVE_FACTORS), whole), LESS(whole, SET1(-0x1p-1022))),
                               LESS(FLOOR(whole), whole));
    const MASK inside = EITHER(positive, negative);
    const V x = CHOOSE(inside, whole, one);
    const MASK small = LESS(x, SET1(8.0)), below = LESS(x, one);
    V argument = x, found = x;
    if (BITS_OF(small)) {
        V first = OP(max_pd)(OP(sub_pd)(x, one), one), second = OP(max_pd)(OP(sub_pd)(x, SET1(2.0)), one);
        for (int i = 3; i <= 6; i += 2) {
            first = OP(mul_pd)(first, OP(max_pd)(OP(sub_pd)(x, SET1(i)), one));
            second = OP(mul_pd)(second, OP(max_pd)(OP(sub_pd)(x, SET1(i + 1)), one));
        }
        V descent = x;
        if (BITS_OF(negative)) {
            for (int i = 1; i <= PHINTYS_NEGATIVE_FACTORS; i++) {
                const V factor = OP(add_pd)(x, SET1(i));
                descent = OP(mul_pd)(descent, CHOOSE(LESS(factor, one), factor, one));
            }
            descent = OP(max_pd)(descent, OP(sub_pd)(zero, descent));
        }
        argument = CHOOSE(small, CHOOSE(below, descent, OP(mul_pd)(first, second)), x);
    }
    const NAMED(Log) log = NAMED(log_of)(argument);
    if (BITS_OF(small) != ALL) {
        const V r = OP(div_pd)(SET1(1.0), x), z = OP(mul_pd)(r, r), length = OP(sub_pd)(x, SET1(0.5));
        V series = FMA(z, SET1(-3617.0 / 122400), SET1(1.0 / 156));
        series = FMA(z, series, SET1(-691.0 / 360360));
        series = FMA(z, series, SET1(1.0 / 1188));
        series = FMA(z, series, SET1(-1.0 / 1680));
        series = FMA(z, series, SET1(1.0 / 1260));
        series = FMA(z, series, SET1(-1.0 / 360));
        series = FMA(z, series, SET1(1.0 / 12));
        const V rest = FMA(length, log.low, FMA(r, series, SET1(0x1.acfe390c97d6ap-2)));     /* log(2 pi) / 2 - 1/2 */
        found = FMA(length, OP(sub_pd)(log.high, SET1(1.0)), rest);
    }
    if (BITS_OF(small)) {
        const V u = OP(sub_pd)(x, FLOOR(x)), sign = CHOOSE(below, SET1(-1.0), one);
        const V slope = POLYNOMIAL(phintys_log_gamma_between_1_and_2, OP(sub_pd)(u, SET1(0.5)));
        const V value = FMA(OP(mul_pd)(u, OP(sub_pd)(u, one)), slope, OP(mul_pd)(sign, log.low));
        found = CHOOSE(small, FMA(sign, log.high, value), found);
    }
    const int all = BITS_OF(inside);
    return all == ALL ? found : NAMED(one_by_one)(found, whole, all, phintys_gammaln_rest);
}

/* Below 8: psi between 1 and 2, where its root is, plus the sum of reciprocals that leads there, computed as one
 * fraction. From 8 on: Stirling's series. */
FOR_SET static V NAMED(phintys_psi_double)(V whole) {
    const MASK inside = BOTH(LESS(SET1(0x1p-1022), whole), LESS(whole, SET1(INFINITY)));
    const V x = CHOOSE(inside, whole, SET1(1.0));
    const MASK small = LESS(x, SET1(8.0));
    V found = x;
    if (BITS_OF(small) != ALL) {
        const NAMED(Log) log = NAMED(log_of)(x);
        const V r = OP(div_pd)(SET1(1.0), x), z = OP(mul_pd)(r, r);
        V series = FMA(z, SET1(43867.0 / 14364), SET1(-3617.0 / 8160));
        series = FMA(z, series, SET1(1.0 / 12));
        series = FMA(z, series, SET1(-691.0 / 32760));
        series = FMA(z, series, SET1(1.0 / 132));
        series = FMA(z, series, SET1(-1.0 / 240));
        series = FMA(z, series, SET1(1.0 / 252));
        series = FMA(z, series, SET1(-1.0 / 120));
        series = FMA(z, series, SET1(1.0 / 12));
        const V rest = OP(mul_pd)(r, FMA(r, series, SET1(0.5)));
        found = OP(add_pd)(log.high, OP(sub_pd)(log.low, rest));
    }
    if (BITS_OF(small)) {
        const V floor = FLOOR(x), one = SET1(1.0);
        const MASK below = LESS(x, one);
        V top = ONLY(below, SET1(-1.0)), bottom = CHOOSE(below, x, one);
        for (int i = 1; i <= 6; i++) {
            const V factor = OP(max_pd)(OP(sub_pd)(x, SET1(i)), one);
            top = FMA(top, factor, ONLY(LESS(SET1(i + 0.5), floor), bottom));
            bottom = OP(mul_pd)(bottom, factor);
        }
        const V y = CHOOSE(below, OP(add_pd)(x, one), OP(sub_pd)(x, OP(sub_pd)(floor, one)));
        const V distance = OP(sub_pd)(OP(sub_pd)(y, SET1(1.4616321449683622)), SET1(9.549995429965697e-17));
        const V slope = POLYNOMIAL(phintys_psi_between_1_and_2, OP(sub_pd)(y, SET1(1.5)));
        found = CHOOSE(small, FMA(distance, slope, OP(div_pd)(top, bottom)), found);
    }
    const int all = BITS_OF(inside);
    return all == ALL ? found : NAMED(one_by_one)(found, whole, all, phintys_psi_rest);
}

/* x times a function of w = -log(1 - x^2), and of its square root where w is large. */
FOR_SET static V NAMED(phintys_erfinv_double)(V whole) {
    const V one = SET1(1.0);
    const MASK inside = BOTH(LESS(SET1(-1.0), whole), LESS(whole, one));
    const V x = CHOOSE(inside, whole, SET1(0.5));
    const NAMED(Log) log = NAMED(log_of)(OP(mul_pd)(OP(sub_pd)(one, x), OP(add_pd)(one, x)));
    const V w = OP(sub_pd)(SET1(0.0), OP(add_pd)(log.high, log.low));
    V found = POLYNOMIAL(phintys_erfinv_center, OP(sub_pd)(w, SET1(2.5)));
    const MASK far = LESS(SET1(5.0), w);
    if (BITS_OF(far)) {
        const V s = OP(sqrt_pd)(w);
        const V middle = POLYNOMIAL(phintys_erfinv_middle, OP(sub_pd)(s, SET1(3.109375)));
        const V end = POLYNOMIAL(phintys_erfinv_end, OP(sub_pd)(s, SET1(5.125)));
        found = CHOOSE(far, CHOOSE(LESS(SET1(4.0), s), end, middle), found);
    }
    found = OP(mul_pd)(found, x);
    const int all = BITS_OF(inside);
    return all == ALL ? found : NAMED(one_by_one)(found, whole, all, phintys_erfinv_rest);
}

#undef NAMED
#undef SET1
#undef FMA
#undef ALL
#undef POLYNOMIAL
#undef SET
#undef FOR_SET
#undef V
#undef BITS
#undef WIDTH
#undef MASK
#undef OP
#undef LESS
#undef BOTH
#undef EITHER
#undef CHOOSE
#undef ONLY
#undef BITS_OF
#undef ROUND
#undef FLOOR
