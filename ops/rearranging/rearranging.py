"""Elements in another order or rank, by views and joins: ``roll``, ``squeeze``, ``moveaxis``, ``atleast_1d`` ...,
``broadcast_to``.

Functions only; each builds a small graph of ``DimShuffle``, ``Join`` and ``Alloc``, which have the gradients.
"""
from phintys.ops.creation.allocation import alloc, as_lengths
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import join
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape, shape_i
from phintys.ops.types.constant import as_tensor_variable


def _checked_axis(name, x, axis):
    """``axis`` of ``x``, not negative; ``IndexError`` when there is none, as NumPy's ``AxisError`` is one."""
    rank = x.type.ndim
    if not -rank <= axis < rank:
        raise IndexError(f"{name}: axis {axis} is out of bounds for {x} with {rank} dimensions")
    return axis % rank


def roll(x, shift, axis=None):
    """Elements moved along an axis; what leaves at the end enters at the start.

    Parameters
    ----------
    x : tensor-like
    shift : int or symbolic integer, or, with several axes, a sequence of them
        By how many places; negative: towards the start.
    axis : int or sequence of int, optional
        By default the flattened tensor is rolled, and gets its shape back.

    Returns
    -------
    TensorVariable
        Of the type of ``x``.

    Raises
    ------
    IndexError
        For an axis that does not exist.
    ValueError
        If there are several axes and another number of shifts.
    """
    x = as_tensor_variable(x)
    if axis is None:
        return reshape(_rolled(flatten(x), shift, 0), shape(x), ndim=x.type.ndim) if x.type.ndim != 1 \
            else _rolled(x, shift, 0)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift] * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: there are {len(axes)} axes, but {len(shifts)} shifts")
    for places, dimension in zip(shifts, axes):
        x = _rolled(x, places, _checked_axis("roll", x, dimension))
    return x


def _rolled(x, shift, axis):
    places = shift % shape_i(x, axis)
    before = (slice(None),) * axis
    return join(axis, x[before + (slice(-places, None),)], x[before + (slice(0, -places),)])


def squeeze(x, axis=None):
    """``x`` without the dimensions that are declared broadcastable, or without those in ``axis``.

    Parameters
    ----------
    x : tensor-like
    axis : int or sequence of int, optional

    Raises
    ------
    ValueError
        If a dimension in ``axis`` is not broadcastable.
    """
    x = as_tensor_variable(x)
    if axis is None:
        dropped = [number for number, flag in enumerate(x.type.broadcastable) if flag]
    else:
        dropped = [_checked_axis("squeeze", x, number)
                   for number in (axis if isinstance(axis, (tuple, list)) else [axis])]
    return dimshuffle(x, [number for number in range(x.type.ndim) if number not in dropped])


def moveaxis(x, source, destination):
    """``x`` with some dimensions at other places, and the others in their order.

    Parameters
    ----------
    x : tensor-like
    source, destination : int or sequence of int
        Where dimensions stand, and where they shall stand.

    Raises
    ------
    IndexError
        For a dimension that does not exist.
    ValueError
        For different numbers of them, or one named twice.
    """
    x = as_tensor_variable(x)
    source, destination = [[_checked_axis("moveaxis", x, number)
                            for number in (axes if isinstance(axes, (tuple, list)) else [axes])]
                           for axes in (source, destination)]
    if len(source) != len(destination) or len(set(source)) != len(source) or len(set(destination)) != len(source):
        raise ValueError(f"moveaxis: source {source} and destination {destination} must be equally many dimensions, "
                         "each named once")
    order = [number for number in range(x.type.ndim) if number not in source]
    for place, number in sorted(zip(destination, source)):
        order.insert(place, number)
    return dimshuffle(x, order)


def _at_least(ndim, tensors, new_order):
    results = []
    for tensor in map(as_tensor_variable, tensors):
        results.append(tensor if tensor.type.ndim >= ndim else dimshuffle(tensor, new_order[tensor.type.ndim]))
    return results[0] if len(results) == 1 else results


def atleast_1d(*tensors):
    """Tensors with at least one dimension: a scalar becomes a vector of length 1. A list when there are several."""
    return _at_least(1, tensors, [["x"]])


def atleast_2d(*tensors):
    """Tensors with at least two dimensions: a vector becomes a row. A list when there are several."""
    return _at_least(2, tensors, [["x", "x"], ["x", 0]])


def atleast_3d(*tensors):
    """Tensors with at least three dimensions, new ones on both sides as in NumPy. A list when there are several."""
    return _at_least(3, tensors, [["x", "x", "x"], ["x", 0, "x"], [0, 1, "x"]])


def broadcast_to(x, shape):
    """``x`` repeated to fill ``shape``.

    Parameters
    ----------
    x : tensor-like
    shape : int, symbolic integer, sequence of them, or vector of known length

    Raises
    ------
    TypeError
        If ``x`` has more dimensions than ``shape``.
    ValueError
        When it runs, if a length of ``x`` is neither 1 nor the one wanted.
    """
    return alloc(x, *as_lengths(shape))


def broadcast_arrays(*tensors):
    """Tensors repeated to one common shape: a list.

    Lengths must agree where dimensions are not declared broadcastable.
    """
    tensors = [as_tensor_variable(tensor) for tensor in tensors]
    ndim = max([tensor.type.ndim for tensor in tensors], default=0)
    lengths = [1] * ndim
    for tensor in tensors:
        missing = ndim - tensor.type.ndim
        for axis, flag in enumerate(tensor.type.broadcastable):
            if not flag and isinstance(lengths[axis + missing], int):
                lengths[axis + missing] = shape_i(tensor, axis)
    return [alloc(tensor, *lengths) for tensor in tensors]
