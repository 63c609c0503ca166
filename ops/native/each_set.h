/* Compiles a file of loops for each instruction set of sets.h:
 *
 *     #define LOOPS "nnet/softmax_loops.template.h"
 *     #define FLOATS
 *     #include "native/each_set.h"
 *     static const softmax_loops* const softmax_of[2][PHINTYS_SETS] = {
 *         FOR_EACH_SET(&softmax_float), FOR_EACH_SET(&softmax_double)};
 *
 * The file is included once for each set; with FLOATS, for each set once with T as float and once as double. It sees
 * SET, the name of the set; SET_LEVEL, 0 to 2; SET_BYTES, the width of a register; and IN_SET and TYPED, which append
 * the set to names. TWO_SETS: for loops that gain nothing by the highest set, which saves the time to compile them.
 *
 * The file must not be the first to include an ordinary header, immintrin.h above all: its functions would be compiled
 * for whatever set came first. A pragma in the file holds for one set.
 */
#ifndef SET
#include "native/sets.h"

#define IN_SET(NAME) PHINTYS_NAMED(NAME, SET)
#undef TYPED
#define TYPED(NAME) IN_SET(PHINTYS_NAMED(NAME, T))

#define SET baseline
#define SET_LEVEL 0
#define SET_BYTES 16
#ifdef PHINTYS_HAS_SETS
PHINTYS_COMPILE_FOR("sse2")
#ifndef __clang__
#pragma GCC optimize("O2")                  /* for processors made before 2013 only: it need not take long to compile */
#endif
#endif
#include "native/each_set.h"

#ifdef PHINTYS_HAS_SETS
PHINTYS_END_OF_SET
#define SET avx2
#define SET_LEVEL 1
#define SET_BYTES 32
PHINTYS_COMPILE_FOR("avx2,fma,f16c")
#include "native/each_set.h"
PHINTYS_END_OF_SET
#ifndef TWO_SETS
#define SET avx512
#define SET_LEVEL 2
#define SET_BYTES 64
PHINTYS_COMPILE_FOR("avx512f,avx512dq,avx2,fma,f16c")
#include "native/each_set.h"
PHINTYS_END_OF_SET
#endif
#endif

/* BY_SET(f); makes the table f of a function's versions, by level. */
#define BY_SET(NAME) static __typeof__(&PHINTYS_NAMED(NAME, baseline)) const NAME[PHINTYS_SETS] = FOR_EACH_SET(NAME)
#define BY_TWO_SETS(NAME) \
    static __typeof__(&PHINTYS_NAMED(NAME, baseline)) const NAME[PHINTYS_SETS] = FOR_TWO_SETS(NAME)
#define BY_SET_OF_FLOATS(NAME) BY_SET(NAME##_float); BY_SET(NAME##_double)
/* By type, float or double, and by set; FOR_SETS is one of the two. What is of this type is passed by address. */
#define BY_TYPE_AND_SET(NAME, FOR_SETS) static __typeof__(&PHINTYS_NAMED(NAME##_float, baseline)) const \
    NAME[2][PHINTYS_SETS] = {FOR_SETS(NAME##_float), FOR_SETS(NAME##_double)}

#undef TYPED
#define TYPED(NAME) PHINTYS_NAMED(NAME, T)
#undef IN_SET
#undef LOOPS
#undef FLOATS
#undef TWO_SETS

#else                                       /* for one set */
#ifdef FLOATS
#define T float
#include LOOPS
#undef T
#define T double
#include LOOPS
#undef T
#else
#include LOOPS
#endif
#undef SET
#undef SET_LEVEL
#undef SET_BYTES
#endif
