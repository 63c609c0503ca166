"""Roots of one equation as loops of phintys, which run without Python: SciPy's methods, step by step.

A loop computes what SciPy computes, from the same defaults, and stops where it stops. Options that are not known here
are left to SciPy.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from phintys import tensor as T
from phintys.ops.identity.assertion import Check
from phintys.ops.loops.building import Body, make_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable

SMALLEST_RATIO = 4 * numpy.finfo("float64").eps         # of a bracket's length to the root
NEAR = 1e-4                                             # how far the second point of a secant is


class Method(NamedTuple):
    """A method: its function, how many outputs of the inner graph it reads, and SciPy's default options."""

    solve: Callable
    outputs: int
    xtol: float
    rtol: float
    maxiter: int
    more: tuple = ()

    def options(self, given: Any) -> Any:
        """All options, or None if one is not known, or is not allowed."""
        given = {**given, **given.get("options", {})}
        given.pop("options", None)
        found = {"xtol": self.xtol, "rtol": self.rtol, "maxiter": self.maxiter}
        if not {*given} <= {*found, *self.more}:
            return None
        found.update({name: value for name, value in given.items() if value is not None})
        try:
            numbers = [float(found[name]) for name in ("xtol", "rtol")]
        except (TypeError, ValueError):
            return None
        allowed = numbers[0] > 0 and numbers[1] >= self.rtol and isinstance(found["maxiter"], (int, numpy.integer))
        return found if allowed and found["maxiter"] >= 1 else None


def root_by_loop(method: Any, options: Any, values: Any, start: Any, outputs: Sequence[Variable], limits: Any) -> Any:
    """The root and whether it is one, or None if there is no loop for this.

    Parameters
    ----------
    method : str
    options : dict
        Of SciPy's ``root_scalar``.
    values : callable
        Of a variable; it returns the equation and its derivatives.
    start : Variable
    outputs : int
        How many variables ``values`` returns.
    limits : dict
        Name of an argument → the variable that it is: ``bracket``.
    """
    known = METHODS.get(method)
    if known is None or outputs < known.outputs:
        return None
    options = known.options(options)
    if options is None:
        return None
    options.update(limits)
    if "bracket" in known.more:
        if "bracket" not in options:
            return None
        first, last = [T.cast(options["bracket"][position], "float64") for position in range(2)]
        return known.solve(values, first, last, options)
    return known.solve(values, T.cast(start, "float64"), options)


def looped(name: str, step: Callable[..., Any], first: dict[str, Any], count: Any) -> dict[str, Any]:
    """Carry variables through a loop until a step says that it is done.

    ``step`` takes the variables by name, and returns their next values and the condition.
    """
    inner = {key: value.type() for key, value in first.items()}
    after, done = step(**inner)
    body = Body(carried=[(inner[key], after[key], first[key]) for key in first], condition=done)
    return dict(zip(first, make_loop(count, body, name, lifts=False).carried))


def any_steps_if(goes: Variable) -> Variable:
    """The number of steps of a loop that ends by its condition; 0 if it does not begin."""
    return T.switch(goes, T.constant(1 << 62), T.constant(0))


def _is_near(point, other, options):
    """NumPy's ``isclose``."""
    limit = options["xtol"] + options["rtol"] * abs(other)
    return T.or_(T.and_(T.le(abs(point - other), limit), T.lt(abs(other), numpy.inf)), T.eq(point, other))


def _steps(options, done=None):
    steps = T.constant(options["maxiter"], dtype="int64")
    return steps if done is None else T.switch(done, T.constant(0, dtype="int64"), steps)


def _false():
    return T.constant(False, dtype="bool")


# ---- from a point --------------------------------------------------------------------------------------------------
def _newton(values, start, options, halley=False):
    def step(x, found):
        value, slope, *more = values(x)
        at_root = T.eq(value, 0)
        flat = T.and_(T.eq(slope, 0), T.invert(at_root))
        change = value / slope
        if halley:
            bend = change * more[0] / slope / 2
            change = T.switch(T.lt(abs(bend), 1), change / (1 - bend), change)
        after = x - change
        near = _is_near(after, x, options)
        stays = T.or_(at_root, flat)
        return ({"x": T.switch(stays, x, after), "found": T.or_(at_root, T.and_(near, T.invert(flat)))},
                T.or_(stays, near))

    last = looped("Halley's method" if halley else "Newton's method", step, {"x": start, "found": _false()},
                   _steps(options))
    return last["x"], last["found"]


def _halley(values, start, options):
    return _newton(values, start, options, halley=True)


def _secant(values, start, options):
    second = options.get("x1")
    if second is None:
        moved = start * (1 + NEAR)
        second = moved + T.switch(T.ge(moved, 0), NEAR, -NEAR)
    else:
        second = T.cast(T.as_tensor_variable(second), "float64")
        second = Check("x1 and x0 must be different")(second, T.neq(second, start))
    at_start, at_second = values(start)[0], values(second)[0]
    swapped = T.lt(abs(at_second), abs(at_start))

    def ordered(one, other):
        return T.switch(swapped, other, one), T.switch(swapped, one, other)

    def step(before, x, value_before, value, found):
        level = T.eq(value, value_before)
        ratio, inverse = value_before / value, value / value_before
        cut = T.switch(T.gt(abs(value), abs(value_before)), (before - ratio * x) / (1 - ratio),
                       (x - inverse * before) / (1 - inverse))
        after = T.switch(level, (x + before) / 2, cut)
        near = _is_near(after, x, options)
        return ({"before": x, "x": after, "value_before": value, "value": values(after)[0],
                 "found": T.and_(near, T.invert(level))}, T.or_(level, near))

    first = dict(zip(("before", "x", "value_before", "value"),
                     [*ordered(start, second), *ordered(at_start, at_second)]))
    last = looped("the secant method", step, {**first, "found": _false()}, _steps(options))
    return last["x"], last["found"]


# ---- between two points --------------------------------------------------------------------------------------------
def _ends(values, first, last, options):
    """The values at both ends, the end that is a root or at which there is no value, and the number of steps."""
    at_first, at_last = values(first)[0], values(last)[0]
    stops = [T.or_(T.isnan(value), T.eq(value, 0)) for value in (at_first, at_last)]
    done = T.or_(*stops)
    root = T.switch(stops[0], first, last)
    found = T.eq(T.switch(stops[0], at_first, at_last), 0)
    differ = T.neq(T.lt(at_first, 0), T.lt(at_last, 0))
    steps = Check("f(a) and f(b) must have different signs")(_steps(options, done), T.or_(done, differ))
    return at_first, at_last, done, root, found, steps


def _bisect(values, first, last, options):
    at_first, _, done, root, found, steps = _ends(values, first, last, options)
    is_negative = T.lt(at_first, 0)

    def step(low, length, root, found):
        length = length / 2
        middle = low + length
        value = values(middle)[0]
        low = T.switch(T.eq(T.lt(value, 0), is_negative), middle, low)
        good = T.or_(T.eq(value, 0), T.lt(abs(length), options["xtol"] + options["rtol"] * abs(middle)))
        good = T.and_(good, T.invert(T.isnan(value)))
        stops = T.or_(good, T.isnan(value))
        return {"low": low, "length": length, "root": T.switch(stops, middle, low), "found": good}, stops

    start = T.switch(done, root, first)
    result = looped("bisection", step, {"low": first, "length": last - first, "root": start, "found": found}, steps)
    return result["root"], result["found"]


def _brent(values, first, last, options, hyperbolic=False):
    """Brent's method; the other end of the bracket is ``other``, the point before ``before``."""
    at_first, at_last, done, root, found, steps = _ends(values, first, last, options)

    def step(before, x, other, f_before, f, f_other, step_before, step_now, found):
        crossed = T.and_(T.and_(T.neq(f_before, 0), T.neq(f, 0)), T.neq(T.lt(f_before, 0), T.lt(f, 0)))
        other, f_other = T.switch(crossed, before, other), T.switch(crossed, f_before, f_other)
        step_before, step_now = [T.switch(crossed, x - before, old) for old in (step_before, step_now)]
        swapped = T.lt(abs(f_other), abs(f))
        before, x, other = [T.switch(swapped, new, old) for new, old in ((x, before), (other, x), (x, other))]
        f_before, f, f_other = [T.switch(swapped, new, old)
                                for new, old in ((f, f_before), (f_other, f), (f, f_other))]
        least = (options["xtol"] + options["rtol"] * abs(x)) / 2
        half = (other - x) / 2
        good = T.or_(T.eq(f, 0), T.lt(abs(half), least))
        by_before, by_other = (f_before - f) / (before - x), (f_other - f) / (other - x)
        if hyperbolic:
            curved = -f * (f_other - f_before) / (f_other * by_before - f_before * by_other)
        else:
            curved = -f * (f_other * by_other - f_before * by_before) / (by_other * by_before * (f_other - f_before))
        tried = T.switch(T.eq(before, other), -f * (x - before) / (f - f_before), curved)
        short = T.lt(2 * abs(tried), T.minimum(abs(step_before), 3 * abs(half) - least))
        trusted = T.and_(T.and_(T.gt(abs(step_before), least), T.lt(abs(f), abs(f_before))), short)
        step_before, step_now = T.switch(trusted, step_now, half), T.switch(trusted, tried, half)
        moved = x + T.switch(T.gt(abs(step_now), least), step_now, T.switch(T.gt(half, 0), least, -least))
        after = T.switch(good, x, moved)
        value = values(after)[0]
        return ({"before": x, "x": after, "other": other, "f_before": f, "f": value, "f_other": f_other,
                 "step_before": step_before, "step_now": step_now, "found": good}, T.or_(good, T.isnan(value)))

    nothing = T.zeros_like(first)
    result = looped("Brent's method", step, {
        "before": first, "x": T.switch(done, root, last), "other": nothing, "f_before": at_first, "f": at_last,
        "f_other": nothing, "step_before": nothing, "step_now": nothing, "found": found}, steps)
    return result["x"], result["found"]


def _hyperbolic_brent(values, first, last, options):
    return _brent(values, first, last, options, hyperbolic=True)


BRACKET = (2e-12, SMALLEST_RATIO, 100, ("bracket",))
METHODS = {
    "newton": Method(_newton, 2, 1.48e-8, 0.0, 50),
    "halley": Method(_halley, 3, 1.48e-8, 0.0, 50),
    "secant": Method(_secant, 1, 1.48e-8, 0.0, 50, ("x1",)),
    "bisect": Method(_bisect, 1, *BRACKET),
    "brentq": Method(_brent, 1, *BRACKET),
    "brenth": Method(_hyperbolic_brent, 1, *BRACKET),
}
