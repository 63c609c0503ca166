/* Transposes of matrices: to[c * to_row + r] = from[r * from_row + c]. Blocks of a register's width are exchanged in
 * registers; a block at the last rows stores only what there is.
 */
#ifndef PHINTYS_CONVOLUTION_TRANSPOSES_H
#define PHINTYS_CONVOLUTION_TRANSPOSES_H

#include <numpy/ndarraytypes.h>

#include "native/instruction_sets.h"
#include "native/templates.h"

#define PHINTYS_PLAIN_TRANSPOSE(T) \
    static void TYPED(plain_transpose)(const T* from, npy_intp from_row, npy_intp rows, npy_intp first, \
                                       npy_intp columns, T* to, npy_intp to_row) { \
        for (npy_intp c = first; c < columns; c++) \
            for (npy_intp r = 0; r < rows; r++) to[c * to_row + r] = from[r * from_row + c]; \
    }
#define T float
PHINTYS_PLAIN_TRANSPOSE(T)
static void transpose_float_baseline(const void* from, npy_intp from_row, npy_intp rows, npy_intp columns, void* to,
                                     npy_intp to_row) {
    plain_transpose_float(from, from_row, rows, 0, columns, to, to_row);
}
#undef T
#define T double
PHINTYS_PLAIN_TRANSPOSE(T)
static void transpose_double_baseline(const void* from, npy_intp from_row, npy_intp rows, npy_intp columns, void* to,
                                      npy_intp to_row) {
    plain_transpose_double(from, from_row, rows, 0, columns, to, to_row);
}
#undef T
#undef PHINTYS_PLAIN_TRANSPOSE

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

static const npy_int32 phintys_eight_lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const npy_int64 phintys_four_lanes[8] = {-1, -1, -1, -1};

PHINTYS_FOR_AVX2 static void transpose_float_avx2(const void* source, npy_intp from_row, npy_intp rows,
                                                  npy_intp columns, void* target, npy_intp to_row) {
    for (npy_intp r = 0; r < rows; r += 8) {
        const npy_intp count = rows - r < 8 ? rows - r : 8;
        const float* from = (const float*)source + r * from_row;
        float* to = (float*)target + r;
        const __m256i mask = _mm256_loadu_si256((const __m256i*)(phintys_eight_lanes + 8 - count));
        npy_intp c = 0;
        for (; c + 8 <= columns; c += 8) {
            __m256 x[8], y[8];
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++) x[k] = _mm256_loadu_ps(from + (k < count ? k : 0) * from_row + c);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                y[2 * k] = _mm256_unpacklo_ps(x[2 * k], x[2 * k + 1]);
                y[2 * k + 1] = _mm256_unpackhi_ps(x[2 * k], x[2 * k + 1]);
            }
#pragma GCC unroll 2
            for (int k = 0; k < 2; k++) {
                x[4 * k] = _mm256_shuffle_ps(y[4 * k], y[4 * k + 2], 0x44);
                x[4 * k + 1] = _mm256_shuffle_ps(y[4 * k], y[4 * k + 2], 0xEE);
                x[4 * k + 2] = _mm256_shuffle_ps(y[4 * k + 1], y[4 * k + 3], 0x44);
                x[4 * k + 3] = _mm256_shuffle_ps(y[4 * k + 1], y[4 * k + 3], 0xEE);
            }
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                y[k] = _mm256_permute2f128_ps(x[k], x[k + 4], 0x20);
                y[k + 4] = _mm256_permute2f128_ps(x[k], x[k + 4], 0x31);
            }
            if (count == 8)
#pragma GCC unroll 8
                for (int k = 0; k < 8; k++) _mm256_storeu_ps(to + (c + k) * to_row, y[k]);
            else
#pragma GCC unroll 8
                for (int k = 0; k < 8; k++) _mm256_maskstore_ps(to + (c + k) * to_row, mask, y[k]);
        }
        plain_transpose_float(from, from_row, count, c, columns, to, to_row);
    }
}

PHINTYS_FOR_AVX2 static void transpose_double_avx2(const void* source, npy_intp from_row, npy_intp rows,
                                                   npy_intp columns, void* target, npy_intp to_row) {
    for (npy_intp r = 0; r < rows; r += 4) {
        const npy_intp count = rows - r < 4 ? rows - r : 4;
        const double* from = (const double*)source + r * from_row;
        double* to = (double*)target + r;
        const __m256i mask = _mm256_loadu_si256((const __m256i*)(phintys_four_lanes + 4 - count));
        npy_intp c = 0;
        for (; c + 4 <= columns; c += 4) {
            __m256d x[4], y[4];
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) x[k] = _mm256_loadu_pd(from + (k < count ? k : 0) * from_row + c);
#pragma GCC unroll 2
            for (int k = 0; k < 2; k++) {
                y[2 * k] = _mm256_unpacklo_pd(x[2 * k], x[2 * k + 1]);
                y[2 * k + 1] = _mm256_unpackhi_pd(x[2 * k], x[2 * k + 1]);
            }
            x[0] = _mm256_permute2f128_pd(y[0], y[2], 0x20);
            x[1] = _mm256_permute2f128_pd(y[1], y[3], 0x20);
            x[2] = _mm256_permute2f128_pd(y[0], y[2], 0x31);
            x[3] = _mm256_permute2f128_pd(y[1], y[3], 0x31);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) _mm256_maskstore_pd(to + (c + k) * to_row, mask, x[k]);
        }
        plain_transpose_double(from, from_row, count, c, columns, to, to_row);
    }
}
#define transpose_float_avx512 transpose_float_avx2
#define transpose_double_avx512 transpose_double_avx2
#endif

#endif
