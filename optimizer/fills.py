"""Fills: a value spread over the shape of another (`second`), as gradients make them, and Alloc.

Elementwise ops broadcast by themselves, so a fill read by one is dropped where the result keeps its pattern, and
otherwise moved behind it, where the work is smaller. What is left at the end stands where a real array is needed;
then only the shape of the model is read, not its elements.
"""
from phintys.ops.scalar_op import SCALAR_OPS
from phintys.ops.shape import shape_i
from phintys.optimizer.database import FAST_RUN, Rewrite
from phintys.optimizer.shapes import feature_of
from phintys.optimizer.values import apply_op, key, spread_over


def useless_fill(fgraph, node):
    """``fill(x, y) -> y`` where y has the shape already."""
    value, out = node.inputs[1], node.outputs[0]
    return value if value.type == out.type else None


def fill_sink(fgraph, node):
    """``f(fill(x, y), z) -> f(y, z)``, or ``fill(x, f(y, z))`` where the result would lose dimensions."""
    inputs = node.inputs
    models, bare = [], []
    for variable in inputs:
        if key(variable) == "second":
            model, value = variable.owner.inputs
            models.append(model)
            bare.append(value)
        else:
            bare.append(variable)
    if not models:
        return None
    out = node.outputs[0]
    result = node.op(*bare)
    if result.type.dtype != out.type.dtype:
        return None
    return spread_over(result, out.type.broadcastable, models + inputs)


def fill_of_fill(fgraph, node):
    """``fill(fill(x, y), z) -> fill(x, z)`` and ``fill(x, fill(y, z)) -> fill(x, z)`` where the shape remains."""
    model, value = node.inputs
    out = node.outputs[0]
    if key(model) == "second" and model.owner.inputs[0].type.broadcastable == model.type.broadcastable:
        return apply_op("second", model.owner.inputs[0], value)
    if key(value) == "second":
        result = apply_op("second", model, value.owner.inputs[1])
        return result if result.type == out.type else None
    return None


def fill_of_dimshuffle(fgraph, node):
    """``DimShuffle(fill(x, y)) -> fill(DimShuffle(x), DimShuffle(y))``."""
    inner = node.inputs[0]
    if key(inner) != "second":
        return None
    model, value = inner.owner.inputs
    order = node.op.new_order
    return apply_op("second", model.dimshuffle(*order), value.dimshuffle(*order))


def fill_sum(fgraph, node):
    """``sum(fill(x, y)) -> y * size(x)``, for a y of one element and a sum over everything."""
    inner, out = node.inputs[0], node.outputs[0]
    if key(inner) != "second" or out.type.ndim or out.type.dtype != inner.type.dtype:
        return None
    value = inner.owner.inputs[1]
    if not all(value.type.broadcastable):
        return None
    size = [shape_i(inner, axis) for axis in range(inner.type.ndim)]
    size = apply_op("mul", *size) if len(size) > 1 else size[0]
    return apply_op("mul", value.dimshuffle(), apply_op("convert_to_" + out.type.dtype, size))


def alloc_in_elementwise(fgraph, node):
    """``f(alloc(x, *s), y) -> f(x, y)`` where y certainly has the shape s; ``f(alloc(x, *s)) -> alloc(f(x), *s)``."""
    allocated = [position for position, variable in enumerate(node.inputs) if key(variable) == "Alloc"]
    if not allocated:
        return None
    out, inputs = node.outputs[0], list(node.inputs)
    if len(inputs) == 1:
        value, *shape = inputs[0].owner.inputs
        return inputs[0].owner.op(node.op(value), *shape) if value.type.ndim == 0 else None
    feature = feature_of(fgraph)
    whole = [variable for variable in inputs if key(variable) != "Alloc" and variable.type.broadcastable
             == out.type.broadcastable]
    changed = False
    for position in allocated:
        if any([feature.same_shape(inputs[position], variable) for variable in whole]):
            value, changed = inputs[position].owner.inputs[0], True
            missing = out.type.ndim - value.type.ndim
            inputs[position] = value.dimshuffle(*["x"] * missing, *range(value.type.ndim))
    return node.op(*inputs) if changed else None


_ELEMENTWISE = sorted(set(SCALAR_OPS) - {"second"})

REWRITES = [
    Rewrite("local_useless_fill", ("second",), useless_fill, (FAST_RUN,)),
    Rewrite("local_fill_of_fill", ("second",), fill_of_fill, (FAST_RUN, "local_fill_cut")),
    Rewrite("local_fill_sink", _ELEMENTWISE, fill_sink, (FAST_RUN,)),
    Rewrite("local_elemwise_alloc", _ELEMENTWISE, alloc_in_elementwise, (FAST_RUN, "local_alloc_unary")),
    Rewrite("local_fill_dimshuffle", ("DimShuffle",), fill_of_dimshuffle, (FAST_RUN,)),
    Rewrite("local_fill_sum", ("Sum",), fill_sum, (FAST_RUN, "local_opt_alloc")),
]
