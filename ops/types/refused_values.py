"""Error messages about values that a ``TensorType`` cannot store. This file does not decide which values are refused.

The messages state which element is invalid, what it is and what was expected. Numbers are shown with as many digits as
are needed to tell them apart.
"""
import numpy

from phintys.graph.variable import Variable

SHOWN = 80                                                  # the most characters of a value that are shown
EXPECTED = {0: "a number", 1: "an array or a list of numbers"}


def shortened(value):
    """The value as text, truncated if it is long."""
    return cut(str(value))


def cut(text):
    """The text, truncated to at most `SHOWN` characters."""
    return text if len(text) <= SHOWN else text[:SHOWN - 5] + "(...)"


def not_numbers(array, ndim):
    """The message for an element of ``array`` that is not a number; ``array`` is NumPy's conversion of a value for a
    tensor of rank ``ndim``."""
    expected = EXPECTED.get(ndim, "an array or nested lists of numbers")
    others = () if array.dtype.kind != "O" else ((index, item) for index, item in numpy.ndenumerate(array)
                                                 if not is_number(item))
    index, item = next(iter(others), (None, None))
    if index is None:
        return f"expected {expected}, but its dtype is {array.dtype}"
    subject = f"element {list(index)}" if index else "it"
    return f"expected {expected}, but {subject} is of type {type(item).__name__}{advice(item)}"


def is_number(item):
    """Whether an element of an array of objects is a valid number."""
    return isinstance(item, (int, float, complex, numpy.number, numpy.bool_))


def advice(item):
    """Advice on how to convert an object that is not a number, if there is any."""
    if isinstance(item, Variable):
        return ", which has no value yet: build the graph with it, or pass what its eval() returns"
    if hasattr(item, "__cuda_array_interface__"):
        return (", which is on a GPU: declare the argument there, phintys.gpu.GpuArrayType(dtype, broadcastable)(), "
                "or pass a copy on the host")
    if hasattr(item, "__next__") or isinstance(item, (set, frozenset, dict)):
        return ": make a list of it first, with list()"
    if hasattr(item, "__float__"):
        return ": make a number of it first, with float()"
    return ""


def inexact(original, array):
    """The values that would be stored instead of ``original``, followed by the first element that differs."""
    if not array.ndim:
        return repr(array.item())
    wide = array.astype("complex128" if array.dtype.kind == "c" else "float64") if array.dtype.kind in "fc" else array
    text = numpy.array2string(wide, floatmode="unique", threshold=20, separator=", ")
    text = " ".join(text.split()).replace(" ,", ",").replace("[ ", "[")
    index = tuple(numpy.argwhere(differences(original, array))[0].tolist())
    return f"{cut(text)} (element {list(index)}: {original.item(index)!r} would become {array.item(index)!r})"


def differences(original, array):
    """The positions at which two arrays differ; NaN equals NaN."""
    both_nan = numpy.logical_and(original != original, array != array)
    differs = numpy.logical_not(numpy.logical_or(original == array, both_nan))
    return differs | above_integers(original, array.dtype)


def above_integers(value, dtype):
    """Where a float is above all integers of the dtype: NumPy's cast gives the largest of them on some processors (on
    ARM), which as a float64 may equal the float, 2**63 or 2**64."""
    if value.dtype.kind != "f" or dtype.kind not in "iu":
        return False
    return value.astype("float64", copy=False) >= 2.0 ** (8 * dtype.itemsize - (dtype.kind == "i"))
