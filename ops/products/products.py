"""Products of tensors of any rank, built from ``Dot``, ``BatchedDot``, views and reshapes.

``dot``, ``matmul``, ``tensordot`` and ``outer`` are NumPy's; ``batched_dot`` and ``batched_tensordot`` go item by item
through the first dimension; ``kron`` is the Kronecker product. Dimensions that are summed over, and those that are
kept, become one by a reshape, which copies nothing where the strides allow it; so each is one call of BLAS, or one for
each item.
"""
from phintys.ops.creation.allocation import alloc
from phintys.ops.products.batched_product import batched_dot_op
from phintys.ops.products.dot import dot_op, outer_of_vectors
from phintys.ops.shape.dimshuffle import dimshuffle, shape_padleft
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.constant import as_tensor_variable


def dot(a, b):
    """The product of two tensors, as NumPy's ``dot``.

    Parameters
    ----------
    a, b : tensor-like
        Scalars multiply element by element. Vectors and matrices: the matrix product in every pairing. Of higher ranks,
        the last dimension of ``a`` and the last but one of ``b`` are summed over.

    Returns
    -------
    TensorVariable
        Of the common dtype. Its shape is that of ``a`` and then that of ``b``, without the two dimensions summed over:
        (n, k) and (k, m) give (n, m), two vectors a number.

    Raises
    ------
    ValueError
        When it runs, if the lengths summed over differ.

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
    """The matrix of all products of an element of ``x`` with one of ``y``; both are flattened first."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    return outer_of_vectors(x if x.type.ndim == 1 else flatten(x), y if y.type.ndim == 1 else flatten(y))


# ---- stacks of matrices -------------------------------------------------------------------------------------------
def matmul(a, b):
    """The product of stacks of matrices, as NumPy's ``matmul`` and ``@``.

    Parameters
    ----------
    a, b : tensor-like
        Of at least one dimension. The last two are those of the matrices; those in front broadcast where they are
        declared to. A vector is a row on the left and a column on the right, and loses that dimension again.

    Returns
    -------
    TensorVariable
        Of the common dtype.

    Raises
    ------
    ValueError
        For an operand without dimensions; when it runs, for lengths that do not match.
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
    """``value``, repeated along those of the dimensions ``batch`` that only ``other`` has a length in."""
    flags = [value.type.broadcastable[axis] for axis in batch]
    if not any([mine and not other.type.broadcastable[axis] for mine, axis in zip(flags, batch)]):
        return value
    lengths = [shape_i(other if mine else value, axis) for mine, axis in zip(flags, batch)]
    return alloc(value, *lengths, *[shape_i(value, axis) for axis in range(len(batch), value.type.ndim)])


def batched_dot(a, b):
    """The product of each item of ``a`` with the same item of ``b``: ``batched_dot(a, b)[i] == dot(a[i], b[i])``.

    Parameters
    ----------
    a, b : tensor-like
        Of at least one dimension, whose length is the number of items.

    Returns
    -------
    TensorVariable
        Of the common dtype.

    Raises
    ------
    TypeError
        For an operand without dimensions.
    ValueError
        When it runs, for lengths that do not match.
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
        How many of the last dimensions of ``a`` and the first of ``b`` are paired; or which of ``a`` with which of
        ``b``.

    Returns
    -------
    TensorVariable
        With the dimensions of ``a`` that are left, then those of ``b``.

    Raises
    ------
    ValueError
        If ``axes`` names dimensions that do not exist, or not as many of ``a`` as of ``b``; when it runs, if lengths
        that are paired differ.
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    return contracted(a, b, [], *_summed_axes(a, b, axes, 0))


def batched_tensordot(x, y, axes=2):
    """The `tensordot` of each item of ``x`` with the same item of ``y``; items lie along the first dimension.

    Parameters
    ----------
    x, y : tensor-like
    axes : int, or pair of int or sequence of int
        How many of the last dimensions of ``x`` are paired with the first of ``y`` behind the items; or which of ``x``
        with which of ``y``, where dimension 0 is that of the items.

    Returns
    -------
    TensorVariable
        With the items, the dimensions of ``x`` that are left, then those of ``y``.

    Raises
    ------
    ValueError
        As `tensordot`, and if ``axes`` names the dimension of the items.
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    return contracted(x, y, [0], *_summed_axes(x, y, axes, 1))


def _summed_axes(a, b, axes, first):
    """Which dimensions of ``a`` and of ``b``, none of them below ``first``, are summed over, as two lists."""
    ranks = a.type.ndim, b.type.ndim
    if not hasattr(axes, "__len__"):
        axes = int(axes)
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
                raise ValueError(f"axes[{position}] contains dimension {axis}, but the operand has {rank}")
        pairs[position] = [axis % rank for axis in part]
        if len(set(pairs[position])) != len(part):
            raise ValueError(f"axes[{position}] names a dimension twice: {part}")
        if first and 0 in pairs[position]:
            raise ValueError(f"axes to sum over must not contain the batch axis (axes[{position}]={part})")
    return pairs


def contracted(a, b, batch, summed_a, summed_b):
    """The product summed over pairs of dimensions, for each element of the dimensions ``batch``, which come first."""
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
    """``x`` with one dimension for each group of its dimensions; an empty first group stands for no dimension."""
    groups = groups if groups[0] else groups[1:]
    order = [axis for group in groups for axis in group]
    if order != list(range(x.type.ndim)):
        x, order = dimshuffle(x, *order), iter(range(x.type.ndim))
        groups = [[next(order) for _ in group] for group in groups]
    if all([len(group) == 1 for group in groups]):
        return x
    return reshape(x, [_length(x, group) for group in groups])


def _length(x, axes):
    """The product of some of ``x``'s lengths, symbolic unless there is none."""
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
        For two matrices, and for vectors and scalars, as ``numpy.kron``; for other ranks as ``scipy.linalg.kron`` did,
        and Theano.
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
    """The Kronecker product as ``numpy.kron``: the operand of lower rank gets dimensions of length 1 on the left."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    rank = max(a.type.ndim, b.type.ndim)
    a, b = [shape_padleft(value, rank - value.type.ndim) if value.type.ndim < rank else value for value in (a, b)]
    outside = [place for axis in range(rank) for place in (axis, "x")]
    inside = [place for axis in range(rank) for place in ("x", axis)]
    lengths = [shape_i(a, axis) * shape_i(b, axis) for axis in range(rank)]
    product = dimshuffle(a, outside) * dimshuffle(b, inside)
    return reshape(product, lengths) if rank else product
