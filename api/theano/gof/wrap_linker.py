"""WrapLinker: a linker whose programs call a function of the user's for every node, which runs the node."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.debugging.watching import link_watching
from phintys.gof.link import Linker

if TYPE_CHECKING:
    from phintys.graph.function_graph import FunctionGraph


class WrapLinker(Linker):
    """Runs the programs of several linkers side by side, node by node, by a user's function.

    Parameters
    ----------
    linkers : list of Linker
        There is one thunk of each node for each linker. All link in the same way; each has separate values.
    wrapper : callable
        Called as ``wrapper(i, node, thunk, ...)`` for the ``i``-th node. It runs the thunks: a node whose thunk it does
        not call has no value. Thunks have ``inputs`` and ``outputs``, lists of one-element lists. The results of a
        function are those of the first linker.

    Examples
    --------
    >>> def report(position, node, *thunks):
    ...     print(position, node.op)
    ...     for thunk in thunks:
    ...         thunk()
    >>> linker = phintys.gof.WrapLinker([phintys.gof.PerformLinker()], report)
    >>> x = T.dscalar("x")
    >>> phintys.function([x], T.sin(x), mode=phintys.Mode(linker, None))(0.0)
    0 Elemwise{sin,no_inplace}
    array(0.)
    """

    def __init__(self, linkers: Any, wrapper: Any) -> None:
        super().__init__()
        self.linkers, self.wrapper = list(linkers), wrapper

    def clone(self, allow_gc: bool | None = None) -> Any:
        """A linker of the same kind, without a graph."""
        return type(self)([linker.clone(allow_gc) for linker in self.linkers], self.wrapper)

    def link(self, fgraph: FunctionGraph, **arguments: Any) -> Any:
        """The program for a graph."""
        return link_watching(fgraph, self.wrapper, arguments, programs=len(self.linkers))


def WrapLinkerMany(linkers: Any, wrappers: Any) -> Any:
    """A `WrapLinker` that calls several functions for each node, one after the other.

    Parameters
    ----------
    linkers : list of Linker
    wrappers : list of callable

    Returns
    -------
    WrapLinker

    Examples
    --------
    >>> def run(position, node, *thunks):
    ...     for thunk in thunks:
    ...         thunk()
    >>> def report(position, node, *thunks):
    ...     print(position, node.op)
    >>> linker = phintys.gof.WrapLinkerMany([phintys.gof.PerformLinker()], [run, report])
    >>> x = T.dscalar("x")
    >>> phintys.function([x], T.sin(x), mode=phintys.Mode(linker, None))(0.0)
    0 Elemwise{sin,no_inplace}
    array(0.)
    """
    def wrapper(*arguments: Any) -> Any:
        for one in wrappers:
            one(*arguments)
    return WrapLinker(linkers, wrapper)
