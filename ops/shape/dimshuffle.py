"""DimShuffle: a view with permuted, dropped and added dimensions, and functions that are special cases of it.

Nothing is copied. A dropped dimension must be declared broadcastable; an added one has length 1.
"""
import numpy
from numpy.exceptions import AxisError

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.ops.native.shape_kernel import DimShuffleKernel
from phintys.ops.types.axes import one_axis, sequence_of
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.tensor_type import TensorType, known_type

_output_types = {}      # (key of the input's type, new order) → type: making a type costs more than making a node
_ops = {}               # (broadcastable, new order) → DimShuffle


def _dimensions(axes):
    return f"dimension {axes[0]}" if len(axes) == 1 else f"dimensions {', '.join(map(str, axes))}"


class DimShuffle(Op):
    """Permute, drop and add dimensions.

    Parameters
    ----------
    input_broadcastable : sequence of bool
        The pattern of the input; where it is False, the input may have any length.
    new_order : sequence of int or 'x'
        For each dimension of the output, the input's dimension or ``'x'`` for a new one of length 1.
    inplace : bool
        Accepted for compatibility with Theano; always True.
    of_index : bool
        Whether an index such as ``x[None]`` made it, so that the output is a part of x. It does not affect the result.

    Attributes
    ----------
    shuffle, drop, augment : list of int
        Input dimensions kept (in the new order), input dimensions dropped, and output dimensions added.

    Raises
    ------
    TypeError
        If an entry is neither an int nor ``'x'``.
    ValueError
        If a dimension does not exist, appears twice, or is dropped without being broadcastable.

    Examples
    --------
    >>> T.DimShuffle((False, False), (1, "x", 0))(T.zeros((2, 3))).eval().shape
    (3, 1, 2)
    """

    __props__ = ("input_broadcastable", "new_order", "inplace")
    linear_in = (0,)
    view_map = {0: [0]}
    inplace = True

    def __init__(self, input_broadcastable, new_order, inplace=True, of_index=False):
        self.of_index = of_index
        if inplace is not True:
            raise ValueError("DimShuffle is inplace by default and hence the inplace for DimShuffle must be true")
        self.input_broadcastable = tuple([bool(flag) for flag in input_broadcastable])
        self.new_order = tuple([self._checked(position, value) for position, value in enumerate(new_order)])
        self.shuffle = [value for value in self.new_order if value != "x"]
        if len(set(self.shuffle)) != len(self.shuffle):
            raise ValueError("The same input dimension may not appear twice in the list of output dimensions: "
                             f"{self.new_order}")
        self.augment = [position for position, value in enumerate(self.new_order) if value == "x"]
        self.drop = [axis for axis in range(len(self.input_broadcastable)) if axis not in self.shuffle]
        if not all([self.input_broadcastable[axis] for axis in self.drop]):
            lost = [axis for axis in self.drop if not self.input_broadcastable[axis]]
            raise ValueError("You cannot drop a non-broadcastable dimension: the new order "
                             f"{self.new_order} leaves out {_dimensions(lost)} of {len(self.input_broadcastable)}, "
                             "whose length may be other than 1. Sum over it, index it, or declare it by "
                             "T.addbroadcast(x, axis).")

    def _checked(self, position, value):
        if isinstance(value, str) and value == "x":
            return "x"
        if isinstance(value, bool) or not isinstance(value, (int, numpy.integer)):
            raise TypeError(f"DimShuffle indices must be python ints. Got: '{value}' of type '{type(value)}'.")
        rank = len(self.input_broadcastable)
        if not -rank <= value < rank:
            raise AxisError(f"new_order[{position}] is {value}, but the input only has {rank} axes.")
        return int(value) % rank

    def make_node(self, x):
        x = as_tensor_variable(x)
        key = x.type.key, self.new_order
        output_type = _output_types.get(key)
        if output_type is None or x.type.broadcastable != self.input_broadcastable:
            self._check_pattern(x.type.broadcastable)
            output_type = _output_types[key] = self._output_type(x.type)
        return Apply(self, [x], [output_type.make_variable()])

    def _check_pattern(self, pattern):
        expected = self.input_broadcastable
        if len(pattern) != len(expected):
            raise TypeError(f"The number of dimensions of the input is incorrect for this op. Expected {expected}, "
                            f"got {pattern}.")
        if any([wanted and not given for wanted, given in zip(expected, pattern)]):
            raise TypeError(f"The broadcastable pattern of the input is incorrect for this op. Expected {expected}, "
                            f"got {pattern}.")

    def _output_type(self, input_type):
        shape = [1 if value == "x" else input_type.shape[value] for value in self.new_order]
        pattern = [value == "x" or input_type.broadcastable[value] for value in self.new_order]
        return known_type(input_type.dtype, pattern, shape)

    def make_kernel(self, node):
        return DimShuffleKernel(len(self.input_broadcastable), self.new_order)

    def infer_shape(self, node, input_shapes):
        shape, = input_shapes
        return [tuple([1 if value == "x" else shape[value] for value in self.new_order])]

    def grad(self, inputs, output_grads):
        x, = inputs
        gz, = output_grads
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        order = ["x"] * x.type.ndim
        for position, value in enumerate(self.new_order):
            if value != "x":
                order[value] = position
        return [dimshuffle(declare_ones(gz, self.augment), *order)]

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        mask, = masks
        return self.grad(inputs, output_grads), [mask.moved(lambda condition: self.grad(inputs, [condition])[0])]

    def __str__(self):
        return f"InplaceDimShuffle{{{','.join(map(str, self.new_order))}}}"


def declare_ones(x, axes):
    """``x`` with the given dimensions declared broadcastable."""
    if all([x.type.broadcastable[axis] for axis in axes]):
        return x
    return TensorType.patternbroadcast(x, [flag or axis in axes for axis, flag in enumerate(x.type.broadcastable)])


def dimshuffle(x, *pattern):
    """A view of ``x`` with its dimensions permuted, dropped and added.

    Parameters
    ----------
    x : tensor-like
    *pattern : int, 'x', or one list of them
        For each dimension of the result, the dimension of ``x`` or ``'x'`` for a new one of length 1.

    Returns
    -------
    TensorVariable
        Of the dtype of ``x``; it is a view of the memory of ``x``.

    Raises
    ------
    ValueError
        If a dimension does not exist, appears twice, or is omitted without being broadcastable.

    Examples
    --------
    >>> T.dimshuffle(T.as_tensor([1, 2]), "x", 0).eval()
    array([[1, 2]])
    """
    x = as_tensor_variable(x)
    if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)):
        pattern = tuple(pattern[0])
    try:
        op = _ops.get((x.type.broadcastable, pattern))
    except TypeError:                               # an entry is not hashable: DimShuffle raises the error for it
        op = None
    if op is None:
        op = DimShuffle(x.type.broadcastable, pattern)
        _ops[op.input_broadcastable, op.new_order] = op
    return op(x)


def transpose(x, axes=None):
    """``x`` with its dimensions reversed, or in the order of ``axes``.

    Examples
    --------
    >>> T.transpose(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([[1, 3],
           [2, 4]])
    """
    x = as_tensor_variable(x)
    order = range(x.type.ndim - 1, -1, -1) if axes is None else [axes] if isinstance(axes, int) else axes
    result = dimshuffle(x, sequence_of("transpose", "axes", order))
    if x.name and axes is None:
        result.name = x.name + ".T"
    return result


def swapaxes(y, axis1, axis2):
    """``y`` with two dimensions interchanged; raises ``IndexError`` for one that does not exist.

    Examples
    --------
    >>> T.swapaxes(T.zeros((2, 3, 4)), 0, 2).eval().shape
    (4, 3, 2)
    """
    y = as_tensor_variable(y)
    order = list(range(y.type.ndim))
    axis1, axis2 = [one_axis("swapaxes", y, axis) for axis in (axis1, axis2)]
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return dimshuffle(y, order)


def shape_padleft(t, n_ones=1):
    """``t`` with ``n_ones`` dimensions of length 1 added at the start.

    Examples
    --------
    >>> T.shape_padleft(T.as_tensor([1, 2])).type.ndim
    2
    """
    t = as_tensor_variable(t)
    return dimshuffle(t, ["x"] * n_ones + list(range(t.type.ndim)))


def shape_padright(t, n_ones=1):
    """``t`` with ``n_ones`` dimensions of length 1 added at the end.

    Examples
    --------
    >>> T.shape_padright(T.as_tensor([1, 2])).eval()
    array([[1],
           [2]])
    """
    t = as_tensor_variable(t)
    return dimshuffle(t, list(range(t.type.ndim)) + ["x"] * n_ones)


def shape_padaxis(t, axis):
    """``t`` with a dimension of length 1 at ``axis`` of the result; raises ``AxisError`` if that is out of bounds.

    Examples
    --------
    >>> T.shape_padaxis(T.as_tensor([1, 2]), 0).eval()
    array([[1, 2]])
    """
    t = as_tensor_variable(t)
    order = list(range(t.type.ndim))
    order.insert(one_axis("shape_padaxis", t, axis, more=1), "x")
    return dimshuffle(t, order)
