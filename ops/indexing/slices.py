"""Symbolic slices: the computation of Python's ``slice.indices`` for lengths and bounds known only at run time.

Known numbers remain Python numbers, so that the expressions of inferred lengths contain only operations on unknown
numbers. Bounds of any integer dtype are converted to int64.
"""
from phintys.graph.variable import Variable
from phintys.ops.elementwise.scalar import cast_op, lt, maximum, minimum, switch
from phintys.ops.types.known_length import known_integer


def _smaller(a, b):
    return minimum(a, b) if isinstance(a, Variable) or isinstance(b, Variable) else min(a, b)


def _larger(a, b):
    return maximum(a, b) if isinstance(a, Variable) or isinstance(b, Variable) else max(a, b)


def _signed(number):
    """Convert a symbolic integer to int64, so that differences can be negative; None and ints are returned
    unchanged."""
    return cast_op("int64")(number) if isinstance(number, Variable) and number.type.dtype != "int64" else number


def _parts(entry):
    """Start, stop and step of a slice; a step of None becomes 1."""
    return _signed(entry.start), _signed(entry.stop), 1 if entry.step is None else _signed(entry.step)


def _known(length):
    known = known_integer(length)
    return length if known is None else known


def _clipped(position, length, lowest, highest):
    """Clip a bound of a slice to [lowest, highest]; a negative bound counts from the end."""
    if isinstance(position, Variable):
        return switch(lt(position, 0), _larger(position + length, lowest), _smaller(position, highest))
    return _larger(length + position, lowest) if position < 0 else _smaller(position, highest)


def _ends(start, stop, length, forward):
    """The start and stop of a slice, in the direction of its step."""
    if forward:
        return (0 if start is None else _clipped(start, length, 0, length),
                length if stop is None else _clipped(stop, length, 0, length))
    return (length - 1 if start is None else _clipped(start, length, -1, length - 1),
            -1 if stop is None else _clipped(stop, length, -1, length - 1))


def _count(start, stop, size, length, forward):
    """The number of elements of a slice whose steps have the absolute value ``size``."""
    first, last = _ends(start, stop, length, forward)
    if start is None and (forward or stop is None):
        distance, surely_positive = last if forward else length, True
    else:
        distance, surely_positive = last - first if forward else first - last, False
    count = distance if isinstance(size, int) and size == 1 else (distance + (size - 1)) // size
    return count if surely_positive else _larger(count, 0)


def slice_length(entry, length):
    """The number of elements of a dimension that a slice selects.

    Parameters
    ----------
    entry : slice
        Of None, ints and symbolic integers.
    length : int or symbolic integer

    Returns
    -------
    int or TensorVariable
        0 for a step of zero, which is an error at run time.
    """
    start, stop, step = _parts(entry)
    length = _known(length)
    if isinstance(step, Variable):
        return switch(lt(step, 0), _count(start, stop, maximum(-step, 1), length, False),
                      _count(start, stop, maximum(step, 1), length, True))
    return _count(start, stop, abs(step), length, step > 0) if step else 0


def get_canonical_form_slice(theslice, length):
    """An equivalent index of a dimension without negative numbers.

    Parameters
    ----------
    theslice : slice or integer
        Of None, ints and symbolic integers.
    length : int or symbolic integer

    Returns
    -------
    (slice or integer, direction)
        For a slice: a slice with ``0 <= start`` and ``step > 0`` that selects the same elements, and 1, or -1 if their
        order is reversed. For an integer: its position counted from the start, and 1.

    Examples
    --------
    >>> T.get_canonical_form_slice(slice(None, None, -1), 5)
    (slice(0, 5, 1), -1)
    """
    if not isinstance(theslice, slice):
        position = _signed(theslice)
        if isinstance(position, Variable):
            return switch(lt(position, 0), position + length, position), 1
        return (position + length if position < 0 else position), 1
    start, stop, step = _parts(theslice)
    if isinstance(step, Variable):
        upwards = _upwards(start, stop, maximum(step, 1), length)
        downwards = _downwards(start, stop, maximum(-step, 1), length)
        parts = [switch(lt(step, 0), down, up) for down, up in zip(downwards, upwards)]
        return slice(*parts), switch(lt(step, 0), -1, 1)
    return (slice(*_upwards(start, stop, step, length)), 1) if step > 0 else (
        slice(*_downwards(start, stop, -step, length)), -1)


def _upwards(start, stop, step, length):
    first, last = _ends(start, stop, length, True)
    return first, _larger(first, last), step


def _downwards(start, stop, size, length):
    """The slice that selects the elements of a slice with negative step in ascending order."""
    first, last = _ends(start, stop, length, False)
    count = _larger((first - last + size - 1) // size, 0)
    return first - (count - 1) * size, first + 1, size
