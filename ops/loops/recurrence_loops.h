/* Steps of linear recurrences of rows, r[j] = term[j] + factor[j] r[j-1]. The columns are independent, so the inner
 * loop runs over them and can be vectorised. `recurrence_body.pyx` calls one for many steps. A step rounds twice, like
 * the multiplication and the addition of other loops: nothing is fused. */
#ifndef PHINTYS_RECURRENCE_LOOPS_H
#define PHINTYS_RECURRENCE_LOOPS_H

#include <complex.h>
#include <numpy/npy_common.h>

/* The operands of the first step, and how far they are from those of the next, in bytes. The row before is that of the
 * last step, from the second step on. */
typedef struct {
    const char *factors, *before, *terms;
    char *results;
    npy_intp next_factors, next_terms, next_results;
} phintys_recurrence_rows;

typedef void (*phintys_recurrence)(const phintys_recurrence_rows *rows, npy_intp columns, npy_intp steps);

/* A single column has its result in a register. Results may be in the place of the row before. */
#define PHINTYS_RECURRENCE(NAME, TYPE)                                                                                 \
    static void NAME##_column(const phintys_recurrence_rows *rows, npy_intp steps) {                                   \
        const char *factor = rows->factors, *term = rows->terms;                                                       \
        char *result = rows->results;                                                                                  \
        TYPE last = *(const TYPE *)rows->before;                                                                       \
        for (npy_intp step = 0; step < steps; step++) {                                                                \
            last = *(const TYPE *)term + *(const TYPE *)factor * last;                                                 \
            *(TYPE *)result = last;                                                                                    \
            factor += rows->next_factors, term += rows->next_terms, result += rows->next_results;                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME(const phintys_recurrence_rows *rows, npy_intp columns, npy_intp steps) {                          \
        const char *factors = rows->factors, *before = rows->before, *terms = rows->terms;                             \
        char *results = rows->results;                                                                                 \
        if (columns == 1) {                                                                                            \
            NAME##_column(rows, steps);                                                                                \
            return;                                                                                                    \
        }                                                                                                              \
        for (npy_intp step = 0; step < steps; step++) {                                                                \
            const TYPE *factor = (const TYPE *)factors, *last = (const TYPE *)before, *term = (const TYPE *)terms;     \
            TYPE *result = (TYPE *)results;                                                                            \
            for (npy_intp k = 0; k < columns; k++) result[k] = term[k] + factor[k] * last[k];                          \
            before = results;                                                                                          \
            factors += rows->next_factors, terms += rows->next_terms, results += rows->next_results;                   \
        }                                                                                                              \
    }

PHINTYS_RECURRENCE(recurrence_float, float)
PHINTYS_RECURRENCE(recurrence_double, double)
PHINTYS_RECURRENCE(recurrence_cfloat, float complex)
PHINTYS_RECURRENCE(recurrence_cdouble, double complex)

/* The types are float32, float64, complex64, complex128. */
static const phintys_recurrence phintys_recurrences[4] = {recurrence_float, recurrence_double, recurrence_cfloat,
                                                          recurrence_cdouble};

#endif
