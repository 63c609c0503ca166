"""Minima as loops of phintys, which run without Python, with the search of Moré and Thuente along a line.

Broyden's, Fletcher's, Goldfarb's and Shanno's method, Polak's and Ribière's conjugate gradients, and Newton's method
with directions that are conjugate by the Hessian ("Newton-CG") do SciPy's steps. "Newton" solves with the Hessian where
this leads down, and goes against the gradient elsewhere. The method with few pairs of steps and changes has the number
of pairs and the criteria of SciPy's "L-BFGS-B".
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys import tensor as T
from phintys.ops.factorizations.solve import Solve
from phintys.solvers import simplex
from phintys.solvers.root_loops import any_steps_if, looped
from phintys.solvers.vector_loops import options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from phintys.graph.variable import Variable

LEAST, MOST = 1e-100, 1e100             # steps along a line
NARROW = 1e-14                          # a bracket that is shorter than this share of its end is given up
TRIALS = 99                             # along a line
DESCENT = 0.01                          # how steep a conjugate gradient must be, as a share of the gradient
PAIRS = 10                              # of steps and changes of the gradient that are remembered
EPSILON = 2.0 ** -52
DEFAULTS = {"BFGS": {"gtol": 1e-5, "maxiter": None, "c1": 1e-4, "c2": 0.9},
            "CG": {"gtol": 1e-5, "maxiter": None, "c1": 1e-4, "c2": 0.4},
            "L-BFGS": {"gtol": 1e-5, "ftol": 1e7 * EPSILON, "maxiter": 15000},
            **{name: {"xtol": 1e-5, "maxiter": None, "c1": 1e-4, "c2": 0.9} for name in ("Newton", "Newton-CG")}}
FIXED = {"L-BFGS": {"c1": 1e-3, "c2": 0.9}}


def minimum_by_loop(method: str, options: Mapping[str, Any], values: Callable[..., Any], start: Variable,
                    outputs: int) -> tuple[Variable, ...] | None:
    """The minimum, whether it is one, and whether the search along a line has failed, after which SciPy tries another
    one; None for other methods and options.

    Parameters
    ----------
    method : str
    options : dict
        Of SciPy's ``minimize``.
    values : callable
        Of a variable; it returns the objective and its gradient.
    start : Variable
    outputs : int
        How many variables ``values`` returns.
    """
    if method == "Nelder-Mead":
        options = options_of(options, simplex.DEFAULTS, "xatol", "fatol")
        return None if options is None else (*simplex.minimum_by_simplex(options, values, start), _truth(False))
    is_newton = method.startswith("Newton")
    options = options_of(options, DEFAULTS[method], "xtol" if is_newton else "gtol") if (
        method in DEFAULTS) else None
    if options is None or outputs < 2 + is_newton:
        return None
    options = {**options, **FIXED.get(method, {})}
    x = T.unbroadcast(start.flatten(), 0)
    most = T.constant(int(options["maxiter"])) if options["maxiter"] is not None else 200 * x.shape[0]
    c1, c2 = options["c1"], options["c2"]

    def newton(state, moved, gradient):
        """The direction to the minimum of the parabola at a point, and that it can be taken."""
        point = state["x"] + moved
        bends = values(point.reshape(start.shape, ndim=start.type.ndim))[2].reshape((x.shape[0], x.shape[0]), ndim=2)
        if method == "Newton-CG":
            along, is_usable = _by_conjugate_directions(bends, gradient)
            return {"along": along}, is_usable
        along = -Solve(on_error="nan")(bends, gradient)
        return {"along": T.switch(T.lt(T.dot(along, gradient), 0), along, -gradient)}, _truth(True)

    next_direction = {"BFGS": _by_curvature, "CG": _conjugate,
                      "L-BFGS": lambda *given: (by_pairs(*given), _truth(True))}.get(method, newton)

    def is_minimum(gradient, f=None, before=None, moved=None):
        """Whether the criterion of the method holds at a point, after a step if there was one."""
        found = T.le(T.max(abs(gradient)), options.get("gtol", 0.0))
        if "ftol" in options and f is not None:
            size = T.maximum(T.maximum(abs(f), abs(before)), 1.0)
            found = T.or_(found, T.le(before - f, options["ftol"] * size))
        if "xtol" in options and f is not None:
            found = T.or_(found, T.le(T.mean(abs(moved)), options["xtol"]))
        return found

    def at(point):
        value, gradient = values(point.reshape(start.shape, ndim=start.type.ndim))[:2]
        return value.reshape((), ndim=0), T.unbroadcast(gradient.flatten(), 0)

    def step(steps, found, failed, **state):
        length = state["length"]
        point = state["x"] + length * state["along"]
        f, gradient = at(point)
        slope = T.dot(gradient, state["along"])
        bound = state["f"] + length * (c1 * state["slope"])
        low_enough = T.le(f, bound)
        ends = T.and_(low_enough, T.le(abs(slope), -c2 * state["slope"]))
        after, gives_up = _searched(state, f, slope, bound, c1 * state["slope"])
        gives_up = T.and_(gives_up, T.invert(ends))

        moved = length * state["along"]
        direction, is_usable = next_direction(state, moved, gradient)
        before = numpy.inf if method in ("L-BFGS", "Newton") else state["f"]
        begun, no_line = _line(point, f, before, gradient, direction)
        steps = steps + T.cast(ends, "int64")
        at_minimum, too_many = is_minimum(gradient, f, state["f"], moved), T.ge(steps, most)
        found = T.and_(T.and_(ends, at_minimum), T.invert(too_many))
        stops = T.and_(ends, T.or_(T.or_(at_minimum, too_many), T.invert(T.isfinite(f))))
        failed = T.or_(gives_up, T.and_(ends, T.or_(T.and_(no_line, T.invert(stops)),
                                                    T.invert(T.or_(at_minimum, is_usable)))))
        return ({"steps": steps, "found": found, "failed": failed,
                 **{name: T.switch(ends, begun[name], after.get(name, state[name])) for name in state}},
                T.or_(stops, failed))

    f, gradient = at(x)
    beginning, before = {"along": -gradient}, f + T.sqrt(T.dot(gradient, gradient)) / 2
    if method == "BFGS":
        beginning["inverse"] = T.eye(x.shape[0])
    elif method == "L-BFGS":
        beginning.update({name: T.zeros((PAIRS, x.shape[0])) for name in ("moves", "changes")})
    elif is_newton:
        beginning, before = newton({"x": x}, T.zeros_like(x), gradient)[0], T.constant(numpy.inf, dtype="float64")
    begun, no_line = _line(x, f, before, gradient, beginning)
    at_minimum = is_minimum(gradient)
    goes = T.and_(T.invert(at_minimum), T.gt(most, 0))
    last = looped(method, step, {
        "steps": T.constant(0, dtype="int64"), "failed": T.and_(goes, no_line),
        "found": T.and_(T.and_(at_minimum, T.gt(most, 0)), T.invert(T.isnan(f))), **begun},
        any_steps_if(T.and_(goes, T.invert(no_line))))
    return last["x"].reshape(start.shape, ndim=start.type.ndim), last["found"], last["failed"]


def _line(x, f, before, gradient, direction):
    """The state at the beginning of a search along a line, and whether there is none."""
    slope = T.dot(gradient, direction["along"])
    guess = 1.01 * 2 * (f - before) / slope
    length = T.switch(T.and_(T.lt(guess, 1), T.neq(slope, 0)), T.switch(T.lt(guess, 0), 1.0, guess), 1.0)
    nothing = T.zeros_like(f)
    state = {"x": x, "f": f, "before": before, "gradient": gradient, **direction, "slope": slope, "length": length,
             "low": nothing, "f_low": f, "g_low": slope, "high": nothing, "f_high": f, "g_high": slope,
             "least": nothing, "most": length + 4 * length, "width": T.zeros_like(f) + (MOST - LEAST),
             "width_before": T.zeros_like(f) + 2 * (MOST - LEAST), "early": _truth(True), "enclosed": _truth(False),
             "trials": T.constant(0, dtype="int64")}
    return state, T.or_(T.lt(length, LEAST), T.invert(T.lt(slope, 0)))


def _by_curvature(state, moved, gradient):
    """The direction by what is known of the inverse of the Hessian after a step, and that it can be taken."""
    change = gradient - state["gradient"]
    product = T.dot(change, moved)
    weight = T.switch(T.eq(product, 0), 1000.0, 1 / product)
    left = T.eye(moved.shape[0]) - T.outer(moved, change) * weight
    inverse = T.dot(left, T.dot(state["inverse"], left.T)) + weight * T.outer(moved, moved)
    return {"along": -T.dot(inverse, gradient), "inverse": inverse}, _truth(True)


def by_pairs(state: Mapping[str, Any], moved: Variable, gradient: Variable, free: Any = True) -> dict[str, Any]:
    """The direction by the last steps and changes of the gradient, of the unknowns that are free."""
    change = gradient - state["gradient"]
    is_usable = T.gt(T.dot(change, moved), EPSILON * T.dot(change, change))
    moves, changes = [T.switch(is_usable, T.concatenate([state[name][1:], row[None]]), state[name])
                      for name, row in (("moves", moved), ("changes", change))]
    found = {"moves": moves, "changes": changes}
    if free is not True:
        moves, changes, gradient = [T.switch(free, rows, 0.0) for rows in (moves, changes, gradient)]
    products = T.sum(moves * changes, axis=1)
    is_pair = T.gt(products, 0)
    weights = T.switch(is_pair, 1 / T.switch(is_pair, products, 1.0), 0.0)
    along, shares = gradient, []
    for number in reversed(range(PAIRS)):
        shares.append(weights[number] * T.dot(moves[number], along))
        along = along - shares[-1] * changes[number]
    size = T.dot(changes[-1], changes[-1])
    along = along * T.switch(is_pair[-1], products[-1] / T.switch(T.gt(size, 0), size, 1.0), 1.0)
    for number in range(PAIRS):
        along = along + (shares.pop() - weights[number] * T.dot(changes[number], along)) * moves[number]
    return {"along": -along, **found}


def _conjugate(state, moved, gradient):
    """The direction that is conjugate to the one before, and whether it goes down; else SciPy searches once more."""
    before = state["gradient"]
    share = T.dot(gradient - before, gradient) / T.dot(before, before)
    along = T.switch(T.gt(share, 0), share, 0.0) * state["along"] - gradient
    return {"along": along}, T.le(T.dot(along, gradient), -DESCENT * T.dot(gradient, gradient))


def _by_conjugate_directions(bends, gradient):
    """The direction to the minimum of a parabola, as far as its conjugate directions bend upwards, and that it has been
    found: SciPy's inner steps of "Newton-CG".
    """
    size = T.sum(abs(gradient))
    limit = T.minimum(0.5, T.sqrt(size)) * size

    def step(along, left, search, square, number):
        product = T.dot(bends, search)
        bend = T.dot(search, product)
        share = square / bend
        ends = T.le(bend, 3 * EPSILON)
        first = T.and_(T.lt(bend, 0), T.eq(number, 0))
        moved = T.switch(first, square / bend * gradient, T.switch(ends, along, along + share * search))
        after = left + share * product
        new_square = T.dot(after, after)
        following = {"along": moved, "left": after, "search": new_square / square * search - after,
                     "square": new_square, "number": number + 1}
        return following, T.or_(ends, T.le(T.sum(abs(after)), limit))

    most = 20 * gradient.shape[0]
    last = looped("conjugate directions", step, {
        "along": T.zeros_like(gradient), "left": gradient, "search": -gradient, "square": T.dot(gradient, gradient),
        "number": T.constant(0, dtype="int64")}, T.switch(T.gt(size, limit), most, 0))
    return last["along"], T.lt(last["number"], most)


def _truth(value):
    return T.constant(value, dtype="bool")


def _searched(state, f, slope, bound, tilt):
    """The changed state of a search along a line after a trial, and whether it is given up."""
    length, enclosed = state["length"], state["enclosed"]
    trials = state["trials"] + 1
    early = T.and_(state["early"], T.invert(T.and_(T.le(f, bound), T.ge(slope, 0))))
    outside = T.or_(T.le(length, state["least"]), T.ge(length, state["most"]))
    narrow = T.le(state["most"] - state["least"], NARROW * state["most"])
    gives_up = T.or_(T.and_(enclosed, T.or_(outside, narrow)), T.or_(
        T.and_(T.eq(length, MOST), T.and_(T.le(f, bound), T.le(slope, tilt))),
        T.and_(T.eq(length, LEAST), T.or_(T.gt(f, bound), T.ge(slope, tilt)))))
    tilted = T.and_(early, T.and_(T.le(f, state["f_low"]), T.gt(f, bound)))
    drop = T.switch(tilted, tilt, 0.0)                      # of the values and slopes in the first stage
    low, high = [(state[end], state[f"f_{end}"] - state[end] * drop, state[f"g_{end}"] - drop)
                 for end in ("low", "high")]
    low, high, length, enclosed = _next_trial(low, high, (length, f - length * drop, slope - drop), enclosed,
                                              state["least"], state["most"])
    apart = abs(high[0] - low[0])
    halved = T.and_(enclosed, T.ge(apart, 0.66 * state["width_before"]))
    length = T.switch(halved, low[0] + 0.5 * (high[0] - low[0]), length)
    least = T.switch(enclosed, T.minimum(low[0], high[0]), length + 1.1 * (length - low[0]))
    most = T.switch(enclosed, T.maximum(low[0], high[0]), length + 4.0 * (length - low[0]))
    length = T.clip(length, LEAST, MOST)
    outside = T.or_(T.le(length, least), T.ge(length, most))
    length = T.switch(T.and_(enclosed, T.or_(outside, T.le(most - least, NARROW * most))), low[0], length)
    found = {"length": length, "least": least, "most": most, "enclosed": enclosed, "early": early, "trials": trials,
             "width": T.switch(enclosed, apart, state["width"]),
             "width_before": T.switch(enclosed, state["width"], state["width_before"])}
    for name, (place, value, rise) in (("low", low), ("high", high)):
        found.update({name: place, f"f_{name}": value + place * drop, f"g_{name}": rise + drop})
    return found, T.or_(gives_up, T.or_(T.invert(T.isfinite(length)), T.ge(trials, TRIALS)))


def _next_trial(low, high, trial, enclosed, least, most):
    """The ends of an interval with a minimum after a trial, the next trial, and whether there is such an interval.

    Ends and trials are a place, a value and a slope.
    """
    (x, f, g), (y, f_y, g_y), (t, f_t, g_t) = low, high, trial
    turns = T.lt(T.sgn(g_t) * T.sgn(g), 0)
    higher = T.gt(f_t, f)
    to_x, right = x - t, T.gt(t, x)

    def cubic(place, value, rise, positive, at_least=None):
        """Moré's theta and gamma, from an end and the trial."""
        theta = 3 * (value - f_t) / (t - place) + rise + g_t
        size = T.maximum(T.maximum(abs(theta), abs(rise)), abs(g_t))
        square = (theta / size) ** 2 - rise / size * (g_t / size)
        gamma = size * T.sqrt(square if at_least is None else T.maximum(square, at_least))
        return theta, T.switch(positive, gamma, -gamma)

    theta, gamma = cubic(x, f, g, right)
    by_cubic = x + (gamma - g + theta) / (gamma - g + gamma + g_t) * (t - x)
    by_square = x + g / ((f - f_t) / (t - x) + g) / 2 * (t - x)
    above = T.switch(T.le(abs(by_cubic - x), abs(by_square - x)), by_cubic, by_cubic + (by_square - by_cubic) / 2)

    theta, gamma = cubic(x, f, g, T.invert(right))
    by_cubic = t + (gamma - g_t + theta) / (gamma - g_t + gamma + g) * to_x
    by_secant = t + g_t / (g_t - g) * to_x
    beyond = T.switch(T.gt(abs(by_cubic - t), abs(by_secant - t)), by_cubic, by_secant)

    theta, gamma = cubic(x, f, g, T.invert(right), 0.0)
    ratio = (gamma - g_t + theta) / (gamma + (g - g_t) + gamma)
    by_cubic = T.switch(T.and_(T.lt(ratio, 0), T.neq(gamma, 0)), t + ratio * to_x, T.switch(right, most, least))
    nearer = T.lt(abs(by_cubic - t), abs(by_secant - t))
    within, limit = T.switch(nearer, by_cubic, by_secant), t + 0.66 * (y - t)
    within = T.switch(right, T.minimum(limit, within), T.maximum(limit, within))
    farther = T.switch(T.gt(abs(by_cubic - t), abs(by_secant - t)), by_cubic, by_secant)
    flatter = T.switch(enclosed, within, T.clip(farther, least, most))

    theta, gamma = cubic(y, f_y, g_y, T.le(t, y))
    steeper = t + (gamma - g_t + theta) / (gamma - g_t + gamma + g_y) * (y - t)
    steeper = T.switch(enclosed, steeper, T.switch(right, most, least))

    chosen = T.switch(higher, above, T.switch(turns, beyond, T.switch(T.lt(abs(g_t), abs(g)), flatter, steeper)))
    enclosed = T.or_(enclosed, T.or_(higher, turns))
    new_high = [T.switch(higher, tried, T.switch(turns, near, far)) for near, far, tried in zip(low, high, trial)]
    new_low = [T.switch(higher, near, tried) for near, tried in zip(low, trial)]
    return new_low, new_high, chosen, enclosed
