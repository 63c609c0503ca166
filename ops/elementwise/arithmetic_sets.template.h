/* The loops and links of arithmetic trees for one type T, for each instruction set. */
#define SET baseline
#define FOR_SET
#define VECTOR_BYTES PHINTYS_BASELINE_BYTES
#include "arithmetic_chain.template.h"
#undef VECTOR_BYTES
#undef FOR_SET
#undef SET

#define SET avx2
#define FOR_SET PHINTYS_FOR_AVX2
#define VECTOR_BYTES PHINTYS_AVX2_BYTES
#include "arithmetic_chain.template.h"
#undef VECTOR_BYTES
#undef FOR_SET
#undef SET

#define SET avx512
#define FOR_SET PHINTYS_FOR_AVX512
#define VECTOR_BYTES PHINTYS_AVX512_BYTES
#include "arithmetic_chain.template.h"
#undef VECTOR_BYTES
#undef FOR_SET
#undef SET

#include "arithmetic_tree.template.h"
