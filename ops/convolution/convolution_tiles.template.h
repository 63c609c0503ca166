/* The inner loops of convolutions for one type T and one instruction set; convolution_sets.template.h includes this,
 * and says how many registers there are, what adds products to vectors (FUSED) and their elements (TOTAL), and what
 * finds the LARGER and the SMALLER of two. All of these are undefined at the end.
 *
 * A tile is the sums of some results: `vectors` stretches of LANES neighbouring results of `filters` filters each. They
 * stay in registers while all planes and all taps are added, so a tile is written once and never read.
 */
#define LANES ((int)(SET_BYTES / sizeof(T)))
#define VECTOR TYPED(Vector)
#define LOAD(FROM) (*(const VECTOR*)(FROM))
#define STORE(TO, VALUE) (*(VECTOR*)(TO) = (VALUE))
#define SPREAD TYPED(broadcast)

/* Add the products of one tap of one plane. */
PHINTYS_INLINE void TYPED(add_tap)(const int filters, const int vectors, const T* const* at, npy_intp offset,
                                   const T* weights, VECTOR sums[][MOST_VECTORS]) {
    VECTOR x[MOST_VECTORS];
PHINTYS_UNROLLED(8)
    for (int v = 0; v < vectors; v++) x[v] = LOAD(at[v] + offset);
PHINTYS_UNROLLED(8)
    for (int f = 0; f < filters; f++) {
        const VECTOR w = SPREAD(weights[f]);
PHINTYS_UNROLLED(8)
        for (int v = 0; v < vectors; v++) sums[f][v] = FUSED(w, x[v], sums[f][v]);
    }
}

PHINTYS_INLINE void TYPED(any_tile)(const int filters, const int vectors, const phintys_sum* sum,
                                    const T* const* in, T* const* out, npy_intp out_filter, int wanted,
                                    const T* weights) {
    VECTOR sums[MOST_FILTERS][MOST_VECTORS];
    const T* at[MOST_VECTORS];
    const npy_intp taps = sum->taps, plane = sum->plane;
    const npy_intp* offsets = sum->offsets;
PHINTYS_UNROLLED(8)
    for (int v = 0; v < vectors; v++) at[v] = in[v];
PHINTYS_UNROLLED(8)
    for (int f = 0; f < filters; f++)
PHINTYS_UNROLLED(8)
        for (int v = 0; v < vectors; v++)
            if (sum->add && f < wanted) sums[f][v] = LOAD(out[v] + f * out_filter);
            else sums[f][v] = SPREAD((T)0);
    if (taps == 1) {                    /* without a loop: 327 us instead of 347, 256 channels of 16 x 16 with AVX2 */
        npy_intp offset = offsets[0];
        for (npy_intp p = 0; p < sum->planes; p++, offset += plane, weights += filters + sum->skipped)
            TYPED(add_tap)(filters, vectors, at, offset, weights, sums);
    } else {
        for (npy_intp p = 0; p < sum->planes; p++) {
            for (npy_intp t = 0; t < taps; t++, weights += filters)
                TYPED(add_tap)(filters, vectors, at, offsets[t], weights, sums);
            weights += sum->skipped;
PHINTYS_UNROLLED(8)
            for (int v = 0; v < vectors; v++) at[v] += plane;
        }
    }
    if (sum->bias != NULL)
PHINTYS_UNROLLED(8)
        for (int f = 0; f < filters; f++)
            if (f < wanted)
PHINTYS_UNROLLED(8)
                for (int v = 0; v < vectors; v++) sums[f][v] += SPREAD(((const T*)sum->bias)[f]);
    if (sum->limited) {
        const VECTOR low = SPREAD((T)sum->low), high = SPREAD((T)sum->high);
PHINTYS_UNROLLED(8)
        for (int f = 0; f < filters; f++)
PHINTYS_UNROLLED(8)
            for (int v = 0; v < vectors; v++) sums[f][v] = SMALLER(high, LARGER(low, sums[f][v]));
    }
PHINTYS_UNROLLED(8)
    for (int f = 0; f < filters; f++)
        if (f < wanted)
PHINTYS_UNROLLED(8)
            for (int v = 0; v < vectors; v++) STORE(out[v] + f * out_filter, sums[f][v]);
}

/* What rows of results of few planes are computed with. */
typedef struct {
    VECTOR weights[FILTERS_OF_ROW][PLANES_OF_ROW], bias[FILTERS_OF_ROW], low, high;
} TYPED(row);

/* A vector of results of each filter; planes and results are where it begins. */
PHINTYS_INLINE void TYPED(row_vector)(const int filters, const int planes, const int limited,
                                      const TYPED(row)* row, const T* in, npy_intp plane, T* out,
                                      npy_intp out_filter) {
    VECTOR values[PLANES_OF_ROW];
PHINTYS_UNROLLED(8)
    for (int p = 0; p < planes; p++) values[p] = LOAD(in + p * plane);
PHINTYS_UNROLLED(8)
    for (int f = 0; f < filters; f++) {
        VECTOR result = {0};
PHINTYS_UNROLLED(8)
        for (int p = 0; p < planes; p++) result = FUSED(row->weights[f][p], values[p], result);
        result += row->bias[f];
        if (limited) result = SMALLER(row->high, LARGER(row->low, result));
        STORE(out + f * out_filter, result);
    }
}

PHINTYS_INLINE void TYPED(row_vectors)(const int filters, const int planes, const int limited,
                                       const TYPED(row) row, const T* in, npy_intp plane, T* out,
                                       npy_intp out_filter, npy_intp length) {
    npy_intp x = 0;
    for (; x + LANES <= length; x += LANES)
        TYPED(row_vector)(filters, planes, limited, &row, in + x, plane, out + x, out_filter);
    if (x == length) return;
    x = length - LANES;
    TYPED(row_vector)(filters, planes, limited, &row, in + x, plane, out + x, out_filter);
}

/* `length` results, a vector or more, of each of some filters of one element for few planes. */
PHINTYS_INLINE void TYPED(any_row)(const int filters, const int planes, const phintys_sum* sum, const T* in,
                                   T* out, npy_intp out_filter, npy_intp length, const T* weights) {
    TYPED(row) row = {.low = SPREAD((T)sum->low), .high = SPREAD((T)sum->high)};
PHINTYS_UNROLLED(8)
    for (int f = 0; f < filters; f++) {
        row.bias[f] = SPREAD(sum->bias == NULL ? (T)0 : ((const T*)sum->bias)[f]);
PHINTYS_UNROLLED(8)
        for (int p = 0; p < planes; p++) row.weights[f][p] = SPREAD(weights[p * sum->skipped + f]);
    }
    if (sum->limited) TYPED(row_vectors)(filters, planes, 1, row, in, sum->plane, out, out_filter, length);
    else TYPED(row_vectors)(filters, planes, 0, row, in, sum->plane, out, out_filter, length);
}

#define ROW(FILTERS, PLANES) \
    static void TYPED(row_##FILTERS##_##PLANES)(const phintys_sum* sum, const void* in, void* out, \
            npy_intp out_filter, npy_intp length, const void* weights) { \
        TYPED(any_row)(FILTERS, PLANES, sum, in, out, out_filter, length, weights); \
    }
ROW(1, 1) ROW(1, 2) ROW(1, 3) ROW(1, 4) ROW(2, 2) ROW(2, 3) ROW(2, 4)
#undef ROW

/* Add the products of a vector of positions. */
PHINTYS_INLINE void TYPED(add_dots)(const int filters, const int taps, const T* top, npy_intp top_plane,
                                    const T* const* at, npy_intp offset, VECTOR sums[][MOST_VECTORS]) {
    VECTOR values[MOST_VECTORS];
PHINTYS_UNROLLED(8)
    for (int t = 0; t < taps; t++) values[t] = LOAD(at[t] + offset);
PHINTYS_UNROLLED(8)
    for (int f = 0; f < filters; f++) {
        const VECTOR g = LOAD(top + f * top_plane);
PHINTYS_UNROLLED(8)
        for (int t = 0; t < taps; t++) sums[f][t] = FUSED(g, values[t], sums[f][t]);
    }
}

/* Sums over positions of products of `filters` planes of gradients with the positions that `taps` taps see: one element
 * of the gradient of filters for each pair.
 *
 *                        values of tap 0   tap 1    ...          one vector of each at a time, from `offsets[t]` on
 *     gradient plane 0   sums[0][0]      sums[0][1] ...          filters x taps registers, each with partial sums of
 *     gradient plane 1   sums[1][0]      sums[1][1] ...          LANES positions, added to one number in the end
 *
 * So filters + taps loads serve filters * taps multiplications. Lines of gradients are whole vectors, filled up with
 * zeros: what a tap sees beyond the end of a line is multiplied by 0. (If it is not finite, `mending` computes the
 * results anew.) */
PHINTYS_INLINE void TYPED(any_dots)(const int filters, const int taps, const phintys_positions* positions,
                                    const T* top, const T* image, const npy_intp* offsets, T* result) {
    VECTOR sums[MOST_FILTERS][MOST_VECTORS];
    const T* at[MOST_VECTORS];
PHINTYS_UNROLLED(8)
    for (int f = 0; f < filters; f++)
PHINTYS_UNROLLED(8)
        for (int t = 0; t < taps; t++) sums[f][t] = SPREAD((T)0);
    for (npy_intp n = 0; n < positions->images; n++, image += positions->image) {
        const T* y = top + n * positions->top_image + positions->first * positions->top_line;
        if (positions->top_line == LANES) {     /* without a loop, whose end a processor would not foresee */
PHINTYS_UNROLLED(8)
            for (int t = 0; t < taps; t++) at[t] = image + offsets[t];
            for (npy_intp line = positions->first; line < positions->last; line++, y += LANES)
                TYPED(add_dots)(filters, taps, y, positions->top_plane, at, positions->lines[line], sums);
            continue;
        }
        for (npy_intp line = positions->first; line < positions->last; line++, y += positions->top_line) {
PHINTYS_UNROLLED(8)
            for (int t = 0; t < taps; t++) at[t] = image + positions->lines[line] + offsets[t];
            for (npy_intp v = 0; v < positions->top_line; v += LANES)
                TYPED(add_dots)(filters, taps, y + v, positions->top_plane, at, v, sums);
        }
    }
PHINTYS_UNROLLED(8)
    for (int f = 0; f < filters; f++)
PHINTYS_UNROLLED(8)
        for (int t = 0; t < taps; t++) result[f * taps + t] = TOTAL(sums[f][t]);
}

#include "convolution_square_vectors.template.h"

#define TILE(FILTERS, VECTORS) \
    static void TYPED(tile_##FILTERS##_##VECTORS)(const phintys_sum* sum, const void* const* in, \
            void* const* out, npy_intp out_filter, int wanted, const void* weights) { \
        TYPED(any_tile)(FILTERS, VECTORS, sum, (const T* const*)in, (T* const*)out, out_filter, wanted, weights); \
    }
#define DOTS(FILTERS, TAPS) \
    static void TYPED(dots_##FILTERS##_##TAPS)(const phintys_positions* positions, const void* top, \
            const void* image, const npy_intp* offsets, void* result) { \
        TYPED(any_dots)(FILTERS, TAPS, positions, top, image, offsets, result); \
    }
#define LOOPS_OF_ANY_REGISTERS \
    .level = SET_LEVEL, .lanes = LANES, .transpose = TRANSPOSE, .patches = TYPED(patches), \
    .square_tops = TYPED(square_tops), .square_weights = TYPED(square_weights), .square_filter = TYPED(square_filter), \
    .rows = {{TYPED(row_1_1), TYPED(row_1_2), TYPED(row_1_3), TYPED(row_1_4)}, \
             {NULL, TYPED(row_2_2), TYPED(row_2_3), TYPED(row_2_4)}}
#if REGISTERS == 32
TILE(8, 3) TILE(8, 2) TILE(8, 1) TILE(6, 4) TILE(6, 2) TILE(6, 1) TILE(4, 6) TILE(4, 3) TILE(4, 1)
TILE(2, 6) TILE(2, 3) TILE(2, 1) TILE(1, 6) TILE(1, 4) TILE(1, 2) TILE(1, 1)
DOTS(6, 4) DOTS(4, 4) DOTS(2, 8) DOTS(1, 8) DOTS(8, 1)
static const phintys_convolution_set TYPED(convolution) = {
    LOOPS_OF_ANY_REGISTERS,
    .sizes = {{8, {{3, TYPED(tile_8_3)}, {2, TYPED(tile_8_2)}, {1, TYPED(tile_8_1)}}},
              {6, {{4, TYPED(tile_6_4)}, {2, TYPED(tile_6_2)}, {1, TYPED(tile_6_1)}}},
              {4, {{6, TYPED(tile_4_6)}, {3, TYPED(tile_4_3)}, {1, TYPED(tile_4_1)}}},
              {2, {{6, TYPED(tile_2_6)}, {3, TYPED(tile_2_3)}, {1, TYPED(tile_2_1)}}},
              {1, {{6, TYPED(tile_1_6)}, {4, TYPED(tile_1_4)}, {2, TYPED(tile_1_2)}, {1, TYPED(tile_1_1)}}}},
    .dots = {{6, 4, TYPED(dots_6_4)}, {4, 4, TYPED(dots_4_4)}, {2, 8, TYPED(dots_2_8)}, {1, 8, TYPED(dots_1_8)},
             [DOTS_OF_ONE] = {8, 1, TYPED(dots_8_1)}},
};
#else
TILE(4, 3) TILE(4, 2) TILE(4, 1) TILE(2, 5) TILE(2, 3) TILE(2, 1) TILE(1, 6) TILE(1, 4) TILE(1, 2) TILE(1, 1)
DOTS(4, 2) DOTS(2, 4) DOTS(1, 8) DOTS(4, 3) DOTS(8, 1)
static const phintys_convolution_set TYPED(convolution) = {
    LOOPS_OF_ANY_REGISTERS,
    .sizes = {{4, {{3, TYPED(tile_4_3)}, {2, TYPED(tile_4_2)}, {1, TYPED(tile_4_1)}}},
              {2, {{5, TYPED(tile_2_5)}, {3, TYPED(tile_2_3)}, {1, TYPED(tile_2_1)}}},
              {1, {{6, TYPED(tile_1_6)}, {4, TYPED(tile_1_4)}, {2, TYPED(tile_1_2)}, {1, TYPED(tile_1_1)}}}},
    .dots = {{4, 2, TYPED(dots_4_2)}, {2, 4, TYPED(dots_2_4)}, {1, 8, TYPED(dots_1_8)},
             [DOTS_OF_THREE] = {4, 3, TYPED(dots_4_3)}, [DOTS_OF_ONE] = {8, 1, TYPED(dots_8_1)}},
};
#endif
#undef LOOPS_OF_ANY_REGISTERS
#undef TILE
#undef DOTS
#undef SPREAD
#undef STORE
#undef LOAD
#undef VECTOR
#undef LANES
#undef REGISTERS
#undef TRANSPOSE
#undef FUSED
#undef TOTAL
#undef LARGER
#undef SMALLER
