/* Transposes for one type T; see convolution_transposes.h. Convolutions call one of them where images or results are
 * side by side in vectors. Squares of SQUARE x SQUARE elements go through registers; rows and columns beyond the last
 * square are copied one by one, and nothing beside the matrix is read or written. */
static void TYPED(plain_transpose)(const T* from, npy_intp from_row, npy_intp rows, npy_intp first, npy_intp columns,
                                   T* to, npy_intp to_row) {
    for (npy_intp c = first; c < columns; c++)
        for (npy_intp r = 0; r < rows; r++) to[c * to_row + r] = from[r * from_row + c];
}

static void PHINTYS_NAMED(TYPED(transpose), baseline)(const void* from, npy_intp from_row, npy_intp rows,
                                                      npy_intp columns, void* to, npy_intp to_row) {
    TYPED(plain_transpose)(from, from_row, rows, 0, columns, to, to_row);
}

#if defined(__GNUC__) && defined(__x86_64__)
PHINTYS_FOR_AVX2 static void PHINTYS_NAMED(TYPED(transpose), avx2)(const void* source, npy_intp from_row, npy_intp rows,
                                                                   npy_intp columns, void* target, npy_intp to_row) {
    for (npy_intp r = 0; r < rows; r += SQUARE) {
        const npy_intp count = rows - r < SQUARE ? rows - r : SQUARE;
        const T* from = (const T*)source + r * from_row;
        T* to = (T*)target + r;
        npy_intp c = 0;
        if (count == 1 && to_row == 1) {
            memcpy(to, from, columns * sizeof(T));
            continue;
        }
#if SQUARE == 8
        for (; count == 4 && c + SQUARE <= columns; c += SQUARE)
            exchange_four_float(from + c, from_row, to + c * to_row, to_row);
#endif
        for (; c + SQUARE <= columns; c += SQUARE) {
            VECTOR x[SQUARE];
#pragma GCC unroll 8
            for (int k = 0; k < SQUARE; k++)
                x[k] = PHINTYS_NAMED(_mm256_loadu, SUFFIX)(from + (k < count ? k : 0) * from_row + c);
            TYPED(exchange)(x);
            if (count == SQUARE)
#pragma GCC unroll 8
                for (int k = 0; k < SQUARE; k++) PHINTYS_NAMED(_mm256_storeu, SUFFIX)(to + (c + k) * to_row, x[k]);
            else
#pragma GCC unroll 8
                for (int k = 0; k < SQUARE; k++)
                    PHINTYS_NAMED(phintys_store_first, SUFFIX)(to + (c + k) * to_row, x[k], (int)count);
        }
        TYPED(plain_transpose)(from, from_row, count, c, columns, to, to_row);
    }
}
#endif
