/* Sorting many short rows: 16 rows at a time, side by side, by Batcher's network (Knuth, volume 3, 5.2.2, algorithm M),
 * whose exchanges do not depend on the elements. Floats are compared as integers of the same order; NaN is last. Equal
 * elements may change their order. short_rows_loops.template.h has one dtype.
 */
#ifndef PHINTYS_SHORT_ROWS_LOOPS_H
#define PHINTYS_SHORT_ROWS_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>

#include "native/sets.h"

enum { PHINTYS_SIDE_BY_SIDE = 16, PHINTYS_SHORT_ROW = 32, PHINTYS_MOST_EXCHANGES = 200 };

typedef struct { int count; uint8_t first[PHINTYS_MOST_EXCHANGES], second[PHINTYS_MOST_EXCHANGES]; } Network;

static void phintys_make_network(int length, Network *network) {
    int top = 1;
    while (2 * top < length) top *= 2;
    network->count = 0;
    for (int p = top; p > 0; p /= 2) {
        int q = top, r = 0, d = p;
        for (;;) {
            for (int i = 0; i + d < length; i++)
                if ((i & p) == r)
                    network->first[network->count] = (uint8_t)i, network->second[network->count++] = (uint8_t)(i + d);
            if (q == p) break;
            d = q - p, q /= 2, r = p;
        }
    }
}

typedef void (*phintys_sort_rows)(const char *from, npy_intp row_step, npy_intp step, npy_intp rows, int length,
                                  char *out);

#define LOOPS "sorting/short_rows_sets.template.h"
#include "native/each_set.h"

typedef struct {
    phintys_sort_rows sort[PHINTYS_SETS], argsort[PHINTYS_SETS];
    int longest_sort, longest_argsort;  /* so many elements of a row are sorted faster than by NumPy */
} ShortRows;

/* In this order: int32, int64, float32, float64. */
static const ShortRows phintys_short_rows[] = {
    {FOR_EACH_SET(phintys_sort_rows_int32), FOR_EACH_SET(phintys_argsort_rows_int32), 24, 32},
    {FOR_EACH_SET(phintys_sort_rows_int64), FOR_EACH_SET(phintys_argsort_rows_int64), 24, 32},
    {FOR_EACH_SET(phintys_sort_rows_float32), FOR_EACH_SET(phintys_argsort_rows_float32), 20, 32},
    {FOR_EACH_SET(phintys_sort_rows_float64), FOR_EACH_SET(phintys_argsort_rows_float64), 20, 32},
};

#endif
