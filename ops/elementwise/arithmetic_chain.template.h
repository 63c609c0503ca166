/* Loops and links of arithmetic_tree_loops.h for one type T and one instruction set.
 *
 * A link computes eight vectors, a tile, from those that the link before left in registers and from arrays. Then it
 * jumps to the next link; the compiler makes a jump of a call that is all that is left to do. Eight vectors are as many
 * as functions pass in registers, and enough to hide the latency of an operation and the jump.
 */
#define VECTOR TYPED(vector)
#define IN_MEMORY TYPED(in_memory)
#define WIDTH ((intptr_t)(SET_BYTES / sizeof(T)))
typedef T VECTOR __attribute__((vector_size(SET_BYTES), may_alias));
typedef T IN_MEMORY __attribute__((vector_size(SET_BYTES), aligned(sizeof(T)), may_alias));

/* ---- loops over arrays ------------------------------------------------------------------------------------------- */
#define LOOP(NAME) \
static void TYPED(NAME)(void* result, void* const* in, const double* c, intptr_t n) { \
    const T* x = (const T*)in[0]; const T* y = (const T*)in[1]; \
    const T* z = (const T*)in[2]; const T* w = (const T*)in[3]; \
    T* out = (T*)result; \
    const T a = (T)c[0], b = (T)c[1]; \
    (void)x; (void)y; (void)z; (void)w; (void)a; (void)b; \
    PHINTYS_VECTORIZE \
    for (intptr_t i = 0; i < n; i++) out[i] = VALUE_##NAME(x[i], y[i], z[i], w[i]); \
}
PHINTYS_OPERATIONS(LOOP)

/* Eight vectors, s0 to s7, to an integer power above 1 by repeated squaring; r0 to r7 become the powers. All stays in
 * registers, and the independent chains hide the latency of multiplication and what the exponent's bits cost. */
#define RAISE(EXPONENT) { \
    int left = (EXPONENT), started = left & 1; \
    r0 = s0; r1 = s1; r2 = s2; r3 = s3; r4 = s4; r5 = s5; r6 = s6; r7 = s7; \
    for (left >>= 1; left; left >>= 1) { \
        s0 *= s0; s1 *= s1; s2 *= s2; s3 *= s3; s4 *= s4; s5 *= s5; s6 *= s6; s7 *= s7; \
        if (!(left & 1)) continue; \
        if (started) { r0 *= s0; r1 *= s1; r2 *= s2; r3 *= s3; r4 *= s4; r5 *= s5; r6 *= s6; r7 *= s7; } \
        else { r0 = s0; r1 = s1; r2 = s2; r3 = s3; r4 = s4; r5 = s5; r6 = s6; r7 = s7; started = 1; } \
    } \
}
/* The same for one vector and for one element. */
#define RAISED(NAME, X) \
static inline X TYPED(NAME)(X square, int left) { \
    X power = square; \
    int started = left & 1; \
    for (left >>= 1; left; left >>= 1) { \
        square *= square; \
        if (!(left & 1)) continue; \
        if (started) power *= square; else power = square; \
        started = 1; \
    } \
    return power; \
}
RAISED(raised_vector, VECTOR)
RAISED(raised, T)

/* x to the power c[0], and that plus c[1] * y. */
#define READ(FROM) s0 = FROM[0], s1 = FROM[1], s2 = FROM[2], s3 = FROM[3], \
                   s4 = FROM[4], s5 = FROM[5], s6 = FROM[6], s7 = FROM[7]
#define WRITE(TO) { TO[0] = r0; TO[1] = r1; TO[2] = r2; TO[3] = r3; TO[4] = r4; TO[5] = r5; TO[6] = r6; TO[7] = r7; }
#define ADD_SCALED(B, Y) { r0 += B * Y[0]; r1 += B * Y[1]; r2 += B * Y[2]; r3 += B * Y[3]; \
                           r4 += B * Y[4]; r5 += B * Y[5]; r6 += B * Y[6]; r7 += B * Y[7]; }
static void TYPED(power)(void* result, void* const* in, const double* c, intptr_t n) {
    const T* x = (const T*)in[0];
    T* out = (T*)result;
    const int exponent = (int)c[0];
    intptr_t i = 0;
    for (; i + 8 * WIDTH <= n; i += 8 * WIDTH) {
        const IN_MEMORY* from = (const IN_MEMORY*)(x + i);
        IN_MEMORY* to = (IN_MEMORY*)(out + i);
        VECTOR READ(from), r0, r1, r2, r3, r4, r5, r6, r7;
        RAISE(exponent)
        WRITE(to)
    }
    for (; i + WIDTH <= n; i += WIDTH)
        *(IN_MEMORY*)(out + i) = TYPED(raised_vector)(*(const IN_MEMORY*)(x + i), exponent);
    for (; i < n; i++) out[i] = TYPED(raised)(x[i], exponent);
}
static void TYPED(power_add)(void* result, void* const* in, const double* c, intptr_t n) {
    const T *x = (const T*)in[0], *y = (const T*)in[1];
    T* out = (T*)result;
    const int exponent = (int)c[0];
    const T b = (T)c[1];
    intptr_t i = 0;
    for (; i + 8 * WIDTH <= n; i += 8 * WIDTH) {
        const IN_MEMORY *from = (const IN_MEMORY*)(x + i), *added = (const IN_MEMORY*)(y + i);
        IN_MEMORY* to = (IN_MEMORY*)(out + i);
        VECTOR READ(from), r0, r1, r2, r3, r4, r5, r6, r7;
        RAISE(exponent)
        ADD_SCALED(b, added)
        WRITE(to)
    }
    for (; i + WIDTH <= n; i += WIDTH)
        *(IN_MEMORY*)(out + i) = TYPED(raised_vector)(*(const IN_MEMORY*)(x + i), exponent)
            + b * *(const IN_MEMORY*)(y + i);
    for (; i < n; i++) out[i] = TYPED(raised)(x[i], exponent) + b * y[i];
}

/* ---- links ------------------------------------------------------------------------------------------------------- */
#define PARAMETERS const phintys_link* at, const phintys_operands* found, intptr_t offset, VECTOR r0, VECTOR r1, \
                   VECTOR r2, VECTOR r3, VECTOR r4, VECTOR r5, VECTOR r6, VECTOR r7
typedef void (*TYPED(link_function))(PARAMETERS);
#define NEXT_LINK ((TYPED(link_function))at[1].function)(at + 1, found, offset, r0, r1, r2, r3, r4, r5, r6, r7);
#define OPERAND(K) ((IN_MEMORY*)(found->data[at->operands[K]] + (offset & found->moves[at->operands[K]])))

#define r_(ARRAY, K) r##K
#define m_(ARRAY, K) ARRAY[K]
#define LINE(K, NAME, X, Y, Z, W) r##K = VALUE_##NAME(X##_(x, K), Y##_(y, K), Z##_(z, K), W##_(w, K));
#define LINK(NAME, POSITION, X, Y, Z, W) \
static void TYPED(link_##NAME##_##POSITION)(PARAMETERS) { \
    const IN_MEMORY *x = OPERAND(0), *y = OPERAND(1), *z = OPERAND(2), *w = OPERAND(3); \
    const T a = (T)at->constants[0], b = (T)at->constants[1]; \
    (void)x; (void)y; (void)z; (void)w; (void)a; (void)b; \
    LINE(0, NAME, X, Y, Z, W) LINE(1, NAME, X, Y, Z, W) LINE(2, NAME, X, Y, Z, W) LINE(3, NAME, X, Y, Z, W) \
    LINE(4, NAME, X, Y, Z, W) LINE(5, NAME, X, Y, Z, W) LINE(6, NAME, X, Y, Z, W) LINE(7, NAME, X, Y, Z, W) \
    NEXT_LINK \
}
PHINTYS_LINKS(LINK)

static void TYPED(link_power_0)(PARAMETERS) {
    VECTOR s0 = r0, s1 = r1, s2 = r2, s3 = r3, s4 = r4, s5 = r5, s6 = r6, s7 = r7;
    RAISE((int)at->constants[0])
    NEXT_LINK
}
static void TYPED(link_power_n)(PARAMETERS) {
    const IN_MEMORY* x = OPERAND(0);
    VECTOR READ(x);
    RAISE((int)at->constants[0])
    NEXT_LINK
}
static void TYPED(link_power_add_0)(PARAMETERS) {
    const IN_MEMORY* y = OPERAND(1);
    const T b = (T)at->constants[1];
    VECTOR s0 = r0, s1 = r1, s2 = r2, s3 = r3, s4 = r4, s5 = r5, s6 = r6, s7 = r7;
    RAISE((int)at->constants[0])
    ADD_SCALED(b, y)
    NEXT_LINK
}
static void TYPED(link_power_add_n)(PARAMETERS) {
    const IN_MEMORY *x = OPERAND(0), *y = OPERAND(1);
    const T b = (T)at->constants[1];
    VECTOR READ(x);
    RAISE((int)at->constants[0])
    ADD_SCALED(b, y)
    NEXT_LINK
}

static void TYPED(link_keep_0)(PARAMETERS) { IN_MEMORY* to = OPERAND(0); WRITE(to) NEXT_LINK }
static void TYPED(link_store_0)(PARAMETERS) { IN_MEMORY* to = OPERAND(0); WRITE(to) }    /* the last link */

static void TYPED(chain)(const phintys_link* link, const phintys_operands* found, phintys_gathered* gathered,
                                 int count, intptr_t bytes) {
    const TYPED(link_function) first = (TYPED(link_function))link->function;
    const VECTOR any = {0};
    for (intptr_t offset = 0; offset < bytes; offset += 8 * SET_BYTES) {
        for (int k = 0; k < count; k++) gathered[k].gather(&gathered[k], 8 * SET_BYTES / sizeof(T));
        first(link, found, offset, any, any, any, any, any, any, any, any);
    }
#if SET_BYTES > 16
    __builtin_ia32_vzeroupper();        /* the compiler does not see that links leave the upper halves in use */
#endif
}

#undef LINK
#undef LINE
#undef m_
#undef r_
#undef OPERAND
#undef NEXT_LINK
#undef PARAMETERS
#undef ADD_SCALED
#undef WRITE
#undef READ
#undef RAISED
#undef RAISE
#undef LOOP
#undef WIDTH
#undef IN_MEMORY
#undef VECTOR
