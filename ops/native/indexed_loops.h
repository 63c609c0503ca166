/* Inner loops of indexing: conversion of positions to byte offsets, copies of elements from and to scattered addresses,
 * and addition of lines to lines.
 *
 * An index array is converted to offsets in bytes, block by block; the offsets of several index arrays are added. The
 * other loops take a base address and offsets. Positions have been checked before (`phintys_first_outside`), so these
 * loops cannot fail. The most frequent index, one vector of positions, has loops that check and copy in one pass
 * (`phintys_take`).
 */
#ifdef SET                                  /* lines of positions without gaps: what is compiled for each set */
#define DEFINE_LINE_LOOPS(NAME, T)                                                                                     \
    static int IN_SET(any_outside_##NAME)(const T *positions, npy_intp count, npy_intp length) {                       \
        int outside = 0;                                                                                               \
        for (npy_intp i = 0; i < count; i++) outside |= !IS_INSIDE(T, positions[i], length);                           \
        return outside;                                                                                                \
    }                                                                                                                  \
    static void IN_SET(offsets_of_line_##NAME)(npy_intp *offsets, const T *positions, npy_intp count,                  \
                                               npy_intp length, npy_intp step, int first) {                            \
        if (first)                                                                                                     \
            for (npy_intp i = 0; i < count; i++) offsets[i] = (npy_intp)FROM_START(T, positions[i], length) * step;    \
        else                                                                                                           \
            for (npy_intp i = 0; i < count; i++) offsets[i] += (npy_intp)FROM_START(T, positions[i], length) * step;   \
    }
POSITION_TYPES(DEFINE_LINE_LOOPS)
#undef DEFINE_LINE_LOOPS

#elif !defined(PHINTYS_INDEXED_LOOPS_H)
#define PHINTYS_INDEXED_LOOPS_H

#include <numpy/ndarraytypes.h>

#include "native/sets.h"
#include "copy_loops.h"
#include "copy_plan.h"
#include "half_floats.h"

/* ---- positions of any integer dtype ------------------------------------------------------------------------------ */
typedef npy_intp (*OutsideLoop)(const char *positions, npy_intp stride, npy_intp count, npy_intp length);
typedef void (*OffsetLoop)(npy_intp *offsets, const char *positions, npy_intp stride, npy_intp count, npy_intp length,
                           npy_intp step, int first);

#define POSITION_TYPES(X)                                                                                              \
    X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t)                                              \
    X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t)

/* Whether a position is in [-length, length), by one unsigned comparison. */
#define IS_INSIDE(T, v, length)                                                                                        \
    ((T)-1 > 0 ? (uint64_t)(v) < (uint64_t)(length)                                                                    \
               : (uint64_t)(v) + (uint64_t)(length) < 2 * (uint64_t)(length))

/* A position counted from the start, as an unsigned number; it is at least `length` if the position is out of range. */
#define FROM_START(T, v, length)                                                                                       \
    ((uint64_t)(v) + ((T)-1 > 0 ? 0 : (uint64_t)(length) & (uint64_t)((int64_t)(v) >> 63)))

#define LOOPS "native/indexed_loops.h"
#include "native/each_set.h"
#define LINE_LOOPS_OF_SETS(NAME, T) BY_SET(any_outside_##NAME); BY_SET(offsets_of_line_##NAME);
POSITION_TYPES(LINE_LOOPS_OF_SETS)

#define DEFINE_POSITION_LOOPS(NAME, T)                                                                                 \
    static npy_intp first_outside_##NAME(const char *positions, npy_intp stride, npy_intp count, npy_intp length) {    \
        npy_intp i = 0;                                                                                                \
        if (stride == sizeof(T) && !any_outside_##NAME[*phintys_set]((const T *)positions, count, length)) return -1;  \
        while (i < count && IS_INSIDE(T, *(const T *)(positions + i * stride), length)) i++;                           \
        return i < count ? i : -1;                                                                                     \
    }                                                                                                                  \
    static void offsets_##NAME(npy_intp *offsets, const char *positions, npy_intp stride, npy_intp count,              \
                               npy_intp length, npy_intp step, int first) {                                            \
        if (stride == sizeof(T)) {                                                                                     \
            offsets_of_line_##NAME[*phintys_set](offsets, (const T *)positions, count, length, step, first);           \
            return;                                                                                                    \
        }                                                                                                              \
        for (npy_intp i = 0; i < count; i++, positions += stride)                                                      \
            offsets[i] = (first ? 0 : offsets[i]) + (npy_intp)FROM_START(T, *(const T *)positions, length) * step;     \
    }
POSITION_TYPES(DEFINE_POSITION_LOOPS)

#define OUTSIDE_ROW(NAME, T) first_outside_##NAME,
#define OFFSET_ROW(NAME, T) offsets_##NAME,
static const OutsideLoop phintys_first_outside[] = {POSITION_TYPES(OUTSIDE_ROW)};
static const OffsetLoop phintys_offsets[] = {POSITION_TYPES(OFFSET_ROW)};

/* ---- copies of elements at positions, checked in the same pass --------------------------------------------------- */
/* Returns the number of the first position that is out of range, or -1. The result is contiguous. */
typedef npy_intp (*TakeLoop)(char *result, const char *array, npy_intp step, npy_intp length, const char *positions,
                             npy_intp stride, npy_intp count);

/* Each iteration processes four elements: the loads do not wait for stores, and one branch, which is almost never
 * taken, checks all four positions. For arrays much larger than the L2 cache, one element per iteration is faster,
 * because the processor overlaps more iterations. */
#define PHINTYS_FAR (4 << 20)           /* bytes */

#define DEFINE_TAKE(NAME, T, SIZE)                                                                                     \
    static inline __attribute__((always_inline)) npy_intp take_line_##NAME##_##SIZE(                                   \
            Word##SIZE *result, const char *array, npy_intp step, npy_intp length, const char *positions,              \
            npy_intp stride, npy_intp count) {                                                                         \
        const uint64_t end = (uint64_t)length;                                                                         \
        const npy_intp by_four = length <= PHINTYS_FAR / SIZE ? count : 0;                                             \
        npy_intp i = 0;                                                                                                \
        for (; i + 4 <= by_four; i += 4, positions += 4 * stride) {                                                    \
            const uint64_t a = FROM_START(T, *(const T *)positions, length);                                           \
            const uint64_t b = FROM_START(T, *(const T *)(positions + stride), length);                                \
            const uint64_t c = FROM_START(T, *(const T *)(positions + 2 * stride), length);                            \
            const uint64_t d = FROM_START(T, *(const T *)(positions + 3 * stride), length);                            \
            if ((a >= end) | (b >= end) | (c >= end) | (d >= end)) break;                                              \
            const Word##SIZE first = *(const Word##SIZE *)(array + (npy_intp)a * step);                                \
            const Word##SIZE second = *(const Word##SIZE *)(array + (npy_intp)b * step);                               \
            const Word##SIZE third = *(const Word##SIZE *)(array + (npy_intp)c * step);                                \
            const Word##SIZE fourth = *(const Word##SIZE *)(array + (npy_intp)d * step);                               \
            result[i] = first, result[i + 1] = second, result[i + 2] = third, result[i + 3] = fourth;                  \
        }                                                                                                              \
        for (; i < count; i++, positions += stride) {                                                                  \
            const uint64_t place = FROM_START(T, *(const T *)positions, length);                                       \
            if (place >= end) return i;                                                                                \
            result[i] = *(const Word##SIZE *)(array + (npy_intp)place * step);                                         \
        }                                                                                                              \
        return -1;                                                                                                     \
    }                                                                                                                  \
    static npy_intp take_##NAME##_##SIZE(char *result, const char *array, npy_intp step, npy_intp length,              \
                                         const char *positions, npy_intp stride, npy_intp count) {                     \
        if (step == SIZE && stride == sizeof(T))                                                                       \
            return take_line_##NAME##_##SIZE((Word##SIZE *)result, array, SIZE, length, positions, sizeof(T), count);  \
        return take_line_##NAME##_##SIZE((Word##SIZE *)result, array, step, length, positions, stride, count);         \
    }
#define DEFINE_TAKES(NAME, T)                                                                                          \
    DEFINE_TAKE(NAME, T, 1) DEFINE_TAKE(NAME, T, 2) DEFINE_TAKE(NAME, T, 4) DEFINE_TAKE(NAME, T, 8)                    \
    DEFINE_TAKE(NAME, T, 16)
POSITION_TYPES(DEFINE_TAKES)

/* Indexed by the dtype of positions, and by the binary logarithm of the size of an element. */
#define TAKE_ROW(NAME, T) {take_##NAME##_1, take_##NAME##_2, take_##NAME##_4, take_##NAME##_8, take_##NAME##_16},
static const TakeLoop phintys_take[][5] = {POSITION_TYPES(TAKE_ROW)};

/* ---- elements at offsets, and lines: between the array and a partner with a stride ------------------------------- */
typedef void (*ItemLoop)(char *base, const npy_intp *offsets, char *partner, npy_intp stride, npy_intp count);
typedef void (*LineLoop)(char *line, npy_intp line_stride, char *partner, npy_intp stride, npy_intp count);

/* One element per iteration: with a single load instruction, the processor can prefetch successive rows of a matrix. */
#define DEFINE_MOVES(SIZE)                                                                                             \
    static void get_items_##SIZE(char *base, const npy_intp *offsets, char *partner, npy_intp stride, npy_intp count) {\
        for (npy_intp i = 0; i < count; i++, partner += stride)                                                        \
            *(Word##SIZE *)partner = *(const Word##SIZE *)(base + offsets[i]);                                         \
    }                                                                                                                  \
    static void set_items_##SIZE(char *base, const npy_intp *offsets, char *partner, npy_intp stride, npy_intp count) {\
        npy_intp i = 0;                                                                                                \
        for (; i + 4 <= count; i += 4, partner += 4 * stride) {                                                        \
            const Word##SIZE first = *(const Word##SIZE *)partner;                                                     \
            const Word##SIZE second = *(const Word##SIZE *)(partner + stride);                                         \
            const Word##SIZE third = *(const Word##SIZE *)(partner + 2 * stride);                                      \
            const Word##SIZE fourth = *(const Word##SIZE *)(partner + 3 * stride);                                     \
            *(Word##SIZE *)(base + offsets[i]) = first;                                                                \
            *(Word##SIZE *)(base + offsets[i + 1]) = second;                                                           \
            *(Word##SIZE *)(base + offsets[i + 2]) = third;                                                            \
            *(Word##SIZE *)(base + offsets[i + 3]) = fourth;                                                           \
        }                                                                                                              \
        for (; i < count; i++, partner += stride)                                                                      \
            *(Word##SIZE *)(base + offsets[i]) = *(const Word##SIZE *)partner;                                         \
    }                                                                                                                  \
    static void get_line_##SIZE(char *line, npy_intp line_stride, char *partner, npy_intp stride, npy_intp count) {    \
        copy_line(partner, stride, line, line_stride, count, SIZE);                                                    \
    }                                                                                                                  \
    static void set_line_##SIZE(char *line, npy_intp line_stride, char *partner, npy_intp stride, npy_intp count) {    \
        copy_line(line, line_stride, partner, stride, count, SIZE);                                                    \
    }
DEFINE_MOVES(1) DEFINE_MOVES(2) DEFINE_MOVES(4) DEFINE_MOVES(8) DEFINE_MOVES(16)
/* Indexed by the binary logarithm of the size of an element. */
static const ItemLoop phintys_get_items[] = {get_items_1, get_items_2, get_items_4, get_items_8, get_items_16};
static const ItemLoop phintys_set_items[] = {set_items_1, set_items_2, set_items_4, set_items_8, set_items_16};
static const LineLoop phintys_get_line[] = {get_line_1, get_line_2, get_line_4, get_line_8, get_line_16};
static const LineLoop phintys_set_line[] = {set_line_1, set_line_2, set_line_4, set_line_8, set_line_16};

#define ADD(a, b) ((a) + (b))
#define ADD_BOOL(a, b) ((a) | (b))
#define ADD_HALF(a, b) phintys_to_half(phintys_from_half(a) + phintys_from_half(b))
typedef float _Complex complex_float;
typedef double _Complex complex_double;
/* Signed integers share the loops of unsigned ones, because both wrap around in the same way. */
#define ADDED_TYPES(X)                                                                                                 \
    X(bool, uint8_t, ADD_BOOL) X(uint8, uint8_t, ADD) X(uint16, uint16_t, ADD) X(uint32, uint32_t, ADD)                \
    X(uint64, uint64_t, ADD) X(float16, uint16_t, ADD_HALF) X(float32, float, ADD) X(float64, double, ADD)             \
    X(complex64, complex_float, ADD) X(complex128, complex_double, ADD)

#define DEFINE_ADDITIONS(NAME, T, SUM)                                                                                 \
    static void add_items_##NAME(char *base, const npy_intp *offsets, char *partner, npy_intp stride, npy_intp count) {\
        for (npy_intp i = 0; i < count; i++, partner += stride) {                                                      \
            T *target = (T *)(base + offsets[i]);                                                                      \
            *target = SUM(*target, *(const T *)partner);                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    static void add_line_##NAME(char *line, npy_intp line_stride, char *partner, npy_intp stride, npy_intp count) {    \
        if (line_stride == sizeof(T) && stride == sizeof(T)) {                                                         \
            T *target = (T *)line;                                                                                     \
            const T *source = (const T *)partner;                                                                      \
            for (npy_intp i = 0; i < count; i++) target[i] = SUM(target[i], source[i]);                                \
        } else {                                                                                                       \
            for (npy_intp i = 0; i < count; i++, line += line_stride, partner += stride)                               \
                *(T *)line = SUM(*(const T *)line, *(const T *)partner);                                               \
        }                                                                                                              \
    }
ADDED_TYPES(DEFINE_ADDITIONS)

/* In the order of loops.TYPES. */
static const ItemLoop phintys_add_items[] = {
    add_items_bool, add_items_uint8, add_items_uint16, add_items_uint32, add_items_uint64, add_items_uint8,
    add_items_uint16, add_items_uint32, add_items_uint64, add_items_float16, add_items_float32, add_items_float64,
    add_items_complex64, add_items_complex128};
static const LineLoop phintys_add_line[] = {
    add_line_bool, add_line_uint8, add_line_uint16, add_line_uint32, add_line_uint64, add_line_uint8,
    add_line_uint16, add_line_uint32, add_line_uint64, add_line_float16, add_line_float32, add_line_float64,
    add_line_complex64, add_line_complex128};

/* ---- addition to elements at positions, which have been checked before ------------------------------------------- */
/* Computing offsets first would take half as long as the additions themselves. */
typedef void (*AddAtLoop)(char *array, npy_intp step, npy_intp length, const char *positions, npy_intp stride,
                          const char *partner, npy_intp partner_stride, npy_intp count);

#define DEFINE_ADD_AT(POSITION, P, NAME, T, SUM)                                                                       \
    static inline __attribute__((always_inline)) void add_at_line_##POSITION##_##NAME(                                 \
            char *array, npy_intp step, npy_intp length, const char *positions, npy_intp stride,                       \
            const char *partner, npy_intp partner_stride, npy_intp count) {                                            \
        for (npy_intp i = 0; i < count; i++, positions += stride, partner += partner_stride) {                         \
            T *target = (T *)(array + (npy_intp)FROM_START(P, *(const P *)positions, length) * step);                  \
            *target = SUM(*target, *(const T *)partner);                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    static void add_at_##POSITION##_##NAME(char *array, npy_intp step, npy_intp length, const char *positions,         \
                                           npy_intp stride, const char *partner, npy_intp partner_stride,              \
                                           npy_intp count) {                                                           \
        if (step == sizeof(T) && stride == sizeof(P) && partner_stride == sizeof(T))                                   \
            add_at_line_##POSITION##_##NAME(array, sizeof(T), length, positions, sizeof(P), partner, sizeof(T), count);\
        else if (step == sizeof(T) && stride == sizeof(P))                        /* usually one value for all */      \
            add_at_line_##POSITION##_##NAME(array, sizeof(T), length, positions, sizeof(P), partner,                   \
                                            partner_stride, count);                                                    \
        else                                                                                                           \
            add_at_line_##POSITION##_##NAME(array, step, length, positions, stride, partner, partner_stride, count);   \
    }
#define DEFINE_ADDITIONS_AT(POSITION, P)                                                                               \
    DEFINE_ADD_AT(POSITION, P, bool, uint8_t, ADD_BOOL) DEFINE_ADD_AT(POSITION, P, uint8, uint8_t, ADD)                \
    DEFINE_ADD_AT(POSITION, P, uint16, uint16_t, ADD) DEFINE_ADD_AT(POSITION, P, uint32, uint32_t, ADD)                \
    DEFINE_ADD_AT(POSITION, P, uint64, uint64_t, ADD) DEFINE_ADD_AT(POSITION, P, float16, uint16_t, ADD_HALF)          \
    DEFINE_ADD_AT(POSITION, P, float32, float, ADD) DEFINE_ADD_AT(POSITION, P, float64, double, ADD)                   \
    DEFINE_ADD_AT(POSITION, P, complex64, complex_float, ADD)                                                          \
    DEFINE_ADD_AT(POSITION, P, complex128, complex_double, ADD)
POSITION_TYPES(DEFINE_ADDITIONS_AT)

/* Indexed by the dtype of positions, and by the element type in the order of loops.TYPES. */
#define ADD_AT_ROW(POSITION, P)                                                                                        \
    {add_at_##POSITION##_bool, add_at_##POSITION##_uint8, add_at_##POSITION##_uint16, add_at_##POSITION##_uint32,      \
     add_at_##POSITION##_uint64, add_at_##POSITION##_uint8, add_at_##POSITION##_uint16, add_at_##POSITION##_uint32,    \
     add_at_##POSITION##_uint64, add_at_##POSITION##_float16, add_at_##POSITION##_float32,                             \
     add_at_##POSITION##_float64, add_at_##POSITION##_complex64, add_at_##POSITION##_complex128},
static const AddAtLoop phintys_add_at[][14] = {POSITION_TYPES(ADD_AT_ROW)};

/* Apply a line loop to all lines of a plan; `target` of the plan is the array, `source` the partner. */
static void move_lines(LineLoop loop, const CopyPlan *plan, char *array, char *partner) {
    npy_intp index[PHINTYS_MAX_RANK];
    int last = plan->ndim - 1;
    if (last < 0) {
        loop(array, 0, partner, 0, 1);
        return;
    }
    memset(index, 0, sizeof(npy_intp) * plan->ndim);
    do loop(array, plan->target[last], partner, plan->source[last], plan->shape[last]);
    while (next_place(plan, last, index, &array, (const char **)&partner));
}

/* Apply a line loop to two strided arrays of one shape. */
static void line_by_line(LineLoop loop, int ndim, const npy_intp *shape, char *array, const npy_intp *array_strides,
                         char *partner, const npy_intp *partner_strides) {
    CopyPlan plan;
    if (plan_copy(&plan, ndim, shape, array_strides, partner_strides)) move_lines(loop, &plan, array, partner);
}

#endif
