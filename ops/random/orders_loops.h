/* Permutations, choices and multinomial counts as NumPy draws them from bits: by RandomState and by Generator. The
 * kernels of orders and of multinomial draws call these. The bits that each function takes, and their order, are part
 * of what it promises: the state after it must be NumPy's. */
#ifndef PHINTYS_ORDERS_LOOPS_H
#define PHINTYS_ORDERS_LOOPS_H

#include "bit_generators.h"
#include "numpy/random/distributions.h"

static inline uint64_t phintys_up_to(bitgen_t* bits, uint64_t last, int by_interval) {
    return by_interval ? random_interval(bits, last) : random_bounded_uint64(bits, 0, last, 0, 0);
}

/* Exchange the elements from the last one to `first` with random ones before them. */
static void phintys_shuffle(bitgen_t* bits, int64_t* out, ptrdiff_t count, ptrdiff_t first, int by_interval) {
    for (ptrdiff_t position = count - 1; position >= first; position--) {
        const uint64_t other = phintys_up_to(bits, (uint64_t)position, by_interval);
        const int64_t moved = out[other];
        out[other] = out[position];
        out[position] = moved;
    }
}

static inline void phintys_count_up(int64_t* out, ptrdiff_t first, ptrdiff_t stop) {
    for (ptrdiff_t position = first; position < stop; position++) out[position] = position;
}

/* The position of the first sum above a number. */
static inline ptrdiff_t phintys_first_above(const double* sums, ptrdiff_t count, double number) {
    ptrdiff_t low = 0;
    while (low < count) {
        const ptrdiff_t middle = low + (count - low) / 2;
        if (sums[middle] > number) count = middle;
        else low = middle + 1;
    }
    return low;
}

/* The room of a hash table for `wanted` numbers, a power of 2. */
static inline uint64_t phintys_table_size(ptrdiff_t wanted) {
    uint64_t mask = (uint64_t)(1.2 * (double)wanted);
    for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
    return mask + 1;
}

/* A table holds each number plus 1, and 0 where it is empty. */
static int phintys_insert(uint64_t* table, uint64_t mask, uint64_t value) {
    uint64_t position = value & mask;
    while (table[position] && table[position] != value + 1) position = (position + 1) & mask;
    if (table[position]) return 0;
    table[position] = value + 1;
    return 1;
}

/* Elements [first, stop) of `wanted` different numbers below `outcomes` by Floyd's method: of j and a random number up
 * to j, the one that is new. */
static void phintys_floyd(bitgen_t* bits, ptrdiff_t outcomes, ptrdiff_t wanted, ptrdiff_t first, ptrdiff_t stop,
                          uint64_t* table, int64_t* out) {
    const uint64_t mask = phintys_table_size(wanted) - 1;
    for (ptrdiff_t position = first; position < stop; position++) {
        const uint64_t last = (uint64_t)(outcomes - wanted + position);
        uint64_t value = phintys_up_to(bits, last, 0);
        if (!phintys_insert(table, mask, value)) {
            value = last;
            phintys_insert(table, mask, value);
        }
        out[position] = (int64_t)value;
    }
}

/* The sum with a correction of its rounding (Kahan), which NumPy compares with 1. */
static double phintys_exact_sum(const double* values, ptrdiff_t count) {
    if (count <= 0) return 0;
    double sum = values[0], lost = 0;
    for (ptrdiff_t position = 1; position < count; position++) {
        const double next = values[position] - lost, total = sum + next;
        lost = total - sum - next;
        sum = total;
    }
    return sum;
}

/* The sum as NumPy adds a line: eight sums side by side, and halves of long lines. The depth is the logarithm of the
 * length. */
#define PHINTYS_PAIRWISE(NAME, T)                                                                                      \
    static T NAME(const T* values, ptrdiff_t count) {                                                                  \
        T sums[8], total;                                                                                              \
        ptrdiff_t position; \
        if (count < 8) {                                                                                               \
            total = 0;                                                                                                 \
            for (position = 0; position < count; position++) total += values[position]; \
            return total;                                                                                              \
        }                                                                                                              \
        if (count > 128) {                                                                                             \
            const ptrdiff_t half = count / 2 - count / 2 % 8;                                                          \
            return NAME(values, half) + NAME(values + half, count - half);                                             \
        }                                                                                                              \
        for (position = 0; position < 8; position++) sums[position] = values[position]; \
        for (position = 8; position < count - count % 8; position += 8) \
            for (int lane = 0; lane < 8; lane++) sums[lane] += values[position + lane]; \
        total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));             \
        for (; position < count; position++) total += values[position]; \
        return total;                                                                                                  \
    }

PHINTYS_PAIRWISE(phintys_pairwise_double, double)
PHINTYS_PAIRWISE(phintys_pairwise_float, float)

/* Theano's correction of probabilities whose sum is above 1 by rounding, or whose last one is tiny: all become smaller.
 * They are float64, and computed as in float32 if `narrow`. Returns the sum, which should not be above 1. */
static double phintys_corrected(double* row, float* room, ptrdiff_t count, int narrow) {
    double total;
    if (narrow) for (ptrdiff_t position = 0; position < count; position++) room[position] = (float)row[position];
    total = narrow ? (double)phintys_pairwise_float(room, count) : phintys_pairwise_double(row, count);
    if (!((1.0 < total && total < 1.0 + 1e-5) || (count && row[count - 1] < 5e-5))) return total;
    for (ptrdiff_t position = 0; position < count; position++) {
        if (narrow) row[position] = room[position] = (float)row[position] * (float)(1.0 - 5e-5);
        else row[position] *= 1.0 - 5e-5;
    }
    return narrow ? (double)phintys_pairwise_float(room, count) : phintys_pairwise_double(row, count);
}

#endif
