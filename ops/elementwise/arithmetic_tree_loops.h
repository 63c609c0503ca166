/* Arithmetic trees: additions, multiplications, divisions and powers of float32 or float64 in one loop.
 *
 * A tree is a short list of instructions over chunks that fit in the L1 cache. An instruction performs several of the
 * user's operations at once, each rounded as NumPy rounds it (no fused multiply-add; multiplying by 1 or -1 is exact).
 * The results are therefore bitwise identical to NumPy's, except for powers above 2. Each operation is compiled for
 * three instruction sets, which give the same bits; which one a tree runs is chosen when the tree is made. Only
 * arithmetic_tree.pyx includes this file.
 */
#include <alloca.h>
#include <stdint.h>

#include "native/instruction_sets.h"

#if defined(__clang__)
#define PHINTYS_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define PHINTYS_VECTORIZE _Pragma("GCC ivdep")
#endif

/* Operands are numbered: inputs first, then locals, then the result. */
typedef struct {
    void (*function)(void* out, void* const* in, const double* c, intptr_t n);
    int operands[4];
    int out;
    double constants[2];
} phintys_instruction;

typedef struct {
    int inputs, locals, instructions;
    phintys_instruction* instruction;
} phintys_tree;

enum { PHINTYS_CHUNK_BYTES = 2048, PHINTYS_TREE_OPERANDS = 64, PHINTYS_FEW = 16, PHINTYS_FEW_OPERANDS = 16 };

/* Name and value of each operation; x, y, z, w are the operands' arrays, a and b are constants. */
#define PHINTYS_OPERATIONS(X) \
    X(copy, x[i]) \
    X(add, x[i] + y[i]) \
    X(subtract, x[i] - y[i]) \
    X(multiply, x[i] * y[i]) \
    X(divide, x[i] / y[i]) \
    X(square, x[i] * x[i]) \
    X(shift, x[i] + a) \
    X(scale, a * x[i]) \
    X(divide_by, x[i] / a) \
    X(divide_into, a / x[i]) \
    X(scale_shift, a * x[i] + b) \
    X(scale_add, a * x[i] + y[i]) \
    X(scale_scale_add, a * x[i] + b * y[i]) \
    X(scale_multiply, a * x[i] * y[i]) \
    X(multiply_shift, a * x[i] * y[i] + b) \
    X(multiply_add, x[i] * y[i] + z[i]) \
    X(multiply_scale_add, a * x[i] * y[i] + b * z[i]) \
    X(square_square_add, a * (x[i] * x[i]) + b * (z[i] * z[i])) \
    X(multiply_multiply_add, a * x[i] * y[i] + b * z[i] * w[i])

#define PHINTYS_OPERATION(NAME, TYPE, VALUE, SET, FOR_SET) \
FOR_SET static void NAME##_##TYPE##_##SET(void* result, void* const* in, const double* c, intptr_t n) { \
    const TYPE* x = (const TYPE*)in[0]; const TYPE* y = (const TYPE*)in[1]; \
    const TYPE* z = (const TYPE*)in[2]; const TYPE* w = (const TYPE*)in[3]; \
    TYPE* out = (TYPE*)result; \
    const TYPE a = (TYPE)c[0], b = (TYPE)c[1]; \
    (void)x; (void)y; (void)z; (void)w; (void)a; (void)b; \
    PHINTYS_VECTORIZE \
    for (intptr_t i = 0; i < n; i++) out[i] = VALUE; \
}
#define PHINTYS_EACH(NAME, VALUE) \
    PHINTYS_OPERATION(NAME, double, VALUE, baseline, ) PHINTYS_OPERATION(NAME, float, VALUE, baseline, ) \
    PHINTYS_OPERATION(NAME, double, VALUE, avx2, PHINTYS_FOR_AVX2) \
    PHINTYS_OPERATION(NAME, float, VALUE, avx2, PHINTYS_FOR_AVX2) \
    PHINTYS_OPERATION(NAME, double, VALUE, avx512, PHINTYS_FOR_AVX512) \
    PHINTYS_OPERATION(NAME, float, VALUE, avx512, PHINTYS_FOR_AVX512)
PHINTYS_OPERATIONS(PHINTYS_EACH)

/* x to the power c[0], an integer above 1, by repeated squaring. Four vectors as wide as registers are processed at a
 * time: their squares and powers stay in registers, and the four independent chains hide the latency of multiplication. */
#define PHINTYS_POWER(TYPE, SET, FOR_SET, BYTES) \
FOR_SET static void power_##TYPE##_##SET(void* result, void* const* in, const double* c, intptr_t n) { \
    enum { WIDTH = BYTES / sizeof(TYPE) }; \
    typedef TYPE vector __attribute__((vector_size(BYTES), aligned(sizeof(TYPE)), may_alias)); \
    const TYPE* x = (const TYPE*)in[0]; \
    TYPE* out = (TYPE*)result; \
    const int exponent = (int)c[0]; \
    intptr_t i = 0; \
    for (; i + 4 * WIDTH <= n; i += 4 * WIDTH) { \
        const vector* at = (const vector*)(x + i); \
        vector* to = (vector*)(out + i); \
        vector s0 = at[0], s1 = at[1], s2 = at[2], s3 = at[3], p0 = s0, p1 = s1, p2 = s2, p3 = s3; \
        int left = exponent, started = left & 1; \
        for (left >>= 1; left; left >>= 1) { \
            s0 *= s0; s1 *= s1; s2 *= s2; s3 *= s3; \
            if (!(left & 1)) continue; \
            if (started) { p0 *= s0; p1 *= s1; p2 *= s2; p3 *= s3; } \
            else { p0 = s0; p1 = s1; p2 = s2; p3 = s3; started = 1; } \
        } \
        to[0] = p0; to[1] = p1; to[2] = p2; to[3] = p3; \
    } \
    for (; i < n; i++) { \
        int left = exponent; \
        TYPE square = x[i], power = left & 1 ? square : 1; \
        for (left >>= 1; left; left >>= 1) { square *= square; if (left & 1) power *= square; } \
        out[i] = power; \
    } \
}
#define PHINTYS_EACH_POWER(SET, FOR_SET, BYTES) \
    PHINTYS_POWER(double, SET, FOR_SET, BYTES) PHINTYS_POWER(float, SET, FOR_SET, BYTES)
PHINTYS_EACH_POWER(baseline, , 16)
PHINTYS_EACH_POWER(avx2, PHINTYS_FOR_AVX2, 32)
PHINTYS_EACH_POWER(avx512, PHINTYS_FOR_AVX512, 64)

/* By name and instruction set. */
typedef void (*phintys_operation)(void*, void* const*, const double*, intptr_t);
typedef struct { const char* name; phintys_operation of_double[3], of_float[3]; } phintys_operation_row;
#define PHINTYS_ROW(NAME, VALUE) {#NAME, {NAME##_double_baseline, NAME##_double_avx2, NAME##_double_avx512}, \
                                  {NAME##_float_baseline, NAME##_float_avx2, NAME##_float_avx512}},
static const phintys_operation_row phintys_operation_table[] = {
    PHINTYS_OPERATIONS(PHINTYS_ROW) PHINTYS_ROW(power, ) {NULL, {NULL}, {NULL}}};

/* All instructions on the same elements, without gaps. */
static inline void phintys_perform(const phintys_tree* tree, void* const* operands, intptr_t n) {
    const phintys_instruction* end = tree->instruction + tree->instructions;
    for (const phintys_instruction* at = tree->instruction; at != end; at++) {
        void* in[4] = {operands[at->operands[0]], operands[at->operands[1]],
                       operands[at->operands[2]], operands[at->operands[3]]};
        at->function(operands[at->out], in, at->constants, n);
    }
}

static inline int phintys_has_gaps(const phintys_tree* tree, intptr_t n, const intptr_t* steps, intptr_t size) {
    for (int k = 0; n > 1 && k < tree->inputs; k++)
        if (steps[k] != size) return 1;
    return 0;
}

/* Few elements, of which most calls of small programs have one: locals and inputs with gaps are on the stack. */
#define PHINTYS_TREE_FEW(TYPE) \
static __attribute__((noinline)) void phintys_few_##TYPE(const phintys_tree* tree, char** args, intptr_t n, \
                                                         const intptr_t* steps) { \
    TYPE memory[PHINTYS_FEW_OPERANDS][PHINTYS_FEW]; \
    void* operands[PHINTYS_FEW_OPERANDS + 1]; \
    const int inputs = tree->inputs, result = inputs + tree->locals; \
    int k; \
    for (k = 0; k < inputs; k++) { \
        operands[k] = args[k]; \
        if (n == 1 || steps[k] == (intptr_t)sizeof(TYPE)) continue; \
        operands[k] = memory[k]; \
        for (intptr_t i = 0; i < n; i++) memory[k][i] = *(const TYPE*)(args[k] + i * steps[k]); \
    } \
    for (; k < result; k++) operands[k] = memory[k]; \
    operands[result] = args[inputs]; \
    phintys_perform(tree, operands, n); \
}
PHINTYS_TREE_FEW(double)
PHINTYS_TREE_FEW(float)

/* Any number of elements. All instructions run on one chunk before the next chunk starts, so that locals stay in the L1
 * cache. Inputs whose stride is not the item size are copied into a buffer of chunk length: once if the stride is 0,
 * else for each chunk. With more than 8 buffers, the chunks become shorter, so that all buffers together take at most
 * 16 KiB. */
#define PHINTYS_TREE_CHUNKS(TYPE) \
static __attribute__((noinline)) void phintys_chunks_##TYPE(const phintys_tree* tree, char** args, intptr_t n, \
                                                            const intptr_t* steps) { \
    enum { CHUNK = PHINTYS_CHUNK_BYTES / sizeof(TYPE) }; \
    void* operands[PHINTYS_TREE_OPERANDS]; \
    intptr_t start = 0, chunk = n; \
    int inputs = tree->inputs, result = inputs + tree->locals, strided = 0, k; \
    for (k = 0; k < inputs; k++) { \
        operands[k] = args[k]; \
        if (n > 1 && steps[k] != (intptr_t)sizeof(TYPE)) strided++; \
    } \
    operands[result] = args[inputs]; \
    if (tree->locals + strided) { \
        intptr_t longest = tree->locals + strided > 8 ? (CHUNK * 8 / (tree->locals + strided)) & ~7 : CHUNK; \
        if (chunk > longest) chunk = longest; \
        intptr_t padded = (chunk + 7) & ~(intptr_t)7; \
        uintptr_t raw = (uintptr_t)alloca((tree->locals + strided) * padded * sizeof(TYPE) + 64); \
        TYPE* memory = (TYPE*)((raw + 63) & ~(uintptr_t)63); \
        for (k = inputs; k < result; k++, memory += padded) operands[k] = memory; \
        for (k = 0; strided && k < inputs; k++) { \
            if (steps[k] == (intptr_t)sizeof(TYPE)) continue; \
            operands[k] = memory; memory += padded; \
            if (steps[k] == 0) for (intptr_t i = 0; i < chunk; i++) ((TYPE*)operands[k])[i] = *(TYPE*)args[k]; \
        } \
    } \
    for (;;) { \
        intptr_t count = n - start < chunk ? n - start : chunk; \
        for (k = 0; strided && k < inputs; k++) { \
            if (steps[k] == (intptr_t)sizeof(TYPE) || steps[k] == 0) continue; \
            const char* in = args[k] + start * steps[k]; \
            for (intptr_t i = 0; i < count; i++, in += steps[k]) ((TYPE*)operands[k])[i] = *(const TYPE*)in; \
        } \
        phintys_perform(tree, operands, count); \
        start += count; \
        if (start >= n) return; \
        for (k = 0; k < inputs; k++) \
            if (steps[k] == (intptr_t)sizeof(TYPE)) operands[k] = (TYPE*)operands[k] + count; \
        operands[result] = (TYPE*)operands[result] + count; \
    } \
}
PHINTYS_TREE_CHUNKS(double)
PHINTYS_TREE_CHUNKS(float)

/* The inner loop, with the signature of NumPy's loops; the result's stride is its item size. Without locals and gaps
 * the operands are the arguments themselves. */
#define PHINTYS_TREE_LOOP(TYPE) \
static void phintys_tree_##TYPE(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const phintys_tree* tree = (const phintys_tree*)data; \
    const intptr_t n = dims[0]; \
    if (tree->locals == 0 && !phintys_has_gaps(tree, n, steps, sizeof(TYPE))) \
        phintys_perform(tree, (void* const*)args, n); \
    else if (n <= PHINTYS_FEW && tree->inputs + tree->locals <= PHINTYS_FEW_OPERANDS) \
        phintys_few_##TYPE(tree, args, n, steps); \
    else \
        phintys_chunks_##TYPE(tree, args, n, steps); \
}
PHINTYS_TREE_LOOP(double)
PHINTYS_TREE_LOOP(float)
