/* exp, expm1, log, log1p, sin, cos, tanh and softplus of one type and instruction set, and what functions of vectors
 * have in common. Tables of polynomials are in vector_functions.h, which lets each_set.h include this file.
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

/* exp(x) = 2^k exp(r), where |r| <= log(2) / 2: r is `near`, which is exact, and k EXP_REST. Gives the bits of k;
 * k + `round` has them, too. */
#define EXP_REST SET1((T)PHINTYS_LOG_2 - PHINTYS_LOG_2 - PHINTYS_LOG_2_REST)
PHINTYS_INLINE BITS TYPED(exp_parts)(V x, V* near, V* k) {
    const V round = SET1(DOUBLE ? 0x1.8p52 : 0x1.8p23);
    const V shifted = FMA(x, SET1(0x1.71547652b82fep+0), round);                            /* 1 / log(2) */
    *k = shifted - round;
    *near = FMA(*k, SET1(-PHINTYS_LOG_2), x);
    return (BITS)shifted;
}
/* (exp(r) - 1 - r) / r^2; exp(r) - 1. */
#define EXP_SLOPE(r) POWERS(PHINTYS_NAMED(phintys_exp_rest, T), r)
#define EXP_SERIES(r) FMA((r) * (r), EXP_SLOPE(r), r)
#define POWER_OF_2(k) ((V)(((k) << FRACTION) + (BITS)SET1(1.0)))

/* By two powers of 2, as one alone is neither subnormal nor twice the largest number. x is limited to where the result
 * is 0 or infinite. */
PHINTYS_INLINE V TYPED(phintys_exp)(V x) {
    V near, whole;
    const V limited = TYPED(smaller)(SET1(DOUBLE ? 710 : 89), TYPED(larger)(SET1(DOUBLE ? -746 : -104), x));
    const BITS k = TYPED(exp_parts)(limited, &near, &whole);
    const V r = FMA(whole, EXP_REST, near), series = EXP_SERIES(r);
    enum { MIDDLE = 1 << (DOUBLE ? 11 : 8) };                   /* makes k positive, to be halved */
    const BITS half = ((k - (BITS)SET1(DOUBLE ? 0x1.8p52 : 0x1.8p23) + MIDDLE) >> 1) - MIDDLE / 2;
    const V power = POWER_OF_2(half);
    return FMA(power, series, power) * POWER_OF_2(k - half);
}
FUNCTION_OF_ALL(exp)

/* 2^k - 1 + 2^k r, of which `low` begins with what the rounding loses, and the rest of the series. -1 is the result
 * from -40 on (float32: -20); the sign is given back to zeros. */
PHINTYS_INLINE V TYPED(phintys_expm1)(V x) {
    V near, k;
    const V power = POWER_OF_2(TYPED(exp_parts)(TYPED(larger)(SET1(DOUBLE ? -40 : -20), x), &near, &k));
    const V r = FMA(k, EXP_REST, near), lost = FMA(k, EXP_REST, near - r);
    const V less = power - SET1(1.0), high = FMA(power, r, less);
    const V low = FMA(power, FMA(r * r, EXP_SLOPE(r), lost), FMA(power, r, less - high));
    return (V)((BITS)(high + low) | ((BITS)x & (BITS)SET1(-0.0)));
}
PHINTYS_INLINE TYPED(Mask) TYPED(expm1_holds)(V x) { return TYPED(less)(x, SET1(DOUBLE ? 709 : 88)); }
FUNCTION_OF_SOME(expm1, expm1)

typedef struct { V high, low; } TYPED(Sum);
/* log(2^k (1 + f)) as a sum, where 1 + f is between sqrt(1/2) and sqrt(2). With s = f / (2 + f), and r a series of s^2,
 * it is k log(2) + f - (f^2 / 2 - s (f^2 / 2 + r)). `shifted` has the bits of k, as `exponent_of` gives them. */
PHINTYS_INLINE BITS TYPED(exponent_of)(V x) {                       /* of normal numbers, plus 2048 or 256 */
    return (BITS)x - (BITS)SET1(0x1.6a09e667f3bcdp-1) + (BITS)SET1(-0.0);
}
PHINTYS_INLINE BITS TYPED(exponent_bits)(BITS shifted) {            /* to be subtracted from those of a number */
    return (shifted & (BITS)SET1(-INFINITY)) ^ (BITS)SET1(-0.0);
}
PHINTYS_INLINE TYPED(Sum) TYPED(log_of_parts)(BITS shifted, V f) {
    const V round = SET1(DOUBLE ? 0x1p52 : 0x1p23);
    const V k = (V)((shifted >> FRACTION) | (BITS)round) - SET1(DOUBLE ? 0x1p52 + 2048 : 0x1p23 + 256);
    const V s = f / (SET1(2.0) + f), z = s * s, z2 = z * z;
    const V half = (f * f) * SET1(0.5);
    const V r0 = FMA(z, SET1(2.0 / 5), SET1(2.0 / 3)), r2 = FMA(z, SET1(2.0 / 9), SET1(2.0 / 7));
    const V r4 = FMA(z, SET1(2.0 / 13), SET1(2.0 / 11)), r6 = FMA(z, SET1(2.0 / 17), SET1(2.0 / 15));
    const V r8 = FMA(z, SET1(2.0 / 21), SET1(2.0 / 19));
    const V series = DOUBLE ? FMA(z2, FMA(z2, FMA(z2, FMA(z2, r8, r6), r4), r2), r0) : FMA(z2, r2, r0);
    const V rest = (s * FMA(z, series, half)) - half;
    const V whole = k * SET1(DOUBLE ? 0x1.62e42feep-1 : 0x1.62ep-1);    /* exact: log(2) with 20 or 12 bits less */
    const V high = whole + f, lost = (whole - high) + f;
    return (TYPED(Sum)){high, FMA(k, SET1(DOUBLE ? 0x1.a39ef35793c76p-33 : 0x1.0bfbe8p-15), lost) + rest};
}
PHINTYS_INLINE TYPED(Sum) TYPED(log_of)(V x) {
    const BITS shifted = TYPED(exponent_of)(x);
    return TYPED(log_of_parts)(shifted, (V)((BITS)x - TYPED(exponent_bits)(shifted)) - SET1(1.0));
}

PHINTYS_INLINE V TYPED(phintys_log)(V x) {
    const TYPED(Sum) sum = TYPED(log_of)(x);
    return sum.high + sum.low;
}
PHINTYS_INLINE TYPED(Mask) TYPED(log_holds)(V x) {                      /* of normal numbers */
    return TYPED(less)(SET1(DOUBLE ? 0x1.fffffffffffffp-1023 : 0x1.fffffep-127), x) & TYPED(less)(x, SET1(INFINITY));
}
FUNCTION_OF_SOME(log, log)

/* With 2^k the power beside 1 + x, f = 2^-k x + (2^-k - 1), rounded once: x itself near 0. The sign is given back to
 * zeros. */
PHINTYS_INLINE V TYPED(phintys_log1p)(V x) {
    const V one = SET1(1.0);
    const BITS shifted = TYPED(exponent_of)(x + one);
    const V power = (V)((BITS)one - TYPED(exponent_bits)(shifted));
    const TYPED(Sum) sum = TYPED(log_of_parts)(shifted, FMA(x, power, power - one));
    return (V)((BITS)(sum.high + sum.low) | ((BITS)x & (BITS)SET1(-0.0)));
}
PHINTYS_INLINE TYPED(Mask) TYPED(log1p_holds)(V x) {                    /* where 2^-k is normal */
    return TYPED(less)(SET1(-1.0), x) & TYPED(less)(x, SET1(DOUBLE ? 0x1p1022 : 0x1p126));
}
FUNCTION_OF_SOME(log1p, log1p)

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

/* n / (n + 2) for n = expm1(y), with the sign of x, where y is 2 |x|, but -2 |x| for numbers below log(2) / 4: so n + 2
 * is rounded by less where the quotient is little less than a power of 2. The terms of n are added by size; the sum of
 * the first two is exact where k is small. From 20 on (float32: 10) the result is 1. */
PHINTYS_INLINE V TYPED(phintys_tanh)(V x) {
    const BITS sign = (BITS)SET1(-0.0);
    const V positive = (V)((BITS)x & ~sign);
    const V limited = TYPED(smaller)(SET1(DOUBLE ? 20.0 : 10.0), positive);         /* of NaN, NaN: the second */
    const V half = (V)((BITS)limited ^ (((BITS)positive - (BITS)SET1(0.17328)) & sign));
    V near, k;
    const V power = POWER_OF_2(TYPED(exp_parts)(half + half, &near, &k)), square = near * near;
    const V cubes = POWERS(PHINTYS_NAMED(phintys_exp_cubes, T), near);
    const V rest = FMA(square * near, cubes, FMA(square, SET1(0.5), k * EXP_REST));
    const V n = FMA(power, rest, FMA(power, near, power - SET1(1.0)));
    return (V)(((BITS)(n / (n + SET1(2.0))) & ~sign) | ((BITS)x & sign));
}
FUNCTION_OF_ALL(tanh)

/* With t = exp(-|x|), which is between 0 and 1, it is max(x, 0) + t (log(1 + t) / t), and no term is negative. `low` is
 * what t is rounded by; the middle of the slope by itself makes its rounding smaller. Where exp(x), which then is the
 * result, is subnormal or 0, it is computed one by one. */
PHINTYS_INLINE V TYPED(phintys_softplus)(V x) {
    const T* table = PHINTYS_NAMED(phintys_log1p_over_t, T);
    enum { LAST = sizeof(PHINTYS_NAMED(phintys_log1p_over_t, T)) / sizeof(T) - 1 };
    const V lowest = SET1(PHINTYS_NAMED(phintys_softplus_lowest, T)), middle = SET1(table[LAST]);
    V near, k;
    const V power = POWER_OF_2(TYPED(exp_parts)(TYPED(larger)((V)((BITS)x | (BITS)SET1(-0.0)), lowest), &near, &k));
    const V r = FMA(k, EXP_REST, near), series = EXP_SERIES(r);
    const V t = FMA(power, series, power), low = FMA(power, series, power - t), u = t - SET1(0.5);
    const V rest = FMA(t * u, TYPED(polynomial)(table, LAST, u), FMA(low, middle, TYPED(larger)(x, SET1(0.0))));
    return FMA(t, middle, rest);
}
PHINTYS_INLINE TYPED(Mask) TYPED(softplus_holds)(V x) {
    return TYPED(less)(SET1(PHINTYS_NAMED(phintys_softplus_lowest, T)), x);
}
FUNCTION_OF_SOME(softplus, exp)
#endif
