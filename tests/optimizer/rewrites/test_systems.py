"""Inverses, determinants and systems: which ops a graph ends with, that values stay equal, and what is left alone."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.factorizations.cholesky import cholesky
from phintys.ops.factorizations.hints import psd
from phintys.ops.factorizations.inverse import det, matrix_inverse, slogdet
from phintys.ops.factorizations.solve import Solve, solve, solve_triangular

A, B, v = T.dmatrix("A"), T.dmatrix("B"), T.dvector("v")
RANDOM = numpy.random.default_rng(0)
SQUARE = RANDOM.normal(size=(4, 4))
VALUES = {A: SQUARE @ SQUARE.T + numpy.eye(4), B: RANDOM.normal(size=(4, 3)), v: RANDOM.normal(size=4)}
FACTORIZATIONS = {"MatrixInverse", "Solve", "SolveTriangular", "Det", "SLogDet", "Cholesky", "LUFactor", "LUSolve",
                  "FactoredDeterminant", "Adjugate", "Hint", "CholeskyInverse"}


def compiled(*outputs):
    inputs = [x for x in VALUES if any([x in phintys.gof.graph.ancestors([output]) for output in outputs])]
    function = phintys.function(inputs, list(outputs), mode="FAST_RUN")
    plain = phintys.function(inputs, list(outputs), mode="FAST_COMPILE")
    arrays = [VALUES[x] for x in inputs]
    for got, wanted in zip(function(*arrays), plain(*arrays)):
        numpy.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    return function


def ops_of(function):
    """The names of ops of linear algebra; those of solutions with their structure."""
    names = [(type(node.op).__name__, node.op) for node in function.maker.fgraph.toposort()]
    return " ".join([op.A_structure if name == "Solve" else name for name, op in names if name in FACTORIZATIONS])


CASES = {
    "inverse times vector": (lambda: matrix_inverse(A).dot(v), "general"),
    "inverse times matrix": (lambda: matrix_inverse(A).dot(B), "general"),
    "vector times inverse": (lambda: v.dot(matrix_inverse(A)), "general"),
    "matrix times inverse": (lambda: B.T.dot(matrix_inverse(A)), "general"),
    "transposed inverse": (lambda: matrix_inverse(A).T.dot(v), "general"),
    "inverse times both": (lambda: (matrix_inverse(A).dot(v), matrix_inverse(A).dot(B)), "LUFactor LUSolve LUSolve"),
    "inverse with other readers": (lambda: (matrix_inverse(A).dot(v), matrix_inverse(A)), "MatrixInverse"),
    "inverse of psd": (lambda: matrix_inverse(psd(A)), "Cholesky CholeskyInverse"),
    "inverse of psd times": (lambda: matrix_inverse(psd(A)).dot(v), "Cholesky SolveTriangular SolveTriangular"),
    "solve of psd": (lambda: solve(psd(A), B), "Cholesky SolveTriangular SolveTriangular"),
    "solve of psd transposed": (lambda: solve(psd(A).T, B), "Cholesky SolveTriangular SolveTriangular"),
    "solve with a factor": (lambda: solve(cholesky(A), v), "Cholesky lower_triangular"),
    "solve with a transposed factor": (lambda: solve(cholesky(A).T, v), "Cholesky upper_triangular"),
    "solve with a triangle": (lambda: solve(T.triu(A), v), "upper_triangular"),
    "solve with another triangle": (lambda: solve(T.triu(A, -1), v), "general"),
    "log of det": (lambda: T.log(det(A)), "SLogDet"),
    "log of abs of det": (lambda: T.log(abs(det(-A))), "SLogDet"),
    "log of det of psd": (lambda: T.log(det(psd(A))), "Cholesky"),
    "slogdet of psd": (lambda: slogdet(psd(A))[1], "Cholesky"),
    "log of det beside a factor": (lambda: (T.log(det(A)), cholesky(A)), "Cholesky"),
    "det": (lambda: det(A), "Det"),
    "one factorization for all": (lambda: (det(A), matrix_inverse(A), solve(A, v), solve(A.T, B), slogdet(A.T)[1]),
                                  "LUFactor FactoredDeterminant LUSolve LUSolve LUSolve FactoredDeterminant"),
    "the gradient of solve": (lambda: (solve(A, v), *phintys.grad(solve(A, v).sum(), [A, v])),
                              "LUFactor LUSolve LUSolve"),
    "the gradient of det": (lambda: (det(A), phintys.grad(det(A), A)), "Det Adjugate"),
    "the gradient of slogdet": (lambda: (slogdet(A)[1], phintys.grad(slogdet(A)[1], A)),
                                "LUFactor FactoredDeterminant LUSolve"),
}


@pytest.mark.parametrize("name", CASES)
def test_ops(name):
    build, wanted = CASES[name]
    outputs = build()
    assert sorted(ops_of(compiled(*(outputs if isinstance(outputs, tuple) else (outputs,)))).split()) \
        == sorted(wanted.split())


def test_a_log_density_with_its_gradient_factors_once():
    covariance = psd(A)
    density = -0.5 * v.dot(solve(covariance, v)) - 0.5 * T.log(det(covariance))
    assert ops_of(compiled(density, *phintys.grad(density, [A, v]))).split().count("Cholesky") == 1


def test_logarithms_of_negative_and_zero_determinants():
    f = phintys.function([A], T.log(det(A)))
    assert numpy.isnan(f(numpy.diag([1.0, -1.0]))) and f(numpy.zeros((2, 2))) == -numpy.inf
    assert f(numpy.eye(400) * 1e-3) == pytest.approx(400 * numpy.log(1e-3))


def test_complex_matrices_share_factors():
    x, b = T.zmatrix(), T.zvector()
    solution, adjoint = solve(x, b), solve(x.conj().T, b)
    value, side = SQUARE + 1j * VALUES[A], VALUES[v] * 1j
    f = phintys.function([x, b], [solution, adjoint, det(x.conj())])
    assert sorted(ops_of(f).split()) == ["FactoredDeterminant", "LUFactor", "LUSolve", "LUSolve"]
    for got, wanted in zip(f(value, side), [numpy.linalg.solve(value, side), numpy.linalg.solve(value.conj().T, side),
                                            numpy.linalg.det(value.conj())]):
        numpy.testing.assert_allclose(got, wanted)


def test_stacks_share_factors():
    x = T.dtensor3()
    value = numpy.stack([VALUES[A], SQUARE])
    f = phintys.function([x], [matrix_inverse(x), det(x)])
    assert sorted(ops_of(f).split()) == ["FactoredDeterminant", "LUFactor", "LUSolve"]
    for got, wanted in zip(f(value), [numpy.linalg.inv(value), numpy.linalg.det(value)]):
        numpy.testing.assert_allclose(got, wanted)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("on_error", ["raise", "nan"])
def test_a_stack_of_systems_with_one_matrix_is_one_system(columns, on_error):
    right = T.TensorType("float64", (False, False, columns == 1))()
    stack = T.alloc(A, right.shape[0], A.shape[0], A.shape[1])
    sides = RANDOM.normal(size=(5, 4, columns))
    for solved, matrix in ((solve_triangular(stack, right, lower=True, on_error=on_error), numpy.tril(VALUES[A])),
                           (Solve(on_error=on_error)(stack, right), VALUES[A])):
        f = phintys.function([A, right], solved)
        node, = [node for node in f.maker.fgraph.toposort() if type(node.op).__name__.startswith("Solve")]
        assert [variable.type.ndim for variable in node.inputs] == [2, 2]
        numpy.testing.assert_allclose(f(VALUES[A], sides), numpy.linalg.solve(matrix, sides))
        assert f(VALUES[A], sides[:0]).shape == (0, 4, columns)
        if on_error == "nan":
            assert numpy.isnan(f(numpy.zeros((4, 4)), sides)).all()
    g = phintys.function([A, right], solve_triangular(T.alloc(A[0], *stack.shape), right))      # other matrices, too
    node, = [node for node in g.maker.fgraph.toposort() if type(node.op).__name__.startswith("Solve")]
    assert node.inputs[0].type.ndim == 3


def test_matrices_of_one_element_share_factors():
    x = T.TensorType("float64", (True, True))()
    inverse, determinant = phintys.function([x], [matrix_inverse(x), det(x)])([[4.0]])
    assert inverse.tolist() == [[0.25]] and determinant == 4


def test_shared_factors_report_singular_matrices_and_nan():
    f = phintys.function([A, v], [solve(A, v), det(A)])
    with pytest.raises(numpy.linalg.LinAlgError, match="singular"):
        f(numpy.ones((2, 2)), numpy.ones(2))
    with pytest.raises(ValueError, match="infs or NaNs"):
        f(numpy.full((2, 2), numpy.nan), numpy.ones(2))
