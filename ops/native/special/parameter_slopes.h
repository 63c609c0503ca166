/* Derivatives of the incomplete beta function, of Gauss's hypergeometric function and of Hurwitz's zeta function by
 * their parameters, first and second ones: series that are differentiated term by term. Included by special_loops.h.
 */
#ifndef PHINTYS_PARAMETER_SLOPES_H
#define PHINTYS_PARAMETER_SLOPES_H

/* ---- betainc(a, b, x) -------------------------------------------------------------------------------------------- */
typedef struct { double a, b, aa, ab, bb; } BetaSlopes;

/* I = x^a y^b / (a B(a, b)) (1 + (a + b) / (a + 1) x + (a + b) (a + b + 1) / ((a + 1) (a + 2)) x^2 + ...), y = 1 - x.
 * `of_a` and so on are the derivatives of the logarithm of a term, those of `scale` those of the logarithm of what is
 * before the series. */
static BetaSlopes phintys_betainc_series(double a, double b, double x, double log_x, double log_y) {
    double term = 1, of_a = 0, of_b = 0, of_aa = 0, of_bb = 0;
    double sum = 1, sum_a = 0, sum_b = 0, sum_aa = 0, sum_ab = 0, sum_bb = 0;
    for (int n = 0; n < PHINTYS_MOST_TERMS; n++) {
        const double above = 1 / (a + b + n), below = 1 / (a + 1 + n);
        term *= (a + b + n) * below * x;
        of_a += above - below, of_b += above;
        of_aa += below * below - above * above, of_bb -= above * above;
        const double aa = of_a * of_a + of_aa, ab = of_a * of_b + of_bb, bb = of_b * of_b + of_bb;
        sum += term, sum_a += term * of_a, sum_b += term * of_b;
        sum_aa += term * aa, sum_ab += term * ab, sum_bb += term * bb;
        if (term <= 1e-17 * sum && term * fabs(of_a) <= 1e-17 * fabs(sum_a) && term * of_b <= 1e-17 * sum_b
            && term * fabs(aa) <= 1e-17 * fabs(sum_aa) && term * fabs(ab) <= 1e-17 * fabs(sum_ab)
            && term * fabs(bb) <= 1e-17 * fabs(sum_bb)) break;
    }
    const double log_beta = phintys_log_gamma(a) + phintys_log_gamma(b) - phintys_log_gamma(a + b);
    const double scale = exp(a * log_x + b * log_y - log_beta) / a;
    const double common = phintys_digamma(a + b), both = phintys_trigamma(a + b);
    const double scale_a = log_x - 1 / a - phintys_digamma(a) + common, scale_b = log_y - phintys_digamma(b) + common;
    const double scale_aa = 1 / (a * a) - phintys_trigamma(a) + both, scale_bb = both - phintys_trigamma(b);
    return (BetaSlopes){
        scale * (sum * scale_a + sum_a), scale * (sum * scale_b + sum_b),
        scale * (sum * (scale_a * scale_a + scale_aa) + 2 * scale_a * sum_a + sum_aa),
        scale * (sum * (scale_a * scale_b + both) + scale_a * sum_b + scale_b * sum_a + sum_ab),
        scale * (sum * (scale_b * scale_b + scale_bb) + 2 * scale_b * sum_b + sum_bb)};
}

static BetaSlopes phintys_betainc_slopes(double a, double b, double x) {
    if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return (BetaSlopes){NAN, NAN, NAN, NAN, NAN};
    if (x == 0 || x == 1) return (BetaSlopes){0, 0, 0, 0, 0};
    if (x <= (a + 1) / (a + b + 2)) return phintys_betainc_series(a, b, x, log(x), log1p(-x));
    const BetaSlopes opposite = phintys_betainc_series(b, a, 1 - x, log1p(-x), log(x));
    return (BetaSlopes){-opposite.b, -opposite.a, -opposite.bb, -opposite.ab, -opposite.aa};
}

static double phintys_betainc_by_a(double a, double b, double x) { return phintys_betainc_slopes(a, b, x).a; }
static double phintys_betainc_by_b(double a, double b, double x) { return phintys_betainc_slopes(a, b, x).b; }
static double phintys_betainc_by_aa(double a, double b, double x) { return phintys_betainc_slopes(a, b, x).aa; }
static double phintys_betainc_by_ab(double a, double b, double x) { return phintys_betainc_slopes(a, b, x).ab; }
static double phintys_betainc_by_bb(double a, double b, double x) { return phintys_betainc_slopes(a, b, x).bb; }

/* ---- hyp2f1(a, b, c, x) ------------------------------------------------------------------------------------------ */
/* A number with its derivatives by a, b and c. */
typedef struct { double value, first[3], second[3][3]; } Jet3;

/* The product with a function of one of the three, which has this value and these derivatives. */
static inline void jet3_multiply(Jet3* jet, int by, double value, double slope, double curvature) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            jet->second[i][j] = jet->second[i][j] * value + (i == by ? jet->first[j] * slope : 0)
                + (j == by ? jet->first[i] * slope : 0) + (i == by && j == by ? jet->value * curvature : 0);
    for (int i = 0; i < 3; i++) jet->first[i] = jet->first[i] * value + (i == by ? jet->value * slope : 0);
    jet->value *= value;
}

/* Adds a term; returns whether it changed nothing. */
static inline int jet3_add(Jet3* sum, const Jet3* term) {
    int small = fabs(term->value) <= 1e-17 * fabs(sum->value);
    sum->value += term->value;
    for (int i = 0; i < 3; i++) {
        small &= fabs(term->first[i]) <= 1e-17 * fabs(sum->first[i]);
        sum->first[i] += term->first[i];
        for (int j = 0; j < 3; j++) {
            small &= fabs(term->second[i][j]) <= 1e-17 * fabs(sum->second[i][j]);
            sum->second[i][j] += term->second[i][j];
        }
    }
    return small;
}

/* 1 + a b / c x + a (a + 1) b (b + 1) / (c (c + 1) 2!) x^2 + ..., for 0 <= x < 1; NaN if it converges too slowly. */
static Jet3 phintys_hyp2f1_series(double a, double b, double c, double x) {
    Jet3 term = {1, {0, 0, 0}, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}}, sum = term;
    for (int n = 0; n < PHINTYS_MOST_TERMS; n++) {
        const double r = 1 / (c + n), rest = x / (n + 1);
        jet3_multiply(&term, 0, a + n, 1, 0);
        jet3_multiply(&term, 1, b + n, 1, 0);
        jet3_multiply(&term, 2, r * rest, -r * r * rest, 2 * r * r * r * rest);
        if (jet3_add(&sum, &term) && n > -a && n > -b) return sum;
    }
    sum.value = NAN;
    for (int i = 0; i < 3; i++) {
        sum.first[i] = NAN;
        for (int j = 0; j < 3; j++) sum.second[i][j] = NAN;
    }
    return sum;
}

/* For negative x by Pfaff: (1 - x)^-a hyp2f1(a, c - b, c, x / (x - 1)). */
static Jet3 phintys_hyp2f1_jet(double a, double b, double c, double x) {
    if (x >= 0) return phintys_hyp2f1_series(a, b, c, x < 1 ? x : NAN);
    const Jet3 f = phintys_hyp2f1_series(a, c - b, c, x / (x - 1));
    const double ab = -f.second[0][1], ac = f.second[0][1] + f.second[0][2], bc = -f.second[1][1] - f.second[1][2];
    Jet3 found = {f.value, {f.first[0], -f.first[1], f.first[1] + f.first[2]}, {
        {f.second[0][0], ab, ac}, {ab, f.second[1][1], bc},
        {ac, bc, f.second[1][1] + 2 * f.second[1][2] + f.second[2][2]}}};
    const double logarithm = log1p(-x), scale = exp(-a * logarithm);
    jet3_multiply(&found, 0, scale, -logarithm * scale, logarithm * logarithm * scale);
    return found;
}

/* Those by b follow: hyp2f1 is symmetric in a and b. */
#define PHINTYS_HYP2F1_SLOPE(NAME, PART) \
static double phintys_hyp2f1_by_##NAME(double a, double b, double c, double x) { \
    return phintys_hyp2f1_jet(a, b, c, x).PART; \
}
PHINTYS_HYP2F1_SLOPE(a, first[0])
PHINTYS_HYP2F1_SLOPE(c, first[2])
PHINTYS_HYP2F1_SLOPE(aa, second[0][0])
PHINTYS_HYP2F1_SLOPE(ab, second[0][1])
PHINTYS_HYP2F1_SLOPE(ac, second[0][2])
PHINTYS_HYP2F1_SLOPE(cc, second[2][2])

/* ---- zeta(s, q) -------------------------------------------------------------------------------------------------- */
/* base^-s and its derivatives by s, times a factor. */
static inline Jet jet_power(double base, double s, Jet factor) {
    const double logarithm = log(base), power = exp(-s * logarithm);
    return jet_product((Jet){power, -logarithm * power, logarithm * logarithm * power}, factor);
}

/* The sum of (k + q)^-s for k < n, and the rest by Euler and Maclaurin, with w = n + q: w^(1 - s) / (s - 1) + w^-s / 2
 * + the sum of B_2j / (2j)! s (s + 1) ... (s + 2j - 2) w^(1 - s - 2j). */
static Jet phintys_zeta_jet(double s, double q) {
    static const double bernoulli[] = {                     /* B_2j / (2j)! */
        0x1.5555555555555p-4, -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
        0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
        0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53};
    if (!(s > 1) || !(q > 0)) return (Jet){NAN, NAN, NAN};
    const Jet one = {1, 0, 0}, half = {0.5, 0, 0};
    const double least = s < 100 ? 10 + s : 110;
    Jet sum = {0, 0, 0};
    double w = q;
    for (; w < least; w += 1) sum = jet_sum(sum, jet_power(w, s, one));
    const double r = 1 / (s - 1);
    sum = jet_sum(sum, jet_power(w, s, (Jet){w * r, -w * r * r, 2 * w * r * r * r}));
    sum = jet_sum(sum, jet_power(w, s, half));
    Jet factor = {s / w, 1 / w, 0};
    for (int j = 0; j < 10; j++) {
        const Jet scaled = {factor.value * bernoulli[j], factor.first * bernoulli[j], factor.second * bernoulli[j]};
        sum = jet_sum(sum, jet_power(w, s, scaled));
        factor = jet_product(factor, (Jet){(s + 2 * j + 1) / w, 1 / w, 0});
        factor = jet_product(factor, (Jet){(s + 2 * j + 2) / w, 1 / w, 0});
    }
    return sum;
}

static double phintys_zeta_by_x(double s, double q) { return phintys_zeta_jet(s, q).first; }
static double phintys_zeta_by_x_twice(double s, double q) { return phintys_zeta_jet(s, q).second; }

#endif
