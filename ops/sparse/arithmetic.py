"""Sums, differences and products of the elements of matrices, one of which is sparse; negation and transposition."""

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.ops.sparse.conversion import dense_from_sparse
from phintys.ops.sparse.reduction import sp_sum
from phintys.ops.sparse.sparse_op import (
    BilinearOp,
    SparseOp,
    as_compressed,
    as_dense,
    as_sparse_or_tensor_variable,
    check_shapes,
    is_sparse_variable,
    positions,
    with_data,
)
from phintys.ops.sparse.sparse_type import SparseType
from phintys.ops.types.dtypes import discrete_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType

__all__ = ["AddSD", "AddSS", "AddSSData", "MulSD", "MulSS", "MulSV", "Neg", "StructuredAddSV", "Transpose", "add",
           "add_s_d", "add_s_s", "add_s_s_data", "mul", "mul_s_d", "mul_s_s", "mul_s_v", "neg", "structured_add_s_v",
           "sub", "transpose"]


class Transpose(SparseOp):
    """The transpose of a sparse matrix: a view of it, in CSC format if it is in CSR format, and vice versa.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> x.T.type, phintys.function([x], x.T.toarray())([[0.0, 2.0], [3.0, 4.0]])
    (Sparse[float64, csc], array([[0., 3.],
           [2., 4.]]))
    """

    view_map = {0: [0]}
    linear_in = (0,)
    format_map = {"csr": "csc", "csc": "csr"}

    def make_node(self, x):
        x = as_compressed(self, x)
        return Apply(self, [x], [SparseType(self.format_map[x.type.format], x.type.dtype)()])

    def compute(self, x):
        return x.transpose()

    def grad(self, inputs, output_grads):
        return [transpose(output_grads[0])]

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0][::-1]]

    def __str__(self):
        return "SparseTranspose"


class Neg(SparseOp):
    """The negative of a sparse matrix.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], -x)([[0.0, 2.0], [3.0, 4.0]]).data
    array([-2., -3., -4.])
    """

    linear_in = (0,)
    shape_as = 0

    def make_node(self, x):
        x = as_compressed(self, x)
        return Apply(self, [x], [x.type()])

    def compute(self, x):
        return with_data(x, -x.data)

    def grad(self, inputs, output_grads):
        return [-output_grads[0]]

    def __str__(self):
        return "SparseNeg"


class _OfTwo(SparseOp):
    """The base class of ops whose result has the format of the first operand and the dtype of both."""

    shape_as = 0

    def make_node(self, x, y):
        x, y = as_compressed(self, x), as_compressed(self, y)
        return Apply(self, [x, y], [_type_for(x, y)()])


def _type_for(x, *others):
    return SparseType(x.type.format, upcast(x.type.dtype, *[other.type.dtype for other in others]))


def _zero_for(x, gradient):
    """The gradient by an operand; zeros if it has integers."""
    return x.zeros_like(dtype=config.floatX) if x.type.dtype in discrete_dtypes else gradient


# ---- sums ------------------------------------------------------------------------------------------------------------
class AddSS(_OfTwo):
    """The sum of two sparse matrices. The gradient is regular.

    Examples
    --------
    >>> x, y = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("y", "float64")
    >>> phintys.function([x, y], sparse.add(x, y).toarray())([[0.0, 2.0]], [[1.0, 0.0]])
    array([[1., 2.]])
    """

    linear_in = (0, 1)

    def compute(self, x, y):
        check_shapes(self, x, y)
        return x + y

    def grad(self, inputs, output_grads):
        return [_zero_for(x, output_grads[0]) for x in inputs]


class AddSSData(_OfTwo):
    """The sum of two sparse matrices that store the same positions; only the numbers are added. The gradient is
    structured.

    Raises
    ------
    ValueError
        At run time, if they do not store equally many elements.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.add_s_s_data(x, x))([[0.0, 2.0]]).data
    array([4.])
    """

    linear_in = (0, 1)

    def make_node(self, x, y):
        x, y = as_compressed(self, x), as_compressed(self, y)
        if x.type != y.type:
            raise NotImplementedError(f"AddSSData: the matrices have different types, {x.type} and {y.type}")
        return Apply(self, [x, y], [x.type()])

    def compute(self, x, y):
        check_shapes(self, x, y)
        if x.data.shape != y.data.shape:
            raise ValueError(f"AddSSData: the matrices store {len(x.data)} and {len(y.data)} elements, so they do not "
                             "store the same positions")
        return with_data(x, x.data + y.data)

    def grad(self, inputs, output_grads):
        return [_zero_for(x, output_grads[0]) for x in inputs]


class AddSD(SparseOp):
    """The sum of a sparse and a dense matrix, which is dense. The gradient by the sparse one is structured.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.add(x, T.as_tensor([[1.0, 1.0]])))([[0.0, 2.0]])
    array([[1., 3.]])
    """

    shape_as = 1

    linear_in = (0, 1)

    def make_node(self, x, y):
        x, y = as_compressed(self, x), as_dense(self, y, 2)
        return Apply(self, [x, y], [TensorType(upcast(x.type.dtype, y.type.dtype), y.type.broadcastable)()])

    def compute(self, x, y):
        check_shapes(self, x, y)
        return x + y

    def grad(self, inputs, output_grads):
        x, y = inputs
        gz, = output_grads
        by_y = y.zeros_like(dtype=config.floatX) if y.type.dtype in discrete_dtypes else gz
        return [_zero_for(x, x.ones_like() * gz), by_y]


class StructuredAddSV(SparseOp):
    """A sparse matrix in which a vector is added to the stored elements of each row. The gradient is structured.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.structured_add_s_v(x, [10.0, 20.0]).toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[ 0., 22.],
           [13., 24.]])
    """

    shape_as = 0

    def make_node(self, x, y):
        x, y = as_compressed(self, x), as_dense(self, y, 1)
        return Apply(self, [x, y], [_type_for(x, y)()])

    def compute(self, x, y):
        _check_length(self, x, y)
        return with_data(x, x.data + y[positions(x)[1]])

    def grad(self, inputs, output_grads):
        x, _ = inputs
        gz, = output_grads
        return [_zero_for(x, gz), sp_sum(gz, axis=0, sparse_grad=True)]


# ---- products --------------------------------------------------------------------------------------------------------
class MulSS(BilinearOp, _OfTwo):
    """The elementwise product of two sparse matrices. The gradient is regular.

    Examples
    --------
    >>> x, y = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("y", "float64")
    >>> phintys.function([x, y], sparse.mul(x, y).toarray())([[3.0, 2.0]], [[5.0, 0.0]])
    array([[15.,  0.]])
    """

    def compute(self, x, y):
        check_shapes(self, x, y)
        return x.multiply(y)

    def grad(self, inputs, output_grads):
        x, y = inputs
        gz, = output_grads
        return [_zero_for(x, y * gz), _zero_for(y, x * gz)]


class MulSD(BilinearOp):
    """The elementwise product of a sparse matrix and a dense matrix or number; it stores the same positions. The
    gradient is regular by the dense operand and structured by the sparse one.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.mul(x, T.as_tensor([[5.0, 7.0]])).toarray())([[0.0, 2.0]])
    array([[ 0., 14.]])
    """

    shape_as = 0

    def make_node(self, x, y):
        x, y = as_compressed(self, x), as_dense(self, y, 0, 2)
        return Apply(self, [x, y], [_type_for(x, y)()])

    def compute(self, x, y):
        if y.ndim == 0:
            return with_data(x, x.data * y)
        check_shapes(self, x, y)
        return with_data(x, x.data * y[positions(x)])

    def grad(self, inputs, output_grads):
        x, y = inputs
        gz, = output_grads
        if y.type.dtype in discrete_dtypes:
            by_y = y.zeros_like(dtype=config.floatX)
        elif y.type.ndim:
            by_y = TensorType.patternbroadcast(dense_from_sparse(x * gz), y.type.broadcastable)
        else:
            by_y = sp_sum(x * gz)
        return [_zero_for(x, gz * y), by_y]


class MulSV(BilinearOp):
    """A sparse matrix whose columns are multiplied by the elements of a vector. The gradient is regular.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.mul_s_v(x, [10.0, 20.0]).toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[ 0., 40.],
           [30., 80.]])
    """

    shape_as = 0

    def make_node(self, x, y):
        x, y = as_compressed(self, x), as_dense(self, y, 1)
        return Apply(self, [x, y], [_type_for(x, y)()])

    def compute(self, x, y):
        _check_length(self, x, y)
        return with_data(x, x.data * y[positions(x)[1]])

    def grad(self, inputs, output_grads):
        x, y = inputs
        gz, = output_grads
        return [_zero_for(x, mul_s_v(gz, y)), sp_sum(x * gz, axis=0, sparse_grad=True)]


def _check_length(op, x, y):
    if x.shape[1] != len(y):
        raise ValueError(f"{op}: a matrix of shape {x.shape} has {x.shape[1]} columns, but the vector has {len(y)} "
                         "elements")


transpose, neg = Transpose(), Neg()
add_s_s, add_s_s_data, add_s_d, structured_add_s_v = AddSS(), AddSSData(), AddSD(), StructuredAddSV()
mul_s_s, mul_s_d, mul_s_v = MulSS(), MulSD(), MulSV()


# ---- functions that choose an op -------------------------------------------------------------------------------------
def operands_of(name, x, y):
    """Two operands as variables, and whether each is sparse; raises ``TypeError`` if neither is."""
    x, y = as_sparse_or_tensor_variable(x), as_sparse_or_tensor_variable(y)
    kinds = is_sparse_variable(x), is_sparse_variable(y)
    if not any(kinds):
        raise TypeError(f"sparse.{name} takes at least one sparse matrix, but the operands are {x} of type {x.type} "
                        f"and {y} of type {y.type}")
    return x, y, kinds


def add(x, y):
    """The sum of two matrices, at least one of which is sparse: sparse if both are.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> sparse.add(x, x).type, sparse.add(x, T.dmatrix()).type
    (Sparse[float64, csr], TensorType(float64, matrix))
    """
    x, y, (first, second) = operands_of("add", x, y)
    if first and second:
        return add_s_s(x, y)
    return add_s_d(x, y) if first else add_s_d(y, x)


def sub(x, y):
    """The difference of two matrices, at least one of which is sparse: sparse if both are.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.sub(T.as_tensor([[1.0, 1.0]]), x))([[0.0, 2.0]])
    array([[ 1., -1.]])
    """
    x, y, _ = operands_of("sub", x, y)
    return add(x, -y)


def mul(x, y):
    """The elementwise product of two matrices, at least one of which is sparse, or of a sparse matrix and a number.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.mul(x, 3.0).toarray())([[0.0, 2.0]])
    array([[0., 6.]])
    """
    x, y, (first, second) = operands_of("mul", x, y)
    if first and second:
        return mul_s_s(x, y)
    return mul_s_d(x, y) if first else mul_s_d(y, x)
