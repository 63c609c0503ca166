"""Gradients of log-densities of normal distributions: no more work than a person would write by hand."""
import numpy
import pytest
from family_cases import check_gradient

import phintys
import phintys.tensor as T
from phintys.tensor.slinalg import (
    Cholesky,
    cho_solve,
    cholesky,
    solve,
    solve_lower_triangular,
    solve_triangular,
    solve_upper_triangular,
)

RANDOM = numpy.random.default_rng(0)
ROOT = RANDOM.normal(size=(5, 5))
MATRIX, VECTOR, SIDES = ROOT @ ROOT.T + 5 * numpy.eye(5), RANDOM.normal(size=5), RANDOM.normal(size=(5, 3))


def log_diagonal(factor):
    return T.log(T.diagonal(factor)).sum()


def upper(matrix):
    return Cholesky(lower=False)(matrix)


def by_one_factor(K, b):
    factor = cholesky(K)
    return b.dot(solve_upper_triangular(factor.T, solve_lower_triangular(factor, b))) + log_diagonal(factor)


# Name: a cost of a matrix and a vector; whether its gradient needs no solution for a whole matrix.
DENSITIES = {
    "solve_triangular": (lambda K, b: -0.5 * (solve_triangular(cholesky(K), b, lower=True) ** 2).sum()
                         - log_diagonal(cholesky(K)), True),
    "cho_solve": (lambda K, b: -0.5 * b.dot(cho_solve((cholesky(K), True), b)) - log_diagonal(cholesky(K)), True),
    "solve_lower_triangular": (lambda K, b: (solve_lower_triangular(cholesky(K), b) ** 2).sum(), True),
    "both triangles": (lambda K, b: b.dot(solve_upper_triangular(
        cholesky(K).T, solve_lower_triangular(cholesky(K), b))), True),
    "both triangles of one factor": (by_one_factor, True),
    "solve": (lambda K, b: (solve(cholesky(K), b) ** 2).sum() - log_diagonal(cholesky(K)), True),
    "upper factor": (lambda K, b: (solve_triangular(upper(K), b, trans=1) ** 2).sum() + log_diagonal(upper(K)), False),
    "scaled": (lambda K, b: 3 * b[0] * (solve_triangular(cholesky(K), b, lower=True) ** 2).sum(), True),
    "logarithm of the determinant": (lambda K, b: log_diagonal(cholesky(K)), True),
    "another function of the diagonal": (lambda K, b: T.diagonal(cholesky(K)).sum(), False),
    "not symmetric": (lambda K, b: solve_triangular(cholesky(K), b, lower=True).sum() - log_diagonal(cholesky(K)),
                      False),
    "the factor itself": (lambda K, b: (cholesky(K) ** 3).sum() + (solve_triangular(cholesky(K), b, lower=True) ** 2)
                          .sum() + log_diagonal(cholesky(K)), False),
    "a triangle of the factor": (lambda K, b: (T.tril(cholesky(K), -1) ** 2).sum() + cholesky(K)[1:, 0].sum(), False),
}


@pytest.mark.parametrize("name", [*DENSITIES])
def test_gradients(name):
    build, cheap = DENSITIES[name]
    check_gradient(build, [MATRIX, VECTOR])
    check_gradient(lambda K, b: (phintys.grad(build(K, b), K) ** 2).sum(), [MATRIX, VECTOR])
    K, b = T.dmatrix("K"), T.dvector("b")
    cost = build(K, b)
    gradient = phintys.grad(cost, K)
    f, plain = [phintys.function([K, b], [cost, gradient], mode=mode, on_unused_input="ignore")
                for mode in ("FAST_RUN", "FAST_COMPILE")]
    for found, wanted in zip(f(MATRIX, VECTOR), plain(MATRIX, VECTOR)):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    ranks = [node.inputs[1].type.ndim for node in f.maker.fgraph.toposort()
             if type(node.op).__name__ in ("SolveTriangular", "Solve")]
    assert (2 in ranks) != cheap
    if cheap:
        assert not any([type(node.op).__name__.startswith("Dot") for node in f.maker.fgraph.toposort()
                        if node.outputs[0].type.ndim == 2])


def test_right_hand_sides_of_a_stack():
    def cost(K, b):
        factor = cholesky(K)
        return (solve_triangular(factor, b, lower=True) ** 2).sum() + T.log(T.diagonal(factor, 0, -2, -1)).sum()
    check_gradient(cost, [MATRIX, SIDES])
    check_gradient(cost, [numpy.stack([MATRIX, 2 * MATRIX]), numpy.stack([SIDES, -SIDES])])
    check_gradient(lambda K, b: (cho_solve((cholesky(K), True), b) * b).sum(),
                   [numpy.stack([MATRIX, MATRIX]), SIDES[None]])


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_other_dtypes(dtype):
    """Against the formula without its shortcuts."""
    matrix = MATRIX.astype(dtype)
    if dtype.startswith("complex"):
        matrix = matrix + 1j * (numpy.tril(ROOT, -1) - numpy.tril(ROOT, -1).T).astype(dtype) * 0.3
        matrix = matrix.astype(dtype)
    K, b = T.matrix(dtype=dtype), T.vector(dtype=dtype)
    factor = cholesky(K)
    cost = (abs(solve_triangular(factor, b, lower=True)) ** 2).sum() + T.log(abs(T.diagonal(factor))).sum()
    opaque = factor + 0 * factor.sum()                 # no longer the factor that the solution is for
    same = (abs(solve_triangular(opaque, b, lower=True)) ** 2).sum() + T.log(abs(T.diagonal(opaque))).sum()
    f = phintys.function([K, b], [phintys.grad(cost, K), phintys.grad(same, K)])
    found, wanted = f(matrix, VECTOR.astype(dtype))
    assert found.dtype == dtype
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-11
    numpy.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_factors_of_nan_have_gradients_of_nan():
    K, b = T.dmatrix(), T.dvector()
    factor = Cholesky(on_error="nan")(K)
    white = solve_triangular(factor, b, lower=True, on_error="nan")
    cost = (white ** 2).sum() + T.log(T.diagonal(factor)).sum()
    f = phintys.function([K, b], [cost, phintys.grad(cost, K)])
    assert numpy.isnan(f(-MATRIX, VECTOR)[1]).all()
    assert numpy.isfinite(f(MATRIX, VECTOR)[1]).all()
    assert any([type(node.op).__name__ == "CholeskyInverse" for node in f.maker.fgraph.toposort()])


def test_inverses_of_positive_definite_matrices():
    from phintys.sandbox.linalg.ops import psd
    x = T.tensor3(dtype="float64")
    f = phintys.function([x], T.nlinalg.matrix_inverse(psd(x)))
    assert any([type(node.op).__name__ == "CholeskyInverse" for node in f.maker.fgraph.toposort()])
    numpy.testing.assert_allclose(f(numpy.stack([MATRIX, 3 * MATRIX])), numpy.linalg.inv([MATRIX, 3 * MATRIX]))
    with pytest.raises(numpy.linalg.LinAlgError, match="not positive definite"):
        f(-MATRIX[None])
