"""Products of tensors of any rank, built from ``Dot``, views and reshapes: ``dot``, ``tensordot``, ``outer``."""
from phintys.ops.constant import as_tensor_variable
from phintys.ops.dimshuffle import dimshuffle
from phintys.ops.dot import dot_op, outer_of_vectors
from phintys.ops.reshape import flatten, reshape
from phintys.ops.shape import patternbroadcast, shape_i


def dot(l, r):
    """The product of two tensors, as NumPy's ``dot``.

    Parameters
    ----------
    l, r : tensor-like
        Scalars multiply element by element. Vectors and matrices: the matrix product in every pairing. Of higher ranks,
        the last dimension of ``l`` and the last but one of ``r`` are summed over.

    Returns
    -------
    TensorVariable
        Of the common dtype.

    Raises
    ------
    ValueError
        When it runs, if the lengths summed over differ.
    """
    l, r = as_tensor_variable(l), as_tensor_variable(r)
    if l.type.ndim == 0 or r.type.ndim == 0:
        return l * r
    if l.type.ndim > 2 or r.type.ndim > 2:
        return tensordot(l, r, [[l.type.ndim - 1], [max(0, r.type.ndim - 2)]])
    return dot_op(l, r)


def outer(x, y):
    """The matrix of all products of an element of ``x`` with one of ``y``; both are flattened first."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    return outer_of_vectors(x if x.type.ndim == 1 else flatten(x), y if y.type.ndim == 1 else flatten(y))


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
        If ``axes`` names dimensions that do not exist, or not as many of ``a`` as of ``b``.
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    summed_a, summed_b = _summed_axes(a, b, axes)
    kept_a = [axis for axis in range(a.type.ndim) if axis not in summed_a]
    kept_b = [axis for axis in range(b.type.ndim) if axis not in summed_b]
    left = reshape(dimshuffle(a, kept_a + summed_a), [_length(a, kept_a), _length(a, summed_a)])
    right = reshape(dimshuffle(b, summed_b + kept_b), [_length(b, summed_b), _length(b, kept_b)])
    lengths = [shape_i(a, axis) for axis in kept_a] + [shape_i(b, axis) for axis in kept_b]
    pattern = [a.type.broadcastable[axis] for axis in kept_a] + [b.type.broadcastable[axis] for axis in kept_b]
    return patternbroadcast(reshape(dot_op(left, right), lengths), pattern)


def _summed_axes(a, b, axes):
    """Which dimensions of ``a`` and of ``b`` are summed over, as two lists."""
    if not isinstance(axes, (list, tuple)):
        if axes > a.type.ndim or axes > b.type.ndim:
            raise ValueError(f"axes can not be larger than the dimension of a or b (a.ndim={a.type.ndim}, "
                             f"b.ndim={b.type.ndim}, axes={axes})")
        return list(range(a.type.ndim - axes, a.type.ndim)), list(range(axes))
    if len(axes) != 2:
        raise ValueError(f"Axes should be an integer or a list/tuple of len 2 ({axes} was provided)")
    pairs = [list(part) if isinstance(part, (list, tuple)) else [part] for part in axes]
    if len(pairs[0]) != len(pairs[1]):
        raise ValueError(f"Axes elements must have the same length, got {axes}")
    for position, (part, operand) in enumerate(zip(pairs, (a, b))):
        for axis in part:
            if not -operand.type.ndim <= axis < operand.type.ndim:
                raise ValueError(f"axes[{position}] contains dimension {axis}, but the operand has {operand.type.ndim}")
        pairs[position] = [axis % operand.type.ndim for axis in part]
        if len(set(pairs[position])) != len(part):
            raise ValueError(f"axes[{position}] names a dimension twice: {part}")
    return pairs


def _length(x, axes):
    """The product of some of ``x``'s lengths, symbolic unless there is none."""
    if not axes:
        return 1
    length = shape_i(x, axes[0])
    for axis in axes[1:]:
        length = length * shape_i(x, axis)
    return length
