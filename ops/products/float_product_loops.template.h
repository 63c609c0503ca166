/* Products of float32 or float64 for one instruction set.
 *
 * A tile is up to TILE_ROWS x TILE_VECTORS vectors of the result, which stay in registers while the loop over k runs:
 * an element of x is multiplied by a vector of a row of y. Each element of the result is one chain of sums in the order
 * of k, so its value depends on its row of x and its column of y alone. A panel is the columns of one tile. */

/* Rows and vectors of a tile: its sums, a row of y and an element of x take all registers, 16 or 32. */
#if SET_LEVEL == 2
#define TILE_ROWS 8
#else
#define TILE_ROWS 4
#endif
#define TILE_VECTORS (SET_LEVEL ? 3 : 2)
#define VECTOR TYPED(Vector)
#define WIDE TYPED(Wide)
#define LANES ((int)(sizeof(VECTOR) / sizeof(T)))
#define WIDE_LANES ((int)(32 / sizeof(T)))
#define SQUARE WIDE_LANES

typedef struct { T alpha, beta; int scaled, accumulated; } TYPED(Scale);

PHINTYS_INLINE VECTOR TYPED(scaled)(VECTOR sum, VECTOR start, const TYPED(Scale) *scale) {
    if (scale->scaled) sum = TYPED(broadcast)(scale->alpha) * sum;
    return scale->accumulated ? TYPED(multiply_add)(TYPED(broadcast)(scale->beta), start, sum) : sum;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */
/* `rest`: how many columns the last vector has; 0: all. `partial`: whether that is so, as a constant. */
PHINTYS_INLINE VECTOR TYPED(load)(const char *from, int vector, int last, int partial, int rest) {
    const T *at = (const T *)from + vector * LANES;
    return partial && vector == last ? TYPED(load_part)(at, rest) : *(const VECTOR *)at;
}

/* What comes after a block of rows, whose operands are fetched from memory while the block is computed. */
PHINTYS_INLINE void TYPED(fetch_ahead)(const Product *p, const char *x, const char *start, const char *out,
                                       const Ahead *ahead, int rows, int bytes) {
    const npy_intp next = ahead->rows;
    for (int i = 0; i < rows; i++) {
        const char *from = x + (next + i) * p->xs0;
        for (npy_intp byte = ahead->first; byte < ahead->end; byte += LINE_BYTES) __builtin_prefetch(from + byte, 0, 2);
        for (int byte = 0; byte < bytes; byte += LINE_BYTES) {
            __builtin_prefetch(out + (next + i) * p->os0 + byte, 1, 2);
            if (start != NULL) __builtin_prefetch(start + (next + i) * p->ss0 + byte, 0, 2);
        }
    }
}

PHINTYS_INLINE void TYPED(tile)(const Product *p, const char *x, const char *y, npy_intp y_step, npy_intp row,
                                npy_intp column, const TYPED(Scale) *scale, int rows, int vectors, int partial,
                                int rest, const Ahead *ahead) {
    VECTOR sums[TILE_ROWS][MOST_VECTORS];
    const npy_intp x_step = p->xs1, x_row = p->xs0;
    char *out = p->out + row * p->os0 + column * sizeof(T);
    const char *start = p->start + row * p->ss0 + column * sizeof(T);
    UNROLLED for (int i = 0; i < rows; i++)
        UNROLLED for (int v = 0; v < vectors; v++) sums[i][v] = (VECTOR){0};
    if (p->k >= PREFETCHED_SUM)
        UNROLLED for (int i = 0; i < rows; i++)
            for (int v = 0; v < vectors; v++) {
                __builtin_prefetch(out + i * p->os0 + v * sizeof(VECTOR), 1);
                if (scale->accumulated) __builtin_prefetch(start + i * p->ss0 + v * sizeof(VECTOR));
            }
    if (ahead != NULL)
        TYPED(fetch_ahead)(p, x, scale->accumulated && p->ss0 ? start : NULL, out, ahead, rows,
                           vectors * (int)sizeof(VECTOR));
    for (npy_intp l = 0; l < p->k; l++, x += x_step, y += y_step) {
        VECTOR other[MOST_VECTORS];
        UNROLLED for (int v = 0; v < vectors; v++) other[v] = TYPED(load)(y, v, vectors - 1, partial, rest);
        UNROLLED for (int i = 0; i < rows; i++) {
            const VECTOR one = TYPED(broadcast)(*(const T *)(x + i * x_row));
            UNROLLED for (int v = 0; v < vectors; v++) sums[i][v] = TYPED(multiply_add)(one, other[v], sums[i][v]);
        }
    }
    UNROLLED for (int i = 0; i < rows; i++, out += p->os0, start += p->ss0)
        UNROLLED for (int v = 0; v < vectors; v++) {
            VECTOR first = (VECTOR){0};
            if (scale->accumulated) first = TYPED(load)(start, v, vectors - 1, partial, rest);
            sums[i][v] = TYPED(scaled)(sums[i][v], first, scale);
            if (partial && v == vectors - 1) TYPED(store_part)((T *)out + v * LANES, sums[i][v], rest);
            else *((VECTOR *)out + v) = sums[i][v];
        }
}

/* ---- panels ------------------------------------------------------------------------------------------------------ */
#define PANEL_PARAMETERS const Product *p, npy_intp row, npy_intp stop, const char *y, npy_intp y_step, \
                         npy_intp column, const TYPED(Scale) *scale, int rest, const Ahead *ahead
/* Rows [row, stop) of a panel. */
#define PANEL(VECTORS, PARTIAL)                                                                                        \
    static void TYPED(panel##VECTORS##PARTIAL)(PANEL_PARAMETERS) {                                             \
        const char *x = p->x + row * p->xs0;                                                                           \
        for (; row + TILE_ROWS <= stop; row += TILE_ROWS, x += TILE_ROWS * p->xs0)                                     \
            TYPED(tile)(p, x, y, y_step, row, column, scale, TILE_ROWS, VECTORS, PARTIAL, rest, ahead);                \
        if (TILE_ROWS > 4 && row + 4 <= stop) {                                                                        \
            TYPED(tile)(p, x, y, y_step, row, column, scale, 4, VECTORS, PARTIAL, rest, ahead);                        \
            row += 4, x += 4 * p->xs0;                                                                                 \
        }                                                                                                              \
        if (row + 2 <= stop) {                                                                                         \
            TYPED(tile)(p, x, y, y_step, row, column, scale, 2, VECTORS, PARTIAL, rest, ahead);                        \
            row += 2, x += 2 * p->xs0;                                                                                 \
        }                                                                                                              \
        if (row < stop) TYPED(tile)(p, x, y, y_step, row, column, scale, 1, VECTORS, PARTIAL, rest, ahead);            \
    }
PANEL(1, 0)
PANEL(1, 1)
PANEL(2, 0)
PANEL(2, 1)
#if TILE_VECTORS == 3
PANEL(3, 0)
PANEL(3, 1)
#endif
#undef PANEL

static void (*const TYPED(panels)[][2])(PANEL_PARAMETERS) = {
    {TYPED(panel10), TYPED(panel11)}, {TYPED(panel20), TYPED(panel21)},
#if TILE_VECTORS == 3
    {TYPED(panel30), TYPED(panel31)},
#endif
};
#undef PANEL_PARAMETERS

/* Copy `count` columns of rows of y without gaps. What is missing in the last vector is 0. */
static void TYPED(pack_rows)(const char *from, npy_intp step, npy_intp k, int count, int width, T *to) {
    const int whole = count / LANES, rest = count % LANES;
    for (npy_intp l = 0; l < k; l++, from += step, to += width) {
        for (int v = 0; v < whole; v++) ((VECTOR *)to)[v] = ((const VECTOR *)from)[v];
        if (rest) ((VECTOR *)to)[whole] = TYPED(load_part)((const T *)from + whole * LANES, rest);
    }
}

/* Copy `count` columns of y, one row after the other. */
static void TYPED(pack)(const Product *p, npy_intp column, int count, int width, T *to) {
    const char *from = p->y + column * p->ys1;
    npy_intp l = 0;
    if (p->ys1 == sizeof(T)) {
        TYPED(pack_rows)(from, p->ys0, p->k, count, width, to);
        return;
    }
    if (p->ys0 == sizeof(T))
        for (; l + SQUARE <= p->k; l += SQUARE, from += SQUARE * sizeof(T), to += SQUARE * width) {
            int j = 0;
            for (; j + SQUARE <= count; j += SQUARE)
                TYPED(transposed)((const T *)(from + j * p->ys1), p->ys1, to + j, width);
            for (; j < count; j++)
                for (int i = 0; i < SQUARE; i++) to[i * width + j] = ((const T *)(from + j * p->ys1))[i];
        }
    for (; l < p->k; l++, from += p->ys0, to += width)
        for (int j = 0; j < count; j++) to[j] = *(const T *)(from + j * p->ys1);
}

/* How many vectors the next panel has, when `left` columns are left. Four are two panels of two. */
PHINTYS_INLINE int TYPED(panel_vectors)(npy_intp left) {
    const npy_intp vectors = (left + LANES - 1) / LANES;
    return vectors <= TILE_VECTORS ? (int)vectors : vectors == 4 ? 2 : TILE_VECTORS;
}

/* Rows [row, stop), from a column on; `ahead`: from which distance rows are fetched meanwhile, 0: none are. */
static void TYPED(by_panels)(const Product *p, npy_intp row, npy_intp stop, npy_intp column,
                             const TYPED(Scale) *scale, npy_intp ahead) {
    T own[PANEL_ON_STACK / sizeof(T)] __attribute__((aligned(64)));
    const int packed = wants_packing(p, sizeof(T));
    while (column < p->n) {
        const int vectors = TYPED(panel_vectors)(p->n - column), width = vectors * LANES;
        const int count = p->n - column < width ? (int)(p->n - column) : width;
        const char *y = p->y + column * p->ys1;
        npy_intp step = p->ys0;
        if (packed) {
            y = p->k * width * sizeof(T) <= PANEL_ON_STACK ? (char *)own : p->room;
            step = width * sizeof(T);
            TYPED(pack)(p, column, count, width, (T *)y);
        }
        const Ahead next = {ahead, column * p->k / p->n * sizeof(T), (column + count) * p->k / p->n * sizeof(T)};
        TYPED(panels)[vectors - 1][count < width](p, row, stop, y, step, column, scale, count - (width - LANES),
                                                  ahead ? &next : NULL);
        column += count;
    }
}

/* As many rows of x at a time as stay in the cache while all panels use them. */
static void TYPED(by_blocks)(const Product *p, const TYPED(Scale) *scale) {
    const npy_intp fitting = BLOCK_BYTES / ((p->k + 1) * sizeof(T)) & ~(npy_intp)(TILE_ROWS - 1);
    const npy_intp length = fitting < BLOCK_ROWS ? BLOCK_ROWS : fitting;
    const int streams = p->xs1 == sizeof(T) && (double)p->m * (p->k + p->n) * sizeof(T) > STREAMED_BYTES;
    for (npy_intp row = 0; row < p->m; row += length) {
        const npy_intp left = p->m - row;
        TYPED(by_panels)(p, row, left < length ? p->m : row + length, 0, scale, streams && left > length ? length : 0);
    }
}

/* ---- vectors ----------------------------------------------------------------------------------------------------- */
/* One row by a matrix whose rows have no gaps: more vectors at once than in a tile of several rows. */
static void TYPED(row_by_matrix)(const Product *p, const TYPED(Scale) *scale) {
    npy_intp column = 0;
    for (; column + MOST_VECTORS * LANES <= p->n; column += MOST_VECTORS * LANES)
        TYPED(tile)(p, p->x, p->y + column * sizeof(T), p->ys0, 0, column, scale, 1, MOST_VECTORS, 0, 0, NULL);
    for (; column + 4 * LANES <= p->n; column += 4 * LANES)
        TYPED(tile)(p, p->x, p->y + column * sizeof(T), p->ys0, 0, column, scale, 1, 4, 0, 0, NULL);
    if (column < p->n) TYPED(by_panels)(p, 0, 1, column, scale, 0);
}

/* `rows` rows without gaps by a vector without gaps. Lane l of 32 bytes adds up the products l, l + WIDE_LANES, ...;
 * the lanes are then added by pairs of neighbours. */
PHINTYS_INLINE void TYPED(dots)(const char *x, npy_intp step, const T *y, npy_intp k, int rows, T *results) {
    WIDE s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    const T *x0 = (const T *)x, *x1 = (const T *)(x + step), *x2 = (const T *)(x + 2 * step),
            *x3 = (const T *)(x + 3 * step);
    npy_intp l = 0;
    for (; l + WIDE_LANES <= k; l += WIDE_LANES) {
        const WIDE other = *(const WIDE *)(y + l);
        s0 = TYPED(wide_multiply_add)(*(const WIDE *)(x0 + l), other, s0);
        if (rows == 1) continue;
        s1 = TYPED(wide_multiply_add)(*(const WIDE *)(x1 + l), other, s1);
        s2 = TYPED(wide_multiply_add)(*(const WIDE *)(x2 + l), other, s2);
        s3 = TYPED(wide_multiply_add)(*(const WIDE *)(x3 + l), other, s3);
    }
    if (l < k) {
        const int rest = (int)(k - l);
        const WIDE other = TYPED(wide_load_part)(y + l, rest);
        s0 = TYPED(wide_multiply_add)(TYPED(wide_load_part)(x0 + l, rest), other, s0);
        if (rows > 1) {
            s1 = TYPED(wide_multiply_add)(TYPED(wide_load_part)(x1 + l, rest), other, s1);
            s2 = TYPED(wide_multiply_add)(TYPED(wide_load_part)(x2 + l, rest), other, s2);
            s3 = TYPED(wide_multiply_add)(TYPED(wide_load_part)(x3 + l, rest), other, s3);
        }
    }
    TYPED(wide_sums)(s0, s1, s2, s3, results);
}

PHINTYS_INLINE void TYPED(store_sums)(const Product *p, npy_intp row, int rows, const T *sums,
                                      const TYPED(Scale) *scale) {
    T *out = (T *)p->out + row;
    for (int i = 0; i < rows; i++) {
        T sum = sums[i];
        if (scale->scaled) sum = scale->alpha * sum;
        if (scale->accumulated)
            sum = TYPED(number_multiply_add)(scale->beta, *(const T *)(p->start + (row + i) * p->ss0), sum);
        out[i] = sum;
    }
}

/* Neither has gaps, and nothing is scaled or added: most of the small products. */
static void TYPED(plain_rows_by_vector)(const Product *p) {
    const T *y = (const T *)p->y;
    const char *x = p->x;
    T *out = (T *)p->out, *end = out + p->m, sums[4];
    for (; end - out >= 4; out += 4, x += 4 * p->xs0) TYPED(dots)(x, p->xs0, y, p->k, 4, out);
    for (; out < end; out++, x += p->xs0) {
        TYPED(dots)(x, 0, y, p->k, 1, sums);
        *out = sums[0];
    }
}

static void TYPED(rows_by_vector)(const Product *p, const TYPED(Scale) *scale) {
    T own[VECTOR_ON_STACK / sizeof(T)], sums[4];
    const T *y = (const T *)p->y;
    const char *x = p->x;
    npy_intp row = 0;
    if (p->ys0 != sizeof(T)) {
        for (npy_intp l = 0; l < p->k; l++) own[l] = *(const T *)(p->y + l * p->ys0);
        y = own;
    }
    for (; row + 4 <= p->m; row += 4, x += 4 * p->xs0) {
        TYPED(dots)(x, p->xs0, y, p->k, 4, sums);
        TYPED(store_sums)(p, row, 4, sums, scale);
    }
    for (; row < p->m; row++, x += p->xs0) {
        TYPED(dots)(x, 0, y, p->k, 1, sums);
        TYPED(store_sums)(p, row, 1, sums, scale);
    }
}

/* ---- products ---------------------------------------------------------------------------------------------------- */
static __attribute__((noinline)) void TYPED(any_product)(const Product *p) {
    const TYPED(Scale) scale = {p->alpha ? *(const T *)p->alpha : 1, p->beta ? *(const T *)p->beta : 0,
                                p->alpha != NULL, p->beta != NULL};
    if (p->n == 1 && p->xs1 == sizeof(T) && (p->ys0 == sizeof(T) || p->k <= VECTOR_ON_STACK / (npy_intp)sizeof(T)))
        TYPED(rows_by_vector)(p, &scale);
    else if (p->m == 1 && p->ys1 == sizeof(T))
        TYPED(row_by_matrix)(p, &scale);
    else
        TYPED(by_blocks)(p, &scale);
}

static void TYPED(product)(const Product *p) {
    if (p->n == 1 && p->xs1 == sizeof(T) && p->ys0 == sizeof(T) && p->alpha == NULL && p->beta == NULL)
        TYPED(plain_rows_by_vector)(p);
    else
        TYPED(any_product)(p);
}

#undef VECTOR
#undef WIDE
#undef LANES
#undef WIDE_LANES
#undef SQUARE
#undef TILE_ROWS
#undef TILE_VECTORS
