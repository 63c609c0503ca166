/* Vector functions of float64 that SciPy has as scalar functions only: gammaln, psi and erfinv; and those of float32,
 * which are computed in double. special_vectors.template.h has them for one instruction set.
 *
 * The polynomials are interpolations at Chebyshev nodes, made by asv_bench/fit_vector_functions.py; coefficients of the
 * highest power come first. Operands outside of the formulas' range (numbers below -8 for gammaln, negative ones for
 * psi, infinities, NaN, subnormal numbers) go through the scalar functions below, one by one. Included by
 * vector_functions.h only.
 */
#ifndef PHINTYS_SPECIAL_VECTORS_H
#define PHINTYS_SPECIAL_VECTORS_H

#include <math.h>
#include <stdint.h>

#include "native/sets.h"
#include "special_loops.h"

/* log(gamma(1 + u)) / (u (u - 1)) for 0 <= u <= 1, by u - 1/2 */
static const double phintys_log_gamma_between_1_and_2[] = {
    -0x1.2eb5136d557dbp-16, 0x1.db79b9599b3a6p-16, -0x1.72274bc432ce1p-16, 0x1.25823abba02b4p-15,
    -0x1.1bbedb9aeb43dp-14, 0x1.c3ca9686347cfp-14, -0x1.61af5dcde0802p-13, 0x1.1c0dd4afb9573p-12,
    -0x1.cb4cc1c288e9ep-12, 0x1.7510a4178474dp-11, -0x1.313e688773355p-10, 0x1.f81485f78bbd0p-10,
    -0x1.a50352d82388ep-9, 0x1.64f066cdbffa0p-8, -0x1.34dbda13c8fa0p-7, 0x1.13342351dde0fp-6, -0x1.007aa83cee7e5p-5,
    0x1.01af62a292e9ep-4, -0x1.2aed059bd608ap-3, 0x1.eeb95b094c191p-2};
/* psi(y) divided by the distance of y to the root of psi, for 1 <= y <= 2, by y - 1.5 */
static const double phintys_psi_between_1_and_2[] = {
    -0x1.6b107f71aa124p-13, 0x1.104c9d0897b58p-12, -0x1.3db05b36d9a48p-13, 0x1.dc8ae08af0fc4p-13,
    -0x1.f99f529bd0771p-12, 0x1.7b3b41b0b38cdp-11, -0x1.1002aaf6255f5p-10, 0x1.980fc9c9f0be8p-10,
    -0x1.33661f9073563p-9, 0x1.cd3e42d157015p-9, -0x1.5a071c746535bp-8, 0x1.03c00801ba958p-7, -0x1.86355f6f68797p-7,
    0x1.256475e5ac975p-6, -0x1.b9f8b1367959dp-6, 0x1.4de9aa05d3418p-5, -0x1.fb442029cdbf4p-5, 0x1.8512e5905d180p-4,
    -0x1.2feeeb98a7cd8p-3, 0x1.eca189b8e6da1p-3, -0x1.b1cb63005ee97p-2, 0x1.e6f0cbb873617p-1};
/* erfinv(x) / x, by w - 2.5 for w = -log(1 - x^2) <= 5; by s - 3.109375 and s - 5.125 for s = sqrt(w) up to 4 and to
 * 6.25 */
static const double phintys_erfinv_center[] = {
    0x1.847e944433021p-63, 0x1.7692a18a39c86p-59, -0x1.eb8684d3967aap-56, -0x1.d3896566661f1p-54,
    0x1.10f9a3abd03bcp-49, -0x1.c9dd7964db247p-49, -0x1.56c08cc65ee02p-44, 0x1.2e67836f4afd5p-41,
    0x1.008e1e14bcf63p-40, -0x1.11a0e5e08c336p-35, 0x1.0704eb5764939p-33, 0x1.f2cd342e3526fp-31,
    -0x1.752fdb81693a7p-27, 0x1.ccff528c03084p-27, 0x1.01037e3d97bd8p-21, -0x1.ca9227b0a062dp-19,
    -0x1.4f47fe73684ebp-18, 0x1.c9b437ed0080cp-13, -0x1.4863cdfb61517p-10, -0x1.11c3c302dfaf0p-8,
    0x1.f91e8993f0d14p-3, 0x1.805c5cfcedef5p+0};
static const double phintys_erfinv_middle[] = {
    0x1.1820275ed4522p-31, -0x1.752501870a9dbp-29, 0x1.597f7e063b92cp-29, 0x1.cc52f90711646p-27,
    -0x1.8cebd17a0b0dfp-25, 0x1.868116ad0c970p-25, 0x1.00ef0cedb4f3ep-23, -0x1.31038822d3091p-21,
    0x1.dd74579b33256p-21, 0x1.763e0d5126da1p-21, -0x1.b09ec384001ddp-18, 0x1.aa110f5481905p-17,
    -0x1.405a31bea627dp-24, -0x1.ef3fd85101d7dp-15, 0x1.30c233324dfd6p-13, -0x1.ca9b74a6402a1p-14,
    -0x1.4b9b527dadb4fp-12, 0x1.53ba746515f10p-10, -0x1.59fed217aa19ep-9, 0x1.05e0d99dceb24p-8, -0x1.6b5bc6f8cb1a0p-8,
    0x1.de8ba5a2084fep-8, 0x1.00e5040d28639p+0, 0x1.78a86344a3193p+1};
static const double phintys_erfinv_end[] = {
    -0x1.5c5576df40749p-37, 0x1.01afd6204cafcp-36, 0x1.50c210e71d9aep-34, -0x1.4ffc8bc2eff8fp-32,
    0x1.8a6b413a4a3d6p-31, -0x1.cfec6ca317231p-30, 0x1.f75a9e4e30fe8p-29, -0x1.e3c68525a780bp-28,
    0x1.f137bf910d5dep-27, -0x1.64ad3fcaa07efp-25, 0x1.6bb1513363927p-23, -0x1.ab7b9153d0753p-21,
    0x1.f6fdc753fedb7p-19, -0x1.16550d0df8615p-16, 0x1.0f552c1a7e778p-14, -0x1.795c0dd6cdfa7p-13,
    -0x1.bdda7d4c16cf8p-13, 0x1.02a027c1f3378p+0, 0x1.3e79eb73b06f4p+2};

enum { PHINTYS_NEGATIVE_FACTORS = 8 };     /* gammaln of numbers above minus this many is computed by vectors */

/* ---- what vectors leave out -------------------------------------------------------------------------------------- */
static double phintys_gammaln_rest(double x) { return x == -INFINITY ? x : phintys_log_gamma(x); }

/* Reflection: psi(1 - x) - psi(x) = pi / tan(pi x), of x without its whole part. */
static double phintys_psi_rest(double x) {
    if (x > 0) return x < INFINITY ? phintys_digamma(x) : x;
    if (x == 0) return copysign(INFINITY, -x);
    const double rest = x - rint(x);
    return rest == 0 || x == -INFINITY ? NAN : phintys_digamma(1 - x) - M_PI / tan(M_PI * rest);
}

static double phintys_erfinv_rest(double x) { return fabs(x) == 1 ? copysign(INFINITY, x) : NAN; }

#define LOOPS "native/special/special_vectors.template.h"
#include "native/each_set.h"

#endif
