/* Orders of values, as NumPy sorts, of integers, floats, halves (float16) and complex numbers; each_order.h gives
 * loops those of their dtype.
 *
 * BEFORE_OF_...(a, b) says whether a is before b. NaN is after every number. Each order is a total preorder, also of
 * NaN, so that equal means that neither is before the other.
 */
#ifndef PHINTYS_ORDERS_H
#define PHINTYS_ORDERS_H

#include <stdint.h>

#include "native/sets.h"

typedef uint8_t ordered_uint8;
typedef uint16_t ordered_uint16, ordered_float16;
typedef uint32_t ordered_uint32;
typedef uint64_t ordered_uint64;
typedef int8_t ordered_int8;
typedef int16_t ordered_int16;
typedef int32_t ordered_int32;
typedef int64_t ordered_int64;
typedef float ordered_float32;
typedef double ordered_float64;
typedef struct { float real, imag; } ordered_complex64;
typedef struct { double real, imag; } ordered_complex128;

/* As PHINTYS_NAMED, inside of which a T that is made by it would not be expanded. */
#define ORDERED_JOINED(NAME, SUFFIX) NAME##_##SUFFIX
#define ORDERED_NAMED(NAME, SUFFIX) ORDERED_JOINED(NAME, SUFFIX)

/* A table for all dtypes, in the order of TYPES in loops.pyx; booleans are first, and are 0 or 1. */
#define EACH_ORDERED(ROW) {ROW(uint8), ROW(int8), ROW(int16), ROW(int32), ROW(int64), ROW(uint8), ROW(uint16), \
    ROW(uint32), ROW(uint64), ROW(float16), ROW(float32), ROW(float64), ROW(complex64), ROW(complex128)}

/* LESS_ and AT_MOST_ are the order where b is a number, which IS_NUMBER_ says. ABOVE_ and BELOW_ are true at least
 * where BEFORE(b, a) or BEFORE(a, b) is; compilers make vectors of them. */
#define IS_NUMBER_OF_INTEGERS(a) 1
#define BEFORE_OF_INTEGERS(a, b) ((a) < (b))
#define LESS_OF_INTEGERS(a, b) ((a) < (b))
#define AT_MOST_OF_INTEGERS(a, b) ((a) <= (b))
#define ABOVE_OF_INTEGERS(a, b) ((a) > (b))
#define BELOW_OF_INTEGERS(a, b) ((a) < (b))

#define IS_NUMBER_OF_FLOATS(a) ((a) == (a))
#define BEFORE_OF_FLOATS(a, b) (((a) < (b)) | (((b) != (b)) & ((a) == (a))))
#define LESS_OF_FLOATS(a, b) ((a) < (b))
#define AT_MOST_OF_FLOATS(a, b) ((a) <= (b))
#define ABOVE_OF_FLOATS(a, b) (!((a) <= (b)))
#define BELOW_OF_FLOATS(a, b) (!((a) >= (b)))

/* Maps float16 to an integer of the same order; NaN of either sign is last. A branch on the sign of elements in any
 * order would be mispredicted for every other one: selections took 1.25 to 4 times as long. */
PHINTYS_INLINE int phintys_half_order(uint16_t half) {
    const int magnitude = half & 0x7fff, negative = -(half >> 15);
    return magnitude > 0x7c00 ? 0x8000 : (magnitude ^ negative) - negative;
}
#define IS_NUMBER_OF_HALVES(a) 1                    /* NaN is an integer, too */
#define BEFORE_OF_HALVES(a, b) (phintys_half_order(a) < phintys_half_order(b))
#define LESS_OF_HALVES BEFORE_OF_HALVES
#define AT_MOST_OF_HALVES(a, b) (!BEFORE_OF_HALVES(b, a))
#define ABOVE_OF_HALVES(a, b) BEFORE_OF_HALVES(b, a)
#define BELOW_OF_HALVES BEFORE_OF_HALVES

/* Complex numbers: by the real part, then by the imaginary part; then x + NaNj, NaN + xj and NaN + NaNj. */
#define ONE_NAN(x) ((x) != (x))
#define NAN_RANK(x) (2 * ONE_NAN((x).real) + ONE_NAN((x).imag))
#define NAN_LESS(x, y) (((x) < (y)) & !ONE_NAN(x) & !ONE_NAN(y))
#define IS_NUMBER_OF_COMPLEX(a) (!(ONE_NAN((a).real) | ONE_NAN((a).imag)))
#define BEFORE_OF_COMPLEX(a, b)                                                                                        \
    (NAN_RANK(a) != NAN_RANK(b) ? NAN_RANK(a) < NAN_RANK(b)                                                            \
                                : NAN_LESS((a).real, (b).real) ||                                                      \
                                      (((a).real == (b).real || ONE_NAN((a).real)) && NAN_LESS((a).imag, (b).imag)))
#define LESS_OF_COMPLEX(a, b)                                                                                          \
    ((((a).real < (b).real) & !ONE_NAN((a).imag)) | (((a).real == (b).real) & ((a).imag < (b).imag)))
#define AT_MOST_OF_COMPLEX(a, b) (LESS_OF_COMPLEX(a, b) | (((a).real == (b).real) & ((a).imag == (b).imag)))
#define ABOVE_OF_COMPLEX(a, b) BEFORE_OF_COMPLEX(b, a)
#define BELOW_OF_COMPLEX BEFORE_OF_COMPLEX

#endif
