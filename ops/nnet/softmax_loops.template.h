/* The loops of softmax_loops.h for one type T and one instruction set.
 *
 * Reductions of a row are kept in several vectors, because an operation on a vector must wait for the previous one.
 * What is left at the end of a row is taken one element at a time.
 */
#define LANES TYPED(lanes)
#define MASK TYPED(mask)
#define INTEGER PHINTYS_NAMED(phintys_integer_of, T)
typedef T LANES __attribute__((vector_size(sizeof(T) * PHINTYS_LANES), aligned(sizeof(T)), may_alias));
typedef INTEGER MASK __attribute__((vector_size(sizeof(T) * PHINTYS_LANES)));

/* Lane by lane the larger one; `b` where one is NaN. A comparison gives lanes of all ones or all zeros. */
PHINTYS_INLINE LANES TYPED(larger)(LANES a, LANES b) {
    const MASK is_a = a > b;
    return (LANES)(((MASK)a & is_a) | ((MASK)b & ~is_a));
}

/* The largest element of a row, which has at least one; with NaN among them any number. */
PHINTYS_INLINE T TYPED(maximum)(const T* x, npy_intp n) {
    npy_intp j = 1;
    T best = x[0];
    if (n >= PHINTYS_LANES) {
        LANES a = *(const LANES*)x;
        j = PHINTYS_LANES;
        if (n >= 8 * PHINTYS_LANES) {
            LANES b = a, c = a, d = a;
            for (; j + 4 * PHINTYS_LANES <= n; j += 4 * PHINTYS_LANES) {
                const LANES* y = (const LANES*)(x + j);
                a = TYPED(larger)(y[0], a);
                b = TYPED(larger)(y[1], b);
                c = TYPED(larger)(y[2], c);
                d = TYPED(larger)(y[3], d);
            }
            a = TYPED(larger)(b, a);
            c = TYPED(larger)(d, c);
            a = TYPED(larger)(c, a);
        }
        for (; j + PHINTYS_LANES <= n; j += PHINTYS_LANES) {
            LANES y = *(const LANES*)(x + j);
            a = TYPED(larger)(y, a);
        }
        T half[4], quarter[2];                      /* of the lanes that are left */
        for (int l = 0; l < 4; l++) half[l] = a[l] > a[l + 4] ? a[l] : a[l + 4];
        for (int l = 0; l < 2; l++) quarter[l] = half[l] > half[l + 2] ? half[l] : half[l + 2];
        best = quarter[0] > quarter[1] ? quarter[0] : quarter[1];
    }
    for (; j < n; j++) best = x[j] > best ? x[j] : best;
    return best;
}

/* The sum of a row: in each lane every 8th element, then lanes 4 apart, 2 apart, neighbours. */
PHINTYS_INLINE T TYPED(sum)(const T* x, npy_intp n) {
    npy_intp j = 0;
    T total = 0;
    if (n >= PHINTYS_LANES) {
        LANES a = {0}, b = {0}, c = {0}, d = {0};
        for (; j + 4 * PHINTYS_LANES <= n; j += 4 * PHINTYS_LANES) {
            const LANES* y = (const LANES*)(x + j);
            a += y[0]; b += y[1]; c += y[2]; d += y[3];
        }
        a = (a + b) + (c + d);
        for (; j + PHINTYS_LANES <= n; j += PHINTYS_LANES) a += *(const LANES*)(x + j);
        total = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
    }
    for (; j < n; j++) total += x[j];
    return total;
}

/* The scalar product of two rows. */
PHINTYS_INLINE T TYPED(dot)(const T* x, const T* y, npy_intp n) {
    npy_intp j = 0;
    T total = 0;
    if (n >= PHINTYS_LANES) {
        LANES a = {0}, b = {0};
        for (; j + 2 * PHINTYS_LANES <= n; j += 2 * PHINTYS_LANES) {
            const LANES* p = (const LANES*)(x + j);
            const LANES* q = (const LANES*)(y + j);
            a += p[0] * q[0]; b += p[1] * q[1];
        }
        a += b;
        if (j + PHINTYS_LANES <= n) {
            a += *(const LANES*)(x + j) * *(const LANES*)(y + j);
            j += PHINTYS_LANES;
        }
        total = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
    }
    for (; j < n; j++) total += x[j] * y[j];
    return total;
}

/* One row of x + bias without gaps: where it is in memory, or gathered into `room`. */
PHINTYS_INLINE const T* TYPED(row)(const phintys_rows* p, npy_intp row, T* room) {
    const char* x = p->x + row * p->xs0;
    const npy_intp n = p->columns;
    if (p->bias == NULL && p->xs1 == sizeof(T)) return (const T*)x;
    if (p->xs1 == sizeof(T) && p->bs == sizeof(T)) {
        const T *y = (const T*)x, *b = (const T*)p->bias;
        for (npy_intp j = 0; j < n; j++) room[j] = y[j] + b[j];
    } else if (p->bias != NULL) {
        for (npy_intp j = 0; j < n; j++) room[j] = *(const T*)(x + j * p->xs1) + *(const T*)(p->bias + j * p->bs);
    } else {
        for (npy_intp j = 0; j < n; j++) room[j] = *(const T*)(x + j * p->xs1);
    }
    return room;
}

/* The first position of the largest element, or of a NaN if there is one. */
PHINTYS_INLINE npy_intp TYPED(position)(const T* x, npy_intp n, T largest) {
    enum { STRIDE = 64 };                           /* compared without a branch between them */
    npy_intp j = 0;
    int nan = 0;
    for (npy_intp i = 0; i < n; i++) nan |= x[i] != x[i];
    if (nan) {
        while (x[j] == x[j]) j++;
        return j;
    }
    for (; j + STRIDE <= n; j += STRIDE) {
        int found = 0;
        for (int l = 0; l < STRIDE; l++) found |= x[j + l] == largest;
        if (found) break;
    }
    while (x[j] != largest) j++;
    return j;
}

/* Writes rows minus their maxima, so that exp cannot overflow. `labels` (with `targets`: the element at the label) and
 * `best` (where the maximum is) may be NULL. */
static void TYPED(shift_rows)(const phintys_rows* p, npy_intp first, npy_intp count, void* to, const npy_intp* labels,
                              void* of_labels, npy_intp* best) {
    const npy_intp n = p->columns;
    T *out = to, *targets = of_labels;
    for (npy_intp i = 0; i < count; i++, out += n) {
        const T* x = TYPED(row)(p, first + i, out);
        const T largest = TYPED(maximum)(x, n);
        if (best) best[i] = TYPED(position)(x, n, largest);
        for (npy_intp j = 0; j < n; j++) out[j] = x[j] - largest;
        if (labels) targets[i] = out[labels[i]];
    }
}

/* Writes the sum of each row. */
static void TYPED(sum_rows)(npy_intp count, npy_intp n, const void* rows, void* to) {
    const T* x = rows;
    T* sums = to;
    for (npy_intp i = 0; i < count; i++, x += n) sums[i] = TYPED(sum)(x, n);
}

/* Divides rows by their sums, which are written to `sums`. */
static void TYPED(normalize_rows)(npy_intp count, npy_intp n, void* rows, void* to) {
    T *x = rows, *sums = to;
    for (npy_intp i = 0; i < count; i++, x += n) {
        const T scale = 1 / (sums[i] = TYPED(sum)(x, n));
        for (npy_intp j = 0; j < n; j++) x[j] *= scale;
    }
}

static void TYPED(scale)(npy_intp n, void* row, double scale) {
    T* x = row;
    for (npy_intp j = 0; j < n; j++) x[j] *= (T)scale;
}

static void TYPED(subtract_from_rows)(npy_intp count, npy_intp n, void* rows, const void* of_rows) {
    const T* numbers = of_rows;
    T* x = rows;
    for (npy_intp i = 0; i < count; i++, x += n) {
        const T number = numbers[i];
        for (npy_intp j = 0; j < n; j++) x[j] -= number;
    }
}

/* The gradient by the input of a softmax: p * (g - sum(g * p)) for each row of probabilities p. */
static void TYPED(softmax_gradient)(const phintys_rows* gradient, const phintys_rows* softmax, npy_intp first,
                                    npy_intp count, void* to, void* room) {
    const npy_intp n = softmax->columns;
    T* out = (T*)to + first * n;
    for (npy_intp i = first; i < first + count; i++, out += n) {
        const T* g = TYPED(row)(gradient, i, out);
        const T* p = TYPED(row)(softmax, i, room);
        const T mean = TYPED(dot)(g, p, n);
        for (npy_intp j = 0; j < n; j++) out[j] = p[j] * (g[j] - mean);
    }
}

/* One row of the gradient of a cross-entropy: g * p, without g at the label. */
static void TYPED(crossentropy_gradient)(const phintys_rows* softmax, npy_intp first, npy_intp count,
                                         const char* gradient, npy_intp stride, const npy_intp* labels, void* to) {
    const npy_intp n = softmax->columns;
    T* out = to;
    for (npy_intp i = 0; i < count; i++, out += n) {
        const T g = *(const T*)(gradient + (first + i) * stride);
        const T* p = TYPED(row)(softmax, first + i, out);
        for (npy_intp j = 0; j < n; j++) out[j] = g * p[j];
        out[labels[i]] -= g;
    }
}

static const phintys_softmax_loops TYPED(softmax) = {
    TYPED(shift_rows), TYPED(sum_rows), TYPED(normalize_rows), TYPED(scale), TYPED(subtract_from_rows),
    TYPED(softmax_gradient), TYPED(crossentropy_gradient)};

#undef MASK
#undef INTEGER
#undef LANES
