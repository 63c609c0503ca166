"""The FunctionGraph of a node or variable: ``node.fgraph``, ``variable.fgraph``, ``variable.clients``.

Nodes and variables do not store their graph: this would take memory in each of them and would have to be kept up to
date. These attributes search the living graphs, starting with the one that was made or found last. So a rewrite that
asks every node for its graph finds it at the first try. Constants may be in several graphs; the first one found counts.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.function_graph import FunctionGraph

_graphs = {}                    # id of a living graph → weak reference to it, in the order in which they were made
_found = [lambda: None]         # weak reference to the graph found last


def enrol(fgraph: FunctionGraph) -> None:
    """Register a graph, so that its nodes and variables can find it as long as it lives."""
    key = id(fgraph)
    _graphs[key] = ref(fgraph, lambda reference: _graphs.pop(key, None) if _graphs.get(key) is reference else None)


def graph_of(thing: Any, held_by: Callable[..., Any]) -> FunctionGraph | None:
    """Return the graph that contains an object.

    Parameters
    ----------
    thing : Apply or Variable
    held_by : callable
        Maps a graph to the collection that would contain the object.
    """
    fgraph = _found[0]()
    if fgraph is not None and thing in held_by(fgraph):
        return fgraph
    for reference in reversed(tuple(_graphs.values())):
        fgraph = reference()
        if fgraph is not None and thing in held_by(fgraph):
            _found[0] = reference
            return fgraph
    return None


class InGraph:
    """An attribute that exists while its owner is in a graph.

    Parameters
    ----------
    held_by : callable
        See ``graph_of``.
    value : callable
        Maps the graph and the owner to the attribute's value.
    doc : str
    """

    def __init__(self, held_by: Callable[..., Any], value: Callable[..., Any], doc: str) -> None:
        self.held_by, self.value, self.__doc__ = held_by, value, doc

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, thing, kind):
        if thing is None:
            return self
        fgraph = graph_of(thing, self.held_by)
        if fgraph is None:
            raise AttributeError(f"{thing} has no attribute {self.name!r}: it is in no FunctionGraph")
        return self.value(fgraph, thing)
