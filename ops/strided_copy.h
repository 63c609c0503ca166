/* Copies between strided arrays of one shape, for kernels that move values without computing.
 *
 * Strides are in bytes and may be negative or zero (zero in the source repeats a value). Source and target must not
 * overlap. Dimensions are joined where both sides allow it; what remains is walked by an odometer around one inner
 * loop, or around square tiles when the two sides disagree about which dimension is the fast one (a transposed copy).
 */
#ifndef PHINTYS_STRIDED_COPY_H
#define PHINTYS_STRIDED_COPY_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>

#define PHINTYS_MAX_RANK 64
#define PHINTYS_TILE 16                 /* 16 x 16 doubles: 16 cache lines on either side */

typedef struct {
    int ndim;
    npy_intp shape[PHINTYS_MAX_RANK], target[PHINTYS_MAX_RANK], source[PHINTYS_MAX_RANK];
} CopyPlan;

/* Drop dimensions of length 1 and join neighbours that both sides walk as one. Answers the number of elements. */
static inline npy_intp plan_copy(CopyPlan *plan, int ndim, const npy_intp *shape,
                                 const npy_intp *target, const npy_intp *source) {
    npy_intp size = 1;
    int last = -1;
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp length = shape[axis];
        size *= length;
        if (length == 1) continue;
        if (last >= 0 && plan->target[last] == target[axis] * length && plan->source[last] == source[axis] * length)
            plan->shape[last] *= length;
        else
            plan->shape[++last] = length;
        plan->target[last] = target[axis];
        plan->source[last] = source[axis];
    }
    plan->ndim = last + 1;
    return size;
}

#define DEFINE_COPY_LINE(NAME, WORD)                                                                                   \
    static inline void NAME(char *target, npy_intp ts, const char *source, npy_intp ss, npy_intp count) {              \
        if (ts == sizeof(WORD) && ss == 0) {                                                                           \
            WORD value = *(const WORD *)source;                                                                        \
            for (npy_intp i = 0; i < count; i++) ((WORD *)target)[i] = value;                                          \
        } else {                                                                                                       \
            for (npy_intp i = 0; i < count; i++, target += ts, source += ss) *(WORD *)target = *(const WORD *)source;  \
        }                                                                                                              \
    }

typedef struct __attribute__((may_alias)) { uint64_t low, high; } Word16;
typedef uint8_t __attribute__((may_alias)) Word1;
typedef uint16_t __attribute__((may_alias)) Word2;
typedef uint32_t __attribute__((may_alias, aligned(2))) Word4;
typedef uint64_t __attribute__((may_alias, aligned(4))) Word8;      /* complex64 is aligned to 4 bytes only */
DEFINE_COPY_LINE(copy_line_1, Word1)
DEFINE_COPY_LINE(copy_line_2, Word2)
DEFINE_COPY_LINE(copy_line_4, Word4)
DEFINE_COPY_LINE(copy_line_8, Word8)
DEFINE_COPY_LINE(copy_line_16, Word16)

static inline void copy_line(char *target, npy_intp ts, const char *source, npy_intp ss, npy_intp count, int itemsize) {
    if (ts == itemsize && ss == itemsize) {
        memcpy(target, source, (size_t)count * itemsize);
        return;
    }
    switch (itemsize) {
    case 1: copy_line_1(target, ts, source, ss, count); return;
    case 2: copy_line_2(target, ts, source, ss, count); return;
    case 4: copy_line_4(target, ts, source, ss, count); return;
    case 8: copy_line_8(target, ts, source, ss, count); return;
    case 16: copy_line_16(target, ts, source, ss, count); return;
    default:
        for (npy_intp i = 0; i < count; i++) memcpy(target + i * ts, source + i * ss, itemsize);
    }
}

/* Rows that repeat one value each, too short for a loop of their own: `numpy.repeat` by a small number. The usual
 * numbers are constants of a loop each. */
#define PHINTYS_FILL_ROWS(WORD, COUNT)                                                                                 \
    for (npy_intp row = 0; row < rows; row++, target += ts, source += ss) {                                            \
        WORD value = *(const WORD *)source;                                                                            \
        for (npy_intp i = 0; i < (COUNT); i++) ((WORD *)target)[i] = value;                                            \
    }                                                                                                                  \
    return;
#define DEFINE_SHORT_FILLS(NAME, WORD)                                                                                 \
    static void NAME(char *target, npy_intp ts, const char *source, npy_intp ss, npy_intp rows, npy_intp count) {      \
        switch (count) {                                                                                               \
        case 2: PHINTYS_FILL_ROWS(WORD, 2)                                                                             \
        case 3: PHINTYS_FILL_ROWS(WORD, 3)                                                                             \
        case 4: PHINTYS_FILL_ROWS(WORD, 4)                                                                             \
        default: PHINTYS_FILL_ROWS(WORD, count)                                                                        \
        }                                                                                                              \
    }
DEFINE_SHORT_FILLS(short_fills_4, Word4)
DEFINE_SHORT_FILLS(short_fills_8, Word8)
#define PHINTYS_SHORT_FILL 8

static inline npy_intp stride_size(npy_intp stride) { return stride < 0 ? -stride : stride; }

/* Two dimensions whose fast sides differ: tile by tile, so that both sides use the whole of the lines they touch. */
static inline void copy_tiles(char *target, const npy_intp *ts, const char *source, const npy_intp *ss,
                              const npy_intp *shape, int itemsize) {
    for (npy_intp i = 0; i < shape[0]; i += PHINTYS_TILE) {
        npy_intp rows = shape[0] - i < PHINTYS_TILE ? shape[0] - i : PHINTYS_TILE;
        for (npy_intp j = 0; j < shape[1]; j += PHINTYS_TILE) {
            npy_intp columns = shape[1] - j < PHINTYS_TILE ? shape[1] - j : PHINTYS_TILE;
            for (npy_intp row = i; row < i + rows; row++)
                copy_line(target + row * ts[0] + j * ts[1], ts[1], source + row * ss[0] + j * ss[1], ss[1], columns,
                          itemsize);
        }
    }
}

/* Copy every element of `source` to `target`. */
static void copy_strided(int ndim, const npy_intp *shape, char *target, const npy_intp *target_strides,
                         const char *source, const npy_intp *source_strides, int itemsize) {
    CopyPlan plan;
    npy_intp index[PHINTYS_MAX_RANK];
    if (plan_copy(&plan, ndim, shape, target_strides, source_strides) == 0) return;
    if (plan.ndim <= 1) {
        if (plan.ndim == 0) memcpy(target, source, itemsize);
        else copy_line(target, plan.target[0], source, plan.source[0], plan.shape[0], itemsize);
        return;
    }
    int inner = plan.ndim - 2;                       /* the last two dimensions are done together */
    int tiled = stride_size(plan.source[inner]) < stride_size(plan.source[inner + 1]) && plan.source[inner] != 0;
    memset(index, 0, sizeof(npy_intp) * (inner + 1));
    for (;;) {
        if (plan.source[inner + 1] == 0 && plan.target[inner + 1] == itemsize
                && plan.shape[inner + 1] <= PHINTYS_SHORT_FILL && (itemsize == 4 || itemsize == 8)) {
            (itemsize == 4 ? short_fills_4 : short_fills_8)(target, plan.target[inner], source, plan.source[inner],
                                                            plan.shape[inner], plan.shape[inner + 1]);
        } else if (tiled) {
            copy_tiles(target, plan.target + inner, source, plan.source + inner, plan.shape + inner, itemsize);
        } else {
            for (npy_intp row = 0; row < plan.shape[inner]; row++)
                copy_line(target + row * plan.target[inner], plan.target[inner + 1],
                          source + row * plan.source[inner], plan.source[inner + 1], plan.shape[inner + 1], itemsize);
        }
        int axis = inner - 1;
        for (; axis >= 0; axis--) {
            target += plan.target[axis];
            source += plan.source[axis];
            if (++index[axis] < plan.shape[axis]) break;
            target -= plan.target[axis] * plan.shape[axis];
            source -= plan.source[axis] * plan.shape[axis];
            index[axis] = 0;
        }
        if (axis < 0) return;
    }
}

/* Strides of a view of (shape, strides) with another shape of the same size; answers 0 when only a copy will do. */
static int view_strides(int ndim, const npy_intp *shape, const npy_intp *strides, int itemsize,
                        int new_ndim, const npy_intp *new_shape, npy_intp *new_strides) {
    CopyPlan plan;                                   /* joins what is contiguous in the source */
    npy_intp size = plan_copy(&plan, ndim, shape, strides, strides);
    if (size == 0) return 0;
    int axis = plan.ndim - 1, new_axis = new_ndim - 1;
    npy_intp stride = itemsize;
    for (; axis >= 0; axis--) {
        npy_intp left = plan.shape[axis];
        stride = plan.source[axis];
        while (left > 1 && new_axis >= 0) {
            if (left % new_shape[new_axis]) return 0;
            new_strides[new_axis] = stride;
            left /= new_shape[new_axis];
            stride *= new_shape[new_axis];
            new_axis--;
        }
        if (left > 1) return 0;
    }
    for (; new_axis >= 0; new_axis--) new_strides[new_axis] = stride;     /* lengths of 1 */
    return 1;
}

#endif
