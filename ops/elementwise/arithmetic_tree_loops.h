/* Arithmetic trees: additions, multiplications, divisions and powers of float32 or float64 in one loop.
 *
 * A tree is a short list of instructions. An instruction performs several of the user's operations at once, each
 * rounded as NumPy rounds it (no fused multiply-add; multiplying by 1 or -1 is exact). The results are therefore
 * bitwise identical to NumPy's, except for powers above 2. Each instruction is compiled for three instruction sets,
 * which give the same bits; which one a tree runs is chosen when the tree is made.
 *
 * An instruction exists in two forms, with the same formula:
 * - as a loop over arrays. A tree of one instruction is such a loop. For several, values between them would go through
 *   memory; this is done only for what is left at the end of a range.
 * - as links of a chain (arithmetic_chain.template.h), one for each operand that may be the result of the link before.
 *   A link works on a tile of eight vectors and hands it on in registers, so the range is read and written once.
 *
 * Only arithmetic_tree.pyx includes this file.
 */
#include <alloca.h>
#include <stddef.h>
#include <stdint.h>

#include "elementwise/arithmetic_operations.h"
#include "native/sets.h"

#if defined(__clang__)
#define PHINTYS_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define PHINTYS_VECTORIZE _Pragma("GCC ivdep")
#endif

typedef void (*phintys_operation)(void* out, void* const* in, const double* c, intptr_t n);

/* Operands are numbered: inputs first, then locals, then the result. */
typedef struct {
    phintys_operation function, function_of_many;       /* the second for PHINTYS_MANY elements and more */
    int operands[4];
    int out;
    double constants[2];
} phintys_instruction;

/* The function's type depends on the width of vectors; the chain_ function of the template knows it. */
typedef struct {
    void (*function)(void);
    int operands[4];
    double constants[2];
} phintys_link;

/* From PHINTYS_MANY elements on, which are not in the first cache, a single instruction waits for memory, and wider
 * registers only make it wait for more at a time: a + 1 of 1e6 float64 takes with AVX-512 and with AVX2 1013 and 804 us
 * on Cascade Lake, 288 and 212 on Zen 4, 705 and 568 on Sapphire Rapids (NumPy: 758, and 780 on the last). Of 1e4
 * elements 1.9 and 1.8 us; of 1e3 AVX-512 is 7 % faster. Chains take as long with either. */
enum { PHINTYS_MANY = 8192 };

enum { PHINTYS_CHUNK_BYTES = 2048, PHINTYS_TREE_OPERANDS = 64, PHINTYS_FEW = 16, PHINTYS_FEW_OPERANDS = 16 };

/* Where a chain finds its operands: at data, and, if all bits of `moves` are set, at the tile's offset from it. */
typedef struct {
    char* data[PHINTYS_TREE_OPERANDS];
    intptr_t moves[PHINTYS_TREE_OPERANDS];
} phintys_operands;

/* An input that is copied into a buffer, a tile at a time, because its elements are not adjacent. */
typedef struct phintys_gathered {
    void (*gather)(struct phintys_gathered*, intptr_t n);
    char *to, *from;
    intptr_t step;
} phintys_gathered;

/* Runs links over whole tiles of `bytes` in all; inputs with gaps, `count` of them, are gathered before each. */
typedef void (*phintys_chain)(const phintys_link*, const phintys_operands*, phintys_gathered*, int count,
                              intptr_t bytes);

typedef struct {
    int inputs, locals, instructions;
    phintys_instruction* instruction;
    phintys_chain chain;                /* the same as links; NULL if there is one instruction */
    phintys_link* link;
    int slots, tile;                    /* tiles that links keep for later ones; bytes of a tile */
    int aligned;                        /* the input that links read most often, or -1 if they read each once */
} phintys_tree;

/* All instructions on the same elements, without gaps. */
static inline void phintys_perform(const phintys_tree* tree, void* const* operands, intptr_t n) {
    const phintys_instruction* end = tree->instruction + tree->instructions;
    for (const phintys_instruction* at = tree->instruction; at != end; at++) {
        void* in[4] = {operands[at->operands[0]], operands[at->operands[1]],
                       operands[at->operands[2]], operands[at->operands[3]]};
        (n < PHINTYS_MANY ? at->function : at->function_of_many)(operands[at->out], in, at->constants, n);
    }
}

static inline int phintys_has_gaps(const phintys_tree* tree, intptr_t n, const intptr_t* steps, intptr_t size) {
    for (int k = 0; n > 1 && k < tree->inputs; k++)
        if (steps[k] != size) return 1;
    return 0;
}

/* Links: an operation, which operand is the result of the link before (n: none), and the operands: r that result, m an
 * array. An operation for which no link has the right operand reads the result from a slot. */
#define PHINTYS_LINKS(X) \
    X(add, n, m, m, m, m) X(add, 0, r, m, m, m) \
    X(subtract, n, m, m, m, m) X(subtract, 0, r, m, m, m) X(subtract, 1, m, r, m, m) \
    X(multiply, n, m, m, m, m) X(multiply, 0, r, m, m, m) \
    X(divide, n, m, m, m, m) X(divide, 0, r, m, m, m) X(divide, 1, m, r, m, m) \
    X(square, n, m, m, m, m) X(square, 0, r, m, m, m) \
    X(shift, n, m, m, m, m) X(shift, 0, r, m, m, m) \
    X(scale, n, m, m, m, m) X(scale, 0, r, m, m, m) \
    X(divide_by, n, m, m, m, m) X(divide_by, 0, r, m, m, m) \
    X(divide_into, n, m, m, m, m) X(divide_into, 0, r, m, m, m) \
    X(scale_shift, n, m, m, m, m) X(scale_shift, 0, r, m, m, m) \
    X(scale_add, n, m, m, m, m) X(scale_add, 0, r, m, m, m) X(scale_add, 1, m, r, m, m) \
    X(scale_scale_add, n, m, m, m, m) X(scale_scale_add, 0, r, m, m, m) \
    X(scale_multiply, n, m, m, m, m) X(scale_multiply, 0, r, m, m, m) X(scale_multiply, 1, m, r, m, m) \
    X(multiply_shift, n, m, m, m, m) X(multiply_shift, 0, r, m, m, m) \
    X(scale_multiply_shift, n, m, m, m, m) X(scale_multiply_shift, 0, r, m, m, m) \
    X(scale_multiply_shift, 1, m, r, m, m) \
    X(multiply_add, n, m, m, m, m) X(multiply_add, 0, r, m, m, m) X(multiply_add, 2, m, m, r, m) \
    X(multiply_scale_add, n, m, m, m, m) X(multiply_scale_add, 0, r, m, m, m) \
    X(multiply_scale_add, 1, m, r, m, m) X(multiply_scale_add, 2, m, m, r, m) \
    X(square_add, n, m, m, m, m) X(square_add, 0, r, m, m, m) X(square_add, 1, m, r, m, m) \
    X(square_square_add, n, m, m, m, m) X(square_square_add, 0, r, m, m, m) \
    X(multiply_multiply_add, n, m, m, m, m) X(multiply_multiply_add, 0, r, m, m, m) \
    X(multiply_multiply_add, 1, m, r, m, m) \
    X(squares_product, n, m, m, m, m) X(square_product_square, n, m, m, m, m)

/* All loops and links, for each type and instruction set. */
#define LOOPS "elementwise/arithmetic_chain.template.h"
#define FLOATS
#include "native/each_set.h"
#define T double
#include "arithmetic_tree.template.h"
#undef T
#define T float
#include "arithmetic_tree.template.h"
#undef T

/* By name, type and instruction set. */
#define PHINTYS_OF_SETS(NAME) FOR_EACH_SET(NAME##_double), FOR_EACH_SET(NAME##_float)
typedef struct { const char* name; phintys_operation of_double[3], of_float[3]; } phintys_operation_row;
#define PHINTYS_OPERATION_ROW(NAME) {#NAME, PHINTYS_OF_SETS(NAME)},
static const phintys_operation_row phintys_operation_table[] = {
    PHINTYS_OPERATIONS(PHINTYS_OPERATION_ROW) PHINTYS_OPERATION_ROW(power) PHINTYS_OPERATION_ROW(power_add)
    {NULL, {NULL}, {NULL}}};

typedef void (*phintys_any)(void);
typedef struct { const char *name, *position; phintys_any of_double[3], of_float[3]; } phintys_link_row;
#define PHINTYS_ANY_OF_SETS(NAME) FOR_EACH_SET((phintys_any)NAME##_double), FOR_EACH_SET((phintys_any)NAME##_float)
#define PHINTYS_LINK_ROW(NAME, POSITION, ...) {#NAME, #POSITION, PHINTYS_ANY_OF_SETS(link_##NAME##_##POSITION)},
static const phintys_link_row phintys_link_table[] = {
    PHINTYS_LINKS(PHINTYS_LINK_ROW) PHINTYS_LINK_ROW(power, n, ) PHINTYS_LINK_ROW(power, 0, )
    PHINTYS_LINK_ROW(power_add, n, ) PHINTYS_LINK_ROW(power_add, 0, )
    PHINTYS_LINK_ROW(keep, 0, ) PHINTYS_LINK_ROW(store, 0, ) {NULL, NULL, {NULL}, {NULL}}};

static const phintys_chain phintys_chains_of_double[PHINTYS_SETS] = FOR_EACH_SET(chain_double);
static const phintys_chain phintys_chains_of_float[PHINTYS_SETS] = FOR_EACH_SET(chain_float);
#ifdef PHINTYS_HAS_SETS
static const int phintys_tiles[PHINTYS_SETS] = {8 * 16, 8 * 32, 8 * 64};       /* bytes: eight registers */
#else
static const int phintys_tiles[PHINTYS_SETS] = {8 * 16, 8 * 16, 8 * 16};
#endif
