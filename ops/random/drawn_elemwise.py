"""DrawnElemwise: samples and the elementwise operations on them in one pass, so that dropout stores no random numbers.

The optimizer creates it after gradients have been taken, so it has no gradient. The numbers are those of `Draw`, or of
`mrg_uniform`, bit by bit; without the optimizer, separate nodes give the same results.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise.elementwise import inside_value
from phintys.ops.random.draw import DISTRIBUTIONS, Draw
from phintys.ops.random.draw_kernel import DrawnElementwiseKernel
from phintys.ops.random.generator_states import KINDS
from phintys.ops.random.mrg import MrgUniformOfMany, mrg_uniform
from phintys.ops.random.mrg_kernel import MrgElementwiseKernel
from phintys.ops.types.tensor_type import TensorType

BY_BLOCKS = frozenset(["random", "normal", "exponential"])      # distributions that can be drawn block by block


def _kernel_of_draw(draw, count, place, elementwise):
    names = DISTRIBUTIONS[draw.name].parameters[:count]
    return DrawnElementwiseKernel(draw.name, KINDS.index(draw.kind), names, place, numpy.dtype(draw.dtype).num,
                                  elementwise)


def _kernel_of_mrg(draw, count, place, elementwise):
    return MrgElementwiseKernel(draw.only_used, place, numpy.dtype(draw.dtype).num, elementwise)


# Type of an op that draws → what makes the kernel.
KERNELS = {Draw: _kernel_of_draw, mrg_uniform: _kernel_of_mrg, MrgUniformOfMany: _kernel_of_mrg}


def is_drawn_by_blocks(op):
    """Whether the samples of an op can be drawn block by block."""
    return type(op) in KERNELS and (type(op) is not Draw or op.name in BY_BLOCKS)


class DrawnElemwise(Op):
    """The results of a scalar op applied to samples and other inputs.

    The inputs are those of the draw, then those of the Elemwise without the sample; the outputs are the new state, or
    rows of it, and the results.

    Parameters
    ----------
    draw : Draw or mrg_uniform
    count : int
        How many parameters the draw has.
    scalar_op : ScalarOp
    place : int
        Which input of the scalar op is the sample.
    broadcastable : tuple of bool
        The pattern of the sample.
    inplace : bool
        The new state overwrites the old one.
    """

    __props__ = ("draw", "count", "scalar_op", "place", "broadcastable", "inplace")

    def __init__(self, draw, count, scalar_op, place, broadcastable, inplace=False):
        self.draw, self.count, self.scalar_op, self.place = draw, int(count), scalar_op, int(place)
        self.broadcastable, self.inplace = tuple(broadcastable), bool(inplace)
        self.can_overwrite = draw.can_overwrite
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self):
        return f"{self.draw}, {self.scalar_op.elementwise}"

    def _elementwise(self, others):
        """The elementwise part as a separate node."""
        inputs = list(others)
        inputs.insert(self.place, TensorType(self.draw.dtype, self.broadcastable)())
        return self.scalar_op.elementwise.make_node(*inputs)

    def make_node(self, state, size, *inputs):
        outputs = self._elementwise(inputs[self.count:]).outputs
        return Apply(self, [state, size, *inputs], [state.type(), *[output.type() for output in outputs]])

    def _kernel(self, node, values):
        others = node.inputs[2 + self.count:]
        elementwise = self._elementwise(others)
        values.insert(self.place, None)
        place = sum([value is None for value in values[:self.place]])
        return KERNELS[type(self.draw)](self.draw, self.count, place, elementwise.op._kernel(elementwise, values))

    def make_kernel(self, node):
        return self._kernel(node, [None] * (len(node.inputs) - 2 - self.count))

    def lower(self, emitter, node):
        """Emit the kernel; constants of one element become part of it, as in an Elemwise."""
        first = 2 + self.count
        values = [inside_value(variable) for variable in node.inputs[first:]]
        read = [variable for variable, value in zip(node.inputs[first:], values) if value is None]
        emitter.kernel(self._kernel(node, values), node, [*node.inputs[:first], *read])

    def infer_shape(self, node, input_shapes):
        state, shape = self.draw.infer_shape(node, input_shapes)
        return [state, *[shape] * (len(node.outputs) - 1)]

    def do_constant_folding(self, node):
        return False
