"""The simplex method of Nelder and Mead as a loop of phintys: SciPy's steps, without derivatives of the objective."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys import tensor as T
from phintys.ops.graphs.ifelse import ifelse
from phintys.ops.loops.row_map import map_rows
from phintys.solvers.root_loops import any_steps_if, looped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from phintys.graph.variable import Variable

DEFAULTS = {"xatol": 1e-4, "fatol": 1e-4, "maxiter": None}
CALLS = 200             # of the objective, or iterations, for each unknown
APART, FROM_ZERO = 0.05, 0.00025            # how far the corners are at first, as a share; of a 0


def minimum_by_simplex(options: Mapping[str, Any], values: Callable[..., Any],
                       start: Variable) -> tuple[Variable, Variable]:
    """The minimum, and whether the simplex has become small.

    Parameters
    ----------
    options : dict
        Those of ``DEFAULTS``.
    values : callable
        Of a variable; the first of what it returns is the objective.
    start : Variable
    """
    x = T.unbroadcast(start.flatten(), 0)
    count = x.shape[0]
    most_calls = T.constant(numpy.inf) if options["maxiter"] is not None else CALLS * count
    most = T.constant(int(options["maxiter"])) if options["maxiter"] is not None else CALLS * count

    def at(point):
        return values(point.reshape(start.shape, ndim=start.type.ndim))[0].reshape((), ndim=0)

    def at_rows(rows):
        row = x.type()
        return T.unbroadcast(map_rows([at(row)], [(row, rows)])[0], 0)

    def step(corners, f, steps, calls):
        middle, worst = corners[:-1].sum(axis=0) / count, corners[-1]
        reflected = 2 * middle - worst
        at_reflected = at(reflected)
        expands, outside = T.lt(at_reflected, f[0]), T.lt(at_reflected, f[-1])
        # With one unknown there are two corners: SciPy's last but one is the first.
        contracts = T.invert(T.lt(at_reflected, f[-2]))                 # of NaN, too
        factor = T.switch(expands, 2.0, T.switch(outside, 0.5, -0.5))
        other = (1 + factor) * middle - factor * worst
        at_other = ifelse(T.or_(expands, contracts), at(other), at_reflected)
        takes_other = T.switch(expands, T.lt(at_other, at_reflected), T.and_(contracts, T.switch(
            outside, T.le(at_other, at_reflected), T.lt(at_other, f[-1]))))
        shrinks = T.and_(T.and_(contracts, T.invert(expands)), T.invert(takes_other))
        moved = T.set_subtensor(corners[-1], T.switch(takes_other, other, reflected))
        at_moved = T.set_subtensor(f[-1], T.switch(takes_other, at_other, at_reflected))
        shrunk = corners[0] + 0.5 * (corners[1:] - corners[0])
        corners = ifelse(shrinks, T.concatenate([corners[:1], shrunk]), moved)
        f = ifelse(shrinks, T.concatenate([f[:1], at_rows(shrunk)]), at_moved)
        order = T.argsort(f, kind="stable")
        corners, f, steps = corners[order], f[order], steps + 1
        calls = calls + 1 + T.or_(expands, contracts) + T.switch(shrinks, count, 0)
        following = {"corners": corners, "f": f, "steps": steps, "calls": calls}
        return following, T.or_(is_small(corners, f), ends(steps, calls))

    def is_small(corners, f):
        return T.and_(T.all(T.le(abs(corners[1:] - corners[0]), options["xatol"])),
                      T.all(T.le(abs(f[1:] - f[0]), options["fatol"])))

    def ends(steps, calls):
        return T.or_(T.ge(steps, most), T.ge(calls, most_calls))

    ahead = T.switch(T.eq(x, 0), FROM_ZERO, (1 + APART) * x)
    corners = T.concatenate([x[None], T.switch(T.eye(count, dtype="bool"), ahead[None], x[None])])
    f = at_rows(corners)
    order = T.argsort(f, kind="stable")
    first = {"corners": corners[order], "f": f[order], "steps": T.constant(1, dtype="int64"), "calls": count + 1}
    goes = T.invert(T.or_(is_small(first["corners"], first["f"]), ends(first["steps"], first["calls"])))
    last = looped("Nelder-Mead", step, first, any_steps_if(goes))
    found = T.invert(ends(last["steps"], last["calls"]))
    return last["corners"][0].reshape(start.shape, ndim=start.type.ndim), found
