"""Ops with graphs inside them as nodes of ONNX: choices, loops, and graphs that are used as ops.

A loop becomes ONNX's ``Loop``. Its body reads values from outside by their names, and rows of sequences by ``Gather``;
what goes from step to step is carried: of each state a window of as many rows as its earliest tap looks back. ONNX
stacks the rows of all steps; those that the function does not keep are cut off after the loop.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.errors import made_at
from phintys.interop.onnx.model import ExportError
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.interop.onnx.model import Translation

FAR = 2 ** 63 - 1               # a position after all rows


def choice(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    """Both arms are computed; their values are chosen."""
    condition, *values = inputs
    chosen = t.cast(condition, "bool")
    half = len(values) // 2
    names = []
    for yes, no, output in zip(values[:half], values[half:], node.outputs):
        arms = [_arm(t, name, output.type.dtype) for name in (yes, no)]
        names.append(t.node("If", chosen, then_branch=arms[0], else_branch=arms[1]))
    return names


def _arm(t, name, dtype):
    """A graph whose result is a value from outside."""
    result = t.fresh("arm")
    node = t.helper.make_node("Identity", [name], [result])
    return t.helper.make_graph([node], "arm", [], [_value(t, result, dtype)])


def _value(t, name, dtype):
    return t.helper.make_tensor_value_info(name, t.number(dtype), None)


def opened(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    """The nodes of a graph that is used as an op."""
    return t.inside(node.op.local_inputs, node.op.local_outputs, inputs)


def whole_loop(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    """A ``Loop``, and what is kept of its rows."""
    op, given = node.op, node.op.parts.outer_inputs(inputs)
    for variable in (*op.local_inputs, *op.local_outputs):
        if not isinstance(variable.type, TensorType):
            raise ExportError(f"a loop over {variable}{made_at(variable)} of type {variable.type}")
    body = Body(t, op, given)
    steps = t.cast(given.steps, "int64")
    first = [*given.states, *given.summed, *given.carried, *[t.constant(0, "int64")] * op.parts.is_while]
    names = [t.fresh("after") for _ in first] + [t.fresh("rows") for _ in body.rows]
    t.nodes.append(t.helper.make_node("Loop", [steps, "", *first], names, body=body.graph))
    last, rows = names[:len(first)], names[len(first):]
    n_states = op.parts.n_states
    states = [t.node("Concat", before, _last(t, _of_known_lengths(t, stacked, before), kept), axis=0)
              for before, stacked, kept in zip(given.states, rows, op.kept)]
    stacked = [own if count == given.steps else _last(t, own, count)
               for own, count in zip(rows[n_states:], given.stacked)]
    return [*states, *stacked, *last[n_states:]]


def _of_known_lengths(t, rows, before):
    """Rows of a state; runtimes do not know the lengths of rows that no step has made."""
    lengths = t.node("Concat", t.node("Shape", rows, start=0, end=1), t.node("Shape", before, start=1), axis=0)
    return t.node("Reshape", rows, lengths, allowzero=1)


def _last(t, rows, count):
    """The last rows; ``count`` is a number, the name of one, or None for all."""
    if count is None:
        return rows
    length = t.node("Shape", rows, start=0, end=1)
    wanted = t.constant([count], "int64") if isinstance(count, int) else t.node(
        "Reshape", t.cast(count, "int64"), t.constant([1], "int64"))
    start = t.node("Max", t.node("Sub", length, wanted), t.constant([0], "int64"))
    return t.node("Slice", rows, start, t.constant([FAR], "int64"), t.constant([0], "int64"))


class Body:
    """The graph of a step.

    Parameters
    ----------
    t : Translation
    op : Scan
    given : Groups
        Names of the loop's inputs.

    Attributes
    ----------
    rows : list of str
        Names of the rows that a step adds: of states, then of stacked outputs.
    graph : onnx.GraphProto
    """

    def __init__(self, t: Translation, op: Any, given: Any) -> None:
        self.t, self.op = t, op
        inner, outer = op.inner_inputs, t.nodes
        t.nodes = []
        self.step, going_on = t.fresh("step"), t.fresh("going_on")
        windows = [t.fresh("window") for _ in given.states]
        sums = [t.fresh("sum") for _ in given.summed]
        carried = [t.fresh("carried") for _ in given.carried]
        done = [t.fresh("done")] * op.parts.is_while
        rows = [t.node("Gather", name, self.step, axis=0) for name in given.sequences]
        taps = [t.node("Gather", window, t.constant(depth + tap, "int64"), axis=0)
                for window, own, depth in zip(windows, op.parts.taps, op.parts.depths) for tap in own]
        found = op.parts.inner_outputs(t.inside(op.local_inputs, op.local_outputs,
                                                [*rows, *taps, *carried, *given.wholes]))
        typed = op.inner_outputs
        self.rows = [self._own(name) for name in (*found.states, *found.stacked)]
        after = [*[self._moved(window, row) for window, row in zip(windows, self.rows)],
                 *[t.node("Add", total, term) for total, term in zip(sums, found.summed)],
                 *[self._own(name) for name in found.carried],
                 *[t.node("Add", count, t.constant(1, "int64")) for count in done]]
        go_on = t.node("Not", t.cast(found.condition, "bool")) if done else t.node("Identity", going_on)
        dtypes = [*[own[0].type.dtype for own in inner.states], *[term.type.dtype for term in typed.summed],
                  *[value.type.dtype for value in inner.carried], *["int64"] * len(done)]
        infos = [t.helper.make_tensor_value_info(name, t.number(row.type.dtype), row.type.shape)
                 for name, row in zip(self.rows, (*typed.states, *typed.stacked))]
        self.graph = t.helper.make_graph(
            t.nodes, t.fresh("body"),
            [t.helper.make_tensor_value_info(self.step, t.number("int64"), []),
             t.helper.make_tensor_value_info(going_on, t.number("bool"), []),
             *[_value(t, name, dtype) for name, dtype in zip((*windows, *sums, *carried, *done), dtypes)]],
            [_value(t, go_on, "bool"),
             *[_value(t, name, dtype) for name, dtype in zip(after, dtypes)], *infos])
        t.nodes = outer

    def _own(self, name):
        """The result of a step under a name that no other result has; it may be a value from outside."""
        return self.t.node("Identity", name)

    def _moved(self, window, row):
        """The window with a new last row instead of the first one."""
        t = self.t
        zero = t.constant([0], "int64")
        older = t.node("Slice", window, t.constant([1], "int64"), t.constant([FAR], "int64"), zero)
        return t.node("Concat", older, t.node("Unsqueeze", row, zero), axis=0)
