"""Views of the rows that a loop needs; errors if there are fewer.

A slice with too few rows would be silently shorter. ``FirstRows`` has as many rows as the loop has steps. So all
sequences of a loop have this length, and rewrites may move work from the steps to all rows. ``EnoughRows`` has at least
as many rows as the taps of a sequence need. With a rule, ``FirstRows`` permits no other number of rows. ``StepCount``
is the number of steps itself: rewrites may replace the loop, which would refuse a negative one.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.graphs.inner_graph import stacked_type
from phintys.ops.indexing.inc_subtensor import inc_subtensor
from phintys.ops.loops.first_rows_kernel import FirstRowsKernel, StepCountKernel
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType


class FirstRows(Op):
    """A view of the first rows of a tensor.

    Inputs are the tensor and how many rows, an int64 scalar.

    Parameters
    ----------
    rule : str, optional
        Why the tensor must not have more rows either; for messages.

    Raises
    ------
    ValueError
        When it runs, if the tensor has fewer rows, or more and there is a rule.
    """

    __props__ = ("rule",)
    view_map = {0: [0]}
    first_examined = 1
    rule = None                         # of ops that were pickled before there were rules
    linear_in = depends_on = (0,)

    def __init__(self, rule=None):
        self.rule = rule

    def make_node(self, x, count):
        x, count = as_tensor_variable(x), as_tensor_variable(count)
        kind = stacked_type(TensorType(x.type.dtype, x.type.broadcastable[1:], shape=x.type.shape[1:]))
        return Apply(self, [x, count], [kind.make_variable(x.name)])

    def make_kernel(self, node):
        return FirstRowsKernel(-1, _name_of(node), self.rule)

    def infer_shape(self, node, input_shapes):
        return [(node.inputs[1], *input_shapes[0][1:])]

    def grad(self, inputs, output_grads):
        x, count = inputs
        gradient, = output_grads
        return [inc_subtensor(x.zeros_like(dtype=gradient.type.dtype)[:count], gradient), disconnected_type()]


def _name_of(node):
    """The name of a node's sequence, with a space before it, for messages."""
    name = node.inputs[0].name
    return f" {name}" if name else ""


first_rows = FirstRows()


class EnoughRows(Op):
    """A view of a tensor that must have a number of rows.

    Parameters
    ----------
    count : int

    Raises
    ------
    ValueError
        When it runs, if the tensor has fewer rows.
    """

    __props__ = ("count",)
    shape_as = 0
    view_map = {0: [0]}
    linear_in = (0,)

    def __init__(self, count):
        self.count = count

    def make_node(self, x):
        return Apply(self, [x], [x.type.make_variable(x.name)])

    def make_kernel(self, node):
        return FirstRowsKernel(self.count, _name_of(node))

    def grad(self, inputs, output_grads):
        return list(output_grads)


class StepCount(Op):
    """A number of steps, an int64 scalar.

    Parameters
    ----------
    name : str
        Of the loop, for messages.

    Raises
    ------
    IndexError
        When it runs, if the number is negative.
    """

    __props__ = ()                      # loops with different names, but the same number of steps, are merged
    view_map = {0: [0]}
    depends_on = ()

    def __init__(self, name):
        self.name = name

    def make_node(self, steps):
        return Apply(self, [steps], [steps.type.make_variable(steps.name)])

    def make_kernel(self, node):
        return StepCountKernel(self.name)

    def do_constant_folding(self, node):
        return node.inputs[0].data >= 0         # otherwise it is an error of the call

    def infer_shape(self, node, input_shapes):
        return [()]
