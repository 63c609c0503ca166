/* Convolutions of images or volumes and their gradients: what is computed where, and the loops.
 *
 * A result is a sum over planes (channels) and taps (elements of a filter). What is summed is laid out so that one tap
 * sees all results by a constant distance: planes with their borders of zeros, and, where filters move by steps of s,
 * divided into s parts of every s-th element (slots). So a vector of neighbouring results is a sum of vectors that are
 * neighbours too, at the offset of each tap; strides, dilation and borders are in the offsets. Nothing is as large as
 * all windows of an image: one image has its planes, and the filters are packed once.
 *
 * Where images are so small that vectors would mostly reach over the ends of rows, and there are enough of them, a
 * vector has the same element of several images instead, which are laid out side by side.
 *
 * The gradient by images is the same sum, over filters instead of channels, with the taps that meet at one element. If
 * filters move by steps, elements at different positions between steps (classes) meet other taps: each has a pass.
 * The gradient by filters sums over positions instead. With many channels it is the same sum, if planes are laid out
 * with neighbouring channels as neighbours: a vector has results for several channels, and positions are the taps. With
 * few channels vectors run along the summed dimension, or, where rows of results are short, over images.
 *
 * Results of images may be pooled: a strip of rows of the results of a block of filters, which stays in the cache, then
 * the rows of windows that it has. Of the results themselves no more is kept.
 *
 * With many channels and filters of 3 x 3 elements, Winograd's method takes fewer products, for squares of 2 x 2
 * results, which may be pooled; convolution_squares.template.h and, for the gradient by filters,
 * convolution_square_sums.template.h say how.
 *
 * Volumes have three dimensions (depth, rows, columns); images have a depth of 1. The inner loops are in
 * convolution_tiles.template.h, what surrounds them in convolution_passes.template.h.
 */
#ifndef PHINTYS_CONVOLUTION_LOOPS_H
#define PHINTYS_CONVOLUTION_LOOPS_H

#include <numpy/ndarraytypes.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "convolution_transposes.h"
#include "native/sets.h"
#include "rooms.h"
#include "native/row_copy.h"
#include "pooling/pool_tasks.h"

enum { MOST_FILTERS = 8, MOST_VECTORS = 8, TILE_SIZES = 5, TILE_WIDTHS = 4, MOST_LANES = 16 };
enum { DOTS_OF_THREE = 4, DOTS_OF_ONE, DOT_SIZES };      /* the numbers of dots for three taps, and for one */
enum { FILTERS_OF_ROW = 2, PLANES_OF_ROW = 4 };          /* of sums that are not tiles; see any_row */
enum { Z, Y, X, AXES };

/* ---- what the inner loops are given ------------------------------------------------------------------------------ */
typedef struct {
    npy_intp planes, plane;             /* how many, and elements from one to the next */
    npy_intp taps;                      /* in each plane */
    const npy_intp* offsets;            /* of the taps */
    npy_intp skipped;                   /* weights of each plane that are not used; of a row, weights of each plane */
    int add;                            /* to what is there already */
    const void* bias;                   /* of each filter, which is added last; or NULL */
    int limited;                        /* whether results are then limited to [low, high]; NaN stays */
    double low, high;
} phintys_sum;

typedef struct {
    npy_intp images, first, last;       /* lines [first, last) of each image */
    npy_intp image;                     /* elements from image to image */
    const npy_intp* lines;              /* where each line begins */
    npy_intp top_image, top_plane, top_line;    /* of the gradient: whole vectors in each line, filled up with zeros */
} phintys_positions;

typedef void (*phintys_tile)(const phintys_sum*, const void* const* in, void* const* out, npy_intp out_filter,
                             int wanted, const void* weights);
typedef void (*phintys_dots)(const phintys_positions*, const void* top, const void* image, const npy_intp* offsets,
                             void* result);
typedef void (*phintys_patches)(const void* const* lines, npy_intp channels, npy_intp elements, npy_intp squares,
                                void* to, npy_intp step);
typedef void (*phintys_square_tops)(const void* upper, const void* lower, npy_intp squares, void* to, npy_intp step);
typedef void (*phintys_square_weights)(const void* taps, void* to, npy_intp step);
typedef void (*phintys_square_filter)(const void* sums, npy_intp step, npy_intp channels, void* to);
typedef void (*phintys_transpose)(const void* from, npy_intp from_row, npy_intp rows, npy_intp columns, void* to,
                                  npy_intp to_row);
typedef void (*phintys_row)(const phintys_sum*, const void* in, void* out, npy_intp out_filter, npy_intp length,
                            const void* weights);
typedef struct {
    int level, lanes;
    phintys_transpose transpose;
    phintys_patches patches;
    phintys_square_tops square_tops;
    phintys_square_weights square_weights;
    phintys_square_filter square_filter;
    phintys_row rows[FILTERS_OF_ROW][PLANES_OF_ROW];    /* of filters of one element, by their numbers less one */
    struct { int filters; struct { int vectors; phintys_tile tile; } widths[TILE_WIDTHS]; } sizes[TILE_SIZES];
    struct { int filters, taps; phintys_dots dots; } dots[DOT_SIZES];
} phintys_convolution_set;

/* Changes `length` results of one filter in place: what follows a convolution. Filters of all groups are counted. */
typedef void (*phintys_finish)(void* finisher, char* results, npy_intp filter, npy_intp length);

/* Items [start, stop) of one kind of work (phintys_work), by worker number `worker`. */
typedef void (*phintys_convolution_task)(void* work, int worker, npy_intp start, npy_intp stop);

/* The kinds of work of one type, in files of passes: what their items are. */
typedef struct {
    phintys_convolution_task packing, planes, images, blocks;           /* sums over planes and taps */
    phintys_convolution_task tops, parts_of_images, parts_of_lines, parts_sum;  /* by filters, with few channels */
    phintys_convolution_task mending;                                   /* by filters, if there is a NaN */
    phintys_convolution_task tall, top_packing, products, all_products, parts_of_products;  /* with many channels */
    phintys_convolution_task unshared;
    phintys_convolution_task rows, narrow;                              /* few results, many filter elements */
    phintys_convolution_task narrow_tops, spreading, collecting;        /* the same by images */
    phintys_convolution_task square_packing, squares, finishing, square_pooling;    /* results by squares */
    phintys_convolution_task square_patches, square_tops, square_products, parts_of_squares;    /* by filters */
} phintys_convolution_tasks;

/* ---- what is computed -------------------------------------------------------------------------------------------- */
typedef enum { FORWARD, BY_IMAGES, BY_FILTERS } phintys_role;

typedef struct {
    phintys_role role;
    int itemsize, flip;                 /* flip: filters are read backwards */
    npy_intp images, groups, channels, filters;         /* channels and filters of one group */
    npy_intp image[AXES], window[AXES], result[AXES];   /* lengths of images, filters and results of the forward sum */
    npy_intp stride[AXES], dilation[AXES], pad[AXES];   /* pad: before the first element */
    int workers;                        /* that there are rooms for; fewer of them may run */
    const phintys_convolution_set* set;
} phintys_convolution;

/* How a dimension of what is summed is laid out. */
typedef struct {
    npy_intp source;                    /* its length */
    npy_intp slots, length;             /* parts, and elements of each */
    npy_intp step, origin;              /* element j of a part with phase p is element j * step + p - origin */
    npy_intp period;                    /* of the slots of taps */
    int by_columns;                  /* 1, -1: each tap has a slot, moved by its position or back (part_columns) */
    npy_intp classes;
} phintys_axis;

/* The results of one class: which taps they sum, and where they are. */
typedef struct {
    npy_intp taps, *offsets, *numbers;  /* numbers: which elements of a filter they are */
    npy_intp base;                      /* where the first result's window is */
    npy_intp count[AXES], in[AXES];     /* results, and elements from window to window */
    npy_intp start, out[AXES];          /* where the results go in their plane */
    npy_intp packed;                    /* where the filters of this class begin, in one group */
    npy_intp row;                       /* of the planes: the first that the first tap row of a window sees */
    int trims;                          /* rows of results leave out taps that see only zeros of the border */
    int by_rows;                        /* tiles write rows of results; else they write to room, with what lies between
                                           rows, and the results are copied from there */
} phintys_pass;

/* How the results of a block of filters are pooled. */
typedef struct {
    phintys_pooling what;               /* of planes of results; the outer dimension is that of filters */
    phintys_pool_task task;
    int first;                          /* whether pooled results are finished; else what is pooled is */
    npy_intp plane;                     /* pooled results of a plane */
    npy_intp windows;                   /* rows of windows that are computed at once */
    npy_intp strip;                     /* results of each filter that this takes */
    size_t at, room_at;                 /* where in a worker's room strips are, and what the task needs */
    char *results, *rooms;              /* of squares that are no windows: planes of some images, and what the task
                                           needs for each worker; or NULL */
} phintys_pooled;

/* What follows from shapes alone. */
typedef struct {
    phintys_axis axis[AXES];
    npy_intp planes, outs;              /* planes that are summed in one group, and planes of results */
    npy_intp plane, source_plane, out_plane;    /* their sizes: as laid out, in memory, of results */
    int direct;                         /* the source is used where it is */
    int whole;                          /* planes have no parts: each is the source between borders */
    npy_intp passes, window;            /* window: elements of a filter in one plane */
    phintys_pass* pass;
    npy_intp *offsets, *numbers;        /* of the taps of all passes */
    npy_intp* rows;                     /* of the taps of a pass: rows below the window's that they see; for `trims` */
    npy_intp blocks, padded_outs;       /* blocks of filters for tiles */
    npy_intp packed_group;              /* elements of the packed filters of one group */
    npy_intp images_at_once;            /* of the gradient by filters, as what follows */
    npy_intp beside;                    /* images that stand side by side: as many as a vector has elements, or 1 */
    npy_intp units;                     /* images, or sets of them that stand side by side */
    npy_intp parts;                     /* of images, units or lines, whose sums (`sums`) are added in the end */
    size_t sum_bytes;                   /* from part to part */
    int by_images;
    int lays_out;                       /* each worker lays out planes */
    npy_intp piece;                     /* so many positions are laid out at a time, from `at` on; 0: all of an image */
    size_t room, prepared;              /* bytes for each worker, and how many of them are for planes */
    size_t rows_at;                     /* where a worker's memory for rows of planes begins, for images side by side */
} phintys_plan;

/* Images side by side in a vector, one for each of its elements. */
typedef struct {
    npy_intp sets, *offsets;            /* of so many images; of their taps, or of the taps of planes of `apart` */
} phintys_side;

/* Gradients by filters, with few channels. */
typedef struct {
    npy_intp count, at_once, top_line, *begin;      /* top_line: elements of a line of the gradient */
    int top_in_place;                   /* lines of the gradient are whole vectors, and are read where they are */
    int planes_in_place;                /* and so are planes of images: each is one line */
    int joined;                         /* these lines of all images follow each other, each of one vector */
} phintys_lines;

/* The same with many channels, which are filled up to whole vectors. */
typedef struct {
    npy_intp channels, positions, at_once, *offsets;
    npy_intp panel, image;              /* so many channels are neighbours; elements of an image that is laid out so */
} phintys_tall;

/* Few results in all, of filters of `columns` elements. */
typedef struct { npy_intp results, columns; } phintys_few;

/* Squares of 2 x 2 results; see convolution_squares.template.h. */
typedef struct {
    npy_intp count, shape[AXES], before[AXES];      /* rows and columns of them, and where the first patch begins */
    npy_intp at_once, blocks_at_once, rows_at_once, all_rows;       /* all_rows: those of all images */
} phintys_squares;

/* The way that was chosen, by shapes, too; of the others all is 0. Without any, sums are made by tiles. */
typedef struct {
    int apart;                          /* the sums of each tap are computed first; see tap_sums */
    phintys_side side;
    phintys_lines lines;
    phintys_tall tall;
    phintys_few few;
    phintys_squares squares;
} phintys_how;

/* What follows the sums of a convolution. */
typedef struct {
    const char* bias;                   /* of all filters, or NULL */
    int limited;
    double low, high;
    phintys_finish finish;              /* or NULL */
    void* finisher;
    phintys_pooled* pooled;             /* or NULL */
} phintys_after;

/* Of one call: addresses, and what is worked on. */
typedef struct {
    const char *source, *filters, *top;
    char *out, *packed, *rooms;
    char* ones;                         /* of `apart`: the weights of sums that are added */
    char* sums;                         /* of parts */
    char *tall, *tops, *tall_sums;      /* planes and gradients with channels as neighbours, and results likewise */
    size_t tall_bytes, top_bytes, tall_sum_bytes;   /* of one worker */
    npy_intp image, images, group;      /* what is worked on, where workers share one image */
    npy_intp at, until;                 /* the first line, position or row of squares that is worked on, and the end of
                                           the lines */
    int (*stops)(void* context);        /* whether the call is to end: then the rest of the work is left out */
    void* context;
} phintys_call;

/* A convolution, as its loops and its workers see it. The kernel keeps only `what` between calls: the rest is made for
 * each, in a fraction of the time of the smallest one. Workers have copies whose `call` differs. */
typedef struct {
    phintys_convolution what;
    phintys_plan plan;
    phintys_how how;
    phintys_after after;
    phintys_call call;
} phintys_work;

/* Multiplications between two questions whether the call is to end: about a millisecond. */
enum {
    UNASKED = 10000000,
    MOVING = 10,                        /* what moving an element takes */
    MANY_ELEMENTS = 1 << 20             /* are moved in parts */
};

/* After so many more multiplications. */
static inline int is_to_end(const phintys_work* work, npy_intp* unasked, npy_intp more) {
    *unasked += more;
    if (*unasked < UNASKED) return 0;
    *unasked = 0;
    return work->call.stops(work->call.context);
}

/* The lengths of results: of images for their gradient. */
static inline const npy_intp* lengths_of_results(const phintys_convolution* what) {
    return what->role == BY_IMAGES ? what->image : what->result;
}

static inline npy_intp floor_divided(npy_intp a, npy_intp b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
static inline npy_intp ceil_divided(npy_intp a, npy_intp b) { return -floor_divided(-a, b); }
static inline npy_intp smaller(npy_intp a, npy_intp b) { return a < b ? a : b; }
static inline npy_intp larger(npy_intp a, npy_intp b) { return a > b ? a : b; }

/* ---- planning ---------------------------------------------------------------------------------------------------- */
static void plan_axis(phintys_axis* axis, const phintys_convolution* what, int number) {
    const npy_intp s = what->stride[number], d = what->dilation[number], pad = what->pad[number];
    const npy_intp reach = (what->window[number] - 1) * d / s;
    axis->by_columns = 0;
    if (what->role == BY_IMAGES) {
        const npy_intp low = ceil_divided(pad - s + 1, s) - reach;
        const npy_intp high = floor_divided(what->image[number] - 1 + pad, s);
        axis->source = what->result[number];
        axis->slots = axis->step = axis->period = 1;
        axis->origin = -low;
        axis->length = high - low + 1;
        axis->classes = s;
        return;
    }
    npy_intp a = s, b = d;
    while (b) { const npy_intp rest = a % b; a = b; b = rest; }
    axis->source = what->image[number];
    axis->period = s / a;
    axis->slots = smaller(axis->period, what->window[number]);
    axis->step = s;
    axis->origin = pad;
    axis->length = what->result[number] + reach;
    axis->classes = 1;
}

/* Where results of a class are along one dimension. */
static void plan_class(const phintys_work* work, int number, npy_intp class, npy_intp* base, npy_intp* count,
                       npy_intp* start) {
    const phintys_convolution* what = &work->what;
    const npy_intp s = what->stride[number], pad = what->pad[number];
    if (what->role != BY_IMAGES) {
        *base = *start = 0;
        *count = what->result[number];
        return;
    }
    const npy_intp first = ceil_divided(pad - class, s);
    *count = larger(0, floor_divided(what->image[number] - 1 + pad - class, s) - first + 1);
    *base = work->plan.axis[number].by_columns ? 0 : first + work->plan.axis[number].origin;
    *start = s * first + class - pad;
}

/* Where tap k of a dimension sees the first result, in elements of that dimension, and its slot; -1: another class. */
static npy_intp tap_slot(const phintys_work* work, int number, npy_intp k, npy_intp class, npy_intp* shift) {
    const npy_intp s = work->what.stride[number], position = k * work->what.dilation[number];
    if (work->plan.axis[number].by_columns) {
        *shift = 0;
        return k;
    }
    if (work->what.role != BY_IMAGES) {
        *shift = position / s;
        return k % work->plan.axis[number].period;
    }
    *shift = -(position / s);
    return position % s == class ? 0 : -1;
}

/* Whether the taps of results are taken in the reverse order of a filter's elements, so that they go forward in planes:
 * backward, the next lines of planes that are in no near cache are not fetched in advance (256 planes of 64 x 64, and
 * 256 filters of 3 x 3 with AVX2: 66 ms instead of 51). Results with small planes keep the order of the elements, in
 * which filters are packed in fewer steps. */
enum { LEAST_REVERSED = 512 };          /* elements of a plane */
static inline int from_last_tap(const phintys_convolution* what) {
    if (what->role == BY_IMAGES) return !what->flip;
    return what->role == FORWARD && what->flip && what->image[Y] * what->image[X] >= LEAST_REVERSED;
}

/* Fill in the taps of a class; returns how many there are. */
static npy_intp plan_taps(const phintys_work* work, const npy_intp* class, npy_intp* offsets, npy_intp* numbers) {
    const npy_intp* window = work->what.window;
    const phintys_axis* axis = work->plan.axis;
    const npy_intp part = axis[Z].length * axis[Y].length * axis[X].length;
    npy_intp found = 0;
    for (npy_intp k = 0; k < work->plan.window; k++) {
        const npy_intp number = from_last_tap(&work->what) ? work->plan.window - 1 - k : k;
        npy_intp left = work->what.flip ? work->plan.window - 1 - number : number, slot[AXES], shift[AXES];
        for (int a = X; a >= Z; left /= window[a--]) slot[a] = tap_slot(work, a, left % window[a], class[a], &shift[a]);
        if (slot[Z] < 0 || slot[Y] < 0 || slot[X] < 0) continue;
        const npy_intp slots = (slot[Z] * axis[Y].slots + slot[Y]) * axis[X].slots + slot[X];
        work->plan.rows[found] = shift[Y];
        offsets[found] = slots * part + (shift[Z] * axis[Y].length + shift[Y]) * axis[X].length + shift[X];
        numbers[found++] = number;
    }
    return found;
}

/* Whether tiles have few filters, as those of sets with 16 registers. */
static inline int has_small_tiles(const phintys_convolution_set* set) { return set->sizes[0].filters < MOST_FILTERS; }

/* Filters of a tile from which taps are left out: a tile of one vector has to have so many sums at least to keep the
 * processor busy, or twice as many where vectors are short and two of them are multiplied at once. And blocks that are
 * packed at once: each is written at a position of its own. */
enum { LEAST_TRIMMED = 4, PACKED_BLOCKS = 16 };

enum { ROOM_ELEMENTS = 2048 };          /* of a row of room: results of several rows of an image for each filter */

/* With filters of one element, planes that are together LARGE_PLANES or more are copied, CHUNK_BYTES of them at a
 * time: all filters then find them in the cache, although they may be a power of two apart in memory. 256 channels and
 * filters, images of 64 x 64: 3.4 ms, without 8.4. Tiles of few filters read planes so often that these have to be in
 * the first cache, several chunks at a time: 256 channels and filters, images of 16 x 16 with AVX2: 345 us instead of
 * 440, 64 channels, 32 images of 64 x 64: 18.6 ms, with one chunk at a time 20.8. */
enum { LARGE_PLANES = 1 << 20, CHUNK_BYTES = 1 << 18, NEAR_CHUNK_BYTES = 24 << 10, NEAR_CHUNKS = 8 };

/* Whether results are sums of few products, and they follow each other as the elements of planes do. */
static inline int has_short_sums(const phintys_work* work) {
    const phintys_pass* pass = work->plan.pass;
    return work->plan.planes <= PLANES_OF_ROW && work->plan.window == 1 && work->plan.direct && pass->by_rows
        && pass->count[Y] == 1 && pass->count[Z] == 1 && pass->count[X] == work->plan.out_plane;
}

/* How many positions are in such a chunk; 0: nothing is copied. Chunks are in room for whole planes: with what follows
 * the last one they may not be longer. */
static npy_intp positions_in_chunk(const phintys_work* work) {
    const npy_intp lanes = work->what.set->lanes, of_position = work->plan.planes * work->what.itemsize;
    if (!work->plan.direct || work->plan.window != 1 || work->plan.passes != 1 || work->plan.blocks < 2) return 0;
    if (!work->plan.pass->by_rows || work->plan.pass->count[Y] * work->plan.pass->count[Z] != 1) return 0;
    const int near = has_small_tiles(work->what.set), vectors = near ? 3 : 6;
    if (work->plan.plane * of_position < (near && !has_short_sums(work) ? NEAR_CHUNK_BYTES : LARGE_PLANES)) return 0;
    const npy_intp fitting = (near ? NEAR_CHUNK_BYTES : CHUNK_BYTES) / of_position / (vectors * lanes) * vectors;
    const npy_intp positions = larger(vectors, fitting) * lanes;
    return positions + lanes <= work->plan.plane ? positions : 0;
}

/* Fewest blocks that a worker takes at once: each time it copies all chunks. */
static inline npy_intp blocks_of_worker(const phintys_work* work) {
    return positions_in_chunk(work) ? (work->plan.blocks + work->what.workers - 1) / work->what.workers : 1;
}

/* How many positions the chunk at position `at` has: the last one has at least a vector. */
static inline npy_intp chunk_at(const phintys_work* work, npy_intp positions, npy_intp at) {
    const npy_intp left = work->plan.plane - at;
    return left >= positions + work->what.set->lanes ? positions : left;
}

/* Tiles of few filters sum so many bytes of one row of vectors at once that the rows of planes that they see, and the
 * weights, stay in the first cache while all rows of results use them: pieces of about 32 planes of float32. 64 and 256
 * channels and filters, images of 64 x 64, 3 x 3 with AVX2: 2.87 and 46.5 ms instead of 3.20 and 50.6. Tiles with many
 * filters gain nothing, and planes of few results lose: 256 channels of 16 x 16, 5 x 5: 8.5 ms instead of 8.0. */
enum { PIECE_BYTES = 128, RESULTS_OF_TAP = 25 };    /* bytes of one element of all its planes */
static inline npy_intp pieces_of_planes(const phintys_work* work, const phintys_pass* pass) {
    if (!has_small_tiles(work->what.set) || !pass->by_rows || pass->taps == 1) return 1;
    if (pass->count[X] % work->what.set->lanes) return 1;       /* vectors overlap, and would be added twice */
    if (work->plan.out_plane < RESULTS_OF_TAP * pass->taps) return 1;
    return (work->plan.planes * work->what.itemsize + PIECE_BYTES / 2) / PIECE_BYTES;
}

/* How many rows of results are computed at once where they go through room. */
static inline npy_intp rows_in_room(const phintys_pass* pass) {
    return larger(1, smaller(pass->count[Y], ROOM_ELEMENTS / larger(1, pass->in[Y])));
}

/* Whether tiles write rows of results; else they write to room, with what lies between rows. */
static int writes_rows(npy_intp lanes, npy_intp rows, npy_intp length, npy_intp in) {
    const npy_intp flat = (rows - 1) * in + length;
    const npy_intp vectors = rows * ((length + lanes - 1) / lanes), flat_vectors = (flat + lanes - 1) / lanes;
    return length >= lanes && 8 * vectors <= 9 * flat_vectors;
}

/* Join dimensions without gaps, and choose how tiles write. */
static void plan_writing(phintys_work* work, phintys_pass* pass) {
    const npy_intp lanes = work->what.set->lanes;
    for (int number = Y; number >= Z && work->after.pooled == NULL; number--) {
        const npy_intp length = pass->count[X];
        if (pass->out[X] != 1 || pass->in[number] != length || pass->out[number] != length) break;
        pass->count[X] *= pass->count[number];
        pass->count[number] = 1;
    }
    const npy_intp length = pass->count[X];
    pass->by_rows = pass->out[X] == 1 && writes_rows(lanes, pass->count[Y], length, pass->in[Y]);
    if (!pass->by_rows && (rows_in_room(pass) - 1) * pass->in[Y] + length < lanes) work->plan.direct = 0;
}

static void plan_pass(phintys_work* work, phintys_pass* pass, npy_intp number, npy_intp* cursor) {
    const phintys_axis* axis = work->plan.axis;
    const npy_intp* lengths = lengths_of_results(&work->what);
    npy_intp class[AXES], start[AXES], base[AXES];
    for (int a = X; a >= Z; a--) {
        class[a] = number % axis[a].classes;
        number /= axis[a].classes;
        plan_class(work, a, class[a], &base[a], &pass->count[a], &start[a]);
    }
    pass->in[Z] = axis[Y].length * axis[X].length;
    pass->in[Y] = axis[X].length;
    pass->in[X] = 1;
    pass->base = base[Z] * pass->in[Z] + base[Y] * pass->in[Y] + base[X];
    pass->start = (start[Z] * lengths[Y] + start[Y]) * lengths[X] + start[X];
    for (int a = X; a >= Z; a--) {
        pass->out[a] = work->what.role == BY_IMAGES ? work->what.stride[a] : 1;
        for (int b = a + 1; b < AXES; b++) pass->out[a] *= lengths[b];
    }
    pass->offsets = work->plan.offsets + *cursor;
    pass->numbers = work->plan.numbers + *cursor;
    pass->taps = plan_taps(work, class, pass->offsets, pass->numbers);
    pass->packed = *cursor * work->plan.planes * work->plan.padded_outs;
    *cursor += pass->taps;
    const npy_intp rows = pass->count[Y];
    plan_writing(work, pass);
    pass->row = base[Y] - axis[Y].origin;
    pass->trims = pass->count[Y] == rows && work->plan.passes == 1 && work->what.window[Z] == 1 && axis[Y].step == 1
        && axis[Y].slots == 1 && axis[Y].length > axis[Y].source;
}

/* The number in the table of tiles that suits the next filters, of which `left` are left. */
static inline int size_for(const phintys_convolution_set* set, npy_intp left) {
    int number = 0;
    while (number + 1 < TILE_SIZES && set->sizes[number + 1].filters >= left) number++;
    return number;
}

/* So many filters in blocks, as many as a tile has; the last block is padded to the next size of a tile. */
static npy_intp padded_filters(const phintys_convolution_set* set, npy_intp filters) {
    const npy_intp most = set->sizes[0].filters, full = larger(0, filters - 1) / most * most;
    return filters == 0 ? 0 : full + set->sizes[size_for(set, filters - full)].filters;
}

/* Planes of results in such blocks. */
static void plan_blocks(phintys_work* work) {
    const int most = work->what.set->sizes[0].filters;
    work->plan.blocks = (work->plan.outs + most - 1) / most;
    work->plan.padded_outs = padded_filters(work->what.set, work->plan.outs);
}

/* Memory for the packed filters of all groups: `elements` for each of the planes of each of `filters` filters. */
static void take_packed(phintys_work* work, phintys_rooms* rooms, npy_intp filters, npy_intp elements) {
    work->plan.packed_group = padded_filters(work->what.set, filters) * work->plan.planes * elements;
    work->call.packed = phintys_room(rooms, work->what.groups * work->plan.packed_group * work->what.itemsize);
}

/* Bytes that the gradient by filters reads again and again: half of a L2 cache. With 1 MiB of it (Zen 4), 32 images of
 * 64 channels of 16 x 16 and 5 x 5 filters took 15.6 ms with half of it, 17.0 with all of it. */
enum { LEAST_WORKING_SET = 1 << 18, MOST_WORKING_SET = 1 << 20 };
static npy_intp working_set(void) {
    static npy_intp bytes = 0;          /* threads may find it at the same time, all the same */
    if (bytes == 0) {
        long cache = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
        cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
        bytes = cache <= 0 ? MOST_WORKING_SET : smaller(MOST_WORKING_SET, larger(LEAST_WORKING_SET, cache / 2));
    }
    return bytes;
}

/* Parts of images, or of lines of one: for workers, but the same for any number of them, so that results are the same.
 * Each costs a sum of lanes for each element of a filter: 32 images of 3 x 8 x 8 and 32 filters of 5 x 5, with 1.2
 * million multiplications, took 133 us in eight parts, 87 us in one. */
enum { LEAST_PARTS = 8, MOST_PARTS = 32, OF_PART = 1500000 };

static npy_intp multiplications_of(const phintys_convolution* what) {
    npy_intp count = what->images * what->groups * what->channels * what->filters;
    for (int axis = 0; axis < AXES; axis++) count *= what->window[axis] * what->result[axis];
    return count;
}

/* Bytes of the gradient by filters. */
static size_t gradient_bytes(const phintys_work* work) {
    const phintys_convolution* what = &work->what;
    return what->groups * what->filters * what->channels * work->plan.window * what->itemsize;
}

enum { MOST_SIDE_BY_SIDE = 1 << 22 };   /* bytes of images that are laid out side by side */

/* Fewest vectors of a plane that is one line, and is read where it is. */
enum { VECTORS_IN_PLACE = 32 };

/* Whether the gradient by filters of one element finds images and gradients where they are, one after the other. */
static int reads_in_place(const phintys_work* work) {
    const phintys_convolution* what = &work->what;
    const npy_intp lanes = what->set->lanes, of_position = (what->filters + work->plan.planes) * what->itemsize;
    return work->plan.direct && work->plan.window == 1 && what->images > 1 && work->plan.plane % lanes == 0
        && work->plan.plane >= VECTORS_IN_PLACE * lanes && work->plan.plane * of_position <= 2 * working_set();
}

/* Whether the lines of all images at once follow each other, each of one vector: where tiles have few filters, the
 * processor does not foresee where short lines end. The gradient is copied for this, to where vectors do not cross
 * lines of the cache, which pays if there are enough elements of filters: 32 images of 3 x 8 x 8 and 32 filters of
 * 5 x 5 with AVX2: 121 us instead of 131 or, with a gradient that is not aligned, 152; of 3 x 3, 51 instead of 46 or
 * 55. */
enum { LEAST_JOINED = 50 };
static int joins_lines(const phintys_work* work) {
    if (!work->plan.by_images || work->plan.beside > 1 || work->how.lines.planes_in_place
        || work->how.lines.at_once < work->how.lines.count) return 0;
    if (!has_small_tiles(work->what.set) || work->how.lines.count == work->what.result[Z]) return 0;
    return work->plan.planes * work->plan.window >= LEAST_JOINED;
}

static void plan_lines(phintys_work* work) {
    const npy_intp* count = work->what.result;
    const npy_intp lanes = work->what.set->lanes, length = work->plan.axis[X].length;
    const npy_intp by_rows = count[Y] * ((count[X] + lanes - 1) / lanes);
    const npy_intp flat = ((count[Y] - 1) * length + count[X] + lanes - 1) / lanes;
    work->how.lines.count = by_rows <= flat ? count[Z] * count[Y] : count[Z];
    work->how.lines.top_line = lanes * (by_rows <= flat ? (count[X] + lanes - 1) / lanes : flat);
    work->plan.beside = 1;
    work->how.lines.planes_in_place = reads_in_place(work);
    if (work->how.lines.planes_in_place) {
        work->how.lines.count = 1;
        work->how.lines.top_line = work->plan.plane;
    }
    work->plan.units = work->what.images;
    const npy_intp positions = count[Z] * count[Y] * count[X], sets = (work->plan.units + lanes - 1) / lanes;
    if (work->plan.units >= lanes && work->plan.planes * work->plan.plane * lanes
        * work->what.itemsize <= MOST_SIDE_BY_SIDE
            && 6 * sets * lanes * positions
               <= 5 * work->plan.units * work->how.lines.count * work->how.lines.top_line) {
        work->plan.beside = lanes;
        work->plan.units = sets;
        work->how.lines.count = count[Z] * count[Y];
        work->how.lines.top_line = count[X] * lanes;
    }
    work->how.lines.top_in_place = work->plan.beside == 1
                                   && work->how.lines.count * work->how.lines.top_line == positions;
    work->plan.prepared = whole_lines((work->plan.planes * work->plan.plane * work->plan.beside + MOST_LANES)
                                      * work->what.itemsize);
    const npy_intp of_line = work->how.lines.top_line * (work->what.filters + work->plan.planes) * work->what.itemsize;
    work->how.lines.at_once = larger(1, smaller(work->how.lines.count, working_set() / larger(1, of_line)));
    work->plan.images_at_once = 1;
    if (work->how.lines.at_once == work->how.lines.count) {
        const npy_intp parts = smaller(LEAST_PARTS, 1 + multiplications_of(&work->what) / OF_PART);
        const npy_intp least = (work->plan.units + parts - 1) / parts;
        work->plan.images_at_once = larger(1,
                                           smaller(least, working_set() / larger(1, of_line * work->how.lines.count)));
    }
    work->plan.by_images = work->what.images > 1;
    work->how.lines.joined = joins_lines(work);
    work->how.lines.top_in_place &= !work->how.lines.joined;
    work->plan.parts = smaller(MOST_PARTS,
                               (work->plan.units + work->plan.images_at_once - 1) / work->plan.images_at_once);
    if (!work->plan.by_images) work->plan.parts = larger(1, smaller(LEAST_PARTS, work->how.lines.count / LEAST_PARTS));
}

/* The gradient by filters with many channels: how much is done at once. Channels that a tile reads are in a panel of
 * their own, where they follow each other from position to position: 256 channels, 32 images of 8 x 8, 3 x 3, AVX2:
 * 23.9 ms instead of 25.6. Sums are read and written again for all positions done at once, so these are more if
 * sums are large: one image of 256 channels of 32 x 32 with AVX2, 1 x 1: 1.28 ms instead of 1.34, 5 x 5: 30.8 instead
 * of 33.9. */
enum { PANEL_VECTORS = 3, LARGE_SUMS = 1 << 16, WITH_LARGE_SUMS = 4 };
static void plan_positions(phintys_work* work) {
    const npy_intp lanes = work->what.set->lanes, *count = work->what.result;
    work->how.tall.channels = (work->plan.planes + lanes - 1) / lanes * lanes;
    work->how.tall.panel = smaller(work->how.tall.channels, PANEL_VECTORS * larger(lanes, MOST_FILTERS));
    work->how.tall.positions = count[Z] * count[Y] * count[X];
    const npy_intp of_position = (work->how.tall.channels + work->plan.padded_outs) * work->what.itemsize;
    const npy_intp set = working_set(), most = gradient_bytes(work) > LARGE_SUMS ? WITH_LARGE_SUMS * set : set;
    work->how.tall.at_once = larger(1, smaller(work->how.tall.positions, most / of_position));
    work->plan.images_at_once = 1;
    if (work->how.tall.at_once == work->how.tall.positions)
        work->plan.images_at_once = larger(1, smaller(work->what.images,
                                                 (work->plan.window == 1 ? most : set) / (of_position
                                                                                          * work->how.tall.positions)));
}

/* Whether each worker lays out all planes for its filters, without waiting for others: if they would meet after few
 * multiplications, and it uses what it lays out often. Two workers, 32 images of 16 channels of 32 x 32, 3 x 3: 0.88 ms
 * instead of 1.16; 64 channels of 64 x 64, 1 x 1: 8.4 ms instead of 17.0. */
enum { USES_OF_TALL = 32, TO_NEXT_MEETING = 10000000 };
static int lays_out_alone(const phintys_work* work) {
    const npy_intp workers = work->what.workers, positions = work->plan.images_at_once * work->how.tall.at_once;
    return work->plan.outs * work->plan.window >= USES_OF_TALL * workers * (work->what.images > 1 ? 1 : 2)
        && positions * work->plan.outs * work->plan.window * work->plan.planes < TO_NEXT_MEETING;
}

/* Into how many parts images are divided for workers that need not wait for each other; each has sums of its own, so
 * there are parts only where these are small. The same for any number of workers, so that results are the same. Two
 * workers, 32 images of 16 x 16, 1 x 1: 16 channels and filters 35 us instead of 103, 64 of them 393 instead of 626. */
enum { MOST_BYTES_OF_PART = 1 << 16, OF_TWO_PARTS = 6000000 };
static npy_intp parts_of_tall(const phintys_work* work) {
    const npy_intp multiplications = multiplications_of(&work->what);
    if (gradient_bytes(work) > MOST_BYTES_OF_PART || multiplications < OF_PART) return 1;
    return smaller(smaller(work->what.images, LEAST_PARTS), 2 * (1 + multiplications / OF_TWO_PARTS));
}

/* Whether planes and gradients are laid out piece by piece, as each is used: by filters of one element, where no worker
 * waits for others. One image of 256 channels of 64 x 64, 256 filters: 5.34 ms instead of 5.77, with AVX2 5.87 instead
 * of 6.35; of 32 images of 64 channels, 64 filters, 14.2 instead of 13.4. */
static int has_pieces(const phintys_work* work) {
    return work->plan.lays_out && work->what.images == 1 && work->plan.direct && work->plan.window == 1
        && work->plan.plane == work->how.tall.positions && work->how.tall.at_once < work->how.tall.positions;
}

/* Positions of an image that are laid out at once, of `all`, where there is room for them; and which these are now. */
static inline npy_intp laid_out(const phintys_work* work,
                                npy_intp all) { return work->plan.piece ? work->plan.piece : all; }
static inline npy_intp first_laid_out(const phintys_work* work) { return work->plan.piece ? work->call.at : 0; }
static inline npy_intp now_laid_out(const phintys_work* work, npy_intp all) {
    return smaller(laid_out(work, all), all - first_laid_out(work));
}

/* Sums of each part. */
static void take_sums(phintys_work* work, phintys_rooms* rooms) {
    work->plan.sum_bytes = gradient_bytes(work);
    work->call.sums = phintys_rooms_of(rooms, work->plan.parts > 1 ? work->plan.parts : 0, &work->plan.sum_bytes);
}

/* Take the memory whose sizes have been planned: each worker has gradients and sums of its own if there are parts. */
static void take_tall(phintys_work* work, phintys_rooms* rooms) {
    const int workers = work->what.workers, alone = work->plan.parts > 1 ? workers : 1;
    work->call.tall = phintys_rooms_of(rooms, work->plan.lays_out ? workers : alone, &work->call.tall_bytes);
    work->call.tops = phintys_rooms_of(rooms, alone, &work->call.top_bytes);
    work->call.tall_sums = phintys_rooms_of(rooms, alone, &work->call.tall_sum_bytes);
    take_sums(work, rooms);
    work->call.rooms = phintys_rooms_of(rooms, workers, &work->plan.room);
}

/* The same: tables and copies in memory. */
static void furnish_positions(phintys_work* work, phintys_rooms* rooms) {
    const npy_intp itemsize = work->what.itemsize;
    plan_positions(work);
    work->plan.parts = parts_of_tall(work);
    work->how.tall.offsets = phintys_room(rooms, work->how.tall.positions * sizeof(npy_intp));
    work->plan.lays_out = work->what.workers == 1 || lays_out_alone(work);
    work->plan.piece = has_pieces(work) ? work->how.tall.at_once : 0;
    work->how.tall.image = (work->how.tall.channels + work->how.tall.panel - 1) / work->how.tall.panel
        * work->how.tall.panel * laid_out(work, work->plan.plane);
    const npy_intp positions = laid_out(work, work->how.tall.positions);
    work->call.tall_bytes = work->plan.images_at_once * work->how.tall.image * itemsize;
    work->call.top_bytes = work->plan.images_at_once * positions * work->plan.padded_outs * itemsize;
    work->call.tall_sum_bytes = work->plan.outs * work->plan.window * work->how.tall.channels * itemsize;
    work->plan.room = (MOST_FILTERS * work->plan.plane + MOST_LANES) * itemsize;
    take_tall(work, rooms);
    if (rooms->memory == NULL) return;
    const npy_intp* count = work->what.result;
    for (npy_intp position = 0; position < work->how.tall.positions; position++) {
        const npy_intp x = position % count[X], y = position / count[X] % count[Y];
        const npy_intp z = position / (count[X] * count[Y]);
        work->how.tall.offsets[position] = ((z * work->plan.axis[Y].length + y) * work->plan.axis[X].length + x)
            * work->how.tall.panel;
    }
}

/* How many sets of images are computed side by side: where vectors of neighbouring results waste a sixth or more. */
static npy_intp sets_of_images(const phintys_work* work) {
    const phintys_convolution* what = &work->what;
    const npy_intp lanes = what->set->lanes, length = work->plan.axis[X].length;
    const npy_intp* count = lengths_of_results(what);
    const npy_intp by_rows = count[Z] * count[Y] * ((count[X] + lanes - 1) / lanes);
    const npy_intp flat = count[Z] * (((count[Y] - 1) * length + count[X] + lanes - 1) / lanes);
    if (work->plan.passes > 1 || work->plan.planes * work->plan.plane * lanes
        * what->itemsize > MOST_SIDE_BY_SIDE) return 0;
    return 5 * smaller(by_rows, flat) * lanes >= 6 * work->plan.out_plane ? what->images / lanes : 0;
}

/* Bytes of a worker for them: the images, one plane of each, and the results of one block of filters. */
static size_t room_side_by_side(const phintys_work* work) {
    const npy_intp pooled = work->after.pooled == NULL ? 0 : work->after.pooled->plane;
    const npy_intp elements = (work->plan.planes + 1) * work->plan.plane + MOST_FILTERS * work->plan.out_plane + pooled;
    return whole_lines(elements * work->what.set->lanes * work->what.itemsize);
}

/* Elements of a plane of which `rows` rows are copied for windows that see them; planes are no power of two apart. */
static inline npy_intp copied_plane(const phintys_work* work, npy_intp rows) {
    return rows * work->plan.axis[X].length + work->what.set->lanes;
}

/* Bytes of a strip that is pooled: it is in the second cache, together with planes. */
enum { STRIP_BYTES = 1 << 17 };

/* Choose strips, and add what they need to the room of a worker. */
static void plan_strips(phintys_work* work) {
    phintys_pooled* pooled = work->after.pooled;
    const phintys_convolution* what = &work->what;
    const npy_intp rows = what->result[Y], length = what->result[X], *count = pooled->what.count;
    const npy_intp window = pooled->what.window[0], step = pooled->what.step[0];
    pooled->windows = larger(count[0], 1);
    pooled->strip = work->plan.out_plane;
    if (writes_rows(what->set->lanes, rows, length, work->plan.axis[X].length)) {
        const npy_intp at_once = STRIP_BYTES / (MOST_FILTERS * length * what->itemsize);
        pooled->windows = smaller(pooled->windows, larger(1, (at_once - window) / step + 1));
        pooled->strip = smaller(rows, (pooled->windows - 1) * step + window) * length;
    }
    pooled->at = work->plan.room;
    pooled->room_at = pooled->at + whole_lines(MOST_FILTERS * pooled->strip * what->itemsize);
    work->plan.room = pooled->room_at + whole_lines(pooled->what.room);
}

/* Whether vectors along the positions are quicker although there are many channels: filters of one element, and images
 * that would only be copied, or one image that is too large to be laid out twice. 16 channels and filters: one image of
 * 64 x 64 43 us instead of 75, 32 of 32 x 32 219 instead of 270. */
static int has_large_planes(const phintys_work* work) {
    const npy_intp lanes = work->what.set->lanes;
    if (work->plan.window > 1 || !work->plan.direct || work->plan.planes > 2 * lanes) return 0;
    return reads_in_place(work) || (work->what.images == 1 && work->plan.plane >= 128 * lanes);
}

/* At most so many results are computed without packed filters, if these have so many bytes. */
enum { NARROW_RESULTS = 40, NARROW_BYTES = 1 << 20 };
/* Columns and filters that stay in the first cache while all results use them. */
enum { NARROW_CHUNK = 1024, NARROW_FILTERS = 32 };

/* Whether there are few results and many filter elements; sets `results` and `columns` then. */
static int is_narrow(phintys_work* work) {
    const phintys_convolution* what = &work->what;
    const npy_intp columns = what->channels * work->plan.window, *count = what->result;
    const npy_intp results = what->images * count[Z] * count[Y] * count[X];
    work->how.few.results = work->how.few.columns = 0;
    if (work->after.pooled != NULL || results > NARROW_RESULTS || columns % what->set->lanes) return 0;
    if (what->filters * columns * what->itemsize < NARROW_BYTES) return 0;
    work->how.few.results = results;
    work->how.few.columns = columns;
    return 1;
}

/* How many items these have: blocks of filters and of results, and stretches of the columns. */
enum { NARROW_VECTORS = 12 };           /* of a stretch */
static npy_intp narrow_blocks(const phintys_work* work) {
    const npy_intp most = work->what.set->dots[0].filters;
    return (work->what.filters + most - 1) / most;
}
static npy_intp narrow_top_blocks(const phintys_work* work) {
    const npy_intp most = work->what.set->sizes[0].filters;
    return (work->how.few.results + most - 1) / most;
}
static npy_intp narrow_stretches(const phintys_work* work) {
    const npy_intp stretch = NARROW_VECTORS * work->what.set->lanes;
    return (work->how.few.columns + stretch - 1) / stretch;
}

/* Tables and copies for that. */
static void furnish_narrow(phintys_work* work, phintys_rooms* rooms) {
    const phintys_convolution* what = &work->what;
    const npy_intp class[AXES] = {0, 0, 0};
    if (rooms->memory != NULL && what->role == FORWARD) plan_taps(work, class, work->plan.offsets, work->plan.numbers);
    work->plan.room = larger(work->plan.prepared, 2 * work->plan.window * sizeof(npy_intp));
    work->call.rooms = phintys_rooms_of(rooms, what->workers, &work->plan.room);
    work->call.sums = phintys_room(rooms,
                                   (work->how.few.results + MOST_FILTERS) * work->how.few.columns * what->itemsize);
    work->call.tops = phintys_room(rooms, (work->how.few.results + MOST_FILTERS) * what->filters * what->itemsize);
}

/* A patch has 4 x 4 elements, and as many numbers. Loops run over multiples of ROUNDED squares. Between numbers there
 * are as many elements as loops write beyond a stretch, so that the distance is no power of two either. The weights of
 * some planes are transformed together. Transformed patches of one number are in the first cache, so that all filters
 * find them there; those of all numbers, and the sums of some filters, are in the second. */
enum { PATCH = 4, NUMBERS = PATCH * PATCH, ROUNDED = 8, BETWEEN = 16, PACKED_PLANES = 8 };

/* Whether the windows that results are pooled by are squares of results, as far as they are whole, and nothing but a
 * bias and limits comes before pooling. */
static int pools_squares(const phintys_work* work) {
    const phintys_pooling* windows = &work->after.pooled->what;
    for (int axis = 0; axis < 2; axis++)
        if (windows->window[axis] != 2 || windows->step[axis] != 2 || windows->pad[axis] != 0
                || windows->count[axis] != work->what.result[Y + axis] / 2) return 0;
    return work->after.pooled->first;
}

/* Whether squares are written as they are, and pooled after those of some images. */
static inline int keeps_results(const phintys_work* work) {
    return work->after.pooled != NULL && work->after.pooled->results != NULL;
}

/* Elements of a plane that squares are written to. */
static inline npy_intp written_plane(const phintys_work* work) {
    return work->after.pooled == NULL || keeps_results(work) ? work->plan.out_plane : work->after.pooled->plane;
}

/* Whether filters have 3 x 3 elements and move by one. */
static int filters_move_by_one(const phintys_convolution* what) {
    if (what->window[Z] * what->image[Z] * what->result[Z] != 1) return 0;
    for (int a = Y; a < AXES; a++)
        if (what->window[a] != 3 || what->stride[a] != 1 || what->dilation[a] != 1) return 0;
    return 1;
}

/* Such filters are multiplied by Winograd's method, with squares of 2 x 2 results, where this is quicker. It saves 20
 * products for each square, plane and filter; transforms take as long as so many products of float32: of the filters,
 * for each plane and filter, and of patches and results, for each square and plane or filter, which take longer in
 * short rows. Filters that are transformed are read from memory or the last cache for each stretch of squares, so they
 * may not be too large: 512 channels and filters, 8 images of 7 x 7 in float64 with AVX2 took 63 ms instead of 52.
 */
enum { SAVED_PRODUCTS = 20, OF_FILTERS = 400, OF_PATCHES = 440, OF_SHORT_PATCHES = 740, SHORT_ROW = 16 };
enum { MOST_SQUARE_FILTERS = 1 << 24 };     /* bytes */
static int has_squares(const phintys_work* work) {
    const phintys_convolution* what = &work->what;
    if (what->role == BY_FILTERS || !filters_move_by_one(what)) return 0;
    const npy_intp* lengths = lengths_of_results(what);
    const npy_intp squares = what->images * ((lengths[Y] + 1) / 2) * ((lengths[X] + 1) / 2);
    const npy_intp filters = work->plan.planes * work->plan.outs, longer = what->itemsize / (npy_intp)sizeof(float);
    const npy_intp of_squares = (lengths[X] < SHORT_ROW ? OF_SHORT_PATCHES : OF_PATCHES)
        * (work->plan.planes + work->plan.outs);
    return SAVED_PRODUCTS * longer * squares * filters > OF_FILTERS * filters + of_squares * squares
        && what->groups * filters * NUMBERS * what->itemsize <= MOST_SQUARE_FILTERS;
}

enum { SQUARE_BYTES = 24576, SQUARE_SUMS = 1 << 17, SQUARE_PART = 1 << 17, SQUARE_FILTERS = 1 << 18 };

/* Elements of a row of patches that is laid out, even or odd ones. */
static inline npy_intp square_row(const phintys_work* work) {
    return smaller(work->how.squares.at_once, work->how.squares.shape[X]) + 2 * ROUNDED;
}

/* Bytes of results that are pooled together, if squares are no windows. */
enum { KEPT_BYTES = 1 << 19 };

/* Room for the results of some images, if these are kept until they are pooled. */
static void furnish_results(phintys_work* work, phintys_rooms* rooms) {
    const phintys_convolution* what = &work->what;
    const npy_intp of_image = what->groups * work->plan.outs * work->plan.out_plane * what->itemsize;
    work->plan.images_at_once = what->images;
    if (work->after.pooled == NULL) return;
    work->after.pooled->results = work->after.pooled->rooms = NULL;
    if (pools_squares(work)) return;
    work->plan.images_at_once = larger(1, smaller(what->images, KEPT_BYTES / of_image));
    work->after.pooled->results = phintys_room(rooms, work->plan.images_at_once * of_image);
    work->after.pooled->rooms = phintys_rooms_of(rooms, what->workers, &work->after.pooled->what.room);
}

/* How many squares there are, and where they begin. */
static void plan_squares(phintys_work* work) {
    const phintys_convolution* what = &work->what;
    const npy_intp* lengths = lengths_of_results(what);
    work->how.squares.count = what->images;
    for (int a = Y; a < AXES; a++) {
        work->how.squares.shape[a] = (lengths[a] + 1) / 2;
        work->how.squares.before[a] = what->role == BY_IMAGES ? what->pad[a] - 2 : -what->pad[a];
        work->how.squares.count *= work->how.squares.shape[a];
    }
}

/* Tables and copies for squares. */
static void furnish_squares(phintys_work* work, phintys_rooms* rooms) {
    const phintys_convolution* what = &work->what;
    const phintys_convolution_set* set = what->set;
    const npy_intp lanes = set->lanes, most = set->sizes[0].filters, tile = set->sizes[0].widths[0].vectors * lanes;
    plan_squares(work);
    furnish_results(work, rooms);
    const npy_intp together = work->plan.images_at_once * work->how.squares.shape[Y] * work->how.squares.shape[X];
    const npy_intp share = ((together + what->workers - 1) / what->workers + lanes - 1) / lanes * lanes;
    const npy_intp fitting = SQUARE_BYTES / (work->plan.planes * what->itemsize) / tile * tile;
    work->how.squares.at_once = smaller(share, larger(tile, fitting));
    work->how.squares.blocks_at_once =
        larger(1, smaller(work->plan.blocks, SQUARE_SUMS / (NUMBERS * most * work->how.squares.at_once
                                                                          * what->itemsize)));
    const npy_intp rows = work->how.squares.at_once / work->how.squares.shape[X] + 3;   /* in how many these are */
    const npy_intp lines = larger((2 + 4 * rows) * square_row(work), 5 * (work->how.squares.at_once + ROUNDED));
    const npy_intp numbers = (work->plan.planes + work->how.squares.blocks_at_once * most) * work->how.squares.at_once
        + 2 * BETWEEN;
    take_packed(work, rooms, work->plan.outs, NUMBERS);
    work->plan.room = (NUMBERS * numbers + lines) * what->itemsize;
    work->call.rooms = phintys_rooms_of(rooms, what->workers, &work->plan.room);
}

/* How many squares are transformed at once for the gradient by filters: one of their 16 numbers, for all channels or
 * filters, is a part of the second cache. */
static npy_intp squares_in_cache(const phintys_work* work) {
    return SQUARE_PART / (larger(work->plan.planes, work->plan.outs) * work->what.itemsize);
}

/* The gradient by filters takes 1.1 to 2.1 times as long without squares if there are as many as here, and few of them
 * reach over the ends of results: 64 channels and filters, 32 images of 16 x 16: 2.84 ms instead of 5.67 (AVX2: 3.2
 * instead of 6.0), 256 of them, one image of 8 x 8: 0.53 instead of 0.80 (0.63 instead of 0.91). With 8 channels, whose
 * panels are one vector, it would take up to 1.6 times as long. */
enum { LEAST_SQUARES = 12, LEAST_CHANNELS = 12, LEAST_FILTERS = 8 };
static int has_square_sums(const phintys_work* work) {
    const phintys_convolution* what = &work->what;
    const npy_intp rows = (what->result[Y] + 1) / 2, columns = (what->result[X] + 1) / 2;
    if (!filters_move_by_one(what) || what->channels < LEAST_CHANNELS || what->filters < LEAST_FILTERS) return 0;
    if (what->images * rows * columns < LEAST_SQUARES || columns > squares_in_cache(work)) return 0;
    return 8 * rows * columns <= 3 * what->result[Y] * what->result[X]
        && NUMBERS * what->filters * what->channels * what->itemsize <= MOST_SQUARE_FILTERS;
}

/* Elements of a panel of transformed patches: as many as a tile takes. */
static inline npy_intp panel_of(const phintys_work* work) {
    return work->what.set->sizes[0].widths[0].vectors * work->what.set->lanes;
}

/* Tables and copies for squares by filters. */
static void furnish_square_sums(phintys_work* work, phintys_rooms* rooms) {
    const phintys_convolution* what = &work->what;
    const npy_intp lanes = what->set->lanes, most = what->set->sizes[0].filters, itemsize = what->itemsize;
    work->how.tall.channels = (work->plan.planes + lanes - 1) / lanes * lanes;
    plan_squares(work);
    work->plan.parts = parts_of_tall(work);
    work->how.squares.all_rows = what->images * work->how.squares.shape[Y];
    const npy_intp of_part = (what->images + work->plan.parts - 1) / work->plan.parts * work->how.squares.shape[Y];
    work->how.squares.rows_at_once = larger(1, smaller(of_part, squares_in_cache(work) / work->how.squares.shape[X]));
    work->how.squares.at_once = work->how.squares.rows_at_once * work->how.squares.shape[X];
    const npy_intp of_block = NUMBERS * (most * work->how.tall.channels + BETWEEN);
    work->how.squares.blocks_at_once = larger(1, SQUARE_FILTERS / (of_block * itemsize));
    const npy_intp patches = PATCH * (2 * work->how.squares.shape[X] + 2) * work->how.tall.channels;
    const npy_intp others = larger(4 * work->how.squares.shape[X] * most, work->plan.window * work->how.tall.channels);
    work->call.tall_bytes = NUMBERS * (work->how.squares.at_once * work->how.tall.channels + BETWEEN) * itemsize;
    work->call.top_bytes = NUMBERS * (work->how.squares.at_once * work->plan.padded_outs + BETWEEN) * itemsize;
    work->call.tall_sum_bytes = work->plan.blocks * of_block * itemsize;
    work->plan.room = larger(patches, others) * itemsize;
    work->plan.lays_out = 0;
    take_tall(work, rooms);
}

/* Fewest filters for which planes are laid out as follows. */
enum { COLUMN_FILTERS = 16 };

/* Lay planes out once for each column of a filter, moved by it, where this saves vectors: then rows of results follow
 * each other without what lies between rows of a plane. Images of 8 x 8 and 3 x 3 filters take 4 vectors of 16 instead
 * of 5, 5 x 5 filters 4 instead of 6. */
static void part_columns(phintys_work* work) {
    const phintys_convolution* what = &work->what;
    phintys_axis* axis = &work->plan.axis[X];
    const int forward = what->role == FORWARD;
    const npy_intp *count = forward ? what->result : what->image, lanes = what->set->lanes;
    const npy_intp flat = ((count[Y] - 1) * axis->length + count[X] + lanes - 1) / lanes;
    const npy_intp joined = (count[Y] * count[X] + lanes - 1) / lanes;
    if (what->role == BY_FILTERS || work->after.pooled != NULL || work->plan.passes > 1 || what->stride[X] > 1) return;
    if (axis->slots > 1 || what->window[X] == 1 || count[Y] < 2 || work->plan.outs < COLUMN_FILTERS) return;
    if (writes_rows(lanes, count[Y], count[X], axis->length) || 10 * joined > 9 * flat) return;
    work->plan.plane = work->plan.plane / axis->length * count[X] * what->window[X];
    axis->by_columns = forward ? 1 : -1;
    axis->origin = forward ? what->pad[X] : -what->pad[X];
    axis->slots = what->window[X];
    axis->length = count[X];
    work->plan.whole = work->plan.direct = 0;
}

/* With few planes of results, a tile of the gradient by images would load a vector for each product or two. So sums
 * over planes are computed for each tap, as if taps were filters of one element, and put into planes with borders of
 * zeros; then these are added, each at the offset of its tap. 32 images of 16 x 16, 16 filters of 3 x 3 of one channel:
 * 40 us instead of 82; 32 of 3 channels, 178 instead of 220. With AVX2, whose tiles have fewer filters, three channels
 * take longer (64 x 64, 3 x 3: 6.7 ms instead of 4.3), and so do planes that fill the second cache. */
enum { MOST_OUTS_APART = 3, LEAST_PLANES_APART = 8, MOST_BYTES_APART = 1 << 18 };
static void plan_taps_apart(phintys_work* work) {
    const phintys_convolution* what = &work->what;
    const npy_intp lanes = what->set->lanes, planes = work->plan.outs * work->plan.window;
    const npy_intp size = (planes * work->plan.plane + MOST_LANES) * what->itemsize;
    if (what->role != BY_IMAGES || work->plan.passes > 1 || !work->plan.whole || work->how.side.sets
        || work->plan.window == 1) return;
    const int large_tiles = !has_small_tiles(what->set);
    if (work->plan.outs > (large_tiles ? MOST_OUTS_APART : 1) || work->plan.planes < LEAST_PLANES_APART) return;
    if (size > MOST_BYTES_APART * (large_tiles && work->plan.outs == 1 ? 2 : 1)) return;
    if (what->image[X] < lanes || what->result[X] < lanes) return;
    work->how.apart = work->plan.direct = 1;
    work->plan.prepared = whole_lines(size);
}

/* Where the planes of the work are: how each axis is laid out, and whether operands are read where they are. */
static void plan_planes(phintys_work* work) {
    const phintys_convolution* what = &work->what;
    const int forward = what->role != BY_IMAGES;
    work->plan.direct = work->plan.whole = work->plan.beside = 1;
    work->how.apart = 0;
    work->plan.plane = work->plan.source_plane = work->plan.out_plane = work->plan.window = work->plan.passes = 1;
    for (int a = Z; a < AXES; a++) {
        phintys_axis* axis = &work->plan.axis[a];
        plan_axis(axis, what, a);
        work->plan.plane *= axis->slots * axis->length;
        work->plan.source_plane *= axis->source;
        work->plan.out_plane *= forward ? what->result[a] : what->image[a];
        work->plan.window *= what->window[a];
        work->plan.passes *= axis->classes;
        work->plan.whole &= axis->slots == 1 && axis->step == 1 && axis->origin >= 0
            && axis->origin + axis->source <= axis->length;
        work->plan.direct &= axis->slots == 1 && axis->step == 1 && axis->origin == 0 && axis->length == axis->source;
    }
    work->plan.planes = forward ? what->channels : what->filters;
    work->plan.outs = forward ? what->filters : what->channels;
}

/* Where each line, or each vector of joined lines, begins in planes. */
static void fill_lines(const phintys_work* work) {
    const npy_intp depth = work->how.lines.count / larger(1, work->what.result[Z]), lanes = work->what.set->lanes;
    const npy_intp vectors = work->how.lines.joined ? work->how.lines.top_line / lanes : 1,
        in_image = work->how.lines.count * vectors;
    const npy_intp image = work->plan.prepared / work->what.itemsize;
    for (npy_intp k = 0; k < (work->how.lines.joined ? work->plan.images_at_once : 1) * in_image; k++) {
        const npy_intp line = k % in_image / vectors, row = line / depth * work->plan.axis[Y].length + line % depth;
        work->how.lines.begin[k] = k / in_image * image + work->plan.beside * work->plan.axis[X].length * row
            + k % vectors * lanes;
    }
}

/* Tables and copies for the gradient by filters. */
static void furnish_gradient(phintys_work* work, phintys_rooms* rooms) {
    const phintys_convolution* what = &work->what;
    const npy_intp class[AXES] = {0, 0, 0};
    if (rooms->memory != NULL) plan_taps(work, class, work->plan.offsets, work->plan.numbers);
    work->how.tall.channels = 0;
    if (has_square_sums(work)) {
        furnish_square_sums(work, rooms);
        return;
    }
    if (4 * work->plan.planes >= 3 * what->set->lanes && !has_large_planes(work)) {
        furnish_positions(work, rooms);
        return;
    }
    plan_lines(work);
    const npy_intp vectors = work->how.lines.joined ? work->plan.images_at_once
        * work->how.lines.top_line / what->set->lanes : 1;
    work->how.lines.begin = phintys_room(rooms, work->how.lines.count * vectors * sizeof(npy_intp));
    const npy_intp in_lines = work->how.lines.top_in_place ? 0 : what->filters * work->how.lines.count
        * work->how.lines.top_line;
    work->plan.room = work->plan.images_at_once * work->plan.prepared
        + whole_lines(work->plan.images_at_once * in_lines * what->itemsize);
    work->plan.rows_at = work->plan.room;
    if (work->plan.beside > 1) work->plan.room += work->plan.beside * work->plan.plane * what->itemsize;
    work->call.rooms = phintys_rooms_of(rooms, work->plan.by_images ? what->workers : 1, &work->plan.room);
    take_sums(work, rooms);
    if (rooms->memory == NULL) return;
    fill_lines(work);
}

/* Fill the tables of taps: those of each pass, and where taps are in planes side by side or apart. */
static void fill_taps(phintys_work* work) {
    const phintys_convolution* what = &work->what;
    npy_intp cursor = 0;
    for (npy_intp number = 0; number < work->plan.passes; number++) plan_pass(work, &work->plan.pass[number], number,
                                                                              &cursor);
    for (npy_intp k = 0; k < work->plan.window; k++)
        work->how.side.offsets[k] = work->how.apart ? work->plan.numbers[k] * work->plan.plane + work->plan.offsets[k]
                                            : work->plan.offsets[k] * what->set->lanes;
    for (npy_intp k = 0; k < work->plan.window && work->how.apart; k++)
        if (what->itemsize == sizeof(float)) ((float*)work->call.ones)[k] = 1;
        else ((double*)work->call.ones)[k] = 1;
}

/* Tables and copies for results, and for the gradient by images, in tiles. */
static void furnish_tiles(phintys_work* work, phintys_rooms* rooms) {
    const phintys_convolution* what = &work->what;
    work->plan.pass = phintys_room(rooms, work->plan.passes * sizeof(phintys_pass));
    plan_taps_apart(work);
    if (work->after.pooled != NULL) {         /* a window may see all rows */
        const npy_intp copied = work->plan.planes * copied_plane(work, work->plan.axis[Y].length);
        work->plan.prepared = larger(work->plan.prepared, whole_lines(copied * what->itemsize));
    }
    if (work->how.apart) take_packed(work, rooms, work->plan.outs * work->plan.window, 1);
    else take_packed(work, rooms, work->plan.outs, work->plan.window);
    work->plan.room = work->plan.prepared;
    work->plan.room += whole_lines(MOST_FILTERS * what->itemsize
                              * (larger(ROOM_ELEMENTS, work->plan.axis[X].length) + work->plan.axis[X].length
                                 + MOST_LANES));
    if (work->after.pooled != NULL) plan_strips(work);
    if (work->how.side.sets) work->plan.room = larger(work->plan.room, room_side_by_side(work));
    work->how.side.offsets = phintys_room(rooms, work->plan.window * sizeof(npy_intp));
    work->call.ones = phintys_room(rooms, work->how.apart ? work->plan.window * what->itemsize : 0);
    work->call.rooms = phintys_rooms_of(rooms, what->workers, &work->plan.room);
    if (rooms->memory != NULL) fill_taps(work);
}

/* Plan the work, with tables and copies in rooms. */
static void plan_convolution(phintys_work* work, phintys_rooms* rooms) {
    const phintys_convolution* what = &work->what;
    plan_planes(work);
    plan_blocks(work);
    work->how.side.sets = sets_of_images(work);
    work->how.squares.count = has_squares(work);
    if (!work->how.squares.count && (what->images == 1 || work->how.side.sets == 0)) part_columns(work);
    work->plan.offsets = phintys_room(rooms, work->plan.window * sizeof(npy_intp));
    work->plan.numbers = phintys_room(rooms, work->plan.window * sizeof(npy_intp));
    work->plan.rows = phintys_room(rooms, work->plan.window * sizeof(npy_intp));
    work->plan.prepared = whole_lines((work->plan.planes * work->plan.plane + MOST_LANES) * what->itemsize);
    if (what->role == BY_FILTERS) furnish_gradient(work, rooms);
    else if (work->how.squares.count) furnish_squares(work, rooms);
    else if (is_narrow(work)) furnish_narrow(work, rooms);
    else furnish_tiles(work, rooms);
}

/* ---- the loops for each type ------------------------------------------------------------------------------------- */
#define LOOPS "convolution/convolution_sets.template.h"
#define FLOATS
#include "native/each_set.h"
BY_SET_OF_FLOATS(part_line);
BY_SET_OF_FLOATS(transform_patches);
BY_SET_OF_FLOATS(transform_sums);
BY_SET_OF_FLOATS(limit);

#define T float
#include "convolution_passes.template.h"
#undef T
#define T double
#include "convolution_passes.template.h"
#undef T

/* The loops of an element size for a set. */
static const phintys_convolution_set* convolution_set(int itemsize, int set) {
    static const phintys_convolution_set* const of_float[PHINTYS_SETS] = FOR_EACH_SET(&convolution_float);
    static const phintys_convolution_set* const of_double[PHINTYS_SETS] = FOR_EACH_SET(&convolution_double);
    return itemsize == sizeof(float) ? of_float[set] : of_double[set];
}

static const phintys_convolution_tasks* convolution_tasks(int itemsize) {
    return itemsize == sizeof(float) ? &convolution_tasks_float : &convolution_tasks_double;
}

#endif
