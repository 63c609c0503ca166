/* One fold of integers, or of tests, whose results are integers: KIND_DTYPE. Defined before the include:
 *
 * KIND            for example sum
 * DTYPE           of values in memory; undefined at the end
 * PART            type in which up to BLOCK values are combined; narrower ones are faster
 * TOTAL           type of totals
 * BLOCK           values; `n` where PART is as wide as TOTAL, so that all values are one block
 * READ(value)     as PART
 * COMBINE(a, b)   of two PARTs, and of a TOTAL and a PART
 * SETTLED(total)  whether further values make no difference
 *
 * The order of operations makes no difference either, so the compiler vectorizes these loops.
 */
#define VALUE PHINTYS_NAMED(phintys_in_memory, DTYPE)
/* `n` values without gaps, at least one. */
PHINTYS_INLINE PART MEMBER(line)(const VALUE *data, intptr_t n) {
    PART part = READ(data[0]);
    for (intptr_t i = 1; i < n; i++) part = COMBINE(part, READ(data[i]));
    return part;
}

/* `n` values, at least one, `stride` bytes apart: four parts, since these loops cannot be vectorized. */
PHINTYS_INLINE PART MEMBER(strided_line)(const char *data, intptr_t stride, intptr_t n) {
    PART a = READ(*(const VALUE *)data), b, c, d;
    intptr_t i = 1;
    if (n >= 8) {
        b = READ(*(const VALUE *)(data + stride));
        c = READ(*(const VALUE *)(data + 2 * stride));
        d = READ(*(const VALUE *)(data + 3 * stride));
        for (i = 4; i + 4 <= n; i += 4) {
            const char *value = data + i * stride;
            a = COMBINE(a, READ(*(const VALUE *)value));
            b = COMBINE(b, READ(*(const VALUE *)(value + stride)));
            c = COMBINE(c, READ(*(const VALUE *)(value + 2 * stride)));
            d = COMBINE(d, READ(*(const VALUE *)(value + 3 * stride)));
        }
        a = COMBINE(COMBINE(a, b), COMBINE(c, d));
    }
    for (; i < n; i++) a = COMBINE(a, READ(*(const VALUE *)(data + i * stride)));
    return a;
}

/* As `rows` of phintys_fold. */
static void MEMBER(rows)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows,
                         char *totals, intptr_t next_total, int fresh) {
    for (; rows > 0; rows--, data += next_row, totals += next_total) {
        for (intptr_t i = 0; i < n; i += BLOCK) {
            intptr_t size = n - i < BLOCK ? n - i : BLOCK;
            const char *block = data + i * stride;
            PART part = stride == (intptr_t)sizeof(VALUE) ? MEMBER(line)((const VALUE *)block, size)
                                                           : MEMBER(strided_line)(block, stride, size);
            *(TOTAL *)totals = fresh && i == 0 ? (TOTAL)part : (TOTAL)COMBINE(*(TOTAL *)totals, (TOTAL)part);
            if (SETTLED(*(TOTAL *)totals)) break;
        }
    }
}

/* `count` rows, 8 or 1, added to all totals; `count` is known when this is compiled. */
PHINTYS_INLINE void MEMBER(some_rows)(const char *data, intptr_t stride, intptr_t n, intptr_t next, int count,
                                      TOTAL *restrict totals, int fresh) {
    for (intptr_t j = 0; j < n; j++) {
        const char *value = data + j * stride;
        PART part = READ(*(const VALUE *)value);
        for (int row = 1; row < count; row++) part = COMBINE(part, READ(*(const VALUE *)(value + row * next)));
        totals[j] = fresh ? (TOTAL)part : (TOTAL)COMBINE(totals[j], (TOTAL)part);
    }
}

/* The first row writes the totals if they are `fresh`; eight rows at once, then one after the other. */
PHINTYS_INLINE void MEMBER(all_columns)(const char *data, intptr_t stride, intptr_t n, intptr_t next,
                                        intptr_t rows, TOTAL *restrict totals, int fresh) {
    if (fresh) {
        MEMBER(some_rows)(data, stride, n, next, 1, totals, 1);
        rows--, data += next;
    }
    for (; rows >= 8; rows -= 8, data += 8 * next) MEMBER(some_rows)(data, stride, n, next, 8, totals, 0);
    for (; rows > 0; rows--, data += next) MEMBER(some_rows)(data, stride, n, next, 1, totals, 0);
}

/* As `columns` of phintys_fold. A stride that is known when this is compiled makes vectors. */
static void MEMBER(columns)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows,
                            char *totals, int fresh) {
    if (stride == (intptr_t)sizeof(VALUE))
        MEMBER(all_columns)(data, sizeof(VALUE), n, next_row, rows, (TOTAL *)totals, fresh);
    else MEMBER(all_columns)(data, stride, n, next_row, rows, (TOTAL *)totals, fresh);
}

#undef DTYPE
#undef VALUE
