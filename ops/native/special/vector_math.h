/* Inner loops that call vector functions, of the C library (glibc's libmvec) or built in, on whole vectors, in NumPy's
 * form.
 *
 * A vector function takes and returns one or two vectors in registers; the loop's data says which one it is
 * (phintys_vector_call). Each loop is compiled for its own instruction set and runs only where the processor has it.
 * What is left at the end goes through the same function in a vector that is filled up with the first of the values
 * that are left, so an element's result depends on its value alone. Operands with gaps go through a block of memory on
 * the stack. float16 is computed in float32, as NumPy does. Included by vector_math.pyx only.
 */
#ifndef PHINTYS_VECTOR_MATH_H
#define PHINTYS_VECTOR_MATH_H

#include <stdint.h>
#include <string.h>

#include "native/vectors.h"
#include "native/special/vector_call.h"

typedef void (*phintys_vector_loop)(char**, const intptr_t*, const intptr_t*, void*);

enum { PHINTYS_AVX2, PHINTYS_AVX512, PHINTYS_INSTRUCTION_SETS };
enum { PHINTYS_VECTOR_FLOAT16, PHINTYS_VECTOR_FLOAT32, PHINTYS_VECTOR_FLOAT64, PHINTYS_VECTOR_TYPES };
enum { PHINTYS_VECTOR_BLOCK = 256 };        /* elements of an operand with gaps: 2 KiB of float64 */

#if defined(__GNUC__) && defined(__x86_64__)
#include "native/special/vector_functions.h"

#if defined(__linux__)
#include <dlfcn.h>
#endif

/* The address of a built-in vector function, or of one of libmvec; NULL if there is none. */
static void* phintys_find_vector_function(int built_in, const char* symbol) {
    if (built_in) {
        for (int k = 0; phintys_vector_functions[k].symbol != NULL; k++)
            if (strcmp(phintys_vector_functions[k].symbol, symbol) == 0) return phintys_vector_functions[k].function;
        return NULL;
    }
#if defined(__linux__)
    static void* library = NULL;
    if (library == NULL) library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == NULL ? NULL : dlsym(library, symbol);
#else
    return NULL;
#endif
}

/* ---- the first `count` elements of a vector, which is filled up with the first  */
static const int64_t phintys_masks[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t phintys_half_masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

PHINTYS_FOR_AVX2 static inline __m256d load_filled_double_avx2(const double* from, intptr_t count) {
    __m256i mask = _mm256_loadu_si256((const __m256i*)(phintys_masks + 4 - count));
    return _mm256_blendv_pd(_mm256_set1_pd(*from), _mm256_maskload_pd(from, mask), _mm256_castsi256_pd(mask));
}
PHINTYS_FOR_AVX2 static inline __m256 load_filled_float_avx2(const float* from, intptr_t count) {
    __m256i mask = _mm256_loadu_si256((const __m256i*)(phintys_half_masks + 8 - count));
    return _mm256_blendv_ps(_mm256_set1_ps(*from), _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask));
}
PHINTYS_FOR_AVX512 static inline __m512d load_filled_double_avx512(const double* from, intptr_t count) {
    return _mm512_mask_loadu_pd(_mm512_set1_pd(*from), (__mmask8)((1u << count) - 1), from);
}
PHINTYS_FOR_AVX512 static inline __m512 load_filled_float_avx512(const float* from, intptr_t count) {
    return _mm512_mask_loadu_ps(_mm512_set1_ps(*from), (__mmask16)((1u << count) - 1), from);
}

/* ---- operands without gaps --------------------------------------------------------------------------------------- */
#define PHINTYS_LINES(SET, FOR_SET, TYPE, VECTOR, LOAD, STORE) \
FOR_SET static inline void store_end_##TYPE##_##SET(TYPE* out, VECTOR value, intptr_t count, int fills) { \
    if (fills) STORE(out, value); \
    else store_part_##TYPE##_##SET(out, value, count); \
} \
FOR_SET static void unary_line_##TYPE##_##SET(const phintys_vector_call* call, const TYPE* x, TYPE* out, intptr_t n) { \
    enum { WIDTH = sizeof(VECTOR) / sizeof(TYPE) }; \
    VECTOR (*of)(VECTOR) = (VECTOR (*)(VECTOR))call->function; \
    intptr_t i = 0; \
    for (; i + WIDTH <= n; i += WIDTH) STORE(out + i, of(LOAD(x + i))); \
    if (i < n) store_end_##TYPE##_##SET(out + i, of(load_filled_##TYPE##_##SET(x + i, n - i)), n - i, call->fills); \
} \
FOR_SET static void binary_line_##TYPE##_##SET(const phintys_vector_call* call, const TYPE* x, const TYPE* y, \
                                               TYPE* out, intptr_t n) { \
    enum { WIDTH = sizeof(VECTOR) / sizeof(TYPE) }; \
    VECTOR (*of)(VECTOR, VECTOR) = (VECTOR (*)(VECTOR, VECTOR))call->function; \
    intptr_t i = 0; \
    for (; i + WIDTH <= n; i += WIDTH) STORE(out + i, of(LOAD(x + i), LOAD(y + i))); \
    if (i < n) store_end_##TYPE##_##SET(out + i, of(load_filled_##TYPE##_##SET(x + i, n - i), \
                                                    load_filled_##TYPE##_##SET(y + i, n - i)), n - i, call->fills); \
}
PHINTYS_LINES(avx2, PHINTYS_FOR_AVX2, double, __m256d, _mm256_loadu_pd, _mm256_storeu_pd)
PHINTYS_LINES(avx2, PHINTYS_FOR_AVX2, float, __m256, _mm256_loadu_ps, _mm256_storeu_ps)
PHINTYS_LINES(avx512, PHINTYS_FOR_AVX512, double, __m512d, _mm512_loadu_pd, _mm512_storeu_pd)
PHINTYS_LINES(avx512, PHINTYS_FOR_AVX512, float, __m512, _mm512_loadu_ps, _mm512_storeu_ps)

/* ---- blocks of operands with gaps, and of float16 ---------------------------------------------------------------- */
#define PHINTYS_BLOCKS(TYPE) \
static inline void gather_##TYPE(TYPE* to, const char* from, intptr_t step, intptr_t n) { \
    for (intptr_t i = 0; i < n; i++, from += step) to[i] = *(const TYPE*)from; \
} \
static inline void scatter_##TYPE(char* to, const TYPE* from, intptr_t step, intptr_t n) { \
    for (intptr_t i = 0; i < n; i++, to += step) *(TYPE*)to = from[i]; \
}
PHINTYS_BLOCKS(double)
PHINTYS_BLOCKS(float)

PHINTYS_FOR_AVX2 static inline void gather_half(float* to, const char* from, intptr_t step, intptr_t n) {
    intptr_t i = 0;
    if (step == 2)
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(from + 2 * i))));
    for (; i < n; i++) to[i] = _cvtsh_ss(*(const uint16_t*)(from + i * step));
}
PHINTYS_FOR_AVX2 static inline void scatter_half(char* to, const float* from, intptr_t step, intptr_t n) {
    intptr_t i = 0;
    if (step == 2)
        for (; i + 8 <= n; i += 8)
            _mm_storeu_si128((__m128i*)(to + 2 * i),
                             _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) *(uint16_t*)(to + i * step) = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}

/* ---- the loops: NAME is the kind of element in memory, TYPE what is computed with, GAPLESS the step of operands
 * that need no block (-1: all need one) ---------------------------------------------------------------------------- */
/* Where the block of an operand, or of the result, is: in place, or copied (what is alike for all, once). */
#define PHINTYS_OPERAND(NAME, TYPE, GAPLESS, K, COPY) \
    (GAPLESS > 0 && steps[K] == GAPLESS ? (const TYPE*)(args[K] + start * steps[K]) \
     : (start && steps[K] == 0 ? (void)0 : gather_##NAME(COPY, args[K] + start * steps[K], steps[K], count), COPY))
#define PHINTYS_RESULT(TYPE, GAPLESS, K, COPY) \
    (GAPLESS > 0 && steps[K] == GAPLESS ? (TYPE*)(args[K] + start * steps[K]) : COPY)

#define PHINTYS_VECTOR_LOOPS(SET, FOR_SET, NAME, TYPE, GAPLESS) \
FOR_SET static void unary_##NAME##_##SET(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const phintys_vector_call* call = (const phintys_vector_call*)data; \
    intptr_t n = dims[0]; \
    if (GAPLESS > 0 && (n == 1 || (steps[0] == GAPLESS && steps[1] == GAPLESS))) { \
        unary_line_##TYPE##_##SET(call, (const TYPE*)args[0], (TYPE*)args[1], n); \
        return; \
    } \
    TYPE x[PHINTYS_VECTOR_BLOCK], out[PHINTYS_VECTOR_BLOCK]; \
    for (intptr_t start = 0; start < n; start += PHINTYS_VECTOR_BLOCK) { \
        intptr_t count = n - start < PHINTYS_VECTOR_BLOCK ? n - start : PHINTYS_VECTOR_BLOCK; \
        TYPE* result = PHINTYS_RESULT(TYPE, GAPLESS, 1, out); \
        unary_line_##TYPE##_##SET(call, PHINTYS_OPERAND(NAME, TYPE, GAPLESS, 0, x), result, count); \
        if (result == out) scatter_##NAME(args[1] + start * steps[1], out, steps[1], count); \
    } \
} \
FOR_SET static void binary_##NAME##_##SET(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const phintys_vector_call* call = (const phintys_vector_call*)data; \
    intptr_t n = dims[0]; \
    if (GAPLESS > 0 && (n == 1 || (steps[0] == GAPLESS && steps[1] == GAPLESS && steps[2] == GAPLESS))) { \
        binary_line_##TYPE##_##SET(call, (const TYPE*)args[0], (const TYPE*)args[1], (TYPE*)args[2], n); \
        return; \
    } \
    TYPE x[PHINTYS_VECTOR_BLOCK], y[PHINTYS_VECTOR_BLOCK], out[PHINTYS_VECTOR_BLOCK]; \
    for (intptr_t start = 0; start < n; start += PHINTYS_VECTOR_BLOCK) { \
        intptr_t count = n - start < PHINTYS_VECTOR_BLOCK ? n - start : PHINTYS_VECTOR_BLOCK; \
        const TYPE* first = PHINTYS_OPERAND(NAME, TYPE, GAPLESS, 0, x); \
        const TYPE* second = PHINTYS_OPERAND(NAME, TYPE, GAPLESS, 1, y); \
        TYPE* result = PHINTYS_RESULT(TYPE, GAPLESS, 2, out); \
        binary_line_##TYPE##_##SET(call, first, second, result, count); \
        if (result == out) scatter_##NAME(args[2] + start * steps[2], out, steps[2], count); \
    } \
}
#define PHINTYS_ALL_VECTOR_LOOPS(SET, FOR_SET) \
    PHINTYS_VECTOR_LOOPS(SET, FOR_SET, half, float, -1) \
    PHINTYS_VECTOR_LOOPS(SET, FOR_SET, float, float, (intptr_t)sizeof(float)) \
    PHINTYS_VECTOR_LOOPS(SET, FOR_SET, double, double, (intptr_t)sizeof(double))
PHINTYS_ALL_VECTOR_LOOPS(avx2, PHINTYS_FOR_AVX2)
PHINTYS_ALL_VECTOR_LOOPS(avx512, PHINTYS_FOR_AVX512)

/* ---- casts of float16, which give the bits of half_floats.h (other than those of NaN) ---------------------------- */
PHINTYS_FOR_AVX2 static void half_to_float_avx2(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
    float block[PHINTYS_VECTOR_BLOCK];
    (void)data;
    for (intptr_t start = 0, n = dims[0]; start < n; start += PHINTYS_VECTOR_BLOCK) {
        intptr_t count = n - start < PHINTYS_VECTOR_BLOCK ? n - start : PHINTYS_VECTOR_BLOCK;
        if (steps[1] == sizeof(float)) {
            gather_half((float*)args[1] + start, args[0] + start * steps[0], steps[0], count);
            continue;
        }
        gather_half(block, args[0] + start * steps[0], steps[0], count);
        scatter_float(args[1] + start * steps[1], block, steps[1], count);
    }
}
PHINTYS_FOR_AVX2 static void float_to_half_avx2(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
    float block[PHINTYS_VECTOR_BLOCK];
    (void)data;
    for (intptr_t start = 0, n = dims[0]; start < n; start += PHINTYS_VECTOR_BLOCK) {
        intptr_t count = n - start < PHINTYS_VECTOR_BLOCK ? n - start : PHINTYS_VECTOR_BLOCK;
        const float* from = (const float*)args[0] + start;
        if (steps[0] != sizeof(float)) {
            gather_float(block, args[0] + start * steps[0], steps[0], count);
            from = block;
        }
        scatter_half(args[1] + start * steps[1], from, steps[1], count);
    }
}
static const phintys_vector_loop phintys_half_to_float = half_to_float_avx2;
static const phintys_vector_loop phintys_float_to_half = float_to_half_avx2;

/* By instruction set, kind of element, and number of operands less one. */
#define PHINTYS_ROW_OF_LOOPS(SET) { \
    {unary_half_##SET, binary_half_##SET}, {unary_float_##SET, binary_float_##SET}, \
    {unary_double_##SET, binary_double_##SET}}
static const phintys_vector_loop phintys_vector_loops[PHINTYS_INSTRUCTION_SETS][PHINTYS_VECTOR_TYPES][2] = {
    PHINTYS_ROW_OF_LOOPS(avx2), PHINTYS_ROW_OF_LOOPS(avx512)};

#else
static void* phintys_find_vector_function(int built_in, const char* symbol) {
    (void)built_in; (void)symbol;
    return NULL;
}
static const phintys_vector_loop phintys_vector_loops[PHINTYS_INSTRUCTION_SETS][PHINTYS_VECTOR_TYPES][2] = {{{0}}};
static const phintys_vector_loop phintys_half_to_float = NULL;
static const phintys_vector_loop phintys_float_to_half = NULL;
#endif

#endif
