/* Selections of the dtypes of 4 bytes by the vectors of one instruction set: selection_loops.h defines what it has, and
 * how it is for elements of 4 bytes (WIDTH, COUNT and POSITIONS are undefined at the end).
 */
#define ENTRY FOR_SET
#define P int32_t
#define HAS_NAN 0
#define BEFORE BEFORE_OF_INTEGERS
#define MAYBE_ABOVE ABOVE_OF_INTEGERS
#define MAYBE_BELOW BELOW_OF_INTEGERS
#define T int32_t
#define DTYPE int32
#include "selection_loops.template.h"
#define T uint32_t
#define DTYPE uint32
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW
#undef HAS_NAN

#define HAS_NAN 1
#define BEFORE BEFORE_OF_FLOATS
#define MAYBE_ABOVE ABOVE_OF_FLOATS
#define MAYBE_BELOW BELOW_OF_FLOATS
#define T float
#define DTYPE float32
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
