/* What pooling is told: images, windows, and where results go; the loops are in pool_loops.h. Convolutions use it too,
 * which pool their results. PHINTYS_MAX_RANK comes from vm/limits.pxd, which modules cimport before.
 */
#ifndef PHINTYS_POOL_TASKS_H
#define PHINTYS_POOL_TASKS_H

#include <numpy/ndarraytypes.h>

#include "native/sets.h"

enum { PHINTYS_POOL_MAX, PHINTYS_POOL_SUM, PHINTYS_POOL_AVERAGE_WINDOW, PHINTYS_POOL_AVERAGE_IMAGE };
enum { PHINTYS_POOL_OPERANDS = 4 };

/* Squares of 2 x 2 at steps of 2 from rows of images, which are `between` elements apart: `rows` rows of `count`
 * results without gaps. Sums are divided by `divisor`. */
typedef void (*phintys_pool_squares)(const void* image, npy_intp between, npy_intp rows, npy_intp count, void* out,
                                     int sums, int divisor);

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
    phintys_pool_squares squares;       /* what the processor has for them, or NULL */
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

#endif
