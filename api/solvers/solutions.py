"""Roots, fixed points and minima of Python functions of variables, with implicit derivatives."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from phintys import tensor as T
from phintys.graph.gradients.gradient import grad
from phintys.solvers.optimizers import BoxMinimum, FixedPoint, Minimum, Root, ScalarRoot
from phintys.solvers.problem import bounds_of, problem_of, start_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.variable import Variable

WITH_GRADIENT = ("L-BFGS", "CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP")
WITH_BOUNDS = ("Nelder-Mead", "Powell", "L-BFGS-B", "TNC", "SLSQP", "COBYLA", "COBYQA", "trust-constr")
WITH_HESSIAN = ("Newton", "Newton-CG", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr")


class Solution(NamedTuple):
    """A solution, and whether the method says that it has converged, a bool.

    Examples
    --------
    >>> phintys.solvers.fixed_point(T.cos, 1.0)._fields
    ('x', 'success')
    """

    x: Variable
    success: Variable


def root(fun: Callable[..., Any], x0: Any, args: Sequence[Any] = (), method: str = "hybr", tol: float | None = None,
         options: Any = None) -> Solution:
    """Find where a function is zero.

    Parameters
    ----------
    fun : callable
        Takes the unknown and ``args``, as variables, and returns as many elements as the unknown has. It may also read
        other variables.
    x0 : tensor-like
        The start; it is converted to float64.
    args : sequence of tensor-like
    method : str
        One of ``scipy.optimize.root``. "hybr" runs as a loop of the compiled function, the others call SciPy. All are
        given the Jacobian.
    tol, options
        As for SciPy's function.

    Returns
    -------
    Solution
        ``x`` and ``success``. Derivatives of all orders with respect to ``args`` and other variables are those of the
        implicit function; that with respect to ``x0`` is 0.

    Raises
    ------
    TypeError
        For complex numbers.

    Examples
    --------
    >>> a = T.dscalar("a")
    >>> x = phintys.solvers.root(lambda x: x ** 2 - a, T.as_tensor([1.0])).x
    >>> phintys.function([a], [x, phintys.grad(x.sum(), a)])(4.0)
    [array([2.]), array(0.25)]
    """
    start = start_of("root", x0)
    problem = problem_of("root", fun, [start.type()], args)
    unknown, = problem.unknowns
    count = unknown.size
    slope = T.jacobian(problem.value.flatten(), unknown, disconnected_inputs="ignore")
    slope = T.reshape(slope, (count, count), ndim=2)
    op = Root([unknown, *problem.parameters], [problem.value, slope], method, _options(tol, options))
    return Solution(*op.solution(start, *problem.outer))


def _options(tol, options):
    found = {} if tol is None else {"tol": tol}
    return {**found, "options": dict(options)} if options else found


def root_scalar(f: Callable[..., Any], args: Sequence[Any] = (), method: str | None = None, bracket: Any = None,
                x0: Any = None, **options: Any) -> Solution:
    """Find where a function of one number is zero.

    Parameters
    ----------
    f : callable
        Takes a number and ``args``, as variables, and returns a number.
    args : sequence of tensor-like
    method : str, optional
        One of ``scipy.optimize.root_scalar``; by default "brentq" with a bracket, and "newton" without. "bisect",
        "brentq", "brenth", "newton", "halley" and "secant" run as loops of the compiled function.
    bracket : pair of tensor-like, optional
        Two places where ``f`` has different signs.
    x0 : tensor-like, optional
        The start.
    **options
        As for SciPy's function: ``xtol``, ``rtol``, ``maxiter``, ``x1``.

    Returns
    -------
    Solution
        See `root`.

    Raises
    ------
    TypeError
        If neither ``bracket`` nor ``x0`` is given.

    Examples
    --------
    >>> phintys.solvers.root_scalar(T.cos, bracket=(1.0, 2.0)).x.eval()
    array(1.57079633)
    """
    if bracket is None and x0 is None:
        raise TypeError("root_scalar: bracket or x0 must be given")
    method = method or ("newton" if bracket is None else "brentq")
    start = start_of("root_scalar", bracket[0] if x0 is None else x0)
    problem = problem_of("root_scalar", f, [start.type()], args)
    outputs = [problem.value]
    for _ in range({"newton": 1, "halley": 2}.get(method, 0)):
        outputs.append(grad(outputs[-1], problem.unknowns[0], disconnected_inputs="ignore"))
    limits = [] if bracket is None else [T.stack([start_of("root_scalar", end) for end in bracket])]
    op = ScalarRoot([*problem.unknowns, *problem.parameters], outputs, method, options, ("bracket",) * len(limits))
    return Solution(*op.solution(start, *problem.outer, *limits))


def fixed_point(func: Callable[..., Any], x0: Any, args: Sequence[Any] = (), xtol: float = 1e-8, maxiter: int = 500,
                method: str = "del2") -> Solution:
    """Find where a function returns its argument.

    Parameters
    ----------
    func : callable
        Takes the unknown and ``args``, as variables, and returns a tensor of the unknown's shape.
    x0 : tensor-like
    args : sequence of tensor-like
    xtol : float
        The largest relative change of the last step.
    maxiter : int
    method : {"del2", "iteration"}
        With Steffensen's acceleration, or without.

    Returns
    -------
    Solution
        See `root`.

    Raises
    ------
    ValueError
        For another method.

    Examples
    --------
    >>> phintys.solvers.fixed_point(T.cos, 1.0).x.eval()
    array(0.73908513)
    """
    if method not in ("del2", "iteration"):
        raise ValueError(f"fixed_point: method must be 'del2' or 'iteration', got {method!r}")
    start = start_of("fixed_point", x0)
    problem = problem_of("fixed_point", func, [start.type()], args)
    op = FixedPoint([*problem.unknowns, *problem.parameters], [problem.value], method,
                    {"xtol": xtol, "maxiter": maxiter})
    return Solution(*op.solution(start, *problem.outer))


def minimize(fun: Callable[..., Any], x0: Any, args: Sequence[Any] = (), method: str | None = None,
             tol: float | None = None, options: Any = None, bounds: Any = None) -> Solution:
    """Find where a function of real numbers is smallest.

    Parameters
    ----------
    fun : callable
        Takes the unknown and ``args``, as variables, and returns a number.
    x0 : tensor-like
    args : sequence of tensor-like
    method : str, optional
        One of ``scipy.optimize.minimize``, or "L-BFGS" or "Newton"; by default "BFGS", or "L-BFGS-B" with bounds.
        "BFGS", "CG", "Newton-CG" and "Nelder-Mead" run as loops of the compiled function, with SciPy's steps; the first
        three call SciPy where their search along a line fails. The others call SciPy. Each is given the derivatives
        that it uses. "L-BFGS" (with ``gtol``, ``ftol`` and ``maxiter`` of "L-BFGS-B") and "Newton" (with the options of
        "Newton-CG") are loops, too; they are followed by SciPy's methods where their search fails. "Newton" solves with
        the Hessian where this leads down, and goes against the gradient elsewhere.
    tol, options
        As for SciPy's function.
    bounds : sequence of pairs, or object with ``lb`` and ``ub``, optional
        The least and the largest value of each unknown, numbers or variables; None or an infinite number for none. They
        are broadcast to the shape of ``x0``. "L-BFGS-B" with bounds is a loop with projected steps of its own, and
        SciPy's criteria.

    Returns
    -------
    Solution
        See `root`; the derivatives are those of the point where the gradient is 0. An unknown that a bound holds has
        the derivative of this bound.

    Raises
    ------
    TypeError
        If the function does not return a number.
    ValueError
        For a method that takes no bounds, and for bounds that are no pairs, or cross.
    AssertionError
        In a call, if bounds that were not known before cross.

    Examples
    --------
    >>> target = T.dvector("target")
    >>> x = phintys.solvers.minimize(lambda x: ((x - target) ** 2).sum(), T.zeros_like(target)).x
    >>> x.eval({target: [1.0, 2.0]}).round(6)
    array([1., 2.])
    """
    method = method or ("BFGS" if bounds is None else "L-BFGS-B")
    start = start_of("minimize", x0)
    if bounds is not None:
        if method not in WITH_BOUNDS:
            raise ValueError(f"minimize: {method!r} takes no bounds; methods that do are {', '.join(WITH_BOUNDS)}")
        bounds = bounds_of(bounds, start)
    problem = problem_of("minimize", fun, [start.type()], args)
    unknown, = problem.unknowns
    if problem.value.type.ndim:
        raise TypeError(f"minimize: the function must return a number, got {problem.value} of type "
                        f"{problem.value.type}")
    outputs = [problem.value]
    if method in (*WITH_GRADIENT, *WITH_HESSIAN):
        outputs.append(grad(problem.value, unknown, disconnected_inputs="ignore"))
    if method in WITH_HESSIAN:
        count = unknown.size
        bends = T.hessian(problem.value, unknown, disconnected_inputs="ignore")
        outputs.append(T.reshape(bends, (count, count), ndim=2))
    if bounds is not None:
        op = BoxMinimum([unknown, *problem.parameters, unknown.type(), unknown.type()], outputs, method,
                        _options(tol, options))
        return Solution(*op.solution(start, *problem.outer, *bounds))
    op = Minimum([unknown, *problem.parameters], outputs, method, _options(tol, options))
    return Solution(*op.solution(start, *problem.outer))
