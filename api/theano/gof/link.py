"""Theano's linkers, for direct use: ``PerformLinker().accept(fgraph).make_function()``.

There is only one linker, ``phintys.vm.linking.linker``. These classes have Theano's names and differ only in
``allow_gc`` (and see ``wrap_linker.py``): each takes a graph without rewriting it, and makes a function, or a thunk
with storage to fill.
"""
from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from phintys.making.function_maker import FunctionMaker
from phintys.modes import Mode
from phintys.vm.containers.container import Container
from phintys.vm.linking.linker import link

if TYPE_CHECKING:
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable


class Linker:
    """Makes functions from graphs.

    Parameters
    ----------
    allow_gc : bool, optional
        Drop each intermediate result at its last use; ``config.allow_gc`` by default.
    schedule : callable, optional
        Accepted for compatibility with Theano; the linker always decides the order of the nodes.

    Examples
    --------
    >>> phintys.gof.Linker(allow_gc=True).allow_gc
    True
    """

    def __init__(self, allow_gc: bool | None = None, schedule: Any = None) -> None:
        self.allow_gc = allow_gc
        self.schedule = schedule
        self.fgraph: Any = None

    def clone(self, allow_gc: bool | None = None) -> Any:
        """A linker of the same kind, without a graph."""
        twin = copy(self)
        twin.allow_gc, twin.fgraph = allow_gc, None
        return twin

    def accept(self, fgraph: FunctionGraph, no_recycling: Any = None, profile: Any = None) -> Any:
        """A linker for one graph: this one if it has none yet.

        Parameters
        ----------
        fgraph : FunctionGraph
        no_recycling, profile : optional
            Accepted for compatibility with Theano: results are never recycled.

        Returns
        -------
        Linker
        """
        linker = self if self.fgraph is None else self.clone(self.allow_gc)
        linker.fgraph = fgraph
        return linker

    def link(self, fgraph: FunctionGraph, **arguments: Any) -> Any:
        """The program for a graph, of modes that have this linker; arguments as of ``vm.linking.linker.link``."""
        return link(fgraph, **arguments)

    def make_function(self, unpack_single: bool = True, **options: Any) -> Any:
        """A function from the values of the graph's inputs to those of its outputs.

        Parameters
        ----------
        unpack_single : bool
            Return a single output as it is, not as a list of one.

        Returns
        -------
        Function
        """
        outputs = self.fgraph.outputs
        return FunctionMaker(
            list(self.fgraph.inputs), outputs[0] if unpack_single and len(outputs) == 1 else outputs,
            Mode(self, optimizer=None, allow_gc=self.allow_gc), accept_inplace=True,
            on_unused_input="ignore").create()

    def make_thunk(self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None) -> Any:
        """A function without arguments that reads and fills storage.

        Returns
        -------
        tuple (callable, list, list)
            The thunk, and one-element lists for inputs and outputs, with an attribute ``data``.
        """
        function = self.make_function(unpack_single=False)
        inputs = [Storage(variable) for variable in self.fgraph.inputs] if input_storage is None else input_storage
        outputs = [Storage(variable) for variable in self.fgraph.outputs] if output_storage is None else output_storage

        def thunk() -> Any:
            for storage, value in zip(outputs, function(*[storage[0] for storage in inputs])):
                storage[0] = value
        return thunk, inputs, outputs


class Storage(list):
    """A list of one value, or None, which a thunk reads and fills.

    Parameters
    ----------
    variable : Variable
        Values set by ``data`` are converted to its type.
    """

    def __init__(self, variable: Variable) -> None:
        super().__init__([None])
        self.type = variable.type
        self.name = variable.name

    @property
    def data(self) -> Any:
        """The value."""
        return self[0]

    @data.setter
    def data(self, value: Any) -> Any:
        self[0] = None if value is None else self.type.filter(value)

    value = data

    @property
    def storage(self) -> Any:
        """The list itself."""
        return self


class LocalLinker(Linker):
    """Theano's base of linkers that make one thunk for each node.

    Examples
    --------
    >>> issubclass(phintys.gof.PerformLinker, phintys.gof.LocalLinker)
    True
    """


class PerformLinker(LocalLinker):
    """Theano's linker that runs the ``perform`` of each node; here it links like all others.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> graph = phintys.FunctionGraph([x], [x * 2], clone=False)
    >>> phintys.gof.PerformLinker().accept(graph).make_function()(3.0)
    array(6.)
    """


class CLinker(Linker):
    """Theano's linker to C; here it links like all others.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.function([x], x * 2, mode=phintys.Mode(phintys.gof.CLinker()))(3)
    array(6.)
    """


class OpWiseCLinker(LocalLinker):
    """Theano's linker to C, node by node; here it links like all others.

    Parameters
    ----------
    fallback_on_perform, nice_errors : bool
        Accepted for compatibility with Theano.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.function([x], x * 2, mode=phintys.Mode(phintys.gof.OpWiseCLinker()))(3)
    array(6.)
    """

    def __init__(self, fallback_on_perform: bool = True, allow_gc: bool | None = None, nice_errors: bool = True,
                 schedule: Any = None) -> None:
        super().__init__(allow_gc, schedule)


class DualLinker(Linker):
    """Theano's linker that compares two others; use DebugMode for that.

    Parameters
    ----------
    checker : callable, optional
        Accepted for compatibility with Theano.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.function([x], x * 2, mode="DebugMode")(3)
    array(6.)
    """

    def __init__(self, checker: Any = None, schedule: Any = None) -> None:
        super().__init__(None, schedule)


class StepwiseLinker(LocalLinker):
    """The linker that DebugMode reports; used directly, it links like all others."""


class VM_Linker(LocalLinker):
    """Theano's linker for its virtual machines; here it links like all others.

    Parameters
    ----------
    allow_gc : bool, optional
    use_cloop, callback, lazy, schedule, c_thunks, allow_partial_eval
        Accepted for compatibility with Theano, except for ``callback``: see MonitorMode.

    Raises
    ------
    NotImplementedError
        If a callback is given.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.function([x], x * 2, mode=phintys.Mode(phintys.gof.VM_Linker()))(3)
    array(6.)
    """

    def __init__(self, allow_gc: bool | None = None, use_cloop: Any = False, callback: Any = None, lazy: Any = None,
                 schedule: Any = None, c_thunks: Any = None, allow_partial_eval: Any = None) -> None:
        if callback is not None:
            raise NotImplementedError("VM_Linker(callback=...): use phintys.compile.MonitorMode to look at every node")
        super().__init__(allow_gc, schedule)


__all__ = ["CLinker", "Container", "DualLinker", "Linker", "LocalLinker", "OpWiseCLinker", "PerformLinker", "VM_Linker"]
