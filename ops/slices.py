"""The length of a slice, symbolically: what Python's ``slice.indices`` does, for lengths known only when running."""
from phintys.graph.variable import Variable
from phintys.ops.known_length import known_integer
from phintys.ops.scalar import lt, maximum, minimum, switch


def _smaller(a, b):
    return minimum(a, b) if isinstance(a, Variable) or isinstance(b, Variable) else min(a, b)


def _larger(a, b):
    return maximum(a, b) if isinstance(a, Variable) or isinstance(b, Variable) else max(a, b)


def _clipped(position, length, lowest, highest):
    """An end of a slice inside [lowest, highest], counted from the end when negative."""
    if isinstance(position, Variable):
        return switch(lt(position, 0), _larger(position + length, lowest), _smaller(position, highest))
    return _larger(length + position, lowest) if position < 0 else _smaller(position, highest)


def slice_length(entry, length):
    """How many elements a slice takes of a dimension.

    Parameters
    ----------
    entry : slice
        Of None, ints and symbolic integers.
    length : int or symbolic integer

    Returns
    -------
    int, TensorVariable or None
        None when the step is symbolic, so that even its sign is unknown.
    """
    step = 1 if entry.step is None else entry.step
    if isinstance(step, Variable) or step == 0:
        return None
    known = known_integer(length)
    length = length if known is None else known
    start, stop = entry.start, entry.stop
    if step > 0:
        start = 0 if start is None else _clipped(start, length, 0, length)
        stop = length if stop is None else _clipped(stop, length, 0, length)
        distance = stop if entry.start is None else stop - start
    else:
        start = length - 1 if start is None else _clipped(start, length, -1, length - 1)
        distance = length if entry.start is None and stop is None else (
            start - (-1 if stop is None else _clipped(stop, length, -1, length - 1)))
    count = distance if abs(step) == 1 else (distance + (abs(step) - 1)) // abs(step)
    surely_positive = entry.start is None and (entry.stop is None or step > 0)
    return count if surely_positive else _larger(count, 0)
