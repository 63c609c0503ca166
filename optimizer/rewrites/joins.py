"""Joins of one tensor, with empty ones, or of vectors made of scalars; reductions of joins; unused halves of searches.

A join may have fewer static lengths than the remaining tensor; then the result is declared to have any length.
"""
from functools import partial, reduce

from phintys.graph.variable import Constant
from phintys.ops.reduction.argmax import Argmax
from phintys.ops.reduction.careduce import Max
from phintys.ops.shape.join import Join, MakeVector
from phintys.ops.shape.shape import patternbroadcast
from phintys.ops.sorting.topk import TopKOp
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.values import apply_op, constant_value, key


def join_of_one(fgraph, node):
    """``join(axis, x) -> x``."""
    return _declared(node, node.inputs[1]) if len(node.inputs) == 2 else None


def _declared(node, joined):
    """Return ``joined`` with the broadcastable pattern of the node's output."""
    return patternbroadcast(joined, node.outputs[0].type.broadcastable)


def join_without_empty(fgraph, node):
    """Remove tensors that are known to be empty along the axis."""
    axis, *tensors = node.inputs
    number = constant_value(axis)
    if node.op.view != -1 or number is None:
        return None
    kept = [tensor for tensor in tensors if _length(tensor, number) != 0]
    if len(kept) == len(tensors) or not kept or {tensor.type.dtype for tensor in kept} != {node.outputs[0].type.dtype}:
        return None
    return _declared(node, Join()(axis, *kept))


def _length(tensor, axis):
    """The length if it is known; that of a constant is, whatever its type says."""
    return tensor.data.shape[axis] if isinstance(tensor, Constant) else tensor.type.shape[axis]


def join_of_scalars(fgraph, node):
    """Merge adjacent vectors that are made of scalars."""
    axis, *tensors = node.inputs
    dtype = node.outputs[0].type.dtype
    if node.op.view != -1 or tensors[0].type.ndim != 1:
        return None
    joined, changed = [], False
    for tensor in tensors:
        made_of_scalars = key(tensor) == "MakeVector" and tensor.type.dtype == dtype
        if made_of_scalars and joined and type(joined[-1]) is list:
            joined[-1].extend(tensor.owner.inputs)
            changed = True
        else:
            joined.append(list(tensor.owner.inputs) if made_of_scalars else tensor)
    if not changed:
        return None
    joined = [MakeVector(dtype)(*part) if type(part) is list else part for part in joined]
    return Join()(axis, *joined) if len(joined) > 1 else joined[0]


def reduction_of_join(fgraph, node):
    """``sum(stack([x, y]), 0) -> x + y`` and the like: the joined tensors have length 1 along the only axis reduced."""
    joined, out = node.inputs[0], node.outputs[0]
    name = node.op.scalar_op.name
    if key(joined) != "Join" or node.op.axis is None or len(node.op.axis) != 1 or len(fgraph.clients[joined]) != 1:
        return None
    axis, *tensors = joined.owner.inputs
    if constant_value(axis) not in (node.op.axis[0], node.op.axis[0] - joined.type.ndim):
        return None
    if len(tensors) > FEW and out.type.dtype == "float16":
        return None
    pattern = tensors[0].type.broadcastable
    if not pattern[node.op.axis[0]] or any([tensor.type.broadcastable != pattern for tensor in tensors]):
        return None
    order = [number for number in range(joined.type.ndim) if number != node.op.axis[0]]
    terms = [apply_op("convert_to_" + out.type.dtype, tensor.dimshuffle(*order)) for tensor in tensors]
    while len(terms) > 1:
        terms = [reduce(partial(apply_op, name), terms[start:start + FEW]) for start in range(0, len(terms), FEW)]
    return terms[0]


def half_of_search(fgraph, node):
    """``MaxAndArgmax`` with only one output that is read -> ``Max`` or ``Argmax``."""
    read = [bool(fgraph.clients[output]) for output in node.outputs]
    if all(read) or not any(read):
        return None
    x, axis = node.inputs[0], node.op.axis
    axis = None if len(axis) == x.type.ndim else axis
    return [Max(axis)(x), None] if read[0] else [None, Argmax(axis)(x)]


def half_of_topk(fgraph, node):
    """``TopKOp`` with only one output that is read computes only this output."""
    op, read = node.op, [bool(fgraph.clients[output]) for output in node.outputs]
    if all(read) or not any(read):
        return None
    found = TopKOp(op.axis, op.sorted, op.idx_dtype, *read)(*node.inputs)
    return [found, None] if read[0] else [None, found]


# A reduction rounds less than additions do: it accumulates float32 in float64. So additions form a tree of this width,
# in which 1,000 terms are rounded 48 times, and float16, with 11 bits, is added only where there are few. Joining first
# would take three times as long (32 float32 vectors of 20,000: 76 microseconds added, 250 joined).
FEW = 16

REWRITES = [
    Rewrite("local_join_1", ("Join",), join_of_one, (FAST_RUN,)),
    Rewrite("local_join_empty", ("Join",), join_without_empty, (FAST_RUN,)),
    Rewrite("local_join_make_vector", ("Join",), join_of_scalars, (FAST_RUN,)),
    Rewrite("local_reduce_join", ("Sum", "Prod", "Max", "Min", "All", "Any"), reduction_of_join, (FAST_RUN,)),
    Rewrite("local_max_and_argmax", ("MaxAndArgmax",), half_of_search, (FAST_RUN,)),
    Rewrite("local_useless_topk", ("TopKOp",), half_of_topk, (FAST_RUN,)),
]
