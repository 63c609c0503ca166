/* Elements at positions that are constants: what follows from the positions is worked out once, into a table.
 *
 * Gathered elements have their offsets in the table, in half of the bytes of int64 positions. Elements that are added
 * are grouped by the element that they are added to, so that each of these is read and written once: no load waits for
 * a store to the same one. The order of additions to an element stays, and so do roundings. Targets with equally many
 * elements follow each other: the processor foresees the end of a loop that it has just run.
 */
#ifndef PHINTYS_CONSTANT_POSITIONS_H
#define PHINTYS_CONSTANT_POSITIONS_H

#include <stdlib.h>

#include "native/indexed_loops.h"

static inline int fits_int32(npy_intp length, npy_intp step) {
    return length <= INT32_MAX && (step < 0 ? -step : step) <= INT32_MAX / (length ? length : 1);
}

/* ---- gathered elements ------------------------------------------------------------------------------------------- */
typedef void (*GatherLoop)(char *result, const char *array, const int32_t *offsets, npy_intp count);

#define DEFINE_GATHER(SIZE)                                                                                            \
    static void gather_##SIZE(char *to, const char *array, const int32_t *offsets, npy_intp count) {                   \
        Word##SIZE *result = (Word##SIZE *)to;                                                                         \
        npy_intp i = 0;                                                                                                \
        for (; i + 4 <= count; i += 4) {                                                                               \
            const Word##SIZE first = *(const Word##SIZE *)(array + offsets[i]);                                        \
            const Word##SIZE second = *(const Word##SIZE *)(array + offsets[i + 1]);                                   \
            const Word##SIZE third = *(const Word##SIZE *)(array + offsets[i + 2]);                                    \
            const Word##SIZE fourth = *(const Word##SIZE *)(array + offsets[i + 3]);                                   \
            result[i] = first, result[i + 1] = second, result[i + 2] = third, result[i + 3] = fourth;                  \
        }                                                                                                              \
        for (; i < count; i++) result[i] = *(const Word##SIZE *)(array + offsets[i]);                                  \
    }
DEFINE_GATHER(1) DEFINE_GATHER(2) DEFINE_GATHER(4) DEFINE_GATHER(8) DEFINE_GATHER(16)
/* Indexed by the binary logarithm of the size of an element. */
static const GatherLoop phintys_gather[] = {gather_1, gather_2, gather_4, gather_8, gather_16};

/* Write the offsets of positions that have been checked; returns whether they fit. */
static int table_of_offsets(int32_t *table, int dtype, const char *positions, npy_intp stride, npy_intp count,
                            npy_intp length, npy_intp step) {
    npy_intp offset;
    if (!fits_int32(length, step)) return 0;
    for (npy_intp i = 0; i < count; i++) {
        phintys_offsets[dtype](&offset, positions + i * stride, stride, 1, length, step, 1);
        table[i] = (int32_t)offset;
    }
    return 1;
}

/* ---- added elements ---------------------------------------------------------------------------------------------- */
/* An element that is added to: its offset, and the end of its elements in the list of their offsets. */
typedef struct {
    int32_t offset, end;
} Target;
typedef void (*AddGroupsLoop)(char *array, const Target *targets, npy_intp count, const int32_t *offsets,
                              const char *partner);

#define DEFINE_ADD_GROUPS(NAME, T, SUM)                                                                                \
    static void add_groups_##NAME(char *array, const Target *targets, npy_intp count, const int32_t *offsets,          \
                                  const char *partner) {                                                               \
        const int32_t *next = offsets;                                                                                 \
        for (npy_intp i = 0; i < count; i++) {                                                                         \
            T *target = (T *)(array + targets[i].offset), sum = *target;                                               \
            const int32_t *end = offsets + targets[i].end;                                                             \
            do sum = SUM(sum, *(const T *)(partner + *next));                                                          \
            while (++next < end);                                                                                      \
            *target = sum;                                                                                             \
        }                                                                                                              \
    }
ADDED_TYPES(DEFINE_ADD_GROUPS)

/* In the order of loops.TYPES. */
static const AddGroupsLoop phintys_add_groups[] = {
    add_groups_bool, add_groups_uint8, add_groups_uint16, add_groups_uint32, add_groups_uint64, add_groups_uint8,
    add_groups_uint16, add_groups_uint32, add_groups_uint64, add_groups_float16, add_groups_float32,
    add_groups_float64, add_groups_complex64, add_groups_complex128};

/* Group positions that have been checked, by what they stand for; `targets` has memory for `length` targets, `offsets`
 * for `count` elements. Returns the number of targets, or 0 if the table is impossible. */
static npy_intp group_positions(Target *targets, int32_t *offsets, int dtype, const char *positions, npy_intp stride,
                                npy_intp count, npy_intp length, npy_intp step, npy_intp partner_stride) {
    if (!fits_int32(length, step) || !fits_int32(count, partner_stride)) return 0;
    npy_intp *of = calloc((size_t)(2 * count + 2 * length + 2), sizeof(npy_intp));
    if (of == NULL) return 0;
    npy_intp *sizes = of + count, *next = sizes + length, *before = next + length;  /* of groups smaller than i */
    npy_intp number = 0, end = 0;
    phintys_offsets[dtype](of, positions, stride, count, length, 1, 1);
    for (npy_intp i = 0; i < count; i++) sizes[of[i]]++;
    for (npy_intp element = 0; element < length; element++)
        if (sizes[element]) before[sizes[element] + 1]++;
    for (npy_intp size = 1; size <= count; size++) before[size + 1] += before[size];
    for (npy_intp element = 0; element < length; element++)
        if (sizes[element]) targets[before[sizes[element]]++].offset = (int32_t)element, number++;
    for (npy_intp i = 0; i < number; i++) {
        const npy_intp element = targets[i].offset;
        next[element] = end;
        end += sizes[element];
        targets[i].end = (int32_t)end;
        targets[i].offset = (int32_t)(element * step);
    }
    for (npy_intp i = 0; i < count; i++) offsets[next[of[i]]++] = (int32_t)(i * partner_stride);
    free(of);
    return number;
}

#endif
