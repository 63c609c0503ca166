"""Searching: positions in sorted vectors (SearchsortedOp), distinct values (Unique), and ``to_one_hot``.

Positions have no gradient, or a gradient of zero; the gradient of distinct values goes to their first occurrences. The
optimizer replaces Unique by a sort and other ops (``optimizer/rewrites/distinct.py``); without the optimizer, NumPy's
function is called.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.creation.allocation import arange, zeros
from phintys.ops.elementwise import scalar
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.indexing.nonzero_kernel import NonzeroKernel
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.searching_kernel import SearchsortedKernel
from phintys.ops.types.axes import one_integer
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import continuous_dtypes, integer_dtypes
from phintys.ops.types.tensor_type import TensorType


class SearchsortedOp(Op):
    """The positions of values in a sorted vector. The inputs are the vector, the values and optionally an order that
    sorts the vector.

    Parameters
    ----------
    side : {"left", "right"}
        Whether a position is before ("left") or after ("right") equal elements.

    Raises
    ------
    ValueError
        For another side; raised by ``make_node`` if the vector has several dimensions; at run time, if the length of
        the order differs from that of the vector, or the order contains a position that does not exist.
    TypeError
        Raised by ``make_node`` if the order is not a vector of integers.

    Examples
    --------
    >>> T.extra_ops.SearchsortedOp(side="left")(T.as_tensor([1, 3, 5]), T.as_tensor([3, 4])).eval()
    array([1, 2])
    """

    __props__ = ("side",)
    shape_as = 1
    depends_on = (0, 1)

    def __init__(self, side="left"):
        if side not in ("left", "right"):
            raise ValueError(f"'{side}' is an invalid value for keyword 'side'")
        self.side = side

    def make_node(self, x, v, sorter=None):
        x, v = as_tensor_variable(x), as_tensor_variable(v)
        if x.type.ndim != 1:
            raise ValueError(f"searchsorted: the sorted values must be a vector, got {x} of type {x.type}")
        dtype = numpy.promote_types(x.type.dtype, v.type.dtype).name
        inputs = [scalar.as_dtype(x, dtype), scalar.as_dtype(v, dtype)]
        if sorter is not None:
            sorter = as_tensor_variable(sorter, ndim=1)
            if sorter.type.dtype not in integer_dtypes:
                raise TypeError(f"sorter must be an integer vector, got {sorter} of type {sorter.type}")
            inputs.append(scalar.as_dtype(sorter, "int64"))
        return Apply(self, inputs, [TensorType("int64", v.type.broadcastable, shape=v.type.shape)()])

    def make_kernel(self, node):
        return SearchsortedKernel(node.inputs[0].type.dtype, self.side == "right", len(node.inputs) == 3)

    def grad(self, inputs, output_grads):
        zero = [_float_zeros(value) for value in inputs[:2]]
        return zero + [disconnected_type() for _ in inputs[2:]]

    def R_op(self, inputs, eval_points):
        return [None]


def _float_zeros(x):
    return x.zeros_like(dtype=None if x.type.dtype in continuous_dtypes else config.floatX)


def searchsorted(x, v, side="left", sorter=None):
    """The positions at which to insert ``v`` into a sorted vector to keep it sorted, like ``numpy.searchsorted``.

    Parameters
    ----------
    x : vector
        Must be sorted, or sorted by the order ``sorter``.
    v : tensor-like
    side : {"left", "right"}
        Whether to return the first ("left") or the last ("right") suitable position.
    sorter : vector of integers, optional

    Returns
    -------
    TensorVariable
        Of dtype int64 and the shape of ``v``.

    Raises
    ------
    ValueError
        For another side, or if ``x`` has several dimensions.
    TypeError
        If ``sorter`` is not a vector of integers.

    Examples
    --------
    >>> T.searchsorted(T.as_tensor([1, 3, 5]), [0, 3, 9]).eval()
    array([0, 1, 3])
    """
    return SearchsortedOp(side=side)(x, v, sorter)


class Unique(Op):
    """The distinct elements, sorted. Optional outputs are the positions of their first occurrences, the position of
    each input element in the result, and the numbers of occurrences.

    Parameters
    ----------
    return_index, return_inverse, return_counts : bool
    axis : int, optional
        The axis along which to find distinct slices; by default distinct elements are found.

    Raises
    ------
    RuntimeError
        Raised by ``make_node`` for an axis that does not exist.

    Examples
    --------
    >>> T.extra_ops.Unique()(T.as_tensor([3, 1, 3])).eval()
    array([1, 3])
    """

    __props__ = ("return_index", "return_inverse", "return_counts", "axis")

    def __init__(self, return_index=False, return_inverse=False, return_counts=False, axis=None):
        self.return_index = return_index
        self.return_inverse = return_inverse
        self.return_counts = return_counts
        self.axis = axis if axis is None else one_integer("unique", "axis", axis)

    def make_node(self, x):
        x = as_tensor_variable(x)
        rank = x.type.ndim
        if self.axis is not None and not -rank <= self.axis < rank:
            raise RuntimeError(f"Unique axis `{self.axis}` is outside of input ndim = {rank}.")
        flags = [False] if self.axis is None else [flag and axis != self.axis % rank
                                                   for axis, flag in enumerate(x.type.broadcastable)]
        more = sum([bool(wanted) for wanted in (self.return_index, self.return_inverse, self.return_counts)])
        vector = TensorType("int64", (False,))
        return Apply(self, [x], [TensorType(x.type.dtype, flags)(), *[vector() for _ in range(more)]])

    def perform(self, node, inputs, output_storage):
        found = numpy.unique(inputs[0], return_index=self.return_index, return_inverse=self.return_inverse,
                             return_counts=self.return_counts, axis=self.axis)
        found = found if isinstance(found, tuple) else (found,)
        output_storage[0][0] = found[0]
        for storage, positions in zip(output_storage[1:], found[1:]):
            storage[0] = numpy.asarray(positions, dtype="int64").reshape(-1)

    def connection_pattern(self, node):
        return [[True] + [False] * (len(node.outputs) - 1)]

    def _first_positions(self, x):
        """The elements, or slices, of the result: an index, and the form of ``x`` to which it applies."""
        positions = Unique(return_index=True, axis=self.axis)(x)[1]
        return positions if self.axis is None else (slice(None),) * (self.axis % x.type.ndim) + (positions,)

    def L_op(self, inputs, outputs, output_gradients):
        x, gradient = inputs[0], output_gradients[0]
        zeros = _float_zeros(x)
        if disconnected_type == gradient.type or x.type.dtype not in continuous_dtypes:
            return [zeros]
        whole = flatten(zeros) if self.axis is None else zeros
        found = set_subtensor(getitem(whole, self._first_positions(x)), gradient)
        return [reshape(found, x.shape, ndim=x.type.ndim) if self.axis is None else found]

    def R_op(self, inputs, eval_points):
        x, direction = inputs[0], eval_points[0]
        rest = [None] * (bool(self.return_index) + bool(self.return_inverse) + bool(self.return_counts))
        if direction is None:
            return [None, *rest]
        return [getitem(flatten(direction) if self.axis is None else direction, self._first_positions(x)), *rest]

    def infer_shape(self, node, input_shapes):
        """Only the output with one position for each input element has a length that is known in advance."""
        lengths, = input_shapes
        shapes = [tuple([shape_i(out, axis) for axis in range(out.type.ndim)]) for out in node.outputs]
        if self.return_inverse:
            whole = scalar.mul(*lengths) if len(lengths) > 1 else lengths[0] if lengths else 1
            shapes[2 if self.return_index else 1] = (whole if self.axis is None else lengths[self.axis],)
        return shapes


class RunStarts(Unique):
    """The last step of `Unique` by sorting: the positions of elements that differ from the previous one.

    A mask says which these are. The result is a matrix of one row."""

    __props__ = ()

    def __init__(self):
        super().__init__()

    def make_node(self, mask):
        mask = as_tensor_variable(mask)
        if mask.type.ndim != 1:
            raise TypeError(f"RunStarts takes a vector, not {mask} of type {mask.type}")
        return Apply(self, [mask], [TensorType("int64", (True, False))()])

    perform = Op.perform

    def make_kernel(self, node):
        return NonzeroKernel()

    def connection_pattern(self, node):
        return [[False]]

    def infer_shape(self, node, input_shapes):
        return [(1, shape_i(node.outputs[0], 1))]

    def R_op(self, inputs, eval_points):
        return [None]


def to_one_hot(y, nb_class, dtype=None):
    """A matrix with one row for each element of ``y``, with 1 in the column given by the element and 0 elsewhere.

    Parameters
    ----------
    y : vector of integers
        Integers from 0 to ``nb_class - 1``.
    nb_class : int or symbolic integer
    dtype : str, optional
        By default floatX.

    Examples
    --------
    >>> T.to_one_hot(T.as_tensor([2, 0]), 3, dtype="int64").eval()
    array([[0, 0, 1],
           [1, 0, 0]])
    """
    y = as_tensor_variable(y)
    rows = shape_i(y, 0)
    result = zeros((rows, nb_class), dtype=dtype)
    return set_subtensor(result[arange(rows), y], 1)
