/* The inner loops of convolutions for one type T and one instruction set: the files below, in the order in which they
 * use each other, and the struct of those that convolution_loops.h calls. Included by each_set.h. An inner loop knows
 * neither images nor workers; where it begins and how far it goes is decided by the passes. */
#if SET_LEVEL == 2 || defined(PHINTYS_HAS_NEON)
#define REGISTERS 32
#else
#define REGISTERS 16
#endif
#if SET_LEVEL == 2
#define TRANSPOSE PHINTYS_NAMED(PHINTYS_NAMED(transpose, T), avx2)      /* a square of 16 x 16 needs more exchanges */
#else
#define TRANSPOSE TYPED(transpose)
#endif
#define FUSED TYPED(multiply_add)
#define TOTAL TYPED(total)
#define LARGER TYPED(larger)
#define SMALLER TYPED(smaller)
#include "convolution_tiles.template.h"
#include "convolution_square_lines.template.h"
