/* Loops of batch normalization, for float and double from batch_normalization_loops.template.h.
 *
 * Moments are gathered in one pass: blocks sum distances from a pivot near the mean, and their squares, in the
 * operands' own dtype; the blocks' means and squared deviations are merged in double. The pivot is the mean of all that
 * came before (of the first elements at the start), so that the error of a variance is a few roundings of the variance
 * itself, however far the values are from 0. A pivot that is not finite is replaced by 0: then a mean of infinite
 * values is infinite, as in NumPy, and only the variance is NaN.
 *
 * Data are either in runs, which are contiguous pieces of one channel each, or in rows, each with an element of every
 * column. Results may take the place of the elements they come from.
 */
#ifndef PHINTYS_BATCH_NORMALIZATION_LOOPS_H
#define PHINTYS_BATCH_NORMALIZATION_LOOPS_H

#include <float.h>
#include <numpy/npy_common.h>

#include "native/sets.h"

enum {
    VECTOR_BYTES = 32,              /* whatever the processor has, so that results do not depend on it */
    BLOCK = 4096,                   /* elements of a run whose sums are kept in the dtype of x */
    BLOCK_ROWS = 128,               /* the same of columns */
    PIVOT_ELEMENTS = 256,           /* a 16th of the block that they are the pivot of: an error 16 times as large */
    PIVOT_ROWS = 16,                /* of the first BLOCK_ROWS rows: the same of columns */
    UNASKED = 1048576,              /* elements: loops ask no earlier whether the call is to end */
    COLUMNS = 512                   /* worked on together: three sums of each, at most 12 KiB, stay in the L1 cache */
};

typedef struct { double count, mean, square; } phintys_moments;     /* square: the sum of squared deviations */

/* Of one thread: asks now and then whether the call is to end. What loops leave then does not matter. */
typedef struct {
    int (*stops)(void* context);
    void* context;
    npy_intp unasked;               /* elements since it last asked */
} phintys_asking;

PHINTYS_INLINE int phintys_stops(phintys_asking* asking, npy_intp elements) {
    asking->unasked += elements;
    if (asking->unasked < UNASKED) return 0;
    asking->unasked = 0;
    return asking->stops(asking->context);
}

/* The sum of squared deviations from the mean, from `sum` and `square`, the sums of distances from a pivot and of their
 * squares. Rounding can make it negative, which is corrected to 0. */
PHINTYS_INLINE double phintys_centred(double count, double sum, double square) {
    const double centred = square - sum * (sum / count);
    if (square > DBL_MAX && sum <= DBL_MAX && sum >= -DBL_MAX) return square;       /* not NaN for an overflow */
    return centred < 0 ? 0 : centred;
}

/* Adds the moments of `count` more elements. Each part's squared deviations are from its own mean; from the common mean
 * they are larger by distance^2 * count * all->count / total. */
PHINTYS_INLINE void phintys_merge(phintys_moments* all, double count, double mean, double square) {
    const double total = all->count + count, distance = mean - all->mean;
    const double share = count / total, others = all->count / total;
    all->square = all->count ? all->square + square + distance * distance * share * all->count : square;
    all->mean = all->count ? others * all->mean + share * mean : mean;      /* no difference: both may be infinite */
    all->count = total;
}

#define LOOPS "nnet/batch_normalization_loops.template.h"
#define FLOATS
#include "native/each_set.h"
BY_TYPE_AND_SET(moments_of_runs, FOR_EACH_SET);
BY_TYPE_AND_SET(normalize_runs, FOR_EACH_SET);
BY_TYPE_AND_SET(sums_of_runs, FOR_EACH_SET);
BY_TYPE_AND_SET(gradient_of_runs, FOR_EACH_SET);
BY_TYPE_AND_SET(moments_of_columns, FOR_EACH_SET);
BY_TYPE_AND_SET(normalize_columns, FOR_EACH_SET);
BY_TYPE_AND_SET(sums_of_columns, FOR_EACH_SET);
BY_TYPE_AND_SET(gradient_of_columns, FOR_EACH_SET);

#endif
