"""An op applied to each item of a batch: the leading dimensions of its inputs, which broadcast."""
from __future__ import annotations

from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, Any

from phintys import tensor as T
from phintys.graph.variable import Constant
from phintys.interop.pytensor.translation import applied
from phintys.ops.creation.allocation import Alloc
from phintys.ops.loops.building import Body, make_loop
from phintys.ops.shape.shape import Rebroadcast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable


def spread(inputs: Sequence[Variable], core_ranks: Any) -> Any:
    """The inputs with the leading dimensions of all of them: those of length 1 are repeated, as views.

    Parameters
    ----------
    inputs : list of tensor variables
    core_ranks : list of int
        For each input, the number of last dimensions that belong to an item.
    """
    leads = [list(each.type.broadcastable[:each.type.ndim - rank]) for each, rank in zip(inputs, core_ranks)]
    whole = [next((each for each, lead in zip(inputs, leads) if not lead[axis]), None) for axis in range(len(leads[0]))]
    lengths = [1 if each is None else T.shape_i(each, axis) for axis, each in enumerate(whole)]
    flags = [each is None for each in whole]
    return [each if lead == flags else T.alloc(each, *lengths, *[T.shape_i(each, axis) for axis in
                                                                 range(len(lengths), each.type.ndim)])
            for each, lead in zip(inputs, leads)]


def batched(op: Op, node: Apply, inputs: Sequence[Variable], core_ranks: Any) -> Any:
    """The outputs of Blockwise: a loop over the items, without Python where the op has a row.

    Inputs that are the same for all items are read by each item. If all inputs are, one item is computed and repeated.
    """
    items = [_only_item(each, rank) for each, rank in zip(inputs, core_ranks)]
    inputs = spread(inputs, core_ranks)
    rank = inputs[0].type.ndim - core_ranks[0]
    lengths = [T.shape_i(inputs[0], axis) for axis in range(rank)]
    core_node = op._create_dummy_core_node(node.inputs)
    if None not in items:
        outputs = applied(op.core_op, core_node, items)
        return [_repeated(each, lengths, inputs[0].type.broadcastable[:rank]) for each in outputs]
    count, rows = reduce(mul, lengths), []
    for position, (each, item) in enumerate(zip(inputs, items)):
        if item is None:
            flat = T.reshape(each, [count, *[T.shape_i(each, axis) for axis in range(rank, each.type.ndim)]],
                             ndim=each.type.ndim - rank + 1)
            items[position] = T.TensorType(flat.type.dtype, flat.type.broadcastable[1:])()
            rows.append((items[position], flat))
    outputs = applied(op.core_op, core_node, items)
    stacked = make_loop(count, Body(rows, stacked=outputs), "Blockwise", lifts=False).stacked
    return [T.reshape(each, [*lengths, *[T.shape_i(each, axis) for axis in range(1, each.type.ndim)]],
                      ndim=each.type.ndim - 1 + rank) for each in stacked]


def _only_item(variable, core_rank):
    """The item that all items of a batch are equal to, if the graph says so; else None."""
    lead = variable.type.ndim - core_rank
    if isinstance(variable, Constant) and variable.data.size:
        first = variable.data[(0,) * lead]
        return T.constant(first, ndim=core_rank) if (variable.data == first).all() else None
    core = variable.type.broadcastable[lead:]
    while variable.owner is not None and isinstance(variable.owner.op, Rebroadcast):
        variable = variable.owner.inputs[0]
    if variable.owner is not None and isinstance(variable.owner.op, Alloc):
        variable = variable.owner.inputs[0]
    lead = variable.type.ndim - core_rank
    if lead < 0 or not all(variable.type.broadcastable[:lead]) or variable.type.broadcastable[lead:] != core:
        return None
    return variable.dimshuffle(*range(lead, variable.type.ndim))


def _repeated(item, lengths, flags):
    """A batch of equal items."""
    if all(flags):
        return item.dimshuffle(*["x" for _ in flags], *range(item.type.ndim))
    return T.alloc(item, *lengths, *[T.shape_i(item, axis) for axis in range(item.type.ndim)])
