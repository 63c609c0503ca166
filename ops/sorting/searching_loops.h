/* Binary searches for many needles at once, for every dtype that can be sorted; searching_loops.template.h has them for
 * one dtype.
 *
 * Needles come in blocks that step through one search together: halving a range takes as many steps wherever a needle
 * ends up, so there is no branch to guess, and the loads of a block overlap. A block of ascending needles that starts
 * after the one before it searches only the range that it spans, found by steps of doubling length; so sorted needles
 * cost little. NaN counts as larger than every number, as in NumPy; such needles are searched for one by one. Where it
 * costs little to see that values are not sorted, the positions, which mean nothing, are those that NumPy finds.
 */
#ifndef PHINTYS_SEARCHING_LOOPS_H
#define PHINTYS_SEARCHING_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>

#include "native/sets.h"

#define PHINTYS_NEEDLES 16              /* of a block */

typedef struct {
    const char *values;
    npy_intp stride, length;
    const int64_t *order;               /* the order in which the values are sorted; or NULL */
    int or_equal;                       /* whether positions are after equal values; read by `ordered` only */
    int wrong;                          /* set if a number read from the order is not a valid position */
} Haystack;

typedef void (*phintys_search_needles)(Haystack *haystack, const char *needles, npy_intp count, int64_t *positions);

/* ---- order: x is an element, y the needle ------------------------------------------------------------------------ */
typedef struct { float real, imag; } phintys_complex64;
typedef struct { double real, imag; } phintys_complex128;

/* Maps float16 to an integer of the same order. */
PHINTYS_INLINE int half_rank(uint16_t half) { return half & 0x8000 ? -(half & 0x7fff) : half & 0x7fff; }

#define NEVER_NAN(x) 0
#define REAL_NAN(x) ((x) != (x))
#define HALF_NAN(x) (((x) & 0x7fff) > 0x7c00)
#define COMPLEX_NAN(x) (REAL_NAN((x).real) | REAL_NAN((x).imag))
#define LESS(x, y) ((x) < (y))
#define SAME(x, y) ((x) == (y))
#define HALF_LESS(x, y) (!HALF_NAN(x) & (half_rank(x) < half_rank(y)))
#define HALF_SAME(x, y) (!HALF_NAN(x) & (half_rank(x) == half_rank(y)))
#define COMPLEX_LESS(x, y)                                                                                             \
    ((((x).real < (y).real) & !REAL_NAN((x).imag)) | (((x).real == (y).real) & ((x).imag < (y).imag)))
#define COMPLEX_SAME(x, y) (((x).real == (y).real) & ((x).imag == (y).imag))
/* The same when y is NaN. Complex numbers without NaN are before x + NaNj, NaN + xj and NaN + NaNj. */
#define NAN_KIND(x) (2 * REAL_NAN((x).real) + REAL_NAN((x).imag))
#define NUMBER_BESIDE_NAN(x) (REAL_NAN((x).real) ? (x).imag : (x).real)
#define COMPLEX_LESS_NAN(x, y)                                                                                         \
    (NAN_KIND(x) != NAN_KIND(y) ? NAN_KIND(x) < NAN_KIND(y)                                                            \
                                : NAN_KIND(y) < 3 && NUMBER_BESIDE_NAN(x) < NUMBER_BESIDE_NAN(y))
#define COMPLEX_SAME_NAN(x, y)                                                                                         \
    (NAN_KIND(x) == NAN_KIND(y) && (NAN_KIND(y) == 3 || NUMBER_BESIDE_NAN(x) == NUMBER_BESIDE_NAN(y)))
#define LESS_NAN(x, y) (!REAL_NAN(x))
#define SAME_NAN(x, y) REAL_NAN(x)
#define HALF_LESS_NAN(x, y) (!HALF_NAN(x))
#define HALF_SAME_NAN(x, y) HALF_NAN(x)
#define NEVER(x, y) 0

/* ---- searches for each dtype ------------------------------------------------------------------------------------- */
#define IS_NAN NEVER_NAN
#define IS_LESS LESS
#define IS_SAME SAME
#define IS_LESS_NAN NEVER
#define IS_SAME_NAN NEVER
#define NAME int8
#define T int8_t
#include "searching_loops.template.h"
#define NAME int16
#define T int16_t
#include "searching_loops.template.h"
#define NAME int32
#define T int32_t
#include "searching_loops.template.h"
#define NAME int64
#define T int64_t
#include "searching_loops.template.h"
#define NAME uint8
#define T uint8_t
#include "searching_loops.template.h"
#define NAME uint16
#define T uint16_t
#include "searching_loops.template.h"
#define NAME uint32
#define T uint32_t
#include "searching_loops.template.h"
#define NAME uint64
#define T uint64_t
#include "searching_loops.template.h"
#undef IS_NAN
#undef IS_LESS
#undef IS_SAME
#undef IS_LESS_NAN
#undef IS_SAME_NAN

#define IS_NAN HALF_NAN
#define IS_LESS HALF_LESS
#define IS_SAME HALF_SAME
#define IS_LESS_NAN HALF_LESS_NAN
#define IS_SAME_NAN HALF_SAME_NAN
#define NAME float16
#define T uint16_t
#include "searching_loops.template.h"
#undef IS_NAN
#undef IS_LESS
#undef IS_SAME
#undef IS_LESS_NAN
#undef IS_SAME_NAN

#define IS_NAN REAL_NAN
#define IS_LESS LESS
#define IS_SAME SAME
#define IS_LESS_NAN LESS_NAN
#define IS_SAME_NAN SAME_NAN
#define NAME float32
#define T float
#include "searching_loops.template.h"
#define NAME float64
#define T double
#include "searching_loops.template.h"
#undef IS_NAN
#undef IS_LESS
#undef IS_SAME
#undef IS_LESS_NAN
#undef IS_SAME_NAN

#define IS_NAN COMPLEX_NAN
#define IS_LESS COMPLEX_LESS
#define IS_SAME COMPLEX_SAME
#define IS_LESS_NAN COMPLEX_LESS_NAN
#define IS_SAME_NAN COMPLEX_SAME_NAN
#define NAME complex64
#define T phintys_complex64
#include "searching_loops.template.h"
#define NAME complex128
#define T phintys_complex128
#include "searching_loops.template.h"
#undef IS_NAN
#undef IS_LESS
#undef IS_SAME
#undef IS_LESS_NAN
#undef IS_SAME_NAN

#define SEARCH_ROW(NAME) {left_##NAME, right_##NAME, ordered_##NAME}
/* [dtype, in the order of TYPES in loops.pyx][left, right, ordered] */
static const phintys_search_needles phintys_searches_for_needles[][3] = {
    SEARCH_ROW(uint8), SEARCH_ROW(int8), SEARCH_ROW(int16), SEARCH_ROW(int32),      /* booleans first: 0 or 1 */
    SEARCH_ROW(int64), SEARCH_ROW(uint8), SEARCH_ROW(uint16), SEARCH_ROW(uint32),
    SEARCH_ROW(uint64), SEARCH_ROW(float16), SEARCH_ROW(float32), SEARCH_ROW(float64),
    SEARCH_ROW(complex64), SEARCH_ROW(complex128),
};

#endif
