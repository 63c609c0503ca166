/* exp, log, sin, cos, tanh and softplus of one type and instruction set, and what functions of vectors have in common.
 * Tables of polynomials are in vector_functions.h, which lets each_set.h include this file.
 */
#if SET_FUSES
#define V TYPED(Vector)
#define BITS TYPED(Bits)
#define DOUBLE (sizeof(T) == sizeof(double))
#define FRACTION (DOUBLE ? 52 : 23)
#define WIDTH (SET_BYTES / (int)sizeof(T))
#define SET1(number) TYPED(broadcast)((T)(number))
#define FMA(a, b, c) TYPED(multiply_add)(a, b, c)

/* Elements outside of the mask, by a scalar function. */
static V TYPED(one_by_one)(V found, V x, TYPED(Mask) mask, double (*of)(double)) {
    T in[WIDTH], out[WIDTH];
    const unsigned inside = TYPED(bits_of)(mask);
    *(V*)in = x, *(V*)out = found;
    for (int k = 0; k < WIDTH; k++) if (!(inside >> k & 1)) out[k] = (T)of(in[k]);
    return *(V*)out;
}

/* NAME_line: a function of `n` elements. CORE is inlined, for vectors of which it HOLDS; it calls nothing, so that its
 * constants stay in registers. NAME_called is for others, and for what is left at the end: a vector that is filled up
 * with the first of these elements, and stored as a whole if `fills`. */
#define LINE(NAME, HOLDS, CORE) \
static void TYPED(NAME##_line)(const T* from, T* to, intptr_t n, int fills) { \
    for (intptr_t i = 0; i < n; i += WIDTH) { \
        for (; i + WIDTH <= n; i += WIDTH) { \
            const V x = *(const V*)(from + i); \
            if (!(HOLDS)) break; \
            *(V*)(to + i) = TYPED(CORE)(x); \
        } \
        if (i == n) return; \
        const int left = n - i < WIDTH ? (int)(n - i) : WIDTH; \
        const V x = left == WIDTH ? *(const V*)(from + i) : TYPED(load_filled)(from + i, left); \
        const V found = TYPED(NAME##_called)(x); \
        if (left == WIDTH || fills) *(V*)(to + i) = found; \
        else TYPED(store_part)(to + i, found, left); \
    } \
}
#define CALLED(NAME) static __attribute__((noinline)) V TYPED(NAME##_called)(V x)
/* Of one that holds for all numbers; of one that holds where NAME_holds says so, and is REST of a number elsewhere. */
#define FUNCTION_OF_ALL(NAME) \
    CALLED(NAME) { return TYPED(phintys_##NAME)(x); } \
    LINE(NAME, 1, phintys_##NAME)
#define FUNCTION_OF_SOME(NAME, REST) \
    CALLED(NAME) { \
        const V found = TYPED(phintys_##NAME)(x); \
        const TYPED(Mask) inside = TYPED(NAME##_holds)(x); \
        return TYPED(everywhere)(inside) ? found : TYPED(one_by_one)(found, x, inside, REST); \
    } \
    LINE(NAME, TYPED(everywhere)(TYPED(NAME##_holds)(x)), phintys_##NAME)

/* A polynomial, the coefficient of the highest power first: even and odd powers by themselves, for shorter chains. */
#define POWERS(TABLE, x) TYPED(polynomial)(TABLE, sizeof(TABLE) / sizeof(T), x)
PHINTYS_INLINE V TYPED(polynomial)(const T* table, int count, V x) {
    const V square = x * x;
    V high = SET1(table[0]), low = SET1(table[1]);
    for (int k = 2; k + 1 < count; k += 2) {
        high = FMA(high, square, SET1(table[k]));
        low = FMA(low, square, SET1(table[k + 1]));
    }
    const V sum = FMA(high, x, low);                /* `high` belongs to the powers that are higher by 1 */
    return count % 2 ? FMA(sum, x, SET1(table[count - 1])) : sum;
}

/* exp(x) = 2^k (1 + series), where |x - k log(2)| <= log(2) / 2. Gives the bits of k; k + `round` has them, too. */
PHINTYS_INLINE BITS TYPED(exp_parts)(V x, V* series) {
    const V round = SET1(DOUBLE ? 0x1.8p52 : 0x1.8p23);
    const V shifted = FMA(x, SET1(0x1.71547652b82fep+0), round), k = shifted - round;       /* 1 / log(2) */
    V r = FMA(k, SET1(-PHINTYS_LOG_2), x);
    r = FMA(k, SET1((T)PHINTYS_LOG_2 - PHINTYS_LOG_2 - PHINTYS_LOG_2_REST), r);
    *series = FMA(r * r, POWERS(PHINTYS_NAMED(phintys_exp_rest, T), r), r);
    return (BITS)shifted;
}

/* By two powers of 2, as one alone is neither subnormal nor twice the largest number. x is limited to where the result
 * is 0 or infinite. */
PHINTYS_INLINE V TYPED(phintys_exp)(V x) {
    const BITS one = (BITS)SET1(1.0);
    V series;
    const V limited = TYPED(smaller)(SET1(DOUBLE ? 710 : 89), TYPED(larger)(SET1(DOUBLE ? -746 : -104), x));
    const BITS k = TYPED(exp_parts)(limited, &series);
    enum { MIDDLE = 1 << (DOUBLE ? 11 : 8) };                   /* makes k positive, to be halved */
    const BITS half = ((k - (BITS)SET1(DOUBLE ? 0x1.8p52 : 0x1.8p23) + MIDDLE) >> 1) - MIDDLE / 2;
    const V power = (V)((half << FRACTION) + one);
    return FMA(power, series, power) * (V)(((k - half) << FRACTION) + one);
}
FUNCTION_OF_ALL(exp)

/* log(x) of normal numbers as a sum; with x = 2^k (1 + f), where 1 + f is between sqrt(1/2) and sqrt(2), it is
 * k log(2) + f - (f^2 / 2 - s (f^2 / 2 + r)), s = f / (2 + f), and r a series of s^2. */
typedef struct { V high, low; } TYPED(Log);
PHINTYS_INLINE TYPED(Log) TYPED(log_of)(V x) {
    const BITS sign = (BITS)SET1(-0.0), infinite = (BITS)SET1(-INFINITY);
    const BITS shifted = (BITS)x - (BITS)SET1(0x1.6a09e667f3bcdp-1) + sign;     /* the exponent, plus 2048 or 256 */
    const V round = SET1(DOUBLE ? 0x1p52 : 0x1p23);
    const V k = (V)((shifted >> FRACTION) | (BITS)round) - SET1(DOUBLE ? 0x1p52 + 2048 : 0x1p23 + 256);
    const V f = (V)((BITS)x - ((shifted & infinite) ^ sign)) - SET1(1.0);
    const V s = f / (SET1(2.0) + f), z = s * s, z2 = z * z;
    const V half = (f * f) * SET1(0.5);
    const V r0 = FMA(z, SET1(2.0 / 5), SET1(2.0 / 3)), r2 = FMA(z, SET1(2.0 / 9), SET1(2.0 / 7));
    const V r4 = FMA(z, SET1(2.0 / 13), SET1(2.0 / 11)), r6 = FMA(z, SET1(2.0 / 17), SET1(2.0 / 15));
    const V r8 = FMA(z, SET1(2.0 / 21), SET1(2.0 / 19));
    const V series = DOUBLE ? FMA(z2, FMA(z2, FMA(z2, FMA(z2, r8, r6), r4), r2), r0) : FMA(z2, r2, r0);
    const V rest = (s * FMA(z, series, half)) - half;
    const V whole = k * SET1(DOUBLE ? 0x1.62e42feep-1 : 0x1.62ep-1);    /* exact: log(2) with 20 or 12 bits less */
    TYPED(Log) found;
    found.high = whole + f;
    const V lost = (whole - found.high) + f;
    found.low = FMA(k, SET1(DOUBLE ? 0x1.a39ef35793c76p-33 : 0x1.0bfbe8p-15), lost) + rest;
    return found;
}

PHINTYS_INLINE V TYPED(phintys_log)(V x) {
    const TYPED(Log) sum = TYPED(log_of)(x);
    return sum.high + sum.low;
}
PHINTYS_INLINE TYPED(Mask) TYPED(log_holds)(V x) {                      /* of normal numbers */
    return TYPED(less)(SET1(DOUBLE ? 0x1.fffffffffffffp-1023 : 0x1.fffffep-127), x) & TYPED(less)(x, SET1(INFINITY));
}
FUNCTION_OF_SOME(log, log)

/* sin(r) with another sign bit for odd k, where r = x - (k - part) pi, at most pi / 2, and x is not negative. pi has
 * three terms. The first difference is exact: it is a multiple of the last digit of the first term, and below 2. */
PHINTYS_INLINE V TYPED(sin_of_rest)(V x, V quotient, V part, BITS sign) {
    const V shifted = quotient + SET1(DOUBLE ? 0x1p52 : 0x1p23), k = shifted - SET1(DOUBLE ? 0x1p52 : 0x1p23) - part;
    V r = FMA(k, SET1(DOUBLE ? -0x1.921fb54442d18p+1 : -0x1.921fb6p+1), x);
    r = FMA(k, SET1(DOUBLE ? -0x1.1a62633145c07p-53 : 0x1.777a5cp-24), r);
    r = FMA(k, SET1(DOUBLE ? 0x1.f1976b7ed8fbcp-109 : 0x1.ee59dap-49), r);
    const V square = r * r;
    const V found = FMA(r * square, POWERS(PHINTYS_NAMED(phintys_sin_rest, T), square), r);
    return (V)((BITS)found ^ sign ^ ((BITS)shifted << (FRACTION + (DOUBLE ? 11 : 8))));
}

PHINTYS_INLINE TYPED(Mask) TYPED(sin_holds)(V x) {
    return TYPED(less)((V)((BITS)x & ~(BITS)SET1(-0.0)), SET1(DOUBLE ? 0x1p23 : 0x1p16));
}
PHINTYS_INLINE V TYPED(phintys_sin)(V given) {
    const BITS sign = (BITS)given & (BITS)SET1(-0.0);
    const V x = (V)((BITS)given ^ sign);
    return TYPED(sin_of_rest)(x, x * SET1(0x1.45f306dc9c883p-2), SET1(0.0), sign);
}
FUNCTION_OF_SOME(sin, sin)

/* The sine of x + pi / 2. */
#define cos_holds sin_holds
PHINTYS_INLINE V TYPED(phintys_cos)(V given) {
    const V x = (V)((BITS)given & ~(BITS)SET1(-0.0));
    return TYPED(sin_of_rest)(x, FMA(x, SET1(0x1.45f306dc9c883p-2), SET1(0.5)), SET1(0.5), (BITS){0});
}
FUNCTION_OF_SOME(cos, cos)

/* With y = 2 |x| = k log(2) + r and expm1(y) = 2^k expm1(r) + (2^k - 1), it is expm1(y) / (expm1(y) + 2), with the sign
 * of x. expm1(r) is its Taylor series, to the last bit for |r| <= log(2) / 2; all terms have the order of r, so nothing
 * cancels near 0. From 20 on (float32: 10) the result is 1. */
PHINTYS_INLINE V TYPED(phintys_tanh)(V x) {
    const V one = SET1(1.0), round = SET1(DOUBLE ? 0x1.8p52 : 0x1.8p23);
    const BITS sign = (BITS)x & (BITS)SET1(-0.0);
    const V half = TYPED(smaller)(SET1(DOUBLE ? 20.0 : 10.0), (V)((BITS)x ^ sign));     /* of NaN, NaN: the second */
    const V y = half + half;
    V k = FMA(half, SET1(DOUBLE ? 0x1.71547652b82fep+1 : 0x1.715476p+1), round);
    const BITS bits = (BITS)k;
    k = k - round;
    V r = FMA(k, SET1(DOUBLE ? -0x1.62e42fefa39efp-1 : -0x1.62e43p-1), y);
    r = FMA(k, SET1(DOUBLE ? -0x1.abc9e3b39803fp-56 : 0x1.05c61p-29), r);
    const V power = (V)((bits << FRACTION) + (BITS)one), r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    const V q0 = FMA(r, SET1(1.0 / 6), SET1(0.5));
    const V q2 = FMA(r, SET1(1.0 / 120), SET1(1.0 / 24));
    const V q4 = FMA(r, SET1(1.0 / 5040), SET1(1.0 / 720));
    const V q6 = FMA(r, SET1(1.0 / 362880), SET1(1.0 / 40320));
    const V q8 = FMA(r, SET1(1.0 / 39916800), SET1(1.0 / 3628800));
    const V q10 = FMA(r, SET1(1.0 / 6227020800), SET1(1.0 / 479001600));
    const V low = FMA(r4, FMA(r2, q6, q4), FMA(r2, q2, q0));
    const V series = DOUBLE ? FMA(r2, FMA(r8, FMA(r2, q10, q8), low), r)
                            : FMA(r2, FMA(r2, FMA(r2, q4, q2), q0), r);
    const V expm1 = FMA(power, series, power - one);
    return (V)((BITS)expm1 | sign) / (expm1 + SET1(2.0));
}
FUNCTION_OF_ALL(tanh)

/* With t = exp(-|x|), which is between 0 and 1, it is max(x, 0) + t (log(1 + t) / t), and no term is negative. Where
 * exp(x), which then is the result, is subnormal or 0, it is computed one by one. */
PHINTYS_INLINE V TYPED(phintys_softplus)(V x) {
    const V lowest = SET1(PHINTYS_NAMED(phintys_softplus_lowest, T)), one = SET1(1.0);
    V series;
    const BITS k = TYPED(exp_parts)(TYPED(larger)((V)((BITS)x | (BITS)SET1(-0.0)), lowest), &series);
    const V power = (V)((k << FRACTION) + (BITS)one), t = FMA(power, series, power);
    const V slope = POWERS(PHINTYS_NAMED(phintys_log1p_over_t, T), t - SET1(0.5));
    return FMA(t, slope, TYPED(larger)(x, SET1(0.0)));
}
PHINTYS_INLINE TYPED(Mask) TYPED(softplus_holds)(V x) {
    return TYPED(less)(SET1(PHINTYS_NAMED(phintys_softplus_lowest, T)), x);
}
FUNCTION_OF_SOME(softplus, exp)
#endif
