/* What loops compute from one element of each operand: each formula once, for C and for CUDA.
 *
 * C: the built-in loops (arithmetic_loops.h), arithmetic trees (arithmetic_operations.h) and the machine for single
 * numbers (register_machine.h). CUDA: gpu/kernels/scalar_source.py puts this text before a source and calls the macros;
 * it reads the lines below to know which there are, so each begins with #define, and names its operands and `...`.
 *
 * VALUE_add(x, y) is the formula of the loop `add`. What a dtype has no loop for has no formula: FLOAT_ is for
 * floating-point numbers only, WHOLE_ for integers and bool, VALUE_ for both. Operands are values of the loop's dtype
 * (elements, variables, or vectors of them where there are only operators); the caller converts the result to the
 * result's dtype. A formula rounds as NumPy's loop does: no operation is contracted, and constants have the operand's
 * type. An operand may be evaluated several times.
 */
#ifndef PHINTYS_SCALAR_FUNCTIONS_H
#define PHINTYS_SCALAR_FUNCTIONS_H

/* FUNCTION for the type of x, and a number of x's type. C++ chooses functions by type itself. */
#ifdef __cplusplus
#define PHINTYS_REAL(FUNCTION, x) FUNCTION(x)
#define PHINTYS_LIKE(x, NUMBER) ((decltype((x) + 0))(NUMBER))
#else
#define PHINTYS_REAL(FUNCTION, x) _Generic((x), float: FUNCTION##f, default: FUNCTION)(x)
#define PHINTYS_LIKE(x, NUMBER) ((__typeof__((x) + 0))(NUMBER))
#endif

#define VALUE_copy(x, ...) (x)
#define VALUE_cast(x, ...) (x)
#define VALUE_positive(x, ...) (x)
#define VALUE_conjugate(x, ...) (x)

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */
#define VALUE_add(x, y, ...) ((x) + (y))
#define VALUE_subtract(x, y, ...) ((x) - (y))
#define VALUE_multiply(x, y, ...) ((x) * (y))
#define FLOAT_divide(x, y, ...) ((x) / (y))
#define VALUE_negative(x, ...) (-(x))
#define VALUE_square(x, ...) ((x) * (x))
#define FLOAT_reciprocal(x, ...) (1 / (x))
#define FLOAT_absolute(x, ...) PHINTYS_REAL(fabs, x)
#define WHOLE_absolute(x, ...) ((x) < 0 ? 0 - (unsigned long long)(x) : (unsigned long long)(x))    /* wraps */
#define FLOAT_fabs(x, ...) PHINTYS_REAL(fabs, x)
#define VALUE_sign(x, ...) ((x) > 0 ? 1 : (x) < 0 ? -1 : (x) + 0)         /* NaN stays, and -0 becomes 0 */
#define VALUE_clip(x, y, z, ...) ((x) < (y) ? (y) : (x) > (z) ? (z) : (x))     /* NaN stays */
#define VALUE_maximum(x, y, ...) ((x) >= (y) || (x) != (x) ? (x) : (y))
#define VALUE_minimum(x, y, ...) ((x) <= (y) || (x) != (x) ? (x) : (y))
#define VALUE_fmax(x, y, ...) ((x) >= (y) || (y) != (y) ? (x) : (y))
#define VALUE_fmin(x, y, ...) ((x) <= (y) || (y) != (y) ? (x) : (y))
#define VALUE_switch(x, y, z, ...) ((x) ? (y) : (z))
#define FLOAT_unless_overflow(x, y, ...) ((x) == INFINITY ? (y) : (x))

/* ---- rounding ---------------------------------------------------------------------------------------------------- */
#define FLOAT_floor(x, ...) PHINTYS_REAL(floor, x)
#define FLOAT_ceil(x, ...) PHINTYS_REAL(ceil, x)
#define FLOAT_trunc(x, ...) PHINTYS_REAL(trunc, x)
#define FLOAT_rint(x, ...) PHINTYS_REAL(rint, x)
#define FLOAT_round_half_away_from_zero(x, ...) PHINTYS_REAL(round, x)

/* ---- truths and bits --------------------------------------------------------------------------------------------- */
#define VALUE_less(x, y, ...) ((x) < (y))
#define VALUE_less_equal(x, y, ...) ((x) <= (y))
#define VALUE_greater(x, y, ...) ((x) > (y))
#define VALUE_greater_equal(x, y, ...) ((x) >= (y))
#define VALUE_equal(x, y, ...) ((x) == (y))
#define VALUE_not_equal(x, y, ...) ((x) != (y))
#define VALUE_logical_and(x, y, ...) (((x) != 0) & ((y) != 0))
#define VALUE_logical_or(x, y, ...) (((x) != 0) | ((y) != 0))
#define VALUE_logical_xor(x, y, ...) (((x) != 0) ^ ((y) != 0))
#define VALUE_logical_not(x, ...) ((x) == 0)
#define WHOLE_bitwise_and(x, y, ...) ((x) & (y))
#define WHOLE_bitwise_or(x, y, ...) ((x) | (y))
#define WHOLE_bitwise_xor(x, y, ...) ((x) ^ (y))
#define WHOLE_invert(x, ...) (~(x))
#define FLOAT_isnan(x, ...) ((x) != (x))
#define WHOLE_isnan(x, ...) 0
#define FLOAT_isinf(x, ...) (PHINTYS_REAL(fabs, x) == INFINITY)
#define WHOLE_isinf(x, ...) 0
#define FLOAT_isfinite(x, ...) (PHINTYS_REAL(fabs, x) < INFINITY)
#define WHOLE_isfinite(x, ...) 1
#define FLOAT_signbit(x, ...) signbit(x)
#define WHOLE_signbit(x, ...) ((x) < 0)

/* ---- functions --------------------------------------------------------------------------------------------------- */
#define FLOAT_sqrt(x, ...) PHINTYS_REAL(sqrt, x)
#define FLOAT_cbrt(x, ...) PHINTYS_REAL(cbrt, x)
#define FLOAT_exp(x, ...) PHINTYS_REAL(exp, x)
#define FLOAT_exp2(x, ...) PHINTYS_REAL(exp2, x)
#define FLOAT_expm1(x, ...) PHINTYS_REAL(expm1, x)
#define FLOAT_log(x, ...) PHINTYS_REAL(log, x)
#define FLOAT_log2(x, ...) PHINTYS_REAL(log2, x)
#define FLOAT_log10(x, ...) PHINTYS_REAL(log10, x)
#define FLOAT_log1p(x, ...) PHINTYS_REAL(log1p, x)
#define FLOAT_sin(x, ...) PHINTYS_REAL(sin, x)
#define FLOAT_cos(x, ...) PHINTYS_REAL(cos, x)
#define FLOAT_tan(x, ...) PHINTYS_REAL(tan, x)
#define FLOAT_sinh(x, ...) PHINTYS_REAL(sinh, x)
#define FLOAT_cosh(x, ...) PHINTYS_REAL(cosh, x)
#define FLOAT_tanh(x, ...) PHINTYS_REAL(tanh, x)
#define FLOAT_arcsin(x, ...) PHINTYS_REAL(asin, x)
#define FLOAT_arccos(x, ...) PHINTYS_REAL(acos, x)
#define FLOAT_arctan(x, ...) PHINTYS_REAL(atan, x)
#define FLOAT_arcsinh(x, ...) PHINTYS_REAL(asinh, x)
#define FLOAT_arccosh(x, ...) PHINTYS_REAL(acosh, x)
#define FLOAT_arctanh(x, ...) PHINTYS_REAL(atanh, x)
#define FLOAT_erf(x, ...) PHINTYS_REAL(erf, x)
#define FLOAT_erfc(x, ...) PHINTYS_REAL(erfc, x)
#define FLOAT_deg2rad(x, ...) ((x) * PHINTYS_LIKE(x, 0.017453292519943295))
#define FLOAT_rad2deg(x, ...) ((x) * PHINTYS_LIKE(x, 57.29577951308232))
#define FLOAT_softplus(x, ...) (((x) > 0 ? (x) : 0) + PHINTYS_REAL(log1p, PHINTYS_REAL(exp, -PHINTYS_REAL(fabs, x))))
#define FLOAT_gammaln(x, ...) ((x) == -INFINITY ? (x) : PHINTYS_REAL(lgamma, x))
#define FLOAT_xlogy(x, y, ...) ((x) == 0 && (y) == (y) ? 0 : (x) * PHINTYS_REAL(log, y))
#define FLOAT_xlog1py(x, y, ...) ((x) == 0 && (y) == (y) ? 0 : (x) * PHINTYS_REAL(log1p, y))

/* ---- of CUDA alone: these call C++ functions that scalar_source.py defines --------------------------------------- */
#define FLOAT_arctan2(x, y, ...) atan2(x, y)
#define FLOAT_hypot(x, y, ...) hypot(x, y)
#define FLOAT_copysign(x, y, ...) copysign(x, y)
#define FLOAT_fmod(x, y, ...) fmod(x, y)
#define WHOLE_fmod(x, y, ...) plain_remainder(x, y)
#define FLOAT_remainder(x, y, ...) real_remainder(x, y)
#define WHOLE_remainder(x, y, ...) floor_remainder(x, y)
#define FLOAT_floor_divide(x, y, ...) real_floor_quotient(x, y)
#define WHOLE_floor_divide(x, y, ...) floor_quotient(x, y)
#define FLOAT_power(x, y, ...) pow(x, y)
#define WHOLE_power(x, y, ...) whole_power(x, y)
#define WHOLE_left_shift(x, y, ...) shifted_left(x, y)
#define WHOLE_right_shift(x, y, ...) shifted_right(x, y)
#define FLOAT_expit(x, ...) sigmoid_of(x)
#define FLOAT_log_expit(x, ...) log_sigmoid_of(x)

#endif
