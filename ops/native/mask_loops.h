/* Loops over masks: the number of true elements, and their positions.
 *
 * A contiguous line is read eight elements at a time: their bytes are compressed to eight bits, and a table maps these
 * to positions. There is therefore no branch that a random mask would mispredict, and an element takes half a cycle.
 * Every nonzero byte counts as true.
 */
#ifdef SET                                  /* what is compiled for each set */
/* The number of true elements among at most 8 * 255: eight sums are computed at once, one in each byte. */
static npy_intp IN_SET(count_truths)(const char *elements, npy_intp eights) {
    uint64_t sums = 0, even = 0x00ff00ff00ff00ffu;
    for (npy_intp i = 0; i < eights; i++) sums += eight_truths(elements + 8 * i);
    return (npy_intp)(((sums & even) + (sums >> 8 & even)) * 0x0001000100010001u >> 48);
}

/* Write the positions of the true elements of a line, starting with element *column, until the line ends or the output
 * is full. Returns the number of positions and advances *column. */
static npy_intp IN_SET(find_true)(int64_t *positions, npy_intp room, const char *line, npy_intp stride,
                                  npy_intp length, npy_intp *column) {
    npy_intp i = *column, found = 0;
    while (stride == 1 && length - i >= 8 && room - found >= 8) {
        unsigned bits = eight_bits(eight_truths(line + i));
        uint8_t numbers[8];
        memcpy(numbers, numbers_of_bits[bits], 8);
        for (int k = 0; k < 8; k++) positions[found + k] = i + numbers[k];
        found += __builtin_popcount(bits);
        i += 8;
    }
    while (i < length && found < room) {
        if (stride == 1 && length - i >= 8 && eight_truths(line + i) == 0) { i += 8; continue; }
        positions[found] = i;
        found += line[i * stride] != 0;
        i++;
    }
    *column = i;
    return found;
}

static void IN_SET(positions_to_offsets)(npy_intp *positions, npy_intp count, npy_intp start, npy_intp step) {
    for (npy_intp i = 0; i < count; i++) positions[i] = start + positions[i] * step;
}

#elif !defined(PHINTYS_MASK_LOOPS_H)
#define PHINTYS_MASK_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>

#include "native/sets.h"
#include "copy_plan.h"

#define PHINTYS_EVERY_BYTE 0x0101010101010101u

/* Eight elements as bytes 0 or 1. */
static inline uint64_t eight_truths(const char *elements) {
    uint64_t eight, low = 0x7f * PHINTYS_EVERY_BYTE;
    memcpy(&eight, elements, 8);
    return (((eight & low) + low) | eight) >> 7 & PHINTYS_EVERY_BYTE;
}

/* Eight elements as eight bits, where the first element is the lowest bit. */
static inline unsigned eight_bits(uint64_t truths) { return (unsigned)(truths * 0x0102040810204080u >> 56); }

/* ---- counting ---------------------------------------------------------------------------------------------------- */
/* ---- positions --------------------------------------------------------------------------------------------------- */
/* For each value of eight bits, the numbers of the set bits, followed by zeros. */
static uint8_t numbers_of_bits[256][8];

__attribute__((constructor)) static void fill_numbers_of_bits(void) {
    for (unsigned bits = 0; bits < 256; bits++) {
        int found = 0;
        for (unsigned number = 0; number < 8; number++)
            if (bits >> number & 1) numbers_of_bits[bits][found++] = (uint8_t)number;
    }
}

#define LOOPS "native/mask_loops.h"
#include "native/each_set.h"
BY_SET(count_truths);
BY_SET(find_true);
BY_SET(positions_to_offsets);

/* ---- counting ---------------------------------------------------------------------------------------------------- */
static npy_intp count_line(const char *line, npy_intp stride, npy_intp count) {
    npy_intp found = 0;
    if (stride == 1) {
        for (npy_intp eights; (eights = count / 8) > 0; line += 8 * eights, count -= 8 * eights) {
            if (eights > 255) eights = 255;
            found += count_truths[*phintys_set](line, eights);
        }
    }
    for (npy_intp i = 0; i < count; i++) found += line[i * stride] != 0;
    return found;
}

/* The number of true elements. */
static npy_intp count_true(const char *mask, int ndim, const npy_intp *shape, const npy_intp *strides) {
    CopyPlan plan;
    npy_intp index[PHINTYS_MAX_RANK], found = 0;
    const char *same = mask;
    char *line = (char *)mask;
    if (plan_copy(&plan, ndim, shape, strides, strides) == 0) return 0;
    if (plan.ndim == 0) return *mask != 0;
    int last = plan.ndim - 1;
    memset(index, 0, sizeof(npy_intp) * plan.ndim);
    do found += count_line(line, plan.target[last], plan.shape[last]);
    while (next_place(&plan, last, index, &line, &same));
    return found;
}

/* ---- a mask that is read in blocks ------------------------------------------------------------------------------- */
/* Computes the offsets of a mask's true elements in the array from which it selects, in C order, block by block. */
typedef struct {
    const char *mask;
    CopyPlan plan;                                   /* `target`: strides of the mask, `source`: of the array */
    npy_intp index[PHINTYS_MAX_RANK];
    npy_intp given;                                  /* the number of offsets returned so far */
    char *line;                                      /* the current line of the mask */
    const char *offset;                              /* its offset in the array */
    npy_intp column;                                 /* the next element of the line */
} MaskCursor;

static inline void mask_restart(MaskCursor *cursor) {
    cursor->given = cursor->column = 0;
    cursor->line = (char *)cursor->mask;
    cursor->offset = NULL;
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

/* Write the next `count` offsets, which must exist. */
static void mask_next(MaskCursor *cursor, npy_intp *offsets, npy_intp count) {
    const CopyPlan *plan = &cursor->plan;
    int last = plan->ndim - 1;
    cursor->given += count;
    while (count > 0) {
        npy_intp start = (npy_intp)cursor->offset;
        npy_intp found = find_true[*phintys_set]((int64_t *)offsets, count, cursor->line, plan->target[last],
                                                 plan->shape[last], &cursor->column);
        positions_to_offsets[*phintys_set](offsets, found, start, plan->source[last]);
        offsets += found;
        count -= found;
        if (cursor->column == plan->shape[last]) {
            cursor->column = 0;
            next_place(plan, last, cursor->index, &cursor->line, &cursor->offset);
        }
    }
}

#endif
