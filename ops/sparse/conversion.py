"""Conversion between sparse and dense matrices, and between dtypes: DenseFromSparse, SparseFromDense, Cast."""
from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.valueless_types import grad_not_implemented
from phintys.ops.sparse.sparse_op import SparseOp, as_compressed, as_dense, as_sparse_variable
from phintys.ops.sparse.sparse_type import SparseType
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes
from phintys.ops.types.tensor_type import TensorType

__all__ = ["Cast", "DenseFromSparse", "SparseFromDense", "bcast", "cast", "ccast", "csc_from_dense", "csr_from_dense",
           "dcast", "dense_from_sparse", "fcast", "icast", "lcast", "wcast", "zcast"]


class DenseFromSparse(SparseOp):
    """A sparse matrix as a dense one.

    Parameters
    ----------
    structured : bool
        Whether the gradient is structured: only at the positions that the matrix stores. The gradient is sparse anyway.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.dense_from_sparse(x))(numpy.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    linear_in = (0,)
    shape_as = 0

    def __init__(self, structured=True):
        self.sparse_grad = structured           # no property: nodes that differ in it compute the same

    def make_node(self, x):
        x = as_sparse_variable(x)
        return Apply(self, [x], [TensorType(x.type.dtype, (False, False))()])

    def compute(self, x):
        return x.toarray()

    def grad(self, inputs, output_grads):
        x, = inputs
        gz, = output_grads
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        return [x.ones_like() * gz if self.sparse_grad else SparseFromDense(x.type.format)(gz)]

    def __str__(self):
        return f"DenseFromSparse{{structured_grad={self.sparse_grad}}}"


class SparseFromDense(SparseOp):
    """A dense matrix as a sparse one, which stores the elements that are not zero; a vector becomes a row.

    Parameters
    ----------
    format : str
        "csr" or "csc".

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> phintys.function([x], sparse.csr_from_dense(x))([[0.0, 2.0], [3.0, 0.0]]).data
    array([2., 3.])
    """

    __props__ = ("format",)
    linear_in = (0,)
    shape_as = 0

    def __init__(self, format):
        self.format = format

    def make_node(self, x):
        x = as_dense(self, x, 0, 1, 2)
        if x.type.ndim < 2:
            x = x.dimshuffle(["x"] * (2 - x.type.ndim) + list(range(x.type.ndim)))
        return Apply(self, [x], [SparseType(self.format, x.type.dtype)()])

    def compute(self, x):
        return SparseType.format_cls[self.format](x)

    def grad(self, inputs, output_grads):
        x, = inputs
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        return [TensorType.patternbroadcast(dense_from_sparse(output_grads[0]), x.type.broadcastable)]

    def __str__(self):
        return f"SparseFromDense{{{self.format}}}"


class Cast(SparseOp):
    """A sparse matrix in another dtype.

    Parameters
    ----------
    out_type : str

    Examples
    --------
    >>> sparse.fcast(sparse.csr_matrix("x", "float64")).type
    Sparse[float32, csr]
    """

    __props__ = ("out_type",)
    linear_in = (0,)
    shape_as = 0

    def __init__(self, out_type):
        self.out_type = out_type

    def make_node(self, x):
        x = as_compressed(self, x)
        return Apply(self, [x], [SparseType(x.type.format, self.out_type)()])

    def compute(self, x):
        return x.astype(self.out_type)

    def grad(self, inputs, output_grads):
        x, = inputs
        gz, = output_grads
        if x.type.dtype in complex_dtypes or gz.type.dtype in complex_dtypes:
            return [grad_not_implemented(self, 0, x, "The gradient of a cast of complex numbers is not implemented.")]
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX) if self.out_type in discrete_dtypes else gz]
        return [x.zeros_like() if self.out_type in discrete_dtypes else Cast(x.type.dtype)(gz)]

    def __str__(self):
        return f"Cast({self.out_type})"


def cast(variable, dtype):
    """A sparse matrix in another dtype.

    Parameters
    ----------
    variable : sparse matrix
    dtype : str

    Examples
    --------
    >>> sparse.cast(sparse.csr_matrix("x", "float64"), "int32").type
    Sparse[int32, csr]
    """
    variable = as_sparse_variable(variable)
    return variable if variable.type.dtype == dtype else Cast(dtype)(variable)


dense_from_sparse = DenseFromSparse()
csr_from_dense, csc_from_dense = SparseFromDense("csr"), SparseFromDense("csc")
SparseOp.from_dense = SparseFromDense

bcast, wcast, icast, lcast = Cast("int8"), Cast("int16"), Cast("int32"), Cast("int64")
fcast, dcast, ccast, zcast = Cast("float32"), Cast("float64"), Cast("complex64"), Cast("complex128")
