"""Compares the shapes of a node's outputs with what its op and the types declare.

``infer_shape`` is called once, with symbols for the unknown lengths of inputs; the small graphs that it returns are
evaluated node by node at every check, so nothing is compiled.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.debugging.debug_errors import BadShape
from phintys.debugging.stepwise import compute
from phintys.graph.config import change_flags
from phintys.graph.errors import MethodNotDefined
from phintys.graph.toposort import io_toposort
from phintys.graph.variable import Constant, Variable
from phintys.ops.types.constant import constant
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy

    from phintys.graph.apply import Apply

LENGTH = TensorType("int64", ())


class ShapeRule:
    """The shape rule of one node.

    Parameters
    ----------
    node : Apply
    around : collection of Apply
        The nodes of the graph that the node belongs to; ``infer_shape`` may use their outputs.
    """

    def __init__(self, node: Apply, around: set[Apply] = ()) -> None:
        self.node, self.around = node, around
        self.symbols = [self._symbols(variable.type) for variable in node.inputs]
        self.order = None                           # the nodes that compute the lengths, in order

    def _symbols(self, type_):
        if not hasattr(type_, "broadcastable") or type_.shape is None:
            return None
        return tuple([LENGTH() if length is None else constant(length, dtype="int64") for length in type_.shape])

    def check(self, inputs: Sequence[numpy.ndarray], outputs: Sequence[numpy.ndarray],
              known: Mapping[Variable, numpy.ndarray]) -> None:
        """Raise `BadShape` unless the outputs have the declared shapes.

        Parameters
        ----------
        inputs, outputs : list
            Values.
        known : dict
            Variable → value, for what was computed in the surrounding graph.
        """
        for position, (variable, value) in enumerate(zip(self.node.outputs, outputs)):
            self._check_type(position, variable.type, value)
        if self.order is None:
            with change_flags(compute_test_value="off"):
                self._ask()
        values = self._values(inputs, outputs, known)
        if values is None:
            return
        try:
            lengths = self._evaluate(values)
        except Exception as error:
            raise BadShape(self.node, 0, f"nothing, but {type(error).__name__}: {error}", outputs[0].shape) from error
        for position, (shape, value) in enumerate(zip(self.inferred, outputs)):
            if shape is not None:
                self._compare(position, shape, lengths, value)

    def _check_type(self, position, type_, value):
        promised = type_.shape if hasattr(type_, "broadcastable") else None
        if promised is not None and any([length not in (None, actual)
                                         for length, actual in zip(promised, value.shape)]):
            raise BadShape(self.node, position, promised, value.shape, source=f"the type {type_} of output {position}")

    def _ask(self):
        node = self.node
        try:
            inferred = node.op.infer_shape(node, list(self.symbols))
        except (MethodNotDefined, NotImplementedError):
            inferred = [None] * len(node.outputs)
        self.inferred = [self._checked(position, shape) for position, shape in enumerate(inferred)]
        self.lengths = [length for shape in self.inferred for length in shape or () if isinstance(length, Variable)]
        blockers = [*node.inputs, *node.outputs]
        self.order = io_toposort(blockers, self.lengths, known=self.around)
        made = {*blockers, *[variable for symbols in self.symbols for variable in symbols or ()],
                *[variable for inner in self.order for variable in inner.outputs]}
        read = [*self.lengths, *[variable for inner in self.order for variable in inner.inputs]]
        self.foreign = [variable for variable in dict.fromkeys(read)
                        if variable not in made and not isinstance(variable, Constant)]

    def _checked(self, position, shape):
        """Return the shape of one output as a tuple, or None if there is nothing to compare."""
        type_ = self.node.outputs[position].type
        if shape is None or not hasattr(type_, "broadcastable"):
            return None
        if len(shape) != type_.ndim:
            raise BadShape(self.node, position, tuple(shape), f"{type_.ndim} dimensions")
        return tuple(shape)

    def _values(self, inputs, outputs, known):
        """Map the variables that the rule reads to values; None if one of them has not been computed."""
        if any([variable not in known for variable in self.foreign]):
            return None
        values = {variable: known[variable] for variable in self.foreign}
        values.update(zip([*self.node.outputs, *self.node.inputs], [*outputs, *inputs]))
        for symbols, value in zip(self.symbols, inputs):
            values.update(zip(symbols or (), map(LENGTH.filter, getattr(value, "shape", ()))))
        return values

    def _evaluate(self, values):
        """Map all lengths that can be computed to their values."""
        for inner in self.order:
            compute(inner, values)
        return {length: int(values[length] if length in values else length.data) for length in self.lengths}

    def _compare(self, position, shape, lengths, value):
        flags = self.node.outputs[position].type.broadcastable
        known = tuple([1 if flag else int(lengths.get(length, length) if isinstance(length, Variable) else length)
                       for flag, length in zip(flags, shape)])
        if known != value.shape:
            raise BadShape(self.node, position, known, value.shape)
