/* Derivatives of functions by their parameters, for which SciPy has no functions: of the incomplete gamma function
 * here, of others in parameter_slopes.h.
 *
 * Series of positive terms, and where they converge slowly a continued fraction, are computed together with their
 * derivatives, term by term. float32 is computed in double. Included by loops.pyx only.
 */
#ifndef PHINTYS_SPECIAL_LOOPS_H
#define PHINTYS_SPECIAL_LOOPS_H

#include <math.h>
#include <stdint.h>

enum { PHINTYS_MOST_TERMS = 100000 };

static double phintys_log_gamma(double x) {
#if defined(__GLIBC__)
    int sign;                           /* lgamma writes to a variable that threads share */
    return lgamma_r(x, &sign);
#else
    return lgamma(x);
#endif
}

/* ---- psi and its derivative for positive x: by recurrence to 10 and more, and Stirling's series there ------------ */
static double phintys_digamma(double x) {
    double shift = 0;
    for (; x < 10; x += 1) shift -= 1 / x;
    const double z = 1 / (x * x);
    const double series = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (
        1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
    return shift + log(x) - 0.5 / x - series;
}

static double phintys_trigamma(double x) {
    double shift = 0;
    for (; x < 10; x += 1) shift += 1 / (x * x);
    const double z = 1 / (x * x);
    const double series = z * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (
        5.0 / 66 - z * (691.0 / 2730 - z * (7.0 / 6)))))));
    return shift + 1 / x + 0.5 * z + series / x;
}

/* ---- a number with its first and second derivative --------------------------------------------------------------- */
typedef struct { double value, first, second; } Jet;

static inline Jet jet_product(Jet a, Jet b) {
    return (Jet){a.value * b.value, a.first * b.value + a.value * b.first,
                 a.second * b.value + 2 * a.first * b.first + a.value * b.second};
}

static inline Jet jet_inverse(Jet a) {
    const double r = 1 / a.value, slope = -a.first * r * r;
    return (Jet){r, slope, -a.second * r * r - 2 * a.first * r * slope};
}

static inline Jet jet_sum(Jet a, Jet b) {
    return (Jet){a.value + b.value, a.first + b.first, a.second + b.second};
}

/* Whether a term with its derivatives no longer changes a sum. */
static inline int jet_is_small(Jet term, Jet sum) {
    return fabs(term.value) <= 1e-17 * fabs(sum.value) && fabs(term.first) <= 1e-17 * fabs(sum.first)
        && fabs(term.second) <= 1e-17 * fabs(sum.second);
}

/* exp(power) times a sum, by k: the power has these derivatives. */
static inline Jet jet_scaled(double power, double first, double second, Jet sum) {
    const double scale = exp(power);
    return jet_product((Jet){scale, scale * first, scale * (first * first + second)}, sum);
}

/* P(k, x) = x^k exp(-x) / gamma(k + 1) (1 + x / (k + 1) + x^2 / ((k + 1) (k + 2)) + ...) */
static Jet phintys_lower_gamma_series(double k, double x) {
    Jet term = {1, 0, 0}, sum = {1, 0, 0};
    for (int n = 1; n < PHINTYS_MOST_TERMS; n++) {
        Jet factor = jet_inverse((Jet){k + n, 1, 0});
        factor.value *= x, factor.first *= x, factor.second *= x;
        term = jet_product(term, factor);
        sum = jet_sum(sum, term);
        if (jet_is_small(term, sum)) break;
    }
    return jet_scaled(k * log(x) - x - phintys_log_gamma(k + 1), log(x) - phintys_digamma(k + 1),
                      -phintys_trigamma(k + 1), sum);
}

/* Q(k, x) = x^k exp(-x) / gamma(k) (1 / (x + 1 - k - 1 (1 - k) / (x + 3 - k - ...))), by Lentz's method */
static Jet phintys_upper_gamma_fraction(double k, double x) {
    Jet b = {x + 1 - k, -1, 0}, c = {1e300, 0, 0}, d = jet_inverse(b), h = d;
    for (int n = 1; n < PHINTYS_MOST_TERMS; n++) {
        const Jet a = {-n * (n - k), n, 0};
        b.value += 2;
        d = jet_inverse(jet_sum(jet_product(a, d), b));
        c = jet_sum(b, jet_product(a, jet_inverse(c)));
        const Jet change = jet_product(c, d);
        h = jet_product(h, change);
        if (fabs(change.value - 1) < 1e-16 && fabs(change.first) < 1e-16 && fabs(change.second) < 1e-16) break;
    }
    return jet_scaled(k * log(x) - x - phintys_log_gamma(k), log(x) - phintys_digamma(k), -phintys_trigamma(k), h);
}

static Jet phintys_gammainc_jet(double k, double x) {
    if (!(k > 0) || !(x >= 0)) return (Jet){NAN, NAN, NAN};
    if (x == 0 || x == INFINITY) return (Jet){x != 0, 0, 0};
    if (x < k + 1) return phintys_lower_gamma_series(k, x);
    const Jet upper = phintys_upper_gamma_fraction(k, x);
    return (Jet){1 - upper.value, -upper.first, -upper.second};
}

static double phintys_gammainc_by_k(double k, double x) { return phintys_gammainc_jet(k, x).first; }
static double phintys_gammainc_by_k_twice(double k, double x) { return phintys_gammainc_jet(k, x).second; }

#include "parameter_slopes.h"

/* ---- loops ------------------------------------------------------------------------------------------------------- */
#define PHINTYS_SPECIAL_LOOP(NAME, TYPE, SUFFIX, COUNT, CALL) \
static void NAME##_##SUFFIX(char** args, const intptr_t* dims, const intptr_t* steps, void* data) { \
    (void)data; \
    for (intptr_t i = 0; i < dims[0]; i++) \
        *(TYPE*)(args[COUNT] + i * steps[COUNT]) = (TYPE)phintys_##NAME CALL(TYPE); \
}
#define PHINTYS_OPERAND_AT(TYPE, K) (double)*(const TYPE*)(args[K] + i * steps[K])
#define OF_TWO(TYPE) (PHINTYS_OPERAND_AT(TYPE, 0), PHINTYS_OPERAND_AT(TYPE, 1))
#define OF_THREE(TYPE) (PHINTYS_OPERAND_AT(TYPE, 0), PHINTYS_OPERAND_AT(TYPE, 1), PHINTYS_OPERAND_AT(TYPE, 2))
#define OF_FOUR(TYPE) \
    (PHINTYS_OPERAND_AT(TYPE, 0), PHINTYS_OPERAND_AT(TYPE, 1), PHINTYS_OPERAND_AT(TYPE, 2), PHINTYS_OPERAND_AT(TYPE, 3))
#define PHINTYS_SPECIAL_LOOPS(NAME, COUNT, CALL) \
    PHINTYS_SPECIAL_LOOP(NAME, float, float32, COUNT, CALL) PHINTYS_SPECIAL_LOOP(NAME, double, float64, COUNT, CALL)
/* Each function with the number of its operands. */
#define PHINTYS_EACH_SPECIAL(DO) \
    DO(gammainc_by_k, 2, OF_TWO) DO(gammainc_by_k_twice, 2, OF_TWO) DO(zeta_by_x, 2, OF_TWO) \
    DO(zeta_by_x_twice, 2, OF_TWO) DO(betainc_by_a, 3, OF_THREE) DO(betainc_by_b, 3, OF_THREE) \
    DO(betainc_by_aa, 3, OF_THREE) DO(betainc_by_ab, 3, OF_THREE) DO(betainc_by_bb, 3, OF_THREE) \
    DO(hyp2f1_by_a, 4, OF_FOUR) DO(hyp2f1_by_c, 4, OF_FOUR) DO(hyp2f1_by_aa, 4, OF_FOUR) \
    DO(hyp2f1_by_ab, 4, OF_FOUR) DO(hyp2f1_by_ac, 4, OF_FOUR) DO(hyp2f1_by_cc, 4, OF_FOUR)
PHINTYS_EACH_SPECIAL(PHINTYS_SPECIAL_LOOPS)

typedef struct {
    const char* name;
    int operands;
    void (*loops[2])(char**, const intptr_t*, const intptr_t*, void*);      /* for float32, float64 */
} phintys_special;
#define PHINTYS_SPECIAL_ROW(NAME, COUNT, CALL) {#NAME, COUNT, {NAME##_float32, NAME##_float64}},
static const phintys_special phintys_specials[] = {PHINTYS_EACH_SPECIAL(PHINTYS_SPECIAL_ROW) {0, 0, {0, 0}}};

#endif
