"""The array API's forms of functions of ``numpy.linalg``: of the last two dimensions, or of vectors only."""
from phintys.ops.compositions.parts import tensors
from phintys.ops.compositions.vectors import cross as any_cross
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.linalg.diagonal import diagonal as any_diagonal
from phintys.ops.reduction import reduction
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.types.constant import as_tensor_variable


def diagonal(x, *, offset=0):
    """The diagonals of matrices, the last two dimensions.

    Examples
    --------
    >>> T.linalg.diagonal(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([1, 4])
    """
    return any_diagonal(x, offset, -2, -1)


def trace(x, *, offset=0, dtype=None):
    """The sums of the diagonals of matrices, the last two dimensions.

    Examples
    --------
    >>> T.linalg.trace(T.as_tensor([[1, 2], [3, 4]])).eval()
    array(5)
    """
    x = as_tensor_variable(x)
    return reduction.sum(diagonal(x if dtype is None else as_dtype(x, dtype), offset=offset), axis=-1, dtype=dtype)


def outer(x1, x2):
    """The outer product of two vectors; raises ``ValueError`` for other ranks.

    Examples
    --------
    >>> T.linalg.outer(T.as_tensor([1, 2]), T.as_tensor([3, 4])).eval()
    array([[3, 4],
           [6, 8]])
    """
    x1, x2 = tensors((x1, x2))
    if x1.type.ndim != 1 or x2.type.ndim != 1:
        raise ValueError(f"outer: Input arrays must be one-dimensional, but they are {x1.type.ndim} and "
                         f"{x2.type.ndim}-dimensional")
    return dimshuffle(x1, 0, "x") * dimshuffle(x2, "x", 0)


def cross(x1, x2, *, axis=-1):
    """Cross products of vectors of three elements along one axis.

    Examples
    --------
    >>> T.linalg.cross(T.as_tensor([1, 2, 3]), T.as_tensor([4, 5, 6])).eval()
    array([-3,  6, -3])
    """
    return any_cross(x1, x2, axis=axis)
