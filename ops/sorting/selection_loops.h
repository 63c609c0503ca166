/* Selection without sorting: partitions of a line, and its largest or smallest elements with their positions, for every
 * dtype. selection_loops.template.h has them for one dtype, quickselect.template.h the partitions, selection_vectors.h
 * what vectors need.
 *
 * NaN is after every number, as NumPy sorts. Among equal values the best are those that are first in the line, so their
 * positions are determined.
 */
#ifndef PHINTYS_SELECTION_LOOPS_H
#define PHINTYS_SELECTION_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>

#include "native/sets.h"
#include "orders.h"

enum { PHINTYS_BELOW, PHINTYS_AT_MOST, PHINTYS_NUMBERS };   /* which elements a separation moves to the front */
enum { PHINTYS_LONG_LINE = 100000 };                        /* one that does not fit in the L1 and L2 caches */
enum { PHINTYS_SAMPLE = 255, PHINTYS_MARGIN = 16 };         /* two deviations of the rank of an element in a sample */
enum { PHINTYS_FEW = 12 };                                /* so many best ones are kept in order while a line is read */

typedef struct {
    npy_intp wanted;                    /* elements, at least 1 */
    npy_intp capacity;                  /* candidates that there is room for: more than `wanted`, or the whole line */
    int largest;                        /* or the smallest ones */
    int sorted;                         /* the best one first */
    int position_size;                     /* bytes of the integers that hold positions */
    int (*sort)(void *, npy_intp, void *);                  /* NumPy's, of the dtype */
    int (*argsort)(void *, npy_intp *, npy_intp, void *);
    int (*sort_positions)(void *, npy_intp, void *);           /* NumPy's, of npy_intp */
} Best;

/* A partition reads a line without gaps and writes another one, or the same. */
typedef void (*phintys_partition)(const char *from, char *line, npy_intp count, const npy_intp *chosen,
                                  npy_intp n_chosen, char *room);
typedef void (*phintys_argpartition)(const char *line, npy_intp step, npy_intp count, const npy_intp *chosen,
                                     npy_intp n_chosen, char *room, char *positions, npy_intp positions_step);
typedef void (*phintys_best)(const char *line, npy_intp step, npy_intp count, const Best *best, char *room,
                             char *values, npy_intp values_step, char *positions, npy_intp positions_step);

typedef struct {
    phintys_partition partition;
    phintys_argpartition argpartition;
    phintys_best best;
    int value_size, position_size, pair_size;                  /* bytes */
} Selection;

/* Bytes of an array in `room`. Vectors may be written past its end, and another one after these. */
PHINTYS_INLINE npy_intp phintys_segment(npy_intp count, npy_intp itemsize) {
    return (count * itemsize + 2 * 64 + 63) & ~(npy_intp)63;
}
static npy_intp phintys_partition_room(const Selection *of, npy_intp count) {
    return phintys_segment(count, of->value_size);
}
static npy_intp phintys_argpartition_room(const Selection *of, npy_intp count) {
    return 2 * phintys_segment(count, of->value_size) + 2 * phintys_segment(count, of->position_size);
}
static npy_intp phintys_best_room(const Selection *of, const Best *best) {
    if (best->wanted <= PHINTYS_FEW) return phintys_segment(best->wanted, of->pair_size);
    return 3 * phintys_segment(best->capacity, of->value_size) + phintys_segment(best->capacity, of->position_size)
           + phintys_segment(best->wanted, sizeof(npy_intp));
}

PHINTYS_INLINE void phintys_write_position(char *to, int size, npy_intp position) {
    switch (size) {
        case 1: *(int8_t *)to = (int8_t)position; break;
        case 2: *(int16_t *)to = (int16_t)position; break;
        case 4: *(int32_t *)to = (int32_t)position; break;
        default: *(int64_t *)to = position;
    }
}

/* ---- each instruction set ---------------------------------------------------------------------------------------- */
#ifdef PHINTYS_HAS_SETS
#include "selection_vectors.h"
#else
static void phintys_fill_bits_of_mask(void) {}
#endif
#define LOOPS_OF_DTYPE "selection_loops.template.h"
#define LOOPS "sorting/each_order.h"
#include "native/each_set.h"
#undef LOOPS_OF_DTYPE
#undef LANES
#undef V
#undef ALL
#undef WIDTH
#undef COUNT
#undef LOAD
#undef STORE
#undef PACK

#define SELECTION_ROW(DTYPE, SET) \
    {partition_line_##DTYPE##_##SET, argpartition_line_##DTYPE##_##SET, best_of_line_##DTYPE##_##SET, \
     sizeof(value_##DTYPE##_##SET), sizeof(place_##DTYPE##_##SET), sizeof(pair_##DTYPE##_##SET)}
/* In the order of TYPES in loops.pyx. Narrow numbers gain nothing by the widest registers, complex ones by none. */
#define SELECTION_ROWS(SET, NARROW) { \
    SELECTION_ROW(uint8, NARROW), SELECTION_ROW(int8, NARROW), SELECTION_ROW(int16, NARROW), \
    SELECTION_ROW(int32, SET), SELECTION_ROW(int64, SET), SELECTION_ROW(uint8, NARROW), \
    SELECTION_ROW(uint16, NARROW), SELECTION_ROW(uint32, SET), SELECTION_ROW(uint64, SET), \
    SELECTION_ROW(float16, NARROW), SELECTION_ROW(float32, SET), SELECTION_ROW(float64, SET), \
    SELECTION_ROW(complex64, baseline), SELECTION_ROW(complex128, baseline)}
static const Selection phintys_selections[PHINTYS_SETS][14] = {
    SELECTION_ROWS(baseline, baseline),
#ifdef PHINTYS_HAS_SETS
    SELECTION_ROWS(avx2, avx2), SELECTION_ROWS(avx512, avx2)
#else
    SELECTION_ROWS(baseline, baseline), SELECTION_ROWS(baseline, baseline)
#endif
};

#endif
