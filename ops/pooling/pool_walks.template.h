/* The gradient of max pooling with windows of 2 x 2 or 3 x 3 at steps of 1 or 2, for one type T and one instruction
 * set. pool_tables.h says when, and defines VECTOR and the operations on it.
 *
 * Columns are walked downwards, one vector at steps of 1, two at steps of 2. A row of windows is read once and compared
 * with the rows that it covers, whose values and sums are in registers. At steps of 2 the two vectors are parted into
 * even and odd columns within their lanes of 16 bytes, and the maxima and gradients of a row of windows are put into
 * the same order. Slot `s` of a column has its window number column / step - s; windows that do not exist count as 0.
 */
#define IN_SET(NAME) PHINTYS_NAMED(TYPED(NAME), SET)
enum { IN_SET(walk_lanes) = VECTOR_BYTES / sizeof(T) };

/* One image, or where the first of two are. */
typedef struct {
    const T *x, *maxima, *gradient;
    T* out;
} IN_SET(image);

/* Which part of it: rows [first, last), and columns from `column` on. What is `ahead` elements further on is fetched
 * meanwhile, if this is not 0. */
typedef struct { npy_intp first, last, column, ahead; } IN_SET(part);

/* Ask for what a later row of windows at steps of 1 will need. It comes into the second cache: in the first one, it
 * would replace what is just being read (2.2 ms instead of 1.4, with 2^21 elements in images of 64 x 64). */
PHINTYS_INLINE void IN_SET(fetch_near)(const T* place) { __builtin_prefetch(place, 0, 2); }

/* Ask for a later part of a row, and for where its result goes. */
PHINTYS_INLINE void IN_SET(fetch)(const T* x, T* out) {
    __builtin_prefetch(x, 0, 3);
    __builtin_prefetch(out, 1, 3);
}

/* The lanes of a slot whose window exists, of which the first lane has number `number`. */
FOR_SET PHINTYS_INLINE MASK IN_SET(windows_there)(const int paired, npy_intp number, npy_intp count) {
    const npy_intp lanes = paired ? IN_SET(walk_lanes) / 2 : IN_SET(walk_lanes);
    const npy_intp from = number < 0 ? phintys_least(-number, lanes) : 0;
    const npy_intp to = phintys_least(phintys_most(count - number, 0), lanes);
    return MASK_BETWEEN(paired, (int)from, (int)to);
}

FOR_SET PHINTYS_INLINE void IN_SET(walk_ones)(const int window, const phintys_pooling* p, IN_SET(image) image,
                                              IN_SET(part) part) {
    const npy_intp line = p->shape[p->outer + 1], width = p->count[1], stop = phintys_least(part.last, p->count[0]);
    const T *x = image.x + part.column, *maxima = image.maxima + part.column, *gradient = image.gradient + part.column;
    T* out = image.out + part.column;
    npy_intp t = phintys_most(part.first - (window - 1), 0);
    VECTOR values[3], sums[3] = {{0}};
    MASK there[3];
#pragma GCC unroll 3
    for (int slot = 0; slot < window; slot++) there[slot] = IN_SET(windows_there)(0, part.column - slot, width);
#pragma GCC unroll 3
    for (int k = 0; k < window - 1; k++) values[k] = LOAD(x + (t + k) * line);
    for (; t < stop; t++) {
        VECTOR m[3], g[3];
        if (part.ahead) {
            IN_SET(fetch_near)(x + t * line + part.ahead);
            IN_SET(fetch_near)(out + t * line + part.ahead);
            IN_SET(fetch_near)(maxima + t * width + part.ahead);
            IN_SET(fetch_near)(gradient + t * width + part.ahead);
        }
        values[window - 1] = LOAD(x + (t + window - 1) * line);
#pragma GCC unroll 3
        for (int slot = 0; slot < window; slot++) {
            m[slot] = LOAD(maxima + t * width - slot);
            g[slot] = LOAD_WHERE(there[slot], gradient + t * width - slot);
        }
        sums[window - 1] = (VECTOR){0};
#pragma GCC unroll 3
        for (int k = 0; k < window; k++)
#pragma GCC unroll 3
            for (int slot = 0; slot < window; slot++)
                sums[k] = ADD_WHERE_EQUAL(sums[k], values[k], m[slot], g[slot]);
        if (t >= part.first) STORE(out + t * line, sums[0]);
#pragma GCC unroll 3
        for (int k = 0; k < window - 1; k++) values[k] = values[k + 1], sums[k] = sums[k + 1];
    }
    sums[window - 1] = (VECTOR){0};
    for (; t < part.last; t++) {                                /* rows below the last row of windows */
        if (t >= part.first) STORE(out + t * line, sums[0]);
        sums[0] = sums[1], sums[1] = (VECTOR){0};
    }
}

/* Even and odd columns of a row: a vector of each. */
typedef struct { VECTOR even, odd; } IN_SET(columns);

FOR_SET PHINTYS_INLINE IN_SET(columns) IN_SET(load_columns)(const T* x, npy_intp apart) {
    const VECTOR first = LOAD(x), second = LOAD(x + apart);
    return (IN_SET(columns)){EVEN_IN_LANES(first, second), ODD_IN_LANES(first, second)};
}

FOR_SET PHINTYS_INLINE void IN_SET(store_columns)(T* out, npy_intp apart, IN_SET(columns) sums) {
    STORE(out, LOW_IN_LANES(sums.even, sums.odd));
    STORE(out + apart, HIGH_IN_LANES(sums.even, sums.odd));
}

FOR_SET PHINTYS_INLINE VECTOR IN_SET(load_windows)(const int paired, const T* from, npy_intp apart) {
    return PARTED(paired ? HALVES(from, from + apart) : LOAD(from));
}

FOR_SET PHINTYS_INLINE VECTOR IN_SET(load_given)(const int paired, MASK there, const T* from, npy_intp apart) {
    if (paired) return PARTED(ZERO_ELSE(there, HALVES(from, from + apart)));
    return PARTED(LOAD_WHERE(there, from));
}

FOR_SET PHINTYS_INLINE void IN_SET(add_row)(const int window, IN_SET(columns)* sums, IN_SET(columns) values,
                                            const VECTOR* m, const VECTOR* g) {
    sums->even = ADD_WHERE_EQUAL(sums->even, values.even, m[0], g[0]);
    sums->odd = ADD_WHERE_EQUAL(sums->odd, values.odd, m[0], g[0]);
    if (window == 3) sums->even = ADD_WHERE_EQUAL(sums->even, values.even, m[1], g[1]);
}

FOR_SET PHINTYS_INLINE void IN_SET(walk_twos)(const int window, const int paired, const phintys_pooling* p,
                                              npy_intp elements, npy_intp results, IN_SET(image) image,
                                              IN_SET(part) part) {
    const npy_intp line = p->shape[p->outer + 1], width = p->count[1];
    const npy_intp stop = phintys_least((part.last + 1) / 2, p->count[0]), number = part.column / 2;
    const npy_intp apart = paired ? elements : IN_SET(walk_lanes);
    const T *x = image.x + part.column, *maxima = image.maxima + number, *gradient = image.gradient + number;
    T* out = image.out + part.column;
    npy_intp t = phintys_most(part.first / 2 - (window == 3), 0), row;
    IN_SET(columns) values = {{0}, {0}}, sums = {{0}, {0}};
    MASK there[2];
#pragma GCC unroll 2
    for (int slot = 0; slot < window - 1; slot++) there[slot] = IN_SET(windows_there)(paired, number - slot, width);
    if (window == 3) values = IN_SET(load_columns)(x + 2 * t * line, apart);
    for (; t < stop; t++) {
        IN_SET(columns) next = {{0}, {0}};
        VECTOR m[2], g[2];
        row = 2 * t;
        if (part.ahead) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                const npy_intp place = (row + k / 2) * line + k % 2 * apart + part.ahead;
                if (k % 2 == 0 || VECTOR_BYTES == 64 || paired) IN_SET(fetch)(x + place, out + place);
            }
        }
#pragma GCC unroll 2
        for (int slot = 0; slot < window - 1; slot++) {
            m[slot] = IN_SET(load_windows)(paired, maxima + t * width - slot, results);
            g[slot] = IN_SET(load_given)(paired, there[slot], gradient + t * width - slot, results);
        }
        if (window == 2) values = IN_SET(load_columns)(x + row * line, apart);
        IN_SET(add_row)(window, &sums, values, m, g);
        if (row >= part.first) IN_SET(store_columns)(out + row * line, apart, sums);
        IN_SET(add_row)(window, &next, IN_SET(load_columns)(x + (row + 1) * line, apart), m, g);
        if (row >= part.first) IN_SET(store_columns)(out + (row + 1) * line, apart, next);
        sums = (IN_SET(columns)){{0}, {0}};
        if (window == 3) {
            values = IN_SET(load_columns)(x + (row + 2) * line, apart);
            IN_SET(add_row)(window, &sums, values, m, g);
        }
    }
    for (row = 2 * t; row < part.last; row++) {                 /* rows below the last row of windows */
        if (row >= part.first) IN_SET(store_columns)(out + row * line, apart, sums);
        sums = (IN_SET(columns)){{0}, {0}};
    }
}

FOR_SET PHINTYS_INLINE void IN_SET(walk_part)(const phintys_pooling* p, const phintys_pool_table* table,
                                              IN_SET(image) image, IN_SET(part) part) {
    const npy_intp elements = table->elements, results = table->results;
    switch (table->direct) {
        case POOL_TWOS_BY_ONE: IN_SET(walk_ones)(2, p, image, part); break;
        case POOL_THREES_BY_ONE: IN_SET(walk_ones)(3, p, image, part); break;
        case POOL_TWOS: IN_SET(walk_twos)(2, 0, p, elements, results, image, part); break;
        case POOL_THREES: IN_SET(walk_twos)(3, 0, p, elements, results, image, part); break;
        case POOL_PAIRS_OF_TWOS: IN_SET(walk_twos)(2, 1, p, elements, results, image, part); break;
        default: IN_SET(walk_twos)(3, 1, p, elements, results, image, part);
    }
}

/* One image, or two: stripes of rows that stay in the first cache, from the left to the right. The last columns are
 * those that end where the row ends, so some of them are computed twice. */
FOR_SET static void IN_SET(walk_image)(const phintys_pooling* p, const phintys_pool_table* table, IN_SET(image) image) {
    const npy_intp rows = p->shape[p->outer], line = table->line;
    const npy_intp columns = IN_SET(walk_lanes) * (table->direct == POOL_TWOS || table->direct == POOL_THREES ? 2 : 1);
    const npy_intp fitting = POOL_STRIPE_BYTES / (line * sizeof(T)) / 2 * 2, stripe = phintys_most(fitting, 8);
    IN_SET(part) part = {.ahead = 0};
    if (table->images * table->elements * (npy_intp)sizeof(T) > POOL_FAR_BYTES)
        part.ahead = phintys_pool_at_once(table) > 1 ? 2 * table->elements : phintys_least(stripe, rows) * line;
    for (part.first = 0; part.first < rows; part.first = part.last) {
        part.last = rows - part.first < stripe + stripe / 2 ? rows : part.first + stripe;
        for (npy_intp column = 0; column < line; column += columns) {
            part.column = phintys_least(column, line - columns);
            IN_SET(walk_part)(p, table, image, part);
        }
    }
}

/* The same at the ends of memory, beyond which nothing may be read: maxima and gradients are copied, and a single image
 * of two. */
FOR_SET static void IN_SET(walk_at_end)(const phintys_pooling* p, const phintys_pool_table* table, IN_SET(image) image,
                                        npy_intp count, char* memory) {
    const npy_intp elements = table->elements, results = table->results, at_once = phintys_pool_at_once(table);
    const npy_intp space = at_once * results + 3 * IN_SET(walk_lanes);
    T *maxima = (T*)memory + IN_SET(walk_lanes), *gradient = maxima + space, *x = gradient + space;
    T *out = image.out, *copy = x + at_once * elements;
    memset(memory, 0, 2 * space * sizeof(T));
    memcpy(maxima, image.maxima, count * results * sizeof(T));
    memcpy(gradient, image.gradient, count * results * sizeof(T));
    image.maxima = maxima, image.gradient = gradient;
    if (count < at_once) {
        memset(x, 0, at_once * elements * sizeof(T));
        memcpy(x, image.x, count * elements * sizeof(T));
        image.x = x, image.out = copy;
    }
    IN_SET(walk_image)(p, table, image);
    if (count < at_once) memcpy(out, copy, count * elements * sizeof(T));
}

FOR_SET static void IN_SET(walk_gradient)(const phintys_pooling* p, const phintys_pool_table* table, npy_intp first,
                                          npy_intp last, char* memory) {
    const npy_intp elements = table->elements, results = table->results, at_once = phintys_pool_at_once(table);
    const npy_intp beyond = 2 * IN_SET(walk_lanes) / results + 1;    /* images that are read after the last one */
    while (first < last) {
        const npy_intp count = phintys_least(at_once, last - first);
        const IN_SET(image) image = {(const T*)p->images[0].data + first * elements,
                                     (const T*)p->images[1].data + first * results,
                                     (const T*)p->images[2].data + first * results,
                                     (T*)p->images[3].data + first * elements};
        if (first == 0 || count < at_once || first + count + beyond > table->images)
            IN_SET(walk_at_end)(p, table, image, count, memory);
        else
            IN_SET(walk_image)(p, table, image);
        first += count;
    }
}
#undef IN_SET
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
