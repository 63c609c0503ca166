"""Products of matrices, at least one of which is sparse, and products of dense matrices at some positions only.

========== =================================== ======================== ================================================
function   operands                            result                   gradient by a sparse operand
========== =================================== ======================== ================================================
dot        sparse, and sparse or dense         dense                    regular: dense, or a sparse product
true_dot   sparse, and sparse or dense         sparse                   regular: sparse
structured sparse, and sparse or dense         sparse if both are       structured: sparse, at the positions it stores
sampling   two dense, and a sparse pattern     sparse                   structured
========== =================================== ======================== ================================================
"""
import numpy
import scipy.sparse

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.products.products import dot as dense_dot
from phintys.ops.products.products import outer
from phintys.ops.sparse.arithmetic import operands_of, transpose
from phintys.ops.sparse.compressed import CSM, csm_indices, csm_indptr, csm_shape
from phintys.ops.sparse.conversion import dense_from_sparse
from phintys.ops.sparse.sparse_op import (
    BilinearOp,
    SparseOp,
    as_compressed,
    as_dense,
    as_sparse_or_tensor_variable,
    as_sparse_variable,
    is_sparse,
    positions,
    with_data,
)
from phintys.ops.sparse.sparse_type import COMPRESSED, SparseType, fault_of
from phintys.ops.types.dtypes import discrete_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType

__all__ = ["Dot", "SamplingDot", "StructuredDot", "StructuredDotGradCSC", "StructuredDotGradCSR", "TrueDot", "Usmm",
           "dot", "sampling_dot", "sdg_csc", "sdg_csr", "structured_dot", "structured_dot_grad", "true_dot", "usmm"]

BLOCK = 1 << 14         # stored elements for which rows of both factors are gathered at once: a few MB


def _check_product(op, x, y):
    if x.shape[-1] != y.shape[0]:
        raise ValueError(f"{op}: shapes {x.shape} and {y.shape} do not fit: the first has {x.shape[-1]} columns, the "
                         f"second {y.shape[0]} rows")


def _compressed_if_sparse(op, x):
    return as_compressed(op, x) if is_sparse(x) else x


def _for_dtype(x, gradient):
    return x.zeros_like(dtype=config.floatX) if x.type.dtype in discrete_dtypes else gradient


# ---- a sparse result -------------------------------------------------------------------------------------------------
class TrueDot(BilinearOp):
    """The product of a sparse matrix and a sparse or dense one; it is sparse. The gradient is regular.

    Parameters
    ----------
    grad_preserves_dense : bool
        Whether the gradient by a dense matrix is dense; otherwise it is sparse.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.TrueDot()(x, x.T).toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[ 4.,  8.],
           [ 8., 25.]])
    """

    def __init__(self, grad_preserves_dense=True):
        self.grad_preserves_dense = grad_preserves_dense        # no property: nodes that differ in it compute the same

    def make_node(self, x, y):
        x, y = as_compressed(self, x), as_sparse_or_tensor_variable(y)
        y = as_compressed(self, y) if is_sparse(y) else as_dense(self, y, 2)
        return Apply(self, [x, y], [SparseType(x.type.format, upcast(x.type.dtype, y.type.dtype))()])

    def compute(self, x, y):
        _check_product(self, x, y)
        return x.dot(y)

    def grad(self, inputs, output_grads):
        x, y = inputs
        gz, = output_grads
        by_y = true_dot(x.T, gz)
        if not is_sparse(y) and self.grad_preserves_dense:
            by_y = dense_from_sparse(by_y)
        return [_for_dtype(x, true_dot(gz, y.T)), _for_dtype(y, by_y)]

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][0], input_shapes[1][1])]


def true_dot(x, y, grad_preserves_dense=True):
    """The product of two matrices, at least one of which is sparse, as a sparse matrix. The gradient is regular.

    Parameters
    ----------
    x, y : sparse or dense matrix
    grad_preserves_dense : bool
        Whether the gradient by a dense matrix is dense; otherwise it is sparse.

    Raises
    ------
    TypeError
        If none is sparse.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.true_dot(x, x.T).toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[ 4.,  8.],
           [ 8., 25.]])
    """
    x, y, (first, _) = operands_of("true_dot", x, y)
    if first:
        return TrueDot(grad_preserves_dense)(x, y)
    return transpose(TrueDot(grad_preserves_dense)(y.T, x.T))


# ---- a structured gradient -------------------------------------------------------------------------------------------
class StructuredDot(BilinearOp):
    """The product of a sparse matrix and a sparse or dense one: sparse if both are. The gradient is structured: by the
    sparse matrix only at the positions that it stores.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.StructuredDot()(x, T.as_tensor([[1.0], [10.0]])))([[0.0, 2.0], [3.0, 4.0]])
    array([[20.],
           [43.]])
    """

    def make_node(self, a, b):
        a, b = as_sparse_variable(a), as_sparse_or_tensor_variable(b)
        dtype = upcast(a.type.dtype, b.type.dtype)
        if is_sparse(b):
            return Apply(self, [a, b], [SparseType(a.type.format, dtype)()])
        if b.type.ndim != 2:
            raise NotImplementedError(f"structured_dot: {b} of type {b.type} is not a matrix")
        return Apply(self, [a, b], [TensorType(dtype, (False, b.type.broadcastable[1]))()])

    def compute(self, a, b):
        _check_product(self, a, b)
        return a.dot(b)

    def grad(self, inputs, output_grads):
        a, b = inputs
        gz, = output_grads
        return [_for_dtype(a, structured_dot_grad(a, b, gz)), _for_dtype(b, structured_dot(a.T, gz))]

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][0], input_shapes[1][1])]


def structured_dot(x, y):
    """The product of two matrices, at least one of which is sparse: sparse if both are. The gradient is structured: by
    a sparse matrix only at the positions that it stores.

    Raises
    ------
    TypeError
        If none is sparse.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.structured_dot(T.as_tensor([[1.0, 10.0]]), x))([[0.0, 2.0], [3.0, 4.0]])
    array([[30., 42.]])
    """
    x, y, (first, _) = operands_of("structured_dot", x, y)
    return _structured_dot(x, y) if first else _structured_dot(y.T, x.T).T


def sampled_products(x, y, rows, columns):
    """``(x @ y.T)[rows, columns]`` without the other elements, a block of positions at a time."""
    if scipy.sparse.issparse(x) or scipy.sparse.issparse(y):
        x, y = scipy.sparse.csr_matrix(x), scipy.sparse.csr_matrix(y)
        return numpy.asarray(x[rows].multiply(y[columns]).sum(axis=1)).ravel()
    found = numpy.empty(len(rows), numpy.result_type(x, y))
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        numpy.einsum("ij,ij->i", x[rows[part]], y[columns[part]], out=found[part])
    return found


class _StructuredDotGrad(SparseOp):
    """The base class: the data of the gradient of ``a @ b`` by a sparse ``a``. The inputs are the positions of ``a`` in
    two arrays, ``b``, and the gradient by the product."""

    shape_as = 0

    linear_in = (3,)
    depends_on = (2, 3)

    def make_node(self, a_indices, a_indptr, b, g_ab):
        return Apply(self, [a_indices, a_indptr, b, g_ab], [TensorType(g_ab.type.dtype, (False,))()])

    def compute(self, a_indices, a_indptr, b, g_ab):
        fault = fault_of(self.format, (g_ab.shape[0], b.shape[0]), len(a_indices), a_indices, a_indptr)
        if fault is not None:
            raise ValueError(f"{self}: the positions are not those of a matrix: {fault}")
        major = numpy.repeat(numpy.arange(len(a_indptr) - 1), numpy.diff(a_indptr))
        rows, columns = self.ordered(major, a_indices)
        return sampled_products(g_ab, b, rows, columns)

    def grad(self, inputs, output_grads):
        indices, pointers, b, g_ab = inputs
        shape = self.ordered(pointers.shape[0] - 1, self.minor_length(b, g_ab))
        weights = CSM(self.format)(output_grads[0], indices, pointers, [part.astype("int32") for part in shape])
        return [disconnected_type(), disconnected_type(), structured_dot(weights.T, g_ab), structured_dot(weights, b)]


class StructuredDotGradCSC(_StructuredDotGrad):
    """The data of the gradient of ``structured_dot(a, b)`` by ``a``, in CSC format; gradients make it.

    Examples
    --------
    >>> x, y = sparse.csc_matrix("x", "float64"), T.as_tensor([[1.0], [10.0]])
    >>> by_x = phintys.grad(sparse.structured_dot(x, y).sum(), x)
    >>> phintys.function([x], by_x)([[0.0, 2.0], [3.0, 4.0]]).toarray()
    array([[ 0., 10.],
           [ 1., 10.]])
    """

    format = "csc"

    @staticmethod
    def ordered(major, minor):
        """Return positions as (row, column), from those in compressed and in stored order."""
        return minor, major

    @staticmethod
    def minor_length(b, g_ab):
        """Return the length of the dimension that is not compressed."""
        return g_ab.shape[0]


class StructuredDotGradCSR(_StructuredDotGrad):
    """The data of the gradient of ``structured_dot(a, b)`` by ``a``, in CSR format; gradients make it.

    Examples
    --------
    >>> x, y = sparse.csr_matrix("x", "float64"), T.as_tensor([[1.0], [10.0]])
    >>> by_x = phintys.grad(sparse.structured_dot(x, y).sum(), x)
    >>> phintys.function([x], by_x)([[0.0, 2.0], [3.0, 4.0]]).toarray()
    array([[ 0., 10.],
           [ 1., 10.]])
    """

    format = "csr"

    @staticmethod
    def ordered(major, minor):
        """Return positions as (row, column), from those in compressed and in stored order."""
        return major, minor

    @staticmethod
    def minor_length(b, g_ab):
        """Return the length of the dimension that is not compressed."""
        return b.shape[0]


_structured_dot = StructuredDot()
sdg_csc, sdg_csr = StructuredDotGradCSC(), StructuredDotGradCSR()


def structured_dot_grad(sparse_A, dense_B, ga):
    """The gradient of ``structured_dot(sparse_A, dense_B)`` by ``sparse_A``, at the positions that it stores.

    Parameters
    ----------
    sparse_A : sparse matrix
        In CSR or CSC format.
    dense_B : matrix
    ga : matrix
        The gradient by the product.

    Raises
    ------
    NotImplementedError
        For another format.

    Examples
    --------
    >>> x, y = sparse.csr_matrix("x", "float64"), T.as_tensor([[1.0], [10.0]])
    >>> by_x = sparse.structured_dot_grad(x, y, T.as_tensor([[1.0], [1.0]]))
    >>> phintys.function([x], by_x)([[0.0, 2.0], [3.0, 4.0]]).toarray()
    array([[ 0., 10.],
           [ 1., 10.]])
    """
    if sparse_A.type.format not in COMPRESSED:
        raise NotImplementedError(f"structured_dot has no gradient by a matrix in the format {sparse_A.type.format!r}: "
                                  f"{sparse_A}")
    op = sdg_csc if sparse_A.type.format == "csc" else sdg_csr
    data = op(csm_indices(sparse_A), csm_indptr(sparse_A), dense_B, ga)
    return CSM(op.format)(data, csm_indices(sparse_A), csm_indptr(sparse_A), csm_shape(sparse_A))


class SamplingDot(SparseOp):
    """``p * dot(x, y.T)``, computed only at the positions that ``p`` stores. The gradient by ``p`` is structured.

    The inputs are two dense matrices of as many columns, and a sparse matrix that has ones, or other weights, at the
    positions to compute.

    Examples
    --------
    >>> p = sparse.csr_matrix("p", "float64")
    >>> x, y = T.as_tensor([[1.0, 2.0], [3.0, 4.0]]), T.as_tensor([[10.0, 0.0], [0.0, 10.0]])
    >>> phintys.function([p], sparse.sampling_dot(x, y, p).toarray())([[0.0, 1.0], [1.0, 0.0]])
    array([[ 0., 20.],
           [30.,  0.]])
    """

    shape_as = 2

    linear_in = (2,)

    def make_node(self, x, y, p):
        x, y, p = as_dense(self, x, 2), as_dense(self, y, 2), as_compressed(self, p)
        dtype = upcast(x.type.dtype, y.type.dtype, p.type.dtype)
        return Apply(self, [x, y, p], [SparseType(p.type.format, dtype)()])

    def compute(self, x, y, p):
        if x.shape[1] != y.shape[1] or p.shape != (len(x), len(y)):
            raise ValueError(f"{self}: shapes {x.shape}, {y.shape} and {p.shape} do not fit: (m, k), (n, k) and (m, n) "
                             "are expected")
        return with_data(p, p.data * sampled_products(x, y, *positions(p)))

    def grad(self, inputs, output_grads):
        x, y, p = inputs
        gz, = output_grads
        weighted = p * gz
        gradients = dot(weighted, y), dot(weighted.T, x), sampling_dot(x, y, gz)
        return [_for_dtype(each, gradient) for each, gradient in zip(inputs, gradients)]


# ---- a dense result --------------------------------------------------------------------------------------------------
class Dot(BilinearOp):
    """The product of two matrices, at least one of which is sparse, or of one and a vector; it is dense. The gradient
    is regular: by a sparse matrix it is dense if the other operand is.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.Dot()(x, T.as_tensor([1.0, 10.0])))([[0.0, 2.0], [3.0, 4.0]])
    array([20., 43.])
    """

    def make_node(self, x, y):
        x, y, _ = operands_of("dot", x, y)
        for each in (x, y):
            _compressed_if_sparse(self, each) if is_sparse(each) else as_dense(self, each, 1, 2)
        pattern = [x.type.broadcastable[:-1], y.type.broadcastable[1:]]
        return Apply(self, [x, y], [TensorType(upcast(x.type.dtype, y.type.dtype), sum(pattern, ()))()])

    def compute(self, x, y):
        _check_product(self, x, y)
        product = x @ y
        return product.toarray() if scipy.sparse.issparse(product) else product

    def grad(self, inputs, output_grads):
        x, y = inputs
        gz, = output_grads
        if y.type.ndim == 1:
            return [_for_dtype(x, outer(gz, y)), _for_dtype(y, dot(x.T, gz))]
        if x.type.ndim == 1:
            return [_for_dtype(x, dot(gz, y.T)), _for_dtype(y, outer(x, gz))]
        return [_for_dtype(x, (dot if is_sparse(y) else dense_dot)(gz, y.T)),
                _for_dtype(y, (dot if is_sparse(x) else dense_dot)(x.T, gz))]

    def infer_shape(self, node, input_shapes):
        return [(*input_shapes[0][:-1], *input_shapes[1][1:])]

    def __str__(self):
        return "SparseDot"


_dot = Dot()


def dot(x, y):
    """The product of two matrices, at least one of which is sparse, or of one and a vector; it is dense. The gradient
    is regular: by a sparse matrix it is dense if the other operand is.

    Raises
    ------
    TypeError
        If none is sparse.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.dot(x, T.as_tensor([[1.0], [10.0]])))([[0.0, 2.0], [3.0, 4.0]])
    array([[20.],
           [43.]])
    """
    return _dot(x, y)


class Usmm(SparseOp):
    """``alpha * dot(x, y) + z`` for a number, two matrices at least one of which is sparse, and a dense matrix. The
    optimizer makes it of products whose result is added to something.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> y, z = T.as_tensor([[1.0], [10.0]]), T.as_tensor([[100.0], [100.0]])
    >>> phintys.function([x], sparse.usmm(2.0, x, y, z))([[0.0, 2.0], [3.0, 4.0]])
    array([[140.],
           [186.]])
    """

    linear_in = (3,)

    def make_node(self, alpha, x, y, z):
        x, y, _ = operands_of("usmm", x, y)
        for each in (x, y):
            _compressed_if_sparse(self, each) if is_sparse(each) else as_dense(self, each, 2)
        alpha, z = as_dense(self, alpha, 0, 1, 2), as_dense(self, z, 2)
        if not all(alpha.type.broadcastable):
            raise TypeError(f"{self}: alpha must be a number, not {alpha} of type {alpha.type}")
        dtype = upcast(*[each.type.dtype for each in (alpha, x, y, z)])
        return Apply(self, [alpha, x, y, z], [TensorType(dtype, (False, False))()])

    def compute(self, alpha, x, y, z):
        _check_product(self, x, y)
        product = x @ y
        product = product.toarray() if scipy.sparse.issparse(product) else numpy.asarray(product)
        return alpha.reshape(()) * product + z

    def grad(self, inputs, output_grads):
        alpha, x, y, z = inputs
        gz, = output_grads
        product = dot(x, y)
        by_alpha = (product * gz).sum().reshape((1,) * alpha.type.ndim, ndim=alpha.type.ndim)
        number = alpha.reshape((), ndim=0)
        by_x, by_y = _dot.grad([x, y], [number * gz])
        return [_for_dtype(alpha, by_alpha), by_x, by_y, _for_dtype(z, gz)]

    def __str__(self):
        return "Usmm{no_inplace}"


sampling_dot, usmm = SamplingDot(), Usmm()
