"""``Check``: a value, or an exception of PyTensor's if a condition is false."""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type


class Check(Op):
    """The first input, if all others are true.

    Parameters
    ----------
    exception : type
        The exception that is raised otherwise, with ``message``.
    message : str
    """

    __props__ = ("exception", "message")
    view_map = {0: [0]}

    def __init__(self, exception, message):
        self.exception, self.message = exception, message

    def make_node(self, value, *conditions):
        return Apply(self, [value, *conditions], [value.type()])

    def perform(self, node, inputs, output_storage):
        value, *conditions = inputs
        if not all(condition.all() for condition in conditions):
            raise self.exception(self.message)
        output_storage[0][0] = value

    def infer_shape(self, node, shapes):
        return [shapes[0]]

    def connection_pattern(self, node):
        return [[True], *[[False] for _ in node.inputs[1:]]]

    def grad(self, inputs, output_gradients):
        return [output_gradients[0], *[disconnected_type() for _ in inputs[1:]]]
