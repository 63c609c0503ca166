"""Quantiles of elements with weights: NumPy's argument ``weights`` of ``quantile`` and ``percentile``."""
from phintys.ops.compositions.along_axis import take_along_axis
from phintys.ops.cumulative.cumulative import cumsum
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.reduction import reduction
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.reshape import flatten
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.partitioning import one_axis_last, probabilities_first, restored
from phintys.ops.sorting.sorting import argsort
from phintys.ops.types.axes import several_axes
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import float_dtypes


def weighted_quantile(name, a, q, axis, keepdims, weights):
    """The first elements up to which the weights have the shares ``q``: NumPy's method "inverted_cdf".

    Parameters
    ----------
    name : str
        Of NumPy's function.
    a : tensor-like
    q : TensorVariable
        Checked probabilities.
    axis, keepdims
        See `quantile`.
    weights : tensor-like
        Of the shape of ``a``, or of that of the axes.
    """
    x = as_tensor_variable(a)
    weights, rank = _for_elements(name, as_dtype(as_tensor_variable(weights), "float64"), x, axis), x.type.ndim
    (x, axes), (weights, _) = [one_axis_last(name, part, axis) for part in (x, weights)]
    last = x.type.ndim - 1
    order = argsort(x, axis=-1, kind="stable")
    ordered, shares = take_along_axis(x, order, -1), cumsum(take_along_axis(weights, order, -1), last)
    shares = dimshuffle(shares / dimshuffle(shares[..., -1], *range(last), "x"), *range(last), "x", last)
    shares = elementwise.switch(elementwise.eq(shares, 0), -1.0, shares)            # elements that have no weight
    where = reduction.sum(shares < dimshuffle(flatten(q), 0, "x"), axis=-1)
    found = take_along_axis(ordered, elementwise.minimum(where, shape_i(x, last) - 1), -1)
    if x.type.dtype in float_dtypes:
        worst = dimshuffle(ordered[..., -1], *range(last), "x")
        found = elementwise.switch(elementwise.isnan(worst), worst, found)
    return restored(probabilities_first(found, q), axes, rank, keepdims, q.type.ndim)


def _for_elements(name, weights, x, axis):
    """A weight for each element."""
    if weights.type.ndim == x.type.ndim:
        return weights
    axes = several_axes(name, x, axis)
    if axis is None or weights.type.ndim != len(axes):
        raise TypeError(f"{name}: weights must have the shape of {x} or that of the axes {axis}, got {weights.type}")
    places = [axes.index(number) if number in axes else "x" for number in range(x.type.ndim)]
    return elementwise.second(x, dimshuffle(weights, *places))
