/* The searches of arg_loops.h that are compiled for each instruction set; arg_loops.h has the others, and calls these
 * by table. Of several largest elements the first is found, and the first NaN before all others, with every set. */
#define ROW(NAME, TYPE, BEFORE, NAN_TEST) \
static void IN_SET(NAME##_next_row)(const TYPE* x, intptr_t n, int64_t position, TYPE* found, int64_t* index) { \
    for (intptr_t j = 0; j < n; j++) { \
        int better = (NAN_TEST(x[j]) || BEFORE(x[j], found[j])) && !(NAN_TEST(found[j])); \
        found[j] = better ? x[j] : found[j]; index[j] = better ? position : index[j]; \
    } \
} \
static void IN_SET(NAME##_row)(const char* data, intptr_t stride, intptr_t n, int64_t position, char* best, \
                               int64_t* index) { \
    TYPE* found = (TYPE*)best; \
    if (position && stride == (intptr_t)sizeof(TYPE)) { \
        IN_SET(NAME##_next_row)((const TYPE*)data, n, position, found, index); \
        return; \
    } \
    for (intptr_t j = 0; j < n; j++, data += stride) { \
        TYPE x = *(const TYPE*)data; \
        int better = !position || ((NAN_TEST(x) || BEFORE(x, found[j])) && !(NAN_TEST(found[j]))); \
        found[j] = better ? x : found[j]; index[j] = better ? position : index[j]; \
    } \
}
ALL_TYPES(ROW)

/* This loop has no branches, because these are often mispredicted in short lines. */
#define LINES(NAME, TYPE, BEFORE, NAN_TEST) \
static void IN_SET(NAME##_lines)(const char* data, intptr_t n, intptr_t next_row, intptr_t rows, \
                                 int64_t* positions) { \
    for (intptr_t row = 0; row < rows; row++, data += next_row) { \
        const TYPE* x = (const TYPE*)data; \
        TYPE found = x[0]; \
        int64_t where = 0; \
        for (intptr_t i = 1; i < n; i++) { \
            int better = (BEFORE(x[i], found) | NAN_TEST(x[i])) & !(NAN_TEST(found)); \
            found = better ? x[i] : found; \
            where = better ? i : where; \
        } \
        positions[row] = where; \
    } \
}
ALL_TYPES(LINES)

#define ROW_OF(WHICH, NAME) {WHICH##_##NAME##_run, IN_SET(WHICH##_##NAME##_row), IN_SET(WHICH##_##NAME##_lines)}
#define ALL_OF(WHICH) {ROW_OF(WHICH, uint8), \
    ROW_OF(WHICH, int8), ROW_OF(WHICH, int16), ROW_OF(WHICH, int32), ROW_OF(WHICH, int64), \
    ROW_OF(WHICH, uint8), ROW_OF(WHICH, uint16), ROW_OF(WHICH, uint32), ROW_OF(WHICH, uint64), \
    ROW_OF(WHICH, float16), ROW_OF(WHICH, float32), ROW_OF(WHICH, float64)}
static const phintys_search IN_SET(phintys_searches)[2][12] = {ALL_OF(minimum), ALL_OF(maximum)};
#undef ROW
#undef LINES
#undef ROW_OF
#undef ALL_OF
