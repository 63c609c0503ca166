/* The loops of batch_normalization_loops.h for one type T and one instruction set. `step` is the distance of
 * runs, or rows, in elements. Sums over runs are kept in several vectors, because an addition to a vector must wait for
 * the previous one.
 */
#define VECTOR TYPED(vector)
typedef T VECTOR __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));

/* The pivot for a mean: the nearest T, or 0 for a mean that is infinite, NaN, or out of range. */
PHINTYS_INLINE T TYPED(near)(double mean) {
    const T pivot = (T)mean;
    return pivot - pivot == 0 ? pivot : 0;          /* the difference is NaN for an infinite pivot */
}

/* The sum of a vector's elements, in double. */
PHINTYS_INLINE double TYPED(total)(VECTOR x) {
    double total = 0;
    for (int l = 0; l < (int)(VECTOR_BYTES / sizeof(T)); l++) total += x[l];
    return total;
}

/* Summed in T: it is for the first pivot, for which any number near the mean will do. */
PHINTYS_INLINE double TYPED(sum_of)(const T* x, npy_intp n) {
    enum { W = VECTOR_BYTES / sizeof(T) };
    VECTOR a = {0}, b = a;
    npy_intp j = 0;
    double rest = 0;
    for (; j + 2 * W <= n; j += 2 * W) {
        a += *(const VECTOR*)(x + j);
        b += *(const VECTOR*)(x + j + W);
    }
    for (; j < n; j++) rest += x[j];
    return TYPED(total)(a + b) + rest;
}

/* ---- runs: `outer` runs of `inner` elements, `step` elements apart ---- */

/* Mean and squared deviations of all elements of the runs. A block is BLOCK elements, which may begin and end within a
 * run and cover several short ones; `run` and `at` are the position of the next element. */
static phintys_moments TYPED(moments_of_runs)(const void* elements, npy_intp outer, npy_intp step, npy_intp inner,
                                              phintys_asking* asking) {
    const T* x = elements;
    enum { W = VECTOR_BYTES / sizeof(T) };
    phintys_moments all = {0, 0, 0};
    npy_intp run = 0, at = 0;
    const npy_intp few = inner < PIVOT_ELEMENTS ? inner : PIVOT_ELEMENTS;
    T pivot = TYPED(near)(TYPED(sum_of)(x, few) / few);
    while (run < outer) {                           /* one block: s sums distances from the pivot, q their squares */
        VECTOR s0 = {0}, s1 = s0, s2 = s0, s3 = s0, q0 = s0, q1 = s0, q2 = s0, q3 = s0;
        const VECTOR p = s0 + pivot;
        T s = 0, q = 0;
        npy_intp count = 0;
        while (count < BLOCK && run < outer) {
            const T* from = x + run * step + at;
            npy_intp n = inner - at, j = 0;
            if (n > BLOCK - count) n = BLOCK - count;
            for (; j + 4 * W <= n; j += 4 * W) {
                const VECTOR* v = (const VECTOR*)(from + j);
                const VECTOR d0 = v[0] - p, d1 = v[1] - p, d2 = v[2] - p, d3 = v[3] - p;
                s0 += d0; s1 += d1; s2 += d2; s3 += d3;
                q0 += d0 * d0; q1 += d1 * d1; q2 += d2 * d2; q3 += d3 * d3;
            }
            for (; j + W <= n; j += W) {
                const VECTOR d = *(const VECTOR*)(from + j) - p;
                s0 += d; q0 += d * d;
            }
            for (; j < n; j++) {
                const T d = from[j] - pivot;
                s += d; q += d * d;
            }
            count += n;
            at += n;
            if (at == inner) { at = 0; run++; }
        }
        const double sum = TYPED(total)((s0 + s1) + (s2 + s3)) + s, square = TYPED(total)((q0 + q1) + (q2 + q3)) + q;
        phintys_merge(&all, (double)count, pivot + sum / count, phintys_centred((double)count, sum, square));
        pivot = TYPED(near)(all.mean);
        if (phintys_stops(asking, count)) break;
    }
    return all;
}

/* `out = (x - shift) * slope + offset` */
static void TYPED(normalize_runs)(const void* elements, void* results, npy_intp outer, npy_intp step, npy_intp inner,
                                  const void* coefficients) {
    const T *x = elements, *c = coefficients, shift = c[0], slope = c[1], offset = c[2];
    T* out = results;
    for (npy_intp run = 0; run < outer; run++, x += step, out += step) {
        PHINTYS_EACH
        for (npy_intp j = 0; j < inner; j++) out[j] = (x[j] - shift) * slope + offset;
    }
}

/* sums[0]: of dy; sums[1]: of dy * (x - mean); sums[2]: of x - mean. Blocks as in `moments_of_runs`; a, b and c are the
 * sums of a block. */
static void TYPED(sums_of_runs)(const void* elements, const void* slopes, npy_intp outer, npy_intp step, npy_intp inner,
                                const void* of_channel, double* sums, phintys_asking* asking) {
    const T *x = elements, *dy = slopes, mean = *(const T*)of_channel;
    enum { W = VECTOR_BYTES / sizeof(T) };
    npy_intp run = 0, at = 0;
    sums[0] = sums[1] = sums[2] = 0;
    while (run < outer) {
        VECTOR a0 = {0}, a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0;
        const VECTOR m = a0 + mean;
        T a = 0, b = 0, c = 0;
        npy_intp count = 0;
        while (count < BLOCK && run < outer) {
            const npy_intp start = run * step + at;
            const T *from = x + start, *by = dy + start;
            npy_intp n = inner - at, j = 0;
            if (n > BLOCK - count) n = BLOCK - count;
            for (; j + 2 * W <= n; j += 2 * W) {
                const VECTOR *v = (const VECTOR*)(from + j), *g = (const VECTOR*)(by + j);
                const VECTOR d0 = v[0] - m, d1 = v[1] - m, g0 = g[0], g1 = g[1];
                a0 += g0; b0 += g0 * d0; c0 += d0;
                a1 += g1; b1 += g1 * d1; c1 += d1;
            }
            for (; j < n; j++) {
                const T d = from[j] - mean;
                a += by[j]; b += by[j] * d; c += d;
            }
            count += n;
            at += n;
            if (at == inner) { at = 0; run++; }
        }
        sums[0] += TYPED(total)(a0 + a1) + a;
        sums[1] += TYPED(total)(b0 + b1) + b;
        sums[2] += TYPED(total)(c0 + c1) + c;
        if (phintys_stops(asking, count)) return;
    }
}

/* `out = dy * scale + (x - mean) * slope + offset` */
static void TYPED(gradient_of_runs)(const void* elements, const void* slopes, void* results, npy_intp outer,
                                    npy_intp step, npy_intp inner, const void* coefficients) {
    const T *x = elements, *dy = slopes, *c = coefficients, mean = c[0], scale = c[1], slope = c[2], offset = c[3];
    T* out = results;
    for (npy_intp run = 0; run < outer; run++, x += step, dy += step, out += step) {
        PHINTYS_EACH
        for (npy_intp j = 0; j < inner; j++) out[j] = dy[j] * scale + ((x[j] - mean) * slope + offset);
    }
}

/* ---- columns: `rows` rows `step` elements apart, `width` <= COLUMNS neighbouring columns ---- */

/* Mean and squared deviations of each column. s and q are a block's sums of distances from the pivot and of squares;
 * four rows at once, so that the sums are loaded and stored a quarter as often. */
static void TYPED(moments_of_columns)(const void* elements, npy_intp rows, npy_intp step, npy_intp width,
                                      double* mean, double* square, phintys_asking* asking) {
    const T* x = elements;
    T pivot[COLUMNS], s[COLUMNS], q[COLUMNS];
    const npy_intp few = rows < PIVOT_ROWS ? rows : PIVOT_ROWS;
    for (npy_intp j = 0; j < width; j++) s[j] = x[j];
    for (npy_intp i = 1; i < few; i++) for (npy_intp j = 0; j < width; j++) s[j] += x[i * step + j];
    for (npy_intp j = 0; j < width; j++) pivot[j] = TYPED(near)((double)s[j] / few);
    for (npy_intp start = 0; start < rows; start += BLOCK_ROWS) {
        const npy_intp count = rows - start < BLOCK_ROWS ? rows - start : BLOCK_ROWS;
        const T* from = x + start * step;
        const double own = (double)count / (start + count), others = (double)start / (start + count);
        npy_intp i = 0;
        for (npy_intp j = 0; j < width; j++) s[j] = q[j] = 0;
        for (; i + 4 <= count; i += 4, from += 4 * step) {
            const T *x1 = from + step, *x2 = x1 + step, *x3 = x2 + step;
            PHINTYS_EACH
            for (npy_intp j = 0; j < width; j++) {
                const T p = pivot[j], d0 = from[j] - p, d1 = x1[j] - p, d2 = x2[j] - p, d3 = x3[j] - p;
                s[j] += (d0 + d1) + (d2 + d3);
                q[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
            }
        }
        for (; i < count; i++, from += step) {
            PHINTYS_EACH
            for (npy_intp j = 0; j < width; j++) {
                const T d = from[j] - pivot[j];
                s[j] += d;
                q[j] += d * d;
            }
        }
        /* The block is merged as `phintys_merge` does, with weights that are the same for all columns. */
        if (start == 0) {
            for (npy_intp j = 0; j < width; j++) {
                mean[j] = pivot[j] + (double)s[j] / count;
                square[j] = phintys_centred((double)count, s[j], q[j]);
            }
        } else {
            for (npy_intp j = 0; j < width; j++) {
                const double here = pivot[j] + (double)s[j] / count, distance = here - mean[j];
                square[j] += phintys_centred((double)count, s[j], q[j]) + distance * distance * own * start;
                mean[j] = others * mean[j] + own * here;
            }
        }
        for (npy_intp j = 0; j < width; j++) pivot[j] = TYPED(near)(mean[j]);
        if (phintys_stops(asking, count * width)) return;
    }
}

/* `out = (x - shift) * slope + offset`, with numbers for each column */
static void TYPED(normalize_columns)(const void* elements, void* results, npy_intp rows, npy_intp step, npy_intp width,
                                     const void* shifts, const void* slopes, const void* offsets) {
    const T *x = elements, *shift = shifts, *slope = slopes, *offset = offsets;
    T* out = results;
    for (npy_intp i = 0; i < rows; i++, x += step, out += step) {
        PHINTYS_EACH
        for (npy_intp j = 0; j < width; j++) out[j] = (x[j] - shift[j]) * slope[j] + offset[j];
    }
}

/* Of each column the sums of dy, of dy * (x - mean), and of x - mean; a, b and c are those of a block of rows. */
static void TYPED(sums_of_columns)(const void* elements, const void* slopes, npy_intp rows, npy_intp step,
                                   npy_intp width, const void* means, double* of_dy, double* of_product, double* of_x,
                                   phintys_asking* asking) {
    const T *x = elements, *dy = slopes, *mean = means;
    T a[COLUMNS], b[COLUMNS], c[COLUMNS];
    for (npy_intp j = 0; j < width; j++) of_dy[j] = of_product[j] = of_x[j] = 0;
    for (npy_intp start = 0; start < rows; start += BLOCK_ROWS) {
        const npy_intp count = rows - start < BLOCK_ROWS ? rows - start : BLOCK_ROWS;
        npy_intp i = 0;
        for (npy_intp j = 0; j < width; j++) a[j] = b[j] = c[j] = 0;
        for (; i + 2 <= count; i += 2, x += 2 * step, dy += 2 * step) {
            PHINTYS_EACH
            for (npy_intp j = 0; j < width; j++) {
                const T m = mean[j], d0 = x[j] - m, d1 = x[step + j] - m, g0 = dy[j], g1 = dy[step + j];
                a[j] += g0 + g1;
                b[j] += g0 * d0 + g1 * d1;
                c[j] += d0 + d1;
            }
        }
        for (; i < count; i++, x += step, dy += step) {
            PHINTYS_EACH
            for (npy_intp j = 0; j < width; j++) {
                const T d = x[j] - mean[j];
                a[j] += dy[j];
                b[j] += dy[j] * d;
                c[j] += d;
            }
        }
        for (npy_intp j = 0; j < width; j++) {
            of_dy[j] += a[j];
            of_product[j] += b[j];
            of_x[j] += c[j];
        }
        if (phintys_stops(asking, count * width)) return;
    }
}

/* `out = dy * scale + (x - mean) * slope + offset`, with numbers for each column */
static void TYPED(gradient_of_columns)(const void* elements, const void* slopes_of_loss, void* results, npy_intp rows,
                                       npy_intp step, npy_intp width, const void* means, const void* scales,
                                       const void* slopes, const void* offsets) {
    const T *x = elements, *dy = slopes_of_loss, *mean = means, *scale = scales, *slope = slopes, *offset = offsets;
    T* out = results;
    for (npy_intp i = 0; i < rows; i++, x += step, dy += step, out += step) {
        PHINTYS_EACH
        for (npy_intp j = 0; j < width; j++)
            out[j] = dy[j] * scale[j] + ((x[j] - mean[j]) * slope[j] + offset[j]);
    }
}

#undef VECTOR
