"""Partitions and functions that use them: ``partition``, ``argpartition``, ``median``, ``percentile``, ``quantile``.

A partition moves elements so that the chosen positions have the elements that a sort would put there, with no larger
elements before and no smaller ones after them. It is a permutation, and has the derivatives of one (see
``sorting.py``). The axis and the positions may be symbolic.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import InPlaceOp, Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant
from phintys.ops.cumulative.product import prod
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.identity.assertion import Check
from phintys.ops.indexing.take import take
from phintys.ops.reduction.reduction import all as all_true
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.sorting import along, checked_axis, put_back, with_axis
from phintys.ops.sorting.sorting_kernel import PartitionKernel
from phintys.ops.types.axes import several_axes
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import (
    complex_dtypes,
    continuous_dtypes,
    discrete_dtypes,
    float_dtypes,
    integer_dtypes,
    upcast,
)
from phintys.ops.types.numpy_arguments import with_numpy_arguments
from phintys.ops.types.tensor_type import TensorType


class _Partition(Op):
    """The base class of both ops. The inputs are an array, a vector of positions, and an axis.

    Raises
    ------
    ValueError
        At run time, for a position or an axis that does not exist.
    """

    __props__ = ()
    shape_as = 0
    depends_on = (0,)

    def make_node(self, input, chosen, axis=-1):
        input, chosen = as_tensor_variable(input), as_tensor_variable(chosen)
        axis = checked_axis(type(self).__name__, axis, input)
        if chosen.type.ndim != 1 or chosen.type.dtype not in discrete_dtypes:
            raise TypeError(f"{type(self).__name__}: the positions must be a vector of integers, got {chosen} of type "
                            f"{chosen.type}")
        dtype = self._dtype(input.type)
        return Apply(self, [input, chosen, axis],
                     [TensorType(dtype, input.type.broadcastable, shape=input.type.shape)()])


class PartitionOp(InPlaceOp, _Partition):
    """The elements of an array, partitioned along an axis."""

    def _dtype(self, type_):
        return type_.dtype

    def make_kernel(self, node):
        return PartitionKernel(node.inputs[0].type.dtype, False)

    def grad(self, inputs, output_grads):
        order = ArgPartitionOp()(*inputs)
        return [put_back(output_grads[0], order, inputs[2]), disconnected_type(), disconnected_type()]

    def R_op(self, inputs, eval_points):
        return [along(eval_points[0], ArgPartitionOp()(*inputs), inputs[2])]


class ArgPartitionOp(_Partition):
    """The positions of the elements of an array, partitioned along an axis, as int64."""

    def _dtype(self, type_):
        return "int64"

    def make_kernel(self, node):
        return PartitionKernel(node.inputs[0].type.dtype, True)

    def grad(self, inputs, output_grads):
        x = inputs[0]
        zeros = x.zeros_like(dtype=None if x.type.dtype in continuous_dtypes else config.floatX)
        return [zeros, disconnected_type(), disconnected_type()]

    def R_op(self, inputs, eval_points):
        return [None]


def _partition(name, op, a, kth, axis, kind, order):
    kth = as_tensor_variable(kth)
    if kind != "introselect":
        raise ValueError(f"{name}: kind must be 'introselect', got {kind!r}")
    if order is not None:
        raise ValueError(f"{name}: order={order!r} refers to fields of records, but tensors have no fields")
    if kth.type.dtype not in integer_dtypes and not (kth.type.shape == (0,)):
        raise TypeError(f"{name}: kth must be an integer or a vector of integers, got {kth} of type {kth.type}")
    a, axis = with_axis(a, axis)
    return op(a, as_dtype(flatten(kth), "int64"), axis)


def partition(a, kth, axis=-1, kind="introselect", order=None):
    """Partly sort elements along an axis: those at the positions ``kth`` are where a sort would put them.

    Parameters
    ----------
    a : tensor-like
    kth : int, vector of integers, or symbolic
        Positions; negative ones count from the end. No smaller element comes after such a position, and no larger one
        before.
    axis : int or symbolic integer, or None
        None means that the flattened tensor is partitioned.
    kind : {"introselect"}
    order : None
        Not supported: tensors have no fields.

    Returns
    -------
    TensorVariable
        Of the dtype and shape of ``a``. The gradient of each element goes to its original position.

    Raises
    ------
    TypeError
        If ``kth`` is not an integer.
    ValueError
        If ``a`` has rank 0, for another ``kind`` or an axis that does not exist; at run time, for a position that does
        not exist.

    Examples
    --------
    >>> T.partition([3.0, 1.0, 2.0], 0).eval()[0].item()
    1.0
    """
    return _partition("partition", PartitionOp(), a, kth, axis, kind, order)


def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    """The positions of elements in the order of ``partition``.

    Parameters
    ----------
    a, kth, axis, kind, order
        See ``partition``.

    Returns
    -------
    TensorVariable
        Of dtype int64; its gradient is zero.

    Raises
    ------
    TypeError, ValueError
        See ``partition``.

    Examples
    --------
    >>> T.argpartition(T.as_tensor([5, 1, 4]), 1).eval()[0]
    np.int64(1)
    """
    return _partition("argpartition", ArgPartitionOp(), a, kth, axis, kind, order)


# ---- quantiles -------------------------------------------------------------------------------------------------------
def as_float(name, x):
    """A real tensor as floats."""
    x = as_tensor_variable(x)
    if x.type.dtype in complex_dtypes:
        raise TypeError(f"{name}: complex numbers have no quantiles, got {x} of type {x.type}")
    return x if x.type.dtype in float_dtypes else as_dtype(x, "float64")


def one_axis_last(name, x, axis):
    """The tensor with the reduced axes joined to one axis, the last; and these axes."""
    axes = several_axes(name, x, axis)
    kept = [number for number in range(x.type.ndim) if number not in axes]
    x = dimshuffle(x, *kept, *axes)
    if len(axes) != 1:
        joined = prod(x.shape[len(kept):], keepdims=True)       # -1 would be unknown where another length is 0
        x = reshape(x, concatenate([x.shape[:len(kept)], joined]), ndim=len(kept) + 1)
    return x, axes


def some_length(name, x):
    """The length of the last axis, which must not be 0."""
    length = shape_i(x, x.type.ndim - 1)
    return Check(f"{name}: there are no elements along the axis")(length, elementwise.gt(length, 0))


def restored(found, axes, rank, keepdims, before=0):
    """Put dimensions of length 1 where the axes were, after the first ``before`` dimensions."""
    if not keepdims:
        return found
    kept = iter(range(before, found.type.ndim))
    return dimshuffle(found, *range(before), *["x" if axis in axes else next(kept) for axis in range(rank)])


@with_numpy_arguments
def median(a, axis=None, keepdims=False):
    """The median over the given dimensions, like ``numpy.median``.

    Parameters
    ----------
    a : tensor-like
    axis : int, tuple of int or None
        None means all dimensions.
    keepdims : bool
        Whether to keep the reduced dimensions, with length 1.

    Returns
    -------
    TensorVariable
        The mean of both elements in the middle if their number is even; NaN if there is a NaN. Integers give float64.
        Complex numbers are ordered by their real parts, then by their imaginary parts.

    Raises
    ------
    ValueError
        For an axis that does not exist; at run time, if there are no elements.

    Examples
    --------
    >>> T.median([3.0, 1.0, 2.0, 7.0]).eval().item()
    2.5
    """
    x = as_tensor_variable(a)
    rank = x.type.ndim
    x, axes = one_axis_last("median", x if x.type.dtype in complex_dtypes else as_float("median", x), axis)
    length = some_length("median", x)
    lower, upper = (length - 1) // 2, length // 2
    ordered = PartitionOp()(x, concatenate([[lower], [upper], [length - 1]]), x.type.ndim - 1)
    wide = _interpolated_dtype(x.type.dtype)
    lower, upper, last = [ordered[..., position] for position in (lower, upper, -1)]
    found = as_dtype((as_dtype(lower, wide) + as_dtype(upper, wide)) / constant(2, dtype=wide), x.type.dtype)
    return restored(elementwise.switch(elementwise.isnan(last), last, found), axes, rank, keepdims)


def _interpolated_dtype(dtype):
    """The dtype for sums and differences of elements: those of float16 may be infinite."""
    return "float32" if dtype == "float16" else dtype


# NumPy's methods: the position that a probability q has among n elements, counted from 0.
def _between(alpha, beta):
    """A position by the parameters of Hyndman and Fan."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


CONTINUOUS = {
    "linear": lambda n, q: (n - 1) * q,
    "weibull": _between(0, 0),
    "hazen": _between(0.5, 0.5),
    "interpolated_inverted_cdf": _between(0, 1),
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
}
# How the position is rounded, so that elements are taken without interpolation.
ROUNDED = {"lower": elementwise.floor, "higher": elementwise.ceil, "nearest": elementwise.round_half_to_even}
# Methods of the inverse of the distribution function: what is taken from ``n * q``, and the rounding of the position.
INVERTED = {"inverted_cdf": (1, elementwise.ceil),
            "closest_observation": (1.5, lambda position: elementwise.ceil(position + elementwise.cast(elementwise.and_(
                elementwise.eq(position, elementwise.floor(position)), elementwise.eq(position % 2, 0)), "float64"))),
            "averaged_inverted_cdf": (1, None)}
ROUNDED.update({name: rounding for name, (_, rounding) in INVERTED.items() if rounding})
METHODS = (*CONTINUOUS, *ROUNDED, "midpoint", "averaged_inverted_cdf")


def position_of(q, length, method):
    """The position of a probability, between two elements, and the share of the second one."""
    n = as_dtype(length, q.type.dtype)
    last = elementwise.maximum(n - 1, 0)
    if method in INVERTED:
        position = n * q - INVERTED[method][0]
    else:
        position = elementwise.clip(CONTINUOUS.get(method, CONTINUOUS["linear"])(n, q), 0, last)
    if method not in CONTINUOUS:
        # The optimizer may multiply in another order, so a whole number may be missed by a rounding error.
        whole = elementwise.round_half_to_even(position)
        near = abs(position - whole) <= 4 * numpy.finfo(q.type.dtype).eps * n
        position = elementwise.switch(near, whole, position)
    if method in ROUNDED:
        position = ROUNDED[method](position)
    first = elementwise.floor(position)
    share = position - first
    if method in INVERTED:
        share = elementwise.switch(position < 0, 0.0, elementwise.switch(share > 0, 1.0, 0.5))
        first, share = elementwise.clip(first, 0, last), as_dtype(share, q.type.dtype)
    if method == "midpoint":
        share = elementwise.switch(share > 0, constant(0.5, dtype=q.type.dtype), share)
    return as_dtype(first, "int64"), share


def quantile_by_method(name, a, q, axis, keepdims, method):
    """Quantiles of checked probabilities; ``name`` is that of the public function."""
    if method not in METHODS:
        raise ValueError(f"{name}: {method!r} is not a valid method; use one of {', '.join(METHODS)}")
    x = as_tensor_variable(a)
    dtype = upcast(as_float(name, x).type.dtype, q.type.dtype)
    q = as_dtype(q, "float64" if dtype == "float16" else dtype)             # a float16 position is rounded from 2048 on
    rank = x.type.ndim
    x, axes = one_axis_last(name, x, axis)
    last_axis, length = x.type.ndim - 1, some_length(name, x)
    first, share = position_of(flatten(q), length, method)
    if method in ROUNDED:
        ordered = PartitionOp()(x, concatenate([first, [length - 1]]), last_axis)
        found = take(ordered, first, axis=last_axis)
    else:
        second = elementwise.minimum(first + 1, length - 1)
        ordered = PartitionOp()(x, concatenate([first, second, [length - 1]]), last_axis)
        found = interpolated([take(ordered, positions, axis=last_axis) for positions in (first, second)], share, dtype)
    if x.type.dtype in float_dtypes:                                        # NaN comes last, and makes all of them NaN
        last = dimshuffle(ordered[..., -1], *range(last_axis), "x")
        found = elementwise.switch(elementwise.isnan(last), last, found)
    return restored(probabilities_first(found, q), axes, rank, keepdims, q.type.ndim)


def probabilities_first(found, q):
    """What was found along the last axis for the flattened probabilities, with their dimensions, as the first ones."""
    last_axis = found.type.ndim - 1
    found = dimshuffle(found, last_axis, *range(last_axis))
    if q.type.ndim == 0:
        return found[0]
    return found if q.type.ndim == 1 else reshape(found, concatenate([q.shape, found.shape[1:]]),
                                                  ndim=q.type.ndim + last_axis)


def interpolated(ends, share, dtype):
    """As NumPy interpolates: from the nearer element, and not between equal ones, which may be infinite."""
    wide = _interpolated_dtype(dtype)
    (low, high), share = [as_dtype(end, wide) for end in ends], as_dtype(share, wide)
    step = high - low
    found = elementwise.switch(share < 0.5, low + step * share, high - step * (1 - share))
    return as_dtype(elementwise.switch(elementwise.eq(low, high), low, found), dtype)


def probabilities(name, a, q, most):
    """The probabilities, of which a Python number has the dtype of the elements, as in NumPy."""
    if isinstance(q, (int, float)):
        dtype = as_tensor_variable(a).type.dtype
        q = numpy.asarray(q, dtype if dtype in float_dtypes else "float64")
    q = as_float(name, q)
    message = f"{name}: {'Percentiles' if most == 100 else 'Quantiles'} must be in the range [0, {most}]"
    if isinstance(q, Constant):
        if not ((q.data >= 0) & (q.data <= most)).all():
            raise ValueError(f"{message}, got {q.data}")
        return q
    return Check(message)(q, all_true(elementwise.and_(elementwise.ge(q, 0), elementwise.le(q, most))))


@with_numpy_arguments
def quantile(a, q, axis=None, method="linear", keepdims=False):
    """Quantiles over the given dimensions, like ``numpy.quantile``.

    Parameters
    ----------
    a : tensor-like of real numbers
    q : float or tensor-like
        Probabilities between 0 and 1.
    axis : int, tuple of int or None
        None means all dimensions.
    method : str
        "linear", "lower", "higher", "nearest", "midpoint", "weibull", "hazen", "interpolated_inverted_cdf",
        "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "median_unbiased" or "normal_unbiased"; see
        NumPy.
    keepdims : bool
        Whether to keep the reduced dimensions, with length 1.

    Returns
    -------
    TensorVariable
        The dimensions of ``q`` come first. NaN where there is a NaN. Integers give float64 if the method interpolates.
        There are gradients with respect to ``a`` and, if the method interpolates, ``q``.

    Raises
    ------
    TypeError
        For complex numbers.
    ValueError
        For another method, an axis that does not exist, or a probability that is out of range or NaN, at run time if it
        is symbolic; at run time, if there are no elements.

    Examples
    --------
    >>> T.quantile([3.0, 1.0, 2.0], 0.25).eval().item()
    1.5
    """
    return quantile_by_method("quantile", a, probabilities("quantile", a, q, 1), axis, keepdims, method)


@with_numpy_arguments
def percentile(a, q, axis=None, method="linear", keepdims=False):
    """Percentiles over the given dimensions, like ``numpy.percentile``: quantiles of ``q / 100``.

    Parameters
    ----------
    a, axis, method, keepdims
        See ``quantile``.
    q : float or tensor-like
        Percentages between 0 and 100.

    Returns
    -------
    TensorVariable
        See ``quantile``.

    Raises
    ------
    TypeError, ValueError
        See ``quantile``.

    Examples
    --------
    >>> T.percentile(T.as_tensor([1.0, 2.0, 4.0]), 50).eval()
    array(2.)
    """
    # 30.0 as a float32 becomes another number when it is divided by 100.
    return quantile_by_method("percentile", a, probabilities("percentile", a, q, 100) / 100, axis, keepdims, method)
