"""``Check``: a value, or an exception of PyTensor's if a condition is false."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable


class Check(Op):
    """The first input, if all others are true.

    Parameters
    ----------
    exception : type
        The exception that is raised otherwise, with ``message``.
    message : str
    """

    __props__ = ("exception", "message")
    shape_as = 0
    view_map = {0: [0]}
    depends_on = (0,)

    def __init__(self, exception: Any, message: str) -> None:
        self.exception, self.message = exception, message

    def make_node(self, value: Any, *conditions: Any) -> Apply:
        return Apply(self, [value, *conditions], [value.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list[list[Any]]) -> None:
        value, *conditions = inputs
        if not all(condition.all() for condition in conditions):
            raise self.exception(self.message)
        output_storage[0][0] = value

    def grad(self, inputs: Sequence[Variable], output_gradients: Any) -> list[Variable]:
        return [output_gradients[0], *[disconnected_type() for _ in inputs[1:]]]
