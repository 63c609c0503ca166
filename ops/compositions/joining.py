"""Other ways to join, divide, turn, lengthen and shorten tensors: ``block``, ``insert``, ``rot90``, ``dsplit`` ..."""
import numpy
from numpy.exceptions import AxisError

from phintys.ops.compositions.parts import part, positions, tensors
from phintys.ops.creation.allocation import alloc, arange, as_lengths
from phintys.ops.cumulative.cumulative import cumprod
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.identity.assertion import Check
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.indexing.nonzero import nonzero
from phintys.ops.indexing.take import take
from phintys.ops.linalg.diagonal import diag
from phintys.ops.numpy_functions import flip
from phintys.ops.rearranging.rearranging import atleast_1d, atleast_3d
from phintys.ops.reduction import reduction
from phintys.ops.reduction.reduction import all as all_true
from phintys.ops.shape.dimshuffle import dimshuffle, swapaxes, transpose
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape, shape_i
from phintys.ops.shape.split import Split
from phintys.ops.sorting.sorting import argsort
from phintys.ops.types.axes import one_axis, one_integer, sequence_of, several_axes
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import in_bounds, integer_dtypes, upcast


# ---- joining ---------------------------------------------------------------------------------------------------------
def dstack(tup):
    """Join tensors along the third dimension; vectors and matrices get one.

    Examples
    --------
    >>> T.dstack([[1, 2], [3, 4]]).eval()
    array([[[1, 3],
            [2, 4]]])
    """
    return concatenate([atleast_3d(item) for item in sequence_of("dstack", "tensors", tup)], axis=2)


def column_stack(tup):
    """Join vectors, as columns, and matrices to a matrix.

    Examples
    --------
    >>> T.column_stack([[1, 2], [3, 4]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    columns = [item if item.type.ndim > 1 else dimshuffle(atleast_1d(item), 0, "x")
               for item in tensors(sequence_of("column_stack", "tensors", tup))]
    return concatenate(columns, axis=1)


def block(arrays):
    """A tensor from nested lists of blocks: the innermost lists are joined along the last dimension.

    Raises
    ------
    ValueError
        If lists are empty or not nested equally deep.

    Examples
    --------
    >>> T.block([[T.eye(2), T.zeros((2, 1))], [T.ones((1, 3))]]).eval()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]])
    """
    depth, rank = _depth(arrays), _largest_rank(arrays)
    return _joined_blocks(arrays, depth, max(depth, rank))


def _depth(arrays):
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("block: lists cannot be empty")
    depths = {_depth(item) for item in arrays}
    if len(depths) > 1:
        raise ValueError("block: list depths are mismatched")
    return 1 + depths.pop()


def _largest_rank(arrays):
    if isinstance(arrays, list):
        return max([_largest_rank(item) for item in arrays])
    return as_tensor_variable(arrays).type.ndim


def _joined_blocks(arrays, depth, rank):
    if not depth:
        block = as_tensor_variable(arrays)
        return dimshuffle(block, *["x"] * (rank - block.type.ndim), *range(block.type.ndim))
    return concatenate([_joined_blocks(item, depth - 1, rank) for item in arrays], axis=rank - depth)


# ---- dividing --------------------------------------------------------------------------------------------------------
def array_split(ary, indices_or_sections, axis=0):
    """Divide a tensor along an axis, into parts whose lengths may differ by one, or at positions.

    Parameters
    ----------
    ary : tensor-like
    indices_or_sections : int, or sequence of int or symbolic integers
        The number of parts, or where parts begin but for the first.
    axis : int

    Returns
    -------
    list of TensorVariable

    Raises
    ------
    ValueError
        For a number of parts below 1, or an axis that does not exist.

    Examples
    --------
    >>> [item.eval().tolist() for item in T.array_split([1, 2, 3, 4, 5], 2)]
    [[1, 2, 3], [4, 5]]
    """
    ary = as_tensor_variable(ary)
    axis = one_axis("array_split", ary, axis)
    if isinstance(indices_or_sections, (int, numpy.integer)):
        if indices_or_sections < 1:
            raise ValueError("array_split: number sections must be larger than 0.")
        each, more = shape_i(ary, axis) // indices_or_sections, shape_i(ary, axis) % indices_or_sections
        edges = [number * each + elementwise.minimum(number, more) for number in range(indices_or_sections + 1)]
        edges = [None, *edges[1:-1], None]
    else:
        edges = [None, *indices_or_sections, None]
    return [part(ary, axis, slice(first, last)) for first, last in zip(edges, edges[1:])]


def equal_parts(name, ary, indices_or_sections, axis, least_rank=0):
    """`array_split` of a tensor of at least some dimensions; a number of parts must divide the length, known or not."""
    ary = as_tensor_variable(ary)
    if ary.type.ndim < least_rank:
        raise ValueError(f"{name} only works on arrays of more dimensions, got {ary} of type {ary.type}")
    if not isinstance(indices_or_sections, (int, numpy.integer)):
        return array_split(ary, indices_or_sections, axis)
    axis, count = one_axis(name, ary, axis), int(indices_or_sections)
    length = ary.type.shape[axis]
    if count < 1 or (length is not None and length % count):
        raise ValueError(f"{name}: array split does not result in an equal division of "
                         f"{'the length' if length is None else length} into {count}")
    return Split(count)(ary, axis, [shape_i(ary, axis) // count] * count, return_list=True)


def vsplit(ary, indices_or_sections):
    """Divide a tensor of at least two dimensions along the first one; see `array_split`.

    Examples
    --------
    >>> [item.eval().tolist() for item in T.vsplit(T.as_tensor([[1, 2], [3, 4]]), 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return equal_parts("vsplit", ary, indices_or_sections, 0, 2)


def hsplit(ary, indices_or_sections):
    """Divide a tensor along the second dimension, a vector along its only one; see `array_split`.

    Examples
    --------
    >>> [item.eval().tolist() for item in T.hsplit(T.as_tensor([[1, 2], [3, 4]]), 2)]
    [[[1], [3]], [[2], [4]]]
    """
    ary = as_tensor_variable(ary)
    return equal_parts("hsplit", ary, indices_or_sections, min(1, ary.type.ndim - 1), 1)


def dsplit(ary, indices_or_sections):
    """Divide a tensor of at least three dimensions along the third one; see `array_split`.

    Examples
    --------
    >>> [item.eval().shape for item in T.dsplit(T.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return equal_parts("dsplit", ary, indices_or_sections, 2, 3)


def unstack(x, *, axis=0):
    """The slices along an axis whose length is known, as a tuple.

    Raises
    ------
    ValueError
        If the length is not known, or there is no such axis.

    Examples
    --------
    >>> [item.eval().tolist() for item in T.unstack(T.as_tensor([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    x = as_tensor_variable(x)
    axis = one_axis("unstack", x, axis)
    if x.type.shape[axis] is None:
        raise ValueError(f"unstack: the length of axis {axis} must be known, got {x} of type {x.type}")
    return tuple([part(x, axis, number) for number in range(x.type.shape[axis])])


# ---- turning ---------------------------------------------------------------------------------------------------------
def fliplr(m):
    """The order of columns reversed, of at least two dimensions; a view.

    Examples
    --------
    >>> T.fliplr(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([[2, 1],
           [4, 3]])
    """
    return _flipped("fliplr", m, 1)


def flipud(m):
    """The order of rows reversed, of at least one dimension; a view.

    Examples
    --------
    >>> T.flipud(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([[3, 4],
           [1, 2]])
    """
    return _flipped("flipud", m, 0)


def _flipped(name, m, axis):
    m = as_tensor_variable(m)
    if m.type.ndim <= axis:
        raise ValueError(f"{name}: Input must be >= {axis + 1}-d, got {m} of type {m.type}")
    return flip(m, axis)


def rot90(m, k=1, axes=(0, 1)):
    """Turned ``k`` times by 90 degrees in the plane of two axes, from the first towards the second; a view.

    Raises
    ------
    ValueError
        If there are not two different axes.

    Examples
    --------
    >>> T.rot90(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([[2, 4],
           [1, 3]])
    """
    m = as_tensor_variable(m)
    axes, k = sequence_of("rot90", "two axes", axes), one_integer("rot90", "k", k)
    if len(axes) != 2:
        raise ValueError(f"rot90: len(axes) must be 2, got {axes}")
    first, second = [one_axis("rot90", m, axis) for axis in axes]
    if first == second:
        raise ValueError(f"rot90: Axes must be different, got {axes}")
    turns = k % 4
    if turns == 2:
        return flip(m, (first, second))
    if not turns:
        return getitem(m, (slice(None),))
    return swapaxes(flip(m, second), first, second) if turns == 1 else flip(swapaxes(m, first, second), second)


def rollaxis(a, axis, start=0):
    """One axis moved before another one; `moveaxis` is easier to read.

    Raises
    ------
    ValueError
        For an axis that does not exist.

    Examples
    --------
    >>> T.rollaxis(T.zeros((2, 3, 4)), 2).eval().shape
    (4, 2, 3)
    """
    a = as_tensor_variable(a)
    axis, rank, start = one_axis("rollaxis", a, axis), a.type.ndim, one_integer("rollaxis", "start", start)
    if not -rank <= start <= rank:
        raise AxisError(f"rollaxis: start {start} is out of bounds for {rank} dimensions")
    start = start + rank if start < 0 else start
    order = [number for number in range(rank) if number != axis]
    order.insert(start - (axis < start), axis)
    return dimshuffle(a, *order)


def matrix_transpose(x):
    """The last two dimensions exchanged; a view. Raises ``ValueError`` for a vector or a number.

    Examples
    --------
    >>> T.matrix_transpose(T.zeros((2, 3, 4))).eval().shape
    (2, 4, 3)
    """
    x = as_tensor_variable(x)
    if x.type.ndim < 2:
        raise ValueError(f"matrix_transpose: Input array must be at least 2-dimensional, got {x} of type {x.type}")
    return swapaxes(x, -1, -2)


def permute_dims(a, axes=None):
    """`transpose` under the name of the array API standard.

    Examples
    --------
    >>> T.permute_dims(T.zeros((2, 3)), (1, 0)).eval().shape
    (3, 2)
    """
    return transpose(as_tensor_variable(a), axes)


# ---- other lengths ---------------------------------------------------------------------------------------------------
def insert(arr, obj, values, axis=None):
    """Values before positions along an axis, like ``numpy.insert``.

    Parameters
    ----------
    arr : tensor-like
    obj : int, slice, sequence of int, or symbolic integers
        Positions in ``arr``; negative ones count from the end.
    values : tensor-like
        Broadcast to the slices that are inserted, and converted to the dtype of ``arr``.
    axis : int or None
        None means that ``arr`` is flattened.

    Returns
    -------
    TensorVariable
        Of the dtype of ``arr``.

    Raises
    ------
    TypeError, ValueError
        For positions that are not integers, of more than one dimension, or an axis that does not exist.
    IndexError
        At run time, for a position that does not exist.

    Examples
    --------
    >>> T.insert([1, 2, 3], 1, 9).eval()
    array([1, 9, 2, 3])
    """
    arr = as_tensor_variable(arr)
    values = as_dtype(as_tensor_variable(in_bounds(values, arr.type.dtype)), arr.type.dtype)
    if axis is None:
        arr, axis = flatten(arr), 0
    axis = one_axis("insert", arr, axis)
    obj = positions(arr, axis)[obj] if isinstance(obj, slice) else _positions("insert", as_tensor_variable(obj))
    if obj.type.ndim == 0:
        # One position: the whole value goes there, its first dimension along the axis.
        rank = arr.type.ndim
        values = dimshuffle(values, *["x"] * (rank - values.type.ndim), *range(values.type.ndim))
        order = list(range(1, axis + 1)) + [0] + list(range(axis + 1, rank))
        values = dimshuffle(values, *order) if axis else values
        at = _between(obj, shape_i(arr, axis))
        lengths = [shape_i(values, axis) if number == axis else shape_i(arr, number) for number in range(rank)]
        return concatenate([part(arr, axis, slice(None, at)), alloc(values, *lengths),
                            part(arr, axis, slice(at, None))], axis=axis)
    return _inserted(arr, obj, values, axis)


def _positions(name, obj):
    if obj.type.dtype == "bool" and obj.type.ndim == 1:
        return nonzero(obj)[0]
    if obj.type.ndim > 1:
        raise ValueError(f"{name}: index array argument obj must be one dimensional or scalar, got {obj.type}")
    if obj.type.dtype not in ("bool", *integer_dtypes) and obj.type.shape != (0,):
        raise TypeError(f"{name}: positions must be integers, got {obj} of type {obj.type}")
    return as_dtype(obj, "int64")


def _between(obj, length):
    """Positions counted from the start, of which the length is the last; ``IndexError`` for others."""
    at = elementwise.switch(obj < 0, obj + length, obj)
    return Check("insert: a position is out of bounds", "IndexError")(
        at, all_true(elementwise.and_(at >= 0, at <= length)))


def _inserted(arr, obj, values, axis):
    """Each slice of the result is one of ``arr`` or of the values, which are joined and taken in the order of their
    positions: those inserted come before those that were there."""
    length, count = shape_i(arr, axis), shape_i(obj, 0)
    obj = _between(obj, length)
    lengths = [count if number == axis else shape_i(arr, number) for number in range(arr.type.ndim)]
    order = argsort(concatenate([obj, positions(arr, axis)]), kind="stable")
    return take(concatenate([alloc(values, *lengths), arr], axis=axis), order, axis=axis)


def delete(arr, obj, axis=None):
    """A tensor without the slices at positions along an axis, like ``numpy.delete``.

    Parameters
    ----------
    arr : tensor-like
    obj : int, slice, sequence of int, mask, or symbolic
        Positions; negative ones count from the end.
    axis : int or None
        None means that ``arr`` is flattened.

    Returns
    -------
    TensorVariable
        Of the dtype of ``arr``.

    Raises
    ------
    TypeError, ValueError
        For positions that are not integers, of more than one dimension, or an axis that does not exist.
    IndexError
        At run time, for a position that does not exist.

    Examples
    --------
    >>> T.delete(T.as_tensor([1, 2, 3, 4]), [0, 2]).eval()
    array([2, 4])
    """
    arr = as_tensor_variable(arr)
    if axis is None:
        arr, axis = flatten(arr), 0
    axis = one_axis("delete", arr, axis)
    kept = alloc(as_tensor_variable(numpy.True_), shape_i(arr, axis))
    where = obj if isinstance(obj, slice) else _positions("delete", as_tensor_variable(obj))
    kept = set_subtensor(getitem(kept, where), numpy.False_)
    return take(arr, nonzero(kept)[0], axis=axis)


def resize(a, new_shape):
    """The elements of ``a``, repeated as often as needed, in a new shape; 0 if there are none.

    Examples
    --------
    >>> T.resize(T.as_tensor([1, 2, 3]), (2, 2)).eval()
    array([[1, 2],
           [3, 1]])
    """
    a = flatten(as_tensor_variable(a))
    lengths = as_lengths(new_shape)
    size = as_tensor_variable(1).astype("int64")
    for length in lengths:
        size = size * length
    count = shape_i(a, 0)
    is_empty = as_dtype(elementwise.eq(count, 0), "int64")
    repeated = concatenate([a, alloc(as_dtype(as_tensor_variable(0), a.type.dtype), is_empty)])
    return reshape(take(repeated, arange(size) % elementwise.maximum(count, 1), axis=0), lengths, ndim=len(lengths))


def trim_zeros(filt, trim="fb", axis=None):
    """A tensor without the slices of zeros at its front ("f") and back ("b"), along the given axes or all.

    Raises
    ------
    ValueError
        For an axis that does not exist, or if ``trim`` has other letters.

    Examples
    --------
    >>> T.trim_zeros(T.as_tensor([0, 1, 0, 2, 0])).eval()
    array([1, 0, 2])
    """
    filt = as_tensor_variable(filt)
    if not isinstance(trim, str) or set(trim.lower()) - set("fb"):
        raise ValueError(f"trim_zeros: trim must have only letters of 'fb', got {trim!r}")
    slices, rank = [slice(None)] * filt.type.ndim, filt.type.ndim
    for number in several_axes("trim_zeros", filt, axis):
        length = shape_i(filt, number)
        where, = nonzero(reduction.any(filt, axis=[other for other in range(rank) if other != number]))
        nothing = elementwise.eq(shape_i(where, 0), 0)
        ends = concatenate([where, [length]])                   # where there are only zeros, all are trimmed
        first = ends[0] if "f" in trim.lower() else 0
        last = elementwise.switch(nothing, 0, concatenate([[0], where])[-1] + 1)
        slices[number] = slice(first, last if "b" in trim.lower() else length)
    return filt[tuple(slices)]


def diagflat(v, k=0):
    """A square matrix with the elements of the flattened ``v`` on diagonal ``k``.

    Examples
    --------
    >>> T.diagflat([[1, 2]]).eval()
    array([[1, 0],
           [0, 2]])
    """
    return diag(flatten(as_tensor_variable(v)), k)


def ediff1d(ary, to_end=None, to_begin=None):
    """The differences of adjacent elements of the flattened tensor, with others at the end and the begin.

    Examples
    --------
    >>> T.ediff1d(T.as_tensor([1, 4, 9]), to_end=0).eval()
    array([3, 5, 0])
    """
    ary = flatten(as_tensor_variable(ary))
    parts = [ary[1:] - ary[:-1]]
    parts = parts if to_begin is None else [_converted(to_begin, ary), *parts]
    return concatenate(parts if to_end is None else [*parts, _converted(to_end, ary)])


def _converted(ends, ary):
    return as_dtype(flatten(as_tensor_variable(ends)), ary.type.dtype)


def vander(x, N=None, increasing=False):
    """The powers of a vector's elements, each in its row: from the highest, or with ``increasing`` from 0.

    Raises
    ------
    ValueError
        If ``x`` is not a vector.

    Examples
    --------
    >>> T.vander(T.as_tensor([2, 3]), 3).eval()
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    x = as_tensor_variable(x)
    if x.type.ndim != 1:
        raise ValueError(f"vander: x must be a vector, got {x} of type {x.type}")
    count = x.type.shape[0] if N is None else N
    x = as_dtype(x, upcast(x.type.dtype, "int64"))
    if count is None:                                # as many columns as rows, however many there will be
        column = dimshuffle(elementwise.ones_like(x), 0, "x")
        later = elementwise.fill(dimshuffle(x[1:], "x", 0), dimshuffle(x, 0, "x"))
        powers = concatenate([column[:, :shape(x)[0]], cumprod(later, axis=1)], axis=1)
        return powers if increasing else powers[:, ::-1]
    powers, last = [], elementwise.ones_like(x)
    for _ in range(count):
        powers.append(last)
        last = last * x
    powers = powers if increasing else powers[::-1]
    if not powers:
        return alloc(as_dtype(as_tensor_variable(0), x.type.dtype), shape(x)[0], 0)
    return concatenate([dimshuffle(power, 0, "x") for power in powers], axis=1)
