"""DrawnElemwise: samples and the elementwise operations on them in one pass, so that dropout stores no random numbers.

The optimizer creates it after gradients have been taken, so it has no gradient. The numbers are those of `Draw`, bit by
bit; without the optimizer, separate nodes give the same results.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise.elementwise import inside_value
from phintys.ops.random.draw_kernel import DrawnElementwiseKernel
from phintys.ops.random.generator_states import KINDS, WORDS
from phintys.ops.random.sampling import sample_shape
from phintys.ops.types.tensor_type import TensorType

DRAWN = frozenset(["random", "normal", "exponential"])          # distributions that can be drawn block by block


class DrawnElemwise(Op):
    """The results of a scalar op applied to samples and other inputs.

    The inputs are those of the Draw, then those of the Elemwise without the sample; the outputs are the new state and
    the results.

    Parameters
    ----------
    draw : Draw
    count : int
        How many parameters the Draw has.
    scalar_op : ScalarOp
    operand : int
        Which input of the scalar op is the sample.
    broadcastable : tuple of bool
        The pattern of the sample.
    inplace : bool
        The new state overwrites the old one.
    """

    __props__ = ("draw", "count", "scalar_op", "operand", "broadcastable", "inplace")
    can_overwrite = {0: (0,)}
    is_foldable = False

    def __init__(self, draw, count, scalar_op, operand, broadcastable, inplace=False):
        self.draw, self.count, self.scalar_op, self.operand = draw, int(count), scalar_op, int(operand)
        self.broadcastable, self.inplace = tuple(broadcastable), bool(inplace)
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self):
        return f"{self.draw}, {self.scalar_op.elementwise}"

    def _elementwise(self, others):
        """The elementwise part as a separate node."""
        inputs = list(others)
        inputs.insert(self.operand, TensorType(self.draw.dtype, self.broadcastable)())
        return self.scalar_op.elementwise.make_node(*inputs)

    def make_node(self, state, size, *inputs):
        outputs = self._elementwise(inputs[self.count:]).outputs
        return Apply(self, [state, size, *inputs], [state.type(), *[output.type() for output in outputs]])

    def _kernel(self, node, values):
        others = node.inputs[2 + self.count:]
        elementwise = self._elementwise(others)
        values.insert(self.operand, None)
        position = sum([value is None for value in values[:self.operand]])
        return DrawnElementwiseKernel(
            self.draw.name, KINDS.index(self.draw.kind), self.draw.rules[:self.count], position,
            numpy.dtype(self.draw.dtype).num, elementwise.op._kernel(elementwise, values))

    def make_kernel(self, node):
        return self._kernel(node, [None] * (len(node.inputs) - 2 - self.count))

    def lower(self, emitter, node):
        """Emit the kernel; constants of one element become part of it, as in an Elemwise."""
        first = 2 + self.count
        values = [inside_value(variable) for variable in node.inputs[first:]]
        read = [variable for variable, value in zip(node.inputs[first:], values) if value is None]
        emitter.kernel(self._kernel(node, values), node, [*node.inputs[:first], *read])

    def infer_shape(self, node, input_shapes):
        shape = sample_shape(node.inputs[1], node.outputs[1].type.ndim)
        return [(WORDS[self.draw.kind],), *[shape] * (len(node.outputs) - 1)]
