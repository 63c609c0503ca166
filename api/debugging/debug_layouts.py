"""Memory layouts of arrays; the result of an op must not depend on them.

``laid_out(name, array)`` returns an array with the same elements; the memory between them is garbage, which would be
visible in a result. The names are those of ``config.DebugMode.check_preallocated_output``.
"""
from __future__ import annotations

from typing import Any

import numpy

GARBAGE = 0x7F                 # a large number in every float dtype but float16, where it is NaN


def _filled(shape, dtype, order="C"):
    """Allocate memory full of garbage."""
    array = numpy.empty(shape, dtype, order)
    if numpy.dtype(dtype) != object:
        array.reshape(-1, order="A").view("uint8")[...] = GARBAGE
    return array


def _strided(array):
    """Return every second element of a larger block in each dimension, without the first."""
    larger = _filled([2 * length + 1 for length in array.shape], array.dtype)
    return larger[(*[slice(1, 2 * length + 1, 2) for length in array.shape], ...)]


def _reversed(array):
    """Return an array that is stored backwards in each dimension."""
    return _filled(array.shape, array.dtype)[(*[slice(None, None, -1)] * array.ndim, ...)]


EMPTY = {"c_contiguous": lambda array: _filled(array.shape, array.dtype),
         "f_contiguous": lambda array: _filled(array.shape, array.dtype, "F"),
         "strided": _strided, "reversed": _reversed}


def blank(name: str, array: Any) -> numpy.ndarray:
    """Return garbage with the shape and dtype of ``array``, in the layout ``name``."""
    return EMPTY[name](array)


def laid_out(name: str, array: Any) -> numpy.ndarray:
    """Return a copy of ``array`` in the layout ``name``."""
    result = blank(name, array)
    result[...] = array
    return result


def repeated(array: numpy.ndarray) -> numpy.ndarray:
    """Repeat the first element of an array in all elements by strides of zero; empty arrays are returned unchanged."""
    return numpy.broadcast_to(array.ravel()[:1].reshape((1,) * array.ndim), array.shape) if array.size else array
