"""Axes that arguments name: each must be one of the tensor's, counted from its first dimension or back from its end."""
import operator

from numpy.exceptions import AxisError

from phintys.graph.variable import Variable


def one_integer(name, what, value):
    """An argument as an integer of Python.

    Raises
    ------
    TypeError
        If it is none. It begins with ``name``, that of the function, and says ``what`` should be one.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {what} must be an integer, got {value!r}") from None


def sequence_of(name, what, value):
    """An argument as a list; see `one_integer`."""
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} takes a sequence of {what}, got {value!r}") from None


def one_axis(name, x, axis, more=0):
    """``axis`` of ``x``, or of a result with ``more`` dimensions, as a number that is not negative.

    Raises
    ------
    numpy.exceptions.AxisError
        A ValueError and an IndexError: there is no such axis. It begins with ``name``, that of the function.
    """
    rank = x.type.ndim + more
    if not hasattr(axis, "__index__") or isinstance(axis, Variable):
        raise TypeError(f"{name}: an axis is an integer, got {axis!r}"
                        + " (it must be known when the graph is made)" * isinstance(axis, Variable))
    if not -rank <= axis < rank:
        raise AxisError(f"{name}: axis {axis} is out of bounds for {'the result of ' * bool(more)}{x} with {rank} "
                        "dimensions")
    return axis % rank


def several_axes(name, x, axis, more=0):
    """One axis, a sequence of them, or None for all, as a tuple of numbers that are not negative; see `one_axis`.

    Raises
    ------
    ValueError
        If one occurs twice.
    """
    axes = range(x.type.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple([one_axis(name, x, number, more) for number in axes])
    if len({*axes}) < len(axes):
        raise ValueError(f"{name}: repeated axis in {axis}")
    return axes
