"""Roots of several equations as loops of phintys, which run without Python: what SciPy's method computes, from the same
defaults, to the rounding of matrix products. Options that are not known here are left to SciPy.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys import tensor as T
from phintys.ops.factorizations.orthogonal import qr
from phintys.ops.factorizations.solve import solve_triangular
from phintys.ops.graphs.ifelse import ifelse
from phintys.solvers.root_loops import looped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from phintys.graph.variable import Variable

EPSILON = numpy.finfo("float64").eps


def options_of(given: Mapping[str, Any], defaults: Mapping[str, Any], *tolerances: str) -> dict[str, Any] | None:
    """The options of a method, or None if one is not known, or is no number.

    Parameters
    ----------
    given : dict
        As for SciPy's function: ``tol``, and more in ``options``.
    defaults : dict
    *tolerances : str
        The options that ``tol`` means.
    """
    given = dict(given)
    inner = given.pop("options", None) or {}
    if given.get("tol") is not None:
        inner = {**dict.fromkeys(tolerances, given["tol"]), **inner}
    if not {*given} <= {"tol"} or not {*inner} <= {*defaults}:
        return None
    numbers = all([isinstance(value, (int, float, numpy.number)) or value is None for value in inner.values()])
    return {**defaults, **inner} if numbers else None


def _norm(vector):
    """The length of a vector, whose square may be too large for a number."""
    largest = T.max(abs(vector))
    usable = T.and_(T.gt(largest, 0), T.lt(largest, numpy.inf))
    return T.switch(usable, largest * T.sqrt(T.dot(vector / largest, vector / largest)), largest)


# ---- roots ---------------------------------------------------------------------------------------------------------
def root_by_loop(method: str, options: Mapping[str, Any], values: Callable[..., Any], start: Variable,
                 outputs: int) -> tuple[Variable, Variable] | None:
    """The root and whether it is one, by Powell's hybrid method with a Jacobian; None for other methods and options.

    Parameters
    ----------
    method : str
    options : dict
        Of SciPy's ``root``.
    values : callable
        Of a variable; it returns the equations and their Jacobian.
    start : Variable
    outputs : int
        How many variables ``values`` returns.
    """
    options = options_of(options, {"xtol": 1.49012e-08, "maxfev": 0, "factor": 100}, "xtol")
    if method != "hybr" or outputs < 2 or options is None:
        return None
    x = start.flatten()
    count = x.shape[0]
    calls = T.constant(int(options["maxfev"])) if options["maxfev"] else 100 * (count + 1)

    def equations(point):
        return values(point.reshape(start.shape, ndim=start.type.ndim))[0].flatten()

    def jacobian(point):
        found = values(point.reshape(start.shape, ndim=start.type.ndim))[1]
        return found.reshape((count, count), ndim=2)

    def step(x, f, slope, scale, radius, size, fresh, first, good, bad, slow, stale, call, found):
        slope = ifelse(fresh, jacobian(x), slope)
        norms = T.sqrt((slope ** 2).sum(axis=0))
        begins = T.and_(fresh, first)
        scale = T.switch(begins, T.switch(T.eq(norms, 0), 1.0, norms), scale)
        size = T.switch(begins, _norm(scale * x), size)
        radius = T.switch(begins, options["factor"] * T.switch(T.eq(size, 0), 1.0, size), radius)
        scale = T.switch(fresh, T.maximum(scale, norms), scale)

        change = _dogleg(slope, f, scale, radius)
        length = _norm(scale * change)
        radius = T.switch(T.and_(first, T.lt(length, radius)), length, radius)
        after, linear = x + change, f + T.dot(slope, change)
        f_after = equations(after)
        norm, norm_after, norm_linear = map(_norm, (f, f_after, linear))
        actual = T.switch(T.lt(norm_after, norm), 1 - (norm_after / norm) ** 2, -1.0)
        expected = T.switch(T.lt(norm_linear, norm), 1 - (norm_linear / norm) ** 2, 0.0)
        ratio = T.switch(T.gt(expected, 0), actual / expected, 0.0)

        fails, accepted = T.lt(ratio, 0.1), T.ge(ratio, 1e-4)
        good, bad = T.switch(fails, 0, good + 1), T.switch(fails, bad + 1, 0)
        wider = T.switch(T.or_(T.ge(ratio, 0.5), T.gt(good, 1)), T.maximum(radius, length / 0.5), radius)
        wider = T.switch(T.le(abs(ratio - 1), 0.1), length / 0.5, wider)
        radius = T.switch(fails, radius / 2, wider)
        new_slope = slope + T.outer((f_after - linear) / length, scale ** 2 * change / length)
        new_slope = T.switch(T.gt(norm_after, norm / EPSILON), slope, new_slope)        # it would have no digit of it
        x, f = T.switch(accepted, after, x), T.switch(accepted, f_after, f)
        size = T.switch(accepted, _norm(scale * x), size)
        slow = T.switch(T.ge(actual, 0.001), 0, slow + 1)
        stale = T.switch(T.ge(actual, 0.1), 0, stale + T.cast(fresh, "int64"))
        call = call + 1
        found = T.or_(T.le(radius, options["xtol"] * size), T.eq(_norm(f), 0))
        short = T.le(0.1 * T.maximum(0.1 * radius, length), EPSILON * size)
        over = [found, T.ge(call, calls), short, T.eq(stale, 5), T.eq(slow, 10)]
        first = T.and_(first, T.invert(accepted))
        return ({"x": x, "f": f, "slope": new_slope, "scale": scale, "radius": radius, "size": size,
                 "fresh": T.eq(bad, 2), "first": first, "good": good, "bad": bad, "slow": slow, "stale": stale,
                 "call": call, "found": found}, T.any(T.stack(over)))

    zero, yes, nothing = [T.constant(value, dtype=kind) for value, kind in ((0, "int64"), (True, "bool"),
                                                                            (0.0, "float64"))]
    last = looped("Powell's hybrid method", step, {
        "x": x, "f": equations(x), "slope": T.zeros((count, count), dtype="float64"), "scale": T.ones_like(x),
        "radius": nothing, "size": nothing, "fresh": yes, "first": yes, "good": zero, "bad": zero, "slow": zero,
        "stale": zero, "call": zero + 1, "found": T.constant(False, dtype="bool")}, T.maximum(calls, 2))
    return last["x"].reshape(start.shape, ndim=start.type.ndim), last["found"]


def _dogleg(slope, f, scale, radius):
    """The step of at most this length, in units of ``1 / scale``, that makes linear equations smallest: a combination
    of the solution and of the steepest descent, as MINPACK takes it."""
    regular = T.all(T.isfinite(slope))
    q, r = qr(T.switch(regular, slope, 0.0))
    turned, pivots = T.dot(q.T, f), T.diagonal(r)
    least = EPSILON * T.max(abs(r), axis=0)
    least = T.switch(T.eq(least, 0), EPSILON, least)
    solved = solve_triangular(r + T.diag(T.switch(T.eq(pivots, 0), least, 0.0)), turned, lower=False)
    solved = T.switch(regular, solved, numpy.nan)
    length = _norm(scale * solved)
    descent = T.dot(slope.T, f) / scale
    steepness = _norm(descent)
    direction = T.switch(T.eq(steepness, 0), 0.0, descent / steepness / scale)
    curve = _norm(T.dot(slope, direction))
    lowest = T.switch(T.eq(steepness, 0), 0.0, steepness / curve / curve)
    share, part = radius / length, lowest / radius
    mixed = _norm(f) / steepness * (_norm(f) / length) * part
    mixed = mixed - share * part ** 2 + T.sqrt((mixed - share) ** 2 + (1 - share ** 2) * (1 - part ** 2))
    weight = T.switch(T.eq(steepness, 0), share, T.switch(T.lt(lowest, radius), share * (1 - part ** 2) / mixed, 0.0))
    bent = (1 - weight) * T.minimum(lowest, radius) * direction + weight * solved
    return -T.switch(T.le(length, radius), solved, bent)
