/* The loops of hinge_loops.h for one type T; rows and maxima are those of softmax_loops.template.h, which is included
 * before. hinge_kernel.pyx calls the functions for rows. The forward pass and the gradient choose the same best wrong
 * column, the first one of equals. */

/* How far the best wrong prediction is above the right one less delta; -infinity where there is none. Its column is
 * written to `position`, unless that is NULL. */
PHINTYS_INLINE T TYPED(margin)(const T* x, npy_intp n, npy_intp label, T delta, npy_intp* position) {
    const npy_intp after = n - label - 1;
    T before_best = label ? TYPED(maximum)(x, label) : -INFINITY;
    T after_best = after ? TYPED(maximum)(x + label + 1, after) : -INFINITY;
    int nan = 0;
    for (npy_intp j = 0; j < n; j++) nan |= x[j] != x[j];
    if (position) {
        if (nan) *position = TYPED(position)(x, n, 0);
        else if (label && (!after || before_best >= after_best)) *position = TYPED(position)(x, label, before_best);
        else if (after) *position = label + 1 + TYPED(position)(x + label + 1, after, after_best);
        else *position = label;
    }
    if (nan) return NAN;
    return (before_best >= after_best ? before_best : after_best) - x[label] + delta;
}

/* The loss of each row: its margin, or 0 if that is negative. A NaN stays: it is not <= 0. */
static void TYPED(hinge_rows)(const phintys_rows* p, npy_intp first, npy_intp count,
                              const npy_intp* labels, const void* delta, void* to, void* room) {
    T* losses = to;
    for (npy_intp i = 0; i < count; i++) {
        const T margin = TYPED(margin)(TYPED(row)(p, first + i, room), p->columns, labels[i], *(const T*)delta, NULL);
        losses[i] = margin <= 0 ? 0 : margin;
    }
}

/* Zeros, but the gradient at the best wrong prediction, and minus that at the label; half of it at the bend. */
static void TYPED(hinge_gradient)(const phintys_rows* p, npy_intp first, npy_intp count,
                                  const char* gradient, npy_intp stride, const npy_intp* labels,
                                  const void* delta, void* to, void* room) {
    const npy_intp n = p->columns;
    T* out = to;
    for (npy_intp i = 0; i < count; i++, out += n) {
        const T* x = TYPED(row)(p, first + i, room);
        npy_intp position;
        const T margin = TYPED(margin)(x, n, labels[i], *(const T*)delta, &position);
        const T slope = margin > 0 ? 1 : margin < 0 ? 0 : margin == 0 ? (T)0.5 : margin;
        const T step = slope * *(const T*)(gradient + (first + i) * stride);
        memset(out, 0, n * sizeof(T));
        out[position] += step;
        out[labels[i]] -= step;
    }
}

static const phintys_hinge_loops TYPED(hinge) = {TYPED(hinge_rows), TYPED(hinge_gradient)};
