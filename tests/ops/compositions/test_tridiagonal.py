"""`T.linalg.solve_tridiagonal`: NumPy's solutions, also where rows are exchanged, and derivatives of both orders."""
import numpy
import pytest

import phintys
import phintys.tensor as T


def system(count, columns=None, seed=0, scale=1.0):
    random = numpy.random.RandomState(seed)
    d = random.normal(size=count) * scale
    dl, du = random.normal(size=(2, count - 1))
    b = random.normal(size=count if columns is None else (count, columns))
    return dl, d, du, b


def dense(dl, d, du):
    return numpy.diag(dl, -1) + numpy.diag(d) + numpy.diag(du, 1)


@pytest.mark.parametrize("count", [1, 2, 3, 40])
@pytest.mark.parametrize("columns", [None, 3])
def test_solutions(count, columns):
    given = system(count, columns, scale=0.1)                 # rows are exchanged
    found = T.linalg.solve_tridiagonal(*given).eval()
    numpy.testing.assert_allclose(found, numpy.linalg.solve(dense(*given[:3]), given[3]), rtol=1e-9)


@pytest.mark.parametrize("columns", [None, 2])
def test_derivatives(columns):
    given = system(5, columns, seed=2)
    T.verify_grad(T.linalg.solve_tridiagonal, given, rng=numpy.random.RandomState(0))
    variables = [T.as_tensor_variable(part).type() for part in given]
    moves = [T.as_tensor_variable(part).type() for part in given]
    x = T.linalg.solve_tridiagonal(*variables)
    moved = phintys.function([*variables, *moves], T.Rop(x, variables, moves))
    step, directions = 1e-6, system(5, columns, seed=3)
    values = [T.linalg.solve_tridiagonal(*[part + sign * step * move for part, move in zip(given, directions)]).eval()
              for sign in (1, -1)]
    numpy.testing.assert_allclose(moved(*given, *directions), (values[0] - values[1]) / (2 * step), rtol=1e-6)
    assert all([part is not None for part in T.Rop(x, variables[:1], moves[:1]).owner.inputs])


def test_second_derivatives():
    given = system(4, seed=5)

    def slope(dl, d, du, b):
        return phintys.grad(T.sum(T.linalg.solve_tridiagonal(dl, d, du, b) ** 2), d)
    T.verify_grad(slope, given, rng=numpy.random.RandomState(0))


def test_a_pivot_of_zero_and_mistakes():
    assert numpy.isnan(T.linalg.solve_tridiagonal([0.0], T.as_tensor([0.0, 1.0]), [0.0], [1.0, 1.0]).eval()).all()
    assert T.linalg.solve_tridiagonal([1], T.as_tensor([2, 2]), [0], [2, 3]).eval().tolist() == [1, 1]
    with pytest.raises(ValueError, match="three real vectors and a vector or matrix are needed"):
        T.linalg.solve_tridiagonal([[1.0]], [1.0], [1.0], [1.0])
