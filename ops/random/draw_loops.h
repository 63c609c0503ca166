/* Long draws: loops over the bits of a generator that are faster than a call of NumPy's function for each number, and
 * give the same bits. What they need to know of NumPy's tables, they read from NumPy's functions, see below; without
 * it, or for other generators, NumPy's functions draw.
 */
#ifndef PHINTYS_DRAW_LOOPS_H
#define PHINTYS_DRAW_LOOPS_H

#include "native/sets.h"
#include "bit_generators.h"
#include "legacy_binomial.h"
#include "pcg64_vectors.h"
#include "numpy/random/distributions.h"

/* ---- MT19937 ----------------------------------------------------------------------------------------------------- */
enum {PHINTYS_KEYS = 624};

/* The words (first, second), one after the other in memory, as an integer below 2**53, and this as a number from 0 to
 * 1: what phintys_mt19937_fraction computes. The halves of the integer are converted by adding them to powers of 2,
 * because few processors convert vectors of long integers; all of it is exact. */
static inline double phintys_fraction_of_pair(const uint32_t* key) {
    const uint64_t integer = (uint64_t)(phintys_mt19937_tempered(key[0]) >> 5) << 26
                             | phintys_mt19937_tempered(key[1]) >> 6;
    const uint64_t high_bits = 0x4530000000000000ULL | integer >> 32;       /* 2**84 + 2**32 (integer >> 32) */
    const uint64_t low_bits = 0x4330000000000000ULL | (integer & 0xffffffffu);
    double high, low;
    memcpy(&high, &high_bits, sizeof high);
    memcpy(&low, &low_bits, sizeof low);
    return ((high - (0x1p84 + 0x1p52)) + low) * (1.0 / 9007199254740992.0);
}

/* Points (x, y) of the square from -1 to 1, each of four words, and their squared distances from the centre. */
enum {PHINTYS_POINTS = 64};
typedef struct {
    double x[PHINTYS_POINTS], y[PHINTYS_POINTS], square[PHINTYS_POINTS];
} phintys_points;

/* Two normal numbers of each point. The logarithms are calls of the C library, whose bits NumPy has. */
static inline void phintys_polar_pair(const phintys_points* points, ptrdiff_t position, double logarithm, double mean,
                                      double deviation, double* out) {
    const double factor = sqrt(-2 * logarithm / points->square[position]);
    out[2 * position] = mean + deviation * (factor * points->y[position]);
    out[2 * position + 1] = mean + deviation * (factor * points->x[position]);
}

/* NumPy subtracts the probabilities of 0, 1, 2, ... successes from a uniform number until it is smaller. Here these
 * probabilities are computed once, and many numbers advance side by side. A number that exceeds all of them is replaced
 * by the next one, which practically never happens. */
enum {PHINTYS_SUCCESSES = 128};
typedef struct {
    double probability[PHINTYS_SUCCESSES];
    ptrdiff_t most;                 /* successes that NumPy counts before it takes another number */
    int64_t trials;                 /* the count is this minus the successes if `mirrored` */
    int mirrored;
} phintys_binomial;

#define LOOPS "random/draw_loops.template.h"
#include "native/each_set.h"
BY_SET(phintys_mt19937_temper);
BY_SET(phintys_mt19937_fractions);
BY_SET(phintys_scaled);
BY_SET(phintys_mt19937_points);
BY_SET(phintys_polar_pairs);
BY_SET(phintys_successes);

/* Numbers from 0 to 1; pairs of words between two refills are used in one loop. */
static void phintys_mt19937_doubles(uint64_t* state, ptrdiff_t count, double* out) {
    uint64_t* own = state + PHINTYS_OWN;
    const uint32_t* key = (uint32_t*)(own + 1);
    while (count > 0) {
        ptrdiff_t pairs = own[0] >= PHINTYS_KEYS ? 0 : (ptrdiff_t)(PHINTYS_KEYS - own[0]) / 2;
        pairs = pairs < count ? pairs : count;
        phintys_mt19937_fractions[*phintys_set](key + own[0], pairs, out);
        own[0] += 2 * pairs;
        out += pairs;
        count -= pairs;
        if (count > 0 && own[0] >= PHINTYS_KEYS - 1) {              /* the next pair needs a refill */
            *out++ = phintys_mt19937_double(state);
            count--;
        }
    }
}

static void phintys_mt19937_uniform(uint64_t* state, ptrdiff_t count, double low, double width, double* out) {
    for (ptrdiff_t done = 0; done < count; done += 1024) {
        ptrdiff_t part = count - done < 1024 ? count - done : 1024;
        phintys_mt19937_doubles(state, part, out + done);
        if (low != 0 || width != 1) phintys_scaled[*phintys_set](part, low, width, out + done);
    }
}

/* The same of words that are where the numbers will be: two, not tempered, for each. */
static void phintys_mt19937_uniform_of_words(ptrdiff_t count, double low, double width, double* numbers) {
    uint32_t words[512];
    for (ptrdiff_t done = 0, part; done < count; done += part) {
        part = count - done < 256 ? count - done : 256;
        memcpy(words, numbers + done, (size_t)part * sizeof *numbers);
        phintys_mt19937_fractions[*phintys_set](words, part, numbers + done);
        if (low != 0 || width != 1) phintys_scaled[*phintys_set](part, low, width, numbers + done);
    }
}

/* Move the points in the circle to the front. Returns how many there are, at most `wanted`; `*used` becomes the number
 * of points up to the last of them, or of all points when there are less. Nothing is guessed: branches on random
 * numbers would be mispredicted. */
static ptrdiff_t phintys_points_inside(phintys_points* points, ptrdiff_t count, ptrdiff_t wanted, ptrdiff_t* used) {
    unsigned char position_of[PHINTYS_POINTS + 1];
    ptrdiff_t found = 0;
    for (ptrdiff_t position = 0; position < count; position++) {
        const double square = points->square[position];
        points->x[found] = points->x[position];
        points->y[found] = points->y[position];
        points->square[found] = square;
        position_of[found] = (unsigned char)position;
        found += (square < 1) & (square != 0);
    }
    *used = found < wanted ? count : position_of[wanted - 1] + 1;
    return found < wanted ? found : wanted;
}

/* The points of words that are in the circle. */
static ptrdiff_t phintys_points_of(const uint32_t* key, ptrdiff_t count, ptrdiff_t wanted, phintys_points* points,
                                   ptrdiff_t* used) {
    phintys_mt19937_points[*phintys_set](key, count, points);
    return phintys_points_inside(points, count, wanted, used);
}

/* Vectors of what has just been stored number by number wait for it, so a few points are not worth vectors. */
static void phintys_polar(const phintys_points* points, ptrdiff_t count, double mean, double deviation, double* out) {
    double logarithms[PHINTYS_POINTS];
    if (count < 12) {
        for (ptrdiff_t position = 0; position < count; position++)
            phintys_polar_pair(points, position, log(points->square[position]), mean, deviation, out);
        return;
    }
    for (ptrdiff_t position = 0; position < count; position++) logarithms[position] = log(points->square[position]);
    phintys_polar_pairs[*phintys_set](points, logarithms, count, mean, deviation, out);
}

/* One normal number of a RandomState from the words before the next refill; returns 0 if they do not suffice. */
static inline int phintys_normal_of_block(uint64_t* state, const uint32_t* key, double* number) {
    uint64_t* position = state + PHINTYS_OWN;
    double pair[2];
    while (*position <= PHINTYS_KEYS - 4) {
        const double x = 2 * phintys_fraction_of_pair(key + *position) - 1;
        const double y = 2 * phintys_fraction_of_pair(key + *position + 2) - 1;
        *position += 4;
        if (phintys_normals_of_point(x, y, pair)) {
            *number = phintys_first_of_pair(state, pair);
            return 1;
        }
    }
    return 0;
}

/* Normal numbers of numpy.random.RandomState, many points at a time, as far as the words before the next refill go;
 * returns how many were made. `key` has the words; of the state only the words before them are read and written. */
static ptrdiff_t phintys_normals_of_block(uint64_t* state, const uint32_t* key, ptrdiff_t count, double mean,
                                          double deviation, double* out) {
    const double* first = out;
    uint64_t* position = state + PHINTYS_OWN;
    phintys_points points;
    if (count > 0 && state[PHINTYS_HAS_HALF]) {
        *out++ = mean + deviation * phintys_second_of_pair(state);
        count--;
    }
    while (count > 1 && *position <= PHINTYS_KEYS - 4) {
        const ptrdiff_t left = (ptrdiff_t)(PHINTYS_KEYS - *position) / 4;
        ptrdiff_t wanted = count / 2, tried = (wanted + wanted / 4 + 7) & ~(ptrdiff_t)7, used;     /* whole vectors */
        tried = tried < left ? tried : left;
        tried = tried < PHINTYS_POINTS ? tried : PHINTYS_POINTS;
        const ptrdiff_t found = phintys_points_of(key + *position, tried, wanted, &points, &used);
        phintys_polar(&points, found, mean, deviation, out);
        *position += 4 * (uint64_t)used;
        out += 2 * found;
        count -= 2 * found;
    }
    double number;
    if (count == 1 && phintys_normal_of_block(state, key, &number)) *out++ = mean + deviation * number;
    return out - first;
}

/* Normal numbers of numpy.random.RandomState. `key` has the words up to the next refill: those of the state, or of the
 * one that it has just been copied from, as loads from the copy would wait until it has been stored. */
static void phintys_paired_normals(uint64_t* state, const uint32_t* key, ptrdiff_t count, double mean,
                                   double deviation, double* out) {
    for (;;) {
        const ptrdiff_t made = phintys_normals_of_block(state, key, count, mean, deviation, out);
        out += made;
        count -= made;
        if (count == 0) return;
        double pair[2];                                             /* the next point needs words after the refill */
        if (phintys_next_normals(state, pair)) {
            *out++ = mean + deviation * phintys_first_of_pair(state, pair);
            count--;
        }
        key = (const uint32_t*)(state + PHINTYS_OWN + 1);
    }
}

/* The next words of the generator as they are before tempering; the state advances. Whole blocks are made where they
 * are needed. */
static void phintys_mt19937_words(uint64_t* state, ptrdiff_t count, uint32_t* out) {
    uint64_t* own = state + PHINTYS_OWN;
    uint32_t* key = (uint32_t*)(own + 1);
    const uint32_t* last = key;
    ptrdiff_t part = own[0] < PHINTYS_KEYS ? (ptrdiff_t)(PHINTYS_KEYS - own[0]) : 0;
    part = part < count ? part : count;
    memcpy(out, key + own[0], (size_t)part * sizeof *out);
    own[0] += (uint64_t)part;
    for (out += part, count -= part; count >= PHINTYS_KEYS; out += PHINTYS_KEYS, count -= PHINTYS_KEYS) {
        phintys_mt19937_next_block[*phintys_set](last, out);
        last = out;
    }
    if (last != key) memcpy(key, last, PHINTYS_KEYS * sizeof *key);
    if (count > 0) {
        phintys_mt19937_refill[*phintys_set](key);
        memcpy(out, key, (size_t)count * sizeof *out);
        own[0] = (uint64_t)count;
    }
}

/* Normal numbers of all points in a number of words, which is a multiple of four. Returns how many there are. */
static ptrdiff_t phintys_normals_of_words(const uint32_t* words, ptrdiff_t count, double mean, double deviation,
                                          double* out) {
    phintys_points points;
    double* first = out;
    for (ptrdiff_t done = 0; done < count; done += 4 * PHINTYS_POINTS) {
        ptrdiff_t tried = (count - done) / 4, used;
        tried = tried < PHINTYS_POINTS ? tried : PHINTYS_POINTS;
        const ptrdiff_t found = phintys_points_of(words + done, tried, tried, &points, &used);
        phintys_polar(&points, found, mean, deviation, out);
        out += 2 * found;
    }
    return out - first;
}

/* A generator of the words of MT19937 that tempers them a block at a time. Its state is at `state` in between. */
typedef struct {
    uint64_t* state;
    uint32_t words[PHINTYS_KEYS];
} phintys_tempered_words;

static inline uint32_t phintys_tempered_half(void* generator) {
    phintys_tempered_words* words = (phintys_tempered_words*)generator;
    uint64_t* own = words->state + PHINTYS_OWN;
    if (own[0] >= PHINTYS_KEYS) {
        phintys_mt19937_refill[*phintys_set]((uint32_t*)(own + 1));
        phintys_mt19937_temper[*phintys_set]((uint32_t*)(own + 1), PHINTYS_KEYS, words->words);
        own[0] = 0;
    }
    return words->words[own[0]++];
}

static uint32_t phintys_tempered_short(void* generator) { return phintys_tempered_half(generator); }
static uint64_t phintys_tempered_raw(void* generator) { return phintys_tempered_half(generator); }

static uint64_t phintys_tempered_next(void* generator) {
    uint64_t high = phintys_tempered_half(generator);
    return high << 32 | phintys_tempered_half(generator);
}

static double phintys_tempered_double(void* generator) {
    uint32_t first = phintys_tempered_half(generator);
    return phintys_mt19937_fraction(first, phintys_tempered_half(generator));
}

static bitgen_t phintys_tempered_generator(phintys_tempered_words* words, uint64_t* state) {
    bitgen_t bits = {words, phintys_tempered_next, phintys_tempered_short, phintys_tempered_double,
                     phintys_tempered_raw};
    words->state = state;
    phintys_mt19937_temper[*phintys_set]((uint32_t*)(state + PHINTYS_OWN + 1), PHINTYS_KEYS, words->words);
    return bits;
}

/* ---- uniform numbers of PCG64 ------------------------------------------------------------------------------------ */

/* How many numbers the vectors of this processor have in flight; 0: there are none. */
static inline ptrdiff_t phintys_numbers_ahead(void) {
    return PHINTYS_HAS_IFMA(*phintys_set) ? PHINTYS_AHEAD : *phintys_set ? PHINTYS_AHEAD_AVX2 : 0;
}

/* Numbers from 0 to 1; the state advances. */
static void phintys_pcg64_doubles(uint64_t* state, ptrdiff_t count, double* out) {
    phintys_uint128 here = phintys_wide(state + PHINTYS_OWN);
    const phintys_uint128 increment = phintys_wide(state + PHINTYS_OWN + 2);
    const ptrdiff_t ahead = phintys_numbers_ahead(), rounds = ahead && count >= 4 * ahead ? count / ahead : 0;
    if (rounds) {
        here = (ahead == PHINTYS_AHEAD ? phintys_vectors_of_doubles
                                       : phintys_halves_of_doubles)(here, increment, rounds, out);
        count -= rounds * ahead;
        out += rounds * ahead;
    }
    for (ptrdiff_t position = 0; position < count; position++) {
        here = here * PHINTYS_PCG_MULTIPLIER + increment;
        out[position] = phintys_unit(phintys_pcg64_output(here));
    }
    phintys_set_wide(state + PHINTYS_OWN, here);
}

static inline float phintys_short_unit(uint32_t bits) { return (float)(bits >> 8) * (1.0f / 16777216.0f); }

/* The same in float32, two of each number of 64 bits. */
static void phintys_pcg64_floats(uint64_t* state, ptrdiff_t count, float* out) {
    if (count && state[PHINTYS_HAS_HALF]) {
        *out++ = phintys_short_unit(phintys_pcg64_half(state));
        count--;
    }
    phintys_uint128 here = phintys_wide(state + PHINTYS_OWN);
    const phintys_uint128 increment = phintys_wide(state + PHINTYS_OWN + 2);
    const ptrdiff_t ahead = 2 * phintys_numbers_ahead(), rounds = ahead && count >= 4 * ahead ? count / ahead : 0;
    if (rounds) {
        here = (ahead == 2 * PHINTYS_AHEAD ? phintys_vectors_of_floats
                                           : phintys_halves_of_floats)(here, increment, rounds, out);
        state[PHINTYS_HALF] = phintys_pcg64_output(here) >> 32;
        count -= rounds * ahead;
        out += rounds * ahead;
    }
    phintys_set_wide(state + PHINTYS_OWN, here);
    for (ptrdiff_t position = 0; position < count; position++)
        out[position] = phintys_short_unit(phintys_pcg64_half(state));
}

/* The state after `count` uniform numbers, of float32 if `narrow`; it may be written over the old one. */
static void phintys_pcg64_after(const uint64_t* state, ptrdiff_t count, int narrow, uint64_t* after) {
    memmove(after, state, 7 * sizeof *after);
    if (!narrow) {
        phintys_pcg64_advance(after, (uint64_t)count);
        return;
    }
    if (count && after[PHINTYS_HAS_HALF]) {
        after[PHINTYS_HAS_HALF] = 0;
        count--;
    }
    if (count) {
        phintys_pcg64_advance(after, (uint64_t)(count + 1) / 2 - 1);
        after[PHINTYS_HALF] = phintys_pcg64_next(after) >> 32;
        after[PHINTYS_HAS_HALF] = count & 1;
    }
}

/* Integers from `low` to `low + last`, where `last` is from 1 to 2**32 - 2: by Lemire's method, of halves of
 * numbers. */
static void phintys_pcg64_integers(uint64_t* state, uint64_t low, uint32_t last, ptrdiff_t count, uint64_t* out) {
    const uint64_t options = (uint64_t)last + 1;
    const uint32_t threshold = (UINT32_MAX - last) % (uint32_t)options;
    phintys_uint128 here = phintys_wide(state + PHINTYS_OWN);
    const phintys_uint128 increment = phintys_wide(state + PHINTYS_OWN + 2);
    uint64_t has_half = state[PHINTYS_HAS_HALF], half = state[PHINTYS_HALF];
    for (ptrdiff_t position = 0; position < count; position++) {
        uint64_t product;
        do {
            uint64_t bits = half & 0xffffffffu;
            if (!has_half) {
                here = here * PHINTYS_PCG_MULTIPLIER + increment;
                const uint64_t both = phintys_pcg64_output(here);
                bits = both & 0xffffffffu;
                half = both >> 32;
            }
            has_half = !has_half;
            product = bits * options;
        } while (__builtin_expect((uint32_t)product < threshold, 0));
        out[position] = low + (product >> 32);
    }
    phintys_set_wide(state + PHINTYS_OWN, here);
    state[PHINTYS_HAS_HALF] = has_half;
    state[PHINTYS_HALF] = half;
}

/* ---- the ziggurat: normal numbers of NumPy's Generator ----------------------------------------------------------- */

/* NumPy draws a normal number from 64 bits: layer, sign and 52 bits of a product with the width of the layer; in 99 of
 * 100 cases the product is below the layer's limit and is the number. float32 numbers have 32 and 23 bits. NumPy does
 * not export its tables. They are read here from its functions, which are given bits that have been chosen: a product
 * with a power of 2 tells the width, and whether more bits are asked for, the limit. */
typedef struct {
    double width[256];
    uint64_t limit[256];
    float short_width[256];
    uint32_t short_limit[256];
    int known;
} phintys_ziggurat;

static phintys_ziggurat phintys_normal_tables;

typedef struct {                    /* a generator of one number that was chosen; it counts what else is asked for */
    uint64_t bits;
    int asked;
} phintys_chosen;

static uint64_t phintys_chosen_next(void* state) {
    phintys_chosen* chosen = (phintys_chosen*)state;
    return chosen->asked++ ? 0x80000000u : chosen->bits;    /* what ends NumPy's search for a number at once */
}
static uint32_t phintys_chosen_half(void* state) { return (uint32_t)phintys_chosen_next(state); }
static double phintys_chosen_double(void* state) {
    ((phintys_chosen*)state)->asked++;
    return 0.5;
}

static double phintys_of_chosen(uint64_t bits, int is_short, int* asked) {
    phintys_chosen chosen = {bits, 0};
    bitgen_t generator = {&chosen, phintys_chosen_next, phintys_chosen_half, phintys_chosen_double,
                          phintys_chosen_next};
    double found = is_short ? random_standard_normal_f(&generator) : random_standard_normal(&generator);
    *asked = chosen.asked;
    return found;
}

/* Read a layer: the smallest product that NumPy examines further, and the width. */
static void phintys_read_layer(int layer, int is_short, int shift, int bits, uint64_t* limit, double* width) {
    uint64_t low = 0, high = (uint64_t)1 << bits;           /* products below low are taken, from high on examined */
    int asked;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        phintys_of_chosen(middle << shift | (uint64_t)layer, is_short, &asked);
        if (asked == 1) low = middle + 1;
        else high = middle;
    }
    *limit = low;
    uint64_t power = 1;
    while (2 * power < low) power *= 2;
    *width = low ? phintys_of_chosen(power << shift | (uint64_t)layer, is_short, &asked) / (double)power : 0;
}

/* Whether numbers made of the tables are NumPy's: of 4096 states, in both precisions. */
static int phintys_ziggurat_agrees(void);

static void phintys_read_ziggurat(void) {
    phintys_ziggurat* tables = &phintys_normal_tables;
    if (__atomic_load_n(&tables->known, __ATOMIC_ACQUIRE)) return;
    for (int layer = 0; layer < 256; layer++) {                 /* threads write the same, at the same time or later */
        uint64_t limit;
        double width;
        phintys_read_layer(layer, 0, 9, 52, &limit, &width);
        tables->width[layer] = width, tables->limit[layer] = limit;
        phintys_read_layer(layer, 1, 9, 23, &limit, &width);
        tables->short_width[layer] = (float)width, tables->short_limit[layer] = (uint32_t)limit;
    }
    __atomic_store_n(&tables->known, phintys_ziggurat_agrees() ? 1 : -1, __ATOMIC_RELEASE);
}

/* Whether the bits are a number at once; it is left in `*number`. */
static inline int phintys_in_layer(uint64_t bits, double* number) {
    const uint64_t product = bits >> 9 & 0x000fffffffffffffULL;
    const unsigned layer = bits & 0xff;
    const double size = (double)(int64_t)product * phintys_normal_tables.width[layer];
    uint64_t signed_size;                                   /* without a branch, which would be guessed in vain */
    memcpy(&signed_size, &size, sizeof size);
    signed_size |= (bits >> 8 & 1) << 63;
    memcpy(number, &signed_size, sizeof size);
    return product < phintys_normal_tables.limit[layer];
}

static inline int phintys_in_short_layer(uint32_t bits, float* number) {
    const uint32_t product = bits >> 9;
    const unsigned layer = bits & 0xff;
    const float size = (float)(int32_t)product * phintys_normal_tables.short_width[layer];
    uint32_t signed_size;
    memcpy(&signed_size, &size, sizeof size);
    signed_size |= (bits >> 8 & 1) << 31;
    memcpy(number, &signed_size, sizeof size);
    return product < phintys_normal_tables.short_limit[layer];
}

/* Normal numbers of PCG64, whose state stays in registers; where a number is not found at once, NumPy draws it from the
 * state before. */
static void phintys_pcg64_normals(uint64_t* state, ptrdiff_t count, double* out) {
    bitgen_t bits = phintys_bit_generator(state);
    phintys_uint128 here = phintys_wide(state + PHINTYS_OWN);
    const phintys_uint128 increment = phintys_wide(state + PHINTYS_OWN + 2);
    for (ptrdiff_t position = 0; position < count; position++) {
        const phintys_uint128 next = here * PHINTYS_PCG_MULTIPLIER + increment;
        if (__builtin_expect(phintys_in_layer(phintys_pcg64_output(next), out + position), 1)) {
            here = next;
            continue;
        }
        phintys_set_wide(state + PHINTYS_OWN, here);
        out[position] = random_standard_normal(&bits);
        here = phintys_wide(state + PHINTYS_OWN);
    }
    phintys_set_wide(state + PHINTYS_OWN, here);
}

static void phintys_pcg64_short_normals(uint64_t* state, ptrdiff_t count, float* out) {
    bitgen_t bits = phintys_bit_generator(state);
    const phintys_uint128 increment = phintys_wide(state + PHINTYS_OWN + 2);
    ptrdiff_t position = 0;
    while (position < count) {
        if (state[PHINTYS_HAS_HALF] || position + 1 == count) {
            out[position++] = random_standard_normal_f(&bits);
            continue;
        }
        phintys_uint128 here = phintys_wide(state + PHINTYS_OWN);
        while (position + 1 < count) {                      /* two numbers of each word */
            const phintys_uint128 next = here * PHINTYS_PCG_MULTIPLIER + increment;
            const uint64_t both = phintys_pcg64_output(next);
            int found = phintys_in_short_layer((uint32_t)both, out + position);
            found &= phintys_in_short_layer((uint32_t)(both >> 32), out + position + 1);
            if (__builtin_expect(!found, 0)) break;
            state[PHINTYS_HALF] = both >> 32;
            here = next;
            position += 2;
        }
        phintys_set_wide(state + PHINTYS_OWN, here);
        if (position < count) out[position++] = random_standard_normal_f(&bits);
    }
}

/* A generator that counts the numbers that are taken of PCG64. */
typedef struct {
    uint64_t* state;
    ptrdiff_t used;
} phintys_counted_numbers;

static uint64_t phintys_counted_next(void* generator) {
    phintys_counted_numbers* counted = (phintys_counted_numbers*)generator;
    counted->used++;
    return phintys_pcg64_next(counted->state);
}
static double phintys_counted_double(void* generator) { return phintys_unit(phintys_counted_next(generator)); }

/* Normal numbers of which the first number of PCG64 is among the numbers [start, stop) after a state. Returns how many
 * there are; `*after` becomes the position of the number at which the next normal number begins. */
static ptrdiff_t phintys_pcg64_normal_piece(const uint64_t* state, ptrdiff_t start, ptrdiff_t stop, double* out,
                                            ptrdiff_t* after) {
    uint64_t words[7];
    double* first = out;
    phintys_pcg64_after(state, start, 0, words);
    phintys_counted_numbers counted = {words, 0};
    bitgen_t bits = {&counted, phintys_counted_next, NULL, phintys_counted_double, phintys_counted_next};
    phintys_uint128 here = phintys_wide(words + PHINTYS_OWN);
    const phintys_uint128 increment = phintys_wide(words + PHINTYS_OWN + 2);
    while (start < stop) {
        const phintys_uint128 next = here * PHINTYS_PCG_MULTIPLIER + increment;
        if (__builtin_expect(phintys_in_layer(phintys_pcg64_output(next), out), 1)) {
            here = next;
            start++;
        } else {
            phintys_set_wide(words + PHINTYS_OWN, here);
            counted.used = 0;
            *out = random_standard_normal(&bits);
            start += counted.used;
            here = phintys_wide(words + PHINTYS_OWN);
        }
        out++;
    }
    *after = start;
    return out - first;
}

static int phintys_ziggurat_agrees(void) {
    uint64_t ours[7] = {PHINTYS_PCG64, 0, 0, 1, 2, 3, 5}, theirs[7];
    double numbers[512], expected[512];
    float short_numbers[512], short_expected[512];
    int same = 1;
    memcpy(theirs, ours, sizeof ours);
    bitgen_t bits = phintys_bit_generator(theirs);
    for (int part = 0; part < 8 && same; part++) {
        phintys_pcg64_normals(ours, 512, numbers);
        random_standard_normal_fill(&bits, 512, expected);
        phintys_pcg64_short_normals(ours, 512, short_numbers);
        random_standard_normal_fill_f(&bits, 512, short_expected);
        same = !memcmp(numbers, expected, sizeof numbers) && !memcmp(ours, theirs, sizeof ours)
            && !memcmp(short_numbers, short_expected, sizeof short_numbers);
    }
    return same;
}

/* ---- binomial counts with at most 30 expected successes ---------------------------------------------------------- */

static double phintys_chosen_uniform(void* state) { return *(double*)state; }

/* The successes that one number means; more than table->most: it is to be replaced. */
static ptrdiff_t phintys_successes_of(const phintys_binomial* table, double number) {
    ptrdiff_t count = 0;
    while (count <= table->most && number > table->probability[count]) number -= table->probability[count++];
    return count;
}

static inline int64_t phintys_counted(const phintys_binomial* table, int64_t successes) {
    return table->mirrored ? table->trials - successes : successes;
}

static inline int phintys_has_few_successes(int64_t trials, double p) {
    const double success = p <= 0.5 ? p : 1.0 - p;
    return trials > 0 && success > 0 && success * (double)trials <= 30;
}

/* The probabilities of 0, 1, ... successes from that of none; returns whether there is room. */
static int phintys_fill_binomial(phintys_binomial* table, int64_t trials, double p, int64_t most, double none,
                                 double failure) {
    const double success = p <= 0.5 ? p : 1.0 - p;
    table->most = (ptrdiff_t)most, table->trials = trials, table->mirrored = p > 0.5;
    if (table->most < 0 || table->most + 1 >= PHINTYS_SUCCESSES) return 0;
    table->probability[0] = none;
    for (int64_t count = 1; count <= table->most; count++)
        table->probability[count] = ((double)(trials - count + 1) * success * table->probability[count - 1])
            / ((double)count * failure);
    return 1;
}

/* Fill the table as RandomState does; returns whether it uses this method for these parameters, and there is room. */
static int phintys_legacy_successes(phintys_binomial* table, int64_t trials, double p) {
    phintys_legacy_table legacy = {0};
    if (!phintys_has_few_successes(trials, p)) return 0;
    phintys_set_up_binomial(&legacy, trials, p);
    return phintys_fill_binomial(table, trials, p, (int64_t)legacy.most, legacy.none, legacy.failure);
}

/* Fill the table as Generator does; returns whether it is usable: NumPy uses this method for these parameters, and
 * counts the same for some numbers. */
static int phintys_read_binomial(phintys_binomial* table, int64_t trials, double p) {
    double number = 0;
    binomial_t numpy_table;
    bitgen_t bits = {&number, NULL, NULL, phintys_chosen_uniform, NULL};
    if (!phintys_has_few_successes(trials, p)) return 0;
    memset(&numpy_table, 0, sizeof numpy_table);
    random_binomial(&bits, p, trials, &numpy_table);
    if (!phintys_fill_binomial(table, trials, p, numpy_table.m, numpy_table.r, numpy_table.q)) return 0;
    for (int probe = 0; probe < 32; probe++) {
        number = (double)probe / 32.0 + 0.003;
        if (phintys_successes_of(table, number) > table->most) continue;
        const int64_t ours = phintys_counted(table, phintys_successes_of(table, number));
        if (random_binomial(&bits, p, trials, &numpy_table) != ours)
            return 0;
    }
    return 1;
}

#endif
