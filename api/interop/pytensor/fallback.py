"""Ops without a row: PyTensor's own ``perform``, as an op of phintys that is called from Python."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy
from pytensor.graph.op import _NoPythonOp
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.random.op import RNGConsumerOp
from pytensor.tensor.random.type import RandomType

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.type import generic
from phintys.interop.pytensor.types import is_dense, translated_type
from phintys.ops.random.generator_objects import generator_of, state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable

_named = set()


class PyTensorFallbackWarning(UserWarning):
    """An op of PyTensor is run by its own Python code, because phintys has no code for it."""


class Performed(Op):
    """An op of PyTensor.

    Parameters
    ----------
    op : pytensor.graph.Op
    node : pytensor.graph.Apply
        A node of it, for the types, and for ``perform``.
    """

    def __init__(self, op: Op, node: Apply) -> None:
        self.op, self.node = op, node
        if hasattr(op, "prepare_node"):
            op.prepare_node(node, None, None, "py")
        self.input_types = [variable.type for variable in node.inputs]
        self.output_types = [variable.type for variable in node.outputs]
        self.generators = [position for position, kind in enumerate(self.output_types) if isinstance(kind, RandomType)]

    def __eq__(self, other):
        return (type(self) is type(other) and self.op == other.op and self.input_types == other.input_types
                and self.output_types == other.output_types)

    def __hash__(self):
        return hash((type(self), self.op, *self.output_types))

    def __str__(self):
        return f"PyTensor's {self.op}"

    def make_node(self, *inputs: Any) -> Apply:
        kinds = list(map(translated_type, self.output_types))
        if any(isinstance(kind, RandomType) and given.type == generic
               for kind, given in zip(self.input_types, inputs)):
            for position in self.generators:
                kinds[position] = generic
        return Apply(self, list(inputs), [kind() for kind in kinds])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list[list[Any]]) -> None:
        values = [_argument(kind, value) for kind, value in zip(self.input_types, inputs)]
        storage = [[None] for _ in output_storage]
        self.op.perform(self.node, values, storage)
        for position in self.generators:
            if node.outputs[position].type != generic:
                storage[position][0] = state_of(storage[position][0])
        for cell, kind, (value,) in zip(output_storage, self.output_types, storage):
            is_array = isinstance(kind, ScalarType) or is_dense(kind)
            cell[0] = numpy.asarray(value, dtype=kind.dtype) if is_array else value

    def do_constant_folding(self, node: Apply) -> bool:
        """What PyTensor's op says of its own node; no random numbers are drawn beforehand."""
        return not isinstance(self.op, RNGConsumerOp) and self.op.do_constant_folding(None, self.node)


def _argument(kind, value):
    """A value as PyTensor's op gets it."""
    if isinstance(kind, ScalarType):
        return value[()]
    return generator_of(value) if isinstance(kind, RandomType) and isinstance(value, numpy.ndarray) else value


def performed(op: Op, node: Apply, inputs: Sequence[Variable]) -> Any:
    """The outputs of a node, computed by PyTensor's op.

    The op is named once, by a warning, unless it draws random numbers.

    Raises
    ------
    NotImplementedError
        If the op has no Python code.
    """
    name = type(op).__name__
    if isinstance(op, _NoPythonOp):
        raise NotImplementedError(f"phintys has no translation of {node}, an op of {type(op)}, and the op has no "
                                  "Python code (perform) that could be called")
    if name not in _named and not isinstance(op, RNGConsumerOp):        # these are meant to be run by NumPy
        _named.add(name)
        warnings.warn(f"phintys has no code for PyTensor's {name}: PyTensor's own Python code is called for {node}",
                      PyTensorFallbackWarning, stacklevel=2)
    return Performed(not_in_place(op), node)(*inputs, return_list=True)


def not_in_place(op: Op) -> Any:
    """An equal op that does not overwrite its inputs."""
    if getattr(op, "inplace", False) and "inplace" in (getattr(op, "__props__", None) or ()):
        return type(op)(**{**op._props_dict(), "inplace": False})
    return op
