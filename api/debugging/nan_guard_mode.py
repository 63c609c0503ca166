"""NanGuardMode: functions that check inputs and the outputs of all nodes for NaN, infinities and very large values.

A finding raises an ``AssertionError`` that names the node and where the user made it, or does what
``config.NanGuardMode.action`` says. Variables with ``tag.nan_guard_mode_check = False`` are not checked.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.debugging.monitor_mode import WatchingMode
from phintys.graph.config import config
from phintys.graph.errors import made_at
from phintys.graph.public_names import at_home
from phintys.printing import debugprint

if TYPE_CHECKING:
    from phintys.debugging.watching import Thunk
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable
    from phintys.optimizer.engine.database import Query

BIG = 1e10
DEPTH = 6                      # levels of a graph that a message prints


def contains_nan(arr: slice | numpy.ndarray | None, node: Apply | None = None, var: Variable | None = None) -> bool:
    """Return whether an array of floats holds NaN. ``node`` and ``var`` are accepted for compatibility with Theano."""
    return _is_inexact(arr) and bool(numpy.isnan(arr).any())


def contains_inf(arr: slice | numpy.ndarray, node: Apply | None = None, var: Variable | None = None) -> bool:
    """Return whether an array of floats holds an infinity. ``node`` and ``var`` are accepted for compatibility with
    Theano."""
    return _is_inexact(arr) and bool(numpy.isinf(arr).any())


def contains_big(arr: slice | numpy.ndarray) -> bool:
    """Return whether the magnitude of a number in a value is larger than 1e10."""
    if not isinstance(arr, numpy.ndarray) or arr.dtype.kind not in "iufc" or not arr.size:
        return False
    with numpy.errstate(all="ignore"):
        return bool((numpy.abs(arr.astype("float64") if arr.dtype.kind in "iu" else arr) > BIG).any())


def _is_inexact(value):
    return isinstance(value, numpy.ndarray) and value.dtype.kind in "fc"


@at_home
class NanGuardMode(WatchingMode):
    """A mode whose functions check for NaN, infinities and large values.

    Parameters
    ----------
    nan_is_error, inf_is_error, big_is_error : bool, optional
        The checks; by default as in ``config.NanGuardMode``.
    optimizer : str, None or Query
        Which rewrites to apply.
    linker : None
        Must be None.

    Raises
    ------
    AssertionError
        If all checks are off.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> f = phintys.function([x], T.log(x), mode=phintys.compile.NanGuardMode())
    >>> f(1.0)
    array(0.)
    """

    def __init__(self, nan_is_error: bool | None = None, inf_is_error: bool | None = None,
                 big_is_error: bool | None = None, optimizer: Query | str | None = "default",
                 linker: Any = None) -> None:
        super().__init__("vm", optimizer)
        flags = config.NanGuardMode
        self.nan_is_error = flags.nan_is_error if nan_is_error is None else nan_is_error
        self.inf_is_error = flags.inf_is_error if inf_is_error is None else inf_is_error
        self.big_is_error = flags.big_is_error if big_is_error is None else big_is_error
        if not (self.nan_is_error or self.inf_is_error or self.big_is_error):
            raise AssertionError("NanGuardMode has nothing to check: nan_is_error, inf_is_error and big_is_error "
                                 "are all false")

    def look_at_input(self, variable: Variable, value: slice | numpy.ndarray) -> None:
        self._look_at(variable, value, "an input of the graph")

    def run_node(self, position: int, thunk: Thunk) -> None:
        thunk()
        for variable, cell in zip(thunk.node.outputs, thunk.outputs):
            self._look_at(variable, cell[0], f"output {variable.index} of a node")

    def _look_at(self, variable, value, where):
        if not getattr(variable.tag, "nan_guard_mode_check", True):
            return
        found = [words for wanted, test, words in (
            (self.nan_is_error, contains_nan, "NaN detected"), (self.inf_is_error, contains_inf, "Inf detected"),
            (self.big_is_error, contains_big, "Big value detected")) if wanted and test(value)]
        if found:
            graph = debugprint(variable, depth=DEPTH, file="str")
            _react("\n".join([*found, f"NanGuardMode found an error in {where}: {variable}{made_at(variable)}", graph]))

    def clone(self, link_kwargs: Any = None, optimizer: Query = "", **kwargs: Any) -> NanGuardMode:
        """Return a copy with another optimizer."""
        if isinstance(optimizer, str) and not optimizer:
            optimizer = self.provided_optimizer
        return type(self)(self.nan_is_error, self.inf_is_error, self.big_is_error, optimizer)

    def __reduce__(self):
        return type(self), (self.nan_is_error, self.inf_is_error, self.big_is_error, self.provided_optimizer)


def _react(message):
    """Raise, warn or start the debugger, as ``config.NanGuardMode.action`` says."""
    action = config.NanGuardMode.action
    if action == "raise":
        raise AssertionError(message)
    if action == "warn":
        import logging  # costs 3 ms
        logging.getLogger("phintys.debugging.nan_guard_mode").error(message)
        return
    print(message)
    from pdb import Pdb
    Pdb().set_trace()
