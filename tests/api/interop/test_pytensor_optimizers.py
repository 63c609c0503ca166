"""Minima and roots of PyTensor's graphs: SciPy's methods on functions of phintys, or loops that do the same, against
PyTensor's Python mode."""
import ctypes
import inspect
import pickle
import threading
from functools import partial

import numpy as np
import pytest
import scipy.optimize

pytest.importorskip("pytensor_reference")

import pytensor_reference as reference
from pytensor.graph.replace import vectorize_graph
from pytensor.tensor.optimize import minimize, minimize_scalar, root, root_scalar
from pytensor_reference import pytensor

import phintys
from phintys.interop.pytensor import translate
from phintys.interop.pytensor.fallback import Performed
from phintys.interop.pytensor_versions import version_of
from phintys.solvers.optimizers import Minimum, Optimizer

pt = pytensor.tensor
VERSION = version_of(pytensor.__version__)
pytestmark = [pytest.mark.filterwarnings("ignore")]

A, B = pt.dscalar("a"), pt.dvector("b")
U, V = pt.dscalar("u"), pt.dvector("v")
VALUES = {A: 2.5, B: np.array([0.5, 1.0, 2.0]), U: np.float64(1.5), V: np.array([1.0, 1.5, 1.2])}
HILL = (V - B) ** 2 @ pt.exp(A * pt.arange(3) / 10) + (V[0] * V[1] - A) ** 2
DIP = (U - A) ** 2 + pt.cosh(U) * B.sum() / 10
SYSTEM = V ** 3 + A * V[::-1] - pt.exp(B) - 2
EQUATION = U ** 3 + U * B.sum() - A

VARIABLE_BRACKETS = "bracket" in inspect.signature(root_scalar).parameters     # an argument since PyTensor 3.3


def bracket(first, last):
    limits = {"bracket": [first, last]}
    return limits if VARIABLE_BRACKETS else {"optimizer_kwargs": limits}


BRACKETING = "bisect brentq brenth ridder toms748".split()
WITH_GRADIENT = "CG BFGS L-BFGS-B TNC SLSQP".split()
WITH_HESSIAN = "Newton-CG dogleg trust-ncg trust-krylov trust-exact trust-constr".split()
WITHOUT_JACOBIAN = "Nelder-Mead Powell COBYLA".split()
PROBLEMS = {
    **{f"minimize, {method}": (minimize, HILL, V, {"method": method}) for method in WITH_GRADIENT},
    **{f"minimize, {method}": (minimize, HILL, V, {"method": method, "hess": True}) for method in WITH_HESSIAN},
    **{f"minimize, {method}": (minimize, HILL, V, {"method": method, "jac": False}) for method in WITHOUT_JACOBIAN},
    "minimize, options": (minimize, HILL, V, {"method": "BFGS", "optimizer_kwargs": {
        "tol": 1e-3, "options": {"maxiter": 3}}}),
    "minimize, bounds": (minimize, HILL, V, {"method": "L-BFGS-B", "optimizer_kwargs": {"bounds": [(-1, 1.1)] * 3}}),
    "minimize, a number": (minimize, DIP, U, {"method": "BFGS"}),
    "minimize, Hessian of a number": (minimize, DIP, U, {"method": "trust-exact", "hess": True}),
    **{f"minimize_scalar, {method}": (minimize_scalar, DIP, U, {"method": method}) for method in ("brent", "golden")},
    "minimize_scalar, options": (minimize_scalar, DIP, U, {"optimizer_kwargs": {"tol": 1e-3}}),
    **{f"root, {method}": (root, SYSTEM, V, {"method": method}) for method in ("hybr", "lm")},
    "root, options": (root, SYSTEM, V, {"optimizer_kwargs": {"options": {"maxfev": 3}}}),
    "root, a number": (root, EQUATION, U, {}),
    "root_scalar, secant": (root_scalar, EQUATION, U, {"method": "secant"}),
    "root_scalar, newton": (root_scalar, EQUATION, U, {"method": "newton", "jac": True}),
    "root_scalar, halley": (root_scalar, EQUATION, U, {"method": "halley", "jac": True, "hess": True}),
    "root_scalar, too few steps": (root_scalar, EQUATION, U, {"method": "secant", "optimizer_kwargs": {"maxiter": 2}}),
    **{f"root_scalar, {method}": (root_scalar, EQUATION, U, {
        "method": method, **bracket(-3.0, 3.0)})
       for method in BRACKETING},
}
if VARIABLE_BRACKETS:
    PROBLEMS |= {
        "root_scalar, a variable bracket": (root_scalar, EQUATION, U, {"method": "brentq", "bracket": [-A, A]}),
        "minimize_scalar, variable bounds": (minimize_scalar, DIP, U, {"method": "bounded", "bounds": [A - 2, A]}),
        "minimize_scalar, a bracket": (minimize_scalar, DIP, U, {"bracket": [-A, A]}),
    }
ROUGH = {"minimize, COBYLA": 1e-3}        # roundings grow: to what the method promises


def solution_of(function, value, unknown, options):
    """The solution, whether it was found, and the gradient of a cost with respect to the other arguments."""
    found, converged = function(value, unknown, **options)
    cost = (found * pt.arange(1, 4) if found.ndim else found).sum()
    return [found, converged, *pytensor.grad(cost, [A, B], disconnected_inputs="ignore")]


def is_native(f):
    return not any([isinstance(node.op, Performed) for node in f.vm.jit_fn.maker.fgraph.apply_nodes])


# PyTensor's own code fails for these before 3.1.
COMPARED = [name for name in PROBLEMS if VERSION >= (3, 1) or name.removeprefix("root_scalar, ") not in BRACKETING]


@pytest.mark.parametrize("name", COMPARED)
def test_solutions_and_gradients_are_those_of_pytensor(name):
    arguments = [A, B, PROBLEMS[name][2]]
    f, g = reference.functions(arguments, solution_of(*PROBLEMS[name]))
    assert is_native(f)
    values = [VALUES[variable] for variable in arguments]
    for value, other in zip(f(*values), g(*values), strict=True):
        assert value.dtype == other.dtype and value.shape == other.shape
        np.testing.assert_allclose(value, other, rtol=ROUGH.get(name, 1e-7), atol=ROUGH.get(name, 1e-9))


@pytest.mark.parametrize("method", BRACKETING)
def test_brackets_of_numbers(method):
    value = pytensor.function([A, B, U], root_scalar(EQUATION, U, method=method, **bracket(-3.0, 3.0)), mode="PHINTYS")
    a, b, start = VALUES[A], VALUES[B], VALUES[U]
    wanted = scipy.optimize.root_scalar(lambda u: u ** 3 + u * b.sum() - a, method=method, bracket=(-3, 3))
    found, converged = value(a, b, start)
    assert converged
    np.testing.assert_allclose(found, wanted.root, rtol=1e-12)


# An equation, its two derivatives, a start, and a bracket: easy ones, with a root at an end or at the start, without a
# root, with a flat place at the start, with steps that lead away, with places that have no value.
EQUATIONS = {
    "a cube": (lambda x, m: x ** 3 - x - 2, lambda x, m: 3 * x ** 2 - 1, lambda x, m: 6 * x, 1.5, (1.0, 2.0)),
    "a root at an end": (lambda x, m: x * (x - 3), lambda x, m: 2 * x - 3, lambda x, m: 2 + 0 * x, 3.0, (0.0, 2.0)),
    "a root at the other end": (lambda x, m: x ** 3 + x - 10, lambda x, m: 3 * x ** 2 + 1, lambda x, m: 6 * x, 2.0,
                                (0.0, 2.0)),
    "no root": (lambda x, m: x ** 2 + 1, lambda x, m: 2 * x, lambda x, m: 2 + 0 * x, 0.7, None),
    "flat": (lambda x, m: x ** 2 - 1, lambda x, m: 2 * x, lambda x, m: 2 + 0 * x, 0.0, (-3.0, 0.5)),
    "far away": (lambda x, m: m.arctan(x - 5), lambda x, m: 1 / (1 + (x - 5) ** 2),
                 lambda x, m: -2 * (x - 5) / (1 + (x - 5) ** 2) ** 2, 3.0, (-10.0, 50.0)),
    "a double root": (lambda x, m: (x - 1) ** 3, lambda x, m: 3 * (x - 1) ** 2, lambda x, m: 6 * (x - 1), 4.0,
                      (-1.0, 5.5)),
    "no value": (lambda x, m: m.sqrt(x - 1) - 2, lambda x, m: 0.5 / m.sqrt(x - 1),
                 lambda x, m: -0.25 / m.sqrt(x - 1) ** 3, 0.5, (-1.0, 9.0)),
    "steep": (lambda x, m: m.exp(20 * x) - 3, lambda x, m: 20 * m.exp(20 * x), lambda x, m: 400 * m.exp(20 * x), 0.6,
              (-2.0, 1.0)),
}
DERIVATIVES = {"newton": 1, "halley": 2}
LOOPS = ["newton", "halley", "secant", "bisect", "brentq", "brenth"]


@pytest.mark.parametrize("method", LOOPS)
def test_loops_do_what_scipy_does(method):
    """The same root and the same report, also after few steps, for all equations; and no Python code runs."""
    settings = [{}, {"maxiter": 3}, {"xtol": 1e-2}, {"rtol": 1e-3}]
    for name, (value, *slopes, start, limits) in EQUATIONS.items():
        for setting in settings:
            derivatives = [partial(each, m=np) for each in slopes[:DERIVATIVES.get(method, 0)]]
            given = dict(zip(("fprime", "fprime2"), derivatives))
            options = {"optimizer_kwargs": setting}
            if method in BRACKETING:
                if limits is None:
                    continue
                given["bracket"] = limits
                options = bracket(*limits)
                options["optimizer_kwargs"] = {**options.get("optimizer_kwargs", {}), **setting}
            wanted = scipy.optimize.root_scalar(partial(value, m=np), method=method, x0=start, **given, **setting)
            f = pytensor.function([U], root_scalar(value(U, pt), U, method, "fprime" in given, "fprime2" in given,
                                                   **options), mode="PHINTYS")
            assert not any([isinstance(node.op, Optimizer) for node in f.vm.jit_fn.maker.fgraph.apply_nodes])
            found, converged = f(start)
            assert converged == wanted.converged, (name, setting)
            np.testing.assert_allclose(found, wanted.root, rtol=1e-9, atol=1e-11, err_msg=f"{name}, {setting}")


def test_roots_are_in_c_functions():
    """A loop and its gradient need no Python, so that threads of C may call them."""
    both = pt.dvector("both")
    found = root_scalar(U ** 3 + U - both[0], U, method="newton", jac=True)[0] * both[1]
    point, start, value, slope = translate([both, U, found, pytensor.grad(found, both)])
    value, slope = phintys.clone([value, slope], {start: phintys.tensor.constant(np.float64(1.5))})
    f = phintys.function([point], [value, slope])
    given, out = np.array([2.5, 3.0]), np.full(3, np.nan)
    entry = f.c_function("expand")
    doubles = ctypes.POINTER(ctypes.c_double)
    assert entry.ctypes(2, 3, given.ctypes.data_as(doubles), out.ctypes.data_as(doubles), None) == 0
    np.testing.assert_array_equal(out, np.concatenate([each.reshape(-1) for each in f(given)]))
    x = out[0] / 3
    np.testing.assert_allclose([x ** 3 + x, out[1], out[2]], [2.5, 3 / (3 * x ** 2 + 1), x], rtol=1e-9)


@pytest.mark.parametrize("setting", [{"xtol": -1.0}, {"rtol": 1e-20}, {"tolerance": 1}])
def test_options_that_scipy_refuses(setting):
    options = bracket(1.0, 2.0)
    options["optimizer_kwargs"] = {**options.get("optimizer_kwargs", {}), **setting}
    f = pytensor.function([U], root_scalar(U ** 3 - U - 2, U, "brentq", **options)[0], mode="PHINTYS")
    with pytest.raises((ValueError, TypeError), match="xtol|rtol|tolerance"):
        f(1.0)


@pytest.mark.parametrize("name", ["minimize, trust-exact", "root, hybr", "root_scalar, newton",
                                  "minimize, Hessian of a number"])
def test_derivatives_of_translated_solutions(name):
    """The gradient is PyTensor's and that of differences; along a direction it is their product."""
    function, value, unknown, options = PROBLEMS[name]
    a, b, start, solution, by_a, by_b = translate([A, B, unknown, function(value, unknown, **options)[0],
                                                   *solution_of(*PROBLEMS[name])[2:]])
    T = phintys.tensor
    cost = (solution * T.arange(1, 4) if solution.ndim else solution).sum()
    gradients = phintys.grad(cost, [a, b])
    along = T.Rop(solution, [a, b], [T.ones_like(a), T.ones_like(b)])
    f = phintys.function([a, b, start], [cost, *gradients, by_a, by_b, along, T.grad(cost, start)],
                         on_unused_input="ignore")
    values = [VALUES[variable] for variable in (A, B, unknown)]
    cost, *found, wanted_a, wanted_b, along, by_start = f(*values)
    for each, other in zip(found, (wanted_a, wanted_b)):
        np.testing.assert_allclose(each, other, rtol=1e-7)
    np.testing.assert_allclose((along * [1, 2, 3] if np.ndim(along) else along).sum(), found[0] + found[1].sum(),
                               rtol=1e-9)
    assert not by_start.any()
    moved = [f(values[0] + step, values[1] + step, values[2])[0] for step in (1e-4, -1e-4)]
    np.testing.assert_allclose((moved[0] - moved[1]) / 2e-4, found[0] + found[1].sum(), rtol=1e-4)


def test_problems_that_only_differ_inside_are_told_apart():
    """PyTensor's RootOp before 3.1 says that they are equal, so that its own functions may solve only one."""
    b, start, *found = translate([B, V, *[root(V ** power - B, V)[0] for power in (3, 5)]])
    f = phintys.function([b, start], found)
    for power, found in zip((3, 5), f(VALUES[B], VALUES[V])):
        np.testing.assert_allclose(found, VALUES[B] ** (1 / power), rtol=1e-6)


@pytest.mark.parametrize("method", ["hybr", "krylov", "df-sane"])
def test_root_without_a_jacobian(method):
    """PyTensor gives SciPy a list then, which most methods refuse."""
    found, converged = pytensor.function([A, B, V], root(SYSTEM, V, method, jac=False), mode="PHINTYS")(
        *[VALUES[variable] for variable in (A, B, V)])
    assert converged
    zero = pytensor.function([A, B, V], SYSTEM, mode="PHINTYS")(VALUES[A], VALUES[B], found)
    np.testing.assert_allclose(zero, 0, atol=1e-5)


@pytest.mark.skipif(VERSION < (3, 1), reason="PyTensor tells equal problems only since 3.1")
def test_equal_problems_are_solved_once():
    pairs = [root(V ** 3 - B, V, method="lm")[0] for _ in range(2)]
    f = pytensor.function([B, V], [pairs[0], pairs[0] * 2], mode="PHINTYS")
    assert sum([isinstance(node.op, Optimizer) for node in f.vm.jit_fn.maker.fgraph.apply_nodes]) == 1


def test_batches_are_solved_one_by_one():
    found, converged = root_scalar(U ** 3 - A, U, method="newton", jac=True)
    cubes = pt.dvector("cubes")
    f = pytensor.function([cubes, U], vectorize_graph([found, converged], {A: cubes}), mode="PHINTYS")
    values, good = f(np.arange(1.0, 6), 1.0)
    np.testing.assert_allclose(values, np.cbrt(np.arange(1.0, 6)))
    assert good.all()


@pytest.mark.parametrize("solve, value, options", [
    (minimize, ((V - B) ** 2).sum() + (V ** 4).sum(), {"method": "BFGS"}),
    (minimize, ((V - B) ** 2).sum() + (V ** 4).sum(), {"method": "CG"}), (root, V ** 3 + V - B, {"method": "hybr"})],
    ids=["BFGS", "CG", "hybr"])
def test_batches_of_loops_are_solved_one_by_one(solve, value, options):
    """Each with its own number of steps, and with the gradient of the implicit function (of which PyTensor 2.38 makes a
    graph that it cannot run)."""
    found, converged = solve(value, V, **options)
    rows = pt.dmatrix("rows")
    batch = vectorize_graph([found, converged], {B: rows})
    f, g = [pytensor.function([given, V], [*outputs, *([pytensor.grad(outputs[0].sum(), given)] * (VERSION >= (3, 3)))],
                              mode="PHINTYS") for given, outputs in ((rows, batch), (B, [found, converged]))]
    assert not any([isinstance(node.op, Optimizer) for node in g.vm.jit_fn.maker.fgraph.apply_nodes]) \
        or solve is minimize
    given = np.array([[0.1, 0.2, -0.3], [3.0, -20.0, 1.0], [0.0, 0.0, 0.0], [100.0, 1e-3, 5.0]])
    for found, wanted in zip(f(given, np.ones(3)), zip(*[g(row, np.ones(3)) for row in given])):
        np.testing.assert_allclose(found, np.array(wanted), rtol=1e-9, atol=1e-12)
    assert f(given, np.ones(3))[1].all()


@pytest.mark.parametrize("method", WITH_GRADIENT)
def test_float32(method):
    """Gradients are given to SciPy as float64: some of its methods refuse others. The result is float32."""
    x = pt.vector("x", dtype="float32")
    found, _ = minimize(((x - np.float32(3)) ** 2).sum(), x, method=method)
    value = pytensor.function([x], found, mode="PHINTYS")(np.zeros(2, "float32"))
    assert value.dtype == "float32"
    np.testing.assert_allclose(value, 3, rtol=1e-3)


def test_errors_say_what_and_where():
    for method, name in (("ridder", "ScalarRoot{ridder}"), ("brentq", "Check{")):
        found, _ = root_scalar(U ** 2 + A, U, method=method, **bracket(-1.0, 1.0))
        f = pytensor.function([A, U], found, mode="PHINTYS")
        with pytest.raises(ValueError, match="different signs") as caught:
            f(1.0, 0.5)
        assert name in str(caught.value) and "test_errors_say_what_and_where" in str(caught.value)
    found, _ = minimize(pt.linalg.cholesky(pt.diag(V) * A).sum(), V, method="no such method")
    with pytest.raises(ValueError, match="Unknown solver no such method"):
        pytensor.function([A, V], found, mode="PHINTYS")(1.0, VALUES[V])


def test_pickles_and_threads():
    """Each call keeps its own last point; PyTensor's op has one for all calls."""
    function, value, unknown, options = PROBLEMS["minimize, BFGS"]
    f = pytensor.function([A, B, V], function(value, unknown, **options)[0], mode="PHINTYS")
    other = pickle.loads(pickle.dumps(f))
    starts = [VALUES[V] * scale for scale in (1.0, 1.1, 0.9, 1.2)]
    wanted = [other(VALUES[A], VALUES[B], start) for start in starts]
    program, found = f.vm.jit_fn, [None] * 4

    def run(place):
        for _ in range(5):
            found[place], = program(VALUES[A], VALUES[B], starts[place])

    threads = [threading.Thread(target=run, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for value, other in zip(found, wanted):
        np.testing.assert_array_equal(value, other)


# ---- several equations -----------------------------------------------------------------------------------------------
# Linear ones, curved valleys, a spiral, sums of cosines, neighbours; without a root; places that have no value; and one
# whose values grow until Newton's steps have no digit.
SYSTEMS = {
    "linear": (lambda v: pt.stack([2 * v[0] + v[1] - 1, v[0] - 3 * v[1] + 2]), 2),
    "valley": (lambda v: pt.stack([10 * (v[1] - v[0] ** 2), 1 - v[0]]), 2),
    "spiral": (lambda v: pt.stack([10 * (v[2] - 5 / np.pi * pt.arctan2(v[1], v[0])),
                                   10 * (pt.sqrt(v[0] ** 2 + v[1] ** 2) - 1), v[2]]), 3),
    "cosines": (lambda v: 4 - pt.cos(v).sum() + pt.arange(1, 5) * (1 - pt.cos(v)) - pt.sin(v), 4),
    "neighbours": (lambda v: (3 - 2 * v) * v - pt.concatenate([[0.0], v[:-1]]) - 2 * pt.concatenate([v[1:], [0.0]]) + 1,
                   5),
    "no root": (lambda v: v ** 2 + 1, 2),
    "double roots": (lambda v: v ** 2, 2),
    "logarithms": (lambda v: pt.log(abs(v)) - 1, 2),
    "one": (lambda v: v ** 3 - 2, 1),
}


@pytest.mark.parametrize("options", [{}, {"maxfev": 4}, {"factor": 1.0, "xtol": 1e-4}], ids=str)
def test_roots_of_systems_are_those_of_scipy(options):
    """Step by step: also where the steps are too few, and whether it is a root."""
    draw, unknown = np.random.default_rng(2), pt.dvector("unknown")
    for name, (equations, count) in SYSTEMS.items():
        value = equations(unknown)
        found, converged = root(value, unknown, optimizer_kwargs={"options": options})
        f = pytensor.function([unknown], [found, converged], mode="PHINTYS")
        g = pytensor.function([unknown], [value, pt.jacobian(value, unknown)], mode="PHINTYS")
        assert not any([isinstance(node.op, Optimizer) for node in f.vm.jit_fn.maker.fgraph.apply_nodes])
        for scale in (1, 1, 3, 10):
            start = scale * draw.normal(size=count)
            wanted = scipy.optimize.root(lambda v: g(v)[0], start, jac=lambda v: g(v)[1], options=options)
            point, success = f(start)
            assert success == wanted.success, (name, start)
            if success or "maxfev" in options:
                np.testing.assert_allclose(point, wanted.x, rtol=1e-6, atol=1e-7, err_msg=name)


def test_a_system_whose_values_grow_has_the_root_that_is_found():
    unknown = pt.dvector("unknown")
    value = pt.stack([1e4 * unknown[0] * unknown[1] - 1, pt.exp(-unknown).sum() - 1.0001])
    f = pytensor.function([unknown], root(value, unknown), mode="PHINTYS")
    for start in ([5.8, 12.9], [8.4, 11.6], [0.8, 0.8]):
        point, success = f(np.array(start))
        assert not success or np.abs([1e4 * point[0] * point[1] - 1, np.exp(-point).sum() - 1.0001]).max() < 1e-6


def test_other_options_of_roots_are_left_to_scipy():
    unknown, options = pt.dvector("unknown"), [{"method": "hybr", "jac": False}, {"method": "lm"}, {
        "optimizer_kwargs": {"options": {"diag": [1.0, 2.0]}}}]
    for each in options:
        f = pytensor.function([unknown], root(unknown ** 3 - 2, unknown, **each)[0], mode="PHINTYS")
        np.testing.assert_allclose(f(np.ones(2)), 2 ** (1 / 3), rtol=1e-6)
        assert any([isinstance(node.op, Optimizer) for node in f.vm.jit_fn.maker.fgraph.apply_nodes])


# ---- minima --------------------------------------------------------------------------------------------------------
# A bowl, a curved valley, a steep hill, a border beyond which there is no value, no minimum, a flat place, many minima.
OBJECTIVES = {
    "bowl": lambda v: ((v - pt.arange(3)) ** 2 * pt.arange(1, 4)).sum(),
    "valley": lambda v: (100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2).sum(),
    "hill": lambda v: pt.exp(v).sum() + (v ** 2).sum() - 3 * v[0],
    "border": lambda v: (v - pt.log(v)).sum(),
    "no minimum": lambda v: -(v ** 2).sum() + v[0],
    "flat": lambda v: (v ** 4).sum(),
    "waves": lambda v: (v ** 2).sum() / 10 - pt.cos(3 * v).sum(),
}


SECOND_SEARCHES = {"BFGS": {"border", "no minimum", "hill"}, "CG": {"border", "no minimum", "hill", "valley", "flat"}}


@pytest.mark.parametrize("method, options", [
    ("BFGS", {}), ("BFGS", {"maxiter": 3}), ("BFGS", {"gtol": 1e-3, "c2": 0.5}), ("CG", {}),
    ("CG", {"maxiter": 3})], ids=str)
def test_minima_are_those_of_scipy(method, options, monkeypatch):
    """Step by step: also where the steps are too few, and whether it is a minimum. SciPy is called only where its first
    search along a line fails."""
    calls, solved = [], Minimum.solved
    monkeypatch.setattr(Minimum, "solved", lambda *args: calls.append(args) or solved(*args))
    draw, unknown = np.random.default_rng(2), pt.dvector("unknown")
    for name, objective in OBJECTIVES.items():
        value = objective(unknown)
        f = pytensor.function([unknown], minimize(value, unknown, method=method, optimizer_kwargs={"options": options}),
                              mode="PHINTYS")
        g = pytensor.function([unknown], [value, pytensor.grad(value, unknown)], mode="PHINTYS")
        for scale in (1, 3, 10):
            start = scale * draw.normal(size=3)
            start = abs(start) + 0.1 if name == "border" else start
            wanted = scipy.optimize.minimize(lambda v: g(v)[0], start, jac=lambda v: g(v)[1], method=method,
                                             options=options)
            point, success = f(start)
            assert success == wanted.success, (name, start)
            np.testing.assert_allclose(point, wanted.x, rtol=1e-5, atol=1e-6, err_msg=name)
        assert not calls or name in SECOND_SEARCHES[method], name
        calls.clear()
