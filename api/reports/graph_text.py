"""Graphs as text: one line for each variable, indented by its depth, as ``debugprint`` shows them.

A variable that was printed before is shown only by its label. Nothing is recursive, and below ``INDENT_LIMIT`` levels a
line states its depth instead of being indented further, so that the size of the text is linear in the size of the
graph.
"""
from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from phintys.optimizer.engine.forms import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy

    from phintys.graph.variable import Variable
    from phintys.shared import SharedVariable

INDENT_LIMIT = 100


def letters(number: int) -> str:
    """Convert a number to letters, in base 26: 0 → A, 25 → Z, 26 → BA."""
    text = chr(ord("A") + number % 26)
    while number >= 26:
        number //= 26
        text = chr(ord("A") + number % 26) + text
    return text


LABELS = {
    "CHAR": lambda number, thing: f"[id {letters(number)}]",
    "int": lambda number, thing: f"[id {number}]",
    "id": lambda number, thing: f"[id {id(thing)}]",
    "": lambda number, thing: "",
}


class GraphPrinter:
    """Prints variables to one file; remembers the labels that it gave and the nodes that it printed."""

    def __init__(self, file: Any, ids: str = "CHAR", done: Mapping[Variable, str] | None = None,
                 print_type: bool = False, stop_on_name: bool = False, print_destroy_map: bool = False,
                 print_view_map: bool = False, print_clients: bool = False) -> None:
        if ids not in LABELS:
            raise ValueError(f"ids must be one of {list(LABELS)}, got {ids!r}")
        self.file = file
        self.label_of = LABELS[ids]
        self.done = {} if done is None else done
        self.labels = dict(self.done)
        self.print_type = print_type
        self.stop_on_name = stop_on_name
        self.print_destroy_map = print_destroy_map
        self.print_view_map = print_view_map
        self.print_clients = print_clients
        self.loops = []                             # printed nodes whose bodies are to be printed
        self.outside = {}                           # input of a body → what it is outside

    def label(self, thing: Any) -> str:
        if thing not in self.labels:            # "output" uses up a number, too, as in Theano
            self.labels[thing] = thing if thing == "output" else self.label_of(len(self.labels), thing)
        return self.labels[thing]

    def print_variable(self, variable: Variable, depth: int, order: Any = MappingProxyType({}),
                       clients: Any = MappingProxyType({}),
                       storage: Mapping[SharedVariable, numpy.ndarray] | None = None, prefix: str = "") -> None:
        """Print ``variable`` and what it is computed from, ``depth`` levels deep (negative: all)."""
        waiting = [(variable, prefix, prefix, 1)]   # variable, its own indent, that of its inputs, level
        while waiting:
            variable, indent, inner, level = waiting.pop()
            if 0 <= depth < level:
                continue
            node = variable.owner
            if node is None:
                print(f"{indent}{variable} {self.label(variable)}{self._type(variable)}{self._outside(variable)}"
                      f"{_stored(variable, storage)}", file=self.file)
                self.done[variable] = self.labels[variable]
                continue
            printed = node in self.done
            line = self._node_line(node, variable, order, clients)
            print(f"{indent}{line}{_stored(variable, storage)}", file=self.file)
            self.done[node] = self.labels[node]
            if not printed and key_of(node.op) == "Scan":
                self.loops.append(variable)
            if not printed and not (self.stop_on_name and variable.name is not None):
                waiting.extend(reversed(self._inputs(node, inner, level)))

    def print_bodies(self, depth: int) -> None:
        """Print the bodies of the loops that were printed, and of the loops in these."""
        if self.loops:
            print("\nInner graphs of the scan ops:", file=self.file)
        for variable in self.loops:                 # grows while bodies with loops are printed
            node, op = variable.owner, variable.owner.op
            inputs, outputs = op.body()
            self.outside.update(zip(inputs, op.outer_of_inner(node)))
            print(f"\n{self._node_line(node, variable, {}, {})}", file=self.file)
            for output in outputs:
                self.print_variable(output, depth, prefix=" >")

    def _outside(self, variable):
        outer = self.outside.get(variable)
        return "" if outer is None else f" -> {self.label(outer if outer.owner is None else outer.owner)}"

    @staticmethod
    def _inputs(node, inner, level):
        if level > INDENT_LIMIT:
            indent = f" ... depth {level} |"
            return [(variable, indent, indent, level + 1) for variable in node.inputs]
        last = len(node.inputs) - 1
        return [(variable, inner + " |", inner + ("  " if position == last else " |"), level + 1)
                for position, variable in enumerate(node.inputs)]

    def _type(self, variable):
        return f" <{variable.type}>" if self.print_type else ""

    def _node_line(self, node, variable, order, clients):
        number = "" if len(node.outputs) == 1 else f".{variable.index}"
        destroyed = f"d={node.op.destroy_map}" if self.print_destroy_map and node.op.destroy_map else ""
        viewed = f"v={node.op.view_map}" if self.print_view_map and node.op.view_map else ""
        line = (f"{node.op}{number} {self.label(node)}{self._type(variable)} '{variable.name or ''}' "
                f"{destroyed} {viewed} {order.get(node, '')}")
        readers = clients.get(variable, ()) if self.print_clients else ()
        if len(readers) > 1:
            line += f" clients:{[(self.label(reader), order.get(reader, '')) for reader, _ in readers]}"
        return line


def _stored(variable, storage):
    """Return the text of the value that is kept for a variable between calls, if storage is printed."""
    return "" if storage is None else f" [{storage.get(variable)}]"
