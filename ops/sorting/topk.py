"""The largest or smallest elements along an axis: TopKOp, ``topk``, ``argtopk`` and ``topk_and_argtopk``.

The axis is a constant; the number of elements may be symbolic. NaN counts as larger than every number. Of equal
elements, the first ones are taken.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant
from phintys.ops.elementwise.scalar import abs_
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.shape.reshape import flatten
from phintys.ops.sorting.sorting import along, index_along
from phintys.ops.sorting.sorting_kernel import TopKKernel
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import continuous_dtypes, discrete_dtypes, integer_dtypes
from phintys.ops.types.tensor_type import TensorType


class TopKOp(Op):
    """The largest elements along an axis, and their positions. The inputs are an array and the number of elements k; if
    k is negative, the result is the -k smallest elements.

    Parameters
    ----------
    axis : int
    sorted : bool
        Whether the best element comes first; otherwise the order is not determined.
    idx_dtype : str
        The dtype of positions.
    return_values, return_indices : bool
        Which results there are.

    Raises
    ------
    TypeError
        If ``axis`` is not an int, or ``idx_dtype`` not an integer dtype; raised by ``make_node`` if k is not a 0-d
        integer.
    ValueError
        If there is no result; raised by ``make_node`` for an array of rank 0; at run time, if k is 0, or larger than
        the axis.
    IndexError
        Raised by ``make_node`` for an axis that does not exist.

    Examples
    --------
    >>> T.topk(T.as_tensor([3, 1, 2]), 2).owner.op
    TopKOp{axis=-1, sorted=True}
    """

    __props__ = ("axis", "sorted", "return_values", "return_indices", "idx_dtype")
    depends_on = (0,)

    def __init__(self, axis=-1, sorted=True, idx_dtype="int64", return_values=True, return_indices=True):
        if not isinstance(axis, int):
            raise TypeError(f'"axis" parameter must be integer, got "{type(axis)}"')
        if not isinstance(idx_dtype, str) or idx_dtype not in integer_dtypes:
            raise TypeError(f'"idx_dtype" parameter must be an integer dtype, got "{idx_dtype}"')
        if not (return_values or return_indices):
            raise ValueError("Neither return_values nor return_indices is True, this isn't allowed")
        self.axis, self.sorted, self.idx_dtype = axis, bool(sorted), idx_dtype
        self.return_values, self.return_indices = return_values, return_indices

    def make_node(self, inp, kth):
        x, k = as_tensor_variable(inp), as_tensor_variable(kth)
        rank = x.type.ndim
        if not rank:
            raise ValueError(f"TopKOp: Cannot take scalar as input, got {x}")
        if not -rank <= self.axis < rank:
            raise IndexError(f'"axis" parameter out of range, expected integer within [{-rank}, {rank - 1}]')
        if k.type.ndim or k.type.dtype not in discrete_dtypes:
            raise TypeError(f"TopKOp: the number of elements must be a 0-d integer, got {k} of type {k.type}")
        axis = self.axis % rank
        length = int(abs(k.data)) if isinstance(k, Constant) else None
        lengths = [length if number == axis else known for number, known in enumerate(x.type.shape)]
        dtypes = [dtype for dtype, wanted in ((x.type.dtype, self.return_values), (self.idx_dtype, self.return_indices))
                  if wanted]
        return Apply(self, [x, k], [TensorType(dtype, [known == 1 for known in lengths], shape=lengths)()
                                    for dtype in dtypes])

    def make_kernel(self, node):
        x = node.inputs[0]
        return TopKKernel(x.type.dtype, self.axis % x.type.ndim, self.sorted, self.idx_dtype, self.return_values,
                          self.return_indices)

    def infer_shape(self, node, input_shapes):
        shape = list(input_shapes[0])
        shape[self.axis] = abs_(node.inputs[1])
        return [tuple(shape)] * len(node.outputs)

    def _positions(self, inputs, outputs):
        if self.return_indices:
            return outputs[-1]
        return TopKOp(self.axis, self.sorted, self.idx_dtype, False, True)(*inputs)

    def L_op(self, inputs, outputs, output_gradients):
        x, _ = inputs
        zeros = x.zeros_like(dtype=None if x.type.dtype in continuous_dtypes else config.floatX)
        gradient = output_gradients[0]
        if not self.return_values or disconnected_type == gradient.type or x.type.dtype not in continuous_dtypes:
            return [zeros, disconnected_type()]
        zeros = x.zeros_like(dtype=gradient.type.dtype)
        positions = self._positions(inputs, outputs)
        put = set_subtensor(getitem(zeros, index_along(x, positions, constant(self.axis))), gradient)
        return [put, disconnected_type()]

    def R_op(self, inputs, eval_points):
        if eval_points[0] is None or not self.return_values:
            return [None] * (self.return_values + self.return_indices)
        positions = self._positions(inputs, self(*inputs, return_list=True))
        return [along(eval_points[0], positions, constant(self.axis)), *[None] * bool(self.return_indices)]

    def __str__(self):
        return f"{type(self).__name__}{{axis={self.axis}, sorted={self.sorted}}}"


def _best(x, kth, axis, sorted, idx_dtype):
    x = as_tensor_variable(x)
    if axis is None:
        x, axis = flatten(x), 0
    axis = int(axis) if isinstance(axis, numpy.integer) else axis
    return TopKOp(axis=axis, sorted=sorted, idx_dtype=idx_dtype)(x, kth)


def topk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The k largest elements along an axis, or the -k smallest ones if k is negative.

    Parameters
    ----------
    x : tensor-like
        Not of rank 0. NaN counts as larger than every number.
    kth : int or symbolic integer
        How many elements; not 0.
    axis : int or None
        None means that the flattened tensor is searched.
    sorted : bool
        Whether the best element comes first; otherwise the order is not determined.
    idx_dtype : str
        The dtype of the positions that the gradient needs.

    Returns
    -------
    TensorVariable
        Of the dtype of ``x``, with abs(k) elements along the axis. The gradient goes to the elements that were chosen.

    Raises
    ------
    TypeError, IndexError
        If ``kth`` is not an integer, or the axis does not exist.
    ValueError
        If ``x`` has rank 0; at run time, if ``kth`` is 0, or larger than the axis.

    Examples
    --------
    >>> T.topk([3.0, 1.0, 2.0], 2).eval().tolist()
    [3.0, 2.0]
    """
    return _best(x, kth, axis, sorted, idx_dtype)[0]


def argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The positions along an axis of the k largest elements, or of the -k smallest ones if k is negative.

    Parameters
    ----------
    x, kth, axis, sorted, idx_dtype
        See ``topk``.

    Returns
    -------
    TensorVariable
        Of dtype ``idx_dtype``, with abs(k) elements along the axis; of equal elements, the first ones are taken. The
        gradient is zero.

    Raises
    ------
    TypeError, IndexError, ValueError
        See ``topk``.

    Examples
    --------
    >>> T.argtopk(T.as_tensor([5, 1, 4]), 1).eval()
    array([0])
    """
    return _best(x, kth, axis, sorted, idx_dtype)[1]


def topk_and_argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The results of ``topk`` and ``argtopk``, by one search.

    Parameters
    ----------
    x, kth, axis, sorted, idx_dtype
        See ``topk``.

    Returns
    -------
    list of TensorVariable
        Elements and positions.

    Raises
    ------
    TypeError, IndexError, ValueError
        See ``topk``.

    Examples
    --------
    >>> values, positions = T.topk_and_argtopk(T.as_tensor([3, 1, 2]), 2)
    >>> values.eval(), positions.eval()
    (array([3, 2]), array([0, 2]))
    """
    return _best(x, kth, axis, sorted, idx_dtype)
