/* The position of the first maximum or minimum for every real dtype: along a run, for short lines, and for a row of
 * columns at a time.
 *
 * NaN counts as more extreme than every number, as in NumPy, and the first NaN is found. Long contiguous runs are
 * searched by NumPy's functions instead, which use vector instructions. arg_kernel.pyx includes this file.
 */
#include <stdint.h>

#include "native/clones.h"

/* One step of a search: compares `n` values and keeps the best value in *best and its position in *index. `run`: the
 * values are along the reduced dimension, and the first has position `position`. `row`: value j belongs to column j,
 * and all have position `position`. Position 0 starts the search. */
typedef struct {
    void (*run)(const char* data, intptr_t stride, intptr_t n, int64_t position, char* best, int64_t* index);
    void (*row)(const char* data, intptr_t stride, intptr_t n, int64_t position, char* best, int64_t* index);
    /* The positions of the extrema of `rows` lines of `n` contiguous values; `next_row` is the stride between lines. */
    void (*lines)(const char* data, intptr_t n, intptr_t next_row, intptr_t rows, int64_t* positions);
} phintys_search;

/* Maps float16 to an integer of the same order; NaN is tested for separately. */
static inline int phintys_half_order(uint16_t half) {
    int magnitude = half & 0x7fff;
    return half & 0x8000 ? -magnitude : magnitude;
}
#define HALF_IS_NAN(x) (((x) & 0x7fff) > 0x7c00)
#define HALF_MORE(x, y) (phintys_half_order(x) > phintys_half_order(y))
#define HALF_LESS(x, y) (phintys_half_order(x) < phintys_half_order(y))
#define IS_NAN(x) ((x) != (x))
#define NO_NAN(x) 0
#define MORE(x, y) ((x) > (y))
#define LESS(x, y) ((x) < (y))

/* MASK is an integer type as wide as TYPE, so that comparisons can be vectorised. */
#define SEARCH(NAME, TYPE, MASK, BEFORE, NAN_TEST) \
static void NAME##_run(const char* data, intptr_t stride, intptr_t n, int64_t position, char* best, int64_t* index) { \
    intptr_t i = 0; \
    TYPE found = position ? *(TYPE*)best : *(const TYPE*)data; \
    int64_t where = position ? *index : 0; \
    if (NAN_TEST(found)) i = n; \
    for (; i < n; i++) { \
        TYPE x = *(const TYPE*)(data + i * stride); \
        if (NAN_TEST(x) || BEFORE(x, found)) { found = x; where = position + i; if (NAN_TEST(x)) break; } \
    } \
    *(TYPE*)best = found; *index = where; \
} \
PHINTYS_AVX2_CLONES \
static void NAME##_next_row(const TYPE* x, intptr_t n, int64_t position, TYPE* found, int64_t* index) { \
    for (intptr_t j = 0; j < n; j++) { \
        int better = (NAN_TEST(x[j]) || BEFORE(x[j], found[j])) && !(NAN_TEST(found[j])); \
        found[j] = better ? x[j] : found[j]; index[j] = better ? position : index[j]; \
    } \
} \
static void NAME##_row(const char* data, intptr_t stride, intptr_t n, int64_t position, char* best, int64_t* index) { \
    TYPE* found = (TYPE*)best; \
    if (position && stride == (intptr_t)sizeof(TYPE)) { \
        NAME##_next_row((const TYPE*)data, n, position, found, index); \
        return; \
    } \
    for (intptr_t j = 0; j < n; j++, data += stride) { \
        TYPE x = *(const TYPE*)data; \
        int better = !position || ((NAN_TEST(x) || BEFORE(x, found[j])) && !(NAN_TEST(found[j]))); \
        found[j] = better ? x : found[j]; index[j] = better ? position : index[j]; \
    } \
}
#define BOTH(NAME, TYPE, MASK, NAN_TEST) \
    SEARCH(maximum_##NAME, TYPE, MASK, MORE, NAN_TEST) SEARCH(minimum_##NAME, TYPE, MASK, LESS, NAN_TEST)
BOTH(int8, int8_t, int8_t, NO_NAN) BOTH(int16, int16_t, int16_t, NO_NAN)
BOTH(int32, int32_t, int32_t, NO_NAN) BOTH(int64, int64_t, int64_t, NO_NAN)
BOTH(uint8, uint8_t, int8_t, NO_NAN) BOTH(uint16, uint16_t, int16_t, NO_NAN)
BOTH(uint32, uint32_t, int32_t, NO_NAN) BOTH(uint64, uint64_t, int64_t, NO_NAN)
BOTH(float32, float, int32_t, IS_NAN) BOTH(float64, double, int64_t, IS_NAN)
SEARCH(maximum_float16, uint16_t, int16_t, HALF_MORE, HALF_IS_NAN)
SEARCH(minimum_float16, uint16_t, int16_t, HALF_LESS, HALF_IS_NAN)

/* This loop has no branches, because these are often mispredicted in short lines. */
#define LINES(NAME, TYPE, BEFORE, NAN_TEST) \
PHINTYS_AVX2_CLONES static void NAME##_lines(const char* data, intptr_t n, intptr_t next_row, intptr_t rows, \
                                        int64_t* positions) { \
    for (intptr_t row = 0; row < rows; row++, data += next_row) { \
        const TYPE* x = (const TYPE*)data; \
        TYPE found = x[0]; \
        int64_t where = 0; \
        for (intptr_t i = 1; i < n; i++) { \
            int better = (BEFORE(x[i], found) | NAN_TEST(x[i])) & !(NAN_TEST(found)); \
            found = better ? x[i] : found; \
            where = better ? i : where; \
        } \
        positions[row] = where; \
    } \
}
#define BOTH_LINES(NAME, TYPE, NAN_TEST) \
    LINES(maximum_##NAME, TYPE, MORE, NAN_TEST) LINES(minimum_##NAME, TYPE, LESS, NAN_TEST)
BOTH_LINES(int8, int8_t, NO_NAN) BOTH_LINES(int16, int16_t, NO_NAN)
BOTH_LINES(int32, int32_t, NO_NAN) BOTH_LINES(int64, int64_t, NO_NAN)
BOTH_LINES(uint8, uint8_t, NO_NAN) BOTH_LINES(uint16, uint16_t, NO_NAN)
BOTH_LINES(uint32, uint32_t, NO_NAN) BOTH_LINES(uint64, uint64_t, NO_NAN)
BOTH_LINES(float32, float, IS_NAN) BOTH_LINES(float64, double, IS_NAN)
LINES(maximum_float16, uint16_t, HALF_MORE, HALF_IS_NAN)
LINES(minimum_float16, uint16_t, HALF_LESS, HALF_IS_NAN)

#define ROW_OF(WHICH, NAME) {WHICH##_##NAME##_run, WHICH##_##NAME##_row, WHICH##_##NAME##_lines}
#define ALL_OF(WHICH) {ROW_OF(WHICH, uint8), \
    ROW_OF(WHICH, int8), ROW_OF(WHICH, int16), ROW_OF(WHICH, int32), ROW_OF(WHICH, int64), \
    ROW_OF(WHICH, uint8), ROW_OF(WHICH, uint16), ROW_OF(WHICH, uint32), ROW_OF(WHICH, uint64), \
    ROW_OF(WHICH, float16), ROW_OF(WHICH, float32), ROW_OF(WHICH, float64)}
/* Indexed by [minimum, maximum][dtype, in the order of TYPES in loops.pyx]. */
static const phintys_search phintys_searches[2][12] = {ALL_OF(minimum), ALL_OF(maximum)};
