"""Arguments that may be None, because all ops that read them accept None (``Op.takes_none``).

``T.eye(n, m)`` is an example: if ``m`` is None, the result is square, as in Theano. If anything else reads the
argument, for instance because a shape was inferred from it, None is refused like any other value that is not a number.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.public_names import at_home
from phintys.ops.creation.absent import absent
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.type import Type


@at_home
class OptionalType:
    """The type of an argument that may also be None."""

    def __init__(self, type: Type) -> None:
        self._type = type

    def __getattr__(self, name):
        if name == "_type" or name.startswith("__"):        # asked for by copy and pickle before there is a type
            raise AttributeError(name)
        return getattr(self._type, name)

    def filter(self, value: Any, strict: bool = False, allow_downcast: Any = None) -> Any:
        """Convert a value as the type does; None becomes the value that ops recognise as None."""
        if value is None:
            return absent(self._type.dtype, self._type.ndim)
        return self._type.filter(value, strict, allow_downcast)

    def __str__(self):
        return str(self._type)


def argument_types(fgraph: FunctionGraph, count: int) -> list[Any]:
    """Return the types of the first ``count`` inputs of an optimised graph, which convert the arguments of a call."""
    return [OptionalType(variable.type) if _may_be_none(fgraph, variable) else variable.type
            for variable in fgraph.inputs[:count]]


def _may_be_none(fgraph, variable):
    readers = fgraph.clients[variable]
    return (isinstance(variable.type, TensorType) and len(readers) > 0
            and all([node != "output" and position in node.op.takes_none for node, position in readers]))
