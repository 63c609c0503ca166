/* Transposes for one type T; see convolution_transposes.h. Convolutions call one of them where images or results are
 * side by side in vectors. Squares of SQUARE x SQUARE elements go through registers; rows and columns beyond the last
 * square are copied one by one, and nothing beside the matrix is read or written. */
#define SQUARE (32 / (int)sizeof(T))
static void TYPED(plain_transpose)(const T* from, npy_intp from_row, npy_intp rows, npy_intp first, npy_intp columns,
                                   T* to, npy_intp to_row) {
    for (npy_intp c = first; c < columns; c++)
        for (npy_intp r = 0; r < rows; r++) to[c * to_row + r] = from[r * from_row + c];
}

static void TYPED(transpose)(const void* source, npy_intp from_row, npy_intp rows, npy_intp columns, void* target,
                             npy_intp to_row) {
#if SET_LEVEL == 0
    TYPED(plain_transpose)(source, from_row, rows, 0, columns, target, to_row);
#else
    for (npy_intp r = 0; r < rows; r += SQUARE) {
        const npy_intp count = rows - r < SQUARE ? rows - r : SQUARE;
        const T* from = (const T*)source + r * from_row;
        T* to = (T*)target + r;
        npy_intp c = 0;
        if (count == 1 && to_row == 1) {
            memcpy(to, from, columns * sizeof(T));
            continue;
        }
        for (; SQUARE == 8 && count == 4 && c + SQUARE <= columns; c += SQUARE)
            exchange_four_float((const float*)(from + c), from_row, (float*)(to + c * to_row), to_row);
        for (; c + SQUARE <= columns; c += SQUARE) {
            TYPED(Vector) x[SQUARE];
PHINTYS_UNROLLED(8)
            for (int k = 0; k < SQUARE; k++)
                x[k] = *(const TYPED(Vector)*)(from + (k < count ? k : 0) * from_row + c);
            PHINTYS_NAMED(exchange, T)((void*)x);
            if (count == SQUARE)
PHINTYS_UNROLLED(8)
                for (int k = 0; k < SQUARE; k++) *(TYPED(Vector)*)(to + (c + k) * to_row) = x[k];
            else
PHINTYS_UNROLLED(8)
                for (int k = 0; k < SQUARE; k++)
                    TYPED(store_part)(to + (c + k) * to_row, x[k], (int)count);
        }
        TYPED(plain_transpose)(from, from_row, count, c, columns, to, to_row);
    }
#endif
}
#undef SQUARE
