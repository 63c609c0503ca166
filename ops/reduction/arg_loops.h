/* The position of the first maximum or minimum for every real dtype: along a run, for short lines, and for a row of
 * columns at a time.
 *
 * NaN counts as more extreme than every number, as in NumPy, and the first NaN is found. Long contiguous runs are
 * searched by NumPy's functions instead, which use vector instructions. arg_kernel.pyx includes this file.
 */
#include <stdint.h>

#include "native/sets.h"

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

/* FUNCTION(name, type, test of order, test for NaN) for all dtypes, of maxima and of minima. */
#define BOTH(FUNCTION, NAME, TYPE, NAN_TEST) \
    FUNCTION(maximum_##NAME, TYPE, MORE, NAN_TEST) FUNCTION(minimum_##NAME, TYPE, LESS, NAN_TEST)
#define ALL_TYPES(FUNCTION) \
    BOTH(FUNCTION, int8, int8_t, NO_NAN) BOTH(FUNCTION, int16, int16_t, NO_NAN) \
    BOTH(FUNCTION, int32, int32_t, NO_NAN) BOTH(FUNCTION, int64, int64_t, NO_NAN) \
    BOTH(FUNCTION, uint8, uint8_t, NO_NAN) BOTH(FUNCTION, uint16, uint16_t, NO_NAN) \
    BOTH(FUNCTION, uint32, uint32_t, NO_NAN) BOTH(FUNCTION, uint64, uint64_t, NO_NAN) \
    BOTH(FUNCTION, float32, float, IS_NAN) BOTH(FUNCTION, float64, double, IS_NAN) \
    FUNCTION(maximum_float16, uint16_t, HALF_MORE, HALF_IS_NAN) \
    FUNCTION(minimum_float16, uint16_t, HALF_LESS, HALF_IS_NAN)

#define RUN(NAME, TYPE, BEFORE, NAN_TEST) \
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
}
ALL_TYPES(RUN)

#define LOOPS "reduction/arg_loops.template.h"
#define TWO_SETS
#include "native/each_set.h"
/* Indexed by [set][minimum, maximum][dtype, in the order of TYPES in loops.pyx]. */
static const phintys_search (*const phintys_searches[PHINTYS_SETS])[12] = FOR_TWO_SETS(phintys_searches);
