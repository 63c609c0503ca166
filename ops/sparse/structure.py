"""The structure of sparse matrices: explicit zeros, order of positions, diagonals, joins, and matrices made of rows."""
import numpy
import scipy.sparse

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import InPlaceOp
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.indexing.advanced_subtensor import advanced_subtensor1
from phintys.ops.sparse.conversion import dense_from_sparse
from phintys.ops.sparse.indexing import get_item_2d
from phintys.ops.sparse.sparse_op import SparseOp, as_compressed, as_dense, is_sparse
from phintys.ops.sparse.sparse_type import SparseType
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType

__all__ = ["ConstructSparseFromList", "Diag", "EnsureSortedIndices", "HStack", "Remove0", "SquareDiagonal", "VStack",
           "clean", "construct_sparse_from_list", "diag", "ensure_sorted_indices", "hstack", "remove0",
           "square_diagonal", "vstack"]


class _SameValue(InPlaceOp, SparseOp):
    """The base class of ops that store the same matrix in another way; in place, if they may."""

    linear_in = (0,)
    shape_as = 0

    def make_node(self, x):
        x = as_compressed(self, x)
        return Apply(self, [x], [x.type()])

    def compute(self, x):
        stored = x if self.inplace else x.copy()
        self.tidy(stored)
        return stored

    def grad(self, inputs, output_grads):
        x, = inputs
        return [x.zeros_like(dtype=config.floatX) if x.type.dtype in discrete_dtypes else output_grads[0]]

    def __str__(self):
        return f"{type(self).__name__}{{{'inplace' if self.inplace else 'no_inplace'}}}"


class Remove0(_SameValue):
    """A sparse matrix that does not store zeros. The gradient is regular.

    Parameters
    ----------
    inplace : bool
        Whether the result may overwrite the matrix.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.remove0(x * 0.0))([[0.0, 2.0], [3.0, 4.0]]).nnz
    0
    """

    @staticmethod
    def tidy(stored):
        """Remove stored zeros, in place."""
        stored.eliminate_zeros()


class EnsureSortedIndices(_SameValue):
    """A sparse matrix that stores each row, or column in CSC format, in the order of positions. The gradient is
    regular.

    Parameters
    ----------
    inplace : bool
        Whether the result may overwrite the matrix.

    Examples
    --------
    >>> x = sparse.CSR([1.0, 2.0], [1, 0], [0, 2], (1, 2))
    >>> sparse.ensure_sorted_indices(x).eval().indices
    array([0, 1], dtype=int32)
    """

    @staticmethod
    def tidy(stored):
        """Sort the positions of each row or column, in place."""
        stored.sort_indices()


def clean(x):
    """A sparse matrix without stored zeros, in the order of positions. The gradient is regular.

    Examples
    --------
    >>> x = sparse.CSR([0.0, 3.0, 2.0], [2, 1, 0], [0, 3], (1, 3))
    >>> sparse.clean(x).eval().data
    array([2., 3.])
    """
    return ensure_sorted_indices(remove0(x))


# ---- diagonals -------------------------------------------------------------------------------------------------------
class Diag(SparseOp):
    """The diagonal of a square sparse matrix, a dense vector. The gradient is regular.

    Raises
    ------
    ValueError
        At run time, if the matrix is not square.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.diag(x))([[1.0, 2.0], [3.0, 4.0]])
    array([1., 4.])
    """

    linear_in = (0,)

    def make_node(self, x):
        x = as_compressed(self, x)
        return Apply(self, [x], [TensorType(x.type.dtype, (False,))()])

    def compute(self, x):
        if x.shape[0] != x.shape[1]:
            raise ValueError(f"Diag: the matrix must be square, but its shape is {x.shape}")
        return x.diagonal()

    def grad(self, inputs, output_grads):
        x, = inputs
        return [x.zeros_like(dtype=config.floatX) if x.type.dtype in discrete_dtypes
                else square_diagonal(output_grads[0])]

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][0],)]


class SquareDiagonal(SparseOp):
    """A square sparse matrix in CSC format that has a vector as its diagonal. The gradient is regular.

    Examples
    --------
    >>> sparse.square_diagonal([1.0, 2.0]).toarray().eval()
    array([[1., 0.],
           [0., 2.]])
    """

    linear_in = (0,)

    def make_node(self, diag):
        diag = as_dense(self, diag, 1)
        return Apply(self, [diag], [SparseType("csc", diag.type.dtype)()])

    def compute(self, diag):
        count = len(diag)
        return scipy.sparse.csc_matrix((diag, numpy.arange(count), numpy.arange(count + 1)), (count, count), copy=True)

    def grad(self, inputs, output_grads):
        x, = inputs
        return [x.zeros_like(dtype=config.floatX) if x.type.dtype in discrete_dtypes else diag(output_grads[0])]

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][0], input_shapes[0][0])]


# ---- joins -----------------------------------------------------------------------------------------------------------
class HStack(SparseOp):
    """Sparse matrices beside each other. The gradient is regular.

    Parameters
    ----------
    format : str, optional
        Of the result; default "csc".
    dtype : str
        Of the result.

    Raises
    ------
    ValueError
        Without a dtype; raised by ``make_node`` without matrices.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.HStack(dtype="float64")(x, x).toarray())([[1.0, 2.0]])
    array([[1., 2., 1., 2.]])
    """

    __props__ = ("format", "dtype")
    linear_in = slice(None)
    axis = 1

    def __init__(self, format=None, dtype=None):
        if dtype is None:
            raise ValueError(f"{type(self).__name__}: the dtype of the result must be specified")
        self.format, self.dtype = format or "csc", dtype

    def make_node(self, *mat):
        if not mat:
            raise ValueError(f"{self}: there are no matrices to join")
        return Apply(self, [as_compressed(self, x) for x in mat], [SparseType(self.format, self.dtype)()])

    def compute(self, *matrices):
        lengths = {x.shape[1 - self.axis] for x in matrices}
        if len(lengths) > 1:
            raise ValueError(f"{self}: shapes {', '.join([str(x.shape) for x in matrices])} do not fit: all need as "
                             f"many {('columns', 'rows')[self.axis]}")
        join = (scipy.sparse.vstack, scipy.sparse.hstack)[self.axis]
        return join(matrices, format=self.format, dtype=self.dtype)

    def grad(self, inputs, output_grads):
        gz, = output_grads
        gradients, start = [], 0
        for x in inputs:
            stop = start + x.shape[self.axis]
            part = slice(start, stop)
            gradients.append(x.zeros_like(dtype=config.floatX) if x.type.dtype in discrete_dtypes else
                             get_item_2d(gz, (part, slice(None)) if self.axis == 0 else (slice(None), part)))
            start = stop
        return gradients

    def infer_shape(self, node, input_shapes):
        shape = list(input_shapes[0])
        shape[self.axis] = sum([other[self.axis] for other in input_shapes[1:]], shape[self.axis])
        return [tuple(shape)]

    def __str__(self):
        return f"{type(self).__name__}({self.format},{self.dtype})"


class VStack(HStack):
    """Sparse matrices below each other. The gradient is regular.

    Parameters
    ----------
    format : str, optional
        Of the result; default "csc".
    dtype : str
        Of the result.

    Raises
    ------
    ValueError
        Without a dtype; raised by ``make_node`` without matrices.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.VStack(dtype="float64")(x, x).toarray())([[1.0, 2.0]])
    array([[1., 2.],
           [1., 2.]])
    """

    axis = 0


def _joined(op, blocks, format, dtype):
    blocks = [as_compressed(op.__name__, block) for block in blocks]
    if not blocks:
        raise ValueError(f"{op.__name__}: there are no matrices to join")
    return op(format=format, dtype=dtype or upcast(*[block.type.dtype for block in blocks]))(*blocks)


def hstack(blocks, format=None, dtype=None):
    """Sparse matrices beside each other. The gradient is regular.

    Parameters
    ----------
    blocks : sequence of sparse matrices
        All have as many rows.
    format : str, optional
        Of the result; default "csc".
    dtype : str, optional
        Of the result; default: one for all.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.hstack([x, x]).toarray())([[1.0, 2.0]])
    array([[1., 2., 1., 2.]])
    """
    return _joined(HStack, blocks, format, dtype)


def vstack(blocks, format=None, dtype=None):
    """Sparse matrices below each other. The gradient is regular.

    Parameters
    ----------
    blocks : sequence of sparse matrices
        All have as many columns.
    format : str, optional
        Of the result; default "csc".
    dtype : str, optional
        Of the result; default: one for all.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.vstack([x, x]).toarray())([[1.0, 2.0]])
    array([[1., 2.],
           [1., 2.]])
    """
    return _joined(VStack, blocks, format, dtype)


# ---- rows ------------------------------------------------------------------------------------------------------------
class ConstructSparseFromList(SparseOp):
    """A sparse matrix in CSC format that has the rows of a dense one at given positions; rows at the same position are
    added. It is the gradient of ``sparse_grad(x[positions])``; its own gradient is regular.

    The inputs are a matrix, whose shape and dtype the result has, the rows, and the positions.

    Raises
    ------
    TypeError
        Raised by ``make_node`` if the first two are not matrices, or the positions are not a vector of integers.

    Examples
    --------
    >>> rows = T.as_tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> sparse.construct_sparse_from_list(T.zeros((3, 2)), rows, [2, 0]).toarray().eval()
    array([[3., 4.],
           [0., 0.],
           [1., 2.]])
    """

    linear_in = (1,)
    depends_on = (1,)

    def make_node(self, x, values, ilist):
        x, values, ilist = as_tensor_variable(x), as_tensor_variable(values), as_tensor_variable(ilist)
        for each, role in ((x, "x"), (values, "values")):
            if each.type.ndim != 2:
                raise TypeError(f"ConstructSparseFromList: a sparse matrix has 2 dimensions, but {role} = {each} of "
                                f"type {each.type} has {each.type.ndim}")
        return self.of_shape(x.shape, x.type.dtype, values, ilist)

    def node_on(self, inputs):
        shape, values, ilist = inputs
        return self.of_shape(shape, values.type.dtype, values, ilist)

    def of_shape(self, shape, dtype, values, ilist):
        """Return the op for a number of rows and columns."""
        if ilist.type.ndim != 1 or ilist.type.dtype not in integer_dtypes:
            raise TypeError(f"ConstructSparseFromList: the positions must be a vector of integers, not {ilist} of type "
                            f"{ilist.type}")
        return Apply(self, [shape, values, ilist], [SparseType("csc", dtype)()])

    def compute(self, shape, values, ilist):
        rows, columns = values.shape
        if rows != len(ilist) or columns != shape[1]:
            raise ValueError(f"{self}: {rows} rows of {columns} elements do not fit {len(ilist)} positions in a matrix "
                             f"of shape {tuple(shape.tolist())}")
        at = numpy.where(ilist < 0, ilist + shape[0], ilist)
        positions = numpy.repeat(at, columns), numpy.tile(numpy.arange(columns), rows)
        return scipy.sparse.coo_matrix((values.ravel(), positions), tuple(shape.tolist())).tocsc()

    def infer_shape(self, node, input_shapes):
        shape = node.inputs[0]
        return [(shape[0], shape[1])]

    def R_op(self, inputs, eval_points):
        if eval_points[1] is None:
            return [None]
        shape, values, ilist = inputs
        return self.of_shape(shape, values.type.dtype, eval_points[1], ilist).outputs

    def grad(self, inputs, output_grads):
        gz, = output_grads
        dense = dense_from_sparse(gz) if is_sparse(gz) else gz
        return [disconnected_type(), advanced_subtensor1(dense, inputs[2]), disconnected_type()]


remove0, ensure_sorted_indices = Remove0(), EnsureSortedIndices()
diag, square_diagonal = Diag(), SquareDiagonal()
construct_sparse_from_list = ConstructSparseFromList()
SparseOp.in_format = staticmethod(lambda x, format: HStack(format, x.type.dtype)(x))
