"""WithInitial: the rows of a state, as a function that also depends on the rows before the first step.

A loop's output for a state begins with its initial rows, but its connection pattern does not count these, because users
see only the rows after them. Code that nevertheless reads the initial rows, such as the gradient of a loop, reads them
through this op, so that second derivatives include them. It is a view, and the optimizer removes it.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op


class WithInitial(Op):
    """All rows of a state. The inputs are these rows, and the rows before the first step, with which they begin."""

    __props__ = ()
    shape_as = 0
    view_map = {0: [0]}

    def make_node(self, rows, initial):
        return Apply(self, [rows, initial], [rows.type.make_variable()])

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = inputs[0]

    def grad(self, inputs, output_grads):
        gradient, = output_grads
        return [gradient, gradient[:inputs[1].shape[0]]]

    def R_op(self, inputs, eval_points):
        rows, initial = eval_points
        return [rows if rows is not None or initial is None else inputs[0].zeros_like()]


with_initial = WithInitial()
