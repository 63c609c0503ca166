"""Parameters of convolutions: converts the forms that users may write to the form that ops store.

Ops store a border as ``"valid"``, ``"half"``, ``"full"`` or a tuple of lengths and pairs, steps as tuples of ints, and
lengths as ints, or None if they are not known. All errors about single parameters are raised here.
"""
import numbers

from phintys.graph.errors import NotScalarConstantError
from phintys.graph.variable import Variable
from phintys.ops.indexing.constant_value import get_scalar_constant_value

WORDS = ("valid", "half", "full")


def is_integer(value):
    """Whether ``value`` is an integer of Python or NumPy, and no truth value."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def checked_border(border_mode, rank):
    """A border in the form that ops store.

    Parameters
    ----------
    border_mode : {"valid", "half", "full"}, int, or tuple of (int or pair of int)
    rank : int
        How many dimensions filters move in.

    Returns
    -------
    str or tuple
        Equal pairs become one number; without zeros at all it is ``"valid"``.

    Raises
    ------
    ValueError
        For anything else, and for negative numbers.
    """
    if is_integer(border_mode):
        border_mode = (border_mode,) * rank
    if not isinstance(border_mode, tuple):
        if border_mode in WORDS:
            return border_mode
        raise ValueError(f"invalid border_mode {border_mode!r}, which must be either \"valid\", \"full\", \"half\", an "
                         f"integer or a tuple of length {rank}")
    if len(border_mode) != rank:
        raise ValueError(f"invalid border_mode {border_mode}, which must be a tuple of length {rank}")
    kept = tuple([_checked_side(mode, border_mode) for mode in border_mode])
    return kept if any(kept) else "valid"


def _checked_side(mode, border_mode):
    """The zeros of one dimension: a number, or a pair if the numbers differ."""
    pair = mode if isinstance(mode, tuple) else (mode, mode)
    if len(pair) != 2 or not all([is_integer(value) for value in pair]):
        raise ValueError(f"invalid border mode {border_mode}. The tuple can only contain integers or pairs of integers")
    if min(pair) < 0:
        raise ValueError(f"invalid border mode {border_mode}: a border cannot be negative")
    return int(pair[0]) if pair[0] == pair[1] else (int(pair[0]), int(pair[1]))


def border_pairs(border_mode, rank):
    """A border in the form that a kernel takes: ``"half"``, ``"full"``, or a pair of numbers for each dimension."""
    if border_mode in ("half", "full"):
        return border_mode
    if border_mode == "valid":
        return ((0, 0),) * rank
    return tuple([side if isinstance(side, tuple) else (side, side) for side in border_mode])


def _elements(values, name, expected):
    """The elements of a sequence.

    Raises
    ------
    ValueError
        If it is not a sequence: for a number, and for a variable, whose elements are not known yet.
    """
    if isinstance(values, Variable) or not hasattr(values, "__iter__"):
        raise ValueError(f"{name} should be None or a tuple of {expected}, got {values!r}")
    return tuple(values)


def checked_steps(steps, rank, name):
    """``subsample`` or ``filter_dilation`` as a tuple of ints.

    Raises
    ------
    ValueError
        For another number of them, and for steps below 1.
    """
    steps = (1,) * rank if steps is None else _elements(steps, name, f"{rank} integers")
    if len(steps) != rank:
        raise ValueError(f"{name} must have {rank} elements, got {steps}")
    if not all([is_integer(step) for step in steps]) or min(steps) < 1:
        raise ValueError(f"{name} must consist of integers that are at least 1, got {steps}")
    return tuple([int(step) for step in steps])


def checked_lengths(lengths, rank, name, parameter):
    """Lengths that are known when the graph is made, as ints; None: not known.

    Raises
    ------
    ValueError
        For another number of lengths, for negative ones, and for variables that are not constant.
    """
    if lengths is None:
        return (None,) * rank
    lengths = _elements(lengths, name, "constant int values")
    if len(lengths) != rank:
        raise ValueError(f"{parameter} must have {rank} elements, got {lengths}")
    known = tuple([_known_length(length, name, lengths) for length in lengths])
    if any([length is not None and length < 0 for length in known]):
        raise ValueError(f"{parameter} must consist of lengths, which are not negative, got {known}")
    return known


def _known_length(length, name, lengths):
    if length is None:
        return None
    try:
        value = get_scalar_constant_value(length, only_process_constants=True)
    except NotScalarConstantError:
        raise ValueError(f"{name} should be None or a tuple of constant int values, got {lengths}") from None
    if value.dtype.kind not in "iu" and int(value) != value:
        raise ValueError(f"{name} should be None or a tuple of constant int values, got {lengths}")
    return int(value)
