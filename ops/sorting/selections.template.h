/* The selections of one instruction set: selection_loops.template.h for each dtype. Numbers of 4 and 8 bytes are
 * compared and packed by vectors, where there are some (selection_vectors.h); others by loops that the compiler makes
 * vectors of. Included by each_set.h.
 */
#define HAS_NAN 0                       /* BEFORE orders it */
#define VECTORS 0
#define P npy_intp
#define BEFORE BEFORE_OF_INTEGERS
#define MAYBE_ABOVE ABOVE_OF_INTEGERS
#define MAYBE_BELOW BELOW_OF_INTEGERS
#if SET_LEVEL < 2
#define T uint8_t
#define DTYPE uint8
#include "selection_loops.template.h"
#define T uint16_t
#define DTYPE uint16
#include "selection_loops.template.h"
#define T int8_t
#define DTYPE int8
#include "selection_loops.template.h"
#define T int16_t
#define DTYPE int16
#include "selection_loops.template.h"
#endif

#if SET_LEVEL                           /* positions have the size of the elements, and are packed as these are */
#undef VECTORS
#define VECTORS 1
#undef P
#define P int32_t
#endif
#define T uint32_t
#define DTYPE uint32
#include "selection_loops.template.h"
#define T int32_t
#define DTYPE int32
#include "selection_loops.template.h"
#if SET_LEVEL
#undef P
#define P int64_t
#endif
#define T uint64_t
#define DTYPE uint64
#include "selection_loops.template.h"
#define T int64_t
#define DTYPE int64
#include "selection_loops.template.h"

#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW
#define BEFORE BEFORE_OF_FLOATS
#define MAYBE_ABOVE ABOVE_OF_FLOATS
#define MAYBE_BELOW BELOW_OF_FLOATS
#undef HAS_NAN
#define HAS_NAN VECTORS
#define T double
#define DTYPE float64
#include "selection_loops.template.h"
#if SET_LEVEL
#undef P
#define P int32_t
#endif
#define T float
#define DTYPE float32
#include "selection_loops.template.h"

#undef HAS_NAN
#define HAS_NAN 0
#undef VECTORS
#define VECTORS 0
#undef P
#define P npy_intp
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW
#if SET_LEVEL < 2
#define BEFORE BEFORE_OF_HALVES
#define MAYBE_ABOVE(a, b) BEFORE(b, a)
#define MAYBE_BELOW(a, b) BEFORE(a, b)
#define T uint16_t
#define DTYPE float16
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW
#endif

#if SET_LEVEL == 0
#define BEFORE BEFORE_OF_COMPLEX
#define MAYBE_ABOVE(a, b) BEFORE(b, a)
#define MAYBE_BELOW(a, b) BEFORE(a, b)
#define T phintys_pair_of_floats
#define DTYPE complex64
#include "selection_loops.template.h"
#define T phintys_pair_of_doubles
#define DTYPE complex128
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW
#endif

#undef HAS_NAN
#undef VECTORS
#undef P
