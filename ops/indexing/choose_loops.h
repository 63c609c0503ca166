/* Inner loops of choosing. Each takes the number of a choice for each element of a line, and the addresses of the
 * choices' elements. `choose_kernel.pyx` calls them for lines, with numbers that it has checked, wrapped or clipped:
 * they are taken as they are. */
#ifndef PHINTYS_CHOOSE_LOOPS_H
#define PHINTYS_CHOOSE_LOOPS_H

#include <numpy/npy_common.h>

#include "native/copy_loops.h"

/* Element i of the line of choice n is at data[n] + i * strides[n]. */
typedef void (*ListedLoop)(char *result, const npy_intp *numbers, npy_intp count, const char *const *data,
                           const npy_intp *strides);
/* For choices that are slices of one array: element i of the line of choice n is at data + n * step + i * stride. */
typedef void (*SlicedLoop)(char *result, const npy_intp *numbers, npy_intp count, const char *data, npy_intp step,
                           npy_intp stride);

#define DEFINE_CHOOSING(SIZE)                                                                                          \
    static void choose_listed_##SIZE(char *result, const npy_intp *numbers, npy_intp count,                            \
                                     const char *const *data, const npy_intp *strides) {                               \
        for (npy_intp i = 0; i < count; i++)                                                                           \
            ((Word##SIZE *)result)[i] = *(const Word##SIZE *)(data[numbers[i]] + i * strides[numbers[i]]);             \
    }                                                                                                                  \
    static void choose_sliced_##SIZE(char *result, const npy_intp *numbers, npy_intp count, const char *data,          \
                                     npy_intp step, npy_intp stride) {                                                 \
        for (npy_intp i = 0; i < count; i++)                                                                           \
            ((Word##SIZE *)result)[i] = *(const Word##SIZE *)(data + numbers[i] * step + i * stride);                  \
    }
DEFINE_CHOOSING(1) DEFINE_CHOOSING(2) DEFINE_CHOOSING(4) DEFINE_CHOOSING(8) DEFINE_CHOOSING(16)

/* Indexed by the binary logarithm of the size of an element. */
static const ListedLoop phintys_choose_listed[] = {choose_listed_1, choose_listed_2, choose_listed_4, choose_listed_8,
                                                   choose_listed_16};
static const SlicedLoop phintys_choose_sliced[] = {choose_sliced_1, choose_sliced_2, choose_sliced_4, choose_sliced_8,
                                                   choose_sliced_16};

/* ---- the numbers ------------------------------------------------------------------------------------------------- */
/* Bring numbers into [0, choices): by the remainder, or by the nearest number. */
static void wrap_numbers(npy_intp *numbers, npy_intp count, npy_intp choices) {
    for (npy_intp i = 0; i < count; i++)
        if ((uint64_t)numbers[i] >= (uint64_t)choices) numbers[i] = (numbers[i] % choices + choices) % choices;
}

static void clip_numbers(npy_intp *numbers, npy_intp count, npy_intp choices) {
    for (npy_intp i = 0; i < count; i++)
        numbers[i] = numbers[i] < 0 ? 0 : numbers[i] >= choices ? choices - 1 : numbers[i];
}

/* The position of the first number that is not that of a choice, or -1. The unsigned comparison also covers negative
 * numbers. */
static npy_intp first_unknown(const npy_intp *numbers, npy_intp count, npy_intp choices) {
    for (npy_intp i = 0; i < count; i++)
        if ((uint64_t)numbers[i] >= (uint64_t)choices) return i;
    return -1;
}

#endif
