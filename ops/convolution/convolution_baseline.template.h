/* Operations on vectors of 16 bytes for one type T, as convolution_tiles.template.h needs them. */
PHINTYS_INLINE VECTOR TYPED(load_baseline)(const T* from) {
    VECTOR value;
    memcpy(&value, from, sizeof value);
    return value;
}
PHINTYS_INLINE void TYPED(store_baseline)(T* to, VECTOR value) { memcpy(to, &value, sizeof value); }
PHINTYS_INLINE VECTOR TYPED(spread_baseline)(T value) {
    VECTOR zeros = {0};
    return zeros + value;
}
PHINTYS_INLINE T TYPED(total_baseline)(VECTOR value) {
    T total = value[0];
    for (int l = 1; l < LANES; l++) total += value[l];
    return total;
}
