/* The loops of vector_math.h, and the table of them, for one instruction set; each_set.h includes this file. The
 * baseline of x86 has none: an empty table.
 */
#if SET_FUSES

/* ---- operands without gaps --------------------------------------------------------------------------------------- */
#define STORE_END(TYPE, VALUE) do { \
    if (call->fills) *(Vector*)(out + i) = VALUE; \
    else IN_SET(store_part_##TYPE)(out + i, VALUE, (int)(n - i)); \
} while (0)
#define PHINTYS_LINES(TYPE) \
static void IN_SET(unary_line_##TYPE)(const phintys_vector_call* call, const TYPE* x, TYPE* out, intptr_t n) { \
    typedef IN_SET(Register_##TYPE) Register; \
    typedef IN_SET(Vector_##TYPE) Vector; \
    enum { LANES = sizeof(Register) / sizeof(TYPE) }; \
    Register (*of)(Register) = (Register (*)(Register))call->function; \
    intptr_t i = 0; \
    if (call->takes_lines) { \
        ((void (*)(const TYPE*, TYPE*, intptr_t, int))call->function)(x, out, n, call->fills); \
        return; \
    } \
    for (; i + LANES <= n; i += LANES) *(Vector*)(out + i) = of(*(const Vector*)(x + i)); \
    if (i < n) STORE_END(TYPE, of(IN_SET(load_filled_##TYPE)(x + i, (int)(n - i)))); \
} \
static void IN_SET(binary_line_##TYPE)(const phintys_vector_call* call, const TYPE* x, const TYPE* y, TYPE* out, \
                                       intptr_t n) { \
    typedef IN_SET(Register_##TYPE) Register; \
    typedef IN_SET(Vector_##TYPE) Vector; \
    enum { LANES = sizeof(Register) / sizeof(TYPE) }; \
    Register (*of)(Register, Register) = (Register (*)(Register, Register))call->function; \
    intptr_t i = 0; \
    for (; i + LANES <= n; i += LANES) *(Vector*)(out + i) = of(*(const Vector*)(x + i), *(const Vector*)(y + i)); \
    if (i < n) STORE_END(TYPE, of(IN_SET(load_filled_##TYPE)(x + i, (int)(n - i)), \
                                  IN_SET(load_filled_##TYPE)(y + i, (int)(n - i)))); \
}
PHINTYS_LINES(float)
PHINTYS_LINES(double)

/* ---- blocks of operands with gaps, and of float16 ---------------------------------------------------------------- */
#define PHINTYS_BLOCKS(TYPE) \
static inline void IN_SET(gather_##TYPE)(TYPE* to, const char* from, intptr_t step, intptr_t n) { \
    for (intptr_t i = 0; i < n; i++, from += step) to[i] = *(const TYPE*)from; \
} \
static inline void IN_SET(scatter_##TYPE)(char* to, const TYPE* from, intptr_t step, intptr_t n) { \
    for (intptr_t i = 0; i < n; i++, to += step) *(TYPE*)to = from[i]; \
}
PHINTYS_BLOCKS(double)
PHINTYS_BLOCKS(float)

#if SET_LEVEL
static inline void IN_SET(gather_half)(float* to, const char* from, intptr_t step, intptr_t n) {
    intptr_t i = 0;
    if (step == 2)
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(from + 2 * i))));
    for (; i < n; i++) to[i] = _cvtsh_ss(*(const uint16_t*)(from + i * step));
}
static inline void IN_SET(scatter_half)(char* to, const float* from, intptr_t step, intptr_t n) {
    intptr_t i = 0;
    if (step == 2)
        for (; i + 8 <= n; i += 8)
            _mm_storeu_si128((__m128i*)(to + 2 * i),
                             _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) *(uint16_t*)(to + i * step) = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}
#else                                                       /* the compiler makes vectors of these */
static inline void IN_SET(gather_half)(float* to, const char* from, intptr_t step, intptr_t n) {
    if (step == 2) for (intptr_t i = 0; i < n; i++) to[i] = ((const __fp16*)from)[i];
    else for (intptr_t i = 0; i < n; i++) to[i] = *(const __fp16*)(from + i * step);
}
static inline void IN_SET(scatter_half)(char* to, const float* from, intptr_t step, intptr_t n) {
    if (step == 2) for (intptr_t i = 0; i < n; i++) ((__fp16*)to)[i] = (__fp16)from[i];
    else for (intptr_t i = 0; i < n; i++) *(__fp16*)(to + i * step) = (__fp16)from[i];
}
#endif

/* ---- the loops: NAME is the kind of element in memory, TYPE what is computed with, GAPLESS the step of operands
 * that need no block (-1: all need one) ---------------------------------------------------------------------------- */
/* Where the block of an operand, or of the result, is: in place, or copied (what is alike for all, once). */
#define PHINTYS_OPERAND(NAME, TYPE, GAPLESS, K, COPY) \
    (GAPLESS > 0 && steps[K] == GAPLESS ? (const TYPE*)(args[K] + start * steps[K]) \
     : (start && steps[K] == 0 ? (void)0 \
        : IN_SET(gather_##NAME)(COPY, args[K] + start * steps[K], steps[K], count), COPY))
#define PHINTYS_RESULT(TYPE, GAPLESS, K, COPY) \
    (GAPLESS > 0 && steps[K] == GAPLESS ? (TYPE*)(args[K] + start * steps[K]) : COPY)

#define PHINTYS_VECTOR_LOOPS(NAME, TYPE, GAPLESS) \
static void IN_SET(unary_##NAME)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const phintys_vector_call* call = (const phintys_vector_call*)data; \
    intptr_t n = dims[0]; \
    if (GAPLESS > 0 && (n == 1 || (steps[0] == GAPLESS && steps[1] == GAPLESS))) { \
        IN_SET(unary_line_##TYPE)(call, (const TYPE*)args[0], (TYPE*)args[1], n); \
        return; \
    } \
    TYPE x[PHINTYS_VECTOR_BLOCK], out[PHINTYS_VECTOR_BLOCK]; \
    for (intptr_t start = 0; start < n; start += PHINTYS_VECTOR_BLOCK) { \
        intptr_t count = n - start < PHINTYS_VECTOR_BLOCK ? n - start : PHINTYS_VECTOR_BLOCK; \
        TYPE* result = PHINTYS_RESULT(TYPE, GAPLESS, 1, out); \
        IN_SET(unary_line_##TYPE)(call, PHINTYS_OPERAND(NAME, TYPE, GAPLESS, 0, x), result, count); \
        if (result == out) IN_SET(scatter_##NAME)(args[1] + start * steps[1], out, steps[1], count); \
    } \
} \
static void IN_SET(binary_##NAME)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const phintys_vector_call* call = (const phintys_vector_call*)data; \
    intptr_t n = dims[0]; \
    if (GAPLESS > 0 && (n == 1 || (steps[0] == GAPLESS && steps[1] == GAPLESS && steps[2] == GAPLESS))) { \
        IN_SET(binary_line_##TYPE)(call, (const TYPE*)args[0], (const TYPE*)args[1], (TYPE*)args[2], n); \
        return; \
    } \
    TYPE x[PHINTYS_VECTOR_BLOCK], y[PHINTYS_VECTOR_BLOCK], out[PHINTYS_VECTOR_BLOCK]; \
    for (intptr_t start = 0; start < n; start += PHINTYS_VECTOR_BLOCK) { \
        intptr_t count = n - start < PHINTYS_VECTOR_BLOCK ? n - start : PHINTYS_VECTOR_BLOCK; \
        const TYPE* first = PHINTYS_OPERAND(NAME, TYPE, GAPLESS, 0, x); \
        const TYPE* second = PHINTYS_OPERAND(NAME, TYPE, GAPLESS, 1, y); \
        TYPE* result = PHINTYS_RESULT(TYPE, GAPLESS, 2, out); \
        IN_SET(binary_line_##TYPE)(call, first, second, result, count); \
        if (result == out) IN_SET(scatter_##NAME)(args[2] + start * steps[2], out, steps[2], count); \
    } \
}
PHINTYS_VECTOR_LOOPS(half, float, -1)
PHINTYS_VECTOR_LOOPS(float, float, (intptr_t)sizeof(float))
PHINTYS_VECTOR_LOOPS(double, double, (intptr_t)sizeof(double))

/* ---- casts of float16, which give the bits of half_floats.h (other than those of NaN) ---------------------------- */
static void IN_SET(half_to_float)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
    float block[PHINTYS_VECTOR_BLOCK];
    (void)data;
    for (intptr_t start = 0, n = dims[0]; start < n; start += PHINTYS_VECTOR_BLOCK) {
        intptr_t count = n - start < PHINTYS_VECTOR_BLOCK ? n - start : PHINTYS_VECTOR_BLOCK;
        if (steps[1] == sizeof(float)) {
            IN_SET(gather_half)((float*)args[1] + start, args[0] + start * steps[0], steps[0], count);
            continue;
        }
        IN_SET(gather_half)(block, args[0] + start * steps[0], steps[0], count);
        IN_SET(scatter_float)(args[1] + start * steps[1], block, steps[1], count);
    }
}
static void IN_SET(float_to_half)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
    float block[PHINTYS_VECTOR_BLOCK];
    (void)data;
    for (intptr_t start = 0, n = dims[0]; start < n; start += PHINTYS_VECTOR_BLOCK) {
        intptr_t count = n - start < PHINTYS_VECTOR_BLOCK ? n - start : PHINTYS_VECTOR_BLOCK;
        const float* from = (const float*)args[0] + start;
        if (steps[0] != sizeof(float)) {
            IN_SET(gather_float)(block, args[0] + start * steps[0], steps[0], count);
            from = block;
        }
        IN_SET(scatter_half)(args[1] + start * steps[1], from, steps[1], count);
    }
}

static const phintys_vector_set IN_SET(vectors) = {
    .letter = SET_LEVEL == 2 ? 'e' : SET_LEVEL ? 'd' : 'n', .bytes = SET_BYTES,
    .loops = {{IN_SET(unary_half), IN_SET(binary_half)}, {IN_SET(unary_float), IN_SET(binary_float)},
              {IN_SET(unary_double), IN_SET(binary_double)}},
    .half_to_float = IN_SET(half_to_float), .float_to_half = IN_SET(float_to_half),
    .functions = VECTOR_FUNCTIONS};
#else
static const phintys_vector_set IN_SET(vectors) = {0};
#endif
