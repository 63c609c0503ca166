/* One fold of floats, KIND_DTYPE. Defined before the include:
 *
 * KIND                   for example sum
 * READER                 what is added: values, or their squares or magnitudes
 * DTYPE                  float16, float32 or float64; undefined at the end
 * ADD(lanes, data)       COMBINE(lanes, READ(data)), or less work for the same; by default that; undefined at the end
 * PART                   type of partial results and totals
 * LANES, NEAR_LANES      a register of them; the same in memory that is aligned for one of them only
 * COMBINE, COMBINE_ONE   of two LANES, and of two PARTs
 */
#define VALUE PHINTYS_NAMED(phintys_in_memory, DTYPE)
#define READ(data) OF(PHINTYS_NAMED(READER, DTYPE))(data)
#define READ_ONE(data) OF(PHINTYS_NAMED(PHINTYS_NAMED(one, READER), DTYPE))(data)
#define VALUE_BYTES ((intptr_t)sizeof(VALUE))
#ifndef ADD
#define ADD(lanes, data) COMBINE(lanes, READ(data))
#endif

enum { MEMBER(width) = PHINTYS_LANE_BYTES / sizeof(PART) };             /* lanes of a register */

/* ---- lines: values of one total ---- */

/* `n` values without gaps, a multiple of `width`. From 16 registers on, eight run side by side: an addition takes four
 * cycles, and two begin in each. */
PHINTYS_INLINE LANES MEMBER(block)(const char *data, intptr_t n) {
    const intptr_t step = MEMBER(width) * VALUE_BYTES;
    LANES parts[8];
    intptr_t left = n / MEMBER(width);
    if (left < 16) {
        LANES part = READ(data);
        while (--left > 0) { data += step; part = ADD(part, data); }
        return part;
    }
    for (int k = 0; k < 8; k++) parts[k] = READ(data + k * step);
    data += 8 * step;
    for (left -= 8; left >= 8; left -= 8, data += 8 * step)
        for (int k = 0; k < 8; k++) parts[k] = ADD(parts[k], data + k * step);
    for (int k = 0; k < 4; k++) parts[k] = COMBINE(parts[k], parts[k + 4]);
    parts[0] = COMBINE(COMBINE(parts[0], parts[1]), COMBINE(parts[2], parts[3]));
    for (; left > 0; left--, data += step) parts[0] = ADD(parts[0], data);
    return parts[0];
}

/* One total of a register: halves are combined, then quarters, ... */
PHINTYS_INLINE PART MEMBER(across)(LANES lanes) {
    PART parts[MEMBER(width)];
    memcpy(parts, &lanes, sizeof(parts));
    for (int half = MEMBER(width) / 2; half; half /= 2)
        for (int l = 0; l < half; l++) parts[l] = COMBINE_ONE(parts[l], parts[l + half]);
    return parts[0];
}

/* `n` values without gaps, at least one. */
PHINTYS_INLINE PART MEMBER(line)(const char *data, intptr_t n) {
    intptr_t i = n - n % MEMBER(width);
    PART part = i ? MEMBER(across)(MEMBER(block)(data, i)) : READ_ONE(data);
    for (i += !i; i < n; i++) part = COMBINE_ONE(part, READ_ONE(data + i * VALUE_BYTES));
    return part;
}

/* `n` values, at least one, `stride` bytes apart. */
PHINTYS_INLINE PART MEMBER(strided_line)(const char *data, intptr_t stride, intptr_t n) {
    PART parts[8];
    intptr_t i = 1;
    if (n < 16) {
        parts[0] = READ_ONE(data);
    } else {
        for (int k = 0; k < 8; k++) parts[k] = READ_ONE(data + k * stride);
        for (i = 8; i + 8 <= n; i += 8)
            for (int k = 0; k < 8; k++) parts[k] = COMBINE_ONE(parts[k], READ_ONE(data + (i + k) * stride));
        for (int k = 0; k < 4; k++) parts[k] = COMBINE_ONE(parts[k], parts[k + 4]);
        parts[0] = COMBINE_ONE(COMBINE_ONE(parts[0], parts[1]), COMBINE_ONE(parts[2], parts[3]));
    }
    for (; i < n; i++) parts[0] = COMBINE_ONE(parts[0], READ_ONE(data + i * stride));
    return parts[0];
}

/* Blocks, pairs of blocks, pairs of pairs. As in a binary counter, pairs[level] holds the result of 2^level blocks
 * where this bit of `count`, the number of blocks so far, is set. */
static PART MEMBER(long_line)(const char *data, intptr_t stride, intptr_t n) {
    PART pairs[PHINTYS_LEVELS], part;
    intptr_t count = 0, size;
    int level;
    for (; n > 0; n -= size, data += size * stride, count++) {
        size = n < PHINTYS_BLOCK ? n : PHINTYS_BLOCK;
        part = stride == VALUE_BYTES ? MEMBER(line)(data, size) : MEMBER(strided_line)(data, stride, size);
        for (level = 0; count >> level & 1; level++) part = COMBINE_ONE(pairs[level], part);
        pairs[level] = part;
    }
    for (level = 0; !(count >> level & 1); level++) {}
    part = pairs[level];
    for (level++; count >> level; level++) if (count >> level & 1) part = COMBINE_ONE(pairs[level], part);
    return part;
}

/* Short lines, of `n` values; `n` is known when this is compiled, so that a line takes no loop of its own. */
PHINTYS_INLINE void MEMBER(short_rows)(const char *data, intptr_t stride, int n, intptr_t next_row, intptr_t rows,
                                       char *totals, intptr_t next_total) {
    for (; rows > 0; rows--, data += next_row, totals += next_total) {
        PART part = READ_ONE(data);
        for (int i = 1; i < n; i++) part = COMBINE_ONE(part, READ_ONE(data + i * stride));
        *(PART *)totals = part;
    }
}

/* As `rows` of phintys_fold. */
static void MEMBER(rows)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows,
                         char *totals, intptr_t next_total, int fresh) {
    if (fresh && n == 2) {
        MEMBER(short_rows)(data, stride, 2, next_row, rows, totals, next_total);
        return;
    }
    if (fresh && n == 3) {
        MEMBER(short_rows)(data, stride, 3, next_row, rows, totals, next_total);
        return;
    }
    for (; rows > 0; rows--, data += next_row, totals += next_total) {
        PART part = n > PHINTYS_BLOCK ? MEMBER(long_line)(data, stride, n)
                    : stride == VALUE_BYTES ? MEMBER(line)(data, n) : MEMBER(strided_line)(data, stride, n);
        *(PART *)totals = fresh ? part : COMBINE_ONE(*(PART *)totals, part);
    }
}

/* ---- columns: a total for each place of a line ---- */

/* The values of `count` rows, 8, 4 or 1, in the columns at `data`. `count` is known when this is compiled, as it is for
 * all that is inlined below. */
PHINTYS_INLINE LANES MEMBER(some_lanes)(const char *data, intptr_t next, int count) {
    LANES a = READ(data), b;
    if (count == 1) return a;
    a = COMBINE(COMBINE(a, READ(data + next)), COMBINE(READ(data + 2 * next), READ(data + 3 * next)));
    if (count == 4) return a;
    data += 4 * next;
    b = COMBINE(COMBINE(READ(data), READ(data + next)), COMBINE(READ(data + 2 * next), READ(data + 3 * next)));
    return COMBINE(a, b);
}

/* The same of one column. */
PHINTYS_INLINE PART MEMBER(some_values)(const char *data, intptr_t next, int count) {
    PART a = READ_ONE(data), b;
    if (count == 1) return a;
    a = COMBINE_ONE(COMBINE_ONE(a, READ_ONE(data + next)),
                    COMBINE_ONE(READ_ONE(data + 2 * next), READ_ONE(data + 3 * next)));
    if (count == 4) return a;
    data += 4 * next;
    b = COMBINE_ONE(COMBINE_ONE(READ_ONE(data), READ_ONE(data + next)),
                    COMBINE_ONE(READ_ONE(data + 2 * next), READ_ONE(data + 3 * next)));
    return COMBINE_ONE(a, b);
}

/* `count` rows, 8, 4 or 1, added to all totals. */
PHINTYS_INLINE void MEMBER(some_rows)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, int count,
                                      PART *totals, int fresh) {
    intptr_t j = 0;
    if (stride == VALUE_BYTES) {
        for (; j + MEMBER(width) <= n; j += MEMBER(width), data += MEMBER(width) * VALUE_BYTES) {
            LANES part = MEMBER(some_lanes)(data, next_row, count);
            NEAR_LANES *total = (NEAR_LANES *)(totals + j);
            *total = fresh ? part : COMBINE(*total, part);
        }
    }
    for (; j < n; j++, data += stride) {
        PART part = MEMBER(some_values)(data, next_row, count);
        totals[j] = fresh ? part : COMBINE_ONE(totals[j], part);
    }
}

/* As `columns` of phintys_fold. Eight rows at once: totals are loaded and stored once for all of them. */
static void MEMBER(columns)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows,
                            char *totals, int fresh) {
    for (; rows >= 8; rows -= 8, data += 8 * next_row, fresh = 0)
        MEMBER(some_rows)(data, stride, n, next_row, 8, (PART *)totals, fresh);
    if (rows >= 4) {
        MEMBER(some_rows)(data, stride, n, next_row, 4, (PART *)totals, fresh);
        rows -= 4, data += 4 * next_row, fresh = 0;
    }
    for (; rows > 0; rows--, data += next_row, fresh = 0)
        MEMBER(some_rows)(data, stride, n, next_row, 1, (PART *)totals, fresh);
}

#undef VALUE_BYTES
#undef DTYPE
#undef VALUE
#undef READ
#undef READ_ONE
#undef ADD
