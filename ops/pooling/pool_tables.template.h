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
    const VECTOR nans = SPREAD((T)NPY_NAN);
    VECTOR sum = SPREAD((T)0);
    for (npy_intp slot = first; slot < last; slot++) {
        const INDICES index = LOAD_INDICES(table->indices + slot * (VECTOR_BYTES / 4));
        const VECTOR m = LOAD(maxima + table->bases[slot]), g = LOAD(gradient + table->bases[slot]);
        sum = ADD_WHERE_EQUAL(sum, x, PLACED_OR_NAN(m, index, nans), PLACED(g, index));
    }
    return sum;
}

/* The gradient of one image by a table of images. Vectors are read beyond its end, and beyond that of its maxima; what
 * is written ends where it ends. */
FOR_SET static void IN_SET(table_image)(const phintys_pool_table* table, const T* x, const T* maxima, const T* gradient,
                                        T* out) {
    for (npy_intp vector = 0; vector < table->vectors; vector++) {
        const npy_intp at = vector * IN_SET(lanes);
        IN_SET(store_within)(out + at, IN_SET(one_vector)(table, vector, LOAD(x + at), maxima, gradient),
                             table->elements - at);
    }
}

/* Put the maxima and gradients of a row of windows in place, for all slots and vectors. */
FOR_SET static void IN_SET(keep_row)(const phintys_pool_table* table, const T* maxima, const T* gradient, T* kept) {
    const VECTOR nans = SPREAD((T)NPY_NAN);
    for (npy_intp k = 0; k < table->slots; k++)
        for (npy_intp vector = 0; vector < table->vectors; vector++, kept += 2 * IN_SET(lanes)) {
            const npy_intp slot = vector * table->slots + k;
            const INDICES index = LOAD_INDICES(table->indices + slot * (VECTOR_BYTES / 4));
            const VECTOR m = LOAD(maxima + table->bases[slot]), g = LOAD(gradient + table->bases[slot]);
            STORE(kept, PLACED_OR_NAN(m, index, nans));
            STORE(kept + IN_SET(lanes), PLACED(g, index));
        }
}

/* The gradient of one row of an image from `count` rows of slots. `room`: elements until the end of the image. */
FOR_SET PHINTYS_INLINE void IN_SET(any_row)(const int count, const phintys_pool_table* table, const T* x, T* out,
                                            npy_intp room, const T* const* kept) {
    for (npy_intp vector = 0; vector < table->vectors; vector++) {
        const npy_intp at = vector * IN_SET(lanes);
        const VECTOR value = LOAD(x + at);
        VECTOR sum = SPREAD((T)0);
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

/* Copy an image to room, with the elements that are read after it. */
static const T* IN_SET(copied)(char** room, const T* from, npy_intp length) {
    T* to = (T*)*room;
    memcpy(to, from, length * sizeof(T));
    memset(to + length, 0, VECTOR_BYTES);
    *room = (char*)(to + length) + VECTOR_BYTES;
    return to;
}

FOR_SET static void IN_SET(table_gradient)(const phintys_pooling* p, const phintys_pool_table* table, npy_intp first,
                                           npy_intp last, char* room) {
    const npy_intp elements = table->elements, results = table->results;
    const size_t kept_bytes = table->by_rows ? 2 * table->kept * table->vectors * table->slots * VECTOR_BYTES : 0;
    const npy_intp beyond = 1 + IN_SET(lanes) / phintys_least(elements, results);   /* images that would be read */
    for (npy_intp image = first; image < last; image++) {
        const T* x = (const T*)p->images[0].data + image * elements;
        const T* maxima = (const T*)p->images[1].data + image * results;
        const T* gradient = (const T*)p->images[2].data + image * results;
        if (image + beyond >= table->images) {          /* at the end of memory */
            char* at = room + kept_bytes;
            x = IN_SET(copied)(&at, x, elements);
            maxima = IN_SET(copied)(&at, maxima, results);
            gradient = IN_SET(copied)(&at, gradient, results);
        }
        T* out = (T*)p->images[3].data + image * elements;
        if (table->by_rows)
            IN_SET(table_rows)(p, table, x, maxima, gradient, out, (T*)room);
        else
            IN_SET(table_image)(table, x, maxima, gradient, out);
    }
}
#undef IN_SET
#undef T
#undef VECTOR
#undef LOAD
#undef STORE
#undef SPREAD
#undef PLACED
#undef PLACED_OR_NAN
#undef ADD_WHERE_EQUAL
