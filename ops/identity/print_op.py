"""Print: passes on a value unchanged and prints it at run time.

The optimizer has no rules for it, so it prevents rewrites of the patterns that it is part of. A node whose result is
not used does not run and prints nothing.
"""
from phintys.graph.op import IdentityOp


def print_attributes(op, value):
    """Print the attributes in ``op.attrs``: the results of methods, and other attributes unchanged."""
    for name in op.attrs:
        shown = getattr(value, name)
        label = f"{op.message} {name} ="
        print(label, shown() if callable(shown) else shown)


class Print(IdentityOp):
    """The identity, which prints its input.

    Parameters
    ----------
    message : str
        Text that precedes the printed attributes.
    attrs : sequence of str
        Names of attributes, and of methods without arguments, of the value: ``("shape", "min", "max")``.
    global_fn : callable, optional
        Called with the op and the value, instead of printing ``attrs``. A program with one cannot be saved.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.function([x], phintys.printing.Print("x is")(x) * 2)([1, 2])
    x is __str__ = [1. 2.]
    array([2., 4.])
    """

    __props__ = ("message", "attrs", "global_fn")
    view_map = {0: [0]}
    is_foldable = False                         # folding would print during compilation, and never at run time

    def __init__(self, message="", attrs=("__str__",), global_fn=None):
        self.message = message
        self.attrs = tuple(attrs)
        self.global_fn = global_fn

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = inputs[0]
        (self.global_fn or print_attributes)(self, inputs[0])
