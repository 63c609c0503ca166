/* Loops over the rows of a matrix for softmax and cross-entropy; softmax_loops.template.h has them for one type.
 *
 * Each does one step for rows that are in the cache; exp and log, which take most of the time, are NumPy's loops and
 * are called between them. Sums and maxima run in 8 lanes whatever the processor has, so that results do not depend on
 * it. A row is `columns` elements of x, plus those of a bias if there is one, with any strides. NaN need not be looked
 * for: it makes the sum of its row NaN, and so the whole row.
 */
#ifndef PHINTYS_SOFTMAX_LOOPS_H
#define PHINTYS_SOFTMAX_LOOPS_H

#include <numpy/ndarraytypes.h>

#include "native/sets.h"

/* Rows of x, or of x + bias. Strides are in bytes. */
typedef struct {
    npy_intp columns;
    const char *x, *bias;               /* bias: one row, added to each row of x; NULL: none */
    npy_intp xs0, xs1;                  /* between rows of x, and between columns of x */
    npy_intp bs;                        /* between elements of bias */
} phintys_rows;

enum { PHINTYS_LANES = 8 };             /* elements of a vector, for float and for double */
#define T double
#define INTEGER npy_int64
#include "softmax_loops.template.h"
#undef INTEGER
#undef T
#define T float
#define INTEGER npy_int32
#include "softmax_loops.template.h"
#undef INTEGER
#undef T

#endif
