"""Shapes as values, and declarations about shapes: Shape, Shape_i, Rebroadcast, SpecifyShape.

None of these ops reads elements. ``x.shape`` is ``shape(x)``, a vector of int64 through which no gradient flows. The
other functions of this family are in ``dimshuffle.py`` and ``reshape.py`` and can be imported from here.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type, grad_not_implemented
from phintys.graph.variable import Constant, Variable
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.native.shape_kernel import RebroadcastKernel, ShapeIKernel, ShapeKernel, SpecifyShapeKernel
from phintys.ops.shape.dimshuffle import (
    DimShuffle,
    dimshuffle,
    shape_padaxis,
    shape_padleft,
    shape_padright,
    swapaxes,
    transpose,
)
from phintys.ops.types.axes import one_integer
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.known_length import passes_on
from phintys.ops.types.tensor_type import TensorType

__all__ = ["DimShuffle", "Rebroadcast", "Shape", "Shape_i", "SpecifyShape", "addbroadcast", "dimshuffle",
           "patternbroadcast", "shape", "shape_i", "shape_padaxis", "shape_padleft", "shape_padright", "specify_shape",
           "swapaxes", "transpose", "unbroadcast"]

@passes_on(Elemwise)
def _uncast(node):
    """The operand of a lossless cast, which has the same value."""
    lossless = numpy.can_cast(node.inputs[0].type.dtype, node.outputs[0].type.dtype)
    return node.inputs[0] if lossless and node.op.scalar_op.name.startswith("convert_to_") else None


_shape_types = {}       # rank → the type of a shape: a vector of known length
_length_type = TensorType("int64", ())


class Shape(Op):
    """The shape of a tensor, a vector of int64.

    Examples
    --------
    >>> phintys.compile.Shape()(T.as_tensor([[1, 2, 3]])).eval()
    array([1, 3])
    """

    __props__ = ()
    depends_on = ()

    def make_node(self, x):
        if not isinstance(x, Variable):
            x = as_tensor_variable(x)
        rank = x.type.ndim
        if rank not in _shape_types:
            _shape_types[rank] = TensorType("int64", (False,), shape=(rank,))
        return Apply(self, [x], [_shape_types[rank].make_variable()])

    def make_kernel(self, node):
        return ShapeKernel() if node.inputs[0].type.layout is not None else None

    def perform(self, node, inputs, output_storage):
        if node.inputs[0].type.layout is not None:
            return super().perform(node, inputs, output_storage)
        output_storage[0][0] = numpy.array(inputs[0].shape, "int64")        # an object, such as a sparse matrix

    def infer_shape(self, node, input_shapes):
        return [(len(input_shapes[0]),)]


class Shape_i(Op):
    """One length of a tensor, a 0-d int64.

    Parameters
    ----------
    i : int
        The dimension; not negative.

    Examples
    --------
    >>> phintys.compile.Shape_i(1)(T.as_tensor([[1, 2, 3]])).eval()
    array(3)
    """

    __props__ = ("i",)
    depends_on = ()

    def __init__(self, i):
        self.i = one_integer("shape_i", "the number of a dimension", i)

    def make_node(self, x):
        if not isinstance(x, Variable):
            raise TypeError(f"Shape_i: x must be Variable with ndim attribute, got {x!r}")
        if not 0 <= self.i < x.type.ndim:
            raise TypeError(f"x has too few dimensions for Shape_i: {x} has {x.type.ndim}, but dimension {self.i} is "
                            "asked for")
        return Apply(self, [x], [_length_type.make_variable()])

    def make_kernel(self, node):
        return ShapeIKernel(self.i) if node.inputs[0].type.layout is not None else None

    def perform(self, node, inputs, output_storage):
        if node.inputs[0].type.layout is not None:
            return super().perform(node, inputs, output_storage)
        output_storage[0][0] = numpy.array(inputs[0].shape[self.i], "int64")

    def grad(self, inputs, output_grads):
        return [grad_not_implemented(self, 0, inputs[0], "No gradient for the shape of a tensor is implemented.")]

    def __str__(self):
        return f"Shape_i{{{self.i}}}"


@passes_on(Shape_i)
def _static_length(node):
    return node.inputs[0].type.shape[node.op.i]


_shape = Shape()


def shape(x):
    """The shape of ``x``: a symbolic vector of int64.

    Examples
    --------
    >>> T.shape(T.as_tensor([[1, 2, 3], [4, 5, 6]])).eval()
    array([2, 3])
    """
    return _shape(x)


def is_length(variable):
    """Whether a variable is read as the length of a dimension, so that it is not negative."""
    return variable.owner is not None and isinstance(variable.owner.op, Shape_i)


def shape_i(x, i):
    """The length of dimension ``i`` of ``x``: a symbolic 0-d int64.

    Examples
    --------
    >>> T.shape_i(T.as_tensor([[1, 2, 3], [4, 5, 6]]), 1).eval()
    array(3)
    """
    return Shape_i(i)(x)


class Rebroadcast(Op):
    """The same array with other broadcastable flags; if a flag becomes True, the length is checked at run time.

    Parameters
    ----------
    *axis : (int, bool)
        A dimension and its new flag.

    Examples
    --------
    >>> T.Rebroadcast((0, True))(T.dmatrix()).type
    TensorType(float64, row)
    """

    __props__ = ("changes",)
    linear_in = (0,)
    view_map = {0: [0]}

    def __init__(self, *axis):
        for dimension, flag in axis:
            if not isinstance(dimension, (int, numpy.integer)):
                raise TypeError(f"Rebroadcast needs integer axes. Got {dimension}")
            if not isinstance(flag, (bool, numpy.bool_)):
                raise TypeError(f"Rebroadcast needs bool for new broadcast pattern. Got {flag}")
        self.changes = tuple(sorted([(int(dimension), bool(flag)) for dimension, flag in axis]))
        self.axis = dict(self.changes)

    def make_node(self, x):
        x = as_tensor_variable(x)
        if self.changes and not (0 <= self.changes[0][0] and self.changes[-1][0] < x.type.ndim):
            raise ValueError(f"Trying to rebroadcast non-existent dimension: {x} has {x.type.ndim}, the dimensions "
                             f"named are {[dimension for dimension, _ in self.changes]}")
        pattern = [self.axis.get(axis, flag) for axis, flag in enumerate(x.type.broadcastable)]
        lengths = [None if self.axis.get(axis) is False else length for axis, length in enumerate(x.type.shape)]
        for axis, flag in enumerate(pattern):
            if flag and lengths[axis] not in (1, None):
                raise ValueError(f"Dimension {axis} of {x} has length {lengths[axis]}; it cannot be declared "
                                 "broadcastable")
        return Apply(self, [x], [TensorType(x.type.dtype, pattern, shape=lengths).make_variable()])

    def make_kernel(self, node):
        return RebroadcastKernel([axis for axis, flag in self.changes if flag])

    def infer_shape(self, node, input_shapes):
        return [tuple([1 if self.axis.get(axis) else length for axis, length in enumerate(input_shapes[0])])]

    def grad(self, inputs, output_grads):
        x, = inputs
        pattern = list(output_grads[0].type.broadcastable)
        for axis, _ in self.changes:
            pattern[axis] = x.type.broadcastable[axis]
        return [patternbroadcast(output_grads[0], pattern)]

    def __str__(self):
        flags = ["?"] * (1 + max(self.axis, default=-1))
        for axis, flag in self.changes:
            flags[axis] = str(int(flag))
        return f"Rebroadcast{{{','.join(flags)}}}"


def _rebroadcast(x, changes):
    """``x`` with changed flags. A Rebroadcast of a Rebroadcast is merged to one; if no flag changes, the result is
    ``x`` itself."""
    x, changes = as_tensor_variable(x), dict(changes)
    if x.owner is not None and isinstance(x.owner.op, Rebroadcast):
        x, changes = x.owner.inputs[0], {**x.owner.op.axis, **changes}
    needed = [(axis, flag) for axis, flag in changes.items()
              if axis >= x.type.ndim or x.type.broadcastable[axis] != flag]
    return Rebroadcast(*needed)(x) if needed else x


def addbroadcast(x, *axes):
    """``x`` with these dimensions declared to have length 1, which is checked at run time.

    Examples
    --------
    >>> T.addbroadcast(T.dmatrix(), 0).type
    TensorType(float64, row)
    """
    return _rebroadcast(x, [(axis, True) for axis in axes])


def unbroadcast(x, *axes):
    """``x`` with these dimensions declared to have any length.

    Examples
    --------
    >>> T.unbroadcast(T.drow(), 0).type
    TensorType(float64, matrix)
    """
    return _rebroadcast(x, [(axis, False) for axis in axes])


def patternbroadcast(x, broadcastable):
    """``x`` with the given broadcastable pattern, one flag per dimension.

    Examples
    --------
    >>> T.patternbroadcast(T.dmatrix(), (True, False)).type
    TensorType(float64, row)
    """
    return _rebroadcast(x, list(enumerate([bool(flag) for flag in broadcastable])))


TensorType.patternbroadcast = staticmethod(patternbroadcast)


class SpecifyShape(Op):
    """The same array; raises an error at run time if its shape differs from the given one.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.function([x], T.SpecifyShape()(x, (2,)))([1, 2])
    array([1., 2.])
    """

    __props__ = ()
    linear_in = (0,)
    view_map = {0: [0]}
    depends_on = (0,)

    def make_node(self, x, shape):
        x, shape = as_tensor_variable(x), as_tensor_variable(shape)
        if shape.type.ndim != 1 or shape.type.dtype not in integer_dtypes:
            raise TypeError(f"SpecifyShape needs a vector of integers as shape, not {shape.type}")
        if not isinstance(shape, Constant):
            return Apply(self, [x, shape], [x.type.make_variable()])
        if shape.data.size != x.type.ndim:
            raise ValueError(f"SpecifyShape: {x} has {x.type.ndim} dimensions, the shape {shape.data} has "
                             f"{shape.data.size}")
        lengths = [int(length) for length in shape.data]
        return Apply(self, [x, shape], [TensorType(x.type.dtype, x.type.broadcastable, shape=lengths).make_variable()])

    def make_kernel(self, node):
        return SpecifyShapeKernel()

    def infer_shape(self, node, input_shapes):
        wanted = node.inputs[1]
        if isinstance(wanted, Constant):
            return [tuple([constant(length, dtype="int64") for length in wanted.data])]
        return [tuple([wanted[axis] for axis in range(node.inputs[0].type.ndim)])]

    def grad(self, inputs, output_grads):
        return [specify_shape(output_grads[0], inputs[1]), disconnected_type()]


_specify_shape = SpecifyShape()


def specify_shape(x, shape):
    """``x``, checked at run time to have ``shape``; raises ``AssertionError`` otherwise.

    Parameters
    ----------
    x : tensor-like
    shape : vector of integers, or sequence of ints and symbolic integers

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> phintys.function([x], T.specify_shape(x, (2, 2)).sum())(numpy.eye(2))
    array(2.)
    """
    if isinstance(shape, (list, tuple)) and any([isinstance(length, Variable) for length in shape]):
        shape = TensorType.stack(list(shape))
    return _specify_shape(x, shape)


def declared_lengths(kind):
    """The lengths that a type states beyond its pattern: None for those that it does not."""
    return [None if flag else length for flag, length in zip(getattr(kind, "broadcastable", ()), kind.shape or ())]


def of_declared_lengths(variable, kind, reader):
    """What takes the place of a variable whose type states lengths, which are checked at run time unless the new one
    has them: types that differ in lengths alone are equal, but the graph that reads the variable relies on them.

    Raises
    ------
    TypeError
        If other lengths are known; it begins with ``reader``.
    """
    declared = declared_lengths(kind)
    found = variable.type.shape
    if not any([length is not None and length != own for length, own in zip(declared, found or ())]):
        return variable
    for axis, (length, own) in enumerate(zip(declared, found)):
        if None not in (length, own) and length != own:
            raise TypeError(f"{reader} for a value of length {length} in dimension {axis}, but {variable} has the "
                            f"length {own} there")
    return specify_shape(variable, [shape_i(variable, axis) if length is None else length
                                    for axis, length in enumerate(kind.shape)])
