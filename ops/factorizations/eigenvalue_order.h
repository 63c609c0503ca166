/* Which eigenvalues LAPACK puts first in a Schur form: those in the left or right half of the plane, or inside or
 * outside the unit circle; of a matrix, and of a pair of matrices. LAPACK calls these functions from inside a
 * factorization, without the GIL, so they read nothing but their arguments; `schur_kernel.pyx` passes them to it. */
#ifndef PHINTYS_EIGENVALUE_ORDER_H
#define PHINTYS_EIGENVALUE_ORDER_H
#include <math.h>

#include "native/sets.h"

typedef enum { LEFT_HALF, RIGHT_HALF, INSIDE_CIRCLE, OUTSIDE_CIRCLE } EigenvalueOrder;

/* Of a matrix, the borders belong to the right half and to the inside. */
PHINTYS_INLINE int comes_first(EigenvalueOrder order, double real, double imaginary) {
    switch (order) {
        case LEFT_HALF: return real < 0;
        case RIGHT_HALF: return real >= 0;
        case INSIDE_CIRCLE: return hypot(real, imaginary) <= 1;
        default: return hypot(real, imaginary) > 1;
    }
}

/* Of a pair, to neither part. */
PHINTYS_INLINE int of_pair_comes_first(EigenvalueOrder order, double real, double imaginary) {
    switch (order) {
        case LEFT_HALF: return real < 0;
        case RIGHT_HALF: return real > 0;
        case INSIDE_CIRCLE: return hypot(real, imaginary) < 1;
        default: return hypot(real, imaginary) > 1;
    }
}

#define T float
#include "factorizations/eigenvalue_order.template.h"
#undef T
#define T double
#include "factorizations/eigenvalue_order.template.h"
#undef T

/* The function of an order, 0 to 3, that LAPACK calls. */
static void* eigenvalue_order(int order, int of_pairs, int is_wide, int is_complex) {
    return is_wide ? orders_double[of_pairs][is_complex][order] : orders_float[of_pairs][is_complex][order];
}

#endif
