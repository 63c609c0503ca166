"""Comparison of values in DebugMode: copies, whether two are identical or equal up to rounding, and how they differ.

Identical means the same bytes, so that NaN equals NaN and no tolerance hides a difference. The variable's tag or type
decides what is equal up to rounding. Objects that define no equality can be neither; they are accepted.
"""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable

SHOWN = 5                      # indices that a message lists


def at_host(value: numpy.ndarray) -> numpy.ndarray:
    """Return a value on a device as a NumPy array, and other values unchanged."""
    if not hasattr(value, "__cuda_array_interface__"):
        return value
    from phintys.gpu.gpu_array_type import as_host_array
    return as_host_array(value)


def copied(value: numpy.ndarray) -> numpy.ndarray:
    """Return a value that shares no memory with ``value``; a value that cannot be copied is returned as it is."""
    if isinstance(value, numpy.ndarray):
        return value.copy(order="K")
    if hasattr(value, "__cuda_array_interface__"):
        from phintys.gpu.runtime.driver import contiguous
        return contiguous(value)
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def identical(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    """Return whether two values are the same to the last bit."""
    a, b = at_host(a), at_host(b)
    if isinstance(a, numpy.ndarray) and isinstance(b, numpy.ndarray) and a.dtype != object:
        return a is b or (a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())
    return _equal_objects(a, b, lambda: a == b)


def agree(variable: Variable, a: numpy.ndarray, b: numpy.ndarray, may_improve: bool = False) -> bool:
    """Return whether two values of a variable are equal up to rounding.

    Parameters
    ----------
    variable : Variable
        Its ``tag.values_eq_approx``, if there is one, decides, else its type.
    a, b : object
    may_improve : bool
        Where ``a`` is infinite or NaN, every value of ``b`` is accepted.
    """
    a, b = at_host(a), at_host(b)
    rule = getattr(variable.tag, "values_eq_approx", None)
    if rule is not None:
        return bool(rule(a, b))
    if identical(a, b):
        return True
    if not isinstance(a, numpy.ndarray) or not isinstance(b, numpy.ndarray):
        return _equal_objects(a, b, lambda: variable.type.values_eq_approx(a, b))
    if may_improve and a.shape == b.shape and a.dtype == b.dtype and a.dtype.kind in "fc":
        b = numpy.where(numpy.isfinite(a), b, a)
    with numpy.errstate(all="ignore"):
        return bool(variable.type.values_eq_approx(a, b))


def _equal_objects(a, b, compare):
    if a is b or type(a).__eq__ is object.__eq__:
        return True
    try:
        return bool(compare())
    except Exception:
        return True


def is_finite(value: numpy.ndarray) -> bool:
    """Return whether a value holds neither NaN nor infinity, or is not an array of floats."""
    return not isinstance(value, numpy.ndarray) or value.dtype.kind not in "fc" or bool(numpy.isfinite(value).all())


def difference(a: numpy.ndarray, b: numpy.ndarray) -> str:
    """Describe where and by how much two values differ."""
    if not isinstance(a, numpy.ndarray) or not isinstance(b, numpy.ndarray):
        return f"{_shortened(a)} ({type(a).__name__}) and {_shortened(b)} ({type(b).__name__})"
    if a.shape != b.shape:
        return f"shapes {a.shape} and {b.shape}"
    if a.dtype != b.dtype:
        return f"dtypes {a.dtype} and {b.dtype}"
    with numpy.errstate(all="ignore"):
        unequal = (a != b) & ~((a != a) & (b != b))
        positions = numpy.argwhere(unequal)
        if not len(positions):
            return "the same numbers, except for signs of zeros or kinds of NaN"
        wide = (lambda x: x) if a.dtype.kind == "c" else (lambda x: x.astype("float64"))
        gap = numpy.abs(wide(a[unequal]) - wide(b[unequal]))
        relative = gap / numpy.abs(wide(b[unequal]))
    pairs = ", ".join([f"{tuple(map(int, position))}: {a[tuple(position)]!s} and {b[tuple(position)]!s}"
                       for position in positions[:SHOWN]])
    return (f"{len(positions)} of {a.size} elements differ, by at most {_largest(gap):.6g} (absolute) and "
            f"{_largest(relative):.6g} (relative); at {pairs}{' ...' if len(positions) > SHOWN else ''}")


def _largest(gaps):
    return numpy.nan if numpy.isnan(gaps).all() else float(numpy.nanmax(gaps))


def described(value: Sequence[float] | numpy.ndarray | None) -> str:
    """Describe the kind, shape, strides and first elements of a value."""
    if isinstance(value, numpy.ndarray):
        return f"array of {value.dtype}, shape {value.shape}, strides {value.strides}: {_shortened(value)}"
    return f"{type(value).__name__}: {_shortened(value)}"


def _shortened(value):
    words = " ".join(str(value).split())
    return words if len(words) <= 100 else words[:96] + " ..."
