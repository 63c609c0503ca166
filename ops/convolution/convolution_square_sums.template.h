/* The gradient by filters of 3 x 3 elements with many channels, by Winograd's method, for one type T.
 *
 * It is the transpose of the method for results, with the matrices of convolution_squares.template.h: a patch and a
 * square of the gradient of results are each transformed into 16 numbers, which are multiplied one by one and summed
 * over squares; 16 sums become the nine elements of a filter for a channel:
 *
 *     patch      B' d B
 *     gradient   A g A'
 *     filter     G' m G
 *
 * The sums of each number are products of two matrices, squares by filters and squares by channels, for which tiles are
 * used as in the gradient of filters of one element. Of squares, some rows of them are transformed at once, as many as
 * the cache has room for. Their patches lie in panels, each of as many channels as a tile takes; a panel stays in the
 * first cache while several blocks of filters use it.
 */
/* Lay out row `y` of the planes of an image, with channels as neighbours, between zeros. */
static void TYPED(lay_out_channels)(const phintys_work* work, npy_intp image, npy_intp y, T* to) {
    const npy_intp length = work->axis[X].source, channels = work->channels;
    const npy_intp width = 2 * work->square[X] + 2, first = -work->before[X];
    const npy_intp last = smaller(width, first + length);
    if (y < 0 || y >= work->axis[Y].source || first >= last) {
        memset(to, 0, width * channels * sizeof(T));
        return;
    }
    if (work->planes < channels) memset(to, 0, width * channels * sizeof(T));
    memset(to, 0, first * channels * sizeof(T));
    work->what.set->transpose(TYPED(source_of)(work, image, work->group) + y * length, work->source_plane, work->planes,
                              last - first, to + first * channels, channels);
    memset(to + last * channels, 0, (width - last) * channels * sizeof(T));
}

/* Transform the patches of rows [start, stop) of the squares that are worked on. Of a row's four lines, two are those
 * of the row before. */
static void TYPED(run_square_patches)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const npy_intp line = (2 * work->square[X] + 2) * work->channels, panel = panel_of(work);
    const npy_intp step = work->squares_at_once * work->channels + BETWEEN;
    const void* lines[PATCH];
    T* room = (T*)(work->rooms + worker * work->room);
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp row = work->at + item, image = row / work->square[Y], y = row % work->square[Y];
        for (int k = item > start && y > 0 ? 2 : 0; k < PATCH; k++)
            TYPED(lay_out_channels)(work, image, 2 * y + k + work->before[Y], room + (2 * y + k) % PATCH * line);
        for (npy_intp c = 0; c < work->channels; c += panel) {
            const npy_intp elements = smaller(panel, work->channels - c);
            for (int k = 0; k < PATCH; k++) lines[k] = room + (2 * y + k) % PATCH * line + c;
            T* to = (T*)work->tall + c * work->squares_at_once + item * work->square[X] * elements;
            work->what.set->patches(lines, work->channels, elements, work->square[X], to, step);
        }
    }
}

/* The numbers of a row of squares of the gradient of a block of filters, from its two lines. */
static void TYPED(transform_top_lines)(const phintys_work* work, const T* upper, const T* lower, npy_intp size, T* to,
                                       npy_intp step) {
    const npy_intp squares = work->square[X];
    if (size == work->what.set->sizes[0].filters) {
        work->what.set->square_tops(upper, lower, squares, to, step);
        return;
    }
    for (npy_intp s = 0; s < squares; s++, upper += size, lower += size)
        for (const T* stop = upper + size; upper < stop; upper++, lower++, to++) {
            const T a = upper[0], b = upper[size], c = lower[0], d = lower[size];
            const T left[PATCH] = {a, a + c, a - c, -c}, right[PATCH] = {b, b + d, b - d, -d};
            for (int i = 0; i < PATCH; i++) {
                T* row = to + i * PATCH * step;
                row[0] = left[i];
                row[step] = left[i] + right[i];
                row[2 * step] = left[i] - right[i];
                row[3 * step] = -right[i];
            }
        }
}

/* Transform the gradient for blocks [start, stop) of filters, of the squares that are worked on. */
static void TYPED(run_square_tops)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const phintys_convolution_set* set = work->what.set;
    const npy_intp *lengths = work->what.result, most = set->sizes[0].filters, columns = work->square[X];
    const npy_intp step = work->squares_at_once * work->padded_outs + BETWEEN, line = 2 * columns * most;
    const npy_intp rows = smaller(work->rows_at_once, work->square_rows - work->at);
    T* lines = (T*)(work->rooms + worker * work->room);
    for (npy_intp block = start; block < stop; block++) {
        const npy_intp first = block * most, left = smaller(work->outs - first, most);
        const npy_intp size = set->sizes[size_for(set, left)].filters;
        T* to = (T*)work->tops + first * work->squares_at_once;
        memset(lines, 0, 2 * line * sizeof(T));
        for (npy_intp row = work->at; row < work->at + rows; row++, to += columns * size) {
            const npy_intp image = row / work->square[Y], y = 2 * (row % work->square[Y]);
            const T* top = (const T*)work->top + y * lengths[X]
                + ((image * work->what.groups + work->group) * work->outs + first) * work->out_plane;
            set->transpose(top, work->out_plane, left, lengths[X], lines, size);
            if (y + 1 < lengths[Y])
                set->transpose(top + lengths[X], work->out_plane, left, lengths[X], lines + line, size);
            else memset(lines + line, 0, line * sizeof(T));
            TYPED(transform_top_lines)(work, lines, lines + line, size, to, step);
        }
    }
}

/* Write the filters of a block. */
static void TYPED(write_square_filters)(const phintys_work* work, npy_intp block, const T* sums, npy_intp step,
                                        T* elements) {
    const npy_intp most = work->what.set->sizes[0].filters, first = block * most, channels = work->channels;
    const npy_intp size = work->planes * work->window;
    for (npy_intp f = first; f < smaller(work->outs, first + most); f++, sums += channels) {
        work->what.set->square_filter(sums, step, channels, elements);
        const int last_first = work->what.flip;
        work->what.set->transpose(elements + (last_first ? (work->window - 1) * channels : 0),
                                  last_first ? -channels : channels, work->window, work->planes,
                                  (T*)work->out + (work->group * work->outs + f) * size, work->window);
    }
}

/* Add the products of `count` squares, those that are worked on, to the sums of blocks [first, last) of filters. */
static void TYPED(add_square_products)(const phintys_work* work, npy_intp first, npy_intp last, npy_intp count,
                                       T* sums) {
    static const npy_intp offset = 0;
    const phintys_convolution_set* set = work->what.set;
    const npy_intp most = set->sizes[0].filters, at_once = work->squares_at_once, panel = panel_of(work);
    const npy_intp step = most * work->channels + BETWEEN;
    TYPED(tiles) tiles = {.set = set, .vectors = 0, .out_filter = work->channels};
    tiles.sum = (phintys_sum){.planes = count, .taps = 1, .offsets = &offset, .add = work->at > 0};
    for (int k = 0; k < NUMBERS; k++) {
        const T* patches = (const T*)work->tall + k * (at_once * work->channels + BETWEEN);
        const T* tops = (const T*)work->tops + k * (at_once * work->padded_outs + BETWEEN);
        for (npy_intp c = 0; c < work->channels; c += panel) {
            tiles.sum.plane = smaller(panel, work->channels - c);
            for (npy_intp block = first; block < last; block++) {
                tiles.wanted = (int)smaller(work->outs - block * most, most);
                tiles.size = size_for(set, tiles.wanted);
                tiles.weights = tops + block * most * at_once;
                TYPED(add_row)(&tiles, patches + c * at_once, sums + ((block - first) * NUMBERS + k) * step + c,
                               tiles.sum.plane);
                TYPED(flush)(&tiles);
            }
        }
    }
}

/* The same of blocks [start, stop), some at once. Filters are written when their sums are complete; if this is so at
 * once, all blocks use the same memory, which stays in the cache. */
static void TYPED(run_square_products)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const npy_intp step = work->what.set->sizes[0].filters * work->channels + BETWEEN, of_block = NUMBERS * step;
    const npy_intp rows = smaller(work->rows_at_once, work->square_rows - work->at);
    const int from_first = work->at == 0, to_last = work->at + rows == work->square_rows;
    T* room = (T*)(work->rooms + worker * work->room);
    for (npy_intp first = start, last; first < stop; first = last) {
        T* sums = (T*)work->tall_sums + (from_first && to_last ? start : first) * of_block;
        last = smaller(stop, first + work->blocks_at_once);
        TYPED(add_square_products)(work, first, last, rows * work->square[X], sums);
        for (npy_intp block = first; block < last && to_last; block++)
            TYPED(write_square_filters)(work, block, sums + (block - first) * of_block, step, room);
    }
}

/* Parts [start, stop) of the images: of each all of that, by one worker. */
static void TYPED(run_parts_of_squares)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    for (npy_intp number = start; number < stop; number++) {
        phintys_work part = TYPED(part_of_products)(work, number, worker);
        part.square_rows = part.what.images * work->square[Y];
        for (part.at = 0; part.at < part.square_rows; part.at += part.rows_at_once) {
            const npy_intp rows = smaller(part.rows_at_once, part.square_rows - part.at);
            TYPED(run_square_patches)(&part, 0, 0, rows);
            TYPED(run_square_tops)(&part, 0, 0, work->blocks);
            TYPED(run_square_products)(&part, 0, 0, work->blocks);
            if (work->stops(work->context)) return;
        }
    }
}
