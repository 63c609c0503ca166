/* softplus of one type and instruction set; see softplus_vectors.h. Defined before the include, undefined at its end:
 * SET and FOR_SET; T, the type of an element; V, the vector of it, BITS, the same as integers, WIDTH; OP, which
 * completes the name of an operation; LESS, a bit for each element that is less than another; FRACTION, the bits of a
 * fraction.
 */
#define NAMED(FUNCTION) PHINTYS_NAMED(TYPED(FUNCTION), SET)
#define SET1(number) OP(set1)((T)(number))
#define FMA(a, b, c) OP(fmadd)(a, b, c)

/* A polynomial, the coefficient of the highest power first: even and odd powers by themselves, for shorter chains. */
#define POWERS(TABLE, x) NAMED(powers)(TABLE, sizeof(TABLE) / sizeof(T), x)
FOR_SET static inline V NAMED(powers)(const T* table, int count, V x) {
    const V square = OP(mul)(x, x);
    V high = SET1(table[0]), low = SET1(table[1]);
    for (int k = 2; k + 1 < count; k += 2) {
        high = FMA(high, square, SET1(table[k]));
        low = FMA(low, square, SET1(table[k + 1]));
    }
    const V sum = FMA(high, x, low);                /* `high` belongs to the powers that are higher by 1 */
    return count % 2 ? FMA(sum, x, SET1(table[count - 1])) : sum;
}

/* Elements that are NaN, or so low that exp(x), which is their softplus, is subnormal or 0. */
FOR_SET static V NAMED(softplus_of_low)(V found, V x, unsigned inside) {
    T in[WIDTH], out[WIDTH];
    OP(storeu)(in, x), OP(storeu)(out, found);
    for (int k = 0; k < WIDTH; k++) if (!(inside >> k & 1)) out[k] = (T)exp(in[k]);
    return OP(loadu)(out);
}

FOR_SET static V NAMED(phintys_softplus)(V x) {
    const V lowest = SET1(TYPED(phintys_softplus_lowest)), round = SET1(TYPED(phintys_softplus_round));
    const V y = OP(max)(OP(or)(x, SET1(-0.0)), lowest), one = SET1(1.0);
    V k = FMA(y, SET1(0x1.71547652b82fep+0), round);                    /* 1 / log(2) */
    const BITS bits = (BITS)k;
    k = OP(sub)(k, round);
    V r = OP(fnmadd)(k, SET1(PHINTYS_LOG_2), y);
    r = OP(fnmadd)(k, SET1(PHINTYS_LOG_2 - (T)PHINTYS_LOG_2 + PHINTYS_LOG_2_REST), r);
    const V series = FMA(OP(mul)(r, r), POWERS(TYPED(phintys_exp_rest), r), r);
    const V power = (V)((bits << FRACTION) + (BITS)one), t = FMA(power, series, power);
    const V slope = POWERS(TYPED(phintys_log1p_over_t), OP(sub)(t, SET1(0.5)));
    const V found = FMA(t, slope, OP(max)(x, SET1(0.0)));
    const unsigned inside = LESS(lowest, x);
    return inside == (1u << WIDTH) - 1 ? found : NAMED(softplus_of_low)(found, x, inside);
}

#undef NAMED
#undef SET1
#undef FMA
#undef POWERS
#undef SET
#undef FOR_SET
#undef T
#undef V
#undef BITS
#undef WIDTH
#undef OP
#undef LESS
#undef FRACTION
