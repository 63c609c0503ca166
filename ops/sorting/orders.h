/* Orders of values, as NumPy sorts: BEFORE_OF_...(a, b), whether a is before b. NaN is after every number. Selections
 * and the order of rows use these; each is a total preorder, also of NaN, so that equal means that neither is before
 * the other. */
#ifndef PHINTYS_ORDERS_H
#define PHINTYS_ORDERS_H

#include <stdint.h>

#include "native/sets.h"

/* ABOVE_ and BELOW_ are true at least where BEFORE(b, a) or BEFORE(a, b) is; compilers make vectors of them. */
#define BEFORE_OF_INTEGERS(a, b) ((a) < (b))
#define ABOVE_OF_INTEGERS(a, b) ((a) > (b))
#define BELOW_OF_INTEGERS(a, b) ((a) < (b))
#define BEFORE_OF_FLOATS(a, b) (((a) < (b)) | (((b) != (b)) & ((a) == (a))))
#define ABOVE_OF_FLOATS(a, b) (!((a) <= (b)))
#define BELOW_OF_FLOATS(a, b) (!((a) >= (b)))

/* Maps float16 to an integer of the same order; NaN of either sign is last. A branch on the sign of elements in any
 * order would be mispredicted for every other one: selections took 1.25 to 4 times as long. */
PHINTYS_INLINE int phintys_half_order(uint16_t half) {
    const int magnitude = half & 0x7fff, negative = -(half >> 15);
    return magnitude > 0x7c00 ? 0x8000 : (magnitude ^ negative) - negative;
}
#define BEFORE_OF_HALVES(a, b) (phintys_half_order(a) < phintys_half_order(b))

/* Complex numbers: by the real part, then by the imaginary part; then x + NaNj, NaN + xj and NaN + NaNj. */
typedef struct { float real, imag; } phintys_pair_of_floats;
typedef struct { double real, imag; } phintys_pair_of_doubles;
#define ONE_NAN(x) ((x) != (x))
#define NAN_RANK(x) (2 * ONE_NAN((x).real) + ONE_NAN((x).imag))
#define NAN_LESS(x, y) (((x) < (y)) & !ONE_NAN(x) & !ONE_NAN(y))
#define BEFORE_OF_COMPLEX(a, b)                                                                                        \
    (NAN_RANK(a) != NAN_RANK(b) ? NAN_RANK(a) < NAN_RANK(b)                                                            \
                                : NAN_LESS((a).real, (b).real) ||                                                      \
                                      (((a).real == (b).real || ONE_NAN((a).real)) && NAN_LESS((a).imag, (b).imag)))

#endif
