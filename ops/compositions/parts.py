"""Axes, parts and neighbours of a tensor: what the other files of this room are made of."""
from phintys.ops.creation.allocation import arange
from phintys.ops.indexing.getitem import getitem
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable

WHOLE = slice(None)


def part(x, axis, index):
    """``x`` with ``index`` in one dimension, and all of the others."""
    return getitem(x, (*[WHOLE] * axis, index))


def beside(vector, axis, rank):
    """A vector as a tensor of ``rank`` whose only long dimension is ``axis``."""
    return dimshuffle(vector, *[0 if number == axis else "x" for number in range(rank)])


def positions(x, axis):
    """The positions along an axis, as a vector of int64."""
    return arange(shape_i(x, axis))


def tensors(things):
    """The things as tensors."""
    return [as_tensor_variable(thing) for thing in things]
