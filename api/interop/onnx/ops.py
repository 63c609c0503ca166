"""Ops as nodes of ONNX: a row takes the translation, a node and the names of its inputs, and returns those of its
outputs.

Elementwise ops need no rows of their own: their scalar code (``ops/elementwise/scalar_code.py``) is a list of NumPy's
loops with all dtypes, and each loop has a row of `LOOPS`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from phintys.interop.onnx.graphs import choice, opened, whole_loop
from phintys.interop.onnx.loops import LOOPS
from phintys.interop.onnx.model import FLOATS, WIDE, ExportError, Translation, Value
from phintys.ops.convolution.convolution import AbstractConv
from phintys.ops.creation.alloc import Alloc
from phintys.ops.creation.allocation import ARange
from phintys.ops.cumulative.cumulative import CumOp
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar_code import CodeBuilder, loop_name
from phintys.ops.graphs.ifelse import IfElse
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.identity.assertion import Assert
from phintys.ops.identity.deep_copy import DeepCopyOp
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.indexing.advanced_subtensor import AdvancedSubtensor1
from phintys.ops.indexing.nonzero import Nonzero
from phintys.ops.indexing.subtensor import Subtensor
from phintys.ops.linalg.triangle import Triangle
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


def _elemwise(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    builder = CodeBuilder([x.type.dtype for x in node.inputs])
    outputs = node.op.scalar_op.emit(builder, [x.type.dtype for x in node.outputs], list(range(len(inputs))))
    code = builder.finish(outputs)
    slots = [*inputs, *[t.constant(value) for value in code.constants]]
    for loop, operands, dtypes in code.steps:
        name = loop_name(loop)
        if name not in LOOPS:
            raise ExportError(f"the function {name}")
        found = LOOPS[name](dtypes[-1], *[Value(t, slots[operand], dtype) for operand, dtype in zip(operands, dtypes)])
        slots.append(found.name)
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
    if kind in ("ReduceMax", "ReduceMin"):
        value = _or_nan(t, given, dtype, axes, value)
    return [value if wide == result else t.cast(value, result)]


def _reduced(t: Translation, kind: str, name: str, axes: Sequence[int]) -> str:
    if not axes:
        return name
    return t.node(kind, name, t.constant(list(axes), "int64"), keepdims=0)


def _or_nan(t: Translation, name: str, dtype: str, axes: Sequence[int], value: str) -> str:
    """NaN where there is one among the numbers of an extremum; ONNX leaves open what becomes of it."""
    if dtype not in FLOATS:
        return value
    found = _reduced(t, "ReduceMax", t.cast(t.node("IsNaN", name), "int32"), axes)
    return t.where(t.cast(found, "bool"), t.constant(numpy.nan, dtype), value)


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
    value = _or_nan(t, given, x.dtype, axes, _reduced(t, "ReduceMax", given, axes))
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


def _cumulative(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    x, (name,), result = node.inputs[0].type, inputs, node.outputs[0].type.dtype
    if node.op.mode != "add":
        raise ExportError("cumulative products")
    wide = result if result in ("float32", "float64") else "int64"          # of integers the bits are the same
    if result in FLOATS and wide != result:
        raise ExportError(f"cumulative sums of {result}")
    name = name if x.dtype == wide else t.cast(name, wide)
    if node.op.axis is None:
        name = t.node("Reshape", name, t.constant([-1], "int64"))
    name = t.node("CumSum", name, t.constant((node.op.axis or 0) % max(x.ndim, 1), "int64"))
    return [name if wide == result else t.cast(name, result)]


def _range(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    dtypes = [x.type.dtype for x in node.inputs]
    if "int" not in node.op.dtype or not all(["int" in dtype for dtype in dtypes]):
        raise ExportError("ranges of floats, which NumPy rounds by rules of its own")
    name = t.node("Range", *[_lengths(t, *pair) for pair in zip(inputs, dtypes)])
    return [name if node.op.dtype == "int64" else t.cast(name, node.op.dtype)]


def _triangle(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    (x, bound), dtype = inputs, node.inputs[0].type.dtype
    wide = dtype if dtype in ("float32", "float64", "int64", "bool") else "int64"
    if dtype in FLOATS and wide != dtype:
        raise ExportError(f"triangles of {dtype}")
    name = t.node("Trilu", x if dtype == wide else t.cast(x, wide), _lengths(t, bound, node.inputs[1].type.dtype),
                  upper=int(node.op.upper))
    return [name if dtype == wide else t.cast(name, dtype)]


def _nonzero(t: Translation, node: Any, inputs: Sequence[str]) -> list[str]:
    return [t.node("NonZero", *inputs)]


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
    (CumOp, _cumulative), (ARange, _range), (Triangle, _triangle), (Nonzero, _nonzero),
    (FirstRows, _first_rows), (EnoughRows, _same), (StepCount, _same), (Pool, _pooling), (Scan, whole_loop),
    (OpFromGraph, opened),
]
