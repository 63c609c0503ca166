/* The loops of block_sparse_loops.h for one type T. Strides are in bytes; `out` has no gaps, and overlaps nothing that
 * is read. A block is read along its memory, whichever of its dimensions that is. */

/* out[n] += sum of x[k] * block[k, n]. */
static void TYPED(add_block_product)(void* results, const char* x, npy_intp x_stride, const char* block,
                                     npy_intp row_stride, npy_intp stride, npy_intp rows, npy_intp columns) {
    T* restrict out = results;
    if (stride == sizeof(T) || row_stride != sizeof(T)) {
        for (npy_intp k = 0; k < rows; k++, x += x_stride, block += row_stride) {
            const T factor = *(const T*)x;
            if (stride == sizeof(T)) {
                const T* restrict row = (const T*)block;
                for (npy_intp n = 0; n < columns; n++) out[n] += factor * row[n];
            } else
                for (npy_intp n = 0; n < columns; n++) out[n] += factor * *(const T*)(block + n * stride);
        }
        return;
    }
    for (npy_intp n = 0; n < columns; n++, block += stride) {   /* a block that is stored by columns */
        const T* restrict column = (const T*)block;
        T sums[4] = {0, 0, 0, 0};
        npy_intp k = 0;
        for (; k + 4 <= rows; k += 4)
            for (int lane = 0; lane < 4; lane++)
                sums[lane] += *(const T*)(x + (k + lane) * x_stride) * column[k + lane];
        for (; k < rows; k++) sums[0] += *(const T*)(x + k * x_stride) * column[k];
        out[n] += (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }
}

/* out[k, n] += factor * x[k] * y[n], for a block without gaps. */
static void TYPED(add_outer_product)(void* results, const void* by, const char* x, npy_intp x_stride, const char* y,
                                     npy_intp y_stride, npy_intp rows, npy_intp columns) {
    const T factor = *(const T*)by;
    T* restrict out = results;
    for (npy_intp k = 0; k < rows; k++, x += x_stride, out += columns) {
        const T scaled = factor * *(const T*)x;
        if (y_stride == sizeof(T)) {
            const T* restrict row = (const T*)y;
            for (npy_intp n = 0; n < columns; n++) out[n] += scaled * row[n];
        } else
            for (npy_intp n = 0; n < columns; n++) out[n] += scaled * *(const T*)(y + n * y_stride);
    }
}
