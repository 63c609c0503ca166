/* Cholesky factors and triangular systems of low order, in float32 and float64, without LAPACK: each compiled for three
 * instruction sets. LAPACK's functions cost more here than their arithmetic: they prepare
 * blocks, and compute what is narrower than a block number by number. short_orders.pxi says up to which order these are
 * used.
 *
 * Both compute four rows at a time: first what the rows above contribute, which is a product of matrices whose sums
 * stay in registers, then the triangle of the four rows itself. An element's value depends on its column alone.
 */
#ifndef PHINTYS_SHORT_LOOPS_H
#define PHINTYS_SHORT_LOOPS_H

#include <math.h>
#include <string.h>

#include "native/vectors.h"

enum {
    SHORT_BLOCK = 4,                    /* rows that are computed at once */
    SHORT_ORDER = 128                   /* the highest order */
};

/* A triangular system as a lower one: the rows of an upper one are counted from the last. Steps are in bytes. */
typedef struct {
    const char *x;
    npy_intp row_step, column_step;
    npy_intp order;
    char *out;                          /* the right sides, and the solution: rows without gaps */
    npy_intp out_step;
    npy_intp columns;
    int unit;                           /* whether the diagonal is all ones, and not read */
} ShortSystem;

/* Factor a matrix in C order in place, of which one triangle is read; the other one becomes 0. Returns 0, or the order
 * of the first leading minor that is not positive. */
typedef int (*ShortCholesky)(char *matrix, npy_intp order, int lower, char *room);
/* Solve systems in place. For one right side the rows or the columns of x have no gaps. */
typedef void (*ShortSolve)(const ShortSystem *, int lower);

/* Bytes of scratch memory for a Cholesky factor: whole vectors, whole blocks. */
static size_t short_cholesky_bytes(npy_intp order, int itemsize) {
    const npy_intp width = (order * itemsize + 63) & ~(npy_intp)63;
    return width * ((order + SHORT_BLOCK - 1) & ~(npy_intp)(SHORT_BLOCK - 1));
}

#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLLED _Pragma("GCC unroll 8")
#else
#define UNROLLED
#endif
#define ROOT(T) PHINTYS_NAMED(ROOT, T)
#define ROOT_float sqrtf
#define ROOT_double sqrt

#define LOOPS "factorizations/short_loops.template.h"
#define FLOATS
#include "native/each_set.h"
#undef UNROLLED

/* By instruction set. */
static const ShortCholesky short_choleskys_float[PHINTYS_SETS] = FOR_EACH_SET(short_cholesky_float);
static const ShortCholesky short_choleskys_double[PHINTYS_SETS] = FOR_EACH_SET(short_cholesky_double);
static const ShortSolve short_solves_float[PHINTYS_SETS] = FOR_EACH_SET(short_solve_float);
static const ShortSolve short_solves_double[PHINTYS_SETS] = FOR_EACH_SET(short_solve_double);

#endif
