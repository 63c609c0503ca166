"""Roots, fixed points and minima of Python functions of variables, and their derivatives of both orders.

That the steps are SciPy's is tested for PyTensor's graphs: ``tests/api/interop/test_pytensor_optimizers.py``.
"""
import numpy
import pytest
import scipy.optimize

import phintys
import phintys.tensor as T
from phintys import solvers
from phintys.solvers.optimizers import Optimizer


def is_native(f):
    """Whether no solver is called from Python."""
    return not any([isinstance(node.op, Optimizer) for node in f.maker.fgraph.apply_nodes])


# Of the unknown and a number, at 2: (solver, arguments, the solution by the number).
PROBLEMS = {
    "root": (lambda a: solvers.root(lambda x: x ** 3 - a * T.as_tensor([1.0, 4.0]), [1.0, 1.0]),
             lambda a: numpy.cbrt(a * numpy.array([1.0, 4.0]))),
    "root of a matrix": (lambda a: solvers.root(lambda x: T.dot(x, x) - a * T.eye(2), T.eye(2)),
                         lambda a: numpy.sqrt(a) * numpy.eye(2)),
    "root with args": (lambda a: solvers.root(lambda x, b: x ** 3 - b, [1.0], args=(a * 2,)),
                       lambda a: numpy.cbrt([2 * a])),
    "bracket": (lambda a: solvers.root_scalar(lambda x: x ** 3 - a, bracket=(0.0, 5.0)), numpy.cbrt),
    "newton": (lambda a: solvers.root_scalar(lambda x: x ** 3 - a, x0=1.0), numpy.cbrt),
    "halley": (lambda a: solvers.root_scalar(lambda x: x ** 3 - a, x0=1.0, method="halley", xtol=1e-12), numpy.cbrt),
    "fixed point": (lambda a: solvers.fixed_point(lambda x: (x + a / x) / 2, [1.0, 2.0]),
                    lambda a: numpy.sqrt(a) * numpy.ones(2)),
    "iteration": (lambda a: solvers.fixed_point(lambda x: (x + a / x) / 2, 1.0, method="iteration"), numpy.sqrt),
    "minimum": (lambda a: solvers.minimize(lambda x: ((x ** 2 - a) ** 2).sum(), [1.0, 2.0], tol=1e-10),
                lambda a: numpy.sqrt(a) * numpy.ones(2)),
    "minimum by pairs": (lambda a: solvers.minimize(lambda x: ((x ** 2 - a) ** 2).sum(), [1.0, 2.0], method="L-BFGS",
                                                    options={"gtol": 1e-7, "ftol": 0.0}),
                         lambda a: numpy.sqrt(a) * numpy.ones(2)),
    "minimum by Newton": (lambda a: solvers.minimize(lambda x: ((x ** 2 - a) ** 2).sum(), [1.0, 2.0], method="Newton",
                                                     tol=1e-7), lambda a: numpy.sqrt(a) * numpy.ones(2)),
    "minimum by SciPy": (lambda a: solvers.minimize(lambda x: ((x ** 2 - a) ** 2).sum(), [1.0, 2.0], method="Newton-CG",
                                                    tol=1e-12), lambda a: numpy.sqrt(a) * numpy.ones(2)),
    "another root": (lambda a: solvers.root(lambda x: x ** 3 - a, [1.0], method="lm", tol=1e-12),
                     lambda a: numpy.cbrt([a])),
}
# The last three only where their own searches fail.
BY_SCIPY = ("minimum by SciPy", "another root", "minimum", "minimum by pairs", "minimum by Newton")


@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions_and_derivatives_of_both_orders(name):
    build, wanted = PROBLEMS[name]
    a = T.dscalar("a")
    x, success = build(a)
    slope = phintys.grad((x * 1.0).sum(), a)
    f = phintys.function([a], [x, success, slope, phintys.grad(slope, a), T.Rop(x, a, T.constant(1.0))])
    found, good, first, second, forward = f(2.0)
    step = 1e-4
    low, middle, high = [wanted(value) for value in (2 - step, 2.0, 2 + step)]
    assert good and is_native(f) == (name not in BY_SCIPY)
    numpy.testing.assert_allclose(found, middle, rtol=1e-6, atol=1e-8)
    numpy.testing.assert_allclose(first, (high - low).sum() / (2 * step), rtol=1e-6)
    numpy.testing.assert_allclose(forward, (high - low) / (2 * step), rtol=1e-6, atol=1e-7)
    numpy.testing.assert_allclose(second, (high - 2 * middle + low).sum() / step ** 2, rtol=1e-4)


def test_what_the_function_reads_from_outside_has_derivatives():
    """Variables, computed ones and shared ones; not those that only the start reads."""
    a, start = T.dvector("a"), T.dvector("start")
    scale = phintys.shared(3.0)
    x = solvers.root(lambda x: x * scale - T.exp(a), start).x
    by_a, by_start, by_scale = phintys.grad(x.sum(), [a, start, scale])
    f = phintys.function([a, start], [x, by_a, by_start, by_scale])
    values = numpy.array([0.5, 1.0])
    numpy.testing.assert_allclose(f(values, [1.0, 1.0])[0], numpy.exp(values) / 3)
    numpy.testing.assert_allclose(f(values, [1.0, 1.0])[1], numpy.exp(values) / 3)
    assert f(values, [1.0, 1.0])[2].tolist() == [0, 0]
    numpy.testing.assert_allclose(f(values, [1.0, 1.0])[3], -numpy.exp(values).sum() / 9)


def test_fixed_points_are_those_of_scipy():
    c = numpy.array([1.2, 0.8])
    x = T.dvector("x")
    f = phintys.function([x], solvers.fixed_point(lambda x: T.sqrt(10 / (x + c)), x))
    found, success = f([1.2, 1.3])
    numpy.testing.assert_allclose(found, scipy.optimize.fixed_point(lambda x: numpy.sqrt(10 / (x + c)), [1.2, 1.3]),
                                  rtol=1e-12)
    assert success
    found, success = phintys.function([], solvers.fixed_point(lambda x: -x + 3, 1.0, method="iteration"))()
    assert not success and numpy.isfinite(found)


def test_a_start_of_float32_is_computed_in_float64():
    x = T.fvector("x")
    f = phintys.function([x], solvers.minimize(lambda x: ((x - 0.1) ** 2).sum(), x).x)
    assert f.maker.fgraph.outputs[0].type.dtype == "float64"
    numpy.testing.assert_allclose(f(numpy.ones(2, "float32")), [0.1, 0.1], rtol=1e-6)


def test_inside_a_loop():
    a = T.dvector("a")
    rows, _ = phintys.scan(lambda a: solvers.root_scalar(lambda x: x ** 3 - a, bracket=(0.0, 5.0)).x, sequences=[a])
    f = phintys.function([a], [rows, phintys.grad(rows.sum(), a)])
    values = numpy.array([1.0, 8.0, 27.0])
    numpy.testing.assert_allclose(f(values)[0], [1, 2, 3])
    numpy.testing.assert_allclose(f(values)[1], 1 / (3 * numpy.cbrt(values) ** 2))


@pytest.mark.parametrize("call, error, message", [
    (lambda: solvers.root(lambda x: x, [1j]), TypeError, "root: complex numbers are not supported"),
    (lambda: solvers.root(lambda x: x * 1j, [1.0]), TypeError, "root: the function must return real numbers"),
    (lambda: solvers.minimize(lambda x: x, [1.0]), TypeError, "minimize: the function must return a number"),
    (lambda: solvers.fixed_point(T.cos, 1.0, method="no"), ValueError, "method must be 'del2' or 'iteration'"),
    (lambda: solvers.root_scalar(T.cos), TypeError, "bracket or x0 must be given"),
    (lambda: solvers.minimize(T.sum, [1.0], method="CG", bounds=[(0, 1)]), ValueError, "'CG' takes no bounds; methods"),
    (lambda: solvers.minimize(T.sum, [1.0], bounds=[(0, 1, 2)]), ValueError, "bounds must be pairs of a least and"),
    (lambda: solvers.minimize(T.sum, [1.0], bounds=3), ValueError, "bounds must be pairs of a least and largest"),
    (lambda: solvers.minimize(T.sum, [1.0], bounds=[]), ValueError, "bounds must be pairs of a least and largest"),
    (lambda: solvers.minimize(T.sum, 1.0, bounds=[(0, 1)]), ValueError, "bounds of 1 dimensions for 0 of x0"),
    (lambda: solvers.minimize(T.sum, [1.0], bounds=[(1, 0)]), ValueError, "upper bound is less than the lower one")])
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()


VALLEYS = {
    "bowl": lambda v: ((v - T.arange(3)) ** 2 * T.arange(1, 4)).sum(),
    "valley": lambda v: (100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2).sum(),
    "hill": lambda v: T.exp(v).sum() + (v ** 2).sum() - 3 * v[0],
    "flat": lambda v: (v ** 4).sum(),
    "border": lambda v: (v - T.log(v)).sum(),
}


@pytest.mark.parametrize("method, other", [("L-BFGS", "L-BFGS-B"), ("Newton", "Newton-CG")])
def test_minima_of_loops_with_steps_of_their_own(method, other):
    """As low as SciPy's; where a search goes beyond a border, SciPy goes on."""
    draw, x = numpy.random.default_rng(2), T.dvector("x")
    for name, objective in VALLEYS.items():
        f = phintys.function([x], [*solvers.minimize(objective, x, method=method),
                                   *solvers.minimize(objective, x, method=other)])
        g = phintys.function([x], objective(x))
        for scale in (1, 3, 10):
            start = abs(scale * draw.normal(size=3)) + 0.1
            found, success, wanted, as_scipy = f(start)
            assert success == as_scipy, (name, start)
            assert not success or g(found) <= g(wanted) + 1e-7, (name, start)
    stopped = phintys.function([x], solvers.minimize(VALLEYS["valley"], x, method=method, options={"maxiter": 2}))
    assert not stopped([-1.0, 2.0, 3.0])[1]


def test_a_simplex_leaves_what_is_not_a_number_as_scipy_does():
    x = T.dvector("x")
    objective = T.sum(T.sqrt(x) + T.sqr(x) - x)
    f = phintys.function([x], list(solvers.minimize(lambda at: T.sum(T.sqrt(at) + T.sqr(at) - at), x,
                                                    method="Nelder-Mead")))
    for start in ([0.0, 0.0, 0.0], [0.02, 1.0], [0.1, 0.2, 0.3, 0.05], []):
        wanted = scipy.optimize.minimize(phintys.function([x], objective), start, method="Nelder-Mead")
        found, success = f(start)
        assert success == wanted.success
        numpy.testing.assert_allclose(found, wanted.x, atol=1e-10)


@pytest.mark.parametrize("method", ["Nelder-Mead", "Newton-CG"])
def test_minima_of_loops_with_the_steps_of_scipy(method):
    draw, x = numpy.random.default_rng(2), T.dvector("x")
    for name in ("bowl", "valley", "hill"):
        objective, start = VALLEYS[name], abs(draw.normal(size=3)) + 0.1
        f = phintys.function([x], list(solvers.minimize(objective, x, method=method)))
        derivatives = {} if method == "Nelder-Mead" else {
            "jac": phintys.function([x], T.grad(objective(x), x)),
            "hess": phintys.function([x], T.hessian(objective(x), x))}
        wanted = scipy.optimize.minimize(phintys.function([x], objective(x)), start, method=method, **derivatives)
        found, success = f(start)
        assert success and wanted.success
        numpy.testing.assert_allclose(found, wanted.x, atol=1e-10)
    stopped = phintys.function([x], solvers.minimize(VALLEYS["valley"], x, method=method, options={"maxiter": 4}))
    assert not stopped([-1.0, 2.0, 3.0])[1]


def test_a_simplex_of_other_shapes_and_its_derivatives():
    target, start = T.dmatrix("target"), T.dmatrix("start")
    found = solvers.minimize(lambda x: (T.sqr(x - target) * [1.0, 2.0]).sum(), start, method="Nelder-Mead", tol=1e-9)
    f = phintys.function([target, start], [found.x, found.success, phintys.grad(found.x[0, 0], target)])
    assert "0 Python calls" in f.explain()
    point, success, slope = f([[1.0, 2.0]], [[0.0, -3.0]])
    numpy.testing.assert_allclose(point, [[1.0, 2.0]], atol=1e-6)
    assert success and slope.tolist() == [[1.0, 0.0]]
    single = phintys.function([], solvers.minimize(lambda x: T.sqr(x - 3), 0.0, method="Nelder-Mead"))()
    numpy.testing.assert_allclose(single[0], 3.0, atol=1e-4)


# ---- bounds ----------------------------------------------------------------------------------------------------------
BOXES = {
    "none active": [(-9, 9), (-9, 9), (-9, 9)],
    "one active": [(-9, 0.5), (None, None), (-9, 9)],
    "one-sided": [(None, 0.2), (0.7, None), (None, None)],
    "fixed": [(0.3, 0.3), (-1, 1), (2, 2)],
    "all active": [(2, 3), (-3, -2), (5, 6)],
    "infinite": [(-numpy.inf, 0.2), (0.7, numpy.inf), (-numpy.inf, numpy.inf)],
}


@pytest.mark.parametrize("box", BOXES)
def test_minima_between_bounds_are_those_of_scipy(box):
    """Starts are inside and outside."""
    draw, x, bounds = numpy.random.default_rng(3), T.dvector("x"), BOXES[box]
    for name in ("bowl", "valley", "hill", "flat"):
        objective = VALLEYS[name]
        f = phintys.function([x], list(solvers.minimize(objective, x, bounds=bounds, options={"gtol": 1e-7})))
        g = phintys.function([x], [objective(x), T.grad(objective(x), x)])
        for scale in (1, 10):
            start = scale * draw.normal(size=3)
            wanted = scipy.optimize.minimize(g, start, jac=True, bounds=bounds, options={"gtol": 1e-7})
            found, success = f(start)
            assert success == wanted.success, (name, start)
            assert all([(low is None or low <= value) and (high is None or value <= high)
                        for value, (low, high) in zip(found, bounds)])
            assert g(found)[0] <= wanted.fun + 1e-7 * max(1, abs(wanted.fun)), (name, start)
            if name != "flat":
                numpy.testing.assert_allclose(found, wanted.x, atol=2e-3)


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP"])
def test_derivatives_with_bounds_that_hold(method):
    """Of the free unknowns by what the objective reads; of the others, by their bounds."""
    a, low, high = T.dvector("a"), T.dscalar("low"), T.dscalar("high")
    target = T.stack([a[0] * a[1], a[1] ** 2, a[0]])
    found = solvers.minimize(lambda x: (T.sqr(x - target) * [1, 2, 3]).sum() + x[0] * x[1], T.zeros(3), method=method,
                             bounds=[(None, None), (low, None), (None, high)], options={"ftol": 1e-14}).x
    rows = T.jacobian(found, [a, low, high])
    f = phintys.function([a, low, high], [found, *rows])
    point, by_a, by_low, by_high = f([1.0, 0.5], 3.0, 0.25)
    numpy.testing.assert_allclose(point, [0.5 - 1.5, 3.0, 0.25], atol=1e-6)
    numpy.testing.assert_allclose(by_a, [[0.5, 1], [0, 0], [0, 0]], atol=1e-6)
    numpy.testing.assert_allclose(by_low, [-0.5, 1, 0], atol=1e-6)
    numpy.testing.assert_allclose(by_high, [0, 0, 1], atol=1e-6)
    with pytest.raises(AssertionError, match="upper bound is less than the lower one"):
        phintys.function([low], solvers.minimize(T.sum, [0.0], bounds=[(low, 1.0)]).x)(2.0)


def test_bounds_of_a_matrix_by_an_object_and_no_steps():
    x = T.dmatrix("x")
    found = solvers.minimize(lambda x: T.sqr(x - 2).sum(), x, bounds=scipy.optimize.Bounds([0, 3], [1, numpy.inf]))
    point, success = phintys.function([x], list(found))(numpy.zeros((2, 2)))
    assert success and point.tolist() == [[1, 3], [1, 3]]
    stopped = solvers.minimize(VALLEYS["valley"], [-1.0, 0.5, 0.5], bounds=[(-2, 2)] * 3, options={"maxiter": 2})
    assert not phintys.function([], stopped.success)()
