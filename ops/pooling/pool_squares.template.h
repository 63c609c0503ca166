/* Pooling of squares of 2 x 2 at steps of 2, for one type T and one instruction set; pool_sets.template.h defines
 * VECTOR and the operations on it. A row of results is one vector at least, and no more elements are read than it has.
 */
enum { TYPED(square_lanes) = SET_BYTES / sizeof(T) };

PHINTYS_INLINE VECTOR TYPED(joined)(const int sums, VECTOR a, VECTOR b) {
    if (sums) return a + b;
    return LARGER(a, b);
}

/* Results of two vectors of the upper row and of the lower one. */
PHINTYS_INLINE VECTOR TYPED(square)(const int sums, VECTOR a, VECTOR b, VECTOR c, VECTOR d, T divisor) {
    const VECTOR left = TYPED(joined)(sums, a, c), right = TYPED(joined)(sums, b, d);
    const VECTOR result = TYPED(joined)(sums, EVEN(left, right), ODD(left, right));
    if (sums && divisor != 1) return result / divisor;
    return result;
}

PHINTYS_INLINE void TYPED(any_squares)(const int sums, const T* upper, npy_intp between, npy_intp rows,
                                       npy_intp count, T* out, T divisor) {
    enum { lanes = TYPED(square_lanes) };
    for (npy_intp row = 0; row < rows; row++, upper += 2 * between) {
        const T *a = upper, *b = upper + between;
        npy_intp left = count;
        for (; left >= lanes; left -= lanes, a += 2 * lanes, b += 2 * lanes, out += lanes) {
            STORE(out, TYPED(square)(sums, LOAD(a), LOAD(a + lanes), LOAD(b), LOAD(b + lanes), divisor));
        }
        if (left > 0) {
            const npy_intp first = phintys_least(2 * left, lanes), second = 2 * left - first;
            const VECTOR result = TYPED(square)(sums, LOAD_FIRST(a, first), LOAD_FIRST(a + first, second),
                                                LOAD_FIRST(b, first), LOAD_FIRST(b + first, second), divisor);
            STORE_FIRST(out, result, left);
            out += left;
        }
    }
}

static void TYPED(squares)(const void* image, npy_intp between, npy_intp rows, npy_intp count, void* out,
                           int sums, int divisor) {
    if (sums) TYPED(any_squares)(1, image, between, rows, count, out, (T)divisor);
    else TYPED(any_squares)(0, image, between, rows, count, out, 1);
}
#undef LARGER
#undef EVEN
#undef ODD
