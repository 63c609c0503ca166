"""Graphs in the language of graphviz, as ``pydotprint`` draws them.

Ellipses are nodes, boxes are variables: green inputs, cyan shared variables, blue results, grey variables that nothing
reads. Other variables are arrows with their type, unless they have a name or ``compact`` is off. The arrow to a node
that overwrites its input is red; the arrow to a node that returns a view of it is blue.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from logging import getLogger

from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant

COLOURS = {"GpuFromHost": "red", "HostFromGpu": "red", "Scan": "yellow", "Shape": "brown",
           "IfElse": "magenta", "Elemwise": "#FFAABB", "Subtensor": "#FFAAFF", "Alloc": "#FFAA22", "Output": "blue"}


@dataclass
class DrawnGraph:
    """What is drawn.

    Attributes
    ----------
    nodes : list of Apply
        In the order of computation.
    outputs : list of Variable
        Results.
    new_values : dict
        Variable → the stored value that it replaces.
    shared : set of Variable
        Inputs whose values are stored between calls.
    profile : ProfileStats or None
    """

    nodes: list
    outputs: list
    new_values: dict = field(default_factory=dict)
    shared: set = field(default_factory=set)
    profile: object = None


@dataclass
class Style:
    """The options of ``pydotprint`` that change the picture; their meanings are described there."""

    compact: bool = True
    with_ids: bool = False
    high_contrast: bool = True
    cond_highlight: object = None
    colours: dict = field(default_factory=lambda: COLOURS)
    max_label_size: int = 70
    var_with_name_simple: bool = False


def dot_text(graph: DrawnGraph, style: Style) -> str:
    """Return a graph in graphviz's language."""
    return "\n".join(["digraph G {", *_Text(graph, style).lines(), "}"]) + "\n"


class _Text:
    """The lines, and the names that graphviz knows nodes and variables by."""

    def __init__(self, graph, style):
        self.graph, self.style = graph, style
        self._names = {}
        self._boxes = {}                        # variable → its line
        self._read = {variable for node in graph.nodes for variable in node.inputs} | set(graph.outputs)

    def lines(self):
        """Return the lines between the braces."""
        ellipses, arrows = [], []
        for number, node in enumerate(self.graph.nodes):
            ellipses.append(self._ellipse(node, number))
            arrows += [self._arrow_in(node, position, variable) for position, variable in enumerate(node.inputs)]
            arrows += filter(None, [self._arrow_out(node, position, output)
                                    for position, output in enumerate(node.outputs)])
        for output in self.graph.outputs:
            if output.owner is None:
                self._box(output, self.style.colours["Output"])
        return [*ellipses, *self._boxes.values(), *arrows, *self._clusters()]

    def _name(self, thing):
        return self._names.setdefault(thing, f"n{len(self._names)}")

    def _short(self, text):
        size = self.style.max_label_size
        return text if len(text) <= size else text[:size - 3] + "..."

    def _ellipse(self, node, number):
        label = str(node.op) + self._time(node)
        if self.style.with_ids:
            label = self._short(label[:self.style.max_label_size - 12]) + f" id={number}"
        colour = next((colour for part, colour in reversed(self.style.colours.items())
                       if part != "Output" and part in type(node.op).__name__), None)
        return self._drawn(node, self._short(label), "ellipse", colour)

    def _time(self, node):
        profile = self.graph.profile
        if profile is None:
            return ""
        seconds, total = profile.apply_time.get(node, 0.0), profile.fct_call_time
        return f"   ({seconds:.3f}s,{100 * seconds / total if total else 0:.3f}%)"

    def _drawn(self, thing, label, shape, colour):
        options = {"label": label, "shape": shape}
        if colour is not None:
            options |= {"style": "filled", "fillcolor": colour} if self.style.high_contrast else {"color": colour}
            if colour == "blue" and self.style.high_contrast:
                options["fontcolor"] = "white"                          # black on blue is hard to read
        return f"{self._name(thing)} [{_options(options)}];"

    def _box(self, variable, colour):
        if variable not in self._boxes:
            self._boxes[variable] = self._drawn(variable, self._label(variable), "box", colour)

    def _label(self, variable):
        known = self.graph.new_values.get(variable)
        name = variable.name or (known.name if known is not None else None)
        if name is not None:
            text = name if self.style.var_with_name_simple else f"name={name} {variable.type}"
        elif isinstance(variable, Constant):
            text = f"val={str(variable.data).splitlines()[0]} {variable.type}"
        else:
            text = str(variable.type)
        return self._short(text)

    def _arrow_in(self, node, position, variable):
        label = str(position) if len(node.inputs) > 1 else ""
        options = {}
        for colour, pairs in (("red", node.op.destroy_map), (self.style.colours["Output"], node.op.view_map)):
            if any([position in positions for positions in pairs.values()]):
                options["color"] = colour
        if variable.owner is None:
            self._box(variable, "cyan" if variable in self.graph.shared else "green")
        source = variable
        if variable.owner is not None and not self._is_boxed(variable):
            source, label = variable.owner, self._short(f"{label} {variable.type}".strip())
        return self._arrow(source, node, label, options)

    def _is_boxed(self, variable):
        return bool(variable.name or not self.style.compact or variable in self.graph.outputs
                    or variable in self.graph.new_values)

    def _arrow_out(self, node, position, variable):
        label = str(position) if len(node.outputs) > 1 else ""
        if variable in self.graph.outputs or variable in self.graph.new_values:
            self._box(variable, self.style.colours["Output"])
        elif variable not in self._read:
            self._box(variable, "grey")
        elif self._is_boxed(variable):
            self._box(variable, None)
        else:
            return None
        return self._arrow(node, variable, label, {})

    def _arrow(self, source, target, label, options):
        options = ({"label": label} if label else {}) | options
        return f"{self._name(source)} -> {self._name(target)}" + (f" [{_options(options)}];" if options else ";")

    def _clusters(self):
        """Return frames around what only one branch of an ``ifelse`` needs, and around what both do."""
        wanted = self.style.cond_highlight
        if wanted is None:
            return []
        found = [node for node in self.graph.nodes if type(node.op).__name__ == "IfElse"
                 and (node is wanted or node.op.name == wanted)]
        if not found:
            getLogger("theano.printing").warning("pydotprint: cond_highlight is set but there is no IfElse node in the "
                                                 "graph")
            return []
        condition, *values = found[-1].inputs
        half = len(values) // 2
        left, right = [{variable.owner for variable in ancestors(part) if variable.owner is not None}
                       for part in (values[:half], values[half:])]
        frames = []
        for title, members in (("Left", left - right), ("Right", right - left), ("Middle", left & right)):
            names = [self._name(node) for node in self.graph.nodes if node in members]
            inside = " ".join([f"{name};" for name in names])
            frames.append(f"subgraph cluster_{title} {{ label={_quoted(title)}; {inside} }}")
        return frames


def _options(options):
    return ", ".join([f"{name}={_quoted(value)}" for name, value in options.items()])


def _quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
