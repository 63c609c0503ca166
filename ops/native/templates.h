/* Templates of C: a file `<family>_loops.template.h` holds functions for one type T, and `<family>_loops.h` includes it
 * once for each type:
 *
 *     #define T float
 *     #include "softmax_loops.template.h"
 *     #undef T
 *
 * A template has no include guard. Unlike the lines of a macro, its lines can be stepped through in a debugger, and the
 * compiler's warnings name them.
 */
#ifndef PHINTYS_TEMPLATES_H
#define PHINTYS_TEMPLATES_H

#define PHINTYS_JOINED(NAME, SUFFIX) NAME##_##SUFFIX
#define PHINTYS_NAMED(NAME, SUFFIX) PHINTYS_JOINED(NAME, SUFFIX)    /* macros in either part are expanded first */
#define TYPED(NAME) PHINTYS_NAMED(NAME, T)                          /* TYPED(sum): sum_float where T is float */

/* For parts of a loop: what they are called with is then known where they are compiled, the instruction set of
 * PHINTYS_CLONES included. */
#define PHINTYS_INLINE static inline __attribute__((always_inline))

/* Before a loop whose iterations do not depend on each other, although its pointers may be equal. */
#if defined(__GNUC__) && !defined(__clang__)
#define PHINTYS_EACH _Pragma("GCC ivdep")
#else
#define PHINTYS_EACH
#endif

#endif
