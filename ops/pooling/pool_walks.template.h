/* The gradient of max pooling with windows of 2 x 2 or 3 x 3 at steps of 1 or 2, for one type T and one instruction
 * set. pool_walks.h says when, pool_sets.template.h defines VECTOR and the operations on it.
 *
 * Columns are walked downwards, one vector at steps of 1, two at steps of 2. A row of windows is read once and compared
 * with the rows that it covers, whose values and sums are in registers. At steps of 2 the two vectors are parted into
 * even and odd columns within their lanes of 16 bytes, and the maxima and gradients of a row of windows are put into
 * the same order. Slot `s` of a column has its window number column / step - s; windows that do not exist count as 0.
 */
enum { TYPED(walk_lanes) = SET_BYTES / sizeof(T) };

/* Where images are that follow each other in memory: `count` of them, or as many pairs. */
typedef struct {
    const T *x, *maxima, *gradient;
    T* out;
    npy_intp count;
} TYPED(walked);

/* The lengths of an image and its windows, and which part of it: rows [first, last), and columns from `column` on. What
 * is `ahead` elements further on is fetched meanwhile, if this is not 0. */
typedef struct {
    npy_intp rows, line, windows, width, elements, results;
    npy_intp first, last, column, ahead;
} TYPED(part);

/* Ask for what a later row of windows at steps of 1 will need. It comes into the second cache: in the first one, it
 * would replace what is just being read (2.2 ms instead of 1.4, with 2^21 elements in images of 64 x 64). */
PHINTYS_INLINE void TYPED(fetch_near)(const T* place) { __builtin_prefetch(place, 0, 2); }

/* Ask for a later part of a row, and for where its result goes. With AVX2 more is computed until it is needed, and the
 * second cache is near enough. */
PHINTYS_INLINE void TYPED(fetch)(const T* x, T* out) {
    __builtin_prefetch(x, 0, SET_BYTES == 64 ? 3 : 2);
    __builtin_prefetch(out, 1, SET_BYTES == 64 ? 3 : 2);
}

/* How many elements ahead of what is walked this is asked for: a stripe, or several if it comes into the second cache
 * (8 MB in images of 64 x 64, windows of 3 x 3 at steps of 1: 1.27 ms, 1.66 one stripe ahead). */
PHINTYS_INLINE npy_intp TYPED(distance)(const phintys_pooling* p, const phintys_column_walk* walk, npy_intp stripe) {
    const int stripes = p->step[0] == 1 || SET_BYTES == 32 ? 4 : 1;
    if (walk->framed || walk->images * walk->elements * (npy_intp)sizeof(T) <= POOL_FAR_BYTES) return 0;
    if (phintys_pool_at_once(walk) > 1) return 2 * walk->elements;
    return stripes * phintys_least(stripe, walk->rows) * walk->line;
}

/* The lanes of a slot whose window exists, of which the first lane has number `number`. */
PHINTYS_INLINE MASK TYPED(windows_there)(const int paired, npy_intp number, npy_intp count) {
    const npy_intp lanes = paired ? TYPED(walk_lanes) / 2 : TYPED(walk_lanes);
    const npy_intp from = number < 0 ? phintys_least(-number, lanes) : 0;
    const npy_intp to = phintys_least(phintys_most(count - number, 0), lanes);
    return MASK_BETWEEN(paired, (int)from, (int)to);
}

PHINTYS_INLINE void TYPED(ones_down)(const int window, const TYPED(part)* part, const MASK* there, const T* x,
                                     const T* maxima, const T* gradient, T* out) {
    const npy_intp line = part->line, width = part->width, stop = phintys_least(part->last, part->windows);
    npy_intp t = phintys_most(part->first - (window - 1), 0);
    VECTOR values[3], sums[3] = {{0}};
#pragma GCC unroll 3
    for (int k = 0; k < window - 1; k++) values[k] = LOAD(x + (t + k) * line);
    for (; t < stop; t++) {
        VECTOR m[3], g[3];
        if (part->ahead) {
            TYPED(fetch_near)(x + t * line + part->ahead);
            TYPED(fetch_near)(out + t * line + part->ahead);
            TYPED(fetch_near)(maxima + t * width + part->ahead);
            TYPED(fetch_near)(gradient + t * width + part->ahead);
        }
        values[window - 1] = LOAD(x + (t + window - 1) * line);
#pragma GCC unroll 3
        for (int slot = 0; slot < window; slot++) {
            m[slot] = LOAD(maxima + t * width - slot);
            g[slot] = LOAD_WHERE(there[slot], gradient + t * width - slot);
        }
        sums[window - 1] = IF_EQUAL(values[window - 1], m[0], g[0]);
#pragma GCC unroll 3
        for (int k = 0; k < window; k++)
#pragma GCC unroll 3
            for (int slot = k == window - 1; slot < window; slot++)
                sums[k] = ADD_WHERE_EQUAL(sums[k], values[k], m[slot], g[slot]);
        if (t >= part->first) STORE(out + t * line, sums[0]);
#pragma GCC unroll 3
        for (int k = 0; k < window - 1; k++) values[k] = values[k + 1], sums[k] = sums[k + 1];
    }
    sums[window - 1] = (VECTOR){0};
    for (; t < part->last; t++) {                               /* rows below the last row of windows */
        if (t >= part->first) STORE(out + t * line, sums[0]);
        sums[0] = sums[1], sums[1] = (VECTOR){0};
    }
}

PHINTYS_INLINE void TYPED(walk_ones)(const int window, const TYPED(part)* part, TYPED(walked) images) {
    MASK there[3];
#pragma GCC unroll 3
    for (int slot = 0; slot < window; slot++)
        there[slot] = TYPED(windows_there)(0, part->column - slot, part->width);
    for (npy_intp n = 0; n < images.count; n++) {
        const npy_intp at = n * part->elements + part->column, result = n * part->results + part->column;
        TYPED(ones_down)(window, part, there, images.x + at, images.maxima + result, images.gradient + result,
                         images.out + at);
    }
}

/* Even and odd columns of a row: a vector of each. */
typedef struct { VECTOR even, odd; } TYPED(columns);

PHINTYS_INLINE TYPED(columns) TYPED(load_columns)(const T* x, npy_intp apart) {
    const VECTOR first = LOAD(x), second = LOAD(x + apart);
    return (TYPED(columns)){EVEN_IN_LANES(first, second), ODD_IN_LANES(first, second)};
}

PHINTYS_INLINE void TYPED(store_columns)(T* out, npy_intp apart, TYPED(columns) sums) {
    STORE(out, LOW_IN_LANES(sums.even, sums.odd));
    STORE(out + apart, HIGH_IN_LANES(sums.even, sums.odd));
}

PHINTYS_INLINE VECTOR TYPED(load_windows)(const int paired, const T* from, npy_intp apart) {
    return PARTED(paired ? (VECTOR)HALVES(from, from + apart) : LOAD(from));
}

PHINTYS_INLINE VECTOR TYPED(load_given)(const int paired, MASK there, const T* from, npy_intp apart) {
    if (paired) return PARTED(ZERO_ELSE(there, HALVES(from, from + apart)));
    return PARTED(LOAD_WHERE(there, from));
}

PHINTYS_INLINE void TYPED(add_row)(const int window, TYPED(columns)* sums, TYPED(columns) values,
                                   const VECTOR* m, const VECTOR* g) {
    sums->even = ADD_WHERE_EQUAL(sums->even, values.even, m[0], g[0]);
    sums->odd = ADD_WHERE_EQUAL(sums->odd, values.odd, m[0], g[0]);
    if (window == 3) sums->even = ADD_WHERE_EQUAL(sums->even, values.even, m[1], g[1]);
}

/* The first row of windows of a row of the image. */
PHINTYS_INLINE TYPED(columns) TYPED(first_row)(const int window, TYPED(columns) values, const VECTOR* m,
                                               const VECTOR* g) {
    TYPED(columns) sums = {IF_EQUAL(values.even, m[0], g[0]), IF_EQUAL(values.odd, m[0], g[0])};
    if (window == 3) sums.even = ADD_WHERE_EQUAL(sums.even, values.even, m[1], g[1]);
    return sums;
}

PHINTYS_INLINE void TYPED(twos_down)(const int window, const int paired, const TYPED(part)* part,
                                     const MASK* there, const T* x, const T* maxima, const T* gradient,
                                     T* out) {
    const npy_intp line = part->line, width = part->width, results = part->results;
    const npy_intp stop = phintys_least((part->last + 1) / 2, part->windows);
    const npy_intp apart = paired ? part->elements : TYPED(walk_lanes);
    npy_intp t = phintys_most(part->first / 2 - (window == 3), 0), row;
    TYPED(columns) values = {{0}, {0}}, sums = {{0}, {0}}, next;
    if (window == 3) values = TYPED(load_columns)(x + 2 * t * line, apart);
    for (; t < stop; t++) {
        VECTOR m[2], g[2];
        row = 2 * t;
        if (part->ahead) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                const npy_intp place = (row + k / 2) * line + k % 2 * apart + part->ahead;
                if (k % 2 == 0 || SET_BYTES == 64 || paired) TYPED(fetch)(x + place, out + place);
            }
        }
#pragma GCC unroll 2
        for (int slot = 0; slot < window - 1; slot++) {
            m[slot] = TYPED(load_windows)(paired, maxima + t * width - slot, results);
            g[slot] = TYPED(load_given)(paired, there[slot], gradient + t * width - slot, results);
        }
        if (window == 3) TYPED(add_row)(window, &sums, values, m, g);
        else sums = TYPED(first_row)(window, TYPED(load_columns)(x + row * line, apart), m, g);
        next = TYPED(first_row)(window, TYPED(load_columns)(x + (row + 1) * line, apart), m, g);
        if (row >= part->first) {
            TYPED(store_columns)(out + row * line, apart, sums);
            TYPED(store_columns)(out + (row + 1) * line, apart, next);
        }
        if (window == 3) {
            values = TYPED(load_columns)(x + (row + 2) * line, apart);
            sums = TYPED(first_row)(window, values, m, g);
        }
    }
    if (window == 2) sums = (TYPED(columns)){{0}, {0}};
    for (row = 2 * t; row < part->last; row++) {                /* rows below the last row of windows */
        if (row >= part->first) TYPED(store_columns)(out + row * line, apart, sums);
        sums = (TYPED(columns)){{0}, {0}};
    }
}

PHINTYS_INLINE void TYPED(walk_twos)(const int window, const int paired, const TYPED(part)* part,
                                     TYPED(walked) images) {
    const npy_intp number = part->column / 2;
    MASK there[2];
#pragma GCC unroll 2
    for (int slot = 0; slot < window - 1; slot++)
        there[slot] = TYPED(windows_there)(paired, number - slot, part->width);
    for (npy_intp n = 0; n < images.count; n++) {
        const npy_intp at = (1 + paired) * n * part->elements + part->column;
        const npy_intp result = (1 + paired) * n * part->results + number;
        TYPED(twos_down)(window, paired, part, there, images.x + at, images.maxima + result, images.gradient + result,
                         images.out + at);
    }
}

/* Stripes of rows that stay in the first cache, from the left to the right. The last columns are those that end where
 * the row ends, so some of them are computed twice. */
PHINTYS_INLINE void TYPED(walk_stripes)(const int window, const int step, const int paired, npy_intp stripe,
                                        TYPED(part) part, TYPED(walked) images) {
    const npy_intp columns = TYPED(walk_lanes) * (paired ? 1 : step);
    for (part.first = 0; part.first < part.rows; part.first = part.last) {
        part.last = part.rows - part.first < stripe + stripe / 2 ? part.rows : part.first + stripe;
        for (npy_intp column = 0; column < part.line; column += columns) {
            part.column = phintys_least(column, part.line - columns);
            if (step == 1) TYPED(walk_ones)(window, &part, images);
            else TYPED(walk_twos)(window, paired, &part, images);
        }
    }
}

#define WALK(NAME, WINDOW, STEP, PAIRED) \
    static void TYPED(NAME)(npy_intp stripe, TYPED(part) part, TYPED(walked) images) { \
        TYPED(walk_stripes)(WINDOW, STEP, PAIRED, stripe, part, images); \
    }
WALK(walk_twos_by_one, 2, 1, 0)
WALK(walk_threes_by_one, 3, 1, 0)
WALK(walk_twos_by_two, 2, 2, 0)
WALK(walk_threes_by_two, 3, 2, 0)
WALK(walk_pairs_of_twos, 2, 2, 1)
WALK(walk_pairs_of_threes, 3, 2, 1)
#undef WALK

/* Some images, or pairs. */
static void TYPED(walk_some)(const phintys_pooling* p, const phintys_column_walk* walk,
                             TYPED(walked) images) {
    static void (*const walks[])(npy_intp stripe, TYPED(part) part, TYPED(walked) images) = {
        [POOL_TWOS_BY_ONE] = TYPED(walk_twos_by_one), [POOL_THREES_BY_ONE] = TYPED(walk_threes_by_one),
        [POOL_TWOS] = TYPED(walk_twos_by_two), [POOL_THREES] = TYPED(walk_threes_by_two),
        [POOL_PAIRS_OF_TWOS] = TYPED(walk_pairs_of_twos), [POOL_PAIRS_OF_THREES] = TYPED(walk_pairs_of_threes)};
    const npy_intp stripe = phintys_pool_stripe(walk, sizeof(T));
    TYPED(part) part = {walk->rows, walk->line, p->count[0], p->count[1], walk->elements, walk->results};
    part.ahead = TYPED(distance)(p, walk, stripe);
    walks[walk->kind](stripe, part, images);
}

#define EACH_ROW(COPY) for (npy_intp row = 0; row < rows; row++, to += to_stride, from += from_stride) COPY;
/* Copy an image into its frame, or back. */
static void TYPED(copy_framed)(const phintys_pooling* p, const phintys_column_walk* walk, T* image, T* frame,
                               int back) {
    const npy_intp rows = p->shape[p->outer], bytes = p->shape[p->outer + 1] * sizeof(T), line = walk->line * sizeof(T);
    const npy_intp to_stride = back ? bytes : line, from_stride = back ? line : bytes;
    char* const framed = (char*)(frame + p->pad[0] * walk->line + p->pad[1]);
    char *to = back ? (char*)image : framed, *from = back ? framed : (char*)image;
    WALK_ROWS(EACH_ROW, to, from, bytes)
}
#undef EACH_ROW

/* One image, or two at once, of which the second may be missing. At the ends of memory, beyond which nothing may be
 * read, maxima and gradients are copied. */
static void TYPED(walk_one)(const phintys_pooling* p, const phintys_column_walk* walk, TYPED(walked) images,
                            npy_intp count, int at_end, T* memory) {
    const npy_intp results = walk->results, at_once = phintys_pool_at_once(walk);
    const npy_intp space = at_once * results + 3 * TYPED(walk_lanes);
    T *maxima = memory + TYPED(walk_lanes), *gradient = maxima + space;
    T *frame = memory + 2 * space, *frame_out = frame + at_once * walk->elements, *out = images.out;
    const int framed = walk->framed || count < at_once;
    images.count = 1;
    if (at_end) {
        memcpy(maxima, images.maxima, count * results * sizeof(T));
        memcpy(gradient, images.gradient, count * results * sizeof(T));
        images.maxima = maxima, images.gradient = gradient;
    }
    if (framed) {
        for (npy_intp n = 0; n < count; n++)
            TYPED(copy_framed)(p, walk, (T*)images.x + n * walk->size, frame + n * walk->elements, 0);
        images.x = frame, images.out = frame_out;
    }
    TYPED(walk_some)(p, walk, images);
    for (npy_intp n = 0; framed && n < count; n++)
        TYPED(copy_framed)(p, walk, out + n * walk->size, frame_out + n * walk->elements, 1);
}

static void TYPED(walk_gradient)(const phintys_pooling* p, const phintys_column_walk* walk, npy_intp first,
                                 npy_intp last, char* memory) {
    const npy_intp size = walk->size, results = walk->results, at_once = phintys_pool_at_once(walk);
    const npy_intp inside = walk->images - 2 * TYPED(walk_lanes) / results - 1; /* images after it are read beyond it */
    const npy_intp in_cache = phintys_most(POOL_BLOCK_BYTES / (size * sizeof(T)), at_once);
    memset(memory, 0, walk->room);                              /* what is beside an image in its frame */
    while (first < last) {
        TYPED(walked) images = {(const T*)p->images[0].data + first * size,
                                (const T*)p->images[1].data + first * results,
                                (const T*)p->images[2].data + first * results,
                                (T*)p->images[3].data + first * size};
        npy_intp count = phintys_least(last, inside) - first;
        images.count = first && !walk->framed ? phintys_least(count, in_cache) / at_once : 0;
        if (images.count > 0) {
            count = images.count * at_once;
            TYPED(walk_some)(p, walk, images);
        } else {
            const int at_end = !first || count < at_once;
            count = phintys_least(at_once, last - first);
            TYPED(walk_one)(p, walk, images, count, at_end, (T*)memory);
        }
        first += count;
    }
}
#undef MASK
#undef MASK_BETWEEN
#undef ZERO_ELSE
#undef LOAD_WHERE
#undef HALVES
#undef PARTED
#undef EVEN_IN_LANES
#undef ODD_IN_LANES
#undef LOW_IN_LANES
#undef HIGH_IN_LANES
#undef IF_EQUAL
#undef ADD_WHERE_EQUAL
