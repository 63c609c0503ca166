/* Short rows of one dtype, for one instruction set; see short_rows_loops.h. Defined before the include, undefined at
 * its end: T, DTYPE; KEY, the signed integer of its size; IS_FLOAT.
 */
#define OF(FUNCTION) IN_SET(PHINTYS_NAMED(FUNCTION, DTYPE))
#define V OF(vector)
#define LANES (64 / (int)sizeof(KEY))

typedef KEY V __attribute__((vector_size(64)));
typedef union {
    KEY of[PHINTYS_SHORT_ROW][PHINTYS_SIDE_BY_SIDE];
    V vectors[PHINTYS_SHORT_ROW][PHINTYS_SIDE_BY_SIDE / LANES];
} OF(Columns);

/* An integer of the same order, and back: of negative floats, all bits but the sign are inverted. */
PHINTYS_INLINE KEY OF(key_of)(T value) {
#if IS_FLOAT
    KEY bits;
    if (value != value) value = (T)__builtin_nan("");
    memcpy(&bits, &value, sizeof(bits));
    return bits ^ (KEY)((bits >> (8 * sizeof(KEY) - 1)) & (KEY)(((uint64_t)1 << (8 * sizeof(KEY) - 1)) - 1));
#else
    return value;
#endif
}

PHINTYS_INLINE T OF(value_of)(KEY key) {
#if IS_FLOAT
    T value;
    key ^= (KEY)((key >> (8 * sizeof(KEY) - 1)) & (KEY)(((uint64_t)1 << (8 * sizeof(KEY) - 1)) - 1));
    memcpy(&value, &key, sizeof(value));
    return value;
#else
    return key;
#endif
}

static void OF(phintys_sort_rows)(const char *from, npy_intp row_step, npy_intp step, npy_intp rows, int length,
                                  char *out) {
    OF(Columns) keys;
    Network network;
    phintys_make_network(length, &network);
    memset(&keys, 0, sizeof(keys));
    for (npy_intp start = 0; start < rows; start += PHINTYS_SIDE_BY_SIDE) {
        const int count = rows - start < PHINTYS_SIDE_BY_SIDE ? (int)(rows - start) : PHINTYS_SIDE_BY_SIDE;
        for (int row = 0; row < count; row++)
            for (int i = 0; i < length; i++)
                keys.of[i][row] = OF(key_of)(*(const T *)(from + (start + row) * row_step + i * step));
        for (int number = 0; number < network.count; number++) {
            V *a = keys.vectors[network.first[number]], *b = keys.vectors[network.second[number]];
            for (int part = 0; part < PHINTYS_SIDE_BY_SIDE / LANES; part++) {
                const V x = a[part], y = b[part], ordered = (V)(x < y);
                a[part] = (x & ordered) | (y & ~ordered), b[part] = (y & ordered) | (x & ~ordered);
            }
        }
        T *target = (T *)out + start * length;
        for (int row = 0; row < count; row++)
            for (int i = 0; i < length; i++) target[row * length + i] = OF(value_of)(keys.of[i][row]);
    }
}

static void OF(phintys_argsort_rows)(const char *from, npy_intp row_step, npy_intp step, npy_intp rows, int length,
                                     char *out) {
    OF(Columns) keys, positions;
    Network network;
    phintys_make_network(length, &network);
    memset(&keys, 0, sizeof(keys));
    for (npy_intp start = 0; start < rows; start += PHINTYS_SIDE_BY_SIDE) {
        const int count = rows - start < PHINTYS_SIDE_BY_SIDE ? (int)(rows - start) : PHINTYS_SIDE_BY_SIDE;
        for (int i = 0; i < length; i++)
            for (int row = 0; row < PHINTYS_SIDE_BY_SIDE; row++) positions.of[i][row] = i;
        for (int row = 0; row < count; row++)
            for (int i = 0; i < length; i++)
                keys.of[i][row] = OF(key_of)(*(const T *)(from + (start + row) * row_step + i * step));
        for (int number = 0; number < network.count; number++) {
            V *a = keys.vectors[network.first[number]], *b = keys.vectors[network.second[number]];
            V *of_a = positions.vectors[network.first[number]], *of_b = positions.vectors[network.second[number]];
            for (int part = 0; part < PHINTYS_SIDE_BY_SIDE / LANES; part++) {
                const V x = a[part], y = b[part], of_x = of_a[part], of_y = of_b[part], ordered = (V)(x <= y);
                a[part] = (x & ordered) | (y & ~ordered), b[part] = (y & ordered) | (x & ~ordered);
                of_a[part] = (of_x & ordered) | (of_y & ~ordered), of_b[part] = (of_y & ordered) | (of_x & ~ordered);
            }
        }
        int64_t *target = (int64_t *)out + start * length;
        for (int row = 0; row < count; row++)
            for (int i = 0; i < length; i++) target[row * length + i] = positions.of[i][row];
    }
}

#undef OF
#undef V
#undef LANES
#undef T
#undef KEY
#undef DTYPE
#undef IS_FLOAT
