"""The order in which DebugMode computes nodes when branches are lazy: only what is needed, as in a call.

First come the nodes of the optimised graph that a call runs. Then come, for each computed value, the nodes that it
replaced. These are not in the graph any more, so the values of their conditions decide which branches are computed.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.debugging.stepwise import nodes_in_turn, value_of
from phintys.graph.lazy_regions import lazy_regions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph


class Turns:
    """The order of one function.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : list of Apply
        All nodes that ever were in the graph.
    makers : dict
        New variable → pairs (rewrite, old variable).
    """

    def __init__(self, fgraph: FunctionGraph, order: Sequence[Apply], makers: Mapping[Any, Any]) -> None:
        self.order, self.makers = order, makers
        self.active = fgraph.toposort()
        self.regions = lazy_regions(fgraph, self.active)
        self.is_lazy = any([node.op.lazy_branches(node) is not None for node in order])

    def nodes(self, values: Mapping[Any, Any]) -> Iterator[Any]:
        """Yield the nodes to be computed, one by one.

        Parameters
        ----------
        values : dict
            Variable → value; before the next node is requested, the values of the last must be added, unless it failed.

        Yields
        ------
        tuple (Apply, bool)
            The node, and whether a call runs it.
        """
        if not self.is_lazy:
            for node in self.order:
                yield node, True
            return
        seen = set()
        waiting = list(values)
        for node in nodes_in_turn(self.active, self.regions, values):
            seen.add(node)
            waiting.extend(node.outputs)
            yield node, True
        while waiting:
            pending = [old.owner for _, old in self.makers.get(waiting.pop(), ()) if old.owner is not None]
            while pending:
                node = pending[-1]
                missing = [] if node in seen else [variable.owner for variable in _needed(node, seen, values)
                                                   if variable.owner is not None and variable.owner not in seen]
                if missing:
                    pending.extend(missing)
                    continue
                pending.pop()
                if node not in seen:
                    seen.add(node)
                    waiting.extend(node.outputs)
                    yield node, False


def _needed(node, seen, values):
    """Return the inputs that a node needs, as far as its condition is known."""
    positions = node.op.lazy_branches(node)
    if positions is None:
        return node.inputs
    condition = node.inputs[positions[0]]
    value = value_of(condition, values)
    if value is None:
        return [condition] if condition.owner not in seen else []
    return [node.inputs[position] for position in positions[1 if value else 2]]
