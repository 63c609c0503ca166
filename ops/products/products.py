"""Products of tensors of any rank, built from ``Dot``, ``BatchedDot``, views and reshapes.

``dot``, ``matmul``, ``tensordot`` and ``outer`` are like NumPy's; ``batched_dot`` and ``batched_tensordot`` process
each item of the first dimension separately; ``kron`` is the Kronecker product. The dimensions that are summed over, and
those that are kept, are joined by reshapes, which do not copy if strides permit; so each product is one call of BLAS,
or one call for each item.
"""
from numpy.exceptions import AxisError

from phintys.ops.creation.allocation import alloc
from phintys.ops.products.batched_product import batched_dot_op
from phintys.ops.products.dot import dot_op, outer_of_vectors
from phintys.ops.shape.dimshuffle import dimshuffle, shape_padleft
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.axes import one_integer
from phintys.ops.types.constant import as_tensor_variable


def dot(a, b):
    """The product of two tensors, like NumPy's ``dot``.

    Parameters
    ----------
    a, b : tensor-like
        Scalars are multiplied elementwise. For vectors and matrices the result is the matrix product. For higher ranks,
        the products are summed over the last dimension of ``a`` and the second-to-last dimension of ``b``.

    Returns
    -------
    TensorVariable
        Of the common dtype. Its shape is that of ``a`` followed by that of ``b``, without the two dimensions summed
        over: (n, k) and (k, m) give (n, m), and two vectors give a scalar.

    Raises
    ------
    ValueError
        At run time, if the lengths of the dimensions summed over differ.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> T.dot(x, [1.0, 2.0]).eval({x: [[1, 0], [3, 4]]})
    array([ 1., 11.])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.type.ndim == 0 or b.type.ndim == 0:
        return a * b
    if a.type.ndim > 2 or b.type.ndim > 2:
        return tensordot(a, b, [[a.type.ndim - 1], [max(0, b.type.ndim - 2)]])
    return dot_op(a, b)


def outer(x, y):
    """The matrix of all products of an element of ``x`` and an element of ``y``; both are flattened first.

    Examples
    --------
    >>> T.outer([1, 2], [3, 4]).eval()
    array([[3, 4],
           [6, 8]])
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    return outer_of_vectors(x if x.type.ndim == 1 else flatten(x), y if y.type.ndim == 1 else flatten(y))


# ---- stacks of matrices -------------------------------------------------------------------------------------------
def matmul(a, b):
    """The product of stacks of matrices, like NumPy's ``matmul`` and ``@``.

    Parameters
    ----------
    a, b : tensor-like
        Must have at least one dimension. The last two are those of the matrices; leading dimensions are broadcast where
        they are declared broadcastable. A vector counts as a row on the left and as a column on the right, and the
        result does not have that dimension.

    Returns
    -------
    TensorVariable
        Of the common dtype.

    Raises
    ------
    ValueError
        For an operand without dimensions; at run time, for lengths that do not match.

    Examples
    --------
    >>> T.matmul(T.ones((5, 2, 3)), T.ones((3, 4))).eval().shape
    (5, 2, 4)
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.type.ndim == 0 or b.type.ndim == 0:
        raise ValueError(f"matmul: the operands must have at least one dimension, got {a.type} and {b.type}")
    if b.type.ndim <= 2:
        return dot(a, b)
    if a.type.ndim == 1:
        product = matmul(shape_padleft(a, 1), b)
        return dimshuffle(product, *[axis for axis in range(product.type.ndim) if axis != product.type.ndim - 2])
    rank = max(a.type.ndim, b.type.ndim)
    a, b = [shape_padleft(value, rank - value.type.ndim) if value.type.ndim < rank else value for value in (a, b)]
    if rank == 3:
        return batched_dot_op(a, b)
    batch = list(range(rank - 2))
    a, b = _repeated(a, b, batch), _repeated(b, a, batch)
    return contracted(a, b, batch, [rank - 1], [rank - 2])


def _repeated(value, other, batch):
    """``value``, repeated along those dimensions in ``batch`` that are broadcastable in it but not in ``other``."""
    flags = [value.type.broadcastable[axis] for axis in batch]
    if not any([mine and not other.type.broadcastable[axis] for mine, axis in zip(flags, batch)]):
        return value
    lengths = [shape_i(other if mine else value, axis) for mine, axis in zip(flags, batch)]
    return alloc(value, *lengths, *[shape_i(value, axis) for axis in range(len(batch), value.type.ndim)])


def batched_dot(a, b):
    """The product of corresponding items of ``a`` and ``b``: ``batched_dot(a, b)[i] == dot(a[i], b[i])``.

    Parameters
    ----------
    a, b : tensor-like
        Must have at least one dimension; the length of the first one is the number of items.

    Returns
    -------
    TensorVariable
        Of the common dtype.

    Raises
    ------
    TypeError
        For an operand without dimensions.
    ValueError
        At run time, for lengths that do not match.

    Examples
    --------
    >>> x = T.dtensor3("x")
    >>> T.batched_dot(x, x).eval({x: numpy.ones((2, 3, 3))}).shape
    (2, 3, 3)
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    for name, value in (("a", a), ("b", b)):
        if value.type.ndim == 0:
            raise TypeError(f"{name} must have at least one (batch) axis, got {value.type}")
    if a.type.ndim == 1:
        return dimshuffle(a, 0, *["x"] * (b.type.ndim - 1)) * b
    if b.type.ndim == 1:
        return a * dimshuffle(b, 0, *["x"] * (a.type.ndim - 1))
    if a.type.ndim > 3 or b.type.ndim > 3:
        return batched_tensordot(a, b, [[a.type.ndim - 1], [max(1, b.type.ndim - 2)]])
    return batched_dot_op(a, b)


# ---- sums over any dimensions -------------------------------------------------------------------------------------
def tensordot(a, b, axes=2):
    """The product of two tensors summed over pairs of dimensions.

    Parameters
    ----------
    a, b : tensor-like
    axes : int, or pair of int or sequence of int
        The number of the last dimensions of ``a`` that are paired with the first dimensions of ``b``; or the
        dimensions of ``a`` and the dimensions of ``b`` with which they are paired.

    Returns
    -------
    TensorVariable
        Has the remaining dimensions of ``a``, then those of ``b``.

    Raises
    ------
    ValueError
        If ``axes`` has dimensions that do not exist, or different numbers of dimensions of ``a`` and ``b``; at run
        time, if the lengths of paired dimensions differ.

    Examples
    --------
    >>> T.tensordot(T.ones((2, 3, 4)), T.ones((4, 3)), axes=[[1, 2], [1, 0]]).eval()
    array([12., 12.])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    return contracted(a, b, [], *_summed_axes(a, b, axes, 0))


def batched_tensordot(x, y, axes=2):
    """The `tensordot` of corresponding items of ``x`` and ``y``, along the first dimension.

    Parameters
    ----------
    x, y : tensor-like
    axes : int, or pair of int or sequence of int
        The number of the last dimensions of ``x`` that are paired with the first dimensions of ``y`` after that of the
        items; or the dimensions of ``x`` and the dimensions of ``y`` with which they are paired, where dimension 0 is
        that of the items.

    Returns
    -------
    TensorVariable
        Has the dimension of the items, the remaining dimensions of ``x``, then those of ``y``.

    Raises
    ------
    ValueError
        See `tensordot`; also if ``axes`` contains the dimension of the items.

    Examples
    --------
    >>> T.batched_tensordot(T.ones((5, 2, 3)), T.ones((5, 3, 4)), 1).eval().shape
    (5, 2, 4)
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    return contracted(x, y, [0], *_summed_axes(x, y, axes, 1))


def _summed_axes(a, b, axes, first):
    """The dimensions of ``a`` and of ``b`` that are summed over, as two lists; they must be at least ``first``."""
    ranks = a.type.ndim, b.type.ndim
    if not hasattr(axes, "__len__"):
        axes = one_integer("tensordot", "axes, or each of two sequences,", axes)
        for name, rank in zip("ab", ranks):
            if axes > rank:
                raise ValueError(f"axes can not be larger than the dimension of {name} ({name}.ndim={rank}, "
                                 f"axes={axes})")
            if axes > rank - first:
                raise ValueError(f"axes to sum over must not include the batch axis of {name} ({name}.ndim={rank}, "
                                 f"axes={axes})")
        return list(range(ranks[0] - axes, ranks[0])), list(range(first, first + axes))
    if len(axes) != 2:
        raise ValueError(f"Axes should be an integer or a list/tuple of len 2 ({axes} was provided)")
    pairs = [[int(axis) for axis in part] if hasattr(part, "__len__") else [int(part)] for part in axes]
    if len(pairs[0]) != len(pairs[1]):
        raise ValueError(f"Axes elements must have the same length, got {axes}")
    for position, (part, rank) in enumerate(zip(pairs, ranks)):
        for axis in part:
            if not -rank <= axis < rank:
                raise AxisError(f"axes[{position}] contains dimension {axis}, but the operand has {rank}")
        pairs[position] = [axis % rank for axis in part]
        if len(set(pairs[position])) != len(part):
            raise ValueError(f"axes[{position}] names a dimension twice: {part}")
        if first and 0 in pairs[position]:
            raise ValueError(f"axes to sum over must not contain the batch axis (axes[{position}]={part})")
    return pairs


def contracted(a, b, batch, summed_a, summed_b):
    """The product summed over pairs of dimensions, for each index of the dimensions in ``batch``, which come first."""
    kept_a = [axis for axis in range(a.type.ndim) if axis not in summed_a and axis not in batch]
    kept_b = [axis for axis in range(b.type.ndim) if axis not in summed_b and axis not in batch]
    left, right = _folded(a, batch, kept_a, summed_a), _folded(b, batch, summed_b, kept_b)
    product = batched_dot_op(left, right) if batch else dot_op(left, right)
    lengths = [shape_i(a, axis) for axis in batch + kept_a] + [shape_i(b, axis) for axis in kept_b]
    pattern = [a.type.broadcastable[axis] for axis in batch + kept_a] + [b.type.broadcastable[axis] for axis in kept_b]
    if product.type.ndim != len(lengths) or max(len(batch), len(kept_a), len(kept_b)) > 1:
        product = reshape(product, lengths, len(lengths))
    return patternbroadcast(product, pattern)


def _folded(x, *groups):
    """``x`` with each group of its dimensions joined to one; an empty first group gives no dimension."""
    groups = groups if groups[0] else groups[1:]
    order = [axis for group in groups for axis in group]
    if order != list(range(x.type.ndim)):
        x, order = dimshuffle(x, *order), iter(range(x.type.ndim))
        groups = [[next(order) for _ in group] for group in groups]
    if all([len(group) == 1 for group in groups]):
        return x
    return reshape(x, [_length(x, group) for group in groups])


def _length(x, axes):
    """The product of the lengths of some dimensions of ``x``; symbolic unless there are none."""
    if not axes:
        return 1
    length = shape_i(x, axes[0])
    for axis in axes[1:]:
        length = length * shape_i(x, axis)
    return length


def kron(a, b):
    """The Kronecker product: each element of ``a`` times all of ``b``.

    Parameters
    ----------
    a, b : tensor-like

    Returns
    -------
    TensorVariable
        For two matrices, and for vectors and scalars, like ``numpy.kron``; for other ranks, like Theano and earlier
        versions of ``scipy.linalg.kron``.

    Examples
    --------
    >>> T.kron(T.as_tensor([[1, 2]]), T.as_tensor([[1], [1]])).eval()
    array([[1, 2],
           [1, 2]])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.type.ndim + b.type.ndim <= 2:
        return kron_of_any_ranks(a, b)
    lengths = [shape_i(a, axis) for axis in range(a.type.ndim)] + [shape_i(b, axis) for axis in range(b.type.ndim)]
    products = reshape(outer(a, b), lengths)
    if len(lengths) == 3:
        return flatten(dimshuffle(products, 1, 0, 2))
    shuffled = dimshuffle(products, 0, 2, 1, *range(3, len(lengths)))
    return reshape(shuffled, [lengths[0] * lengths[2], lengths[1] * lengths[3], *lengths[4:]])


def kron_of_any_ranks(a, b):
    """The Kronecker product like ``numpy.kron``: the operand of lower rank gets dimensions of length 1 on the left."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    rank = max(a.type.ndim, b.type.ndim)
    a, b = [shape_padleft(value, rank - value.type.ndim) if value.type.ndim < rank else value for value in (a, b)]
    outside = [position for axis in range(rank) for position in (axis, "x")]
    inside = [position for axis in range(rank) for position in ("x", axis)]
    lengths = [shape_i(a, axis) * shape_i(b, axis) for axis in range(rank)]
    product = dimshuffle(a, outside) * dimshuffle(b, inside)
    return reshape(product, lengths) if rank else product
