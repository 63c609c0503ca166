/* Short rows of all dtypes, for one instruction set: short_rows_loops.h includes it by each_set.h, and has the table.
 * Rows are sorted side by side, one in each lane of a vector (short_rows_loops.template.h); floats as integers of the
 * same order. */
#define T int32_t
#define KEY int32_t
#define DTYPE int32
#define IS_FLOAT 0
#include "short_rows_loops.template.h"
#define T int64_t
#define KEY int64_t
#define DTYPE int64
#define IS_FLOAT 0
#include "short_rows_loops.template.h"
#define T float
#define KEY int32_t
#define DTYPE float32
#define IS_FLOAT 1
#include "short_rows_loops.template.h"
#define T double
#define KEY int64_t
#define DTYPE float64
#define IS_FLOAT 1
#include "short_rows_loops.template.h"
