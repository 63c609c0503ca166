/* Folds: sums, products, extrema and tests of many values, with partial results in registers.
 *
 * A fold reads values of one type and accumulates in another: integers in 64 bits, where they wrap; float16 in float,
 * float and double in double; tests in one byte. `phintys_find_fold(kind, type)` returns the fold for a kind and a type
 * of values, in the order of `loops.TYPES`, or NULL: NumPy's loops are used for what has none. The folds are compiled
 * twice, from reduction_folds.h: with AVX2, FMA and F16C, and without. The order of operations is the same in both, so
 * results do not depend on the processor. Included by reduction_kernel.pyx.
 *
 * Where both flavours are compiled, the plain one is for processors made before 2013 only. It is compiled for less time
 * there: at -O2, and with a function that is called for each float16. That halves the time of the module.
 */
#ifndef PHINTYS_REDUCTION_LOOPS_H
#define PHINTYS_REDUCTION_LOOPS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "native/half_floats.h"
#include "native/templates.h"

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

#define PHINTYS_PLUS(a, b) ((a) + (b))
#define PHINTYS_TIMES(a, b) ((a) * (b))
#define PHINTYS_OR(a, b) ((a) | (b))
#define PHINTYS_AND(a, b) ((a) & (b))
#define OF(NAME) PHINTYS_NAMED(NAME, PHINTYS_FLAVOUR)              /* of this flavour */
#define MEMBER(NAME) OF(PHINTYS_NAMED(FOLD, NAME))                  /* of this fold */

typedef double phintys_doubles __attribute__((vector_size(32)));
typedef double phintys_near_doubles __attribute__((vector_size(32), aligned(8), may_alias));
typedef uint64_t phintys_words __attribute__((vector_size(32)));
typedef float phintys_floats __attribute__((vector_size(32)));
typedef float phintys_near_floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef float phintys_near_short_floats __attribute__((vector_size(16), aligned(4), may_alias));

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define PHINTYS_TWO_FLAVOURS
#include <immintrin.h>
#endif

#ifdef PHINTYS_TWO_FLAVOURS
#pragma GCC push_options
#pragma GCC optimize("O2")
#endif
#define PHINTYS_FLAVOUR plain
#include "reduction_folds.h"
#undef PHINTYS_FLAVOUR
#ifdef PHINTYS_TWO_FLAVOURS
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#define PHINTYS_FLAVOUR wide
#define PHINTYS_WIDE
#include "reduction_folds.h"
#undef PHINTYS_WIDE
#undef PHINTYS_FLAVOUR
#pragma GCC pop_options
#endif

static const phintys_fold *phintys_find_fold(int kind, int type) {
    const phintys_fold *fold = &folds_plain[kind][type];
#ifdef PHINTYS_TWO_FLAVOURS
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
        fold = &folds_wide[kind][type];
#endif
    return fold->rows ? fold : 0;
}

#endif
