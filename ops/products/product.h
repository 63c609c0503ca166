/* A product of matrices as loops see it: out = alpha * x.y + beta * start. Vectors are matrices with one row or one
 * column.
 */
#ifndef PHINTYS_PRODUCT_H
#define PHINTYS_PRODUCT_H

#include <numpy/ndarraytypes.h>

typedef struct {
    npy_intp m, n, k;                   /* x is m x k, y is k x n, out is m x n */
    const char *x, *y;
    npy_intp xs0, xs1, ys0, ys1;        /* strides in bytes */
    char *out;                          /* rows without gaps */
    npy_intp os0;                       /* stride between rows in bytes */
    const char *start;                  /* rows without gaps; may be out itself; not read if beta is NULL */
    npy_intp ss0;                       /* stride between its rows in bytes; 0: one row for all */
    const void *alpha;                  /* NULL: 1 */
    const void *beta;                   /* NULL: 0 */
    char *room;                         /* scratch memory; NULL if panel_bytes() is 0 */
} Product;

enum {
    MOST_TILE_BYTES = 3 * 64,           /* of a row of a panel: as many columns of y as are multiplied at once */
    PANEL_ON_STACK = 16384              /* bytes of a packed panel that needs no scratch memory */
};

typedef void (*ProductLoop)(const Product *);

#endif
