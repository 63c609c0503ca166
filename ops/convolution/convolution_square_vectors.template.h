/* What transforms numbers for squares, of filters and for the gradient by them, for one type T and one instruction set;
 * part of convolution_tiles.template.h. */
/* Transformed patches of a row of squares, whose four lines have channels as neighbours: of each square `elements` of
 * them, whole vectors, one after the other. */
static void TYPED(patches)(const void* const* lines, npy_intp channels, npy_intp elements, npy_intp squares,
                           void* to, npy_intp step) {
    static const int first[PATCH] = {0, 1, 2, 1}, second[PATCH] = {2, 2, 1, 3};
    T* numbers = to;
    for (npy_intp at = 0; at < 2 * squares * channels; at += 2 * channels)
        for (npy_intp c = at; c < at + elements; c += LANES, numbers += LANES)
PHINTYS_UNROLLED(4)
            for (int i = 0; i < PATCH; i++) {
                const T *a = (const T*)lines[first[i]] + c, *b = (const T*)lines[second[i]] + c;
                VECTOR sums[PATCH];
PHINTYS_UNROLLED(4)
                for (int j = 0; j < PATCH; j++, a += channels, b += channels)
                    sums[j] = i == 1 ? LOAD(a) + LOAD(b) : LOAD(a) - LOAD(b);
                T* row = numbers + i * PATCH * step;
                STORE(row, sums[0] - sums[2]);
                STORE(row + step, sums[1] + sums[2]);
                STORE(row + 2 * step, sums[2] - sums[1]);
                STORE(row + 3 * step, sums[1] - sums[3]);
            }
}

/* As many filters as the largest tile has. */
#define TOPS TYPED(tops_vector)
typedef T TOPS __attribute__((vector_size((REGISTERS == 32 ? 8 : 4) * sizeof(T)), aligned(sizeof(T)), may_alias));

/* The transformed gradient of a block of filters for a row of squares, from its two lines, which have filters as
 * neighbours. */
static void TYPED(square_tops)(const void* upper, const void* lower, npy_intp squares, void* to,
                               npy_intp step) {
    const TOPS *from = upper, *below = lower;
    T* numbers = to;
    for (npy_intp s = 0; s < squares; s++, numbers += sizeof(TOPS) / sizeof(T)) {
        const TOPS a = from[2 * s], b = from[2 * s + 1], c = below[2 * s], d = below[2 * s + 1];
        const TOPS left[PATCH] = {a, a + c, a - c, -c}, right[PATCH] = {b, b + d, b - d, -d};
PHINTYS_UNROLLED(4)
        for (int i = 0; i < PATCH; i++) {
            T* row = numbers + i * PATCH * step;
            *(TOPS*)row = left[i];
            *(TOPS*)(row + step) = left[i] + right[i];
            *(TOPS*)(row + 2 * step) = left[i] - right[i];
            *(TOPS*)(row + 3 * step) = -right[i];
        }
    }
}

/* Four numbers of a column or row of filters, from three elements. */
PHINTYS_INLINE void TYPED(four)(TOPS a, TOPS b, TOPS c, TOPS* to, int step) {
    to[0] = a;
    to[step] = (a + b + c) * (T)0.5;
    to[2 * step] = (a - b + c) * (T)0.5;
    to[3 * step] = c;
}

/* The 16 numbers of a block of filters for one plane, from their nine elements. */
static void TYPED(square_weights)(const void* taps, void* to, npy_intp step) {
    const TOPS* from = taps;
    TOPS columns[3 * PATCH], row[PATCH];
PHINTYS_UNROLLED(3)
    for (int j = 0; j < 3; j++) TYPED(four)(from[j], from[3 + j], from[6 + j], columns + j, 3);
PHINTYS_UNROLLED(4)
    for (int i = 0; i < PATCH; i++) {
        TYPED(four)(columns[3 * i], columns[3 * i + 1], columns[3 * i + 2], row, 1);
PHINTYS_UNROLLED(4)
        for (int j = 0; j < PATCH; j++) *(TOPS*)((T*)to + (PATCH * i + j) * step) = row[j];
    }
}
#undef TOPS

/* Three elements of a column or row of a filter, from four numbers. */
PHINTYS_INLINE void TYPED(three)(VECTOR a, VECTOR b, VECTOR c, VECTOR d, VECTOR* to, int step) {
    const VECTOR half = SPREAD((T)0.5), sum = (b + c) * half;
    to[0] = a + sum;
    to[step] = (b - c) * half;
    to[2 * step] = sum + d;
}

/* The nine elements of a filter for `channels` channels, whole vectors, from their 16 sums. */
static void TYPED(square_filter)(const void* sums, npy_intp step, npy_intp channels, void* to) {
    const T* from = sums;
    T* elements = to;
    for (npy_intp c = 0; c < channels; c += LANES, from += LANES, elements += LANES) {
        VECTOR columns[3 * PATCH], row[3];
PHINTYS_UNROLLED(4)
        for (int j = 0; j < PATCH; j++)
            TYPED(three)(LOAD(from + j * step), LOAD(from + (PATCH + j) * step), LOAD(from + (2 * PATCH + j) * step),
                         LOAD(from + (3 * PATCH + j) * step), columns + j, PATCH);
PHINTYS_UNROLLED(3)
        for (int i = 0; i < 3; i++) {
            const VECTOR* numbers = columns + i * PATCH;
            TYPED(three)(numbers[0], numbers[1], numbers[2], numbers[3], row, 1);
PHINTYS_UNROLLED(3)
            for (int j = 0; j < 3; j++) STORE(elements + (3 * i + j) * channels, row[j]);
        }
    }
}
