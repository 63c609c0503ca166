"""MonitorMode: functions that call the user's functions before and after each node.

Nodes run one by one by their ``perform``, in the order in which a program would run them. The user's functions get the
node's number, the node, and a `Thunk` with the storage of its inputs and outputs, as in Theano.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.debugging.watching import link_watching
from phintys.graph.public_names import at_home
from phintys.modes import Mode
from phintys.printing import debugprint

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.debugging.watching import Thunk
    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.optimizer.engine.database import Query
    from phintys.vm.program import Program


@at_home
class WatchingMode(Mode):
    """Base of modes that inspect every node as it runs: override ``run_node`` and, if needed, ``look_at_input``."""

    def look_at_input(self, variable: Variable, value: numpy.ndarray) -> None:
        """Called for each argument and shared value before the first node runs."""

    def run_node(self, position: int, thunk: Any) -> None:
        """Run one node; ``position`` counts the nodes."""
        thunk()

    def link(self, fgraph: FunctionGraph, history: Any, **arguments: Any) -> Program:
        """Return a program that runs node by node."""
        return link_watching(fgraph, lambda position, node, thunk: self.run_node(position, thunk), arguments,
                             self.look_at_input)


@at_home
class MonitorMode(WatchingMode):
    """A mode whose functions call the user's functions around each node.

    Parameters
    ----------
    pre_func, post_func : callable, optional
        Called with (number of the node, node, `Thunk`) before and after each node.
    optimizer : str, None or Query
        Which rewrites to apply.
    linker : None
        Must be None.

    Raises
    ------
    ValueError
        If a linker is given.

    Examples
    --------
    >>> def report(position, node, thunk):
    ...     print(position, node.op, [output[0] for output in thunk.outputs])
    >>> x = T.dscalar("x")
    >>> mode = phintys.compile.MonitorMode(post_func=report, optimizer=None)
    >>> phintys.function([x], T.exp(x), mode=mode)(0.0)
    0 Elemwise{exp,no_inplace} [array(1.)]
    array(1.)
    """

    def __init__(self, pre_func: Callable[..., Any] | None = None, post_func: Callable[..., Any] | None = None,
                 optimizer: Query | str | None = "default", linker: str | None = None) -> None:
        if linker is not None:
            raise ValueError(f"MonitorMode can only use its own linker, got linker={linker!r}")
        super().__init__("vm", optimizer)
        self.pre_func, self.post_func = pre_func, post_func

    def run_node(self, position: int, thunk: Thunk) -> None:
        if self.pre_func is not None:
            self.pre_func(position, thunk.node, thunk)
        thunk()
        if self.post_func is not None:
            self.post_func(position, thunk.node, thunk)

    def clone(self, link_kwargs: Any = None, optimizer: Query = "", **kwargs: Any) -> MonitorMode:
        """Return a copy with another optimizer."""
        if isinstance(optimizer, str) and not optimizer:
            optimizer = self.provided_optimizer
        return type(self)(self.pre_func, self.post_func, optimizer)

    def __reduce__(self):
        return type(self), (self.pre_func, self.post_func, self.provided_optimizer)


def detect_nan(i: int, node: Apply, fn: Thunk) -> None:
    """A ``post_func`` that prints the node, its inputs and outputs when an output holds NaN."""
    for output in fn.outputs:
        value = output[0]
        if isinstance(value, numpy.ndarray) and value.dtype.kind in "fc" and numpy.isnan(value).any():
            print("*** NaN detected ***")
            debugprint(node)
            print(f"Inputs : {[cell[0] for cell in fn.inputs]}")
            print(f"Outputs: {[cell[0] for cell in fn.outputs]}")
            return
