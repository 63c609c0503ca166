"""Sums of sparse matrices, and rows and columns that are multiplied by the elements of a vector."""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.ops.elementwise.elementwise_functions import ones_like, second
from phintys.ops.sparse.conversion import SparseFromDense
from phintys.ops.sparse.sparse_op import BilinearOp, SparseOp, as_compressed, as_dense, positions, with_data
from phintys.ops.sparse.sparse_type import SparseType
from phintys.ops.types.dtypes import discrete_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType

__all__ = ["ColScaleCSC", "RowScaleCSC", "SpSum", "col_scale", "row_scale", "sp_sum"]


class SpSum(SparseOp):
    """The sum of a sparse matrix, over all elements or along an axis; it is dense.

    Parameters
    ----------
    axis : None, 0 or 1
    sparse_grad : bool
        Whether the gradient is structured: only at the positions that the matrix stores.

    Raises
    ------
    ValueError
        For another axis.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.SpSum(axis=0)(x))([[0.0, 2.0], [3.0, 4.0]])
    array([3., 6.])
    """

    __props__ = ("axis",)
    linear_in = (0,)

    def __init__(self, axis=None, sparse_grad=True):
        if axis not in (None, 0, 1):
            raise ValueError(f"SpSum: axis must be None, 0 or 1, not {axis!r}")
        self.axis = axis
        self.structured = sparse_grad           # no property: nodes that differ in it compute the same

    def make_node(self, x):
        x = as_compressed(self, x)
        return Apply(self, [x], [TensorType(x.type.dtype, () if self.axis is None else (False,))()])

    def compute(self, x):
        return x.sum() if self.axis is None else numpy.asarray(x.sum(self.axis)).ravel()

    def grad(self, inputs, output_grads):
        x, = inputs
        gz, = output_grads
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        if self.structured:
            scale = (lambda ones, factor: ones * factor, col_scale, row_scale)[{None: 0, 0: 1, 1: 2}[self.axis]]
            return [scale(x.ones_like(), gz)]
        dense = x.toarray()
        if self.axis is None:
            return [SparseFromDense(x.type.format)(second(dense, gz))]
        line = gz.dimshuffle(("x", 0) if self.axis == 0 else (0, "x"))
        return [SparseFromDense(x.type.format)(ones_like(dense) * line)]

    def infer_shape(self, node, input_shapes):
        rows, columns = input_shapes[0]
        return [{None: (), 0: (columns,), 1: (rows,)}[self.axis]]

    def __str__(self):
        return f"SpSum{{axis={self.axis}}}"


def sp_sum(x, axis=None, sparse_grad=False):
    """The sum of a sparse matrix, over all elements or along an axis; it is dense.

    Parameters
    ----------
    x : sparse matrix
    axis : None, 0 or 1
    sparse_grad : bool
        Whether the gradient is structured: only at the positions that the matrix stores. Otherwise it is regular: a
        sparse matrix that stores every position.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.sp_sum(x, axis=1))([[0.0, 2.0], [3.0, 4.0]])
    array([2., 7.])
    """
    return SpSum(axis, sparse_grad)(x)


class _Scale(BilinearOp):
    """The base class: the inputs are a matrix and a vector; the gradient is structured."""

    shape_as = 0

    along = 1           # the axis whose positions choose the factor

    def make_node(self, x, s):
        x, s = as_compressed(self, x), as_dense(self, s, 1)
        return Apply(self, [x, s], [SparseType(x.type.format, upcast(x.type.dtype, s.type.dtype))()])

    def compute(self, x, s):
        if x.shape[self.along] != len(s):
            raise ValueError(f"{self}: a matrix of shape {x.shape} has {x.shape[self.along]} "
                             f"{('rows', 'columns')[self.along]}, but the vector has {len(s)} elements")
        return with_data(x, x.data * s[positions(x)[self.along]])

    def grad(self, inputs, output_grads):
        x, s = inputs
        gz, = output_grads
        by_s = sp_sum(x * gz, axis=1 - self.along)
        return [type(self)()(gz, s), s.zeros_like(dtype=config.floatX) if s.type.dtype in discrete_dtypes else by_s]


class ColScaleCSC(_Scale):
    """A sparse matrix whose columns are multiplied by the elements of a vector.

    Examples
    --------
    >>> x = sparse.csc_matrix("x", "float64")
    >>> phintys.function([x], sparse.ColScaleCSC()(x, [10.0, 20.0]).toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[ 0., 40.],
           [30., 80.]])
    """


class RowScaleCSC(_Scale):
    """A sparse matrix whose rows are multiplied by the elements of a vector.

    Examples
    --------
    >>> x = sparse.csc_matrix("x", "float64")
    >>> phintys.function([x], sparse.RowScaleCSC()(x, [10.0, 20.0]).toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[ 0., 20.],
           [60., 80.]])
    """

    along = 0


_columns, _rows = ColScaleCSC(), RowScaleCSC()


def col_scale(x, s):
    """A sparse matrix whose columns are multiplied by the elements of a vector. The gradient is structured.

    Parameters
    ----------
    x : sparse matrix
    s : vector
        As long as ``x`` has columns.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.col_scale(x, [10.0, 20.0]).toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[ 0., 40.],
           [30., 80.]])
    """
    return _columns(x, s)


def row_scale(x, s):
    """A sparse matrix whose rows are multiplied by the elements of a vector. The gradient is structured.

    Parameters
    ----------
    x : sparse matrix
    s : vector
        As long as ``x`` has rows.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.row_scale(x, [10.0, 20.0]).toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[ 0., 20.],
           [60., 80.]])
    """
    return _rows(x, s)
