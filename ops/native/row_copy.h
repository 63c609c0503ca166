/* Copies of contiguous rows of bytes, from or to scattered addresses, or each several times in a row.
 *
 * A call of memcpy takes as long as copying a short row, and for a few kilobytes the C library may use `rep movsb`,
 * which is up to 50 % slower if source and target are aligned differently. These loops therefore copy rows in pieces
 * with unaligned loads and stores; the last piece overlaps the previous one. Source and target rows must not overlap.
 */
#ifdef SET                                  /* what is compiled for each set: WALK_ROWS and the macros below */
static void IN_SET(gather_rows)(char *base, const npy_intp *offsets, char *partner, npy_intp stride,
                                npy_intp count, npy_intp bytes) {
    WALK_ROWS(EACH_OFFSET, partner, row, bytes)
}

static void IN_SET(scatter_rows)(char *base, const npy_intp *offsets, char *partner, npy_intp stride,
                                 npy_intp count, npy_intp bytes) {
    WALK_ROWS(EACH_OFFSET, row, partner, bytes)
}

/* Write row i of `source` counts[i] times; returns the address after the last one. */
static char *IN_SET(repeat_rows)(char *target, const char *source, npy_intp bytes, npy_intp rows,
                                 const npy_intp *counts) {
    WALK_ROWS(EACH_REPETITION, target, source, bytes)
    return target;
}

#elif !defined(PHINTYS_ROW_COPY_H)
#define PHINTYS_ROW_COPY_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>

#include "native/sets.h"

#define PHINTYS_LONG_ROW 1024           /* bytes from which aligned stores are worth an additional piece */
#define PHINTYS_PIECE 32

typedef char Piece __attribute__((vector_size(PHINTYS_PIECE), aligned(1), may_alias));
typedef char HalfPiece __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t __attribute__((aligned(1), may_alias)) EightBytes;
typedef uint32_t __attribute__((aligned(1), may_alias)) FourBytes;

/* Copy a row of at least one piece, four pieces per iteration, so that loads do not wait for stores. */
static inline __attribute__((always_inline)) void copy_row(char *target, const char *source, npy_intp bytes) {
    npy_intp done = 0;
    if (bytes >= PHINTYS_LONG_ROW) {
        *(Piece *)target = *(const Piece *)source;
        done = PHINTYS_PIECE - (npy_intp)((uintptr_t)target % PHINTYS_PIECE);
    }
    for (; done + 4 * PHINTYS_PIECE <= bytes; done += 4 * PHINTYS_PIECE) {
        const Piece *from = (const Piece *)(source + done);
        Piece *to = (Piece *)(target + done);
        const Piece first = from[0], second = from[1], third = from[2], fourth = from[3];
        to[0] = first, to[1] = second, to[2] = third, to[3] = fourth;
    }
    for (; done + PHINTYS_PIECE <= bytes; done += PHINTYS_PIECE)
        *(Piece *)(target + done) = *(const Piece *)(source + done);
    if (done < bytes) *(Piece *)(target + bytes - PHINTYS_PIECE) = *(const Piece *)(source + bytes - PHINTYS_PIECE);
}

/* Copy a row that is at least as long as one T and at most as long as two, by two copies that may overlap. */
#define COPY_TWO(T, target, source, bytes)                                                                             \
    do {                                                                                                               \
        const T low = *(const T *)(source), high = *(const T *)((source) + (bytes) - sizeof(T));                       \
        *(T *)(target) = low;                                                                                          \
        *(T *)((target) + (bytes) - sizeof(T)) = high;                                                                 \
    } while (0)
#define COPY_FEW(target, source, bytes)                                                                                \
    for (npy_intp k = 0; k < (bytes); k++) (target)[k] = (source)[k]

/* EACH is the loop over the rows; its argument copies one row and is selected once by the length of the rows. */
#define WALK_ROWS(EACH, target, source, bytes)                                                                         \
    if ((bytes) >= PHINTYS_PIECE) EACH(copy_row(target, source, bytes))                                                \
    else if ((bytes) >= 16) EACH(COPY_TWO(HalfPiece, target, source, bytes))                                           \
    else if ((bytes) >= 8) EACH(COPY_TWO(EightBytes, target, source, bytes))                                           \
    else if ((bytes) >= 4) EACH(COPY_TWO(FourBytes, target, source, bytes))                                            \
    else EACH(COPY_FEW(target, source, bytes))

/* Copies between rows at offsets from `base` and a partner whose rows are `stride` bytes apart. */
typedef void (*RowLoop)(char *base, const npy_intp *offsets, char *partner, npy_intp stride, npy_intp count,
                        npy_intp bytes);
#define EACH_OFFSET(COPY)                                                                                              \
    for (npy_intp i = 0; i < count; i++, partner += stride) {                                                          \
        char *const row = base + offsets[i];                                                                           \
        COPY;                                                                                                          \
    }

#define EACH_REPETITION(COPY)                                                                                          \
    for (npy_intp i = 0; i < rows; i++, source += bytes)                                                               \
        for (npy_intp repetition = 0; repetition < counts[i]; repetition++, target += bytes) COPY;

#define LOOPS "native/row_copy.h"
#define TWO_SETS                            /* pieces have 32 bytes */
#include "native/each_set.h"
BY_TWO_SETS(gather_rows);
BY_TWO_SETS(scatter_rows);
BY_TWO_SETS(repeat_rows);

#endif
