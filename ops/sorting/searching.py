"""Places in sorted vectors, distinct values, and places as rows: SearchsortedOp, Unique, ``to_one_hot``.

What the two ops find has no gradient, or a gradient of zero. Unique runs NumPy's function under the GIL.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.creation.allocation import arange, zeros
from phintys.ops.elementwise import scalar
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.searching_kernel import SearchsortedKernel
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import continuous_dtypes, integer_dtypes
from phintys.ops.types.tensor_type import TensorType


class SearchsortedOp(Op):
    """Where values belong in a sorted vector: inputs are the vector, the values and perhaps an order that sorts it.

    Parameters
    ----------
    side : {"left", "right"}
        Before or behind equal elements.

    Raises
    ------
    ValueError
        For another side; from ``make_node``, for a vector with several dimensions; when it runs, for an order of
        another length than the vector, or a number in it that names no element.
    TypeError
        From ``make_node``, for an order that is no vector of integers.
    """

    __props__ = ("side",)

    def __init__(self, side="left"):
        if side not in ("left", "right"):
            raise ValueError(f"'{side}' is an invalid value for keyword 'side'")
        self.side = side

    def make_node(self, x, v, sorter=None):
        x, v = as_tensor_variable(x, ndim=1), as_tensor_variable(v)
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

    def infer_shape(self, node, input_shapes):
        return [input_shapes[1]]

    def grad(self, inputs, output_grads):
        zero = [_float_zeros(value) for value in inputs[:2]]
        return zero + [disconnected_type() for _ in inputs[2:]]

    def connection_pattern(self, node):
        return [[True]] * 2 + [[False]] * (len(node.inputs) - 2)

    def R_op(self, inputs, eval_points):
        return [None]


def _float_zeros(x):
    return x.zeros_like(dtype=None if x.type.dtype in continuous_dtypes else config.floatX)


def searchsorted(x, v, side="left", sorter=None):
    """Where to insert ``v`` into a sorted vector so that it stays sorted, as ``numpy.searchsorted``.

    Parameters
    ----------
    x : vector
        Sorted, or sorted by ``sorter``.
    v : tensor-like
    side : {"left", "right"}
        The first or the last suitable place.
    sorter : vector of integers, optional

    Returns
    -------
    TensorVariable
        int64, of the shape of ``v``.

    Raises
    ------
    ValueError
        For another side or an ``x`` with several dimensions.
    TypeError
        For a ``sorter`` that is no vector of integers.
    """
    return SearchsortedOp(side=side)(x, v, sorter)


class Unique(Op):
    """The distinct elements, sorted; then, as wanted, their first places, the places in them, and their numbers.

    Parameters
    ----------
    return_index, return_inverse, return_counts : bool
    axis : int, optional
        Distinct slices along an axis; by default distinct elements.

    Raises
    ------
    RuntimeError
        From ``make_node``, for an axis that does not exist.
    """

    __props__ = ("return_index", "return_inverse", "return_counts", "axis")

    def __init__(self, return_index=False, return_inverse=False, return_counts=False, axis=None):
        self.return_index = return_index
        self.return_inverse = return_inverse
        self.return_counts = return_counts
        self.axis = axis

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
        for storage, places in zip(output_storage[1:], found[1:]):
            storage[0] = numpy.asarray(places, dtype="int64").reshape(-1)

    def infer_shape(self, node, input_shapes):
        """Only where there is one place for each input is the length known before running."""
        lengths, = input_shapes
        shapes = [tuple([shape_i(out, axis) for axis in range(out.type.ndim)]) for out in node.outputs]
        if self.return_inverse:
            whole = scalar.mul(*lengths) if len(lengths) > 1 else lengths[0] if lengths else 1
            shapes[2 if self.return_index else 1] = (whole if self.axis is None else lengths[self.axis],)
        return shapes


def to_one_hot(y, nb_class, dtype=None):
    """A matrix with a row for each element of ``y``, 1 in the column that ``y`` names and 0 elsewhere.

    Parameters
    ----------
    y : vector of integers
        From 0 to ``nb_class - 1``.
    nb_class : int or symbolic integer
    dtype : str, optional
        By default floatX.
    """
    y = as_tensor_variable(y)
    rows = shape_i(y, 0)
    result = zeros((rows, nb_class), dtype=dtype)
    return set_subtensor(result[arange(rows), y], 1)
