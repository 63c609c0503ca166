/* Samples of dtype T: streams [start, stop) of `streams`, each with all of its samples among the first `size`. */

PHINTYS_CLONES
static void NAME(phintys_mrg_rows)(uint32_t* lanes, ptrdiff_t rows, ptrdiff_t streams, T* out) {
    for (ptrdiff_t row = 0; row < rows; row++, out += streams)
        for (int lane = 0; lane < PHINTYS_MRG_LANES; lane++)
            out[lane] = SAMPLE(phintys_mrg_next(lanes + lane, PHINTYS_MRG_LANES));
}

/* `advanced` becomes the state after them, of these streams; it may be `state`. */
static void NAME(phintys_mrg_samples)(const int32_t* state, int32_t* advanced, ptrdiff_t start, ptrdiff_t stop,
                                      ptrdiff_t streams, ptrdiff_t size, T* out) {
    uint32_t lanes[6 * PHINTYS_MRG_LANES];
    for (; start + PHINTYS_MRG_LANES <= stop && start + PHINTYS_MRG_LANES <= size; start += PHINTYS_MRG_LANES) {
        const int32_t* x = state + 6 * start;
        ptrdiff_t rows = (size - start - PHINTYS_MRG_LANES) / streams + 1;      /* of the last lane; others have more */
        for (int lane = 0; lane < PHINTYS_MRG_LANES; lane++)
            for (int part = 0; part < 6; part++)
                lanes[part * PHINTYS_MRG_LANES + lane] = (uint32_t)x[6 * lane + part];
        NAME(phintys_mrg_rows)(lanes, rows, streams, out + start);
        for (ptrdiff_t place = rows * streams + start, lane = 0; lane < PHINTYS_MRG_LANES && place < size; lane++)
            out[place++] = SAMPLE(phintys_mrg_next(lanes + lane, PHINTYS_MRG_LANES));
        for (int lane = 0; lane < PHINTYS_MRG_LANES; lane++)
            for (int part = 0; part < 6; part++)
                advanced[6 * (start + lane) + part] = (int32_t)lanes[part * PHINTYS_MRG_LANES + lane];
    }
    for (; start < stop && start < size; start++) {
        uint32_t x[6];                              /* in registers */
        for (int part = 0; part < 6; part++) x[part] = (uint32_t)state[6 * start + part];
        for (ptrdiff_t place = start; place < size; place += streams) out[place] = SAMPLE(phintys_mrg_next_alone(x));
        for (int part = 0; part < 6; part++) advanced[6 * start + part] = (int32_t)x[part];
    }
}
