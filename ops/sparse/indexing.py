"""Parts of sparse matrices: one element, elements at two lists of positions, rows, and slices of rows and columns.

There are no sparse vectors, so a single row is ``x[i:i + 1]``. Gradients put their parts into a matrix of zeros; parts
at the same position are added.
"""
import numpy
import scipy.sparse

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Variable
from phintys.ops.sparse.sparse_op import SparseOp, as_compressed, elements_at, is_sparse
from phintys.ops.sparse.sparse_type import SparseType
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes
from phintys.ops.types.slice_type import NoneConst
from phintys.ops.types.tensor_type import TensorType

__all__ = ["GetItem2Lists", "GetItem2ListsGrad", "GetItem2d", "GetItem2dGrad", "GetItemList", "GetItemListGrad",
           "GetItemScalar", "get_item_2d", "get_item_2d_grad", "get_item_2lists", "get_item_2lists_grad",
           "get_item_list", "get_item_list_grad", "get_item_scalar"]


def _positions(op, index, rank=1):
    index = as_tensor_variable(index)
    if index.type.ndim != rank or index.type.dtype not in integer_dtypes:
        raise TypeError(f"{op}: positions must be {('an integer', 'a vector of integers')[rank]}, not {index} of type "
                        f"{index.type}")
    return index


class _Part(SparseOp):
    """The base class: the inputs are a matrix and positions, which have no gradient."""

    linear_in = (0,)
    depends_on = (0,)

    def put(self, x, positions, gradient):
        """Return the gradient by the matrix: the gradient by the part, at the positions of the part."""
        raise NotImplementedError

    def grad(self, inputs, output_grads):
        x, *positions = inputs
        if x.type.dtype in discrete_dtypes:
            gradient = x.zeros_like(dtype=config.floatX)
        else:
            gradient = self.put(x, positions, output_grads[0])
        return [gradient, *[disconnected_type() for _ in positions]]


class _Put(SparseOp):
    """The base class of gradients: the inputs are a matrix whose shape is used, positions, and the part."""

    shape_as = 0

    def take(self, gradient, positions):
        """Return the part of a matrix at the positions."""
        raise NotImplementedError

    def make_node(self, x, *others):
        x = as_compressed(self, x)
        *positions, part = others
        part = as_compressed(self, part) if is_sparse(part) else as_tensor_variable(part)
        return Apply(self, [x, *positions, part], [SparseType(x.type.format, part.type.dtype)()])

    def connection_pattern(self, node):
        last = len(node.inputs) - 1
        return [[position == last] for position in range(last + 1)]

    def grad(self, inputs, output_grads):
        *others, _ = inputs
        return [*[disconnected_type() for _ in others], self.take(output_grads[0], others[1:])]

    def R_op(self, inputs, eval_points):
        return [None if eval_points[-1] is None else self(*inputs[:-1], eval_points[-1])]


# ---- rows ------------------------------------------------------------------------------------------------------------
class GetItemList(_Part):
    """Rows of a sparse matrix, ``x[positions]``, in any order and number.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], x[[1, 0, 1]].toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[3., 4.],
           [0., 2.],
           [3., 4.]])
    """

    def make_node(self, x, index):
        x = as_compressed(self, x)
        return Apply(self, [x, _positions(self, index)], [x.type()])

    def compute(self, x, index):
        return x[index]

    def put(self, x, positions, gradient):
        return get_item_list_grad(x, *positions, gradient)

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[1][0], input_shapes[0][1])]


class GetItemListGrad(_Put):
    """The gradient of `GetItemList`: rows are added to a matrix of zeros.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> by_x = phintys.grad(sparse.sp_sum(x[[1, 1]]), x)
    >>> phintys.function([x], by_x.toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[0., 0.],
           [2., 2.]])
    """

    def compute(self, x, index, part):
        count = len(index)
        at = numpy.where(index < 0, index + x.shape[0], index)
        ones = numpy.ones(count, part.dtype)
        return scipy.sparse.csr_matrix((ones, (at, numpy.arange(count))), (x.shape[0], count)) @ part

    def take(self, gradient, positions):
        return get_item_list(gradient, *positions)


# ---- elements --------------------------------------------------------------------------------------------------------
class GetItem2Lists(_Part):
    """Elements of a sparse matrix, ``x[rows, columns]``: a dense vector.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], x[[1, 0], [0, 1]])([[0.0, 2.0], [3.0, 4.0]])
    array([3., 2.])
    """

    shape_as = 1

    def make_node(self, x, ind1, ind2):
        x = as_compressed(self, x)
        return Apply(self, [x, _positions(self, ind1), _positions(self, ind2)], [TensorType(x.type.dtype, (False,))()])

    def compute(self, x, ind1, ind2):
        return elements_at(x, ind1, ind2)

    def put(self, x, positions, gradient):
        return get_item_2lists_grad(x, *positions, gradient)


class GetItem2ListsGrad(_Put):
    """The gradient of `GetItem2Lists`: elements are added to a matrix of zeros.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> by_x = phintys.grad(x[[1, 1], [0, 0]].sum(), x)
    >>> phintys.function([x], by_x.toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[0., 0.],
           [2., 0.]])
    """

    def compute(self, x, ind1, ind2, part):
        at = [numpy.where(index < 0, index + length, index) for index, length in zip((ind1, ind2), x.shape)]
        return scipy.sparse.coo_matrix((part, at), x.shape)

    def take(self, gradient, positions):
        return get_item_2lists(gradient, *positions)


class GetItemScalar(_Part):
    """One element of a sparse matrix, ``x[i, j]``: a 0-d tensor.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], x[1, 0])([[0.0, 2.0], [3.0, 4.0]])
    array(3.)
    """

    def make_node(self, x, index):
        x = as_compressed(self, x)
        if len(index) != 2 or any([isinstance(part, slice) for part in index]):
            raise TypeError(f"GetItemScalar: expected two integers, got {index!r}; x[a:b, c:d] is a part")
        return Apply(self, [x, *[_positions(self, part, 0) for part in index]], [TensorType(x.type.dtype, ())()])

    def node_on(self, inputs):
        return self.make_node(inputs[0], inputs[1:])

    def compute(self, x, row, column):
        return x[int(row), int(column)]

    def put(self, x, positions, gradient):
        row, column = [position.reshape((1,), ndim=1) for position in positions]
        return get_item_2lists_grad(x, row, column, gradient.reshape((1,), ndim=1))

    def R_op(self, inputs, eval_points):
        return [None if eval_points[0] is None else self(eval_points[0], tuple(inputs[1:]))]


# ---- slices ----------------------------------------------------------------------------------------------------------
def _bound(index, part):
    """A start, stop or step as a variable."""
    if part is None:
        return NoneConst
    bound = as_tensor_variable(part)
    if bound.type.ndim or bound.type.dtype not in discrete_dtypes:
        raise ValueError(f"a sparse matrix cannot be indexed with {index}: {part} is not an integer")
    return bound


def _bounds(index):
    """A slice as three variables."""
    if isinstance(index, slice):
        return [_bound(index, part) for part in (index.start, index.stop, index.step)]
    if numpy.isscalar(index) or (isinstance(index, Variable) and getattr(index.type, "ndim", None) == 0):
        raise NotImplementedError(f"there are no sparse vectors, so {index} cannot be an index by itself; use "
                                  "x[a:b, c:d], x[a:b, c:c + 1] or x[a:b]")
    raise ValueError(f"a sparse matrix cannot be indexed with {index!r}: slices, lists of rows and pairs of lists are "
                     "implemented")


def _slices(bounds):
    parts = [None if bound is None else int(bound) for bound in bounds]
    return slice(*parts[:3]), slice(*parts[3:])


class GetItem2d(_Part):
    """A part of a sparse matrix, ``x[a:b, c:d]``, which is sparse.

    Raises
    ------
    NotImplementedError
        Raised by ``make_node`` for a single integer: there are no sparse vectors.
    ValueError
        Raised by ``make_node`` for an index that is no slice.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], x[:, 1:2].toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[2.],
           [4.]])
    """

    def make_node(self, x, index):
        x = as_compressed(self, x)
        if len(index) not in (1, 2):
            raise IndexError(f"a sparse matrix has 2 dimensions, but there are {len(index)} indices: {index!r}")
        bounds = [bound for part in (*index, slice(None))[:2] for bound in _bounds(part)]
        return Apply(self, [x, *bounds], [x.type()])

    def node_on(self, inputs):
        parts = [None if bound.type == NoneConst.type else bound for bound in inputs[1:]]
        return self.make_node(inputs[0], (slice(*parts[:3]), slice(*parts[3:])))

    def compute(self, x, *bounds):
        return x[_slices(bounds)]

    def put(self, x, positions, gradient):
        return get_item_2d_grad(x, *positions, gradient)

    def R_op(self, inputs, eval_points):
        if eval_points[0] is None:
            return [None]
        return [Apply(self, [eval_points[0], *inputs[1:]], [eval_points[0].type()]).outputs[0]]


class GetItem2dGrad(_Put):
    """The gradient of `GetItem2d`: a part is put into a matrix of zeros.

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> by_x = phintys.grad(sparse.sp_sum(x[:, 1:]), x)
    >>> phintys.function([x], by_x.toarray())([[0.0, 2.0], [3.0, 4.0]])
    array([[0., 1.],
           [0., 1.]])
    """

    def compute(self, x, *others):
        *bounds, part = others
        part = part.tocoo()
        rows, columns = [numpy.arange(length)[index] for length, index in zip(x.shape, _slices(bounds))]
        return scipy.sparse.coo_matrix((part.data, (rows[part.row], columns[part.col])), x.shape)

    def take(self, gradient, positions):
        return Apply(get_item_2d, [gradient, *positions], [gradient.type()]).outputs[0]


get_item_list, get_item_list_grad = GetItemList(), GetItemListGrad()
get_item_2lists, get_item_2lists_grad = GetItem2Lists(), GetItem2ListsGrad()
get_item_scalar = GetItemScalar()
get_item_2d, get_item_2d_grad = GetItem2d(), GetItem2dGrad()


def is_integer(index):
    """Whether an index is one integer, known or symbolic."""
    if isinstance(index, Variable):
        return getattr(index.type, "ndim", None) == 0 and index.type.dtype in integer_dtypes
    return isinstance(index, (int, numpy.integer)) and not isinstance(index, bool)


def is_list(index):
    """Whether an index is a list of positions, known or symbolic."""
    return isinstance(index, (list, numpy.ndarray)) or getattr(getattr(index, "type", None), "ndim", None) == 1


def get_item(x, index):
    """``x[index]`` for a sparse matrix."""
    index = index if isinstance(index, tuple) else (index,)
    if len(index) == 2 and is_integer(index[0]) and is_integer(index[1]):
        return get_item_scalar(x, index)
    if len(index) == 2 and is_list(index[0]):
        return get_item_2lists(x, *index)
    if len(index) == 1 and is_list(index[0]):
        return get_item_list(x, index[0])
    return get_item_2d(x, index)
