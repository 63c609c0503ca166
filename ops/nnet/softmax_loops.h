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

/* Each works on `count` rows; `void*` is a type of floats. */
typedef struct {
    void (*shift_rows)(const phintys_rows* p, npy_intp first, npy_intp count, void* out, const npy_intp* labels,
                       void* targets, npy_intp* best);
    void (*sum_rows)(npy_intp count, npy_intp n, const void* x, void* sums);
    void (*normalize_rows)(npy_intp count, npy_intp n, void* x, void* sums);
    void (*scale)(npy_intp n, void* x, double scale);
    void (*subtract_from_rows)(npy_intp count, npy_intp n, void* x, const void* numbers);
    void (*softmax_gradient)(const phintys_rows* gradient, const phintys_rows* softmax, npy_intp first, npy_intp count,
                             void* out, void* room);
    void (*crossentropy_gradient)(const phintys_rows* softmax, npy_intp first, npy_intp count, const char* gradient,
                                  npy_intp stride, const npy_intp* labels, void* out);
} phintys_softmax_loops;

enum { PHINTYS_LANES = 8 };             /* elements of a vector, for float and for double */
typedef npy_int32 phintys_integer_of_float;
typedef npy_int64 phintys_integer_of_double;
#define LOOPS "nnet/softmax_loops.template.h"
#define FLOATS
#include "native/each_set.h"
/* By type, float or double, and by set. */
static const phintys_softmax_loops* const phintys_softmax[2][PHINTYS_SETS] = {
    FOR_EACH_SET(&softmax_float), FOR_EACH_SET(&softmax_double)};

#endif
