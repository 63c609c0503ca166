/* Loops of the multi-class hinge loss, for float and double from hinge_loops.template.h.
 *
 * The largest wrong prediction of a row is the larger of the maximum before the label and the maximum after it; a row
 * with a NaN has the loss NaN.
 */
#ifndef PHINTYS_HINGE_LOOPS_H
#define PHINTYS_HINGE_LOOPS_H

#include "softmax_loops.h"
#include <math.h>
#include <string.h>

/* Each works on `count` rows; `void*` is a type of floats. */
typedef struct {
    void (*rows)(const phintys_rows* p, npy_intp first, npy_intp count, const npy_intp* labels, const void* delta,
                 void* losses, void* room);
    void (*gradient)(const phintys_rows* p, npy_intp first, npy_intp count, const char* gradient, npy_intp stride,
                     const npy_intp* labels, const void* delta, void* out, void* room);
} phintys_hinge_loops;

#define LOOPS "nnet/hinge_loops.template.h"
#define FLOATS
#include "native/each_set.h"
/* By type, float or double, and by set. */
static const phintys_hinge_loops* const phintys_hinge[2][PHINTYS_SETS] = {
    FOR_EACH_SET(&hinge_float), FOR_EACH_SET(&hinge_double)};

#endif
