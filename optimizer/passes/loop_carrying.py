"""Turns states into carried values, if only the last row is read and a step changes only a part of it.

Each row of a state needs new memory, so an assignment to an element first copies the whole row. The body overwrites a
carried value where possible, so the time of a step depends only on the size of the changed part. Other states are not
changed, because a kernel that computes a whole row writes it in any case.
"""
from phintys.graph.variable import Constant
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.indexing.subtensor import Subtensor
from phintys.ops.loops.open_loop import Entry, OpenLoop
from phintys.ops.products.dot import Dot
from phintys.ops.shape.shape import shape_padleft
from phintys.optimizer.passes.loops import each_loop, initial_row, readings_of


def carry_last_rows(fgraph):
    """Let states that steps can overwrite be carried, where only the last row is read.

    Returns
    -------
    int
        How many loops were changed.
    """
    return each_loop(fgraph, _carrying, "scan_make_inplace")


def _carrying(fgraph, node):
    loop, found = OpenLoop(node), []
    for entry in list(loop.states):
        readings = _readings_of_last_row(fgraph, entry)
        if readings and _is_overwritten(entry):
            carried = Entry(entry.inner, initial=initial_row(entry.initial, 0), before=entry.reads[0])
            loop.states.remove(entry)
            loop.carried.append(carried)
            found.append((entry, carried, readings))
    if not found:
        return None
    pairs = loop.close()
    steps = loop.steps if loop.steps_done is None else loop.steps_done
    for entry, carried, readings in found:
        for path in readings:
            pairs.append((path[-1].outputs[0], carried.new if len(path) == 1 else _unless_no_steps(carried.new, steps)))
    return pairs


def _readings_of_last_row(fgraph, entry):
    """The chains of nodes that read the last row of a state; None if other rows may be read."""
    if entry.taps != (-1,) or entry.kept is None:
        return None
    readings = readings_of(fgraph, entry.old, 1)
    if readings is None or not all([_is_last_row(path) for _, path in readings]):
        return None
    return [path for _, path in readings]


def _is_last_row(path):
    """Whether a chain of nodes is ``rows[-1]``, perhaps of ``rows[1:]``, the rows that steps add."""
    return type(path[-1].op) is Subtensor and path[-1].op.idx_list == (-1,)


def _is_overwritten(entry):
    """Whether a step changes a part of the state, or adds a product to it."""
    after, before = entry.inner, entry.reads[0]
    while after.owner is not None and after.owner.op.changes_part:
        after = after.owner.inputs[0]
    if after is before:
        return entry.inner is not before
    node = after.owner
    return (node is not None and type(node.op) is Elemwise and node.op.scalar_op == scalar.add
            and before in node.inputs and before.type.ndim > 0 and any([_is_product(term) for term in node.inputs]))


def _is_product(term):
    return term.owner is not None and type(term.owner.op) is Dot


def _unless_no_steps(value, steps):
    """A carried value as the last row that steps have added; indexing raises an error if there were no steps."""
    if isinstance(steps, Constant) and steps.data > 0:
        return value
    return shape_padleft(value)[:scalar.minimum(steps, 1)][-1]
