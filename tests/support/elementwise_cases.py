"""Cases for every scalar op of the table: what it computes, by NumPy or SciPy, on which operands."""
import numpy
import scipy.special

from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.types.dtypes import ALL_DTYPES, complex_dtypes, discrete_dtypes, float_dtypes

special = scipy.special


def sigmoid(x):
    return special.expit(x)


def softplus(x):
    return numpy.logaddexp(x, numpy.zeros_like(x))


def ultra_fast_sigmoid(x):
    half = numpy.abs(x) / 2
    tangent = numpy.where(half < 1.7, 1.5 * half / (1 + half), numpy.where(
        half < 3, 0.935409070603099 + 0.0458812946797165 * (half - 1.7), 0.99505475368673))
    return (numpy.copysign(tangent, x) + 1) / 2


def away_from_zero(x):
    return numpy.copysign(numpy.floor(numpy.abs(x) + 0.5), x)


def clip(x, low, high):
    return numpy.minimum(numpy.maximum(x, low), high)


def polar(radius, angle):
    return radius * numpy.exp(1j * angle)


ANY, POSITIVE, UNIT, ABOVE_ONE = (-2.9, 3.1), (0.2, 3.1), (-0.9, 0.9), (1.1, 3.1)
# name: what it computes, one interval for all operands or one each
CASES = {
    "add": (numpy.add, ANY), "mul": (numpy.multiply, ANY), "sub": (numpy.subtract, ANY),
    "true_div": (numpy.divide, (ANY, POSITIVE)), "int_div": (numpy.floor_divide, (ANY, POSITIVE)),
    "mod": (numpy.mod, (ANY, POSITIVE)), "neg": (numpy.negative, ANY), "inv": (lambda x: 1 / x, POSITIVE),
    "sqr": (numpy.square, ANY), "sqrt": (numpy.sqrt, POSITIVE), "pow": (numpy.power, (POSITIVE, (0, 3.1))),
    "abs_": (numpy.abs, ANY), "sgn": (numpy.sign, ANY), "ceil": (numpy.ceil, ANY), "floor": (numpy.floor, ANY),
    "trunc": (numpy.trunc, ANY), "round_half_to_even": (numpy.rint, ANY),
    "round_half_away_from_zero": (away_from_zero, ANY), "exp": (numpy.exp, ANY), "exp2": (lambda x: 2.0 ** x, ANY),
    "expm1": (numpy.expm1, ANY), "log": (numpy.log, POSITIVE), "log2": (numpy.log2, POSITIVE),
    "log10": (numpy.log10, POSITIVE), "log1p": (numpy.log1p, POSITIVE), "logaddexp": (numpy.logaddexp, ANY),
    "log1mexp": (lambda x: numpy.log(-numpy.expm1(x)), (-3.0, -0.1)),
    "log_erfc": (lambda x: numpy.log(special.erfc(x)), ANY),
    "xlogx": (lambda x: special.xlogy(x, x), POSITIVE), "xlogy0": (special.xlogy, POSITIVE),
    "sigmoid": (sigmoid, ANY), "softplus": (softplus, ANY), "ultra_fast_sigmoid": (ultra_fast_sigmoid, ANY),
    "scalar_softsign": (lambda x: x / (1 + numpy.abs(x)), ANY), "relu": (lambda x: numpy.maximum(x, 0), ANY),
    "leaky_relu": (lambda x, alpha: numpy.where(x > 0, x, alpha * x), ANY),
    "sigmoid_binary_crossentropy": (lambda x, t: numpy.logaddexp(0, x) - x * t, ANY), "deg2rad": (numpy.deg2rad, ANY),
    "rad2deg": (numpy.rad2deg, ANY), "cos": (numpy.cos, ANY), "sin": (numpy.sin, ANY), "tan": (numpy.tan, UNIT),
    "arccos": (numpy.arccos, UNIT), "arcsin": (numpy.arcsin, UNIT), "arctan": (numpy.arctan, ANY),
    "arctan2": (numpy.arctan2, (ANY, POSITIVE)), "hypot": (numpy.hypot, (ANY, POSITIVE)),
    "cosh": (numpy.cosh, ANY), "sinh": (numpy.sinh, ANY),
    "tanh": (numpy.tanh, ANY), "arccosh": (numpy.arccosh, ABOVE_ONE), "arcsinh": (numpy.arcsinh, ANY),
    "arctanh": (numpy.arctanh, UNIT), "erf": (special.erf, ANY), "erfc": (special.erfc, ANY),
    "erfcx": (special.erfcx, ANY), "erfinv": (special.erfinv, UNIT), "erfcinv": (special.erfcinv, (0.1, 1.9)),
    "gamma": (special.gamma, POSITIVE), "gammaln": (special.gammaln, POSITIVE), "psi": (special.psi, POSITIVE),
    "tri_gamma": (lambda x: special.polygamma(1, x), POSITIVE),
    "chi2sf": (lambda x, k: special.chdtrc(k, x), POSITIVE), "gammainc": (special.gammainc, POSITIVE),
    "gammaincc": (special.gammaincc, POSITIVE),
    "gammau": (lambda k, x: special.gammaincc(k, x) * special.gamma(k), POSITIVE),
    "gammal": (lambda k, x: special.gammainc(k, x) * special.gamma(k), POSITIVE), "j0": (special.j0, ANY),
    "j1": (special.j1, ANY), "jv": (special.jv, POSITIVE), "i0": (special.i0, ANY), "i1": (special.i1, ANY),
    "iv": (special.iv, POSITIVE), "lt": (numpy.less, ANY), "gt": (numpy.greater, ANY), "le": (numpy.less_equal, ANY),
    "ge": (numpy.greater_equal, ANY), "eq": (numpy.equal, ANY), "neq": (numpy.not_equal, ANY),
    "isnan": (numpy.isnan, ANY), "isinf": (numpy.isinf, ANY),
    "isfinite": (numpy.isfinite, ANY), "or_": (numpy.bitwise_or, ANY),
    "xor": (numpy.bitwise_xor, ANY), "and_": (numpy.bitwise_and, ANY), "invert": (numpy.invert, ANY),
    "switch": (lambda c, a, b: numpy.where(c != 0, a, b), ANY), "maximum": (numpy.maximum, ANY),
    "minimum": (numpy.minimum, ANY), "clip": (clip, (ANY, UNIT, ABOVE_ONE)),
    "inopenrange": (lambda x, a, b: (a < x) & (x < b), (ANY, UNIT, ABOVE_ONE)),
    "inclosedrange": (lambda x, a, b: (a <= x) & (x <= b), (ANY, UNIT, ABOVE_ONE)),
    "inrange_open_low": (lambda x, a, b: (a < x) & (x <= b), (ANY, UNIT, ABOVE_ONE)),
    "inrange_open_high": (lambda x, a, b: (a <= x) & (x < b), (ANY, UNIT, ABOVE_ONE)),
    "second": (lambda a, b: numpy.broadcast_arrays(a, b)[1], ANY), "identity": (numpy.array, ANY),
    "real": (numpy.real, ANY), "imag": (numpy.imag, ANY), "angle": (numpy.angle, ANY), "conj": (numpy.conj, ANY),
    "complex": (lambda x, y: x + 1j * y, ANY), "complex_from_polar": (polar, (POSITIVE, ANY)),
    **{f"convert_to_{dtype}": (lambda x, dtype=dtype: (x.real if dtype not in complex_dtypes else x).astype(dtype),
                               POSITIVE)
       for dtype in ALL_DTYPES},
}
VARIADIC = {"add", "mul"}
# Rows that only discrete operands may have.
DISCRETE_ONLY = {"or_", "xor", "and_", "invert"}


def count_of(name):
    return 3 if name in VARIADIC else SCALAR_OPS[name].nin


def drawn(name, shape, dtype, seed=0):
    """Operands of a case."""
    random = numpy.random.default_rng(seed)
    _, intervals = CASES[name]
    intervals = [intervals] * count_of(name) if isinstance(intervals[0], float) else intervals
    values = []
    for low, high in intervals:
        value = random.uniform(low, high, shape)
        if dtype in complex_dtypes:
            value = value + 1j * random.uniform(low, high, shape)
        if dtype in discrete_dtypes:
            value = numpy.maximum(numpy.rint(value), 1 if low > 0 or dtype.startswith("u") else low)
        values.append(numpy.asarray(value).astype(dtype))
    return values


def natural_dtype(name):
    return "int32" if name in DISCRETE_ONLY else "float64"


DIFFERENTIABLE = [name for name, row in SCALAR_OPS.items()
                  if row.gradient is not None and name not in DISCRETE_ONLY and not name.startswith("convert_to_")
                  and row.output_dtypes(("float64",) * count_of(name))[0] in float_dtypes]
