"""What a loop's body computes without its steps: values that are the same in each step are computed once, before it.

A loop of no steps computes nothing of its body. So a value that can fail, have an effect or be undefined becomes lazy:
``only_with_steps`` lets it depend on the number of steps, and its gradient with it. Other values, and all values of
loops that are known to do a step, are computed in any case, which costs nothing and hides nothing from rewrites.
"""
import numpy

from phintys.graph.errors import NotScalarConstantError
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import Alloc, ARange, alloc
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar_protocol import ScalarOp
from phintys.ops.graphs.ifelse import IfElse
from phintys.ops.graphs.inner_graph import inferred_shapes
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor1, AdvancedSubtensor, AdvancedSubtensor1
from phintys.ops.indexing.constant_value import get_scalar_constant_value
from phintys.ops.indexing.subtensor import Subtensor
from phintys.ops.loops.with_initial import WithInitial
from phintys.ops.nnet.softmax import LogSoftmax, Softmax, SoftmaxGrad
from phintys.ops.products.batched_product import BatchedDot
from phintys.ops.products.dot import Dot
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.contiguous import CpuContiguous
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.ops.shape.join import MakeVector
from phintys.ops.shape.reshape import Reshape
from phintys.ops.shape.shape import Rebroadcast, Shape, Shape_i, is_length, patternbroadcast
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.scalar_type import Scalar
from phintys.ops.types.tensor_type import TensorType

# Ops whose values are finite where their inputs are, and that do not fail if the lengths of their inputs fit.
HARMLESS = (DimShuffle, Dot, Sum, Shape, Shape_i, Rebroadcast, MakeVector, ViewOp, WithInitial, CpuContiguous)
HARMLESS_SCALAR_OPS = frozenset([
    scalar.add, scalar.sub, scalar.mul, scalar.neg, scalar.sqr, scalar.tanh, scalar.sigmoid, scalar.softplus,
    scalar.sin, scalar.cos, scalar.arctan, scalar.erf, scalar.abs_, scalar.sgn, scalar.ceil, scalar.floor,
    scalar.maximum, scalar.minimum, scalar.clip, scalar.second, scalar.switch, scalar.lt, scalar.gt, scalar.le,
    scalar.ge, scalar.eq, scalar.neq, scalar.isnan, scalar.isinf, scalar.and_, scalar.or_, scalar.xor, scalar.invert])


def is_harmless(variable, known, lengths_fit=True):
    """Whether a variable can be computed where it is not needed: that can neither fail, nor be noticed or undefined.

    Parameters
    ----------
    variable : Variable
    known : collection of Variable
        What is computed in any case, as are leaves.
    lengths_fit : bool, optional
        Whether lengths that must be equal can be taken to be equal.

    Returns
    -------
    bool
    """
    return _computed_by(variable, known.__contains__,
                        lambda node: _is_harmless_op(node) and (lengths_fit or _lengths_fit(node)))


def _computed_by(variable, is_known, is_allowed):
    """Whether only nodes that are allowed compute a variable from known ones and leaves."""
    pending, seen = [variable], set()
    while pending:
        current = pending.pop()
        node = current.owner
        if node is None or node in seen or is_known(current):
            continue
        seen.add(node)
        if not is_allowed(node):
            return False
        pending.extend(node.inputs)
    return True


def _is_harmless_op(node):
    op = node.op
    if type(op) is Elemwise or isinstance(op, ScalarOp):
        scalar_op = getattr(op, "scalar_op", op)
        found = scalar_op in HARMLESS_SCALAR_OPS or isinstance(scalar_op, scalar.Cast)
    elif type(op) is Subtensor:
        found = all([isinstance(entry, slice) and (entry.step is None or isinstance(entry.step, int))
                     for entry in op.idx_list])
    elif type(op) is Alloc:
        found = all([_is_not_negative(length) for length in node.inputs[1:]])
    else:
        found = op.is_harmless or isinstance(op, HARMLESS)
    return found or _is_finite(node.outputs[0])


def _is_finite(variable):
    """Whether all elements are known to be one finite number."""
    if not isinstance(variable.type, (TensorType, Scalar)):
        return False
    try:
        return bool(numpy.isfinite(get_scalar_constant_value(variable)))
    except NotScalarConstantError:
        return False


def _is_not_negative(variable):
    """Whether a variable is certainly not negative: a constant, or the length of a dimension."""
    return variable.data >= 0 if isinstance(variable, Constant) else is_length(variable)


def _lengths_fit(node):
    """Whether the inputs of a harmless op fit together, whatever lengths they have that are not known."""
    op, inputs = node.op, node.inputs
    if type(op) is Elemwise:
        return _fit(dict.fromkeys(inputs))
    if type(op) is Dot:
        x, y = inputs[0].type.shape[-1], inputs[1].type.shape[0]
        return x is not None and x == y
    if type(op) is Rebroadcast:
        return not any([flag and not inputs[0].type.broadcastable[axis] for axis, flag in op.changes])
    return type(op) is not Alloc or all(inputs[0].type.broadcastable)


def _fit(operands):
    """Whether at most one operand of an elementwise op has a length in a dimension, or all the same known one."""
    for axis in range(max([variable.type.ndim for variable in operands])):
        found = [variable.type.shape[axis] for variable in operands if not variable.type.broadcastable[axis]]
        if len(found) > 1 and (None in found or len(set(found)) > 1):
            return False
    return True


# Ops that do for all rows at once what steps do for each, and that do not fail if there are no rows, unless the lengths
# of rows do not fit: then products fail without rows, too.
SAFE_WITHOUT_ROWS = (Elemwise, ARange, Reshape, BatchedDot, Softmax, LogSoftmax, SoftmaxGrad)
LOOKUPS = (AdvancedSubtensor1, AdvancedSubtensor, AdvancedIncSubtensor1)    # safe if there is no position


def is_safe_without_rows(variable, rows, is_known):
    """Whether a value that is computed for all rows of a loop can be computed if there are none.

    Parameters
    ----------
    variable : Variable
    rows : set of Variable
        Rows of all steps.
    is_known : function
        Whether another variable is computed in any case, as leaves are.

    Returns
    -------
    bool
    """
    def is_safe(node):
        if type(node.op) in LOOKUPS:
            return not rows.isdisjoint(ancestors(node.inputs[1:], rows))
        return type(node.op) in SAFE_WITHOUT_ROWS or _is_harmless_op(node)

    return _computed_by(variable, lambda other: other in rows or is_known(other), is_safe)


def cannot_fail(variable, is_known, lengths_fit=False):
    """Whether a variable can be computed where it is not needed, if it may be undefined there.

    Parameters
    ----------
    variable : Variable
    is_known : function
        Whether a variable is computed in any case, as leaves are.
    lengths_fit : bool, optional
        Whether lengths that must be equal can be taken to be equal.

    Returns
    -------
    bool
    """
    return _computed_by(variable, is_known, lambda node: (_is_harmless_op(node) or _is_float_function(node))
                        and (lengths_fit or _lengths_fit(node)))


def _is_float_function(node):
    """Whether a node is elementwise and has no integer results; some functions of integers refuse values."""
    return type(node.op) is Elemwise and not any([output.type.dtype in discrete_dtypes for output in node.outputs])


# ---- lazily ----------------------------------------------------------------------------------------------------------
class OnlyWithSteps(IfElse):
    """A choice by a number of steps, of whose second values no elements are read: where no gradient is to be taken any
    more, and only the loop reads them, the first ones may be in their place."""


def only_with_steps(steps, values, known, is_safe=None, unread=None):
    """Values that are computed before a loop, unless it does no step.

    Parameters
    ----------
    steps : Variable
        How many steps the loop does, an integer scalar.
    values : list of Variable
    known : collection of Variable
        What is computed in any case, as are leaves.
    is_safe : function, optional
        Whether a value can be computed in any case; by default the strict rule of ``is_harmless``.
    unread : Variable, optional
        What a value is without a step, of the same type.

    Returns
    -------
    list of Variable
        The same values. Those that may have no value if there is no step are never read then; their lengths are right
        as far as they are known without them, or else 0.
    """
    if does_a_step(steps):
        return list(values)
    choice = OnlyWithSteps if unread is None else IfElse
    is_safe = is_safe or (lambda value: is_harmless(value, known, lengths_fit=False))
    lazy = {}                                   # what is below its dimshuffles → the same, lazily
    for value in values:
        source = _before_dimshuffles(value, known) if unread is None else value
        if source not in lazy and not is_safe(source):
            other = _unread(source, known) if unread is None else source.type.filter_variable(unread)
            if other is not None:
                lazy[source] = other
    if not lazy:
        return list(values)
    chosen = choice(len(lazy), as_view=True)(steps, *lazy, *lazy.values(), return_list=True)
    lazy = dict(zip(lazy, chosen))
    return [_with_dimshuffles(value, lazy, known) for value in values]


def is_lazy(value, steps):
    """Whether a value is computed only if there is a step."""
    source = _before_dimshuffles(value, ())
    return source.owner is not None and isinstance(source.owner.op, IfElse) and source.owner.inputs[0] is steps


def does_a_step(steps):
    """Whether a number of steps is known to be positive."""
    try:
        return bool(get_scalar_constant_value(steps) > 0)
    except NotScalarConstantError:
        return False


def _before_dimshuffles(value, known):
    """What a value is a view of, by another order of dimensions: products read this order from the graph."""
    while value not in known and value.owner is not None and type(value.owner.op) is DimShuffle:
        value = value.owner.inputs[0]
    return value


def _with_dimshuffles(value, lazy, known):
    """A value that reads lazy values."""
    if value in lazy or value in known or value.owner is None or type(value.owner.op) is not DimShuffle:
        return lazy.get(value, value)
    source, = value.owner.inputs
    found = _with_dimshuffles(source, lazy, known)
    return value if found is source else value.owner.op(found)


def _unread(value, known):
    """A value of the type and, as far as it is known, the shape of another one; None if the type has none."""
    kind = value.type
    if not isinstance(kind, TensorType):
        found = kind.unread_value()
        return None if found is None else kind.make_constant(found)
    shape, = inferred_shapes(list(known), [value])
    lengths = [_length(static, length, known) for static, length in zip(kind.shape, shape)]
    zero = constant(numpy.zeros((), kind.dtype))
    return kind.filter_variable(patternbroadcast(alloc(zero, *lengths), kind.broadcastable) if lengths else zero)


def _length(static, length, known):
    """A length as far as it can be computed without the value; at least 0."""
    if static is not None or isinstance(length, int):
        return length if static is None else static
    if isinstance(length, Constant):
        return max(int(length.data), 0)
    if length.type.ndim or not is_harmless(length, known, lengths_fit=False):
        return 0
    return length if _is_not_negative(length) else scalar.maximum(length, 0)


# ---- sums ------------------------------------------------------------------------------------------------------------
def sum_of_equal_terms(steps, initial, term):
    """What a loop adds up if the term is the same in each step; if there is none, the first value, whatever the term.

    Parameters
    ----------
    steps, initial, term : Variable

    Returns
    -------
    Variable
    """
    total = initial + term * scalar.cast_op(term.type.dtype)(steps)
    if does_a_step(steps) or _is_finite(term) or total.type != initial.type:
        return total
    return IfElse(1, as_view=True)(steps, total, initial)
