/* Copies between strided arrays of one shape, for kernels that only move values.
 *
 * Strides are in bytes and may be negative or zero (zero in the source repeats a value). Source and target must not
 * overlap. Adjacent dimensions are joined if both sides can traverse them with one stride. The dimension with the
 * smallest stride in the target (the last one) is copied together with that of the source: by lines, or by tiles if the
 * two differ (a transposed copy). A part that is repeated as a whole is copied once from the source, and then from the
 * target.
 */
#ifndef PHINTYS_STRIDED_COPY_H
#define PHINTYS_STRIDED_COPY_H

#include <numpy/npy_common.h>
#include <string.h>

#include "copy_loops.h"
#include "copy_plan.h"

#define PHINTYS_STRIP 512               /* elements of a line between tiles: both sides stay in the cache */

static inline npy_intp stride_size(npy_intp stride) { return stride < 0 ? -stride : stride; }

/* Move the dimension with the smallest source stride to the position before the last one. */
static inline void pair_dimensions(CopyPlan *plan) {
    int last = plan->ndim - 1, fast = last;
    for (int axis = last - 1; axis >= 0 && plan->source[last]; axis--)
        if (plan->source[axis] && stride_size(plan->source[axis]) < stride_size(plan->source[fast])) fast = axis;
    if (fast >= last - 1) return;
    npy_intp shape = plan->shape[fast], target = plan->target[fast], source = plan->source[fast];
    for (int axis = fast; axis < last - 1; axis++) {
        plan->shape[axis] = plan->shape[axis + 1];
        plan->target[axis] = plan->target[axis + 1];
        plan->source[axis] = plan->source[axis + 1];
    }
    plan->shape[last - 1] = shape;
    plan->target[last - 1] = target;
    plan->source[last - 1] = source;
}

/* Copy two dimensions, [rows, columns], where the target is contiguous along rows and the source along columns: tile by
 * tile, so that both sides use whole cache lines. The remaining rows and columns are copied by lines, one strip at a
 * time. */
static inline void copy_transposed(char *target, const npy_intp *ts, const char *source, const npy_intp *ss,
                                   const npy_intp *shape, int itemsize) {
    const CopyLoops *loops = copy_loops_for(itemsize);
    npy_intp rows = 0, columns = 0;                  /* those copied by tiles */
    if (loops && ts[1] == itemsize && ss[0] == itemsize) {
        rows = shape[0] - shape[0] % loops->tile;
        columns = shape[1] - shape[1] % loops->tile;
        loops->tiles(target, ts[0], source, ss[1], rows, columns);
    }
    if (rows == 0 || columns == 0) rows = columns = 0;
    for (npy_intp first = 0; first < shape[1]; first += PHINTYS_STRIP) {
        npy_intp count = shape[1] - first < PHINTYS_STRIP ? shape[1] - first : PHINTYS_STRIP;
        for (npy_intp row = rows; row < shape[0]; row++)
            copy_line(target + row * ts[0] + first * ts[1], ts[1], source + row * ss[0] + first * ss[1], ss[1], count,
                      itemsize);
    }
    for (npy_intp first = 0; first < rows; first += PHINTYS_STRIP) {
        npy_intp count = rows - first < PHINTYS_STRIP ? rows - first : PHINTYS_STRIP;
        for (npy_intp column = columns; column < shape[1]; column++)
            copy_line(target + first * ts[0] + column * ts[1], ts[0], source + first * ss[0] + column * ss[1], ss[0],
                      count, itemsize);
    }
}

/* Copy the last two dimensions. */
static inline void copy_lines(char *target, const npy_intp *ts, const char *source, const npy_intp *ss,
                              const npy_intp *shape, int itemsize) {
    const CopyLoops *loops = copy_loops_for(itemsize);
    if (ss[0] == 0 && ts[1] == itemsize && ts[0] == shape[1] * itemsize) {      /* one line is repeated */
        copy_line(target, ts[1], source, ss[1], shape[1], itemsize);
        repeat_bytes(target, ts[0], shape[0] * ts[0]);
    } else if (itemsize == 8 && ss[1] == 0 && ts[1] == 8 && ts[0] == shape[1] * 8) {
        if (shape[1] == 2) repeat_each_2[*phintys_set](target, source, ss[0], shape[0], 2);
        else if (shape[1] <= 4) repeat_each_4[*phintys_set](target, source, ss[0], shape[0], shape[1]);
        else if (shape[1] <= 8) repeat_each_8[*phintys_set](target, source, ss[0], shape[0], shape[1]);
        else repeat_each[*phintys_set](target, source, ss[0], shape[0], shape[1]);
    } else if (loops && ts[1] == itemsize && shape[1] <= PHINTYS_SHORT_LINE) {
        loops->short_lines(target, ts[0], source, ss[0], shape[0], ss[1], shape[1]);
    } else if (ss[0] && ss[1] && stride_size(ss[0]) < stride_size(ss[1])) {
        copy_transposed(target, ts, source, ss, shape, itemsize);
    } else if (ss[0] == 0 && ts[1] == itemsize) {                               /* the same, with gaps between */
        copy_line(target, ts[1], source, ss[1], shape[1], itemsize);
        for (npy_intp row = 1; row < shape[0]; row++) memcpy(target + row * ts[0], target, shape[1] * itemsize);
    } else {
        for (npy_intp row = 0; row < shape[0]; row++)
            copy_line(target + row * ts[0], ts[1], source + row * ss[0], ss[1], shape[1], itemsize);
    }
}

/* Copy the dimensions from `axis` on; there are at least two. */
static void copy_dimensions(const CopyPlan *plan, int axis, char *target, const char *source, int itemsize) {
    if (axis == plan->ndim - 2) {
        copy_lines(target, plan->target + axis, source, plan->source + axis, plan->shape + axis, itemsize);
        return;
    }
    copy_dimensions(plan, axis + 1, target, source, itemsize);
    if (plan->source[axis] == 0 && plan->target[plan->ndim - 1] == itemsize) {
        CopyPlan again;                              /* the repetitions, copied from the target, which is contiguous */
        plan_copy(&again, plan->ndim - axis - 1, plan->shape + axis + 1, plan->target + axis + 1,
                  plan->target + axis + 1);
        for (npy_intp i = 1; i < plan->shape[axis]; i++)
            if (again.ndim > 1) copy_dimensions(&again, 0, target + i * plan->target[axis], target, itemsize);
            else memcpy(target + i * plan->target[axis], target, again.shape[0] * itemsize);
        return;
    }
    for (npy_intp i = 1; i < plan->shape[axis]; i++)
        copy_dimensions(plan, axis + 1, target + i * plan->target[axis], source + i * plan->source[axis], itemsize);
}

/* Copy every element of `source` to `target`. */
static void copy_strided(int ndim, const npy_intp *shape, char *target, const npy_intp *target_strides,
                         const char *source, const npy_intp *source_strides, int itemsize) {
    CopyPlan plan;
    if (plan_copy(&plan, ndim, shape, target_strides, source_strides) == 0) return;
    if (plan.ndim == 0) {
        memcpy(target, source, itemsize);
    } else if (plan.ndim == 1) {
        copy_line(target, plan.target[0], source, plan.source[0], plan.shape[0], itemsize);
    } else {
        pair_dimensions(&plan);
        copy_dimensions(&plan, 0, target, source, itemsize);
    }
}

#endif
