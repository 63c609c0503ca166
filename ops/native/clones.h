/* A function that is declared with PHINTYS_CLONES is compiled for several instruction sets; the best one that the
 * machine supports is selected when the module is loaded. This requires support by the compiler and the loader; the
 * macro is empty without it. PHINTYS_AVX2_CLONES omits the widest instruction set, for loops that do not profit from
 * it.
 */
#ifndef PHINTYS_CLONES_H
#define PHINTYS_CLONES_H

#if defined(__GNUC__) && defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
#define PHINTYS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define PHINTYS_AVX2_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define PHINTYS_CLONES
#define PHINTYS_AVX2_CLONES
#endif

#endif
