"""A model of ONNX while it is made, and its values, with which Python's operators compute."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.errors import made_at
from phintys.making.function_maker import FunctionMaker
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.modes import Mode

FLOATS = ("float16", "float32", "float64")
WIDE = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32"}     # where ONNX has no small integers


class ExportError(NotImplementedError):
    """ONNX has nothing that computes the same."""


class Translation:
    """The model while it is made.

    Parameters
    ----------
    helper : module
        ``onnx.helper``.
    numbers : callable
        Makes a tensor of ONNX of an array.
    mode : Mode
        In which graphs inside ops are optimised.
    rows : list of (type, callable)
        Class of ops → what translates their nodes: ``(translation, node, names of inputs)`` → names of outputs.

    Attributes
    ----------
    nodes : list
        Of the graph that is being made: the model, or the body of a loop.
    initializers : list
        Of the model.
    names : dict
        Variable → the name of its value.
    """

    def __init__(self, helper: Any, numbers: Any, mode: Mode, rows: Sequence[Any]) -> None:
        self.helper, self.from_array, self.mode, self.rows = helper, numbers, mode, rows
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.names: dict[Any, str] = {}
        self._constants: dict[Any, str] = {}
        self._count = 0

    def graph(self, graph: Any) -> list[str]:
        """Add the nodes of a graph whose inputs have names; returns the names of its outputs."""
        for node in graph.toposort():
            self._add(node)
        return [self.name_of(variable) for variable in graph.outputs]

    def _add(self, node):
        """Add the nodes of an op."""
        row = next((row for kind, row in self.rows if isinstance(node.op, kind)), None)
        for variable in (*node.inputs, *node.outputs):
            check_type(variable, f"an operand of {node.op}")
        try:
            if row is None:
                raise ExportError("no translation of this op")
            names = row(self, node, [self.name_of(variable) for variable in node.inputs])
        except ExportError as error:
            raise ExportError(f"ONNX has no equal of {node.op}{made_at(node)}: {error}") from None
        self.names.update(zip(node.outputs, names))

    def name_of(self, variable: Any) -> str:
        """The name of a value; constants become initializers."""
        if variable not in self.names:
            self.names[variable] = self.constant(variable.data, variable.type.dtype)
        return self.names[variable]

    def inside(self, inputs: Sequence[Any], outputs: Sequence[Any], names: Sequence[str]) -> list[str]:
        """Add the nodes of a graph inside an op, for values of these names."""
        graph = FunctionMaker(inputs, list(outputs), self.mode, on_unused_input="ignore", profile=False).compiled
        self.names.update(zip(graph.inputs, names))
        return self.graph(graph)

    def fresh(self, hint: str) -> str:
        """A name that no value has."""
        self._count += 1
        return f"{hint}_{self._count}"

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one result, whose name it returns."""
        name = self.fresh(kind.lower())
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, dtype: Any = None) -> str:
        """The name of a constant."""
        array = numpy.array(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            name = self._constants[key] = self.fresh("constant")
            self.initializers.append(self.from_array(array, name))
        return self._constants[key]

    def cast(self, name: str, dtype: str) -> str:
        """A value converted to another dtype."""
        return self.node("Cast", name, to=self.number(dtype))

    def number(self, dtype: str) -> int:
        """ONNX's number of a dtype."""
        return int(self.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)))

    def where(self, condition: str, yes: str, no: str) -> str:
        """One of two values for each element."""
        return self.node("Where", condition, yes, no)


class Value:
    """A value of a model. Operators add nodes; numbers beside it become constants of its dtype."""

    def __init__(self, t: Translation, name: str, dtype: str) -> None:
        self.t, self.name, self.dtype = t, name, dtype

    def node(self, kind: str, *others: Any, dtype: str | None = None, **attributes: Any) -> Value:
        """The result of a node of this value and others; of this dtype if no other is given."""
        names = [other.name if isinstance(other, Value) else self.t.constant(other, self.dtype) for other in others]
        return Value(self.t, self.t.node(kind, self.name, *names, **attributes), dtype or self.dtype)

    def number(self, value: float) -> Value:
        """A constant of this dtype."""
        return Value(self.t, self.t.constant(value, self.dtype), self.dtype)

    def cast(self, dtype: str) -> Value:
        """The value in a dtype."""
        return self if dtype == self.dtype else Value(self.t, self.t.cast(self.name, dtype), dtype)

    def where(self, yes: Any, no: Value) -> Value:
        """For each element of this condition one of two values, of which the first may be a number."""
        yes = yes if isinstance(yes, Value) else no.number(yes)
        return Value(self.t, self.t.where(self.name, yes.name, no.name), no.dtype)

    def is_nan(self) -> Value:
        """Which elements are NaN."""
        return self.node("IsNaN", dtype="bool")

    def is_infinite(self) -> Value:
        """Which elements are infinite."""
        return self.node("IsInf", dtype="bool")

    def equals(self, other: Any) -> Value:
        """Which elements are equal to others."""
        return self.node("Equal", other, dtype="bool")

    def __lt__(self, other: Any) -> Value:
        return self.node("Less", other, dtype="bool")

    def __gt__(self, other: Any) -> Value:
        return self.node("Greater", other, dtype="bool")

    def __add__(self, other: Any) -> Value:
        return self.node("Add", other)

    def __sub__(self, other: Any) -> Value:
        return self.node("Sub", other)

    def __rsub__(self, other: float) -> Value:
        return self.number(other) - self

    def __mul__(self, other: Any) -> Value:
        return self.node("Mul", other)

    def __truediv__(self, other: Any) -> Value:
        return self.node("Div", other)

    def __rtruediv__(self, other: float) -> Value:
        return self.number(other) / self

    def __neg__(self) -> Value:
        return self.node("Neg")

    def __abs__(self) -> Value:
        return self.node("Abs")

    def __and__(self, other: Value) -> Value:
        return self.node("And", other)

    def __or__(self, other: Value) -> Value:
        return self.node("Or", other)

    def __xor__(self, other: Value) -> Value:
        return self.node("Xor", other)

    def __invert__(self) -> Value:
        return self.node("Not")


def check_type(variable: Any, what: str) -> None:
    """Refuse what is no array of real numbers.

    Raises
    ------
    ExportError
    """
    if not isinstance(variable.type, TensorType) or variable.type.dtype.startswith("complex"):
        raise ExportError(f"{what}, {variable}{made_at(variable)}, is of type {variable.type}: runtimes of ONNX take "
                          "arrays of real numbers")
