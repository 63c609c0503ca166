/* The folds of reduction_loops.h, compiled once for each flavour: names end in PHINTYS_FLAVOUR, and PHINTYS_WIDE says
 * that there are AVX2, FMA and F16C.
 *
 * Sums and products of floats run in eight registers of lanes over blocks, and blocks are combined pairwise, so that
 * rounding errors grow with the logarithm of the length. With FMA a sum is x * 1 + y, which rounds alike, but leaves
 * the unit that adds to the conversions from float, which share it. Loops over integers are plain: the compiler knows
 * that their order does not matter.
 */

/* ---- floats: how they are read and combined ---------------------------------------------------------------------- */
PHINTYS_INLINE double OF(one_double)(const char *data) { return *(const double *)data; }
PHINTYS_INLINE double OF(one_float)(const char *data) { return *(const float *)data; }
PHINTYS_INLINE double OF(one_double_square)(const char *data) { return *(const double *)data * *(const double *)data; }
PHINTYS_INLINE double OF(one_float_square)(const char *data) { return OF(one_float)(data) * OF(one_float)(data); }
PHINTYS_INLINE double OF(one_double_magnitude)(const char *data) { return fabs(*(const double *)data); }
PHINTYS_INLINE double OF(one_float_magnitude)(const char *data) { return fabsf(*(const float *)data); }

PHINTYS_INLINE phintys_doubles OF(double)(const char *data) { return *(const phintys_near_doubles *)data; }
PHINTYS_INLINE phintys_doubles OF(float)(const char *data) {
#ifdef PHINTYS_WIDE
    return (phintys_doubles)_mm256_cvtps_pd(_mm_loadu_ps((const float *)data));
#else
    return __builtin_convertvector(*(const phintys_near_short_floats *)data, phintys_doubles);
#endif
}
PHINTYS_INLINE phintys_doubles OF(double_square)(const char *data) { return OF(double)(data) * OF(double)(data); }
PHINTYS_INLINE phintys_doubles OF(float_square)(const char *data) { return OF(float)(data) * OF(float)(data); }
PHINTYS_INLINE phintys_doubles OF(magnitudes)(phintys_doubles x) {
    return (phintys_doubles)((phintys_words)x & 0x7fffffffffffffff);
}
PHINTYS_INLINE phintys_doubles OF(double_magnitude)(const char *data) { return OF(magnitudes)(OF(double)(data)); }
PHINTYS_INLINE phintys_doubles OF(float_magnitude)(const char *data) { return OF(magnitudes)(OF(float)(data)); }

#ifdef PHINTYS_WIDE
PHINTYS_INLINE phintys_doubles OF(plus_doubles)(phintys_doubles a, phintys_doubles b) {
    return (phintys_doubles)_mm256_fmadd_pd((__m256d)b, _mm256_set1_pd(1.0), (__m256d)a);
}
PHINTYS_INLINE phintys_doubles OF(add_float_square)(phintys_doubles a, const char *data) {
    __m256d x = (__m256d)OF(float)(data);
    return (phintys_doubles)_mm256_fmadd_pd(x, x, (__m256d)a);          /* the square of a float has no rounding */
}
PHINTYS_INLINE double OF(plus_double)(double a, double b) {
    double one = 1.0;
    __asm__("" : "+x"(one));            /* or the compiler would make it an addition again */
    return __builtin_fma(b, one, a);
}
PHINTYS_INLINE phintys_floats OF(half)(const char *data) {
    return (phintys_floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)data));
}
PHINTYS_INLINE float OF(one_half)(const char *data) { return _cvtsh_ss(*(const uint16_t *)data); }
#else
PHINTYS_INLINE phintys_doubles OF(plus_doubles)(phintys_doubles a, phintys_doubles b) { return a + b; }
PHINTYS_INLINE double OF(plus_double)(double a, double b) { return a + b; }
PHINTYS_INLINE phintys_doubles OF(add_float_square)(phintys_doubles a, const char *data) {
    return a + OF(float_square)(data);
}
PHINTYS_INLINE float OF(one_half)(const char *data) { return (float)phintys_from_half(*(const uint16_t *)data); }
PHINTYS_INLINE phintys_floats OF(half)(const char *data) {
    phintys_floats values;
    for (int l = 0; l < 8; l++) values[l] = OF(one_half)(data + 2 * l);
    return values;
}
#endif
PHINTYS_INLINE phintys_doubles OF(times_doubles)(phintys_doubles a, phintys_doubles b) { return a * b; }
PHINTYS_INLINE phintys_floats OF(plus_floats)(phintys_floats a, phintys_floats b) { return a + b; }

/* ---- floats: folds ----------------------------------------------------------------------------------------------- */
/* NAME: of the fold. SIZE: bytes of a value. PART: type of partial results and totals; LANES_T: a register of them, in
 * memory NEAR_T. READ, READ_ONE: of as many values without gaps, and of one. COMBINE, COMBINE_ONE: of two of these.
 * ADD(a, data): what COMBINE makes of a and the values at data. */
#define PHINTYS_FLOAT_FOLD(NAME, SIZE, PART, LANES_T, NEAR_T, READ, READ_ONE, ADD, COMBINE, COMBINE_ONE)               \
enum { OF(NAME##_lanes) = PHINTYS_LANE_BYTES / sizeof(PART) };                                                         \
                                                                                                                       \
/* `n` values without gaps, a multiple of the lanes. */                                                                \
PHINTYS_INLINE LANES_T OF(NAME##_block)(const char *data, intptr_t n) {                                                \
    const intptr_t step = OF(NAME##_lanes) * SIZE;                                                                     \
    LANES_T parts[8];                                                                                                  \
    intptr_t left = n / OF(NAME##_lanes);                                                                              \
    if (left < 16) {                                                                                                   \
        LANES_T part = READ(data);                                                                                     \
        while (--left > 0) { data += step; part = ADD(part, data); }                                                   \
        return part;                                                                                                   \
    }                                                                                                                  \
    for (int k = 0; k < 8; k++) parts[k] = READ(data + k * step);                                                      \
    data += 8 * step;                                                                                                  \
    for (left -= 8; left >= 8; left -= 8, data += 8 * step)                                                            \
        for (int k = 0; k < 8; k++) parts[k] = ADD(parts[k], data + k * step);                                         \
    for (int k = 0; k < 4; k++) parts[k] = COMBINE(parts[k], parts[k + 4]);                                            \
    parts[0] = COMBINE(COMBINE(parts[0], parts[1]), COMBINE(parts[2], parts[3]));                                      \
    for (; left > 0; left--, data += step) parts[0] = ADD(parts[0], data);                                             \
    return parts[0];                                                                                                   \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE PART OF(NAME##_across)(LANES_T lanes) {                                                                 \
    PART parts[OF(NAME##_lanes)];                                                                                      \
    memcpy(parts, &lanes, sizeof(parts));                                                                              \
    for (int half = OF(NAME##_lanes) / 2; half; half /= 2)                                                             \
        for (int l = 0; l < half; l++) parts[l] = COMBINE_ONE(parts[l], parts[l + half]);                              \
    return parts[0];                                                                                                   \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE PART OF(NAME##_line)(const char *data, intptr_t n) {                                                    \
    intptr_t i = n - n % OF(NAME##_lanes);                                                                             \
    PART part = i ? OF(NAME##_across)(OF(NAME##_block)(data, i)) : READ_ONE(data);                                     \
    for (i += !i; i < n; i++) part = COMBINE_ONE(part, READ_ONE(data + i * SIZE));                                     \
    return part;                                                                                                       \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE PART OF(NAME##_strided_line)(const char *data, intptr_t stride, intptr_t n) {                           \
    PART parts[8];                                                                                                     \
    intptr_t i = 1;                                                                                                    \
    if (n < 16) {                                                                                                      \
        parts[0] = READ_ONE(data);                                                                                     \
    } else {                                                                                                           \
        for (int k = 0; k < 8; k++) parts[k] = READ_ONE(data + k * stride);                                            \
        for (i = 8; i + 8 <= n; i += 8)                                                                                \
            for (int k = 0; k < 8; k++) parts[k] = COMBINE_ONE(parts[k], READ_ONE(data + (i + k) * stride));           \
        for (int k = 0; k < 4; k++) parts[k] = COMBINE_ONE(parts[k], parts[k + 4]);                                    \
        parts[0] = COMBINE_ONE(COMBINE_ONE(parts[0], parts[1]), COMBINE_ONE(parts[2], parts[3]));                      \
    }                                                                                                                  \
    for (; i < n; i++) parts[0] = COMBINE_ONE(parts[0], READ_ONE(data + i * stride));                                  \
    return parts[0];                                                                                                   \
}                                                                                                                      \
                                                                                                                       \
/* Blocks, pairs of blocks, pairs of pairs. */                                                                         \
static PART OF(NAME##_long_line)(const char *data, intptr_t stride, intptr_t n) {                                      \
    PART pairs[PHINTYS_LEVELS], part;                                                                                  \
    intptr_t count = 0, size;                                                                                          \
    int level;                                                                                                         \
    for (; n > 0; n -= size, data += size * stride, count++) {                                                         \
        size = n < PHINTYS_BLOCK ? n : PHINTYS_BLOCK;                                                                  \
        part = stride == SIZE ? OF(NAME##_line)(data, size) : OF(NAME##_strided_line)(data, stride, size);             \
        for (level = 0; count >> level & 1; level++) part = COMBINE_ONE(pairs[level], part);                           \
        pairs[level] = part;                                                                                           \
    }                                                                                                                  \
    for (level = 0; !(count >> level & 1); level++) {}                                                                 \
    part = pairs[level];                                                                                               \
    for (level++; count >> level; level++) if (count >> level & 1) part = COMBINE_ONE(pairs[level], part);             \
    return part;                                                                                                       \
}                                                                                                                      \
                                                                                                                       \
static void OF(NAME##_rows)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows,           \
                            char *totals, intptr_t next_total, int fresh) {                                            \
    for (; rows > 0; rows--, data += next_row, totals += next_total) {                                                 \
        PART part = n > PHINTYS_BLOCK ? OF(NAME##_long_line)(data, stride, n)                                          \
                    : stride == SIZE ? OF(NAME##_line)(data, n) : OF(NAME##_strided_line)(data, stride, n);            \
        *(PART *)totals = fresh ? part : COMBINE_ONE(*(PART *)totals, part);                                           \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
/* `count` rows, 8, 4 or 1, at one place. */                                                                           \
PHINTYS_INLINE LANES_T OF(NAME##_lanes_of)(const char *data, intptr_t next, int count) {                               \
    LANES_T a = READ(data), b;                                                                                         \
    if (count == 1) return a;                                                                                          \
    a = COMBINE(COMBINE(a, READ(data + next)), COMBINE(READ(data + 2 * next), READ(data + 3 * next)));                 \
    if (count == 4) return a;                                                                                          \
    data += 4 * next;                                                                                                  \
    b = COMBINE(COMBINE(READ(data), READ(data + next)), COMBINE(READ(data + 2 * next), READ(data + 3 * next)));        \
    return COMBINE(a, b);                                                                                              \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE PART OF(NAME##_one_of)(const char *data, intptr_t next, int count) {                                    \
    PART a = READ_ONE(data), b;                                                                                        \
    if (count == 1) return a;                                                                                          \
    a = COMBINE_ONE(COMBINE_ONE(a, READ_ONE(data + next)),                                                             \
                    COMBINE_ONE(READ_ONE(data + 2 * next), READ_ONE(data + 3 * next)));                                \
    if (count == 4) return a;                                                                                          \
    data += 4 * next;                                                                                                  \
    b = COMBINE_ONE(COMBINE_ONE(READ_ONE(data), READ_ONE(data + next)),                                                \
                    COMBINE_ONE(READ_ONE(data + 2 * next), READ_ONE(data + 3 * next)));                                \
    return COMBINE_ONE(a, b);                                                                                          \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE void OF(NAME##_some_rows)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, int count,  \
                                         PART *totals, int fresh) {                                                    \
    intptr_t j = 0;                                                                                                    \
    if (stride == SIZE) {                                                                                              \
        for (; j + OF(NAME##_lanes) <= n; j += OF(NAME##_lanes), data += OF(NAME##_lanes) * SIZE) {                    \
            LANES_T part = OF(NAME##_lanes_of)(data, next_row, count);                                                 \
            NEAR_T *total = (NEAR_T *)(totals + j);                                                                    \
            *total = fresh ? part : COMBINE(*total, part);                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    for (; j < n; j++, data += stride) {                                                                               \
        PART part = OF(NAME##_one_of)(data, next_row, count);                                                          \
        totals[j] = fresh ? part : COMBINE_ONE(totals[j], part);                                                       \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
static void OF(NAME##_columns)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows,        \
                               char *totals, int fresh) {                                                              \
    for (; rows >= 8; rows -= 8, data += 8 * next_row, fresh = 0)                                                      \
        OF(NAME##_some_rows)(data, stride, n, next_row, 8, (PART *)totals, fresh);                                     \
    if (rows >= 4) {                                                                                                   \
        OF(NAME##_some_rows)(data, stride, n, next_row, 4, (PART *)totals, fresh);                                     \
        rows -= 4, data += 4 * next_row, fresh = 0;                                                                    \
    }                                                                                                                  \
    for (; rows > 0; rows--, data += next_row, fresh = 0)                                                              \
        OF(NAME##_some_rows)(data, stride, n, next_row, 1, (PART *)totals, fresh);                                     \
}

#define PHINTYS_ADD(NAME, READ, COMBINE) \
PHINTYS_INLINE phintys_doubles OF(NAME##_add)(phintys_doubles a, const char *data) { \
    return OF(COMBINE)(a, OF(READ)(data)); \
}
#define PHINTYS_DOUBLE_FOLD(NAME, SOURCE, READ, READ_ONE, ADD, COMBINE, COMBINE_ONE) \
    PHINTYS_FLOAT_FOLD(NAME, (intptr_t)sizeof(SOURCE), double, phintys_doubles, phintys_near_doubles, OF(READ), \
                       OF(READ_ONE), OF(ADD), OF(COMBINE), COMBINE_ONE)
#define PHINTYS_USUAL_FOLD(NAME, SOURCE, READ, READ_ONE, COMBINE, COMBINE_ONE) \
    PHINTYS_ADD(NAME, READ, COMBINE) \
    PHINTYS_DOUBLE_FOLD(NAME, SOURCE, READ, READ_ONE, NAME##_add, COMBINE, COMBINE_ONE)
PHINTYS_USUAL_FOLD(sum_float32, float, float, one_float, plus_doubles, OF(plus_double))
PHINTYS_USUAL_FOLD(sum_float64, double, double, one_double, plus_doubles, OF(plus_double))
PHINTYS_USUAL_FOLD(product_float32, float, float, one_float, times_doubles, PHINTYS_TIMES)
PHINTYS_USUAL_FOLD(product_float64, double, double, one_double, times_doubles, PHINTYS_TIMES)
PHINTYS_DOUBLE_FOLD(squares_float32, float, float_square, one_float_square, add_float_square, plus_doubles,
                    OF(plus_double))
PHINTYS_USUAL_FOLD(squares_float64, double, double_square, one_double_square, plus_doubles, OF(plus_double))
PHINTYS_USUAL_FOLD(magnitudes_float32, float, float_magnitude, one_float_magnitude, plus_doubles, OF(plus_double))
PHINTYS_USUAL_FOLD(magnitudes_float64, double, double_magnitude, one_double_magnitude, plus_doubles, OF(plus_double))
PHINTYS_INLINE phintys_floats OF(add_halves)(phintys_floats a, const char *data) { return a + OF(half)(data); }
PHINTYS_FLOAT_FOLD(sum_float16, 2, float, phintys_floats, phintys_near_floats, OF(half), OF(one_half), OF(add_halves),
                   OF(plus_floats), PHINTYS_PLUS)
PHINTYS_INLINE phintys_floats OF(times_floats)(phintys_floats a, phintys_floats b) { return a * b; }
PHINTYS_INLINE phintys_floats OF(times_halves)(phintys_floats a, const char *data) { return a * OF(half)(data); }
PHINTYS_FLOAT_FOLD(product_float16, 2, float, phintys_floats, phintys_near_floats, OF(half), OF(one_half),
                   OF(times_halves), OF(times_floats), PHINTYS_TIMES)

/* ---- integers ---------------------------------------------------------------------------------------------------- */
/* SOURCE: type of a value. PART: type in which up to BLOCK of them are combined. TOTAL: type of totals. READ(value): as
 * PART. COMBINE(a, b): of parts, and of a total and a part. SETTLED(part): further values make no difference. */
#define PHINTYS_INTEGER_FOLD(NAME, SOURCE, PART, TOTAL, BLOCK, READ, COMBINE, SETTLED)                                 \
PHINTYS_INLINE PART OF(NAME##_line)(const SOURCE *data, intptr_t n) {                                                  \
    PART part = READ(data[0]);                                                                                         \
    for (intptr_t i = 1; i < n; i++) part = COMBINE(part, READ(data[i]));                                              \
    return part;                                                                                                       \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE PART OF(NAME##_strided_line)(const char *data, intptr_t stride, intptr_t n) {                           \
    PART a = READ(*(const SOURCE *)data), b, c, d;                                                                     \
    intptr_t i = 1;                                                                                                    \
    if (n >= 8) {                                                                                                      \
        b = READ(*(const SOURCE *)(data + stride));                                                                    \
        c = READ(*(const SOURCE *)(data + 2 * stride));                                                                \
        d = READ(*(const SOURCE *)(data + 3 * stride));                                                                \
        for (i = 4; i + 4 <= n; i += 4) {                                                                              \
            const char *value = data + i * stride;                                                                     \
            a = COMBINE(a, READ(*(const SOURCE *)value));                                                              \
            b = COMBINE(b, READ(*(const SOURCE *)(value + stride)));                                                   \
            c = COMBINE(c, READ(*(const SOURCE *)(value + 2 * stride)));                                               \
            d = COMBINE(d, READ(*(const SOURCE *)(value + 3 * stride)));                                               \
        }                                                                                                              \
        a = COMBINE(COMBINE(a, b), COMBINE(c, d));                                                                     \
    }                                                                                                                  \
    for (; i < n; i++) a = COMBINE(a, READ(*(const SOURCE *)(data + i * stride)));                                     \
    return a;                                                                                                          \
}                                                                                                                      \
                                                                                                                       \
static void OF(NAME##_rows)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows,           \
                            char *totals, intptr_t next_total, int fresh) {                                            \
    for (; rows > 0; rows--, data += next_row, totals += next_total) {                                                 \
        for (intptr_t i = 0; i < n; i += BLOCK) {                                                                      \
            intptr_t size = n - i < BLOCK ? n - i : BLOCK;                                                             \
            const char *block = data + i * stride;                                                                     \
            PART part = stride == (intptr_t)sizeof(SOURCE) ? OF(NAME##_line)((const SOURCE *)block, size)              \
                                                           : OF(NAME##_strided_line)(block, stride, size);             \
            *(TOTAL *)totals = fresh && i == 0 ? (TOTAL)part : (TOTAL)COMBINE(*(TOTAL *)totals, (TOTAL)part);     \
            if (SETTLED(*(TOTAL *)totals)) break;                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE void OF(NAME##_some_rows)(const char *data, intptr_t stride, intptr_t n, intptr_t next, int count,      \
                                         TOTAL *restrict totals, int fresh) {                                          \
    for (intptr_t j = 0; j < n; j++) {                                                                                 \
        const char *value = data + j * stride;                                                                         \
        PART part = READ(*(const SOURCE *)value);                                                                      \
        for (int row = 1; row < count; row++) part = COMBINE(part, READ(*(const SOURCE *)(value + row * next)));       \
        totals[j] = fresh ? (TOTAL)part : (TOTAL)COMBINE(totals[j], (TOTAL)part);                                      \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_INLINE void OF(NAME##_all_columns)(const char *data, intptr_t stride, intptr_t n, intptr_t next,               \
                                           intptr_t rows, TOTAL *restrict totals, int fresh) {                         \
    if (fresh) {                                                                                                       \
        OF(NAME##_some_rows)(data, stride, n, next, 1, totals, 1);                                                     \
        rows--, data += next;                                                                                          \
    }                                                                                                                  \
    for (; rows >= 8; rows -= 8, data += 8 * next) OF(NAME##_some_rows)(data, stride, n, next, 8, totals, 0);          \
    for (; rows > 0; rows--, data += next) OF(NAME##_some_rows)(data, stride, n, next, 1, totals, 0);                  \
}                                                                                                                      \
                                                                                                                       \
static void OF(NAME##_columns)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows,        \
                               char *totals, int fresh) {                                                              \
    if (stride == (intptr_t)sizeof(SOURCE))                                                                            \
        OF(NAME##_all_columns)(data, sizeof(SOURCE), n, next_row, rows, (TOTAL *)totals, fresh);                       \
    else OF(NAME##_all_columns)(data, stride, n, next_row, rows, (TOTAL *)totals, fresh);                              \
}

#define PHINTYS_NEVER(x) 0
#define PHINTYS_INTEGER_SUM(NAME, SOURCE, PART, BLOCK) \
    PHINTYS_INTEGER_FOLD(sum_##NAME, SOURCE, PART, uint64_t, BLOCK, (PART)PHINTYS_SAME, PHINTYS_PLUS, PHINTYS_NEVER)
PHINTYS_INTEGER_SUM(int8, int8_t, int32_t, PHINTYS_SHORT_BLOCK)
PHINTYS_INTEGER_SUM(int16, int16_t, int32_t, PHINTYS_SHORT_BLOCK)
PHINTYS_INTEGER_SUM(uint8, uint8_t, int32_t, PHINTYS_SHORT_BLOCK)
PHINTYS_INTEGER_SUM(uint16, uint16_t, int32_t, PHINTYS_SHORT_BLOCK)
PHINTYS_INTEGER_SUM(int32, int32_t, int64_t, n)
PHINTYS_INTEGER_SUM(uint32, uint32_t, uint64_t, n)
PHINTYS_INTEGER_SUM(int64, uint64_t, uint64_t, n)

/* ---- tests ------------------------------------------------------------------------------------------------------- */
#define PHINTYS_NONZERO(x) ((x) != 0)
#define PHINTYS_HALF_NONZERO(x) (((x) & 0x7fff) != 0)
#define PHINTYS_ANY_SETTLED(x) (x)
#define PHINTYS_ALL_SETTLED(x) (!(x))
#define PHINTYS_TEST(KIND, TYPE, SOURCE, PART, READ, COMBINE, SETTLED) \
    PHINTYS_INTEGER_FOLD(KIND##_##TYPE, SOURCE, PART, uint8_t, 2048, (PART)READ, COMBINE, SETTLED)
#define PHINTYS_TESTS(KIND, COMBINE, SETTLED) \
    PHINTYS_TEST(KIND, int8, uint8_t, uint8_t, PHINTYS_NONZERO, COMBINE, SETTLED) \
    PHINTYS_TEST(KIND, int16, uint16_t, uint16_t, PHINTYS_NONZERO, COMBINE, SETTLED) \
    PHINTYS_TEST(KIND, int32, uint32_t, uint32_t, PHINTYS_NONZERO, COMBINE, SETTLED) \
    PHINTYS_TEST(KIND, int64, uint64_t, uint64_t, PHINTYS_NONZERO, COMBINE, SETTLED) \
    PHINTYS_TEST(KIND, float16, uint16_t, uint16_t, PHINTYS_HALF_NONZERO, COMBINE, SETTLED) \
    PHINTYS_TEST(KIND, float32, float, uint32_t, PHINTYS_NONZERO, COMBINE, SETTLED) \
    PHINTYS_TEST(KIND, float64, double, uint64_t, PHINTYS_NONZERO, COMBINE, SETTLED)
PHINTYS_TESTS(any, PHINTYS_OR, PHINTYS_ANY_SETTLED)
PHINTYS_TESTS(all, PHINTYS_AND, PHINTYS_ALL_SETTLED)

/* ---- the table: by kind, in the order of KINDS in folds.py, and by type ------------------------------------ */
#define PHINTYS_ONE_FOLD(NAME) {OF(NAME##_rows), OF(NAME##_columns)}
#define PHINTYS_INTEGER_FOLDS(KIND, UNSIGNED_8, UNSIGNED_16, UNSIGNED_32) \
    PHINTYS_ONE_FOLD(KIND##_##UNSIGNED_8), PHINTYS_ONE_FOLD(KIND##_int8), PHINTYS_ONE_FOLD(KIND##_int16), \
    PHINTYS_ONE_FOLD(KIND##_int32), PHINTYS_ONE_FOLD(KIND##_int64), PHINTYS_ONE_FOLD(KIND##_##UNSIGNED_8), \
    PHINTYS_ONE_FOLD(KIND##_##UNSIGNED_16), PHINTYS_ONE_FOLD(KIND##_##UNSIGNED_32), PHINTYS_ONE_FOLD(KIND##_int64)
#define PHINTYS_FLOAT_FOLDS(KIND) [10] = PHINTYS_ONE_FOLD(KIND##_float32), PHINTYS_ONE_FOLD(KIND##_float64)

static const phintys_fold OF(folds)[PHINTYS_FOLD_KINDS][PHINTYS_FOLD_TYPES] = {
    {PHINTYS_INTEGER_FOLDS(sum, uint8, uint16, uint32), PHINTYS_ONE_FOLD(sum_float16), PHINTYS_FLOAT_FOLDS(sum)},
    {[9] = PHINTYS_ONE_FOLD(product_float16), PHINTYS_FLOAT_FOLDS(product)},
    {PHINTYS_FLOAT_FOLDS(squares)},
    {PHINTYS_FLOAT_FOLDS(magnitudes)},
    {PHINTYS_INTEGER_FOLDS(any, int8, int16, int32), PHINTYS_ONE_FOLD(any_float16), PHINTYS_FLOAT_FOLDS(any)},
    {PHINTYS_INTEGER_FOLDS(all, int8, int16, int32), PHINTYS_ONE_FOLD(all_float16), PHINTYS_FLOAT_FOLDS(all)},
};
