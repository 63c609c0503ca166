/* The loops of convolutions for one type T: the inner ones for each instruction set, and what surrounds them. */
#if defined(__GNUC__) && defined(__x86_64__)
#define SET avx512
#define FOR_SET PHINTYS_FOR_AVX512
#define REGISTERS 32
#define VECTOR_BYTES PHINTYS_AVX512_BYTES
#define TRANSPOSE PHINTYS_NAMED(TYPED(transpose), avx2)     /* a square of 16 x 16 needs more exchanges */
#define FUSED PHINTYS_NAMED(_mm512_fmadd, SUFFIX)
#define TOTAL PHINTYS_NAMED(_mm512_reduce_add, SUFFIX)
#define LARGER PHINTYS_NAMED(_mm512_max, SUFFIX)
#define SMALLER PHINTYS_NAMED(_mm512_min, SUFFIX)
#include "convolution_tiles.template.h"

#define SET avx2
#define FOR_SET PHINTYS_FOR_AVX2
#define REGISTERS 16
#define VECTOR_BYTES PHINTYS_AVX2_BYTES
#define TRANSPOSE PHINTYS_NAMED(TYPED(transpose), avx2)
#define FUSED PHINTYS_NAMED(_mm256_fmadd, SUFFIX)
#define TOTAL PHINTYS_NAMED(phintys_total, SUFFIX)
#define LARGER PHINTYS_NAMED(_mm256_max, SUFFIX)
#define SMALLER PHINTYS_NAMED(_mm256_min, SUFFIX)
#include "convolution_tiles.template.h"
#endif

/* Vectors of 16 bytes, which the compiler has on every processor. */
#define SET baseline
#define FOR_SET
#define REGISTERS 16
#define VECTOR_BYTES PHINTYS_BASELINE_BYTES
#define TRANSPOSE PHINTYS_NAMED(TYPED(transpose), baseline)
#define FUSED(A, B, C) ((A) * (B) + (C))
#define TOTAL TYPED(total_baseline)
#define LARGER TYPED(larger_baseline)
#define SMALLER TYPED(smaller_baseline)
typedef T TYPED(four_or_two) __attribute__((vector_size(VECTOR_BYTES)));
PHINTYS_INLINE T TOTAL(TYPED(four_or_two) value) {
    T total = value[0];
    for (int l = 1; l < VECTOR_BYTES / (int)sizeof(T); l++) total += value[l];
    return total;
}
PHINTYS_INLINE TYPED(four_or_two) LARGER(TYPED(four_or_two) a, TYPED(four_or_two) b) {
    for (int l = 0; l < VECTOR_BYTES / (int)sizeof(T); l++) b[l] = a[l] > b[l] ? a[l] : b[l];
    return b;
}
PHINTYS_INLINE TYPED(four_or_two) SMALLER(TYPED(four_or_two) a, TYPED(four_or_two) b) {
    for (int l = 0; l < VECTOR_BYTES / (int)sizeof(T); l++) b[l] = a[l] < b[l] ? a[l] : b[l];
    return b;
}
#include "convolution_tiles.template.h"

#include "convolution_passes.template.h"
