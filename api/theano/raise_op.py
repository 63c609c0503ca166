"""``Raise``: an op that raises an exception when its result is needed."""
from phintys.graph.apply import Apply
from phintys.graph.op import Op

__all__ = ["Raise"]


class Raise(Op):
    """A variable of the input's type; running the node raises.

    Parameters
    ----------
    msg : str
        The argument of the exception.
    exc : type
        The exception.

    Examples
    --------
    >>> phintys.raise_op.Raise("not this way")(T.dvector("x")).type
    TensorType(float64, vector)
    """

    __props__ = ("msg", "exc")

    def __init__(self, msg="", exc=NotImplementedError):
        self.msg, self.exc = msg, exc

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        raise self.exc(self.msg)

    def do_constant_folding(self, node):
        return False

    def __str__(self):
        return f"Raise{{{self.exc}({self.msg})}}"
