"""An op applied to each item of a batch: the leading dimensions of its inputs, which broadcast."""
from functools import reduce
from operator import mul

from phintys import tensor as T
from phintys.interop.pytensor.translation import applied
from phintys.ops.loops.building import Body, make_loop


def spread(inputs, core_ranks):
    """The inputs with the leading dimensions of all of them: those of length 1 are repeated, as views.

    Parameters
    ----------
    inputs : list of tensor variables
    core_ranks : list of int
        How many of the last dimensions of each are its item's own.
    """
    leads = [list(each.type.broadcastable[:each.type.ndim - rank]) for each, rank in zip(inputs, core_ranks)]
    whole = [next((each for each, lead in zip(inputs, leads) if not lead[axis]), None) for axis in range(len(leads[0]))]
    lengths = [1 if each is None else T.shape_i(each, axis) for axis, each in enumerate(whole)]
    flags = [each is None for each in whole]
    return [each if lead == flags else T.alloc(each, *lengths, *[T.shape_i(each, axis) for axis in
                                                                 range(len(lengths), each.type.ndim)])
            for each, lead in zip(inputs, leads)]


def batched(op, node, inputs, core_ranks):
    """The outputs of Blockwise: a loop over the items, without Python where the op has a row."""
    inputs = spread(inputs, core_ranks)
    rank = inputs[0].type.ndim - core_ranks[0]
    lengths = [T.shape_i(inputs[0], axis) for axis in range(rank)]
    count = reduce(mul, lengths)
    flat = [T.reshape(each, [count, *[T.shape_i(each, axis) for axis in range(rank, each.type.ndim)]],
                      ndim=each.type.ndim - rank + 1) for each in inputs]
    core_node = op._create_dummy_core_node(node.inputs)
    rows = [T.TensorType(each.type.dtype, each.type.broadcastable[1:])() for each in flat]
    outputs = applied(op.core_op, core_node, rows)
    stacked = make_loop(count, Body(list(zip(rows, flat)), stacked=outputs), "Blockwise", lifts=False).stacked
    return [T.reshape(each, [*lengths, *[T.shape_i(each, axis) for axis in range(1, each.type.ndim)]],
                      ndim=each.type.ndim - 1 + rank) for each in stacked]
