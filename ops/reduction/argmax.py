"""Positions of extrema: Argmax, Argmin, and MaxAndArgmax, which programs written for Theano use.

Positions are int64; for several axes, they count in the flattened order of these axes. The first of equal extrema is
returned, and a NaN counts as the extremum, as in NumPy. Positions have a gradient of zero.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import DisconnectedType, disconnected_type
from phintys.ops.elementwise import scalar
from phintys.ops.reduction.arg_kernel import ArgKernel, ExtremumKernel
from phintys.ops.reduction.careduce import Max, axis_tuple, positive_axes
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import complex_dtypes
from phintys.ops.types.tensor_type import TensorType


class Argmax(Op):
    """The position of the first largest element over axes.

    Parameters
    ----------
    axis : None, int or sequence of int

    Examples
    --------
    >>> T.Argmax(axis=1)(T.as_tensor([[1, 5], [7, 2]])).eval()
    array([1, 0])
    """

    runs_alone = True
    __props__ = ("axis",)
    which = "argmax"

    def __init__(self, axis=None):
        self.axis = axis_tuple(axis)

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.type.dtype in complex_dtypes:
            raise TypeError(f"{type(self).__name__} of complex numbers is not defined, got {x} of type {x.type}")
        axes = positive_axes(x, self.axis)
        op = self if self.axis is None or axes == self.axis else type(self)(axes)
        kept = [axis for axis in range(x.type.ndim) if axis not in axes]
        output = TensorType("int64", [x.type.broadcastable[axis] for axis in kept],
                            shape=[x.type.shape[axis] for axis in kept])
        return Apply(op, [x], [output.make_variable()])

    def make_kernel(self, node):
        x = node.inputs[0]
        return ArgKernel(x.type.dtype, x.type.ndim, positive_axes(x, self.axis), self.which)

    def infer_shape(self, node, input_shapes):
        axes = positive_axes(node.inputs[0], self.axis)
        return [tuple([length for axis, length in enumerate(input_shapes[0]) if axis not in axes])]

    def grad(self, inputs, output_grads):
        return [scalar.zero_by(inputs[0])]

    def R_op(self, inputs, eval_points):
        return [None]

    def __str__(self):
        axes = "" if self.axis is None else f"{{{', '.join(map(str, self.axis))}}}"
        return type(self).__name__ + axes


class Argmin(Argmax):
    """The position of the first smallest element over axes.

    Examples
    --------
    >>> T.Argmin(axis=1)(T.as_tensor([[1, 5], [7, 2]])).eval()
    array([0, 1])
    """

    which = "argmin"


class MaxAndArgmax(Op):
    """The largest element and its position, as two outputs of one node that are computed in one search.

    Parameters
    ----------
    axis : sequence of int

    Examples
    --------
    >>> largest, position = T.MaxAndArgmax((1,))(T.as_tensor([[1, 5], [7, 2]]))
    >>> largest.eval(), position.eval()
    (array([5, 7]), array([1, 0]))
    """

    runs_alone = True
    __props__ = ("axis",)

    def __init__(self, axis):
        self.axis = axis_tuple(axis)

    def make_node(self, x):
        x = as_tensor_variable(x)
        return Apply(self, [x], [Max(self.axis).make_node(x).outputs[0].type(name="max"),
                                 Argmax(self.axis).make_node(x).outputs[0].type(name="argmax")])

    def make_kernel(self, node):
        x = node.inputs[0]
        return ExtremumKernel(x.type.dtype, x.type.ndim, positive_axes(x, self.axis), "argmax")

    def infer_shape(self, node, input_shapes):
        return Argmax(self.axis).infer_shape(node, input_shapes) * 2

    def L_op(self, inputs, outputs, output_grads):
        by_max, by_position = output_grads
        if isinstance(by_max.type, DisconnectedType):
            is_disconnected = isinstance(by_position.type, DisconnectedType)
            return [disconnected_type() if is_disconnected else scalar.zero_by(inputs[0])]
        return Max(self.axis).L_op(inputs, outputs[:1], [by_max])

    def R_op(self, inputs, eval_points):
        return [Max(self.axis).R_op(inputs, eval_points)[0], None]
