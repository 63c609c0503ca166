/* What pool_sets.template.h says of vectors of one type T with 16 bytes, of which only the shuffles differ by type. */
PHINTYS_INLINE TYPED(Mask) TYPED(lanes_between)(const int paired, int from, int to) {
    TYPED(Mask) mask;
    for (int lane = 0; lane < 16 / (int)sizeof(T); lane++) {
        const int number = paired ? lane % (8 / (int)sizeof(T)) : lane;
        mask[lane] = number >= from && number < to ? ~(PHINTYS_NAMED(BITS, T))0 : 0;
    }
    return mask;
}
PHINTYS_INLINE VECTOR TYPED(halves)(const T* a, const T* b) {
    VECTOR both;
    memcpy(&both, a, 8);
    memcpy((char*)&both + 8, b, 8);
    return both;
}

#define LARGER(A, B) TYPED(choose)((TYPED(Bits))((A) == (A)), TYPED(larger)(A, B), A)
#define MASK TYPED(Mask)
#define MASK_BETWEEN TYPED(lanes_between)
#define ZERO_ELSE(MASK, VALUE) ((VECTOR)((MASK) & (TYPED(Bits))(VALUE)))
#define LOAD_WHERE(MASK, FROM) ZERO_ELSE(MASK, LOAD(FROM))
#define HALVES TYPED(halves)
#define PARTED(VALUE) (VALUE)
#define EVEN_IN_LANES EVEN
#define ODD_IN_LANES ODD
#define IF_EQUAL(A, B, VALUE) ZERO_ELSE((A) == (B), VALUE)
#define ADD_WHERE_EQUAL(SUM, A, B, VALUE) ((SUM) + IF_EQUAL(A, B, VALUE))
#include "pool_walks.template.h"
#include "pool_squares.template.h"
#undef T
