"""Fixed points as loops of phintys: SciPy's method, step by step."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys import tensor as T
from phintys.solvers.root_loops import looped

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.variable import Variable


def fixed_point_by_loop(method: str, options: Any, values: Callable[..., Any], start: Variable) -> tuple[Any, Any]:
    """The fixed point and whether it is one.

    Parameters
    ----------
    method : {"del2", "iteration"}
    options : dict
        ``xtol`` and ``maxiter``.
    values : callable
        Of a variable; it returns a list with the function's value.
    start : Variable
    """
    def step(x, found):
        after = values(x)[0]
        if method == "del2":
            second = values(after)[0]
            bend = second - 2 * after + x
            after = T.switch(T.eq(bend, 0), second, x - (after - x) ** 2 / bend)
        change = T.switch(T.eq(x, 0), after, (after - x) / x)
        found = T.all(T.lt(abs(change), options["xtol"]))
        return {"x": T.unbroadcast(after, *range(start.type.ndim)), "found": found}, found

    first = {"x": start, "found": T.constant(False, dtype="bool")}
    last = looped("fixed point", step, first, T.constant(options["maxiter"], dtype="int64"))
    return last["x"], last["found"]
