"""Joins of one tensor or with empty ones, joins of vectors made of scalars, and searches of which half is wanted."""
from phintys.ops.careduce import Max
from phintys.ops.argmax import Argmax
from phintys.ops.join import Join, MakeVector
from phintys.optimizer.database import FAST_RUN, Rewrite
from phintys.optimizer.values import key


def join_of_one(fgraph, node):
    """``join(axis, x) -> x``."""
    return node.inputs[1] if len(node.inputs) == 2 else None


def join_without_empty(fgraph, node):
    """Vectors that are certainly empty are left out of a join of vectors."""
    axis, *tensors = node.inputs
    if node.op.view != -1 or any([tensor.type.ndim != 1 for tensor in tensors]):
        return None
    kept = [tensor for tensor in tensors if tensor.type.shape[0] != 0]
    if len(kept) == len(tensors) or not kept or {tensor.type.dtype for tensor in kept} != {node.outputs[0].type.dtype}:
        return None
    return Join()(axis, *kept)


def join_of_scalars(fgraph, node):
    """Neighbours in a join of vectors that are made of scalars become one of them."""
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


def half_of_search(fgraph, node):
    """``MaxAndArgmax`` of which one output is read -> ``Max`` or ``Argmax``."""
    read = [bool(fgraph.clients[output]) for output in node.outputs]
    if all(read) or not any(read):
        return None
    x, axis = node.inputs[0], node.op.axis
    axis = None if len(axis) == x.type.ndim else axis
    return [Max(axis)(x), None] if read[0] else [None, Argmax(axis)(x)]


REWRITES = [
    Rewrite("local_join_1", ("Join",), join_of_one, (FAST_RUN,)),
    Rewrite("local_join_empty", ("Join",), join_without_empty, (FAST_RUN,)),
    Rewrite("local_join_make_vector", ("Join",), join_of_scalars, (FAST_RUN,)),
    Rewrite("local_max_and_argmax", ("MaxAndArgmax",), half_of_search, (FAST_RUN,)),
]
