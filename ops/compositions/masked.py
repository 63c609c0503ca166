"""Reductions of chosen elements: NumPy's arguments ``where`` and ``initial``, and ``mean`` of variances.

An element that is not chosen becomes the neutral element of its reduction: 0 of a sum, ``initial`` of a maximum, NaN of
the reductions that leave out NaN.
"""
import numpy

from phintys.ops.compositions.nan_reductions import nanmax, nanmean, nanmin, nanprod, nansum
from phintys.ops.creation.allocation import alloc
from phintys.ops.cumulative.product import prod
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.reduction import reduction
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.partitioning import one_axis_last, restored
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, in_bounds, upcast

# Reduction → (function, what elements that are not chosen become, how ``initial`` joins the result).
NEUTRAL = {
    "sum": (reduction.sum, 0, elementwise.add), "prod": (prod, 1, elementwise.mul),
    "all": (reduction.all, 1, None), "any": (reduction.any, 0, None),
    "nansum": (nansum, numpy.nan, elementwise.add), "nanprod": (nanprod, numpy.nan, elementwise.mul),
    "nanmax": (nanmax, numpy.nan, elementwise.maximum), "nanmin": (nanmin, numpy.nan, elementwise.minimum),
    "nanmean": (nanmean, numpy.nan, None),
}
WITHOUT_NAN = {"nansum": "sum", "nanprod": "prod", "nanmax": "max", "nanmin": "min", "nanmean": "mean"}
SPREADS = ("var", "std", "nanvar", "nanstd")
EXTREMA = {"max": reduction.max, "min": reduction.min}


def _with_bools(value):
    """A tensor; Python's bools are not made integers."""
    return as_tensor_variable(numpy.asarray(value) if isinstance(value, bool) else value)


def mask_for(name, a, where):
    """``where`` as a mask that broadcasts to ``a`` but not beyond it; None if it chooses everything."""
    if where is True:
        return None
    where = _with_bools(where)
    where = where if where.type.dtype == "bool" else elementwise.neq(where, 0)
    longer = [mine and not other for mine, other in zip(a.type.broadcastable[::-1], where.type.broadcastable[::-1])]
    if where.type.ndim > a.type.ndim or any(longer):
        raise ValueError(f"{name}: where of type {where.type} does not broadcast to {a} of type {a.type}")
    return where


def _in_dtype(name, a, dtype):
    """``a`` in the dtype in which NumPy computes."""
    if dtype is None:
        return a
    dtype = numpy.dtype(dtype).name
    if dtype in discrete_dtypes and name.endswith(("mean", *SPREADS)):
        raise TypeError(f"{name}: dtype must be a float or complex dtype, got {dtype}")
    if a.type.dtype in complex_dtypes and dtype not in complex_dtypes:
        raise TypeError(f"{name}: dtype={dtype} would lose the imaginary part of {a} of type {a.type}")
    return as_dtype(a, dtype)


def _chosen(a, where, value):
    """``a`` with a value for what is not chosen."""
    return a if where is None else elementwise.switch(where, a, value)


def reduced(name, a, **options):
    """A reduction of the elements that ``where`` chooses.

    Parameters
    ----------
    name : str
        Of NumPy's function.
    a : tensor-like
    **options
        Of that function.
    """
    name = name.removeprefix("a") if name in ("amax", "amin") else name
    return (spread if name in SPREADS else total)(name, a, **options)


def total(name, a, *, where=True, initial=None, axis=None, keepdims=False, dtype=None):
    """A sum, product, extremum, mean, or test of all or any elements.

    Parameters
    ----------
    name : str
    a : tensor-like
    where : tensor-like of bools
        Broadcast to ``a``.
    initial : number or tensor-like, optional
        What the reduction begins with; it has the dtype of the result.
    axis, keepdims, dtype
        As for the reduction without ``where``.

    Raises
    ------
    ValueError
        If ``where`` has more dimensions, or an extremum of chosen elements has no ``initial``.
    """
    a = _in_dtype(name, as_tensor_variable(a), dtype)
    where = mask_for(name, a, where)
    if a.type.dtype in discrete_dtypes:
        name = WITHOUT_NAN.get(name, name)
    options = {"axis": axis, "keepdims": keepdims}
    if name == "mean":
        return _mean(a, where, options)
    if name in ("nanmax", "nanmin") and initial is not None:        # NaN are not chosen
        is_number = ~elementwise.isnan(a)
        name, where = WITHOUT_NAN[name], is_number if where is None else where & is_number
    if name in EXTREMA:
        return _extremum(name, a, where, initial, options)
    function, neutral, join = NEUTRAL[name]
    found = function(_chosen(a, where, constant(neutral, dtype=a.type.dtype)), **options)
    return found if initial is None else join(found, _first(initial, found.type.dtype))


def _first(initial, dtype):
    """``initial`` in the dtype of the result."""
    return as_dtype(_with_bools(initial), dtype)


def _extremum(name, a, where, initial, options):
    """An extremum that begins with ``initial``: one more element in front of the others."""
    function = EXTREMA[name]
    if initial is None and where is None:
        return function(a, **options)
    if initial is None:
        raise ValueError(f"{name}: an extremum of chosen elements needs initial=, because there may be none")
    initial = _first(in_bounds(initial, a.type.dtype), a.type.dtype)
    lines, axes = one_axis_last(name, _chosen(a, where, initial), options["axis"])
    lengths = [shape_i(lines, number) for number in range(lines.type.ndim - 1)]
    found = function(concatenate([alloc(initial, *lengths, 1), lines], axis=-1), axis=-1)
    return restored(found, axes, a.type.ndim, options["keepdims"])


def _count(a, where, options):
    """How many elements are chosen."""
    return reduction.sum(elementwise.second(a, where), **options)


def _mean(a, where, options):
    if where is None:
        return reduction.mean(a, **options)
    half = a.type.dtype == "float16"
    a = as_dtype(a, "float32") if half else as_dtype(a, "float64") if a.type.dtype in discrete_dtypes else a
    total = reduction.sum(_chosen(a, where, constant(0, dtype=a.type.dtype)), **options)
    found = total / as_dtype(_count(a, where, options), _real(total.type.dtype))
    return as_dtype(found, "float16") if half else found


def _real(dtype):
    return {"complex128": "float64", "complex64": "float32"}.get(dtype, dtype)


def spread(name, a, *, where=True, mean=None, ddof=None, correction=None, axis=None, keepdims=False, dtype=None):
    """A variance or a standard deviation, of chosen elements, or around a given mean.

    Parameters
    ----------
    name : {"var", "std", "nanvar", "nanstd"}
    a, where, axis, keepdims, dtype
        See `total`.
    mean : tensor-like, optional
        The mean, with the dimensions that are reduced.
    ddof, correction : number, optional
        Two names of what is taken from the number of elements.

    Raises
    ------
    ValueError
        If both ``ddof`` and ``correction`` are given.
    """
    if ddof is not None and correction is not None:
        raise ValueError(f"{name}: ddof and correction can't be provided simultaneously.")
    less = next((value for value in (ddof, correction) if value is not None), 0)
    a = _in_dtype(name, as_tensor_variable(a), dtype)
    if mean is not None:
        if isinstance(mean, (int, float)):
            mean = constant(mean, dtype="float64" if a.type.dtype in discrete_dtypes else a.type.dtype)
        mean = as_tensor_variable(mean)
        a = a if name.startswith("nan") else as_dtype(a, upcast(a.type.dtype, mean.type.dtype))
    dtype = a.type.dtype
    if dtype in ("float16", *discrete_dtypes):
        a = as_dtype(a, "float32" if dtype == "float16" else "float64")
    where = mask_for(name, a, where)
    if name.startswith("nan"):
        with_number = ~elementwise.isnan(a)
        where = with_number if where is None else where & with_number
    if where is None:
        where = constant(True)
    whole = {"axis": axis, "keepdims": True}
    center = _mean(a, where, whole) if mean is None else as_dtype(mean, a.type.dtype)
    distance = _chosen(a, where, center) - center
    squares = elementwise.sqr(abs(distance))
    options = {"axis": axis, "keepdims": keepdims}
    total = reduction.sum(_chosen(squares, where, constant(0, dtype=squares.type.dtype)), **options)
    left = _count(a, where, options) - less
    if name.startswith("nan"):
        found = elementwise.switch(left > 0, total / as_dtype(left, total.type.dtype), numpy.nan)
    else:
        found = total / as_dtype(elementwise.maximum(left, 0), total.type.dtype)
    found = elementwise.sqrt(found) if name.endswith("std") else found
    return as_dtype(found, "float16" if dtype == "float16" else total.type.dtype)
