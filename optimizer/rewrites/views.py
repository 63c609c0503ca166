"""Views: dimshuffles without effect or in a row, reshapes and rebroadcasts without effect, casts of casts."""
from numpy import can_cast

from phintys.graph.variable import Constant
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.shape.shape import patternbroadcast
from phintys.ops.types.dtypes import ALL_DTYPES, discrete_dtypes
from phintys.optimizer.engine.database import CONSTANT, FAST_COMPILE, FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, key, key_of
from phintys.optimizer.engine.values import apply_op
from phintys.optimizer.passes.shapes import feature_of


def dimshuffle(fgraph, node):
    """``DimShuffle`` without effect, or of another one, also through a function of one operand without other readers.
    """
    inner, order = node.inputs[0], node.op.new_order
    if len(order) == inner.type.ndim and all([dimension in (axis, "x") for axis, dimension in enumerate(order)]):
        return inner                   # a dimension that is dropped and made again has length 1
    if _is_function_of_one(fgraph, inner) and key(inner.owner.inputs[0]) == "DimShuffle":
        return inner.owner.op(inner.owner.inputs[0].dimshuffle(*order))
    if key(inner) != "DimShuffle":
        return None
    earlier = inner.owner.op.new_order
    source = inner.owner.inputs[0]
    return source.dimshuffle(*["x" if axis == "x" else earlier[axis] for axis in order])


def reshape_of_reshape(fgraph, node):
    """``Reshape(Reshape(x, s), t) -> Reshape(x, t)``."""
    inner = node.inputs[0]
    return node.op(inner.owner.inputs[0], node.inputs[1]) if key(inner) == "Reshape" else None


def reshape_of_dimshuffle(fgraph, node):
    """``Reshape(DimShuffle(x), s) -> Reshape(x, s)`` where no dimensions change places but those of length 1."""
    inner = node.inputs[0]
    if key(inner) != "DimShuffle":
        return None
    source = inner.owner.inputs[0]
    longer = [axis for axis in inner.owner.op.new_order if axis != "x" and not source.type.broadcastable[axis]]
    return node.op(source, node.inputs[1]) if longer == sorted(longer) else None


def reshape_lift(fgraph, node):
    """``Reshape(f(x), s) -> f(Reshape(x, s))`` for a function of one operand without other readers; for a sigmoid
    always, so that the stable forms of later nodes are found.
    """
    inner = node.inputs[0]
    if _is_function_of_one(fgraph, inner, ("sigmoid",)):
        return inner.owner.op(node.op(inner.owner.inputs[0], node.inputs[1]))
    return None


def _is_function_of_one(fgraph, variable, also=()):
    """Return whether an elementwise function of one operand computes it, and one node reads it; or of any number of
    nodes if ``also`` has its key."""
    node = variable.owner
    return node is not None and type(node.op) is Elemwise and len(node.inputs) == len(node.outputs) == 1 \
        and (len(fgraph.clients[variable]) == 1 or key(variable) in also)


def useless_reshape(fgraph, node):
    """A reshape of a vector to a vector, or to the static shape it has."""
    inner, out = node.inputs[0], node.outputs[0]
    if inner.type == out.type and (inner.type.ndim == 1 and key(node.inputs[1]) is None and _is_open(node.inputs[1])
                                   or None not in inner.type.shape and inner.type.shape == out.type.shape):
        return inner
    return None


def reshape_to_own_shape(fgraph, node):
    """``reshape(x, x.shape) -> x``, also with -1 for one of the lengths."""
    inner, lengths = node.inputs[0], node.inputs[1].owner
    if lengths is None or lengths.inputs and node.outputs[0].type.ndim != inner.type.ndim:
        return None
    if key_of(lengths.op) == "Shape":
        return inner if lengths.inputs[0] is inner and inner.type == node.outputs[0].type else None
    if key_of(lengths.op) != "MakeVector" or inner.type != node.outputs[0].type:
        return None
    feature = feature_of(fgraph)
    unknown = [axis for axis, length in enumerate(lengths.inputs) if not feature.is_length(length, inner, axis)]
    if not unknown or len(unknown) == 1 and constant_value(lengths.inputs[unknown[0]]) == -1:
        return inner
    return None


def reshape_by_ones(fgraph, node):
    """``reshape(x, (1, n, 1, m)) -> x.dimshuffle("x", 0, "x", 1)`` where x has the lengths n and m; one may be -1.

    Dimensions of x that are known to have length 1 are left out in the same way. A Reshape finds no -1 beside a 0.
    """
    x, lengths = node.inputs
    if isinstance(lengths, Constant):
        lengths = lengths.data.tolist()
    elif key(lengths) == "MakeVector":
        lengths = [constant_value(length) or length for length in lengths.owner.inputs]
    else:
        return None
    longer = [axis for axis, flag in enumerate(x.type.broadcastable) if not flag]
    order = ["x" if length == 1 and isinstance(length, int) else None for length in lengths]
    if order.count(None) != len(longer) or "x" not in order and len(longer) == x.type.ndim:
        return None
    feature, axes, unknown = feature_of(fgraph), iter(longer), []
    for position, length in enumerate(lengths):
        if order[position] is None:
            axis = order[position] = next(axes)
            if not (length == x.type.shape[axis] if isinstance(length, int) else feature.is_length(length, x, axis)):
                unknown.append(length)
    if unknown and not (len(unknown) == 1 and isinstance(unknown[0], int) and unknown[0] == -1):
        return None
    result = x.dimshuffle(*order)
    return result if result.type.broadcastable == node.outputs[0].type.broadcastable else None


def _is_open(lengths):
    """Return whether a constant shape is ``[-1]``."""
    return getattr(lengths, "data", None) is not None and lengths.data.size == 1 and int(lengths.data.reshape(())) == -1


def rebroadcast(fgraph, node):
    """Remove a rebroadcast that declares known lengths only, and the first of two."""
    inner, out = node.inputs[0], node.outputs[0]
    if inner.type == out.type:
        return inner
    return patternbroadcast(inner, out.type.broadcastable) if key(inner) == "Rebroadcast" else None


def view_op(fgraph, node):
    """Remove ops that affect only gradients."""
    return node.inputs[0]


def number_there_and_back(fgraph, node):
    """``tensor_from_scalar(scalar_from_tensor(x)) -> x``, and the other way round."""
    inner = node.inputs[0].owner
    return inner.inputs[0] if inner is not None and inner.op == node.op.inverse else None


def unstretched(fgraph, node):
    """``SumStretched(x, length) -> x`` where the length is certainly that of x."""
    x, length = node.inputs
    return x if feature_of(fgraph).is_length(length, x, node.op.axis) else None


def useless_assert(fgraph, node):
    """``Assert`` without conditions that are constant and true, or repeated."""
    value, *conditions = node.inputs
    needed = [condition for condition in dict.fromkeys(conditions) if not constant_value(condition)]
    if len(needed) == len(conditions):
        return None
    return node.op(value, *needed) if needed else value


def step_count(fgraph, node):
    """Remove the check of a number of steps that is the length of a tensor, or has been checked."""
    steps = node.inputs[0]
    return steps if key(steps) in ("Shape_i", "StepCount") else None


def asserted(fgraph, node):
    """``Assert(x, ...) -> x``, for modes without checks."""
    return node.inputs[0]


def cast(fgraph, node):
    """Remove a cast to the same dtype, and the first of two casts if it loses nothing."""
    inner, out = node.inputs[0], node.outputs[0]
    if inner.type.dtype == out.type.dtype:
        return inner
    if key(inner) not in CASTS:
        return None
    source = inner.owner.inputs[0]
    if not _keeps(source.type.dtype, inner.type.dtype):
        return None
    return source if source.type.dtype == out.type.dtype else apply_op("convert_to_" + out.type.dtype, source)


def _keeps(narrow, wide):
    """Return whether all values of one dtype are values of the other."""
    return can_cast(narrow, wide) and not (narrow in WIDE_INTEGERS and wide not in discrete_dtypes)


CASTS = ["convert_to_" + dtype for dtype in ALL_DTYPES]
WIDE_INTEGERS = ("int64", "uint64")     # their casts to float64 are safe for NumPy, but lose digits


REWRITES = [
    Rewrite("local_dimshuffle_lift", ("DimShuffle",), dimshuffle, (FAST_RUN, "local_useless_dimshuffle")),
    Rewrite("local_reshape_lift", ("Reshape",), reshape_lift, (FAST_RUN,)),
    Rewrite("local_reshape_chain", ("Reshape",), reshape_of_reshape, (FAST_RUN,), changes="errors"),
    Rewrite("local_useless_dimshuffle_in_reshape", ("Reshape",), reshape_of_dimshuffle, (FAST_RUN,),
            of=("DimShuffle",)),
    Rewrite("local_useless_reshape", ("Reshape",), useless_reshape, (FAST_RUN,)),
    Rewrite("local_reshape_to_own_shape", ("Reshape",), reshape_to_own_shape, (FAST_RUN, "local_useless_reshape")),
    Rewrite("local_reshape_to_dimshuffle", ("Reshape",), reshape_by_ones, (FAST_RUN,), of=("MakeVector", CONSTANT),
            changes="errors"),
    Rewrite("local_useless_sum_stretched", ("SumStretched",), unstretched, (FAST_RUN,)),
    Rewrite("local_useless_rebroadcast", ("Rebroadcast",), rebroadcast, (FAST_RUN,)),
    Rewrite("local_view_op", ("ViewOp", "ZeroGrad", "ConsiderConstant", "DisconnectedGrad", "UndefinedGrad", "GradClip",
                              "GradScale", "WithInitial"), view_op, (FAST_RUN, FAST_COMPILE)),
    Rewrite("local_tensor_scalar_tensor", ("TensorFromScalar",), number_there_and_back, (FAST_RUN, FAST_COMPILE)),
    Rewrite("local_scalar_tensor_scalar", ("ScalarFromTensor",), number_there_and_back, (FAST_RUN, FAST_COMPILE)),
    Rewrite("local_remove_useless_assert", ("Assert", "Check"), useless_assert, (FAST_RUN,)),
    Rewrite("local_useless_step_count", ("StepCount",), step_count, (FAST_RUN,)),
    Rewrite("local_remove_all_assert", ("Assert", "Check"), asserted, ("unsafe",), changes="errors"),
    Rewrite("local_cast_cast", CASTS, cast, (FAST_RUN,)),
]
