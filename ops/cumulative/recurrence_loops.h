/* Linear recurrences r[j] = g[j] + a r[j-1] over the rows of a contiguous array. The columns are independent, so the
 * inner loop runs over them and can be vectorised. `own`: a is the factor of row j, else that of the previous row. */
#ifndef PHINTYS_RECURRENCE_LOOPS_H
#define PHINTYS_RECURRENCE_LOOPS_H

#include <complex.h>
#include <numpy/npy_common.h>
#include <string.h>

typedef void (*phintys_recurrence)(const void *factors, const void *terms, void *results, npy_intp rows,
                                   npy_intp columns, int backwards, int own);

typedef void (*phintys_recurrence_row)(const void *factors, const void *before, const void *terms, void *results,
                                       npy_intp columns);

/* One row: the results may be in the place of the row before. */
#define PHINTYS_RECURRENCE_ROW(NAME, TYPE)                                                                             \
    static void NAME(const void *factors, const void *before, const void *terms, void *results, npy_intp columns) {   \
        const TYPE *factor = (const TYPE *)factors, *last = (const TYPE *)before, *term = (const TYPE *)terms;         \
        TYPE *result = (TYPE *)results;                                                                                \
        for (npy_intp k = 0; k < columns; k++) result[k] = term[k] + factor[k] * last[k];                              \
    }

#define PHINTYS_RECURRENCE(NAME, TYPE)                                                                                 \
    static void NAME(const void *factors, const void *terms, void *results, npy_intp rows, npy_intp columns,           \
                     int backwards, int own) {                                                                         \
        npy_intp first = backwards ? rows - 1 : 0, next = backwards ? -columns : columns;                              \
        const TYPE *term = (const TYPE *)terms + first * columns;                                                      \
        const TYPE *factor = (const TYPE *)factors + first * columns + (own ? next : 0);                               \
        TYPE *result = (TYPE *)results + first * columns;                                                              \
        memcpy(result, term, columns * sizeof(TYPE));                                                                  \
        for (npy_intp row = 1; row < rows; row++, factor += next) {                                                    \
            const TYPE *before = result;                                                                               \
            term += next;                                                                                              \
            result += next;                                                                                            \
            NAME##_row(factor, before, term, result, columns);                                                         \
        }                                                                                                              \
    }

PHINTYS_RECURRENCE_ROW(recurrence_float_row, float)
PHINTYS_RECURRENCE_ROW(recurrence_double_row, double)
PHINTYS_RECURRENCE_ROW(recurrence_cfloat_row, float complex)
PHINTYS_RECURRENCE_ROW(recurrence_cdouble_row, double complex)
PHINTYS_RECURRENCE(recurrence_float, float)
PHINTYS_RECURRENCE(recurrence_double, double)
PHINTYS_RECURRENCE(recurrence_cfloat, float complex)
PHINTYS_RECURRENCE(recurrence_cdouble, double complex)

/* The types are float32, float64, complex64, complex128. */
static const phintys_recurrence phintys_recurrences[4] = {recurrence_float, recurrence_double, recurrence_cfloat,
                                                          recurrence_cdouble};
static const phintys_recurrence_row phintys_recurrence_rows[4] = {recurrence_float_row, recurrence_double_row,
                                                                  recurrence_cfloat_row, recurrence_cdouble_row};

#endif
