/* MRG31k3p of L'Ecuyer and Touzin: two recurrences modulo 2^31 - 1 and 2^31 - 21069, whose difference is the number.
 *
 * A state has six numbers for each stream; sample i comes from stream i % streams. A run of PHINTYS_MRG_LANES streams
 * advances side by side, so that the compiler can use vectors; which lanes share a run changes no value. All
 * arithmetic is on unsigned 32-bit integers, and a sample needs one conversion and one product, so another device gets
 * the same bits with the same few lines.
 */
#ifndef PHINTYS_MRG_LOOPS_H
#define PHINTYS_MRG_LOOPS_H

#include "../native/clones.h"
#include "../native/half_floats.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PHINTYS_MRG_M1 2147483647u
#define PHINTYS_MRG_M2 2147462579u
#define PHINTYS_MRG_LANES 64

/* y modulo m for y < 2 m: y - m wraps around if y is smaller than m. */
static inline uint32_t phintys_mrg_reduced(uint32_t y, uint32_t m) {
    return y - m < y ? y - m : y;
}

/* Advance one stream, whose numbers are x[0], x[step], ...; returns its next integer, from 1 to 2^31 - 1. */
static inline int32_t phintys_mrg_next(uint32_t* x, ptrdiff_t step) {
    uint32_t a = x[step], b = x[2 * step];
    uint32_t first = phintys_mrg_reduced(((a & 511) << 22) + (a >> 9) + ((b & 0xffffff) << 7) + (b >> 24),
                                         PHINTYS_MRG_M1);
    first = phintys_mrg_reduced(first + b, PHINTYS_MRG_M1);
    x[2 * step] = a;
    x[step] = x[0];
    x[0] = first;
    uint32_t c = x[3 * step], d = x[5 * step];
    uint32_t left = phintys_mrg_reduced(((c & 0xffff) << 15) + 21069 * (c >> 16), PHINTYS_MRG_M2);
    uint32_t right = phintys_mrg_reduced(((d & 0xffff) << 15) + 21069 * (d >> 16), PHINTYS_MRG_M2);
    right = phintys_mrg_reduced(right + d, PHINTYS_MRG_M2);
    uint32_t second = phintys_mrg_reduced(right + left, PHINTYS_MRG_M2);
    x[5 * step] = x[4 * step];
    x[4 * step] = c;
    x[3 * step] = second;
    return (int32_t)(first <= second ? first - second + PHINTYS_MRG_M1 : first - second);
}

/* The same for a stream alone, of which the compiler makes no vectors: sums of 64 bits are reduced once, and without a
 * comparison, of which it would make a branch that is mispredicted half of the time (12 ns a step; this takes 3). */
static inline uint32_t phintys_mrg_reduced_alone(uint32_t y, uint32_t m) {
    return y - m + (m & -((y - m) >> 31));
}
static inline int32_t phintys_mrg_next_alone(uint32_t* x) {
    const uint64_t sum = ((uint64_t)x[1] << 22) + 129 * (uint64_t)x[2];                         /* below 2^54 */
    const uint64_t other = ((uint64_t)x[3] << 15) + 32769 * (uint64_t)x[5];                     /* below 2^47 */
    const uint32_t first = phintys_mrg_reduced_alone((uint32_t)((sum & PHINTYS_MRG_M1) + (sum >> 31)), PHINTYS_MRG_M1);
    const uint32_t second = phintys_mrg_reduced_alone(
        (uint32_t)((other & PHINTYS_MRG_M1) + 21069 * (other >> 31)), PHINTYS_MRG_M2);          /* 2^31 = M2 + 21069 */
    x[2] = x[1], x[1] = x[0], x[0] = first;
    x[5] = x[4], x[4] = x[3], x[3] = second;
    return (int32_t)(first - second + (PHINTYS_MRG_M1 & -((first - second - 1) >> 31)));
}

/* The integer as a number between 0 and 1. The smallest of the dtype is not 0. */
static inline float phintys_mrg_float(int32_t z) { return (float)z * 4.6566126e-10f; }
static inline double phintys_mrg_double(int32_t z) { return (double)z * 4.656612873077392578125e-10; }
static inline uint16_t phintys_mrg_half(int32_t z) {
    return phintys_to_half((double)((z & 0x7fff) + 1) * 0x1.ffp-16);
}

#define T float
#define SAMPLE phintys_mrg_float
#define NAME(name) name##_float
#include "mrg_loops.template.h"
#undef T
#undef SAMPLE
#undef NAME
#define T double
#define SAMPLE phintys_mrg_double
#define NAME(name) name##_double
#include "mrg_loops.template.h"
#undef T
#undef SAMPLE
#undef NAME
#define T uint16_t
#define SAMPLE phintys_mrg_half
#define NAME(name) name##_half
#include "mrg_loops.template.h"
#undef T
#undef SAMPLE
#undef NAME

/* (matrix * vector) modulo m, all below 2^31. */
static inline void phintys_mrg_product(const int64_t* matrix, const int32_t* vector, int64_t m, int32_t* out) {
    for (int row = 0; row < 3; row++) {
        int64_t sum = 0;
        for (int column = 0; column < 3; column++)
            sum += matrix[3 * row + column] * vector[column] % m;
        out[row] = (int32_t)(sum % m);
    }
}

/* Fill rows 1, 2, ... of a state: each is the row before it, advanced by the steps that the two matrices represent. */
static void phintys_mrg_substreams(int32_t* state, ptrdiff_t rows, const int64_t* first, const int64_t* second) {
    for (ptrdiff_t row = 1; row < rows; row++, state += 6) {
        phintys_mrg_product(first, state, PHINTYS_MRG_M1, state + 6);
        phintys_mrg_product(second, state + 3, PHINTYS_MRG_M2, state + 9);
    }
}

#endif
