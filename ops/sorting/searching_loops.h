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
#include "orders.h"

#define PHINTYS_NEEDLES 16              /* of a block */

typedef struct {
    const char *values;
    npy_intp stride, length;
    const int64_t *order;               /* the order in which the values are sorted; or NULL */
    int or_equal;                       /* whether positions are after equal values; read by `ordered` only */
    int wrong;                          /* set if a number read from the order is not a valid position */
} Haystack;

typedef void (*phintys_search_needles)(Haystack *haystack, const char *needles, npy_intp count, int64_t *positions);

#define LOOPS_OF_DTYPE "searching_loops.template.h"
#include "each_order.h"
#undef LOOPS_OF_DTYPE

#define SEARCHES(DTYPE) {left_##DTYPE, right_##DTYPE, ordered_needles_##DTYPE}
static const phintys_search_needles phintys_searches_for_needles[][3] = EACH_ORDERED(SEARCHES);

#endif
