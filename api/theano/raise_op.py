"""``Raise``: an op that raises an exception when its result is needed."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.apply import Apply
from phintys.graph.op import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable

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
    is_foldable = False

    def __init__(self, msg: str = "", exc: type = NotImplementedError) -> None:
        self.msg, self.exc = msg, exc

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list[list[Any]]) -> None:
        raise self.exc(self.msg)

    def __str__(self):
        return f"Raise{{{self.exc}({self.msg})}}"
