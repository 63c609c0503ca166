"""One table of all ops of linear algebra: what they compute, of which matrices, and which derivatives they have."""
from dataclasses import dataclass, field

import numpy
import scipy.linalg

from phintys.ops.factorizations import eigen, exponential, functions, inverse, orthogonal, schur
from phintys.ops.factorizations.cholesky import Cholesky, cholesky
from phintys.ops.factorizations.hints import psd
from phintys.ops.factorizations.least_squares import least_squares
from phintys.ops.factorizations.solve import (
    Solve,
    cho_solve,
    solve,
    solve_lower_triangular,
    solve_triangular,
    solve_upper_triangular,
)
from phintys.ops.linalg.triangle import triu


def numbers(*shape, seed=0):
    return numpy.random.default_rng(seed).normal(size=shape)


def definite(*shape):
    """Positive definite matrices."""
    x = numbers(*shape)
    return x @ x.swapaxes(-1, -2) + shape[-1] * numpy.eye(shape[-1])


def spread(height, width):
    """A matrix with singular values from 0.2 to 1."""
    u, _, v = numpy.linalg.svd(numbers(height, width), full_matrices=False)
    return (u * numpy.linspace(1, 0.2, width)) @ v


def lstsq(x, b, rcond=None):
    """NumPy's function of one system, or of each of a stack; the rank has the dtype that NumPy prefers."""
    if x.ndim == 2:
        solution, sums, rank, values = numpy.linalg.lstsq(x, b, rcond=rcond)
        return [solution, sums, numpy.int64(rank), values]
    if not len(x):
        height, width = x.shape[1:]
        lengths = [(width, b.shape[-1]), (b.shape[-1] if height > width else 0,), (), (min(height, width),)]
        dtypes = [x.dtype, x.real.dtype, "int64", x.real.dtype]
        return [numpy.empty((0, *item), dtype) for item, dtype in zip(lengths, dtypes)]
    return [numpy.stack(parts) for parts in zip(*[lstsq(*pair, rcond) for pair in zip(x, b)])]


def distinct(order):
    """A matrix with distinct real eigenvalues."""
    return numbers(order, order) * 0.3 + numpy.diag(3 * numpy.arange(1.0, order + 1))


@dataclass
class Case:
    """``build`` of variables computes what ``expected`` computes of arrays."""

    build: object
    expected: object
    operands: list                      # float64
    stacked: bool = True                # NumPy's function takes stacks, and so does the op
    derivatives: bool = True
    empty: bool = True                  # takes matrices without elements
    complexes: bool = True
    errors: list = field(default_factory=list)


def each(function):
    """A function of SciPy's applied to each matrix of a stack."""
    def apply(x, *others):
        if x.ndim == 2:
            return function(x, *others)
        return numpy.stack([apply(*parts) for parts in zip(x, *others)]) if len(x) else x
    return apply


def of_its_dtype(x, numbers):
    """Eigenvalues that are real, as real numbers: NumPy 2.5 makes them complex, too."""
    return numbers if x.dtype.kind == "c" else numbers.real


def triangular(lower, trans=0, unit=False):
    def apply(x, b):
        x = (numpy.tril if lower else numpy.triu)(x)
        if unit:
            x = x - x * numpy.eye(x.shape[-1], dtype=x.dtype) + numpy.eye(x.shape[-1], dtype=x.dtype)
        x = [x, x.swapaxes(-1, -2), x.conj().swapaxes(-1, -2)][trans]
        return numpy.linalg.solve(x, b)
    return apply


def sides(rank=2):
    return [definite(4, 4), numbers(4, 2)[:, :rank] if rank == 2 else numbers(4)]


def turned(order):
    """A matrix with real and complex eigenvalues on both sides of the axis and of the unit circle."""
    x = numbers(order, order) * 0.1 + numpy.diag(numpy.linspace(-2, 2, order))
    x[0, 1], x[1, 0] = 1.5, -1.5
    return x


def as_array(value):
    """A matrix, or a count of the dtype that counts have here."""
    return value if isinstance(value, numpy.ndarray) else numpy.asarray(value, "int32")


def full_svd(x, u, s, vh):
    return (u * s[..., None, :]) @ vh


def recomposed(x, full=False):
    u, s, vh = orthogonal.svd(x, full_matrices=full)
    return functions.matrix_dot(u * s.dimshuffle(*range(s.type.ndim - 1), "x", s.type.ndim - 1), vh)


NOT_SQUARE = (numpy.ones((2, 3)), numpy.linalg.LinAlgError, "square")
SINGULAR = (numpy.ones((2, 2)), numpy.linalg.LinAlgError, "(?i)singular")
NAN = (numpy.full((2, 2), numpy.nan), ValueError, "infs or NaNs")
NAN_LINALG = (numpy.full((2, 2), numpy.nan), numpy.linalg.LinAlgError, "NaNs")
INDEFINITE = (-numpy.eye(2), numpy.linalg.LinAlgError, "1-th leading minor of the array is not positive definite")

CASES = {
    "cholesky": Case(cholesky, numpy.linalg.cholesky, [definite(4, 4)], errors=[NOT_SQUARE, NAN, INDEFINITE]),
    "cholesky, upper": Case(Cholesky(lower=False), lambda x: numpy.linalg.cholesky(x, upper=True), [definite(4, 4)],
                            errors=[NOT_SQUARE, NAN, INDEFINITE]),
    "cholesky, nan": Case(Cholesky(on_error="nan"), numpy.linalg.cholesky, [definite(3, 3)], errors=[NOT_SQUARE]),
    "linalg.cholesky, upper": Case(lambda x: functions.cholesky(x, upper=True),
                                   lambda x: numpy.linalg.cholesky(x, upper=True), [definite(3, 3)]),
    "solve": Case(solve, numpy.linalg.solve, sides()),
    "solve, vector": Case(solve, numpy.linalg.solve, sides(1), stacked=False),
    "solve, symmetric": Case(Solve("symmetric"), numpy.linalg.solve, sides()),
    "solve, psd": Case(lambda x, b: solve(psd(x), b), numpy.linalg.solve, sides(), derivatives=False),
    "solve, lower": Case(solve_lower_triangular, triangular(True), sides()),
    "solve, upper": Case(solve_upper_triangular, triangular(False), sides()),
    **{f"solve_triangular, {lower=}, {trans=}, {unit=}": Case(
        lambda x, b, lower=lower, trans=trans, unit=unit: solve_triangular(x, b, trans, lower, unit),
        triangular(lower, trans, unit), sides(1 + rank), stacked=rank)
        for lower, trans, unit, rank in [(True, 0, False, True), (True, 1, True, False), (True, 2, False, True),
                                         (False, "N", True, True), (False, "T", False, False)]
        for trans in [{"N": 0, "T": 1}.get(trans, trans)]},
    "cho_solve, lower": Case(lambda x, b: cho_solve((x, True), b),
                             lambda x, b: numpy.linalg.solve(numpy.tril(x) @ numpy.tril(x).conj().swapaxes(-1, -2), b),
                             sides()),
    "cho_solve, upper": Case(lambda x, b: cho_solve((x, False), b),
                             lambda x, b: numpy.linalg.solve(numpy.triu(x).conj().swapaxes(-1, -2) @ numpy.triu(x), b),
                             sides()),
    "matrix_inverse": Case(inverse.matrix_inverse, numpy.linalg.inv, [definite(4, 4)], errors=[NOT_SQUARE, SINGULAR]),
    "matrix_inverse, psd": Case(lambda x: inverse.matrix_inverse(psd(x)), numpy.linalg.inv, [definite(4, 4)],
                                derivatives=False),
    "pinv": Case(inverse.pinv, numpy.linalg.pinv, [numbers(5, 3)]),
    "pinv, wide": Case(inverse.pinv, numpy.linalg.pinv, [numbers(3, 5)]),
    "det": Case(inverse.det, numpy.linalg.det, [numbers(3, 3)], errors=[NOT_SQUARE]),
    "slogdet, sign": Case(lambda x: inverse.slogdet(x)[0], lambda x: numpy.linalg.slogdet(x)[0], [numbers(3, 3)],
                          errors=[NOT_SQUARE]),
    "slogdet": Case(lambda x: inverse.slogdet(x)[1], lambda x: numpy.linalg.slogdet(x)[1], [numbers(3, 3)]),
    "lu_factor": Case(lambda x: inverse.lu_factor(x)[0], each(lambda x: scipy.linalg.lu_factor(x)[0]), [numbers(4, 4)],
                      empty=False, errors=[NOT_SQUARE]),
    "lu_factor, pivots": Case(lambda x: inverse.lu_factor(x)[1], each(lambda x: scipy.linalg.lu_factor(x)[1]),
                              [numbers(4, 4)], empty=False, derivatives=False),
    "lu, permutation": Case(lambda x: functions.lu(x)[0], each(lambda x: scipy.linalg.lu(x)[0].astype(x.dtype)),
                            [numbers(4, 4)], derivatives=False),
    "lu, lower": Case(lambda x: functions.lu(x, permute_l=True)[0],
                      each(lambda x: scipy.linalg.lu(x, permute_l=True)[0]), [numbers(4, 4)]),
    "lu, upper": Case(lambda x: functions.lu(x)[2], each(lambda x: scipy.linalg.lu(x)[2]), [numbers(4, 4)]),
    "eig, values": Case(lambda x: eigen.eig(x)[0], lambda x: of_its_dtype(x, numpy.linalg.eig(x)[0]),
                        [distinct(4)]),
    "eig, vectors": Case(lambda x: eigen.eig(x)[1] ** 2, lambda x: numpy.linalg.eig(x)[1].real ** 2,
                         [distinct(3)], complexes=False),
    "eigvals": Case(functions.eigvals, lambda x: of_its_dtype(x, numpy.linalg.eigvals(x)), [distinct(3)]),
    "eigh, values": Case(lambda x: eigen.eigh(x)[0], lambda x: numpy.linalg.eigh(x)[0], [definite(4, 4)],
                         errors=[NOT_SQUARE, NAN_LINALG]),
    "eigh, vectors": Case(lambda x: abs(eigen.eigh(x, "U")[1]), lambda x: abs(numpy.linalg.eigh(x, "U")[1]),
                          [definite(4, 4)]),
    "eigvalsh": Case(eigen.eigvalsh, numpy.linalg.eigvalsh, [definite(4, 4)], errors=[NOT_SQUARE, NAN_LINALG]),
    "eigvalsh, UPLO": Case(lambda x: functions.hermitian_eigenvalues(x, "U"), lambda x: numpy.linalg.eigvalsh(x, "U"),
                           [definite(4, 4)]),
    "eigvalsh, generalized": Case(eigen.eigvalsh, scipy.linalg.eigvalsh, [definite(3, 3), definite(4, 4)[1:, 1:]],
                                  stacked=False, empty=False),
    "eigvalsh, generalized, upper": Case(lambda a, b: eigen.eigvalsh(a, b, lower=False),
                                         lambda a, b: scipy.linalg.eigvalsh(a, b, lower=False),
                                         [definite(3, 3), definite(4, 4)[1:, 1:]], stacked=False, empty=False),
    "svd, values": Case(lambda x: orthogonal.svd(x, compute_uv=False), lambda x: numpy.linalg.svd(x, compute_uv=False),
                        [numbers(4, 3)], errors=[NAN_LINALG]),
    "svd, all": Case(recomposed, lambda x: x, [numbers(5, 3)]),
    "svd, all, wide": Case(recomposed, lambda x: x, [numbers(3, 5)]),
    "svd, left": Case(lambda x: abs(orthogonal.svd(x, full_matrices=False)[0]),
                      lambda x: abs(numpy.linalg.svd(x, full_matrices=False)[0]), [numbers(4, 3)], empty=False),
    "svd, right": Case(lambda x: abs(orthogonal.svd(x, full_matrices=False)[2]),
                       lambda x: abs(numpy.linalg.svd(x, full_matrices=False)[2]), [numbers(3, 4)], empty=False),
    "svd, full": Case(lambda x: abs(orthogonal.svd(x)[0])[..., :3], lambda x: abs(numpy.linalg.svd(x)[0])[..., :3],
                      [numbers(4, 3)], derivatives=False, empty=False),
    "qr, q": Case(lambda x: orthogonal.qr(x)[0], lambda x: numpy.linalg.qr(x)[0], [numbers(5, 3)]),
    "qr, r": Case(lambda x: orthogonal.qr(x)[1], lambda x: numpy.linalg.qr(x)[1], [numbers(5, 3)]),
    "qr, wide": Case(lambda x: orthogonal.qr(x)[1], lambda x: numpy.linalg.qr(x)[1], [numbers(3, 5)]),
    "qr, mode r": Case(lambda x: orthogonal.qr(x, "r"), lambda x: numpy.linalg.qr(x, "r"), [numbers(4, 3)]),
    "qr, complete": Case(lambda x: orthogonal.qr(x, "complete")[0], lambda x: numpy.linalg.qr(x, "complete")[0],
                         [numbers(4, 3)], derivatives=False),
    "qr, raw": Case(lambda x: orthogonal.qr(x, "raw")[0], lambda x: numpy.linalg.qr(x, "raw")[0], [numbers(4, 3)],
                    derivatives=False),
    **{f"slinalg.qr, {mode}, {place}, {shape}": Case(
        lambda x, mode=mode, place=place: orthogonal.scipy_qr(x, mode, pivoting=True)[place],
        each(lambda x, mode=mode, place=place: scipy.linalg.qr(x, mode=mode, pivoting=True)[place]), [numbers(*shape)],
        derivatives=(mode, place) in {("economic", 0), ("economic", 1), ("r", 0)}, empty=False)
       for mode, place, shape in [("economic", 0, (5, 3)), ("economic", 1, (3, 5)), ("economic", 2, (5, 3)),
                                  ("full", 0, (5, 3)), ("full", 1, (5, 3)), ("r", 0, (5, 3)), ("r", 0, (3, 5)),
                                  ("raw", 1, (4, 3))]},
    **{f"slinalg.qr, raw, {place}": Case(
        lambda x, place=place: orthogonal.scipy_qr(x, "raw")[0][place],
        each(lambda x, place=place: scipy.linalg.qr(x, mode="raw")[0][place]), [numbers(4, 3)], derivatives=False,
        empty=False) for place in range(2)},
    **{f"schur, {sort}, {place}": Case(
        lambda x, sort=sort, place=place: schur.schur(x, sort=sort)[place],
        each(lambda x, sort=sort, place=place: as_array(scipy.linalg.schur(x, sort=sort)[place])), [turned(5)],
        derivatives=False, empty=sort is None, errors=[NOT_SQUARE, NAN])
       for sort in [None, "lhp", "rhp", "iuc", "ouc"] for place in range(2 + (sort is not None))},
    "schur, complex": Case(lambda x: schur.schur(x, "complex")[0],
                           each(lambda x: scipy.linalg.schur(x, "complex")[0]), [turned(4)], derivatives=False,
                           empty=False),
    **{f"qz, {place}": Case(
        lambda a, b, place=place: schur.qz(a, b)[place],
        each(lambda a, b, place=place: scipy.linalg.qz(a, b)[place]), [turned(4), definite(4, 4)], derivatives=False,
        empty=False) for place in range(4)},
    **{f"ordqz, {sort}, {place}": Case(
        lambda a, b, sort=sort, place=place: schur.ordqz(a, b, sort)[place],
        each(lambda a, b, sort=sort, place=place: scipy.linalg.ordqz(a, b, sort)[place]),
        [turned(4) * 3, definite(4, 4)], derivatives=False, empty=False)
       for sort in ("lhp", "rhp", "iuc", "ouc") for place in range(6)},
    "solve_sylvester": Case(schur.solve_sylvester, each(scipy.linalg.solve_sylvester),
                            [definite(4, 4), distinct(3), numbers(4, 3)], empty=False),
    "solve_sylvester, triangular": Case(
        lambda a, b, q: schur.SolveSylvester(triangular=True)(triu(a), triu(b), q),
        each(lambda a, b, q: scipy.linalg.solve_sylvester(numpy.triu(a), numpy.triu(b), q)),
        [definite(4, 4), distinct(3), numbers(4, 3)], empty=False),
    "solve_continuous_lyapunov": Case(schur.solve_continuous_lyapunov, each(scipy.linalg.solve_continuous_lyapunov),
                                      [distinct(3), numbers(3, 3)], empty=False),
    "solve_discrete_lyapunov": Case(
        schur.solve_discrete_lyapunov,
        each(lambda a, q: scipy.linalg.solve_discrete_lyapunov(a, q, "bilinear").astype(a.dtype)),
        [numbers(3, 3) * 0.3, numbers(3, 3)], empty=False),
    "expm": Case(exponential.expm, each(scipy.linalg.expm), [numbers(3, 3)], empty=False, errors=[NOT_SQUARE]),
    **{f"lstsq, {name}": Case(lambda x, b, number=number: least_squares(x, b)[number],
                              lambda x, b, number=number: lstsq(x, b)[number], operands, derivatives=number != 2)
       for name, number, operands in [
           ("solution", 0, [numbers(5, 3), numbers(5, 2)]), ("wide", 0, [numbers(3, 5), numbers(3, 2)]),
           ("residuals", 1, [numbers(5, 3), numbers(5, 2)]), ("no residuals", 1, [numbers(3, 3), numbers(3, 2)]),
           ("rank", 2, [numbers(5, 3), numbers(5, 2)]), ("values", 3, [numbers(5, 3), numbers(5, 2)])]},
    "lstsq, vector": Case(lambda x, b: least_squares(x, b)[0], lambda x, b: lstsq(x, b)[0],
                          [numbers(5, 3), numbers(5)], stacked=False),
    "lstsq, vector, residual": Case(lambda x, b: least_squares(x, b)[1], lambda x, b: lstsq(x, b)[1],
                                    [numbers(5, 3), numbers(5)], stacked=False),
    "lstsq, rcond": Case(lambda x, b: least_squares(x, b, 0.5)[0], lambda x, b: lstsq(x, b, 0.5)[0],
                         [spread(5, 3), numbers(5, 2)], derivatives=False),
    "matrix_power": Case(lambda x: functions.matrix_power(x, 5), lambda x: numpy.linalg.matrix_power(x, 5),
                         [numbers(3, 3)]),
    "matrix_power, negative": Case(lambda x: functions.matrix_power(x, -2), lambda x: numpy.linalg.matrix_power(x, -2),
                                   [definite(3, 3)]),
    "matrix_power, zero": Case(lambda x: functions.matrix_power(x, 0), lambda x: numpy.linalg.matrix_power(x, 0),
                               [numbers(3, 3)], derivatives=False),
    "matrix_dot": Case(functions.matrix_dot, lambda x, y, z: x @ y @ z, [numbers(3, 3)] * 3),
    "tensorinv": Case(lambda x: functions.tensorinv(x.reshape((4, 3, 2, 6))),
                      lambda x: numpy.linalg.tensorinv(x.reshape(4, 3, 2, 6)), [definite(12, 12)], stacked=False,
                      empty=False),
    "tensorsolve": Case(lambda x, b: functions.tensorsolve(x.reshape((2, 3, 6)), b.reshape((2, 3))),
                        lambda x, b: numpy.linalg.tensorsolve(x.reshape(2, 3, 6), b.reshape(2, 3)),
                        [definite(6, 6), numbers(6, 1)], stacked=False, empty=False),
    "block_diag": Case(functions.block_diag, scipy.linalg.block_diag, [numbers(2, 3), numbers(1, 2)], stacked=False,
                       empty=False),
}
