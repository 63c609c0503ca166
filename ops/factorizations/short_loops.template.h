/* Cholesky factors and triangular systems for one type and instruction set; short_loops.h says what they do, and
 * has the table by which kernels call them, for orders up to SHORT_ORDER. Four rows are computed at a time; an
 * element's value depends on its column alone, not on how many columns there are. */

/* Vectors of a tile: with its four rows of sums, a row above and an element of x they fill the registers. */
#define TILE_VECTORS (SET_LEVEL + 2)
#define VECTOR TYPED(Vector)
#define WIDE TYPED(Wide)
#define LANES ((int)(sizeof(VECTOR) / sizeof(T)))
#define WIDE_LANES ((int)(32 / sizeof(T)))
#define SQUARE WIDE_LANES
#define NUMBER(AT) (*(const T *)(AT))

/* ---- many right sides -------------------------------------------------------------------------------------------- */
/* `rest`: how many columns the last vector has; `partial`: whether these are not all, as a constant. */
PHINTYS_INLINE VECTOR TYPED(short_load)(const char *from, int vector, int last, int partial, int rest) {
    const T *at = (const T *)from + vector * LANES;
    return partial && vector == last ? TYPED(load_part)(at, rest) : *(const VECTOR *)at;
}

/* The rows [row, row + rows) of a few vectors of right sides; `first`: these vectors in the row 0.
 *
 *            x (lower triangle)        out, of which this tile has `vectors` vectors in a row
 *        +------+                      +---------------+
 *        | done    \                   | solved before |   `above` walks down here, one row for each k
 *        +---------+----+              +---------------+
 *   row  | x[i][k] | \  |              | values        |   rows x vectors registers, SHORT_BLOCK x TILE_VECTORS at most
 *        +---------+----+              +---------------+
 *
 * First all that the solved rows contribute is summed in registers (the loop over k: each loaded vector of `above` is
 * used for all `rows`), and subtracted from the right sides. Then the small triangle is solved: row i needs the rows
 * before it in the tile, which are still in registers. After the loop over k, `x` is at column `row`, where that
 * triangle begins. `inverses` has one division for each row of the matrix, not for each right side. */
PHINTYS_INLINE void TYPED(solved_tile)(const ShortSystem *s, npy_intp row, char *first, const T *inverses,
                                       int rows, int vectors, int partial, int rest) {
    VECTOR values[SHORT_BLOCK][TILE_VECTORS];
    const npy_intp down = s->row_step, right = s->column_step, step = s->out_step;
    const char *x = s->x + row * down, *above = first;
    char *out = first + row * step;
    UNROLLED for (int i = 0; i < rows; i++)
        UNROLLED for (int v = 0; v < vectors; v++) values[i][v] = (VECTOR){0};
    for (npy_intp k = 0; k < row; k++, x += right, above += step) {
        VECTOR other[TILE_VECTORS];
        UNROLLED for (int v = 0; v < vectors; v++) other[v] = TYPED(short_load)(above, v, vectors - 1, partial, rest);
        UNROLLED for (int i = 0; i < rows; i++) {
            const VECTOR one = TYPED(broadcast)(NUMBER(x + i * down));
            UNROLLED for (int v = 0; v < vectors; v++) values[i][v] = TYPED(multiply_add)(one, other[v], values[i][v]);
        }
    }
    UNROLLED for (int i = 0; i < rows; i++, out += step, x += down) {
        UNROLLED for (int v = 0; v < vectors; v++)
            values[i][v] = TYPED(short_load)(out, v, vectors - 1, partial, rest) - values[i][v];
        UNROLLED for (int k = 0; k < i; k++) {
            const VECTOR one = TYPED(broadcast)(-NUMBER(x + k * right));
            UNROLLED for (int v = 0; v < vectors; v++)
                values[i][v] = TYPED(multiply_add)(one, values[k][v], values[i][v]);
        }
        const VECTOR inverse = TYPED(broadcast)(inverses[row + i]);
        UNROLLED for (int v = 0; v < vectors; v++) {
            values[i][v] = values[i][v] * inverse;
            if (partial && v == vectors - 1) TYPED(store_part)((T *)out + v * LANES, values[i][v], rest);
            else *((VECTOR *)out + v) = values[i][v];
        }
    }
}

#define PANEL(VECTORS, PARTIAL)                                                                                        \
    static void TYPED(solved_panel##VECTORS##PARTIAL)(const ShortSystem *s, char *first, const T *inverses,    \
                                                              int rest) {                                              \
        npy_intp row = 0;                                                                                              \
        for (; row + SHORT_BLOCK <= s->order; row += SHORT_BLOCK)                                                      \
            TYPED(solved_tile)(s, row, first, inverses, SHORT_BLOCK, VECTORS, PARTIAL, rest);                          \
        for (; row < s->order; row++) TYPED(solved_tile)(s, row, first, inverses, 1, VECTORS, PARTIAL, rest);          \
    }
PANEL(1, 0)
PANEL(1, 1)
PANEL(2, 0)
PANEL(2, 1)
#if TILE_VECTORS > 2
PANEL(3, 0)
PANEL(3, 1)
#endif
#if TILE_VECTORS > 3
PANEL(4, 0)
PANEL(4, 1)
#endif
#undef PANEL

static void (*const TYPED(solved_panels)[][2])(const ShortSystem *, char *, const T *, int) = {
    {TYPED(solved_panel10), TYPED(solved_panel11)}, {TYPED(solved_panel20), TYPED(solved_panel21)},
#if TILE_VECTORS > 2
    {TYPED(solved_panel30), TYPED(solved_panel31)},
#endif
#if TILE_VECTORS > 3
    {TYPED(solved_panel40), TYPED(solved_panel41)},
#endif
};

static void TYPED(solve_many)(const ShortSystem *s) {
    T inverses[SHORT_ORDER];
    for (npy_intp i = 0; i < s->order; i++)
        inverses[i] = s->unit ? 1 : 1 / NUMBER(s->x + i * (s->row_step + s->column_step));
    npy_intp column = 0;
    while (column < s->columns) {
        const npy_intp left = s->columns - column, whole = (left + LANES - 1) / LANES;
        const int vectors = whole > TILE_VECTORS ? TILE_VECTORS : (int)whole;
        const int count = left < vectors * LANES ? (int)left : vectors * LANES;
        TYPED(solved_panels)[vectors - 1][count < vectors * LANES](s, s->out + column * sizeof(T), inverses,
                                                                   count - (vectors - 1) * LANES);
        column += count;
    }
}

/* ---- one right side ---------------------------------------------------------------------------------------------- */
/* Subtract what `count` columns of x, which have no gaps and begin at `x`, contribute to y. */
PHINTYS_INLINE void TYPED(subtract_columns)(T *y, const char *x, npy_intp step, const T *factors,
                                            npy_intp length, int count) {
    npy_intp i = 0;
    for (; i < length; i += LANES) {
        const int partial = length - i < LANES, rest = (int)(length - i);
        VECTOR value = partial ? TYPED(load_part)(y + i, rest) : *(const VECTOR *)(y + i);
        UNROLLED for (int j = 0; j < count; j++) {
            const T *column = (const T *)(x + j * step) + i;
            const VECTOR other = partial ? TYPED(load_part)(column, rest) : *(const VECTOR *)column;
            value = TYPED(multiply_add)(TYPED(broadcast)(-factors[j]), other, value);
        }
        if (partial) TYPED(store_part)(y + i, value, rest);
        else *(VECTOR *)(y + i) = value;
    }
}

/* The columns of x have no gaps: `count` unknowns from `first` on, whose own triangle is solved number by number. */
PHINTYS_INLINE void TYPED(solve_columns)(const ShortSystem *s, T *y, npy_intp first, int lower, int count) {
    const npy_intp step = s->column_step;
    const char *x = s->x + first * step;
    T factors[SHORT_BLOCK];
    UNROLLED for (int done = 0; done < count; done++) {
        const int j = lower ? done : count - 1 - done;
        const T *column = (const T *)(x + j * step) + first;
        T value = y[first + j];
        UNROLLED for (int before = 0; before < done; before++) {
            const int k = lower ? before : count - 1 - before;
            value -= ((const T *)(x + k * step) + first)[j] * factors[k];
        }
        factors[j] = y[first + j] = s->unit ? value : value / column[j];
    }
    if (lower)
        TYPED(subtract_columns)(y + first + count, x + (first + count) * sizeof(T), step, factors,
                                s->order - first - count, count);
    else
        TYPED(subtract_columns)(y, x, step, factors, first, count);
}

static void TYPED(solve_by_columns)(const ShortSystem *s, int lower) {
    const npy_intp order = s->order;
    T *y = (T *)s->out;
    npy_intp done = 0;
    for (; done + SHORT_BLOCK <= order; done += SHORT_BLOCK) {
        if (lower) TYPED(solve_columns)(s, y, done, 1, SHORT_BLOCK);
        else TYPED(solve_columns)(s, y, order - done - SHORT_BLOCK, 0, SHORT_BLOCK);
    }
    for (; done < order; done++) {
        if (lower) TYPED(solve_columns)(s, y, done, 1, 1);
        else TYPED(solve_columns)(s, y, order - done - 1, 0, 1);
    }
}

/* The rows of x have no gaps: `count` unknowns from `first` on, 1 or 4. */
PHINTYS_INLINE void TYPED(solve_rows)(const ShortSystem *s, T *y, npy_intp first, int lower, int count) {
    const npy_intp step = s->row_step, begin = lower ? 0 : first + count, end = lower ? first : s->order;
    const char *x = s->x + first * step;
    WIDE sums[4] = {{0}, {0}, {0}, {0}};
    T known[4];
    npy_intp k = begin;
    for (; k + WIDE_LANES <= end; k += WIDE_LANES)
        UNROLLED for (int i = 0; i < count; i++)
            sums[i] = TYPED(wide_multiply_add)(*(const WIDE *)((const T *)(x + i * step) + k),
                                               *(const WIDE *)(y + k), sums[i]);
    if (k < end) {
        const int rest = (int)(end - k);
        const WIDE other = TYPED(wide_load_part)(y + k, rest);
        UNROLLED for (int i = 0; i < count; i++)
            sums[i] = TYPED(wide_multiply_add)(
                                               TYPED(wide_load_part)((const T *)(x + i * step) + k, rest), other,
                                                sums[i]);
    }
    TYPED(wide_sums)(sums[0], sums[1], sums[2], sums[3], known);
    UNROLLED for (int done = 0; done < count; done++) {
        const int i = lower ? done : count - 1 - done;
        const T *row = (const T *)(x + i * step) + first;
        T value = y[first + i] - known[i];
        UNROLLED for (int before = 0; before < done; before++) {
            const int j = lower ? before : count - 1 - before;
            value -= row[j] * y[first + j];
        }
        y[first + i] = s->unit ? value : value / row[i];
    }
}

static void TYPED(solve_by_rows)(const ShortSystem *s, int lower) {
    const npy_intp order = s->order;
    T *y = (T *)s->out;
    npy_intp done = 0;
    for (; done + SHORT_BLOCK <= order; done += SHORT_BLOCK) {
        if (lower) TYPED(solve_rows)(s, y, done, 1, SHORT_BLOCK);
        else TYPED(solve_rows)(s, y, order - done - SHORT_BLOCK, 0, SHORT_BLOCK);
    }
    for (; done < order; done++) {
        if (lower) TYPED(solve_rows)(s, y, done, 1, 1);
        else TYPED(solve_rows)(s, y, order - done - 1, 0, 1);
    }
}

static void TYPED(short_solve)(const ShortSystem *s, int lower) {
    ShortSystem turned = *s;
    if (s->columns == 1 && s->out_step == sizeof(T)) {
        if (s->row_step == sizeof(T)) TYPED(solve_by_columns)(s, lower);
        else TYPED(solve_by_rows)(s, lower);
        return;
    }
    if (!lower) {
        turned.x += (s->order - 1) * (s->row_step + s->column_step);
        turned.out += (s->order - 1) * s->out_step;
        turned.row_step = -s->row_step;
        turned.column_step = -s->column_step;
        turned.out_step = -s->out_step;
    }
    TYPED(solve_many)(&turned);
}

/* ---- Cholesky factors -------------------------------------------------------------------------------------------- */
/* In scratch memory the factor is an upper triangle U with ``U^T U = x``, so that its rows are vectors. Its rows have
 * `width` elements, a multiple of HEAD_LANES; up to whole blocks it goes on with ones on its diagonal. */
/* The first vectors of a block of rows, which hold the triangle of the block: as many as this has columns. */
#define HEAD (LANES < SHORT_BLOCK ? SHORT_BLOCK / LANES : 1)
#define HEAD_LANES (HEAD * LANES)

/* Zeros in front of the triangle's rows, which vectors read, and behind them. */
PHINTYS_INLINE void TYPED(pad)(T *room, npy_intp order, npy_intp width) {
    for (npy_intp row = 0; row < order; row++) {
        T *at = room + row * width;
        for (npy_intp column = row / HEAD_LANES * HEAD_LANES; column < row; column += LANES)
            *(VECTOR *)(at + column) = (VECTOR){0};
        for (npy_intp column = order / LANES * LANES; column < width; column += LANES)
            *(VECTOR *)(at + column) = (VECTOR){0};
    }
    for (npy_intp row = order; row % SHORT_BLOCK; row++) {
        memset(room + row * width, 0, width * sizeof(T));
        room[row * width + row] = 1;
    }
}

PHINTYS_INLINE void TYPED(take_triangle)(const T *matrix, npy_intp order, int lower, T *room, npy_intp width) {
    npy_intp row = 0;
    if (!lower) {
        for (; row < order; row++)
            memcpy(room + row * width + row, matrix + row * order + row, (order - row) * sizeof(T));
        return;
    }
    for (; row + SQUARE <= order; row += SQUARE)
        for (npy_intp column = 0; column <= row; column += SQUARE)
            TYPED(transposed)(matrix + row * order + column, order * sizeof(T), room + column * width + row,
                              width);
    for (; row < order; row++)
        for (npy_intp column = 0; column <= row; column++) room[column * width + row] = matrix[row * order + column];
}

PHINTYS_INLINE void TYPED(give_triangle)(T *matrix, npy_intp order, int lower, const T *room, npy_intp width) {
    npy_intp row = 0;
    if (!lower) {
        for (; row < order; row++) {
            memset(matrix + row * order, 0, row * sizeof(T));
            memcpy(matrix + row * order + row, room + row * width + row, (order - row) * sizeof(T));
        }
        return;
    }
    for (; row + SQUARE <= order; row += SQUARE)
        for (npy_intp column = 0; column <= row; column += SQUARE)
            TYPED(transposed)(room + column * width + row, width * sizeof(T), matrix + row * order + column,
                              order);
    for (; row < order; row++)
        for (npy_intp column = 0; column <= row; column++) matrix[row * order + column] = room[column * width + row];
    for (row = 0; row < order; row++) memset(matrix + row * order + row + 1, 0, (order - row - 1) * sizeof(T));
}

/* The triangle of a block, number by number, and the inverses of its diagonal; `at`: its first element. */
PHINTYS_INLINE int TYPED(factor_block)(const T *at, npy_intp width, T factors[][SHORT_BLOCK], T *inverses) {
    UNROLLED for (int i = 0; i < SHORT_BLOCK; i++) {
        T square = at[i * width + i];
        UNROLLED for (int k = 0; k < i; k++) square -= factors[k][i] * factors[k][i];
        if (!(square > 0)) return i + 1;
        factors[i][i] = ROOT(T)(square);
        inverses[i] = 1 / factors[i][i];
        UNROLLED for (int j = i + 1; j < SHORT_BLOCK; j++) {
            T value = at[i * width + j];
            UNROLLED for (int k = 0; k < i; k++) value -= factors[k][i] * factors[k][j];
            factors[i][j] = value * inverses[i];
        }
    }
    return 0;
}

/* A block of rows of a few vectors, less what the rows above contribute. */
PHINTYS_INLINE void TYPED(remainder)(VECTOR values[][TILE_VECTORS], const T *room, npy_intp width, npy_intp row,
                                     npy_intp column, int vectors) {
    const T *above = room + column, *x = room + row, *at = room + row * width + column;
    UNROLLED for (int i = 0; i < SHORT_BLOCK; i++)
        UNROLLED for (int v = 0; v < vectors; v++) values[i][v] = (VECTOR){0};
    for (npy_intp k = 0; k < row; k++, above += width, x += width) {
        VECTOR other[TILE_VECTORS];
        UNROLLED for (int v = 0; v < vectors; v++) other[v] = *((const VECTOR *)above + v);
        UNROLLED for (int i = 0; i < SHORT_BLOCK; i++) {
            const VECTOR one = TYPED(broadcast)(x[i]);
            UNROLLED for (int v = 0; v < vectors; v++) values[i][v] = TYPED(multiply_add)(one, other[v], values[i][v]);
        }
    }
    UNROLLED for (int i = 0; i < SHORT_BLOCK; i++, at += width)
        UNROLLED for (int v = 0; v < vectors; v++) values[i][v] = *((const VECTOR *)at + v) - values[i][v];
}

PHINTYS_INLINE void TYPED(finish)(VECTOR values[][TILE_VECTORS], T *at, npy_intp width,
                                  T factors[][SHORT_BLOCK], const T *inverses, int vectors) {
    UNROLLED for (int i = 0; i < SHORT_BLOCK; i++, at += width) {
        UNROLLED for (int k = 0; k < i; k++) {
            const VECTOR one = TYPED(broadcast)(-factors[k][i]);
            UNROLLED for (int v = 0; v < vectors; v++)
                values[i][v] = TYPED(multiply_add)(one, values[k][v], values[i][v]);
        }
        UNROLLED for (int v = 0; v < vectors; v++) {
            values[i][v] = values[i][v] * TYPED(broadcast)(inverses[i]);
            *((VECTOR *)at + v) = values[i][v];
        }
    }
}

PHINTYS_INLINE void TYPED(factor_tile)(T *room, npy_intp width, npy_intp row, npy_intp column,
                                       T factors[][SHORT_BLOCK], const T *inverses, int vectors) {
    VECTOR values[SHORT_BLOCK][TILE_VECTORS];
    TYPED(remainder)(values, room, width, row, column, vectors);
    TYPED(finish)(values, room + row * width + column, width, factors, inverses, vectors);
}

/* Returns what `ShortCholesky` does. */
static int TYPED(factor)(T *room, npy_intp order, npy_intp width) {
    T factors[SHORT_BLOCK][SHORT_BLOCK], inverses[SHORT_BLOCK];
    VECTOR values[SHORT_BLOCK][TILE_VECTORS];
    for (npy_intp row = 0; row < order; row += SHORT_BLOCK) {
        npy_intp column = row / LANES * LANES;
        T *at = room + row * width + column;
        TYPED(remainder)(values, room, width, row, column, HEAD);
        UNROLLED for (int i = 0; i < SHORT_BLOCK; i++)
            UNROLLED for (int v = 0; v < HEAD; v++) *((VECTOR *)(at + i * width) + v) = values[i][v];
        const int failed = TYPED(factor_block)(room + row * width + row, width, factors, inverses);
        if (failed) return (int)row + failed;
        TYPED(finish)(values, at, width, factors, inverses, HEAD);
        UNROLLED for (int i = 0; i < SHORT_BLOCK; i++) room[(row + i) * (width + 1)] = factors[i][i];
        column += HEAD_LANES;
        for (; column + TILE_VECTORS * LANES <= width; column += TILE_VECTORS * LANES)
            TYPED(factor_tile)(room, width, row, column, factors, inverses, TILE_VECTORS);
        for (; column < width; column += LANES) TYPED(factor_tile)(room, width, row, column, factors, inverses, 1);
    }
    return 0;
}

static int TYPED(short_cholesky)(char *matrix, npy_intp order, int lower, char *room) {
    const npy_intp width = (order + HEAD_LANES - 1) / HEAD_LANES * HEAD_LANES;
    TYPED(pad)((T *)room, order, width);
    TYPED(take_triangle)((const T *)matrix, order, lower, (T *)room, width);
    const int failed = TYPED(factor)((T *)room, order, width);
    if (!failed) TYPED(give_triangle)((T *)matrix, order, lower, (const T *)room, width);
    return failed;
}

#undef HEAD_LANES
#undef HEAD
#undef NUMBER
#undef SQUARE
#undef WIDE_LANES
#undef LANES
#undef WIDE
#undef VECTOR
#undef TILE_VECTORS
