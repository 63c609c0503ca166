/* Loops of the multi-class hinge loss, once for float and once for double.
 *
 * The largest wrong prediction of a row is the larger of what stands before the label and what stands behind it; a row
 * with a NaN has the loss NaN.
 */
#ifndef PHINTYS_HINGE_LOOPS_H
#define PHINTYS_HINGE_LOOPS_H

#include "softmax_loops.h"
#include <math.h>
#include <string.h>

#define PHINTYS_DEFINE_HINGE(T)                                                                                        \
/* How far the best wrong prediction comes above the right one less delta; -infinity where there is none. */           \
PHINTYS_INLINE T margin_##T(const T* x, npy_intp n, npy_intp label, T delta, npy_intp* place) {                        \
    const npy_intp behind = n - label - 1;                                                                             \
    T before_best = label ? maximum_##T(x, label) : -INFINITY;                                                         \
    T behind_best = behind ? maximum_##T(x + label + 1, behind) : -INFINITY;                                           \
    int nan = 0;                                                                                                       \
    for (npy_intp j = 0; j < n; j++) nan |= x[j] != x[j];                                                              \
    if (place) {                                                                                                       \
        if (nan) *place = place_##T(x, n, 0);                                                                          \
        else if (label && (!behind || before_best >= behind_best)) *place = place_##T(x, label, before_best);          \
        else if (behind) *place = label + 1 + place_##T(x + label + 1, behind, behind_best);                           \
        else *place = label;                                                                                           \
    }                                                                                                                  \
    if (nan) return NAN;                                                                                               \
    return (before_best >= behind_best ? before_best : behind_best) - x[label] + delta;                                \
}                                                                                                                      \
                                                                                                                       \
PHINTYS_CLONES static void hinge_rows_##T(const phintys_rows* p, npy_intp first, npy_intp count,                       \
                                          const npy_intp* labels, T delta, T* losses, T* room) {                       \
    for (npy_intp i = 0; i < count; i++) {                                                                             \
        const T margin = margin_##T(row_##T(p, first + i, room), p->columns, labels[i], delta, NULL);                  \
        losses[i] = margin <= 0 ? 0 : margin;                                                                          \
    }                                                                                                                  \
}                                                                                                                      \
                                                                                                                       \
/* Zeros, but the gradient at the best wrong prediction, and minus that at the label; half of it at the bend. */       \
PHINTYS_CLONES static void hinge_gradient_##T(const phintys_rows* p, npy_intp first, npy_intp count,                   \
                                              const char* gradient, npy_intp stride, const npy_intp* labels, T delta,  \
                                              T* out, T* room) {                                                       \
    const npy_intp n = p->columns;                                                                                     \
    for (npy_intp i = 0; i < count; i++, out += n) {                                                                   \
        const T* x = row_##T(p, first + i, room);                                                                      \
        npy_intp place;                                                                                                \
        const T margin = margin_##T(x, n, labels[i], delta, &place);                                                   \
        const T slope = margin > 0 ? 1 : margin < 0 ? 0 : margin == 0 ? (T)0.5 : margin;                               \
        const T step = slope * *(const T*)(gradient + (first + i) * stride);                                           \
        memset(out, 0, n * sizeof(T));                                                                                 \
        out[place] += step;                                                                                            \
        out[labels[i]] -= step;                                                                                        \
    }                                                                                                                  \
}

PHINTYS_DEFINE_HINGE(double)
PHINTYS_DEFINE_HINGE(float)

#endif
