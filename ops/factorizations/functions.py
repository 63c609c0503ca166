"""Functions that are short expressions of the ops of this folder, and least squares."""
import numpy

from phintys.ops.creation.allocation import zeros
from phintys.ops.elementwise.scalar import as_dtype, eq
from phintys.ops.factorizations.cholesky import cholesky as lower_factor
from phintys.ops.factorizations.eigen import Eigvalsh, eig
from phintys.ops.factorizations.inverse import lu_factor, matrix_inverse
from phintys.ops.factorizations.permutation import permutation_matrix
from phintys.ops.factorizations.solve import solve
from phintys.ops.factorizations.stacks import (
    MatrixOp,
    adjoint,
    identity_for,
    product,
    transposed,
)
from phintys.ops.identity.assertion import Check
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.linalg.triangle import tril, triu
from phintys.ops.shape.dimshuffle import dimshuffle, shape_padleft
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.axes import one_integer, sequence_of, several_axes
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import upcast


def matrix_dot(*args):
    """The product of several matrices, multiplied from the left to the right.

    Parameters
    ----------
    *args : matrix, or stack of matrices
        At least one.

    Raises
    ------
    TypeError
        Without arguments.

    Examples
    --------
    >>> a = T.as_tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> T.nlinalg.matrix_dot(a, a, a).eval()
    array([[ 37.,  54.],
           [ 81., 118.]])
    """
    if not args:
        raise TypeError("matrix_dot needs at least one matrix")
    return product(*[as_tensor_variable(factor) for factor in args])


def matrix_power(M, n):
    """A square matrix to the integer power ``n``, like ``numpy.linalg.matrix_power``.

    Parameters
    ----------
    M : square matrix, or stack of them
    n : int
        If negative, the inverse is raised to the power ``-n``; 0 gives the identity.

    Raises
    ------
    TypeError
        If ``n`` is not an integer.
    ValueError
        If ``M`` has fewer than two dimensions.
    numpy.linalg.LinAlgError
        For matrices that are not square, at run time if their lengths are not known before.

    Examples
    --------
    >>> T.nlinalg.matrix_power(T.as_tensor([[1.0, 1.0], [0.0, 1.0]]), 3).eval()
    array([[1., 3.],
           [0., 1.]])
    """
    M = as_tensor_variable(M)
    if M.type.ndim < 2:
        raise ValueError(f"matrix_power needs a matrix, or a stack of matrices, got {M} of type {M.type}")
    if not isinstance(n, (int, numpy.integer)):
        raise TypeError(f"matrix_power: exponent must be an integer, got {n!r}")
    if n in (0, 1):                                  # no product refuses other matrices
        checked = _if_square("matrix_power", M, M)
        return checked if n else _if_square("matrix_power", M, checked.zeros_like() + identity_for(checked))
    base, n = (matrix_inverse(M), -n) if n < 0 else (M, n)
    result = None
    while n:                                         # by the binary digits of n
        if n & 1:
            result = base if result is None else product(result, base)
        n >>= 1
        if n:
            base = product(base, base)
    return result


def _if_square(name, x, value):
    """``value``, for matrices that are square."""
    rows, columns = x.type.shape[-2:]
    message = f"{name}: Last 2 dimensions of the array must be square"
    if None not in (rows, columns):
        if rows != columns:
            raise numpy.linalg.LinAlgError(f"{message}, {x} has the type {x.type}")
        return value
    lengths = [shape_i(x, x.type.ndim - 2), shape_i(x, x.type.ndim - 1)]
    return Check(message, "LinAlgError")(value, eq(*lengths))


def tensorinv(a, ind=2):
    """The inverse of a tensor with respect to ``tensordot``, like ``numpy.linalg.tensorinv``.

    Parameters
    ----------
    a : tensor-like
        The product of its first ``ind`` lengths must be that of the others.
    ind : int
        Positive.

    Returns
    -------
    TensorVariable
        Of shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises
    ------
    ValueError
        If ``ind`` is not positive.
    numpy.linalg.LinAlgError
        At run time, if the tensor is not square in this sense, or singular.

    Examples
    --------
    >>> T.nlinalg.tensorinv(T.eye(6).reshape((6, 2, 3)), ind=1).eval().shape
    (2, 3, 6)
    """
    a = as_tensor_variable(a)
    if not 0 < one_integer("tensorinv", "ind", ind) <= a.type.ndim:
        raise ValueError(f"Invalid ind argument: tensorinv needs a positive number, at most the number of dimensions "
                         f"of {a}, got {ind}")
    lengths = [shape_i(a, axis) for axis in range(a.type.ndim)]
    inverse = matrix_inverse(flatten(dimshuffle(a, *range(a.type.ndim)), 2) if ind == 1 else
                             reshape(a, [_product(lengths[:ind]), -1], ndim=2))
    return reshape(inverse, [*lengths[ind:], *lengths[:ind]], ndim=a.type.ndim)


def _product(lengths):
    total = lengths[0]
    for length in lengths[1:]:
        total = total * length
    return total


def tensorsolve(a, b, axes=None):
    """Solve ``tensordot(a, x, x.ndim) == b`` for x, like ``numpy.linalg.tensorsolve``.

    Parameters
    ----------
    a, b : tensor-like
        The first dimensions of ``a`` are those of ``b``.
    axes : sequence of int, optional
        Dimensions of ``a`` that are moved to the end before.

    Returns
    -------
    TensorVariable
        Of the shape of the remaining dimensions of ``a``.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, if the system is not square, or singular.

    Examples
    --------
    >>> a, b = T.eye(6).reshape((2, 3, 2, 3)), T.arange(6).reshape((2, 3))
    >>> T.nlinalg.tensorsolve(a, b).eval()
    array([[0., 1., 2.],
           [3., 4., 5.]])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if axes is not None:
        last = several_axes("tensorsolve", a, axes)
        a = dimshuffle(a, *[axis for axis in range(a.type.ndim) if axis not in last], *last)
    if not 0 < b.type.ndim < a.type.ndim:
        raise ValueError(f"tensorsolve: the first dimensions of a tensor must be those of the other one, which has "
                         f"some; got {a} with {a.type.ndim} dimensions and {b} with {b.type.ndim}")
    lengths = [shape_i(a, axis) for axis in range(b.type.ndim, a.type.ndim)]
    solution = solve(reshape(a, [_product([shape_i(b, axis) for axis in range(b.type.ndim)]), _product(lengths)],
                             ndim=2), flatten(b))
    return reshape(solution, lengths, ndim=len(lengths))


class TensorInv(MatrixOp):
    """`tensorinv` under the name of Theano's op. Calling it makes a graph of other ops.

    Examples
    --------
    >>> T.nlinalg.TensorInv(ind=1)(T.eye(6).reshape((6, 2, 3))).eval().shape
    (2, 3, 6)
    """

    __props__ = ("ind",)

    def __init__(self, ind=2):
        self.ind = ind

    def __call__(self, a):
        return tensorinv(a, self.ind)


class TensorSolve(MatrixOp):
    """`tensorsolve` under the name of Theano's op. Calling it makes a graph of other ops.

    Examples
    --------
    >>> a, b = T.eye(6).reshape((2, 3, 2, 3)), T.ones((2, 3))
    >>> T.nlinalg.TensorSolve(axes=None)(a, b).eval()
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """

    __props__ = ("axes",)

    def __init__(self, axes=None):
        self.axes = axes

    def __call__(self, a, b):
        return tensorsolve(a, b, self.axes)


def lu(a, permute_l=False):
    """The factors ``p.l.u`` of a square matrix, like ``scipy.linalg.lu``: a permutation, and a lower and an upper
    triangular matrix.

    Parameters
    ----------
    a : square matrix, or stack of them
    permute_l : bool
        Return ``p.l`` and ``u`` only.

    Returns
    -------
    tuple of TensorVariable

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square.

    Examples
    --------
    >>> p, lower, upper = T.slinalg.lu(T.as_tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> upper.eval()
    array([[2., 2.],
           [0., 1.]])
    """
    factors, pivots = lu_factor(a)
    identity = identity_for(factors)
    lower, upper = tril(factors, -1) + identity, triu(factors)
    permutation = transposed(permutation_matrix(pivots + numpy.int32(1), factors.type.dtype))
    return (product(permutation, lower), upper) if permute_l else (permutation, lower, upper)


def block_diag(*matrices):
    """A matrix with the given ones along its diagonal and zeros elsewhere, like ``scipy.linalg.block_diag``.

    Parameters
    ----------
    *matrices : matrix, vector or scalar
        A vector counts as a row.

    Raises
    ------
    TypeError
        Without arguments.
    ValueError
        For tensors with more than two dimensions.

    Examples
    --------
    >>> T.slinalg.block_diag(T.as_tensor([[1, 2]]), T.as_tensor([[3]])).eval()
    array([[1, 2, 0],
           [0, 0, 3]])
    """
    blocks = [as_tensor_variable(block) for block in matrices]
    if not blocks:
        raise TypeError("block_diag needs at least one matrix")
    for block in blocks:
        if block.type.ndim > 2:
            raise ValueError(f"block_diag takes matrices, got {block} with {block.type.ndim} dimensions")
    blocks = [shape_padleft(block, 2 - block.type.ndim) if block.type.ndim < 2 else block for block in blocks]
    heights, widths = [[shape_i(block, axis) for block in blocks] for axis in (0, 1)]
    result = zeros([_sum(heights), _sum(widths)], dtype=upcast(*[block.type.dtype for block in blocks]))
    row = column = 0
    for block, height, width in zip(blocks, heights, widths):
        position = (slice(row, row + height), slice(column, column + width))
        result = set_subtensor(result[position], as_dtype(block, result.type.dtype))
        row, column = row + height, column + width
    return result


def _sum(lengths):
    total = lengths[0]
    for length in lengths[1:]:
        total = total + length
    return total


# ---- NumPy's parameters ----------------------------------------------------------------------------------------------
def cholesky(a, upper=False):
    """The Cholesky factor of Hermitian positive definite matrices, like ``numpy.linalg.cholesky``.

    Parameters
    ----------
    a : square matrix, or stack of them
    upper : bool
        Whether to return the upper factor; otherwise the lower one.

    Raises
    ------
    ValueError
        At run time, for infinities and NaN.
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square, or not positive definite.

    Examples
    --------
    >>> T.linalg.cholesky(T.as_tensor([[4.0, 2.0], [2.0, 5.0]])).eval()
    array([[2., 0.],
           [1., 2.]])
    """
    if upper:
        return adjoint(lower_factor(adjoint(as_tensor_variable(a))))
    return lower_factor(a)


def eigvals(a):
    """The eigenvalues of square matrices, of their dtype, also where NumPy's are complex; see `eig`.

    Examples
    --------
    >>> T.linalg.eigvals(T.as_tensor([[2.0, 0.0], [0.0, 3.0]])).eval()
    array([2., 3.])
    """
    return eig(a)[0]


def hermitian_eigenvalues(a, UPLO="L"):
    """The eigenvalues of Hermitian matrices, in ascending order, like ``numpy.linalg.eigvalsh``.

    Parameters
    ----------
    a : square matrix, or stack of them
    UPLO : {"L", "U"}
        Which triangle is read.

    Raises
    ------
    ValueError
        For another UPLO.

    Examples
    --------
    >>> T.linalg.eigvalsh(T.as_tensor([[2.0, 1.0], [1.0, 2.0]])).eval().round(6)
    array([1., 3.])
    """
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError(f"UPLO argument must be 'L' or 'U', got {UPLO!r}")
    return Eigvalsh(UPLO in ("L", "l"))(a)


def multi_dot(arrays):
    """The product of several matrices, like ``numpy.linalg.multi_dot``; from the left to the right.

    Examples
    --------
    >>> a, b = T.as_tensor([[1.0, 2.0]]), T.as_tensor([[3.0], [4.0]])
    >>> T.linalg.multi_dot([a, b, a]).eval()
    array([[11., 22.]])
    """
    return matrix_dot(*sequence_of("multi_dot", "matrices", arrays))
