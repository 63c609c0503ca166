/* The order of the rows of a matrix of one dtype; see row_order_loops.h. Included by each_order.h. */
#define OF(FUNCTION) PHINTYS_NAMED(FUNCTION, DTYPE)

/* Whether one row is before another: the first elements that differ decide. */
static inline int OF(row_is_before)(const char *a, const char *b, const Rows *rows) {
    for (npy_intp column = 0; column < rows->columns; column++, a += rows->column_step, b += rows->column_step) {
        if (BEFORE(*(const T *)a, *(const T *)b)) return 1;
        if (BEFORE(*(const T *)b, *(const T *)a)) return 0;
    }
    return 0;
}

/* Merges two runs that follow each other; of equal rows, those of the first run come first. */
static void OF(merge_rows)(const Rows *rows, const int64_t *first, const int64_t *middle, const int64_t *end,
                           int64_t *out) {
    const int64_t *second = middle;
    while (first < middle && second < end) {
        const char *a = rows->data + *first * rows->row_step, *b = rows->data + *second * rows->row_step;
        *out++ = OF(row_is_before)(b, a, rows) ? *second++ : *first++;
    }
    while (first < middle) *out++ = *first++;
    while (second < end) *out++ = *second++;
}

static void OF(order_rows)(const Rows *rows, int64_t *order, int64_t *room) {
    int64_t *from = order, *to = room;
    for (npy_intp row = 0; row < rows->count; row++) order[row] = row;
    for (npy_intp run = 1; run < rows->count; run *= 2) {
        for (npy_intp start = 0; start < rows->count; start += 2 * run) {
            const npy_intp middle = start + run < rows->count ? start + run : rows->count;
            const npy_intp end = middle + run < rows->count ? middle + run : rows->count;
            OF(merge_rows)(rows, from + start, from + middle, from + end, to + start);
        }
        int64_t *kept = from;
        from = to, to = kept;
    }
    if (from != order) memcpy(order, from, rows->count * sizeof(int64_t));
}

#undef OF
