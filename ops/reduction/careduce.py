"""Ops of reductions: sums, products, extrema and truth over axes; the public functions are in ``reduction.py``.

A reduction applies a commutative, associative scalar op along axes. Accumulation may be more precise than the result:
``acc_dtype`` follows Theano (integers in 64 bits, float16 in float32, float32 in float64).
"""
import numpy
from numpy.exceptions import AxisError

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.variable import Constant
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.complex_derivatives import real_like
from phintys.ops.elementwise.masks import NONE
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.elementwise.scalar_op import LoopedScalarOp
from phintys.ops.reduction.reduction_kernel import ReductionKernel
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import (
    accumulator_dtype,
    canonical_dtype,
    complex_dtypes,
    continuous_dtypes,
    discrete_dtypes,
    reduced_dtype,
    upcast,
)
from phintys.ops.types.tensor_type import known_type

# Name of the scalar op → the ufunc whose loop reduces.
FOLDING_UFUNCS = {"add": numpy.add, "mul": numpy.multiply, "maximum": numpy.maximum, "minimum": numpy.minimum,
                  "and_": numpy.bitwise_and, "or_": numpy.bitwise_or, "xor": numpy.bitwise_xor}


def axis_tuple(axis):
    """Convert ``axis`` (None, an int, a sequence or a constant) to None or a sorted tuple of ints.

    Raises
    ------
    TypeError
        For other objects.
    ValueError
        If an axis occurs twice.
    """
    if isinstance(axis, Constant):
        axis = axis.data
    if axis is None:
        return None
    if numpy.ndim(axis) == 0:
        axis = (axis,)
    for number in axis:
        if isinstance(number, (bool, numpy.bool_)) or not isinstance(number, (int, numpy.integer)):
            if not (isinstance(number, numpy.ndarray) and number.ndim == 0 and number.dtype.kind in "iu"):
                raise TypeError(f"Axis must be an integer, tuple, list of integers or a constant, got {axis!r}")
    return _sorted_once([int(number) for number in axis], axis)


def _sorted_once(numbers, axis):
    """Axes as a sorted tuple; raises ``ValueError`` if one occurs twice."""
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"duplicate value in 'axis': {axis} names a dimension twice")
    return tuple(sorted(numbers))


def positive_axes(x, axis):
    """A tuple of non-negative axes of ``x``; None means all. Raises ``AxisError`` if one does not exist, and
    ``ValueError`` if one occurs twice. The last axis of a number is the number itself, as NumPy has it."""
    rank = x.type.ndim
    if axis is None or not rank and tuple(axis) in ((0,), (-1,)):
        return tuple(range(rank))
    for number in axis:
        if not -rank <= number < rank:
            raise AxisError(f"Not enough dimensions on {x} to reduce on axis {number}: it has {rank}")
    return _sorted_once([number % rank for number in axis], axis)


def pad_reduced(x, reduced, axes):
    """``reduced`` with dimensions of length 1 instead of the ``axes`` of ``x`` that were reduced."""
    kept = iter(range(x.type.ndim))
    return dimshuffle(reduced, ["x" if axis in axes else next(kept) for axis in range(x.type.ndim)])


def repeated_with_mask(op, inputs, outputs, output_grads, masks, has_slopes=False):
    """The gradient of a reduction, which repeats that of the result, perhaps multiplied by slopes, and its mask."""
    x, = inputs
    axes = positive_axes(x, op.axis)
    mask = masks[0].before_slopes(output_grads[0]) if has_slopes else masks[0]
    return op.L_op(inputs, outputs, output_grads), [mask.moved(lambda condition: pad_reduced(x, condition, axes))]


def lines_with_mask(op, inputs, outputs, output_grads, masks, axis):
    """The gradient of an op on the lines along an axis, whose slopes may be infinite, and its mask: it stays zero in
    lines where the gradient of the result is zero."""
    terms, (mask,) = Op.masked_L_op(op, inputs, outputs, output_grads, masks)
    gradient = masks[0].applied(output_grads[0])
    some = Any((axis,))(scalar.neq(gradient, scalar.number(0, gradient)))
    return terms, [(mask or NONE).also(pad_reduced(gradient, some, (axis,)), True, masks[0].lasts)]


class CAReduce(Op):
    """Reduce with a commutative, associative scalar op.

    Parameters
    ----------
    scalar_op : ScalarOp
        ``add``, ``mul``, ``maximum``, ``minimum``, ``and_``, ``or_`` or ``xor`` of ``scalar.py``.
    axis : None, int or sequence of int
        The axes to reduce; None means all. Negative axes count from the last one.

    Raises
    ------
    NotImplementedError
        If there is no loop that reduces by ``scalar_op``.
    ValueError
        Raised by ``make_node`` for axes that do not exist.

    Examples
    --------
    >>> T.CAReduce(phintys.scalar.maximum, axis=0)(T.as_tensor([[1, 5], [7, 2]])).eval()
    array([7, 5])
    """

    runs_alone = True
    __props__ = ("scalar_op", "axis")

    def __init__(self, scalar_op, axis=None):
        if scalar_op.nin not in (-1, 2) or scalar_op.nout != 1 or scalar_op.name not in FOLDING_UFUNCS \
                or not isinstance(scalar_op, LoopedScalarOp):
            raise NotImplementedError(f"CAReduce only supports {', '.join(FOLDING_UFUNCS)}, not {scalar_op}")
        self.scalar_op = scalar_op
        self.axis = axis_tuple(axis)

    def output_dtype(self, input_dtype):
        """The dtype of the result."""
        return input_dtype

    def accumulator_dtype(self, input_dtype):
        """The dtype in which values are accumulated."""
        return input_dtype

    def specialized(self, axis, input_dtype):
        """The same reduction with all parameters explicit: axes that are not negative, and dtypes."""
        return self if axis == self.axis else type(self)(**dict(self._arguments(), axis=axis))

    def _arguments(self):
        """The constructor's arguments that the class does not determine."""
        return {"scalar_op": self.scalar_op}

    def make_node(self, x):
        x = as_tensor_variable(x)
        axes = positive_axes(x, self.axis)
        op = self.specialized(None if self.axis is None else axes, x.type.dtype)
        return Apply(op, [x], [op.output_type(x.type.dtype, x.type.broadcastable, x.type.shape).make_variable()])

    def output_type(self, input_dtype, broadcastable, shape):
        """The type of the result for an input with that dtype, pattern and static shape."""
        axes = range(len(shape)) if self.axis is None else self.axis
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        return known_type(self.output_dtype(input_dtype), [broadcastable[axis] for axis in kept],
                          [shape[axis] for axis in kept])

    def make_kernel(self, node):
        x = node.inputs[0].type
        return self.kernel_over(ScalarCode([x.dtype], outputs=[0]), [x.broadcastable])

    def kernel_over(self, code, patterns):
        """The kernel that reduces the result of scalar code over inputs with these broadcastable patterns."""
        axes, dtype = self.axes_of(patterns), code.dtypes[code.outputs[0]]
        return ReductionKernel(code, patterns, FOLDING_UFUNCS[self.scalar_op.name], axes,
                               self.accumulator_dtype(dtype), self.output_dtype(dtype))

    def axes_of(self, patterns):
        """The axes of a reduction of inputs with these broadcastable patterns."""
        return tuple(range(len(patterns[0]))) if self.axis is None else self.axis

    def infer_shape(self, node, input_shapes):
        shape, = input_shapes
        axes = range(len(shape)) if self.axis is None else self.axis
        return [tuple([length for axis, length in enumerate(shape) if axis not in axes])]

    def _name(self):
        return f"Reduce{{{self.scalar_op}}}"

    def __str__(self):
        return self._name() + ("" if self.axis is None else f"{{{', '.join(map(str, self.axis))}}}")


class All(CAReduce):
    """Whether all elements over the axes are nonzero, as bool.

    Examples
    --------
    >>> T.All(axis=1)(T.as_tensor([[True, True], [True, False]])).eval()
    array([ True, False])
    """

    __props__ = ("axis",)

    def __init__(self, axis=None):
        CAReduce.__init__(self, scalar.and_, axis)

    def _arguments(self):
        return {}

    def make_node(self, x):
        x = as_tensor_variable(x)
        return CAReduce.make_node(self, x if x.type.dtype == "bool" else scalar.neq(x, 0))

    def grad(self, inputs, output_grads):
        return [inputs[0].zeros_like(dtype=config.floatX)]

    def _name(self):
        return type(self).__name__


class Any(All):
    """Whether any element over the axes is nonzero, as bool.

    Examples
    --------
    >>> T.Any(axis=1)(T.as_tensor([[True, False], [False, False]])).eval()
    array([ True, False])
    """

    def __init__(self, axis=None):
        CAReduce.__init__(self, scalar.or_, axis)


class Extremum(CAReduce):
    """The base class of ``Max`` and ``Min``: every element that equals the extremum receives the whole gradient."""

    __props__ = ("axis",)
    operation = None

    def __init__(self, axis=None):
        CAReduce.__init__(self, getattr(scalar, self.operation), axis)

    def _arguments(self):
        return {}

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.type.dtype in complex_dtypes:
            raise TypeError(f"{type(self).__name__} of complex numbers is not defined, got {x} of type {x.type}")
        return CAReduce.make_node(self, x)

    def L_op(self, inputs, outputs, output_grads):
        x, = inputs
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        # Not the result that is given: a loop has kept it, and computes x again, perhaps with other roundings.
        return [self._chosen(x, self(x)) * pad_reduced(x, output_grads[0], positive_axes(x, self.axis))]

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        return repeated_with_mask(self, inputs, outputs, output_grads, masks)

    def R_op(self, inputs, eval_points):
        x, = inputs
        return [Sum(self.axis, dtype=x.type.dtype)(self._chosen(x, self(x)) * eval_points[0])]

    def _chosen(self, x, extremum):
        return scalar.eq(pad_reduced(x, extremum, positive_axes(x, self.axis)), x)


class Max(Extremum):
    """The largest element over the axes; NaN if an element is NaN.

    Examples
    --------
    >>> T.Max(axis=0)(T.as_tensor([[1, 5], [7, 2]])).eval()
    array([7, 5])
    """

    operation = "maximum"


class MaxOrLowest(Max):
    """Like `Max` for floating-point numbers, but the result for no elements is -inf.

    The optimizer subtracts it from the arguments of exponentials, where an empty sum must be 0 instead of an error.
    """

    def kernel_over(self, code, patterns):
        """The kernel that reduces the result of scalar code over inputs with these broadcastable patterns."""
        dtype = code.dtypes[code.outputs[0]]
        return ReductionKernel(code, patterns, numpy.maximum, self.axes_of(patterns), dtype, dtype,
                               identity=-numpy.inf)


class Min(Extremum):
    """The smallest element over the axes; NaN if an element is NaN.

    Examples
    --------
    >>> T.Min(axis=0)(T.as_tensor([[1, 5], [7, 2]])).eval()
    array([1, 2])
    """

    operation = "minimum"


class CAReduceDtype(CAReduce):
    """A reduction with separate dtypes for the result and the accumulator.

    Parameters
    ----------
    scalar_op, axis
        See `CAReduce`.
    dtype : str, optional
        The dtype of the result; by default that of the input, but 64-bit integers for smaller discrete dtypes.
    acc_dtype : str, optional
        The dtype of the accumulator; by default at least int64, uint64, float64 (float32 for float16) or complex128.

    Raises
    ------
    TypeError
        Raised by ``make_node`` if ``acc_dtype`` would lose precision.

    Examples
    --------
    >>> T.CAReduceDtype(phintys.scalar.add, axis=0, dtype="float64")(T.as_tensor([[1, 5], [7, 2]])).eval()
    array([8., 7.])
    """

    __props__ = ("scalar_op", "axis", "dtype", "acc_dtype")

    def __init__(self, scalar_op, axis=None, dtype=None, acc_dtype=None):
        CAReduce.__init__(self, scalar_op, axis)
        self.dtype = dtype if dtype is None else canonical_dtype(dtype)
        self.acc_dtype = acc_dtype if acc_dtype is None else canonical_dtype(acc_dtype)

    def output_dtype(self, input_dtype):
        return self.dtype or reduced_dtype(input_dtype)

    def accumulator_dtype(self, input_dtype):
        wanted = self.acc_dtype
        if wanted is None:
            overflows = input_dtype in ("int64", "uint64") and self.dtype in continuous_dtypes
            return accumulator_dtype(self.dtype if overflows else input_dtype)
        if (wanted in continuous_dtypes and input_dtype in discrete_dtypes) or upcast(input_dtype, wanted) == wanted:
            return wanted
        raise TypeError(f"Cannot build {self} node with input dtype {input_dtype} and acc_dtype {wanted}, as precision "
                        f"would be lost. Use an acc_dtype at least as precise as {upcast(input_dtype, wanted)}, or "
                        f"'dtype' instead of 'acc_dtype' to cast the precise result, or cast the input to {wanted}.")

    def specialized(self, axis, input_dtype):
        dtype, accumulator = self.output_dtype(input_dtype), self.accumulator_dtype(input_dtype)
        if (axis, dtype, accumulator) == (self.axis, self.dtype, self.acc_dtype):
            return self
        return type(self)(**dict(self._arguments(), axis=axis, dtype=dtype, acc_dtype=accumulator))

    def _folds_integers(self, output):
        return output.type.dtype in discrete_dtypes or self.acc_dtype in discrete_dtypes

    def _name(self):
        return f"ReduceDtype{{{self.scalar_op}}}" if type(self) is CAReduceDtype else type(self).__name__

    def __str__(self):
        axes = "" if self.axis is None else f"axis=[{', '.join(map(str, self.axis))}], "
        return f"{self._name()}{{{axes}acc_dtype={self.acc_dtype}}}"


class Sum(CAReduceDtype):
    """The sum over axes; the parameters are those of `CAReduceDtype`.

    Examples
    --------
    >>> T.Sum(axis=0)(T.as_tensor([[1, 5], [7, 2]])).eval()
    array([8, 7])
    """

    __props__ = ("axis", "dtype", "acc_dtype")
    linear_in = (0,)

    def __init__(self, axis=None, dtype=None, acc_dtype=None):
        CAReduceDtype.__init__(self, scalar.add, axis, dtype, acc_dtype)

    def _arguments(self):
        return {}

    def L_op(self, inputs, outputs, output_grads):
        x, = inputs
        if outputs[0].type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        gradient = real_like(x, output_grads[0])
        return [scalar.second(x, pad_reduced(x, gradient, positive_axes(x, self.axis)))]

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        return repeated_with_mask(self, inputs, outputs, output_grads, masks)
