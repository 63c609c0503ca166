"""Elements chosen by others: ``take_along_axis``, ``put_along_axis``, ``select``, ``extract``, ``lexsort`` ..."""
from phintys.ops.compositions.parts import beside, positions, tensors
from phintys.ops.creation.allocation import alloc, arange, tri
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.identity.assertion import Check
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.indexing.nonzero import nonzero
from phintys.ops.indexing.take import take
from phintys.ops.rearranging.rearranging import broadcast_arrays, moveaxis
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import stack
from phintys.ops.shape.reshape import flatten
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.sorting import argsort
from phintys.ops.types.axes import one_axis, one_integer
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes


def _along(name, arr, indices, axis):
    """The array, and the index that takes for each position the element of its own line."""
    arr, indices = as_tensor_variable(arr), as_tensor_variable(indices)
    if axis is None:
        arr, axis = flatten(arr), 0
    axis = one_axis(name, arr, axis)
    if indices.type.dtype not in integer_dtypes:
        raise IndexError(f"{name}: indices must be integers, got {indices} of type {indices.type}")
    if indices.type.ndim != arr.type.ndim:
        raise ValueError(f"{name}: indices and arr must have the same number of dimensions, {indices.type.ndim} and "
                         f"{arr.type.ndim} were given")
    return arr, tuple([indices if number == axis else beside(positions(arr, number), number, arr.type.ndim)
                       for number in range(arr.type.ndim)])


def take_along_axis(arr, indices, axis=-1):
    """The elements at positions along an axis, a position for each line; like ``numpy.take_along_axis``.

    Parameters
    ----------
    arr : tensor-like
    indices : tensor-like of integers
        Of the rank of ``arr``, and of its lengths (or 1) but for the axis.
    axis : int or None
        None means that ``arr`` is flattened.

    Returns
    -------
    TensorVariable
        Of the shape of ``indices``, broadcast, and the dtype of ``arr``.

    Raises
    ------
    ValueError
        For an axis that does not exist, or another rank.
    IndexError
        If the indices are not integers; at run time, for a position that does not exist.

    Examples
    --------
    >>> x = T.as_tensor([[10, 30, 20], [60, 40, 50]])
    >>> T.take_along_axis(x, T.argsort(x, axis=1), axis=1).eval()
    array([[10, 20, 30],
           [40, 50, 60]])
    """
    return getitem(*_along("take_along_axis", arr, indices, axis))


def put_along_axis(arr, indices, values, axis):
    """``arr`` with new values at positions along an axis: as ``numpy.put_along_axis``, but the result is a new tensor.

    Parameters
    ----------
    arr, indices, axis
        See `take_along_axis`.
    values : tensor-like
        Broadcast to the shape of ``indices``.

    Returns
    -------
    TensorVariable
        Of the type of ``arr``; a vector if the axis is None.

    Raises
    ------
    ValueError, IndexError
        See `take_along_axis`.

    Examples
    --------
    >>> x = T.as_tensor([[10, 30, 20], [60, 40, 50]])
    >>> T.put_along_axis(x, T.argmax(x, axis=1, keepdims=True), 99, axis=1).eval()
    array([[10, 99, 20],
           [99, 40, 50]])
    """
    return set_subtensor(getitem(*_along("put_along_axis", arr, indices, axis)), values)


# ---- by conditions ---------------------------------------------------------------------------------------------------
def select(condlist, choicelist, default=0):
    """Elementwise: the choice of the first condition that holds, like ``numpy.select``.

    Parameters
    ----------
    condlist, choicelist : list of tensor-like
        Conditions of dtype bool, and as many choices.
    default : tensor-like
        The value where no condition holds.

    Raises
    ------
    ValueError
        If the numbers differ, or there are none.
    TypeError
        If a condition is not bool.

    Examples
    --------
    >>> x = T.arange(5)
    >>> T.select([x < 2, x > 3], [x, x ** 2], 42).eval()
    array([ 0,  1, 42, 42, 16])
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select: as many conditions as choices are needed, got {len(condlist)} and {len(choicelist)}")
    conditions, found = tensors(condlist), as_tensor_variable(default)
    for condition, choice in zip(conditions[::-1], choicelist[::-1]):
        if condition.type.dtype != "bool":
            raise TypeError(f"select: a condition must be bool, got {condition} of type {condition.type}")
        found = elementwise.switch(condition, choice, found)
    return found


def extract(condition, arr):
    """The elements of the flattened ``arr`` where the condition is true, as a vector.

    Examples
    --------
    >>> T.extract([True, False, True], [1, 2, 3]).eval()
    array([1, 3])
    """
    where, = nonzero(flatten(as_tensor_variable(condition)))
    return getitem(flatten(as_tensor_variable(arr)), where)


def argwhere(a):
    """The positions of the elements that are not 0, a row for each; like ``numpy.argwhere``.

    Examples
    --------
    >>> T.argwhere(T.as_tensor([[0, 1], [2, 0]])).eval()
    array([[0, 1],
           [1, 0]])
    """
    a = as_tensor_variable(a)
    if not a.type.ndim:
        return alloc(as_tensor_variable(0).astype("int64"), elementwise.neq(a, 0).astype("int64"), 0)
    return dimshuffle(nonzero(a, return_matrix=True), 1, 0)


def lexsort(keys, axis=-1):
    """The order of elements by several keys, of which the last one is the most important; like ``numpy.lexsort``.

    Parameters
    ----------
    keys : sequence of tensor-like, or tensor of one more dimension
        Of one shape.
    axis : int

    Returns
    -------
    TensorVariable
        Of int64, in the shape of a key.

    Raises
    ------
    TypeError
        If there are no keys, or their number is not known.

    Examples
    --------
    >>> T.lexsort([[9, 4, 0, 4], [1, 1, 1, 0]]).eval()
    array([3, 2, 1, 0])
    """
    if not isinstance(keys, (list, tuple)):
        keys = as_tensor_variable(keys)
        if not keys.type.ndim or keys.type.shape[0] is None:
            raise TypeError(f"lexsort: the number of keys must be known, got {keys} of type {keys.type}")
        keys = [keys[number] for number in range(keys.type.shape[0])]
    if not keys:
        raise TypeError("lexsort: at least one key is needed")
    first, *others = tensors(keys)
    order = argsort(first, axis=axis, kind="stable")
    for key in others:
        ordered = take_along_axis(key, order, axis)
        order = take_along_axis(order, argsort(ordered, axis=axis, kind="stable"), axis)
    return order


# ---- grids of positions ----------------------------------------------------------------------------------------------
def ix_(*args):
    """An open grid from vectors of positions (or masks), for indexing; like ``numpy.ix_``.

    Raises
    ------
    ValueError
        If one is not a vector.

    Examples
    --------
    >>> T.arange(10).reshape((2, 5))[T.ix_([0, 1], [2, 4])].eval()
    array([[2, 4],
           [7, 9]])
    """
    found = []
    for number, vector in enumerate(tensors(args)):
        if vector.type.ndim != 1:
            raise ValueError(f"ix_: Cross index must be 1 dimensional, got {vector} of type {vector.type}")
        vector = nonzero(vector)[0] if vector.type.dtype == "bool" else vector
        found.append(beside(vector, number, len(args)))
    return tuple(found)


def indices(dimensions, dtype="int64", sparse=False):
    """The positions of a grid, a tensor for each dimension; like ``numpy.indices``.

    Parameters
    ----------
    dimensions : sequence of int or symbolic integer
    dtype : str
    sparse : bool
        Whether to return a tuple of tensors that broadcast, instead of one that contains all.

    Examples
    --------
    >>> T.indices((2, 3)).eval()[1]
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    rank = len(dimensions)
    axes = [beside(arange(length, dtype=dtype), number, rank) for number, length in enumerate(dimensions)]
    if sparse:
        return tuple(axes)
    if not axes:
        return alloc(as_tensor_variable(0).astype(dtype), 0)
    return stack(broadcast_arrays(*axes))


def diag_indices(n, ndim=2):
    """The positions of the main diagonal of a cube: ``ndim`` times ``arange(n)``.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    return (arange(n),) * ndim


def diag_indices_from(arr):
    """The positions of the main diagonal of a tensor of at least two equal dimensions.

    Raises
    ------
    ValueError
        For a vector or a number; at run time, if the lengths differ.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.diag_indices_from(T.zeros((2, 2)))]
    [[0, 1], [0, 1]]
    """
    arr = as_tensor_variable(arr)
    if arr.type.ndim < 2:
        raise ValueError(f"diag_indices_from: input array must be at least 2-d, got {arr} of type {arr.type}")
    lengths = [shape_i(arr, axis) for axis in range(arr.type.ndim)]
    length = Check("diag_indices_from: All dimensions of input must be of equal length")(
        lengths[0], *[elementwise.eq(lengths[0], length) for length in lengths[1:]])
    return diag_indices(length, arr.type.ndim)


def _triangle(kept):
    return tuple(nonzero(kept))


def tril_indices(n, k=0, m=None):
    """The positions of the lower triangle of a matrix of ``n`` rows and ``m`` columns, from diagonal ``k`` down.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle(tri(n, m, k, dtype="bool"))


def triu_indices(n, k=0, m=None):
    """The positions of the upper triangle of a matrix of ``n`` rows and ``m`` columns, from diagonal ``k`` up.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle(~tri(n, m, k - 1, dtype="bool"))


def _matrix(name, arr):
    arr = as_tensor_variable(arr)
    if arr.type.ndim != 2:
        raise ValueError(f"{name}: input array must be 2-d, got {arr} of type {arr.type}")
    return arr


def tril_indices_from(arr, k=0):
    """The positions of the lower triangle of a matrix; raises ``ValueError`` for another rank.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.tril_indices_from(T.zeros((2, 2)))]
    [[0, 1, 1], [0, 0, 1]]
    """
    arr = _matrix("tril_indices_from", arr)
    return tril_indices(shape_i(arr, 0), k, shape_i(arr, 1))


def triu_indices_from(arr, k=0):
    """The positions of the upper triangle of a matrix; raises ``ValueError`` for another rank.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.triu_indices_from(T.zeros((2, 2)))]
    [[0, 0, 1], [0, 1, 1]]
    """
    arr = _matrix("triu_indices_from", arr)
    return triu_indices(shape_i(arr, 0), k, shape_i(arr, 1))


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinates of a grid from vectors of coordinates, like ``numpy.meshgrid``.

    Parameters
    ----------
    *xi : tensor-like
        Vectors or numbers.
    copy : bool
        Has no effect: results are values of their own.
    sparse : bool
        Whether to return tensors that broadcast.
    indexing : {"xy", "ij"}
        Whether the first two dimensions of results are those of the second and the first vector, or in order.

    Returns
    -------
    tuple of TensorVariable

    Raises
    ------
    ValueError
        For another ``indexing``.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.meshgrid([1, 2], [3, 4, 5])]
    [[[1, 2], [1, 2], [1, 2]], [[3, 3], [4, 4], [5, 5]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: Valid values for `indexing` are 'xy' and 'ij', got {indexing!r}")
    vectors = [flatten(vector) for vector in tensors(xi)]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        order[:2] = 1, 0
    grid = [beside(vector, axis, len(vectors)) for vector, axis in zip(vectors, order)]
    return tuple(grid if sparse or not grid else broadcast_arrays(*grid))


def sliding_window_view(x, window_shape, axis=None):
    """All windows of a shape, each moved by one element: ``numpy.lib.stride_tricks.sliding_window_view``, as a copy.

    Parameters
    ----------
    x : tensor-like
    window_shape : int or sequence of int
    axis : int or sequence of int, optional
        Which axes the lengths of the window belong to; by default all.

    Raises
    ------
    ValueError
        If the numbers of lengths and axes differ; at run time, if a window is longer than its axis.

    Examples
    --------
    >>> T.sliding_window_view(T.as_tensor([1, 2, 3, 4]), 3).eval()
    array([[1, 2, 3],
           [2, 3, 4]])
    """
    x = as_tensor_variable(x)
    lengths = window_shape if isinstance(window_shape, (list, tuple)) else (window_shape,)
    lengths = [one_integer("sliding_window_view", "a length of the window", length) for length in lengths]
    axes = [one_axis("sliding_window_view", x, number) for number in (
        range(x.type.ndim) if axis is None else axis if isinstance(axis, (list, tuple)) else (axis,))]
    if len(axes) != len(lengths):
        raise ValueError(f"sliding_window_view: {len(lengths)} lengths of a window for {len(axes)} axes of {x}")
    if min(lengths, default=0) < 0:
        raise ValueError(f"sliding_window_view: a window of length {min(lengths)}")
    for number, length in zip(axes, lengths):
        count = shape_i(x, number) - length + 1
        count = Check("sliding_window_view: a window is longer than its axis")(count, count > 0)
        at = dimshuffle(arange(count), 0, "x") + dimshuffle(arange(length), "x", 0)
        x = moveaxis(take(x, at, number), number + 1, -1)
    return x
