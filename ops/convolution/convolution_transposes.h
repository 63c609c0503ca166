/* Transposes of matrices: to[c * to_row + r] = from[r * from_row + c]. Squares of a register's width (SQUARE) are
 * exchanged in registers; a square at the last rows stores only what there is. The loops are in
 * convolution_transposes.template.h.
 */
#ifndef PHINTYS_CONVOLUTION_TRANSPOSES_H
#define PHINTYS_CONVOLUTION_TRANSPOSES_H

#include <numpy/ndarraytypes.h>
#include <string.h>

#include "native/vectors.h"

/* Before a short loop whose length is known once its function is inlined: what it counts over stays in registers. Clang
 * must be told so before it looks for these; with a number of iterations it unrolls later, six times slower. */
#ifdef __clang__
#define PHINTYS_UNROLLED(MOST) _Pragma("clang loop unroll(full)")
#else
#define PHINTYS_UNROLLED(MOST) PHINTYS_PRAGMA(GCC unroll MOST)
#endif

#ifdef PHINTYS_HAS_SETS
PHINTYS_COMPILE_FOR("avx2,fma,f16c")

/* Turn the rows of a square into its columns. */
PHINTYS_INLINE void exchange_float(__m256* x) {
    __m256 y[8];
PHINTYS_UNROLLED(4)
    for (int k = 0; k < 4; k++) {
        y[2 * k] = _mm256_unpacklo_ps(x[2 * k], x[2 * k + 1]);
        y[2 * k + 1] = _mm256_unpackhi_ps(x[2 * k], x[2 * k + 1]);
    }
PHINTYS_UNROLLED(2)
    for (int k = 0; k < 2; k++) {
        x[4 * k] = _mm256_shuffle_ps(y[4 * k], y[4 * k + 2], 0x44);
        x[4 * k + 1] = _mm256_shuffle_ps(y[4 * k], y[4 * k + 2], 0xEE);
        x[4 * k + 2] = _mm256_shuffle_ps(y[4 * k + 1], y[4 * k + 3], 0x44);
        x[4 * k + 3] = _mm256_shuffle_ps(y[4 * k + 1], y[4 * k + 3], 0xEE);
    }
PHINTYS_UNROLLED(4)
    for (int k = 0; k < 4; k++) {
        const __m256 low = _mm256_permute2f128_ps(x[k], x[k + 4], 0x20);
        x[k + 4] = _mm256_permute2f128_ps(x[k], x[k + 4], 0x31);
        x[k] = low;
    }
}
/* Write four rows of eight as columns: half of a square, of which each column would be stored in part (18 us instead of
 * 5, where 256 filters of 256 elements are packed in fours). */
PHINTYS_INLINE void exchange_four_float(const float* from, npy_intp from_row, float* to, npy_intp to_row) {
    __m256 x[4], y[4];
PHINTYS_UNROLLED(4)
    for (int k = 0; k < 4; k++) x[k] = _mm256_loadu_ps(from + k * from_row);
PHINTYS_UNROLLED(2)
    for (int k = 0; k < 2; k++) {
        y[2 * k] = _mm256_unpacklo_ps(x[2 * k], x[2 * k + 1]);
        y[2 * k + 1] = _mm256_unpackhi_ps(x[2 * k], x[2 * k + 1]);
    }
    x[0] = _mm256_shuffle_ps(y[0], y[2], 0x44);
    x[1] = _mm256_shuffle_ps(y[0], y[2], 0xEE);
    x[2] = _mm256_shuffle_ps(y[1], y[3], 0x44);
    x[3] = _mm256_shuffle_ps(y[1], y[3], 0xEE);
PHINTYS_UNROLLED(4)
    for (int k = 0; k < 4; k++) {
        _mm_storeu_ps(to + k * to_row, _mm256_castps256_ps128(x[k]));
        _mm_storeu_ps(to + (k + 4) * to_row, _mm256_extractf128_ps(x[k], 1));
    }
}
PHINTYS_INLINE void exchange_double(__m256d* x) {
    __m256d y[4];
PHINTYS_UNROLLED(2)
    for (int k = 0; k < 2; k++) {
        y[2 * k] = _mm256_unpacklo_pd(x[2 * k], x[2 * k + 1]);
        y[2 * k + 1] = _mm256_unpackhi_pd(x[2 * k], x[2 * k + 1]);
    }
    x[0] = _mm256_permute2f128_pd(y[0], y[2], 0x20);
    x[1] = _mm256_permute2f128_pd(y[1], y[3], 0x20);
    x[2] = _mm256_permute2f128_pd(y[0], y[2], 0x31);
    x[3] = _mm256_permute2f128_pd(y[1], y[3], 0x31);
}
PHINTYS_END_OF_SET
#endif

#define LOOPS "convolution/convolution_transposes.template.h"
#define FLOATS
#define TWO_SETS
#include "native/each_set.h"

#endif
