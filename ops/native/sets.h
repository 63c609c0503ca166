/* The instruction sets that loops are compiled for, and which of them the processor has.
 *
 * There are three levels; a processor of a level has all of those below. Kernels take the loops of `usable_set()` of
 * sets.pyx: the highest level that the processor has and config.cpu allows. each_set.h compiles a file of loops for
 * each of them.
 *
 * level  name      what the compiler may use, beyond what every processor of this kind has     bytes of a register
 *     0  baseline                                                                               16
 *     1  avx2      avx2,fma,f16c                                                                32
 *     2  avx512    avx512f,avx512dq and those of avx2                                           64
 *
 * Other processors and other compilers than GCC and Clang have level 0 alone: the plain loops, compiled once, which the
 * tables below then hold for each level. (A processor whose vector instructions are part of the baseline, as NEON is of
 * AArch64, needs no level, only functions in vectors.h.)
 *
 * No level contracts x * y + z: the bits of a result do not depend on the set, unless a loop calls for fused
 * multiplications, or for other orders of summation, by name (tests/ops/native/test_sets.py lists these).
 */
#ifndef PHINTYS_SETS_H
#define PHINTYS_SETS_H

#if defined(__GNUC__) && defined(__x86_64__)            /* Clang defines __GNUC__, too */
#define PHINTYS_HAS_SETS
#endif

/* Templates: a file `<family>_loops.template.h` holds functions for one type T and is included once for each, as
 *
 *     #define T float
 *     #include "sorting/searching_loops.template.h"
 *     #undef T
 *
 * or by each_set.h for the sets, too. It has no include guard. Unlike the lines of a macro, its lines can be stepped
 * through in a debugger, and the compiler's warnings name them. */
#define PHINTYS_JOINED(NAME, SUFFIX) NAME##_##SUFFIX
#define PHINTYS_NAMED(NAME, SUFFIX) PHINTYS_JOINED(NAME, SUFFIX)    /* macros in either part are expanded first */
#define TYPED(NAME) PHINTYS_NAMED(NAME, T)                          /* TYPED(sum): sum_float where T is float */

/* For parts of a loop: what they are called with, and the instruction set, are then known where they are compiled. */
#define PHINTYS_INLINE static inline __attribute__((always_inline))

/* Before a loop whose iterations do not depend on each other, although its pointers may be equal. */
#if defined(__GNUC__) && !defined(__clang__)
#define PHINTYS_EACH _Pragma("GCC ivdep")
#else
#define PHINTYS_EACH
#endif

enum { PHINTYS_SETS = 3 };

/* Functions, or other names, of the three levels. In a file of loops IN_SET(f), or TYPED(f) for the type T, is a
 * function's name for the set that is being compiled; afterwards FOR_EACH_SET(f), FOR_EACH_SET(f_float) is the row of a
 * table: {f_baseline, f_avx2, f_avx512}. FOR_TWO_SETS is for loops that gain nothing by the highest level. */
#ifdef PHINTYS_HAS_SETS
#define FOR_EACH_SET(NAME) {PHINTYS_NAMED(NAME, baseline), PHINTYS_NAMED(NAME, avx2), PHINTYS_NAMED(NAME, avx512)}
#define FOR_TWO_SETS(NAME) {PHINTYS_NAMED(NAME, baseline), PHINTYS_NAMED(NAME, avx2), PHINTYS_NAMED(NAME, avx2)}
#else
#define FOR_EACH_SET(NAME) \
    {PHINTYS_NAMED(NAME, baseline), PHINTYS_NAMED(NAME, baseline), PHINTYS_NAMED(NAME, baseline)}
#define FOR_TWO_SETS FOR_EACH_SET
#endif

/* Around the functions of a set, for each_set.h. */
#define PHINTYS_PRAGMA(TEXT) _Pragma(#TEXT)
#ifdef __clang__
#define PHINTYS_COMPILE_FOR(FEATURES) \
    PHINTYS_PRAGMA(clang attribute push(__attribute__((target(FEATURES))), apply_to = function))
#define PHINTYS_END_OF_SET PHINTYS_PRAGMA(clang attribute pop)
#else
#define PHINTYS_COMPILE_FOR(FEATURES) PHINTYS_PRAGMA(GCC push_options) PHINTYS_PRAGMA(GCC target(FEATURES))
#define PHINTYS_END_OF_SET PHINTYS_PRAGMA(GCC pop_options)
#endif

/* Where the level is that shared loops, which belong to no kernel, are to use now. A module that includes such loops
 * sets it when it is loaded: `phintys_set = set_of_process()`. */
static const int phintys_lowest_set = 0;
static __attribute__((unused)) const int* phintys_set = &phintys_lowest_set;

/* Two features that not every processor of the highest level has: products of 52 bits, and operations on bytes. The few
 * functions that need them are compiled for them by themselves, and called if these say so of a level. */
#ifdef PHINTYS_HAS_SETS
#define PHINTYS_HAS_IFMA(LEVEL) ((LEVEL) == 2 && __builtin_cpu_supports("avx512ifma"))
#define PHINTYS_HAS_BW(LEVEL) ((LEVEL) == 2 && __builtin_cpu_supports("avx512bw"))
#else
#define PHINTYS_HAS_IFMA(LEVEL) 0
#define PHINTYS_HAS_BW(LEVEL) 0
#endif

/* The highest level that the processor has: called by sets.pyx only. */
static inline int phintys_set_of_processor(void) {
#ifdef PHINTYS_HAS_SETS
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;    /* they all have F16C, too */
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? 2 : 1;
#else
    return 0;
#endif
}

#endif
