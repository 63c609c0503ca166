"""Cases for every scalar op, from its row: what it computes, by NumPy or SciPy, on which operands."""
import numpy
import scipy.special

from phintys.ops.elementwise.scalar_code import ufunc_named
from phintys.ops.elementwise.scalar_op import SCALAR_OPS, bits_out, count_out, integers_out, integers_out_no_bool
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


def around(function, x, order, radius, points=34):
    """A derivative of an analytic function: Cauchy's integral along a circle."""
    angles = 2 * numpy.pi * numpy.arange(points) / points
    total = sum([function(x + radius * numpy.exp(1j * angle)) * numpy.exp(-1j * order * angle) for angle in angles])
    return (total * special.factorial(order) / (points * radius ** order)).real


def as_doubles(*operands):
    return numpy.broadcast_arrays(*[numpy.asarray(x).astype("float64") for x in operands])


def lower_beta(a, b, x, order):
    """The derivatives by a of the incomplete beta function, by its power series."""
    n = terms(x)
    ratios = numpy.concatenate([numpy.ones((1, *x.shape)), numpy.cumprod((n - b + 1) / (n + 1), axis=0)[:-1]])
    with numpy.errstate(divide="ignore"):
        log_x = numpy.log(x)
    derivative = [1 / (a + n), log_x / (a + n) - (a + n) ** -2,
                  log_x ** 2 / (a + n) - 2 * log_x * (a + n) ** -2 + 2 * (a + n) ** -3][order]
    return (ratios * x ** (a + n) * derivative).sum(axis=0) * numpy.exp(
        special.loggamma(a + b) - special.loggamma(a) - special.loggamma(b))


def betainc_by_a(a, b, x):
    a, b, x = as_doubles(a, b, x)
    return lower_beta(a, b, x, 1) - (special.psi(a) - special.psi(a + b)) * lower_beta(a, b, x, 0)


def betainc_by_aa(a, b, x):
    a, b, x = as_doubles(a, b, x)
    common, change = special.psi(a) - special.psi(a + b), special.polygamma(1, a) - special.polygamma(1, a + b)
    return (lower_beta(a, b, x, 2) - 2 * common * lower_beta(a, b, x, 1)
            + (common ** 2 - change) * lower_beta(a, b, x, 0)) * (x < 1)


def betainc_by_ab(a, b, x):
    """By the power series, term by term; of the larger half of x, by symmetry."""
    a, b, x = as_doubles(a, b, x)
    swapped = x > 0.5
    a, b, x = numpy.where(swapped, b, a), numpy.where(swapped, a, b), numpy.where(swapped, 1 - x, x)
    ratio, slope = numpy.ones_like(x), numpy.zeros_like(x)
    total = by_a = by_b = by_both = 0.0
    with numpy.errstate(divide="ignore", invalid="ignore"):
        power, log_x = x ** a, numpy.log(x)
        for n in range(70):
            term, change = power / (a + n), power * (log_x / (a + n) - (a + n) ** -2)
            total, by_a = total + ratio * term, by_a + ratio * change
            by_b, by_both = by_b + slope * term, by_both + slope * change
            slope, ratio = (slope * (n + 1 - b) - ratio) / (n + 1), ratio * (n + 1 - b) / (n + 1)
            power = power * x
        both = special.psi(a + b)
        of_a, of_b = both - special.psi(a), both - special.psi(b)
        found = (by_both + by_a * of_b + by_b * of_a + total * (of_a * of_b + special.polygamma(1, a + b))
                 ) / special.beta(a, b)
        return numpy.where(x == 0, 0, numpy.where(swapped, -found, found))


def opposite(function):
    """The same derivative of betainc(b, a, 1 - x) = 1 - betainc(a, b, x)."""
    def of(a, b, x):
        with numpy.errstate(invalid="ignore"):
            return numpy.where(numpy.asarray(x) == 1, 0, -function(b, a, 1 - numpy.asarray(x).astype("float64")))
    return of


def hyp2f1_slope(*numbers):
    """A derivative of hyp2f1 by its operands of these numbers, term by term; not defined at 1."""
    def of(*operands):
        *parameters, x = as_doubles(*operands)
        n = terms(x)
        a, b, c = parameters
        ratios = numpy.cumprod((a + n) * (b + n) / ((c + n) * (n + 1)) * x, axis=0)[:-1]
        logarithms = [sign * (special.psi(part + n) - special.psi(part)) for part, sign in zip(parameters, (1, 1, -1))]
        factor = logarithms[numbers[0]]
        if len(numbers) == 2:
            factor = factor * logarithms[numbers[1]]
            if numbers[0] == numbers[1]:
                part, sign = parameters[numbers[0]], (1, 1, -1)[numbers[0]]
                factor = factor + sign * (special.polygamma(1, part + n) - special.polygamma(1, part))
        return numpy.where(x < 1, (ratios * factor[1:]).sum(axis=0), numpy.nan)
    return of


def zeta_slope(order):
    """A derivative of zeta by its first operand, by Euler and Maclaurin."""
    def zeta(s, q):
        w = q + 40
        rest = w ** (1 - s) / (s - 1) + w ** -s / 2 + s * w ** (-s - 1) / 12
        return (terms(q, 40) + q).__pow__(-s).sum(axis=0) + rest - s * (s + 1) * (s + 2) * w ** (-s - 3) / 720 + (
            s * (s + 1) * (s + 2) * (s + 3) * (s + 4) * w ** (-s - 5) / 30240)

    def of(s, q):
        s, q = as_doubles(s, q)
        with numpy.errstate(all="ignore"):
            return numpy.where(s > 1, around(lambda moved: zeta(moved, q), s, order, 0.2), numpy.nan)
    return of


def polygamma(n, x):
    return special.polygamma(n.astype(int), x)


def polar(radius, angle):
    return radius * numpy.exp(1j * angle)


# What a row computes whose loop is not a function of NumPy or SciPy: one that emits several loops. All other rows are
# compared with the function that their loop names, except those whose formula is short.
FORMULAS = {
    "inv": lambda x: 1 / x, "sgn": numpy.sign, "round_half_away_from_zero": away_from_zero,
    "exp2": lambda x: 2.0 ** x, "log1mexp": lambda x: numpy.log(-numpy.expm1(x)),
    "logaddexp": numpy.logaddexp, "ldexp": lambda x, y: numpy.ldexp(x, y.astype("int32")), "signbit": numpy.signbit,
    "log_erfc": lambda x: numpy.log(special.erfc(x)), "xlogx": lambda x: special.xlogy(x, x),
    "xlogy0": special.xlogy, "sigmoid": special.expit, "softplus": softplus, "ultra_fast_sigmoid": ultra_fast_sigmoid,
    "scalar_softsign": lambda x: x / (1 + numpy.abs(x)), "relu": lambda x: numpy.maximum(x, 0),
    "leaky_relu": lambda x, alpha: numpy.where(x > 0, x, alpha * x),
    "sigmoid_binary_crossentropy": lambda x, t: numpy.logaddexp(0, x) - x * t,
    "gammainc_by_k": gammainc_by_k, "gammainc_by_k_twice": gammainc_by_k_twice, "betainc_by_a": betainc_by_a,
    "betainc_by_b": opposite(betainc_by_a), "betainc_by_aa": betainc_by_aa, "betainc_by_ab": betainc_by_ab,
    "betainc_by_bb": opposite(betainc_by_aa), "zeta_by_x": zeta_slope(1), "zeta_by_x_twice": zeta_slope(2),
    **{f"hyp2f1_by_{by}": hyp2f1_slope(*["abc".index(letter) for letter in by])
       for by in ("a", "c", "aa", "ab", "ac", "cc")},
    "polygamma": polygamma, "sinc": numpy.sinc, "polar_slope": lambda x, y: x / (x ** 2 + y ** 2),
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
DISCRETE_ONLY = {name for name, row in SCALAR_OPS.items()
                 if row.output_rule in (bits_out, count_out, integers_out, integers_out_no_bool)}


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
