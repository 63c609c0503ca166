/* tanh and softplus of one type and instruction set, and what functions of vectors have in common. The constants of
 * softplus are in vector_functions.h, which lets each_set.h include this file.
 */
#if SET_FUSES
#define V TYPED(Vector)
#define BITS TYPED(Bits)
#define DOUBLE (sizeof(T) == sizeof(double))
#define FRACTION (DOUBLE ? 52 : 23)
#define WIDTH (SET_BYTES / (int)sizeof(T))
#define SET1(number) TYPED(broadcast)((T)(number))
#define FMA(a, b, c) TYPED(multiply_add)(a, b, c)

/* A polynomial, the coefficient of the highest power first: even and odd powers by themselves, for shorter chains. */
#define POWERS(TABLE, x) TYPED(polynomial)(TABLE, sizeof(TABLE) / sizeof(T), x)
static inline V TYPED(polynomial)(const T* table, int count, V x) {
    const V square = x * x;
    V high = SET1(table[0]), low = SET1(table[1]);
    for (int k = 2; k + 1 < count; k += 2) {
        high = FMA(high, square, SET1(table[k]));
        low = FMA(low, square, SET1(table[k + 1]));
    }
    const V sum = FMA(high, x, low);                /* `high` belongs to the powers that are higher by 1 */
    return count % 2 ? FMA(sum, x, SET1(table[count - 1])) : sum;
}

/* With y = 2 |x| = k log(2) + r and expm1(y) = 2^k expm1(r) + (2^k - 1), it is expm1(y) / (expm1(y) + 2), with the sign
 * of x. expm1(r) is its Taylor series, to the last bit for |r| <= log(2) / 2; all terms have the order of r, so nothing
 * cancels near 0. From 20 on (float32: 10) the result is 1. */
static TYPED(Register) TYPED(phintys_tanh)(TYPED(Register) x) {
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

/* With t = exp(-|x|), which is between 0 and 1, it is max(x, 0) + t (log(1 + t) / t), and no term is negative. exp is
 * 2^k exp(r) for |r| <= log(2) / 2. */
/* Elements that are NaN, or so low that exp(x), which is their softplus, is subnormal or 0. */
static V TYPED(softplus_of_low)(V found, V x, unsigned inside) {
    T in[WIDTH], out[WIDTH];
    *(V*)in = x, *(V*)out = found;
    for (int k = 0; k < WIDTH; k++) if (!(inside >> k & 1)) out[k] = (T)exp(in[k]);
    return *(V*)out;
}

static TYPED(Register) TYPED(phintys_softplus)(TYPED(Register) given) {
    const V x = given;
    const V lowest = SET1(PHINTYS_NAMED(phintys_softplus_lowest, T));
    const V round = SET1(PHINTYS_NAMED(phintys_softplus_round, T));
    const V y = TYPED(larger)((V)((BITS)x | (BITS)SET1(-0.0)), lowest), one = SET1(1.0);
    V k = FMA(y, SET1(0x1.71547652b82fep+0), round);                    /* 1 / log(2) */
    const BITS bits = (BITS)k;
    k = k - round;
    V r = FMA(k, SET1(-PHINTYS_LOG_2), y);
    r = FMA(k, SET1((T)PHINTYS_LOG_2 - PHINTYS_LOG_2 - PHINTYS_LOG_2_REST), r);
    const V series = FMA(r * r, POWERS(PHINTYS_NAMED(phintys_exp_rest, T), r), r);
    const V power = (V)((bits << FRACTION) + (BITS)one), t = FMA(power, series, power);
    const V slope = POWERS(PHINTYS_NAMED(phintys_log1p_over_t, T), t - SET1(0.5));
    const V found = FMA(t, slope, TYPED(larger)(x, SET1(0.0)));
    const unsigned inside = TYPED(bits_of)(TYPED(less)(lowest, x));
    return inside == (1u << WIDTH) - 1 ? found : TYPED(softplus_of_low)(found, x, inside);
}
#endif
