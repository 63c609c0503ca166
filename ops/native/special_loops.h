/* Derivatives of incomplete gamma and beta functions by their parameters, for which SciPy has no functions.
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

/* ---- the incomplete beta function -------------------------------------------------------------------------------- */
/* I = x^a y^b / (a B(a, b)) (1 + (a + b) / (a + 1) x + (a + b) (a + b + 1) / ((a + 1) (a + 2)) x^2 + ...), y = 1 - x,
 * by a and by b. */
static void phintys_betainc_series(double a, double b, double x, double log_x, double log_y, double* by_a,
                                   double* by_b) {
    double term = 1, of_a = 0, of_b = 0, sum = 1, sum_a = 0, sum_b = 0;
    for (int n = 0; n < PHINTYS_MOST_TERMS; n++) {
        term *= (a + b + n) / (a + 1 + n) * x;
        of_a += 1 / (a + b + n) - 1 / (a + 1 + n), of_b += 1 / (a + b + n);
        sum += term, sum_a += term * of_a, sum_b += term * of_b;
        if (term <= 1e-17 * sum && term * fabs(of_a) <= 1e-17 * fabs(sum_a) && term * of_b <= 1e-17 * sum_b) break;
    }
    const double log_beta = phintys_log_gamma(a) + phintys_log_gamma(b) - phintys_log_gamma(a + b);
    const double scale = exp(a * log_x + b * log_y - log_beta) / a, common = phintys_digamma(a + b);
    *by_a = scale * (sum * (log_x - 1 / a - phintys_digamma(a) + common) + sum_a);
    *by_b = scale * (sum * (log_y - phintys_digamma(b) + common) + sum_b);
}

static void phintys_betainc_slopes(double a, double b, double x, double* by_a, double* by_b) {
    *by_a = *by_b = NAN;
    if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return;
    *by_a = *by_b = 0;
    if (x == 0 || x == 1) return;
    if (x <= (a + 1) / (a + b + 2)) {
        phintys_betainc_series(a, b, x, log(x), log1p(-x), by_a, by_b);
        return;
    }
    phintys_betainc_series(b, a, 1 - x, log1p(-x), log(x), by_b, by_a);
    *by_a = -*by_a, *by_b = -*by_b;
}

static double phintys_betainc_by_a(double a, double b, double x) {
    double by_a, by_b;
    phintys_betainc_slopes(a, b, x, &by_a, &by_b);
    return by_a;
}

static double phintys_betainc_by_b(double a, double b, double x) {
    double by_a, by_b;
    phintys_betainc_slopes(a, b, x, &by_a, &by_b);
    return by_b;
}

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
#define PHINTYS_SPECIAL_LOOPS(NAME, COUNT, CALL) \
    PHINTYS_SPECIAL_LOOP(NAME, float, float32, COUNT, CALL) PHINTYS_SPECIAL_LOOP(NAME, double, float64, COUNT, CALL)
PHINTYS_SPECIAL_LOOPS(gammainc_by_k, 2, OF_TWO)
PHINTYS_SPECIAL_LOOPS(gammainc_by_k_twice, 2, OF_TWO)
PHINTYS_SPECIAL_LOOPS(betainc_by_a, 3, OF_THREE)
PHINTYS_SPECIAL_LOOPS(betainc_by_b, 3, OF_THREE)

typedef struct {
    const char* name;
    int operands;
    void (*loops[2])(char**, const intptr_t*, const intptr_t*, void*);      /* for float32, float64 */
} phintys_special;
static const phintys_special phintys_specials[] = {
    {"gammainc_by_k", 2, {gammainc_by_k_float32, gammainc_by_k_float64}},
    {"gammainc_by_k_twice", 2, {gammainc_by_k_twice_float32, gammainc_by_k_twice_float64}},
    {"betainc_by_a", 3, {betainc_by_a_float32, betainc_by_a_float64}},
    {"betainc_by_b", 3, {betainc_by_b_float32, betainc_by_b_float64}},
    {0, 0, {0, 0}},
};

#endif
