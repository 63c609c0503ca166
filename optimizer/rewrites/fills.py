"""Fills: a value spread over the shape of another (`second`), as gradients make them, and Alloc.

Elementwise ops broadcast. So a fill that an elementwise op reads is dropped if the result keeps its broadcastable
pattern, and otherwise moved after the op, which then has less work. The remaining fills are needed as arrays; they read
only the shape of the model, not its elements.
"""
from cmath import isfinite

import numpy

from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import Alloc
from phintys.ops.elementwise.scalar import and_, as_dtype, eq, or_
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.identity.assertion import Check
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.dtypes import float_dtypes
from phintys.optimizer.engine.database import CONSTANT, FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, key
from phintys.optimizer.engine.values import NUMBERS, apply_op, apply_wide, constant, is_count, spread_over
from phintys.optimizer.passes.shapes import feature_of


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
    """``sum(fill(x, y)) -> alloc(y * size, *rest of the shape)``, for a y of one element."""
    inner, out = node.inputs[0], node.outputs[0]
    if key(inner) != "second" or out.type.dtype != inner.type.dtype:
        return None
    value = inner.owner.inputs[1]
    if not all(value.type.broadcastable):
        return None
    axes = range(inner.type.ndim) if node.op.axis is None else node.op.axis
    size = [apply_op("convert_to_" + out.type.dtype, shape_i(inner, axis)) for axis in axes]
    total = apply_wide("mul", [value.dimshuffle(), *size], out.type.dtype)
    kept = [shape_i(inner, axis) for axis in range(inner.type.ndim) if axis not in axes]
    return patternbroadcast(Alloc()(total, *kept), out.type.broadcastable) if kept else total


def prod_of_repeated(fgraph, node):
    """``prod(fill(x, y)) -> alloc(y ** size, *rest of the shape)``, for a y of one element; for ``alloc``, too."""
    inner, out = node.inputs[0], node.outputs[0]
    if key(inner) not in ("second", "Alloc") or out.type.dtype != inner.type.dtype \
            or out.type.dtype not in float_dtypes or node.op.axis == ():
        return None
    if key(inner) == "Alloc":
        value, *lengths = inner.owner.inputs
        if not all(map(is_count, lengths)):                    # Alloc refuses negative ones
            return None
    else:
        value, lengths = inner.owner.inputs[1], [shape_i(inner, axis) for axis in range(inner.type.ndim)]
    if not all(value.type.broadcastable):
        return None
    axes = range(inner.type.ndim) if node.op.axis is None else node.op.axis
    total = value.dimshuffle()
    if constant_value(value) != 1:          # in float64: elsewhere large odd numbers become even, or infinite
        size = apply_wide("mul", [as_dtype(lengths[axis], "float64") for axis in axes], "float64")
        total = as_dtype(apply_op("pow", as_dtype(total, "float64"), size), out.type.dtype)
    kept = [length for axis, length in enumerate(lengths) if axis not in axes]
    return patternbroadcast(Alloc()(total, *kept), out.type.broadcastable) if kept else total


def product_with_zeros(fgraph, node):
    """``dot(zeros, x) -> zeros`` and ``dot(x, zeros) -> zeros``."""
    first, second = node.inputs
    out = node.outputs[0]
    if constant_value(first) != 0 and constant_value(second) != 0:
        return None
    zero = constant(0, out.type.dtype, 0)
    lengths = [shape_i(first, axis) for axis in range(first.type.ndim - 1)]
    lengths += [shape_i(second, axis) for axis in range(1, second.type.ndim)]
    return patternbroadcast(Alloc()(zero, *lengths), out.type.broadcastable) if lengths else zero


def surely_repeated(fgraph, alloc):
    """Return for each dimension of an Alloc whether the types say if its value is repeated there."""
    value, *lengths = alloc.inputs
    missing = len(lengths) - value.type.ndim
    return [True] * missing + [
        flag or value.type.shape[axis] is not None or feature_of(fgraph).is_length(length, value, axis)
        for axis, (flag, length) in enumerate(zip(value.type.broadcastable, lengths[missing:]))]


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
        value = inputs[position].owner.inputs[0]
        if any([feature.same_shape(inputs[position], variable) for variable in whole]) \
                and all(surely_repeated(fgraph, inputs[position].owner)):
            changed = True
            missing = out.type.ndim - value.type.ndim
            inputs[position] = value.dimshuffle(*["x"] * missing, *range(value.type.ndim))
    return node.op(*inputs) if changed else None


def uniform_constant(fgraph, node):
    """``x * [2, 2, 2] -> x * 2``, where another operand certainly has the shape of the constant."""
    inputs, changed = list(node.inputs), False
    for position, variable in enumerate(inputs):
        if isinstance(variable, Constant) and is_uniform(variable.data) and any(
                [other.type.shape == variable.data.shape for other in inputs if not isinstance(other, Constant)]):
            inputs[position] = constant(variable.data.flat[0].item(), variable.type.dtype, variable.type.ndim)
            changed = True
    return node.op(*inputs) if changed else None


def is_uniform(data):
    """Whether an array of several elements has one value everywhere."""
    return data.size > 1 and data.dtype.kind in "fiub" and data.flat[0] == data.flat[-1] and bool(
        (data == data.flat[0]).all()) and not (data.flat[0] == 0 and numpy.signbit(data).any())


def alloc_of_alloc(fgraph, node):
    """``alloc(alloc(x, 1, n), m, n) -> alloc(x, m, n)``; lengths that may differ are compared, if nothing else reads
    the first."""
    inner = node.inputs[0]
    if key(inner) != "Alloc":
        return None
    value, *lengths = inner.owner.inputs
    outer = node.inputs[len(node.inputs) - len(lengths):]
    conditions = []
    for axis, (given, again) in enumerate(zip(lengths, outer), value.type.ndim - len(lengths)):
        known, other = constant_value(given), constant_value(again)
        has_one = axis < 0 or value.type.broadcastable[axis]
        if given is again or (known == 1 and has_one) or (known is not None and known == other):
            continue
        if known is not None and other is not None or len(fgraph.clients[inner]) != 1:
            return None
        condition = eq(given, again)
        if known in (None, 1):
            repeats = eq(given, 1) if has_one else and_(eq(given, 1), eq(shape_i(value, axis), 1))
            condition = or_(condition, repeats)
        conditions.append(condition)
    if conditions:
        value = Check("alloc: a tensor cannot be repeated to another length", "ValueError")(value, *conditions)
    return node.op(value, *node.inputs[1:])


def useless_alloc(fgraph, node):
    """``alloc(x, *x.shape) -> x``."""
    value, *lengths = node.inputs
    if value.type != node.outputs[0].type:
        return None
    feature = feature_of(fgraph)
    return value if all([feature.is_length(length, value, axis) for axis, length in enumerate(lengths)]) else None


def sum_of_alloc(fgraph, node):
    """``sum(alloc(x, *s)) -> alloc(x * size, *rest of s)``, for an x of one element."""
    inner, out = node.inputs[0], node.outputs[0]
    if key(inner) != "Alloc" or not all(inner.owner.inputs[0].type.broadcastable):
        return None
    number = constant_value(inner)
    if number is not None and not isfinite(number):
        return None
    value, *lengths = inner.owner.inputs
    if number is None and not all(map(is_count, lengths)):     # Alloc refuses negative ones
        return None
    axes = range(len(lengths)) if node.op.axis is None else node.op.axis
    factors = [apply_op("convert_to_" + out.type.dtype, lengths[axis]) for axis in axes]
    total = apply_wide("mul", [value.dimshuffle(), *factors], out.type.dtype)
    kept = [length for axis, length in enumerate(lengths) if axis not in axes]
    return inner.owner.op(total, *kept) if kept else total


_ELEMENTWISE = sorted(set(SCALAR_OPS) - {"second"})

REWRITES = [
    Rewrite("local_useless_fill", ("second",), useless_fill, (FAST_RUN,)),
    Rewrite("local_fill_of_fill", ("second",), fill_of_fill, (FAST_RUN, "local_fill_cut"), of=("second",)),
    Rewrite("local_fill_sink", _ELEMENTWISE, fill_sink, (FAST_RUN,), of=("second",)),
    Rewrite("local_elemwise_alloc", _ELEMENTWISE, alloc_in_elementwise, (FAST_RUN, "local_alloc_unary"),
            of=("Alloc",)),
    Rewrite("local_uniform_constant", _ELEMENTWISE, uniform_constant, (FAST_RUN,), of=(CONSTANT,)),
    Rewrite("local_fill_dimshuffle", ("DimShuffle",), fill_of_dimshuffle, (FAST_RUN,), of=("second",)),
    Rewrite("local_useless_alloc", ("Alloc",), useless_alloc, (FAST_RUN, "local_canonicalize_alloc")),
    Rewrite("local_merge_alloc", ("Alloc",), alloc_of_alloc, (FAST_RUN,), of=("Alloc",)),
    Rewrite("local_sum_prod_alloc", ("Sum",), sum_of_alloc, (FAST_RUN, "local_opt_alloc"), of=("Alloc",),
            changes="nan rounding"),
    Rewrite("local_fill_sum", ("Sum",), fill_sum, (FAST_RUN, "local_opt_alloc"), of=("second",),
            changes="nan rounding"),
    Rewrite("local_prod_of_repeated", ("Prod",), prod_of_repeated,
            (FAST_RUN, "local_opt_alloc", "local_sum_prod_alloc"), of=("second", "Alloc"), changes="rounding"),
    Rewrite("local_0_dot_x", ("Dot",), product_with_zeros, (FAST_RUN,), of=NUMBERS, changes="nan"),
]
