"""Permutations of the last dimension: ``permute_row_elements``, ``inverse_permutation``."""
from phintys.graph.public_names import at_home
from phintys.ops.creation.allocation import arange, zeros
from phintys.ops.elementwise.scalar import neq, second, switch
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.shape.dimshuffle import dimshuffle, shape_padleft
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.known_length import known_integer


@at_home
class PermuteRowElements:
    """`permute_row_elements`, as an object like Theano's op of this name.

    Examples
    --------
    >>> T.PermuteRowElements()(T.as_tensor([[1, 2, 3]]), T.as_tensor([2, 0, 1]), 0).eval()
    array([[3, 1, 2]])
    """

    def __call__(self, x, y, inverse):
        return permute_row_elements(x, y, inverse)


def permute_row_elements(x, y, inverse=0):
    """Permute each row of ``x`` by the permutation in ``y`` or, with ``inverse``, by its inverse.

    The tensor and the permutations are broadcast together in all dimensions but the last.

    Raises
    ------
    TypeError
        If permutations are not integers, all are scalars, or ``inverse`` is not one.
    ValueError
        At run time, if lengths do not match.
    IndexError
        At run time, if a permutation contains a position that a row does not have.

    Examples
    --------
    >>> x = T.as_tensor([[1, 2, 3], [4, 5, 6]])
    >>> T.permute_row_elements(x, T.as_tensor([2, 0, 1])).eval()
    array([[3, 1, 2],
           [6, 4, 5]])
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if y.type.dtype not in integer_dtypes:
        raise TypeError(f"permute_row_elements: permutations must be integers, got {y} of type {y.type}")
    rank = max(x.type.ndim, y.type.ndim)
    if rank == 0 or getattr(inverse, "ndim", 0):
        raise TypeError("permute_row_elements: rows have a dimension, and inverse has none; got "
                        f"{x.type}, {y.type} and {inverse!r}")
    backwards = known_integer(inverse) if hasattr(inverse, "type") else bool(inverse)
    if backwards is None:
        return switch(neq(inverse, 0), permute_row_elements(x, y, 1), permute_row_elements(x, y, 0))
    x, y = shape_padleft(x, rank - x.type.ndim), shape_padleft(y, rank - y.type.ndim)
    repeated = x.type.broadcastable
    y = EqualLengths.of(y, [[(x, axis), (y, axis)] for axis in range(rank)
                            if not repeated[axis] and not y.type.broadcastable[axis]])
    if repeated[-1] != y.type.broadcastable[-1]:
        x, y = (second(y, x), y) if repeated[-1] else (x, second(x, y))
    lengths = [shape_i(y if repeated[axis] else x, axis) for axis in range(rank)]
    lines = [dimshuffle(arange(lengths[axis]), ["x"] * axis + [0] + ["x"] * (rank - axis - 1))
             for axis in range(rank - 1)]
    if backwards:
        return set_subtensor(zeros(lengths, x.type.dtype)[(*lines, y)], x)
    return x[(*[0 if flag else line for flag, line in zip(repeated, lines)], y)]


def inverse_permutation(perm):
    """The inverses of the permutations in the rows of ``perm``, of the same dtype.

    Examples
    --------
    >>> T.inverse_permutation(T.as_tensor([2, 0, 1])).eval()
    array([1, 2, 0])
    """
    perm = as_tensor_variable(perm)
    return permute_row_elements(arange(shape_i(perm, perm.type.ndim - 1), dtype=perm.type.dtype), perm, inverse=True)
