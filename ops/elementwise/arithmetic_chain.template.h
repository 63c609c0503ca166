/* Loops and links of arithmetic_tree_loops.h for one type T and one instruction set: FOR_SET is what functions for it
 * are declared with, VECTOR_BYTES the width of its registers.
 *
 * A link computes eight vectors, a tile, from those that the link before left in registers and from arrays. Then it
 * jumps to the next link; the compiler makes a jump of a call that is all that is left to do. Eight vectors are as many
 * as functions pass in registers, and enough to hide the latency of an operation and the jump.
 */
#define NAMED(NAME) PHINTYS_NAMED(PHINTYS_NAMED(NAME, T), SET)
#define VECTOR NAMED(vector)
#define IN_MEMORY NAMED(in_memory)
typedef T VECTOR __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef T IN_MEMORY __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));

/* ---- loops over arrays ------------------------------------------------------------------------------------------- */
#define LOOP(NAME) \
FOR_SET static void NAMED(NAME)(void* result, void* const* in, const double* c, intptr_t n) { \
    const T* x = (const T*)in[0]; const T* y = (const T*)in[1]; \
    const T* z = (const T*)in[2]; const T* w = (const T*)in[3]; \
    T* out = (T*)result; \
    const T a = (T)c[0], b = (T)c[1]; \
    (void)x; (void)y; (void)z; (void)w; (void)a; (void)b; \
    PHINTYS_VECTORIZE \
    for (intptr_t i = 0; i < n; i++) out[i] = VALUE_##NAME(x[i], y[i], z[i], w[i]); \
}
PHINTYS_OPERATIONS(LOOP)

/* Four vectors, named s0 to s3 and p0 to p3, to an integer power above 1 by repeated squaring: p becomes the power of
 * s. All stays in registers, and the four independent chains hide the latency of multiplication. */
#define RAISE(EXPONENT) { \
    int left = (EXPONENT), started = left & 1; \
    p0 = s0; p1 = s1; p2 = s2; p3 = s3; \
    for (left >>= 1; left; left >>= 1) { \
        s0 *= s0; s1 *= s1; s2 *= s2; s3 *= s3; \
        if (!(left & 1)) continue; \
        if (started) { p0 *= s0; p1 *= s1; p2 *= s2; p3 *= s3; } \
        else { p0 = s0; p1 = s1; p2 = s2; p3 = s3; started = 1; } \
    } \
}
FOR_SET static void NAMED(power)(void* result, void* const* in, const double* c, intptr_t n) {
    enum { WIDTH = VECTOR_BYTES / sizeof(T) };
    const T* x = (const T*)in[0];
    T* out = (T*)result;
    const int exponent = (int)c[0];
    intptr_t i = 0;
    for (; i + 4 * WIDTH <= n; i += 4 * WIDTH) {
        const IN_MEMORY* at = (const IN_MEMORY*)(x + i);
        IN_MEMORY* to = (IN_MEMORY*)(out + i);
        VECTOR s0 = at[0], s1 = at[1], s2 = at[2], s3 = at[3], p0, p1, p2, p3;
        RAISE(exponent)
        to[0] = p0; to[1] = p1; to[2] = p2; to[3] = p3;
    }
    for (; i < n; i++) {
        int left = exponent;
        T square = x[i], power = left & 1 ? square : 1;
        for (left >>= 1; left; left >>= 1) { square *= square; if (left & 1) power *= square; }
        out[i] = power;
    }
}

/* ---- links ------------------------------------------------------------------------------------------------------- */
#define PARAMETERS const phintys_link* at, const phintys_place* places, intptr_t offset, VECTOR r0, VECTOR r1, \
                   VECTOR r2, VECTOR r3, VECTOR r4, VECTOR r5, VECTOR r6, VECTOR r7
typedef void (*NAMED(link_function))(PARAMETERS);
#define NEXT_LINK ((NAMED(link_function))at[1].function)(at + 1, places, offset, r0, r1, r2, r3, r4, r5, r6, r7);
#define OPERAND(K) ((IN_MEMORY*)(places[at->operands[K]].data + (offset & places[at->operands[K]].moves)))

#define r_(ARRAY, K) r##K
#define m_(ARRAY, K) ARRAY[K]
#define LINE(K, NAME, X, Y, Z, W) r##K = VALUE_##NAME(X##_(x, K), Y##_(y, K), Z##_(z, K), W##_(w, K));
#define LINK(NAME, POSITION, X, Y, Z, W) \
FOR_SET static void NAMED(link_##NAME##_##POSITION)(PARAMETERS) { \
    const IN_MEMORY *x = OPERAND(0), *y = OPERAND(1), *z = OPERAND(2), *w = OPERAND(3); \
    const T a = (T)at->constants[0], b = (T)at->constants[1]; \
    (void)x; (void)y; (void)z; (void)w; (void)a; (void)b; \
    LINE(0, NAME, X, Y, Z, W) LINE(1, NAME, X, Y, Z, W) LINE(2, NAME, X, Y, Z, W) LINE(3, NAME, X, Y, Z, W) \
    LINE(4, NAME, X, Y, Z, W) LINE(5, NAME, X, Y, Z, W) LINE(6, NAME, X, Y, Z, W) LINE(7, NAME, X, Y, Z, W) \
    NEXT_LINK \
}
PHINTYS_LINKS(LINK)

FOR_SET static void NAMED(link_power_0)(PARAMETERS) {
    const int exponent = (int)at->constants[0];
    VECTOR s0 = r0, s1 = r1, s2 = r2, s3 = r3, p0, p1, p2, p3;
    RAISE(exponent)
    r0 = p0; r1 = p1; r2 = p2; r3 = p3;
    s0 = r4; s1 = r5; s2 = r6; s3 = r7;
    RAISE(exponent)
    r4 = p0; r5 = p1; r6 = p2; r7 = p3;
    NEXT_LINK
}
FOR_SET static void NAMED(link_power_n)(PARAMETERS) {
    const IN_MEMORY* x = OPERAND(0);
    NAMED(link_power_0)(at, places, offset, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
}

#define WRITE { \
    IN_MEMORY* to = OPERAND(0); \
    to[0] = r0; to[1] = r1; to[2] = r2; to[3] = r3; to[4] = r4; to[5] = r5; to[6] = r6; to[7] = r7; \
}
FOR_SET static void NAMED(link_keep_0)(PARAMETERS) { WRITE NEXT_LINK }
FOR_SET static void NAMED(link_store_0)(PARAMETERS) { WRITE }           /* the last link */

FOR_SET static void NAMED(chain)(const phintys_link* link, const phintys_place* places, phintys_gathered* gathered,
                                 int count, intptr_t bytes) {
    const NAMED(link_function) first = (NAMED(link_function))link->function;
    const VECTOR any = {0};
    for (intptr_t offset = 0; offset < bytes; offset += 8 * VECTOR_BYTES) {
        for (int k = 0; k < count; k++) gathered[k].gather(&gathered[k], 8 * VECTOR_BYTES / sizeof(T));
        first(link, places, offset, any, any, any, any, any, any, any, any);
    }
#if VECTOR_BYTES > 16
    __builtin_ia32_vzeroupper();        /* the compiler does not see that links leave the upper halves in use */
#endif
}

#undef WRITE
#undef LINK
#undef LINE
#undef m_
#undef r_
#undef OPERAND
#undef NEXT_LINK
#undef PARAMETERS
#undef RAISE
#undef LOOP
#undef IN_MEMORY
#undef VECTOR
#undef NAMED
