/* Inner loops of indexing: positions to byte offsets, elements from and to scattered places, lines added to lines.
 *
 * An index array becomes offsets in bytes, block by block; where there are several, their offsets add up. What follows
 * knows only a base address and offsets. Positions are checked before (`phintys_first_outside`), so nothing here fails.
 */
#ifndef PHINTYS_INDEXED_LOOPS_H
#define PHINTYS_INDEXED_LOOPS_H

#include <numpy/ndarraytypes.h>

#include "half_floats.h"
#include "strided_copy.h"

#if defined(__GNUC__) && defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
#define PHINTYS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PHINTYS_CLONES
#endif

/* ---- positions of any integer dtype ------------------------------------------------------------------------------ */
typedef npy_intp (*OutsideLoop)(const char *positions, npy_intp stride, npy_intp count, npy_intp length);
typedef void (*OffsetLoop)(npy_intp *offsets, const char *positions, npy_intp stride, npy_intp count, npy_intp length,
                           npy_intp step, int first);

#define POSITION_TYPES(X)                                                                                              \
    X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t)                                              \
    X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t)

/* Whether a position lies in [-length, length), by one comparison of unsigned numbers. */
#define IS_INSIDE(T, v, length)                                                                                        \
    ((T)-1 > 0 ? (uint64_t)(v) < (uint64_t)(length)                                                                    \
               : (uint64_t)((int64_t)(v) + (length)) < 2 * (uint64_t)(length))

/* A position counted from the start. */
#define FROM_START(v, length) ((npy_intp)(v) + ((length) & ((npy_intp)(v) >> 63)))

#define DEFINE_POSITION_LOOPS(NAME, T)                                                                                 \
    PHINTYS_CLONES static int any_outside_##NAME(const T *positions, npy_intp count, npy_intp length) {                \
        int outside = 0;                                                                                               \
        for (npy_intp i = 0; i < count; i++) outside |= !IS_INSIDE(T, positions[i], length);                           \
        return outside;                                                                                                \
    }                                                                                                                  \
    static npy_intp first_outside_##NAME(const char *positions, npy_intp stride, npy_intp count, npy_intp length) {    \
        npy_intp i = 0;                                                                                                \
        if (stride == sizeof(T) && !any_outside_##NAME((const T *)positions, count, length)) return -1;                \
        while (i < count && IS_INSIDE(T, *(const T *)(positions + i * stride), length)) i++;                           \
        return i < count ? i : -1;                                                                                     \
    }                                                                                                                  \
    PHINTYS_CLONES static void offsets_of_line_##NAME(npy_intp *offsets, const T *positions, npy_intp count,           \
                                                      npy_intp length, npy_intp step, int first) {                     \
        if (first)                                                                                                     \
            for (npy_intp i = 0; i < count; i++) offsets[i] = FROM_START(positions[i], length) * step;                 \
        else                                                                                                           \
            for (npy_intp i = 0; i < count; i++) offsets[i] += FROM_START(positions[i], length) * step;                \
    }                                                                                                                  \
    static void offsets_##NAME(npy_intp *offsets, const char *positions, npy_intp stride, npy_intp count,              \
                               npy_intp length, npy_intp step, int first) {                                            \
        if (stride == sizeof(T)) {                                                                                     \
            offsets_of_line_##NAME(offsets, (const T *)positions, count, length, step, first);                         \
            return;                                                                                                    \
        }                                                                                                              \
        for (npy_intp i = 0; i < count; i++, positions += stride)                                                      \
            offsets[i] = (first ? 0 : offsets[i]) + FROM_START(*(const T *)positions, length) * step;                  \
    }
POSITION_TYPES(DEFINE_POSITION_LOOPS)

#define OUTSIDE_ROW(NAME, T) first_outside_##NAME,
#define OFFSET_ROW(NAME, T) offsets_##NAME,
static const OutsideLoop phintys_first_outside[] = {POSITION_TYPES(OUTSIDE_ROW)};
static const OffsetLoop phintys_offsets[] = {POSITION_TYPES(OFFSET_ROW)};

/* ---- masks ------------------------------------------------------------------------------------------------------- */
/* Where the true elements of a mask lie in the array it selects from, in C order, a block at a time. */
typedef struct {
    const char *mask;
    CopyPlan plan;                                   /* `target`: strides of the mask, `source`: of the array */
    npy_intp index[PHINTYS_MAX_RANK];
    npy_intp given;                                  /* how many have been given out */
    npy_intp line_mask, line_array, column;          /* the current line, and where in it */
} MaskCursor;

static inline void mask_restart(MaskCursor *cursor) {
    cursor->given = cursor->line_mask = cursor->line_array = cursor->column = 0;
    memset(cursor->index, 0, sizeof(npy_intp) * (cursor->plan.ndim + 1));
}

static void mask_start(MaskCursor *cursor, const char *mask, int ndim, const npy_intp *shape,
                       const npy_intp *mask_strides, const npy_intp *steps) {
    plan_copy(&cursor->plan, ndim, shape, mask_strides, steps);
    if (cursor->plan.ndim == 0) {
        cursor->plan.ndim = 1;
        cursor->plan.shape[0] = 1;
        cursor->plan.target[0] = cursor->plan.source[0] = 0;
    }
    cursor->mask = mask;
    mask_restart(cursor);
}

/* The next `count` offsets, which must exist. */
static void mask_next(MaskCursor *cursor, npy_intp *offsets, npy_intp count) {
    const CopyPlan *plan = &cursor->plan;
    int last = plan->ndim - 1;
    npy_intp length = plan->shape[last], stride = plan->target[last], step = plan->source[last], found = 0;
    while (found < count) {
        const char *line = cursor->mask + cursor->line_mask;
        npy_intp start = cursor->line_array, i = cursor->column;
        while (i < length && found < count) {
            if (stride == 1 && length - i >= 8 && count - found >= 8) {
                uint64_t eight;
                memcpy(&eight, line + i, 8);
                if (eight == 0) { i += 8; continue; }
                for (int k = 0; k < 8; k++, i++) {   /* without branches: a random mask is not predictable */
                    offsets[found] = start + i * step;
                    found += line[i] != 0;
                }
            } else {
                offsets[found] = start + i * step;
                found += line[i * stride] != 0;
                i++;
            }
        }
        cursor->column = i;
        if (i < length) break;
        cursor->column = 0;
        for (int axis = last - 1; axis >= 0; axis--) {
            cursor->line_mask += plan->target[axis];
            cursor->line_array += plan->source[axis];
            if (++cursor->index[axis] < plan->shape[axis]) break;
            cursor->line_mask -= plan->target[axis] * plan->shape[axis];
            cursor->line_array -= plan->source[axis] * plan->shape[axis];
            cursor->index[axis] = 0;
        }
    }
    cursor->given += count;
}

static npy_intp count_line(const char *line, npy_intp stride, npy_intp count) {
    npy_intp found = 0;
    if (stride == 1) for (npy_intp i = 0; i < count; i++) found += line[i] != 0;
    else for (npy_intp i = 0; i < count; i++) found += line[i * stride] != 0;
    return found;
}

/* How many elements are true. */
static npy_intp count_true(const char *mask, int ndim, const npy_intp *shape, const npy_intp *strides) {
    CopyPlan plan;
    npy_intp index[PHINTYS_MAX_RANK], found = 0;
    if (plan_copy(&plan, ndim, shape, strides, strides) == 0) return 0;
    if (plan.ndim == 0) return *mask != 0;
    int last = plan.ndim - 1, axis;
    memset(index, 0, sizeof(npy_intp) * plan.ndim);
    do {
        found += count_line(mask, plan.target[last], plan.shape[last]);
        for (axis = last - 1; axis >= 0; axis--) {
            mask += plan.target[axis];
            if (++index[axis] < plan.shape[axis]) break;
            mask -= plan.target[axis] * plan.shape[axis];
            index[axis] = 0;
        }
    } while (axis >= 0);
    return found;
}

/* ---- elements at offsets and lines: the array on one side, a partner with a stride on the other ------------------ */
typedef void (*ItemLoop)(char *base, const npy_intp *offsets, char *partner, npy_intp stride, npy_intp count);
typedef void (*LineLoop)(char *line, npy_intp line_stride, char *partner, npy_intp stride, npy_intp count);

#define DEFINE_MOVES(SIZE)                                                                                             \
    static void get_items_##SIZE(char *base, const npy_intp *offsets, char *partner, npy_intp stride, npy_intp count) {\
        for (npy_intp i = 0; i < count; i++, partner += stride)                                                        \
            *(Word##SIZE *)partner = *(const Word##SIZE *)(base + offsets[i]);                                         \
    }                                                                                                                  \
    static void set_items_##SIZE(char *base, const npy_intp *offsets, char *partner, npy_intp stride, npy_intp count) {\
        for (npy_intp i = 0; i < count; i++, partner += stride)                                                        \
            *(Word##SIZE *)(base + offsets[i]) = *(const Word##SIZE *)partner;                                         \
    }                                                                                                                  \
    static void get_line_##SIZE(char *line, npy_intp line_stride, char *partner, npy_intp stride, npy_intp count) {    \
        copy_line(partner, stride, line, line_stride, count, SIZE);                                                    \
    }                                                                                                                  \
    static void set_line_##SIZE(char *line, npy_intp line_stride, char *partner, npy_intp stride, npy_intp count) {    \
        copy_line(line, line_stride, partner, stride, count, SIZE);                                                    \
    }
DEFINE_MOVES(1) DEFINE_MOVES(2) DEFINE_MOVES(4) DEFINE_MOVES(8) DEFINE_MOVES(16)

/* By the binary logarithm of the size of an element. */
static const ItemLoop phintys_get_items[] = {get_items_1, get_items_2, get_items_4, get_items_8, get_items_16};
static const ItemLoop phintys_set_items[] = {set_items_1, set_items_2, set_items_4, set_items_8, set_items_16};
static const LineLoop phintys_get_line[] = {get_line_1, get_line_2, get_line_4, get_line_8, get_line_16};
static const LineLoop phintys_set_line[] = {set_line_1, set_line_2, set_line_4, set_line_8, set_line_16};

#define ADD(a, b) ((a) + (b))
#define ADD_BOOL(a, b) ((a) | (b))
#define ADD_HALF(a, b) phintys_to_half(phintys_from_half(a) + phintys_from_half(b))
typedef float _Complex complex_float;
typedef double _Complex complex_double;
/* Signed integers wrap around as unsigned ones do. */
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

/* The order of loops.TYPES. */
static const ItemLoop phintys_add_items[] = {
    add_items_bool, add_items_uint8, add_items_uint16, add_items_uint32, add_items_uint64, add_items_uint8,
    add_items_uint16, add_items_uint32, add_items_uint64, add_items_float16, add_items_float32, add_items_float64,
    add_items_complex64, add_items_complex128};
static const LineLoop phintys_add_line[] = {
    add_line_bool, add_line_uint8, add_line_uint16, add_line_uint32, add_line_uint64, add_line_uint8,
    add_line_uint16, add_line_uint32, add_line_uint64, add_line_float16, add_line_float32, add_line_float64,
    add_line_complex64, add_line_complex128};

/* Apply a line loop to all elements of two strided arrays of one shape. */
static void line_by_line(LineLoop loop, int ndim, const npy_intp *shape, char *array, const npy_intp *array_strides,
                         char *partner, const npy_intp *partner_strides, npy_intp itemsize) {
    CopyPlan plan;
    npy_intp index[PHINTYS_MAX_RANK];
    if (plan_copy(&plan, ndim, shape, array_strides, partner_strides) == 0) return;
    if (plan.ndim <= 1) {
        if (plan.ndim) loop(array, plan.target[0], partner, plan.source[0], plan.shape[0]);
        else loop(array, itemsize, partner, itemsize, 1);
        return;
    }
    int last = plan.ndim - 1, axis;
    memset(index, 0, sizeof(npy_intp) * plan.ndim);
    do {
        loop(array, plan.target[last], partner, plan.source[last], plan.shape[last]);
        for (axis = last - 1; axis >= 0; axis--) {
            array += plan.target[axis];
            partner += plan.source[axis];
            if (++index[axis] < plan.shape[axis]) break;
            array -= plan.target[axis] * plan.shape[axis];
            partner -= plan.source[axis] * plan.shape[axis];
            index[axis] = 0;
        }
    } while (axis >= 0);
}

#endif
