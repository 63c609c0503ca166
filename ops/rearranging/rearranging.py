"""Functions that change the order of elements or the rank by views and joins: ``roll``, ``squeeze``, ``moveaxis``,
``atleast_1d``, ``broadcast_to`` and others.

This file defines no ops; each function builds a small graph of ``DimShuffle``, ``Join`` and ``Alloc``, which have
gradients.
"""
from phintys.ops.creation.allocation import alloc, as_lengths
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import join
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape, shape_i
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable


def roll(x, shift, axis=None):
    """Shift elements along an axis; elements shifted beyond the end reappear at the start.

    Parameters
    ----------
    x : tensor-like
    shift : int or symbolic integer, or a sequence of them
        The number of positions; negative shifts are towards the start. Of several, each has its axis, or all have the
        one that is given.
    axis : int or sequence of int, optional
        By default the flattened tensor is rolled, and the result has the shape of ``x``.

    Returns
    -------
    TensorVariable
        Of the type of ``x``.

    Raises
    ------
    IndexError
        For an axis that does not exist.
    ValueError
        If the numbers of axes and shifts differ.

    Examples
    --------
    >>> T.roll(T.as_tensor([1, 2, 3]), 1).eval()
    array([3, 1, 2])
    """
    x = as_tensor_variable(x)
    if axis is None:
        return reshape(_rolled(flatten(x), shift, 0), shape(x), ndim=x.type.ndim) if x.type.ndim != 1 \
            else _rolled(x, shift, 0)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift]
    axes, shifts = [part * len(other) if len(part) == 1 else part for part, other in ((axes, shifts), (shifts, axes))]
    if len(shifts) != len(axes):
        raise ValueError(f"roll: there are {len(axes)} axes, but {len(shifts)} shifts")
    for positions, dimension in zip(shifts, axes):
        x = _rolled(x, positions, one_axis("roll", x, dimension))
    return x


def _rolled(x, shift, axis):
    positions = as_tensor_variable(shift) % shape_i(x, axis)
    before = (slice(None),) * axis
    return join(axis, x[before + (slice(-positions, None),)], x[before + (slice(0, -positions),)])


def squeeze(x, axis=None):
    """Remove the dimensions of ``x`` that are declared broadcastable, or those in ``axis``.

    Parameters
    ----------
    x : tensor-like
    axis : int or sequence of int, optional

    Raises
    ------
    ValueError
        If a dimension in ``axis`` is not broadcastable.

    Examples
    --------
    >>> T.squeeze(T.drow()).type
    TensorType(float64, vector)
    """
    x = as_tensor_variable(x)
    if axis is None:
        dropped = [number for number, flag in enumerate(x.type.broadcastable) if flag]
    else:
        dropped = [one_axis("squeeze", x, number)
                   for number in (axis if isinstance(axis, (tuple, list)) else [axis])]
    return dimshuffle(x, [number for number in range(x.type.ndim) if number not in dropped])


def moveaxis(x, source, destination):
    """Move some dimensions of ``x`` to other positions; the others keep their order.

    Parameters
    ----------
    x : tensor-like
    source, destination : int or sequence of int
        The positions of the dimensions to move, and their new positions.

    Raises
    ------
    IndexError
        For a dimension that does not exist.
    ValueError
        If the numbers of positions differ, or a position occurs twice.

    Examples
    --------
    >>> T.moveaxis(T.zeros((2, 3, 4)), 0, -1).eval().shape
    (3, 4, 2)
    """
    x = as_tensor_variable(x)
    source, destination = [[one_axis("moveaxis", x, number)
                            for number in (axes if isinstance(axes, (tuple, list)) else [axes])]
                           for axes in (source, destination)]
    if len(source) != len(destination) or len(set(source)) != len(source) or len(set(destination)) != len(source):
        raise ValueError(f"moveaxis: source {source} and destination {destination} must be equally many dimensions, "
                         "each given once")
    order = [number for number in range(x.type.ndim) if number not in source]
    for position, number in sorted(zip(destination, source)):
        order.insert(position, number)
    return dimshuffle(x, order)


def _at_least(ndim, tensors, new_order):
    results = []
    for tensor in map(as_tensor_variable, tensors):
        results.append(tensor if tensor.type.ndim >= ndim else dimshuffle(tensor, new_order[tensor.type.ndim]))
    return results[0] if len(results) == 1 else results


def atleast_1d(*tensors):
    """The tensor with at least one dimension: a scalar becomes a vector of length 1. Several tensors give a list.

    Examples
    --------
    >>> T.atleast_1d(3).eval()
    array([3], dtype=int8)
    """
    return _at_least(1, tensors, [["x"]])


def atleast_2d(*tensors):
    """The tensor with at least two dimensions: a vector becomes a row. Several tensors give a list.

    Examples
    --------
    >>> T.atleast_2d([1, 2]).eval()
    array([[1, 2]])
    """
    return _at_least(2, tensors, [["x", "x"], ["x", 0]])


def atleast_3d(*tensors):
    """The tensor with at least three dimensions, added on both sides as in NumPy. Several tensors give a list.

    Examples
    --------
    >>> T.atleast_3d([1, 2]).eval().shape
    (1, 2, 1)
    """
    return _at_least(3, tensors, [["x", "x", "x"], ["x", 0, "x"], [0, 1, "x"]])


def broadcast_to(x, shape):
    """Broadcast ``x`` to ``shape``.

    Parameters
    ----------
    x : tensor-like
    shape : int, symbolic integer, sequence of them, or vector of known length

    Raises
    ------
    TypeError
        If ``x`` has more dimensions than ``shape``.
    ValueError
        At run time, if a length of ``x`` is neither 1 nor that in ``shape``.

    Examples
    --------
    >>> T.broadcast_to(T.as_tensor([1, 2]), (3, 2)).eval()
    array([[1, 2],
           [1, 2],
           [1, 2]])
    """
    return alloc(x, *as_lengths(shape))


def broadcast_arrays(*tensors):
    """Broadcast tensors to a common shape; returns a list.

    Lengths must be equal in dimensions that are not declared broadcastable.

    Examples
    --------
    >>> row, column = T.broadcast_arrays([[1, 2]], [[3], [4]])
    >>> row.eval(), column.eval()
    (array([[1, 2],
           [1, 2]]), array([[3, 3],
           [4, 4]]))
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
