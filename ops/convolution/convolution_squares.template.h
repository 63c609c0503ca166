/* Results and gradients by images of filters of 3 x 3 elements, by Winograd's method, for one type T.
 *
 * A square of 2 x 2 results sees a patch of 4 x 4 elements of each plane. Its four sums need 36 products; those of
 * Winograd's method, 16: a patch and a filter are each transformed into 16 numbers, which are multiplied one by one and
 * summed over planes; 16 sums become the four results. The transforms are additions, and halves:
 *
 *     patch     B' d B     B' = [1 0 -1 0, 0 1 1 0, 0 -1 1 0, 0 1 0 -1]
 *     filter    G g G'     G  = [1 0 0, 1/2 1/2 1/2, 1/2 -1/2 1/2, 0 0 1]
 *     results   A' m A     A' = [1 1 1 0, 0 1 -1 -1]
 *
 * (S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray, Fast Algorithms for Convolutional
 * Neural Networks, 2016.) The sums over planes of each of the 16 numbers are those of a filter of one element, so tiles
 * compute them. Where results are pooled by windows of 2 x 2 that follow each other, a square is a window, and only the
 * pooled result is written. Squares of all images are numbered in the order of their rows. A stretch of them is worked
 * on at once, so that its transformed patches stay in the cache; a stretch may begin and end anywhere in a row.
 *
 * Rounding errors are about twice as large as those of direct sums, of the magnitude of the largest elements nearby; a
 * NaN or an infinity makes all results of the squares that see it NaN.
 */
/* A part of a stretch, in one row of squares of an image. */
typedef struct {
    npy_intp image, row, first, count;  /* the row of squares, and columns [first, first + count) of it */
} TYPED(squares);

/* Pack blocks [start, stop) of filters of all groups: for each number and plane the weights of all its filters. */
static void TYPED(run_square_packing)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const phintys_convolution* what = &work->what;
    const phintys_convolution_set* set = what->set;
    const npy_intp window = work->plan.window, planes = work->plan.planes;
    const int by_images = what->role == BY_IMAGES, backwards = by_images == !what->flip;
    const npy_intp of_out = by_images ? window : what->channels * window;
    const npy_intp of_plane = by_images ? what->channels * window : window;
    const npy_intp most = set->sizes[0].filters, step = PACKED_PLANES * most;
    T taps[9 * MOST_FILTERS], numbers[NUMBERS * PACKED_PLANES * MOST_FILTERS];
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp group = item / work->plan.blocks, first = item % work->plan.blocks * most;
        const npy_intp left = smaller(work->plan.outs - first, most), size = set->sizes[size_for(set, left)].filters;
        const T* from = (const T*)work->call.filters + group * what->filters * what->channels * window + first * of_out;
        T* to = (T*)work->call.packed + group * work->plan.packed_group + first * planes * NUMBERS;
        memset(taps, 0, sizeof(taps));
        for (npy_intp plane = 0; plane < planes; plane += PACKED_PLANES) {
            const npy_intp count = smaller(PACKED_PLANES, planes - plane);
            for (npy_intp p = 0; p < count; p++) {
                set->transpose(from + (plane + p) * of_plane, of_out, left, window,
                               taps + (backwards ? (window - 1) * most : 0), backwards ? -most : most);
                set->square_weights(taps, numbers + p * most, step);
            }
            for (int k = 0; k < NUMBERS; k++)
                for (npy_intp p = 0; p < count; p += size == most ? count : 1)
                    TYPED(copy_short)(to + (k * planes + plane + p) * size, numbers + k * step + p * most,
                                      size == most ? count * size : size);
        }
    }
}

/* The part of a stretch that begins with square `number`, of which `left` are left. */
static inline TYPED(squares) TYPED(squares_from)(const phintys_work* work, npy_intp number, npy_intp left) {
    const npy_intp rows = work->how.squares.shape[Y], columns = work->how.squares.shape[X], first = number % columns;
    const TYPED(squares) part = {number / columns / rows, number / columns % rows, first,
                                 smaller(left, columns - first)};
    return part;
}

static inline npy_intp TYPED(rounded)(npy_intp count) { return (count + ROUNDED - 1) / ROUNDED * ROUNDED; }

/* Lay out `rows` rows of a plane from row `y` on, and of each 2 * half elements from element `x` on: the even ones and,
 * `row` further on, the odd ones. There are zeros where the plane has no elements. */
static void TYPED(lay_out_patches)(const phintys_work* work, const T* source, npy_intp y, npy_intp rows, npy_intp x,
                                   npy_intp half, T* line, T* to, npy_intp row) {
    const npy_intp length = work->plan.axis[X].source;
    const npy_intp first = smaller(2 * half, larger(0, -x)), last = larger(first, smaller(2 * half, length - x));
    half = TYPED(rounded)(half);
    memset(line, 0, first * sizeof(T));
    memset(line + last, 0, (2 * half - last) * sizeof(T));
    for (const npy_intp stop = y + rows; y < stop; y++, to += 2 * row) {
        if (y < 0 || y >= work->plan.axis[Y].source) {
            memset(to, 0, half * sizeof(T));
            memset(to + row, 0, half * sizeof(T));
            continue;
        }
        TYPED(copy_short)(line + first, source + y * length + x + first, last - first);
        TYPED(part_line)[work->what.set->level](line, half, to, to + row);
    }
}

/* Transform what `count` squares of one image from `first` on see of a plane. Loops write beyond the end of a part,
 * where the next part, the next plane, or nothing is. */
static void TYPED(transform_plane)(const phintys_work* work, const T* source, npy_intp first, npy_intp count, T* line,
                                   T* patches, npy_intp step) {
    const npy_intp columns = work->how.squares.shape[X], row = square_row(work);
    const TYPED(squares) start = TYPED(squares_from)(work, first, count);
    const npy_intp rows = (start.first + count + columns - 1) / columns;
    const npy_intp from = rows > 1 ? 0 : start.first, half = (rows > 1 ? columns : count) + 1;
    T* laid_out = line + 2 * row;
    TYPED(lay_out_patches)(work, source, 2 * start.row + work->how.squares.before[Y], 2 * rows + 2,
                           2 * from + work->how.squares.before[X],
                           half, line, laid_out, row);
    for (npy_intp at = 0; at < count;) {
        const TYPED(squares) part = TYPED(squares_from)(work, first + at, count - at);
        TYPED(transform_patches)[work->what.set->level](
            laid_out + (part.row - start.row) * 4 * row + part.first - from, row, TYPED(rounded)(part.count),
            patches + at, step);
        at += part.count;
    }
}

/* Transform what `count` squares from `first` on see of each plane. */
static void TYPED(transform_stretch)(const phintys_work* work, npy_intp first, npy_intp count, T* line, T* patches) {
    const npy_intp step = work->plan.planes * work->how.squares.at_once + BETWEEN,
        in_image = work->how.squares.shape[Y] * work->how.squares.shape[X];
    for (npy_intp p = 0; p < work->plan.planes; p++, patches += work->how.squares.at_once)
        for (npy_intp at = 0, part; at < count; at += part) {
            const npy_intp image = (first + at) / in_image;
            const T* source = TYPED(source_of)(work, image, work->call.group) + p * work->plan.source_plane;
            part = smaller(count - at, (image + 1) * in_image - first - at);
            TYPED(transform_plane)(work, source, first + at, part, line, patches + at, step);
        }
}

PHINTYS_INLINE T TYPED(larger_of)(T a, T b) {
    const T more = a > b ? a : b;                               /* b if one is NaN */
    return a != a ? a : more;
}

/* Pool squares, which are windows, on a processor that has no loop for them. */
static void TYPED(pool_each)(const T* restrict upper, const T* restrict lower, npy_intp count, int sums, T divisor,
                             T* restrict to) {
    for (npy_intp x = 0; x < count && !sums; x++)
        to[x] = TYPED(larger_of)(TYPED(larger_of)(upper[2 * x], lower[2 * x]),
                                 TYPED(larger_of)(upper[2 * x + 1], lower[2 * x + 1]));
    for (npy_intp x = 0; x < count && sums; x++)
        to[x] = (upper[2 * x] + lower[2 * x] + (upper[2 * x + 1] + lower[2 * x + 1])) / divisor;
}

static void TYPED(pool_squares)(const phintys_pooling* what, const T* upper, const T* lower, npy_intp count, T* to) {
    const int sums = what->mode != PHINTYS_POOL_MAX, divisor = sums && what->mode != PHINTYS_POOL_SUM ? 4 : 1;
    if (what->squares != NULL) what->squares(upper, lower - upper, 1, count, to, sums, divisor);
    else TYPED(pool_each)(upper, lower, count, sums, (T)divisor, to);
}

/* Write the two rows of results of a part of a stretch to a plane; of pooled results, those of whole squares. */
static void TYPED(write_part)(const phintys_work* work, TYPED(squares) part, const T* upper, const T* lower, T* plane) {
    const npy_intp* lengths = lengths_of_results(&work->what);
    const npy_intp length = smaller(2 * part.count, lengths[X] - 2 * part.first);
    T* out = plane + 2 * part.row * lengths[X] + 2 * part.first;
    TYPED(copy_short)(out, upper, length);
    if (2 * part.row + 1 < lengths[Y]) TYPED(copy_short)(out + lengths[X], lower, length);
}

static void TYPED(write_pooled)(const phintys_pooling* what, TYPED(squares) part, const T* pooled, T* plane) {
    const npy_intp length = smaller(part.count, what->count[1] - part.first);
    if (part.row < what->count[0]) TYPED(copy_short)(plane + part.row * what->count[1] + part.first, pooled, length);
}

/* Write the results of `count` squares from `first` on, of filters [filter, filter + filters) of the group. */
static void TYPED(write_stretch)(const phintys_work* work, npy_intp first, npy_intp count, npy_intp filter,
                                 npy_intp filters, const T* sums, npy_intp step, T* upper) {
    const phintys_pooled* pooled = work->after.pooled;
    const int kept = keeps_results(work);
    const npy_intp rounded = TYPED(rounded)(count), of_image = work->what.groups * work->plan.outs;
    T *lower = upper + 2 * rounded, *joined = lower + 2 * rounded, *out = (T*)(kept ? pooled->results : work->call.out);
    for (npy_intp f = 0; f < filters; f++, sums += work->how.squares.at_once) {
        const npy_intp number = work->call.group * work->plan.outs + filter + f;
        const T bias = work->after.bias == NULL ? 0 : ((const T*)work->after.bias)[number];
        TYPED(transform_sums)[work->what.set->level](sums, step, rounded, bias, upper, lower);
        if (work->after.limited)
            TYPED(limit)[work->what.set->level](upper, 4 * rounded, (T)work->after.low, (T)work->after.high);
        if (pooled != NULL && !kept) TYPED(pool_squares)(&pooled->what, upper, lower, rounded, joined);
        for (npy_intp at = 0; at < count;) {
            const TYPED(squares) part = TYPED(squares_from)(work, first + at, count - at);
            T* plane = out + ((part.image - kept * work->call.image) * of_image + number) * written_plane(work);
            if (pooled != NULL && !kept) TYPED(write_pooled)(&pooled->what, part, joined + at, plane);
            else TYPED(write_part)(work, part, upper + 2 * at, lower + 2 * at, plane);
            at += part.count;
        }
    }
}

/* The 16 sums of `count` squares for blocks [first, last) of filters; there are `step` elements from number to number.
 */
static void TYPED(multiply_stretch)(const phintys_work* work, npy_intp first, npy_intp last, npy_intp count,
                                    const T* patches, T* sums, npy_intp step) {
    static const npy_intp offset = 0;
    const phintys_convolution_set* set = work->what.set;
    const npy_intp most = set->sizes[0].filters, planes = work->plan.planes, at_once = work->how.squares.at_once;
    const T* packed = (const T*)work->call.packed + work->call.group * work->plan.packed_group;
    for (int k = 0; k < NUMBERS; k++, patches += planes * at_once + BETWEEN, sums += step)
        for (npy_intp block = first; block < last; block++) {
            const npy_intp left = smaller(work->plan.outs - block * most, most);
            TYPED(tiles) tiles = {.set = set, .size = size_for(set, left), .wanted = (int)left, .vectors = 0};
            tiles.sum = (phintys_sum){.planes = planes, .plane = at_once, .taps = 1, .offsets = &offset};
            tiles.weights = packed + block * most * planes * NUMBERS + k * planes * set->sizes[tiles.size].filters;
            tiles.out_filter = at_once;
            TYPED(add_row)(&tiles, patches, sums + (block - first) * most * at_once, count);
            TYPED(flush)(&tiles);
        }
}

/* Stretches [start, stop) of the squares of the present images, in the present group. */
static void TYPED(run_squares)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const npy_intp at_once = work->how.squares.at_once, most = work->what.set->sizes[0].filters;
    const npy_intp step = work->how.squares.blocks_at_once * most * at_once + BETWEEN,
        in_image = work->how.squares.shape[Y] * work->how.squares.shape[X];
    const npy_intp end = (work->call.image + work->call.images) * in_image;
    T* patches = (T*)(work->call.rooms + worker * work->plan.room);
    T* sums = patches + NUMBERS * (work->plan.planes * at_once + BETWEEN);
    T* line = sums + NUMBERS * step;
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp first = work->call.image * in_image + item * at_once, count = smaller(at_once, end - first);
        TYPED(transform_stretch)(work, first, count, line, patches);
        for (npy_intp block = 0; block < work->plan.blocks; block += work->how.squares.blocks_at_once) {
            const npy_intp last = smaller(work->plan.blocks, block + work->how.squares.blocks_at_once);
            TYPED(multiply_stretch)(work, block, last, count, patches, sums, step);
            TYPED(write_stretch)(work, first, count, block * most, smaller(work->plan.outs, last * most) - block * most,
                                 sums, step, line);
        }
    }
}

/* Finish planes [start, stop) of results. */
static void TYPED(run_finishing)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const npy_intp filters = work->what.groups * work->plan.outs, length = written_plane(work);
    for (npy_intp plane = start; plane < stop; plane++)
        work->after.finish(work->after.finisher, (char*)((T*)work->call.out + plane * length), plane % filters, length);
}

/* Pool planes [start, stop) of the results that are kept, of the present images. */
static void TYPED(run_square_pooling)(void* argument, int worker, npy_intp start, npy_intp stop) {
    const phintys_work* work = argument;
    const phintys_pooled* pooled = work->after.pooled;
    const npy_intp filters = work->what.groups * work->plan.outs, *lengths = work->what.result;
    const npy_intp shape[] = {1, lengths[Y], lengths[X]}, rows = pooled->what.count[0];
    const npy_intp strides[] = {work->plan.out_plane * sizeof(T), lengths[X] * sizeof(T), sizeof(T)};
    phintys_pooling what = pooled->what;
    what.shape = shape;
    what.images[0].strides = strides;
    for (npy_intp plane = start; plane < stop; plane++) {
        T* results = (T*)pooled->results + plane * work->plan.out_plane;
        T* out = (T*)work->call.out + (work->call.image * filters + plane) * pooled->plane;
        what.images[0].data = (char*)results, what.images[1].data = (char*)out;
        if (work->after.finish != NULL && !pooled->first)
            work->after.finish(work->after.finisher, (char*)results, plane % filters, work->plan.out_plane);
        pooled->task(&what, 0, rows, pooled->rooms + worker * pooled->what.room);
        if (work->after.finish != NULL && pooled->first)
            work->after.finish(work->after.finisher, (char*)out, plane % filters, pooled->plane);
    }
}
