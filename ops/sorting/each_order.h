/* Compiles a file of loops for each dtype that has an order:
 *
 *     #define LOOPS_OF_DTYPE "row_order_loops.template.h"
 *     #include "each_order.h"
 *
 * The file is included once for each. It sees DTYPE, its name; T, its type; BEFORE, LESS, AT_MOST, MAYBE_ABOVE,
 * MAYBE_BELOW and IS_NUMBER of orders.h for it; and LEVELS, how many instruction sets make loops over it faster.
 */
#ifndef DTYPE
#define T ORDERED_NAMED(ordered, DTYPE)
#define BEFORE ORDERED_NAMED(BEFORE_OF, KIND)
#define LESS ORDERED_NAMED(LESS_OF, KIND)
#define AT_MOST ORDERED_NAMED(AT_MOST_OF, KIND)
#define MAYBE_ABOVE ORDERED_NAMED(ABOVE_OF, KIND)
#define MAYBE_BELOW ORDERED_NAMED(BELOW_OF, KIND)
#define IS_NUMBER ORDERED_NAMED(IS_NUMBER_OF, KIND)

#define KIND INTEGERS
#define LEVELS 2
#define DTYPE uint8
#include "each_order.h"
#define DTYPE uint16
#include "each_order.h"
#define DTYPE int8
#include "each_order.h"
#define DTYPE int16
#include "each_order.h"
#undef LEVELS
#define LEVELS 3
#define DTYPE uint32
#include "each_order.h"
#define DTYPE uint64
#include "each_order.h"
#define DTYPE int32
#include "each_order.h"
#define DTYPE int64
#include "each_order.h"
#undef KIND
#define KIND FLOATS
#define DTYPE float32
#include "each_order.h"
#define DTYPE float64
#include "each_order.h"
#undef KIND
#undef LEVELS
#define KIND HALVES
#define LEVELS 2
#define DTYPE float16
#include "each_order.h"
#undef KIND
#undef LEVELS
#define KIND COMPLEX
#define LEVELS 1
#define DTYPE complex64
#include "each_order.h"
#define DTYPE complex128
#include "each_order.h"
#undef KIND
#undef LEVELS

#undef T
#undef BEFORE
#undef LESS
#undef AT_MOST
#undef MAYBE_ABOVE
#undef MAYBE_BELOW
#undef IS_NUMBER

#else                                       /* for one dtype */
#include LOOPS_OF_DTYPE
#undef DTYPE
#endif
