"""Linkers by hand: ``PerformLinker().accept(fgraph).make_function()``, as Theano's own programs and tests write it.

There is one linker here, ``phintys.vm.linking.linker``. These classes have Theano's names and differ in nothing but
``allow_gc`` (but see ``wrap_linker.py``): each takes a graph as it is, without any rewrite, and makes a function, or a
thunk with storage to fill.
"""
from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from phintys.vm.linking.linker import link
from phintys.vm.machine.container import Container

if TYPE_CHECKING:
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable


class Linker:
    """Makes functions of graphs.

    Parameters
    ----------
    allow_gc : bool, optional
        Drop each intermediate result at its last use; ``config.allow_gc`` by default.
    schedule : callable, optional
        Accepted for Theano's sake: the order of the nodes is the linker's own.
    """

    FunctionMaker: Any = None
    Mode: Any = None                    # both are set by the modules that define them, which import this one

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
            Accepted for Theano's sake: results are never recycled here.

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
            Answer a single output as it is, not as a list of one.

        Returns
        -------
        Function
        """
        outputs = self.fgraph.outputs
        return self.FunctionMaker(
            list(self.fgraph.inputs), outputs[0] if unpack_single and len(outputs) == 1 else outputs,
            self.Mode(self, optimizer=None, allow_gc=self.allow_gc), accept_inplace=True,
            on_unused_input="ignore").create()

    def make_thunk(self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None) -> Any:
        """A function without arguments that reads and fills storage.

        Returns
        -------
        tuple (callable, list, list)
            The thunk, and one-element storages of inputs and outputs, with an attribute ``data``.
        """
        function = self.make_function(unpack_single=False)
        inputs = [Storage(variable) for variable in self.fgraph.inputs] if input_storage is None else input_storage
        outputs = [Storage(variable) for variable in self.fgraph.outputs] if output_storage is None else output_storage

        def thunk() -> Any:
            for storage, value in zip(outputs, function(*[storage[0] for storage in inputs])):
                storage[0] = value
        return thunk, inputs, outputs


class Storage(list):
    """A list of one value, or None, as a thunk reads and fills it.

    Parameters
    ----------
    variable : Variable
        Whose type values set by ``data`` are converted to.
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
    """Theano's base of linkers that make one thunk a node."""


class PerformLinker(LocalLinker):
    """Theano's linker that runs the ``perform`` of each node; here as all others."""


class CLinker(Linker):
    """Theano's linker to C; here as all others."""


class OpWiseCLinker(LocalLinker):
    """Theano's linker to C, node by node; here as all others.

    Parameters
    ----------
    fallback_on_perform, nice_errors : bool
        Accepted for Theano's sake.
    """

    def __init__(self, fallback_on_perform: bool = True, allow_gc: bool | None = None, nice_errors: bool = True,
                 schedule: Any = None) -> None:
        super().__init__(allow_gc, schedule)


class DualLinker(Linker):
    """Theano's linker that compares two others; see DebugMode for that.

    Parameters
    ----------
    checker : callable, optional
        Accepted for Theano's sake.
    """

    def __init__(self, checker: Any = None, schedule: Any = None) -> None:
        super().__init__(None, schedule)


class StepwiseLinker(LocalLinker):
    """What DebugMode says its linker is; by hand it links as all others."""


class VM_Linker(LocalLinker):
    """Theano's linker for its virtual machines; here as all others.

    Parameters
    ----------
    allow_gc : bool, optional
    use_cloop, callback, lazy, schedule, c_thunks, allow_partial_eval
        Accepted for Theano's sake, but not ``callback``: see MonitorMode.

    Raises
    ------
    NotImplementedError
        If a callback is given.
    """

    def __init__(self, allow_gc: bool | None = None, use_cloop: Any = False, callback: Any = None, lazy: Any = None,
                 schedule: Any = None, c_thunks: Any = None, allow_partial_eval: Any = None) -> None:
        if callback is not None:
            raise NotImplementedError("VM_Linker(callback=...): use phintys.compile.MonitorMode to look at every node")
        super().__init__(allow_gc, schedule)


__all__ = ["CLinker", "Container", "DualLinker", "Linker", "LocalLinker", "OpWiseCLinker", "PerformLinker", "VM_Linker"]
