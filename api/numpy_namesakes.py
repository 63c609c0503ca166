"""NumPy's functions whose namesakes in the tensor namespace are Theano's, with other arguments, dtypes or results.

``numpy.cumsum(x)`` of an int8 variable is int64 as in NumPy, ``phintys.tensor.cumsum(x)`` is int8 as in Theano. The
functions here are called by NumPy's protocol only (``numpy_protocol.py``).
"""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy

from phintys.ops.products.products import kron_of_any_ranks
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import complex_dtypes, continuous_dtypes, discrete_dtypes, float_dtypes, reduced_dtype

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
    return a if dtype is None else tensor().cast(a, numpy.dtype(dtype).name)


@own("sum", "a | axis dtype keepdims")
def sum(a: Any, axis: int | None = None, dtype: str | None = None, keepdims: bool = False) -> Any:
    """``numpy.sum``: the sum is in the dtype in which NumPy accumulates."""
    return tensor().sum(_in_dtype(a, dtype), axis, dtype=dtype, keepdims=keepdims)


@own("prod", "a | axis dtype keepdims")
def prod(a: Any, axis: int | None = None, dtype: str | None = None, keepdims: bool = False) -> Any:
    """``numpy.prod``, in the dtype in which NumPy accumulates."""
    return tensor().prod(_in_dtype(a, dtype), axis, dtype=dtype, keepdims=keepdims)


@own("var", "a | axis dtype ddof keepdims")
def var(a: Any, axis: int | None = None, dtype: str | None = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """``numpy.var``, which has ``ddof``."""
    return tensor().var(_in_dtype(a, dtype), axis, ddof, keepdims)


@own("std", "a | axis dtype ddof keepdims")
def std(a: Any, axis: int | None = None, dtype: str | None = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """``numpy.std``, which has ``ddof``."""
    return tensor().std(_in_dtype(a, dtype), axis, ddof, keepdims)


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
    return tensor().trace(_in_dtype(a, dtype), offset, axis1, axis2)


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
    x, y = [like(part, dtypes[0]) if dtypes else as_array(part) for part in (x, y)]
    return tensor().switch(condition, x, y)


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
              for part in choicelist if hasattr(part, "dtype")]
    *choices, default = [like(part, dtypes[0]) if dtypes else as_array(part) for part in (*choicelist, default)]
    return tensor().select(condlist, choices, default)


# ---- shape and order -------------------------------------------------------------------------------------------------
def _in_c_order(name, order):
    """Whether elements are read in C order. Variables have no order in memory, so that "A" and "K" mean C."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"numpy.{name} of a symbolic variable: order must be 'C', 'F', 'A' or 'K', got {order!r}")
    return order != "F"


@own("ravel", "a | order")
def ravel(a: Any, order: str = "C") -> Any:
    """``numpy.ravel``, in C or Fortran order."""
    return tensor().flatten(a if _in_c_order("ravel", order) else a.T)


@own("reshape", "a | shape order newshape")
def reshape(a: Any, shape: Any = None, order: str = "C", newshape: Any = None) -> Any:
    """``numpy.reshape``, in C or Fortran order."""
    shape = newshape if shape is None else shape
    if shape is None:
        raise TypeError("numpy.reshape of a symbolic variable: missing shape")
    if _in_c_order("reshape", order):
        return tensor().reshape(a, shape)
    shape = shape[::-1] if not isinstance(shape, (int, numpy.integer)) else shape
    return tensor().reshape(a.T, shape).T


@own("copy", "a | order")
def copy(a: Any, order: str = "K") -> Any:
    """``numpy.copy``."""
    _in_c_order("copy", order)
    return tensor().tensor_copy(a)


@own("concatenate", "arrays | axis dtype")
def concatenate(arrays: Any, axis: int | None = 0, dtype: str | None = None) -> Any:
    """``numpy.concatenate``: axis None joins what is flat."""
    if axis is None:
        arrays, axis = [tensor().flatten(tensor().as_tensor_variable(part)) for part in arrays], 0
    return _in_dtype(tensor().concatenate(arrays, axis=axis), dtype)


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


# ---- products and numerical mathematics ------------------------------------------------------------------------------
@own("dot", "a b")
def dot(a: Any, b: Any) -> Any:
    """``numpy.dot``, of operands of any rank."""
    return tensor().dot(as_array(a), as_array(b))


@own("outer", "a b")
def outer(a: Any, b: Any) -> Any:
    """``numpy.outer``, of operands of any rank."""
    return tensor().outer(as_array(a), as_array(b))


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


@own("fft.rfft", "a | n axis norm")
def rfft(a: Any, n: Any = None, axis: int | None = -1, norm: Any = None) -> Any:
    """``numpy.fft.rfft``, whose result is complex."""
    return tensor().fft.complex_rfft(a, n, axis, norm)


@own("fft.irfft", "a | n axis norm")
def irfft(a: Any, n: Any = None, axis: int | None = -1, norm: Any = None) -> Any:
    """``numpy.fft.irfft``, of complex numbers."""
    return tensor().fft.complex_irfft(a, n, axis, norm)
