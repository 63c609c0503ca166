/* The gradient of max pooling by tables, for many images of one shape.
 *
 * Which windows an element of an image has is the same for all images. So it is worked out once, for each vector of
 * neighbouring elements: an element has up to `slots` windows, ceil(window / step) in each dimension, and for each slot
 * a table says at which distance from a common base the maxima (and gradients) of these windows are. They are loaded as
 * one vector and put in place by a permutation:
 *
 *     out[e] = sum over slots of (x[e] == maxima[window(e, slot)] ? gradient[window(e, slot)] : 0)
 *
 * An element without a window in a slot gets a gradient of 0. There are two kinds of tables:
 *
 *     of images   elements are numbered through, over the ends of rows, so vectors are full however short rows are
 *     of rows     the table is that of one row, for images of two dimensions; what is put in place for one row of
 *                 windows is kept for all rows of the image that it covers: in registers for usual windows, while
 *                 rows of one vector are walked downwards, else in memory
 *
 * Rows of at most half a vector are walked down in two images at once (`paired`).
 *
 * Windows of 2 x 2 and 3 x 3 at steps of 1 or 2 that lie within images whose rows have whole vectors need no table and
 * no permutation; pool_walks.template.h has their loops.
 *
 * The inner loops are in pool_tables.template.h. With instruction sets that have no such permutation, and for few
 * images, the loops of pool_loops.template.h are used.
 */
#ifndef PHINTYS_POOL_TABLES_H
#define PHINTYS_POOL_TABLES_H

#include <numpy/npy_math.h>

#include "native/vectors.h"
#include "pooling/pool_loops.h"

enum {
    POOL_FEWEST = 16,                   /* images or rows: a table takes as long as the gradient of about eight */
    POOL_FETCHED = 1 << 13,             /* elements of images whose successor is fetched in advance */
    POOL_VECTORS_OF_ROW = 4,            /* so many in a row make a table of rows quicker: 32 float32 of a row with 16 in
                                           a vector 227 us, 188 us by images; 112 of a row 291 us, 417 us by images */
    POOL_MOST_SLOTS = 9,
    POOL_STRIPE_BYTES = 1 << 12,        /* of rows that are walked together: 2.4 ms instead of 3.0 with twice as many,
                                           where 32 MB of images and windows are read and written */
    POOL_FAR_BYTES = 1 << 20,           /* of all images, which are then not in a near cache */
    POOL_BLOCK_BYTES = 1 << 13,         /* of images that are walked down together: several fit into the first cache */
    POOL_TABLE_BYTES = 1 << 19          /* of the second cache */
};

/* Windows for which no table is needed (pool_walks.template.h): of 2 x 2 and 3 x 3, at steps of 1 or of 2, in two
 * images at once if a row is one vector. */
enum phintys_pool_direct {
    POOL_BY_TABLE, POOL_TWOS_BY_ONE, POOL_THREES_BY_ONE, POOL_TWOS, POOL_THREES, POOL_PAIRS_OF_TWOS,
    POOL_PAIRS_OF_THREES
};

typedef struct {
    npy_intp images, elements, results; /* elements and windows of an image */
    npy_intp line, vectors, slots;      /* elements of a row or an image, its vectors, and the slots of each at most */
    int direct;                         /* one of phintys_pool_direct; all that follows is then not used */
    int by_rows;
    int walked;                         /* one of phintys_pool_walks, or POOL_NOT_WALKED */
    int paired;                         /* whether vectors have rows of two images */
    npy_intp kept;                      /* rows of windows that are kept; an element has so many above each other */
    npy_int32* used;                    /* of each vector: how many slots have a window; of rows: all slots */
    npy_int32* bases;                   /* of each slot: the first window that is loaded */
    npy_int32* indices;                 /* of each slot: where in what is loaded each four bytes come from */
    npy_int32* windows;                 /* while the table is made: the window of each element, or -1 */
} phintys_pool_table;

/* Windows whose gradients are kept in registers: rows and step downwards, and slots in a row. */
typedef struct { int window, step, slots; } phintys_pool_walk_kind;
enum { POOL_WALKS = 4, POOL_NOT_WALKED = POOL_WALKS };
static const phintys_pool_walk_kind phintys_pool_walks[POOL_WALKS] = {{3, 2, 2}, {3, 1, 3}, {2, 2, 1}, {2, 1, 2}};

/* Compute images [first, last) of the output. */
typedef void (*phintys_pool_table_task)(const phintys_pooling* p, const phintys_pool_table* table, npy_intp first,
                                        npy_intp last, char* room);

typedef struct {
    int bytes;                          /* of a vector */
    npy_int32 none;                     /* the index of the first four bytes of an element without a window; 0: there
                                           are no tables, only walks without one */
    int pairs;                          /* whether there are loops for two images at once */
    phintys_pool_table_task task;
} phintys_pool_table_set;

/* How images are walked without a table, or POOL_BY_TABLE: if no window reaches beyond the image, and rows have whole
 * vectors. */
static int phintys_pool_direct_walk(const phintys_pooling* p, const phintys_pool_table_set* set) {
    const npy_intp lanes = set->bytes / p->itemsize, window = p->window[0], step = p->step[0];
    if (p->pooled != 2 || p->window[1] != window || p->step[1] != step) return POOL_BY_TABLE;
    const npy_intp length = p->shape[p->outer + 1];
    for (int axis = 0; axis < 2; axis++)
        if (p->pad[axis] || p->count[axis] < 1 || (p->count[axis] - 1) * step + window > p->shape[p->outer + axis])
            return POOL_BY_TABLE;
    if ((window != 2 && window != 3) || (step != 1 && step != 2)) return POOL_BY_TABLE;
    if (step == 1) return length < lanes ? POOL_BY_TABLE : window == 2 ? POOL_TWOS_BY_ONE : POOL_THREES_BY_ONE;
    if (length == lanes) return window == 2 ? POOL_PAIRS_OF_TWOS : POOL_PAIRS_OF_THREES;
    if (length < 2 * lanes || length % 2) return POOL_BY_TABLE;
    return window == 2 ? POOL_TWOS : POOL_THREES;
}

/* How many images are walked at once. */
PHINTYS_INLINE npy_intp phintys_pool_at_once(const phintys_pool_table* table) {
    return table->direct >= POOL_PAIRS_OF_TWOS ? 2 : 1;
}

/* The rows of an image that are walked down together. */
PHINTYS_INLINE npy_intp phintys_pool_stripe(const phintys_pool_table* table, int itemsize) {
    return phintys_most(POOL_STRIPE_BYTES / (table->line * itemsize) / 2 * 2, 8);
}

PHINTYS_INLINE npy_intp phintys_pool_slots(const phintys_pooling* p, int axis) {
    return (p->window[axis] + p->step[axis] - 1) / p->step[axis];
}

/* How images are walked down, if rows are not so short that most of a vector would be empty. Long rows with one window
 * for each element are read faster from left to right: 64 images of 112 x 112 in 280 us instead of 300. */
static int phintys_pool_walked(const phintys_pooling* p, const phintys_pool_table_set* set) {
    const npy_intp row = p->shape[p->outer + p->pooled - 1] * p->itemsize;
    if (p->pooled != 2 || row * (set->pairs ? 4 : 2) <= set->bytes) return POOL_NOT_WALKED;
    if (p->step[0] >= p->window[0] && row > 3 * set->bytes) return POOL_NOT_WALKED;
    for (int walk = 0; walk < POOL_WALKS; walk++)
        if (p->window[0] == phintys_pool_walks[walk].window && p->step[0] == phintys_pool_walks[walk].step &&
            phintys_pool_slots(p, 1) == phintys_pool_walks[walk].slots)
            return walk;
    return POOL_NOT_WALKED;
}

/* Set how many images there are, and elements and windows of each. */
static void phintys_count_pooled(phintys_pool_table* table, const phintys_pooling* p) {
    table->images = table->elements = table->results = 1;
    for (int axis = 0; axis < p->outer; axis++) table->images *= p->shape[axis];
    for (int axis = 0; axis < p->pooled; axis++) {
        table->elements *= p->shape[p->outer + axis];
        table->results *= p->count[axis];
    }
}

/* Plan a table of rows or of images in `memory`; returns how many bytes it needs, or 0 if there can be none. With NULL
 * for memory it does nothing else. */
static size_t phintys_plan_pool_table(phintys_pool_table* table, const phintys_pooling* p,
                                      const phintys_pool_table_set* set, int by_rows, char* memory) {
    const npy_intp lanes = set->bytes / p->itemsize;
    const int last = p->pooled - 1;
    npy_intp slots = 1;
    if (!set->none) return 0;
    table->direct = POOL_BY_TABLE;
    phintys_count_pooled(table, p);
    for (int axis = 0; axis < p->pooled; axis++) {
        slots *= phintys_least(phintys_pool_slots(p, axis), POOL_MOST_SLOTS + 1);
        if (slots > POOL_MOST_SLOTS) return 0;
    }
    if (table->elements == 0 || table->results == 0) return 0;
    if (table->images * (by_rows ? table->elements / p->shape[p->outer + last] : 1) < POOL_FEWEST) return 0;
    if (table->elements > POOL_TABLE_BYTES || table->results > POOL_TABLE_BYTES) return 0;
    if (by_rows && p->pooled != 2) return 0;
    table->by_rows = by_rows;
    table->walked = by_rows ? phintys_pool_walked(p, set) : POOL_NOT_WALKED;
    table->line = table->by_rows ? p->shape[p->outer + last] : table->elements;
    table->slots = table->by_rows ? phintys_pool_slots(p, last) : slots;
    table->kept = phintys_pool_slots(p, 0);
    table->vectors = (table->line + lanes - 1) / lanes;
    table->paired = table->walked != POOL_NOT_WALKED && set->pairs && 2 * table->line <= lanes;
    const size_t most = table->vectors * table->slots, of_indices = most * set->bytes;
    if (of_indices > POOL_TABLE_BYTES) return 0;
    if (memory != NULL) {
        table->indices = (npy_int32*)memory;
        table->used = (npy_int32*)(memory + of_indices);
        table->bases = table->used + table->vectors;
        table->windows = table->bases + most;
    }
    return (of_indices + (table->vectors * (1 + lanes) + most) * sizeof(npy_int32) + 63) / 64 * 64;
}

/* Bytes for the rows of windows that a worker keeps. */
static size_t phintys_kept_bytes(const phintys_pool_table* table, int vector_bytes) {
    return table->by_rows && table->walked == POOL_NOT_WALKED
        ? 2 * table->kept * table->vectors * table->slots * vector_bytes : 0;
}

/* Bytes of a worker that walks without a table: copies of maxima and gradients, with what is read before and after
 * them, and of both images if one is missing, with their results. */
static size_t phintys_pool_walk_room(const phintys_pool_table* table, int itemsize, int vector_bytes) {
    const npy_intp images = phintys_pool_at_once(table);
    const size_t copies = 2 * images * (table->results + (images > 1 ? table->elements : 0)) * itemsize;
    return (copies + 7 * vector_bytes + 63) / 64 * 64;
}

/* Bytes of a worker: these rows, and copies of the images of one vector, their maxima and gradients with what is read
 * after them; of two images the results too. */
static size_t phintys_pool_table_room(const phintys_pool_table* table, const phintys_pooling* p,
                                      const phintys_pool_table_set* set) {
    const npy_intp images = 1 + table->paired;
    if (table->direct) return phintys_pool_walk_room(table, p->itemsize, set->bytes);
    const size_t copies = images * (images * table->elements + 2 * table->results) * p->itemsize + 3 * set->bytes;
    return phintys_kept_bytes(table, set->bytes) + (copies + 63) / 64 * 64;
}

/* Write for each element of an image, or of a row, its window in a slot, whose numbers in each dimension are given; -1:
 * none. */
static void phintys_windows_in_slot(const phintys_pooling* p, const phintys_pool_table* table, const npy_intp* slot) {
    const int last = p->pooled - 1;
    const npy_intp length = p->shape[p->outer + last], step = p->step[last], rows = table->line / length;
    npy_int32* windows = table->windows;
    for (npy_intp row = 0; row < rows; row++, windows += length) {
        npy_intp left = row, base = 0, results = p->count[last];
        int valid = 1;
        for (int axis = last - 1; axis >= 0 && !table->by_rows; axis--) {
            const npy_intp place = left % p->shape[p->outer + axis] + p->pad[axis];
            const npy_intp number = place / p->step[axis] - slot[axis];
            left /= p->shape[p->outer + axis];
            valid &= number >= 0 && number < p->count[axis] && place - number * p->step[axis] < p->window[axis];
            base += number * results;
            results *= p->count[axis];
        }
        npy_intp number = p->pad[last] / step - slot[last], tap = p->pad[last] - number * step;
        for (npy_intp x = 0; x < length; x++) {
            const int inside = valid && number >= 0 && number < p->count[last] && tap < p->window[last];
            windows[x] = inside ? (npy_int32)(base + number) : -1;
            if (++tap == (slot[last] + 1) * step) tap -= step, number++;
        }
    }
}

/* Add a slot to all vectors that have a window in it; returns 0 if the windows of one are too far apart. */
static int phintys_add_pool_slot(phintys_pool_table* table, const phintys_pool_table_set* set, int itemsize) {
    const npy_intp lanes = set->bytes / itemsize, words = set->bytes / 4;
    const npy_int32 parts = itemsize / 4;
    for (npy_intp vector = 0; vector < table->vectors; vector++) {
        const npy_int32* windows = table->windows + vector * lanes;
        npy_int32 low = NPY_MAX_INT32, high = -1;
        for (npy_intp lane = 0; lane < lanes; lane++) {
            if (windows[lane] > high) high = windows[lane];
            if (windows[lane] >= 0 && windows[lane] < low) low = windows[lane];
        }
        if (high < 0 && !table->by_rows) continue;
        if (high < 0) low = 0;
        if (high - low >= lanes) return 0;
        const npy_intp slot = vector * table->slots + table->used[vector]++;
        npy_int32* index = table->indices + slot * words;
        table->bases[slot] = low;
        for (npy_intp lane = 0; lane < lanes; lane++)
            for (npy_int32 part = 0; part < parts; part++)
                *index++ = (windows[lane] < 0 ? set->none : (windows[lane] - low) * parts) + part;
        if (!table->paired) continue;
        index = table->indices + slot * words;
        for (npy_intp lane = 0; lane < words / 2; lane++) {
            if (windows[lane] < 0) index[lane] = -1;            /* see load_index_of_pair */
            index[lane + words / 2] = index[lane] < 0 ? -1 : index[lane] + (npy_int32)words;
        }
    }
    return 1;
}

/* Fill in a table that is planned; returns 0 if there can be none. */
static int phintys_fill_pool_table(phintys_pool_table* table, const phintys_pooling* p,
                                   const phintys_pool_table_set* set) {
    npy_intp slot[PHINTYS_MAX_RANK] = {0};
    memset(table->used, 0, table->vectors * sizeof(npy_int32));
    memset(table->windows, -1, table->vectors * (set->bytes / p->itemsize) * sizeof(npy_int32));
    for (;;) {
        int axis = p->pooled - 1;
        phintys_windows_in_slot(p, table, slot);
        if (!phintys_add_pool_slot(table, set, p->itemsize)) return 0;
        const int first = table->by_rows ? axis : 0;
        for (; axis >= first; axis--) {
            if (++slot[axis] < phintys_pool_slots(p, axis)) break;
            slot[axis] = 0;
        }
        if (axis < first) return 1;
    }
}

/* Plan a walk without a table, if there is one. */
static int phintys_plan_pool_walk(phintys_pool_table* table, const phintys_pooling* p,
                                  const phintys_pool_table_set* set) {
    table->direct = phintys_pool_direct_walk(p, set);
    if (table->direct == POOL_BY_TABLE) return 0;
    phintys_count_pooled(table, p);
    table->line = p->shape[p->outer + 1];
    return 1;
}

/* Make the table that suits, in `memory`; returns how many bytes of it are taken, or 0 if there is none. All operands
 * must be without gaps. */
static size_t phintys_make_pool_table(phintys_pool_table* table, const phintys_pooling* p,
                                      const phintys_pool_table_set* set, char* memory) {
    const npy_intp row = p->shape[p->outer + p->pooled - 1] * p->itemsize;
    const int walked = phintys_pool_walked(p, set) != POOL_NOT_WALKED;
    if (phintys_plan_pool_walk(table, p, set)) return 64;       /* of which nothing is used */
    for (int by_rows = walked || row >= POOL_VECTORS_OF_ROW * set->bytes; by_rows < 2; by_rows++) {
        const size_t size = phintys_plan_pool_table(table, p, set, by_rows, memory);
        if (size && phintys_fill_pool_table(table, p, set)) return size;
    }
    return 0;
}

/* Bytes for such a table and for the room of workers. */
static size_t phintys_pool_table_bytes(const phintys_pooling* p, const phintys_pool_table_set* set, int workers) {
    size_t most = 0;
    phintys_pool_table walk;
    if (phintys_plan_pool_walk(&walk, p, set)) return 64 + workers * phintys_pool_table_room(&walk, p, set);
    for (int by_rows = 0; by_rows < 2; by_rows++) {
        phintys_pool_table table;
        size_t size = phintys_plan_pool_table(&table, p, set, by_rows, NULL);
        if (size) size += workers * phintys_pool_table_room(&table, p, set);
        if (size > most) most = size;
    }
    return most;
}

#define LOOPS "pooling/pool_sets.template.h"
#include "native/each_set.h"

#ifdef PHINTYS_HAS_SETS
#define POOL_WIDER_SETS(T, PAIRS) {32, -2, 0, table_gradient_##T##_avx2}, {64, 16, PAIRS, table_gradient_##T##_avx512}
#else
#define POOL_WIDER_SETS(T, PAIRS)               /* set 0 is the only one */
#endif

/* The loops of a type number for a set; NULL: there are none. */
static const phintys_pool_table_set* phintys_pool_table_set_of(int typenum, int set) {
    static const phintys_pool_table_set sets[2][PHINTYS_SETS] = {
        {{16, 0, 0, walk_gradient_float_baseline}, POOL_WIDER_SETS(float, 1)},
        {{16, 0, 0, walk_gradient_double_baseline}, POOL_WIDER_SETS(double, 0)}};
    return typenum == NPY_FLOAT || typenum == NPY_DOUBLE ? &sets[typenum == NPY_DOUBLE][set] : NULL;
}

/* What there is for squares of a type number and a set; NULL: nothing. */
static phintys_pool_squares phintys_pool_squares_of(int typenum, int set) {
    static const phintys_pool_squares squares[2][PHINTYS_SETS] = {FOR_EACH_SET(squares_float),
                                                                  FOR_EACH_SET(squares_double)};
    return typenum == NPY_FLOAT || typenum == NPY_DOUBLE ? squares[typenum == NPY_DOUBLE][set] : NULL;
}

#endif
