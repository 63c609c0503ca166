"""Formats a graph as nested calls on one line: ``mul(*1 -> add(x, y), *1)``.

It is for error messages and comparisons of small graphs; ``debugprint`` is for reading. The traversal is iterative, but
the text of a deep graph is nested as deeply as the graph.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.toposort import io_toposort

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.variable import Variable


def _leaf(variable):
    """Return the name of a leaf, or its text."""
    return variable.name if variable.name is not None else str(variable)


def _call(node, arguments):
    """Format an op and its arguments as a call."""
    return f"{node.op}({', '.join(arguments)})"


def as_string(inputs: Sequence[Variable], outputs: Sequence[Variable], leaf_formatter: Callable[..., Any] = _leaf,
              node_formatter: Callable[..., Any] = _call) -> list[str]:
    """Format how each of ``outputs`` is computed from ``inputs``.

    Parameters
    ----------
    inputs, outputs : list of Variable
        Nodes that compute the inputs are ignored.
    leaf_formatter : callable
        Maps a variable that is an input or has no owner to its text.
    node_formatter : callable
        Maps an Apply node and the texts of its inputs to its text.

    Returns
    -------
    list of str
        One per output. A value that is read several times is written once, as ``*number -> text``, and is ``*number``
        afterwards; the number after ``::`` is that of the output of the node, if it has several (the default is the
        first).

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gof.graph.as_string([x], [T.exp(x)])
    ['Elemwise{exp,no_inplace}(x)']
    """
    ends = set(inputs)
    labels = _labels(ends, outputs)
    written = set()
    return [_text(output, ends, labels, written, leaf_formatter, node_formatter) for output in outputs]


def _labels(ends, outputs):
    """Map nodes that are read more than once to ``*number``."""
    order = io_toposort(ends, outputs)
    readings = dict.fromkeys(order, 0)
    for variable in [*outputs, *(variable for node in order for variable in node.inputs)]:
        if variable.owner is not None and variable not in ends:
            readings[variable.owner] += 1
    repeated = [node for node in order if readings[node] > 1]
    return {node: f"*{number}" for number, node in enumerate(repeated, 1)}


def _text(output, ends, labels, written, leaf_formatter, node_formatter):
    """Return the text of one variable; arguments wait on a stack until their node is complete."""
    texts, pending = [], [(output, False)]
    while pending:
        variable, complete = pending.pop()
        node = variable.owner
        if node is None or variable in ends:
            texts.append(leaf_formatter(variable))
            continue
        if complete:
            first = len(texts) - len(node.inputs)
            text = node_formatter(node, texts[first:]) + (f"::{variable.index}" if variable.index else "")
            texts[first:] = [f"{labels[node]} -> {text}" if node in labels else text]
        elif node in written:
            texts.append(labels[node] + (f"::{variable.index}" if len(node.outputs) > 1 else ""))
        else:
            written.add(node)
            pending.append((variable, True))
            pending.extend((argument, False) for argument in reversed(node.inputs))
    return texts[0]
