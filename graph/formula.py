"""A graph as nested calls on one line: ``mul(*1 -> add(x, y), *1)``.

For error messages and comparisons of small graphs; ``debugprint`` is what people read. The walk is iterative, but the
text of a deep graph nests as deeply as the graph.
"""
from phintys.graph.toposort import io_toposort


def _leaf(variable):
    """The name of a leaf, or its text."""
    return variable.name if variable.name is not None else str(variable)


def _call(node, arguments):
    """An op and its arguments as a call."""
    return f"{node.op}({', '.join(arguments)})"


def as_string(inputs, outputs, leaf_formatter=_leaf, node_formatter=_call):
    """What computes each of ``outputs`` from ``inputs``, as text.

    Parameters
    ----------
    inputs, outputs : list of Variable
        What computes the inputs is not looked at.
    leaf_formatter : callable
        From a variable that is an input or has no owner to its text.
    node_formatter : callable
        From an Apply node and the texts of its inputs to its text.

    Returns
    -------
    list of str
        One per output. What is read several times is written once, as ``*number -> text``, and is ``*number``
        afterwards; behind ``::`` stands which output of the node is meant where there are several (the first, where a
        node is written, if nothing stands there).
    """
    ends = set(inputs)
    labels = _labels(ends, outputs)
    written = set()
    return [_text(output, ends, labels, written, leaf_formatter, node_formatter) for output in outputs]


def _labels(ends, outputs):
    """Node → ``*number`` for the nodes that are read more than once."""
    order = io_toposort(ends, outputs)
    readings = dict.fromkeys(order, 0)
    for variable in [*outputs, *(variable for node in order for variable in node.inputs)]:
        if variable.owner is not None and variable not in ends:
            readings[variable.owner] += 1
    repeated = [node for node in order if readings[node] > 1]
    return {node: f"*{number}" for number, node in enumerate(repeated, 1)}


def _text(output, ends, labels, written, leaf_formatter, node_formatter):
    """The text of one variable; arguments wait on a stack until their node is complete."""
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
