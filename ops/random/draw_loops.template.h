/* The loops of draw_loops.h for one instruction set: words of the Mersenne Twister tempered, points of the polar method
 * tried. draw_loops.h calls them by table. Each number follows from the same words as in NumPy, by the same operations,
 * so streams are NumPy's with every set. */
/* All words of a block, tempered. */
static void IN_SET(phintys_mt19937_temper)(const uint32_t* key, ptrdiff_t count, uint32_t* out) {
    for (ptrdiff_t position = 0; position < count; position++) out[position] = phintys_mt19937_tempered(key[position]);
}

static void IN_SET(phintys_mt19937_fractions)(const uint32_t* key, ptrdiff_t pairs, double* out) {
    for (ptrdiff_t pair = 0; pair < pairs; pair++) out[pair] = phintys_fraction_of_pair(key + 2 * pair);
}

/* low + width * number, as NumPy rounds it. */
static void IN_SET(phintys_scaled)(ptrdiff_t count, double low, double width, double* out) {
    for (ptrdiff_t position = 0; position < count; position++) out[position] = low + width * out[position];
}

static void IN_SET(phintys_mt19937_points)(const uint32_t* key, ptrdiff_t count, phintys_points* points) {
    double fraction[2 * PHINTYS_POINTS];
    for (ptrdiff_t pair = 0; pair < 2 * count; pair++) fraction[pair] = phintys_fraction_of_pair(key + 2 * pair);
    for (ptrdiff_t position = 0; position < count; position++) {
        double x = 2 * fraction[2 * position] - 1, y = 2 * fraction[2 * position + 1] - 1;
        points->x[position] = x;
        points->y[position] = y;
        points->square[position] = x * x + y * y;
    }
}

static void IN_SET(phintys_polar_pairs)(const phintys_points* points, const double* logarithms, ptrdiff_t count,
                                double mean, double deviation, double* out) {
    for (ptrdiff_t position = 0; position < count; position++)
        phintys_polar_pair(points, position, logarithms[position], mean, deviation, out);
}

/* Counts of successes for uniform numbers, which are destroyed; returns whether a number exceeded all probabilities. */
static int IN_SET(phintys_successes)(const phintys_binomial* table, ptrdiff_t numbers, double* number,
                             double* count) {
    double active = 1;
    for (ptrdiff_t position = 0; position < numbers; position++) count[position] = 0;
    for (ptrdiff_t successes = 0; successes <= table->most && active; successes++) {
        const double probability = table->probability[successes];
        active = 0;
        for (ptrdiff_t position = 0; position < numbers; position++) {
            const double more = number[position] > probability ? 1 : 0;
            count[position] += more;
            number[position] = more != 0 ? number[position] - probability : -1;
            active += more;
        }
    }
    return active != 0;
}
