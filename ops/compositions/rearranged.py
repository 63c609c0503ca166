"""``rearrange``: dimensions reordered, joined and divided by a pattern of names, as einops has it."""
import re

from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable, constant


def _groups(name, side):
    """The dimensions of one side of a pattern, each a list of names; 1 is a dimension without a name."""
    parts = re.findall(r"\(([\w ]*)\)|(\w+)", side)
    if re.sub(r"\([\w ]*\)|\w+|\s", "", side):
        raise ValueError(f"rearrange: {name!r} may have names, 1 and parentheses that are not nested")
    groups = [[item for item in (group or single).split() if item != "1"] for group, single in parts]
    names = [item for group in groups for item in group]
    if len({*names}) < len(names):
        raise ValueError(f"rearrange: a name occurs twice in {side!r}")
    return groups, names


def _product(lengths):
    total = constant(1, dtype="int64")
    for length in lengths:
        total = total * length
    return total


def rearrange(x, pattern, **lengths):
    """Dimensions in another order, joined and divided.

    Parameters
    ----------
    x : tensor-like
    pattern : str
        The names of the dimensions of ``x``, ``->``, and those of the result. Parentheses join dimensions, of which the
        first one varies slowest; 1 is a new dimension, or one to drop.
    **lengths : int or symbolic integer
        Of dimensions that ``x`` has joined; one in each parentheses may be left out.

    Returns
    -------
    TensorVariable

    Raises
    ------
    ValueError
        If both sides have not the same names, or a length is missing.

    Examples
    --------
    >>> T.rearrange(T.arange(6), "(row column) -> column row", row=2).eval()
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    x = as_tensor_variable(x)
    if pattern.count("->") != 1:
        raise ValueError(f"rearrange: a pattern has two sides and -> between them, got {pattern!r}")
    (old, names), (new, wanted) = [_groups(pattern, side) for side in pattern.split("->")]
    if {*names} != {*wanted} or {*lengths} - {*names}:
        raise ValueError(f"rearrange: both sides of {pattern!r} must have the same names, and lengths be theirs, got "
                         f"{', '.join(lengths) or 'none'}")
    if len(old) != x.type.ndim:
        raise ValueError(f"rearrange: {pattern!r} has {len(old)} dimensions, but {x} has {x.type.ndim}")
    lengths = dict(lengths)
    for axis, group in enumerate(old):
        missing = [name for name in group if name not in lengths]
        if len(missing) > 1:
            raise ValueError(f"rearrange: the lengths of {' and '.join(missing)} are not known")
        for name in missing:
            lengths[name] = shape_i(x, axis) if len(group) == 1 else shape_i(x, axis) // _product(
                [lengths[other] for other in group if other != name])
    if any([len(group) != 1 for group in old]):
        x = reshape(x, [lengths[name] for name in names], ndim=len(names))
    x = dimshuffle(x, *[names.index(name) for name in wanted])
    if all([len(group) == 1 for group in new]):
        return x
    return reshape(x, [_product([lengths[name] for name in group]) for group in new], ndim=len(new))
