/* The method of Box and Muller for numbers of type T; see box_muller_loops.h. Logarithm, sine and cosine are written as
 * polynomials here, of which the compiler makes vectors: a number has the same bits on every processor and at every
 * position. First what is compiled for each instruction set. */
#ifdef SET
/* Replace each pair (first[i], second[i]). */
static void IN_SET(NAME(phintys_normal_blocks))(ptrdiff_t blocks, T* restrict first, T* restrict second) {
    for (ptrdiff_t position = 0; position < blocks * PAIRS; position++)
        NAME(phintys_normal_pair)(first + position, second + position);
}
#else

static inline T NAME(phintys_of_bits)(BITS bits) {
    T number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static inline BITS NAME(phintys_bits_of)(T number) {
    BITS bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* A polynomial: even and odd powers by themselves, for shorter chains. */
static inline T NAME(phintys_powers)(const T* coefficients, int count, T x) {
    const T square = x * x;
    T high = coefficients[count - 1], low = coefficients[count - 2];
    for (int power = count - 3; power > 0; power -= 2) {
        high = high * square + coefficients[power];
        low = low * square + coefficients[power - 1];
    }
    return count % 2 ? (high * x + low) * x + coefficients[0] : high * x + low;
}

/* log(u) for normal u: u = 2^k m, where m = 1 + f is from sqrt(1/2) to sqrt(2). */
static inline T NAME(phintys_log_of_uniform)(T u) {
    static const T coefficients[] = LOG;
    const BITS bits = NAME(phintys_bits_of)(u) + (ONE - LEAST), fraction = ((BITS)1 << FRACTION) - 1;
    const T k = NAME(phintys_of_bits)(bits >> FRACTION | POWER)
        - (NAME(phintys_of_bits)(POWER) + (T)(ONE >> FRACTION));
    const T f = NAME(phintys_of_bits)((bits & fraction) + LEAST) - 1;
    const T s = f / (2 + f), z = s * s, half = (T)0.5 * f * f;
    const T series = z * NAME(phintys_powers)(coefficients, sizeof coefficients / sizeof *coefficients, z);
    return k * (T)LOG_2_HIGH - ((half - (s * (half + series) + k * (T)LOG_2_LOW)) - f);
}

/* The cosine and the sine of an angle from 0 to 2 pi: of what is left after the nearest multiple of pi / 2, whose
 * number says which of the two is which, and their signs. */
static inline void NAME(phintys_turn)(T angle, T* cosine, T* sine) {
    static const T sines[] = SIN, cosines[] = COS;
    const T rounded = angle * (T)0.63661977236758134308 + (T)ROUND, n = rounded - (T)ROUND;
    const BITS quarter = NAME(phintys_bits_of)(rounded);
    const T r = ((angle - n * (T)QUARTER_HIGH) - n * (T)QUARTER_MIDDLE) - n * (T)QUARTER_LOW, z = r * r;
    const T half = (T)0.5 * z, most = 1 - half;
    const BITS s = NAME(phintys_bits_of)(
        r + r * z * NAME(phintys_powers)(sines, sizeof sines / sizeof *sines, z));
    const BITS c = NAME(phintys_bits_of)(
        most + (((1 - most) - half) + z * z * NAME(phintys_powers)(cosines, sizeof cosines / sizeof *cosines, z)));
    const BITS swapped = -(quarter & 1), exchanged = (c ^ s) & swapped;
    const int sign = sizeof(T) * 8 - 2;
    *cosine = NAME(phintys_of_bits)(c ^ exchanged ^ ((quarter + 1) & 2) << sign);
    *sine = NAME(phintys_of_bits)(s ^ exchanged ^ (quarter & 2) << sign);
}

/* Replace a pair of uniform numbers by normal ones. */
static inline void NAME(phintys_normal_pair)(T* first, T* second) {
    const T radius = SQRT((T)-2 * NAME(phintys_log_of_uniform)(*first));
    T cosine, sine;
    NAME(phintys_turn)((T)6.283185307179586 * *second, &cosine, &sine);
    *first = radius * cosine;
    *second = radius * sine;
}

#define LOOPS "random/box_muller_loops.template.h"
#include "native/each_set.h"
BY_SET(NAME(phintys_normal_blocks));

/* At most 16 normal numbers, of the next uniform numbers of streams whose states follow each other: as
 * phintys_mrg_samples and then phintys_normal_pairs, but what is between them stays in registers. */
PHINTYS_MRG_WIDE
static void NAME(phintys_mrg_few_normals)(const int32_t* state, int32_t* advanced, int count, T* out) {
    const int pairs = (count + 1) / 2;
    int32_t integers[2 * PHINTYS_MRG_FEW] __attribute__((aligned(64)));
    T first[PHINTYS_MRG_FEW] __attribute__((aligned(64))), second[PHINTYS_MRG_FEW] __attribute__((aligned(64)));
    phintys_mrg_integers_of_few(state, advanced, 2 * pairs, integers);
    phintys_mrg_halves(integers, pairs);
    for (int k = 0; k < PHINTYS_MRG_FEW; k++) first[k] = SAMPLE(integers[k]);
    for (int k = 0; k < PHINTYS_MRG_FEW; k++) second[k] = SAMPLE(integers[PHINTYS_MRG_FEW + k]);
    for (int position = 0; position < PAIRS; position++) NAME(phintys_normal_pair)(first + position, second + position);
    phintys_mrg_store(first, pairs * (ptrdiff_t)sizeof(T), out);
    phintys_mrg_store(second, (count - pairs) * (ptrdiff_t)sizeof(T), out + pairs);
}

/* The pairs [start, stop) of `pairs`, made in place: numbers[i] and numbers[pairs + i]. With an odd number of numbers,
 * the last pair has the uniform number `last`, and only one normal number is kept. */
static void NAME(phintys_normal_pairs)(ptrdiff_t start, ptrdiff_t stop, ptrdiff_t pairs, ptrdiff_t count, T last,
                                       T* numbers) {
    const ptrdiff_t whole = count - pairs;              /* pairs of which both numbers are kept */
    const ptrdiff_t blocks = ((stop < whole ? stop : whole) - start) / PAIRS;
    if (blocks > 0) {
        NAME(phintys_normal_blocks)[*phintys_set](blocks, numbers + start, numbers + pairs + start);
        start += blocks * PAIRS;
    }
    for (; start < stop; start += PAIRS) {
        T first[PAIRS], second[PAIRS];
        const ptrdiff_t left = stop - start < PAIRS ? stop - start : PAIRS;
        const ptrdiff_t seconds = whole - start < left ? whole - start : left;
        for (ptrdiff_t position = 0; position < PAIRS; position++) first[position] = second[position] = (T)0.5;
        for (ptrdiff_t k = 0; k < left; k++) first[k] = numbers[start + k];
        for (ptrdiff_t k = 0; k < seconds; k++) second[k] = numbers[pairs + start + k];
        if (seconds < left) second[left - 1] = last;
        NAME(phintys_normal_blocks)[*phintys_set](1, first, second);
        for (ptrdiff_t k = 0; k < left; k++) numbers[start + k] = first[k];
        for (ptrdiff_t k = 0; k < seconds; k++) numbers[pairs + start + k] = second[k];
    }
}

#undef T
#undef BITS
#undef NAME
#undef PAIRS
#undef LOG
#undef SIN
#undef COS
#undef FRACTION
#undef LEAST
#undef ONE
#undef POWER
#undef LOG_2_HIGH
#undef LOG_2_LOW
#undef ROUND
#undef QUARTER_HIGH
#undef QUARTER_MIDDLE
#undef QUARTER_LOW
#undef SQRT
#undef SAMPLE
#endif
