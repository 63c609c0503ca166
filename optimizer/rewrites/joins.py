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
from phintys.optimizer.engine.forms import constant_value, key
from phintys.optimizer.engine.values import apply_op


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


def condition_of_all(fgraph, node):
    """``all([a, b, c]) -> a & b & c`` for a vector made of scalars, which needs no memory; ``any`` likewise."""
    vector = node.inputs[0]
    if key(vector) != "MakeVector" or vector.type.dtype != "bool" or len(vector.owner.inputs) > FEW:
        return None
    name = "and_" if key(node.outputs[0]) == "All" else "or_"
    return reduce(partial(apply_op, name), vector.owner.inputs)


def join_of_joins(fgraph, node):
    """``join(0, x, join(0, y, z)) -> join(0, x, y, z)`` if nothing else reads the inner join."""
    axis, *tensors = node.inputs
    number, flat = constant_value(axis), []
    for tensor in tensors:
        inner = (key(tensor) == "Join" and len(fgraph.clients[tensor]) == 1 and tensor.owner.op.view == -1 and
                 tensor.type.dtype == node.outputs[0].type.dtype and constant_value(tensor.owner.inputs[0]) == number)
        flat.extend(tensor.owner.inputs[1:] if inner else [tensor])
    if number is None or number < 0 or node.op.view != -1 or len(flat) == len(tensors) or len(flat) > FEW:
        return None
    return _declared(node, Join()(axis, *flat))


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
    Rewrite("local_join_of_joins", ("Join",), join_of_joins, (FAST_RUN,)),
    Rewrite("local_all_of_scalars", ("All", "Any"), condition_of_all, (FAST_RUN,), beside=("MakeVector",)),
    Rewrite("local_reduce_join", ("Sum", "Prod", "Max", "Min", "All", "Any"), reduction_of_join, (FAST_RUN,),
            changes="rounding"),
    Rewrite("local_max_and_argmax", ("MaxAndArgmax",), half_of_search, (FAST_RUN,)),
    Rewrite("local_useless_topk", ("TopKOp",), half_of_topk, (FAST_RUN,)),
]
