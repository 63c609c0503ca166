"""Computes the polynomials of ``ops/native/special``: ``python asv_bench/fit_vector_functions.py``.

Needs mpmath. Each polynomial interpolates a smooth function at Chebyshev nodes with 60 digits; printed as C tables with
the coefficient of the highest power first, and with the largest relative error of the polynomial itself.
"""
import mpmath
import numpy

mpmath.mp.dps = 60
HALF = mpmath.mpf(1) / 2
EULER, ROOT = mpmath.euler, mpmath.findroot(mpmath.digamma, 1.4616)


def fit(function, low, high, degree):
    """Coefficients of powers of ``x - middle``, the lowest first."""
    middle, radius = (mpmath.mpf(low) + high) / 2, (mpmath.mpf(high) - low) / 2
    nodes = [mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * degree + 2)) for k in range(degree + 1)]
    values = [function(middle + radius * node) for node in nodes]
    found = mpmath.lu_solve(mpmath.matrix([[node ** power for power in range(degree + 1)] for node in nodes]),
                            mpmath.matrix(values))
    return [found[power] / radius ** power for power in range(degree + 1)]


def error(function, coefficients, low, high, points=300):
    middle = (mpmath.mpf(low) + high) / 2
    worst = 0
    for k in range(points + 1):
        x = low + (mpmath.mpf(high) - low) * k / points
        exact = function(x)
        worst = max(worst, abs(mpmath.polyval(coefficients[::-1], x - middle) / exact - 1))
    return worst


def log_gamma_over_zeros(u):
    """log(gamma(1 + u)) / (u (u - 1))."""
    if abs(u) < mpmath.mpf(10) ** -25:
        return EULER
    if abs(u - 1) < mpmath.mpf(10) ** -25:
        return 1 - EULER
    return mpmath.loggamma(1 + u) / (u * (u - 1))


def psi_over_distance(x):
    """psi(x) divided by the distance to its root."""
    return mpmath.polygamma(1, ROOT) if abs(x - ROOT) < mpmath.mpf(10) ** -25 else mpmath.digamma(x) / (x - ROOT)


def inverse_erf(a):
    """The inverse of erf at sqrt(1 - a), divided by that root, by Newton's method on erfc."""
    root = mpmath.sqrt(1 - a)
    complement = a / (1 + root)                             # 1 - root, without cancellation
    y = mpmath.erfinv(root) if a > mpmath.mpf(10) ** -12 else mpmath.sqrt(-mpmath.log(complement))
    for _ in range(60):
        step = (mpmath.erfc(y) - complement) * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
        y += step
        if abs(step) < mpmath.mpf(10) ** -45 * y:
            break
    return y / root


def of_w(w):
    return mpmath.sqrt(mpmath.pi) / 2 if w == 0 else inverse_erf(mpmath.exp(-w))


def exp_rest(r):
    """(exp(r) - 1 - r) / r^2."""
    return HALF if abs(r) < mpmath.mpf(10) ** -20 else (mpmath.exp(r) - 1 - r) / r ** 2


def exp_cubes(r):
    """(exp(r) - 1 - r - r^2 / 2) / r^3."""
    return mpmath.mpf(1) / 6 if abs(r) < mpmath.mpf(10) ** -18 else (mpmath.exp(r) - 1 - r - r ** 2 / 2) / r ** 3


def log1p_over_argument(t):
    return mpmath.log1p(t) / t if t else mpmath.mpf(1)


def sin_rest(square):
    """(sin(r) / r - 1) / r^2."""
    if square < mpmath.mpf(10) ** -20:
        return square / 120 - mpmath.mpf(1) / 6
    return (mpmath.sin(mpmath.sqrt(square)) / mpmath.sqrt(square) - 1) / square


def by_zero(coefficients, middle):
    """The coefficients of powers of x, from those of powers of ``x - middle``."""
    return [sum(mpmath.binomial(k, power) * (-middle) ** (k - power) * coefficients[k]
                for k in range(power, len(coefficients))) for power in range(len(coefficients))]


HALF_LOG_2, SQUARE = mpmath.log(2) / 2, (mpmath.pi / 2) ** 2
TABLES = [
    ("exp_rest_double", exp_rest, -HALF_LOG_2, HALF_LOG_2, 9), ("exp_rest_float", exp_rest, -HALF_LOG_2, HALF_LOG_2, 4),
    ("exp_cubes_double", exp_cubes, -HALF_LOG_2, HALF_LOG_2, 9),
    ("exp_cubes_float", exp_cubes, -HALF_LOG_2, HALF_LOG_2, 4),
    ("sin_rest_double", sin_rest, 0, SQUARE, 8), ("sin_rest_float", sin_rest, 0, SQUARE, 4),
    ("log1p_over_t_double", log1p_over_argument, 0, 1, 20), ("log1p_over_t_float", log1p_over_argument, 0, 1, 9),
    ("log_gamma_between_1_and_2", log_gamma_over_zeros, 0, 1, 19), ("psi_between_1_and_2", psi_over_distance, 1, 2, 21),
    ("erfinv_center", of_w, 0, 5, 21), ("erfinv_middle", lambda s: of_w(s * s), 2.21875, 4, 23),
    ("erfinv_end", lambda s: of_w(s * s), 4, 6.25, 18),
]

if __name__ == "__main__":
    high = mpmath.mpf(float(ROOT))
    print(f"root of psi: {float(ROOT)!r} + {float(ROOT - high)!r}")
    for name, function, low, high, degree in TABLES:
        coefficients = fit(function, low, high, degree)
        print(f"/* {name}: error {mpmath.nstr(error(function, coefficients, low, high), 3)} */")
        if name.startswith("sin"):
            coefficients = by_zero(coefficients, SQUARE / 2)
        single = name.endswith("float")
        numbers = [numpy.float32(c).item().hex() + "f" if single else float(c).hex() for c in coefficients[::-1]]
        print(",\n".join("    " + ", ".join(numbers[k:k + 4]) for k in range(0, len(numbers), 4)))
