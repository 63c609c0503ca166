"""The exceptions of DebugMode. Each message names the op, the node, where the user made it, and the rewrite involved.

Names, arguments and attributes are Theano's where Theano has the exception; `BadShape`, `UnwrittenOutput`,
`NondeterministicOp`, `BadExamined` and `BadProgram` exist only here. ``context`` is filled in by the run, which knows
the rewrite that inserted a node.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.debugging.debug_differences import described, difference
from phintys.graph.errors import made_at
from phintys.graph.public_names import at_home
from phintys.printing import debugprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

DEPTH = 6                      # levels of a graph that a message prints


def _node_lines(node):
    return [f"Node: {node}{made_at(node)}", f"Op: {node.op} of class {type(node.op).__name__}"]


def _graph(variable):
    return debugprint(variable, depth=DEPTH, file="str", print_type=True).rstrip()


@at_home
class DebugModeError(Exception):
    """An op, a kernel, a type or a rewrite does not do what it declares."""

    context = ()                                    # further lines

    def lines(self) -> list[str]:
        """Return the lines of the message, without ``context``."""
        return [super().__str__()]

    def __str__(self):
        return "\n".join([*self.lines(), *self.context])


@at_home
class BadThunkOutput(DebugModeError):
    """Two ways to compute a node, or two layouts of its operands, give different values.

    Attributes
    ----------
    r : Variable
        The output in question.
    thunk1, thunk2 : str
        How the values were computed.
    val1, val2 : object
    inputs_val : sequence
        The values of the node's inputs.
    """

    def __init__(self, r: Variable, thunk1: str, val1: numpy.ndarray, thunk2: str, val2: numpy.ndarray,
                 inputs_val: Sequence[numpy.ndarray] = ()) -> None:
        super().__init__(r, thunk1, val1, thunk2, val2, inputs_val)
        self.r, self.inputs_val = r, inputs_val
        self.thunk1, self.val1, self.thunk2, self.val2 = thunk1, val1, thunk2, val2

    def offending_op(self) -> Any:
        """Return the class of the op."""
        return type(self.r.owner.op)

    def lines(self) -> list[str]:
        return [f"{type(self).__name__}: output {self.r.index} of {self.r.owner.op} depends on how it is computed.",
                *_node_lines(self.r.owner), f"Computed by {self.thunk1}: {described(self.val1)}",
                f"Computed by {self.thunk2}: {described(self.val2)}", f"Difference: {difference(self.val1, self.val2)}",
                *[f"Input {position}: {described(value)}" for position, value in enumerate(self.inputs_val)]]


@at_home
class NondeterministicOp(BadThunkOutput):
    """The same computation of the same values, done twice, gives different values."""


@at_home
class UnwrittenOutput(DebugModeError):
    """A kernel does not write all of its output.

    Attributes
    ----------
    node : Apply
    output_idx : int
    value : numpy.ndarray
        The output, in memory that was first filled with one byte.
    other : numpy.ndarray
        The output, in memory that was first filled with another byte.
    """

    def __init__(self, node: Apply, output_idx: int, value: numpy.ndarray, other: numpy.ndarray) -> None:
        super().__init__(node, output_idx, value, other)
        self.node, self.output_idx, self.value, self.other = node, output_idx, value, other

    def lines(self) -> list[str]:
        return [f"UnwrittenOutput: the kernel of {self.node.op} leaves a part of output {self.output_idx} unwritten, "
                "or reads it before it is written.", *_node_lines(self.node),
                f"The output in memory with two kinds of old content: {difference(self.value, self.other)}"]


@at_home
class BadExamined(DebugModeError):
    """The results of a kernel's ``prepare`` depend on values that the kernel does not declare as examined.

    Attributes
    ----------
    node : Apply
    examined : tuple of int
        The inputs whose values the kernel says that ``prepare`` reads.
    expected, found : str
        What ``prepare`` returned and the outputs' shapes and strides, or the error: for the values of the call, and for
        other values of the other inputs.
    """

    def __init__(self, node: Apply, examined: Sequence[int], expected: str, found: str) -> None:
        super().__init__(node, examined, expected, found)
        self.node, self.examined, self.expected, self.found = node, examined, expected, found

    def lines(self) -> list[str]:
        return [f"BadExamined: the kernel of {self.node.op} examines the inputs {self.examined}, but prepare depends "
                "on values of others.", *_node_lines(self.node), f"For the values of the call: {self.expected}",
                f"For other values of the inputs that are not examined: {self.found}"]


@at_home
class BadOptimization(DebugModeError):
    """A rewrite replaced a variable by one with another value.

    Attributes
    ----------
    old_r, new_r : Variable
    old_r_val, new_r_val : object
    reason : str
        The name of the rewrite.
    """

    def __init__(self, old_r: Variable, new_r: Variable, old_r_val: numpy.ndarray, new_r_val: numpy.ndarray,
                 reason: str, old_graph: Any = None, new_graph: Any = None) -> None:
        super().__init__(old_r, new_r, old_r_val, new_r_val, reason, old_graph, new_graph)
        self.old_r, self.new_r, self.old_r_val, self.new_r_val = old_r, new_r, old_r_val, new_r_val
        self.reason, self.old_graph, self.new_graph = reason, old_graph, new_graph

    def lines(self) -> list[str]:
        return [f"BadOptimization: the rewrite {self.reason} changes a value.",
                f"Difference: {difference(self.old_r_val, self.new_r_val)}",
                f"Old variable: {self.old_r}{made_at(self.old_r)}, {described(self.old_r_val)}",
                f"New variable: {self.new_r}{made_at(self.new_r)}, {described(self.new_r_val)}",
                "Old graph:", self.old_graph or _graph(self.old_r), "New graph:", self.new_graph or _graph(self.new_r)]


@at_home
class BadDestroyMap(DebugModeError):
    """A node changed an input that its op's ``destroy_map`` does not name.

    Attributes
    ----------
    node : Apply
    idx : int
        The number of the input.
    old_val, new_val : object
    perform : str
        The function that was run.
    """

    def __init__(self, node: Apply, idx: int, old_val: Sequence[int] | numpy.ndarray,
                 new_val: Sequence[int] | numpy.ndarray, perform: str) -> None:
        super().__init__(node, idx, old_val, new_val, perform)
        self.node, self.idx, self.old_val, self.new_val, self.perform = node, idx, old_val, new_val, perform

    def lines(self) -> list[str]:
        return [f"BadDestroyMap: {self.perform} of {self.node.op} changed input {self.idx}, but its destroy_map is "
                f"{self.node.op.destroy_map}.", *_node_lines(self.node),
                f"Difference, before and after: {difference(self.old_val, self.new_val)}"]


@at_home
class BadViewMap(DebugModeError):
    """An output shares memory with something that its op's ``view_map`` does not name.

    Attributes
    ----------
    node : Apply
    output_idx : int
    out_storage : object
        The output's value.
    in_alias_idx : list of int or None
        Inputs that it shares memory with.
    out_alias_idx : int or None
        Another output that it shares memory with.
    """

    def __init__(self, node: Apply, output_idx: int, out_storage: numpy.ndarray,
                 in_alias_idx: Sequence[int] | None = None, out_alias_idx: int | None = None) -> None:
        super().__init__(node, output_idx, out_storage, in_alias_idx, out_alias_idx)
        self.node, self.output_idx, self.out_storage = node, output_idx, out_storage
        self.in_alias_idx, self.out_alias_idx = in_alias_idx, out_alias_idx

    def _other(self):
        if self.in_alias_idx is not None:
            return f"input {', '.join(map(str, self.in_alias_idx))}"
        if self.out_alias_idx is not None:
            return f"output {self.out_alias_idx}"
        return "what the op returned before"

    def lines(self) -> list[str]:
        op = self.node.op
        return [f"BadViewMap: output {self.output_idx} of {op} shares memory with {self._other()}, but its view_map is "
                f"{op.view_map} and its destroy_map {op.destroy_map}.", *_node_lines(self.node),
                f"Output: {described(self.out_storage)}"]


@at_home
class InvalidValueError(DebugModeError):
    """A value does not have its variable's type, or is not finite.

    Attributes
    ----------
    r : Variable or str
        The variable; or the whole message.
    v : object
        The value.
    client_node : Apply or None
        A node that reads it.
    hint, specific_hint : str
        Where the value comes from, and what is wrong with it.
    """

    def __init__(self, r: Variable, v: Sequence[float] | numpy.ndarray | None = None, client_node: Any = None,
                 hint: str = "none", specific_hint: str = "none") -> None:
        super().__init__(r, v, client_node, hint, specific_hint)
        self.r, self.v, self.client_node, self.hint, self.specific_hint = r, v, client_node, hint, specific_hint

    def lines(self) -> list[str]:
        if isinstance(self.r, str):
            return [self.r]
        node = self.r.owner
        return [f"InvalidValueError: {self.hint}: {self.r} of type {self.r.type}{made_at(self.r)} has the value",
                described(self.v), f"Wrong with it: {self.specific_hint}", *(_node_lines(node) if node else ()),
                *([f"Read by: {self.client_node}"] if self.client_node else ())]


@at_home
class BadShape(DebugModeError):
    """An output has another shape than ``infer_shape`` or the variable's type declares.

    Attributes
    ----------
    node : Apply
    output_idx : int
    inferred : object
        The declared shape: a tuple of lengths, or a description of the error.
    actual : tuple of int
    source : str
        The origin of the declared shape.
    """

    def __init__(self, node: Apply, output_idx: int, inferred: str | Sequence[Variable | int],
                 actual: str | Sequence[int], source: str = "infer_shape") -> None:
        super().__init__(node, output_idx, inferred, actual, source)
        self.node, self.output_idx, self.inferred = node, output_idx, inferred
        self.actual, self.source = actual, source

    def lines(self) -> list[str]:
        return [f"BadShape: {self.source} of {self.node.op} says that output {self.output_idx} has the shape "
                f"{self.inferred}, but it has {self.actual}.", *_node_lines(self.node)]


@at_home
class BadProgram(DebugModeError):
    """The linked program computes another value than its nodes, run one by one.

    Attributes
    ----------
    r : Variable
        The output of the graph.
    value, expected : object
        The values computed by the program and by the nodes.
    what : str
        "result", "new value" or "argument".
    """

    def __init__(self, r: Variable, value: numpy.ndarray, expected: numpy.ndarray, what: str) -> None:
        super().__init__(r, value, expected, what)
        self.r, self.value, self.expected, self.what = r, value, expected, what

    def lines(self) -> list[str]:
        return [f"BadProgram: {self.what} of the linked program differs from what its nodes compute one by one: "
                f"{difference(self.value, self.expected)}", f"Variable: {self.r}{made_at(self.r)}", _graph(self.r)]


@at_home
class StochasticOrder(DebugModeError):
    """Optimising the same graph twice gives different steps."""
