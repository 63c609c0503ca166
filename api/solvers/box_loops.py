"""Minima between bounds as a loop of phintys: projected steps along directions of few pairs of steps and changes.

The pairs are those of the unknowns that a bound does not hold; a step is shortened until the objective has become less,
with what is beyond a bound put on it. The criteria are those of SciPy's "L-BFGS-B", the steps are others.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys import tensor as T
from phintys.solvers.minimum_loops import DEFAULTS, PAIRS, by_pairs
from phintys.solvers.root_loops import any_steps_if, looped
from phintys.solvers.vector_loops import options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from phintys.graph.variable import Variable

DESCENT = 1e-4              # the least decrease of the objective, as a share of that of its tangent
TRIALS = 30                 # along a direction, before the one against the gradient, and along that


def minimum_in_box(options: Mapping[str, Any], values: Callable[..., Any], start: Variable, low: Variable,
                   high: Variable) -> tuple[Variable, ...] | None:
    """The minimum, whether it is one, and whether the search has failed; None for options that are not known.

    Parameters
    ----------
    options : dict
        Of SciPy's ``minimize``.
    values : callable
        Of a variable; it returns the objective and its gradient.
    start, low, high : Variable
        Of one type and shape.
    """
    options = options_of(options, DEFAULTS["L-BFGS"], "gtol", "ftol")
    if options is None or None in options.values():
        return None
    low, high = low.flatten(), high.flatten()

    def at(point):
        value, gradient = values(point.reshape(start.shape, ndim=start.type.ndim))[:2]
        return value.reshape((), ndim=0), T.unbroadcast(gradient.flatten(), 0)

    def is_flat(x, gradient):
        return T.le(T.max(abs(T.clip(x - gradient, low, high) - x)), options["gtol"])

    def downhill(gradient):
        """Against the gradient, at first no longer than 1."""
        return -gradient / T.maximum(T.sqrt(T.dot(gradient, gradient)), 1.0)

    def step(x, f, gradient, along, length, trials, moves, changes, steps, found, failed):
        point = T.clip(x + length * along, low, high)
        moved = point - x
        value, slopes = at(point)
        slope = T.dot(gradient, moved)
        ends = T.and_(T.le(value, f + DESCENT * slope), T.lt(slope, 0))
        held = T.or_(T.and_(T.le(point, low), T.ge(slopes, 0)), T.and_(T.ge(point, high), T.le(slopes, 0)))
        begun = by_pairs({"gradient": gradient, "moves": moves, "changes": changes}, moved, slopes, T.invert(held))
        steps = steps + T.cast(ends, "int64")
        size = T.maximum(T.maximum(abs(f), abs(value)), 1.0)
        at_minimum = T.and_(ends, T.or_(is_flat(point, slopes), T.le(f - value, options["ftol"] * size)))
        too_many = T.ge(steps, int(options["maxiter"]))

        again = T.eq(trials, TRIALS)                    # against the gradient, and without the pairs
        gives_up = T.and_(T.invert(ends), T.ge(trials, 2 * TRIALS))
        shorter = T.clip(-slope * length / (2 * (value - f - slope)), 0.1 * length, 0.5 * length)
        shorter = T.switch(again, 1.0, T.switch(T.isfinite(shorter), shorter, 0.1 * length))
        forgets = T.and_(again, T.invert(ends))
        following = {
            "x": T.switch(ends, point, x), "f": T.switch(ends, value, f), "gradient": T.switch(ends, slopes, gradient),
            "along": T.switch(ends, begun["along"], T.switch(again, downhill(gradient), along)),
            "length": T.switch(ends, 1.0, shorter), "trials": T.switch(ends, 0, trials + 1), "steps": steps,
            **{name: T.switch(ends, begun[name], T.switch(forgets, 0.0, old))
               for name, old in (("moves", moves), ("changes", changes))},
            "found": T.and_(at_minimum, T.invert(too_many)), "failed": gives_up}
        return following, T.or_(T.or_(at_minimum, too_many), gives_up)

    x = T.clip(T.unbroadcast(start.flatten(), 0), low, high)
    f, gradient = at(x)
    flat, none, most = is_flat(x, gradient), T.zeros((PAIRS, x.shape[0])), int(options["maxiter"])
    goes = T.and_(T.invert(flat), T.gt(most, 0))
    last = looped("L-BFGS-B", step, {
        "x": x, "f": f, "gradient": gradient, "along": downhill(gradient), "length": T.constant(1.0, dtype="float64"),
        "trials": T.constant(0, dtype="int64"), "moves": none, "changes": none, "steps": T.constant(0, dtype="int64"),
        "found": T.and_(flat, T.gt(most, 0)), "failed": T.isnan(f)},
        any_steps_if(goes))
    return last["x"].reshape(start.shape, ndim=start.type.ndim), last["found"], last["failed"]
