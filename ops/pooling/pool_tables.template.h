/* The gradient of max pooling by a table, for one type T and one instruction set; see pool_tables.h, which defines
 * VECTOR and the operations on it; they are undefined at the end.
 */
#define IN_SET(NAME) PHINTYS_NAMED(TYPED(NAME), SET)
enum { IN_SET(lanes) = VECTOR_BYTES / sizeof(T) };

/* Store as much of a vector as there is room for. */
FOR_SET PHINTYS_INLINE void IN_SET(store_within)(T* to, VECTOR value, npy_intp room) {
    T rest[IN_SET(lanes)];
    if (room >= IN_SET(lanes)) {
        STORE(to, value);
        return;
    }
    STORE(rest, value);
    memcpy(to, rest, room * sizeof(T));
}

/* The gradient of one vector. */
FOR_SET PHINTYS_INLINE VECTOR IN_SET(one_vector)(const phintys_pool_table* table, npy_intp vector, VECTOR x,
                                                 const T* maxima, const T* gradient) {
    const npy_intp first = vector * table->slots, last = first + table->used[vector];
    VECTOR sum = {0};
    for (npy_intp slot = first; slot < last; slot++) {
        const INDICES index = LOAD_INDICES(table->indices + slot * (VECTOR_BYTES / 4));
        const VECTOR m = LOAD(maxima + table->bases[slot]), g = LOAD(gradient + table->bases[slot]);
        sum = ADD_WHERE_EQUAL(sum, x, PLACED(m, index), PLACED_OR_ZERO(g, index));
    }
    return sum;
}

/* The gradient of one image by a table of images. Vectors are read beyond its end, and beyond that of its maxima; what
 * is written ends where it ends. */
FOR_SET PHINTYS_INLINE void IN_SET(table_image)(const phintys_pool_table* table, const T* x, const T* maxima,
                                                const T* gradient, T* out) {
    for (npy_intp vector = 0; vector < table->vectors; vector++) {
        const npy_intp at = vector * IN_SET(lanes);
        IN_SET(store_within)(out + at, IN_SET(one_vector)(table, vector, LOAD(x + at), maxima, gradient),
                             table->elements - at);
    }
}

/* Put the maxima and gradients of a row of windows in place, for all slots and vectors. */
FOR_SET static void IN_SET(keep_row)(const phintys_pool_table* table, const T* maxima, const T* gradient, T* kept) {
    for (npy_intp k = 0; k < table->slots; k++)
        for (npy_intp vector = 0; vector < table->vectors; vector++, kept += 2 * IN_SET(lanes)) {
            const npy_intp slot = vector * table->slots + k;
            const INDICES index = LOAD_INDICES(table->indices + slot * (VECTOR_BYTES / 4));
            const VECTOR m = LOAD(maxima + table->bases[slot]), g = LOAD(gradient + table->bases[slot]);
            STORE(kept, PLACED(m, index));
            STORE(kept + IN_SET(lanes), PLACED_OR_ZERO(g, index));
        }
}

/* The gradient of one row of an image from `count` rows of slots. `room`: elements until the end of the image. */
FOR_SET PHINTYS_INLINE void IN_SET(any_row)(const int count, const phintys_pool_table* table, const T* x, T* out,
                                            npy_intp room, const T* const* kept) {
    for (npy_intp vector = 0; vector < table->vectors; vector++) {
        const npy_intp at = vector * IN_SET(lanes);
        const VECTOR value = LOAD(x + at);
        VECTOR sum = {0};
#pragma GCC unroll 9
        for (int k = 0; k < count; k++)
            sum = ADD_WHERE_EQUAL(sum, value, LOAD(kept[k] + 2 * at), LOAD(kept[k] + 2 * at + IN_SET(lanes)));
        IN_SET(store_within)(out + at, sum, room - at);
    }
}
FOR_SET static void IN_SET(one_row)(int count, const phintys_pool_table* table, const T* x, T* out, npy_intp room,
                                    const T* const* kept) {
    switch (count) {
        case 1: IN_SET(any_row)(1, table, x, out, room, kept); break;
        case 2: IN_SET(any_row)(2, table, x, out, room, kept); break;
        case 4: IN_SET(any_row)(4, table, x, out, room, kept); break;
        case 9: IN_SET(any_row)(9, table, x, out, room, kept); break;
        default: IN_SET(any_row)(count, table, x, out, room, kept);
    }
}

/* The gradient of one image by a table of rows. A vector at the end of a row is written beyond it, before the next row
 * is. */
FOR_SET static void IN_SET(table_rows)(const phintys_pooling* p, const phintys_pool_table* table, const T* x,
                                       const T* maxima, const T* gradient, T* out, T* room) {
    const npy_intp rows = p->shape[p->outer], step = p->step[0], window = p->window[0];
    const npy_intp of_slot = 2 * table->vectors * IN_SET(lanes);
    const T* kept[POOL_MOST_SLOTS];
    npy_intp done = 0, oldest = 0, ring = 0;        /* rows of windows that were kept, and are; where the next one is */
    int count = 0;
    for (npy_intp row = 0; row < rows; row++, x += table->line, out += table->line) {
        for (; done < p->count[0] && done * step - p->pad[0] <= row; done++) {
            T* to = room + ring * table->slots * of_slot;
            if (++ring == table->kept) ring = 0;
            IN_SET(keep_row)(table, maxima + done * p->count[1], gradient + done * p->count[1], to);
            for (npy_intp k = 0; k < table->slots; k++) kept[count++] = to + k * of_slot;
        }
        for (; oldest < done && oldest * step - p->pad[0] + window <= row; oldest++) {
            count -= (int)table->slots;
            memmove(kept, kept + table->slots, count * sizeof *kept);
        }
        IN_SET(one_row)(count, table, x, out, table->elements - row * table->line, kept);
    }
}

/* ---- walks down images, for constant windows --------------------------------------------------------------------- */

/* Where images are that follow each other in memory. */
typedef struct {
    const T *x, *maxima, *gradient;
    T* out;
} IN_SET(images);

#define HALF(FROM) _mm512_castps256_ps512(_mm256_loadu_ps(FROM))
/* The maxima and gradients of a row of windows for one vector and slot of a row of the image. */
FOR_SET PHINTYS_INLINE void IN_SET(place_row)(const int paired, npy_intp results, const T* maxima, const T* gradient,
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
FOR_SET PHINTYS_INLINE VECTOR IN_SET(load_line)(const int paired, npy_intp elements, const T* x) {
#ifdef PAIRED
    if (paired) return phintys_both_halves(_mm256_loadu_ps(x), _mm256_loadu_ps(x + elements));
#endif
    return LOAD(x);
}

FOR_SET PHINTYS_INLINE void IN_SET(store_line)(const int paired, npy_intp elements, T* out, VECTOR value,
                                               npy_intp length) {
#ifdef PAIRED
    if (paired) {
        const __m256 first = _mm512_castps512_ps256(value), second = phintys_upper_half(value);
        if (2 * length == IN_SET(lanes)) {
            _mm256_storeu_ps(out, first);
            _mm256_storeu_ps(out + elements, second);
        } else {
            phintys_store_first_ps(out, first, (int)length);
            phintys_store_first_ps(out + elements, second, (int)length);
        }
        return;
    }
#endif
    if (length >= IN_SET(lanes)) STORE(out, value);
    else STORE_FIRST(out, value, length);
}

/* One vector of all rows of an image, or of two, from the top down. Row `t` of windows begins at row t * step - pad of
 * the image; m[k] and g[k] belong to row t - k. */
FOR_SET PHINTYS_INLINE void IN_SET(walk_down)(const int window, const int step, const int slots, const int paired,
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
                IN_SET(place_row)(paired, results, maxima + base[slot], gradient + base[slot], index[slot], &m[0][slot],
                                  &g[0][slot]);
            else g[0][slot] = (VECTOR){0};
        }
#pragma GCC unroll 3
        for (int j = 0; j < step; j++, row++) {
            if (row < 0 || row >= rows) continue;
            const VECTOR values = IN_SET(load_line)(paired, elements, x + row * line);
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
            IN_SET(store_line)(paired, elements, out + row * line, sum, length);
        }
    }
}

/* Images, or as many pairs of them: all of them for one vector, whose indices stay in registers, then the next. */
FOR_SET PHINTYS_INLINE void IN_SET(walk_images)(const int window, const int step, const int slots, const int paired,
                                                const phintys_pooling* p, const phintys_pool_table* table,
                                                const IN_SET(images)* images, npy_intp count) {
    const npy_intp elements = (1 + paired) * table->elements, results = (1 + paired) * table->results;
    for (npy_intp vector = 0; vector < table->vectors; vector++) {
        const npy_intp at = vector * IN_SET(lanes), length = table->line - at;
        INDICES index[3];
        npy_intp base[3];
#pragma GCC unroll 3
        for (int slot = 0; slot < slots; slot++) {
            const npy_intp of = vector * slots + slot;
            base[slot] = table->bases[of];
            index[slot] = LOAD_INDICES(table->indices + of * (VECTOR_BYTES / 4));
        }
        for (npy_intp n = 0; n < count; n++)
            IN_SET(walk_down)(window, step, slots, paired, p, table, index, base, images->x + n * elements + at,
                              images->maxima + n * results, images->gradient + n * results,
                              images->out + n * elements + at, length);
    }
}

FOR_SET PHINTYS_INLINE void IN_SET(walk_any)(const int paired, const phintys_pooling* p,
                                             const phintys_pool_table* table, const IN_SET(images)* images,
                                             npy_intp count) {
    switch (table->walked) {                                    /* as in phintys_pool_walks */
        case 0: IN_SET(walk_images)(3, 2, 2, paired, p, table, images, count); break;
        case 1: IN_SET(walk_images)(3, 1, 3, paired, p, table, images, count); break;
        case 2: IN_SET(walk_images)(2, 2, 1, paired, p, table, images, count); break;
        default: IN_SET(walk_images)(2, 1, 2, paired, p, table, images, count);
    }
}

FOR_SET static void IN_SET(walk_single)(const phintys_pooling* p, const phintys_pool_table* table,
                                        const IN_SET(images)* images, npy_intp count) {
    IN_SET(walk_any)(0, p, table, images, count);
}

#ifdef PAIRED
FOR_SET static void IN_SET(walk_pairs)(const phintys_pooling* p, const phintys_pool_table* table,
                                       const IN_SET(images)* images, npy_intp count) {
    IN_SET(walk_any)(1, p, table, images, count / 2);
}
#endif

/* ---- all images -------------------------------------------------------------------------------------------------- */

/* Copy images to room, which has `space` elements and those that are read after them. */
static T* IN_SET(copied)(char** room, const T* from, npy_intp length, npy_intp space) {
    T* to = (T*)*room;
    memcpy(to, from, length * sizeof(T));
    memset(to + length, 0, (space - length) * sizeof(T) + VECTOR_BYTES);
    *room = (char*)(to + space) + VECTOR_BYTES;
    return to;
}

/* The gradient of some images: of an even number if they are paired. */
FOR_SET static void IN_SET(some_images)(const phintys_pooling* p, const phintys_pool_table* table,
                                        const IN_SET(images)* images, npy_intp count, char* room) {
    const T *x = images->x, *maxima = images->maxima, *gradient = images->gradient;
    T* out = images->out;
#ifdef PAIRED
    if (table->paired) {
        IN_SET(walk_pairs)(p, table, images, count);
        return;
    }
#endif
    if (table->walked != POOL_NOT_WALKED) {
        IN_SET(walk_single)(p, table, images, count);
        return;
    }
    for (; count > 0; count--, x += table->elements, maxima += table->results, gradient += table->results,
                      out += table->elements)
        if (table->by_rows)
            IN_SET(table_rows)(p, table, x, maxima, gradient, out, (T*)room);
        else
            IN_SET(table_image)(table, x, maxima, gradient, out);
}

/* The same at the end of memory, beyond which nothing may be read: from copies. */
FOR_SET static void IN_SET(images_at_end)(const phintys_pooling* p, const phintys_pool_table* table,
                                          IN_SET(images) images, npy_intp count, char* room) {
    const npy_intp elements = table->elements, results = table->results, most = 1 + table->paired;
    char* at = room + phintys_kept_bytes(table, VECTOR_BYTES);
    T* out = images.out;
    images.x = IN_SET(copied)(&at, images.x, count * elements, most * elements);
    images.maxima = IN_SET(copied)(&at, images.maxima, count * results, most * results);
    images.gradient = IN_SET(copied)(&at, images.gradient, count * results, most * results);
    if (count < most) images.out = (T*)at;
    IN_SET(some_images)(p, table, &images, most, room);
    if (count < most) memcpy(out, at, count * elements * sizeof(T));
}

FOR_SET static void IN_SET(table_gradient)(const phintys_pooling* p, const phintys_pool_table* table, npy_intp first,
                                           npy_intp last, char* room) {
    const npy_intp elements = table->elements, results = table->results, most = 1 + table->paired;
    const npy_intp in_cache = phintys_most(POOL_BLOCK_BYTES / (elements * sizeof(T)), 1) * most;
    const npy_intp beyond = 1 + IN_SET(lanes) / phintys_least(elements, results);   /* images that would be read */
    const npy_intp inside = table->images - beyond;             /* images before may be read to the end of a vector */
    if (table->direct) {
        IN_SET(walk_gradient)(p, table, first, last, room);
        return;
    }
    while (first < last) {
        const IN_SET(images) images = {(const T*)p->images[0].data + first * elements,
                                       (const T*)p->images[1].data + first * results,
                                       (const T*)p->images[2].data + first * results,
                                       (T*)p->images[3].data + first * elements};
        npy_intp count = phintys_least(phintys_least(last, inside) - first, in_cache) / most * most;
        if (count > 0)
            IN_SET(some_images)(p, table, &images, count, room);
        else {
            count = phintys_least(most, last - first);
            IN_SET(images_at_end)(p, table, images, count, room);
        }
        first += count;
    }
}
#undef IN_SET
#undef T
#undef VECTOR
#undef LOAD
#undef STORE
#undef STORE_FIRST
#undef PLACED
#undef PLACED_OR_ZERO
#undef IF_EQUAL
#undef ADD_WHERE_EQUAL
