"""Products and norms of vectors and matrices in stacks: ``cross``, ``vecdot``, ``linalg.vector_norm``, ``cond`` ..."""
import numpy

from phintys.ops.compositions.parts import tensors
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.identity.assertion import Check
from phintys.ops.numpy_functions import norm
from phintys.ops.products.products import matmul
from phintys.ops.rearranging.rearranging import moveaxis
from phintys.ops.reduction import reduction
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.partitioning import one_axis_last, restored
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes


def _operands(name, ranks, *operands):
    operands = tensors(operands)
    for operand, rank in zip(operands, ranks):
        if operand.type.ndim < rank:
            raise ValueError(f"{name}: an operand has {operand.type.ndim} dimensions, at least {rank} are needed: "
                             f"{operand} of type {operand.type}")
    return operands


def _conjugate(x):
    return elementwise.conj(x) if x.type.dtype in complex_dtypes else x


def vecdot(x1, x2, axis=-1):
    """The sums of products along an axis, of operands that broadcast; the first one is conjugated.

    Raises
    ------
    ValueError
        For a number, or an axis that does not exist.

    Examples
    --------
    >>> T.vecdot(T.as_tensor([[1.0, 2.0], [3.0, 4.0]]), T.as_tensor([1.0, 1.0])).eval()
    array([3., 7.])
    """
    x1, x2 = _operands("vecdot", (1, 1), x1, x2)
    x1, x2 = [moveaxis(x, one_axis("vecdot", x, axis), -1) for x in (x1, x2)]
    rows, columns = dimshuffle(_conjugate(x1), *range(x1.type.ndim - 1), "x", x1.type.ndim - 1), dimshuffle(
        x2, *range(x2.type.ndim), "x")
    return matmul(rows, columns)[..., 0, 0]


def matvec(x1, x2):
    """Products of matrices and vectors, in stacks that broadcast.

    Raises
    ------
    ValueError
        For operands of too few dimensions.

    Examples
    --------
    >>> T.matvec(T.as_tensor([[1.0, 2.0], [3.0, 4.0]]), T.as_tensor([1.0, 1.0])).eval()
    array([3., 7.])
    """
    x1, x2 = _operands("matvec", (2, 1), x1, x2)
    return matmul(x1, dimshuffle(x2, *range(x2.type.ndim), "x"))[..., 0]


def vecmat(x1, x2):
    """Products of vectors, which are conjugated, and matrices, in stacks that broadcast.

    Raises
    ------
    ValueError
        For operands of too few dimensions.

    Examples
    --------
    >>> T.vecmat(T.as_tensor([1.0, 1.0]), T.as_tensor([[1.0, 2.0], [3.0, 4.0]])).eval()
    array([4., 6.])
    """
    x1, x2 = _operands("vecmat", (1, 2), x1, x2)
    last = x1.type.ndim - 1
    return matmul(dimshuffle(_conjugate(x1), *range(last), "x", last), x2)[..., 0, :]


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Cross products of vectors of three elements, like ``numpy.cross``.

    Parameters
    ----------
    a, b : tensor-like
        The other dimensions broadcast.
    axisa, axisb, axisc : int
        The dimensions of the vectors of both operands and of the result.
    axis : int, optional
        One number for all three.

    Returns
    -------
    TensorVariable
        Vectors of three elements.

    Raises
    ------
    ValueError
        For an axis that does not exist, or a length that is known and not 3; at run time, for another length.

    Examples
    --------
    >>> T.cross(T.as_tensor([1, 2, 3]), T.as_tensor([4, 5, 6])).eval()
    array([-3,  6, -3])
    """
    a, b = _operands("cross", (1, 1), a, b)
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    a = moveaxis(a, one_axis("cross", a, axisa), -1)
    b = moveaxis(b, one_axis("cross", b, axisb), -1)
    lengths = [x.type.shape[-1] for x in (a, b)]
    message = "cross: both input arrays must be (arrays of) 3-dimensional vectors"
    if any([length not in (None, 3) for length in lengths]):
        raise ValueError(f"{message}, but they are {lengths[0]} and {lengths[1]} dimensional instead.")
    a, b = [x if x.type.shape[-1] == 3 else Check(message)(x, elementwise.eq(shape_i(x, x.type.ndim - 1), 3))
            for x in (a, b)]
    (a0, a1, a2), (b0, b1, b2) = [[x[..., number] for number in range(3)] for x in (a, b)]
    found = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    found = concatenate([dimshuffle(x, *range(x.type.ndim), "x") for x in found], axis=found[0].type.ndim)
    return moveaxis(found, -1, axisc)


# ---- norms and properties of matrices --------------------------------------------------------------------------------
def vector_norm(x, *, axis=None, keepdims=False, ord=2):
    """Norms of vectors along an axis, along several that are taken as one, or of all elements.

    Raises
    ------
    ValueError
        For an ``ord`` that is not a number.

    Examples
    --------
    >>> T.linalg.vector_norm(T.as_tensor([[3.0, 4.0], [5.0, 12.0]]), axis=1).eval()
    array([ 5., 13.])
    """
    x = as_tensor_variable(x)
    lines, axes = one_axis_last("vector_norm", x, axis)
    return restored(norm(lines, ord, axis=lines.type.ndim - 1), axes, x.type.ndim, keepdims)


def matrix_norm(x, *, keepdims=False, ord="fro"):
    """Norms of matrices, the last two dimensions; raises ``ValueError`` for a vector.

    Examples
    --------
    >>> T.linalg.matrix_norm(T.as_tensor([[3.0, 4.0]])).eval()
    array(5.)
    """
    x, = _operands("matrix_norm", (2,), x)
    return norm(x, ord, axis=(-2, -1), keepdims=keepdims)


def svdvals(x):
    """The singular values of matrices, in descending order.

    Examples
    --------
    >>> T.linalg.svdvals(T.as_tensor([[3.0, 0.0], [0.0, 4.0]])).eval()
    array([4., 3.])
    """
    from phintys.ops.factorizations.orthogonal import svd
    x = as_tensor_variable(x)
    return svd(as_dtype(x, "float64") if x.type.dtype in discrete_dtypes else x, compute_uv=False)


def cond(x, p=None):
    """The condition numbers of matrices, by the norm ``p``: None, 2 and -2 by singular values, others by the inverse.

    Examples
    --------
    >>> T.linalg.cond(T.as_tensor([[2.0, 0.0], [0.0, 4.0]])).eval()
    array(2.)
    """
    x, = _operands("cond", (2,), x)
    if p in (None, 2, -2):
        values = svdvals(x)
        first, last = values[..., 0], values[..., -1]
        return first / last if p != -2 else last / first
    from phintys.ops.factorizations.inverse import matrix_inverse
    x = as_dtype(x, "float64") if x.type.dtype in discrete_dtypes else x
    return norm(x, p, axis=(-2, -1)) * norm(matrix_inverse(x), p, axis=(-2, -1))


def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    """How many singular values of matrices are above a tolerance, like ``numpy.linalg.matrix_rank``.

    Parameters
    ----------
    A : tensor-like
    tol : tensor-like, optional
        By default the largest singular value times the larger length and the precision of the dtype.
    hermitian : bool
        Whether matrices are Hermitian, so that eigenvalues suffice.
    rtol : tensor-like, optional
        The tolerance as a share of the largest value.

    Returns
    -------
    TensorVariable
        Of int64; whether a vector is not 0.

    Raises
    ------
    ValueError
        If both tolerances are given.

    Examples
    --------
    >>> T.linalg.matrix_rank(T.as_tensor([[1.0, 2.0], [2.0, 4.0]])).eval()
    array(1)
    """
    A = as_tensor_variable(A)
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: `tol` and `rtol` can't be both set.")
    if A.type.ndim < 2:
        return as_dtype(reduction.any(elementwise.neq(A, 0)), "int64")
    if hermitian:
        from phintys.ops.factorizations.functions import hermitian_eigenvalues
        values = abs(hermitian_eigenvalues(A))
    else:
        values = svdvals(A)
    if tol is None:
        share = elementwise.maximum(shape_i(A, A.type.ndim - 2), shape_i(A, A.type.ndim - 1)) * float(
            numpy.finfo(values.type.dtype).eps) if rtol is None else as_tensor_variable(rtol)
        share = dimshuffle(share, *range(share.type.ndim), "x")
        largest = elementwise.maximum(reduction.reduce_by(reduction.MaxOrLowest, values, -1, True),
                                      constant(0, dtype=values.type.dtype))
        tol = largest * as_dtype(share, values.type.dtype)
    else:
        tol = as_tensor_variable(tol)
        tol = dimshuffle(tol, *range(tol.type.ndim), "x")
    return reduction.sum(values > tol, axis=-1)
