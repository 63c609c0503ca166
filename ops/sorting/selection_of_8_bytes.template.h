/* Selections of the dtypes of 8 bytes by the vectors of one instruction set: selection_loops.h defines what it has, and
 * how it is for elements of 8 bytes (WIDTH, COUNT and POSITIONS are undefined at the end).
 */
#define ENTRY FOR_SET
#define P int64_t
#define HAS_NAN 0
#define BEFORE BEFORE_OF_INTEGERS
#define MAYBE_ABOVE ABOVE_OF_INTEGERS
#define MAYBE_BELOW BELOW_OF_INTEGERS
#define T int64_t
#define DTYPE int64
#include "selection_loops.template.h"
#define T uint64_t
#define DTYPE uint64
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW
#undef HAS_NAN

#define HAS_NAN 1
#define BEFORE BEFORE_OF_FLOATS
#define MAYBE_ABOVE ABOVE_OF_FLOATS
#define MAYBE_BELOW BELOW_OF_FLOATS
#define T double
#define DTYPE float64
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW
#undef HAS_NAN

#undef ENTRY
#undef P
#undef WIDTH
#undef COUNT
#undef POSITIONS
