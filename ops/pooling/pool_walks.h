/* The gradient of max pooling with windows of 2 x 2 and 3 x 3 at steps of 1 or 2: images are walked down column by
 * column. pool_kernel.pyx plans a walk for each call; other windows, and operands with gaps, have the loops of
 * pool_loops.template.h. A walk reads beyond the windows of an image, but never beyond the memory of all of them.
 *
 * A walk needs rows of whole vectors, and windows within the image. Images of other shapes, or with paddings, are
 * copied one after the other into a frame that is large enough (64 images of 112 x 112, 3 x 3 with a padding: 580 us;
 * the general loops need 2,100).
 */
#ifndef PHINTYS_POOL_WALKS_H
#define PHINTYS_POOL_WALKS_H

#include <numpy/npy_math.h>

#include "native/row_copy.h"
#include "native/vectors.h"
#include "pooling/pool_loops.h"

enum {
    POOL_STRIPE_BYTES = 1 << 12,        /* of rows that are walked together: 2.4 ms instead of 3.0 with twice as many,
                                           where 32 MB of images and windows are read and written */
    POOL_FAR_BYTES = 1 << 20,           /* of all images, which are then not in a near cache */
    POOL_BLOCK_BYTES = 1 << 13,         /* of images that are walked down together: several fit into the first cache */
    POOL_FRAME_BYTES = 1 << 21          /* of the largest frame: each worker has two, for the image and its gradient */
};

/* Windows and steps of a walk; in two images at once if a row is one vector. */
enum phintys_column_walk_kind {
    POOL_TWOS_BY_ONE, POOL_THREES_BY_ONE, POOL_TWOS, POOL_THREES, POOL_PAIRS_OF_TWOS, POOL_PAIRS_OF_THREES
};

typedef struct phintys_column_walk phintys_column_walk;

/* Compute images [first, last) of the output. */
typedef void (*phintys_column_walk_task)(const phintys_pooling* p, const phintys_column_walk* walk, npy_intp first,
                                         npy_intp last, char* room);

struct phintys_column_walk {
    npy_intp images, size, results;     /* elements and windows of an image */
    npy_intp rows, line;                /* of an image, or its frame */
    npy_intp elements;                  /* of an image, or its frame */
    int framed;
    int kind;                           /* one of phintys_column_walk_kind */
    size_t room;                        /* bytes of each worker */
    phintys_column_walk_task task;
};

/* How many images are walked at once. */
PHINTYS_INLINE npy_intp phintys_pool_at_once(const phintys_column_walk* walk) {
    return walk->kind >= POOL_PAIRS_OF_TWOS ? 2 : 1;
}

/* The rows of an image that are walked down together. */
PHINTYS_INLINE npy_intp phintys_pool_stripe(const phintys_column_walk* walk, int itemsize) {
    return phintys_most(POOL_STRIPE_BYTES / (walk->line * itemsize) / 2 * 2, 8);
}

#define LOOPS "pooling/pool_sets.template.h"
#include "native/each_set.h"

/* The shortest line for a walk by vectors of `lanes` elements that has `length` elements. */
PHINTYS_INLINE npy_intp phintys_pool_line(npy_intp length, npy_intp step, npy_intp lanes) {
    if (step == 1 || length <= lanes) return phintys_most(length, lanes);
    return phintys_most((length + 1) / 2 * 2, 2 * lanes);
}

/* Plan a walk; returns 0 if there is none. It is by the widest vectors, up to those of a set, for which images need no
 * frame, else by the widest: an image of 8 x 8 without padding by eight elements, as it is, and with one by sixteen.
 * Operands must be without gaps. The room has frames for images and gradients, and copies of the maxima and gradients
 * at the ends of memory, with what is read before and after them. */
static int phintys_plan_column_walk(phintys_column_walk* walk, const phintys_pooling* p, int set) {
    static const phintys_column_walk_task tasks[2][PHINTYS_SETS] = {FOR_EACH_SET(walk_gradient_float),
                                                                    FOR_EACH_SET(walk_gradient_double)};
    const npy_intp *shape = p->shape + p->outer, window = p->window[0], step = p->step[0];
    npy_intp needed[2];
    if (p->typenum != NPY_FLOAT && p->typenum != NPY_DOUBLE) return 0;
    if (p->pooled != 2 || p->window[1] != window || p->step[1] != step) return 0;
    if ((window != 2 && window != 3) || (step != 1 && step != 2) || p->count[0] < 1 || p->count[1] < 1) return 0;
    for (int axis = 0; axis < 2; axis++)
        needed[axis] = phintys_most(p->pad[axis] + shape[axis], (p->count[axis] - 1) * step + window);
    walk->framed = p->pad[0] || p->pad[1] || needed[0] != shape[0];
    int chosen = set;
    while (!walk->framed && chosen >= 0 && phintys_pool_line(needed[1], step, (16 << chosen) / p->itemsize) != shape[1])
        chosen--;
    if (chosen < 0) walk->framed = 1, chosen = set;
    const npy_intp lanes = (16 << chosen) / p->itemsize;
    walk->task = tasks[p->typenum == NPY_DOUBLE][chosen];
    walk->rows = needed[0];
    walk->line = phintys_pool_line(needed[1], step, lanes);
    walk->kind = (step == 1 ? POOL_TWOS_BY_ONE : walk->line == lanes ? POOL_PAIRS_OF_TWOS : POOL_TWOS) + (window == 3);
    walk->images = 1;
    for (int axis = 0; axis < p->outer; axis++) walk->images *= p->shape[axis];
    walk->size = shape[0] * shape[1];
    walk->results = p->count[0] * p->count[1];
    walk->elements = walk->rows * walk->line;
    if (walk->framed && walk->elements * p->itemsize > POOL_FRAME_BYTES) return 0;
    const npy_intp images = phintys_pool_at_once(walk), frames = walk->framed || images > 1 ? walk->elements : 0;
    walk->room = (2 * (images * (walk->results + frames) + 4 * lanes) * p->itemsize + 63) / 64 * 64;
    return 1;
}

/* What there is for squares of a type number and a set; NULL: nothing. */
static phintys_pool_squares phintys_pool_squares_of(int typenum, int set) {
    static const phintys_pool_squares squares[2][PHINTYS_SETS] = {FOR_EACH_SET(squares_float),
                                                                  FOR_EACH_SET(squares_double)};
    return typenum == NPY_FLOAT || typenum == NPY_DOUBLE ? squares[typenum == NPY_DOUBLE][set] : NULL;
}

#endif
