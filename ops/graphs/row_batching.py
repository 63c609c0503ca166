"""Converts a graph on single rows to a graph on all rows at once.

An op that can be batched has a rule here. The rule takes a node and its inputs, some of which have a new first
dimension (the rows), and returns its outputs with that dimension. ``batched`` applies the rules along a graph; if an op
has no rule, there is no batched graph, and ``loops/row_map.py`` runs the graph row by row instead.
"""
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.toposort import io_toposort
from phintys.ops.creation.alloc import SumStretched
from phintys.ops.creation.allocation import Alloc, arange
from phintys.ops.cumulative.product import Prod
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.impl_elementwise import ImplElemwise
from phintys.ops.elementwise.scalar_protocol import ScalarOp
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor1, AdvancedSubtensor1
from phintys.ops.indexing.inc_subtensor import inc_subtensor
from phintys.ops.indexing.subtensor import WHOLE, IncSubtensor, Subtensor
from phintys.ops.nnet.softmax import LogSoftmax, Softmax, SoftmaxGrad
from phintys.ops.products.batched_product import batched_dot_op
from phintys.ops.products.dot import Dot, dot_op
from phintys.ops.products.products import tensordot
from phintys.ops.reduction.careduce import All, Any, Max, Min, Sum
from phintys.ops.shape.dimshuffle import DimShuffle, dimshuffle
from phintys.ops.shape.join import Join, join
from phintys.ops.shape.reshape import Reshape, entries_of, reshape
from phintys.ops.shape.shape import Rebroadcast, Shape, Shape_i, shape, shape_i, shape_padleft
from phintys.ops.shape.split import Split
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.number_views import ScalarFromTensor, TensorFromScalar

RULES = {}                      # class of an op → rule(node, inputs, which of them are batched, number of rows)


def batched(outputs, rows, otherwise=None):
    """Apply the graph that computes ``outputs`` to all rows at once.

    Parameters
    ----------
    outputs : list of Variable
        Each must depend on a row.
    rows : dict
        Variable that represents one row → the tensor of all rows.
    otherwise : callable, optional
        Called like `batch_of_node` for a node whose op has no rule here.

    Returns
    -------
    list of Variable or None
        The outputs with a new first dimension; None if an op has no rule.
    """
    count = shape_i(next(iter(rows.values())), 0)
    found, same = dict(rows), {}                    # with rows; without, but computed from lengths of what has rows
    for node in io_toposort(list(rows), outputs):
        flags = [variable in found for variable in node.inputs]
        inputs = [found.get(variable, same.get(variable, variable)) for variable in node.inputs]
        if True not in flags:
            if any([variable in same for variable in node.inputs]):
                same.update(zip(node.outputs, node.clone_with_new_inputs(inputs).outputs))
            continue
        if isinstance(node.op, (Shape, Shape_i)):
            same[node.outputs[0]] = shape_i(inputs[0], node.op.i + 1) if isinstance(node.op, Shape_i) else shape(
                inputs[0])[1:]
            continue
        results = batch_of_node(node, inputs, flags, count)
        if results is None and otherwise is not None:
            results = otherwise(node, inputs, flags, count)
        if results is None:
            return None
        found.update(zip(node.outputs, results))
    return [found[output] if output in found else repeated(same[output], count) for output in outputs]


def batch_of_node(node, inputs, flags, count):
    """The outputs of one node for all rows.

    Parameters
    ----------
    node : Apply
    inputs : list of Variable
        The variables that replace its inputs; those with a flag have rows.
    flags : list of bool
        At least one is true.
    count : Variable
        How many rows there are.

    Returns
    -------
    list of Variable or None
        None if the op has no rule.
    """
    kind = type(node.op)
    rule = RULES.get(kind) or (numbers if isinstance(node.op, ScalarOp) else
                               convolved if kind in getattr(kind, "family", ()) else None)
    return rule and rule(node, inputs, flags, count)


def rule_for(*classes):
    """Decorator that registers the rule of some classes of ops."""
    def register(rule):
        RULES.update(dict.fromkeys(classes, rule))
        return rule
    return register


def repeated(x, count):
    """``x`` repeated for each row."""
    return Alloc()(x, count, *[shape_i(x, axis) for axis in range(x.type.ndim)])


def padded(x, rank):
    """``x``, whose first dimension is the rows, with broadcastable dimensions inserted after it, so that a row has
    ``rank`` dimensions."""
    missing = rank + 1 - x.type.ndim
    return dimshuffle(x, [0, *["x"] * missing, *range(1, x.type.ndim)]) if missing else x


@rule_for(Elemwise, ImplElemwise)
def elementwise(node, inputs, flags, count):
    """Operands that are the same for all rows get a broadcastable first dimension."""
    if node.op.inplace_pattern:
        return None
    aligned = [x if flag else dimshuffle(x, ["x", *range(x.type.ndim)]) for x, flag in zip(inputs, flags)]
    return node.op(*aligned, return_list=True)


@rule_for(DimShuffle)
def shuffled(node, inputs, flags, count):
    """The rows stay first; all other dimensions are one later."""
    return [dimshuffle(inputs[0], [0, *["x" if axis == "x" else axis + 1 for axis in node.op.new_order]])]


@rule_for(SumStretched)
def stretched(node, inputs, flags, count):
    """The axis is one later, unless the lengths differ by row."""
    return None if flags[1] else [SumStretched(node.op.axis + 1)(*inputs)]


@rule_for(Sum, Prod, Max, Min, All, Any)
def reduced(node, inputs, flags, count):
    """The same axes, one later."""
    rank = node.inputs[0].type.ndim
    axes = range(rank) if node.op.axis is None else node.op.axis
    return [node.op.specialized(tuple([axis + 1 for axis in axes]), inputs[0].type.dtype)(inputs[0])]


@rule_for(Dot)
def product(node, inputs, flags, count):
    """As a product of matrices, or of a matrix for each row."""
    (x, y), ranks = inputs, [value.type.ndim for value in node.inputs]
    if flags == [True, True]:
        return _product_of_rows(x, y, ranks)
    if flags == [True, False]:
        return [dot_op(x, y) if ranks[0] == 1 else tensordot(x, y, [[2], [0]])]
    if ranks[1] == 1:
        return [dot_op(y, x) if ranks[0] == 1 else dot_op(y, x.T)]
    if ranks[0] == 1:
        return [tensordot(y, x, [[1], [0]])]
    return [dimshuffle(tensordot(y, x, [[1], [1]]), [0, 2, 1])]


def _product_of_rows(x, y, ranks):
    """Products of each row of one tensor with the same row of another."""
    if ranks == [2, 2]:
        return [batched_dot_op(x, y)]
    if ranks == [1, 2]:
        x = dimshuffle(x, [0, 1, "x"])
    elif ranks == [2, 1]:
        y = dimshuffle(y, [0, "x", 1])
    return [Sum(ranks[0])(x * y)]


@rule_for(Reshape)
def reshaped(node, inputs, flags, count):
    """Each row gets the new shape, if that does not depend on the row."""
    if flags[1]:
        return None
    x, lengths = inputs
    rank = node.outputs[0].type.ndim
    known = [entry for entry in entries_of(lengths, rank) if isinstance(entry, int)]
    if -1 in known:                                 # without rows, it would not follow from the number of elements
        own = [shape_i(x, axis) for axis in range(1, x.type.ndim)]
        node = node.clone_with_new_inputs([node.inputs[0], lengths])         # whose lengths are not those of a row
        entries, = node.op.infer_shape(node, [own, (rank,)])
    else:
        entries = [lengths[axis] for axis in range(rank)]
    return [reshape(x, [count, *entries], ndim=rank + 1)]


@rule_for(Alloc)
def allocated(node, inputs, flags, count):
    """The value of each row is repeated, if the lengths do not depend on the row."""
    value, *lengths = inputs
    return None if True in flags[1:] else [Alloc()(padded(value, len(lengths)), count, *lengths)]


@rule_for(Subtensor)
def part(node, inputs, flags, count):
    """The same part of each row; a row of a matrix by an integer for each row is a selection of rows."""
    x, *integers = inputs
    if True not in flags[1:]:
        return [Subtensor((WHOLE, *node.op.idx_list))(x, *integers)]
    if not is_row(node.op):
        return None
    return [x[arange(count), integers[0]] if flags[0] else AdvancedSubtensor1()(x, integers[0])]


def is_row(op):
    """Whether an index is one integer, which is not known."""
    return len(op.idx_list) == 1 and not isinstance(op.idx_list[0], (slice, int))


@rule_for(IncSubtensor)
def changed_part(node, inputs, flags, count):
    """The same part of each row is changed; if one operand is the same for all rows, it is repeated."""
    (x, y, *integers), op = inputs, node.op
    if op.inplace:
        return None
    if True in flags[2:]:
        return _changed_row(node, inputs, flags, count) if is_row(op) else None
    region = Subtensor(op.idx_list)(node.inputs[0], *integers)
    x = x if flags[0] else repeated(x, count)
    y = padded(y, region.type.ndim) if flags[1] else y
    return [IncSubtensor((WHOLE, *op.idx_list), set_instead_of_inc=op.set_instead_of_inc)(x, y, *integers)]


def _changed_row(node, inputs, flags, count):
    """``x[i]`` changed, where i differs from row to row."""
    x, y, position = inputs
    x = x if flags[0] else repeated(x, count)
    y = padded(y, node.inputs[0].type.ndim - 1) if flags[1] else y
    return [inc_subtensor(x[arange(count), position], y, set_instead_of_inc=node.op.set_instead_of_inc)]


@rule_for(AdvancedSubtensor1)
def rows_chosen(node, inputs, flags, count):
    """The rows that a vector of positions selects, for each row."""
    x, positions = inputs
    if not flags[1]:
        return [exchanged(node.op(exchanged(x), positions))]
    if flags[0]:
        return None
    lengths = [shape_i(x, axis) for axis in range(1, x.type.ndim)]
    return [reshape(node.op(x, positions.flatten()), [count, shape_i(positions, 1), *lengths])]


@rule_for(AdvancedIncSubtensor1)
def rows_changed(node, inputs, flags, count):
    """The rows that a vector of positions selects are changed, for each row."""
    (x, y, positions), rank = inputs, node.inputs[0].type.ndim
    if flags[2] or node.op.inplace:
        return None
    x = x if flags[0] else repeated(x, count)
    if flags[1]:
        y = exchanged(padded(y, rank))
    else:
        y = dimshuffle(shape_padleft(y, rank - y.type.ndim), [0, "x", *range(1, rank)])
    return [exchanged(node.op(exchanged(x), y, positions))]


def exchanged(x):
    """``x`` with its first two dimensions interchanged."""
    return dimshuffle(x, [1, 0, *range(2, x.type.ndim)])


@rule_for(Join)
def joined(node, inputs, flags, count):
    """Along the axis that is one later; what is the same for all rows is repeated."""
    axis = known_integer(inputs[0])
    if axis is None or node.op.view_map:
        return None
    parts = [x if flag else repeated(x, count) for x, flag in zip(inputs[1:], flags[1:])]
    return [join(axis + 1 if axis >= 0 else axis, *parts)]


@rule_for(Split)
def parted(node, inputs, flags, count):
    """Parts along the axis that is one later."""
    x, axis, lengths = inputs
    axis = known_integer(axis)
    if axis is None or flags[2]:
        return None
    return node.op(x, axis + 1 if axis >= 0 else axis, lengths, return_list=True)


@rule_for(Rebroadcast)
def rebroadcast(node, inputs, flags, count):
    """The pattern is that of a row, after the dimension of the rows."""
    return [Rebroadcast(*[(axis + 1, flag) for axis, flag in node.op.changes])(inputs[0])]


@rule_for(Softmax, LogSoftmax)
def softmaxes(node, inputs, flags, count):
    """Along the axis that is one later."""
    x, = inputs
    _, rows, columns = [shape_i(x, axis) for axis in range(3)]
    return [reshape(node.op(reshape(x, [count * rows, columns])), [count, rows, columns])]


@rule_for(SoftmaxGrad)
def softmax_gradients(node, inputs, flags, count):
    """Along the axis that is one later."""
    gradient, softmax = [x if flag else dimshuffle(x, ["x", 0, 1]) for x, flag in zip(inputs, flags)]
    return [softmax * (gradient - (gradient * softmax).sum(axis=2, keepdims=True))]


@rule_for(TensorFromScalar, ScalarFromTensor)
def number_views(node, inputs, flags, count):
    """A number for each row is a vector."""
    return list(inputs)


def numbers(node, inputs, flags, count):
    """The rule of all scalar ops on numbers: a batched number is a vector, and other numbers are equal for all rows."""
    return node.op.elementwise(*inputs, return_list=True)


@rule_for(ViewOp)
def viewed(node, inputs, flags, count):
    """What passes its input on passes on all rows."""
    return [node.op(inputs[0])]


# ---- convolutions: rows become images, or filters, or channels ----
def _joined(x, axis):
    """``x``, whose first dimension is the rows, with each element along ``axis`` repeated row by row."""
    order = [*range(1, axis + 1), 0, *range(axis + 1, x.type.ndim)]
    lengths = [shape_i(x, dimension) for dimension in order]
    return reshape(dimshuffle(x, order), [*lengths[:axis], lengths[axis] * lengths[axis + 1], *lengths[axis + 2:]])


def _divided(x, axis, count):
    """The inverse: the rows in dimension ``axis`` become the first dimension."""
    lengths = [shape_i(x, dimension) for dimension in range(x.type.ndim)]
    apart = reshape(x, [*lengths[:axis], count, lengths[axis] // count, *lengths[axis + 1:]])
    return dimshuffle(apart, [axis, *[dimension for dimension in range(apart.type.ndim) if dimension != axis]])


# Which input has rows: the dimension of it that they join, and that of the result. Where a third number is False, they
# are channels or filters, of which there must be one group, and True: filters of each position are possible.
CONVOLUTION_AXES = [{0: (0, 0), 1: (0, 1, True)}, {0: (1, 1, False), 1: (1, 0, True)}, {0: (1, 1, False), 1: (0, 0)}]


def convolved(node, inputs, flags, count):
    """A convolution, or its gradient by images or filters. They are known by their family, so that loops need not
    import them."""
    position = node.op.family.index(type(node.op))
    if flags[:2] == [True, True] or True in flags[2:]:
        return None
    batched_input, op = flags.index(True), node.op
    axis, of_result, *limits = CONVOLUTION_AXES[position][batched_input]
    if limits and (op.num_groups > 1 or op.unshared and not limits[0]):
        return None
    inputs = list(inputs)
    inputs[batched_input] = _joined(inputs[batched_input], axis)
    return [_divided(op.relative(position)(*inputs), of_result, count)]
