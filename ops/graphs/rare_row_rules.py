"""Rules for all rows at once (see ``row_batching.py``) of ops that Jacobians seldom need: by the names of their
classes, so that no file of a family is imported for a program that does not use it.

``vectorize`` looks here; an op without a rule runs in a loop of its own.
"""
from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import clone_replace
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.graphs.row_batching import batched, padded, repeated
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import inc_subtensor
from phintys.ops.indexing.subtensor import WHOLE, filled
from phintys.ops.reduction.reduction import all as all_true
from phintys.ops.shape.dimshuffle import dimshuffle, transpose
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape_i, shape_padleft
from phintys.ops.types.known_length import known_integer

NAMED = {}                      # name of a class → rule(node, inputs, which of them are batched, number of rows)


def rule_for(*names):
    """Decorator that registers the rule of classes with these names."""
    def register(rule):
        NAMED.update(dict.fromkeys(names, rule))
        return rule
    return register


def rare_batch_of_node(node, inputs, flags, count):
    """The outputs of one node for all rows, or None; see ``row_batching.batch_of_node``."""
    kind = type(node.op)
    rule = NAMED.get(kind.__name__) if kind.__module__.partition(".")[0] == "phintys" else None
    if rule is None and any([base.__name__ == "MatrixOp" for base in kind.__mro__]):
        rule = of_matrices
    found = rule and rule(node, inputs, flags, count)
    if found and all([new.type.ndim == old.type.ndim + 1 for old, new in zip(node.outputs, found)]):
        return found
    return None


# ---- along an axis ---------------------------------------------------------------------------------------------------
def _next_axis(axis):
    return axis + 1 if axis >= 0 else axis


@rule_for("CumOp", "TopKOp", "RepeatOp", "FourierTransform")
def along_attribute(node, inputs, flags, count):
    """The axis of the op is one later; None means that each row is flat."""
    if True in flags[1:]:
        return None
    op, (x, *others) = node.op, inputs
    if op.axis is None:
        x, axis = reshape(x, [count, -1], ndim=2), 1
    else:
        axis = _next_axis(op.axis)
    properties = {name: getattr(op, name) for name in op.__props__}
    if properties.get("inplace"):
        return None
    return type(op)(**{**properties, "axis": axis})(x, *others, return_list=True)


@rule_for("Argmax", "Argmin", "MaxAndArgmax")
def extrema(node, inputs, flags, count):
    """The same axes, one later; all axes of a row become one."""
    rank = node.inputs[0].type.ndim
    axes = tuple(range(rank)) if node.op.axis is None else tuple([axis % rank for axis in node.op.axis])
    return type(node.op)(tuple([axis + 1 for axis in axes]))(inputs[0], return_list=True)


@rule_for("SortOp", "ArgSortOp")
def sorted_rows(node, inputs, flags, count):
    """Along the axis that is one later; a computed axis needs a loop."""
    axis = known_integer(inputs[1])
    return None if axis is None or flags[1] else [node.op(inputs[0], _next_axis(axis))]


@rule_for("PartitionOp", "ArgPartitionOp")
def partitioned_rows(node, inputs, flags, count):
    """Along the axis that is one later, at the same positions of all rows."""
    axis = known_integer(inputs[2])
    return None if axis is None or True in flags[1:] else [node.op(inputs[0], inputs[1], _next_axis(axis))]


@rule_for("ExtractDiag", "AllocDiag")
def diagonals(node, inputs, flags, count):
    """The same diagonals, of dimensions that are one later."""
    op = node.op
    properties = {name: getattr(op, name) for name in op.__props__}
    axes = {name: _next_axis(properties[name]) for name in ("axis1", "axis2")}
    return [type(op)(**{**properties, **axes})(inputs[0])]


# ---- matrices --------------------------------------------------------------------------------------------------------
def of_matrices(node, inputs, flags, count):
    """All of these ops take stacks; what is the same for all rows is repeated, and ranks are made equal after the first
    dimension. A vector among them is a column of its own."""
    if len(inputs) > 1 and any([x.type.ndim < 2 for x in node.inputs]):
        return None
    rank = max([x.type.ndim for x in node.inputs])
    rows = [padded(x if flag else repeated(x, count), rank) for x, flag in zip(inputs, flags)]
    return node.op.make_node(*rows).outputs


@rule_for("Solve", "SolveTriangular")
def solutions(node, inputs, flags, count):
    """One matrix solves for all rows at once; vectors are columns."""
    (A, b), vector = inputs, node.inputs[1].type.ndim == 1
    if not flags[0] and vector:
        return [transpose(node.op(A, transpose(b)))]
    A = A if flags[0] else shape_padleft(A)
    b = b if flags[1] else repeated(b, count)
    b = dimshuffle(b, 0, 1, "x") if vector else padded(b, A.type.ndim - 1)
    found = node.op(padded(A, b.type.ndim - 1), b)
    return [found[:, :, 0] if vector else found]


@rule_for("MakeVector")
def vectors_of_numbers(node, inputs, flags, count):
    """A vector for each row: the numbers side by side."""
    columns = [x if flag else repeated(x, count) for x, flag in zip(inputs, flags)]
    return [concatenate([dimshuffle(as_dtype(x, node.op.dtype), 0, "x") for x in columns], axis=1)]


@rule_for("Triangle")
def triangles(node, inputs, flags, count):
    """Triangles of stacks, by one diagonal for all rows."""
    return None if flags[1] else [node.op(*inputs)]


@rule_for("BatchedDot")
def batched_products(node, inputs, flags, count):
    """The rows and the stack become one dimension."""
    if [x.type.ndim for x in node.inputs] != [3, 3]:
        return None
    x, y = [x if flag else repeated(x, count) for x, flag in zip(inputs, flags)]
    flat = [reshape(part, [-1, *[shape_i(part, axis) for axis in (2, 3)]], ndim=3) for part in (x, y)]
    return [reshape(node.op(*flat), [count, shape_i(x, 1), shape_i(x, 2), shape_i(y, 3)])]


@rule_for("Pool", "MaxPoolGrad", "AveragePoolGrad", "MaxPoolRop", "DownsampleFactorMaxGradGrad")
def pools(node, inputs, flags, count):
    """Images are the last dimensions, so the rows are one dimension of examples more; windows are the same for all."""
    images = [x.type.ndim == node.outputs[0].type.ndim for x in node.inputs]
    if any([flag and not image for flag, image in zip(flags, images)]):
        return None
    return [node.op(*[x if flag or not image else repeated(x, count) for x, flag, image in zip(inputs, flags, images)])]


# ---- indices ---------------------------------------------------------------------------------------------------------
def _region(op, x, inputs, flags, count):
    """The indexed part of all rows, and the order of its dimensions in which the rows come first; None if masks or
    bounds of slices differ by row.

    NumPy puts the dimensions of index arrays first if a slice separates them, else where they are: ``lead`` says so.
    """
    entries = getattr(op, "idx_list", None)                     # None: an op that takes one vector of positions
    index = list(inputs) if entries is None else filled(entries, list(inputs))
    batched_inputs = [value for value, flag in zip(inputs, flags[1:]) if flag]

    def differs(entry):
        return any([entry is value for value in batched_inputs])

    for entry in index:
        parts = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else ()
        if any([differs(part) for part in parts]) or differs(entry) and entry.type.dtype == "bool":
            return None
    arrays = [entry for entry in index if hasattr(entry, "type")]
    rank = max([0] + [entry.type.ndim - differs(entry) for entry in arrays])
    index = [padded(entry, rank) if differs(entry) else entry for entry in index]
    if flags[0]:
        rows = dimshuffle(arange(count), 0, *["x"] * rank) if batched_inputs else WHOLE
        index = [rows, *index]
    region = getitem(x, tuple(index))
    lead = getattr(region.owner.op, "lead", 0)
    if not batched_inputs:
        return region, _moved_first(region.type.ndim, 0 if lead else rank)
    if not flags[0]:
        return region, _moved_first(region.type.ndim, lead)
    kept, before = range(rank + 1, region.type.ndim), getattr(op, "lead", 0)
    return region, [0, *kept[:before], *range(1, rank + 1), *kept[before:]]


def _moved_first(rank, axis):
    return [axis, *[number for number in range(rank) if number != axis]]


@rule_for("AdvancedSubtensor", "AdvancedSubtensor1", "Subtensor")
def parts_by_arrays(node, inputs, flags, count):
    """The same part of each row, or a part for each row."""
    found = _region(node.op, inputs[0], inputs[1:], flags, count)
    return found and [dimshuffle(found[0], found[1])]


@rule_for("AdvancedIncSubtensor", "AdvancedIncSubtensor1", "IncSubtensor")
def changed_by_arrays(node, inputs, flags, count):
    """The same part of each row is changed, or a part for each row."""
    op, (x, y, *index) = node.op, inputs
    if op.inplace:
        return None
    x = x if flags[0] else repeated(x, count)
    found = _region(op, x, index, [True, *flags[2:]], count)
    if found is None:
        return None
    region, order = found
    y = padded(y, region.type.ndim - 1) if flags[1] else dimshuffle(
        y, *["x"] * (region.type.ndim - y.type.ndim), *range(y.type.ndim))
    y = dimshuffle(y, *[order.index(axis) for axis in range(region.type.ndim)])
    return [inc_subtensor(region, y, set_instead_of_inc=op.set_instead_of_inc)]


# ---- conditions and graphs -------------------------------------------------------------------------------------------
@rule_for("Assert", "Check")
def checked(node, inputs, flags, count):
    """Conditions must hold for all rows."""
    (value, *conditions), (flag, *others) = inputs, flags
    value = value if flag else repeated(value, count)
    return [node.op(value, *[all_true(part) if batched else part for part, batched in zip(conditions, others)])]


@rule_for("IfElse")
def branches(node, inputs, flags, count):
    """With one condition for all rows it stays lazy; with one for each, both branches are computed."""
    (condition, *values), (is_batched, *others) = inputs, flags
    values = [value if flag else repeated(value, count) for value, flag in zip(values, others)]
    if not is_batched:
        return node.op(condition, *values, return_list=True)
    half = len(values) // 2
    return [elementwise.switch(dimshuffle(condition, 0, *["x"] * (first.type.ndim - 1)), first, second)
            for first, second in zip(values[:half], values[half:])]


@rule_for("OpFromGraph")
def graphs(node, inputs, flags, count):
    """The inner graph for all rows; with derivatives of a user's own it stays an op, in a loop."""
    op = node.op
    if op.has_own_derivatives:
        return None
    outputs = clone_replace(op.local_outputs, dict(zip(op.local_inputs, node.inputs)))
    rows = {old: new for old, new, flag in zip(node.inputs, inputs, flags) if flag}
    depending = set(rows)
    for inner in io_toposort(list(rows), outputs):
        if not depending.isdisjoint(inner.inputs):
            depending.update(inner.outputs)
    found = batched([output for output in outputs if output in depending], rows, rare_batch_of_node)
    if found is None:
        return None
    found = iter(found)
    return [next(found) if output in depending else repeated(output, count) for output in outputs]
