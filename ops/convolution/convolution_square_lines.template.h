/* The transforms of convolution_squares.template.h along lines, for one type T and one instruction set. Included by
 * convolution_sets.template.h. Loops that the compiler makes vectors of: a square's numbers do not depend on which
 * other squares are transformed at once. */
/* The even and the odd elements of a line. */
static void TYPED(part_line)(const T* restrict line, npy_intp count, T* restrict even, T* restrict odd) {
    for (npy_intp x = 0; x < count; x++) {
        even[x] = line[2 * x];
        odd[x] = line[2 * x + 1];
    }
}

/* Transformed patches of `count` squares. Their rows are given as even elements and, `row` further on, odd ones. */
static void TYPED(transform_patches)(const T* restrict rows, npy_intp row, npy_intp count,
                                     T* restrict to, npy_intp step) {
    for (int i = 0; i < PATCH; i++, to += PATCH * step) {
        const int first = i == 0 ? 0 : i == 2 ? 2 : 1, second = i == 2 ? 1 : i == 3 ? 3 : 2;
        const T sign = i == 1 ? 1 : -1;
        const T *even_a = rows + first * 2 * row, *even_b = rows + second * 2 * row;
        const T *odd_a = even_a + row, *odd_b = even_b + row;
        for (npy_intp x = 0; x < count; x++) {
            const T a = even_a[x] + sign * even_b[x], b = odd_a[x] + sign * odd_b[x];
            const T c = even_a[x + 1] + sign * even_b[x + 1], d = odd_a[x + 1] + sign * odd_b[x + 1];
            to[x] = a - c;
            to[x + step] = b + c;
            to[x + 2 * step] = c - b;
            to[x + 3 * step] = b - d;
        }
    }
}

/* The two rows of results of `count` squares from their 16 sums. */
static void TYPED(transform_sums)(const T* restrict from, npy_intp step, npy_intp count, T bias,
                                  T* restrict upper, T* restrict lower) {
    for (npy_intp x = 0; x < count; x++) {
        T left[PATCH], right[PATCH];
        for (int i = 0; i < PATCH; i++) {
            const T* sums = from + i * PATCH * step + x;
            const T inner = sums[step] + sums[2 * step], difference = sums[step] - sums[2 * step];
            left[i] = sums[0] + inner;
            right[i] = difference - sums[3 * step];
        }
        upper[2 * x] = left[0] + left[1] + left[2] + bias;
        upper[2 * x + 1] = right[0] + right[1] + right[2] + bias;
        lower[2 * x] = left[1] - left[2] - left[3] + bias;
        lower[2 * x + 1] = right[1] - right[2] - right[3] + bias;
    }
}

/* Limit results. */
static void TYPED(limit)(T* results, npy_intp count, T low, T high) {
    for (npy_intp x = 0; x < count; x++) {
        const T value = low > results[x] ? low : results[x];            /* NaN stays */
        results[x] = high < value ? high : value;
    }
}
