/* Selection without sorting: partitions of a line, and its largest or smallest elements with their places, for every
 * dtype. selection_loops.template.h has them for one dtype, quickselect.template.h the partitions for one order.
 *
 * NaN is after every number, as NumPy sorts. Among equal values those come first that are first in the line, so the
 * places are determined.
 */
#ifndef PHINTYS_SELECTION_LOOPS_H
#define PHINTYS_SELECTION_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>

#include "native/clones.h"
#include "native/templates.h"

typedef struct {
    npy_intp wanted;                    /* elements, at least 1 */
    npy_intp capacity;                  /* pairs that there is room for: more than `wanted`, or the whole line */
    int largest;                        /* or the smallest ones */
    int sorted;                         /* the best one first */
    int place_size;                     /* bytes of the integers that hold places */
} Best;

typedef void (*phintys_partition)(char *line, npy_intp count, const npy_intp *chosen, npy_intp n_chosen);
typedef void (*phintys_argpartition)(const char *line, npy_intp step, npy_intp count, const npy_intp *chosen,
                                     npy_intp n_chosen, char *room, char *places, npy_intp places_step);
typedef void (*phintys_best)(const char *line, npy_intp step, npy_intp count, const Best *best, char *room,
                             char *values, npy_intp values_step, char *places, npy_intp places_step);

#define BEFORE(a, b) ((a) < (b))
#define MAYBE_ABOVE(a, b) ((a) > (b))
#define MAYBE_BELOW(a, b) ((a) < (b))
#define T uint8_t
#define DTYPE uint8
#include "selection_loops.template.h"
#define T uint16_t
#define DTYPE uint16
#include "selection_loops.template.h"
#define T uint32_t
#define DTYPE uint32
#include "selection_loops.template.h"
#define T uint64_t
#define DTYPE uint64
#include "selection_loops.template.h"
#define T int8_t
#define DTYPE int8
#include "selection_loops.template.h"
#define T int16_t
#define DTYPE int16
#include "selection_loops.template.h"
#define T int32_t
#define DTYPE int32
#include "selection_loops.template.h"
#define T int64_t
#define DTYPE int64
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW

#define BEFORE(a, b) (((a) < (b)) | (((b) != (b)) & ((a) == (a))))
#define MAYBE_ABOVE(a, b) (!((a) <= (b)))
#define MAYBE_BELOW(a, b) (!((a) >= (b)))
#define T float
#define DTYPE float32
#include "selection_loops.template.h"
#define T double
#define DTYPE float64
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW

/* Maps float16 to an integer of the same order; NaN of either sign is last. */
PHINTYS_INLINE int phintys_half_order(uint16_t half) {
    int magnitude = half & 0x7fff;
    return magnitude > 0x7c00 ? 0x8000 : half & 0x8000 ? -magnitude : magnitude;
}
#define BEFORE(a, b) (phintys_half_order(a) < phintys_half_order(b))
#define MAYBE_ABOVE(a, b) BEFORE(b, a)
#define MAYBE_BELOW(a, b) BEFORE(a, b)
#define T uint16_t
#define DTYPE float16
#include "selection_loops.template.h"
#undef BEFORE

/* Complex numbers: by the real part, then by the imaginary part; then x + NaNj, NaN + xj and NaN + NaNj. */
typedef struct { float real, imag; } phintys_pair_of_floats;
typedef struct { double real, imag; } phintys_pair_of_doubles;
#define ONE_NAN(x) ((x) != (x))
#define NAN_RANK(x) (2 * ONE_NAN((x).real) + ONE_NAN((x).imag))
#define NAN_LESS(x, y) (((x) < (y)) & !ONE_NAN(x) & !ONE_NAN(y))
#define BEFORE(a, b)                                                                                                   \
    (NAN_RANK(a) != NAN_RANK(b) ? NAN_RANK(a) < NAN_RANK(b)                                                            \
                                : NAN_LESS((a).real, (b).real) ||                                                      \
                                      (((a).real == (b).real || ONE_NAN((a).real)) && NAN_LESS((a).imag, (b).imag)))
#define T phintys_pair_of_floats
#define DTYPE complex64
#include "selection_loops.template.h"
#define T phintys_pair_of_doubles
#define DTYPE complex128
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW

#define SELECTION_ROW(DTYPE) {partition_line_##DTYPE, argpartition_line_##DTYPE, best_of_line_##DTYPE, \
                              sizeof(pair_##DTYPE)}
typedef struct {
    phintys_partition partition;
    phintys_argpartition argpartition;
    phintys_best best;
    int pair_size;                      /* bytes of a value with its place */
} Selection;

/* In the order of TYPES in loops.pyx. */
static const Selection phintys_selections[] = {
    SELECTION_ROW(uint8), SELECTION_ROW(int8), SELECTION_ROW(int16), SELECTION_ROW(int32), SELECTION_ROW(int64),
    SELECTION_ROW(uint8), SELECTION_ROW(uint16), SELECTION_ROW(uint32), SELECTION_ROW(uint64),
    SELECTION_ROW(float16), SELECTION_ROW(float32), SELECTION_ROW(float64), SELECTION_ROW(complex64),
    SELECTION_ROW(complex128),
};

#endif
