/* The loops of pool_loops.h for one type T and one instruction set.
 *
 * Windows that reach beyond the image are at the ends of a row. Loops over all others, [inside.start, inside.stop),
 * have no conditions, so the compiler makes vectors of them; for the usual windows and steps they are compiled with
 * constants. NaN is the maximum of each window that has one.
 */
#define ROOM TYPED(pool_room)
#define LARGER TYPED(pool_larger)

/* What one worker has of scratch memory. `rows` and the others have p->rows elements. */
typedef struct {
    const char **rows, **more, **values;
    npy_intp* heights;
    T *line, *second, *third, *fourth;  /* p->width elements each */
    T* gathered;                        /* p->rows * p->width elements for each input that is copied */
} ROOM;

static size_t TYPED(pool_room_size)(const phintys_pooling* p, int copied) {
    const size_t elements = (size_t)p->width * (4 + copied * p->rows);
    return (4 * p->rows * sizeof(npy_intp) + elements * sizeof(T) + 63) / 64 * 64;
}

PHINTYS_INLINE ROOM TYPED(divided_room)(const phintys_pooling* p, char* memory) {
    ROOM room;
    room.rows = (const char**)memory;
    room.more = room.rows + p->rows;
    room.values = room.more + p->rows;
    room.heights = (npy_intp*)(room.values + p->rows);
    room.line = (T*)(room.heights + p->rows);
    room.second = room.line + p->width;
    room.third = room.second + p->width;
    room.fourth = room.third + p->width;
    room.gathered = room.fourth + p->width;
    return room;
}

PHINTYS_INLINE T LARGER(T a, T b) {
    const T larger = a > b ? a : b;                             /* b if one is NaN */
    return IS_NAN(a) ? a : larger;
}

PHINTYS_INLINE T TYPED(joined_two)(T a, T b, int sums) { return sums ? a + b : LARGER(a, b); }

/* Copies a row of any type. */
static void TYPED(copy_row)(int typenum, T* restrict target, const char* source, npy_intp length, npy_intp stride) {
    switch (typenum) {
        case TYPENUM: FROM(T, ); break;
        case NPY_HALF: FROM(npy_half, (T)phintys_from_half); break;
        case NPY_BOOL: case NPY_UINT8: FROM(npy_uint8, (T)); break;
        case NPY_INT8: FROM(npy_int8, (T)); break;
        case NPY_INT16: FROM(npy_int16, (T)); break;
        case NPY_UINT16: FROM(npy_uint16, (T)); break;
        case NPY_INT32: FROM(npy_int32, (T)); break;
        case NPY_UINT32: FROM(npy_uint32, (T)); break;
    }
}

/* Makes all addresses those of rows without gaps of type T. `part` says which part of `gathered` is free. */
PHINTYS_INLINE void TYPED(gather)(const phintys_pooling* p, int i, const char** rows, npy_intp count, npy_intp length,
                                  const ROOM* room, int part) {
    const npy_intp stride = p->images[i].strides[p->outer + p->pooled - 1];
    T* target = room->gathered + part * p->rows * p->width;
    if (p->typenum == TYPENUM && (stride == sizeof(T) || length == 1)) return;
    for (npy_intp row = 0; row < count; row++, target += p->width) {
        TYPED(copy_row)(p->typenum, target, rows[row], length, stride);
        rows[row] = (const char*)target;
    }
}

/* Where to write row `row` of an output. */
PHINTYS_INLINE T* TYPED(output_row)(const phintys_pooling* p, char* out, npy_intp row, npy_intp length,
                                    const ROOM* room) {
    return p->typenum == TYPENUM ? (T*)out + row * length : room->fourth;
}

static void TYPED(convert_row)(int typenum, char* target, const T* values, npy_intp length) {
    switch (typenum) {
        case NPY_HALF: TO(npy_half, phintys_to_half); break;
        case NPY_BOOL: case NPY_UINT8: case NPY_INT8: TO(npy_uint8, ); break;
        case NPY_INT16: case NPY_UINT16: TO(npy_uint16, ); break;
        case NPY_INT32: case NPY_UINT32: TO(npy_uint32, ); break;
    }
}

/* What is left to do when a row of an output has been computed. */
PHINTYS_INLINE void TYPED(store_row)(const phintys_pooling* p, char* out, npy_intp row, npy_intp length,
                                     const T* values) {
    if (p->typenum != TYPENUM) TYPED(convert_row)(p->typenum, out + row * length * p->itemsize, values, length);
}

/* The windows of a row that are inside the image. */
PHINTYS_INLINE phintys_pool_range TYPED(inside)(const phintys_pooling* p) {
    const int axis = p->pooled - 1;
    const npy_intp reach = p->shape[p->outer + axis] + p->pad[axis] - p->window[axis], count = p->count[axis];
    phintys_pool_range range = {phintys_least((p->pad[axis] + p->step[axis] - 1) / p->step[axis], count), 0};
    range.stop = reach < 0 ? 0 : phintys_least(reach / p->step[axis] + 1, count);
    range.stop = phintys_most(range.start, range.stop);
    return range;
}

/* The windows whose element `j` is inside the image. */
PHINTYS_INLINE phintys_pool_range TYPED(windows_at)(const phintys_pooling* p, npy_intp j) {
    const int axis = p->pooled - 1;
    const npy_intp step = p->step[axis], first = p->pad[axis] - j, length = p->shape[p->outer + axis];
    const phintys_pool_range range = {first <= 0 ? 0 : (first + step - 1) / step,
                                      length + first <= 0 ? 0 :
                                      phintys_least((length + first - 1) / step + 1, p->count[axis])};
    return range;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* out[o] = x[o * step], ..., x[o * step + window - 1] joined. */
PHINTYS_INLINE void TYPED(join_neighbours_const)(T* restrict out, const T* restrict x, npy_intp count, npy_intp window,
                                                 npy_intp step, int sums) {
    for (npy_intp o = 0; o < count; o++) {
        T all = x[o * step];
        for (npy_intp j = 1; j < window; j++) all = TYPED(joined_two)(all, x[o * step + j], sums);
        out[o] = all;
    }
}

PHINTYS_INLINE void TYPED(join_neighbours)(T* restrict out, const T* restrict x, npy_intp count, npy_intp window,
                                           npy_intp step, int sums) {
    if (window == 2 && step == 2) TYPED(join_neighbours_const)(out, x, count, 2, 2, sums);
    else if (window == 3 && step == 2) TYPED(join_neighbours_const)(out, x, count, 3, 2, sums);
    else if (step == 1) {
        for (npy_intp o = 0; o < count; o++) out[o] = x[o];
        for (npy_intp j = 1; j < window; j++)
            for (npy_intp o = 0; o < count; o++) out[o] = TYPED(joined_two)(out[o], x[o + j], sums);
    } else
        TYPED(join_neighbours_const)(out, x, count, window, step, sums);
}

/* The rows of a window joined, element by element: the only row itself, or `line`. */
PHINTYS_INLINE const T* TYPED(join_rows)(const char** rows, npy_intp count, npy_intp length, T* restrict line,
                                         int sums) {
    const T *restrict a = (const T*)rows[0], *restrict b, *restrict c;
    if (count == 1) return a;
    b = (const T*)rows[1];
    npy_intp row = 2;
    if (count >= 3) {
        c = (const T*)rows[row++];
        for (npy_intp j = 0; j < length; j++)
            line[j] = TYPED(joined_two)(TYPED(joined_two)(a[j], b[j], sums), c[j], sums);
    } else
        for (npy_intp j = 0; j < length; j++) line[j] = TYPED(joined_two)(a[j], b[j], sums);
    for (; row < count; row++) {
        b = (const T*)rows[row];
        for (npy_intp j = 0; j < length; j++) line[j] = TYPED(joined_two)(line[j], b[j], sums);
    }
    return line;
}

/* Two rows and windows of 2 x 2 at steps of 2, without memory between. */
PHINTYS_INLINE void TYPED(join_squares)(T* restrict out, const T* restrict a, const T* restrict b, npy_intp count,
                                        int sums) {
    for (npy_intp o = 0; o < count; o++)
        out[o] = TYPED(joined_two)(TYPED(joined_two)(a[2 * o], b[2 * o], sums),
                               TYPED(joined_two)(a[2 * o + 1], b[2 * o + 1], sums), sums);
}

PHINTYS_INLINE void TYPED(divide_row)(const phintys_pooling* p, T* out, npy_intp height, phintys_pool_range inside) {
    const npy_intp count = p->count[p->pooled - 1];
    for (npy_intp o = 0; o < count; o++) {
        if (o == inside.start && inside.stop > o) {
            const npy_intp size = phintys_window_size(p, height, o);
            for (; o < inside.stop; o++) out[o] = (T)(out[o] / size);
            if (o == count) break;
        }
        out[o] = (T)(out[o] / phintys_window_size(p, height, o));
    }
}

/* Whether these are windows of 2 x 2 that follow each other in images of two dimensions, and the first `operands` have
 * rows that are read where they are. */
PHINTYS_INLINE int TYPED(in_squares)(const phintys_pooling* p, int operands) {
    if (p->pooled != 2 || p->typenum != TYPENUM) return 0;
    for (int axis = 0; axis < 2; axis++)
        if (p->window[axis] != 2 || p->step[axis] != 2 || p->pad[axis] != 0) return 0;
    for (int i = 0; i < operands; i++)
        if (p->images[i].strides[p->outer + 1] != sizeof(T)) return 0;
    return 1;
}

/* Rows [first, last) of results of whole squares. Images may be small, so little is done for each row. */
PHINTYS_INLINE void TYPED(pool_squares)(const phintys_pooling* p, npy_intp first, npy_intp last, int sums) {
    const npy_intp rows = p->count[0], count = p->count[1], between = p->images[0].strides[p->outer];
    const T quarter = p->mode >= PHINTYS_POOL_AVERAGE_WINDOW ? 4 : 1;
    T* restrict out = (T*)p->images[1].data + first * count;
    phintys_pool_walk walk;
    phintys_start_walk(p, &walk, p->count, 1, first);
    while (first < last) {
        const npy_intp stop = phintys_least(rows, walk.row[0] + last - first);
        first += stop - walk.row[0];
        if (p->squares != NULL && between % sizeof(T) == 0) {
            p->squares(walk.images[0] + 2 * walk.row[0] * between, between / (npy_intp)sizeof(T), stop - walk.row[0],
                       count, out, sums, (int)quarter);
            out += (stop - walk.row[0]) * count;
            walk.row[0] = stop;
        }
        for (npy_intp row = walk.row[0]; row < stop; row++, out += count) {
            const char* upper = walk.images[0] + 2 * row * between;
            TYPED(join_squares)(out, (const T*)upper, (const T*)(upper + between), count, sums);
            if (quarter != 1)
                for (npy_intp o = 0; o < count; o++) out[o] /= quarter;
        }
        walk.row[0] = rows - 1;
        phintys_next_row(p, &walk, 1);
    }
}

PHINTYS_INLINE void TYPED(pool_rows)(const phintys_pooling* p, npy_intp first, npy_intp last, char* memory, int sums) {
    const int axis = p->pooled - 1;
    const npy_intp length = p->shape[p->outer + axis], count = p->count[axis];
    const npy_intp window = p->window[axis], step = p->step[axis], pad = p->pad[axis];
    const phintys_pool_range inside = TYPED(inside)(p);
    const ROOM room = TYPED(divided_room)(p, memory);
    const int squares = window == 2 && step == 2 && inside.start == 0 && inside.stop == count;
    phintys_pool_walk walk;
    phintys_pool_range ranges[PHINTYS_MAX_RANK];
    if (squares && TYPED(in_squares)(p, 1) && 2 * p->count[0] <= p->shape[p->outer]) {
        TYPED(pool_squares)(p, first, last, sums);
        return;
    }
    phintys_start_walk(p, &walk, p->count, 1, first);
    for (npy_intp row = first; row < last; row++, phintys_next_row(p, &walk, 1)) {
        T* out = TYPED(output_row)(p, p->images[1].data, row, count, &room);
        for (int a = 0; a < axis; a++) ranges[a] = phintys_covered(p, a, walk.row[a]);
        const npy_intp height = phintys_rows_within(p, &walk, 0, ranges, room.rows);
        if (height == 0 || length == 0) {                       /* sums only: maxima of nothing are refused */
            for (npy_intp o = 0; o < count; o++) out[o] = 0;
            TYPED(store_row)(p, p->images[1].data, row, count, out);
            continue;
        }
        TYPED(gather)(p, 0, room.rows, height, length, &room, 0);
        if (squares && height == 2) {
            TYPED(join_squares)(out, (const T*)room.rows[0], (const T*)room.rows[1], count, sums);
        } else {
            const T* line = TYPED(join_rows)(room.rows, height, length, room.line, sums);
            TYPED(join_neighbours)(out + inside.start, line + (inside.start * step - pad), inside.stop - inside.start,
                                   window, step, sums);
            for (npy_intp o = 0; o < count; o++) {              /* windows that reach beyond the image */
                if (o == inside.start) o = inside.stop;
                if (o == count) break;
                const phintys_pool_range covered = phintys_covered(p, axis, o);
                out[o] = 0;
                if (covered.start < covered.stop) out[o] = line[covered.start];
                for (npy_intp j = covered.start + 1; j < covered.stop; j++)
                    out[o] = TYPED(joined_two)(out[o], line[j], sums);
            }
        }
        if (p->mode >= PHINTYS_POOL_AVERAGE_WINDOW) TYPED(divide_row)(p, out, height, inside);
        TYPED(store_row)(p, p->images[1].data, row, count, out);
    }
}

static void TYPED(pool_maxima)(const phintys_pooling* p, npy_intp first, npy_intp last, char* memory) {
    TYPED(pool_rows)(p, first, last, memory, 0);
}

static void TYPED(pool_sums)(const phintys_pooling* p, npy_intp first, npy_intp last, char* memory) {
    TYPED(pool_rows)(p, first, last, memory, 1);
}

static void TYPED(pool_forward)(const phintys_pooling* p, npy_intp first, npy_intp last, char* memory) {
    (p->mode == PHINTYS_POOL_MAX ? TYPED(pool_maxima) : TYPED(pool_sums))(p, first, last, memory);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* With a step s, elements of a row are divided into s phases, so that what neighbouring windows read are neighbours:
 * element j of the row is element (j + pad) / s of phase (j + pad) % s. A phase has `phase_length` elements. */
PHINTYS_INLINE npy_intp TYPED(phase_length)(const phintys_pooling* p) {
    const int axis = p->pooled - 1;
    return (p->shape[p->outer + axis] + p->pad[axis] - 1) / p->step[axis] + 1;
}

PHINTYS_INLINE void TYPED(into_phases_const)(T* restrict phases, const T* restrict x, npy_intp length, npy_intp step,
                                             npy_intp pad, npy_intp phase_length) {
    for (npy_intp phase = 0; phase < step; phase++) {
        const npy_intp start = phase >= pad ? 0 : (pad - phase + step - 1) / step;
        const npy_intp stop = length + pad <= phase ? 0 : (length + pad - phase - 1) / step + 1;
        T* restrict target = phases + phase * phase_length;
        for (npy_intp k = start; k < stop; k++) target[k] = x[k * step + phase - pad];
    }
}

PHINTYS_INLINE void TYPED(into_phases)(T* phases, const T* x, npy_intp length, npy_intp step, npy_intp pad,
                                       npy_intp phase_length) {
    if (step == 2) TYPED(into_phases_const)(phases, x, length, 2, pad, phase_length);
    else TYPED(into_phases_const)(phases, x, length, step, pad, phase_length);
}

PHINTYS_INLINE void TYPED(from_phases)(T* restrict out, const T* restrict phases, npy_intp length, npy_intp step,
                                       npy_intp pad, npy_intp phase_length) {
    npy_intp j = 0;
    if (step == 2 && pad % 2 == 0) {
        const T *restrict even = phases + pad / 2, *restrict odd = even + phase_length;
        for (npy_intp k = 0; k < length / 2; k++) {
            out[2 * k] = even[k];
            out[2 * k + 1] = odd[k];
        }
        j = length / 2 * 2;
    }
    for (npy_intp phase = (j + pad) % step, k = (j + pad) / step; j < length; j++) {
        out[j] = phases[phase * phase_length + k];
        if (++phase == step) phase = 0, k++;
    }
}

/* Adds what the windows of one row of results give to the row of the image. `x` and `out` are in phases. `maxima` is
 * NULL for sums. */
PHINTYS_INLINE void TYPED(add_windows)(const phintys_pooling* p, T* restrict out, const T* restrict x,
                                       const T* restrict maxima, const T* restrict gradient, npy_intp phase_length,
                                       phintys_pool_range inside) {
    const int axis = p->pooled - 1;
    const npy_intp step = p->step[axis], window = p->window[axis], count = p->count[axis];
    npy_intp shift = 0, phase = 0;                              /* of element j of window 0: j / step, j % step */
    for (npy_intp j = 0; j < window; j++) {
        T* restrict target = out + phase * phase_length + shift;
        if (maxima) {
            const T* restrict source = x + phase * phase_length + shift;
            for (npy_intp o = inside.start; o < inside.stop; o++) {
                const T added = source[o] == maxima[o] ? gradient[o] : (T)0;
                target[o] += added;
            }
        } else
            for (npy_intp o = inside.start; o < inside.stop; o++) target[o] += gradient[o];
        if (++phase == step) phase = 0, shift++;
    }
    for (npy_intp o = 0; o < count; o++) {                      /* windows that reach beyond the image */
        if (o == inside.start) o = inside.stop;
        if (o == count) break;
        const phintys_pool_range covered = phintys_covered(p, axis, o);
        for (npy_intp j = covered.start + p->pad[axis]; j < covered.stop + p->pad[axis]; j++) {
            const npy_intp place = j % step * phase_length + j / step;
            if (!maxima || x[place] == maxima[o]) out[place] += gradient[o];
        }
    }
}

/* out[2k] and out[2k + 1] for windows of 3 at steps of 2 from the start of the row on: of one row of results, or of
 * two, one above the other. Elements at even places have two windows. */
PHINTYS_INLINE T TYPED(share)(T x, T maximum, T gradient) { return x == maximum ? gradient : (T)0; }

PHINTYS_INLINE void TYPED(add_threes)(T* restrict out, const T* restrict x, const T* restrict m, const T* restrict g,
                                      const T* restrict n, const T* restrict h, npy_intp count, npy_intp length,
                                      int two) {
    out[0] = TYPED(share)(x[0], m[0], g[0]);
    out[1] = TYPED(share)(x[1], m[0], g[0]);
    if (two) {
        out[0] += TYPED(share)(x[0], n[0], h[0]);
        out[1] += TYPED(share)(x[1], n[0], h[0]);
    }
    for (npy_intp k = 1; k < count; k++) {
        const T even = x[2 * k], odd = x[2 * k + 1];
        T first = TYPED(share)(even, m[k - 1], g[k - 1]), second = TYPED(share)(odd, m[k], g[k]);
        first += TYPED(share)(even, m[k], g[k]);
        if (two) {
            first += TYPED(share)(even, n[k - 1], h[k - 1]);
            first += TYPED(share)(even, n[k], h[k]);
            second += TYPED(share)(odd, n[k], h[k]);
        }
        out[2 * k] = first;
        out[2 * k + 1] = second;
    }
    out[2 * count] = TYPED(share)(x[2 * count], m[count - 1], g[count - 1]);
    if (two) out[2 * count] += TYPED(share)(x[2 * count], n[count - 1], h[count - 1]);
    for (npy_intp j = 2 * count + 1; j < length; j++) out[j] = 0;
}

/* Whether windows of 2 elements follow each other from the start of the row on, so that an element has one window. */
PHINTYS_INLINE int TYPED(in_pairs)(const phintys_pooling* p) {
    const int axis = p->pooled - 1;
    return p->window[axis] == 2 && p->step[axis] == 2 && p->pad[axis] == 0;
}

/* What one row of squares gives to a row of the image. */
PHINTYS_INLINE void TYPED(spread_squares)(T* restrict out, const T* restrict x, const T* restrict maxima,
                                          const T* restrict gradient, npy_intp pairs, npy_intp count,
                                          npy_intp length) {
    for (npy_intp o = 0; o < pairs; o++) {
        const T maximum = maxima[o], given = gradient[o];
        out[2 * o] = x[2 * o] == maximum ? given : (T)0;
        out[2 * o + 1] = x[2 * o + 1] == maximum ? given : (T)0;
    }
    if (2 * pairs < length)
        out[2 * pairs] = pairs < count ? TYPED(share)(x[2 * pairs], maxima[pairs], gradient[pairs]) : 0;
}

/* Writes for each element of a row of the image the maximum of its window, and what the window gives to it: 0 where
 * there is no window. No element may have two windows. */
PHINTYS_INLINE void TYPED(spread_windows)(const phintys_pooling* p, T* restrict maximum_of, T* restrict given_to,
                                          const T* restrict maxima, const T* restrict gradient, npy_intp length) {
    const int axis = p->pooled - 1;
    memset(maximum_of, 0, length * sizeof(T));
    memset(given_to, 0, length * sizeof(T));
    for (npy_intp o = 0; o < p->count[axis]; o++) {
        const phintys_pool_range covered = phintys_covered(p, axis, o);
        const T maximum = maxima[o], given = gradient[o];
        for (npy_intp j = covered.start; j < covered.stop; j++) maximum_of[j] = maximum, given_to[j] = given;
    }
}

PHINTYS_INLINE void TYPED(give_to_maxima)(T* restrict out, const T* restrict x, const T* restrict maximum_of,
                                          const T* restrict given_to, npy_intp length) {
    for (npy_intp j = 0; j < length; j++) out[j] = TYPED(share)(x[j], maximum_of[j], given_to[j]);
}

PHINTYS_INLINE void TYPED(copy_squares)(T* restrict out, const T* restrict gradient, T divisor, npy_intp pairs,
                                        npy_intp count, npy_intp length) {
    for (npy_intp o = 0; o < pairs; o++) {
        const T given = gradient[o] / divisor;
        out[2 * o] = given;
        out[2 * o + 1] = given;
    }
    if (2 * pairs < length) out[2 * pairs] = 0;
}

/* Rows [first, last) of the gradient by images of squares: of maxima, or of sums and averages of whole squares. */
PHINTYS_INLINE void TYPED(square_gradients)(const phintys_pooling* p, npy_intp first, npy_intp last, int maxima) {
    const npy_intp *shape = p->shape + p->outer, rows = shape[0], length = shape[1];
    const npy_intp pairs = phintys_least(p->count[1], length / 2);
    const int axis = p->outer, inputs = maxima ? 3 : 1;
    const T divisor = p->mode >= PHINTYS_POOL_AVERAGE_WINDOW ? 4 : 1;
    T* restrict out = (T*)p->images[inputs].data + first * length;
    phintys_pool_walk walk;
    phintys_start_walk(p, &walk, shape, inputs, first);
    while (first < last) {
        const npy_intp stop = phintys_least(rows, walk.row[0] + last - first);
        first += stop - walk.row[0];
        for (npy_intp row = walk.row[0]; row < stop; row++, out += length) {
            if (row / 2 >= p->count[0]) {
                memset(out, 0, length * sizeof(T));
                continue;
            }
            if (!maxima) {
                TYPED(copy_squares)(out, (const T*)(walk.images[0] + row / 2 * p->images[0].strides[axis]), divisor,
                                    pairs, p->count[1], length);
                continue;
            }
            TYPED(spread_squares)(out, (const T*)(walk.images[0] + row * p->images[0].strides[axis]),
                                  (const T*)(walk.images[1] + row / 2 * p->images[1].strides[axis]),
                                  (const T*)(walk.images[2] + row / 2 * p->images[2].strides[axis]),
                                  pairs, p->count[1], length);
        }
        walk.row[0] = rows - 1;
        phintys_next_row(p, &walk, inputs);
    }
}

/* Addresses of what row `walk->row` of the gradient reads, as rows without gaps: maxima in `rows`, what they are given
 * in `more`, the image in `values`. Returns how many windows the row has; `key` is where the first two were before. */
PHINTYS_INLINE npy_intp TYPED(max_operands)(const phintys_pooling* p, const phintys_pool_walk* walk, const ROOM* room,
                                            const char* key[2]) {
    const int axis = p->pooled - 1;
    phintys_pool_range ranges[PHINTYS_MAX_RANK];
    for (int a = 0; a < axis; a++) ranges[a] = phintys_covering(p, a, walk->row[a]);
    const npy_intp windows = phintys_rows_within(p, walk, 1, ranges, room->rows);
    phintys_rows_within(p, walk, 2, ranges, room->more);
    key[0] = room->rows[0], key[1] = room->more[0];
    TYPED(gather)(p, 1, room->rows, windows, p->count[axis], room, 0);
    TYPED(gather)(p, 2, room->more, windows, p->count[axis], room, 1);
    for (int a = 0; a < axis; a++) ranges[a].start = walk->row[a], ranges[a].stop = walk->row[a] + 1;
    phintys_rows_within(p, walk, 0, ranges, room->values);
    TYPED(gather)(p, 0, room->values, 1, p->shape[p->outer + axis], room, 2);
    return windows;
}

/* A row of the gradient of maxima for any windows. */
PHINTYS_INLINE void TYPED(max_by_phases)(const phintys_pooling* p, T* restrict out, const T* restrict x,
                                         npy_intp windows, int direct, npy_intp phase_length,
                                         phintys_pool_range inside, const ROOM* room) {
    const int axis = p->pooled - 1;
    const npy_intp length = p->shape[p->outer + axis], step = p->step[axis], pad = p->pad[axis];
    T* sums = direct ? out : room->line;
    memset(sums, 0, step * phase_length * sizeof(T));
    if (!direct) TYPED(into_phases)(room->second, x, length, step, pad, phase_length);
    for (npy_intp r = 0; r < windows; r++)
        TYPED(add_windows)(p, sums, direct ? x : room->second, (const T*)room->rows[r], (const T*)room->more[r],
                           phase_length, inside);
    if (!direct) TYPED(from_phases)(out, sums, length, step, pad, phase_length);
}

static void TYPED(pool_max_gradient)(const phintys_pooling* p, npy_intp first, npy_intp last, char* memory) {
    const int axis = p->pooled - 1;
    const npy_intp length = p->shape[p->outer + axis], count = p->count[axis], step = p->step[axis];
    const npy_intp pad = p->pad[axis], phase_length = TYPED(phase_length)(p);
    const npy_intp pairs = TYPED(in_pairs)(p) ? phintys_least(count, length / 2) : 0;
    const int direct = step == 1 && pad == 0;                   /* one phase, which is the row itself */
    const int threes = p->window[axis] == 3 && step == 2 && pad == 0 && count && 2 * count < length;
    const int apart = step >= p->window[axis];                  /* an element of a row has one window at most */
    const phintys_pool_range inside = TYPED(inside)(p);
    if (TYPED(in_squares)(p, 3)) {
        TYPED(square_gradients)(p, first, last, 1);
        return;
    }
    const ROOM room = TYPED(divided_room)(p, memory);
    const char *key[2], *spread[2] = {NULL, NULL};              /* spread: what room.second and room.line are made of */
    phintys_pool_walk walk;
    phintys_start_walk(p, &walk, p->shape + p->outer, 3, first);
    for (npy_intp row = first; row < last; row++, phintys_next_row(p, &walk, 3)) {
        T* restrict out = TYPED(output_row)(p, p->images[3].data, row, length, &room);
        const npy_intp windows = TYPED(max_operands)(p, &walk, &room, key);
        const T* restrict x = (const T*)room.values[0];
        const T *restrict maxima = (const T*)room.rows[0], *restrict gradient = (const T*)room.more[0];
        if (!windows) {
            memset(out, 0, length * sizeof(T));
        } else if (pairs && windows == 1) {
            TYPED(spread_squares)(out, x, maxima, gradient, pairs, count, length);
        } else if (threes && windows == 1) {
            TYPED(add_threes)(out, x, maxima, gradient, NULL, NULL, count, length, 0);
        } else if (threes && windows == 2) {
            TYPED(add_threes)(out, x, maxima, gradient, (const T*)room.rows[1], (const T*)room.more[1], count, length,
                              1);
        } else if (apart && windows == 1) {
            if (key[0] != spread[0] || key[1] != spread[1])
                TYPED(spread_windows)(p, room.second, room.line, maxima, gradient, length);
            spread[0] = key[0], spread[1] = key[1];
            TYPED(give_to_maxima)(out, x, room.second, room.line, length);
        } else {
            spread[0] = spread[1] = NULL;                       /* room is used for something else */
            TYPED(max_by_phases)(p, out, x, windows, direct, phase_length, inside, &room);
        }
        TYPED(store_row)(p, p->images[3].data, row, length, out);
    }
}

static void TYPED(pool_sum_gradient)(const phintys_pooling* p, npy_intp first, npy_intp last, char* memory) {
    const int axis = p->pooled - 1, divides = p->mode >= PHINTYS_POOL_AVERAGE_WINDOW;
    const npy_intp length = p->shape[p->outer + axis], count = p->count[axis], step = p->step[axis];
    const npy_intp pad = p->pad[axis], phase_length = TYPED(phase_length)(p);
    const npy_intp pairs = TYPED(in_pairs)(p) ? phintys_least(count, length / 2) : 0;
    const int direct = step == 1 && pad == 0;
    const phintys_pool_range inside = TYPED(inside)(p);
    const ROOM room = TYPED(divided_room)(p, memory);
    phintys_pool_walk walk;
    phintys_pool_range ranges[PHINTYS_MAX_RANK];
    if (TYPED(in_squares)(p, 1) && 2 * p->count[0] <= p->shape[p->outer] && 2 * count <= length) {
        TYPED(square_gradients)(p, first, last, 0);
        return;
    }
    phintys_start_walk(p, &walk, p->shape + p->outer, 1, first);
    for (npy_intp row = first; row < last; row++, phintys_next_row(p, &walk, 1)) {
        T* restrict out = TYPED(output_row)(p, p->images[1].data, row, length, &room);
        for (int a = 0; a < axis; a++) ranges[a] = phintys_covering(p, a, walk.row[a]);
        const npy_intp windows = phintys_rows_within(p, &walk, 0, ranges, room.rows);
        TYPED(gather)(p, 0, room.rows, windows, count, &room, 0);
        if (divides && windows) phintys_heights_within(p, ranges, room.heights);
        T* sums = direct ? out : room.line;
        if (!(pairs && windows == 1)) memset(sums, 0, step * phase_length * sizeof(T));
        for (npy_intp r = 0; r < windows; r++) {
            const T* restrict gradient = (const T*)room.rows[r];
            if (divides) {
                memcpy(room.third, gradient, count * sizeof(T));
                TYPED(divide_row)(p, room.third, room.heights[r], inside);
                gradient = room.third;
            }
            if (pairs && windows == 1) {
                for (npy_intp o = 0; o < pairs; o++) out[2 * o] = out[2 * o + 1] = gradient[o];
                if (2 * pairs < length) out[2 * pairs] = pairs < count ? gradient[pairs] : (T)0;
            } else
                TYPED(add_windows)(p, sums, NULL, NULL, gradient, phase_length, inside);
        }
        if (!direct && !(pairs && windows == 1)) TYPED(from_phases)(out, sums, length, step, pad, phase_length);
        TYPED(store_row)(p, p->images[1].data, row, length, out);
    }
}

/* ---- the values at the positions of maxima ----------------------------------------------------------------------- */

PHINTYS_INLINE void TYPED(select_const)(T* restrict out, const T* restrict x, const T* restrict y,
                                        const T* restrict maxima, phintys_pool_range windows, npy_intp shift,
                                        npy_intp step) {
    for (npy_intp o = windows.start; o < windows.stop; o++)
        out[o] += x[o * step + shift] == maxima[o] ? y[o * step + shift] : (T)0;
}

/* Of each window the sum of y (image 2) where x (image 0) is the window's maximum (image 1). One element of the window
 * after the other is compared in all windows of a row at once, so the inner loop is one over windows, with constant
 * steps where these are 1 or 2. */
static void TYPED(pool_max_selected)(const phintys_pooling* p, npy_intp first, npy_intp last, char* memory) {
    const int axis = p->pooled - 1;
    const npy_intp length = p->shape[p->outer + axis], count = p->count[axis], step = p->step[axis];
    const ROOM room = TYPED(divided_room)(p, memory);
    phintys_pool_walk walk;
    phintys_pool_range ranges[PHINTYS_MAX_RANK];
    phintys_start_walk(p, &walk, p->count, 3, first);
    for (npy_intp row = first; row < last; row++, phintys_next_row(p, &walk, 3)) {
        T* out = TYPED(output_row)(p, p->images[3].data, row, count, &room);
        for (int a = 0; a < axis; a++) ranges[a].start = walk.row[a], ranges[a].stop = walk.row[a] + 1;
        phintys_rows_within(p, &walk, 1, ranges, room.values);
        TYPED(gather)(p, 1, room.values, 1, count, &room, 2);
        for (int a = 0; a < axis; a++) ranges[a] = phintys_covered(p, a, walk.row[a]);
        const npy_intp height = phintys_rows_within(p, &walk, 0, ranges, room.rows);
        phintys_rows_within(p, &walk, 2, ranges, room.more);
        TYPED(gather)(p, 0, room.rows, height, length, &room, 0);
        TYPED(gather)(p, 2, room.more, height, length, &room, 1);
        memset(out, 0, count * sizeof(T));
        for (npy_intp r = 0; r < height; r++) {
            const T *x = (const T*)room.rows[r], *y = (const T*)room.more[r], *maxima = (const T*)room.values[0];
            for (npy_intp j = 0; j < p->window[axis]; j++) {
                const phintys_pool_range windows = TYPED(windows_at)(p, j);
                const npy_intp shift = j - p->pad[axis];
                if (step == 1) TYPED(select_const)(out, x, y, maxima, windows, shift, 1);
                else if (step == 2) TYPED(select_const)(out, x, y, maxima, windows, shift, 2);
                else TYPED(select_const)(out, x, y, maxima, windows, shift, step);
            }
        }
        TYPED(store_row)(p, p->images[3].data, row, count, out);
    }
}

/* Of each window the element of y (image 1) where x (image 0) has its first maximum, rows before columns; NaN is larger
 * than every number, and the first one counts. Windows are walked one by one: which of equals is the first depends on
 * all elements before. */
static void TYPED(pool_max_first)(const phintys_pooling* p, npy_intp first, npy_intp last, char* memory) {
    const int axis = p->pooled - 1;
    const npy_intp length = p->shape[p->outer + axis], count = p->count[axis];
    const ROOM room = TYPED(divided_room)(p, memory);
    phintys_pool_walk walk;
    phintys_pool_range ranges[PHINTYS_MAX_RANK];
    phintys_start_walk(p, &walk, p->count, 2, first);
    for (npy_intp row = first; row < last; row++, phintys_next_row(p, &walk, 2)) {
        T* out = TYPED(output_row)(p, p->images[2].data, row, count, &room);
        for (int a = 0; a < axis; a++) ranges[a] = phintys_covered(p, a, walk.row[a]);
        const npy_intp height = phintys_rows_within(p, &walk, 0, ranges, room.rows);
        phintys_rows_within(p, &walk, 1, ranges, room.more);
        TYPED(gather)(p, 0, room.rows, height, length, &room, 0);
        TYPED(gather)(p, 1, room.more, height, length, &room, 1);
        for (npy_intp o = 0; o < count; o++) {
            const phintys_pool_range covered = phintys_covered(p, axis, o);
            T best = ((const T*)room.rows[0])[covered.start];
            out[o] = ((const T*)room.more[0])[covered.start];
            for (npy_intp r = 0; r < height; r++) {
                const T *x = (const T*)room.rows[r], *y = (const T*)room.more[r];
                for (npy_intp j = covered.start; j < covered.stop; j++) {
                    if (!(x[j] > best || (IS_NAN(x[j]) && !IS_NAN(best)))) continue;
                    best = x[j];
                    out[o] = y[j];
                }
            }
        }
        TYPED(store_row)(p, p->images[2].data, row, count, out);
    }
}

static const phintys_pool_tasks TYPED(pool_tasks) = {
    TYPED(pool_forward), TYPED(pool_max_gradient), TYPED(pool_sum_gradient), TYPED(pool_max_selected),
    TYPED(pool_max_first),
};

#undef LARGER
#undef ROOM
