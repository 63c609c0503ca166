"""Sorting: SortOp, ArgSortOp, ``sort`` and ``argsort``.

Both ops call NumPy's functions and hold the GIL. The axis is an input, so that it may be symbolic. A sort is a
permutation: gradients are permuted by its inverse, directions by the permutation itself. NaNs come last.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.scalar import as_dtype, eq, mod, switch
from phintys.ops.indexing.getitem import getitem
from phintys.ops.shape.reshape import flatten
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import continuous_dtypes
from phintys.ops.types.tensor_type import TensorType

KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


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
    function = None

    def __init__(self, kind="quicksort", order=None):
        if kind not in KINDS:
            raise ValueError(f"{type(self).__name__}: kind must be one of {KINDS}, got {kind!r}")
        if order is not None and len(order):
            raise ValueError(f"{type(self).__name__}: order={order!r} refers to fields of records, but tensors have "
                             "no fields")
        self.kind, self.order = kind, None

    def make_node(self, input, axis=-1):
        input, axis = as_tensor_variable(input), as_tensor_variable(axis)
        if axis.type.ndim:
            raise ValueError(f"{type(self).__name__}: the axis must be a number, got {axis} of type {axis.type}")
        if not input.type.ndim:
            raise ValueError(f"{type(self).__name__}: {input} has no dimension along which it could be sorted")
        if isinstance(axis, Constant):
            self._checked_axis(axis.data, input.type.ndim)
        return Apply(self, [input, axis], [self._output_type(input.type)()])

    def _output_type(self, type_):
        return type_

    def _checked_axis(self, axis, rank):
        if axis != int(axis):
            raise ValueError(f"{type(self).__name__}: sort axis must be an integer or None, got {axis}")
        if not -rank <= axis < rank:
            raise ValueError(f"{type(self).__name__}: axis {int(axis)} is out of bounds for {rank} dimensions")
        return int(axis) % rank

    def perform(self, node, inputs, output_storage):
        array, axis = inputs
        output_storage[0][0] = type(self).function(array, self._checked_axis(axis, array.ndim), self.kind)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0]]

    def connection_pattern(self, node):
        return [[True], [False]]

    def __str__(self):
        return f"{type(self).__name__}{{{self.kind}, {self.order}}}"


class SortOp(_AlongAxis):
    """The elements of an array, sorted along an axis."""

    function = staticmethod(numpy.sort)

    def grad(self, inputs, output_grads):
        order = ArgSortOp(self.kind)(*inputs)
        back = ArgSortOp(self.kind)(order, inputs[1])
        return [_along(output_grads[0], back, inputs[1]), disconnected_type()]

    def R_op(self, inputs, eval_points):
        if eval_points[0] is None:
            return [None]
        return [_along(eval_points[0], ArgSortOp(self.kind)(*inputs), inputs[1])]


class ArgSortOp(_AlongAxis):
    """The positions along an axis in the order that sorts the array, as int64."""

    function = staticmethod(numpy.argsort)

    def _output_type(self, type_):
        return TensorType("int64", type_.broadcastable, shape=type_.shape)

    def grad(self, inputs, output_grads):
        x = inputs[0]
        zeros = x.zeros_like(dtype=None if x.type.dtype in continuous_dtypes else config.floatX)
        return [zeros, disconnected_type()]

    def R_op(self, inputs, eval_points):
        return [None]


def _along(x, positions, axis):
    """The elements of ``x`` at ``positions`` along ``axis``, like ``numpy.take_along_axis``."""
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
    return getitem(x, tuple(index))


def _with_axis(a, axis):
    """An array and the axis along which it is sorted; an axis of None flattens the array."""
    a = as_tensor_variable(a)
    return (flatten(a), 0) if axis is None else (a, axis)


def sort(a, axis=-1, kind="quicksort", order=None):
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

    Returns
    -------
    TensorVariable
        Of the dtype of ``a``. The gradient of each element goes to its original position.

    Raises
    ------
    ValueError
        If ``a`` has rank 0, if ``order`` is given, or for another ``kind`` or an axis that does not exist.
    """
    return SortOp(kind, order)(*_with_axis(a, axis))


def argsort(a, axis=-1, kind="quicksort", order=None):
    """The positions that sort the elements along an axis in ascending order.

    Parameters
    ----------
    a, axis, kind, order
        See ``sort``.

    Returns
    -------
    TensorVariable
        Of dtype int64; its gradient is zero.

    Raises
    ------
    ValueError
        See ``sort``.
    """
    return ArgSortOp(kind, order)(*_with_axis(a, axis))
