/* PHINTYS_FOR_AVX2 and PHINTYS_FOR_AVX512 in front of a function: compiled for that instruction set. The caller
 * asks first whether the processor has it (supported_instructions of vector_math.pyx). Other than with clones.h, all
 * versions can be called, so that config.cpu can choose. With compilers and processors that have none of this the
 * functions are ordinary ones. PHINTYS_AVX2_BYTES and so on: how wide the registers of a set are.
 */
#ifndef PHINTYS_INSTRUCTION_SETS_H
#define PHINTYS_INSTRUCTION_SETS_H

#if defined(__GNUC__) && defined(__x86_64__)
#define PHINTYS_FOR_AVX2 __attribute__((target("avx2,fma,f16c")))
#define PHINTYS_FOR_AVX512 __attribute__((target("avx512f,avx512dq,avx2,fma,f16c")))
#define PHINTYS_BASELINE_BYTES 16
#define PHINTYS_AVX2_BYTES 32
#define PHINTYS_AVX512_BYTES 64
#else
#define PHINTYS_FOR_AVX2
#define PHINTYS_FOR_AVX512
#define PHINTYS_BASELINE_BYTES 16
#define PHINTYS_AVX2_BYTES 16
#define PHINTYS_AVX512_BYTES 16
#endif

#endif
