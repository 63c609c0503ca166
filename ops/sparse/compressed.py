"""Matrices from their arrays (CSM), their arrays (CSMProperties), and matrices in the pattern of another one.

CSR stores its elements row by row: ``data``, the column of each in ``indices``, and in ``indptr`` where each row
begins. CSC does the same column by column. The arrays of integers are int32.
"""
import numpy
import scipy.sparse

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise_functions import ones_like, zeros_like
from phintys.ops.sparse.sparse_op import SparseOp, as_compressed, check_inputs, elements_at, sparse_if
from phintys.ops.sparse.sparse_type import COMPRESSED, SparseType, fault_of
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.tensor_type import TensorType

__all__ = ["CSC", "CSM", "CSMGrad", "CSMProperties", "CSR", "csm_data", "csm_grad", "csm_indices", "csm_indptr",
           "csm_properties", "csm_shape", "sp_ones_like", "sp_zeros_like"]

POSITIONS = TensorType("int32", (False,))
MATRICES = {"csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix}


class CSMProperties(SparseOp):
    """The four arrays of a matrix: data, indices, indptr and shape. The gradient is regular.

    Raises
    ------
    ValueError
        At run time, if a position does not fit in int32.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.csm_properties(x))([[0.0, 2.0], [3.0, 4.0]])
    [array([2., 3., 4.]), array([1, 0, 1], dtype=int32), array([0, 1, 3], dtype=int32), array([2, 2], dtype=int32)]
    """

    def __init__(self, kmap=None):
        if kmap is not None:
            raise TypeError("CSMProperties: kmap was removed from Theano; give None")

    def make_node(self, csm):
        csm = as_compressed(self, csm)
        return Apply(self, [csm], [TensorType(csm.type.dtype, (False,))(), *[POSITIONS() for _ in range(3)]])

    def perform(self, node, inputs, output_storage):
        check_inputs(node, inputs)
        csm, = inputs
        output_storage[0][0] = csm.data
        for storage, positions in zip(output_storage[1:], (csm.indices, csm.indptr, csm.shape)):
            storage[0] = _in_32_bits(positions)

    def connection_pattern(self, node):
        return [[True, False, False, False]]

    def grad(self, inputs, output_grads):
        csm, = inputs
        gradient = output_grads[0]
        if gradient.type == disconnected_type or csm.type.dtype in discrete_dtypes:
            return [csm.zeros_like(dtype=None if csm.type.dtype not in discrete_dtypes else config.floatX)]
        _, indices, pointers, shape = csm_properties(csm)
        return [CSM(csm.type.format)(gradient, indices, pointers, shape)]

    def R_op(self, inputs, eval_points):
        return [in_pattern_of(inputs[0], eval_points[0]), None, None, None]


class CSM(SparseOp):
    """A matrix in CSR or CSC format from its arrays: data, indices, indptr and shape. The gradient is regular.

    Parameters
    ----------
    format : str
        "csr" or "csc".

    Raises
    ------
    ValueError
        For another format; at run time, if the arrays make no matrix.
    TypeError
        Raised by ``make_node`` for operands that are not vectors, or positions that are not integers.

    Examples
    --------
    >>> data = T.dvector("data")
    >>> matrix = sparse.CSR(data, [1, 0, 1], [0, 1, 3], (2, 2))
    >>> phintys.function([data], sparse.dense_from_sparse(matrix))([2.0, 3.0, 4.0])
    array([[0., 2.],
           [3., 4.]])
    """

    __props__ = ("format",)
    linear_in = depends_on = (0,)

    def __init__(self, format, kmap=None):
        if format not in COMPRESSED:
            raise ValueError(f"CSM: format must be one of 'csr', 'csc', not {format!r}")
        if kmap is not None:
            raise TypeError("CSM: kmap was removed from Theano; give None")
        self.format = format

    def make_node(self, data, indices, indptr, shape):
        data = as_tensor_variable(data)
        if data.type.ndim != 1:
            raise TypeError(f"CSM: data must be a vector, not {data} of type {data.type}")
        positions = [_as_positions(name, value)
                     for name, value in (("indices", indices), ("indptr", indptr), ("shape", shape))]
        return Apply(self, [data, *positions], [SparseType(self.format, data.type.dtype)()])

    def compute(self, data, indices, indptr, shape):
        _check_parts("CSM", self.format, data, indices, indptr, shape)
        return MATRICES[self.format]((data, indices, indptr), tuple(shape.tolist()), copy=True)

    def grad(self, inputs, output_grads):
        data = inputs[0]
        if data.type.dtype in discrete_dtypes:
            gradient = data.zeros_like(dtype=config.floatX)
        else:
            gradient = csm_grad()(*inputs, *csm_properties(output_grads[0]))
        return [gradient, *[disconnected_type()] * 3]

    def infer_shape(self, node, input_shapes):
        shape = node.inputs[3]
        return [(shape[0], shape[1])]


class CSMGrad(SparseOp):
    """The elements of one matrix at the stored positions of another one: the gradient of `CSM` by its data. The inputs
    are the four arrays of the other matrix, whose data does not matter, and those of the first.

    Examples
    --------
    >>> data = T.dvector("data")
    >>> total = (sparse.CSR(data, [1, 0, 1], [0, 1, 3], (2, 2)).toarray() * [[1, 2], [3, 4]]).sum()
    >>> phintys.function([data], phintys.grad(total, data))([2.0, 3.0, 4.0])
    array([2., 3., 4.])
    """

    shape_as = 1

    linear_in = (4,)
    depends_on = (4,)

    def __init__(self, kmap=None):
        if kmap is not None:
            raise TypeError("CSMGrad: kmap was removed from Theano; give None")

    def make_node(self, x_data, x_indices, x_indptr, x_shape, g_data, g_indices, g_indptr, g_shape):
        inputs = [as_tensor_variable(each) for each in (x_data, x_indices, x_indptr, x_shape, g_data, g_indices,
                                                        g_indptr, g_shape)]
        return Apply(self, inputs, [TensorType(inputs[4].type.dtype, (False,))()])

    def compute(self, x_data, x_indices, x_indptr, x_shape, g_data, g_indices, g_indptr, g_shape):
        count = len(x_indptr) - 1
        form = "csr" if len(x_shape) == 2 and count == x_shape[0] else "csc"
        _check_parts("CSMGrad", form, x_data, x_indices, x_indptr, x_shape)
        _check_parts("CSMGrad", form, g_data, g_indices, g_indptr, g_shape)
        if x_shape.tolist() != g_shape.tolist():
            raise ValueError(f"CSMGrad: the matrices have different shapes, {x_shape} and {g_shape}")
        length = int(x_shape[1] if form == "csr" else x_shape[0])
        given = scipy.sparse.csr_matrix((g_data, g_indices, g_indptr), (count, length))
        if (len(x_indices) == len(g_indices) and numpy.array_equal(x_indices, g_indices)
                and numpy.array_equal(x_indptr, g_indptr) and given.has_canonical_format):
            return g_data.copy()
        lines = numpy.repeat(numpy.arange(count), numpy.diff(x_indptr))
        return elements_at(given, lines, x_indices)

    def grad(self, inputs, output_grads):
        gradients = [disconnected_type() for _ in inputs]
        gradients[4] = csm_grad()(*inputs[4:], output_grads[0], *inputs[1:4])
        return gradients


csm_properties, csm_grad = CSMProperties(), CSMGrad
CSR, CSC = CSM("csr"), CSM("csc")


def csm_data(csm):
    """The stored elements of a sparse matrix, a vector.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.csm_data(x))([[0.0, 2.0], [3.0, 4.0]])
    array([2., 3., 4.])
    """
    return csm_properties(csm)[0]


def csm_indices(csm):
    """The column of each stored element of a matrix in CSR format; the row, in CSC format.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.csm_indices(x))([[0.0, 2.0], [3.0, 4.0]])
    array([1, 0, 1], dtype=int32)
    """
    return csm_properties(csm)[1]


def csm_indptr(csm):
    """The positions in the data at which each row of a matrix in CSR format begins, and the last one ends; columns in
    CSC format.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.csm_indptr(x))([[0.0, 2.0], [3.0, 4.0]])
    array([0, 1, 3], dtype=int32)
    """
    return csm_properties(csm)[2]


def csm_shape(csm):
    """The shape of a sparse matrix as a vector of int32; ``x.shape`` is one of int64.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.csm_shape(x))([[0.0, 2.0], [3.0, 4.0]])
    array([2, 2], dtype=int32)
    """
    return csm_properties(csm)[3]


def sp_ones_like(x, dtype=None):
    """Ones at the stored positions of a matrix. The gradient is regular.

    Parameters
    ----------
    x : sparse matrix
    dtype : str, optional
        Default: that of ``x``.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.sp_ones_like(x).toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[0., 1.],
           [1., 1.]])
    """
    x = as_compressed("sp_ones_like", x)
    data, indices, pointers, shape = csm_properties(x)
    return CSM(x.type.format)(ones_like(data, dtype=dtype), indices, pointers, shape)


def sp_zeros_like(x, dtype=None):
    """A matrix of the same shape that stores nothing. The gradient is regular.

    Parameters
    ----------
    x : sparse matrix
    dtype : str, optional
        Default: that of ``x``.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.sp_zeros_like(x))([[0.0, 2.0], [3.0, 4.0]]).nnz
    0
    """
    x = as_compressed("sp_zeros_like", x)
    _, _, pointers, shape = csm_properties(x)
    nothing = numpy.zeros(0, dtype or x.type.dtype)
    return CSM(x.type.format)(nothing, numpy.zeros(0, "int32"), zeros_like(pointers), shape)


def in_pattern_of(x, matrix):
    """The elements of a matrix, sparse or dense, at the stored positions of ``x``: a vector."""
    matrix = sparse_if(True, matrix, x)
    return csm_grad()(*csm_properties(x), *csm_properties(matrix))


def _in_32_bits(positions):
    positions = numpy.asarray(positions)
    narrow = positions.astype("int32")
    if positions.dtype.itemsize > 4 and not numpy.array_equal(narrow, positions):
        raise ValueError("the matrix has positions beyond int32, which csm_properties cannot return")
    return narrow


def _check_parts(op, form, data, indices, indptr, shape):
    """Raise ``ValueError`` if four arrays make no matrix."""
    if len(shape) != 2:
        raise ValueError(f"{op}: the shape of a matrix has two lengths, not {len(shape)}: {shape}")
    if len(data) != len(indices):
        raise ValueError(f"{op}: data has {len(data)} elements and indices has {len(indices)}; both have one for each "
                         "stored element")
    fault = fault_of(form, tuple(shape.tolist()), len(data), indices, indptr)
    if fault is not None:
        raise ValueError(f"{op}: the arrays make no matrix of shape {tuple(shape.tolist())}: {fault}")


def _as_positions(name, value):
    """An operand as a vector of integers; numbers that are known are int32."""
    if not isinstance(value, Variable) and not (isinstance(value, (list, tuple))
                                                and any([isinstance(part, Variable) for part in value])):
        wide = numpy.asarray(value)
        if wide.size and wide.dtype.kind not in "iu":
            raise TypeError(f"CSM: {name} must be integers, not {value!r}")
        value = _in_32_bits(wide)
    value = as_tensor_variable(value)
    if value.type.ndim != 1 or value.type.dtype not in discrete_dtypes:
        raise TypeError(f"CSM: {name} must be a vector of integers, not {value} of type {value.type}")
    return value
