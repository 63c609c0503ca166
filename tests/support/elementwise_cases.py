"""Cases for every scalar op, from its row: what it computes, by NumPy or SciPy, on which operands."""
import numpy
import scipy.special

from phintys.ops.elementwise.elementwise_steps import ufunc_named
from phintys.ops.elementwise.scalar_op import SCALAR_OPS, bits_out
from phintys.ops.types.dtypes import ALL_DTYPES, complex_dtypes, discrete_dtypes, float_dtypes

special = scipy.special


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


def terms(x, count=400):
    """0, 1, 2, ... along a new first axis."""
    return numpy.arange(float(count)).reshape(count, *[1] * numpy.ndim(x))


def lower_gamma(k, x, order):
    """The derivatives by k of the lower incomplete gamma function, by its power series."""
    n = terms(x, 80)
    at = k + n
    derivative = [1 / at, numpy.log(x) / at - at ** -2,
                  numpy.log(x) ** 2 / at - 2 * numpy.log(x) * at ** -2 + 2 * at ** -3][order]
    return ((-1) ** n * x ** at / special.gamma(n + 1) * derivative).sum(axis=0)


def gammainc_by_k(k, x):
    k, x = k.astype("float64"), x.astype("float64")
    return lower_gamma(k, x, 1) / special.gamma(k) - special.psi(k) * special.gammainc(k, x)


def gammainc_by_k_twice(k, x):
    k, x = k.astype("float64"), x.astype("float64")
    slope = special.psi(k)
    return (lower_gamma(k, x, 2) - 2 * slope * lower_gamma(k, x, 1)) / special.gamma(k) + (
        slope ** 2 - special.polygamma(1, k)) * special.gammainc(k, x)


def betainc_by_a(a, b, x):
    a, b, x = numpy.broadcast_arrays(*[numpy.asarray(part).astype("float64") for part in (a, b, x)])
    n = terms(x)
    ratios = numpy.concatenate([numpy.ones((1, *x.shape)), numpy.cumprod((n - b + 1) / (n + 1), axis=0)[:-1]])
    with numpy.errstate(divide="ignore"):
        log_x = numpy.log(x)
    series = (ratios * x ** (a + n) * (log_x / (a + n) - (a + n) ** -2)).sum(axis=0)
    common = special.psi(a) - special.psi(a + b)
    return series / special.beta(a, b) - common * special.betainc(a, b, x)


def betainc_by_b(a, b, x):
    with numpy.errstate(invalid="ignore"):
        return numpy.where(numpy.asarray(x) == 1, 0, -betainc_by_a(b, a, 1 - numpy.asarray(x).astype("float64")))


def polygamma(n, x):
    return special.polygamma(n.astype(int), x)


def polar(radius, angle):
    return radius * numpy.exp(1j * angle)


# What a row computes whose loop is not a function of NumPy or SciPy: one that emits several loops. All other rows are
# compared with the function that their loop names, except those whose formula is short.
FORMULAS = {
    "inv": lambda x: 1 / x, "sgn": numpy.sign, "round_half_away_from_zero": away_from_zero,
    "exp2": lambda x: 2.0 ** x, "log1mexp": lambda x: numpy.log(-numpy.expm1(x)),
    "logaddexp": numpy.logaddexp,
    "log_erfc": lambda x: numpy.log(special.erfc(x)), "xlogx": lambda x: special.xlogy(x, x),
    "xlogy0": special.xlogy, "sigmoid": special.expit, "softplus": softplus, "ultra_fast_sigmoid": ultra_fast_sigmoid,
    "scalar_softsign": lambda x: x / (1 + numpy.abs(x)), "relu": lambda x: numpy.maximum(x, 0),
    "leaky_relu": lambda x, alpha: numpy.where(x > 0, x, alpha * x),
    "sigmoid_binary_crossentropy": lambda x, t: numpy.logaddexp(0, x) - x * t,
    "gammainc_by_k": gammainc_by_k, "gammainc_by_k_twice": gammainc_by_k_twice, "betainc_by_a": betainc_by_a,
    "betainc_by_b": betainc_by_b, "polygamma": polygamma, "sinc": numpy.sinc,
    "tri_gamma": lambda x: special.polygamma(1, x), "chi2sf": lambda x, k: special.chdtrc(k, x),
    "gammau": lambda k, x: special.gammaincc(k, x) * special.gamma(k),
    "gammal": lambda k, x: special.gammainc(k, x) * special.gamma(k),
    "switch": lambda c, a, b: numpy.where(c != 0, a, b), "clip": clip,
    "inopenrange": lambda x, a, b: (a < x) & (x < b), "inclosedrange": lambda x, a, b: (a <= x) & (x <= b),
    "inrange_open_low": lambda x, a, b: (a < x) & (x <= b), "inrange_open_high": lambda x, a, b: (a <= x) & (x < b),
    "second": lambda a, b: numpy.broadcast_arrays(a, b)[1], "identity": numpy.array, "real": numpy.real,
    "imag": numpy.imag, "angle": numpy.angle, "complex": lambda x, y: x + 1j * y, "complex_from_polar": polar,
    **{f"convert_to_{dtype}": (lambda x, dtype=dtype: (x.real if dtype not in complex_dtypes else x).astype(dtype))
       for dtype in ALL_DTYPES},
}
VARIADIC = {name for name, row in SCALAR_OPS.items() if row.nin == -1}
# Rows that only discrete operands may have.
DISCRETE_ONLY = {name for name, row in SCALAR_OPS.items() if row.output_rule is bits_out}


def formula(name):
    """What a row computes, as a function of arrays."""
    return FORMULAS.get(name) or ufunc_named(SCALAR_OPS[name].loop)


def count_of(name):
    return 3 if name in VARIADIC else SCALAR_OPS[name].nin


def drawn(name, shape, dtype, seed=0):
    """Operands of a case."""
    random = numpy.random.default_rng(seed)
    intervals = SCALAR_OPS[name].domain
    intervals = intervals if isinstance(intervals[0], tuple) else [intervals] * count_of(name)
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
