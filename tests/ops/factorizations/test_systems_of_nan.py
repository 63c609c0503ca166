"""``on_error="nan"``: infinities and NaN are computed with, a singular system has the solution NaN, nothing raises."""
import numpy as np
import pytest

import phintys
from phintys import tensor as T
from phintys.tensor import slinalg

SINGULAR = np.diag([1.0, 0.0, 2.0])
CASES = {"general": slinalg.Solve(on_error="nan"),
         "lower triangular": slinalg.Solve("lower_triangular", True, on_error="nan"),
         "triangular": slinalg.SolveTriangular(True, on_error="nan"),
         "Cholesky factor": lambda a, b: slinalg.cho_solve((a, True), b, on_error="nan")}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("name", CASES)
def test_a_singular_system_has_the_solution_nan(name, mode):
    a, b = T.dmatrix("a"), T.dvector("b")
    f = phintys.function([a, b], CASES[name](a, b), mode=mode)
    assert np.isnan(f(SINGULAR, np.ones(3))).all()
    assert np.isnan(f(np.full((3, 3), np.nan), np.ones(3))).all()
    np.testing.assert_allclose(f(np.eye(3), np.arange(3.0)), np.arange(3.0))


@pytest.mark.parametrize("name", CASES)
def test_one_item_of_a_stack_is_nan_and_the_others_are_solved(name):
    a, b = T.dtensor3("a"), T.dtensor3("b")
    f = phintys.function([a, b], CASES[name](a, b))
    found = f(np.stack([np.eye(3), SINGULAR, np.eye(3)]), np.ones((3, 3, 2)))
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], np.ones((2, 3, 2)))


def test_the_gradient_and_shared_factors_are_nan_too():
    a, b = T.dmatrix("a"), T.dvector("b")
    cost = slinalg.Solve(on_error="nan")(a, b).sum()
    f = phintys.function([a, b], [cost, *phintys.grad(cost, [a, b])])
    assert len([node for node in f.maker.fgraph.toposort() if type(node.op).__name__ == "LUFactor"]) == 1
    assert all(np.isnan(value).all() for value in f(SINGULAR, np.ones(3)))
    assert all(np.isfinite(value).all() for value in f(np.eye(3), np.ones(3)))


def test_a_hint_keeps_it():
    a, b = T.dmatrix("a"), T.dvector("b")
    solve = slinalg.Solve(on_error="nan")
    f = phintys.function([a, b], solve(phintys.sandbox.linalg.psd(a), b))
    assert np.isnan(f(-np.eye(3), np.ones(3))).all()
    g = phintys.function([a, b], solve(slinalg.cholesky(a), b))
    np.testing.assert_allclose(g(4 * np.eye(3), np.ones(3)), 0.5)


def test_errors_are_raised_by_default():
    a, b = T.dmatrix("a"), T.dvector("b")
    with pytest.raises(ValueError, match="on_error"):
        slinalg.Solve(on_error="ignore")
    for solve in (slinalg.solve, slinalg.solve_triangular):
        f = phintys.function([a, b], solve(a, b))
        with pytest.raises(np.linalg.LinAlgError):
            f(SINGULAR, np.ones(3))
        with pytest.raises(ValueError):
            f(np.full((3, 3), np.nan), np.ones(3))
