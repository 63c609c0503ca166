/* Products with one block of a large matrix: rows of results and rows of blocks, added in place.
 * block_sparse_loops.template.h has them for one type. */
#ifndef PHINTYS_BLOCK_SPARSE_LOOPS_H
#define PHINTYS_BLOCK_SPARSE_LOOPS_H

#include <numpy/ndarraytypes.h>

#include "native/sets.h"

#define T double
#include "block_sparse_loops.template.h"
#undef T
#define T float
#include "block_sparse_loops.template.h"
#undef T

#endif
