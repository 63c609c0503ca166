"""Sorting: SortOp, ArgSortOp, ``sort`` and ``argsort``.

Both ops call NumPy's functions in C (``sorting_kernel.pyx``). The axis is an input, so that it may be symbolic. A sort
is a permutation: gradients are permuted by its inverse, directions by the permutation itself. NaNs come last.
"""

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.scalar import as_dtype, eq, invert, mod, neg, switch
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.shape.reshape import flatten
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.sorting_kernel import ArgSortKernel, SortKernel
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import continuous_dtypes
from phintys.ops.types.numpy_arguments import with_numpy_arguments
from phintys.ops.types.tensor_type import TensorType

KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def checked_axis(name, axis, x):
    """The number of an axis as a variable; a constant must name one that ``x`` has."""
    axis = as_tensor_variable(axis)
    if axis.type.ndim:
        raise ValueError(f"{name}: the axis must be a number, got {axis} of type {axis.type}")
    if not x.type.ndim:
        raise ValueError(f"{name}: {x} has no dimension along which it could be sorted")
    if not isinstance(axis, Constant):
        return as_dtype(axis, "float32") if axis.type.dtype == "float16" else axis
    if axis.data != int(axis.data):
        raise ValueError(f"{name}: sort axis must be an integer or None, got {axis.data}")
    one_axis(name, x, int(axis.data))
    return axis


class _AlongAxis(Op):
    """The base class of both ops. The inputs are an array with at least one dimension and the number of an axis.

    Parameters
    ----------
    kind : {"quicksort", "mergesort", "heapsort", "stable", None}
        NumPy's name of the algorithm; equal elements keep their order under "mergesort" and "stable".
    order : None
        Not supported: NumPy's parameter for arrays of records.

    Raises
    ------
    ValueError
        For another kind; at run time, for an axis that is not a whole number or does not exist.
    """

    __props__ = ("kind", "order")
    shape_as = 0
    kernel = None
    depends_on = (0,)

    def __init__(self, kind="quicksort", order=None):
        if kind not in KINDS:
            raise ValueError(f"{type(self).__name__}: kind must be one of {KINDS}, got {kind!r}")
        if order is not None and not (hasattr(order, "__len__") and len(order) == 0):
            raise ValueError(f"{type(self).__name__}: order={order!r} refers to fields of records, but tensors have "
                             "no fields")
        self.kind, self.order = kind, None

    def make_node(self, input, axis=-1):
        input = as_tensor_variable(input)
        axis = checked_axis(type(self).__name__, axis, input)
        return Apply(self, [input, axis], [self._output_type(input.type)()])

    def _output_type(self, type_):
        return type_

    def make_kernel(self, node):
        return type(self).kernel(node.inputs[0].type.dtype, self.kind)

    def __str__(self):
        return f"{type(self).__name__}{{{self.kind}, {self.order}}}"


class SortOp(_AlongAxis):
    """The elements of an array, sorted along an axis.

    Examples
    --------
    >>> T.sort(T.as_tensor([3, 1, 2])).owner.op
    SortOp{kind='quicksort', order=None, inplace=False}
    """

    __props__ = ("kind", "order", "inplace")
    kernel = SortKernel
    can_overwrite = {0: (0,)}

    def __init__(self, kind="quicksort", order=None, inplace=False):
        super().__init__(kind, order)
        self.inplace = inplace
        self.destroy_map = {0: [0]} if inplace else {}

    def grad(self, inputs, output_grads):
        order = ArgSortOp(self.kind)(*inputs)
        return [put_back(output_grads[0], order, inputs[1]), disconnected_type()]

    def R_op(self, inputs, eval_points):
        return [along(eval_points[0], ArgSortOp(self.kind)(*inputs), inputs[1])]


class ArgSortOp(_AlongAxis):
    """The positions along an axis in the order that sorts the array, as int64.

    Examples
    --------
    >>> T.argsort(T.as_tensor([3, 1, 2])).owner.op
    ArgSortOp{quicksort, None}
    """

    kernel = ArgSortKernel

    def _output_type(self, type_):
        return TensorType("int64", type_.broadcastable, shape=type_.shape)

    def grad(self, inputs, output_grads):
        x = inputs[0]
        zeros = x.zeros_like(dtype=None if x.type.dtype in continuous_dtypes else config.floatX)
        return [zeros, disconnected_type()]

    def R_op(self, inputs, eval_points):
        return [None]


def index_along(x, positions, axis):
    """The index that takes the elements of ``x`` at ``positions`` along ``axis``, a variable."""
    rank = x.type.ndim
    known = int(axis.data) % rank if isinstance(axis, Constant) else None
    index = []
    for dimension in range(rank):
        if dimension == known:
            index.append(positions)
            continue
        own = arange(shape_i(x, dimension)).dimshuffle(*["x"] * dimension, 0, *["x"] * (rank - 1 - dimension))
        index.append(own if known is not None else
                     switch.elementwise(eq.elementwise(mod.elementwise(as_dtype(axis, "int64"), rank), dimension),
                                        positions, own))
    return tuple(index)


def along(x, positions, axis):
    """The elements of ``x`` at ``positions`` along ``axis``, like ``numpy.take_along_axis``."""
    return getitem(x, index_along(x, positions, axis))


def put_back(gradient, positions, axis):
    """The array whose elements at ``positions``, a permutation along ``axis``, are those of ``gradient``."""
    return set_subtensor(getitem(gradient.zeros_like(), index_along(gradient, positions, axis)), gradient)


def with_axis(a, axis):
    """An array and the axis along which it is sorted; an axis of None flattens the array."""
    a = as_tensor_variable(a)
    return (flatten(a), 0) if axis is None else (a, axis)


def _reversed(x):
    """``x`` with the order of its elements reversed; applied twice it is ``x`` again. NaN stays last."""
    if x.type.dtype in continuous_dtypes:
        return neg.elementwise(x)
    return invert.elementwise(x)


@with_numpy_arguments
def sort(a, axis=-1, kind="quicksort", order=None, descending=False):
    """Sort elements along an axis in ascending order; NaNs come last.

    Parameters
    ----------
    a : tensor-like
    axis : int or symbolic integer, or None
        None means that the flattened tensor is sorted.
    kind : {"quicksort", "mergesort", "heapsort", "stable"}
        See ``numpy.sort``.
    order : None
        Not supported: tensors have no fields.
    descending : bool
        Whether the largest element comes first. NaNs come last also then.

    Returns
    -------
    TensorVariable
        Of the dtype of ``a``. The gradient of each element goes to its original position.

    Raises
    ------
    ValueError
        If ``a`` has rank 0, if ``order`` is given, or for another ``kind`` or an axis that does not exist.

    Examples
    --------
    >>> T.sort(T.as_tensor([3, 1, 2])).eval()
    array([1, 2, 3])
    """
    a, axis = with_axis(a, axis)
    if descending:
        return _reversed(SortOp(kind, order)(_reversed(a), axis))
    return SortOp(kind, order)(a, axis)


@with_numpy_arguments
def argsort(a, axis=-1, kind="quicksort", order=None, descending=False):
    """The positions that sort the elements along an axis in ascending order.

    Parameters
    ----------
    a, axis, kind, order, descending
        See ``sort``.

    Returns
    -------
    TensorVariable
        Of dtype int64; its gradient is zero.

    Raises
    ------
    ValueError
        See ``sort``.

    Examples
    --------
    >>> T.argsort(T.as_tensor([3, 1, 2])).eval()
    array([1, 2, 0])
    """
    a, axis = with_axis(a, axis)
    return ArgSortOp(kind, order)(_reversed(a) if descending else a, axis)
