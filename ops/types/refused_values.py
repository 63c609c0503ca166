"""What is said about values that no ``TensorType`` can store: texts, and no decision of what is refused.

They name the element at fault, what it is and what was expected, and show numbers with all digits that tell them apart.
"""
import numpy

from phintys.graph.variable import Variable

SHOWN = 80                                                  # characters of a value
EXPECTED = {0: "a number", 1: "an array or a list of numbers"}


def shortened(value):
    """The value as text, cut off where it is long."""
    return cut(str(value))


def cut(text):
    """Text of at most `SHOWN` characters."""
    return text if len(text) <= SHOWN else text[:SHOWN - 5] + "(...)"


def not_numbers(array, ndim):
    """Why ``array``, what NumPy made of a value for a tensor of rank ``ndim``, holds something that is no number."""
    expected = EXPECTED.get(ndim, "an array or nested lists of numbers")
    others = () if array.dtype.kind != "O" else ((index, item) for index, item in numpy.ndenumerate(array)
                                                 if not is_number(item))
    index, item = next(iter(others), (None, None))
    if index is None:
        return f"expected {expected}, but its dtype is {array.dtype}"
    subject = f"element {list(index)}" if index else "it"
    return f"expected {expected}, but {subject} is of type {type(item).__name__}{advice(item)}"


def is_number(item):
    """Whether an element of an array of objects is no reason to refuse it."""
    return isinstance(item, (int, float, complex, numpy.number, numpy.bool_))


def advice(item):
    """What to do about something that is no number, where that is clear."""
    if isinstance(item, Variable):
        return ", which has no value yet: build the graph with it, or pass what its eval() returns"
    if hasattr(item, "__next__") or isinstance(item, (set, frozenset, dict)):
        return ": make a list of it first, with list()"
    if hasattr(item, "__float__"):
        return ": make a number of it first, with float()"
    return ""


def inexact(original, array):
    """What would be stored instead of ``original``: all of it, and the first element that differs, with all digits."""
    if not array.ndim:
        return repr(array.item())
    wide = array.astype("complex128" if array.dtype.kind == "c" else "float64") if array.dtype.kind in "fc" else array
    text = numpy.array2string(wide, floatmode="unique", threshold=20, separator=", ")
    text = " ".join(text.split()).replace(" ,", ",").replace("[ ", "[")
    index = tuple(numpy.argwhere(differences(original, array))[0].tolist())
    return f"{cut(text)} (element {list(index)}: {original.item(index)!r} would become {array.item(index)!r})"


def differences(original, array):
    """Where two arrays differ; NaN is equal to NaN."""
    both_nan = numpy.logical_and(original != original, array != array)
    return numpy.logical_not(numpy.logical_or(original == array, both_nan))
