"""Second derivatives of linear algebra: the gradient of a gradient, against differences of the gradient.

The first derivatives and the values are tested where each function is.
"""
import numpy
import pytest

import phintys.tensor as T

RANDOM = numpy.random.RandomState(0)
SQUARE = RANDOM.normal(size=(3, 3)) + 3 * numpy.eye(3)
POSITIVE = SQUARE @ SQUARE.T
TALL, VECTOR, LINE = RANDOM.normal(size=(4, 2)), RANDOM.normal(size=3), RANDOM.normal(size=2)
L = T.linalg


def symmetric(x):
    return (x + x.T) / 2


# Name → function, operands. Functions of eigenvectors and singular vectors take squares, whose signs are fixed.
CASES = {
    "det": (L.det, [SQUARE]), "slogdet": (lambda x: L.slogdet(x)[1], [SQUARE]), "inv": (L.inv, [SQUARE]),
    "pinv": (L.pinv, [TALL]), "solve": (L.solve, [SQUARE, VECTOR]), "matrix_power": (lambda x: L.matrix_power(x, 3), [
        SQUARE]),
    "solve of a triangle": (lambda x, b: T.slinalg.solve_triangular(T.tril(x), b, lower=True), [SQUARE, VECTOR]),
    "cho_solve": (lambda x, b: T.slinalg.cho_solve((L.cholesky(symmetric(x)), True), b), [POSITIVE, VECTOR]),
    "cholesky": (lambda x: L.cholesky(symmetric(x)), [POSITIVE]),
    "cholesky_update": (L.cholesky_update, [numpy.linalg.cholesky(POSITIVE), VECTOR]),
    "qr": (lambda x: T.sqr(L.qr(x)[1]), [TALL]), "svd": (lambda x: T.sqr(L.svd(x, full_matrices=False)[0]), [TALL]),
    "svdvals": (L.svdvals, [TALL]), "eigh": (lambda x: T.sqr(L.eigh(symmetric(x))[1]), [POSITIVE]),
    "eigvalsh": (lambda x: L.eigvalsh(symmetric(x)), [POSITIVE]),
    "lstsq": (lambda x, b: L.lstsq(x, b)[0], [TALL, RANDOM.normal(size=4)]),
    "norm": (L.norm, [TALL]), "nuclear norm": (lambda x: L.norm(x, "nuc"), [TALL]),
    "cond": (L.cond, [SQUARE]), "expm": (T.slinalg.expm, [SQUARE / 3]), "sqrtm": (L.sqrtm, [POSITIVE]),
    "logm": (L.logm, [POSITIVE]), "polar": (lambda x: L.polar(x)[1], [SQUARE]),
    "sylvester": (T.slinalg.solve_sylvester, [SQUARE, POSITIVE, SQUARE.T]),
    "toeplitz": (L.solve_toeplitz, [[4.0, 1.0, 0.5], VECTOR]),
    "circulant": (L.solve_circulant, [[4.0, 1.0, 0.5], VECTOR]),
    "banded": (lambda x, b: L.solve_banded((1, 1), x + [[0, 0, 0], [5, 5, 5], [0, 0, 0]], b), [SQUARE, VECTOR]),
    "tridiagonal": (lambda d, b: L.solve_tridiagonal(LINE, d + 4, LINE, b), [VECTOR, VECTOR]),
    "multi_dot": (lambda x, y: L.multi_dot([x, y, x]), [SQUARE, POSITIVE]),
    "kron": (T.kron, [LINE[None], VECTOR[None]]),
}


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name):
    build, operands = CASES[name]
    operands = [numpy.asarray(operand) for operand in operands]

    def slope(*given):
        found = build(*given)
        return T.grad(T.sum(found * T.cos(T.arange(found.size).reshape(found.shape, ndim=found.type.ndim))), given[0])
    T.verify_grad(slope, operands, rng=numpy.random.RandomState(1), abs_tol=1e-3, rel_tol=1e-3)
