/* The loops of arithmetic_loops.h that gain by wider registers, for one instruction set; each_set.h includes this file.
 * Each family is a macro that is expanded over a table of types; the table at the end is what loops.pyx finds. An
 * element's result depends on its operands alone, so the bits are the same with each set.
 */

/* ---- casts between numbers of 4 and 8 bytes ---------------------------------------------------------------------- */
/* Measured, 1,000 elements: int64 to float64 takes 0.19 of the baseline's time with AVX-512, float64 to float32 0.5
 * with AVX2. Narrower numbers gain nothing: int8 to int64 takes 1.4 times as long with AVX2. What an unsigned integer
 * cannot hold of a float becomes what the baseline's instructions make of it, as in NumPy: these casts stay there. */
#define CAST(FROM, FROM_TYPE, TO, TO_TYPE) UNARY_LOOP(IN_SET(cast_##FROM##_##TO), FROM_TYPE, TO_TYPE, x)
#define CASTS(FROM, FROM_TYPE) CAST(FROM, FROM_TYPE, int32, int32_t) CAST(FROM, FROM_TYPE, int64, int64_t) \
    CAST(FROM, FROM_TYPE, float32, float) CAST(FROM, FROM_TYPE, float64, double)
CASTS(int32, int32_t) CASTS(int64, int64_t) CASTS(uint32, uint32_t) CASTS(uint64, uint64_t)
CASTS(float32, float) CASTS(float64, double)

/* ---- selection: one of two, by a condition ----------------------------------------------------------------------- */
/* These loops have no branch for each element: a condition that alternates costs 5 ns per misprediction. */
#define CHOOSE_LINE(YES, NO) for (i = 0; i < n; i++) { a = YES; b = NO; out[i] = VALUE_switch(condition[i], a, b); }
#define SWITCH_LOOP(SIZE, TYPE) \
static void IN_SET(switch_##SIZE)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
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
SIZES(SWITCH_LOOP)

/* ---- rounding half away from zero -------------------------------------------------------------------------------- */
UNARY_LOOP(IN_SET(round_float16), uint16_t, uint16_t,
           phintys_to_half(FLOAT_round_half_away_from_zero(phintys_from_half(x))))
UNARY_LOOP(IN_SET(round_float32), float, float, FLOAT_round_half_away_from_zero(x))
UNARY_LOOP(IN_SET(round_float64), double, double, FLOAT_round_half_away_from_zero(x))

/* ---- the first operand, or the second where the first has overflowed to infinity --------------------------------- */
#define UNLESS_OVERFLOW(NAME, TYPE, FORMULA) \
static void IN_SET(unless_overflow_##NAME)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
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
static void IN_SET(clip_##NAME)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
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
#define ABSOLUTE_INTEGER(NAME, TYPE) UNARY_LOOP(IN_SET(absolute_##NAME), TYPE, TYPE, WHOLE_absolute(x))
SIGNED_TYPES(ABSOLUTE_INTEGER)
UNARY_LOOP(IN_SET(absolute_float32), float, float, FLOAT_absolute(x))
UNARY_LOOP(IN_SET(absolute_float64), double, double, FLOAT_absolute(x))

/* The remainder has the sign of the divisor; it is 0 for the divisor 0. For a power of two it is a few bits, also of
 * negative numbers. A divisor of -1 is left out, because the quotient of the least number by it overflows. */
#define REMAINDER_ONE(TYPE, x, y, r) \
    r = 0; \
    if (y != 0 && y != (TYPE)-1) { r = x % y; if (r != 0 && (r < 0) != (y < 0)) r += y; } \
    else if (y != 0 && y > 0) r = x % y;
#define REMAINDER(NAME, TYPE) \
static void IN_SET(remainder_line_##NAME)(const TYPE* x, TYPE mask, TYPE* out, intptr_t n) { \
    for (intptr_t i = 0; i < n; i++) out[i] = x[i] & mask; \
} \
static void IN_SET(remainder_##NAME)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const intptr_t n = dims[0], size = sizeof(TYPE); \
    const char* first = args[0]; const char* second = args[1]; char* out = args[2]; \
    if (n && steps[1] == 0 && steps[0] == size && steps[2] == size) { \
        const TYPE divisor = *(const TYPE*)second; \
        if (divisor > 0 && (divisor & (divisor - 1)) == 0) { \
            IN_SET(remainder_line_##NAME)((const TYPE*)first, divisor - 1, (TYPE*)out, n); \
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
UNARY_LOOP(IN_SET(sign_float32), float, float, VALUE_sign(x))
UNARY_LOOP(IN_SET(sign_float64), double, double, VALUE_sign(x))

/* Truths: NumPy's loops take ten times as long where an operand is one element. A result that is its own first operand
 * is a reduction, in which each element reads what the one before has written. */
#define TRUTH_LOOP(NAME, FORMULA) \
static void IN_SET(NAME)(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    const intptr_t n = dims[0], x_step = steps[0], y_step = steps[1], step = steps[2]; \
    const uint8_t *x = (const uint8_t*)args[0], *y = (const uint8_t*)args[1]; \
    uint8_t* out = (uint8_t*)args[2]; \
    if (step == 1 && x_step == 1 && y_step == 1) { \
        for (intptr_t i = 0; i < n; i++) out[i] = FORMULA(x[i], y[i]); \
    } else if (n > 0 && step == 1 && ((x_step == 1 && y_step == 0) || (x_step == 0 && y_step == 1))) { \
        const uint8_t one = x_step ? *y != 0 : *x != 0; \
        const uint8_t* many = x_step ? x : y; \
        for (intptr_t i = 0; i < n; i++) out[i] = FORMULA(many[i], one); \
    } else { \
        for (intptr_t i = 0; i < n; i++, x += x_step, y += y_step, out += step) \
            *out = FORMULA(*x, *y); \
    } \
}
TRUTH_LOOP(both, VALUE_logical_and)
TRUTH_LOOP(either, VALUE_logical_or)

/* (1 + t) / 2, where t is an odd function of h = x / 2: rational up to 1.7, linear up to 3, then constant. NaN stays
 * NaN. */
#define ULTRA_FAST_SIGMOID(NAME, TYPE, ABSOLUTE, COPYSIGN) \
static inline TYPE IN_SET(NAME##_value)(TYPE x) { \
    const TYPE h = (TYPE)0.5 * ABSOLUTE(x); \
    const TYPE fraction = (TYPE)1.5 * h / (1 + h); \
    const TYPE line = (TYPE)0.935409070603099 + (TYPE)0.0458812946797165 * (h - (TYPE)1.7); \
    const TYPE t = h < (TYPE)1.7 ? fraction : h < 3 ? line : h >= 3 ? (TYPE)0.99505475368673 : h; \
    return (TYPE)0.5 * (COPYSIGN(t, x) + 1); \
} \
UNARY_LOOP(IN_SET(NAME), TYPE, TYPE, IN_SET(NAME##_value)(x))
ULTRA_FAST_SIGMOID(ultra_fast_sigmoid_float32, float, fabsf, copysignf)
ULTRA_FAST_SIGMOID(ultra_fast_sigmoid_float64, double, fabs, copysign)

/* ---- the table --------------------------------------------------------------------------------------------------- */
#define OF_TYPE(NAME, TYPE) IN_SET(NAME##_##TYPE)
#define OF_INTEGERS(NAME) OF_TYPE(NAME, int8), OF_TYPE(NAME, int16), OF_TYPE(NAME, int32), OF_TYPE(NAME, int64), \
    OF_TYPE(NAME, uint8), OF_TYPE(NAME, uint16), OF_TYPE(NAME, uint32), OF_TYPE(NAME, uint64)
#define OF_FLOATS(NAME) OF_TYPE(NAME, float32), OF_TYPE(NAME, float64)
#define OF_CASTS(FROM) {[3] = OF_TYPE(cast, FROM##_int32), OF_TYPE(cast, FROM##_int64), \
                        [10] = OF_TYPE(cast, FROM##_float32), OF_TYPE(cast, FROM##_float64)}
static const phintys_arithmetic IN_SET(arithmetic) = {
    .both = IN_SET(both), .either = IN_SET(either),
    .choose = {IN_SET(switch_1), IN_SET(switch_2), IN_SET(switch_4), IN_SET(switch_8), IN_SET(switch_16)},
    .casts = {[3] = OF_CASTS(int32), OF_CASTS(int64), [7] = OF_CASTS(uint32), OF_CASTS(uint64),
              [10] = OF_CASTS(float32), OF_CASTS(float64)},
    .rows = {
        {"power", 2, {[1] = power_int8, power_int16, power_int32, power_int64,
                      power_uint8, power_uint16, power_uint32, power_uint64}},
        {"remainder", 2, {[1] = OF_INTEGERS(remainder)}},
        {"absolute", 1, {[1] = OF_TYPE(absolute, int8), OF_TYPE(absolute, int16), OF_TYPE(absolute, int32),
                         OF_TYPE(absolute, int64), [10] = OF_FLOATS(absolute)}},
        {"clip", 3, {[1] = OF_INTEGERS(clip), [10] = OF_FLOATS(clip)}},
        {"unless_overflow", 2, {[9] = OF_TYPE(unless_overflow, float16), OF_FLOATS(unless_overflow)}},
        {"round_half_away_from_zero", 1, {[9] = OF_TYPE(round, float16), OF_FLOATS(round)}},
        {"sign", 1, {[10] = OF_FLOATS(sign)}},
        {"ultra_fast_sigmoid", 1, {[10] = OF_FLOATS(ultra_fast_sigmoid)}}}};
