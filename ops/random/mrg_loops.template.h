/* Samples of dtype T: streams [start, stop) of `streams`, each with all of its samples among the first `size`.
 * First what is compiled for each instruction set. */
#ifdef SET
static void IN_SET(NAME(phintys_mrg_rows))(uint32_t* lanes, ptrdiff_t rows, ptrdiff_t streams, T* out) {
    for (ptrdiff_t row = 0; row < rows; row++, out += streams)
        for (int lane = 0; lane < PHINTYS_MRG_LANES; lane++)
            out[lane] = SAMPLE(phintys_mrg_next(lanes + lane, PHINTYS_MRG_LANES));
}
#else

#define LOOPS "random/mrg_loops.template.h"
#include "native/each_set.h"
BY_SET(NAME(phintys_mrg_rows));

/* One sample of each of at most 16 streams. */
PHINTYS_MRG_WIDE
static void NAME(phintys_mrg_few)(const int32_t* state, int32_t* advanced, int streams, T* out) {
    int32_t integers[PHINTYS_MRG_FEW] __attribute__((aligned(64)));
    enum {EACH = 64 / sizeof(T)};                       /* samples of a vector */
    T samples[EACH < PHINTYS_MRG_FEW ? PHINTYS_MRG_FEW : EACH] __attribute__((aligned(64)));
    phintys_mrg_integers_of_few(state, advanced, streams, integers);
    for (int lane = 0; lane < PHINTYS_MRG_FEW; lane++) samples[lane] = SAMPLE(integers[lane]);
    for (int lane = 0; lane < streams; lane += EACH)
        phintys_mrg_store(samples + lane, (streams - lane) * (ptrdiff_t)sizeof(T), out + lane);
}

/* `advanced` becomes the state after them, of these streams; it may be `state`. */
static void NAME(phintys_mrg_samples)(const int32_t* state, int32_t* advanced, ptrdiff_t start, ptrdiff_t stop,
                                      ptrdiff_t streams, ptrdiff_t size, T* out) {
    uint32_t lanes[6 * PHINTYS_MRG_LANES] __attribute__((aligned(64)));
    for (; start + PHINTYS_MRG_LANES <= stop && start + PHINTYS_MRG_LANES <= size; start += PHINTYS_MRG_LANES) {
        ptrdiff_t rows = (size - start - PHINTYS_MRG_LANES) / streams + 1;      /* of the last lane; others have more */
        phintys_mrg_lanes_of(state + 6 * start, lanes);
        NAME(phintys_mrg_rows)[*phintys_set](lanes, rows, streams, out + start);
        for (ptrdiff_t position = rows * streams + start, lane = 0; lane < PHINTYS_MRG_LANES && position < size; lane++)
            out[position++] = SAMPLE(phintys_mrg_next(lanes + lane, PHINTYS_MRG_LANES));
        phintys_mrg_states_of(lanes, advanced + 6 * start);
    }
    while (phintys_mrg_vectors() && size <= streams && start + 4 <= stop && start + 4 <= size) {
        const ptrdiff_t left = (stop < size ? stop : size) - start;
        const int few = left < PHINTYS_MRG_FEW ? (int)left : PHINTYS_MRG_FEW;
        NAME(phintys_mrg_few)(state + 6 * start, advanced + 6 * start, few, out + start);
        start += few;
    }
    for (; start < stop && start < size; start++) {
        uint32_t x[6];                              /* in registers */
        for (int part = 0; part < 6; part++) x[part] = (uint32_t)state[6 * start + part];
        for (ptrdiff_t position = start; position < size; position += streams)
            out[position] = SAMPLE(phintys_mrg_next_alone(x));
        for (int part = 0; part < 6; part++) advanced[6 * start + part] = (int32_t)x[part];
    }
}
#endif
