/* Built-in vector functions. Those of the C library take a vector in a register; these take a line of elements, so that
 * their constants stay in registers from one vector to the next.
 *
 * exp, expm1, log, log1p, sin, cos, tanh and softplus(x) = log(1 + exp(x)) are in vector_functions.template.h, for each
 * type and instruction set; others in special_vectors.h. The polynomials are made by asv_bench/fit_vector_functions.py.
 * Included by vector_math.h only.
 */
#ifndef PHINTYS_VECTOR_FUNCTIONS_H
#define PHINTYS_VECTOR_FUNCTIONS_H

#include <math.h>
#include <stdint.h>

#include "native/vectors.h"

#define PHINTYS_LOG_2 0x1.62e42fefa39efp-1
#define PHINTYS_LOG_2_REST 0x1.abc9e3b39803fp-56

/* From here down exp(x) is subnormal or 0. */
static const double phintys_softplus_lowest_double = -708;
static const float phintys_softplus_lowest_float = -87;
/* (exp(r) - 1 - r) / r^2 */
static const double phintys_exp_rest_double[] = {
    0x1.af389ecfc4b9cp-26, 0x1.28917c89a43a7p-22, 0x1.71de0db2f6b19p-19, 0x1.a019b9149a41cp-16, 0x1.a01a01a7c2efep-13,
    0x1.6c16c17889ef1p-10, 0x1.11111111109b5p-7, 0x1.5555555553d68p-5, 0x1.5555555555556p-3, 0x1.0000000000001p-1};
static const float phintys_exp_rest_float[] = {
    0x1.6d10fcp-10f, 0x1.120b62p-7f, 0x1.55551ap-5f, 0x1.5554dep-3f, 0x1p-1f};
/* (exp(r) - 1 - r - r^2 / 2) / r^3 */
static const double phintys_exp_cubes_double[] = {
    0x1.1f66d948a47d2p-29, 0x1.af389ecfc4b9cp-26, 0x1.27e4e1f7222cbp-22, 0x1.71de0db2f6b19p-19, 0x1.a01a01a47a591p-16,
    0x1.a01a01a7c2efep-13, 0x1.6c16c16c167e2p-10, 0x1.11111111109b5p-7, 0x1.5555555555555p-5, 0x1.5555555555556p-3};
static const float phintys_exp_cubes_float[] = {
    0x1.a0f862p-13f, 0x1.6d10fcp-10f, 0x1.1110f6p-7f, 0x1.55551ap-5f, 0x1.555556p-3f};
/* (sin(r) / r - 1) / r^2, by r^2 */
static const double phintys_sin_rest_double[] = {
    -0x1.275f3132d0bb5p-57, 0x1.9507ff1d2eab1p-49, -0x1.ae7ee3a7e62e7p-41, 0x1.612460b6ab17ep-33,
    -0x1.ae64567e733b7p-26, 0x1.71de3a556b9b6p-19, -0x1.a01a01a01a00dp-13, 0x1.1111111111111p-7,
    -0x1.5555555555555p-3};
static const float phintys_sin_rest_float[] = {
    -0x1.9db1ccp-26f, 0x1.719692p-19f, -0x1.a01906p-13f, 0x1.111110p-7f, -0x1.555556p-3f};
/* log(1 + t) / t, by t - 1/2 */
static const double phintys_log1p_over_t_double[] = {
    0x1.9a004c84084e0p-16, -0x1.41ce9263aa3b0p-15, 0x1.da6d71b6afabdp-16, -0x1.780c594e32d50p-15, 0x1.76b09d6cf58dep-14,
    -0x1.2a015e6f8b787p-13, 0x1.cfdf64feee5f6p-13, -0x1.740e66424b377p-12, 0x1.2c70bed1f5192p-11,
    -0x1.e6fd22346bd39p-11, 0x1.8d3fc5df8233cp-10, -0x1.469c50e081538p-9, 0x1.0f11916785076p-8, -0x1.c72c64467e5acp-8,
    0x1.83c50b0fd64f8p-7, -0x1.50abf6ca8389dp-6, 0x1.2bec9fba50fb6p-5, -0x1.1540afd54c993p-4, 0x1.0f95b3dc0a12ap-3,
    -0x1.2773a5da90bd5p-2, 0x1.9f323ecbf984cp-1};
static const float phintys_log1p_over_t_float[] = {
    -0x1.a04acap-9f, 0x1.5814ecp-8f, -0x1.bcdc06p-8f, 0x1.7b60aap-7f, -0x1.50e83ep-6f, 0x1.2c1da8p-5f, -0x1.154036p-4f,
    0x1.0f9550p-3f, -0x1.2773a6p-2f, 0x1.9f323ep-1f};

enum { PHINTYS_VECTOR_FUNCTIONS = 11 };

#define LOOPS "native/special/vector_functions.template.h"
#define FLOATS
#include "native/each_set.h"
#include "special_vectors.h"

/* By the names that C has for such functions: of float, of double. */
typedef struct { const char* name; void* of[2]; } phintys_vector_function;
#define VECTOR_FUNCTION(NAME) \
    {#NAME, {(void*)IN_SET(NAME##_line_float), (void*)IN_SET(NAME##_line_double)}}
#define VECTOR_FUNCTIONS {VECTOR_FUNCTION(exp), VECTOR_FUNCTION(expm1), VECTOR_FUNCTION(log), VECTOR_FUNCTION(log1p), \
                          VECTOR_FUNCTION(sin), VECTOR_FUNCTION(cos), VECTOR_FUNCTION(tanh), VECTOR_FUNCTION(gammaln), \
                          VECTOR_FUNCTION(psi), VECTOR_FUNCTION(erfinv), VECTOR_FUNCTION(softplus)}

#endif
