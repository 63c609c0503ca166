/* A machine for single numbers: elementwise kernels of one element, and loops whose values are all of rank 0.
 *
 * Values are in registers of 16 bytes, which the caller provides. Each instruction ends with a jump to the
 * next one's code (computed goto), so that the processor predicts each jump by itself. Arithmetic is that of arithmetic
 * trees, operation by operation; what has no instruction calls the loop of a ufunc for one element. So a step gives the
 * same bits as the loops whose work it does. Only register_code.pyx runs the machine; what cimports it needs the types.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "elementwise/arithmetic_operations.h"

enum { PHINTYS_REGISTER_BYTES = 16, PHINTYS_CALL_OPERANDS = 32 };

typedef void (*phintys_loop)(char**, const intptr_t*, const intptr_t*, void*);
typedef struct {
    phintys_loop function;
    void* data;
    int count;                              /* of the operands, the result included */
    int registers[PHINTYS_CALL_OPERANDS];   /* offsets in bytes */
    intptr_t sizes[PHINTYS_CALL_OPERANDS];
} phintys_call;

typedef struct {
    const void* label;
    int out, x, y, z, w;                    /* offsets of registers in bytes, or numbers of lanes */
    int unused;
    double a, b;
    const phintys_call* call;
} phintys_register_instruction;

typedef int8_t phintys_bool;

/* Instructions as X(name, type, the dtypes that are looked up, type of the result, value). */
#define PHINTYS_ARITHMETIC(X, NAME, VALUE) \
    X(NAME, double, "float64", double, VALUE) X(NAME, float, "float32", float, VALUE)
#define PHINTYS_TREE_OPERATION(X, NAME) PHINTYS_ARITHMETIC(X, tree_##NAME, VALUE_##NAME(x[i], y[i], z[i], w[i]))
#define PHINTYS_COMPARISON(X, NAME) \
    X(NAME, double, "float64", phintys_bool, VALUE_##NAME(x[i], y[i])) \
    X(NAME, float, "float32", phintys_bool, VALUE_##NAME(x[i], y[i])) \
    X(NAME, int64_t, "int64", phintys_bool, VALUE_##NAME(x[i], y[i])) \
    X(NAME, int32_t, "int32", phintys_bool, VALUE_##NAME(x[i], y[i])) \
    X(NAME, int8_t, "int8", phintys_bool, VALUE_##NAME(x[i], y[i]))
/* Of integers of any sign: unsigned ones wrap. */
#define PHINTYS_INTEGER(X, NAME, FORMULA) \
    X(NAME, uint64_t, "int64", uint64_t, FORMULA(x[i], y[i])) \
    X(NAME, uint32_t, "int32", uint32_t, FORMULA(x[i], y[i])) \
    X(NAME, uint8_t, "int8", uint8_t, FORMULA(x[i], y[i]))
#define PHINTYS_CAST(X, NAME, TYPE, FROM) \
    X(NAME##_to_double, TYPE, FROM " float64", double, x[i]) X(NAME##_to_float, TYPE, FROM " float32", float, x[i])

#define PHINTYS_COMPUTING(X) \
    PHINTYS_COMPARISON(X, less) PHINTYS_COMPARISON(X, less_equal) PHINTYS_COMPARISON(X, greater) \
    PHINTYS_COMPARISON(X, greater_equal) PHINTYS_COMPARISON(X, equal) PHINTYS_COMPARISON(X, not_equal) \
    PHINTYS_INTEGER(X, add, VALUE_add) PHINTYS_INTEGER(X, subtract, VALUE_subtract) \
    PHINTYS_INTEGER(X, multiply, VALUE_multiply) PHINTYS_INTEGER(X, bitwise_and, WHOLE_bitwise_and) \
    PHINTYS_INTEGER(X, bitwise_or, WHOLE_bitwise_or) PHINTYS_INTEGER(X, bitwise_xor, WHOLE_bitwise_xor) \
    X(logical_and, int8_t, "bool", phintys_bool, VALUE_logical_and(x[i], y[i])) \
    X(logical_or, int8_t, "bool", phintys_bool, VALUE_logical_or(x[i], y[i])) \
    X(logical_xor, int8_t, "bool", phintys_bool, VALUE_logical_xor(x[i], y[i])) \
    X(logical_not, int8_t, "bool", phintys_bool, VALUE_logical_not(x[i])) \
    X(bitwise_and, phintys_bool, "bool", phintys_bool, VALUE_logical_and(x[i], y[i])) \
    X(bitwise_or, phintys_bool, "bool", phintys_bool, VALUE_logical_or(x[i], y[i])) \
    X(sqrt, double, "float64", double, FLOAT_sqrt(x[i])) X(sqrt, float, "float32", float, FLOAT_sqrt(x[i])) \
    X(absolute, double, "float64", double, FLOAT_absolute(x[i])) \
    X(absolute, float, "float32", float, FLOAT_absolute(x[i])) \
    PHINTYS_CAST(X, cast_int64, int64_t, "int64") PHINTYS_CAST(X, cast_int32, int32_t, "int32") \
    PHINTYS_CAST(X, cast_int8, int8_t, "int8") PHINTYS_CAST(X, cast_bool, int8_t, "bool") \
    PHINTYS_CAST(X, cast_uint8, uint8_t, "uint8") \
    X(cast_float_to_double, float, "float32 float64", double, x[i]) \
    X(cast_double_to_float, double, "float64 float32", float, x[i]) \
    X(cast_int8_to_int64, int8_t, "int8 int64", int64_t, x[i]) \
    X(cast_bool_to_int64, int8_t, "bool int64", int64_t, x[i]) \
    X(cast_int32_to_int64, int32_t, "int32 int64", int64_t, x[i]) \
    X(cast_int64_to_int32, int64_t, "int64 int32", int32_t, (int32_t)x[i])

typedef struct { uint64_t half[2]; } phintys_pair;
#define PHINTYS_SIZES(X) \
    X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) X(16, phintys_pair)

/* The names of all instructions; the labels of their code are in the same order. */
#define PHINTYS_TITLE(NAME, TYPE, DTYPES, RESULT, VALUE) #NAME " " DTYPES,
#define PHINTYS_TITLE_TREE(NAME) PHINTYS_TREE_OPERATION(PHINTYS_TITLE, NAME)
#define PHINTYS_TITLE_SIZE(SIZE, TYPE) "load " #SIZE, "store " #SIZE, "move " #SIZE, "choose " #SIZE,
static const char* const phintys_register_names[] = {
    PHINTYS_OPERATIONS(PHINTYS_TITLE_TREE)
    PHINTYS_COMPUTING(PHINTYS_TITLE)
    PHINTYS_SIZES(PHINTYS_TITLE_SIZE)
    "tree_power float64", "tree_power float32", "tree_power_add float64", "tree_power_add float32", "call",
    "stop 1", "stop 2", "stop 4", "stop 8", "stop float32", "stop float64", "end", 0
};

/* x to an integer power above 1, as a tree computes it for the last elements. */
#define PHINTYS_REGISTER_POWER(TYPE) \
static inline TYPE phintys_register_power_##TYPE(TYPE x, int left) { \
    TYPE square = x, power = left & 1 ? square : 1; \
    for (left >>= 1; left; left >>= 1) { square *= square; if (left & 1) power *= square; } \
    return power; \
}
PHINTYS_REGISTER_POWER(double)
PHINTYS_REGISTER_POWER(float)

static inline void phintys_call_loop_once(const phintys_call* call, char* registers) {
    char* arguments[PHINTYS_CALL_OPERANDS];
    const intptr_t one = 1;
    for (int k = 0; k < call->count; k++) arguments[k] = registers + call->registers[k];
    call->function(arguments, &one, call->sizes, call->data);
}

/* The address for this step; the lane goes on to the next. */
static inline char* phintys_move_on(phintys_lane* lane) {
    char* data = lane->data;
    char* next = data + lane->stride;
    lane->data = next == lane->end ? lane->begin : next;
    return data;
}

#define PHINTYS_TYPED(TYPE) TYPE __attribute__((may_alias))
#define PHINTYS_AT(TYPE, OFFSET) ((PHINTYS_TYPED(TYPE)*)(registers + at->OFFSET))
#define PHINTYS_NEXT at++; goto *at->label
#define PHINTYS_COMPUTE(NAME, TYPE, DTYPES, RESULT, VALUE) \
    label_##NAME##_##TYPE: { \
        typedef PHINTYS_TYPED(TYPE) value; \
        enum { i = 0 }; \
        const value *x = PHINTYS_AT(TYPE, x), *y = PHINTYS_AT(TYPE, y); \
        const value *z = PHINTYS_AT(TYPE, z), *w = PHINTYS_AT(TYPE, w); \
        const value a = (TYPE)at->a, b = (TYPE)at->b; \
        (void)x; (void)y; (void)z; (void)w; (void)a; (void)b; \
        *PHINTYS_AT(RESULT, out) = VALUE; \
        PHINTYS_NEXT; \
    }
#define PHINTYS_COMPUTE_TREE(NAME) PHINTYS_TREE_OPERATION(PHINTYS_COMPUTE, NAME)
#define PHINTYS_MOVE_SIZE(SIZE, TYPE) \
    label_load_##SIZE: { \
        const char* data = phintys_move_on(lanes + at->x); \
        *PHINTYS_AT(TYPE, out) = *(const PHINTYS_TYPED(TYPE)*)data; \
        PHINTYS_NEXT; \
    } \
    label_store_##SIZE: { \
        char* data = phintys_move_on(lanes + at->out); \
        *(PHINTYS_TYPED(TYPE)*)data = *PHINTYS_AT(TYPE, x); \
        PHINTYS_NEXT; \
    } \
    label_move_##SIZE: \
        *PHINTYS_AT(TYPE, out) = *PHINTYS_AT(TYPE, x); \
        PHINTYS_NEXT; \
    label_choose_##SIZE: \
        *PHINTYS_AT(TYPE, out) = VALUE_switch(*PHINTYS_AT(int8_t, x), *PHINTYS_AT(TYPE, y), *PHINTYS_AT(TYPE, z)); \
        PHINTYS_NEXT;
#define PHINTYS_STOP(NAME, TYPE) \
    label_stop_##NAME: \
        if (*PHINTYS_AT(TYPE, x) != 0) { \
            run->stopped = 1; \
            left--; \
            goto finished; \
        } \
        PHINTYS_NEXT;

#define PHINTYS_REGISTER_POWERS(TYPE) \
    label_power_##TYPE: \
        *PHINTYS_AT(TYPE, out) = phintys_register_power_##TYPE(*PHINTYS_AT(TYPE, x), (int)at->a); \
        PHINTYS_NEXT; \
    label_power_add_##TYPE: \
        *PHINTYS_AT(TYPE, out) = phintys_register_power_##TYPE(*PHINTYS_AT(TYPE, x), (int)at->a) \
                                 + (TYPE)at->b * *PHINTYS_AT(TYPE, y); \
        PHINTYS_NEXT;

#define PHINTYS_LABEL(NAME, TYPE, DTYPES, RESULT, VALUE) &&label_##NAME##_##TYPE,
#define PHINTYS_LABEL_TREE(NAME) PHINTYS_TREE_OPERATION(PHINTYS_LABEL, NAME)
#define PHINTYS_LABEL_SIZE(SIZE, TYPE) &&label_load_##SIZE, &&label_store_##SIZE, &&label_move_##SIZE, \
    &&label_choose_##SIZE,

/* Do steps until there are enough of them, or the condition holds. Without code: returns the labels, by number. */
static const void* const* phintys_register_machine(const phintys_register_instruction* code, char* restrict registers,
                                                 phintys_scalar_steps* run) {
    static const void* const labels[] = {
        PHINTYS_OPERATIONS(PHINTYS_LABEL_TREE)
        PHINTYS_COMPUTING(PHINTYS_LABEL)
        PHINTYS_SIZES(PHINTYS_LABEL_SIZE)
        &&label_power_double, &&label_power_float, &&label_power_add_double, &&label_power_add_float, &&label_call_loop,
        &&label_stop_1, &&label_stop_2, &&label_stop_4, &&label_stop_8, &&label_stop_float, &&label_stop_double,
        &&label_end
    };
    _Static_assert(sizeof(labels) + sizeof(labels[0]) == sizeof(phintys_register_names), "a label for each name");
    const phintys_register_instruction* at = code;
    phintys_lane* lanes;
    intptr_t left;
    if (code == 0) return labels;
    lanes = run->lanes;
    left = run->steps;
    goto *at->label;

    PHINTYS_OPERATIONS(PHINTYS_COMPUTE_TREE)
    PHINTYS_COMPUTING(PHINTYS_COMPUTE)
    PHINTYS_SIZES(PHINTYS_MOVE_SIZE)
    PHINTYS_REGISTER_POWERS(double)
    PHINTYS_REGISTER_POWERS(float)
    label_call_loop:
        phintys_call_loop_once(at->call, registers);
        PHINTYS_NEXT;
    PHINTYS_STOP(1, int8_t)
    PHINTYS_STOP(2, int16_t)
    PHINTYS_STOP(4, int32_t)
    PHINTYS_STOP(8, int64_t)
    PHINTYS_STOP(float, float)
    PHINTYS_STOP(double, double)
    label_end:
        if (--left == 0) goto finished;
        at = code;
        goto *at->label;
finished:
    run->done = run->steps - left;
    return 0;
}
