/* Whether numbers are finite, for one type and instruction set. x - x is 0, or NaN if x is not finite, and sums keep
 * NaN. Two sums, because one addition takes as long as four do side by side. */
#define VECTOR TYPED(Vector)
#define LANES (SET_BYTES / (npy_intp)sizeof(T))

static int TYPED(all_finite)(const void *data, npy_intp count) {
    const T *x = (const T *)data;
    VECTOR first = {0}, second = {0};
    npy_intp i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        const VECTOR a = *(const VECTOR *)(x + i), b = *(const VECTOR *)(x + i + LANES);
        first += a - a;
        second += b - b;
    }
    T total = TYPED(total)(first + second);
    for (; i < count; i++) total += x[i] - x[i];
    return total == 0;
}

#undef VECTOR
#undef LANES
