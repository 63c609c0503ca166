/* Folds: sums, products, extrema and tests of many values, with partial results in registers.
 *
 * A fold reads values of one type and accumulates in another: integers in 64 bits, where they wrap; float16 in float,
 * float and double in double; tests in one byte. `phintys_find_fold(kind, type, set)` returns the fold for a kind and a
 * type of values, in the order of `loops.TYPES`, or NULL: NumPy's loops are used for what has none. The folds are
 * compiled twice, from reduction_folds.h: with AVX2, FMA and F16C, and without. The order of operations is the same in
 * both, so results do not depend on the processor. Included by reduction_kernel.pyx.
 */
#ifndef PHINTYS_REDUCTION_LOOPS_H
#define PHINTYS_REDUCTION_LOOPS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "native/half_floats.h"
#include "native/vectors.h"

/* Strides are in bytes. `fresh`: totals are written, otherwise the values are added to them.
 * rows: each of `rows` lines of `n` values has a separate total.
 * columns: `rows` lines are added to one contiguous line of totals. */
typedef struct {
    void (*rows)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows, char *totals,
                 intptr_t next_total, int fresh);
    void (*columns)(const char *data, intptr_t stride, intptr_t n, intptr_t next_row, intptr_t rows, char *totals,
                    int fresh);
} phintys_fold;

enum { PHINTYS_FOLD_KINDS = 8, PHINTYS_FOLD_TYPES = 12 };
enum {
    PHINTYS_LANE_BYTES = 32,    /* size of a register of partial results */
    PHINTYS_BLOCK = 1024,       /* values that are folded sequentially into eight registers */
    PHINTYS_LEVELS = 56,        /* the most levels of pairwise summation of blocks */
    PHINTYS_SHORT_BLOCK = 32768 /* the most 16-bit values whose sum fits in 32 bits */
};

/* What values of a dtype are in memory. */
typedef int8_t phintys_in_memory_int8;
typedef int16_t phintys_in_memory_int16;
typedef int32_t phintys_in_memory_int32;
typedef int64_t phintys_in_memory_int64;
typedef uint8_t phintys_in_memory_uint8;
typedef uint16_t phintys_in_memory_uint16, phintys_in_memory_float16;
typedef uint32_t phintys_in_memory_uint32;
typedef float phintys_in_memory_float32;
typedef double phintys_in_memory_float64;

#define PHINTYS_PLUS(a, b) ((a) + (b))
#define PHINTYS_TIMES(a, b) ((a) * (b))
#define PHINTYS_OR(a, b) ((a) | (b))
#define PHINTYS_AND(a, b) ((a) & (b))

/* Partial results. GCC keeps vectors that are wider than the processor's in memory: for NEON they are two. LANEWISE
 * applies what it does to each of them. */
#ifdef PHINTYS_HAS_NEON
typedef float64x2_t phintys_register;
typedef uint64x2_t phintys_words;
typedef struct { float64x2_t low, high; } phintys_doubles;
typedef struct { float32x4_t low, high; } phintys_floats;
#define LANEWISE(LANES, OF, a, b) ((LANES){OF((a).low, (b).low), OF((a).high, (b).high)})
#else
typedef double phintys_doubles __attribute__((vector_size(32)));
typedef phintys_doubles phintys_register;
typedef uint64_t phintys_words __attribute__((vector_size(32)));
typedef float phintys_floats __attribute__((vector_size(32)));
#define LANEWISE(LANES, OF, a, b) OF(a, b)
#endif
typedef phintys_doubles phintys_near_doubles __attribute__((aligned(8), may_alias));
typedef phintys_floats phintys_near_floats __attribute__((aligned(4), may_alias));
typedef float phintys_near_short_floats __attribute__((vector_size(16), aligned(4), may_alias));

#define LOOPS "reduction/reduction_folds.h"
#define TWO_SETS                            /* lanes of 32 bytes: wider ones would add in another order */
#include "native/each_set.h"
static const phintys_fold (*const phintys_folds[PHINTYS_SETS])[PHINTYS_FOLD_TYPES] = FOR_TWO_SETS(folds);

static const phintys_fold *phintys_find_fold(int kind, int type, int set) {
    const phintys_fold *fold = &phintys_folds[set][kind][type];
    return fold->rows ? fold : 0;
}

#endif
