/* PHINTYS_CLONES in front of a function: compiled for several instruction sets, of which the machine's best is chosen
 * when the module is loaded. Only where compiler and loader can do so. PHINTYS_AVX2_CLONES leaves out the widest, for
 * loops that it does not make faster.
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
