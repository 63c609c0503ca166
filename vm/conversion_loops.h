/* Casts of contiguous numbers that check each value.
 *
 * A cast returns 1 if `to` has all values, and 0 if only `Type.filter` can decide. With `exact`, every value must be
 * unchanged by the comparison in `TensorType.values_eq`: an integer and a float are compared as float64, and NaN equals
 * NaN. Without it, integers wrap around as in NumPy. A float must lie in the range of the integers it is cast to,
 * because other casts are undefined in C. Numbers are read as int64, float64 and complex128, the NumPy types of
 * Python's numbers. Casts of float arrays are here, too, because NumPy's check the floating-point flags and may warn,
 * even about a signalling NaN that becomes float64, and on ARM about any NaN of float16.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int (*phintys_cast)(const void* from, void* to, npy_intp count, int exact);

/* Whether the magnitude of all values is below `bound`, a power of two, and no value is negative unless that is
 * allowed. The bits of a float grow with its magnitude, and those of NaN are above all others; differences of bits can
 * be computed with vector instructions on every processor (100,000 values: 12 us; comparing them as floats: 85 us). */
#define PHINTYS_ALL_BELOW(NAME, FLOAT, BITS, SIGN)                                                                     \
    static int NAME(const void* from, npy_intp count, FLOAT bound, int may_be_negative) {                              \
        const FLOAT* read = (const FLOAT*)from;                                                                        \
        BITS limit, bits, below = SIGN, signs = 0;                                                                     \
        npy_intp index;                                                                                                \
        memcpy(&limit, &bound, sizeof limit);                                                                          \
        for (index = 0; index < count; index++) {                                                                      \
            memcpy(&bits, &read[index], sizeof bits);                                                                  \
            signs |= bits;                                                                                             \
            below &= (bits & ~SIGN) - limit;                                                                           \
        }                                                                                                              \
        return (below & SIGN) && (may_be_negative || !(signs & SIGN));                                                 \
    }

PHINTYS_ALL_BELOW(phintys_all_below_float64, double, uint64_t, 0x8000000000000000u)
PHINTYS_ALL_BELOW(phintys_all_below_float32, float, uint32_t, 0x80000000u)

/* Works in blocks that fit in the L1 cache. The loops have no early exit, so that the compiler can vectorize them. */
#define PHINTYS_BLOCK 1024
#define PHINTYS_CAST(NAME, FROM, TO, IS_KEPT, ARE_DEFINED)                                                             \
    static int NAME(const void* from, void* to, npy_intp count, int exact) {                                           \
        const FROM* restrict read = (const FROM*)from;                                                                 \
        TO* restrict write = (TO*)to;                                                                                  \
        int kept = 1;                                                                                                  \
        npy_intp index;                                                                                                \
        for (; count > 0; count -= PHINTYS_BLOCK, read += PHINTYS_BLOCK, write += PHINTYS_BLOCK) {                     \
            const npy_intp length = count < PHINTYS_BLOCK ? count : PHINTYS_BLOCK;                                     \
            if (!(ARE_DEFINED)) return 0;                                                                              \
            for (index = 0; index < length; index++) write[index] = (TO)read[index];                                   \
            if (exact)                                                                                                 \
                for (index = 0; index < length; index++) {                                                             \
                    const FROM value = read[index];                                                                    \
                    (void)value;                                                                                       \
                    kept &= (IS_KEPT);                                                                                 \
                }                                                                                                      \
        }                                                                                                              \
        return kept;                                                                                                   \
    }

#define PHINTYS_CAST_TO_INTEGER(SUFFIX, TYPE, BOUND, IS_SIGNED)                                                        \
    PHINTYS_CAST(phintys_int64_to_##SUFFIX, int64_t, TYPE,                                                             \
                 ((int64_t)(TYPE)value == value) & (((TYPE)value < 0) == (value < 0)), 1)                              \
    PHINTYS_CAST(phintys_float64_to_##SUFFIX, double, TYPE, value == trunc(value),                                     \
                 phintys_all_below_float64(read, length, BOUND, IS_SIGNED))                                            \
    PHINTYS_CAST(phintys_float32_to_##SUFFIX, float, TYPE, value == truncf(value),                                     \
                 phintys_all_below_float32(read, length, BOUND, IS_SIGNED))

PHINTYS_CAST_TO_INTEGER(int8, int8_t, 128.0f, 1)
PHINTYS_CAST_TO_INTEGER(int16, int16_t, 32768.0f, 1)
PHINTYS_CAST_TO_INTEGER(int32, int32_t, 2147483648.0f, 1)
PHINTYS_CAST_TO_INTEGER(int64, int64_t, 9223372036854775808.0f, 1)
PHINTYS_CAST_TO_INTEGER(uint8, uint8_t, 256.0f, 0)
PHINTYS_CAST_TO_INTEGER(uint16, uint16_t, 65536.0f, 0)
PHINTYS_CAST_TO_INTEGER(uint32, uint32_t, 4294967296.0f, 0)
PHINTYS_CAST_TO_INTEGER(uint64, uint64_t, 18446744073709551616.0f, 0)

PHINTYS_CAST(phintys_int64_to_float32, int64_t, float, (double)(float)value == (double)value, 1)
PHINTYS_CAST(phintys_int64_to_float64, int64_t, double, 1, 1)
PHINTYS_CAST(phintys_float64_to_float32, double, float, ((double)(float)value == value) | (value != value), 1)
PHINTYS_CAST(phintys_float64_to_float64, double, double, 1, 1)
PHINTYS_CAST(phintys_float32_to_float64, float, double, 1, 1)

static int phintys_int64_to_bool(const void* from, void* to, npy_intp count, int exact) {
    const int64_t* read = (const int64_t*)from;
    int kept = 1;
    npy_intp index;
    for (index = 0; index < count; index++) {
        ((npy_bool*)to)[index] = read[index] != 0;
        kept &= read[index] == 0 || read[index] == 1;
    }
    return kept || !exact;
}

/* Complex numbers are pairs. NaN beside an inexact part is left to `filter`. */
static int phintys_complex128_to_complex64(const void* from, void* to, npy_intp count, int exact) {
    return phintys_float64_to_float32(from, to, 2 * count, exact);
}
static int phintys_complex64_to_complex128(const void* from, void* to, npy_intp count, int exact) {
    return phintys_float32_to_float64(from, to, 2 * count, exact);
}
static int phintys_complex128_to_complex128(const void* from, void* to, npy_intp count, int exact) {
    return phintys_float64_to_float64(from, to, 2 * count, exact);
}

#define PHINTYS_CAST_TO_COMPLEX(NAME, FROM, PART, IS_KEPT)                                                             \
    static int NAME(const void* from, void* to, npy_intp count, int exact) {                                           \
        const FROM* restrict read = (const FROM*)from;                                                                 \
        PART* restrict write = (PART*)to;                                                                              \
        int kept = 1;                                                                                                  \
        npy_intp index;                                                                                                \
        for (index = 0; index < count; index++) {                                                                      \
            const FROM value = read[index];                                                                            \
            write[2 * index] = (PART)value;                                                                            \
            write[2 * index + 1] = 0;                                                                                  \
            kept &= (IS_KEPT);                                                                                         \
        }                                                                                                              \
        return kept || !exact;                                                                                         \
    }

PHINTYS_CAST_TO_COMPLEX(phintys_int64_to_complex64, int64_t, float, (double)(float)value == (double)value)
PHINTYS_CAST_TO_COMPLEX(phintys_int64_to_complex128, int64_t, double, 1)
PHINTYS_CAST_TO_COMPLEX(phintys_float32_to_complex64, float, float, 1)
PHINTYS_CAST_TO_COMPLEX(phintys_float32_to_complex128, float, double, 1)
PHINTYS_CAST_TO_COMPLEX(phintys_float64_to_complex64, double, float,
                        ((double)(float)value == value) | (value != value))
PHINTYS_CAST_TO_COMPLEX(phintys_float64_to_complex128, double, double, 1)

/* The bits of a float16 at the place of those of a float32 are the number times 2^-112, also of a subnormal one. */
static inline float phintys_wider_half(uint16_t half) {
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    bits |= (half & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;                /* infinite, or NaN */
    bits |= (uint32_t)(half & 0x8000) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define PHINTYS_CAST_HALF(NAME, PART, STEP)                                                                            \
    static int NAME(const void* from, void* to, npy_intp count, int exact) {                                           \
        PART* restrict write = (PART*)to;                                                                              \
        (void)exact;                                                                                                   \
        for (npy_intp index = 0; index < count; index++) {                                                             \
            write[STEP * index] = phintys_wider_half(((const uint16_t*)from)[index]);                                  \
            if (STEP == 2) write[STEP * index + 1] = 0;                                                                \
        }                                                                                                              \
        return 1;                                                                                                      \
    }

PHINTYS_CAST_HALF(phintys_float16_to_float32, float, 1)
PHINTYS_CAST_HALF(phintys_float16_to_float64, double, 1)
PHINTYS_CAST_HALF(phintys_float16_to_complex64, float, 2)
PHINTYS_CAST_HALF(phintys_float16_to_complex128, double, 2)

#define PHINTYS_TO_INTEGERS_AND_COMPLEX(FROM)                                                                          \
    case NPY_INT8: return phintys_##FROM##_to_int8;                                                                    \
    case NPY_INT16: return phintys_##FROM##_to_int16;                                                                  \
    case NPY_INT32: return phintys_##FROM##_to_int32;                                                                  \
    case NPY_INT64: return phintys_##FROM##_to_int64;                                                                  \
    case NPY_UINT8: return phintys_##FROM##_to_uint8;                                                                  \
    case NPY_UINT16: return phintys_##FROM##_to_uint16;                                                                \
    case NPY_UINT32: return phintys_##FROM##_to_uint32;                                                                \
    case NPY_UINT64: return phintys_##FROM##_to_uint64;                                                                \
    case NPY_COMPLEX64: return phintys_##FROM##_to_complex64;                                                          \
    case NPY_COMPLEX128: return phintys_##FROM##_to_complex128;

static phintys_cast phintys_cast_from_int64(int to) {
    switch (to) {
        PHINTYS_TO_INTEGERS_AND_COMPLEX(int64)
        case NPY_BOOL: return phintys_int64_to_bool;
        case NPY_FLOAT32: return phintys_int64_to_float32;
        case NPY_FLOAT64: return phintys_int64_to_float64;
    }
    return NULL;
}

static phintys_cast phintys_cast_from_float64(int to) {
    switch (to) {
        PHINTYS_TO_INTEGERS_AND_COMPLEX(float64)
        case NPY_FLOAT32: return phintys_float64_to_float32;
        case NPY_FLOAT64: return phintys_float64_to_float64;
    }
    return NULL;
}

static phintys_cast phintys_cast_from_float32(int to) {
    switch (to) {
        PHINTYS_TO_INTEGERS_AND_COMPLEX(float32)
        case NPY_FLOAT64: return phintys_float32_to_float64;
    }
    return NULL;
}

static phintys_cast phintys_cast_from_float16(int to) {
    switch (to) {
        case NPY_FLOAT32: return phintys_float16_to_float32;
        case NPY_FLOAT64: return phintys_float16_to_float64;
        case NPY_COMPLEX64: return phintys_float16_to_complex64;
        case NPY_COMPLEX128: return phintys_float16_to_complex128;
    }
    return NULL;
}

/* The cast between two of NumPy's type numbers, or NULL: there is none here. */
static phintys_cast phintys_cast_of(int from, int to) {
    switch (from) {
        case NPY_INT64: return phintys_cast_from_int64(to);
        case NPY_FLOAT64: return phintys_cast_from_float64(to);
        case NPY_FLOAT32: return phintys_cast_from_float32(to);
        case NPY_FLOAT16: return phintys_cast_from_float16(to);
        case NPY_COMPLEX64: return to == NPY_COMPLEX128 ? phintys_complex64_to_complex128 : NULL;
        case NPY_COMPLEX128:
            return to == NPY_COMPLEX64 ? phintys_complex128_to_complex64
                : to == NPY_COMPLEX128 ? phintys_complex128_to_complex128 : NULL;
    }
    return NULL;
}
