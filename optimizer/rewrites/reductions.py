"""Reductions over no axes, over dimensions of length 1, of views, of other reductions, and of scaled values."""
from phintys.graph.variable import Constant
from phintys.ops.products.products import dot
from phintys.ops.reduction.careduce import CAReduceDtype
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import constant
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import is_inexact, key, key_of
from phintys.optimizer.engine.values import apply_op, as_type

KEYS = ("Sum", "Prod", "Max", "Min", "All", "Any")


def axes_of(node):
    """Return the axes of a reduction as a tuple."""
    return tuple(range(node.inputs[0].type.ndim)) if node.op.axis is None else node.op.axis


def with_axes(node, axes, variable):
    """Return the same reduction of ``variable`` over other axes."""
    axis = None if len(axes) == variable.type.ndim else tuple(axes)
    return node.op.specialized(axis, variable.type.dtype)(variable)


def useless_reduction(fgraph, node):
    """A reduction over dimensions of length 1 only drops them."""
    x = node.inputs[0]
    axes = axes_of(node)
    pattern = x.type.broadcastable
    real = [axis for axis in axes if not pattern[axis]]
    if len(real) == len(axes) and axes:
        return None
    x = x.dimshuffle(*[axis for axis in range(len(pattern)) if axis not in axes or not pattern[axis]]) if axes else x
    dropped = [axis for axis in axes if pattern[axis]]
    if real:
        return with_axes(node, [axis - sum([gone < axis for gone in dropped]) for axis in real], x)
    return as_type(x, node.outputs[0].type, ())


def all_to_none(fgraph, node):
    """Write all axes as None, so that equal reductions are equal."""
    if node.op.axis is not None and len(node.op.axis) == node.inputs[0].type.ndim:
        return with_axes(node, node.op.axis, node.inputs[0])
    return None


def reduction_of_dimshuffle(fgraph, node):
    """A reduction of a permuted array is one of the array itself."""
    x, axes = node.inputs[0], axes_of(node)
    if key(x) != "DimShuffle" or any([order == "x" for order in x.owner.op.new_order]) or x.owner.op.drop:
        return None
    order, source = x.owner.op.new_order, x.owner.inputs[0]
    kept = [order[axis] for axis in range(len(order)) if axis not in axes]
    if kept != sorted(kept):
        return None
    return with_axes(node, sorted([order[axis] for axis in axes]), source)


def reduction_of_reduction(fgraph, node):
    """``sum(sum(x, 0), 0) -> sum(x, (0, 1))``, and the like."""
    inner = node.inputs[0]
    if key(inner) != key_of(node.op) or len(fgraph.clients[inner]) != 1:
        return None
    if isinstance(node.op, CAReduceDtype) and (node.op.dtype != inner.type.dtype
                                               or node.op.acc_dtype != inner.owner.op.acc_dtype):
        return None
    reduced, x = axes_of(inner.owner), inner.owner.inputs[0]
    kept = [axis for axis in range(x.type.ndim) if axis not in reduced]
    axes = sorted(reduced + tuple([kept[axis] for axis in axes_of(node)]))
    return inner.owner.op.specialized(None if len(axes) == x.type.ndim else tuple(axes), x.type.dtype)(x)


def sum_of_scaled(fgraph, node):
    """``sum(c * x) -> c * sum(x)`` and ``sum(-x) -> -sum(x)``: one element is scaled instead of all."""
    x, out = node.inputs[0], node.outputs[0]
    name = key(x)
    if name not in ("mul", "neg", "true_div") or not is_inexact(out) or out.type.dtype != x.type.dtype \
            or len(fgraph.clients[x]) != 1:
        return None
    inputs = x.owner.inputs
    if name == "neg":
        return apply_op("neg", node.op(inputs[0]))
    if name == "true_div":
        if all(inputs[1].type.broadcastable) and inputs[0].type == x.type and not all(x.type.broadcastable):
            return apply_op("true_div", node.op(inputs[0]), _scalar(inputs[1], out))
        return None
    scales = [factor for factor in inputs if all(factor.type.broadcastable)]
    rest = [factor for factor in inputs if not all(factor.type.broadcastable)]
    inner = apply_op("mul", *rest) if len(rest) > 1 else rest[0] if rest else None
    if not scales or inner is None or inner.type != x.type:
        return None
    return apply_op("mul", *[_scalar(factor, out) for factor in scales], node.op(inner))


def _scalar(factor, out):
    """Return a value of one element with the rank of ``out``."""
    return factor.dimshuffle(*["x"] * out.type.ndim)


def sum_of_repeated_factor(fgraph, node):
    """``sum(x * row, axis=0) -> sum(x, axis=0) * vector``: a factor that is repeated along all axes of the sum."""
    x, out, axes = node.inputs[0], node.outputs[0], axes_of(node)
    if key(x) != "mul" or not is_inexact(out) or out.type.dtype != x.type.dtype or len(axes) == x.type.ndim \
            or len(fgraph.clients[x]) != 1:
        return None
    factors = [once_along(axes, factor) for factor in x.owner.inputs]
    scales = [factor for factor in factors if is_repeated(factor, axes)]
    rest = [factor for factor in x.owner.inputs if not is_repeated(once_along(axes, factor), axes)]
    inner = apply_op("mul", *rest) if len(rest) > 1 else rest[0] if rest else None
    if not scales or inner is None or inner.type != x.type:
        return None
    kept = [axis for axis in range(x.type.ndim) if axis not in axes]
    return apply_op("mul", node.op(inner), *[factor.dimshuffle(*kept) for factor in scales])


def is_repeated(factor, axes):
    """Return whether it has length 1 along all of ``axes``."""
    return all([factor.type.broadcastable[axis] for axis in axes])


def once_along(axes, factor):
    """A constant that is the same along ``axes``, with length 1 there; other factors unchanged."""
    if not isinstance(factor, Constant) or is_repeated(factor, axes) or not factor.data.size:
        return factor
    first = factor.data[tuple([slice(0, 1) if axis in axes else slice(None) for axis in range(factor.type.ndim)])]
    return constant(first) if (factor.data == first).all() else factor


def sum_of_batched_products(fgraph, node):
    """``sum(batched_dot(a, b), axis=0)`` is one product: the sum over the batch is a part of its inner dimension."""
    x = node.inputs[0]
    if key(x) != "BatchedDot" or axes_of(node) != (0,) or len(fgraph.clients[x]) != 1 \
            or node.outputs[0].type.dtype != x.type.dtype:
        return None
    a, b = x.owner.inputs
    if a.type.ndim != 3 or b.type.ndim != 3 or a.type.broadcastable[0] != b.type.broadcastable[0]:
        return None
    if a.type.broadcastable[2] and b.type.broadcastable[1]:            # outer products: views suffice
        return dot(a.dimshuffle(1, 0), b.dimshuffle(0, 2))
    count, rows, inner = [shape_i(a, axis) for axis in range(3)]
    return dot(reshape(a.dimshuffle(1, 0, 2), [rows, count * inner], ndim=2),
               reshape(b, [count * inner, shape_i(b, 2)], ndim=2))


REWRITES = [
    Rewrite("local_useless_reduce", KEYS, useless_reduction,
            (FAST_RUN, "local_reduce_broadcastable", "local_cut_useless_reduce")),
    Rewrite("local_sum_prod_all_to_none", KEYS, all_to_none, (FAST_RUN,)),
    Rewrite("local_reduce_dimshuffle", KEYS, reduction_of_dimshuffle, (FAST_RUN,), changes="rounding"),
    Rewrite("local_op_of_op", ("Sum", "Prod", "Max", "Min"), reduction_of_reduction, (FAST_RUN,),
            changes="nan range rounding"),
    Rewrite("local_sum_prod_mul_by_scalar", ("Sum",), sum_of_scaled, (FAST_RUN,), changes="nan range rounding"),
    Rewrite("local_sum_of_repeated_factor", ("Sum",), sum_of_repeated_factor, (FAST_RUN,),
            changes="nan range rounding"),
    Rewrite("local_sum_of_batched_products", ("Sum",), sum_of_batched_products, (FAST_RUN,),
            changes="nan range rounding"),
]
