"""Operands for comparing functions, special ones and of all magnitudes, and the error in units in the last place."""
import numpy


def special_values(dtype):
    """NaN, infinities, zeros and ones of both signs, subnormals, and where functions overflow or change formulas."""
    limits = numpy.finfo(dtype)
    one = numpy.dtype(dtype).type(1)
    magnitudes = [0.0, 1.0, limits.tiny, limits.smallest_subnormal, limits.tiny / 2, limits.max, limits.eps,
                  limits.eps / 2, 1e-5, 0.25, 0.5, 2, 3, 5.9, 10, 20, 22.5, 27, 88.5, 104, 127.5, 150, 709.5, 710, 746,
                  1024, 1075, 1e5, 1e10, 1e22, 1e30, 1e300]
    with numpy.errstate(over="ignore"):
        positive = numpy.array([numpy.nan, numpy.inf, *magnitudes]).astype(dtype)
        near = numpy.array([numpy.nextafter(one, one * 2), numpy.nextafter(one, one * 0)])
    return numpy.concatenate([positive, -positive, near, -near])


def samples(dtype, count, length, seed=0, positive=False):
    """Lists of ``count`` operands of each kind: any bits, ordinary numbers, near overflow, all magnitudes, near 1."""
    generator = numpy.random.default_rng(seed)
    size = numpy.dtype(dtype).itemsize
    edge, digits = {2: (12, 4), 4: (110, 20), 8: (800, 20)}[size]
    kinds = [
        lambda: generator.integers(0, 2 ** (8 * size), length, dtype=f"uint{8 * size}").view(dtype),
        lambda: generator.standard_normal(length) * 3,
        lambda: generator.uniform(-edge, edge, length),
        lambda: generator.uniform(-1, 1, length),
        lambda: 10.0 ** generator.uniform(-digits, digits, length) * generator.choice([-1, 1], length),
        lambda: 1 + generator.uniform(-1, 1, length) * 10.0 ** generator.uniform(-16, 0, length),
    ]
    with numpy.errstate(all="ignore"):
        lists = [[kind().astype(dtype) for _ in range(count)] for kind in kinds]
    return [[abs(operands[0]), *operands[1:]] if positive else operands for operands in lists]


def wide(function, operands):
    """A function's values in a wider type, for ``ulps``."""
    wider = "longdouble" if operands[0].dtype == "float64" else "float64"
    return function(*[operand.astype(wider) for operand in operands]).astype("longdouble")


def ulps(got, exact):
    """Errors in units in the last place; 0 where the exact value is no finite number of the dtype."""
    with numpy.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        unit = numpy.spacing(numpy.maximum(abs(rounded), numpy.finfo(got.dtype).tiny))
        return numpy.where(numpy.isfinite(rounded), abs(got.astype("longdouble") - exact) / unit, 0)
