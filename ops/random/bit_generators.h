/* The bit generators of NumPy, on states that are vectors of 64-bit integers.
 *
 * All states begin with the generator's number in phintys_generators, whether half a number is left, and that half.
 * The functions of phintys_bit_generator are those that NumPy's distributions call. What a state contains cannot make
 * them read or write anything but the state.
 */
#ifndef PHINTYS_BIT_GENERATORS_H
#define PHINTYS_BIT_GENERATORS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "native/sets.h"
#include "numpy/random/bitgen.h"

typedef unsigned __int128 phintys_uint128;

enum {PHINTYS_PCG64, PHINTYS_PCG64DXSM, PHINTYS_SFC64, PHINTYS_PHILOX, PHINTYS_MT19937, PHINTYS_GENERATORS};
enum {PHINTYS_KIND, PHINTYS_HAS_HALF, PHINTYS_HALF, PHINTYS_OWN};       /* words of a state; then the generator's own */

static const int phintys_state_words[PHINTYS_GENERATORS] = {7, 7, 7, 14, 316};

static inline phintys_uint128 phintys_wide(const uint64_t* words) {
    return (phintys_uint128)words[0] << 64 | words[1];
}

static inline void phintys_set_wide(uint64_t* words, phintys_uint128 value) {
    words[0] = (uint64_t)(value >> 64);
    words[1] = (uint64_t)value;
}

/* ---- PCG64: O'Neill's linear congruential generator of 128 bits; own words: state, increment --------------------- */
#define PHINTYS_PCG_MULTIPLIER ((phintys_uint128)2549297995355413924ULL << 64 | 4865540595714422341ULL)
#define PHINTYS_DXSM_MULTIPLIER 0xda942042e4dd58b5ULL

static inline uint64_t phintys_pcg64_output(phintys_uint128 state) {
    uint64_t folded = (uint64_t)(state >> 64) ^ (uint64_t)state;
    unsigned turn = (unsigned)(state >> 122);
    return folded >> turn | folded << (-turn & 63);
}

static uint64_t phintys_pcg64_next(void* state) {
    uint64_t* own = (uint64_t*)state + PHINTYS_OWN;
    phintys_uint128 advanced = phintys_wide(own) * PHINTYS_PCG_MULTIPLIER + phintys_wide(own + 2);
    phintys_set_wide(own, advanced);
    return phintys_pcg64_output(advanced);
}

static uint64_t phintys_pcg64dxsm_next(void* state) {
    uint64_t* own = (uint64_t*)state + PHINTYS_OWN;
    uint64_t high = own[0], low = own[1] | 1;
    phintys_set_wide(own, phintys_wide(own) * PHINTYS_DXSM_MULTIPLIER + phintys_wide(own + 2));
    high = (high ^ high >> 32) * PHINTYS_DXSM_MULTIPLIER;
    return (high ^ high >> 48) * low;
}

/* A number of steps of the recurrence at once, factor * state + offset, from the factor and the offset of one step:
 * its powers, by repeated squaring. */
static inline void phintys_many_steps(uint64_t steps, phintys_uint128* step_factor, phintys_uint128* step_offset) {
    phintys_uint128 factor = *step_factor, offset = *step_offset, all_factor = 1, all_offset = 0;
    for (; steps; steps >>= 1) {
        if (steps & 1) {
            all_factor *= factor;
            all_offset = all_offset * factor + offset;
        }
        offset *= factor + 1;
        factor *= factor;
    }
    *step_factor = all_factor;
    *step_offset = all_offset;
}

static inline phintys_uint128 phintys_pcg_multiplier(uint64_t kind) {
    return kind == PHINTYS_PCG64DXSM ? (phintys_uint128)PHINTYS_DXSM_MULTIPLIER : PHINTYS_PCG_MULTIPLIER;
}

/* Advance PCG64 or PCG64DXSM by a number of steps. */
static inline void phintys_pcg64_advance(uint64_t* state, uint64_t steps) {
    uint64_t* own = state + PHINTYS_OWN;
    phintys_uint128 factor = phintys_pcg_multiplier(state[PHINTYS_KIND]), offset = phintys_wide(own + 2);
    phintys_many_steps(steps, &factor, &offset);
    phintys_set_wide(own, phintys_wide(own) * factor + offset);
}

/* ---- SFC64: Doty-Humphrey's small fast chaotic generator; own words: a, b, c, counter ---------------------------- */
static uint64_t phintys_sfc64_next(void* state) {
    uint64_t* own = (uint64_t*)state + PHINTYS_OWN;
    uint64_t result = own[0] + own[1] + own[3]++;
    own[0] = own[1] ^ own[1] >> 11;
    own[1] = own[2] + (own[2] << 3);
    own[2] = (own[2] << 24 | own[2] >> 40) + result;
    return result;
}

/* ---- Philox 4x64 with ten rounds; own words: counter (4), key (2), position, buffer (4) -------------------------- */
static void phintys_philox_block(const uint64_t* counter, uint64_t first_key, uint64_t second_key, uint64_t* out) {
    uint64_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    for (int round = 0; round < 10; round++) {
        phintys_uint128 left = (phintys_uint128)0xD2E7470EE14C6C93ULL * a;
        phintys_uint128 right = (phintys_uint128)0xCA5A826395121157ULL * c;
        a = (uint64_t)(right >> 64) ^ b ^ first_key;
        b = (uint64_t)right;
        c = (uint64_t)(left >> 64) ^ d ^ second_key;
        d = (uint64_t)left;
        first_key += 0x9E3779B97F4A7C15ULL;
        second_key += 0xBB67AE8584CAA73BULL;
    }
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}

static uint64_t phintys_philox_next(void* state) {
    uint64_t* own = (uint64_t*)state + PHINTYS_OWN;
    uint64_t* buffer = own + 7;
    if (own[6] < 4)
        return buffer[own[6]++];
    for (int word = 0; word < 4 && ++own[word] == 0; word++);
    phintys_philox_block(own, own[4], own[5], buffer);
    own[6] = 1;
    return buffer[0];
}

/* Advance Philox by a number of words: the buffer is that of the last block that is begun. */
static inline void phintys_philox_advance(uint64_t* state, uint64_t words) {
    uint64_t* own = state + PHINTYS_OWN;
    const uint64_t left = own[6] < 4 ? 4 - own[6] : 0;
    if (words <= left) {
        own[6] += words;
        return;
    }
    const uint64_t blocks = (words - left + 3) / 4;
    const uint64_t before = own[0];
    own[0] += blocks;
    if (own[0] < before)
        for (int word = 1; word < 4 && ++own[word] == 0; word++);
    phintys_philox_block(own, own[4], own[5], own + 7);
    own[6] = words - left - 4 * (blocks - 1);
}

/* ---- MT19937: Matsumoto and Nishimura's twister; own words: position, 624 keys of 32 bits ------------------------ */
static inline uint32_t phintys_mt19937_mixed(uint32_t key, uint32_t next, uint32_t far) {
    uint32_t mixed = (key & 0x80000000u) | (next & 0x7fffffffu);
    return far ^ mixed >> 1 ^ (-(mixed & 1) & 0x9908b0dfu);
}

#define LOOPS "random/state_loops.template.h"
#include "native/each_set.h"
BY_SET(phintys_mt19937_next_block);
BY_SET(phintys_mt19937_refill);
BY_SET(phintys_copy_state);

static inline uint32_t phintys_mt19937_tempered(uint32_t y) {
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static uint32_t phintys_mt19937_half(void* state) {
    uint64_t* own = (uint64_t*)state + PHINTYS_OWN;
    uint32_t* key = (uint32_t*)(own + 1);
    if (own[0] >= 624) {
        phintys_mt19937_refill[*phintys_set](key);
        own[0] = 0;
    }
    return phintys_mt19937_tempered(key[own[0]++]);
}

static uint64_t phintys_mt19937_raw(void* state) {
    return phintys_mt19937_half(state);
}

static uint64_t phintys_mt19937_next(void* state) {
    uint64_t high = phintys_mt19937_half(state);
    return high << 32 | phintys_mt19937_half(state);
}

static inline double phintys_mt19937_fraction(uint32_t first, uint32_t second) {
    int32_t high = (int32_t)(first >> 5), low = (int32_t)(second >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

static double phintys_mt19937_double(void* state) {
    uint32_t first = phintys_mt19937_half(state);
    return phintys_mt19937_fraction(first, phintys_mt19937_half(state));
}

/* The two normal numbers of a point, by the polar method of Marsaglia; returns 0 if it is not in the circle. */
static inline int phintys_normals_of_point(double x, double y, double* pair) {
    const double square = x * x + y * y;
    if (square >= 1 || square == 0) return 0;
    const double factor = sqrt(-2 * log(square) / square);
    pair[0] = factor * y;
    pair[1] = factor * x;
    return 1;
}

/* Those of the next point. */
static inline int phintys_next_normals(uint64_t* state, double* pair) {
    const double x = 2 * phintys_mt19937_double(state) - 1;
    return phintys_normals_of_point(x, 2 * phintys_mt19937_double(state) - 1, pair);
}

/* The normal numbers of numpy.random.RandomState. They come in pairs; the second one is kept in the words of the half,
 * which MT19937 does not need. */
static inline double phintys_first_of_pair(uint64_t* state, const double* pair) {
    memcpy(&state[PHINTYS_HALF], pair + 1, sizeof *pair);
    state[PHINTYS_HAS_HALF] = 1;
    return pair[0];
}

static inline double phintys_second_of_pair(uint64_t* state) {
    double second;
    memcpy(&second, &state[PHINTYS_HALF], sizeof second);
    state[PHINTYS_HAS_HALF] = state[PHINTYS_HALF] = 0;
    return second;
}

static double phintys_paired_normal(uint64_t* state) {
    double pair[2];
    if (state[PHINTYS_HAS_HALF]) return phintys_second_of_pair(state);
    while (!phintys_next_normals(state, pair));
    return phintys_first_of_pair(state, pair);
}

/* ---- what NumPy's distributions need of each --------------------------------------------------------------------- */
static inline double phintys_unit(uint64_t bits) {
    return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

/* Halves and fractions from numbers of 64 bits: a half that is not needed is kept for the next call. */
#define PHINTYS_FROM_64_BITS(NAME)                                                                                     \
    static uint32_t phintys_##NAME##_half(void* state) {                                                               \
        uint64_t* words = (uint64_t*)state;                                                                            \
        if (words[PHINTYS_HAS_HALF]) {                                                                                 \
            words[PHINTYS_HAS_HALF] = 0;                                                                               \
            return (uint32_t)words[PHINTYS_HALF];                                                                      \
        }                                                                                                              \
        uint64_t bits = phintys_##NAME##_next(state);                                                                  \
        words[PHINTYS_HAS_HALF] = 1;                                                                                   \
        words[PHINTYS_HALF] = bits >> 32;                                                                              \
        return (uint32_t)bits;                                                                                         \
    }                                                                                                                  \
    static double phintys_##NAME##_double(void* state) { return phintys_unit(phintys_##NAME##_next(state)); }

PHINTYS_FROM_64_BITS(pcg64)
PHINTYS_FROM_64_BITS(pcg64dxsm)
PHINTYS_FROM_64_BITS(sfc64)
PHINTYS_FROM_64_BITS(philox)

/* Whether some key of MT19937 after the first one, of which only one bit is used, is not zero. */
static inline int phintys_mt19937_is_valid(const uint32_t* key) {
    int position = 1;
    while (position < 624 && key[position] == 0) position++;
    return position < 624;
}

/* Change what no seed makes, and what would repeat one number for ever: a distribution that rejects it would not end.
 * Increments of PCG64 are odd, and some key of MT19937 is not zero. */
static inline void phintys_make_valid(uint64_t* state) {
    uint64_t* own = state + PHINTYS_OWN;
    if (state[PHINTYS_KIND] == PHINTYS_PCG64 || state[PHINTYS_KIND] == PHINTYS_PCG64DXSM)
        own[3] |= 1;
    if (state[PHINTYS_KIND] == PHINTYS_MT19937 && !phintys_mt19937_is_valid((uint32_t*)(own + 1)))
        *(uint32_t*)(own + 1) |= 0x80000000u;
}

/* The functions that advance a state, for NumPy's distributions. */
static inline bitgen_t phintys_bit_generator(uint64_t* state) {
    static const bitgen_t generators[PHINTYS_GENERATORS] = {
        {NULL, phintys_pcg64_next, phintys_pcg64_half, phintys_pcg64_double, phintys_pcg64_next},
        {NULL, phintys_pcg64dxsm_next, phintys_pcg64dxsm_half, phintys_pcg64dxsm_double, phintys_pcg64dxsm_next},
        {NULL, phintys_sfc64_next, phintys_sfc64_half, phintys_sfc64_double, phintys_sfc64_next},
        {NULL, phintys_philox_next, phintys_philox_half, phintys_philox_double, phintys_philox_next},
        {NULL, phintys_mt19937_next, phintys_mt19937_half, phintys_mt19937_double, phintys_mt19937_raw},
    };
    bitgen_t found = generators[state[PHINTYS_KIND] % PHINTYS_GENERATORS];
    found.state = state;
    return found;
}

#endif
