"""The table of scalar ops: all operations of phintys on single elements. A new elementwise op is one new row here.

A row names the class (for ``isinstance`` checks, as in Theano), the op, its number of inputs, the rule for the dtype
of the result, the inner loop (a NumPy ufunc, ``"scipy.special:name"``, or a function that emits several loops), and
the gradient as a function of variables, tensors or numbers: the inputs, the output, and the gradient of the output.
Gradients have the full shape of the output; ``Elemwise`` sums over broadcast dimensions and handles discrete dtypes.
The names are Theano's; ``pow``, ``complex`` and others shadow Python's built-ins inside this file only.
"""
import math
from functools import wraps
from itertools import accumulate

from phintys.graph.config import config
from phintys.graph.gradients.gradient import are_plain
from phintys.graph.public_names import at_home
from phintys.graph.variable import Variable
from phintys.ops.elementwise import scalar_op as rules
from phintys.ops.elementwise.scalar_op import (
    ABOVE_ONE,
    ANY,
    POSITIVE,
    SCALAR_OPS,
    UNIT,
    LoopedScalarOp,
    define,
    scalar_op_named,
)
from phintys.ops.elementwise.scalar_protocol import BinaryScalarOp, ScalarOp, UnaryScalarOp
from phintys.ops.native.providers import providers
from phintys.ops.types.as_scalar import scalar_constant
from phintys.ops.types.constant import constant, constant_number, is_padded_constant, padded_constant
from phintys.ops.types.dtypes import (
    ALL_DTYPES,
    canonical_dtype,
    complex_dtypes,
    continuous_dtypes,
    discrete_dtypes,
    upcast,
)
from phintys.ops.types.scalar_type import Scalar

__all__ = ["SCALAR_OPS", "ScalarOp", "UnaryScalarOp", "BinaryScalarOp", "scalar_op_named", "cast_op", "upcast",
           "ComplexError", "IntegerDivisionError"]


@at_home
class ComplexError(NotImplementedError):
    """Raised for an operation that is not defined for complex numbers."""


@at_home
class IntegerDivisionError(Exception):
    """Raised for ``/`` between integers while ``config.int_division`` is ``"raise"``."""


# ---- helpers for gradients -------------------------------------------------------------------------------------
def number(value, like):
    """A constant with the dtype and rank of ``like``, so that it does not change the dtype of a gradient."""
    if like.type.is_number:
        return scalar_constant(value, dtype=like.type.dtype)
    made = constant(value, dtype=like.type.dtype)
    return padded_constant(made, like.type.ndim) if like.type.ndim else made


def zero_by(variable):
    """The zero gradient of a variable with respect to which the result is piecewise constant: in the variable's dtype,
    or in floatX if that is discrete."""
    dtype = variable.type.dtype
    return second(variable, constant(0, dtype=dtype if dtype in continuous_dtypes else config.floatX))


def continuous(variable, gradient):
    """The operand in a dtype that suits the formula: bool has no arithmetic, and squares of int8 overflow."""
    return as_dtype(variable, gradient.type.dtype) if variable.type.dtype in discrete_dtypes else variable


def polynomial(coefficients, x, g):
    """The sum of coefficients times powers of x, from x**0 on, by Horner's method."""
    *others, last = coefficients
    value = number(last, g)
    for coefficient in reversed(others):
        value = value * x + number(coefficient, g)
    return value


def limit_for(gradient, double, single, half):
    """A constant for operands with 53, 24 or 11 binary digits: from where on another formula is exact, or needed."""
    return number({"float64": double, "float16": half}.get(gradient.type.dtype, single), gradient)


def zeros_by(*arguments):
    """The gradient formula of step functions and comparisons: zero with respect to every input."""
    return [zero_by(variable) for variable in arguments[:-2]]


# ---- arithmetic ------------------------------------------------------------------------------------------------
def add_gradient(*arguments):
    """The output's gradient for each term."""
    *terms, _, gradient = arguments
    return [gradient] * len(terms)


def mul_gradient(*arguments, wanted=None):
    """The gradient with respect to each factor: the output's gradient times the other factors."""
    *factors, _, gradient = arguments
    if len(factors) <= 3:
        return [mul(gradient, *factors[:position], *factors[position + 1:]) if wanted is None or wanted[position] else
                None for position in range(len(factors))]
    # Products of the factors before and after each factor, so that the total work is linear in their number.
    before = list(accumulate([gradient, *factors[:-1]], mul))
    behind = list(accumulate(factors[:0:-1], mul))[::-1]
    return [mul(*pair) for pair in zip(before, behind)] + before[-1:]


mul_gradient.takes_wanted = True

add = define("Add", "add", -1, rules.upcast_out, "add", add_gradient, complex_rule="real_slope",
             commutative=True, associative=True, identity=0, symbol="+",
             doc="Elementwise sum of any number of tensors.", example=([1, 2], [0.5, 1.5]))
mul = define("Mul", "mul", -1, rules.upcast_out, "multiply", mul_gradient,
             commutative=True, associative=True, identity=1, symbol="*", complex_rule="holomorphic",
             doc="Elementwise product of any number of tensors.", example=([1, 2], [0.5, 1.5]))
sub = define("Sub", "sub", 2, rules.upcast_out_no_bool, "subtract",
             (lambda a, b, out, g: g, lambda a, b, out, g: -g), complex_rule="real_slope", symbol="-",
             doc="Elementwise difference; not for two bools.", example=([1, 2], [0.5, 1.5]))
true_div = define("TrueDiv", "true_div", 2, rules.true_div_out, "divide",
                  (lambda a, b, out, g: g / b, lambda a, b, out, g: -(g * out) / b), operands="float", symbol="/",
                  complex_rule="holomorphic", domain=(ANY, POSITIVE),
                  doc="Elementwise quotient; of discrete tensors it is in floatX.", example=([1, 2], 4))
int_div = define("IntDiv", "int_div", 2, rules.upcast_out_no_complex, "floor_divide", zeros_by, symbol="//",
                 domain=(ANY, POSITIVE),
                 doc="Elementwise quotient, rounded towards minus infinity; integers divided by zero give 0.",
                 example=([7, -7], 2))
mod = define("Mod", "mod", 2, rules.upcast_out_no_complex, "remainder",
             lambda a, b, out, g: (g, -(a // b) * g), symbol="%",
             domain=(ANY, POSITIVE),
             doc="Elementwise remainder with the sign of the divisor; integers modulo zero give 0.",
             example=([7, -7], 3))
neg = define("Neg", "neg", 1, rules.same_out_no_bool, "negative", lambda x, out, g: -g, complex_rule="real_slope",
             symbol="-", doc="Elementwise -x; not for bools.", example=([-1.5, 2.0],))
inv = define("Inv", "inv", 1, rules.upgrade_to_float, "reciprocal", lambda x, out, g: -g * sqr(out),
             complex_rule="holomorphic", domain=POSITIVE, doc="Elementwise 1 / x.", example=([0.5, 4.0],))
sqr = define("Sqr", "sqr", 1, rules.same_out, "square", lambda x, out, g: g * x * number(2, g),
             complex_rule="holomorphic", doc="Elementwise square.", example=([-1.5, 3.0],))
sqrt = define("Sqrt", "sqrt", 1, rules.upgrade_to_float, "sqrt", lambda x, out, g: g * number(0.5, g) / out,
              complex_rule="holomorphic", domain=POSITIVE, doc="Elementwise square root.", example=([4.0, 2.0],))


def gradient_by_base(base, exponent, out, g):
    """y x^(y-1), without NaN where the exponent is 0."""
    value = constant_number(exponent)
    if value is None:
        return switch(eq(exponent, 0), number(0, g), g * exponent * pow(base, exponent - 1))
    if value == 2:
        return g * base * number(2, g)
    if value == 0:
        return second(g, number(0, g))
    holds = exponent.type.dtype in complex_dtypes or value >= 1     # an unsigned exponent of 0 has no predecessor
    lower = constant(value - 1, dtype=exponent.type.dtype) if holds else exponent - 1
    return g * exponent * pow(base, lower)


def gradient_by_exponent(base, exponent, out, g):
    """x^y log x, without NaN where the base is 0."""
    if is_padded_constant(exponent):
        return None
    return switch(eq(base, 0), number(0, g), g * out * log(as_dtype(base, g.type.dtype)))


pow = define("Pow", "pow", 2, rules.upcast_out_min8, "power", (gradient_by_base, gradient_by_exponent),
             symbol="**", complex_rule="holomorphic", domain=(POSITIVE, (0, 3.1)),
             doc="Elementwise power; integers with negative exponents give 0 (1 and -1 for the bases 1 and -1).",
             example=([1.5, 2.0], 2))


def absolute_gradient(x, out, g):
    """The sign of a real number; x / abs(x) for complex ones, and 0 at 0."""
    if x.type.dtype in complex_dtypes:
        return switch(eq(out, 0), number(0, out), g / out) * x
    return g * sgn(x)


abs_ = define("Abs", "abs_", 1, rules.real_out, "absolute", absolute_gradient, operands="as they are",
              complex_rule="transposed", doc="Elementwise absolute value; of complex numbers the modulus.",
              example=([-1.5, 2.0],))


def emit_sgn(steps, dtype, x):
    """A built-in loop for float32 and float64, which is faster than that of NumPy; else that of NumPy."""
    return steps.apply_own("sign", dtype, x) if dtype in ("float32", "float64") else steps.apply("sign", x)


sgn = define("Sgn", "sgn", 1, rules.sign_out, emit_sgn, zeros_by,
             doc="Elementwise sign: -1, 0 or 1; neither bool nor complex.", example=([-1.5, 0.0, 2.0],))


# ---- rounding --------------------------------------------------------------------------------------------------
def own(name):
    """Emit a built-in loop whose result has the dtype of its operand."""
    return lambda steps, dtype, x: steps.apply_own(name, dtype, x)


ceil = define("Ceil", "ceil", 1, rules.upgrade_to_float_no_complex, "ceil", zeros_by,
              doc="Elementwise least integer above.", example=([-1.5, 0.2],))
floor = define("Floor", "floor", 1, rules.upgrade_to_float_no_complex, "floor", zeros_by,
               doc="Elementwise greatest integer below.", example=([-1.5, 0.2],))
trunc = define("Trunc", "trunc", 1, rules.upgrade_to_float_no_complex, "trunc", zeros_by,
               doc="Elementwise rounding towards zero.", example=([-1.5, 0.2],))
round_half_to_even = define("RoundHalfToEven", "round_half_to_even", 1, rules.same_out_float_only, "rint", zeros_by,
                            doc="Elementwise rounding to the nearest integer, halves to the even one, as NumPy does.",
                            example=([0.5, 1.5, -2.5],))
round_half_away_from_zero = define(
    "RoundHalfAwayFromZero", "round_half_away_from_zero", 1, rules.same_out_float_only,
    own("round_half_away_from_zero"),
    zeros_by, doc="Elementwise rounding to the nearest integer, halves away from zero, as C's round does.",
    example=([0.5, 1.5, -2.5],))


# ---- exponentials and logarithms ---------------------------------------------------------------------------------
def emit_sigmoid(steps, dtype, x):
    """1 / (1 + exp(-x)); where exp(-x) overflows, the result is the limit, 0."""
    if dtype == "float16":                                  # exp(-x) overflows where the result is not yet 0
        return steps.cast(emit_sigmoid(steps, "float32", steps.cast(x, "float32")), dtype)
    exponential = steps.apply("exp", steps.apply("negative", x))
    return steps.apply("reciprocal", steps.apply("add", exponential, steps.constant(1, steps.dtypes[exponential])))


def emit_softplus(steps, dtype, x):
    """A built-in loop. If there is none, log1p(exp(x)), which has no cancellation; where exp overflows, the result is
    x."""
    if dtype == "float16" and providers("softplus", "float32"):
        return steps.cast(emit_softplus(steps, "float32", steps.cast(x, "float32")), dtype)
    if providers("softplus", dtype):
        return steps.apply_own("softplus", dtype, x)
    return steps.apply_own("unless_overflow", dtype, steps.apply("log1p", steps.apply("exp", x)), x)


def emit_logaddexp(steps, dtype, x, y):
    """max(x, y) + log1p(exp(-abs(x - y))), five times as fast as NumPy's loop; equal infinities give the same
    infinity."""
    if config.math == "numpy":
        return steps.apply("logaddexp", x, y)
    if dtype == "float16":
        return steps.cast(emit_logaddexp(steps, "float32", steps.cast(x, "float32"), steps.cast(y, "float32")), dtype)
    x, y = steps.cast(x, dtype), steps.cast(y, dtype)
    difference = emit_switch(steps, dtype, steps.apply("equal", x, y), steps.constant(0, dtype),
                             steps.apply("subtract", x, y))
    far = emit_softplus(steps, dtype, steps.apply("negative", steps.apply("absolute", difference)))
    return steps.apply("add", steps.apply("maximum", x, y), far)


def emit_log1mexp(steps, dtype, x):
    """log1p(-exp(x)); above -log(2), where 1 - exp(x) has cancellation, log(-expm1(x))."""
    if dtype == "float16":
        return steps.cast(emit_log1mexp(steps, "float32", steps.cast(x, "float32")), dtype)
    far = steps.apply("log1p", steps.apply("negative", steps.apply("exp", x)))
    near = steps.apply("log", steps.apply("negative", steps.apply("expm1", x)))
    return emit_switch(steps, dtype, steps.apply("less", x, steps.constant(-math.log(2), dtype)), far, near)


def emit_xlogy0(steps, dtype, x, y):
    """x * log(y), and 0 where x is 0."""
    zero = steps.constant(0, dtype)
    product = steps.apply("multiply", x, steps.apply("log", y))
    return emit_switch(steps, dtype, steps.apply("equal", x, zero), zero, product)


def emit_xlogx(steps, dtype, x):
    """x * log(x), and 0 at 0."""
    return emit_xlogy0(steps, dtype, x, x)


def emit_softsign(steps, dtype, x):
    """x / (1 + abs(x))."""
    return steps.apply("divide", x, steps.apply("add", steps.constant(1, dtype), steps.apply("absolute", x)))


def emit_relu(steps, dtype, x):
    """max(x, 0): by ``clip``, which keeps NaN."""
    if dtype == "float16":
        return steps.apply("maximum", x, steps.constant(0, dtype))
    return steps.apply_own("clip", dtype, x, steps.constant(0, dtype), steps.constant(math.inf, dtype))


def emit_leaky_relu(steps, dtype, x, alpha):
    """x where it is positive, else alpha * x."""
    positive = steps.apply("greater", x, steps.constant(0, dtype))
    return emit_switch(steps, dtype, positive, x, steps.apply("multiply", x, alpha))


def leaky_relu_gradient(x, alpha, out, g):
    """The slope is 1, alpha, or their mean at 0."""
    half = number(0.5, g)
    slope = half * (number(1, g) + alpha) + half * (number(1, g) - alpha) * sgn(continuous(x, g))
    return g * slope, g * minimum(x, number(0, g))


def emit_ultra_fast_sigmoid(steps, dtype, x):
    """A built-in loop for floats from 32 bits."""
    if dtype == "float16":
        return steps.cast(emit_ultra_fast_sigmoid(steps, "float32", steps.cast(x, "float32")), dtype)
    return steps.apply_own("ultra_fast_sigmoid", dtype, x)


def emit_sigmoid_binary_crossentropy(steps, dtype, x, target):
    """softplus(-abs(x)) + x * ((x > 0) - target), which avoids differences of large numbers."""
    far = emit_softplus(steps, dtype, steps.apply("negative", steps.apply("absolute", x)))
    positive = steps.cast(steps.apply("greater", x, steps.constant(0, dtype)), dtype)
    rest = steps.apply("multiply", x, steps.apply("subtract", positive, target))
    return steps.apply("add", far, rest)


def emit_exp2(steps, dtype, x):
    """NumPy has the loop for floats only."""
    if dtype not in complex_dtypes:
        return steps.apply("exp2", x)
    factor = steps.constant(math.log(2), rules.REAL_PART[dtype])
    parts = [steps.apply("multiply", emit(steps, dtype, x), factor) for emit in (emit_real, emit_imag)]
    return steps.apply("exp", emit_complex(steps, dtype, *parts))


def logaddexp_gradient(a, b, out, g):
    """Logistic functions of the difference, which is 0 also between equal infinities."""
    a, b = continuous(a, g), continuous(b, g)
    difference = switch(and_(isinf(a), eq(a, b)), number(0, g), a - b)
    return g * sigmoid(difference), g * sigmoid(-difference)


exp = define("Exp", "exp", 1, rules.upgrade_to_float, "exp", lambda x, out, g: g * out, complex_rule="holomorphic",
             doc="Elementwise e**x.", example=([0.0, 1.0],))
exp2 = define("Exp2", "exp2", 1, rules.upgrade_to_float, emit_exp2,
              lambda x, out, g: g * out * number(math.log(2), g), complex_rule="holomorphic", doc="Elementwise 2**x.",
              example=([-1.0, 3.0],))
expm1 = define("Expm1", "expm1", 1, rules.upgrade_to_float, "expm1", lambda x, out, g: g * exp(x),
               complex_rule="holomorphic", doc="Elementwise e**x - 1, exact for small x.")
log = define("Log", "log", 1, rules.upgrade_to_float, "log", lambda x, out, g: g / x, complex_rule="holomorphic",
             domain=POSITIVE, doc="Elementwise natural logarithm.", example=([1.0, 2.0],))
log2 = define("Log2", "log2", 1, rules.upgrade_to_float, "log2", lambda x, out, g: g / (x * number(math.log(2), g)),
              complex_rule="holomorphic", domain=POSITIVE, doc="Elementwise logarithm to base 2.",
              example=([1.0, 8.0],))
log10 = define("Log10", "log10", 1, rules.upgrade_to_float, "log10", lambda x, out,
               g: g / (x * number(math.log(10), g)), complex_rule="holomorphic",
               domain=POSITIVE, doc="Elementwise logarithm to base 10.", example=([1.0, 1000.0],))
log1p = define("Log1p", "log1p", 1, rules.upgrade_to_float, "log1p", lambda x, out, g: g / (x + number(1, g)),
               complex_rule="holomorphic", domain=POSITIVE, doc="Elementwise log(1 + x), exact for small x.")
logaddexp = define("LogAddExp", "logaddexp", 2, rules.upgrade_to_float_no_complex, emit_logaddexp,
                   logaddexp_gradient, commutative=True, associative=True,
                   doc="Elementwise log(exp(a) + exp(b)) without overflow.", example=([0.0, 1000.0], [0.0, 1000.0]))
log1mexp = define("Log1mExp", "log1mexp", 1, rules.upgrade_to_float_no_complex, emit_log1mexp,
                  lambda x, out, g: g * exp(continuous(x, g)) / expm1(continuous(x, g)), public=None,
                  domain=(-3.0, -0.1), doc="Elementwise log(1 - exp(x)), exact for x near 0 and for far negative ones.")
xlogx = define("XlogX", "xlogx", 1, rules.upgrade_to_float, emit_xlogx, lambda x, out, g: g * (number(1, g) + log(x)),
               public="xlogx.xlogx", domain=POSITIVE, doc="Elementwise x * log(x), 0 where x is 0.",
               example=([0.0, 2.0],))
xlogy0 = define("XlogY0", "xlogy0", 2, rules.upgrade_to_float, emit_xlogy0,
                lambda x, y, out, g: (g * log(continuous(y, g)), g * x / y), public="xlogx.xlogy0",
                domain=POSITIVE, doc="Elementwise x * log(y), 0 where x is 0.", example=([0.0, 2.0], [0.0, 3.0]))
sigmoid = define("ScalarSigmoid", "sigmoid", 1, rules.upgrade_to_float_no_complex, emit_sigmoid,
                 lambda x, out, g: g * out * (number(1, g) - out if are_plain() else sigmoid(-continuous(x, g))),
                 doc="Elementwise logistic function 1 / (1 + exp(-x)).")
softplus = define("ScalarSoftplus", "softplus", 1, rules.upgrade_to_float_no_complex, emit_softplus,
                  lambda x, out, g: g * sigmoid(x), doc="Elementwise log(1 + exp(x)) without overflow.")
scalar_softsign = define("ScalarSoftsign", "scalar_softsign", 1, rules.upgrade_to_float_no_complex, emit_softsign,
                         lambda x, out, g: g / sqr(number(1, g) + abs_(x)), public="nnet.softsign",
                         doc="Elementwise x / (1 + abs(x)).")
relu = define("ScalarRelu", "relu", 1, rules.upgrade_to_float_no_complex, emit_relu,
              lambda x, out, g: g * (number(0.5, g) + number(0.5, g) * sgn(continuous(x, g))), public=None,
              doc="Elementwise max(x, 0); at 0 the slope is 1/2.")
leaky_relu = define("LeakyRelu", "leaky_relu", 2, rules.upgrade_to_float_no_complex, emit_leaky_relu,
                    leaky_relu_gradient, public=None,
                    doc="Elementwise x, or alpha * x where x is negative; at 0 the slope is the mean of both.")


def ultra_fast_sigmoid_gradient(x, out, g):
    """The slope of the rational part, of the linear part, and 0 beyond."""
    half = number(0.5, g) * abs_(x)
    line = switch(lt(half, number(3, g)), number(0.0458812946797165 / 4, g), number(0, g))
    return g * switch(lt(half, number(1.7, g)), number(0.375, g) / sqr(number(1, g) + half), line)


ultra_fast_sigmoid = define("UltraFastScalarSigmoid", "ultra_fast_sigmoid", 1, rules.upgrade_to_float_no_complex,
                            emit_ultra_fast_sigmoid, ultra_fast_sigmoid_gradient, public="nnet.ultra_fast_sigmoid",
                            doc="Elementwise approximation of the sigmoid, within 0.03.")
sigmoid_binary_crossentropy = define(
    "SigmoidBinaryCrossentropy", "sigmoid_binary_crossentropy", 2, rules.upgrade_to_float_no_complex,
    emit_sigmoid_binary_crossentropy, lambda x, target, out, g: (g * (sigmoid(x) - target), -g * x), public=None,
    doc="Elementwise binary cross-entropy of sigmoid(x) and a target between 0 and 1, for any x.")

# ---- angles ------------------------------------------------------------------------------------------------------
deg2rad = define("Deg2Rad", "deg2rad", 1, rules.upgrade_to_float_no_complex, "deg2rad",
                 lambda x, out, g: g * number(math.pi / 180, g), doc="Elementwise degrees to radians.",
                 example=([90.0, 180.0],))
rad2deg = define("Rad2Deg", "rad2deg", 1, rules.upgrade_to_float_no_complex, "rad2deg",
                 lambda x, out, g: g * number(180 / math.pi, g), doc="Elementwise radians to degrees.")
cos = define("Cos", "cos", 1, rules.upgrade_to_float, "cos", lambda x, out, g: -g * sin(x), complex_rule="holomorphic",
             doc="Elementwise cosine.")
sin = define("Sin", "sin", 1, rules.upgrade_to_float, "sin", lambda x, out, g: g * cos(x), complex_rule="holomorphic",
             doc="Elementwise sine.")
tan = define("Tan", "tan", 1, rules.upgrade_to_float, "tan", lambda x, out, g: g * (number(1, g) + sqr(out)),
             complex_rule="holomorphic", domain=UNIT, doc="Elementwise tangent.")
arccos = define("ArcCos", "arccos", 1, rules.upgrade_to_float, "arccos",
                lambda x, out, g: -g / sqrt((number(1, g) - x) * (number(1, g) + x)), complex_rule="holomorphic",
                domain=UNIT, doc="Elementwise inverse cosine.")
arcsin = define("ArcSin", "arcsin", 1, rules.upgrade_to_float, "arcsin",
                lambda x, out, g: g / sqrt((number(1, g) - x) * (number(1, g) + x)), complex_rule="holomorphic",
                domain=UNIT, doc="Elementwise inverse sine.")
arctan = define("ArcTan", "arctan", 1, rules.upgrade_to_float, "arctan",
                lambda x, out, g: g / (number(1, g) + sqr(continuous(x, g))), complex_rule="holomorphic",
                doc="Elementwise inverse tangent.")


def emit_polar_slope(steps, dtype, x, y):
    """x / hypot(x, y) / hypot(x, y); the square of the distance overflows, or is 0, where the result has a number."""
    if dtype == "float16":
        return steps.cast(emit_polar_slope(steps, "float32", steps.cast(x, "float32"), steps.cast(y, "float32")), dtype)
    distance = steps.apply("hypot", x, y)
    slope = steps.apply("divide", steps.apply("divide", x, distance), distance)
    return emit_switch(steps, dtype, steps.apply("isinf", distance), steps.constant(0, dtype), slope)


def polar_slope_gradient(x, y, out, g):
    """By the slopes of both coordinates, whose squares do not overflow."""
    x, y = continuous(x, g), continuous(y, g)
    other = polar_slope(y, x)
    return g * (sqr(other) - sqr(out)), -number(2, g) * g * out * other


def arctan2_gradient(y, x, out, g):
    """By `polar_slope`, without squares of distances."""
    x, y = continuous(x, g), continuous(y, g)
    return g * polar_slope(x, y), -g * polar_slope(y, x)


polar_slope = define("PolarSlope", "polar_slope", 2, rules.upgrade_to_float_no_complex, emit_polar_slope,
                     polar_slope_gradient, public=None, domain=(ANY, POSITIVE),
                     doc="Elementwise x / (x**2 + y**2), the slopes of the angle of a point, without overflow.")
arctan2 = define("ArcTan2", "arctan2", 2, rules.upgrade_to_float_no_complex, "arctan2", arctan2_gradient,
                 domain=(ANY, POSITIVE), doc="Elementwise angle of the point (x, y), given y first.",
                 example=([1.0, -1.0], [1.0, -1.0]))
hypot = define("Hypot", "hypot", 2, rules.upgrade_to_float_no_complex, "hypot",
               lambda x, y, out, g: (g * x / out, g * y / out), commutative=True,
               domain=(ANY, POSITIVE), doc="Elementwise sqrt(x ** 2 + y ** 2) without overflow.",
               example=([3.0, 5.0], [4.0, 12.0]))
cosh = define("Cosh", "cosh", 1, rules.upgrade_to_float, "cosh", lambda x, out, g: g * sinh(x),
              complex_rule="holomorphic", doc="Elementwise hyperbolic cosine.")
sinh = define("Sinh", "sinh", 1, rules.upgrade_to_float, "sinh", lambda x, out, g: g * cosh(x),
              complex_rule="holomorphic", doc="Elementwise hyperbolic sine.")
tanh = define("Tanh", "tanh", 1, rules.upgrade_to_float, "tanh", lambda x, out, g: g * (number(1, g) - sqr(out)),
              complex_rule="holomorphic", doc="Elementwise hyperbolic tangent.")
def root_of_one_and_square(x, g):
    """sqrt(1 + x**2), and abs(x) where the square is so large that both are the same number."""
    if x.type.dtype in complex_dtypes:
        return sqrt(sqr(x) + number(1, g))
    limit = limit_for(g, 2.0 ** 28, 2.0 ** 12, 2.0 ** 6)
    return maximum(sqrt(sqr(clip(x, -limit, limit)) + number(1, g)), abs_(x))


arccosh = define("ArcCosh", "arccosh", 1, rules.upgrade_to_float, "arccosh",
                 lambda x, out, g: g / (sqrt(x - number(1, g)) * sqrt(x + number(1, g))),
                 domain=ABOVE_ONE, doc="Elementwise inverse hyperbolic cosine.")
arcsinh = define("ArcSinh", "arcsinh", 1, rules.upgrade_to_float, "arcsinh",
                 lambda x, out, g: g / root_of_one_and_square(continuous(x, g), g), complex_rule="holomorphic",
                 doc="Elementwise inverse hyperbolic sine.")
arctanh = define("ArcTanh", "arctanh", 1, rules.upgrade_to_float, "arctanh",
                 lambda x, out, g: g / ((number(1, g) - x) * (number(1, g) + x)), complex_rule="holomorphic",
                 domain=UNIT, doc="Elementwise inverse hyperbolic tangent.")

# ---- the error and gamma families, Bessel functions ----------------------------------------------------------------
SLOPE_OF_ERF = 2 / math.sqrt(math.pi)


def emit_log_erfc(steps, dtype, x):
    """log1p(-erf(x)); above 1, where 1 - erf(x) loses digits and from 27 on underflows, log(erfcx(x)) - x**2."""
    if dtype == "float16":                                  # squares overflow at 256
        return steps.cast(emit_log_erfc(steps, "float32", steps.cast(x, "float32")), dtype)
    near = steps.apply("log1p", steps.apply("negative", steps.apply("scipy.special:erf", x)))
    tail = steps.apply("subtract", steps.apply("log", steps.apply("scipy.special:erfcx", x)), steps.apply("square", x))
    return emit_switch(steps, dtype, steps.apply("greater", x, steps.constant(1, dtype)), tail, near)


def emit_trigamma(steps, dtype, x):
    """The Hurwitz zeta function at 2."""
    return steps.apply("scipy.special._ufuncs:_zeta", steps.constant(2, dtype), x)


def emit_chi2sf(steps, dtype, x, k):
    """SciPy's ``chdtrc``, which takes the degrees of freedom first."""
    return steps.apply("scipy.special:chdtrc", k, x)


def emit_own_special(name):
    """Emit a built-in loop for floats from 32 bits."""
    def emit(steps, dtype, *slots):
        wide = "float32" if dtype == "float16" else dtype
        return steps.cast(steps.apply_own(name, wide, *[steps.cast(slot, wide) for slot in slots]), dtype)
    return emit


def emit_polygamma(steps, dtype, n, x):
    """By the Hurwitz zeta function, (-1)^(n + 1) n! zeta(n + 1, x); the derivative of order 0 is psi."""
    one = steps.constant(1, dtype)
    after = steps.apply("add", n, one)
    sign = steps.apply("cos", steps.apply("multiply", steps.constant(math.pi, dtype), after))
    sign = steps.apply("rint", sign)
    factorial = steps.apply("scipy.special:gamma", after)
    zetas = steps.apply("scipy.special._ufuncs:_zeta", after, x)
    high = steps.apply("multiply", steps.apply("multiply", sign, factorial), zetas)
    is_psi = steps.apply("equal", n, steps.constant(0, dtype))
    return emit_switch(steps, dtype, is_psi, steps.apply("scipy.special:psi", x), high)


def emit_sinc(steps, dtype, x):
    """sin(pi x) / (pi x), and 1 at 0."""
    angle = steps.apply("multiply", steps.constant(math.pi, dtype), x)
    quotient = steps.apply("divide", steps.apply("sin", angle), angle)
    at_zero = steps.apply("equal", x, steps.constant(0, dtype))
    return emit_switch(steps, dtype, at_zero, steps.constant(1, dtype), quotient)


SINC_SLOPE = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 9)]


def sinc_gradient(x, out, g):
    """(cos(pi x) - sinc(x)) / x; near 0, where that is a difference of almost equal numbers, the Taylor series."""
    x = continuous(x, g)
    limit = number(0.3, g)
    is_near = lt(abs_(x), limit)
    near, far = clip(x, -limit, limit), switch(is_near, number(1, g), x)
    series = near * number(math.pi ** 2, g) * polynomial(SINC_SLOPE, sqr(near * number(math.pi, g)), g)
    return g * switch(is_near, series, (cos(x * number(math.pi, g)) - out) / far)


ERFCX_SLOPE = [-1.0, 1.5, -3.75, 13.125, -59.0625]


def erfcx_gradient(x, out, g):
    """2 x erfcx(x) - 2 / sqrt(pi); for large x, where these are almost equal, a series in 1 / x**2, unless it is added
    to much more: in a density whose tail it is."""
    x = continuous(x, g)
    if are_plain():
        return g * (x * number(2, g) * out - number(SLOPE_OF_ERF, g))
    limit = limit_for(g, 30.0, 5.0, 5.0)
    near = minimum(x, limit) * number(2, g) * out - number(SLOPE_OF_ERF, g)
    inverse = sqr(inv(maximum(x, limit)))
    far = inverse * number(SLOPE_OF_ERF / 2, g) * polynomial(ERFCX_SLOPE, inverse, g)
    return g * switch(gt(x, limit), far, near)


def inverse_erfcx(x, g):
    """exp(-x**2) / erfc(x) = 1 / erfcx(x), or sqrt(pi) x for large x; no part of it, or of its slope, overflows."""
    x, zero, limit = continuous(x, g), number(0, g), limit_for(g, 1e8, 1e4, 100.0)
    if are_plain():
        return inv(erfcx(x))                    # only the slope would overflow
    low, middle = clip(x, number(-40, g), zero), clip(x, zero, limit)                   # exp(-40**2) is 0
    rest = (maximum(x, zero) - middle) * number(math.sqrt(math.pi), g)
    return switch(lt(x, zero), exp(-sqr(low)) / erfc(low), inv(erfcx(middle)) + rest)


def normal_density(x, g):
    """The density of the standard normal distribution."""
    return exp(-sqr(continuous(x, g)) * number(0.5, g)) * number(1 / math.sqrt(2 * math.pi), g)


def beta_density(a, b, x, g):
    """The slope of the regularized incomplete beta function in x."""
    a, b, x = continuous(a, g), continuous(b, g), continuous(x, g)
    one = number(1, g)
    return exp(xlogy(a - one, x) + xlog1py(b - one, -x) - betaln(a, b))


def psi_gradient(a, b, scale):
    """The gradients of a logarithm of the beta function, times ``scale``."""
    common = psi(a + b)
    return scale * (psi(a) - common), scale * (psi(b) - common)


def beta_slopes(a, b, x, g):
    """The derivatives of the logarithm of `beta_density`: by a, by b, twice by a, twice by b, and by both."""
    a, b, x = continuous(a, g), continuous(b, g), continuous(x, g)
    both, common = tri_gamma(a + b), psi(a + b)
    return log(x) - psi(a) + common, log1p(-x) - psi(b) + common, both - tri_gamma(a), both - tri_gamma(b), both


def betainc_by_a_gradient(a, b, x, out, g):
    """By the second derivatives of betainc, and the slope of its density."""
    by_a, *_ = beta_slopes(a, b, x, g)
    return g * betainc_by_aa(a, b, x), g * betainc_by_ab(a, b, x), g * beta_density(a, b, x, g) * by_a


def betainc_by_b_gradient(a, b, x, out, g):
    """By the second derivatives of betainc, and the slope of its density."""
    _, by_b, *_ = beta_slopes(a, b, x, g)
    return g * betainc_by_ab(a, b, x), g * betainc_by_bb(a, b, x), g * beta_density(a, b, x, g) * by_b


def second_betainc_gradient(first, second):
    """The gradient of a second derivative of betainc, given by the numbers of its variables: only x has a formula."""
    def gradient(a, b, x, out, g):
        slopes = beta_slopes(a, b, x, g)
        mixed = slopes[4] if first != second else slopes[2 + first]
        return None, None, g * beta_density(a, b, x, g) * (slopes[first] * slopes[second] + mixed)
    return gradient


def hyp2f1_gradient(a, b, c, x, out, g):
    """By the derivatives by a, b and c, and by the function with parameters that are one larger."""
    a, b, c, x = [continuous(part, g) for part in (a, b, c, x)]
    one = number(1, g)
    return (g * hyp2f1_by_a(a, b, c, x), g * hyp2f1_by_a(b, a, c, x), g * hyp2f1_by_c(a, b, c, x),
            g * a * b / c * hyp2f1(a + one, b + one, c + one, x))


def hyp2f1_by_a_gradient(a, b, c, x, out, g):
    """By the second derivatives; by x, the derivative by a of a b / c F(a + 1, b + 1; c + 1; x)."""
    a, b, c, x = [continuous(part, g) for part in (a, b, c, x)]
    one = number(1, g)
    next_one = a + one, b + one, c + one, x
    return (g * hyp2f1_by_aa(a, b, c, x), g * hyp2f1_by_ab(a, b, c, x), g * hyp2f1_by_ac(a, b, c, x),
            g * b / c * (hyp2f1(*next_one) + a * hyp2f1_by_a(*next_one)))


def hyp2f1_by_c_gradient(a, b, c, x, out, g):
    """By the second derivatives; by x, the derivative by c of a b / c F(a + 1, b + 1; c + 1; x)."""
    a, b, c, x = [continuous(part, g) for part in (a, b, c, x)]
    one = number(1, g)
    next_one = a + one, b + one, c + one, x
    return (g * hyp2f1_by_ac(a, b, c, x), g * hyp2f1_by_ac(b, a, c, x), g * hyp2f1_by_cc(a, b, c, x),
            g * a * b / c * (hyp2f1_by_c(*next_one) - hyp2f1(*next_one) / c))


def zeta_gradient(x, q, out, g):
    """By the derivative by x, and -x zeta(x + 1, q)."""
    x, q = continuous(x, g), continuous(q, g)
    return g * zeta_by_x(x, q), -g * x * zeta(x + number(1, g), q)


def zeta_by_x_gradient(x, q, out, g):
    """By the second derivative by x, and the derivative by x of -x zeta(x + 1, q)."""
    x, q = continuous(x, g), continuous(q, g)
    after = x + number(1, g)
    return g * zeta_by_x_twice(x, q), -g * (zeta(after, q) + x * zeta_by_x(after, q))


def zeta_by_x_twice_gradient(x, q, out, g):
    """Only q has a formula."""
    x, q = continuous(x, g), continuous(q, g)
    after = x + number(1, g)
    return None, -g * (number(2, g) * zeta_by_x(after, q) + x * zeta_by_x_twice(after, q))


def gammainc_by_k_twice_gradient(k, x, out, g):
    """Only x has a formula."""
    k, x = continuous(k, g), continuous(x, g)
    return None, g * gamma_density(k, x, g) * (sqr(log(x) - psi(k)) - tri_gamma(k))


def owens_t_gradient(h, a, out, g):
    """The integrand at its upper limit, and the derivative by h under the integral."""
    h, a = continuous(h, g), continuous(a, g)
    squares = number(1, g) + sqr(a)
    by_h = -normal_density(h, g) * number(0.5, g) * erf(a * h * number(math.sqrt(0.5), g))
    by_a = exp(-sqr(h) * squares * number(0.5, g)) / (squares * number(2 * math.pi, g))
    return g * by_h, g * by_a


def emit_gammau(steps, dtype, k, x):
    """gammaincc(k, x) * gamma(k)."""
    return steps.apply("multiply", steps.apply("scipy.special:gammaincc", k, x), steps.apply("scipy.special:gamma", k))


def emit_gammal(steps, dtype, k, x):
    """gammainc(k, x) * gamma(k)."""
    return steps.apply("multiply", steps.apply("scipy.special:gammainc", k, x), steps.apply("scipy.special:gamma", k))


def gamma_integrand(k, x, g):
    """x^(k-1) e^-x, the integrand of the incomplete gamma functions."""
    k, x = continuous(k, g), continuous(x, g)
    return exp(xlogy(k - number(1, x), x) - x)


def gamma_density(k, x, g):
    """The slope of the regularized lower incomplete gamma function in x."""
    k, x = continuous(k, g), continuous(x, g)
    return exp(xlogy(k - number(1, x), x) - x - gammaln(k))


def gammaincinv_gradient(k, p, out, g):
    """Of the x at which gammainc(k, x) is p."""
    slope = gamma_density(k, out, g)
    return -g * gammainc_by_k(k, out) / slope, g / slope


def gammainccinv_gradient(k, p, out, g):
    """Of the x at which gammaincc(k, x) is p."""
    slope = gamma_density(k, out, g)
    return -g * gammainc_by_k(k, out) / slope, -g / slope


def betaincinv_gradient(a, b, p, out, g):
    """Of the x at which betainc(a, b, x) is p."""
    by_p = g / beta_density(a, b, out, number(1, g))
    return -by_p * betainc_by_a(a, b, out), -by_p * betainc_by_b(a, b, out), by_p


def chi2sf_gradient(x, k, out, g):
    """By the incomplete gamma function whose survival function this is."""
    half = number(0.5, g)
    k, x = continuous(k, g) * half, continuous(x, g) * half
    return -g * half * gamma_density(k, x, g), -g * half * gammainc_by_k(k, x)


def gammau_gradient(k, x, out, g):
    """By the integrand, and by k through gammaincc and gamma."""
    k, x = continuous(k, g), continuous(x, g)
    return g * (out * psi(k) - gamma(k) * gammainc_by_k(k, x)), -g * gamma_integrand(k, x, g)


def gammal_gradient(k, x, out, g):
    """By the integrand, and by k through gammainc and gamma."""
    k, x = continuous(k, g), continuous(x, g)
    return g * (out * psi(k) + gamma(k) * gammainc_by_k(k, x)), g * gamma_integrand(k, x, g)


erf = define("Erf", "erf", 1, rules.upgrade_to_float, "scipy.special:erf",
             lambda x, out, g: g * number(SLOPE_OF_ERF, g) * exp(-sqr(continuous(x, g))), complex_rule="holomorphic",
             doc="Elementwise error function.")
erfc = define("Erfc", "erfc", 1, rules.upgrade_to_float_no_complex, "scipy.special:erfc",
              lambda x, out, g: g * number(-SLOPE_OF_ERF, g) * exp(-sqr(continuous(x, g))),
              doc="Elementwise 1 - erf(x).")
erfcx = define("Erfcx", "erfcx", 1, rules.upgrade_to_float_no_complex, "scipy.special:erfcx",
               erfcx_gradient, doc="Elementwise exp(x**2) * erfc(x).")
log_erfc = define("LogErfc", "log_erfc", 1, rules.upgrade_to_float_no_complex, emit_log_erfc,
                  lambda x, out, g: g * number(-SLOPE_OF_ERF, g) * inverse_erfcx(x, g), public=None,
                  doc="Elementwise log(erfc(x)) without underflow.")
erfinv = define("Erfinv", "erfinv", 1, rules.upgrade_to_float_no_complex, "scipy.special:erfinv",
                lambda x, out, g: g * number(1 / SLOPE_OF_ERF, g) * exp(sqr(out)), domain=UNIT,
                doc="Elementwise inverse of erf.")
erfcinv = define("Erfcinv", "erfcinv", 1, rules.upgrade_to_float_no_complex, "scipy.special:erfcinv",
                 lambda x, out, g: g * number(-1 / SLOPE_OF_ERF, g) * exp(sqr(out)), domain=(0.1, 1.9),
                 doc="Elementwise inverse of erfc.")
gamma = define("Gamma", "gamma", 1, rules.upgrade_to_float, "scipy.special:gamma", lambda x, out, g: g * out * psi(x),
               complex_rule="holomorphic", domain=POSITIVE, doc="Elementwise gamma function.")
gammaln = define("GammaLn", "gammaln", 1, rules.upgrade_to_float_no_complex, "scipy.special:gammaln",
                 lambda x, out, g: g * psi(x), domain=POSITIVE,
                 doc="Elementwise logarithm of the gamma function's modulus.")
psi = define("Psi", "psi", 1, rules.upgrade_to_float, "scipy.special:psi", lambda x, out, g: g * tri_gamma(x),
             domain=POSITIVE, doc="Elementwise derivative of the logarithm of gamma.")
tri_gamma = define("TriGamma", "tri_gamma", 1, rules.upgrade_to_float_no_complex, emit_trigamma,
                   lambda x, out, g: g * polygamma(number(2, g), x), domain=POSITIVE,
                   doc="Elementwise second derivative of the logarithm of gamma.")
polygamma = define("Polygamma", "polygamma", 2, rules.upgrade_to_float_no_complex, emit_polygamma,
                   lambda n, x, out, g: (None, g * polygamma(continuous(n, g) + number(1, g), continuous(x, g))),
                   domain=((2, 2), POSITIVE),
                   doc="Elementwise derivative of psi of order n, a whole number: polygamma(n, x).")
zeta = define("Zeta", "zeta", 2, rules.upgrade_to_float_no_complex, "scipy.special._ufuncs:_zeta",
              zeta_gradient, domain=((1.6, 3.1), POSITIVE),
              doc="Elementwise Hurwitz zeta function: zeta(x, q), the sum of (k + q)^-x.")
zeta_by_x = define("ZetaByX", "zeta_by_x", 2, rules.upgrade_to_float_no_complex, emit_own_special("zeta_by_x"),
                   zeta_by_x_gradient, domain=((1.6, 3.1), POSITIVE), public=None,
                   doc="Elementwise derivative of zeta(x, q) by x.")
zeta_by_x_twice = define("ZetaByXTwice", "zeta_by_x_twice", 2, rules.upgrade_to_float_no_complex,
                         emit_own_special("zeta_by_x_twice"), zeta_by_x_twice_gradient,
                         domain=((1.6, 3.1), POSITIVE), public=None,
                         doc="Elementwise second derivative of zeta(x, q) by x.")
beta = define("Beta", "beta", 2, rules.upgrade_to_float_no_complex, "scipy.special:beta",
              lambda a, b, out, g: psi_gradient(a, b, g * out), domain=POSITIVE, commutative=True,
              doc="Elementwise beta function.")
betaln = define("BetaLn", "betaln", 2, rules.upgrade_to_float_no_complex, "scipy.special:betaln",
                lambda a, b, out, g: psi_gradient(a, b, g), domain=POSITIVE, commutative=True,
                doc="Elementwise logarithm of the beta function's modulus.")
betainc = define("BetaInc", "betainc", 3, rules.upgrade_to_float_no_complex, "scipy.special:betainc",
                 lambda a, b, x, out, g: (g * betainc_by_a(a, b, x), g * betainc_by_b(a, b, x),
                                          g * beta_density(a, b, x, g)),
                 domain=(POSITIVE, POSITIVE, (0.1, 0.9)),
                 doc="Elementwise regularized incomplete beta function: betainc(a, b, x).")
betainc_by_a = define("BetaIncByA", "betainc_by_a", 3, rules.upgrade_to_float_no_complex,
                      emit_own_special("betainc_by_a"), betainc_by_a_gradient,
                      domain=(POSITIVE, POSITIVE, (0.1, 0.9)), public=None,
                      doc="Elementwise derivative of betainc(a, b, x) by a.")
betainc_by_b = define("BetaIncByB", "betainc_by_b", 3, rules.upgrade_to_float_no_complex,
                      emit_own_special("betainc_by_b"), betainc_by_b_gradient,
                      domain=(POSITIVE, POSITIVE, (0.1, 0.9)), public=None,
                      doc="Elementwise derivative of betainc(a, b, x) by b.")
betainc_by_aa = define("BetaIncByAA", "betainc_by_aa", 3, rules.upgrade_to_float_no_complex,
                       emit_own_special("betainc_by_aa"), second_betainc_gradient(0, 0),
                       domain=(POSITIVE, POSITIVE, (0.1, 0.9)), public=None,
                       doc="Elementwise second derivative of betainc(a, b, x) by a.")
betainc_by_ab = define("BetaIncByAB", "betainc_by_ab", 3, rules.upgrade_to_float_no_complex,
                       emit_own_special("betainc_by_ab"), second_betainc_gradient(0, 1),
                       domain=(POSITIVE, POSITIVE, (0.1, 0.9)), public=None,
                       doc="Elementwise second derivative of betainc(a, b, x) by a and b.")
betainc_by_bb = define("BetaIncByBB", "betainc_by_bb", 3, rules.upgrade_to_float_no_complex,
                       emit_own_special("betainc_by_bb"), second_betainc_gradient(1, 1),
                       domain=(POSITIVE, POSITIVE, (0.1, 0.9)), public=None,
                       doc="Elementwise second derivative of betainc(a, b, x) by b.")
betaincinv = define("BetaIncInv", "betaincinv", 3, rules.upgrade_to_float_no_complex, "scipy.special:betaincinv",
                    betaincinv_gradient, domain=(POSITIVE, POSITIVE, (0.1, 0.9)),
                    doc="Elementwise inverse of betainc: the x at which betainc(a, b, x) is p.")
chi2sf = define("Chi2SF", "chi2sf", 2, rules.float64_out, emit_chi2sf, chi2sf_gradient,
                domain=POSITIVE,
                doc="Elementwise survival function of the chi-squared distribution: chi2sf(x, degrees of freedom).")
gammainc = define("GammaInc", "gammainc", 2, rules.upgrade_to_float_no_complex, "scipy.special:gammainc",
                  lambda k, x, out, g: (g * gammainc_by_k(k, x), g * gamma_density(k, x, g)),
                  domain=POSITIVE, doc="Elementwise regularized lower incomplete gamma function P(k, x).")
gammaincc = define("GammaIncC", "gammaincc", 2, rules.upgrade_to_float_no_complex, "scipy.special:gammaincc",
                   lambda k, x, out, g: (-g * gammainc_by_k(k, x), -g * gamma_density(k, x, g)),
                   domain=POSITIVE, doc="Elementwise regularized upper incomplete gamma function Q(k, x).")
gammaincinv = define("GammaIncInv", "gammaincinv", 2, rules.upgrade_to_float_no_complex, "scipy.special:gammaincinv",
                     gammaincinv_gradient, domain=(POSITIVE, (0.1, 0.9)),
                     doc="Elementwise inverse of gammainc: the x at which gammainc(k, x) is p.")
gammainccinv = define("GammaIncCInv", "gammainccinv", 2, rules.upgrade_to_float_no_complex,
                      "scipy.special:gammainccinv", gammainccinv_gradient, domain=(POSITIVE, (0.1, 0.9)),
                      doc="Elementwise inverse of gammaincc: the x at which gammaincc(k, x) is p.")
gammau = define("GammaU", "gammau", 2, rules.upgrade_to_float_no_complex, emit_gammau,
                gammau_gradient, domain=POSITIVE, doc="Elementwise upper incomplete gamma function.")
gammal = define("GammaL", "gammal", 2, rules.upgrade_to_float_no_complex, emit_gammal,
                gammal_gradient, domain=POSITIVE, doc="Elementwise lower incomplete gamma function.")
gammainc_by_k = define("GammaIncByK", "gammainc_by_k", 2, rules.upgrade_to_float_no_complex,
                       emit_own_special("gammainc_by_k"),
                       lambda k, x, out, g: (g * gammainc_by_k_twice(k, x), g * gamma_density(k, x, g) * (
                           log(continuous(x, g)) - psi(continuous(k, g)))),
                       domain=POSITIVE, public=None, doc="Elementwise derivative of gammainc(k, x) by k.")
gammainc_by_k_twice = define("GammaIncByKTwice", "gammainc_by_k_twice", 2, rules.upgrade_to_float_no_complex,
                             emit_own_special("gammainc_by_k_twice"), gammainc_by_k_twice_gradient,
                             domain=POSITIVE, public=None,
                             doc="Elementwise second derivative of gammainc(k, x) by k.")
jv = define("Jv", "jv", 2, rules.upgrade_to_float_no_complex, "scipy.special:jv",
            lambda v, x, out, g: (None, g * (jv(v - 1, x) - jv(v + 1, x)) * number(0.5, g)),
            domain=POSITIVE, doc="Elementwise Bessel function of the first kind and order v: jv(v, x).")
j1 = define("J1", "j1", 1, rules.upgrade_to_float_no_complex, "scipy.special:j1",
            lambda x, out, g: g * (j0(x) - jv(number(2, g), x)) * number(0.5, g),
            doc="Elementwise Bessel function of the first kind and order 1.")
j0 = define("J0", "j0", 1, rules.upgrade_to_float_no_complex, "scipy.special:j0", lambda x, out, g: -g * j1(x),
            doc="Elementwise Bessel function of the first kind and order 0.")
iv = define("Iv", "iv", 2, rules.upgrade_to_float_no_complex, "scipy.special:iv",
            lambda v, x, out, g: (None, g * (iv(v - 1, x) + iv(v + 1, x)) * number(0.5, g)),
            domain=POSITIVE, doc="Elementwise modified Bessel function of the first kind and order v: iv(v, x).")
i1 = define("I1", "i1", 1, rules.upgrade_to_float_no_complex, "scipy.special:i1",
            lambda x, out, g: g * (i0(x) + iv(number(2, g), not_subnormal(x, g))) * number(0.5, g),
            doc="Elementwise modified Bessel function of the first kind and order 1.")
i0 = define("I0", "i0", 1, rules.upgrade_to_float_no_complex, "scipy.special:i0", lambda x, out, g: g * i1(x),
            doc="Elementwise modified Bessel function of the first kind and order 0.")


def not_subnormal(x, g):
    """x, and 0 instead of numbers so small that SciPy's iv and ive of them are NaN."""
    x = continuous(x, g)
    return switch(lt(abs_(x), limit_for(g, 1e-290, 1e-35, 0.0)), number(0, g), x)


def scaled_bessel_gradient(order, slope, x, out, g):
    """The slope of the Bessel function minus the function, both scaled; for large x, where these are almost equal, the
    derivative of the asymptotic series of the scaled function."""
    x = continuous(x, g)
    limit = limit_for(g, 1000.0, 30.0, 30.0)
    inverse = inv(maximum(abs_(x), limit))
    series = polynomial(SCALED_BESSEL_SLOPE[order], inverse, g) * inverse * sqrt(inverse)
    sign = sgn(x)
    near = slope(clip(x, -limit, limit)) - sign * out
    return g * switch(gt(abs_(x), limit), series * sign if order == 0 else series, near)


def _scaled_bessel_slope(order):
    """The coefficients of the series, from the power -3/2 on, for x > 0."""
    coefficients, last = [], 1 / math.sqrt(2 * math.pi)
    for k in range(7):
        coefficients.append(-(k + 0.5) * last)
        last *= ((2 * k + 1) ** 2 - 4 * order ** 2) / (8 * (k + 1))
    return coefficients


SCALED_BESSEL_SLOPE = [_scaled_bessel_slope(order) for order in (0, 1)]
ive = define("Ive", "ive", 2, rules.upgrade_to_float_no_complex, "scipy.special:ive",
             lambda v, x, out, g: (None, g * ((ive(v - 1, x) + ive(v + 1, x)) * number(0.5, g)
                                              - sgn(continuous(x, g)) * out)),
             domain=POSITIVE, doc="Elementwise exponentially scaled modified Bessel function: iv(v, x) exp(-abs(x)).")
i0e = define("I0e", "i0e", 1, rules.upgrade_to_float_no_complex, "scipy.special:i0e",
             lambda x, out, g: scaled_bessel_gradient(0, i1e, x, out, g), doc="Elementwise i0(x) exp(-abs(x)).")
i1e = define("I1e", "i1e", 1, rules.upgrade_to_float_no_complex, "scipy.special:i1e",
             lambda x, out, g: scaled_bessel_gradient(
                 1, lambda x: (i0e(x) + ive(number(2, g), not_subnormal(x, g))) * number(0.5, g), x, out, g),
             doc="Elementwise i1(x) exp(-abs(x)).")
kv = define("Kv", "kv", 2, rules.upgrade_to_float_no_complex, "scipy.special:kv",
            lambda v, x, out, g: (None, -g * (kv(v - 1, x) + kv(v + 1, x)) * number(0.5, g)), domain=POSITIVE,
            doc="Elementwise modified Bessel function of the second kind and real order v: kv(v, x).")
kve = define("Kve", "kve", 2, rules.upgrade_to_float_no_complex, "scipy.special:kve",
             lambda v, x, out, g: (None, g * (out - (kve(v - 1, x) + kve(v + 1, x)) * number(0.5, g))),
             domain=POSITIVE, doc="Elementwise kv(v, x) exp(x).")
k0 = define("K0", "k0", 1, rules.upgrade_to_float_no_complex, "scipy.special:k0", lambda x, out, g: -g * k1(x),
            domain=POSITIVE, doc="Elementwise modified Bessel function of the second kind and order 0.")
k1 = define("K1", "k1", 1, rules.upgrade_to_float_no_complex, "scipy.special:k1",
            lambda x, out, g: -g * (k0(x) + out / continuous(x, g)), domain=POSITIVE,
            doc="Elementwise modified Bessel function of the second kind and order 1.")
ndtr = define("Ndtr", "ndtr", 1, rules.upgrade_to_float_no_complex, "scipy.special:ndtr",
              lambda x, out, g: g * normal_density(x, g),
              doc="Elementwise distribution function of the standard normal distribution.")
log_ndtr = define("LogNdtr", "log_ndtr", 1, rules.upgrade_to_float_no_complex, "scipy.special:log_ndtr",
                  lambda x, out, g: g * number(math.sqrt(2 / math.pi), g) * inverse_erfcx(
                      -continuous(x, g) * number(math.sqrt(0.5), g), g),
                  doc="Elementwise logarithm of ndtr, also where that underflows.")
ndtri = define("Ndtri", "ndtri", 1, rules.upgrade_to_float_no_complex, "scipy.special:ndtri",
               lambda x, out, g: g * number(math.sqrt(2 * math.pi), g) * exp(sqr(out) * number(0.5, g)),
               domain=(0.1, 0.9), doc="Elementwise inverse of ndtr.")
logit = define("Logit", "logit", 1, rules.upgrade_to_float_no_complex, "scipy.special:logit",
               lambda x, out, g: g / (continuous(x, g) * (number(1, g) - x)), domain=(0.1, 0.9),
               doc="Elementwise log(x / (1 - x)), the inverse of the sigmoid.")
xlogy = define("XlogY", "xlogy", 2, rules.upgrade_to_float_no_complex, "scipy.special:xlogy",
               lambda x, y, out, g: (g * log(continuous(y, g)), g * continuous(x, g) / y), domain=POSITIVE,
               doc="Elementwise x log(y), and 0 where x is 0 unless y is NaN.")
xlog1py = define("Xlog1pY", "xlog1py", 2, rules.upgrade_to_float_no_complex, "scipy.special:xlog1py",
                 lambda x, y, out, g: (g * log1p(continuous(y, g)), g * x / (continuous(y, g) + number(1, g))),
                 domain=POSITIVE, doc="Elementwise x log(1 + y), and 0 where x is 0 unless y is NaN.")
entr = define("Entr", "entr", 1, rules.upgrade_to_float_no_complex, "scipy.special:entr",
              lambda x, out, g: -g * (log(continuous(x, g)) + number(1, g)), domain=POSITIVE,
              doc="Elementwise entropy -x log(x); 0 at 0, and minus infinity below.")
sinc = define("Sinc", "sinc", 1, rules.upgrade_to_float_no_complex, emit_sinc, sinc_gradient, domain=POSITIVE,
              doc="Elementwise sin(pi x) / (pi x), and 1 at 0.")
owens_t = define("OwensT", "owens_t", 2, rules.upgrade_to_float_no_complex, "scipy.special:owens_t",
                 owens_t_gradient, domain=POSITIVE, doc="Elementwise Owen's T function: owens_t(h, a).")
HYP2F1_DOMAIN = (POSITIVE, POSITIVE, ABOVE_ONE, (0.1, 0.9))
hyp2f1 = define("Hyp2F1", "hyp2f1", 4, rules.upgrade_to_float_no_complex, "scipy.special:hyp2f1", hyp2f1_gradient,
                domain=HYP2F1_DOMAIN,
                doc="Elementwise Gauss hypergeometric function: hyp2f1(a, b, c, x).")
hyp2f1_by_a = define("Hyp2F1ByA", "hyp2f1_by_a", 4, rules.upgrade_to_float_no_complex,
                     emit_own_special("hyp2f1_by_a"), hyp2f1_by_a_gradient, domain=HYP2F1_DOMAIN, public=None,
                     doc="Elementwise derivative of hyp2f1(a, b, c, x) by a.")
hyp2f1_by_c = define("Hyp2F1ByC", "hyp2f1_by_c", 4, rules.upgrade_to_float_no_complex,
                     emit_own_special("hyp2f1_by_c"), hyp2f1_by_c_gradient, domain=HYP2F1_DOMAIN, public=None,
                     doc="Elementwise derivative of hyp2f1(a, b, c, x) by c.")
hyp2f1_by_aa = define("Hyp2F1ByAA", "hyp2f1_by_aa", 4, rules.upgrade_to_float_no_complex,
                      emit_own_special("hyp2f1_by_aa"), domain=HYP2F1_DOMAIN, public=None,
                      doc="Elementwise second derivative of hyp2f1(a, b, c, x) by a.")
hyp2f1_by_ab = define("Hyp2F1ByAB", "hyp2f1_by_ab", 4, rules.upgrade_to_float_no_complex,
                      emit_own_special("hyp2f1_by_ab"), domain=HYP2F1_DOMAIN, public=None,
                      doc="Elementwise second derivative of hyp2f1(a, b, c, x) by a and b.")
hyp2f1_by_ac = define("Hyp2F1ByAC", "hyp2f1_by_ac", 4, rules.upgrade_to_float_no_complex,
                      emit_own_special("hyp2f1_by_ac"), domain=HYP2F1_DOMAIN, public=None,
                      doc="Elementwise second derivative of hyp2f1(a, b, c, x) by a and c.")
hyp2f1_by_cc = define("Hyp2F1ByCC", "hyp2f1_by_cc", 4, rules.upgrade_to_float_no_complex,
                      emit_own_special("hyp2f1_by_cc"), domain=HYP2F1_DOMAIN, public=None,
                      doc="Elementwise second derivative of hyp2f1(a, b, c, x) by c.")


# ---- comparison, logic, bits ---------------------------------------------------------------------------------------
class LogicalComparison(BinaryScalarOp):
    """A comparison of two operands.

    Examples
    --------
    >>> isinstance(phintys.scalar.lt, phintys.scalar.LogicalComparison)
    True
    """


class FixedLogicalComparison(UnaryScalarOp):
    """A test of one operand, such as ``isnan``.

    Examples
    --------
    >>> isinstance(phintys.scalar.isnan, phintys.scalar.FixedLogicalComparison)
    True
    """


class UnaryBitOp(UnaryScalarOp):
    """An operation on the bits of one operand.

    Examples
    --------
    >>> isinstance(phintys.scalar.invert, phintys.scalar.UnaryBitOp)
    True
    """


class BinaryBitOp(BinaryScalarOp):
    """An operation on the bits of two operands.

    Examples
    --------
    >>> isinstance(phintys.scalar.and_, phintys.scalar.BinaryBitOp)
    True
    """


def compare(class_name, name, loop, symbol, **options):
    """Make the row of a comparison, whose gradient is 0."""
    return define(class_name, name, 2, rules.bool_out, loop, zeros_by, base=LogicalComparison,
                  operands="as they are", symbol=symbol, doc=f"Elementwise a {symbol} b, as bool.", **options)


def bits(class_name, name, loop, symbol, identity, example):
    """Make the row of an operation on the bits of two integers or bools."""
    return define(class_name, name, 2, rules.bits_out, loop, zeros_by, base=BinaryBitOp, commutative=True,
                  associative=True, identity=identity, symbol=symbol,
                  doc=f"Elementwise a {symbol} b; integers or bools only.", example=example)


lt = compare("LT", "lt", "less", "<", example=([1, 2, 3], 2))
gt = compare("GT", "gt", "greater", ">", example=([1, 2, 3], 2))
le = compare("LE", "le", "less_equal", "<=", example=([1, 2, 3], 2))
ge = compare("GE", "ge", "greater_equal", ">=", example=([1, 2, 3], 2))
eq = compare("EQ", "eq", "equal", "==", commutative=True, example=([1, 2], [1, 3]))
neq = compare("NEQ", "neq", "not_equal", "!=", commutative=True, example=([1, 2], [1, 3]))
isnan = define("IsNan", "isnan", 1, rules.bool_out, "isnan", zeros_by, base=FixedLogicalComparison,
               operands="as they are", doc="Elementwise: is it not a number?", example=([1.0, math.nan, math.inf],))
isinf = define("IsInf", "isinf", 1, rules.bool_out, "isinf", zeros_by, base=FixedLogicalComparison,
               operands="as they are", doc="Elementwise: is it plus or minus infinity?",
               example=([1.0, math.nan, math.inf],))
isfinite = define("IsFinite", "isfinite", 1, rules.bool_out, "isfinite", zeros_by, base=FixedLogicalComparison,
                  operands="as they are", doc="Elementwise: is it neither infinite nor NaN?",
                  example=([1.0, math.nan, math.inf],))
or_ = bits("OR", "or_", "bitwise_or", "|", 0, example=([6, 3], [5, 8]))
xor = bits("XOR", "xor", "bitwise_xor", "^", 0, example=([6, 3], [5, 8]))
and_ = bits("AND", "and_", "bitwise_and", "&", -1, example=([6, 3], [5, 8]))
invert = define("Invert", "invert", 1, rules.bits_out, "invert", zeros_by, base=UnaryBitOp, symbol="~",
                doc="Elementwise ~x; integers or bools only.", example=([True, False],))


# ---- NumPy's functions on signs, digits and bits of numbers ---------------------------------------------------------
def sign_bit_as_number(x, g):
    """1 or -1 as the sign bit says, in the dtype of the gradient."""
    return copysign(number(1, g), continuous(x, g))


def emit_ldexp(steps, dtype, x, exponent):
    """The exponent as the C int that all loops have: beyond these limits every number is infinite or 0 already."""
    wide = steps.cast(exponent, "float64")
    near = steps.apply_own("clip", "float64", wide, *[steps.constant(limit, "float64") for limit in (-5000, 5000)])
    return steps.apply("ldexp", steps.cast(x, dtype), steps.cast(near, "int32"))


def emit_signbit(steps, dtype, x):
    """NumPy has loops of floats; an integer's sign bit says whether it is negative."""
    return steps.apply("signbit", steps.cast(x, "float64") if steps.dtypes[x] in discrete_dtypes else x)


cbrt = define("Cbrt", "cbrt", 1, rules.upgrade_to_float_no_complex, "cbrt",
              lambda x, out, g: g / (number(3, g) * sqr(out)), domain=POSITIVE, doc="Elementwise cube root.",
              example=([8.0, -27.0],))
fmod = define("FMod", "fmod", 2, rules.min8_out_no_complex, "fmod",
              lambda x, y, out, g: (g, -g * trunc(continuous(x, g) / continuous(y, g))), domain=(ANY, POSITIVE),
              doc="Elementwise remainder with the sign of the dividend, as in C.", example=([7.0, -7.0], 3.0))
copysign = define("CopySign", "copysign", 2, rules.upgrade_to_float_no_complex, "copysign",
                  lambda x, y, out, g: (g * sign_bit_as_number(x, g) * sign_bit_as_number(y, g), zero_by(y)),
                  domain=POSITIVE,
                  doc="Elementwise magnitude of the first operand with the sign bit of the second.",
                  example=([1.5, 2.0], [-0.0, 3.0]))
signbit = define("SignBit", "signbit", 1, rules.in_range_out, emit_signbit, zeros_by, base=FixedLogicalComparison,
                 operands="as they are", doc="Elementwise: is the sign bit set? Also of -0.0, unlike x < 0.",
                 example=([-0.0, 0.0, -2.0],))
nextafter = define("NextAfter", "nextafter", 2, rules.upgrade_to_float_no_complex, "nextafter",
                   lambda x, y, out, g: (g, zero_by(y)),
                   doc="Elementwise next representable number after the first operand, towards the second.",
                   example=([1.0, 0.0], 2.0))
spacing = define("Spacing", "spacing", 1, rules.upgrade_to_float_no_complex, "spacing", zeros_by,
                 doc="Elementwise distance to the next representable number away from 0.", example=([1.0, 2.0 ** 52],))
heaviside = define("Heaviside", "heaviside", 2, rules.upgrade_to_float_no_complex, "heaviside",
                   lambda x, y, out, g: (zero_by(x), switch(eq(x, number(0, x)), g, number(0, g))),
                   doc="Elementwise 0 for negative x and 1 for positive ones; the second operand where x is 0.",
                   example=([-1.5, 0.0, 2.0], 0.5))
ldexp = define("LdExp", "ldexp", 2, rules.scaled_out, emit_ldexp, lambda x, y, out, g: (ldexp(g, y), zero_by(y)),
               operands="as they are", public=None, doc="Elementwise x * 2 ** y for whole numbers y, rounded once.")
logaddexp2 = define("LogAddExp2", "logaddexp2", 2, rules.upgrade_to_float_no_complex, "logaddexp2",
                    lambda x, y, out, g: (g * exp2(x - out), g * exp2(y - out)), commutative=True, associative=True,
                    doc="Elementwise log2(2 ** a + 2 ** b) without overflow.", example=([0.0, 1030.0], [0.0, 1030.0]))
left_shift = define("LeftShift", "left_shift", 2, rules.integers_out, "left_shift", zeros_by,
                    domain=(ANY, POSITIVE), doc="Elementwise x * 2 ** y of integers, modulo their range.",
                    example=([1, 3], [4, 1]))
right_shift = define("RightShift", "right_shift", 2, rules.integers_out, "right_shift", zeros_by,
                     domain=(ANY, POSITIVE), doc="Elementwise x // 2 ** y of integers.", example=([16, -5], [4, 1]))
gcd = define("GreatestCommonDivisor", "gcd", 2, rules.integers_out_no_bool, "gcd", zeros_by, commutative=True,
             associative=True, doc="Elementwise greatest common divisor of integers.", example=([12, 7], [18, 14]))
lcm = define("LeastCommonMultiple", "lcm", 2, rules.integers_out_no_bool, "lcm", zeros_by, commutative=True,
             doc="Elementwise least common multiple of integers.", example=([4, 6], [6, 9]))
bitwise_count = define("BitwiseCount", "bitwise_count", 1, rules.count_out, "bitwise_count", zeros_by,
                       operands="as they are", doc="Elementwise number of bits that are 1 in an integer's magnitude.",
                       example=([7, -8],))


# ---- choice --------------------------------------------------------------------------------------------------------
def emit_switch(steps, dtype, condition, if_true, if_false):
    """The loop that selects, of operands of one dtype."""
    if steps.dtypes[condition] != "bool":
        condition = steps.apply("not_equal", condition, steps.constant(0, steps.dtypes[condition]))
    return steps.apply_own("switch", dtype, condition, steps.cast(if_true, dtype), steps.cast(if_false, dtype))


def emit_clip(steps, dtype, x, lowest, highest):
    """Values below ``lowest`` become ``lowest``, even if ``highest`` is lower; NaN stays NaN."""
    if dtype in ("bool", "float16"):
        below = steps.apply("less", x, lowest)
        return emit_switch(steps, dtype, below, lowest, steps.apply("minimum", x, highest))
    return steps.apply_own("clip", dtype, x, lowest, highest)


def choices_by(compare):
    """The choices of an extremum: the whole gradient goes to ``a`` where ``compare(a, b)``, else to ``b``.

    It looks at the operands alone. A loop keeps its results and computes operands again for its gradient, perhaps in
    another order of additions; then no operand is equal to the result.
    """
    def extremum_choices(a, b, out, g):
        first = compare(a, b)
        return (first, True), (first, False)

    return extremum_choices


def largest_number(a, b):
    """Whether `fmax` is its first operand."""
    return or_(ge(a, b), isnan(b))


def smallest_number(a, b):
    """Whether `fmin` is its first operand."""
    return or_(le(a, b), isnan(b))


def clip_choices(x, lowest, highest, out, g):
    """For each operand, the condition under which it is the result."""
    return (and_(ge(x, lowest), le(x, highest)), True), (lt(x, lowest), True), (gt(x, highest), True)


def switch_choices(condition, if_true, if_false, out, g):
    """For each operand, the condition under which it is the result; None for the condition itself."""
    return None, (condition, True), (condition, False)


def choosing(choices):
    """The options of a row with ``choices``, from which its gradient follows: that of the output where chosen, else 0.
    """
    @wraps(choices)                                     # whose parameters name the operands in ``help``
    def gradient(*arguments):
        *inputs, _, g = arguments
        zero = number(0, g)
        return [zero_by(x) if choice is None else switch(choice[0], *((g, zero) if choice[1] else (zero, g)))
                for x, choice in zip(inputs, choices(*arguments))]

    return {"choices": choices, "gradient": gradient}


switch = define("Switch", "switch", 3, rules.switch_out, emit_switch, **choosing(switch_choices), lasts=True,
                operands="as they are", complex_rule="real_slope",
                doc="Elementwise choice: switch(condition, value if true, value if false).",
                example=([True, False], [1.5, 2.5], 0.0))
maximum = define("Maximum", "maximum", 2, rules.upcast_out, "maximum", **choosing(choices_by(ge)), commutative=True,
                 associative=True, doc="Elementwise larger of two; NaN if one is NaN.",
                 example=([1.0, 4.0], [3.0, 2.0]))
minimum = define("Minimum", "minimum", 2, rules.upcast_out, "minimum", **choosing(choices_by(le)), commutative=True,
                 associative=True, doc="Elementwise smaller of two; NaN if one is NaN.",
                 example=([1.0, 4.0], [3.0, 2.0]))
fmax = define("FMax", "fmax", 2, rules.upcast_out, "fmax", **choosing(choices_by(largest_number)), commutative=True,
              associative=True, doc="Elementwise larger of two; the other one if one is NaN.",
              example=([1.0, math.nan], [3.0, 2.0]))
fmin = define("FMin", "fmin", 2, rules.upcast_out, "fmin", **choosing(choices_by(smallest_number)), commutative=True,
              associative=True, doc="Elementwise smaller of two; the other one if one is NaN.",
              example=([1.0, math.nan], [3.0, 2.0]))


class InRange(LoopedScalarOp):
    """Whether a number lies between two others: ``InRange(openlow, openhi)`` returns the row for open or closed
    ends.

    Examples
    --------
    >>> phintys.scalar.InRange(True, False).impl(1.0, 1.0, 2.0)
    np.False_
    """

    def __new__(cls, openlow, openhi):
        return SCALAR_OPS.get(cls.name_of(openlow, openhi)) or super().__new__(cls)

    def __init__(self, openlow, openhi):
        if "name" in self.__dict__:                     # the row already exists
            return
        self.openlow, self.openhi = openlow, openhi = bool(openlow), bool(openhi)
        above, below = gt if openlow else ge, lt if openhi else le

        def emit(steps, dtype, x, low, high):
            return and_.emit(steps, ("bool",), [*above.emit(steps, ("bool",), [x, low]),
                                                *below.emit(steps, ("bool",), [x, high])])[0]

        signs = f"low {'<' if openlow else '<='} x {'<' if openhi else '<='} high"
        super().__init__(self.name_of(openlow, openhi), 3, rules.in_range_out, emit, zeros_by,
                         operands="as they are", domain=(ANY, UNIT, ABOVE_ONE),
                         doc=f"Elementwise {signs}, as bool; real operands.")

    @staticmethod
    def name_of(openlow, openhi):
        """The name of a row."""
        if bool(openlow) == bool(openhi):
            return "inopenrange" if openlow else "inclosedrange"
        return "inrange_open_low" if openlow else "inrange_open_high"


inopenrange, inclosedrange, inrange_open_low, inrange_open_high = [
    SCALAR_OPS.setdefault(InRange.name_of(*ends), InRange(*ends))
    for ends in ((True, True), (False, False), (True, False), (False, True))]
clip = define("Clip", "clip", 3, rules.upcast_out_no_complex, emit_clip, **choosing(clip_choices),
              domain=(ANY, UNIT, ABOVE_ONE),
              doc="Elementwise x limited to [low, high]: clip(x, low, high). At the limits the gradient goes to x.",
              example=([-1.5, 0.5, 4.0], 0.0, 1.0))


# ---- copying, casting ----------------------------------------------------------------------------------------------
def emit_copy(steps, dtype, x):
    """The element itself, in another array."""
    return x


def emit_second(steps, dtype, first, value):
    """The second operand, in the shape of both."""
    return value


second = define("Second", "second", 2, rules.second_out, emit_second,
                lambda a, b, out, g: (None, g), operands="as they are", complex_rule="real_slope",
                connected=(False, True), doc="The second operand, broadcast to the common shape: fill(shape of a, b).",
                example=([1, 2, 3], 0.5))
identity = define("Identity", "identity", 1, rules.same_out, emit_copy, lambda x, out, g: g, complex_rule="real_slope",
                  doc="A copy.")


class Cast(LoopedScalarOp, UnaryScalarOp):
    """Conversion to one dtype, ``o_type``, a name or a type of numbers; from complex to real it keeps the real part.

    Examples
    --------
    >>> phintys.scalar.convert_to_int8.impl(2.7)
    np.int8(2)
    """

    def __init__(self, dtype):
        def emit(steps, output_dtype, x):
            if steps.dtypes[x] in complex_dtypes and output_dtype not in complex_dtypes:
                x = emit_real(steps, output_dtype, x)
            return steps.cast(x, output_dtype)

        dtype = dtype.dtype if isinstance(dtype, Scalar) else dtype
        self.o_type = dtype
        super().__init__(f"convert_to_{dtype}", 1, lambda _: dtype, emit, lambda x, out, g: g,
                         operands="as they are", complex_rule="real_slope", domain=POSITIVE,
                         doc=f"Elementwise conversion to {dtype}.")

    def __repr__(self):
        return f"Cast{{{self.o_type}}}"

    __str__ = __repr__

    def _elementwise_name(self):
        return f"Elemwise{{{self}}}"

    def expression(self, operands):
        return f"{self}({operands[0]})"


def emit_real(steps, dtype, z):
    """The real part; a real number is its own."""
    source = steps.dtypes[z]
    return steps.apply_own("real", rules.REAL_PART[source], z) if source in complex_dtypes else z


for _dtype in ALL_DTYPES:
    SCALAR_OPS[f"convert_to_{_dtype}"] = globals()[f"convert_to_{_dtype}"] = Cast(_dtype)


def cast_op(dtype):
    """The scalar op that converts to ``dtype``.

    Examples
    --------
    >>> phintys.scalar.cast_op("int8")
    Cast{int8}
    """
    return SCALAR_OPS[f"convert_to_{canonical_dtype(dtype)}"]


def as_dtype(variable, dtype):
    """``variable``, cast to a dtype if it has another."""
    return variable if variable.type.dtype == dtype else cast_op(dtype)(variable)


def number_like(value, like):
    """A number, or a scalar variable, in the dtype of a tensor."""
    if not isinstance(value, Variable):
        return constant(value, dtype=like.type.dtype)
    if value.type.ndim:
        raise TypeError(f"A number or a scalar variable is needed, got {value} of type {value.type}")
    return as_dtype(value, like.type.dtype)


# ---- complex numbers -----------------------------------------------------------------------------------------------
def emit_imag(steps, dtype, z):
    """The imaginary part; 0 for a real number."""
    source = steps.dtypes[z]
    if source not in complex_dtypes:
        return steps.constant(0, source)
    return steps.apply_own("imag", rules.REAL_PART[source], z)


def emit_angle(steps, dtype, z):
    """The angle of a complex number, by arctan2 of its parts."""
    z = steps.cast(z, "complex128" if steps.dtypes[z] in complex_dtypes else dtype)
    return steps.apply("arctan2", emit_imag(steps, dtype, z), emit_real(steps, dtype, z))


def emit_complex(steps, dtype, real_part, imaginary_part):
    """A complex number from two real ones."""
    part = "float64" if dtype == "complex128" else "float32"
    return steps.apply_own("complex", dtype, steps.cast(real_part, part), steps.cast(imaginary_part, part))


def emit_polar(steps, dtype, radius, angle):
    """A complex number from its magnitude and its angle."""
    part = "float64" if dtype == "complex128" else "float32"
    radius, angle = steps.cast(radius, part), steps.cast(angle, part)
    return emit_complex(steps, dtype, steps.apply("multiply", radius, steps.apply("cos", angle)),
                        steps.apply("multiply", radius, steps.apply("sin", angle)))


def angle_gradient(z, out, g):
    """The gradient is perpendicular to z, with length 1 / abs(z)."""
    if z.type.dtype not in complex_dtypes:
        return zero_by(z)
    x, y = real(z), imag(z)
    return cast_op(z.type.dtype)(complex(-g * polar_slope(y, x), g * polar_slope(x, y)))


def polar_gradient(radius, angle, out, g):
    """By the magnitude and by the angle, from both parts of the gradient."""
    return (real(g) * cos(angle) + imag(g) * sin(angle)), radius * (imag(g) * cos(angle) - real(g) * sin(angle))


real = define("Real", "real", 1, rules.real_out, emit_real,
              lambda z, out, g: complex(g, number(0, g)) if z.type.dtype in complex_dtypes else g,
              operands="as they are", complex_rule="transposed", doc="Elementwise real part.",
              example=([1 + 2j, 3 - 1j],))
imag = define("Imag", "imag", 1, rules.real_out, emit_imag,
              lambda z, out, g: complex(number(0, g), g) if z.type.dtype in complex_dtypes else zero_by(z),
              operands="as they are", complex_rule="transposed", doc="Elementwise imaginary part.",
              example=([1 + 2j, 3 - 1j],))
angle = define("Angle", "angle", 1, rules.angle_out, emit_angle, angle_gradient, operands="as they are",
               complex_rule="transposed", doc="Elementwise angle of complex numbers, in radians, as float64.",
               example=([1 + 1j, -1j],))
conj = define("Conj", "conj", 1, rules.same_out_min8, "conjugate",
              lambda z, out, g: conj(g) if z.type.dtype in complex_dtypes else g, complex_rule="transposed",
              doc="Elementwise complex conjugate.", example=([1 + 2j, 3 - 1j],))
complex = define("Complex", "complex", 2, rules.complex_out, emit_complex, lambda x, y, out, g: (real(g), imag(g)),
                 operands="as they are", complex_rule="transposed",
                 doc="Elementwise complex number from real and imaginary part.", example=([1.0, 2.0], [3.0, -4.0]))
complex_from_polar = define("ComplexFromPolar", "complex_from_polar", 2, rules.complex_out, emit_polar, polar_gradient,
                            operands="as they are", complex_rule="transposed",
                            domain=(POSITIVE, ANY), doc="Elementwise complex number from radius and angle.",
                            example=(2.0, [0.0, 0.5]))

# Other names of rows.
floor_div, reciprocal, scalar_maximum, scalar_minimum = int_div, inv, maximum, minimum

# The generated classes (Add, Exp, ...), and all ops by name, as in Theano.
for _row in SCALAR_OPS.values():
    globals()[type(_row).__name__] = type(_row)
__all__ += sorted({*SCALAR_OPS, *(type(row).__name__ for row in SCALAR_OPS.values())})
del _row, _dtype
