"""NumPy's functions whose namesakes in the tensor namespace are Theano's, with other arguments, dtypes or results.

``numpy.cumsum(x)`` of an int8 variable is int64 as in NumPy, ``phintys.tensor.cumsum(x)`` is int8 as in Theano. The
functions here are called by NumPy's protocol only (``numpy_protocol.py``).
"""
from __future__ import annotations

from importlib import import_module
from string import ascii_letters
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.variable import Variable
from phintys.ops.products.products import kron_of_any_ranks
from phintys.ops.shape.dimshuffle import declare_ones
from phintys.ops.sorting.partitioning import probabilities
from phintys.ops.types.axes import one_axis, several_axes
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import (
    complex_dtypes,
    continuous_dtypes,
    discrete_dtypes,
    float_dtypes,
    in_bounds,
    reduced_dtype,
    upcast,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# NumPy's function → (function, NumPy's names of its arguments); see ``numpy_names.FUNCTIONS``.
NAMESAKES = {}


def own(name: str, arguments: str) -> Callable[..., Any]:
    """Decorate a function for a row of ``NAMESAKES``."""
    def enter(function):
        NAMESAKES[name] = function, arguments
        return function
    return enter


def tensor() -> Any:
    """Return the tensor namespace."""
    return import_module("phintys.tensor")


# ---- numbers among the arguments -------------------------------------------------------------------------------------
def as_array(value: Any) -> Any:
    """A Python number as an array, in the dtype that NumPy gives it: int64, float64, ..."""
    return numpy.asarray(value) if isinstance(value, (bool, int, float, complex)) else value


def like(value: Any, dtype: str) -> Any:
    """A Python number as NumPy takes it beside an array of ``dtype``: in that dtype if its kind is not higher."""
    if isinstance(value, (bool, int, float)) and (
            dtype in continuous_dtypes or (dtype != "bool" and not isinstance(value, float))):
        return constant(value, dtype=dtype)
    return as_array(value)


# ---- reductions ------------------------------------------------------------------------------------------------------
def _in_dtype(a, dtype):
    """``a`` in the dtype in which NumPy accumulates, if there is one."""
    a = tensor().as_tensor_variable(as_array(a if dtype is None else in_bounds(a, str(dtype))))
    return a if dtype is None else tensor().cast(a, numpy.dtype(dtype).name)


@own("sum", "a | axis dtype keepdims")
def sum(a: Any, axis: int | None = None, dtype: str | None = None, keepdims: bool = False) -> Any:
    """``numpy.sum``: the sum is in the dtype in which NumPy accumulates."""
    return tensor().sum(_in_dtype(a, dtype), axis, dtype=dtype, keepdims=keepdims)


@own("prod", "a | axis dtype keepdims")
def prod(a: Any, axis: int | None = None, dtype: str | None = None, keepdims: bool = False) -> Any:
    """``numpy.prod``, in the dtype in which NumPy accumulates."""
    return tensor().prod(_in_dtype(a, dtype), axis, dtype=dtype, keepdims=keepdims)


@own("mean", "a | axis dtype keepdims")
def mean(a: Any, axis: int | None = None, dtype: str | None = None, keepdims: bool = False) -> Any:
    """``numpy.mean``: in integers, if they are asked for."""
    if dtype not in discrete_dtypes:
        return tensor().mean(_in_dtype(a, dtype), axis, keepdims=keepdims)
    return tensor().cast(tensor().true_div(sum(a, axis, dtype, keepdims), tensor().size(a, axis)), dtype)


def _spread(name, a, axis, dtype, ddof, keepdims):
    if dtype in discrete_dtypes:
        raise TypeError(f"numpy.{name} of a symbolic variable: dtype must be a float or complex dtype, got {dtype}")
    found = getattr(tensor(), name)(_in_dtype(a, dtype), axis, ddof, keepdims)
    return found if dtype is None else tensor().cast(found, dtype)


@own("var", "a | axis dtype ddof keepdims")
def var(a: Any, axis: int | None = None, dtype: str | None = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """``numpy.var``, which has ``ddof``."""
    return _spread("var", a, axis, dtype, ddof, keepdims)


@own("std", "a | axis dtype ddof keepdims")
def std(a: Any, axis: int | None = None, dtype: str | None = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """``numpy.std``, which has ``ddof``."""
    return _spread("std", a, axis, dtype, ddof, keepdims)


@own("cumsum", "a | axis dtype")
def cumsum(a: Any, axis: int | None = None, dtype: str | None = None) -> Any:
    """``numpy.cumsum``: of short integers in int64."""
    return tensor().cumsum(_in_dtype(a, dtype or reduced_dtype(a.type.dtype)), axis)


@own("cumprod", "a | axis dtype")
def cumprod(a: Any, axis: int | None = None, dtype: str | None = None) -> Any:
    """``numpy.cumprod``: of short integers in int64."""
    return tensor().cumprod(_in_dtype(a, dtype or reduced_dtype(a.type.dtype)), axis)


@own("nancumsum", "a | axis dtype")
def nancumsum(a: Any, axis: int | None = None, dtype: str | None = None) -> Any:
    """``numpy.nancumsum``: of short integers in int64."""
    return tensor().nancumsum(_in_dtype(a, dtype or reduced_dtype(a.type.dtype)), axis)


@own("nancumprod", "a | axis dtype")
def nancumprod(a: Any, axis: int | None = None, dtype: str | None = None) -> Any:
    """``numpy.nancumprod``: of short integers in int64."""
    return tensor().nancumprod(_in_dtype(a, dtype or reduced_dtype(a.type.dtype)), axis)


@own("trace", "a | offset axis1 axis2 dtype")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: str | None = None) -> Any:
    """``numpy.trace``: along any two axes."""
    return sum(tensor().diagonal(a, offset, axis1, axis2), -1, dtype)


# ---- elementwise -----------------------------------------------------------------------------------------------------
@own("where", "condition | x y")
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``numpy.where``: with one argument, the positions of what is true."""
    if x is None and y is None:
        return tensor().nonzero(condition)
    if x is None or y is None:
        raise TypeError("numpy.where takes both x and y, or none of them")
    dtypes = [part.dtype if isinstance(part.dtype, str) else part.dtype.name
              for part in (x, y) if hasattr(part, "dtype")]
    x, y = [like(in_bounds(part, dtypes[0]), dtypes[0]) if dtypes else as_array(part) for part in (x, y)]
    return tensor().switch(as_array(condition), x, y)


@own("clip", "a | a_min a_max min max")
def clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    """``numpy.clip``: each limit may be None."""
    low, high = _either("min", a_min, min), _either("max", a_max, max)
    a = tensor().as_tensor_variable(as_array(a))
    limits = [_limit(limit, a.type.dtype) for limit in (low, high)]
    if all([isinstance(limit, (int, float)) for limit in (low, high)]) and low <= high \
            and a.type.dtype not in complex_dtypes:
        return tensor().clip(a, *limits)                # one loop; where low > high, NumPy's result is high
    for limit, extremum in zip(limits, (tensor().maximum, tensor().minimum)):
        a = a if limit is None else extremum(a, limit)
    return a


def _either(name, old, new):
    """The argument that has two names."""
    if old is not None and new is not None:
        raise ValueError(f"numpy.clip: a_{name} and {name} are two names of one argument, and both were given")
    return new if old is None else old


def _limit(limit, dtype):
    """A limit in the dtype of the array; whole numbers beyond that dtype's range limit nothing."""
    if type(limit) is int and dtype in discrete_dtypes and dtype != "bool":
        limits = numpy.iinfo(dtype)
        return constant(sorted((limits.min, limit, limits.max))[1], dtype=dtype)
    return like(limit, dtype)


@own("round", "a | decimals")
def round(a: Any, decimals: int = 0) -> Any:
    """``numpy.round``: to decimals, half to even."""
    dtype = a.type.dtype
    if dtype in complex_dtypes:
        return tensor().complex(round(a.real, decimals), round(a.imag, decimals))
    if dtype == "bool" and decimals:
        raise TypeError(f"numpy.round of a symbolic variable: {a} is bool, which has no decimals")
    if dtype == "bool":
        return tensor().cast(a, "float16")              # the first dtype of floats into which NumPy casts bools
    if dtype in discrete_dtypes:
        return a if decimals >= 0 else tensor().cast(_rounded(tensor().cast(a, "float64"), decimals), dtype)
    return _rounded(a, decimals)


def _rounded(x, decimals):
    """Floats rounded to decimal places as NumPy does it: multiplied, rounded, divided."""
    if not decimals:
        return tensor().round(x, "half_to_even")
    power = constant(10.0 ** abs(decimals), dtype=x.type.dtype)
    if decimals > 0:
        return tensor().round(x * power, "half_to_even") / power
    return tensor().round(x / power, "half_to_even") * power


NAMESAKES["around"] = NAMESAKES["round"]


@own("angle", "z | deg")
def angle(z: Any, deg: bool = False) -> Any:
    """``numpy.angle``, in radians or degrees."""
    dtype = z.type.dtype
    found = tensor().angle(z)
    found = tensor().rad2deg(found) if deg else found
    return tensor().cast(found, {"complex64": "float32"}.get(dtype, dtype if dtype in float_dtypes else "float64"))


def _in_float64(x):
    return tensor().cast(x, "float64") if x.type.dtype in discrete_dtypes else x


@own("sinc", "x")
def sinc(x: Any) -> Any:
    """``numpy.sinc``."""
    return tensor().sinc(_in_float64(x))


@own("i0", "x")
def i0(x: Any) -> Any:
    """``numpy.i0``, in float64."""
    return tensor().i0(_in_float64(x))


@own("select", "condlist choicelist | default")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """``numpy.select``."""
    dtypes = [part.dtype if isinstance(part.dtype, str) else part.dtype.name
              for part in (*choicelist, default) if hasattr(part, "dtype")]
    *choices, default = [like(part, dtypes[0]) if dtypes else as_array(part) for part in (*choicelist, default)]
    return tensor().select(condlist, choices, default)


# ---- shape and order -------------------------------------------------------------------------------------------------
def _order(name, order, known="CFAK"):
    if order not in tuple(known):
        raise ValueError(f"numpy.{name} of a symbolic variable: order must be one of {', '.join(map(repr, known))}, "
                         f"got {order!r}")
    return order


def _in_c_order(name, order):
    """Whether elements are read in C order. Variables have no order in memory, so that "A" and "K" mean C."""
    return order is None or _order(name, order) != "F"


@own("broadcast_arrays", "*args | | subok")
def broadcast_arrays(*args: Any) -> Any:
    """``numpy.broadcast_arrays``, whose results are a tuple."""
    return tuple(tensor().broadcast_arrays(*args))


@own("squeeze", "a | axis")
def squeeze(a: Any, axis: int | None = None) -> Any:
    """``numpy.squeeze``: lengths that are named must be 1 when the function runs; without an axis, if types say so."""
    axes = [] if axis is None or not a.type.ndim and axis in (0, -1) else several_axes("squeeze", a, axis)
    return tensor().squeeze(declare_ones(a, axes), None if axis is None else axes)


@own("unique", "ar | return_index return_inverse return_counts axis equal_nan | sorted")
def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, equal_nan: bool = True) -> Any:
    """``numpy.unique``: its NaN are equal."""
    ar = tensor().as_tensor_variable(as_array(ar))
    if not equal_nan and ar.type.dtype not in discrete_dtypes:
        raise TypeError(f"numpy.unique of a symbolic variable: NaN in {ar} are equal, equal_nan must be True")
    axis = axis if axis is None else one_axis("unique", ar, axis)
    return tensor().unique(ar, return_index, return_inverse, return_counts, axis)


@own("intersect1d", "ar1 ar2 | assume_unique return_indices")
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """``numpy.intersect1d``, with the first positions in both."""
    if not return_indices:
        return tensor().intersect1d(ar1, ar2, assume_unique)
    (first, left), (second, right) = [tensor().unique(part, return_index=True) for part in (ar1, ar2)]
    common = tensor().isin(first, second)
    return first[common], left[common], right[tensor().isin(second, first)]


@own("bincount", "x | weights minlength")
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """``numpy.bincount``: sums of weights are float64."""
    return tensor().bincount(x, weights if weights is None else _in_dtype(weights, "float64"), minlength)


@own("choose", "a choices | mode")
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """``numpy.choose``: numbers and lists among the choices have NumPy's dtypes."""
    if isinstance(choices, (list, tuple)):
        choices = [choice if isinstance(choice, (Variable, bool, int, float)) else numpy.asarray(choice)
                   for choice in choices]
        dtypes = [str(choice.dtype) for choice in choices if hasattr(choice, "dtype")]
        choices = [like(choice, upcast(*dtypes)) if dtypes else as_array(choice) for choice in choices]
    return tensor().choose(as_array(a), choices, mode=mode)


@own("linalg.lstsq", "a b | rcond")
def lstsq(a: Any, b: Any, rcond: float | None = None) -> Any:
    """``numpy.linalg.lstsq``: the rank is int32."""
    solution, residuals, rank, values = tensor().linalg.lstsq(a, b, rcond)
    return solution, residuals, tensor().cast(rank, "int32"), values


@own("unravel_index", "indices shape | order")
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """``numpy.unravel_index``."""
    return tensor().unravel_index(as_array(indices), shape, _order("unravel_index", order, "CF"))


@own("ravel_multi_index", "multi_index dims | mode order")
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """``numpy.ravel_multi_index``."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"numpy.ravel_multi_index of a symbolic variable: mode must be 'raise', 'wrap' or 'clip', got "
                         f"{mode!r}")
    return tensor().ravel_multi_index(multi_index, dims, mode, _order("ravel_multi_index", order, "CF"))


@own("ravel", "a | order")
def ravel(a: Any, order: str = "C") -> Any:
    """``numpy.ravel``, in C or Fortran order."""
    return tensor().flatten(a if _in_c_order("ravel", order) else a.T)


@own("reshape", "a | shape order newshape | copy")
def reshape(a: Any, shape: Any = None, order: str = "C", newshape: Any = None) -> Any:
    """``numpy.reshape``, in C or Fortran order."""
    shape = newshape if shape is None else shape
    if shape is None:
        raise TypeError("numpy.reshape of a symbolic variable: missing shape")
    if _in_c_order("reshape", order):
        return tensor().reshape(a, shape)
    shape = shape[::-1] if not isinstance(shape, (int, numpy.integer)) else shape
    return tensor().reshape(a.T, shape).T


@own("copy", "a | order | subok")
def copy(a: Any, order: str = "K") -> Any:
    """``numpy.copy``."""
    _in_c_order("copy", order)
    return tensor().tensor_copy(a)


def _parts(arrays, dtype, casting):
    """Arrays that are to be joined, in the dtype of the result."""
    arrays = [tensor().as_tensor_variable(as_array(part)) for part in arrays]
    dtype = upcast(*[part.type.dtype for part in arrays]) if dtype is None and arrays else dtype
    for part in arrays:
        if not numpy.can_cast(part.type.dtype, dtype, casting):
            raise TypeError(f"Cannot cast {part} from dtype {part.type.dtype} to {dtype} according to the rule "
                            f"{casting!r}")
    return [tensor().cast(part, dtype) for part in arrays]


@own("concatenate", "arrays | axis dtype casting")
def concatenate(arrays: Any, axis: int | None = 0, dtype: str | None = None, casting: str = "same_kind") -> Any:
    """``numpy.concatenate``: axis None joins what is flat."""
    arrays = _parts(arrays, dtype, casting)
    if axis is None:
        arrays, axis = [tensor().flatten(part) for part in arrays], 0
    return tensor().concatenate(arrays, axis=axis)


@own("stack", "arrays | axis dtype casting")
def stack(arrays: Any, axis: int = 0, dtype: str | None = None, casting: str = "same_kind") -> Any:
    """``numpy.stack``."""
    return tensor().stack(_parts(arrays, dtype, casting), axis=axis)


@own("vstack", "tup | dtype casting")
def vstack(tup: Any, dtype: str | None = None, casting: str = "same_kind") -> Any:
    """``numpy.vstack``."""
    return tensor().vstack(_parts(tup, dtype, casting))


@own("hstack", "tup | dtype casting")
def hstack(tup: Any, dtype: str | None = None, casting: str = "same_kind") -> Any:
    """``numpy.hstack``."""
    return tensor().hstack(_parts(tup, dtype, casting))


# ---- new arrays: of the shape of another one, or with NumPy's argument ``like`` --------------------------------------
def _of_lengths(name):
    def function(shape, dtype=None):
        return getattr(tensor(), name)(shape, dtype=dtype or "float64")
    function.__doc__ = f"``numpy.{name}``."
    return own(name, "shape | dtype | order device")(function)


def _shaped_like(name):
    def function(a, dtype=None, shape=None):
        a = tensor().as_tensor_variable(as_array(a))
        if shape is None:
            return getattr(tensor(), name)(a, dtype=dtype)
        return getattr(tensor(), name.removesuffix("_like"))(shape, dtype=dtype or a.type.dtype)
    function.__doc__ = f"``numpy.{name}``."
    return own(name, f"{'prototype' if name == 'empty_like' else 'a'} | dtype shape | order subok device")(function)


zeros, ones, empty = [_of_lengths(name) for name in ("zeros", "ones", "empty")]
zeros_like, ones_like, empty_like = [_shaped_like(name) for name in ("zeros_like", "ones_like", "empty_like")]


@own("full", "shape fill_value | dtype | order device")
def full(shape: Any, fill_value: Any, dtype: str | None = None) -> Any:
    """``numpy.full``."""
    return tensor().full(shape, _in_dtype(fill_value, dtype))


@own("full_like", "a fill_value | dtype shape | order subok device")
def full_like(a: Any, fill_value: Any, dtype: str | None = None, shape: Any = None) -> Any:
    """``numpy.full_like``."""
    a = tensor().as_tensor_variable(as_array(a))
    return full(a.shape if shape is None else shape, fill_value, dtype or a.type.dtype)


@own("eye", "N | M k dtype | order device")
def eye(N: Any, M: Any = None, k: Any = 0, dtype: str = "float64") -> Any:
    """``numpy.eye``."""
    return tensor().eye(N, M, k, dtype=dtype)


@own("identity", "n | dtype")
def identity(n: Any, dtype: str = "float64") -> Any:
    """``numpy.identity``."""
    return tensor().eye(n, dtype=dtype)


@own("arange", "start_or_stop | stop step dtype | device")
def arange(start_or_stop: Any, stop: Any = None, step: Any = 1, dtype: str | None = None) -> Any:
    """``numpy.arange``."""
    start, stop = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    if dtype is None:
        dtype = "float64" if [part for part in (start, stop, step) if isinstance(part, float)] else "int64"
    return tensor().arange(start, stop, step, dtype=dtype)


@own("append", "arr values | axis")
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """``numpy.append``."""
    return tensor().append(as_array(arr), as_array(values), axis)


@own("split", "ary indices_or_sections | axis")
def split(ary: Any, indices_or_sections: Any, axis: int | None = 0) -> Any:
    """``numpy.split``: into equal parts, or at positions."""
    from phintys.ops.compositions.joining import equal_parts  # here: few programs need the compositions
    return equal_parts("split", ary, indices_or_sections, axis, 1)


# ---- sorting ---------------------------------------------------------------------------------------------------------
@own("sort", "a | axis kind order stable descending")
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, stable: Any = None,
         descending: bool = False) -> Any:
    """``numpy.sort``: along the last axis; None: of all elements."""
    return tensor().sort(a, axis, _kind(kind, stable), order, descending)


@own("argsort", "a | axis kind order stable descending")
def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, stable: Any = None,
            descending: bool = False) -> Any:
    """``numpy.argsort``: along the last axis; None: of all elements."""
    return tensor().argsort(a, axis, _kind(kind, stable), order, descending)


def _kind(kind, stable):
    if kind is not None and stable is not None:
        raise ValueError("numpy.sort: kind and stable cannot both be given")
    return kind or ("stable" if stable else "quicksort")


def _quantile(name, most):
    def function(a, q, axis=None, method="linear", keepdims=False, weights=None):
        if weights is None:
            return getattr(tensor(), name)(a, q, axis, method, keepdims)
        if method != "inverted_cdf":
            raise ValueError(f"numpy.{name}: only the method 'inverted_cdf' takes weights, not {method!r}")
        from phintys.ops.compositions.weighted import weighted_quantile  # here: few programs need the compositions
        shares = probabilities(name, a, q, most) / (1 if most == 1 else most)
        return weighted_quantile(name, a, shares, axis, keepdims, weights)
    function.__doc__ = f"``numpy.{name}``, with weights."
    return own(name, "a q | axis method keepdims weights | overwrite_input")(function)


quantile, percentile = _quantile("quantile", 1), _quantile("percentile", 100)


# ---- products and numerical mathematics ------------------------------------------------------------------------------
@own("dot", "a b")
def dot(a: Any, b: Any) -> Any:
    """``numpy.dot``, of operands of any rank."""
    return tensor().dot(as_array(a), as_array(b))


@own("outer", "a b")
def outer(a: Any, b: Any) -> Any:
    """``numpy.outer``, of operands of any rank: products, without a sum that would lose the sign of 0."""
    a, b = [tensor().flatten(tensor().as_tensor_variable(as_array(part))) for part in (a, b)]
    return a.dimshuffle(0, "x") * b.dimshuffle("x", 0)


@own("inner", "a b")
def inner(a: Any, b: Any) -> Any:
    """``numpy.inner``, along the last axes."""
    return tensor().inner(as_array(a), as_array(b))


@own("vdot", "a b")
def vdot(a: Any, b: Any) -> Any:
    """``numpy.vdot``: the first operand is conjugated."""
    return tensor().vdot(as_array(a), as_array(b))


@own("kron", "a b")
def kron(a: Any, b: Any) -> Any:
    """``numpy.kron``, of operands of any ranks."""
    return kron_of_any_ranks(as_array(a), as_array(b))


@own("gradient", "*f | axis edge_order")
def gradient(f: Any, *varargs: Any, **options: Any) -> Any:
    """``numpy.gradient``: with distances, along some axes."""
    return tensor().gradient(f, *varargs, **options)


@own("einsum", "*operands | optimize")
def einsum(*operands: Any, optimize: Any = False) -> Any:
    """``numpy.einsum``: labels are text, or lists of numbers after each operand."""
    if isinstance(operands[0], str):
        return tensor().einsum(*operands, optimize=optimize)
    if not all([isinstance(part, (list, tuple)) for part in operands[1::2]]):
        raise ValueError(f"einsum takes labels as one string, or lists of numbers after each operand; got {operands}")
    texts = ["".join(["..." if label is Ellipsis else ascii_letters[label] for label in part])
             for part in operands[1::2] + operands[-1:] * (len(operands) % 2)]
    text = ",".join(texts[:len(operands) // 2]) + "->" * (len(operands) % 2) + "".join(texts[len(operands) // 2:])
    return tensor().einsum(text, *operands[:len(operands) // 2 * 2:2], optimize=optimize)


@own("lib.stride_tricks.sliding_window_view", "x window_shape | axis | subok writeable")
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """``numpy.lib.stride_tricks.sliding_window_view``, as a copy."""
    return tensor().sliding_window_view(x, window_shape, axis)


# ---- functions of Python, and questions about dtypes -----------------------------------------------------------------
@own("apply_over_axes", "func a axes")
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """``numpy.apply_over_axes``: a function of a tensor and an axis, applied for one axis after the other."""
    for axis in several_axes("numpy.apply_over_axes", a, axes):
        found = func(a, axis)
        a = found if found.type.ndim == a.type.ndim else tensor().expand_dims(found, axis)
    return a


@own("apply_along_axis", "func1d axis arr")
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any) -> Any:
    """``numpy.apply_along_axis``: the function builds a graph for one line, which is vectorized."""
    from phintys.transforms import vectorize  # here: few programs need it
    axis = one_axis("numpy.apply_along_axis", arr, axis)
    function = func1d
    for _ in range(arr.type.ndim - 1):
        function = vectorize(function)
    found = function(tensor().moveaxis(arr, axis, -1))
    added = found.type.ndim - arr.type.ndim + 1
    return tensor().moveaxis(found, [*range(-added, 0)], [*range(axis, axis + added)]) if added else found


@own("result_type", "*arrays_and_dtypes")
def result_type(*arrays_and_dtypes: Any) -> Any:
    """``numpy.result_type``, of the dtypes of variables."""
    return numpy.result_type(*[numpy.dtype(part.type.dtype) if isinstance(part, Variable) else part
                               for part in arrays_and_dtypes])


@own("common_type", "*arrays")
def common_type(*arrays: Any) -> Any:
    """``numpy.common_type``, of the dtypes of variables."""
    return numpy.common_type(*[numpy.empty(0, part.type.dtype) if isinstance(part, Variable) else part
                               for part in arrays])


# ---- linear algebra --------------------------------------------------------------------------------------------------
def _complex(a):
    a = _in_float64(a)
    return tensor().cast(a, {"float32": "complex64", "float64": "complex128"}.get(a.type.dtype, a.type.dtype))


@own("linalg.eig", "a")
def eig(a: Any) -> Any:
    """``numpy.linalg.eig``, whose results are complex, as those of NumPy 2.5."""
    return tensor().linalg.eig(_complex(a))


@own("linalg.eigvals", "a")
def eigvals(a: Any) -> Any:
    """``numpy.linalg.eigvals``, whose results are complex, as those of NumPy 2.5."""
    return tensor().linalg.eigvals(_complex(a))


@own("linalg.svd", "a | full_matrices compute_uv hermitian")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """``numpy.linalg.svd``: of Hermitian matrices by their eigenvalues."""
    if not hermitian:
        return tensor().linalg.svd(a, full_matrices, compute_uv)
    if not compute_uv:
        return tensor().sort(abs(tensor().linalg.eigvalsh(a)))[..., ::-1]
    values, vectors = tensor().linalg.eigh(a)
    order = tensor().argsort(abs(values))[..., ::-1]
    values = tensor().take_along_axis(values, order, -1)
    vectors = tensor().take_along_axis(vectors, tensor().expand_dims(order, -2), -1)
    signed = vectors * tensor().cast(tensor().expand_dims(tensor().sgn(values), -2), vectors.type.dtype)
    return vectors, abs(values), tensor().conj(tensor().matrix_transpose(signed))


@own("linalg.pinv", "a | rcond hermitian rtol")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, rtol: Any = False) -> Any:
    """``numpy.linalg.pinv``: singular values up to a share of the largest one count as 0, by default 1e-15.

    ``rtol=None`` means the longer length times the precision.
    """
    if rcond is not None and rtol is not False:
        raise ValueError("numpy.linalg.pinv: `rtol` and `rcond` can't be both set.")
    a = _in_float64(a)
    share = rcond if rtol is False else rtol
    if not hermitian and (share is None or isinstance(share, (int, float))):
        return type(tensor().linalg.pinv)("lengths" if rtol is None else share)(a)
    left, values, right = svd(a, full_matrices=False, hermitian=hermitian)
    if rtol is None:
        share = tensor().maximum(a.shape[-2], a.shape[-1]) * float(numpy.finfo(a.type.dtype).eps)
    share = tensor().as_tensor_variable(1e-15 if share is None else share)
    largest = tensor().max(values, -1, keepdims=True) * (tensor().expand_dims(share, -1) if share.type.ndim else share)
    from phintys.ops.factorizations.inverse import from_singular_values  # LAPACK's kernels, when wanted

    return from_singular_values(left, values, right, tensor().cast(largest, values.type.dtype))


@own("fft.rfft", "a | n axis norm")
def rfft(a: Any, n: Any = None, axis: int | None = -1, norm: Any = None) -> Any:
    """``numpy.fft.rfft``, whose result is complex."""
    return tensor().fft.complex_rfft(a, n, axis, norm)


@own("fft.irfft", "a | n axis norm")
def irfft(a: Any, n: Any = None, axis: int | None = -1, norm: Any = None) -> Any:
    """``numpy.fft.irfft``, of complex numbers."""
    return tensor().fft.complex_irfft(a, n, axis, norm)
