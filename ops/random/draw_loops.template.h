/* The loops of draw_loops.h for one instruction set. */
/* All words of a block, tempered. */
static void IN_SET(phintys_mt19937_temper)(const uint32_t* key, ptrdiff_t count, uint32_t* out) {
    for (ptrdiff_t place = 0; place < count; place++) out[place] = phintys_mt19937_tempered(key[place]);
}

static void IN_SET(phintys_mt19937_fractions)(const uint32_t* key, ptrdiff_t pairs, double* out) {
    for (ptrdiff_t pair = 0; pair < pairs; pair++) out[pair] = phintys_fraction_of_pair(key + 2 * pair);
}

/* low + width * number, as NumPy rounds it. */
static void IN_SET(phintys_scaled)(ptrdiff_t count, double low, double width, double* out) {
    for (ptrdiff_t place = 0; place < count; place++) out[place] = low + width * out[place];
}

static void IN_SET(phintys_mt19937_points)(const uint32_t* key, ptrdiff_t count, phintys_points* points) {
    double fraction[2 * PHINTYS_POINTS];
    for (ptrdiff_t pair = 0; pair < 2 * count; pair++) fraction[pair] = phintys_fraction_of_pair(key + 2 * pair);
    for (ptrdiff_t place = 0; place < count; place++) {
        double x = 2 * fraction[2 * place] - 1, y = 2 * fraction[2 * place + 1] - 1;
        points->x[place] = x;
        points->y[place] = y;
        points->square[place] = x * x + y * y;
    }
}

static void IN_SET(phintys_polar_pairs)(const phintys_points* points, const double* logarithms, ptrdiff_t count,
                                double mean, double deviation, double* out) {
    for (ptrdiff_t place = 0; place < count; place++)
        phintys_polar_pair(points, place, logarithms[place], mean, deviation, out);
}

/* Counts of successes for uniform numbers, which are destroyed; returns whether a number exceeded all probabilities. */
static int IN_SET(phintys_successes)(const phintys_binomial* table, ptrdiff_t numbers, double* number,
                             double* count) {
    double active = 1;
    for (ptrdiff_t place = 0; place < numbers; place++) count[place] = 0;
    for (ptrdiff_t successes = 0; successes <= table->most && active; successes++) {
        const double probability = table->probability[successes];
        active = 0;
        for (ptrdiff_t place = 0; place < numbers; place++) {
            const double more = number[place] > probability ? 1 : 0;
            count[place] += more;
            number[place] = more != 0 ? number[place] - probability : -1;
            active += more;
        }
    }
    return active != 0;
}
