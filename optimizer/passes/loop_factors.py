"""Copies transposed matrices by which a loop multiplies once, before the loop.

In ``dot(h, W.T)`` the rows of the right factor have gaps, because the transpose is a view. A product of matrices would
make a contiguous copy in each step; one copy before the loop takes as long as one of these. Products with a vector on
the left read a transpose in its order in memory, and need no copy. What a loop in the steps of a loop multiplies by is
copied before the outer one: gradients of `scan_checkpoints` have such loops.
"""
from phintys.graph.traversal import ancestors
from phintys.ops.loops.loop import Scan
from phintys.ops.products.dot import Dot
from phintys.ops.shape.contiguous import cpu_contiguous
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.optimizer.passes.loops import each_loop


def copy_factors(fgraph):
    """Copy the transposes that loops multiply by.

    Returns
    -------
    int
        How many loops were changed.
    """
    return each_loop(fgraph, _with_copies, "scan_copy_factors")


def _with_copies(fgraph, node):
    op = node.op
    factors = _right_factors(op.local_outputs)
    copied = {outer for inner, outer in _wholes(node) if inner in factors and _is_transpose(outer)}
    if not copied:
        return None
    inputs = [cpu_contiguous(variable) if variable in copied else variable for variable in node.inputs]
    return list(zip(node.outputs, op(*inputs, return_list=True)))


def _wholes(node):
    return zip(node.op.inner_inputs.wholes, node.op.parts.outer_inputs(node.inputs).wholes)


def _right_factors(outputs):
    """What matrices of several rows are multiplied by, also in the steps of loops."""
    found = set()
    for node in dict.fromkeys([variable.owner for variable in ancestors(outputs) if variable.owner is not None]):
        if type(node.op) is Dot and node.inputs[0].type.ndim == 2 and not node.inputs[0].type.broadcastable[0]:
            found.add(node.inputs[1])
        elif type(node.op) is Scan:
            inside = _right_factors(node.op.local_outputs)
            found.update([outer for inner, outer in _wholes(node) if inner in inside])
    return found


def _is_transpose(variable):
    owner = variable.owner
    return owner is not None and type(owner.op) is DimShuffle and list(owner.op.new_order) == [1, 0]
