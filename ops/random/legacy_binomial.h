/* Binomial counts as numpy.random.RandomState draws them, whose sequence never changes. NumPy's library has only those
 * of Generator, whose sequence may change: NumPy 2.5 corrected a coefficient there, and one number more is used here if
 * there are no trials or no chance of success.
 *
 * Few successes are found by inversion, one uniform number each. Many are found by rejection, the algorithm BTPE:
 * V. Kachitvichyanukul and B. W. Schmeiser, Binomial random variate generation, Communications of the ACM 31 (1988),
 * 216-222. Its steps are numbered in comments.
 */
#ifndef PHINTYS_LEGACY_BINOMIAL_H
#define PHINTYS_LEGACY_BINOMIAL_H

#include <math.h>
#include <stdint.h>
#include "numpy/random/bitgen.h"

/* What is computed once for the same parameters. `success` is the smaller one of p and 1 - p. */
typedef struct {
    int known;
    int64_t trials;
    double p, success, failure;
    double most;                    /* inversion: after so many successes another number is taken, */
    double none;                    /* and the probability of no success */
    int64_t mode;                   /* rejection: the most probable count, */
    double variance;
    double half, centre;            /* of the triangle around it: half its width, and its middle; */
    double left, right;             /* its ends, */
    double left_rate, right_rate;   /* of the exponential tails beyond them; */
    double height;                  /* of the parallelograms above the triangle; */
    double below_triangle, below_parallelograms, below_left, all;      /* the areas up to each part */
} phintys_legacy_table;

static inline double phintys_uniform(bitgen_t* bits) { return bits->next_double(bits->state); }

static inline int phintys_inverts(const phintys_legacy_table* table) {
    return table->success * (double)table->trials <= 30.0;
}

/* Step 0. */
static void phintys_set_up_rejection(phintys_legacy_table* table) {
    const double n = (double)table->trials, r = table->success, q = table->failure;
    const double peak = n * r + r;
    double a;
    table->variance = n * r * q;
    table->mode = (int64_t)floor(peak);
    table->half = floor(2.195 * sqrt(n * r * q) - 4.6 * q) + 0.5;
    table->centre = (double)table->mode + 0.5;
    table->left = table->centre - table->half;
    table->right = table->centre + table->half;
    table->height = 0.134 + 20.5 / (15.3 + (double)table->mode);
    a = (peak - table->left) / (peak - table->left * r);
    table->left_rate = a * (1.0 + a / 2.0);
    a = (table->right - peak) / (table->right * q);
    table->right_rate = a * (1.0 + a / 2.0);
    table->below_triangle = table->half;
    table->below_parallelograms = table->half * (1.0 + 2.0 * table->height);
    table->below_left = table->below_parallelograms + table->height / table->left_rate;
    table->all = table->below_left + table->height / table->right_rate;
}

static void phintys_set_up_binomial(phintys_legacy_table* table, int64_t trials, double p) {
    if (table->known && table->trials == trials && table->p == p) return;
    table->known = 1, table->trials = trials, table->p = p;
    table->success = p <= 0.5 ? p : 1.0 - p;
    table->failure = 1.0 - table->success;
    if (!phintys_inverts(table)) {
        phintys_set_up_rejection(table);
        return;
    }
    const double n = (double)trials, mean = n * table->success;
    table->none = exp(n * log(table->failure));
    table->most = fmin(n, mean + 10.0 * sqrt(mean * table->failure + 1));
    table->most = floor(table->most);
}

/* The successes are counted until their probabilities add up to a uniform number. */
static int64_t phintys_inverted(bitgen_t* bits, const phintys_legacy_table* table) {
    double count = 0, probability = table->none, number = phintys_uniform(bits);
    const double n = (double)table->trials;
    while (number > probability) {
        count++;
        if (count > table->most) {
            count = 0, probability = table->none, number = phintys_uniform(bits);
            continue;
        }
        number -= probability;
        probability = ((n - count + 1) * table->success * probability) / (count * table->failure);
    }
    return (int64_t)count;
}

/* A term of Stirling's series, of x and its square. RandomState has 13680 where the series has 13860. */
static inline double phintys_stirling(double x) {
    const double square = x * x;
    return (13680. - (462. - (132. - (99. - 140. / square) / square) / square) / square) / x / 166320.;
}

/* Step 5: whether a count with its ordinate is below the distribution. */
static int phintys_is_below(const phintys_legacy_table* table, int64_t count, double ordinate) {
    const int64_t n = table->trials;
    const double r = table->success, q = table->failure;
    const int64_t distance = count > table->mode ? count - table->mode : table->mode - count;
    const double k = (double)distance;
    if (distance <= 20 || k >= table->variance / 2.0 - 1) {         /* 5.1: the quotient of the probabilities */
        const double s = r / q, a = s * (double)(n + 1);
        double quotient = 1.0;
        for (int64_t position = table->mode + 1; position <= count; position++) quotient *= a / (double)position - s;
        for (int64_t position = count + 1; position <= table->mode; position++) quotient /= a / (double)position - s;
        return ordinate <= quotient;
    }
    const double rho = k / table->variance * ((k * (k / 3.0 + 0.625) + 0.16666666666666666) / table->variance + 0.5);
    const double t = -k * k / (2 * table->variance), logarithm = log(ordinate);
    if (logarithm < t - rho) return 1;                              /* 5.2: bounds of its logarithm */
    if (logarithm > t + rho) return 0;
    const double x1 = (double)(count + 1), f1 = (double)(table->mode + 1);        /* 5.3: the logarithm */
    const double z = (double)(n + 1 - table->mode), w = (double)(n - count + 1);
    return logarithm <= table->centre * log(f1 / x1) + ((double)(n - table->mode) + 0.5) * log(z / w)
                        + (double)(count - table->mode) * log(w * r / (x1 * q))
                        + phintys_stirling(f1) + phintys_stirling(z) + phintys_stirling(x1) + phintys_stirling(w);
}

static int64_t phintys_rejected_until(bitgen_t* bits, const phintys_legacy_table* table) {
    for (;;) {
        const double u = phintys_uniform(bits) * table->all;        /* 1: the part, and the ordinate */
        double v = phintys_uniform(bits);
        int64_t count;
        if (u <= table->below_triangle) return (int64_t)floor(table->centre - table->half * v + u);
        if (u <= table->below_parallelograms) {                     /* 2 */
            const double x = table->left + (u - table->below_triangle) / table->height;
            v = v * table->height + 1.0 - fabs((double)table->mode - x + 0.5) / table->half;
            if (v > 1.0) continue;
            count = (int64_t)floor(x);
        } else if (u <= table->below_left) {                        /* 3 */
            const double x = floor(table->left + log(v) / table->left_rate);
            if (x < 0 || v == 0.0) continue;
            count = (int64_t)x;
            v = v * (u - table->below_parallelograms) * table->left_rate;
        } else {                                                    /* 4 */
            const double x = floor(table->right - log(v) / table->right_rate);
            if (x > (double)table->trials || v == 0.0) continue;
            count = (int64_t)x;
            v = v * (u - table->below_left) * table->right_rate;
        }
        if (phintys_is_below(table, count, v)) return count;
    }
}

/* A count of successes. Reuse a table that was zero at first: it is computed anew where the parameters change. */
static int64_t phintys_legacy_binomial(bitgen_t* bits, int64_t trials, double p, phintys_legacy_table* table) {
    phintys_set_up_binomial(table, trials, p);
    const int64_t count = phintys_inverts(table) ? phintys_inverted(bits, table) : phintys_rejected_until(bits, table);
    return p <= 0.5 ? count : trials - count;
}

/* How often each outcome occurs in a number of samples: binomial counts, each of what is left. NumPy draws no number
 * for an outcome without a chance, or without samples, before version 2.5 (`skips`). */
static void phintys_legacy_multinomial(bitgen_t* bits, int64_t trials, int64_t* counts, const double* p,
                                       ptrdiff_t outcomes, int skips, phintys_legacy_table* table) {
    double left = 1.0;
    for (ptrdiff_t position = 0; position < outcomes - 1; position++) {
        const double share = p[position] / left;
        const int is_certain = skips && (trials == 0 || share == 0.0);
        counts[position] = is_certain ? 0 : phintys_legacy_binomial(bits, trials, share, table);
        trials -= counts[position];
        if (trials <= 0) return;
        left -= p[position];
    }
    if (trials > 0) counts[outcomes - 1] = trials;
}

#endif
