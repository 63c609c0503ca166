/* Built-in inner loops with the signature of NumPy's loops: one dimension, operands with strides in bytes.
 *
 * These are the loops that NumPy's ufuncs do not provide, such as casts between every pair of types, selection, integer
 * power that cannot raise an error, and rounding half away from zero. Each family is one macro that is expanded over a
 * table of types. What gains by wider registers is in arithmetic_loops.template.h, for each instruction set. Only
 * loops.pyx includes this file.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "native/sets.h"
#include "half_floats.h"
#include "scalar_functions.h"

typedef void (*phintys_loop_function)(char**, const intptr_t*, const intptr_t*, void*);

/* ---- tables of types: name, C type ------------------------------------------------------------------------------- */
#define SIGNED_TYPES(X) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t)
#define UNSIGNED_TYPES(X) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t)

/* name, C type, expression that reads a value, expression that makes one */
#define AS_IS(v) (v)
#define AS_BOOL(v) ((v) != 0)
#define REAL_TYPES(X, ...) \
    X(bool, uint8_t, AS_IS, AS_BOOL, __VA_ARGS__) \
    X(int8, int8_t, AS_IS, AS_IS, __VA_ARGS__) X(int16, int16_t, AS_IS, AS_IS, __VA_ARGS__) \
    X(int32, int32_t, AS_IS, AS_IS, __VA_ARGS__) X(int64, int64_t, AS_IS, AS_IS, __VA_ARGS__) \
    X(uint8, uint8_t, AS_IS, AS_IS, __VA_ARGS__) X(uint16, uint16_t, AS_IS, AS_IS, __VA_ARGS__) \
    X(uint32, uint32_t, AS_IS, AS_IS, __VA_ARGS__) X(uint64, uint64_t, AS_IS, AS_IS, __VA_ARGS__) \
    X(float16, uint16_t, phintys_from_half, phintys_to_half, __VA_ARGS__) \
    X(float32, float, AS_IS, AS_IS, __VA_ARGS__) X(float64, double, AS_IS, AS_IS, __VA_ARGS__)

/* ---- casts ------------------------------------------------------------------------------------------------------- */
#define UNARY_LOOP(NAME, IN, OUT, EXPRESSION) \
static void NAME(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    intptr_t n = dims[0], i; \
    if (steps[0] == (intptr_t)sizeof(IN) && steps[1] == (intptr_t)sizeof(OUT)) { \
        const IN* in = (const IN*)args[0]; OUT* out = (OUT*)args[1]; \
        for (i = 0; i < n; i++) { IN x = in[i]; out[i] = (OUT)(EXPRESSION); } \
        return; \
    } \
    const char* in = args[0]; char* out = args[1]; \
    for (i = 0; i < n; i++, in += steps[0], out += steps[1]) { \
        IN x = *(const IN*)in; *(OUT*)out = (OUT)(EXPRESSION); } \
}

#define CAST_REAL(TO, TO_TYPE, UNUSED, MAKE, FROM, FROM_TYPE, READ) \
    UNARY_LOOP(cast_##FROM##_##TO, FROM_TYPE, TO_TYPE, MAKE(READ(x)))
#define CAST_COMPLEX(FROM, FROM_TYPE, READ, PART, TO) \
static void cast_##FROM##_##TO(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    intptr_t n = dims[0], i; const char* in = args[0]; char* out = args[1]; \
    for (i = 0; i < n; i++, in += steps[0], out += steps[1]) { \
        PART real = (PART)READ(*(const FROM_TYPE*)in); ((PART*)out)[0] = real; ((PART*)out)[1] = 0; } \
}
#define CAST_BETWEEN_COMPLEX(FROM, FROM_PART, TO, TO_PART) \
static void cast_##FROM##_##TO(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    intptr_t n = dims[0], i; const char* in = args[0]; char* out = args[1]; \
    for (i = 0; i < n; i++, in += steps[0], out += steps[1]) { \
        TO_PART real = (TO_PART)((const FROM_PART*)in)[0], imaginary = (TO_PART)((const FROM_PART*)in)[1]; \
        ((TO_PART*)out)[0] = real; ((TO_PART*)out)[1] = imaginary; } \
}
/* The same table under a second name, because a macro is not expanded inside itself. */
#define REAL_TARGETS(FROM, TYPE, READ) \
    CAST_REAL(bool, uint8_t, , AS_BOOL, FROM, TYPE, READ) \
    CAST_REAL(int8, int8_t, , AS_IS, FROM, TYPE, READ) CAST_REAL(int16, int16_t, , AS_IS, FROM, TYPE, READ) \
    CAST_REAL(int32, int32_t, , AS_IS, FROM, TYPE, READ) CAST_REAL(int64, int64_t, , AS_IS, FROM, TYPE, READ) \
    CAST_REAL(uint8, uint8_t, , AS_IS, FROM, TYPE, READ) CAST_REAL(uint16, uint16_t, , AS_IS, FROM, TYPE, READ) \
    CAST_REAL(uint32, uint32_t, , AS_IS, FROM, TYPE, READ) CAST_REAL(uint64, uint64_t, , AS_IS, FROM, TYPE, READ) \
    CAST_REAL(float16, uint16_t, , phintys_to_half, FROM, TYPE, READ) \
    CAST_REAL(float32, float, , AS_IS, FROM, TYPE, READ) CAST_REAL(float64, double, , AS_IS, FROM, TYPE, READ)
#define CASTS_FROM(FROM, TYPE, READ, MAKE, ...) \
    REAL_TARGETS(FROM, TYPE, READ) \
    CAST_COMPLEX(FROM, TYPE, READ, float, complex64) CAST_COMPLEX(FROM, TYPE, READ, double, complex128)
REAL_TYPES(CASTS_FROM, )
CAST_BETWEEN_COMPLEX(complex64, float, complex64, float)
CAST_BETWEEN_COMPLEX(complex64, float, complex128, double)
CAST_BETWEEN_COMPLEX(complex128, double, complex64, float)
CAST_BETWEEN_COMPLEX(complex128, double, complex128, double)

enum { PHINTYS_TYPES = 14 };   /* in the order of TYPES in loops.pyx */
#define CAST_ROW(FROM, ...) { \
    cast_##FROM##_bool, cast_##FROM##_int8, cast_##FROM##_int16, cast_##FROM##_int32, cast_##FROM##_int64, \
    cast_##FROM##_uint8, cast_##FROM##_uint16, cast_##FROM##_uint32, cast_##FROM##_uint64, \
    cast_##FROM##_float16, cast_##FROM##_float32, cast_##FROM##_float64, \
    cast_##FROM##_complex64, cast_##FROM##_complex128 },
static const phintys_loop_function phintys_casts[PHINTYS_TYPES][PHINTYS_TYPES] = {
    REAL_TYPES(CAST_ROW, )
    {[12] = cast_complex64_complex64, cast_complex64_complex128},
    {[12] = cast_complex128_complex64, cast_complex128_complex128},
};

/* ---- copies, by size of an element ------------------------------------------------------------------------------- */
typedef struct { uint64_t half[2]; } sixteen_bytes;
#define SIZES(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) X(16, sixteen_bytes)

#define COPY_LOOP(SIZE, TYPE) \
static void copy_##SIZE(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    intptr_t n = dims[0], i; \
    const char* in = args[0]; char* out = args[1]; \
    if (steps[0] == SIZE && steps[1] == SIZE) { memmove(out, in, n * SIZE); return; } \
    if (n && steps[1] == SIZE && steps[0] == 0) { \
        const TYPE value = *(const TYPE*)in; \
        for (i = 0; i < n; i++) ((TYPE*)out)[i] = value; \
        return; \
    } \
    if (steps[1] == SIZE) { for (i = 0; i < n; i++, in += steps[0]) ((TYPE*)out)[i] = *(const TYPE*)in; return; } \
    for (i = 0; i < n; i++, in += steps[0], out += steps[1]) *(TYPE*)out = *(const TYPE*)in; \
}
SIZES(COPY_LOOP)

static phintys_loop_function phintys_copy_loop(int size) {
    switch (size) { case 1: return copy_1; case 2: return copy_2; case 4: return copy_4; case 8: return copy_8;
                    case 16: return copy_16; default: return NULL; }
}

/* ---- integer power: a negative exponent gives 0, except for the bases 1 and -1 ----------------------------------- */
#define INTEGER_POWER(NAME, TYPE, NEGATIVE) \
static void power_##NAME(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    intptr_t n = dims[0], i; \
    const char* x = args[0]; const char* y = args[1]; char* out = args[2]; \
    for (i = 0; i < n; i++, x += steps[0], y += steps[1], out += steps[2]) { \
        TYPE base = *(const TYPE*)x, exponent = *(const TYPE*)y; \
        uint64_t power = (uint64_t)base, left = (uint64_t)exponent, result = 1; \
        if (NEGATIVE(exponent)) { \
            result = base == 1 || (NEGATIVE(base) && (TYPE)(base + 1) == 0 && !(exponent & 1)) ? 1 \
                     : NEGATIVE(base) && (TYPE)(base + 1) == 0 ? (uint64_t)-1 : 0; \
            left = 0; \
        } \
        for (; left; left >>= 1, power *= power) if (left & 1) result *= power; \
        *(TYPE*)out = (TYPE)result; \
    } \
}
#define BELOW_ZERO(v) ((v) < 0)
#define NEVER(v) 0
#define SIGNED_POWER(NAME, TYPE) INTEGER_POWER(NAME, TYPE, BELOW_ZERO)
#define UNSIGNED_POWER(NAME, TYPE) INTEGER_POWER(NAME, TYPE, NEVER)
SIGNED_TYPES(SIGNED_POWER)
UNSIGNED_TYPES(UNSIGNED_POWER)

/* ---- complex numbers from and to their parts --------------------------------------------------------------------- */
#define COMPLEX_PARTS(NAME, PART) \
static void real_##NAME(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const char* in = args[0]; char* out = args[1]; \
    for (intptr_t i = 0; i < dims[0]; i++, in += steps[0], out += steps[1]) *(PART*)out = ((const PART*)in)[0]; \
} \
static void imag_##NAME(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const char* in = args[0]; char* out = args[1]; \
    for (intptr_t i = 0; i < dims[0]; i++, in += steps[0], out += steps[1]) *(PART*)out = ((const PART*)in)[1]; \
} \
static void complex_##NAME(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const char* real = args[0]; const char* imaginary = args[1]; char* out = args[2]; \
    for (intptr_t i = 0; i < dims[0]; i++, real += steps[0], imaginary += steps[1], out += steps[2]) { \
        PART x = *(const PART*)real, y = *(const PART*)imaginary; ((PART*)out)[0] = x; ((PART*)out)[1] = y; } \
}
COMPLEX_PARTS(complex64, float)
COMPLEX_PARTS(complex128, double)

/* Indexed by [complex64, complex128]. */
static const phintys_loop_function phintys_reals[2] = {real_complex64, real_complex128};
static const phintys_loop_function phintys_imaginaries[2] = {imag_complex64, imag_complex128};
static const phintys_loop_function phintys_complexes[2] = {complex_complex64, complex_complex128};

/* ---- loops for each instruction set ------------------------------------------------------------------------------ */
typedef struct {                        /* operands and result have one type, by which the loops are indexed */
    const char* name;
    int operands;
    phintys_loop_function loops[PHINTYS_TYPES];
} phintys_own_row;
enum { PHINTYS_OWN_ROWS = 16 };         /* at most; a row without a name ends them */
typedef struct {
    phintys_loop_function both, either;                     /* of truths */
    phintys_loop_function choose[5];                        /* by the logarithm of an element's bytes */
    phintys_loop_function casts[PHINTYS_TYPES][PHINTYS_TYPES];      /* NULL: as phintys_casts */
    phintys_own_row rows[PHINTYS_OWN_ROWS];
} phintys_arithmetic;
#define LOOPS "native/arithmetic_loops.template.h"
#include "native/each_set.h"
static const phintys_arithmetic* const phintys_arithmetics[PHINTYS_SETS] = FOR_EACH_SET(&arithmetic);

/* ---- a loop that gives another one only operands without gaps, copied in blocks where they have some -------------
 *
 * NumPy's vector loops leave operands with negative or very large strides to scalar functions, whose last bits
 * differ. So that an element's value depends on its value alone, such operands go through blocks. So does an operand
 * of two that is the same for all elements (stride 0), because NumPy squares where the exponent of all is 2.
 */
enum { PHINTYS_GAPLESS_OPERANDS = 3, PHINTYS_GAPLESS_BLOCK = 256 };

typedef struct {
    void (*function)(char**, const intptr_t*, const intptr_t*, void*);
    void* data;
    intptr_t itemsize;                  /* of every operand: 2, 4 or 8 bytes */
    int count;                          /* of operands, the result included */
} phintys_gapless;

#define PHINTYS_COPY_STEPS(TYPE) \
    for (intptr_t i = 0; i < n; i++, to += to_step, from += from_step) *(TYPE*)to = *(const TYPE*)from;
static void phintys_copy_steps(char* to, intptr_t to_step, const char* from, intptr_t from_step, intptr_t n,
                               intptr_t itemsize) {
    if (itemsize == 8) { PHINTYS_COPY_STEPS(uint64_t) }
    else if (itemsize == 4) { PHINTYS_COPY_STEPS(uint32_t) }
    else { PHINTYS_COPY_STEPS(uint16_t) }
}

static void phintys_gapless_blocks(char** args, intptr_t n, const intptr_t* steps, const phintys_gapless* loop) {
    double memory[PHINTYS_GAPLESS_OPERANDS][PHINTYS_GAPLESS_BLOCK];
    intptr_t block_steps[PHINTYS_GAPLESS_OPERANDS], size = loop->itemsize;
    int result = loop->count - 1, k;
    for (k = 0; k <= result; k++) block_steps[k] = size;
    for (intptr_t start = 0; start < n; start += PHINTYS_GAPLESS_BLOCK) {
        intptr_t count = n - start < PHINTYS_GAPLESS_BLOCK ? n - start : PHINTYS_GAPLESS_BLOCK;
        char* operands[PHINTYS_GAPLESS_OPERANDS];       /* made anew: a loop may move its pointers */
        for (k = 0; k <= result; k++) {
            operands[k] = args[k] + start * steps[k];
            if (steps[k] == size) continue;
            if (k < result) phintys_copy_steps((char*)memory[k], size, operands[k], steps[k], count, size);
            operands[k] = (char*)memory[k];
        }
        loop->function(operands, &count, block_steps, loop->data);
        if (steps[result] != size)
            phintys_copy_steps(args[result] + start * steps[result], steps[result], (char*)memory[result], size, count,
                               size);
    }
}

static void phintys_gapless_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
    const phintys_gapless* loop = (const phintys_gapless*)data;
    int k, gapless = 1;
    for (k = 0; k < loop->count; k++) gapless &= steps[k] == loop->itemsize;
    if (gapless || (loop->count == 2 && dims[0] == 1)) loop->function(args, dims, steps, loop->data);
    else phintys_gapless_blocks(args, dims[0], steps, loop);
}
