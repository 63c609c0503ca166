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
    const npy_intp length = work->plan.axis[X].source, channels = work->how.tall.channels;
    const npy_intp width = 2 * work->how.squares.shape[X] + 2, first = -work->how.squares.before[X];
    const npy_intp last = smaller(width, first + length);
    if (y < 0 || y >= work->plan.axis[Y].source || first >= last) {
        memset(to, 0, width * channels * sizeof(T));
        return;
    }
    if (work->plan.planes < channels) memset(to, 0, width * channels * sizeof(T));
    memset(to, 0, first * channels * sizeof(T));
    work->what.set->transpose(TYPED(source_of)(work, image, work->call.group) + y * length, work->plan.source_plane,
                              work->plan.planes,
                              last - first, to + first * channels, channels);
    memset(to + last * channels, 0, (width - last) * channels * sizeof(T));
}

/* Transform the patches of rows [start, stop) of the squares that are worked on. Of a row's four lines, two are those
 * of the row before. */
static void TYPED(run_square_patches)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const npy_intp line = (2 * work->how.squares.shape[X] + 2) * work->how.tall.channels, panel = panel_of(work);
    const npy_intp step = work->how.squares.at_once * work->how.tall.channels + BETWEEN;
    const void* lines[PATCH];
    T* room = (T*)(work->call.rooms + worker * work->plan.room);
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp row = work->call.at + item, image = row / work->how.squares.shape[Y],
            y = row % work->how.squares.shape[Y];
        for (int k = item > start && y > 0 ? 2 : 0; k < PATCH; k++)
            TYPED(lay_out_channels)(work, image, 2 * y + k + work->how.squares.before[Y],
                                    room + (2 * y + k) % PATCH * line);
        for (npy_intp c = 0; c < work->how.tall.channels; c += panel) {
            const npy_intp elements = smaller(panel, work->how.tall.channels - c);
            for (int k = 0; k < PATCH; k++) lines[k] = room + (2 * y + k) % PATCH * line + c;
            T* to = (T*)work->call.tall + c * work->how.squares.at_once + item * work->how.squares.shape[X] * elements;
            work->what.set->patches(lines, work->how.tall.channels, elements, work->how.squares.shape[X], to, step);
        }
    }
}

/* The numbers of a row of squares of the gradient of a block of filters, from its two lines. */
static void TYPED(transform_top_lines)(const phintys_work* work, const T* upper, const T* lower, npy_intp size, T* to,
                                       npy_intp step) {
    const npy_intp squares = work->how.squares.shape[X];
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
    const npy_intp *lengths = work->what.result, most = set->sizes[0].filters, columns = work->how.squares.shape[X];
    const npy_intp step = work->how.squares.at_once * work->plan.padded_outs + BETWEEN, line = 2 * columns * most;
    const npy_intp rows = smaller(work->how.squares.rows_at_once, work->how.squares.all_rows - work->call.at);
    T* lines = (T*)(work->call.rooms + worker * work->plan.room);
    for (npy_intp block = start; block < stop; block++) {
        const npy_intp first = block * most, left = smaller(work->plan.outs - first, most);
        const npy_intp size = set->sizes[size_for(set, left)].filters;
        T* to = (T*)work->call.tops + first * work->how.squares.at_once;
        memset(lines, 0, 2 * line * sizeof(T));
        for (npy_intp row = work->call.at; row < work->call.at + rows; row++, to += columns * size) {
            const npy_intp image = row / work->how.squares.shape[Y], y = 2 * (row % work->how.squares.shape[Y]);
            const T* top = (const T*)work->call.top + y * lengths[X]
                + ((image * work->what.groups + work->call.group) * work->plan.outs + first) * work->plan.out_plane;
            set->transpose(top, work->plan.out_plane, left, lengths[X], lines, size);
            if (y + 1 < lengths[Y])
                set->transpose(top + lengths[X], work->plan.out_plane, left, lengths[X], lines + line, size);
            else memset(lines + line, 0, line * sizeof(T));
            TYPED(transform_top_lines)(work, lines, lines + line, size, to, step);
        }
    }
}

/* Write the filters of a block. */
static void TYPED(write_square_filters)(const phintys_work* work, npy_intp block, const T* sums, npy_intp step,
                                        T* elements) {
    const npy_intp most = work->what.set->sizes[0].filters, first = block * most, channels = work->how.tall.channels;
    const npy_intp size = work->plan.planes * work->plan.window;
    for (npy_intp f = first; f < smaller(work->plan.outs, first + most); f++, sums += channels) {
        work->what.set->square_filter(sums, step, channels, elements);
        const int last_first = work->what.flip;
        work->what.set->transpose(elements + (last_first ? (work->plan.window - 1) * channels : 0),
                                  last_first ? -channels : channels, work->plan.window, work->plan.planes,
                                  (T*)work->call.out + (work->call.group * work->plan.outs + f) * size,
                                      work->plan.window);
    }
}

/* Add the products of `count` squares, those that are worked on, to the sums of blocks [first, last) of filters. */
static void TYPED(add_square_products)(const phintys_work* work, npy_intp first, npy_intp last, npy_intp count,
                                       T* sums) {
    static const npy_intp offset = 0;
    const phintys_convolution_set* set = work->what.set;
    const npy_intp most = set->sizes[0].filters, at_once = work->how.squares.at_once, panel = panel_of(work);
    const npy_intp step = most * work->how.tall.channels + BETWEEN;
    TYPED(tiles) tiles = {.set = set, .vectors = 0, .out_filter = work->how.tall.channels};
    tiles.sum = (phintys_sum){.planes = count, .taps = 1, .offsets = &offset, .add = work->call.at > 0};
    for (int k = 0; k < NUMBERS; k++) {
        const T* patches = (const T*)work->call.tall + k * (at_once * work->how.tall.channels + BETWEEN);
        const T* tops = (const T*)work->call.tops + k * (at_once * work->plan.padded_outs + BETWEEN);
        for (npy_intp c = 0; c < work->how.tall.channels; c += panel) {
            tiles.sum.plane = smaller(panel, work->how.tall.channels - c);
            for (npy_intp block = first; block < last; block++) {
                tiles.wanted = (int)smaller(work->plan.outs - block * most, most);
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
    const npy_intp step = work->what.set->sizes[0].filters * work->how.tall.channels + BETWEEN,
        of_block = NUMBERS * step;
    const npy_intp rows = smaller(work->how.squares.rows_at_once, work->how.squares.all_rows - work->call.at);
    const int from_first = work->call.at == 0, to_last = work->call.at + rows == work->how.squares.all_rows;
    T* room = (T*)(work->call.rooms + worker * work->plan.room);
    for (npy_intp first = start, last; first < stop; first = last) {
        T* sums = (T*)work->call.tall_sums + (from_first && to_last ? start : first) * of_block;
        last = smaller(stop, first + work->how.squares.blocks_at_once);
        TYPED(add_square_products)(work, first, last, rows * work->how.squares.shape[X], sums);
        for (npy_intp block = first; block < last && to_last; block++)
            TYPED(write_square_filters)(work, block, sums + (block - first) * of_block, step, room);
    }
}

/* Parts [start, stop) of the images: of each all of that, by one worker. */
static void TYPED(run_parts_of_squares)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    for (npy_intp number = start; number < stop; number++) {
        phintys_work part = TYPED(part_of_products)(work, number, worker);
        part.how.squares.all_rows = part.what.images * work->how.squares.shape[Y];
        const phintys_squares* squares = &part.how.squares;
        for (part.call.at = 0; part.call.at < squares->all_rows; part.call.at += squares->rows_at_once) {
            const npy_intp rows = smaller(part.how.squares.rows_at_once, part.how.squares.all_rows - part.call.at);
            TYPED(run_square_patches)(&part, 0, 0, rows);
            TYPED(run_square_tops)(&part, 0, 0, work->plan.blocks);
            TYPED(run_square_products)(&part, 0, 0, work->plan.blocks);
            if (work->call.stops(work->call.context)) return;
        }
    }
}
