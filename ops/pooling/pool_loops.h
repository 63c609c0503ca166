/* Loops of pooling over any number of dimensions; pool_loops.template.h has those that depend on the type.
 * PHINTYS_MAX_RANK comes from vm/limits.pxd, which pool_kernel.pyx cimports before.
 *
 * The images of an operand are an array whose last `pooled` dimensions are covered by windows. All loops work on rows,
 * that is on the last dimension:
 *
 *     forward    a row of results   <- the rows of the image in its window, joined; then neighbours are joined
 *     gradient   a row of the image <- the rows of results in whose windows it is
 *
 * So each row of the output is written once, independently of the others, and rows can be divided among threads. Rows of
 * an operand without gaps are read where they are; others, and those of types without loops, are first copied to
 * `room`.
 */
#ifndef PHINTYS_POOL_LOOPS_H
#define PHINTYS_POOL_LOOPS_H

#include <numpy/ndarraytypes.h>
#include <string.h>

#include "native/clones.h"
#include "native/half_floats.h"
#include "native/templates.h"

enum { PHINTYS_POOL_MAX, PHINTYS_POOL_SUM, PHINTYS_POOL_AVERAGE_WINDOW, PHINTYS_POOL_AVERAGE_IMAGE };
enum { PHINTYS_POOL_OPERANDS = 4 };

typedef struct {
    char* data;
    const npy_intp* strides;            /* in bytes, of all dimensions */
} phintys_images;

typedef struct {
    int outer, pooled;                  /* how many dimensions are not pooled, and how many are */
    int mode;                           /* PHINTYS_POOL_...; AVERAGE_IMAGE: of the elements of the image in a window */
    int typenum, itemsize;              /* of all operands */
    const npy_intp* shape;              /* of the images; its last `pooled` lengths are those of one image */
    npy_intp window[PHINTYS_MAX_RANK], step[PHINTYS_MAX_RANK], pad[PHINTYS_MAX_RANK];
    npy_intp count[PHINTYS_MAX_RANK];   /* of windows, in each pooled dimension */
    npy_intp rows;                      /* rows of a window, or windows over a row: at most so many */
    npy_intp width;                     /* elements of a row in room: at least those of any operand, and its padding */
    size_t room;                        /* bytes that each worker needs */
    phintys_images images[PHINTYS_POOL_OPERANDS];   /* inputs; the last one in use is the output, in C order */
} phintys_pooling;

/* Compute rows [first, last) of the output. */
typedef void (*phintys_pool_task)(const phintys_pooling* p, npy_intp first, npy_intp last, char* room);

/* All tasks of one type. */
typedef struct {
    phintys_pool_task forward;          /* x, out */
    phintys_pool_task max_gradient;     /* x, its maxima, the gradient by them, out */
    phintys_pool_task sum_gradient;     /* the gradient by sums or averages, out */
    phintys_pool_task max_selected;     /* x, its maxima, y, out: sums of y where x is the maximum of its window */
    phintys_pool_task max_first;        /* x, y, out: y where the maximum of the window is, the first of several */
} phintys_pool_tasks;

/* Where a walk over the rows of the output is. */
typedef struct {
    npy_intp plane[PHINTYS_MAX_RANK];   /* which image */
    npy_intp row[PHINTYS_MAX_RANK];     /* which row of it */
    const npy_intp* rows;               /* how many rows there are in each pooled dimension but the last */
    const char* images[PHINTYS_POOL_OPERANDS];      /* where the image begins in each input */
} phintys_pool_walk;

/* The range of rows of an image that a window covers, or of windows that cover a row, in each dimension. */
typedef struct { npy_intp start, stop; } phintys_pool_range;

PHINTYS_INLINE npy_intp phintys_least(npy_intp a, npy_intp b) { return a < b ? a : b; }
PHINTYS_INLINE npy_intp phintys_most(npy_intp a, npy_intp b) { return a > b ? a : b; }

PHINTYS_INLINE npy_intp phintys_image_length(const phintys_pooling* p, int axis) { return p->shape[p->outer + axis]; }

/* What window `number` covers of an image, in one dimension. */
PHINTYS_INLINE phintys_pool_range phintys_covered(const phintys_pooling* p, int axis, npy_intp number) {
    const npy_intp first = number * p->step[axis] - p->pad[axis];
    const phintys_pool_range range = {phintys_most(first, 0),
                                      phintys_least(first + p->window[axis], phintys_image_length(p, axis))};
    return range;
}

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
#define CLONES PHINTYS_AVX2_CLONES
#define IS_NAN(A) ((A) != (A))
#define T double
#define TYPENUM NPY_DOUBLE
#include "pool_loops.template.h"
#undef TYPENUM
#undef T
#define T float
#define TYPENUM NPY_FLOAT
#include "pool_loops.template.h"
#undef TYPENUM
#undef T
#undef IS_NAN
#undef CLONES
#define CLONES                          /* integers are seldom pooled: no copies for other instruction sets */
#define IS_NAN(A) 0
#define T npy_int64
#define TYPENUM NPY_INT64
#include "pool_loops.template.h"
#undef TYPENUM
#undef T
#define T npy_uint64
#define TYPENUM NPY_UINT64
#include "pool_loops.template.h"
#undef TYPENUM
#undef T
#undef IS_NAN
#undef CLONES
#undef TO
#undef FROM

/* The tasks for a type number of NumPy, or NULL. */
static const phintys_pool_tasks* phintys_pool_tasks_of(int typenum) {
    switch (typenum) {
        case NPY_BOOL: case NPY_UINT8: case NPY_UINT16: case NPY_UINT32: case NPY_UINT64: return &pool_tasks_npy_uint64;
        case NPY_INT8: case NPY_INT16: case NPY_INT32: case NPY_INT64: return &pool_tasks_npy_int64;
        case NPY_HALF: case NPY_FLOAT: return &pool_tasks_float;
        case NPY_DOUBLE: return &pool_tasks_double;
    }
    return NULL;
}

#endif
