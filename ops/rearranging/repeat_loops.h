/* Writes chunks of bytes, each several times in a row. Chunks of one element, the usual case, are stored from a
 * register: a call of memcpy with an unknown length takes ten times as long as the store.
 */
#ifndef PHINTYS_REPEAT_LOOPS_H
#define PHINTYS_REPEAT_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>

#include "native/row_copy.h"

typedef struct { uint64_t low, high; } phintys_pair;

#define PHINTYS_REPEAT(WORD)                                                                                           \
    for (npy_intp i = 0; i < chunks; i++, source += sizeof(WORD)) {                                                    \
        WORD word;                                                                                                     \
        memcpy(&word, source, sizeof(WORD));                                                                           \
        for (npy_intp k = 0; k < counts[i]; k++, target += sizeof(WORD)) memcpy(target, &word, sizeof(WORD));          \
    }                                                                                                                  \
    return target;

/* Write chunk i counts[i] times; returns the address after the last one. */
static char *repeat_chunks(char *target, const char *source, npy_intp bytes, npy_intp chunks, const npy_intp *counts) {
    switch (bytes) {
    case 1: PHINTYS_REPEAT(uint8_t)
    case 2: PHINTYS_REPEAT(uint16_t)
    case 4: PHINTYS_REPEAT(uint32_t)
    case 8: PHINTYS_REPEAT(uint64_t)
    case 16: PHINTYS_REPEAT(phintys_pair)
    default:
        return repeat_rows[*phintys_set](target, source, bytes, chunks, counts);
    }
}

#endif
