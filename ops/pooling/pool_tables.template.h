/* The gradient of max pooling by a table, for one type T and one instruction set; see pool_tables.h, which defines
 * VECTOR and the operations on it; they are undefined at the end.
 */
enum { TYPED(lanes) = SET_BYTES / sizeof(T) };

/* Store as much of a vector as there is room for. */
PHINTYS_INLINE void TYPED(store_within)(T* to, VECTOR value, npy_intp room) {
    T rest[TYPED(lanes)];
    if (room >= TYPED(lanes)) {
        STORE(to, value);
        return;
    }
    STORE(rest, value);
    memcpy(to, rest, room * sizeof(T));
}

/* The gradient of one vector. */
PHINTYS_INLINE VECTOR TYPED(one_vector)(const phintys_pool_table* table, npy_intp vector, VECTOR x,
                                        const T* maxima, const T* gradient) {
    const npy_intp first = vector * table->slots, last = first + table->used[vector];
    VECTOR sum = {0};
    for (npy_intp slot = first; slot < last; slot++) {
        const INDICES index = LOAD_INDICES(table->indices + slot * (SET_BYTES / 4));
        const VECTOR m = LOAD(maxima + table->bases[slot]), g = LOAD(gradient + table->bases[slot]);
        sum = ADD_WHERE_EQUAL(sum, x, PLACED(m, index), PLACED_OR_ZERO(g, index));
    }
    return sum;
}

/* The gradient of one image by a table of images. Vectors are read beyond its end, and beyond that of its maxima; what
 * is written ends where it ends. */
PHINTYS_INLINE void TYPED(table_image)(const phintys_pool_table* table, const T* x, const T* maxima,
                                       const T* gradient, T* out) {
    for (npy_intp vector = 0; vector < table->vectors; vector++) {
        const npy_intp at = vector * TYPED(lanes);
        TYPED(store_within)(out + at, TYPED(one_vector)(table, vector, LOAD(x + at), maxima, gradient),
                            table->elements - at);
    }
}

/* Put the maxima and gradients of a row of windows in place, for all slots and vectors. */
static void TYPED(keep_row)(const phintys_pool_table* table, const T* maxima, const T* gradient, T* kept) {
    for (npy_intp k = 0; k < table->slots; k++)
        for (npy_intp vector = 0; vector < table->vectors; vector++, kept += 2 * TYPED(lanes)) {
            const npy_intp slot = vector * table->slots + k;
            const INDICES index = LOAD_INDICES(table->indices + slot * (SET_BYTES / 4));
            const VECTOR m = LOAD(maxima + table->bases[slot]), g = LOAD(gradient + table->bases[slot]);
            STORE(kept, PLACED(m, index));
            STORE(kept + TYPED(lanes), PLACED_OR_ZERO(g, index));
        }
}

/* The gradient of one row of an image from `count` rows of slots. `room`: elements until the end of the image. */
PHINTYS_INLINE void TYPED(any_row)(const int count, const phintys_pool_table* table, const T* x, T* out,
                                   npy_intp room, const T* const* kept) {
    for (npy_intp vector = 0; vector < table->vectors; vector++) {
        const npy_intp at = vector * TYPED(lanes);
        const VECTOR value = LOAD(x + at);
        VECTOR sum = {0};
#pragma GCC unroll 9
        for (int k = 0; k < count; k++)
            sum = ADD_WHERE_EQUAL(sum, value, LOAD(kept[k] + 2 * at), LOAD(kept[k] + 2 * at + TYPED(lanes)));
        TYPED(store_within)(out + at, sum, room - at);
    }
}
static void TYPED(one_row)(int count, const phintys_pool_table* table, const T* x, T* out, npy_intp room,
                           const T* const* kept) {
    switch (count) {
        case 1: TYPED(any_row)(1, table, x, out, room, kept); break;
        case 2: TYPED(any_row)(2, table, x, out, room, kept); break;
        case 4: TYPED(any_row)(4, table, x, out, room, kept); break;
        case 9: TYPED(any_row)(9, table, x, out, room, kept); break;
        default: TYPED(any_row)(count, table, x, out, room, kept);
    }
}

/* The gradient of one image by a table of rows. A vector at the end of a row is written beyond it, before the next row
 * is. */
static void TYPED(table_rows)(const phintys_pooling* p, const phintys_pool_table* table, const T* x,
                              const T* maxima, const T* gradient, T* out, T* room) {
    const npy_intp rows = p->shape[p->outer], step = p->step[0], window = p->window[0];
    const npy_intp of_slot = 2 * table->vectors * TYPED(lanes);
    const T* kept[POOL_MOST_SLOTS];
    npy_intp done = 0, oldest = 0, ring = 0;        /* rows of windows that were kept, and are; where the next one is */
    int count = 0;
    for (npy_intp row = 0; row < rows; row++, x += table->line, out += table->line) {
        for (; done < p->count[0] && done * step - p->pad[0] <= row; done++) {
            T* to = room + ring * table->slots * of_slot;
            if (++ring == table->kept) ring = 0;
            TYPED(keep_row)(table, maxima + done * p->count[1], gradient + done * p->count[1], to);
            for (npy_intp k = 0; k < table->slots; k++) kept[count++] = to + k * of_slot;
        }
        for (; oldest < done && oldest * step - p->pad[0] + window <= row; oldest++) {
            count -= (int)table->slots;
            memmove(kept, kept + table->slots, count * sizeof *kept);
        }
        TYPED(one_row)(count, table, x, out, table->elements - row * table->line, kept);
    }
}

/* ---- walks down images, for constant windows --------------------------------------------------------------------- */

/* Where images are that follow each other in memory. */
typedef struct {
    const T *x, *maxima, *gradient;
    T* out;
} TYPED(images);

#define HALF(FROM) _mm512_castps256_ps512(_mm256_loadu_ps(FROM))
/* The maxima and gradients of a row of windows for one vector and slot of a row of the image. */
PHINTYS_INLINE void TYPED(place_row)(const int paired, npy_intp results, const T* maxima, const T* gradient,
                                     INDICES index, VECTOR* m, VECTOR* g) {
#ifdef PAIRED
    if (paired) {                                               /* the sign of an index says that there is no window */
        const __mmask16 there = _mm512_knot(_mm512_movepi32_mask(index));
        *m = _mm512_permutex2var_ps(HALF(maxima), index, HALF(maxima + results));
        *g = _mm512_maskz_permutex2var_ps(there, HALF(gradient), index, HALF(gradient + results));
        return;
    }
#endif
    *m = PLACED(LOAD(maxima), index);
    *g = PLACED_OR_ZERO(LOAD(gradient), index);
}

/* A row of one image, or of both. */
PHINTYS_INLINE VECTOR TYPED(load_line)(const int paired, npy_intp elements, const T* x) {
#ifdef PAIRED
    if (paired) return phintys_both_halves(_mm256_loadu_ps(x), _mm256_loadu_ps(x + elements));
#endif
    return LOAD(x);
}

PHINTYS_INLINE void TYPED(store_line)(const int paired, npy_intp elements, T* out, VECTOR value,
                                      npy_intp length) {
#ifdef PAIRED
    if (paired) {
        const __m256 first = _mm512_castps512_ps256(value), second = phintys_upper_half(value);
        if (2 * length == TYPED(lanes)) {
            _mm256_storeu_ps(out, first);
            _mm256_storeu_ps(out + elements, second);
        } else {
            STORE_HALF(out, first, (int)length);
            STORE_HALF(out + elements, second, (int)length);
        }
        return;
    }
#endif
    if (length >= TYPED(lanes)) STORE(out, value);
    else STORE_FIRST(out, value, length);
}

/* One vector of all rows of an image, or of two, from the top down. Row `t` of windows begins at row t * step - pad of
 * the image; m[k] and g[k] belong to row t - k. */
PHINTYS_INLINE void TYPED(walk_down)(const int window, const int step, const int slots, const int paired,
                                     const phintys_pooling* p, const phintys_pool_table* table,
                                     const INDICES* index, const npy_intp* base, const T* x, const T* maxima,
                                     const T* gradient, T* out, npy_intp length) {
    const int above = (window + step - 1) / step;
    const npy_intp rows = p->shape[p->outer], line = table->line, elements = table->elements, results = table->results;
    const npy_intp count = p->count[0], width = p->count[1];
    VECTOR m[3][3] = {{{0}}}, g[3][3] = {{{0}}};
    npy_intp row = -p->pad[0];
    for (npy_intp t = 0; row < rows; t++, maxima += width, gradient += width) {
#pragma GCC unroll 3
        for (int k = above - 1; k > 0; k--)
#pragma GCC unroll 3
            for (int slot = 0; slot < slots; slot++) m[k][slot] = m[k - 1][slot], g[k][slot] = g[k - 1][slot];
#pragma GCC unroll 3
        for (int slot = 0; slot < slots; slot++) {
            if (t < count)
                TYPED(place_row)(paired, results, maxima + base[slot], gradient + base[slot], index[slot], &m[0][slot],
                                 &g[0][slot]);
            else g[0][slot] = (VECTOR){0};
        }
#pragma GCC unroll 3
        for (int j = 0; j < step; j++, row++) {
            if (row < 0 || row >= rows) continue;
            const VECTOR values = TYPED(load_line)(paired, elements, x + row * line);
            if (!paired && elements <= POOL_FETCHED) {          /* of the next image */
                __builtin_prefetch(x + row * line + elements, 0, 3);
                __builtin_prefetch(out + row * line + elements, 1, 3);
            }
            VECTOR sum = {0};
#pragma GCC unroll 3
            for (int k = 0; k < above; k++)
#pragma GCC unroll 3
                for (int slot = 0; slot < slots; slot++)
                    if (j + k * step < window) sum = ADD_WHERE_EQUAL(sum, values, m[k][slot], g[k][slot]);
            TYPED(store_line)(paired, elements, out + row * line, sum, length);
        }
    }
}

/* Images, or as many pairs of them: all of them for one vector, whose indices stay in registers, then the next. */
PHINTYS_INLINE void TYPED(walk_images)(const int window, const int step, const int slots, const int paired,
                                       const phintys_pooling* p, const phintys_pool_table* table,
                                       const TYPED(images)* images, npy_intp count) {
    const npy_intp elements = (1 + paired) * table->elements, results = (1 + paired) * table->results;
    for (npy_intp vector = 0; vector < table->vectors; vector++) {
        const npy_intp at = vector * TYPED(lanes), length = table->line - at;
        INDICES index[3];
        npy_intp base[3];
#pragma GCC unroll 3
        for (int slot = 0; slot < slots; slot++) {
            const npy_intp of = vector * slots + slot;
            base[slot] = table->bases[of];
            index[slot] = LOAD_INDICES(table->indices + of * (SET_BYTES / 4));
        }
        for (npy_intp n = 0; n < count; n++)
            TYPED(walk_down)(window, step, slots, paired, p, table, index, base, images->x + n * elements + at,
                             images->maxima + n * results, images->gradient + n * results,
                             images->out + n * elements + at, length);
    }
}

PHINTYS_INLINE void TYPED(walk_any)(const int paired, const phintys_pooling* p,
                                    const phintys_pool_table* table, const TYPED(images)* images,
                                    npy_intp count) {
    switch (table->walked) {                                    /* as in phintys_pool_walks */
        case 0: TYPED(walk_images)(3, 2, 2, paired, p, table, images, count); break;
        case 1: TYPED(walk_images)(3, 1, 3, paired, p, table, images, count); break;
        case 2: TYPED(walk_images)(2, 2, 1, paired, p, table, images, count); break;
        default: TYPED(walk_images)(2, 1, 2, paired, p, table, images, count);
    }
}

static void TYPED(walk_single)(const phintys_pooling* p, const phintys_pool_table* table,
                               const TYPED(images)* images, npy_intp count) {
    TYPED(walk_any)(0, p, table, images, count);
}

#ifdef PAIRED
static void TYPED(walk_pairs)(const phintys_pooling* p, const phintys_pool_table* table,
                              const TYPED(images)* images, npy_intp count) {
    TYPED(walk_any)(1, p, table, images, count / 2);
}
#endif

/* ---- all images -------------------------------------------------------------------------------------------------- */

/* Copy images to room, which has `space` elements and those that are read after them. */
static T* TYPED(copied)(char** room, const T* from, npy_intp length, npy_intp space) {
    T* to = (T*)*room;
    memcpy(to, from, length * sizeof(T));
    memset(to + length, 0, (space - length) * sizeof(T) + SET_BYTES);
    *room = (char*)(to + space) + SET_BYTES;
    return to;
}

/* The gradient of some images: of an even number if they are paired. */
static void TYPED(some_images)(const phintys_pooling* p, const phintys_pool_table* table,
                               const TYPED(images)* images, npy_intp count, char* room) {
    const T *x = images->x, *maxima = images->maxima, *gradient = images->gradient;
    T* out = images->out;
#ifdef PAIRED
    if (table->paired) {
        TYPED(walk_pairs)(p, table, images, count);
        return;
    }
#endif
    if (table->walked != POOL_NOT_WALKED) {
        TYPED(walk_single)(p, table, images, count);
        return;
    }
    for (; count > 0; count--, x += table->elements, maxima += table->results, gradient += table->results,
                      out += table->elements)
        if (table->by_rows)
            TYPED(table_rows)(p, table, x, maxima, gradient, out, (T*)room);
        else
            TYPED(table_image)(table, x, maxima, gradient, out);
}

/* The same at the end of memory, beyond which nothing may be read: from copies. */
static void TYPED(images_at_end)(const phintys_pooling* p, const phintys_pool_table* table,
                                 TYPED(images) images, npy_intp count, char* room) {
    const npy_intp elements = table->elements, results = table->results, most = 1 + table->paired;
    char* at = room + phintys_kept_bytes(table, SET_BYTES);
    T* out = images.out;
    images.x = TYPED(copied)(&at, images.x, count * elements, most * elements);
    images.maxima = TYPED(copied)(&at, images.maxima, count * results, most * results);
    images.gradient = TYPED(copied)(&at, images.gradient, count * results, most * results);
    if (count < most) images.out = (T*)at;
    TYPED(some_images)(p, table, &images, most, room);
    if (count < most) memcpy(out, at, count * elements * sizeof(T));
}

static void TYPED(table_gradient)(const phintys_pooling* p, const phintys_pool_table* table, npy_intp first,
                                  npy_intp last, char* room) {
    const npy_intp elements = table->elements, results = table->results, most = 1 + table->paired;
    const npy_intp in_cache = phintys_most(POOL_BLOCK_BYTES / (elements * sizeof(T)), 1) * most;
    const npy_intp beyond = 1 + TYPED(lanes) / phintys_least(elements, results);   /* images that would be read */
    const npy_intp inside = table->images - beyond;             /* images before may be read to the end of a vector */
    if (table->direct) {
        TYPED(walk_gradient)(p, table, first, last, room);
        return;
    }
    while (first < last) {
        const TYPED(images) images = {(const T*)p->images[0].data + first * elements,
                                      (const T*)p->images[1].data + first * results,
                                      (const T*)p->images[2].data + first * results,
                                      (T*)p->images[3].data + first * elements};
        npy_intp count = phintys_least(phintys_least(last, inside) - first, in_cache) / most * most;
        if (count > 0)
            TYPED(some_images)(p, table, &images, count, room);
        else {
            count = phintys_least(most, last - first);
            TYPED(images_at_end)(p, table, images, count, room);
        }
        first += count;
    }
}
#undef T
#undef PLACED
#undef PLACED_OR_ZERO
#undef IF_EQUAL
#undef ADD_WHERE_EQUAL
