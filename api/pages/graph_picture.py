"""Graphs as pictures: the boxes and arrows and their places, as data that a page draws.

A box is a node or a leaf. Boxes are in layers: each box is below all boxes that it reads. Within a layer boxes are
sorted by the mean place of their neighbours, first downwards, then upwards, a few times; so few arrows cross. Linear in
the size of the graph, but for the sorting.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.scratchpad import position_of
from phintys.graph.toposort import io_toposort
from phintys.graph.trace import lines_of
from phintys.graph.variable import Constant
from phintys.ops.formulas import one_line
from phintys.vm.texts import is_number, number_text, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.graph.variable import Variable

SWEEPS = 6
LONGEST_LABEL = 44


def picture_of(inputs: Sequence[Variable], outputs: Sequence[Variable],
               names: Mapping[int, str] | None = None) -> dict[str, list[Any]]:
    """Return a graph as boxes and arrows.

    Parameters
    ----------
    inputs, outputs : list of Variable
    names : dict, optional
        Output → the text below it, such as "result" or "new value of w".

    Returns
    -------
    dict
        ``boxes``: a list of dictionaries with ``id``, ``label``, ``kind`` ("input", "shared", "constant", "op" or
        "output"), ``type``, ``lines`` (of the user) and the place ``x``, ``y`` (in boxes and layers); ``arrows``: a
        list of (from, to, label).
    """
    drawing = _Drawing(inputs)
    for node in io_toposort(inputs, outputs):
        drawing.add_node(node)
    for position, output in enumerate(outputs):
        drawing.add_output(output, (names or {}).get(position, "result"))
    drawing.arrange()
    return {"boxes": drawing.boxes, "arrows": drawing.arrows}


class _Drawing:
    """The boxes and arrows while they are collected."""

    def __init__(self, inputs):
        self.boxes, self.arrows = [], []
        self._box_of = {}                       # node or leaf → number of its box
        self._inputs = set(inputs)

    def _add(self, thing, label, kind, type_, lines, layer):
        self._box_of[thing] = len(self.boxes)
        label = label if len(label) <= LONGEST_LABEL else label[:LONGEST_LABEL - 1] + "…"
        self.boxes.append({"id": len(self.boxes), "label": label, "kind": kind, "type": type_, "lines": lines,
                           "op": str(thing.op) if kind == "op" else "", "y": layer})
        return len(self.boxes) - 1

    def add_node(self, node):
        """Add a node, and the leaves that it reads."""
        sources = [self._source(variable) for variable in node.inputs]
        layer = 1 + max([self.boxes[source]["y"] for source in sources], default=-1)
        label = one_line(node, 0, list(map(_operand, node.inputs)))
        types = ", ".join([str(output.type) for output in node.outputs])
        number = self._add(node, label, "op", types, lines_of(position_of(node)), layer)
        self._box_of.update(dict.fromkeys(node.outputs, number))
        for variable, source in zip(node.inputs, sources):
            self.arrows.append((source, number, variable.name or ""))

    def add_output(self, variable, title):
        """Add a box for a result."""
        source = self._source(variable)
        name = f"{title}: {variable.name}" if variable.name else title
        number = self._add((variable, title, len(self.boxes)), name, "output", str(variable.type), [],
                           self.boxes[source]["y"] + 1)
        self.arrows.append((source, number, variable.name or ""))

    def _source(self, variable):
        if variable not in self._box_of:
            kind, label = "shared" if hasattr(variable, "container") else "input", str(variable)
            if isinstance(variable, Constant):
                kind, label = "constant", _operand(variable) if is_number(variable) else shortened(variable.data)
            self._add(variable, label, kind, str(variable.type), lines_of(position_of(variable)), 0)
        return self._box_of[variable]

    def arrange(self):
        """Give each box its place."""
        above, below = [[] for _ in self.boxes], [[] for _ in self.boxes]
        for source, target, _ in self.arrows:
            above[target].append(source)
            below[source].append(target)
        self._lower_leaves(below)
        layers = {}
        for box in self.boxes:
            layers.setdefault(box["y"], []).append(box["id"])
        for layer in layers.values():
            self._place(layer, range(len(layer)))
        order = sorted(layers)
        for sweep in range(SWEEPS):
            neighbours = below if sweep % 2 else above
            for y in reversed(order) if sweep % 2 else order:
                self._sort(layers[y], neighbours)

    def _lower_leaves(self, below):
        """Put leaves just above the first box that reads them."""
        for box in self.boxes:
            if box["kind"] not in ("op", "output") and below[box["id"]]:
                box["y"] = min([self.boxes[reader]["y"] for reader in below[box["id"]]]) - 1

    def _sort(self, layer, neighbours):
        boxes = self.boxes

        def position(number):
            found = [boxes[other]["x"] for other in neighbours[number]]
            return sum(found) / len(found) if found else boxes[number]["x"]

        wanted = {number: position(number) for number in layer}
        layer.sort(key=wanted.__getitem__)
        self._place(layer, [wanted[number] for number in layer])

    def _place(self, layer, wanted):
        """Place a sorted layer as near to the wanted places as boxes of width 1 can be, on the average."""
        positions, right = [], float("-inf")
        for position in wanted:
            right = max(position, right + 1)
            positions.append(right)
        shift = sum([position - want for position, want in zip(positions, wanted)]) / max(len(positions), 1)
        for number, position in zip(layer, positions):
            self.boxes[number]["x"] = position - shift


def _operand(variable):
    """Return the text in a box for an input of the node."""
    return number_text(variable) if is_number(variable) else variable.name or "…"
