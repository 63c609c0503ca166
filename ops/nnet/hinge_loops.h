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
#define T double
#include "hinge_loops.template.h"
#undef T
#define T float
#include "hinge_loops.template.h"
#undef T

#endif
