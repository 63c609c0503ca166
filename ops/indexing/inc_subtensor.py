"""``set_subtensor`` and ``inc_subtensor``: change the part of a tensor that an expression like ``a[1:3]`` selects.

Variables cannot be assigned to, so the indexing expression identifies the part to change, and the result is the whole
tensor with that part changed. This file finds the node that took the part and makes the op that changes the same part.
"""
import numpy

from phintys.ops.creation.allocation import alloc
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor1, AdvancedSubtensor, AdvancedSubtensor1
from phintys.ops.indexing.subtensor import WHOLE, IncSubtensor, Subtensor
from phintys.ops.shape.dimshuffle import DimShuffle, dimshuffle
from phintys.ops.shape.reshape import Reshape, reshape
from phintys.ops.shape.shape import addbroadcast, shape
from phintys.ops.types.constant import as_tensor_variable


def set_subtensor(x, y, inplace=False, tolerate_inplace_aliasing=False):
    """A copy of the tensor that ``x`` is a part of, in which that part is set to ``y``: ``set_subtensor(a[1:3], 0)``.

    Parameters
    ----------
    x : TensorVariable
        The result of indexing.
    y : tensor-like
        The new value, which is broadcast to the shape of the part. Its dtype, or its value if it is constant, must be
        representable in the dtype of ``x``. If an element is selected several times, it gets the last value, and only
        that value has a gradient.
    inplace : bool
        Whether the original may be overwritten. Not needed: the compiler determines when this is safe.
    tolerate_inplace_aliasing : bool
        With ``inplace``, whether ``x`` and ``y`` may be parts of one tensor. If they overlap, the result is undefined.

    Returns
    -------
    TensorVariable
        Has the shape and dtype of the original.

    Raises
    ------
    TypeError
        If ``x`` is not a result of indexing, ``y`` has more dimensions than ``x``, or ``y`` would lose precision.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> T.set_subtensor(x[1:], 0).eval({x: [1, 2, 3]})
    array([1., 0., 0.])
    """
    return inc_subtensor(x, y, inplace, True, tolerate_inplace_aliasing)


def inc_subtensor(x, y, inplace=False, set_instead_of_inc=False, tolerate_inplace_aliasing=False,
                  ignore_duplicates=False):
    """A copy of the tensor that ``x`` is a part of, in which ``y`` is added to that part.

    Parameters
    ----------
    x, y, inplace, tolerate_inplace_aliasing
        See `set_subtensor`.
    set_instead_of_inc : bool
        Whether to set the part instead of adding to it.
    ignore_duplicates : bool
        Whether to add only once to an element that is selected several times, as ``a[[1, 1]] += y`` does in NumPy; by
        default, every value is added.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> T.inc_subtensor(x[1:], 10).eval({x: [1, 2, 3]})
    array([ 1., 12., 13.])
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if y.type.ndim > x.type.ndim:
        raise TypeError(f"Trying to increment a {x.type.ndim}-dimensional subtensor with a {y.type.ndim}-dimensional "
                        "value.")
    lead = x.type.ndim - y.type.ndim
    y = addbroadcast(y, *[axis for axis, flag in enumerate(y.type.broadcastable)
                          if x.type.broadcastable[axis + lead] and not flag])
    change = _changes.get(type(None if x.owner is None else x.owner.op))
    if change is None:
        raise TypeError(f"x must be the result of a subtensor operation, such as a[1:3], not {x}")
    if ignore_duplicates and not set_instead_of_inc:
        y, set_instead_of_inc = x + y, True
    return change(x, y, inplace, set_instead_of_inc, tolerate_inplace_aliasing)


def whole_of(part):
    """The tensor that a variable is a part of by one step of indexing; None if it is no result of indexing."""
    owner = part.owner
    return owner.inputs[0] if owner is not None and type(owner.op) in _changes else None


def set_nested(part, value, root, whole):
    """``whole`` with a part set to ``value``: the part that ``part`` is of ``root``, by any steps of indexing.

    Raises
    ------
    TypeError
        As of `set_subtensor`, or if the value of the part does not say that of the whole.
    """
    steps, taken = [], whole
    while part is not root:
        steps.append(part.owner)
        part = whole_of(part)
    for node in reversed(steps):
        taken = node.op(taken, *node.inputs[1:])
    while taken is not whole:
        order = taken.owner.op.new_order if type(taken.owner.op) is DimShuffle else ()
        if order and sorted(order, key=str) == list(range(len(order))) and as_tensor_variable(value).ndim == len(order):
            value, taken = dimshuffle(as_tensor_variable(value), numpy.argsort(order).tolist()), taken.owner.inputs[0]
            continue
        value = set_subtensor(taken, value)
        taken = value.owner.inputs[0]
    return value


def _change_part(x, y, inplace, sets, tolerate):
    whole, *integers = x.owner.inputs
    idx_list = x.owner.op.idx_list
    if x.owner.op.new_axes and whole.owner is not None and isinstance(whole.owner.op, DimShuffle):
        idx_list, y = _without_new_axes(whole.owner.op, idx_list, x, y)
        whole, = whole.owner.inputs
    aliased = [(0, 1)] if tolerate else []
    return IncSubtensor(idx_list, inplace, sets, aliased)(whole, y, *integers)


def _without_new_axes(shuffled, idx_list, part, y):
    """An index without the new dimensions that ``shuffled`` has, and the value for ``part`` without them."""
    order, rank = shuffled.new_order, len(shuffled.input_broadcastable)
    entries, dropped, axis = [], [], y.type.ndim - part.type.ndim
    for position, entry in zip(order, [*idx_list, *[WHOLE] * (len(order) - len(idx_list))]):
        if position == "x":
            dropped.append(axis)
        else:
            entries.append(entry)
        axis += isinstance(entry, slice)
    entries += [0] * (rank - len(entries))          # dimensions of length 1 that Theano drops
    kept = [axis for axis in range(y.type.ndim) if axis not in dropped]
    return entries, y if len(kept) == y.type.ndim else dimshuffle(y, kept)


def _change_rows(x, y, inplace, sets, tolerate):
    whole, rows = x.owner.inputs
    return AdvancedIncSubtensor1(inplace, sets)(whole, y, rows)


def _change_elements(x, y, inplace, sets, tolerate):
    whole, *index = x.owner.inputs
    return x.owner.op.changing(sets, inplace)(whole, y, *index)


def _change_shuffled(x, y, inplace, sets, tolerate):
    """For ``dimshuffle(part)``: y is shuffled back, and the whole result is shuffled like the part.

    For ``whole[None]``: the new dimensions are removed from y.
    """
    part, order = x.owner.inputs[0], x.owner.op.new_order
    if x.owner.op.of_index:
        entries, y = _without_new_axes(x.owner.op, [], x, y)
        return IncSubtensor(entries, inplace, sets, [(0, 1)] if tolerate else [])(part, y)
    lead = x.type.ndim - y.type.ndim
    positions = {axis: position - lead for position, axis in enumerate(order) if axis != "x"}
    axes = [positions.get(axis, -1) for axis in range(part.type.ndim)]
    y = dimshuffle(y, ["x" if axis < 0 else axis for axis in axes])
    return dimshuffle(inc_subtensor(part, y, inplace, sets, tolerate), order)


def _change_reshaped(x, y, inplace, sets, tolerate):
    """For ``part.reshape(...)``: y is broadcast to the new shape and reshaped back."""
    part = x.owner.inputs[0]
    if y.type.ndim:
        lengths = shape(x)
        full = alloc(y, *[lengths[axis] for axis in range(x.type.ndim)])
        y = reshape(full, shape(part), ndim=part.type.ndim)
    return inc_subtensor(part, y, inplace, sets, tolerate)


_changes = {Subtensor: _change_part, AdvancedSubtensor1: _change_rows, DimShuffle: _change_shuffled,
            Reshape: _change_reshaped,
            **dict.fromkeys((AdvancedSubtensor, *AdvancedSubtensor.__subclasses__()), _change_elements)}
