"""Common code of the sparse ops: their base class, conversion of operands, and access to stored elements."""
import numpy
import scipy.sparse

from phintys.graph.apply import Apply
from phintys.graph.errors import MethodNotDefined
from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.ops.sparse.sparse_type import COMPRESSED, SparseType, check_matrix, described
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType

__all__ = ["as_sparse_or_tensor_variable", "as_sparse_variable", "constant"]


# ---- operands --------------------------------------------------------------------------------------------------------
def as_sparse_variable(x, name=None):
    """A sparse variable: ``x`` itself, the only output of a node, or a constant with a copy of SciPy's matrix.

    Parameters
    ----------
    x : Variable, Apply, or scipy.sparse matrix
    name : str, optional
        Of the constant.

    Raises
    ------
    TypeError
        If ``x`` is not a sparse matrix; `csr_from_dense` and `csc_from_dense` convert dense ones.
    ValueError
        If it is a node of several outputs.

    Examples
    --------
    >>> import scipy.sparse
    >>> sparse.as_sparse_variable(scipy.sparse.csr_matrix(numpy.eye(2))).type
    Sparse[float64, csr]
    """
    if isinstance(x, Apply):
        if len(x.outputs) != 1:
            raise ValueError(f"as_sparse_variable: {x} has {len(x.outputs)} outputs, so it is ambiguous which is meant")
        x = x.outputs[0]
    if isinstance(x, Variable):
        if not isinstance(x.type, SparseType):
            raise TypeError(f"expected a sparse matrix, got {x} of type {x.type}; sparse.csr_from_dense and "
                            "sparse.csc_from_dense make sparse matrices of dense ones")
        return x
    return constant(x, name)


def constant(x, name=None):
    """A constant with a copy of a sparse matrix of SciPy.

    Raises
    ------
    TypeError
        If it is none, or of a format or dtype that is not supported.

    Examples
    --------
    >>> import scipy.sparse
    >>> sparse.basic.constant(scipy.sparse.csc_matrix(numpy.eye(2)))
    SparseConstant{csc,float64,shape=(2, 2),nnz=2}
    """
    if not scipy.sparse.issparse(x):
        raise TypeError(f"expected a sparse matrix of SciPy, got {described(x)}; sparse.csr_from_dense and "
                        "sparse.csc_from_dense make sparse matrices of dense ones")
    try:
        type_ = SparseType(x.format, x.dtype)
    except NotImplementedError as error:
        raise TypeError(f"cannot convert {described(x)} to a SparseType: {error}") from None
    return type_.make_constant(type_.filter(x.copy()), name)


def as_sparse_or_tensor_variable(x, name=None):
    """A sparse variable if ``x`` is a sparse matrix, a tensor otherwise.

    Examples
    --------
    >>> sparse.as_sparse_or_tensor_variable(numpy.eye(2)).type
    TensorType(float64, matrix)
    """
    if isinstance(x, Apply):
        x, = x.outputs
    if isinstance(x, Variable):
        return x if is_sparse_variable(x) else as_tensor_variable(x, name)
    return constant(x, name) if scipy.sparse.issparse(x) else as_tensor_variable(x, name)


def as_compressed(op, x):
    """An operand as a sparse variable in the format CSR or CSC."""
    x = as_sparse_variable(x)
    if x.type.format not in COMPRESSED:
        raise TypeError(f"{op}: {x} has the format {x.type.format!r}; it computes with {' and '.join(COMPRESSED)}")
    return x


def as_dense(op, x, *ranks):
    """An operand as a tensor of one of some ranks."""
    if is_sparse(x):
        raise TypeError(f"{op}: expected a dense tensor, got the sparse matrix {x}; sparse.dense_from_sparse converts")
    x = as_tensor_variable(x)
    if x.type.ndim not in ranks:
        raise TypeError(f"{op}: {x} of type {x.type} has {x.type.ndim} dimensions, not {' or '.join(map(str, ranks))}")
    return x


def is_sparse(x):
    """Whether a variable or value is a sparse matrix."""
    return isinstance(x.type, SparseType) if isinstance(x, Variable) else scipy.sparse.issparse(x)


def is_sparse_variable(x):
    """Whether a variable is a sparse matrix.

    Raises
    ------
    NotImplementedError
        If it is no variable.

    Examples
    --------
    >>> phintys.sparse.basic._is_sparse_variable(phintys.sparse.csr_matrix())
    True
    """
    return isinstance(_checked_variable(x).type, SparseType)


def is_dense_variable(x):
    """Whether a variable is a tensor.

    Raises
    ------
    NotImplementedError
        If it is no variable.

    Examples
    --------
    >>> phintys.sparse.basic._is_dense_variable(phintys.sparse.csr_matrix())
    False
    """
    return isinstance(_checked_variable(x).type, TensorType)


def _checked_variable(x):
    if not isinstance(x, Variable):
        raise NotImplementedError(f"expected a variable, got {described(x)}")
    return x


# ---- the base class --------------------------------------------------------------------------------------------------
class SparseOp(Op):
    """An op of one output.

    A subclass has ``compute``, which returns a matrix of any format and dtype; it is converted to the output's type.
    ``grad`` gets the gradient of a sparse output as a sparse matrix in the output's format."""

    __props__ = ()

    def __init_subclass__(cls, **arguments):
        super().__init_subclass__(**arguments)
        cls.rewrite_name = f"sparse.{cls.__name__}"         # rewrites of the dense op Dot are not for this one

    def compute(self, *inputs):
        """Return the output for SciPy's matrices and NumPy's arrays; a subclass must have it."""
        raise MethodNotDefined("compute", type(self), type(self).__name__)

    def perform(self, node, inputs, output_storage):
        check_inputs(node, inputs)
        output_storage[0][0] = as_value(node.outputs[0].type, self.compute(*inputs))

    def L_op(self, inputs, outputs, output_grads):
        return self.grad(inputs, [sparse_if(is_sparse_variable(output), gradient, output)
                                  for output, gradient in zip(outputs, output_grads)])


def check_inputs(node, inputs):
    """Raise ``ValueError`` if a matrix is malformed that no sparse op has computed: its arrays may have been changed
    since it became an argument, a shared value or a constant."""
    for variable, value in zip(node.inputs, inputs):
        if isinstance(variable.type, SparseType) and not (variable.owner and isinstance(variable.owner.op, SparseOp)):
            check_matrix(value, f"{node.op}: {variable}")


class BilinearOp(SparseOp):
    """An op of two operands that is linear in each."""

    def R_op(self, inputs, eval_points):
        terms = []
        for position, point in enumerate(eval_points):
            if point is not None:
                operands = list(inputs)
                operands[position] = point
                terms.append(self(*operands))
        return [sum(terms[1:], terms[0]) if terms else None]


def sparse_if(wanted, gradient, output):
    """A gradient as a sparse matrix in the format of ``output``, if that is requested."""
    if not wanted or not hasattr(gradient.type, "ndim"):
        return gradient
    if not is_sparse(gradient):
        return SparseOp.from_dense(output.type.format)(gradient)
    return gradient if gradient.type.format == output.type.format else SparseOp.in_format(gradient, output.type.format)


def as_value(type_, value):
    """A result of SciPy, converted to a value of a type."""
    if not isinstance(type_, SparseType):
        return numpy.asarray(value, dtype=type_.numpy_dtype)
    if not isinstance(value, type_.format_cls[type_.format]):
        value = type_.format_cls[type_.format](value)
    return value if value.dtype == type_.numpy_dtype else value.astype(type_.numpy_dtype)


# ---- stored elements -------------------------------------------------------------------------------------------------
def positions(x):
    """The row and the column of each stored element of a matrix in CSR or CSC format, in the order of its data."""
    major = numpy.repeat(numpy.arange(len(x.indptr) - 1), numpy.diff(x.indptr))
    return (major, x.indices) if x.format == "csr" else (x.indices, major)


def elements_at(x, rows, columns):
    """The elements of a matrix at some positions, as an array."""
    return numpy.asarray(x[rows, columns]).ravel() if len(rows) else numpy.zeros(0, x.dtype)


def with_data(x, data):
    """A matrix with other numbers at the same positions; it shares no memory with ``x``."""
    return type(x)((data, x.indices.copy(), x.indptr.copy()), x.shape)


def check_shapes(op, x, y):
    """Raise ``ValueError`` unless two matrices have one shape."""
    if x.shape != y.shape:
        raise ValueError(f"{op}: the matrices have different shapes, {x.shape} and {y.shape}")
