"""Reductions that leave out NaN: ``nansum``, ``nanmean``, ``nanmax``, ``nanquantile`` and others, as NumPy's.

Each replaces NaN by the neutral element of a reduction, and counts what is left. Of integers each is the reduction
itself.
"""
import numpy

from phintys.ops.compositions.along_axis import take_along_axis
from phintys.ops.cumulative.cumulative import cumprod, cumsum
from phintys.ops.cumulative.product import prod
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.identity.assertion import Check
from phintys.ops.reduction import reduction
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.sorting import partitioning
from phintys.ops.sorting.sorting import sort
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, float_dtypes, upcast


def _filled(x, value):
    """``x`` with ``value`` for NaN."""
    if x.type.dtype in discrete_dtypes:
        return x
    return elementwise.switch(elementwise.isnan(x), constant(value, dtype=x.type.dtype), x)


def _count(x, axis, keepdims):
    """How many elements are not NaN, as int64."""
    return reduction.sum(~elementwise.isnan(x), axis=axis, keepdims=keepdims)


def _real(name, x):
    if x.type.dtype in complex_dtypes:
        raise TypeError(f"{name}: complex numbers are not supported, got {x} of type {x.type}")
    return x


def nansum(a, axis=None, dtype=None, keepdims=False):
    """The sum of the elements that are not NaN, over the given dimensions or all; 0 if there are none.

    Examples
    --------
    >>> T.nansum(T.as_tensor([1.0, numpy.nan, 3.0])).eval()
    array(4.)
    """
    a = _filled(as_tensor_variable(a), 0)
    return reduction.sum(a if dtype is None else as_dtype(a, dtype), axis=axis, dtype=dtype, keepdims=keepdims)


def nanprod(a, axis=None, dtype=None, keepdims=False):
    """The product of the elements that are not NaN, over the given dimensions or all; 1 if there are none.

    Examples
    --------
    >>> T.nanprod(T.as_tensor([2.0, numpy.nan, 3.0])).eval()
    array(6.)
    """
    a = _filled(as_tensor_variable(a), 1)
    return prod(a if dtype is None else as_dtype(a, dtype), axis=axis, dtype=dtype, keepdims=keepdims)


def nancumsum(a, axis=None):
    """The cumulative sum along an axis, or of the flattened tensor, where NaN counts as 0.

    Examples
    --------
    >>> T.nancumsum(T.as_tensor([1.0, numpy.nan, 3.0])).eval()
    array([1., 1., 4.])
    """
    return cumsum(_filled(as_tensor_variable(a), 0), axis)


def nancumprod(a, axis=None):
    """The cumulative product along an axis, or of the flattened tensor, where NaN counts as 1.

    Examples
    --------
    >>> T.nancumprod(T.as_tensor([2.0, numpy.nan, 3.0])).eval()
    array([2., 2., 6.])
    """
    return cumprod(_filled(as_tensor_variable(a), 1), axis)


# ---- extrema ---------------------------------------------------------------------------------------------------------
def _extremum(name, reduce, bound, a, axis, keepdims):
    x = _real(name, as_tensor_variable(a))
    found = reduce(_filled(x, bound), axis=axis, keepdims=keepdims)
    if x.type.dtype in discrete_dtypes:
        return found
    nothing = constant(numpy.nan, dtype=x.type.dtype)
    return elementwise.switch(elementwise.eq(_count(x, axis, keepdims), 0), nothing, found)


def nanmax(a, axis=None, keepdims=False):
    """The largest element that is not NaN, over the given dimensions or all; NaN if there is none.

    Examples
    --------
    >>> T.nanmax(T.as_tensor([1.0, numpy.nan, 3.0])).eval()
    array(3.)
    """
    return _extremum("nanmax", reduction.max, -numpy.inf, a, axis, keepdims)


def nanmin(a, axis=None, keepdims=False):
    """The smallest element that is not NaN, over the given dimensions or all; NaN if there is none.

    Examples
    --------
    >>> T.nanmin(T.as_tensor([1.0, numpy.nan, 3.0])).eval()
    array(1.)
    """
    return _extremum("nanmin", reduction.min, numpy.inf, a, axis, keepdims)


def _arg(name, reduce, bound, a, axis, keepdims):
    x = _real(name, as_tensor_variable(a))
    found = reduce(_filled(x, bound), axis=axis, keepdims=keepdims)
    if x.type.dtype in discrete_dtypes:
        return found
    counts = _count(x, axis, keepdims)
    return Check(f"{name}: All-NaN slice encountered")(found, reduction.all(counts > 0))


def nanargmax(a, axis=None, keepdims=False):
    """The position of the largest element that is not NaN; raises ``ValueError`` where there is none.

    Examples
    --------
    >>> T.nanargmax(T.as_tensor([1.0, numpy.nan, 3.0])).eval()
    array(2)
    """
    return _arg("nanargmax", reduction.argmax, -numpy.inf, a, axis, keepdims)


def nanargmin(a, axis=None, keepdims=False):
    """The position of the smallest element that is not NaN; raises ``ValueError`` where there is none.

    Examples
    --------
    >>> T.nanargmin(T.as_tensor([1.0, numpy.nan, 3.0])).eval()
    array(0)
    """
    return _arg("nanargmin", reduction.argmin, numpy.inf, a, axis, keepdims)


# ---- moments ---------------------------------------------------------------------------------------------------------
def _divided(total, count):
    """A total divided by a count; 0 / 0 is NaN. Totals of float16 are divided as float32."""
    dtype = total.type.dtype
    wide = {"float16": "float32"}.get(dtype, dtype)
    return as_dtype(as_dtype(total, wide) / as_dtype(count, wide.replace("complex128", "float64").replace(
        "complex64", "float32")), dtype)


def nanmean(a, axis=None, keepdims=False):
    """The mean of the elements that are not NaN, over the given dimensions or all; NaN if there are none.

    Examples
    --------
    >>> T.nanmean(T.as_tensor([1.0, numpy.nan, 3.0])).eval()
    array(2.)
    """
    x = as_tensor_variable(a)
    if x.type.dtype in discrete_dtypes:
        return reduction.mean(x, axis=axis, keepdims=keepdims)
    if x.type.dtype == "float16":
        return as_dtype(nanmean(as_dtype(x, "float32"), axis, keepdims), "float16")
    return _divided(nansum(x, axis, keepdims=keepdims), _count(x, axis, keepdims))


def nanvar(a, axis=None, ddof=0, keepdims=False):
    """The variance of the elements that are not NaN, over the given dimensions or all.

    Parameters
    ----------
    a : tensor-like
    axis : int, tuple of int or None
    ddof : int
        What is taken from their number, by which the sum of squares is divided.
    keepdims : bool

    Returns
    -------
    TensorVariable
        Of the real dtype of ``a``; NaN where there are not more than ``ddof`` elements.

    Examples
    --------
    >>> T.nanvar(T.as_tensor([1.0, numpy.nan, 3.0])).eval()
    array(1.)
    """
    x = as_tensor_variable(a)
    if x.type.dtype in discrete_dtypes:
        return reduction.var(x, axis=axis, ddof=ddof, keepdims=keepdims)
    if x.type.dtype == "float16":
        return as_dtype(nanvar(as_dtype(x, "float32"), axis, ddof, keepdims), "float16")
    distance = x - nanmean(x, axis, keepdims=True)      # NaN also where x is infinite; that counts
    distance = abs(elementwise.switch(elementwise.isnan(x), constant(0, dtype=x.type.dtype), distance))
    left = _count(x, axis, keepdims) - ddof
    found = _divided(reduction.sum(elementwise.sqr(distance), axis=axis, keepdims=keepdims), left)
    return elementwise.switch(left > 0, found, constant(numpy.nan, dtype=found.type.dtype))


def nanstd(a, axis=None, ddof=0, keepdims=False):
    """The square root of `nanvar`.

    Examples
    --------
    >>> T.nanstd(T.as_tensor([1.0, numpy.nan, 3.0])).eval()
    array(1.)
    """
    x = as_tensor_variable(a)
    if x.type.dtype == "float16":
        return as_dtype(nanstd(as_dtype(x, "float32"), axis, ddof, keepdims), "float16")
    return elementwise.sqrt(nanvar(x, axis, ddof, keepdims))


# ---- quantiles -------------------------------------------------------------------------------------------------------
def _quantile(name, a, q, axis, method, keepdims):
    """Of each line the elements in order, NaN last; positions by the number of those that are not NaN."""
    x = as_tensor_variable(a)
    if x.type.dtype in discrete_dtypes:
        return partitioning.quantile_by_method(name, x, q, axis, keepdims, method)
    x = partitioning.as_float(name, x)
    plain, dtype = x.type.dtype, upcast(x.type.dtype, q.type.dtype)
    x = as_dtype(x, "float32") if dtype == "float16" else as_dtype(x, dtype)
    if method not in partitioning.METHODS:
        raise ValueError(f"{name}: {method!r} is not a valid method; use one of {', '.join(partitioning.METHODS)}")
    rank = x.type.ndim
    x, axes = partitioning.one_axis_last(name, x, axis)
    last, probabilities = x.type.ndim - 1, q.type.ndim
    absent = reduction.sum(elementwise.isnan(x), axis=last, keepdims=True)
    ordered, count = sort(x, axis=-1), partitioning.some_length(name, x) - absent
    # Dimensions of probabilities come first.
    q = dimshuffle(q, *range(probabilities), *["x"] * x.type.ndim)
    ordered, count = [dimshuffle(part, *["x"] * probabilities, *range(x.type.ndim)) for part in (ordered, count)]
    first, share = partitioning.position_of(as_dtype(q, "float64"), count, method)
    second = elementwise.minimum(first + 1, elementwise.maximum(count - 1, 0))
    low, high = [take_along_axis(ordered, where, -1)[..., 0] for where in (first, second)]
    share, count = share[..., 0], count[..., 0]
    found = low if method in partitioning.ROUNDED else partitioning.interpolated((low, high), share, x.type.dtype)
    found = elementwise.switch(elementwise.eq(count, 0), constant(numpy.nan, dtype=x.type.dtype), found)
    dtype = plain if method in partitioning.ROUNDED else dtype
    return partitioning.restored(as_dtype(found, dtype), axes, rank, keepdims, probabilities)


def nanquantile(a, q, axis=None, method="linear", keepdims=False):
    """Quantiles of the elements that are not NaN, over the given dimensions, like ``numpy.nanquantile``.

    Parameters
    ----------
    a : tensor-like of real numbers
    q : float or tensor-like
        Probabilities between 0 and 1.
    axis : int, tuple of int or None
        None means all dimensions.
    method : str
        See `quantile`.
    keepdims : bool

    Returns
    -------
    TensorVariable
        The dimensions of ``q`` come first; NaN where all elements are NaN.

    Raises
    ------
    TypeError, ValueError
        See `quantile`.

    Examples
    --------
    >>> T.nanquantile(T.as_tensor([3.0, numpy.nan, 1.0, 2.0]), 0.25).eval()
    array(1.5)
    """
    return _quantile("nanquantile", a, partitioning.probabilities("nanquantile", a, q, 1), axis, method, keepdims)


def nanpercentile(a, q, axis=None, method="linear", keepdims=False):
    """Percentiles of the elements that are not NaN: `nanquantile` of ``q / 100``.

    Examples
    --------
    >>> T.nanpercentile(T.as_tensor([3.0, numpy.nan, 1.0]), 50).eval()
    array(2.)
    """
    q = partitioning.probabilities("nanpercentile", a, q, 100) / 100
    return _quantile("nanpercentile", a, q, axis, method, keepdims)


def nanmedian(a, axis=None, keepdims=False):
    """The median of the elements that are not NaN, over the given dimensions or all; NaN if there are none.

    Examples
    --------
    >>> T.nanmedian(T.as_tensor([3.0, numpy.nan, 1.0, 7.0])).eval()
    array(3.)
    """
    x = as_tensor_variable(a)
    half = constant(0.5, dtype=x.type.dtype if x.type.dtype in float_dtypes else "float64")
    return _quantile("nanmedian", x, half, axis, "linear", keepdims)
