"""Determines which values remain when index arrays set elements of a tensor: the last value for each element.

If an index selects an element several times, the earlier values are lost, and the cost does not depend on them. To find
them, each value writes its number into an array of the indexed dimensions, in the order in which elements are set; a
value whose number remains was the last one. Only dimensions indexed by arrays and integers are considered: values at
different positions of slices and new dimensions never overwrite each other.
"""
import numpy

from phintys.graph.type import Type
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import alloc, arange
from phintys.ops.elementwise.scalar import eq, mul, switch
from phintys.ops.indexing.advanced_index import is_array, is_mask
from phintys.ops.indexing.subtensor import entry_parts
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import constant


def of_last_writers(gradient, x, idx_list, lead, inputs, operators):
    """The gradient with respect to the values to which a part of ``x`` was set: zero for values that were overwritten.

    Parameters
    ----------
    gradient : TensorVariable
        The gradient with respect to the elements of the part, in its shape.
    x : TensorVariable
    idx_list : sequence
        See `AdvancedIndexing`.
    lead : int
        The number of dimensions of the part before those of the index arrays.
    inputs : list of TensorVariable
        The symbolic parts of the index.
    operators : callable
        ``operators(idx_list)`` returns the op that takes a part and the op that sets it.
    """
    entries, arrays, lengths = _without_slices(x, idx_list, inputs)
    if not _may_repeat(arrays):
        return gradient
    take, put = operators(entries)
    empty = alloc(constant(0, dtype="int64"), *lengths)
    part = take(empty, *arrays)
    sizes = [shape_i(part, axis) for axis in range(part.type.ndim)]
    numbers = reshape(arange(mul(*sizes) if len(sizes) > 1 else sizes[0]), sizes, ndim=len(sizes))
    last = eq(take(put(empty, numbers, *arrays), *arrays), numbers)
    behind = gradient.type.ndim - lead - last.type.ndim
    last = dimshuffle(last, ["x"] * lead + list(range(last.type.ndim)) + ["x"] * behind)
    return switch(last, gradient, constant(0, dtype=gradient.type.dtype))


def _without_slices(x, idx_list, inputs):
    """The entries that are arrays, masks or integers, their symbolic parts, and the lengths of their dimensions."""
    entries, kept, lengths, axis, inputs = [], [], [], 0, iter(inputs)
    for entry in idx_list:
        own = [next(inputs) for part in entry_parts(entry) if isinstance(part, Type)]
        if entry is None or entry is Ellipsis:
            continue
        rank = entry.ndim if is_mask(entry) else 1
        if not isinstance(entry, slice):
            entries.append(entry)
            kept += own
            lengths += [shape_i(x, axis + number) for number in range(rank)]
        axis += rank
    return entries, kept, lengths


def _may_repeat(parts):
    """Whether an element may be selected twice, according to the symbolic parts of an index."""
    arrays = [part for part in parts if is_array(part.type)]
    if len(arrays) != 1:
        return True
    array, = arrays
    if array.type.dtype == "bool" or all(array.type.broadcastable):
        return False
    if not isinstance(array, Constant):
        return True
    signs_differ = (array.data < 0).any() and (array.data >= 0).any()
    return bool(signs_differ or len(numpy.unique(array.data)) < array.data.size)
