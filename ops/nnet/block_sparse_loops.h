/* Products with one block of a large matrix: rows of results and rows of blocks, added in place.
 * block_sparse_loops.template.h has them for one type. */
#ifndef PHINTYS_BLOCK_SPARSE_LOOPS_H
#define PHINTYS_BLOCK_SPARSE_LOOPS_H

#include <numpy/ndarraytypes.h>

#include "native/sets.h"

#define LOOPS "nnet/block_sparse_loops.template.h"
#define FLOATS
#define TWO_SETS
#include "native/each_set.h"
BY_TYPE_AND_SET(add_block_product, FOR_TWO_SETS);
BY_TYPE_AND_SET(add_outer_product, FOR_TWO_SETS);

#endif
