/* Loops of pooling over any number of dimensions; pool_loops.template.h has those that depend on the type.
 *
 * The images of an operand are an array whose last `pooled` dimensions are covered by windows. All loops work on rows,
 * that is on the last dimension:
 *
 *     forward    a row of results   <- the rows of the image in its window, joined; then neighbours are joined
 *     gradient   a row of the image <- the rows of results in whose windows it is
 *
 * So each row of the output is written once, independently of the others, and rows can be divided among threads. Rows
 * of an operand without gaps are read where they are; others, and those of types without loops, are first copied to
 * `room`.
 */
#ifndef PHINTYS_POOL_LOOPS_H
#define PHINTYS_POOL_LOOPS_H

#include <numpy/ndarraytypes.h>
#include <string.h>

#include "native/sets.h"
#include "native/half_floats.h"
#include "pooling/pool_tasks.h"

/* Where a walk over the rows of the output is. */
typedef struct {
    npy_intp plane[PHINTYS_MAX_RANK];   /* which image */
    npy_intp row[PHINTYS_MAX_RANK];     /* which row of it */
    const npy_intp* rows;               /* how many rows there are in each pooled dimension but the last */
    const char* images[PHINTYS_POOL_OPERANDS];      /* where the image begins in each input */
} phintys_pool_walk;

/* The windows that cover position `number` of an image, in one dimension. */
PHINTYS_INLINE phintys_pool_range phintys_covering(const phintys_pooling* p, int axis, npy_intp number) {
    const npy_intp last = number + p->pad[axis], first = last - p->window[axis] + 1, step = p->step[axis];
    const phintys_pool_range range = {first <= 0 ? 0 : (first + step - 1) / step,
                                      phintys_least(last / step + 1, p->count[axis])};
    return range;
}

static void phintys_start_walk(const phintys_pooling* p, phintys_pool_walk* walk, const npy_intp* rows, int inputs,
                               npy_intp first) {
    walk->rows = rows;
    for (int axis = p->pooled - 2; axis >= 0; axis--) {
        walk->row[axis] = first % rows[axis];
        first /= rows[axis];
    }
    for (int i = 0; i < inputs; i++) walk->images[i] = p->images[i].data;
    for (int axis = p->outer - 1; axis >= 0; axis--) {
        walk->plane[axis] = first % p->shape[axis];
        first /= p->shape[axis];
        for (int i = 0; i < inputs; i++) walk->images[i] += walk->plane[axis] * p->images[i].strides[axis];
    }
}

PHINTYS_INLINE void phintys_next_row(const phintys_pooling* p, phintys_pool_walk* walk, int inputs) {
    for (int axis = p->pooled - 2; axis >= 0; axis--) {
        if (++walk->row[axis] < walk->rows[axis]) return;
        walk->row[axis] = 0;
    }
    for (int axis = p->outer - 1; axis >= 0; axis--) {
        for (int i = 0; i < inputs; i++) walk->images[i] += p->images[i].strides[axis];
        if (++walk->plane[axis] < p->shape[axis]) return;
        for (int i = 0; i < inputs; i++) walk->images[i] -= p->shape[axis] * p->images[i].strides[axis];
        walk->plane[axis] = 0;
    }
}

/* Writes the addresses of the rows of input `i` in the ranges, one range for each pooled dimension but the last;
 * returns how many there are. */
static npy_intp phintys_rows_within(const phintys_pooling* p, const phintys_pool_walk* walk, int i,
                                    const phintys_pool_range* ranges, const char** rows) {
    const npy_intp* strides = p->images[i].strides + p->outer;
    const int axes = p->pooled - 1;
    const char* row = walk->images[i];
    npy_intp index[PHINTYS_MAX_RANK], found = 0;
    for (int axis = 0; axis < axes; axis++) {
        if (ranges[axis].start >= ranges[axis].stop) return 0;
        index[axis] = ranges[axis].start;
        row += index[axis] * strides[axis];
    }
    for (;;) {
        int axis = axes - 1;
        rows[found++] = row;
        for (; axis >= 0; axis--) {
            row += strides[axis];
            if (++index[axis] < ranges[axis].stop) break;
            row -= (ranges[axis].stop - ranges[axis].start) * strides[axis];
            index[axis] = ranges[axis].start;
        }
        if (axis < 0) return found;
    }
}

/* Writes, for each row in the ranges of windows, how many rows of the image its window covers. */
static void phintys_heights_within(const phintys_pooling* p, const phintys_pool_range* ranges, npy_intp* heights) {
    const int axes = p->pooled - 1;
    npy_intp index[PHINTYS_MAX_RANK];
    for (int axis = 0; axis < axes; axis++) index[axis] = ranges[axis].start;
    for (;;) {
        int axis = axes - 1;
        npy_intp height = 1;
        for (int a = 0; a < axes; a++) {
            const phintys_pool_range covered = phintys_covered(p, a, index[a]);
            height *= covered.stop - covered.start;
        }
        *heights++ = height;
        for (; axis >= 0; axis--) {
            if (++index[axis] < ranges[axis].stop) break;
            index[axis] = ranges[axis].start;
        }
        if (axis < 0) return;
    }
}

/* How many elements a window of average pooling has in the last dimension, and in the others together (`height`). */
PHINTYS_INLINE npy_intp phintys_window_size(const phintys_pooling* p, npy_intp height, npy_intp number) {
    npy_intp size = 1;
    if (p->mode == PHINTYS_POOL_AVERAGE_IMAGE) {
        const phintys_pool_range covered = phintys_covered(p, p->pooled - 1, number);
        return height * (covered.stop - covered.start);
    }
    for (int axis = 0; axis < p->pooled; axis++) size *= p->window[axis];
    return size;
}

/* Loops are compiled for two types of floats and for the widest integers. Rows of all other types are converted. */
#define FROM(TYPE, VALUE) for (npy_intp j = 0; j < length; j++) target[j] = VALUE(*(const TYPE*)(source + j * stride))
#define TO(TYPE, VALUE) for (npy_intp j = 0; j < length; j++) ((TYPE*)target)[j] = (TYPE)VALUE(values[j])
#define TYPENUM PHINTYS_NAMED(PHINTYS_TYPENUM, T)
enum {
    PHINTYS_TYPENUM_float = NPY_FLOAT, PHINTYS_TYPENUM_double = NPY_DOUBLE,
    PHINTYS_TYPENUM_npy_int64 = NPY_INT64, PHINTYS_TYPENUM_npy_uint64 = NPY_UINT64
};
#define IS_NAN(A) ((A) != (A))
#define LOOPS "pooling/pool_loops.template.h"
#define FLOATS
#define TWO_SETS
#include "native/each_set.h"
#undef IS_NAN
#define IS_NAN(A) 0                     /* integers are seldom pooled: they are compiled for the baseline only */
#define T npy_int64
#include "pool_loops.template.h"
#undef T
#define T npy_uint64
#include "pool_loops.template.h"
#undef T
#undef IS_NAN
#undef TYPENUM
#undef TO
#undef FROM

/* The tasks for a type number of NumPy and a set of instructions, or NULL. */
static const phintys_pool_tasks* phintys_pool_tasks_of(int typenum, int set) {
    static const phintys_pool_tasks* const of_float[PHINTYS_SETS] = FOR_TWO_SETS(&pool_tasks_float);
    static const phintys_pool_tasks* const of_double[PHINTYS_SETS] = FOR_TWO_SETS(&pool_tasks_double);
    switch (typenum) {
        case NPY_BOOL: case NPY_UINT8: case NPY_UINT16: case NPY_UINT32: case NPY_UINT64: return &pool_tasks_npy_uint64;
        case NPY_INT8: case NPY_INT16: case NPY_INT32: case NPY_INT64: return &pool_tasks_npy_int64;
        case NPY_HALF: case NPY_FLOAT: return of_float[set];
        case NPY_DOUBLE: return of_double[set];
    }
    return NULL;
}

#endif
