"""Shapes, creation, joining, and ops that pass values through."""
from functools import reduce
from operator import mul

from phintys import printing
from phintys import tensor as T
from phintys.interop.pytensor.checks import Check
from phintys.interop.pytensor.translation import row
from phintys.interop.pytensor.types import number, numbers


@row("tensor.ScalarFromTensor", "tensor.TensorFromScalar", "tensor.CpuContiguous", "compile.DeepCopyOp",
     "compile.ViewOp", "compile.TypeCastingOp")
def _same(op, node, x):
    return x


row("compile.Print")(lambda op, node, x: printing.Print(op.message, op.attrs, op.global_fn)(x))
row("compile.CheckAndRaise")(lambda op, node, value, *conditions:
    Check(op.exc_type, op.msg)(value, *conditions) if conditions else value)


# ---- shapes --------------------------------------------------------------------------------------------------------
@row("tensor.Shape")
def _shape(op, node, x):
    lengths = node.inputs[0].type.shape
    return T.shape(x) if None in lengths else T.constant(lengths, ndim=1, dtype="int64")


@row("tensor.Shape_i")
def _shape_i(op, node, x):
    length = node.inputs[0].type.shape[op.i]
    return T.shape_i(x, op.i) if length is None else T.constant(length, dtype="int64")


@row("tensor.Reshape")
def _reshape(op, node, x, shape):
    before, after = node.inputs[0].type.shape, node.outputs[0].type.shape
    axes = [axis for axis, length in enumerate(before) if length != 1]
    if [before[axis] for axis in axes] == [length for length in after if length != 1] and None not in before:
        return _with_ones(x, axes, after)
    return T.reshape(x, numbers(shape), ndim=op.ndim)


def _with_ones(x, axes, lengths):
    """A view with dimensions of length 1 added or removed."""
    axes = iter(axes)
    return x.dimshuffle(["x" if length == 1 else next(axes) for length in lengths])


@row("tensor.JoinDims")
def _join_dims(op, node, x):
    lengths = [T.shape_i(x, axis) for axis in range(x.type.ndim)]
    first, last = op.start_axis, op.start_axis + op.n_axes
    joined = reduce(mul, lengths[first:last], T.constant(1, dtype="int64"))
    return T.reshape(x, [*lengths[:first], joined, *lengths[last:]], ndim=node.outputs[0].type.ndim)


@row("tensor.SplitDims")
def _split_dims(op, node, x, parts):
    lengths = [T.shape_i(x, axis) for axis in range(x.type.ndim)]
    rank = node.outputs[0].type.ndim
    inner = [parts[position] for position in range(rank - x.type.ndim + 1)]
    return T.reshape(x, [*lengths[:op.axis], *inner, *lengths[op.axis + 1:]], ndim=rank)


@row("tensor.SpecifyShape")
def _specify_shape(op, node, x, *lengths):
    lengths = [number(length) for length in lengths]
    return T.specify_shape(x, [T.shape_i(x, axis) if length is None else length
                               for axis, length in enumerate(lengths)])


# ---- creation ------------------------------------------------------------------------------------------------------
@row("tensor.Alloc")
def _alloc(op, node, value, *lengths):
    given, wanted = [variable.type.shape for variable in (node.inputs[0], node.outputs[0])]
    return value if given == wanted and None not in given else T.alloc(value, *map(number, lengths))


row("tensor.AllocEmpty")(lambda op, node, *lengths: T.AllocEmpty(op.dtype)(*map(number, lengths)))
row("tensor.ARange")(lambda op, node, start, stop, step:
    T.arange(number(start), number(stop), number(step), dtype=op.dtype))
row("tensor.Eye")(lambda op, node, rows, columns, offset: T.eye(rows, columns, offset, dtype=op.dtype))


@row("tensor.MakeVector")
def _make_vector(op, node, *items):
    items = [T.cast(item, op.dtype) for item in items]
    return items[0].dimshuffle("x") if len(items) == 1 else T.MakeVector(op.dtype)(*items)


row("tensor.ExtractDiag")(lambda op, node, x: T.ExtractDiag(op.offset, op.axis1, op.axis2)(x))
row("tensor.AllocDiag")(lambda op, node, x: T.AllocDiag(op.offset, op.axis1, op.axis2)(x))


# ---- joining -------------------------------------------------------------------------------------------------------
# The axis is a property of the op in newer versions, an input before.
def _axis_and_inputs(op, inputs, position):
    """The axis as a number, or None if it is not known; and the other inputs."""
    if "axis" in op.__props__:
        return op.axis, inputs
    axis = number(inputs[position])
    return axis if isinstance(axis, int) else None, inputs[:position] + inputs[position + 1:]


@row("tensor.Join")
def _join(op, node, *inputs):
    axis, tensors = _axis_and_inputs(op, inputs, 0)
    return T.join(inputs[0] if axis is None else axis, *tensors)


@row("tensor.Split")
def _split(op, node, x, *inputs):
    axis, (lengths,) = _axis_and_inputs(op, inputs, 0)
    found = T.split(x, lengths, op.len_splits, axis=inputs[0] if axis is None else axis)
    return found if isinstance(found, (list, tuple)) else [found]


row("tensor.Repeat")(lambda op, node, x, repeats: T.repeat(x, number(repeats), axis=op.axis))


# ---- along an axis -------------------------------------------------------------------------------------------------
row("tensor.CumOp")(lambda op, node, x: {"add": T.cumsum, "mul": T.cumprod}[op.mode](x, axis=op.axis))


@row("tensor.SortOp", "tensor.ArgSortOp")
def _sort(op, node, x, *inputs):
    axis, _ = _axis_and_inputs(op, inputs, 0)
    function = T.sort if type(op).__name__ == "SortOp" else T.argsort
    return None if axis is None else function(x, axis=axis, kind=op.kind)


row("tensor.SearchsortedOp")(lambda op, node, x, values, *sorter:
    T.searchsorted(x, values, side=op.side, sorter=sorter[0] if sorter else None))


@row("tensor.Unique")
def _unique(op, node, x):
    results = T.unique(x, op.return_index, op.return_inverse, op.return_counts, axis=op.axis)
    if not op.return_inverse:
        return results
    # PyTensor's are indices into the raveled array, as NumPy's were before 2.0.
    inverse = 1 + op.return_index
    return [result.flatten() if k == inverse else result for k, result in enumerate(results)]


row("tensor.FillDiagonal")(lambda op, node, x, value: T.fill_diagonal(x, value))
row("tensor.FillDiagonalOffset")(lambda op, node, x, value, offset: T.fill_diagonal_offset(x, value, offset))
row("tensor.UnravelIndex")(lambda op, node, positions, lengths:
    list(T.unravel_index(positions, lengths, order=op.order, ndim=len(node.outputs))))


@row("tensor.RavelMultiIndex")
def _ravel_multi_index(op, node, *inputs):
    *positions, lengths = inputs
    return T.ravel_multi_index(positions, lengths, mode=op.mode, order=op.order)


row("tensor.Nonzero")(lambda op, node, x: list(T.nonzero(x, return_matrix=False)))
