"""``Alloc``: a value broadcast to a given shape; and the gradient of what is broadcast to a given shape.

Elementwise ops repeat only what is declared broadcastable. ``Alloc`` and assignments to parts of a tensor follow
NumPy's rule for assignments: they also repeat a dimension that happens to have length 1 in a call. So the type does not
say over which dimensions the gradient is summed, and the lengths are compared at run time.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.creation.allocation_kernel import AllocKernel
from phintys.ops.creation.stretching_kernel import SumStretchedKernel
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.reduction.careduce import Sum
from phintys.ops.reduction.reduction_kernel import ReductionKernel
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import accumulator_dtype, integer_dtypes
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.tensor_type import TensorType


def lengths_of(lengths):
    """Lengths as 0-d integer variables, and their values if known."""
    variables, known = [], []
    for position, length in enumerate(lengths):
        variable = constant(length, dtype="int64") if type(length) is int else as_tensor_variable(length, ndim=0)
        if variable.type.dtype not in integer_dtypes:
            raise TypeError(f"Shape arguments to Alloc must be integers, but argument {position} is not: {length} of "
                            f"dtype {variable.type.dtype}")
        value = known_integer(variable)
        known.append(value if value is None or value >= 0 else None)     # a negative length is a run-time error
        variables.append(variable)
    return variables, known


class Alloc(Op):
    """A new array filled with a value. The inputs are the value and the lengths; the value is broadcast to the shape,
    also along dimensions that have length 1 only at run time.

    Parameters
    ----------
    repeats : str, optional
        The name of the function whose numbers of repetitions are among the lengths. It only changes error messages.

    Raises
    ------
    TypeError
        If the value has more dimensions than there are lengths, or a length is not an integer.

    Examples
    --------
    >>> T.Alloc()(T.constant(1.5), 2, 2).eval()
    array([[1.5, 1.5],
           [1.5, 1.5]], dtype=float32)
    """

    __props__ = ()
    linear_in = (0,)
    depends_on = (0,)

    def __init__(self, repeats=None):
        self.repeats = repeats

    def make_node(self, value, *shape):
        value = as_tensor_variable(value)
        lengths, known = lengths_of(shape)
        if value.type.ndim > len(lengths):
            raise TypeError("The Alloc value to use has more dimensions than the specified dimensions: "
                            f"{value.type.ndim}, not at most {len(lengths)}")
        output = TensorType(value.type.dtype, [length == 1 for length in known], shape=known)
        return Apply(self, [value, *lengths], [output.make_variable()])

    def make_kernel(self, node):
        return AllocKernel(len(node.inputs) - 1, self.repeats)

    def infer_shape(self, node, input_shapes):
        return [tuple(node.inputs[1:])]

    def grad(self, inputs, output_grads):
        value, *lengths = inputs
        return [gradient_of_broadcast(output_grads[0], value)] + [disconnected_type() for _ in lengths]


class SumStretched(Op):
    """The sum over an axis along which a value was repeated in this call. The inputs are x, of the shape that the value
    was broadcast to, and the value's length: if that is the length of x, the result is x itself (a view), and if it is
    1, the sum, with length 1.

    Parameters
    ----------
    axis : int

    Raises
    ------
    ValueError
        Raised at run time for another length.
    """

    __props__ = ("axis",)
    linear_in = (0,)
    view_map = {0: [0]}
    depends_on = (0,)

    def __init__(self, axis):
        self.axis = axis

    def make_node(self, x, length):
        x, length = as_tensor_variable(x), as_tensor_variable(length, ndim=0)
        lengths = [None if axis == self.axis else known for axis, known in enumerate(x.type.shape)]
        flags = [flag and axis != self.axis for axis, flag in enumerate(x.type.broadcastable)]
        kind = TensorType(x.type.dtype, flags, shape=lengths)
        return Apply(self, [x, as_dtype(length, "int64")], [kind.make_variable()])

    def make_kernel(self, node):
        x = node.inputs[0].type
        total = ReductionKernel(ScalarCode([x.dtype], outputs=[0]), [x.broadcastable], numpy.add, (self.axis,),
                                accumulator_dtype(x.dtype), x.dtype, keepdims=True)
        return SumStretchedKernel(self.axis, total)

    def infer_shape(self, node, input_shapes):
        return [(*input_shapes[0][:self.axis], node.inputs[1], *input_shapes[0][self.axis + 1:])]

    def L_op(self, inputs, outputs, output_grads):
        x, _ = inputs
        gradient = Alloc()(output_grads[0], *[shape_i(x, axis) for axis in range(x.type.ndim)])
        return [patternbroadcast(gradient, x.type.broadcastable), disconnected_type()]


def gradient_of_broadcast(gradient, value):
    """The gradient with respect to ``value``, which was broadcast to the shape of ``gradient``."""
    flags, lead = value.type.broadcastable, gradient.type.ndim - value.type.ndim
    repeated = [axis for axis, flag in enumerate(flags) if flag and not gradient.type.broadcastable[axis + lead]]
    if lead or repeated:
        gradient = Sum([*range(lead), *[axis + lead for axis in repeated]], dtype=gradient.type.dtype)(gradient)
    if repeated:
        kept = iter(range(gradient.type.ndim))
        gradient = dimshuffle(gradient, ["x" if axis in repeated else next(kept) for axis in range(len(flags))])
    for axis, flag in enumerate(flags):
        if not flag and value.type.shape[axis] is None and not gradient.type.broadcastable[axis]:
            gradient = SumStretched(axis)(gradient, shape_i(value, axis))
    return gradient
