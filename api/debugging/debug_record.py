"""Records the changes of a graph while it is optimised: all nodes that were ever in it, and all replacements.

This is a feature of the FunctionGraph; it changes nothing. A replaced node keeps the inputs it had when it left the
graph, so each variable that was ever in the graph can still be computed from the graph's inputs, and the old variable
of each rewrite can be compared with the new one. After a rewrite that multiplies variables by a factor that cancels
further on (`SCALING`), nodes that read such a variable and had been replaced before compute something else: pairs of
variables that depend on it are not compared.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.toposort import io_toposort
from phintys.optimizer.passes.lazy_branches import ON_ONE_PATH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable


SCALING = "local_shift_exponentials"


class ReplacementRecord:
    """The history of one FunctionGraph, from the moment the feature is attached.

    Attributes
    ----------
    original : set of Apply
        The nodes at the beginning.
    nodes : dict
        All nodes that were ever in the graph, in the order in which they were added (as keys).
    reasons : dict
        (old variable, new variable) → name of the rewrite, for pairs that have the same value in every call.
    on_one_path : set of Apply
        Nodes of which an input was replaced by a variable that has the same value only on the path to the node.
    events : list of tuple
        Each import, replacement and removal, described without anything that differs between copies of a graph.
    """

    def __init__(self) -> None:
        self.nodes, self.reasons, self.events = {}, {}, []
        self.original, self.on_one_path = set(), set()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Record the nodes that are there."""
        self.nodes.update(dict.fromkeys(fgraph.data_order()))
        self.original.update(self.nodes)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str) -> None:
        """Record a new node."""
        self.nodes[node] = None
        self.events.append(("import", reason, node.op, None))

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str) -> None:
        """Record that a node is removed."""
        self.events.append(("prune", reason, node.op, None))

    def on_change_input(self, fgraph: FunctionGraph, node: Apply, position: int, old: Variable, new: Variable,
                        reason: str) -> None:
        """Record a replacement; if it is undone, its record is removed."""
        if isinstance(reason, tuple) and reason[0] == "revert":
            self.reasons.pop((new, old), None)
        elif reason in ON_ONE_PATH:
            self.on_one_path.add(node)
        elif reason == SCALING:
            self._forget_readers({old, *node.outputs})
        else:
            self.reasons.setdefault((old, new), str(reason))
        self.events.append(("change", reason, node if isinstance(node, str) else node.op, position))

    def _forget_readers(self, scaled: set[Variable]) -> None:
        """Remove the pairs of variables that depend on some whose values change."""
        for node in io_toposort([], [output for node in self.nodes for output in node.outputs]):
            if not scaled.isdisjoint(node.inputs):
                scaled.update(node.outputs)
        self.reasons = {pair: reason for pair, reason in self.reasons.items() if scaled.isdisjoint(pair)}

    def makers(self) -> dict[Any, Any]:
        """Map each new variable to a list of (name of the rewrite, variable that it replaced)."""
        found = {}
        for (old, new), reason in self.reasons.items():
            found.setdefault(new, []).append((reason, old))
        return found


def first_difference(events: Sequence[Sequence[Any]], others: Sequence[Sequence[Any]]) -> int | None:
    """Return the position of the first event in which two histories differ, or None; one may be longer."""
    for position, (event, other) in enumerate(zip(events, others)):
        if event[0] != other[0] or event[3] != other[3] or str(event[1]) != str(other[1]) or event[2] != other[2]:
            return position
    return None
