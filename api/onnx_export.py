"""Functions as models of ONNX, where the two mean the same: ``export_onnx``.

The user's graph is optimised without fusion and without overwriting, and each node is translated by a row of ``OPS``.
Elementwise ops need no rows: their scalar code (``ops/elementwise/scalar_code.py``) is a list of NumPy's loops with all
dtypes, and each loop has a row of ``LOOPS``. Where NumPy and ONNX differ, a row has the nodes that make up for it; what
has no row, or differs without remedy, is refused by its name and the reason. The guide has the table of differences
("Saving and shipping programs").
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.errors import made_at
from phintys.making.compiled_function import Function
from phintys.making.function_maker import FunctionMaker
from phintys.modes import OPT_STABILIZE, Mode
from phintys.onnx_graphs import choice, opened, whole_loop
from phintys.ops.convolution.convolution import AbstractConv
from phintys.ops.creation.alloc import Alloc
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar_code import CodeBuilder, loop_name
from phintys.ops.graphs.ifelse import IfElse
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.identity.assertion import Assert
from phintys.ops.identity.deep_copy import DeepCopyOp
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.indexing.advanced_subtensor import AdvancedSubtensor1
from phintys.ops.indexing.subtensor import Subtensor
from phintys.ops.loops.first_rows import EnoughRows, FirstRows, StepCount
from phintys.ops.loops.loop import Scan
from phintys.ops.nnet.softmax import LogSoftmax, Softmax, SoftmaxWithBias
from phintys.ops.pooling.pool import Pool
from phintys.ops.products.batched_product import BatchedDot
from phintys.ops.products.dot import Dot
from phintys.ops.reduction.argmax import Argmax, Argmin, MaxAndArgmax
from phintys.ops.reduction.careduce import CAReduce
from phintys.ops.reduction.mean import Mean
from phintys.ops.shape.contiguous import CpuContiguous
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.ops.shape.join import Join, MakeVector
from phintys.ops.shape.reshape import Reshape
from phintys.ops.shape.shape import Rebroadcast, Shape, Shape_i, SpecifyShape
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    import os

__all__ = ["ExportError", "export_onnx"]

OPSET = 20
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

    Attributes
    ----------
    nodes : list
        Of the graph that is being made: the model, or the body of a loop.
    initializers : list
        Of the model.
    names : dict
        Variable → the name of its value.
    """

    refusal = ExportError

    def __init__(self, helper: Any, numbers: Any, mode: Mode) -> None:
        self.helper, self.from_array, self.mode = helper, numbers, mode
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.names: dict[Any, str] = {}
        self._constants: dict[Any, str] = {}
        self._count = 0

    def graph(self, graph: Any) -> list[str]:
        """Add the nodes of a graph whose inputs have names; returns the names of its outputs."""
        for node in graph.toposort():
            _translate(self, node)
        return [_name_of(self, variable) for variable in graph.outputs]

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


# ---- loops -----------------------------------------------------------------------------------------------------------
# Each row takes the translation, the names of operands, and the dtypes of operands and of the result.
def simple(kind: str) -> Callable[..., str]:
    """The row of a loop that is one node; small integers are computed in wider ones."""
    def row(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
        given, wide = dtypes[0], WIDE.get(dtypes[0])
        if wide is None or given == "bool":
            return t.node(kind, *operands)
        result = t.node(kind, *[t.cast(operand, wide) for operand in operands])
        return result if dtypes[-1] == "bool" else t.cast(result, dtypes[-1])
    return row


def of_floats(kind: str) -> Callable[..., str]:
    """The row of a loop that is one node on floats."""
    def row(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
        if dtypes[0] not in FLOATS:
            raise ExportError(f"{kind} of {dtypes[0]}")
        return t.node(kind, *operands)
    return row


def formula(write: Callable[..., str]) -> Callable[..., str]:
    """The row of a loop on floats that ``write(t, number, *operands)`` writes."""
    def row(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
        if dtypes[0] not in FLOATS:
            raise ExportError(f"a formula for {dtypes[0]}")
        return write(t, lambda value: t.constant(value, dtypes[0]), *operands)
    return row


def _boolean(kind: str, instead: str) -> Callable[..., str]:
    """A sum or product, which NumPy computes for booleans as a logical operation."""
    plain = simple(kind)
    return lambda t, operands, dtypes: (t.node(instead, *operands) if dtypes[0] == "bool"
                                        else plain(t, operands, dtypes))


def _extremum(kind: str, first: str) -> Callable[..., str]:
    """NaN of either operand stays; ONNX leaves open what becomes of it."""
    def row(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
        x, y = operands
        if dtypes[0] == "bool":
            return t.node("Or" if kind == "Max" else "And", x, y)
        if dtypes[0] not in FLOATS:
            wide = WIDE.get(dtypes[0], dtypes[0])
            compared = [t.cast(name, wide) for name in (x, y)] if wide != dtypes[0] else [x, y]
            return t.where(t.node(first, *compared), x, y)
        return t.where(t.node("IsNaN", x), x, t.where(t.node("IsNaN", y), y, t.node(kind, x, y)))
    return row


def _comparison(kind: str, inverted: bool = False) -> Callable[..., str]:
    def row(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
        wide = "int32" if dtypes[0] == "bool" and kind != "Equal" else WIDE.get(dtypes[0])
        compared = [t.cast(name, wide) for name in operands] if wide else operands
        result = t.node(kind, *compared)
        return t.node("Not", result) if inverted else result
    return row


def _logical(kind: str) -> Callable[..., str]:
    def row(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
        return t.node(kind, *[operand if dtype == "bool" else t.cast(operand, "bool")
                              for operand, dtype in zip(operands, dtypes)])
    return row


def _bits(kind: str, instead: str) -> Callable[..., str]:
    return lambda t, operands, dtypes: t.node(instead if dtypes[0] == "bool" else kind, *operands)


def _widened(write: Callable[..., str]) -> Callable[..., str]:
    """Integers in int32 or wider, floats as they are."""
    def row(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
        if dtypes[0] == "bool":
            raise ExportError("a quotient of booleans")
        wide = WIDE.get(dtypes[0])
        names = [t.cast(name, wide) for name in operands] if wide else list(operands)
        result = write(t, *names, wide or dtypes[0])
        return t.cast(result, dtypes[-1]) if wide else result
    return row


def _remainder(t: Translation, x: str, y: str, dtype: str) -> str:
    """The sign of the divisor; 0 for integers by 0, on which runtimes end the process; NaN for floats by 0."""
    zero = t.constant(0, dtype)
    if dtype not in FLOATS:
        by_zero = t.node("Equal", y, zero)
        return t.where(by_zero, zero, t.node("Mod", x, t.where(by_zero, t.constant(1, dtype), y)))
    rest = t.node("Mod", x, y, fmod=1)
    other = t.node("Xor", t.node("Less", rest, zero), t.node("Less", y, zero))
    moved = t.where(t.node("And", other, t.node("Not", t.node("Equal", rest, zero))), t.node("Add", rest, y), rest)
    return t.where(t.node("Equal", y, zero), t.node("Div", zero, zero), moved)


def _floor_divide(t: Translation, x: str, y: str, dtype: str) -> str:
    """Rounded down; ONNX's quotient of integers is rounded towards 0. 0 for integers by 0."""
    zero = t.constant(0, dtype)
    if dtype not in FLOATS:
        by_zero = t.node("Equal", y, zero)
        exact = t.node("Div", t.node("Sub", x, _remainder(t, x, y, dtype)), t.where(by_zero, t.constant(1, dtype), y))
        return t.where(by_zero, zero, exact)
    rest = t.node("Mod", x, y, fmod=1)
    other = t.node("And", t.node("Not", t.node("Equal", rest, zero)),
                   t.node("Xor", t.node("Less", rest, zero), t.node("Less", y, zero)))
    quotient = t.node("Sub", t.node("Div", t.node("Sub", x, rest), y), t.cast(other, dtype))
    low = t.node("Floor", quotient)
    near = t.where(t.node("Greater", t.node("Sub", quotient, low), t.constant(0.5, dtype)),
                   t.node("Add", low, t.constant(1, dtype)), low)
    return t.where(t.node("Equal", y, zero), t.node("Div", x, y), near)


def _fmod(t: Translation, x: str, y: str, dtype: str) -> str:
    if dtype in FLOATS:
        return t.node("Mod", x, y, fmod=1)
    by_zero = t.node("Equal", y, t.constant(0, dtype))
    return t.where(by_zero, t.constant(0, dtype), t.node("Mod", x, t.where(by_zero, t.constant(1, dtype), y), fmod=1))


def _power(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
    if dtypes[0] not in FLOATS:
        raise ExportError("powers of integers, which runtimes of ONNX compute in floating point")
    return t.node("Pow", *operands)


def _negative(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
    if dtypes[0].startswith("uint"):
        raise ExportError("negative unsigned integers")
    return simple("Neg")(t, operands, dtypes)


def _square(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
    return LOOPS["multiply"](t, [*operands, *operands], [dtypes[0], *dtypes])


def _sign(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
    x, = operands
    result = simple("Sign")(t, operands, dtypes)
    return t.where(t.node("IsNaN", x), x, result) if dtypes[0] in FLOATS else result


def _log1p(t: Translation, number: Callable[[float], str], x: str) -> str:
    """Exact for small x: ``log(u) x / (u - 1)`` with the rounded ``u = 1 + x``."""
    u = t.node("Add", x, number(1))
    exact = t.node("Mul", t.node("Log", u), t.node("Div", x, t.node("Sub", u, number(1))))
    plain = t.node("Or", t.node("IsInf", u), t.node("Not", t.node("Greater", u, number(0))))
    return t.where(t.node("Equal", u, number(1)), x, t.where(plain, t.node("Log", u), exact))


def _expm1(t: Translation, number: Callable[[float], str], x: str) -> str:
    """Exact for small x: ``(u - 1) x / log(u)`` with the rounded ``u = exp(x)``."""
    u = t.node("Exp", x)
    less = t.node("Sub", u, number(1))
    exact = t.node("Mul", less, t.node("Div", x, t.node("Log", u)))
    plain = t.node("Or", t.node("IsInf", u), t.node("Not", t.node("Greater", u, number(0))))
    return t.where(t.node("Equal", u, number(1)), x, t.where(plain, less, exact))


def _sinh(t: Translation, number: Callable[[float], str], x: str) -> str:
    """``(e + e / (e + 1)) / 2`` with ``e = expm1(|x|)``, which is exact for small x."""
    size = t.node("Abs", x)
    e = _expm1(t, number, size)
    both = t.node("Add", e, t.node("Div", e, t.node("Add", e, number(1))))
    half = t.node("Mul", number(0.5), t.where(t.node("IsInf", e), e, both))
    return t.where(t.node("Less", x, number(0)), t.node("Neg", half), half)


def _cosh(t: Translation, number: Callable[[float], str], x: str) -> str:
    e = t.node("Exp", t.node("Abs", x))
    return t.node("Mul", number(0.5), t.node("Add", e, t.node("Div", number(1), e)))


def _softplus(t: Translation, number: Callable[[float], str], x: str) -> str:
    small = _log1p(t, number, t.node("Exp", t.node("Neg", t.node("Abs", x))))
    return t.node("Add", t.node("Max", x, number(0)), small)


def _of_large(t: Translation, number: Callable[[float], str], size: str, small: str) -> str:
    """An inverse hyperbolic function: ``log(2 size)`` where squares would overflow."""
    large = t.node("Add", t.node("Log", size), number(math.log(2)))
    return t.where(t.node("Greater", size, number(1e6)), large, small)


def _arcsinh(t: Translation, number: Callable[[float], str], x: str) -> str:
    size = t.node("Abs", x)
    square = t.node("Mul", size, size)
    root = t.node("Sqrt", t.node("Add", square, number(1)))
    small = _log1p(t, number, t.node("Add", size, t.node("Div", square, t.node("Add", root, number(1)))))
    value = _of_large(t, number, size, small)
    return t.where(t.node("Less", x, number(0)), t.node("Neg", value), value)


def _arccosh(t: Translation, number: Callable[[float], str], x: str) -> str:
    less = t.node("Sub", x, number(1))
    root = t.node("Sqrt", t.node("Mul", less, t.node("Add", x, number(1))))
    return _of_large(t, number, x, _log1p(t, number, t.node("Add", less, root)))


def _arctanh(t: Translation, number: Callable[[float], str], x: str) -> str:
    size = t.node("Abs", x)
    ratio = t.node("Div", t.node("Add", size, size), t.node("Sub", number(1), size))
    value = t.node("Mul", number(0.5), _log1p(t, number, ratio))
    return t.where(t.node("Less", x, number(0)), t.node("Neg", value), value)


def _scaled_log(base: float) -> Callable[..., str]:
    return formula(lambda t, number, x: t.node("Div", t.node("Log", x), number(math.log(base))))


def _scaled(factor: float) -> Callable[..., str]:
    return formula(lambda t, number, x: t.node("Mul", x, number(factor)))


def _cast(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
    return t.cast(operands[0], dtypes[-1])


def _switch(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
    condition, yes, no = operands
    return t.where(condition if dtypes[0] == "bool" else t.cast(condition, "bool"), yes, no)


def _clip(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
    """Below the lower limit that one, above the upper limit that one, whichever is larger; NaN stays. ONNX's Clip gives
    the upper one where they are crossed, and leaves NaN open."""
    x, low, high = operands
    compared = [dtypes[0], dtypes[0], "bool"]
    above = t.where(LOOPS["greater"](t, [x, high], compared), high, x)
    return t.where(LOOPS["less"](t, [x, low], compared), low, above)


def _finite(t: Translation, operands: Sequence[str], dtypes: Sequence[str]) -> str:
    return t.node("Not", t.node("Or", t.node("IsNaN", *operands), t.node("IsInf", *operands)))


LOOPS: dict[str, Callable[..., str]] = {
    "add": _boolean("Add", "Or"), "multiply": _boolean("Mul", "And"), "subtract": simple("Sub"),
    "divide": of_floats("Div"), "true_divide": of_floats("Div"), "floor_divide": _widened(_floor_divide),
    "remainder": _widened(_remainder), "fmod": _widened(_fmod), "power": _power, "negative": _negative,
    "absolute": simple("Abs"), "square": _square, "reciprocal": of_floats("Reciprocal"), "sign": _sign,
    "sqrt": of_floats("Sqrt"), "exp": of_floats("Exp"), "log": of_floats("Log"), "sin": of_floats("Sin"),
    "cos": of_floats("Cos"), "tanh": of_floats("Tanh"), "floor": of_floats("Floor"), "ceil": of_floats("Ceil"),
    "rint": of_floats("Round"), "isnan": of_floats("IsNaN"), "isinf": of_floats("IsInf"), "isfinite": _finite,
    "arctan": of_floats("Atan"), "arcsin": of_floats("Asin"), "arccos": of_floats("Acos"),
    "arcsinh": formula(_arcsinh), "arccosh": formula(_arccosh), "arctanh": formula(_arctanh),
    "softplus": formula(_softplus),
    "erf": of_floats("Erf"), "log1p": formula(_log1p), "expm1": formula(_expm1), "sinh": formula(_sinh),
    "cosh": formula(_cosh), "log2": _scaled_log(2), "log10": _scaled_log(10),
    "exp2": formula(lambda t, number, x: t.node("Pow", number(2), x)),
    "tan": formula(lambda t, number, x: t.node("Div", t.node("Sin", x), t.node("Cos", x))),
    "trunc": formula(lambda t, number, x: t.where(t.node("Less", x, number(0)), t.node("Ceil", x),
                                                  t.node("Floor", x))),
    "deg2rad": _scaled(math.pi / 180), "rad2deg": _scaled(180 / math.pi),
    "maximum": _extremum("Max", "Greater"), "minimum": _extremum("Min", "Less"),
    "equal": _comparison("Equal"), "not_equal": _comparison("Equal", True), "less": _comparison("Less"),
    "less_equal": _comparison("LessOrEqual"), "greater": _comparison("Greater"),
    "greater_equal": _comparison("GreaterOrEqual"), "logical_and": _logical("And"), "logical_or": _logical("Or"),
    "logical_xor": _logical("Xor"), "logical_not": _logical("Not"), "bitwise_and": _bits("BitwiseAnd", "And"),
    "bitwise_or": _bits("BitwiseOr", "Or"), "bitwise_xor": _bits("BitwiseXor", "Xor"),
    "invert": _bits("BitwiseNot", "Not"), "cast": _cast, "switch": _switch, "clip": _clip,
    "copy": lambda t, operands, dtypes: operands[0],
}


# ---- ops -------------------------------------------------------------------------------------------------------------
def _elemwise(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    builder = CodeBuilder([x.type.dtype for x in node.inputs])
    outputs = node.op.scalar_op.emit(builder, [x.type.dtype for x in node.outputs], list(range(len(inputs))))
    code = builder.finish(outputs)
    slots = [*inputs, *[t.constant(value) for value in code.constants]]
    for loop, operands, dtypes in code.steps:
        name = loop_name(loop)
        if name not in LOOPS:
            raise ExportError(f"the function {name}")
        slots.append(LOOPS[name](t, [slots[operand] for operand in operands], dtypes))
    # A result that reads no operand of full length is stretched to the shape of all operands.
    if len(inputs) > 1 and not any([x.type.broadcastable == node.outputs[0].type.broadcastable
                                    and _is_read(code, number) for number, x in enumerate(node.inputs)]):
        shape = t.node("Shape", inputs[0])
        for other in inputs[1:]:
            shape = t.node("Max", shape, t.node("Shape", other))
        return [t.node("Expand", slots[slot], shape) for slot in code.outputs]
    return [slots[slot] for slot in code.outputs]


def _is_read(code: Any, slot: int) -> bool:
    """Whether all results depend on an input, so that they have its shape."""
    reached = {slot}
    for number, (_, operands, _) in enumerate(code.steps, code.first_step):
        if reached.intersection(operands):
            reached.add(number)
    return all([result in reached for result in code.outputs])


def _dimshuffle(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    order, (x,) = node.op.new_order, inputs
    kept = [axis for axis in order if axis != "x"]
    dropped = [axis for axis in range(node.inputs[0].type.ndim) if axis not in kept]
    if dropped:
        x = t.node("Squeeze", x, t.constant(dropped, "int64"))
    left = sorted(kept)
    if kept != left:
        x = t.node("Transpose", x, perm=[left.index(axis) for axis in kept])
    added = [position for position, axis in enumerate(order) if axis == "x"]
    return [t.node("Unsqueeze", x, t.constant(added, "int64")) if added else x]


REDUCTIONS = {"add": "ReduceSum", "mul": "ReduceProd", "maximum": "ReduceMax", "minimum": "ReduceMin",
              "and_": "ReduceMin", "or_": "ReduceMax"}


def _reduction(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    op, x, (name,) = node.op, node.inputs[0].type, inputs
    kind, result = REDUCTIONS.get(op.scalar_op.name), node.outputs[0].type.dtype
    if kind is None:
        raise ExportError(f"a reduction by {op.scalar_op}")
    axes = list(range(x.ndim)) if op.axis is None else list(op.axis)
    dtype = op.accumulator_dtype(x.dtype)
    if op.scalar_op.name in ("and_", "or_"):
        if result != "bool":
            raise ExportError("a reduction of integers by their bits")
        name, dtype = name if x.dtype == "bool" else t.cast(name, "bool"), "int32"
        return [t.cast(_reduced(t, kind, t.cast(name, dtype), axes), "bool")]
    wide = "int32" if dtype == "bool" else WIDE.get(dtype, dtype)
    given = name if x.dtype == wide else t.cast(name, wide)
    value = _reduced(t, kind, given, axes)
    if kind in ("ReduceMax", "ReduceMin") and dtype in FLOATS:         # NaN stays; ONNX leaves it open
        found = _reduced(t, "ReduceMax", t.cast(t.node("IsNaN", given), "int32"), axes)
        value = t.where(t.cast(found, "bool"), t.constant(numpy.nan, dtype), value)
    return [value if wide == result else t.cast(value, result)]


def _reduced(t: Translation, kind: str, name: str, axes: Sequence[int]) -> str:
    if not axes:
        return name
    return t.node(kind, name, t.constant(list(axes), "int64"), keepdims=0)


def _mean(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    """A sum and a quotient: onnxruntime's ReduceMean of no elements is 0, not NaN."""
    x, result = node.inputs[0].type, node.outputs[0].type.dtype
    axes = list(range(x.ndim)) if node.op.axis is None else list(node.op.axis)
    wide = node.op.accumulator_dtype(x.dtype)
    value = inputs[0] if wide == x.dtype else t.cast(inputs[0], wide)
    if axes:
        lengths = t.node("Gather", t.node("Shape", inputs[0]), t.constant(axes, "int64"))
        count = t.cast(_reduced(t, "ReduceProd", lengths, [0]), wide)
        value = t.node("Div", _reduced(t, "ReduceSum", value, axes), count)
    return [value if wide == result else t.cast(value, result)]


def _arg(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    """The first of equal extrema, and the first NaN, as NumPy's; ONNX leaves NaN open."""
    x, (name, *_) = node.inputs[0].type, inputs
    kind = "ArgMin" if isinstance(node.op, Argmin) else "ArgMax"
    given = range(x.ndim) if node.op.axis is None else node.op.axis
    axes = sorted([int(axis) % max(x.ndim, 1) for axis in (given if isinstance(given, (tuple, list, range))
                                                          else (given,))])
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    if len(axes) != 1:                              # the searched dimensions as one, behind the others
        name = t.node("Transpose", name, perm=kept + axes) if x.ndim else name
        lengths = [t.constant([-1], "int64")]
        if kept:
            lengths = [t.node("Gather", t.node("Shape", name), t.constant(list(range(len(kept))), "int64")), *lengths]
        name = t.node("Reshape", name, t.node("Concat", *lengths, axis=0))
    axis = axes[0] if len(axes) == 1 else len(kept)
    wide = {**WIDE, "bool": "int32"}.get(x.dtype)
    name = t.cast(name, wide) if wide else name
    place = t.node(kind, name, axis=axis, keepdims=0)
    if x.dtype in FLOATS:
        is_nan = t.cast(t.node("IsNaN", name), "int32")
        found = t.cast(_reduced(t, "ReduceMax", is_nan, [axis]), "bool")
        place = t.where(found, t.node("ArgMax", is_nan, axis=axis, keepdims=0), place)
    return [place]


def _max_and_argmax(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    place, = _arg(t, node, inputs)
    x = node.inputs[0].type
    axes = list(range(x.ndim)) if node.op.axis is None else [int(axis) % x.ndim for axis in node.op.axis]
    wide = {**WIDE, "bool": "int32"}.get(x.dtype, x.dtype)
    given = inputs[0] if wide == x.dtype else t.cast(inputs[0], wide)
    value = _reduced(t, "ReduceMax", given, axes)
    if x.dtype in FLOATS:
        found = _reduced(t, "ReduceMax", t.cast(t.node("IsNaN", given), "int32"), axes)
        value = t.where(t.cast(found, "bool"), t.constant(numpy.nan, x.dtype), value)
    return [value if wide == x.dtype else t.cast(value, x.dtype), place]


def _product(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    dtype = node.outputs[0].type.dtype
    if dtype == "bool":
        raise ExportError("a product of booleans")
    wide = WIDE.get(dtype)
    if wide is None:
        return [t.node("MatMul", *inputs)]
    return [t.cast(t.node("MatMul", *[t.cast(name, wide) for name in inputs]), dtype)]


def _join(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    axis, *parts = node.inputs
    if not hasattr(axis, "data"):
        raise ExportError("a join along an axis that is computed")
    dtype = node.outputs[0].type.dtype
    names = [name if part.type.dtype == dtype else t.cast(name, dtype) for name, part in zip(inputs[1:], parts)]
    return [t.node("Concat", *names, axis=int(axis.data))]


def _make_vector(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    dtype = node.outputs[0].type.dtype
    names = [name if x.type.dtype == dtype else t.cast(name, dtype) for name, x in zip(inputs, node.inputs)]
    return [t.node("Concat", *[_vector(t, name, "") for name in names], axis=0)]


def _vector(t: Translation, name: str, dtype: str) -> str:
    """A number as a vector of one element, as int64 if it has another dtype of integers."""
    name = t.cast(name, "int64") if dtype not in ("", "int64") else name
    return t.node("Reshape", name, t.constant([1], "int64"))


def _lengths(t: Translation, name: str, dtype: str) -> str:
    return name if dtype == "int64" else t.cast(name, "int64")


def _reshape(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    x, shape = inputs
    constant = getattr(node.inputs[1], "data", None)
    # A length of 0 means none, and not that of the operand; together with -1 ONNX refuses it.
    allows_zero = constant is None or -1 not in numpy.asarray(constant)
    return [t.node("Reshape", x, _lengths(t, shape, node.inputs[1].type.dtype), allowzero=int(allows_zero))]


def _shape(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    return [t.node("Shape", *inputs)]


def _shape_i(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    return [t.node("Gather", t.node("Shape", *inputs), t.constant(node.op.i, "int64"))]


def _alloc(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    value, *lengths = inputs
    if not lengths:
        return [value]
    parts = [_vector(t, name, x.type.dtype) for name, x in zip(lengths, node.inputs[1:])]
    return [t.node("Expand", value, t.node("Concat", *parts, axis=0))]


def _subtensor(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    """Slices by one Slice, whose rules are NumPy's, then integers by Gather, the last axis first."""
    x, *operands = inputs
    types = iter(node.inputs[1:])
    names = iter(operands)

    def part(value: Any, absent: int) -> str:
        if value is None:
            return t.constant([absent], "int64")
        if isinstance(value, (int, numpy.integer)):
            return t.constant([int(value)], "int64")
        return _vector(t, next(names), next(types).type.dtype)

    starts, stops, axes, steps, integers = [], [], [], [], []
    for axis, entry in enumerate(node.op.idx_list):
        if not isinstance(entry, slice):
            integers.append((axis, t.node("Reshape", part(entry, 0), t.constant([], "int64"))))
            continue
        if entry == slice(None):
            continue
        if entry.step is not None and not isinstance(entry.step, (int, numpy.integer)):
            raise ExportError("a slice with a step that is computed")
        backwards = entry.step is not None and entry.step < 0
        far = numpy.iinfo("int64")
        starts.append(part(entry.start, int(far.max) if backwards else 0))
        stops.append(part(entry.stop, int(far.min) if backwards else int(far.max)))
        steps.append(int(entry.step or 1))
        axes.append(axis)
    if axes:
        bounds = [t.node("Concat", *each, axis=0) if len(each) > 1 else each[0] for each in (starts, stops)]
        x = t.node("Slice", x, *bounds, t.constant(axes, "int64"), t.constant(steps, "int64"))
    for axis, position in reversed(integers):
        x = t.node("Gather", x, position, axis=axis)
    return [x]


def _take(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    x, positions = inputs
    dtype = node.inputs[1].type.dtype
    return [t.node("Gather", x, positions if dtype in ("int32", "int64") else t.cast(positions, "int64"), axis=0)]


def _softmax(kind: str) -> Callable[..., list[str]]:
    def row(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
        x = t.node("Add", *inputs) if len(inputs) > 1 else inputs[0]
        return [t.node(kind, x, axis=-1)]
    return row


def _convolution(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    """ONNX's Conv does not flip filters; Theano's do unless they are told not to."""
    op, (images, filters) = node.op, inputs
    rank = op.convdim
    if op.unshared:
        raise ExportError("a convolution with filters for each place")
    lengths = node.inputs[1].type.shape[-rank:] if op.kshp is None else op.kshp[-rank:]
    if op.border_mode in ("half", "full"):
        if None in lengths:
            raise ExportError(f"a convolution with the border {op.border_mode!r} of filters of unknown lengths")
        reach = [(length - 1) * step for length, step in zip(lengths, op.filter_dilation)]
        pads = [(each, each) if op.border_mode == "full" else ((each + 1) // 2,) * 2 for each in reach]
    else:
        pads = [(0, 0) if op.border_mode == "valid" else pair if isinstance(pair, tuple) else (pair, pair)
                for pair in (op.border_mode if isinstance(op.border_mode, tuple) else (op.border_mode,) * rank)]
    if op.filter_flip:
        far = numpy.iinfo("int64")
        filters = t.node("Slice", filters, t.constant([far.max] * rank, "int64"), t.constant([far.min] * rank, "int64"),
                         t.constant(list(range(2, 2 + rank)), "int64"), t.constant([-1] * rank, "int64"))
    return [t.node("Conv", images, filters, strides=list(op.subsample), dilations=list(op.filter_dilation),
                   group=op.num_groups, pads=[pair[side] for side in (0, 1) for pair in pads])]


def _pooling(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    """ONNX pools the dimensions after the first two, and does not say what the maximum of NaN is."""
    op, type_ = node.op, node.inputs[0].type
    sizes, steps, borders = [getattr(vector, "data", None) for vector in node.inputs[1:]]
    if sizes is None or steps is None or borders is None:
        raise ExportError("pooling with sizes, steps or borders that are computed")
    if not op.ignore_border:
        raise ExportError("pooling with windows that reach beyond the images; with ignore_border=True it has")
    if type_.dtype not in FLOATS:
        raise ExportError(f"pooling of {type_.dtype}")
    attributes = {"kernel_shape": sizes.tolist(), "strides": steps.tolist(), "pads": [*borders.tolist()] * 2}
    leading, x = type_.ndim - op.ndim, inputs[0]
    if leading != 2:
        shape = t.node("Shape", x, start=leading)
        x = t.node("Reshape", x, t.node("Concat", t.constant([-1, 1], "int64"), shape, axis=0))
    if op.mode == "max":
        value = t.node("MaxPool", x, **attributes)
        is_nan = t.node("MaxPool", t.cast(t.node("IsNaN", x), "float32"), **attributes)
        value = t.where(t.cast(is_nan, "bool"), t.constant(numpy.nan, type_.dtype), value)
    else:
        value = t.node("AveragePool", x, count_include_pad=int(op.mode != "average_exc_pad"), **attributes)
        if op.mode == "sum":
            value = t.node("Mul", value, t.constant(sizes.prod(), type_.dtype))
    if leading != 2:
        shape = [t.node("Shape", inputs[0], start=0, end=leading), t.node("Shape", value, start=2)]
        value = t.node("Reshape", value, t.node("Concat", *shape, axis=0), allowzero=1)
    return [value]


def _first_rows(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    x, count = inputs
    zero = t.constant([0], "int64")
    return [t.node("Slice", x, zero, _vector(t, count, node.inputs[1].type.dtype), zero)]


def _same(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    return [inputs[0]]


# Class → what translates its nodes; the first that fits.
OPS: list[tuple[type, Callable[..., list[str]]]] = [
    (Elemwise, _elemwise), (DimShuffle, _dimshuffle), (Mean, _mean), (CAReduce, _reduction), (Argmax, _arg),
    (MaxAndArgmax, _max_and_argmax), (Dot, _product), (BatchedDot, _product), (Join, _join),
    (MakeVector, _make_vector),
    (Reshape, _reshape), (Shape, _shape), (Shape_i, _shape_i), (Alloc, _alloc), (Subtensor, _subtensor),
    (AdvancedSubtensor1, _take), (Softmax, _softmax("Softmax")), (LogSoftmax, _softmax("LogSoftmax")),
    (SoftmaxWithBias, _softmax("Softmax")), (AbstractConv, _convolution), (IfElse, choice), (Rebroadcast, _same),
    (SpecifyShape, _same), (CpuContiguous, _same), (Assert, _same), (EqualLengths, _same), (DeepCopyOp, _same),
    (FirstRows, _first_rows), (EnoughRows, _same), (StepCount, _same), (Pool, _pooling), (Scan, whole_loop),
    (OpFromGraph, opened),
]


def export_onnx(function: Function, path: str | os.PathLike[str] | None = None, name: str | None = None) -> Any:
    """A function as a model of ONNX, which other runtimes compute.

    The present values of shared variables become constants of the model. Arguments keep their names, or are ``x0``,
    ``x1``, ...; results are ``y0``, ``y1``, ... Checks of lengths are left out: a length of 1 that is not declared is
    broadcast. Both arms of ``ifelse`` are computed.

    Parameters
    ----------
    function : Function
        Without updates.
    path : str or path-like, optional
        Where the model is written, too.
    name : str, optional
        Of the model; by default that of the function.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ExportError
        A NotImplementedError: if ONNX has nothing that computes the same. The message names op and reason.
    TypeError
        If it is no function that ``phintys.function`` has made.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> model = phintys.export_onnx(phintys.function([x], T.tanh(x)))           # doctest: +SKIP
    >>> [node.op_type for node in model.graph.node]                             # doctest: +SKIP
    ['Tanh', 'Identity']
    """
    import onnx
    from onnx import helper, numpy_helper

    if not isinstance(function, Function):
        raise TypeError(f"export_onnx takes what phintys.function has made, not {function!r}")
    maker = function.maker
    if maker.update_positions:
        targets = ", ".join([str(spec.variable) for spec in maker.inputs if spec.update is not None])
        raise ExportError(f"a model of ONNX keeps no values between calls, but {function!r} updates {targets}")
    query = OPT_STABILIZE.excluding("inplace", "fusion", "length_checks", "BlasOpt", "scan_inplace")
    mode = Mode(linker="vm", optimizer=query)
    plain = type(maker)(**maker.given_arguments() | {"mode": mode, "profile": False})
    graph, translation = plain.compiled, Translation(helper, numpy_helper.from_array, mode)
    inputs = []
    for number, (variable, position) in enumerate(zip(graph.inputs, plain.graph_order)):
        spec = plain.inputs[position]
        _check_type(variable, "an input")
        if spec.shared or spec.is_state:
            translation.names[variable] = translation.constant(spec.value.value if hasattr(spec.value, "value")
                                                               else spec.value, variable.type.dtype)
            continue
        label = spec.variable.name or f"x{number}"
        translation.names[variable] = label
        inputs.append(helper.make_tensor_value_info(label, translation.number(variable.type.dtype),
                                                    _dimensions(label, variable.type)))
    outputs = []
    for number, (variable, found) in enumerate(zip(graph.outputs, translation.graph(graph))):
        _check_type(variable, "a result")
        label = f"y{number}"
        translation.nodes.append(helper.make_node("Identity", [found], [label]))
        outputs.append(helper.make_tensor_value_info(label, translation.number(variable.type.dtype),
                                                     _dimensions(label, variable.type)))
    made = helper.make_graph(translation.nodes, name or function.name or "phintys", inputs, outputs,
                             translation.initializers)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="phintys",
                              ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    if path is not None:
        onnx.save(model, path)
    return model


def _translate(translation, node):
    """Add the nodes of an op."""
    row = next((row for kind, row in OPS if isinstance(node.op, kind)), None)
    for variable in (*node.inputs, *node.outputs):
        _check_type(variable, f"an operand of {node.op}")
    try:
        if row is None:
            raise ExportError("no translation of this op")
        names = row(translation, node, [_name_of(translation, variable) for variable in node.inputs])
    except ExportError as error:
        raise ExportError(f"ONNX has no equal of {node.op}{made_at(node)}: {error}") from None
    translation.names.update(zip(node.outputs, names))


def _name_of(translation, variable):
    """The name of a value; constants become initializers."""
    if variable not in translation.names:
        translation.names[variable] = translation.constant(variable.data, variable.type.dtype)
    return translation.names[variable]


def _check_type(variable, what):
    if not isinstance(variable.type, TensorType) or variable.type.dtype.startswith("complex"):
        raise ExportError(f"{what}, {variable}{made_at(variable)}, is of type {variable.type}: runtimes of ONNX take "
                          "arrays of real numbers")


def _dimensions(label, type_):
    """The lengths that are known, and names for the others."""
    return [f"{label}_{axis}" if length is None else length for axis, length in enumerate(type_.shape)]
