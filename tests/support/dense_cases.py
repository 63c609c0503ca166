"""One table of ops on dense tensors that are neither elementwise nor factorizations: what each computes, of what.

The other tables are `matrix_cases.CASES` and the table of scalar ops. At the end are the names that must have a row.
"""
from dataclasses import dataclass, field

import numpy

import phintys.tensor as T

REALS = ("float32", "float64")
NUMBERS = (*REALS, "complex64", "complex128")
ORDERED = (*REALS, "int32", "int8")


def numbers(*shape, seed=0):
    return numpy.random.default_rng(seed).normal(size=shape)


@dataclass
class Row:
    """``build`` of variables computes what ``expected`` computes of arrays."""

    build: object
    expected: object
    operands: list                                      # of the first dtype, float64 if that is among the dtypes
    dtypes: tuple = REALS
    empty: list = None                                  # operands without elements, if such are permitted
    zero_d: list = None                                 # 0-d operands, if such are permitted
    derivatives: bool = True
    second: bool = True
    errors: list = field(default_factory=list)          # (a function that raises, exception, message)


def at_run_time(build, *arrays):
    """A function that computes an expression of variables for arrays."""
    def run():
        import phintys
        variables = [T.TensorType(array.dtype.name, (False,) * array.ndim)() for array in arrays]
        phintys.function(variables, build(*variables))(*arrays)
    return run


X, Y, VECTOR, LONG = numbers(4, 5), numbers(5, 3, seed=1), numbers(6, seed=2), numbers(9, seed=3)
STACK, OTHER, SQUARE = numbers(2, 3, 4), numbers(2, 4, 5, seed=1), numbers(4, 4)
SORTED, PLACES = numpy.sort(numbers(7, seed=4)), numbers(4, seed=5)
COUNTS = numpy.array([1, 3, 1, 0, 2])
AXIS = (lambda: T.sort(T.dmatrix(), 3), ValueError, "axis|dimension")


def pairs(z):
    """Complex numbers as pairs of real ones."""
    return numpy.stack([z.real, z.imag], -1)


def nested(function):
    """The case of a function of NumPy with the same name in ``tensor``."""
    return getattr(T, function), getattr(numpy, function)


def topk(x, k):
    return numpy.sort(x, axis=-1)[..., ::-1][..., :k]


# Folder of tests/ops, which is that of the ops → name → row. What functions put together of ops of several folders is
# tested in tests/ops itself.
ROWS_OF = {
    "cumulative": {
        "diff": Row(*nested("diff"), [X], (*NUMBERS, "int32"), [X[:0]],
                    errors=[(lambda: T.diff(T.dvector(), n=-1), ValueError, "must not be negative")]),
        "convolve": Row(*nested("convolve"), [VECTOR, numbers(3)], (*NUMBERS, "int32"),
                        errors=[(lambda: T.convolve(T.dvector(), T.dvector(), "all"), ValueError, "mode|all")]),
        "cumsum": Row(*nested("cumsum"), [X], NUMBERS, [X[:0]]),
        "cumprod": Row(*nested("cumprod"), [X], REALS, [X[:0]]),
    },
    "fourier": {
        "rfft": Row(T.fft.rfft, lambda x: pairs(numpy.fft.rfft(x)).astype(x.dtype), [X], REALS, [X[:0]], errors=[
            (lambda: T.fft.rfft(T.dmatrix(), norm="half"), ValueError, "norm")]),
        "irfft": Row(T.fft.irfft, lambda x: numpy.fft.irfft(x[..., 0] + 1j * x[..., 1]).astype(x.dtype),
                     [pairs(numpy.fft.rfft(numbers(3, 4)))], REALS),
        "rfft, complex": Row(T.fft.complex_rfft, numpy.fft.rfft, [X], ("float64",), [X[:0]], derivatives=False),
        "fft": Row(T.fft.fft, numpy.fft.fft, [X], ("float64", "complex128"), [X[:0]], derivatives=False),
        "ifft": Row(T.fft.ifft, numpy.fft.ifft, [X], ("float64", "complex128"), derivatives=False),
        "fftn": Row(T.fft.fftn, numpy.fft.fftn, [STACK], ("float64", "complex128"), derivatives=False),
        "rfftn": Row(T.fft.rfftn, numpy.fft.rfftn, [STACK], ("float64",), derivatives=False),
        "fft, magnitudes": Row(lambda x: abs(T.fft.fft(x)) ** 2, lambda x: abs(numpy.fft.fft(x)) ** 2, [X],
                               ("float64",)),
    },
    "indexing": {
        "nonzero_values": Row(T.nonzero_values, lambda x: x[x != 0], [X * (X > 0)], (*NUMBERS, "int32"), [X[:0]],
                              derivatives=False),
    },
    "linalg": {
        "trace": Row(T.trace, numpy.trace, [SQUARE], NUMBERS, [SQUARE[:0, :0]],
                     errors=[(lambda: T.trace(T.dvector()), ValueError, "dimension|diag")]),
        "extract_diag": Row(T.nlinalg.extract_diag, numpy.diagonal, [X], NUMBERS, [X[:0]]),
        "alloc_diag": Row(T.nlinalg.alloc_diag, numpy.diag, [VECTOR], NUMBERS, [VECTOR[:0]]),
        "einsum": Row(lambda x, y: T.einsum("ij,jk->ki", x, y), lambda x, y: (x @ y).T, [X, Y], NUMBERS, [X, Y[:, :0]],
                      errors=[
            (lambda: T.einsum("ij,jk", T.dvector(), T.dmatrix()), ValueError, "another rank"),
            (at_run_time(lambda x, y: T.einsum("ij,jk", x, y), X, X), ValueError, "aligned")]),
        "einsum of three": Row(lambda x, y, z: T.einsum("ij,jk,kl->il", x, y, z), lambda x, y, z: x @ y @ z,
                               [X, Y, Y.T]),
        "polyval": Row(T.polyval, numpy.polyval, [numbers(4), X], REALS, [numbers(4), X[:0]],
                       [numbers(4), numpy.array(0.5)]),
        "cov": Row(*nested("cov"), [X], ("float64",)),
        "corrcoef": Row(*nested("corrcoef"), [X], ("float64",)),
    },
    "ops": {
        **{f"norm, {order}": Row(lambda x, order=order: T.nlinalg.norm(x, order),
                                 lambda x, order=order: numpy.linalg.norm(x, order), [X])
           for order in (None, "fro", 1, -1, numpy.inf, -numpy.inf)},
        "norm of a vector": Row(lambda x: T.nlinalg.norm(x, 3), lambda x: numpy.linalg.norm(x, 3), [VECTOR]),
        "interp": Row(lambda x, y: T.interp(x, SORTED.astype(str(x.dtype)), y),
                      lambda x, y: numpy.interp(x, SORTED, y).astype("float64"), [PLACES, numbers(7, seed=8)],
                      ("float64",), [PLACES[:0], numbers(7)]),
        "gradient": Row(lambda x: T.gradient(x, axis=1), lambda x: numpy.gradient(x, axis=1), [X], REALS),
        "trapezoid": Row(T.trapezoid, numpy.trapezoid, [X, numpy.sort(numbers(5, seed=9))], REALS, [X[:0], numbers(5)]),
    },
    "products": {
        "kron": Row(T.slinalg.kron, numpy.kron, [X, Y], NUMBERS, [X[:0], Y]),
        "batched_dot": Row(T.batched_dot, numpy.matmul, [STACK, OTHER], NUMBERS, [STACK[:0], OTHER[:0]],
                           errors=[(at_run_time(T.batched_dot, STACK, OTHER[:1]), ValueError, "unequal")]),
        "batched_tensordot": Row(lambda x, y: T.batched_tensordot(x, y, [[2], [1]]), numpy.matmul, [STACK, OTHER],
                                 REALS, [STACK[:0], OTHER[:0]]),
    },
    "sorting": {
        "sort": Row(*nested("sort"), [X], ORDERED, [X[:0]], errors=[
            AXIS, (lambda: T.sort(T.dvector(), kind="bubble"), ValueError, "bubble")]),
        "argsort": Row(lambda x: T.argsort(x, kind="stable"), lambda x: numpy.argsort(x, kind="stable"), [X], ORDERED,
                       [X[:0]], derivatives=False),
        "topk": Row(lambda x: T.topk(x, 3), lambda x: topk(x, 3), [X], ORDERED, [X[:0]],
                    errors=[(at_run_time(lambda x: T.topk(x, 7), X), ValueError, "larger")]),
        "argtopk": Row(lambda x: T.argtopk(x, 2), lambda x: numpy.argsort(-x, axis=-1)[..., :2], [X], REALS,
                       derivatives=False),
        "topk_and_argtopk": Row(lambda x: T.topk_and_argtopk(x, 2)[0], lambda x: topk(x, 2), [X], ORDERED),
        "partition": Row(lambda x: T.partition(x, 2)[..., 2], lambda x: numpy.sort(x)[..., 2], [X], ORDERED, [X[:0]],
                         errors=[(at_run_time(lambda x: T.partition(x, 9), X), ValueError, "out of bounds")]),
        "median": Row(*nested("median"), [X], REALS, zero_d=[numpy.array(2.0)]),
        "percentile": Row(lambda x: T.percentile(x, 30.0), lambda x: numpy.percentile(x, 30.0), [X], ("float64",),
                          errors=[(at_run_time(lambda x: T.percentile(x, 130.0), X), ValueError, "100")]),
        "unique": Row(*nested("unique"), [numpy.array([2.0, 1.0, 2.0, 3.0])], ORDERED, [VECTOR[:0]], derivatives=False),
        **{f"unique, {part}": Row(lambda x, part=part: T.unique(x, **{f"return_{part}": True})[1],
                                  lambda x, part=part: numpy.unique(x, **{f"return_{part}": True})[1],
                                  [numpy.array([2.0, 1.0, 2.0])], ORDERED, derivatives=False)
           for part in ("index", "inverse", "counts")},
        "searchsorted": Row(*nested("searchsorted"), [SORTED, PLACES], REALS, [SORTED[:0], PLACES], derivatives=False,
                            errors=[
            (lambda: T.searchsorted(T.dvector(), T.dvector(), side="top"), ValueError, "side")]),
        "bincount": Row(T.bincount, numpy.bincount, [COUNTS], ("int64", "int8", "uint16"), [COUNTS[:0]],
                        derivatives=False, errors=[(at_run_time(T.bincount, COUNTS - 1), ValueError, "negative")]),
        "histogram": Row(lambda x: T.histogram(x, 4)[0], lambda x: numpy.histogram(x, 4)[0], [LONG], REALS, [LONG[:0]],
                         derivatives=False, errors=[(lambda: T.histogram(T.dvector(), 0), ValueError, "positive")]),
        "digitize": Row(*nested("digitize"), [PLACES, SORTED], REALS, [PLACES[:0], SORTED], derivatives=False),
        "in1d": Row(T.in1d, numpy.isin, [numpy.array([1.0, 5.0, 2.0]), numpy.array([2.0, 1.0])], ORDERED,
                    [VECTOR[:0], VECTOR], derivatives=False),
    },
}
ROWS = {name: row for rows in ROWS_OF.values() for name, row in rows.items()}

# Promised names → the tables' rows that start with them, where these have another name.
MATRICES = """cholesky solve solve_triangular cho_solve matrix_inverse pinv det slogdet eig eigh eigvalsh svd qr lu expm
    matrix_power matrix_dot lstsq tensorinv tensorsolve block_diag"""
DENSE = """kron trace norm extract_diag alloc_diag einsum batched_dot batched_tensordot sort argsort topk argtopk
    topk_and_argtopk partition median percentile unique searchsorted bincount histogram diff digitize in1d rfft irfft
    polyval interp cov corrcoef gradient trapezoid convolve nonzero_values fft ifft fftn rfftn"""
SCALARS = """gammaln psi tri_gamma polygamma beta betaln betainc gammainc gammaincc gammau gammal erf erfc erfcx erfinv
    erfcinv log_ndtr ndtri j0 j1 jv i0 i1 iv ive kv chi2sf sinc logaddexp xlogy owens_t hyp2f1 zeta xlogx xlogy0"""
