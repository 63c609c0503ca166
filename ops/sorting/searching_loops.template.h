/* The searches of searching_loops.h for one dtype. Included by each_order.h; x is an element of the values, y a needle.
 *
 * `or_equal` and `ordered` are constants where functions are inlined, except `or_equal` in the last one.
 */
#define NAMED(FUNCTION) PHINTYS_NAMED(FUNCTION, DTYPE)

/* The element at a position of the sorted values. A position of `order` that is outside is noted and read as 0. */
PHINTYS_INLINE T NAMED(element)(Haystack *hay, npy_intp position, int ordered) {
    if (ordered) {
        int outside = (uint64_t)hay->order[position] >= (uint64_t)hay->length;
        hay->wrong |= outside;
        position = outside ? 0 : hay->order[position];
    }
    return *(const T *)(hay->values + position * hay->stride);
}

/* Whether the position of needle y is after element x, and so after an equal one if `or_equal`; y is no NaN. */
PHINTYS_INLINE int NAMED(is_before)(T x, T y, int or_equal) {
    return or_equal ? AT_MOST(x, y) : LESS(x, y);
}

/* The same for any y. */
PHINTYS_INLINE int NAMED(is_before_any)(T x, T y, int or_equal) {
    return or_equal ? !(BEFORE(y, x)) : BEFORE(x, y);
}

/* The position of a NaN. Not inlined: it runs seldom, and four searches call it. */
static __attribute__((noinline)) npy_intp NAMED(position_of_nan)(Haystack *hay, T needle, int or_equal, int ordered) {
    npy_intp first = 0, end = hay->length;
    while (first < end) {
        npy_intp middle = first + (end - first) / 2;
        if (NAMED(is_before_any)(NAMED(element)(hay, middle, ordered), needle, or_equal)) first = middle + 1;
        else end = middle;
    }
    return first;
}

/* Whether needles ascend and none is NaN; without a branch for each. */
PHINTYS_INLINE int NAMED(is_ascending)(const T *needles, int count) {
    int ascending = 1;
    for (int j = 0; j < count; j++) ascending &= IS_NUMBER(needles[j]);
    for (int j = 1; j < count; j++) ascending &= !(LESS(needles[j], needles[j - 1]));
    return ascending;
}

/* A length from `start` on that holds all positions up to that of the needle. */
PHINTYS_INLINE npy_intp NAMED(reach)(Haystack *hay, npy_intp start, T needle, int or_equal, int ordered) {
    npy_intp end = start, step = 1;
    while (end < hay->length && NAMED(is_before)(NAMED(element)(hay, end, ordered), needle, or_equal)) {
        end += step;
        step *= 2;
    }
    return (end < hay->length ? end + 1 : hay->length) - start;
}

/* The positions of a whole block, between `start` and `start + left`. The range of each needle has `left` positions,
 * the first of them in `positions`; it is halved by adding half of it or nothing, without a branch. */
PHINTYS_INLINE void NAMED(halve)(Haystack *hay, const T *needles, npy_intp start, npy_intp left, int64_t *positions,
                                 int or_equal, int ordered) {
    for (int j = 0; j < PHINTYS_NEEDLES; j++) positions[j] = start;
    if (left == 0) return;
    for (; left > 1; left -= left / 2) {
        npy_intp half = left / 2;
        for (int j = 0; j < PHINTYS_NEEDLES; j++) {
            T element = NAMED(element)(hay, positions[j] + half - 1, ordered);
            positions[j] += half & -(npy_intp)(NAMED(is_before)(element, needles[j], or_equal) != 0);
        }
    }
    for (int j = 0; j < PHINTYS_NEEDLES; j++)
        positions[j] += NAMED(is_before)(NAMED(element)(hay, positions[j], ordered), needles[j], or_equal) != 0;
}

/* Whether the values are sorted, as far as NaN lets this be seen. */
PHINTYS_INLINE int NAMED(is_sorted)(Haystack *hay, int ordered) {
    int sorted = 1;
    for (npy_intp i = 1; i < hay->length; i++)
        sorted &= !(LESS(NAMED(element)(hay, i, ordered), NAMED(element)(hay, i - 1, ordered)));
    return sorted;
}

/* NumPy's own steps: each needle starts between the ends where the one before it stopped. Not inlined either. */
static __attribute__((noinline)) void NAMED(search_unsorted)(Haystack *hay, const T *needles, npy_intp count,
                                                             int64_t *positions, int or_equal, int ordered) {
    npy_intp first = 0, end = hay->length;
    for (npy_intp i = 0; i < count; i++) {
        if (i && NAMED(is_before_any)(needles[i - 1], needles[i], or_equal)) end = hay->length;
        else first = 0, end = end < hay->length ? end + 1 : hay->length;
        while (first < end) {
            npy_intp middle = first + (end - first) / 2;
            if (NAMED(is_before_any)(NAMED(element)(hay, middle, ordered), needles[i], or_equal))
                first = middle + 1;
            else end = middle;
        }
        positions[i] = first;
    }
}

/* The positions of all needles. Whether values are sorted is looked at where that costs no more than the search. The
 * last block is filled with its last needle. */
PHINTYS_INLINE void NAMED(search)(Haystack *hay, const T *needles, npy_intp count, int64_t *positions, int or_equal,
                                  int ordered) {
    if (hay->length <= count && !NAMED(is_sorted)(hay, ordered)) {
        NAMED(search_unsorted)(hay, needles, count, positions, or_equal, ordered);
        return;
    }
    for (npy_intp done = 0; done < count; done += PHINTYS_NEEDLES) {
        int block = count - done < PHINTYS_NEEDLES ? (int)(count - done) : PHINTYS_NEEDLES;
        int64_t found[PHINTYS_NEEDLES];
        T sought[PHINTYS_NEEDLES];
        npy_intp start = 0, left = hay->length;
        for (int j = 0; j < PHINTYS_NEEDLES; j++) sought[j] = needles[done + (j < block ? j : block - 1)];
        if (done && NAMED(is_ascending)(needles + done - 1, block + 1)) {
            start = positions[done - 1];
            left = NAMED(reach)(hay, start, sought[block - 1], or_equal, ordered);
        }
        NAMED(halve)(hay, sought, start, left, found, or_equal, ordered);
        for (int j = 0; j < block; j++)
            positions[done + j] = IS_NUMBER(sought[j]) ? found[j]
                                                    : NAMED(position_of_nan)(hay, sought[j], or_equal, ordered);
    }
}

static void NAMED(left)(Haystack *hay, const char *needles, npy_intp count, int64_t *positions) {
    NAMED(search)(hay, (const T *)needles, count, positions, 0, 0);
}

static void NAMED(right)(Haystack *hay, const char *needles, npy_intp count, int64_t *positions) {
    NAMED(search)(hay, (const T *)needles, count, positions, 1, 0);
}

/* Loads of elements at the positions of `order` take longest by far, so one function serves both sides. */
static void NAMED(ordered_needles)(Haystack *hay, const char *needles, npy_intp count, int64_t *positions) {
    NAMED(search)(hay, (const T *)needles, count, positions, hay->or_equal, 1);
}

#undef NAMED
