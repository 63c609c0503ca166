"""Print: a value that is handed on unchanged and shown when it passes.

The optimizer knows nothing of it, so it stands in the way of rewrites that look for patterns; a node whose result
nobody needs is not run and prints nothing.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.public_names import at_home


@at_home
def print_attributes(op, value):
    """Show what ``op.attrs`` names: methods are called, anything else is shown as it is."""
    for name in op.attrs:
        shown = getattr(value, name)
        label = f"{op.message} {name} ="
        print(label, shown() if callable(shown) else shown)


class Print(Op):
    """The identity, which prints.

    Parameters
    ----------
    message : str
        Stands in front of what is printed.
    attrs : sequence of str
        Attributes and methods without arguments of the value: ``("shape", "min", "max")``.
    global_fn : callable
        Called with the op and the value; by default prints ``attrs``.
    """

    __props__ = ("message", "attrs", "global_fn")
    view_map = {0: [0]}

    def __init__(self, message="", attrs=("__str__",), global_fn=print_attributes):
        self.message = message
        self.attrs = tuple(attrs)
        self.global_fn = global_fn

    def make_node(self, x):
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = inputs[0]
        self.global_fn(self, inputs[0])

    def do_constant_folding(self, node):
        return False                                # what is folded prints while compiling, and never again

    def infer_shape(self, node, input_shapes):
        return input_shapes

    def grad(self, inputs, output_grads):
        return list(output_grads)

    def R_op(self, inputs, eval_points):
        return list(eval_points)
