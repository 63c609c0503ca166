/* The loops of polynomial_loops.h for the type T; polynomial_kernel.pyx calls them for pieces without gaps. A block of
 * points is computed side by side, as the steps of one point wait for each other; each point has the same operations
 * in a block and beyond the last one. */

/* out[i] = p[0] x[i]^(terms - 1) + ... + p[terms - 1] for `count` elements from `first` on; `out` may be `x`. */
static void TYPED(phintys_horner)(const void *coefficients, npy_intp terms, const void *elements, void *values,
                                  npy_intp first, npy_intp count) {
    const T *p = coefficients, *x = (const T *)elements + first;
    T *out = (T *)values + first;
    npy_intp start = 0;
    for (; start + PHINTYS_POLYNOMIAL_BLOCK <= count; start += PHINTYS_POLYNOMIAL_BLOCK) {
        T at[PHINTYS_POLYNOMIAL_BLOCK], sum[PHINTYS_POLYNOMIAL_BLOCK];
        for (int i = 0; i < PHINTYS_POLYNOMIAL_BLOCK; i++) at[i] = x[start + i], sum[i] = 0;
        for (npy_intp term = 0; term < terms; term++)
            for (int i = 0; i < PHINTYS_POLYNOMIAL_BLOCK; i++) sum[i] = sum[i] * at[i] + p[term];
        for (int i = 0; i < PHINTYS_POLYNOMIAL_BLOCK; i++) out[start + i] = sum[i];
    }
    for (; start < count; start++) {
        T sum = 0;
        for (npy_intp term = 0; term < terms; term++) sum = sum * x[start] + p[term];
        out[start] = sum;
    }
}

/* out[k] = the sum of g[i] x[i]^(terms - 1 - k), in double. */
static void TYPED(phintys_power_sums)(const void *factors, const void *elements, npy_intp count, double *out,
                                      npy_intp terms) {
    const T *g = factors, *x = elements;
    for (npy_intp term = 0; term < terms; term++) out[term] = 0;
    for (npy_intp start = 0; start < count; start += PHINTYS_POLYNOMIAL_BLOCK) {
        const npy_intp length = count - start < PHINTYS_POLYNOMIAL_BLOCK ? count - start : PHINTYS_POLYNOMIAL_BLOCK;
        double at[PHINTYS_POLYNOMIAL_BLOCK], power[PHINTYS_POLYNOMIAL_BLOCK];
        for (int i = 0; i < PHINTYS_POLYNOMIAL_BLOCK; i++) at[i] = power[i] = 0;
        for (npy_intp i = 0; i < length; i++) at[i] = x[start + i], power[i] = g[start + i];
        for (npy_intp term = terms; term-- > 0;) {
            double partial[8] = {0}, sum = 0;
            for (int i = 0; i < PHINTYS_POLYNOMIAL_BLOCK; i += 8)
                for (int k = 0; k < 8; k++) partial[k] += power[i + k], power[i + k] *= at[i + k];
            for (int k = 0; k < 8; k++) sum += partial[k];
            out[term] += sum;
        }
    }
}
