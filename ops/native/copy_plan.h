/* The dimensions of two strided arrays of one shape, joined where both sides allow it, and steps through them.
 *
 * Strides are in bytes and may be negative or zero. The copies themselves are in strided_copy.h, which only
 * strided_copy.pyx includes: their loops are compiled once, and these few lines in each module that walks.
 */
#ifndef PHINTYS_COPY_PLAN_H
#define PHINTYS_COPY_PLAN_H

#include <numpy/npy_common.h>

/* PHINTYS_MAX_RANK comes from vm/limits.pxd, which every .pxd that declares this header cimports before. */

typedef struct {
    int ndim;
    npy_intp shape[PHINTYS_MAX_RANK], target[PHINTYS_MAX_RANK], source[PHINTYS_MAX_RANK];
} CopyPlan;

/* Drop dimensions of length 1 and join neighbours that both sides walk as one. Returns the number of elements. */
static inline npy_intp plan_copy(CopyPlan *plan, int ndim, const npy_intp *shape,
                                 const npy_intp *target, const npy_intp *source) {
    npy_intp size = 1;
    int last = -1;
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp length = shape[axis];
        size *= length;
        if (length == 1) continue;
        if (last >= 0 && plan->target[last] == target[axis] * length && plan->source[last] == source[axis] * length)
            plan->shape[last] *= length;
        else
            plan->shape[++last] = length;
        plan->target[last] = target[axis];
        plan->source[last] = source[axis];
    }
    plan->ndim = last + 1;
    return size;
}

/* Step to the next place of the first `axes` dimensions, as an odometer does: `index` starts with zeros, and both
 * addresses follow. Returns 0 after the last place. */
static inline int next_place(const CopyPlan *plan, int axes, npy_intp *index, char **target, const char **source) {
    for (int axis = axes - 1; axis >= 0; axis--) {
        *target += plan->target[axis];
        *source += plan->source[axis];
        if (++index[axis] < plan->shape[axis]) return 1;
        *target -= plan->target[axis] * plan->shape[axis];
        *source -= plan->source[axis] * plan->shape[axis];
        index[axis] = 0;
    }
    return 0;
}

/* Strides of a view of (shape, strides) with another shape of the same size; returns 0 if a copy is necessary. */
static int view_strides(int ndim, const npy_intp *shape, const npy_intp *strides, int itemsize,
                        int new_ndim, const npy_intp *new_shape, npy_intp *new_strides) {
    CopyPlan plan;                                   /* joins what is contiguous in the source */
    npy_intp size = plan_copy(&plan, ndim, shape, strides, strides);
    if (size == 0) return 0;
    int axis = plan.ndim - 1, new_axis = new_ndim - 1;
    npy_intp stride = itemsize;
    for (; axis >= 0; axis--) {
        npy_intp left = plan.shape[axis];
        stride = plan.source[axis];
        while (left > 1 && new_axis >= 0) {
            if (left % new_shape[new_axis]) return 0;
            new_strides[new_axis] = stride;
            left /= new_shape[new_axis];
            stride *= new_shape[new_axis];
            new_axis--;
        }
        if (left > 1) return 0;
    }
    for (; new_axis >= 0; new_axis--) new_strides[new_axis] = stride;     /* lengths of 1 */
    return 1;
}

#endif
