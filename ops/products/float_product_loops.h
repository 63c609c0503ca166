/* Products of float32 and float64 without BLAS, each compiled for three instruction sets. Which one a kernel uses is
 * decided when it is made (config.cpu).
 *
 * With AVX2 and AVX-512 a product is added without being rounded, so these two give the same bits; the baseline rounds
 * it first. The last columns of a row are read and written with masks, in vectors like the others.
 */
#ifndef PHINTYS_FLOAT_PRODUCT_LOOPS_H
#define PHINTYS_FLOAT_PRODUCT_LOOPS_H

#include <string.h>

#include "native/vectors.h"
#include "products/product.h"

enum {
    VECTOR_ON_STACK = 16384,            /* bytes of a vector with gaps, which is copied */
    MOST_VECTORS = 8,                   /* of a row that is computed at once */
    PACKED_ROWS = 32,                   /* so many rows of x make packing worth while for a y with long rows: */
    PACKED_BYTES = 1048576,             /* of more than half of the second cache, */
    ALIASED_BYTES = 4096,               /* or whose rows are a multiple of this apart, as few of these stay cached */
    PREFETCHED_SUM = 32,                /* sums of this length leave time to fetch what they are added to from memory */
    BLOCK_ROWS = 96,                    /* of x that are multiplied by all panels, at least, */
    BLOCK_BYTES = 262144,               /* and as many as have this size */
    STREAMED_BYTES = 2097152,           /* of x and the result: from here on a block is fetched during the one before */
    LINE_BYTES = 64
};

/* The rows of x that are fetched during a panel: their distance, and which of their bytes. */
typedef struct { npy_intp rows, first, end; } Ahead;

/* Whether panels of y are copied before they are multiplied: its rows have gaps, or would not stay in the caches while
 * several tiles use them. */
static int wants_packing(const Product *p, int itemsize) {
    if (p->ys1 != itemsize) return 1;
    return p->m >= PACKED_ROWS && (p->ys0 % ALIASED_BYTES == 0 || p->k * p->ys0 >= PACKED_BYTES);
}

/* Bytes of scratch memory that a product needs. */
static size_t panel_bytes(const Product *p, int itemsize) {
    const size_t bytes = p->k * MOST_TILE_BYTES;
    return bytes > PANEL_ON_STACK && wants_packing(p, itemsize) ? bytes : 0;
}

/* Before a loop whose length is a constant: what it does to arrays stays in registers. */
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLLED _Pragma("GCC unroll 8")
#else
#define UNROLLED
#endif

#define LOOPS "products/float_product_loops.template.h"
#define FLOATS
#include "native/each_set.h"
#undef UNROLLED

/* By instruction set. */
static const ProductLoop float_products[PHINTYS_SETS] = FOR_EACH_SET(product_float);
static const ProductLoop double_products[PHINTYS_SETS] = FOR_EACH_SET(product_double);

#endif
