/* Built-in inner loops with the signature of NumPy's loops: one dimension, operands with strides in bytes.
 *
 * These are the loops that NumPy's ufuncs do not provide, such as casts between every pair of types, selection, integer
 * power that cannot raise an error, and rounding half away from zero. Each family is one macro that is expanded over a
 * table of types. Only loops.pyx includes this file.
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

/* ---- copies and selection, by size of an element ----------------------------------------------------------------- */
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
/* These loops have no branch for each element: a condition that alternates costs 5 ns per misprediction. */
#define CHOOSE_LINE(YES, NO) for (i = 0; i < n; i++) { a = YES; b = NO; out[i] = VALUE_switch(condition[i], a, b); }
#define SWITCH_LOOP(SIZE, TYPE) \
PHINTYS_CLONES \
static void switch_##SIZE(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    intptr_t n = dims[0], i; \
    if (n && steps[0] == 1 && (steps[1] == SIZE || steps[1] == 0) && (steps[2] == SIZE || steps[2] == 0) \
        && steps[3] == SIZE) { \
        const uint8_t* condition = (const uint8_t*)args[0]; \
        const TYPE* yes = (const TYPE*)args[1]; const TYPE* no = (const TYPE*)args[2]; TYPE* out = (TYPE*)args[3]; \
        TYPE a, b; \
        if (steps[1] && steps[2]) CHOOSE_LINE(yes[i], no[i]) \
        else if (steps[1]) { const TYPE other = *no; CHOOSE_LINE(yes[i], other) } \
        else if (steps[2]) { const TYPE other = *yes; CHOOSE_LINE(other, no[i]) } \
        else { const TYPE first = *yes, second = *no; CHOOSE_LINE(first, second) } \
        return; \
    } \
    if (n && steps[0] == 0) {                          /* one condition for all: a copy */ \
        const int first = *(const uint8_t*)args[0] ? 1 : 2; \
        char* operands[2] = {args[first], args[3]}; \
        const intptr_t strides[2] = {steps[first], steps[3]}; \
        copy_##SIZE(operands, dims, strides, data); \
        return; \
    } \
    const char* condition = args[0]; const char* yes = args[1]; const char* no = args[2]; char* out = args[3]; \
    for (i = 0; i < n; i++, condition += steps[0], yes += steps[1], no += steps[2], out += steps[3]) \
        *(TYPE*)out = VALUE_switch(*condition, *(const TYPE*)yes, *(const TYPE*)no); \
}
SIZES(COPY_LOOP)
SIZES(SWITCH_LOOP)

#define BY_SIZE(NAME) \
static phintys_loop_function phintys_##NAME##_loop(int size) { \
    switch (size) { case 1: return NAME##_1; case 2: return NAME##_2; case 4: return NAME##_4; \
                    case 8: return NAME##_8; case 16: return NAME##_16; default: return NULL; } \
}
BY_SIZE(switch)
BY_SIZE(copy)

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

/* ---- rounding half away from zero -------------------------------------------------------------------------------- */
UNARY_LOOP(round_float16, uint16_t, uint16_t,
           phintys_to_half(FLOAT_round_half_away_from_zero(phintys_from_half(x))))
UNARY_LOOP(round_float32, float, float, FLOAT_round_half_away_from_zero(x))
UNARY_LOOP(round_float64, double, double, FLOAT_round_half_away_from_zero(x))

/* ---- the first operand, or the second where the first has overflowed to infinity --------------------------------- */
#define UNLESS_OVERFLOW(NAME, TYPE, FORMULA) \
PHINTYS_CLONES \
static void unless_overflow_##NAME(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    intptr_t n = dims[0], i; \
    if (steps[0] == (intptr_t)sizeof(TYPE) && steps[1] == steps[0] && steps[2] == steps[0]) { \
        const TYPE* value = (const TYPE*)args[0]; const TYPE* other = (const TYPE*)args[1]; \
        TYPE* out = (TYPE*)args[2]; \
        for (i = 0; i < n; i++) { TYPE a = value[i], b = other[i]; out[i] = FORMULA(a, b); } \
        return; \
    } \
    const char* value = args[0]; const char* other = args[1]; char* out = args[2]; \
    for (i = 0; i < n; i++, value += steps[0], other += steps[1], out += steps[2]) { \
        TYPE a = *(const TYPE*)value; *(TYPE*)out = FORMULA(a, *(const TYPE*)other); } \
}
#define HALF_unless_overflow(x, y) ((x) == 0x7c00 ? (y) : (x))
UNLESS_OVERFLOW(float16, uint16_t, HALF_unless_overflow)
UNLESS_OVERFLOW(float32, float, FLOAT_unless_overflow)
UNLESS_OVERFLOW(float64, double, FLOAT_unless_overflow)

/* ---- clip: limits the first operand to the range from the second to the third; NaN stays NaN --------------------- */
#define CLIP(NAME, TYPE) \
PHINTYS_CLONES \
static void clip_##NAME(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const intptr_t n = dims[0], size = sizeof(TYPE); \
    if (steps[0] == size && steps[1] == 0 && steps[2] == 0 && steps[3] == size) { \
        const TYPE* value = (const TYPE*)args[0]; TYPE* out = (TYPE*)args[3]; \
        const TYPE low = *(const TYPE*)args[1], high = *(const TYPE*)args[2]; \
        for (intptr_t i = 0; i < n; i++) { const TYPE v = value[i]; out[i] = VALUE_clip(v, low, high); } \
        return; \
    } \
    const char* value = args[0]; const char* lowest = args[1]; const char* highest = args[2]; char* out = args[3]; \
    for (intptr_t i = 0; i < n; i++, value += steps[0], lowest += steps[1], highest += steps[2], out += steps[3]) { \
        const TYPE v = *(const TYPE*)value, low = *(const TYPE*)lowest, high = *(const TYPE*)highest; \
        *(TYPE*)out = VALUE_clip(v, low, high); \
    } \
}
CLIP(int8, int8_t) CLIP(int16, int16_t) CLIP(int32, int32_t) CLIP(int64, int64_t)
CLIP(uint8, uint8_t) CLIP(uint16, uint16_t) CLIP(uint32, uint32_t) CLIP(uint64, uint64_t)
CLIP(float32, float) CLIP(float64, double)

/* ---- what NumPy has, too: its loops read and clear the processor's flags, which takes 30 ns for a few elements --- */
#define ABSOLUTE_INTEGER(NAME, TYPE) PHINTYS_CLONES \
    UNARY_LOOP(absolute_##NAME, TYPE, TYPE, WHOLE_absolute(x))
SIGNED_TYPES(ABSOLUTE_INTEGER)
PHINTYS_CLONES UNARY_LOOP(absolute_float32, float, float, FLOAT_absolute(x))
PHINTYS_CLONES UNARY_LOOP(absolute_float64, double, double, FLOAT_absolute(x))

/* The remainder has the sign of the divisor; it is 0 for the divisor 0. For a power of two it is a few bits, also of
 * negative numbers. A divisor of -1 is left out, because the quotient of the least number by it overflows. */
#define REMAINDER_ONE(TYPE, x, y, r) \
    r = 0; \
    if (y != 0 && y != (TYPE)-1) { r = x % y; if (r != 0 && (r < 0) != (y < 0)) r += y; } \
    else if (y != 0 && y > 0) r = x % y;
#define REMAINDER(NAME, TYPE) \
PHINTYS_CLONES \
static void remainder_line_##NAME(const TYPE* x, TYPE mask, TYPE* out, intptr_t n) { \
    for (intptr_t i = 0; i < n; i++) out[i] = x[i] & mask; \
} \
static void remainder_##NAME(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const intptr_t n = dims[0], size = sizeof(TYPE); \
    const char* first = args[0]; const char* second = args[1]; char* out = args[2]; \
    if (n && steps[1] == 0 && steps[0] == size && steps[2] == size) { \
        const TYPE divisor = *(const TYPE*)second; \
        if (divisor > 0 && (divisor & (divisor - 1)) == 0) { \
            remainder_line_##NAME((const TYPE*)first, divisor - 1, (TYPE*)out, n); \
            return; \
        } \
    } \
    for (intptr_t i = 0; i < n; i++, first += steps[0], second += steps[1], out += steps[2]) { \
        const TYPE x = *(const TYPE*)first, y = *(const TYPE*)second; \
        TYPE r; \
        REMAINDER_ONE(TYPE, x, y, r) \
        *(TYPE*)out = r; \
    } \
}
SIGNED_TYPES(REMAINDER)
UNSIGNED_TYPES(REMAINDER)

/* ---- functions for which NumPy has no vectorized loop ------------------------------------------------------------ */
PHINTYS_CLONES UNARY_LOOP(sign_float32, float, float, VALUE_sign(x))
PHINTYS_CLONES UNARY_LOOP(sign_float64, double, double, VALUE_sign(x))

/* Truths: NumPy's loops take ten times as long where an operand is one element. A result that is its own first operand
 * is a reduction, in which each element reads what the one before has written. */
#define TRUTH_LOOP(NAME, FORMULA) \
PHINTYS_CLONES static void NAME(char** args, const npy_intp* dims, const npy_intp* steps, void* data) { \
    const npy_intp n = dims[0], x_step = steps[0], y_step = steps[1], step = steps[2]; \
    const uint8_t *x = (const uint8_t*)args[0], *y = (const uint8_t*)args[1]; \
    uint8_t* out = (uint8_t*)args[2]; \
    if (step == 1 && x_step == 1 && y_step == 1) { \
        for (npy_intp i = 0; i < n; i++) out[i] = FORMULA(x[i], y[i]); \
    } else if (n > 0 && step == 1 && ((x_step == 1 && y_step == 0) || (x_step == 0 && y_step == 1))) { \
        const uint8_t one = x_step ? *y != 0 : *x != 0; \
        const uint8_t* many = x_step ? x : y; \
        for (npy_intp i = 0; i < n; i++) out[i] = FORMULA(many[i], one); \
    } else { \
        for (npy_intp i = 0; i < n; i++, x += x_step, y += y_step, out += step) \
            *out = FORMULA(*x, *y); \
    } \
}
TRUTH_LOOP(phintys_both, VALUE_logical_and)
TRUTH_LOOP(phintys_either, VALUE_logical_or)

/* (1 + t) / 2, where t is an odd function of h = x / 2: rational up to 1.7, linear up to 3, then constant. NaN stays
 * NaN. */
#define ULTRA_FAST_SIGMOID(NAME, TYPE, ABSOLUTE, COPYSIGN) \
static inline TYPE NAME##_value(TYPE x) { \
    const TYPE h = (TYPE)0.5 * ABSOLUTE(x); \
    const TYPE fraction = (TYPE)1.5 * h / (1 + h); \
    const TYPE line = (TYPE)0.935409070603099 + (TYPE)0.0458812946797165 * (h - (TYPE)1.7); \
    const TYPE t = h < (TYPE)1.7 ? fraction : h < 3 ? line : h >= 3 ? (TYPE)0.99505475368673 : h; \
    return (TYPE)0.5 * (COPYSIGN(t, x) + 1); \
} \
PHINTYS_CLONES UNARY_LOOP(NAME, TYPE, TYPE, NAME##_value(x))
ULTRA_FAST_SIGMOID(ultra_fast_sigmoid_float32, float, fabsf, copysignf)
ULTRA_FAST_SIGMOID(ultra_fast_sigmoid_float64, double, fabs, copysign)

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

/* ---- loops whose operands and result have one type, by name and type --------------------------------------------- */
typedef struct {
    const char* name;
    int operands;
    phintys_loop_function loops[PHINTYS_TYPES];
} phintys_own_row;
static const phintys_own_row phintys_own_rows[] = {
    {"power", 2, {[1] = power_int8, power_int16, power_int32, power_int64,
                  power_uint8, power_uint16, power_uint32, power_uint64}},
    {"remainder", 2, {[1] = remainder_int8, remainder_int16, remainder_int32, remainder_int64,
                      remainder_uint8, remainder_uint16, remainder_uint32, remainder_uint64}},
    {"absolute", 1, {[1] = absolute_int8, absolute_int16, absolute_int32, absolute_int64,
                     [10] = absolute_float32, absolute_float64}},
    {"clip", 3, {[1] = clip_int8, clip_int16, clip_int32, clip_int64, clip_uint8, clip_uint16, clip_uint32, clip_uint64,
                 [10] = clip_float32, clip_float64}},
    {"unless_overflow", 2, {[9] = unless_overflow_float16, unless_overflow_float32, unless_overflow_float64}},
    {"round_half_away_from_zero", 1, {[9] = round_float16, round_float32, round_float64}},
    {"sign", 1, {[10] = sign_float32, sign_float64}},
    {"ultra_fast_sigmoid", 1, {[10] = ultra_fast_sigmoid_float32, ultra_fast_sigmoid_float64}},
    {NULL, 0, {NULL}}};

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
