/* What surrounds the inner loops of convolutions, for one type T: copies into planes, packed filters, rows of tiles,
 * and convolutions whose filters are not shared.
 */

/* ---- planes ------------------------------------------------------------------------------------------------------ */
/* Copies a short row: memcpy would take longer. */
static inline void TYPED(copy_short)(T* to, const T* from, npy_intp length) {
    const npy_intp bytes = length * sizeof(T);
    if (bytes >= PHINTYS_PIECE) copy_row((char*)to, (const char*)from, bytes);
    else if (bytes >= 16) COPY_TWO(HalfPiece, (char*)to, (const char*)from, bytes);
    else
        for (npy_intp j = 0; j < length; j++) to[j] = from[j];
}

/* Element j of a part of a dimension, for j in [first, last), is in the source; others are zeros. */
static void TYPED(lay_out_row)(const phintys_axis* axis, npy_intp phase, const T* source, T* row) {
    const npy_intp length = axis->length, step = axis->step, offset = phase - axis->origin;
    const npy_intp first = smaller(length, larger(0, ceil_divided(-offset, step)));
    const npy_intp last = larger(first, smaller(length, floor_divided(axis->source - 1 - offset, step) + 1));
    memset(row, 0, first * sizeof(T));
    source += offset;
    if (step == 1)
        memcpy(row + first, source + first, (last - first) * sizeof(T));
    else
        for (npy_intp j = first; j < last; j++) row[j] = source[j * step];
    memset(row + last, 0, (length - last) * sizeof(T));
}

/* Copy elements, or write zeros if there is nothing to copy, in parts if there are many. */
static void TYPED(fill_in_parts)(const phintys_work* work, T* to, const T* from, npy_intp elements) {
    for (npy_intp at = 0; at < elements; at += MANY_ELEMENTS) {
        const npy_intp count = smaller(MANY_ELEMENTS, elements - at);
        if (at > 0 && work->call.stops(work->call.context)) return;
        if (from == NULL) memset(to + at, 0, count * sizeof(T));
        else memcpy(to + at, from + at, count * sizeof(T));
    }
}

/* Lay out a plane without parts: the source between borders of zeros. */
static void TYPED(lay_out_whole)(const phintys_work* work, const T* source, T* plane) {
    const phintys_axis *axis = work->plan.axis;
    const npy_intp row = axis[X].length, depth = axis[Y].length * row, length = axis[X].source;
    const int asks = work->plan.plane > MANY_ELEMENTS;
    npy_intp unasked = 0;
    TYPED(fill_in_parts)(work, plane, NULL, work->plan.plane);
    plane += axis[Z].origin * depth + axis[Y].origin * row + axis[X].origin;
    for (npy_intp z = 0; z < axis[Z].source; z++)
        for (npy_intp y = 0; y < axis[Y].source; y++, source += length) {
            if (asks && is_to_end(work, &unasked, MOVING * length)) return;
            TYPED(copy_short)(plane + z * depth + y * row, source, length);
        }
}

/* Lay out one plane: its slots, each with its rows. */
static void TYPED(lay_out_plane)(const phintys_work* work, const T* source, T* plane) {
    const phintys_axis *axis = work->plan.axis;
    const npy_intp row = axis[X].length;
    const int asks = work->plan.plane > MANY_ELEMENTS;
    npy_intp unasked = 0;
    if (work->plan.whole) {
        TYPED(lay_out_whole)(work, source, plane);
        return;
    }
    for (npy_intp slot_z = 0; slot_z < axis[Z].slots; slot_z++)
        for (npy_intp slot_y = 0; slot_y < axis[Y].slots; slot_y++)
            for (npy_intp slot_x = 0; slot_x < axis[X].slots; slot_x++) {
                const npy_intp phase_z = slot_z * work->what.dilation[Z] % axis[Z].step;
                const npy_intp phase_y = slot_y * work->what.dilation[Y] % axis[Y].step;
                const npy_intp moved = slot_x * work->what.dilation[X], by = axis[X].by_columns;
                const npy_intp phase_x = by ? by * moved : moved % axis[X].step;
                for (npy_intp j = 0; j < axis[Z].length; j++) {
                    const npy_intp z = j * axis[Z].step + phase_z - axis[Z].origin;
                    for (npy_intp k = 0; k < axis[Y].length; k++, plane += row) {
                        const npy_intp y = k * axis[Y].step + phase_y - axis[Y].origin;
                        if (asks && is_to_end(work, &unasked, MOVING * row)) return;
                        if (z < 0 || z >= axis[Z].source || y < 0 || y >= axis[Y].source)
                            memset(plane, 0, row * sizeof(T));
                        else
                            TYPED(lay_out_row)(&axis[X], phase_x, source + (z * axis[Y].source + y) * axis[X].source,
                                               plane);
                    }
                }
            }
}

/* The planes of a group of an image, where the caller has them. */
static inline const T* TYPED(source_of)(const phintys_work* work, npy_intp image, npy_intp group) {
    return (const T*)work->call.source + (image * work->what.groups + group) * work->plan.planes
        * work->plan.source_plane;
}

/* Planes [first, last) of a group of an image. */
static void TYPED(lay_out)(const phintys_work* work, npy_intp image, npy_intp group, npy_intp first, npy_intp last,
                           T* planes) {
    const T* source = TYPED(source_of)(work, image, group);
    for (npy_intp p = first; p < last; p++)
        TYPED(lay_out_plane)(work, source + p * work->plan.source_plane, planes + p * work->plan.plane);
    if (last == work->plan.planes) memset(planes + last * work->plan.plane, 0, MOST_LANES * sizeof(T));
}

/* The same elements of `images` arrays side by side; what is left of a vector is zeros. */
static void TYPED(put_side_by_side)(const phintys_work* work, const T* from, npy_intp between, npy_intp images,
                                    npy_intp elements, T* to) {
    const npy_intp lanes = work->what.set->lanes;
    if (images < lanes) memset(to, 0, elements * lanes * sizeof(T));
    work->what.set->transpose(from, between, images, elements, to, lanes);
}

/* Lay out a plane whose elements are vectors and which has no parts: rows of the source between borders of zeros. */
static void TYPED(lay_out_vectors)(const phintys_work* work, const T* source, T* to) {
    const phintys_axis *axis = work->plan.axis;
    const npy_intp lanes = work->what.set->lanes, row = axis[X].length * lanes, first = axis[X].origin * lanes;
    const npy_intp length = smaller(axis[X].source * lanes, row - first);
    for (npy_intp j = 0; j < axis[Z].length; j++)
        for (npy_intp k = 0; k < axis[Y].length; k++, to += row) {
            const npy_intp z = j - axis[Z].origin, y = k - axis[Y].origin;
            if (z < 0 || z >= axis[Z].source || y < 0 || y >= axis[Y].source) {
                memset(to, 0, row * sizeof(T));
                continue;
            }
            memset(to, 0, first * sizeof(T));
            memcpy(to + first, source + (z * axis[Y].source + y) * axis[X].source * lanes, length * sizeof(T));
            memset(to + first + length, 0, (row - first - length) * sizeof(T));
        }
}

/* Lay out a plane of a set of images, or of those that are left: the same element of all images stands side by side. */
static void TYPED(lay_out_side_by_side)(const phintys_work* work, npy_intp image, npy_intp group, npy_intp plane,
                                        T* rows, T* to) {
    const npy_intp images = smaller(work->what.set->lanes, work->what.images - image);
    const npy_intp between = work->what.groups * work->plan.planes * work->plan.source_plane;
    const T* source = TYPED(source_of)(work, image, group) + plane * work->plan.source_plane;
    if (work->plan.direct) {
        TYPED(put_side_by_side)(work, source, between, images, work->plan.plane, to);
        return;
    }
    if (work->plan.whole) {
        TYPED(put_side_by_side)(work, source, between, images, work->plan.source_plane, rows);
        TYPED(lay_out_vectors)(work, rows, to);
        return;
    }
    for (npy_intp n = 0; n < images; n++)
        TYPED(lay_out_plane)(work, source + n * between, rows + n * work->plan.plane);
    TYPED(put_side_by_side)(work, rows, work->plan.plane, images, work->plan.plane, to);
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */
/* Copies the weights of a block: of lengths that are usual without a call. */
static inline void TYPED(copy_weights)(T* to, const T* from, npy_intp count) {
    if (count == 8) memcpy(to, from, 8 * sizeof(T));
    else if (count == 4) memcpy(to, from, 4 * sizeof(T));
    else memcpy(to, from, count * sizeof(T));
}

/* Pack what `left` filters have for one plane, in the order of taps. */
static inline void TYPED(pack_plane)(const phintys_work* work, const T* from, npy_intp of_out, npy_intp left, T* to,
                                     npy_intp size) {
    const int last_first = from_last_tap(&work->what);
    work->what.set->transpose(from, of_out, left, work->plan.window,
                              to + (last_first ? (work->plan.window - 1) * size : 0),
                              last_first ? -size : size);
}

/* Pack block `block` of a group for each pass: for each plane and tap the elements of all its filters. */
static void TYPED(pack)(const phintys_work* work, npy_intp group, npy_intp block) {
    const phintys_convolution* what = &work->what;
    const phintys_convolution_set* set = what->set;
    const npy_intp first = block * set->sizes[0].filters,
        left = smaller(work->plan.outs - first, set->sizes[0].filters);
    const npy_intp size = set->sizes[size_for(set, left)].filters, window = work->plan.window;
    const int last_first = from_last_tap(what);
    const npy_intp of_out = what->role == BY_IMAGES ? window : what->channels * window;
    const npy_intp of_plane = what->role == BY_IMAGES ? what->channels * window : window;
    const T* filters = (const T*)work->call.filters + group * what->filters * what->channels * window + first * of_out;
    T* packed = (T*)work->call.packed + group * work->plan.packed_group;
    for (npy_intp number = 0; number < work->plan.passes; number++) {
        const phintys_pass* pass = &work->plan.pass[number];
        T* to = packed + pass->packed + first * work->plan.planes * pass->taps;
        if (left < size) memset(to, 0, work->plan.planes * pass->taps * size * sizeof(T));
        if (pass->taps == window && of_plane == window && (!last_first || window == 1))
            set->transpose(filters, of_out, left, work->plan.planes * window, to, size);
        else if (pass->taps == window && of_out == 1)
            for (npy_intp p = 0; p < work->plan.planes; p++)
                TYPED(copy_weights)(to + p * size, filters + p * of_plane, left);
        else if (pass->taps == window)
            for (npy_intp p = 0; p < work->plan.planes; p++, to += window * size)
                TYPED(pack_plane)(work, filters + p * of_plane, of_out, left, to, size);
        else
            for (npy_intp p = 0; p < work->plan.planes; p++)
                for (npy_intp t = 0; t < pass->taps; t++, to += size) {
                    const T* from = filters + p * of_plane + pass->numbers[t];
                    for (npy_intp f = 0; f < left; f++) to[f] = from[f * of_out];
                }
    }
}

/* The weights of a group where each tap is a filter of one element. */
static void TYPED(pack_taps)(const phintys_work* work, npy_intp group) {
    const phintys_convolution_set* set = work->what.set;
    const npy_intp most = set->sizes[0].filters, taps = work->plan.outs * work->plan.window;
    const T* filters = (const T*)work->call.filters + group * work->plan.planes * taps;
    T* to = (T*)work->call.packed + group * work->plan.packed_group;
    for (npy_intp first = 0; first < taps; first += most) {
        const npy_intp left = smaller(most, taps - first), size = set->sizes[size_for(set, left)].filters;
        for (npy_intp p = 0; p < work->plan.planes; p++, to += size)
            for (npy_intp k = 0; k < size; k++) to[k] = k < left ? filters[p * taps + first + k] : (T)0;
    }
}

/* Blocks [first, last) of a group for the gradient by images in one pass, whose filters have several elements. Their
 * elements for one plane follow each other, so planes are the outer loop. */
static void TYPED(pack_by_planes)(const phintys_work* work, npy_intp group, npy_intp first, npy_intp last) {
    const phintys_convolution* what = &work->what;
    const phintys_convolution_set* set = what->set;
    const npy_intp most = set->sizes[0].filters, window = work->plan.window, of_plane = what->channels * window;
    const T* filters = (const T*)work->call.filters + group * what->filters * of_plane;
    T* packed = (T*)work->call.packed + group * work->plan.packed_group;
    for (npy_intp p = 0; p < work->plan.planes; p++, filters += of_plane)
        for (npy_intp block = first; block < last; block++) {
            const npy_intp left = smaller(work->plan.outs - block * most, most);
            const npy_intp size = set->sizes[size_for(set, left)].filters;
            T* to = packed + block * most * work->plan.planes * window + p * window * size;
            if (left < size) memset(to, 0, window * size * sizeof(T));
            TYPED(pack_plane)(work, filters + block * most * window, window, left, to, size);
        }
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */
/* The tiles of one block of filters. */
typedef struct {
    const phintys_convolution_set* set;
    phintys_sum sum;
    int size, wanted, vectors;          /* size: number in the table; vectors: how many wait */
    npy_intp out_filter;
    const void* weights;
    const void* in[MOST_VECTORS];
    void* out[MOST_VECTORS];
} TYPED(tiles);

/* Compute the vectors that wait. */
static void TYPED(flush)(TYPED(tiles)* tiles) {
    int done = 0;
    while (done < tiles->vectors) {
        int width = 0;
        while (tiles->set->sizes[tiles->size].widths[width].vectors > tiles->vectors - done) width++;
        tiles->set->sizes[tiles->size].widths[width].tile(&tiles->sum, tiles->in + done, tiles->out + done,
                                                          tiles->out_filter, tiles->wanted, tiles->weights);
        done += tiles->set->sizes[tiles->size].widths[width].vectors;
    }
    tiles->vectors = 0;
}

static inline void TYPED(add_vector)(TYPED(tiles)* tiles, const T* in, T* out) {
    tiles->in[tiles->vectors] = in;
    tiles->out[tiles->vectors++] = out;
    if (tiles->vectors == tiles->set->sizes[tiles->size].widths[0].vectors) TYPED(flush)(tiles);
}

/* Vectors of a row of `length` results. The last one begins earlier if the row ends within it, if it can. */
static inline void TYPED(add_row)(TYPED(tiles)* tiles, const T* in, T* out, npy_intp length) {
    const npy_intp lanes = tiles->set->lanes;
    npy_intp x = 0;
    for (; x + lanes <= length; x += lanes) TYPED(add_vector)(tiles, in + x, out + x);
    if (x < length) {
        if (length >= lanes) x = length - lanes;
        TYPED(add_vector)(tiles, in + x, out + x);
    }
}

/* Copy results out of room, where rows are as far apart as in the planes. */
static void TYPED(copy_results)(const phintys_pass* pass, npy_intp rows, const T* room, T* out) {
    const npy_intp length = pass->count[X], step = pass->out[X];
    for (npy_intp y = 0; y < rows; y++) {
        const T* from = room + y * pass->in[Y];
        T* to = out + y * pass->out[Y];
        if (step == 1)
            memcpy(to, from, length * sizeof(T));
        else
            for (npy_intp x = 0; x < length; x++) to[x * step] = from[x];
    }
}

/* What is done to the sums of the filters from `filter` on before they are written. */
static inline void TYPED(follow_sums)(const phintys_work* work, npy_intp filter, phintys_sum* sum) {
    sum->bias = work->after.bias == NULL ? NULL : (const T*)work->after.bias + filter;
    sum->limited = work->after.limited;
    sum->low = work->after.low;
    sum->high = work->after.high;
}

/* Let the tiles of row `row` of results leave out taps that see only zeros, if there are such. Taps of one row of a
 * filter follow each other, so those that are left do too. */
static inline void TYPED(trim_taps)(TYPED(tiles)* tiles, const phintys_work* work, const phintys_pass* pass,
                                    npy_intp row, const npy_intp* offsets, const T* weights) {
    const npy_intp size = tiles->set->sizes[tiles->size].filters, end = work->plan.axis[Y].source;
    if (!pass->trims || size < LEAST_TRIMMED * (has_small_tiles(tiles->set) ? 2 : 1)) return;
    npy_intp first = 0, last = pass->taps;
    row += pass->row;
    while (first < last && (row + work->plan.rows[first] < 0 || row + work->plan.rows[first] >= end)) first++;
    while (last > first && (row + work->plan.rows[last - 1] < 0 || row + work->plan.rows[last - 1] >= end)) last--;
    if (tiles->sum.offsets == offsets + first && tiles->sum.taps == last - first) return;
    TYPED(flush)(tiles);
    tiles->sum.offsets = offsets + first;
    tiles->sum.taps = last - first;
    tiles->sum.skipped = (pass->taps - (last - first)) * size;
    tiles->weights = weights + first * size;
}

/* Which rows of results are computed, of one image and group. */
typedef struct {
    const T* planes;                    /* as laid out: where their first row is, or would be */
    npy_intp plane;                     /* elements from one to the next */
    T* out;                             /* where the first row of results is or would be, of the first filter */
    npy_intp out_plane;                 /* elements from filter to filter */
    npy_intp first, last;               /* rows, in each depth */
} TYPED(stretch);

/* All rows of results of a block, where they belong. */
static TYPED(stretch) TYPED(whole_block)(const phintys_work* work, const phintys_pass* pass, npy_intp image,
                                         npy_intp group, npy_intp block, const T* planes) {
    const npy_intp filter = (image * work->what.groups + group) * work->plan.outs + block
        * work->what.set->sizes[0].filters;
    const TYPED(stretch) stretch = {planes, work->plan.plane, (T*)work->call.out + filter * work->plan.out_plane,
                                    work->plan.out_plane,
                                    0, pass->count[Y]};
    return stretch;
}

/* The sums of one block of filters over planes [first_plane, last_plane) in one pass: if not from the first plane on,
 * they are added to results, which are rows of whole vectors. */
static void TYPED(sum_planes)(const phintys_work* work, const phintys_pass* pass, npy_intp group, npy_intp block,
                              const TYPED(stretch)* stretch, T* room, npy_intp first_plane, npy_intp last_plane) {
    const phintys_convolution_set* set = work->what.set;
    const npy_intp first = block * set->sizes[0].filters,
        left = smaller(work->plan.outs - first, set->sizes[0].filters);
    const npy_intp lanes = set->lanes;
    const T* planes = stretch->planes + pass->base + first_plane * stretch->plane;
    T* out = stretch->out + pass->start;
    TYPED(tiles) tiles = {.set = set, .size = size_for(set, left), .wanted = (int)left, .vectors = 0};
    tiles.sum = (phintys_sum){.planes = last_plane - first_plane, .plane = stretch->plane, .taps = pass->taps,
                              .offsets = pass->offsets, .add = first_plane > 0};
    if (last_plane == work->plan.planes) TYPED(follow_sums)(work, group * work->plan.outs + first, &tiles.sum);
    const T* weights = (const T*)work->call.packed + group * work->plan.packed_group + pass->packed
        + (first * work->plan.planes + first_plane * set->sizes[tiles.size].filters) * pass->taps;
    const npy_intp for_each = tiles.sum.planes * pass->taps * left;
    npy_intp unasked = 0;
    tiles.weights = weights;
    if (pass->by_rows) {
        tiles.out_filter = stretch->out_plane;
        for (npy_intp z = 0; z < pass->count[Z]; z++)
            for (npy_intp y = stretch->first; y < stretch->last; y++) {
                TYPED(trim_taps)(&tiles, work, pass, y, pass->offsets, weights);
                TYPED(add_row)(&tiles, planes + z * pass->in[Z] + y * pass->in[Y],
                               out + z * pass->out[Z] + y * pass->out[Y], pass->count[X]);
                if (is_to_end(work, &unasked, pass->count[X] * for_each)) return;
            }
        TYPED(flush)(&tiles);
        return;
    }
    const npy_intp at_once = rows_in_room(pass);
    for (npy_intp z = 0; z < pass->count[Z]; z++)
        for (npy_intp y = stretch->first; y < stretch->last; y += at_once) {
            const npy_intp rows = smaller(at_once, stretch->last - y);
            const npy_intp length = (rows - 1) * pass->in[Y] + pass->count[X];
            const T* in = planes + z * pass->in[Z] + y * pass->in[Y];
            if (work->plan.direct && length < lanes) {      /* the last rows: a vector must end where memory does */
                const npy_intp back = lanes - length;
                tiles.out_filter = larger(lanes, length);
                TYPED(add_row)(&tiles, in - back, room, lanes);
                TYPED(flush)(&tiles);
                for (npy_intp f = 0; f < left; f++)
                    TYPED(copy_results)(pass, rows, room + f * tiles.out_filter + back,
                                        out + f * stretch->out_plane + z * pass->out[Z] + y * pass->out[Y]);
                continue;
            }
            tiles.out_filter = (length + lanes - 1) / lanes * lanes;
            TYPED(add_row)(&tiles, in, room, length);
            TYPED(flush)(&tiles);
            if (is_to_end(work, &unasked, length * for_each)) return;
            for (npy_intp f = 0; f < left; f++)
                TYPED(copy_results)(pass, rows, room + f * tiles.out_filter,
                                    out + f * stretch->out_plane + z * pass->out[Z] + y * pass->out[Y]);
        }
}

/* The results of one block of filters of one element for few planes: filter after filter, or two at a time, as they are
 * in memory. With AVX2, one image of 64 x 64, 16 filters: 5.3 us instead of 14.7, two at a time 6.2; 32 images of 3
 * planes of 16 x 16, 32 filters: 24 us instead of 73 (with AVX-512 21 instead of 34). */
static void TYPED(short_sums)(const phintys_work* work, npy_intp group, npy_intp block,
                              const TYPED(stretch)* stretch) {
    const phintys_convolution_set* set = work->what.set;
    const npy_intp first = block * set->sizes[0].filters,
        left = smaller(work->plan.outs - first, set->sizes[0].filters);
    const T* weights = (const T*)work->call.packed + group * work->plan.packed_group + first * work->plan.planes;
    phintys_sum sum = {.plane = stretch->plane, .skipped = set->sizes[size_for(set, left)].filters};
    for (npy_intp f = 0, count; f < left; f += count) {
        count = work->plan.planes == 1 ? 1 : smaller(FILTERS_OF_ROW, left - f);
        TYPED(follow_sums)(work, group * work->plan.outs + first + f, &sum);
        set->rows[count - 1][work->plan.planes - 1](&sum, stretch->planes, stretch->out + f * stretch->out_plane,
                                               stretch->out_plane, work->plan.pass->count[X], weights + f);
    }
}

/* The sums of one block of filters in one pass. */
static void TYPED(sum_block)(const phintys_work* work, const phintys_pass* pass, npy_intp group, npy_intp block,
                             const TYPED(stretch)* stretch, T* room) {
    const npy_intp planes = work->plan.planes, pieces = larger(1, pieces_of_planes(work, pass));
    if (has_short_sums(work)) {
        TYPED(short_sums)(work, group, block, stretch);
        return;
    }
    for (npy_intp piece = 0; piece < pieces; piece++)
        TYPED(sum_planes)(work, pass, group, block, stretch, room, piece * planes / pieces,
                          (piece + 1) * planes / pieces);
}

/* What follows the sums of one block of filters. */
static void TYPED(finish_block)(const phintys_work* work, npy_intp image, npy_intp group, npy_intp block) {
    const int most = work->what.set->sizes[0].filters;
    const npy_intp first = group * work->plan.outs + block * most, left = smaller(work->plan.outs - block * most, most);
    if (work->after.finish == NULL) return;
    T* out = (T*)work->call.out + (image * work->what.groups * work->plan.outs + first) * work->plan.out_plane;
    for (npy_intp f = 0; f < left; f++)
        work->after.finish(work->after.finisher, (char*)(out + f * work->plan.out_plane), first + f,
                           work->plan.out_plane);
}

/* ---- pooled results ---------------------------------------------------------------------------------------------- */
/* Rows of results of a block that are in a strip. */
typedef struct {
    T* strip;                           /* of all filters */
    npy_intp base, have;                /* the row at its beginning, and the end of those that are computed */
} TYPED(strip);

/* Finish `length` results of each filter of a block, from `results` on. */
static void TYPED(finish_rows)(const phintys_work* work, npy_intp filter, npy_intp filters, T* results,
                               npy_intp plane, npy_intp length) {
    for (npy_intp f = 0; f < filters; f++)
        work->after.finish(work->after.finisher, (char*)(results + f * plane), filter + f, length);
}

/* Rows [start, stop) of windows of a block. Rows of results that the last call has computed too are kept, unless
 * planes are only those that this call needs (`plane`: elements from one to the next). */
static void TYPED(pool_windows)(const phintys_work* work, npy_intp image, npy_intp group, npy_intp block,
                                const T* planes, npy_intp plane, char* room, TYPED(strip)* strip, npy_intp start,
                                npy_intp stop) {
    const phintys_pooled* pooled = work->after.pooled;
    const phintys_pass* pass = work->plan.pass;
    const int most = work->what.set->sizes[0].filters;
    const npy_intp filters = smaller(work->plan.outs - block * most, most),
        filter = group * work->plan.outs + block * most;
    const npy_intp length = work->what.result[X], rows = work->what.result[Y];
    const npy_intp low = phintys_covered(&pooled->what, 0, start).start;
    const npy_intp high = pass->by_rows ? phintys_covered(&pooled->what, 0, stop - 1).stop : rows;
    const npy_intp shape[] = {filters, rows, length};
    const npy_intp strides[] = {pooled->strip * sizeof(T), length * sizeof(T), sizeof(T)};
    phintys_pooling what = pooled->what;
    if (strip->have > low) {
        for (npy_intp f = 0; f < filters; f++) {
            T* to = strip->strip + f * pooled->strip;
            memmove(to, to + (low - strip->base) * length, (strip->have - low) * length * sizeof(T));
        }
    } else
        strip->have = low;
    strip->base = low;
    if (strip->have < high) {
        T* first = strip->strip + (strip->have - low) * length;
        const TYPED(stretch) stretch = {planes, plane, strip->strip - low * length, pooled->strip, strip->have, high};
        TYPED(sum_block)(work, pass, group, block, &stretch, (T*)(room + work->plan.prepared));
        if (work->after.finish != NULL && !pooled->first)
            TYPED(finish_rows)(work, filter, filters, first, pooled->strip, (high - strip->have) * length);
        strip->have = high;
    }
    what.shape = shape;
    what.images[0].data = (char*)(strip->strip - low * length);
    what.images[0].strides = strides;
    T* out = (T*)work->call.out + (image * work->what.groups * work->plan.outs + filter) * pooled->plane;
    what.images[1].data = (char*)out;
    for (npy_intp f = 0; f < filters; f++)
        pooled->task(&what, f * what.count[0] + start, f * what.count[0] + stop, room + pooled->room_at);
    if (work->after.finish != NULL && pooled->first)
        TYPED(finish_rows)(work, filter, filters, out + start * what.count[1], pooled->plane,
                           (stop - start) * what.count[1]);
}

/* Rows of windows whose planes are copied at once, as in sum_chunk; 0: they are used where they are. */
static npy_intp TYPED(windows_in_chunk)(const phintys_work* work) {
    const phintys_pooling* what = &work->after.pooled->what;
    const npy_intp row = work->plan.planes * work->what.result[X] * work->what.itemsize;
    if (!work->plan.direct || work->plan.window != 1 || work->plan.blocks < 2 || !work->plan.pass->by_rows) return 0;
    if (row * work->what.result[Y] < LARGE_PLANES) return 0;
    return smaller(work->after.pooled->windows, larger(1, (CHUNK_BYTES / row - what->window[0]) / what->step[0] + 1));
}

/* Pooled results of blocks [first, last), as run_range. */
static void TYPED(pool_range)(const phintys_work* work, npy_intp image, npy_intp group, npy_intp first, npy_intp last,
                              const T* planes, char* room) {
    const phintys_pooled* pooled = work->after.pooled;
    const npy_intp in_chunk = TYPED(windows_in_chunk)(work), windows = pooled->what.count[0],
        row = work->plan.pass->in[Y];
    TYPED(strip) strip = {(T*)(room + pooled->at), 0, 0};
    if (pooled->plane == 0) return;
    for (npy_intp block = first; block < last && !in_chunk; block++) {
        strip.base = strip.have = 0;
        for (npy_intp start = 0; start < windows; start += pooled->windows)
            TYPED(pool_windows)(work, image, group, block, planes, work->plan.plane, room, &strip, start,
                                smaller(windows, start + pooled->windows));
    }
    for (npy_intp start = 0; in_chunk && start < windows; start += in_chunk) {
        const npy_intp stop = smaller(windows, start + in_chunk);
        const npy_intp low = phintys_covered(&pooled->what, 0, start).start;
        const npy_intp rows = phintys_covered(&pooled->what, 0, stop - 1).stop - low;
        const npy_intp plane = copied_plane(work, rows);
        T* chunk = (T*)room;
        for (npy_intp p = 0; p < work->plan.planes; p++)
            memcpy(chunk + p * plane, planes + p * work->plan.plane + low * row, rows * row * sizeof(T));
        for (npy_intp block = first; block < last; block++) {
            strip.base = strip.have = 0;
            TYPED(pool_windows)(work, image, group, block, chunk - low * row, plane, room, &strip, start, stop);
        }
    }
}

/* Pool results of one filter of a set of images, which are side by side. */
static void TYPED(pool_side_by_side)(const phintys_pooling* what, npy_intp row, npy_intp lanes, const T* results,
                                     T* to) {
    for (npy_intp y = 0; y < what->count[0]; y++)
        for (npy_intp x = 0; x < what->count[1]; x++, to += lanes) {
            const phintys_pool_range down = phintys_covered(what, 0, y), across = phintys_covered(what, 1, x);
            const T* first = results + (down.start * row + across.start) * lanes;
            npy_intp size = what->window[0] * what->window[1];
            memcpy(to, first, lanes * sizeof(T));
            for (npy_intp k = down.start; k < down.stop; k++)
                for (npy_intp l = across.start + (k == down.start); l < across.stop; l++) {
                    const T* from = results + (k * row + l) * lanes;
                    if (what->mode == PHINTYS_POOL_MAX)         /* NaN is the maximum of each window that has one */
                        for (npy_intp n = 0; n < lanes; n++)
                            to[n] = to[n] > from[n] || to[n] != to[n] ? to[n] : from[n];
                    else
                        for (npy_intp n = 0; n < lanes; n++) to[n] += from[n];
                }
            if (what->mode < PHINTYS_POOL_AVERAGE_WINDOW) continue;
            if (what->mode == PHINTYS_POOL_AVERAGE_IMAGE)
                size = (down.stop - down.start) * (across.stop - across.start);
            for (npy_intp n = 0; n < lanes; n++) to[n] /= size;
        }
}

/* ---- blocks and images ------------------------------------------------------------------------------------------- */
/* Positions [start, start + count) of one block of filters of one element; the planes of these are in `chunk`. */
static void TYPED(sum_chunk)(const phintys_work* work, npy_intp image, npy_intp group, npy_intp block, const T* chunk,
                             npy_intp plane, npy_intp start, npy_intp count) {
    const phintys_convolution_set* set = work->what.set;
    const npy_intp first = block * set->sizes[0].filters,
        left = smaller(work->plan.outs - first, set->sizes[0].filters);
    TYPED(tiles) tiles = {.set = set, .size = size_for(set, left), .wanted = (int)left, .vectors = 0};
    tiles.sum = (phintys_sum){.planes = work->plan.planes, .plane = plane, .taps = 1,
                              .offsets = work->plan.pass->offsets};
    TYPED(follow_sums)(work, group * work->plan.outs + first, &tiles.sum);
    tiles.weights = (const T*)work->call.packed + group * work->plan.packed_group + first * work->plan.planes;
    tiles.out_filter = work->plan.out_plane;
    TYPED(add_row)(&tiles, chunk,
                   (T*)work->call.out + ((image * work->what.groups + group) * work->plan.outs + first)
                       * work->plan.out_plane + start,
                   count);
    TYPED(flush)(&tiles);
}

/* Some chunks of blocks [first, last), from position `start` on; returns where they end. */
static npy_intp TYPED(run_chunks)(const phintys_work* work, npy_intp image, npy_intp group, npy_intp first,
                                  npy_intp last, const T* planes, npy_intp positions, npy_intp start, T* chunks) {
    const int near = has_small_tiles(work->what.set);
    const npy_intp gap = near ? 0 : work->what.set->lanes, most = near ? NEAR_CHUNKS : 1;
    npy_intp stop = start, count;
    for (npy_intp number = 0; number < most && stop < work->plan.plane; number++)
        stop += chunk_at(work, positions, stop);
    for (npy_intp p = 0; p < work->plan.planes; p++, planes += work->plan.plane)
        for (npy_intp at = start; at < stop; at += count) {
            count = chunk_at(work, positions, at);
            TYPED(copy_short)(chunks + (at - start) * work->plan.planes + p * (count + gap), planes + at, count);
        }
    for (npy_intp at = start; at < stop; at += count) {
        count = chunk_at(work, positions, at);
        for (npy_intp block = first; block < last; block++)
            TYPED(sum_chunk)(work, image, group, block, chunks + (at - start) * work->plan.planes, count + gap, at,
                             count);
    }
    return stop;
}

/* The sums of each tap over the planes of an image, in planes of their own, whose borders are zeros already. */
static void TYPED(tap_sums)(const phintys_work* work, npy_intp group, const T* source, T* planes) {
    static const npy_intp offset = 0;
    const phintys_convolution_set* set = work->what.set;
    const phintys_axis* axis = work->plan.axis;
    const npy_intp most = set->sizes[0].filters, taps = work->plan.outs * work->plan.window, length = axis[X].source;
    const T* weights = (const T*)work->call.packed + group * work->plan.packed_group;
    npy_intp unasked = 0;
    for (npy_intp first = 0; first < taps; first += most) {
        const npy_intp left = smaller(most, taps - first);
        if (is_to_end(work, &unasked, work->plan.source_plane * work->plan.planes * left)) return;
        TYPED(tiles) tiles = {.set = set, .size = size_for(set, left), .wanted = (int)left, .vectors = 0};
        tiles.sum = (phintys_sum){.planes = work->plan.planes, .plane = work->plan.source_plane, .taps = 1,
                                  .offsets = &offset};
        tiles.weights = weights;
        tiles.out_filter = work->plan.plane;
        for (npy_intp z = 0; z < axis[Z].source; z++)
            for (npy_intp y = 0; y < axis[Y].source; y++) {
                const npy_intp row = (z + axis[Z].origin) * axis[Y].length + y + axis[Y].origin;
                TYPED(add_row)(&tiles, source + (z * axis[Y].source + y) * length,
                               planes + first * work->plan.plane + row * axis[X].length + axis[X].origin, length);
            }
        TYPED(flush)(&tiles);
        weights += work->plan.planes * set->sizes[tiles.size].filters;
    }
}

/* The results of a group of an image from these planes. */
static void TYPED(add_taps)(const phintys_work* work, npy_intp image, npy_intp group, const T* planes) {
    const phintys_convolution_set* set = work->what.set;
    const phintys_pass* pass = work->plan.pass;
    for (npy_intp o = 0; o < work->plan.outs; o++, planes += work->plan.window * work->plan.plane) {
        const npy_intp number = group * work->plan.outs + o;
        T* out = (T*)work->call.out + (image * work->what.groups * work->plan.outs + number) * work->plan.out_plane
            + pass->start;
        TYPED(tiles) tiles = {.set = set, .size = size_for(set, 1), .wanted = 1, .vectors = 0};
        tiles.sum = (phintys_sum){.planes = 1, .plane = 0, .taps = pass->taps, .offsets = work->how.side.offsets};
        TYPED(follow_sums)(work, number, &tiles.sum);
        tiles.weights = work->call.ones;
        for (npy_intp z = 0; z < pass->count[Z]; z++)
            for (npy_intp y = 0; y < pass->count[Y]; y++)
                TYPED(add_row)(&tiles, planes + pass->base + z * pass->in[Z] + y * pass->in[Y],
                               out + z * pass->out[Z] + y * pass->out[Y], pass->count[X]);
        TYPED(flush)(&tiles);
    }
}

/* The results of blocks [first, last) of filters, for one image and group. Where planes are not laid out, their memory
 * in room, `chunk`, is free. Results are finished while they are in the cache. */
static void TYPED(run_range)(const phintys_work* work, npy_intp image, npy_intp group, npy_intp first, npy_intp last,
                             const T* planes, T* chunk, T* room) {
    const npy_intp positions = positions_in_chunk(work);
    if (work->after.pooled != NULL) {
        TYPED(pool_range)(work, image, group, first, last, planes, (char*)chunk);
        return;
    }
    if (work->how.apart) {                                          /* there is one block */
        TYPED(tap_sums)(work, group, planes, chunk);
        TYPED(add_taps)(work, image, group, chunk);
        TYPED(finish_block)(work, image, group, 0);
        return;
    }
    npy_intp unasked = 0;
    const npy_intp in_block = work->plan.plane * work->plan.planes * work->plan.window
        * work->what.set->sizes[0].filters;
    for (npy_intp block = first; block < last && !positions; block++) {
        if (is_to_end(work, &unasked, in_block)) return;
        for (npy_intp number = 0; number < work->plan.passes; number++) {
            const phintys_pass* pass = &work->plan.pass[number];
            const TYPED(stretch) all = TYPED(whole_block)(work, pass, image, group, block, planes);
            TYPED(sum_block)(work, pass, group, block, &all, room);
        }
        TYPED(finish_block)(work, image, group, block);
    }
    for (npy_intp start = 0, stop; positions && start < work->plan.plane; start = stop)
        stop = TYPED(run_chunks)(work, image, group, first, last, planes, positions, start, chunk);
    for (npy_intp block = first; block < last && positions; block++) TYPED(finish_block)(work, image, group, block);
}

/* The planes of an image and group: where they are, or laid out in room. */
static const T* TYPED(planes_of)(const phintys_work* work, npy_intp image, npy_intp group, char* room) {
    if (work->plan.direct) return TYPED(source_of)(work, image, group);
    TYPED(lay_out)(work, image, group, 0, work->plan.planes, (T*)room);
    return (const T*)room;
}


/* One set of images, side by side. */
static void TYPED(run_set)(const phintys_work* work, npy_intp image, npy_intp group, T* room) {
    const phintys_convolution_set* set = work->what.set;
    const phintys_pass* pass = work->plan.pass;
    const phintys_pooled* pooled = work->after.pooled;
    const npy_intp lanes = set->lanes, size = work->plan.plane * lanes, positions = work->plan.out_plane;
    const npy_intp outs = pooled == NULL ? positions : pooled->plane;
    T *rows = room + work->plan.planes * size, *results = rows + size;
    T *pool = results + MOST_FILTERS * positions * lanes;
    for (npy_intp p = 0; p < work->plan.planes; p++)
        TYPED(lay_out_side_by_side)(work, image, group, p, rows, room + p * size);
    npy_intp unasked = 0;
    const npy_intp in_block = size * work->plan.planes * work->plan.window * set->sizes[0].filters;
    for (npy_intp block = 0; block < work->plan.blocks; block++) {
        if (is_to_end(work, &unasked, in_block)) return;
        const npy_intp first = block * set->sizes[0].filters,
            left = smaller(work->plan.outs - first, set->sizes[0].filters);
        TYPED(tiles) tiles = {.set = set, .size = size_for(set, left), .wanted = (int)left, .vectors = 0};
        tiles.sum = (phintys_sum){.planes = work->plan.planes, .plane = size, .taps = pass->taps,
                                  .offsets = work->how.side.offsets, .add = 0};
        TYPED(follow_sums)(work, group * work->plan.outs + first, &tiles.sum);
        const T* weights = (const T*)work->call.packed + group * work->plan.packed_group
            + first * work->plan.planes * pass->taps;
        tiles.weights = weights;
        tiles.out_filter = positions * lanes;
        T* to = results;
        for (npy_intp z = 0; z < pass->count[Z]; z++)
            for (npy_intp y = 0; y < pass->count[Y]; y++) {
                TYPED(trim_taps)(&tiles, work, pass, y, work->how.side.offsets, weights);
                const T* in = room + (pass->base + z * pass->in[Z] + y * pass->in[Y]) * lanes;
                for (npy_intp x = 0; x < pass->count[X]; x++, to += lanes)
                    TYPED(add_vector)(&tiles, in + x * lanes, to);
            }
        TYPED(flush)(&tiles);
        const npy_intp filter = group * work->plan.outs + first;
        if (work->after.finish != NULL && (pooled == NULL || !pooled->first))
            TYPED(finish_rows)(work, filter, left, results, positions * lanes, positions * lanes);
        for (npy_intp f = 0; f < left; f++) {
            T* of_filter = results + f * positions * lanes;
            if (pooled != NULL) {
                TYPED(pool_side_by_side)(&pooled->what, work->what.result[X], lanes, of_filter, pool);
                of_filter = pool;
                if (work->after.finish != NULL && pooled->first)
                    TYPED(finish_rows)(work, filter + f, 1, pool, 0, outs * lanes);
            }
            set->transpose(of_filter, lanes, outs, lanes,
                           (T*)work->call.out + (image * work->what.groups * work->plan.outs + filter + f) * outs,
                           work->what.groups * work->plan.outs * outs);
        }
    }
}

/* Items [start, stop): sets of images, then whole images that are left. */
static void TYPED(run_images)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    char* room = work->call.rooms + worker * work->plan.room;
    if (work->how.apart) memset(room, 0, work->plan.prepared);
    for (; start < stop && start < work->how.side.sets; start++)
        for (npy_intp group = 0; group < work->what.groups; group++)
            TYPED(run_set)(work, start * work->what.set->lanes, group, (T*)room);
    const npy_intp skipped = work->how.side.sets * (work->what.set->lanes - 1);
    for (npy_intp image = start + skipped; image < stop + skipped; image++)
        for (npy_intp group = 0; group < work->what.groups; group++) {
            const T* planes = TYPED(planes_of)(work, image, group, room);
            TYPED(run_range)(work, image, group, 0, work->plan.blocks, planes, (T*)room,
                             (T*)(room + work->plan.prepared));
        }
}

/* Blocks [start, stop) of filters of the image and group that workers share; planes are in the first room. */
static void TYPED(run_blocks)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const T* planes = work->plan.direct ? TYPED(source_of)(work, work->call.image, work->call.group)
        : (const T*)work->call.rooms;
    char* room = work->call.rooms + worker * work->plan.room;
    if (work->how.apart) memset(room, 0, work->plan.prepared);
    TYPED(run_range)(work, work->call.image, work->call.group, start, stop, planes, (T*)room,
                     (T*)(room + work->plan.prepared));
}

static void TYPED(run_packing)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const int by_planes = work->what.role == BY_IMAGES && work->plan.passes == 1 && work->plan.window > 1;
    for (npy_intp number = start, count; number < stop; number += count) {
        const npy_intp group = number / work->plan.blocks, block = number % work->plan.blocks;
        if (work->how.apart) {
            TYPED(pack_taps)(work, group);
            count = 1;
            continue;
        }
        count = by_planes ? smaller(PACKED_BLOCKS, smaller(stop - number, work->plan.blocks - block)) : 1;
        if (by_planes) TYPED(pack_by_planes)(work, group, block, block + count);
        else TYPED(pack)(work, group, block);
    }
}

/* Planes [start, stop) of the images and group that workers share. */
static void TYPED(run_planes)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    for (npy_intp number = start; number < stop; number++) {
        const npy_intp image = number / work->plan.planes, plane = number % work->plan.planes;
        TYPED(lay_out)(work, work->call.image + image, work->call.group, plane, plane + 1,
                       (T*)(work->call.rooms + image * work->plan.prepared));
    }
}

/* ---- the gradient by filters, with many channels ----------------------------------------------------------------- */
/* Lay out planes with channels as neighbours; items [start, stop) are MOST_FILTERS channels of one of the images. */
static void TYPED(run_tall)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const npy_intp items = (work->plan.planes + MOST_FILTERS - 1) / MOST_FILTERS, groups = work->what.groups;
    const npy_intp positions = now_laid_out(work, work->plan.plane);
    for (npy_intp number = start; number < stop; number++) {
        const npy_intp image = number / items, first = number % items * MOST_FILTERS;
        const npy_intp count = smaller(MOST_FILTERS, work->plan.planes - first);
        const npy_intp plane = ((work->call.image + image) * groups + work->call.group) * work->plan.planes + first;
        const T* source = (const T*)work->call.source + plane * work->plan.source_plane + first_laid_out(work);
        const npy_intp panel = work->how.tall.panel, in_panel = first % panel,
            of_panel = laid_out(work, work->plan.plane);
        T* to = (T*)work->call.tall + image * work->how.tall.image + (first - in_panel) * of_panel + in_panel;
        if (!work->plan.direct) {
            T* room = (T*)(work->call.rooms + worker * work->plan.room);
            for (npy_intp p = 0; p < count; p++)
                TYPED(lay_out_plane)(work, source + p * work->plan.source_plane, room + p * work->plan.plane);
            source = room;
        }
        work->what.set->transpose(source, work->plan.plane, count, positions, to, panel);
        if (first + count == work->plan.planes && work->plan.planes < work->how.tall.channels)
            for (npy_intp k = 0; k < positions; k++)
                memset(to + k * panel + count, 0, (work->how.tall.channels - work->plan.planes) * sizeof(T));
    }
}

/* Pack the gradients of blocks of filters; items [start, stop) are a block of one of the images. */
static void TYPED(run_top_packing)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const phintys_convolution_set* set = work->what.set;
    const npy_intp positions = now_laid_out(work, work->how.tall.positions),
        of_image = laid_out(work, work->how.tall.positions);
    for (npy_intp number = start; number < stop; number++) {
        const npy_intp image = number / work->plan.blocks, first = number % work->plan.blocks * set->sizes[0].filters;
        const npy_intp left = smaller(work->plan.outs - first, set->sizes[0].filters);
        const npy_intp size = set->sizes[size_for(set, left)].filters;
        const npy_intp plane = ((work->call.image + image) * work->what.groups + work->call.group) * work->plan.outs
            + first;
        const T* top = (const T*)work->call.top + plane * work->how.tall.positions + first_laid_out(work);
        T* to = (T*)work->call.tops + (first * work->plan.images_at_once + image * size) * of_image;
        if (left < size) memset(to, 0, positions * size * sizeof(T));
        set->transpose(top, work->how.tall.positions, left, positions, to, size);
    }
}

/* Write channels [channel, channel + width) of `count` filters of the gradient, from `first` on. */
static void TYPED(write_filters)(const phintys_work* work, const T* sums, npy_intp first, npy_intp count,
                                 npy_intp channel, npy_intp width) {
    const npy_intp columns = smaller(width, work->plan.planes - channel);
    for (npy_intp filter = first; filter < first + count; filter++, sums += work->plan.window * width)
        work->what.set->transpose(
            sums, width, work->plan.window, columns,
            (T*)work->call.out + ((work->call.group * work->plan.outs + filter) * work->plan.planes + channel)
                * work->plan.window,
            work->plan.window);
}

/* Which products are added: those of a panel of channels at positions [at, at + positions_at_once) of the images. */
typedef struct {
    npy_intp channel, width;            /* the panel's channels */
    T* sums;                            /* of all filters, or of one block after the other */
    npy_intp of_filter;                 /* elements from filter to filter */
    int from_first, to_last;            /* whether there are no sums yet, and whether they are complete then */
    int in_place;                       /* sums are where the gradient is written */
} TYPED(panel);

/* Add them for a block. Filters are written when their sums are complete, and if these are computed at once, all
 * blocks use the same memory, which stays in the cache: 256 channels of 16 x 16, 5 x 5: 8.0 ms instead of 8.9. */
static void TYPED(add_panel)(const phintys_work* work, const TYPED(panel)* panel, npy_intp block) {
    const phintys_convolution_set* set = work->what.set;
    const npy_intp first = block * set->sizes[0].filters,
        left = smaller(work->plan.outs - first, set->sizes[0].filters);
    const npy_intp position = work->call.at - first_laid_out(work);
    const int writes = panel->to_last && !panel->in_place, reuses = writes && panel->from_first;
    TYPED(tiles) tiles = {.set = set, .size = size_for(set, left), .wanted = (int)left, .vectors = 0};
    tiles.sum.add = !panel->from_first;
    tiles.sum.planes = work->call.images;
    tiles.sum.plane = work->how.tall.image;
    tiles.sum.taps = smaller(work->how.tall.at_once, work->how.tall.positions - work->call.at);
    tiles.sum.offsets = work->how.tall.offsets + position;
    tiles.weights = (const T*)work->call.tops + first * work->plan.images_at_once
        * laid_out(work, work->how.tall.positions)
        + position * set->sizes[tiles.size].filters;
    tiles.out_filter = panel->of_filter;
    const T* tall = (const T*)work->call.tall + panel->channel * laid_out(work, work->plan.plane);
    T* out = panel->sums + (reuses ? 0 : first * panel->of_filter);
    for (npy_intp k = 0; k < work->plan.window; k++) {
        const T* in = tall + work->plan.offsets[k] * work->how.tall.panel;
        for (npy_intp c = 0; c < panel->width; c += set->lanes)
            TYPED(add_vector)(&tiles, in + c, out + k * panel->width + c);
    }
    TYPED(flush)(&tiles);
    if (writes) TYPED(write_filters)(work, out, first, left, panel->channel, panel->width);
}

/* Where the sums of a panel are. Those of filters of one element are elements of the gradient, if vectors end where
 * channels do. */
static void TYPED(position_sums)(const phintys_work* work, TYPED(panel)* panel, npy_intp first_block) {
    const npy_intp of_channel = work->plan.outs * work->plan.window;
    const npy_intp first = first_block * work->what.set->sizes[0].filters * work->plan.window;
    panel->in_place = work->plan.window == 1 && work->how.tall.channels == work->plan.planes;
    panel->of_filter = panel->in_place ? work->plan.planes : work->plan.window * panel->width;
    if (panel->in_place) panel->sums = (T*)work->call.out + work->call.group * work->plan.outs * work->plan.planes
        + panel->channel;
    else if (panel->from_first && panel->to_last) panel->sums = (T*)work->call.tall_sums + first * work->how.tall.panel;
    else panel->sums = (T*)work->call.tall_sums + panel->channel * of_channel;
}

/* Add the products at these positions; items [start, stop) are blocks. A panel stays in the cache while all blocks use
 * it. */
static void TYPED(run_products)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    TYPED(panel) panel = {.from_first = work->call.image == 0 && work->call.at == 0,
                          .to_last = work->call.image + work->call.images == work->what.images
                              && work->call.at + work->how.tall.at_once >= work->how.tall.positions};
    npy_intp unasked = 0;
    const npy_intp in_block = work->plan.window * smaller(work->how.tall.at_once, work->how.tall.positions)
        * work->call.images * work->how.tall.panel
        * work->what.set->sizes[0].filters;
    for (; panel.channel < work->how.tall.channels; panel.channel += work->how.tall.panel) {
        panel.width = smaller(work->how.tall.panel, work->how.tall.channels - panel.channel);
        TYPED(position_sums)(work, &panel, start);
        for (npy_intp block = start; block < stop; block++) {
            if (is_to_end(work, &unasked, in_block)) return;
            TYPED(add_panel)(work, &panel, block);
        }
    }
}

/* Lay out planes, and gradients of blocks [start, stop), for one worker. */
static void TYPED(lay_out_tall)(phintys_work* work, npy_intp start, npy_intp stop) {
    TYPED(run_tall)(work, 0, 0, work->call.images * ((work->plan.planes + MOST_FILTERS - 1) / MOST_FILTERS));
    for (npy_intp image = 0; image < work->call.images; image++)
        TYPED(run_top_packing)(work, 0, image * work->plan.blocks + start, image * work->plan.blocks + stop);
}

/* All of that for blocks [start, stop), by one worker. */
static void TYPED(run_all_products)(void* argument, int worker, npy_intp start, npy_intp stop) {
    phintys_work work = *(const phintys_work*)argument;
    work.call.tall += worker * work.call.tall_bytes;
    work.call.rooms += worker * work.plan.room;
    for (work.call.image = 0; work.call.image < work.what.images; work.call.image += work.call.images) {
        work.call.images = smaller(work.plan.images_at_once, work.what.images - work.call.image);
        for (work.call.at = 0; work.call.at < work.how.tall.positions; work.call.at += work.how.tall.at_once) {
            if (work.plan.piece || work.call.at == 0) TYPED(lay_out_tall)(&work, start, stop);
            TYPED(run_products)(&work, 0, start, stop);
        }
    }
}

/* A part's own sums, and the worker's room for planes. */
static phintys_work TYPED(part)(const phintys_work* work, npy_intp number, int worker) {
    phintys_work part = *work;
    if (work->plan.parts > 1) part.call.out = work->call.sums + number * work->plan.sum_bytes;
    part.call.rooms += worker * work->plan.room;
    return part;
}

/* One of the parts of the images, in the present group: a gradient of its own, by one worker. */
static phintys_work TYPED(part_of_products)(const phintys_work* work, npy_intp number, int worker) {
    phintys_work part = TYPED(part)(work, number, worker);
    const npy_intp images = work->what.images, groups = work->what.groups, first = number * images / work->plan.parts;
    part.what.images = (number + 1) * images / work->plan.parts - first;
    part.call.source += first * groups * work->plan.planes * work->plan.source_plane * sizeof(T);
    part.call.top += first * groups * work->plan.outs * work->plan.out_plane * sizeof(T);
    part.call.tall += worker * work->call.tall_bytes;
    part.call.tops += worker * work->call.top_bytes;
    part.call.tall_sums += worker * work->call.tall_sum_bytes;
    return part;
}

/* Parts [start, stop) of the images. */
static void TYPED(run_parts_of_products)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    for (npy_intp number = start; number < stop; number++) {
        phintys_work part = TYPED(part_of_products)(work, number, worker);
        TYPED(run_all_products)(&part, 0, 0, work->plan.blocks);
    }
}

/* ---- the gradient by filters, with few channels ------------------------------------------------------------------ */
static T* TYPED(top_room)(const phintys_work* work) {
    return (T*)(work->call.rooms + work->plan.images_at_once * work->plan.prepared);
}

/* Elements of the gradient of the images before `image`, in this group. */
static npy_intp TYPED(tops_before)(const phintys_work* work, npy_intp image) {
    const npy_intp* count = work->what.result;
    return (image * work->what.groups + work->call.group) * work->what.filters * count[Z] * count[Y] * count[X];
}

/* Planes [start, stop) of the gradient of the images that workers share: lines of whole vectors. */
static void TYPED(run_tops)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const npy_intp* count = work->what.result;
    const npy_intp filters = work->what.filters,
        per_line = work->how.lines.count == count[Z] && count[Y] > 1 ? count[Y] : 1;
    const npy_intp size = count[Z] * count[Y] * count[X];
    npy_intp unasked = 0;
    for (npy_intp number = start; number < stop && !work->how.lines.top_in_place; number++) {
        const npy_intp image = work->call.image + number / filters, filter = number % filters;
        const T* from = (const T*)work->call.top + TYPED(tops_before)(work, image) + filter * size;
        const npy_intp position = work->how.lines.joined ? filter * work->plan.images_at_once + number / filters
                                                         : number;
        T* to = TYPED(top_room)(work) + position * work->how.lines.count * work->how.lines.top_line;
        if (work->how.lines.count * work->how.lines.top_line == size) {
            TYPED(fill_in_parts)(work, to, from, size);
            continue;
        }
        for (npy_intp line = 0; line < work->how.lines.count; line++, to += work->how.lines.top_line) {
            if (is_to_end(work, &unasked, MOVING * work->how.lines.top_line)) return;
            npy_intp end = 0;
            for (npy_intp row = 0; row < per_line; row++, from += count[X]) {
                memset(to + end, 0, (row * work->plan.axis[X].length - end) * sizeof(T));
                memcpy(to + row * work->plan.axis[X].length, from, count[X] * sizeof(T));
                end = row * work->plan.axis[X].length + count[X];
            }
            memset(to + end, 0, (work->how.lines.top_line - end) * sizeof(T));
        }
    }
}

/* The planes and the gradient of the units of images that workers share, which stand side by side. */
static void TYPED(lay_out_units)(const phintys_work* work) {
    const npy_intp filters = work->what.filters, groups = work->what.groups, lanes = work->plan.beside;
    const npy_intp positions = work->how.lines.count * work->how.lines.top_line / lanes,
        of_filter = work->how.lines.count * work->how.lines.top_line;
    T* rows = (T*)(work->call.rooms + work->plan.rows_at);
    for (npy_intp unit = 0; unit < work->call.images; unit++) {
        const npy_intp image = (work->call.image + unit) * lanes, images = smaller(lanes, work->what.images - image);
        T* planes = (T*)(work->call.rooms + unit * work->plan.prepared);
        T* tops = TYPED(top_room)(work) + unit * filters * of_filter;
        const T* top = (const T*)work->call.top + (image * groups + work->call.group) * filters * positions;
        for (npy_intp p = 0; p < work->plan.planes; p++)
            TYPED(lay_out_side_by_side)(work, image, work->call.group, p, rows, planes + p * work->plan.plane * lanes);
        for (npy_intp f = 0; f < filters; f++)
            TYPED(put_side_by_side)(work, top + f * positions, groups * filters * positions, images, positions,
                                    tops + f * of_filter);
    }
}

/* Add the products of one stretch of filters and taps to the gradient. */
static void TYPED(add_dots)(const phintys_work* work, const phintys_positions* positions, int size, npy_intp filter) {
    const phintys_convolution* what = &work->what;
    const int filters = what->set->dots[size].filters, taps = what->set->dots[size].taps;
    const npy_intp all = what->channels * work->plan.window;
    T* out = (T*)work->call.out + (work->call.group * what->filters + filter) * all;
    const T* top = work->how.lines.top_in_place ? (const T*)work->call.top + TYPED(tops_before)(work, work->call.image)
                                      : TYPED(top_room)(work);
    const void* image = work->how.lines.planes_in_place
        ? (const void*)TYPED(source_of)(work, work->call.image, work->call.group)
                                              : work->call.rooms;
    top += filter * positions->top_plane;
    T sums[MOST_FILTERS * MOST_VECTORS];
    npy_intp offsets[MOST_VECTORS], positions_in_filter[MOST_VECTORS], plane = 0, tap = 0;
    npy_intp unasked = 0;
    const npy_intp in_stretch = positions->images * (positions->last - positions->first) * positions->top_line * filters
                                * taps;
    for (npy_intp t = 0; t < all; t += taps) {
        if (is_to_end(work, &unasked, in_stretch)) return;
        const int count = (int)smaller(taps, all - t);
        for (int k = 0; k < taps; k++) {
            if (k < count) {
                offsets[k] = (plane * work->plan.plane + work->plan.offsets[tap]) * work->plan.beside;
                positions_in_filter[k] = plane * work->plan.window + work->plan.numbers[tap];
                if (++tap == work->plan.window) tap = 0, plane++;
            }
            else
                offsets[k] = offsets[0];
        }
        what->set->dots[size].dots(positions, top, image, offsets, sums);
        for (int f = 0; f < filters; f++)
            for (int k = 0; k < count; k++) out[f * all + positions_in_filter[k]] += sums[f * taps + k];
    }
}

/* The number in the table of dots for the next filters. */
static int TYPED(dots_for)(const phintys_convolution_set* set, npy_intp left) {
    int number = 0;
    if (set->dots[0].filters == 6 && (left == 8 || left == 4 || left == 5 || left == 7)) return 1;
    while (set->dots[number].filters > left) number++;
    return number;
}

/* The same for so many taps. */
static int TYPED(dots_for_taps)(const phintys_convolution_set* set, npy_intp left, npy_intp taps) {
    if (taps == 1 && left >= set->dots[DOTS_OF_ONE].filters) return DOTS_OF_ONE;
    if (taps > 2 && set->dots[DOTS_OF_THREE].filters && left >= set->dots[DOTS_OF_THREE].filters) return DOTS_OF_THREE;
    return TYPED(dots_for)(set, left);
}

/* All filters of the gradient, for lines [at, at + lines_at_once) of the images. */
static void TYPED(add_lines)(const phintys_work* work) {
    const npy_intp filters = work->what.filters;
    phintys_positions positions = {.images = work->call.images, .first = work->call.at, .lines = work->how.lines.begin};
    positions.last = smaller(work->call.until, work->call.at + work->how.lines.at_once);
    positions.image = work->plan.prepared / sizeof(T);
    if (work->how.lines.planes_in_place) positions.image = work->what.groups * work->plan.planes * work->plan.plane;
    positions.top_line = work->how.lines.top_line;
    positions.top_plane = work->how.lines.count * work->how.lines.top_line;
    positions.top_image = work->what.filters * positions.top_plane
                          * (work->how.lines.top_in_place ? work->what.groups : 1);
    if (work->how.lines.joined) {
        positions.images = 1;
        positions.last = work->call.images * work->how.lines.count * work->how.lines.top_line / work->what.set->lanes;
        positions.top_line = work->what.set->lanes;
        positions.top_plane *= work->plan.images_at_once;
    }
    for (npy_intp filter = 0; filter < filters;) {
        const int size = TYPED(dots_for_taps)(work->what.set, filters - filter,
                                              work->what.channels * work->plan.window);
        TYPED(add_dots)(work, &positions, size, filter);
        filter += work->what.set->dots[size].filters;
    }
}

/* Parts [start, stop) of the units of images, in the present group. */
static void TYPED(run_parts_of_images)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    for (npy_intp number = start; number < stop; number++) {
        phintys_work part = TYPED(part)(work, number, worker);
        const npy_intp last = (number + 1) * work->plan.units / work->plan.parts;
        part.call.image = number * work->plan.units / work->plan.parts;
        for (; part.call.image < last; part.call.image += part.call.images) {
            part.call.images = smaller(work->plan.images_at_once, last - part.call.image);
            if (work->plan.beside > 1) {
                TYPED(lay_out_units)(&part);
            } else {
                if (!work->how.lines.planes_in_place) TYPED(run_planes)(&part, worker, 0,
                                                                        part.call.images * work->plan.planes);
                TYPED(run_tops)(&part, worker, 0, part.call.images * work->what.filters);
            }
            part.call.until = work->how.lines.count;
            for (part.call.at = 0; part.call.at < part.call.until; part.call.at += work->how.lines.at_once)
                TYPED(add_lines)(&part);
            if (work->call.stops(work->call.context)) return;
        }
    }
}

/* Parts [start, stop) of the lines of the only image, which workers share. */
static void TYPED(run_parts_of_lines)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    for (npy_intp number = start; number < stop; number++) {
        phintys_work part = TYPED(part)(work, number, 0);
        part.call.at = number * work->how.lines.count / work->plan.parts;
        part.call.until = (number + 1) * work->how.lines.count / work->plan.parts;
        for (; part.call.at < part.call.until; part.call.at += work->how.lines.at_once) {
            TYPED(add_lines)(&part);
            if (work->call.stops(work->call.context)) return;
        }
    }
}

/* Add the sums of all parts: filters [start, stop) of all groups. */
static void TYPED(run_parts_sum)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const npy_intp size = work->what.channels * work->plan.window;
    T* out = (T*)work->call.out;
    for (npy_intp number = 0; number < work->plan.parts; number++) {
        const T* sums = (const T*)(work->call.sums + number * work->plan.sum_bytes);
        for (npy_intp k = start * size; k < stop * size; k++) out[k] += sums[k];
    }
}

/* ---- NaN and infinities in images -------------------------------------------------------------------------------- */
/* One element of the gradient by filters, as it is defined: the sum over all positions. */
static T TYPED(sum_of_positions)(const phintys_work* work, npy_intp filter, npy_intp channel, npy_intp number) {
    const phintys_convolution* what = &work->what;
    const npy_intp *count = what->result, *image = what->image, group = filter / what->filters;
    npy_intp left = what->flip ? work->plan.window - 1 - number : number, first[AXES];
    for (int a = X; a >= Z; left /= what->window[a--])
        first[a] = left % what->window[a] * what->dilation[a] - what->pad[a];
    double sum = 0;
    for (npy_intp n = 0; n < what->images; n++) {
        const T* source = TYPED(source_of)(work, n, group) + channel * work->plan.source_plane;
        const T* top = (const T*)work->call.top + (n * what->groups * what->filters + filter) * work->plan.out_plane;
        for (npy_intp z = 0; z < count[Z]; z++)
            for (npy_intp y = 0; y < count[Y]; y++) {
                const npy_intp from_z = first[Z] + z * what->stride[Z], from_y = first[Y] + y * what->stride[Y];
                const int in_image = from_z >= 0 && from_z < image[Z] && from_y >= 0 && from_y < image[Y];
                const T* row = source + (from_z * image[Y] + from_y) * image[X];
                for (npy_intp x = 0, at = first[X]; x < count[X]; x++, at += what->stride[X])
                    sum += (double)(in_image && at >= 0 && at < image[X] ? row[at] : 0) * *top++;
                if (sum != sum) return (T)sum;
            }
    }
    return (T)sum;
}

/* Sums for filters [start, stop) of all groups that are NaN are computed again. In others than these, what lies beside
 * the positions that a tap sees was multiplied by zero, or left out by subtraction: a NaN or an infinity there makes a
 * sum NaN that does not depend on it. */
static void TYPED(run_mending)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const npy_intp size = work->what.channels * work->plan.window;
    npy_intp unasked = 0;
    for (npy_intp filter = start; filter < stop; filter++) {
        T* out = (T*)work->call.out + filter * size;
        int wrong = 0;
        for (npy_intp k = 0; k < size; k++) wrong |= out[k] != out[k];
        for (npy_intp k = 0; k < size && wrong; k++) {
            if (out[k] == out[k]) continue;
            if (is_to_end(work, &unasked, work->what.images * work->plan.out_plane)) return;
            out[k] = TYPED(sum_of_positions)(work, filter, k / work->plan.window, k % work->plan.window);
        }
    }
}

/* ---- filters that are not shared --------------------------------------------------------------------------------- */
/* The window of a result: taps [first, last) of a dimension lie within the image, the first of all at `from`. */
static inline npy_intp TYPED(window_of)(const phintys_convolution* what, int axis, npy_intp position, npy_intp* first,
                                        npy_intp* last) {
    const npy_intp from = position * what->stride[axis] - what->pad[axis], step = what->dilation[axis];
    *first = smaller(what->window[axis], larger(0, ceil_divided(-from, step)));
    *last = larger(*first, smaller(what->window[axis], floor_divided(what->image[axis] - 1 - from, step) + 1));
    return from;
}

/* One result position: what filter, image and gradient have to do with each other there. */
static inline void TYPED(at_position)(const phintys_work* work, T* image, T* filter, T* top, npy_intp y, npy_intp x) {
    const phintys_convolution* what = &work->what;
    npy_intp first_y, last_y, first_x, last_x;
    const npy_intp from_y = TYPED(window_of)(what, Y, y, &first_y, &last_y);
    const npy_intp from_x = TYPED(window_of)(what, X, x, &first_x, &last_x);
    const npy_intp columns = what->window[X], last = work->plan.window - 1, size = what->image[Y] * what->image[X];
    T sum = 0;
    for (npy_intp c = 0; c < what->channels; c++, image += size, filter += work->plan.window)
        for (npy_intp k = first_y; k < last_y; k++)
            for (npy_intp l = first_x; l < last_x; l++) {
                const npy_intp number = k * columns + l;
                T* weight = filter + (what->flip ? last - number : number);
                T* pixel = image + (from_y + k * what->dilation[Y]) * what->image[X] + from_x + l * what->dilation[X];
                if (what->role == FORWARD) sum += *weight * *pixel;
                else if (what->role == BY_IMAGES) *pixel += *weight * *top;
                else *weight += *pixel * *top;
            }
    if (what->role == FORWARD) *top = sum;
}

/* Items [start, stop): images times groups, or for the gradient by filters the filters. */
static void TYPED(run_unshared)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const phintys_convolution* what = &work->what;
    const npy_intp rows = what->result[Y], columns = what->result[X], positions = rows * columns;
    const npy_intp image_size = what->channels * what->image[Y] * what->image[X];
    const npy_intp filter_size = what->channels * work->plan.window;
    const int by_filters = what->role == BY_FILTERS;
    npy_intp unasked = 0;
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp only = by_filters ? item : -1, group = by_filters ? item / what->filters : item % what->groups;
        const npy_intp first = by_filters ? 0 : item / what->groups, last = by_filters ? what->images : first + 1;
        const npy_intp low = by_filters ? only % what->filters : 0, high = by_filters ? low + 1 : what->filters;
        for (npy_intp n = first; n < last; n++)
            for (npy_intp f = low; f < high; f++)
                for (npy_intp position = 0; position < positions; position++) {
                    if (is_to_end(work, &unasked, filter_size)) return;
                    T* image = (T*)work->call.source + (n * what->groups + group) * image_size;
                    T* filter = (T*)work->call.filters
                                + ((group * what->filters + f) * positions + position) * filter_size;
                    T* top = (T*)work->call.top
                             + ((n * what->groups + group) * what->filters + f) * positions + position;
                    TYPED(at_position)(work, image, filter, top, position / columns, position % columns);
                }
    }
}

#include "convolution_narrow.template.h"
#include "convolution_squares.template.h"
#include "convolution_square_sums.template.h"

static const phintys_convolution_tasks TYPED(convolution_tasks) = {
    .packing = TYPED(run_packing), .planes = TYPED(run_planes), .images = TYPED(run_images),
    .blocks = TYPED(run_blocks), .tops = TYPED(run_tops),
    .parts_of_images = TYPED(run_parts_of_images), .parts_of_lines = TYPED(run_parts_of_lines),
    .parts_sum = TYPED(run_parts_sum), .mending = TYPED(run_mending), .tall = TYPED(run_tall),
    .top_packing = TYPED(run_top_packing), .products = TYPED(run_products), .all_products = TYPED(run_all_products),
    .parts_of_products = TYPED(run_parts_of_products),
    .unshared = TYPED(run_unshared),
    .rows = TYPED(run_rows), .narrow = TYPED(run_narrow), .narrow_tops = TYPED(run_narrow_tops),
    .spreading = TYPED(run_spreading), .collecting = TYPED(run_collecting),
    .square_packing = TYPED(run_square_packing), .squares = TYPED(run_squares), .finishing = TYPED(run_finishing),
    .square_pooling = TYPED(run_square_pooling),
    .square_patches = TYPED(run_square_patches), .square_tops = TYPED(run_square_tops),
    .square_products = TYPED(run_square_products), .parts_of_squares = TYPED(run_parts_of_squares),
};
