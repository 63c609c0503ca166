"""Repetition of elements: ``repeat``, ``tile``, ``compress``, and the ops RepeatOp and SumRepeats.

If all slices have the same number of repetitions, ``repeat`` needs no separate op: it is an ``Alloc`` with an
additional dimension and a reshape. RepeatOp is for a separate number for each slice. Its gradient, SumRepeats, sums
over the repetitions; each of the two ops is the gradient of the other.
"""
import warnings

import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.public_names import at_home
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant, Variable
from phintys.ops.creation.allocation import Alloc
from phintys.ops.cumulative.product import Prod
from phintys.ops.elementwise import scalar
from phintys.ops.identity.assertion import Assert
from phintys.ops.indexing.nonzero import flatnonzero
from phintys.ops.indexing.take import take
from phintys.ops.rearranging.repeat_kernel import RepeatKernel, SumRepeatsKernel
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape, shape_i
from phintys.ops.types.axes import one_axis, one_integer
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.abi import LARGEST_RANK

_repeating, _tiling = Alloc("repeat"), Alloc("tile")


def _checked_repeats(repeats):
    if isinstance(repeats, (list, tuple)) and not repeats:
        repeats = numpy.zeros(0, "int64")               # NumPy would give an empty list the dtype float64
    repeats = as_tensor_variable(repeats)
    if repeats.type.dtype not in integer_dtypes:
        raise TypeError(f"repeats must be integers, got {repeats} of type {repeats.type}")
    if repeats.type.dtype == "uint64":
        raise TypeError(f"repeats of dtype uint64 are not supported: {repeats}")
    if repeats.type.ndim > 1:
        raise ValueError(f"The dimension of repeats should not exceed 1, got {repeats} of type {repeats.type}")
    if isinstance(repeats, Constant) and (repeats.data < 0).any():
        raise ValueError(f"repeat: a number of repetitions is negative: {repeats.data.min()}")
    return repeats


class RepeatOp(Op):
    """Repeats each slice. The inputs are the tensor and a number, or a vector with a number for each slice.

    Parameters
    ----------
    axis : int, optional
        The axis whose slices are repeated; by default the elements of the flattened tensor are repeated.

    Raises
    ------
    TypeError
        Raised by ``make_node`` if repeats are not integers.
    ValueError
        Raised by ``make_node`` for an axis that does not exist; at run time, for negative repeats or a wrong number of
        them.

    Examples
    --------
    >>> T.RepeatOp(axis=0)(T.as_tensor([1, 2]), 2).eval()
    array([1, 1, 2, 2])
    """

    __props__ = ("axis",)
    runs_alone = True
    linear_in = (0,)
    depends_on = (0,)

    def __init__(self, axis=None):
        self.axis = axis

    def make_node(self, x, repeats):
        x, repeats = as_tensor_variable(x), _checked_repeats(repeats)
        if self.axis is None:
            return Apply(self, [x, repeats], [TensorType(x.type.dtype, (False,))()])
        one_axis("RepeatOp", x, self.axis)
        flags, lengths = list(x.type.broadcastable), list(x.type.shape)
        if known_integer(repeats) != 1:
            flags[self.axis], lengths[self.axis] = False, None
        return Apply(self, [x, repeats], [TensorType(x.type.dtype, flags, shape=lengths)()])

    def make_kernel(self, node):
        return RepeatKernel(-1 if self.axis is None else self.axis % node.inputs[0].type.ndim)

    def infer_shape(self, node, input_shapes):
        lengths = list(input_shapes[0])
        x, repeats = node.inputs
        if self.axis is None:
            lengths = [scalar.mul(*lengths) if len(lengths) > 1 else lengths[0] if lengths else 1]
        axis = 0 if self.axis is None else self.axis
        several = repeats.type.ndim and repeats.type.shape[0] != 1
        if several and repeats.type.shape[0] is None:
            factor = scalar.switch(scalar.eq(shape_i(repeats, 0), 1), lengths[axis], 1)     # one number for all
            lengths[axis] = Sum()(repeats).astype("int64") * factor
        else:
            number = Sum()(repeats).astype("int64") if repeats.type.ndim else repeats
            lengths[axis] = number if several else lengths[axis] * number
        return [tuple(lengths)]

    def grad(self, inputs, output_grads):
        x, repeats = inputs
        gz, = output_grads
        if self.axis is not None:
            axis = self.axis % x.type.ndim
            return [SumRepeats(axis)(gz, repeats, shape_i(x, axis)), disconnected_type()]
        sums = SumRepeats(0)(gz, repeats, Prod()(shape(x)))
        return [reshape(sums, shape(x), ndim=x.type.ndim), disconnected_type()]

    def __str__(self):
        return f"RepeatOp{{{self.axis}}}"


class SumRepeats(Op):
    """The sum over the repetitions of each slice. The inputs are the tensor, the repeats, and the number of slices.

    Parameters
    ----------
    axis : int
        Not negative.

    Raises
    ------
    ValueError
        At run time, if the repeats do not sum to the length of the axis.
    """

    __props__ = ("axis",)
    runs_alone = True
    linear_in = (0,)
    depends_on = (0,)

    def __init__(self, axis):
        self.axis = axis

    def make_node(self, x, repeats, length):
        x, repeats, length = as_tensor_variable(x), _checked_repeats(repeats), as_tensor_variable(length)
        flags, lengths = list(x.type.broadcastable), list(x.type.shape)
        flags[self.axis], lengths[self.axis] = False, known_integer(length)
        return Apply(self, [x, repeats, length], [TensorType(x.type.dtype, flags, shape=lengths)()])

    def make_kernel(self, node):
        return SumRepeatsKernel(node.inputs[0].type.dtype, self.axis)

    def infer_shape(self, node, input_shapes):
        return [tuple([node.inputs[2] if axis == self.axis else length
                       for axis, length in enumerate(input_shapes[0])])]

    def grad(self, inputs, output_grads):
        return [RepeatOp(self.axis)(output_grads[0], inputs[1]), disconnected_type(), disconnected_type()]


def repeat(x, repeats, axis=None):
    """Repeat each element (or slice) of ``x``, like ``numpy.repeat``.

    Parameters
    ----------
    x : tensor-like
    repeats : int, symbolic integer, or vector of integers
        The number of repetitions; a vector has a number for each slice, and an empty list is for no slices.
    axis : int, optional
        The axis whose slices are repeated; by default the elements of the flattened tensor are repeated.

    Returns
    -------
    TensorVariable
        Of the dtype of ``x``.

    Raises
    ------
    TypeError
        If ``repeats`` are not integers.
    ValueError
        For an axis that does not exist, or repeats that have several dimensions or are negative constants; at run
        time, for negative repeats.

    Examples
    --------
    >>> T.repeat(T.as_tensor([1, 2]), 2).eval()
    array([1, 1, 2, 2])
    """
    x, repeats = as_tensor_variable(x), _checked_repeats(repeats)
    if axis is not None:
        one_axis("repeat", x, axis)
    if repeats.type.ndim == 1 and not repeats.type.broadcastable[0]:
        return RepeatOp(axis=axis)(x, repeats)
    if repeats.type.ndim == 1:
        repeats = repeats[0]
    if axis is None:
        x, axis = flatten(x), 0
    if x.type.ndim == LARGEST_RANK:             # no dimension is left for the copies
        return RepeatOp(axis=axis)(x, repeats)
    axis %= x.type.ndim
    lengths = [shape_i(x, dimension) for dimension in range(x.type.ndim)]
    order = list(range(x.type.ndim))
    copies = _repeating(dimshuffle(x, order[:axis + 1] + ["x"] + order[axis + 1:]),
                        *lengths[:axis + 1], repeats, *lengths[axis + 1:])
    lengths[axis] = lengths[axis] * repeats
    return reshape(copies, lengths)


def compress(condition, x, axis=None):
    """Select the slices of ``x`` for which ``condition`` is nonzero, like ``numpy.compress``.

    Parameters
    ----------
    condition : tensor-like
        Has one element for each slice, or for the first slices; it is flattened.
    x : tensor-like
    axis : int, optional
        The axis whose slices are selected; by default elements of the flattened tensor are selected.

    Raises
    ------
    ValueError
        For an axis that does not exist.
    IndexError
        At run time, if a nonzero element of the condition has no corresponding slice.

    Examples
    --------
    >>> T.compress([True, False, True], T.as_tensor([[1, 2], [3, 4], [5, 6]]), axis=0).eval()
    array([[1, 2],
           [5, 6]])
    """
    return take(x, flatnonzero(condition), axis=axis)


def _is_integer(value):
    if isinstance(value, Variable):
        return value.type.ndim == 0 and value.type.dtype in discrete_dtypes
    return isinstance(value, (int, numpy.integer)) and not isinstance(value, bool)


def _repetition_list(reps, ndim):
    """The repetitions of ``tile`` as a list of ints and symbolic integers."""
    if isinstance(reps, (list, tuple)):
        if ndim is not None and len(reps) > ndim:
            raise ValueError(f"len(reps) should be equal or less than ndim, but reps is {reps} and ndim {ndim}")
        if not all([_is_integer(value) for value in reps]):
            raise ValueError(f"elements of reps must be scalars of integer dtype, got {reps}")
        return list(reps)
    reps = as_tensor_variable(reps)
    if reps.type.dtype not in discrete_dtypes:
        raise ValueError(f"elements of reps must be integer dtype, got {reps} of type {reps.type}")
    if reps.type.ndim == 0:
        return [reps]
    if reps.type.ndim > 1:
        raise ValueError(f"the dimension of reps should not exceed 1, got {reps} of type {reps.type}")
    if ndim is None:
        raise ValueError("if reps is a vector, ndim must be given")
    missing = ndim - shape_i(reps, 0)
    missing = Assert(f"tile: reps has more than ndim = {ndim} elements")(missing, scalar.ge(missing, 0))
    return [scalar.switch(scalar.gt(missing, axis), 1, reps[scalar.maximum(axis - missing, 0)]) for axis in range(ndim)]


def tile(x, reps, ndim=None):
    """Repeat ``x`` along each dimension, like ``numpy.tile``.

    Parameters
    ----------
    x : tensor-like
    reps : int, symbolic integer, sequence of them, or vector of integers
        The numbers of repetitions along the last dimensions; dimensions before these are not repeated.
    ndim : int, optional
        The rank of the result; by default the larger of the rank of ``x`` and the number of ``reps``. It is required if
        ``reps`` is a vector.

    Returns
    -------
    TensorVariable
        Of the dtype of ``x``.

    Raises
    ------
    ValueError
        If ``ndim`` is too small, or ``reps`` are not integers or are negative.

    Examples
    --------
    >>> T.tile(T.as_tensor([1, 2]), 2).eval()
    array([1, 2, 1, 2])
    """
    x = as_tensor_variable(x)
    if ndim is not None and one_integer("tile", "ndim", ndim) < x.type.ndim:
        raise ValueError(f"ndim should be equal or larger than x.ndim, but they are {ndim} and {x.type.ndim}")
    reps = _repetition_list(reps, ndim)
    ndim = max(len(reps), x.type.ndim) if ndim is None else ndim
    reps = [1] * (ndim - len(reps)) + reps
    negative = [count for count in map(known_integer, reps) if count is not None and count < 0]
    if negative:
        raise ValueError(f"tile: a number of repetitions is negative: {negative[0]}")
    missing = ndim - x.type.ndim
    lengths = [1] * missing + [shape_i(x, axis) for axis in range(x.type.ndim)]
    order, whole, tiled = [], [], []
    for axis, (count, length) in enumerate(zip(reps, lengths)):
        order.extend(["x", "x" if axis < missing else axis - missing])
        whole.extend([count, length])
        tiled.append(length * count)
    return reshape(_tiling(dimshuffle(x, order), *whole), tiled)


@at_home
class Tile:
    """Theano's older form of `tile`, whose repetitions are a vector, one for each dimension.

    Parameters
    ----------
    ndim : int
        The rank of the result, which is the length of the vector.

    Examples
    --------
    >>> T.tile(T.as_tensor([1, 2]), [2]).eval()                                  # which needs no Tile
    array([1, 2, 1, 2])
    """

    def __init__(self, ndim):
        self.ndim = ndim

    def __call__(self, x, reps):
        warnings.warn("Tile op is deprecated, use tile function instead.", stacklevel=2)
        x, reps = as_tensor_variable(x), as_tensor_variable(reps)
        if not x.type.ndim <= self.ndim <= LARGEST_RANK // 2:           # `tile` splits each dimension
            raise ValueError(f"Tile: cannot make {self.ndim} dimensions of {x} with {x.type.ndim}")
        if reps.type.ndim != 1 or reps.type.dtype not in discrete_dtypes:
            raise ValueError(f"Tile: the repetitions must be a vector of integers, got {reps} of type {reps.type}")
        return tile(x, reps, self.ndim)
