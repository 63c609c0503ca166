"""The paths of gradients: the part of a graph between a cost and the variables whose gradients are requested.

The connection pattern of an op says which of its outputs depend on the elements of which of its inputs; no gradient
passes where there is no connection.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph import hooks
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.op import ON_ALL, Op
from phintys.graph.toposort import io_toposort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


class StableNode:
    """What a gradient passes instead of a node: the identity of another variable with the value of its output."""

    op = ViewOp()

    def __init__(self, node: Apply, variable: Variable) -> None:
        self.inputs, self.outputs, self._position = [variable], node.outputs, node._position


def stable_toposort(inputs: Sequence[Any], outputs: Sequence[Any], stop: set[Any]) -> list[Apply]:
    """Return the nodes between ``inputs`` and ``outputs`` as `io_toposort` does, but with a `StableNode` for each node
    whose value has a form with more stable derivatives, and with the nodes of these forms.

    ``stop`` has the variables that must stay in such forms.
    """
    order = io_toposort(inputs, outputs)
    inner = {variable for node in order for variable in node.inputs if variable in stop}
    found = hooks.stand_ins(order, inner) if hooks.stand_ins else {}
    if not found:
        return order
    instead = {node: StableNode(node, variable) for node, variable in found.items()}
    return io_toposort(inputs, outputs, instead=instead)


class Paths:
    """The part of a graph that gradients pass through.

    Attributes
    ----------
    nodes : list of Apply
        Each after the nodes that read its outputs.
    active : dict
        Variable → the (node, input position) pairs that contribute to its gradient. It has the variables that the cost
        depends on and that depend on an element of ``wrt``.
    patterns : dict
        Node → its connection pattern, for nodes where not everything is connected.
    wanted : dict
        Node → for each input, whether its term is a part of a gradient; of nodes where some are not.
    """

    def __init__(self, outputs: Sequence[Variable], wanted: Sequence[Variable], blockers: set[Variable]) -> None:
        order = stable_toposort((), outputs, {*outputs, *wanted, *blockers})
        self.patterns = {node: pattern for node in order if (pattern := connection_pattern(node)) is not None}
        depending = self._depending_on(wanted, order)
        self.active = {}
        self.nodes, self.wanted = [], {}
        reached = set(outputs) - blockers
        for node in reversed(order):
            rows = self._connected_inputs(node, [output in reached for output in node.outputs])
            found = [position for position in rows if node.inputs[position] in depending]
            for position in found:
                self.active.setdefault(node.inputs[position], []).append((node, position))
            for position in rows:
                if node.inputs[position] not in blockers:
                    reached.add(node.inputs[position])
            if found:
                self.nodes.append(node)
                if len(found) < len(node.inputs):
                    self.wanted[node] = [position in found for position in range(len(node.inputs))]

    def _depending_on(self, wanted, order):
        """Return the variables that depend on an element of ``wanted``, including these."""
        depending = set(wanted)
        for node in order:
            pattern = self.patterns.get(node)
            for index, output in enumerate(node.outputs):
                for position, variable in enumerate(node.inputs):
                    if variable in depending and (pattern is None or pattern[position][index]):
                        depending.add(output)
                        break
        return depending

    def _connected_inputs(self, node, outputs_connected):
        """Return the positions of the inputs that a connected output depends on."""
        pattern = self.patterns.get(node)
        if pattern is None:
            return range(len(node.inputs)) if True in outputs_connected else ()
        return [position for position, row in enumerate(pattern)
                if any([row[index] and connected for index, connected in enumerate(outputs_connected)])]


def connection_pattern(node: Apply) -> list[list[bool]] | None:
    """Return the op's connection pattern, checked, or None if every output depends on every input."""
    op = node.op
    if type(op).connection_pattern is Op.connection_pattern:
        return None if op.depends_on is ON_ALL else op.connection_pattern(node)
    pattern = op.connection_pattern(node)
    if not isinstance(pattern, list):
        raise TypeError(f"Op.connection_pattern should return list of list of bool, but for Op={op} got {pattern} with "
                        f"type {type(pattern)}.")
    if len(pattern) != len(node.inputs):
        raise ValueError(f"{op}.connection_pattern should have {len(node.inputs)} rows but has {len(pattern)}.")
    for position, row in enumerate(pattern):
        if not isinstance(row, list):
            raise TypeError(f"{op}.connection_pattern should return a list of lists, but element {position} is {row} "
                            f"of type {type(row)}.")
        if len(row) != len(node.outputs):
            raise ValueError(f"{op}.connection_pattern: row {position} should have {len(node.outputs)} elements but "
                             f"has {len(row)}.")
    return pattern
