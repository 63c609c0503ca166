"""``x[index]``: makes the node for every index that NumPy supports.

An index of integers, slices, None and Ellipsis makes a view (`Subtensor`, and `DimShuffle` for None); an index that
contains arrays of integers or masks makes a copy (`AdvancedSubtensor1`, `AdvancedSubtensor`,
`AdvancedBooleanSubtensor`). This file replaces Ellipsis, refuses Python's bools, and converts lists to arrays; the ops
do not handle these.
"""
from functools import partial

import numpy

from phintys.graph.config import config
from phintys.graph.variable import Variable
from phintys.ops.indexing.advanced_index import as_index_array, split_index
from phintys.ops.indexing.advanced_subtensor import AdvancedBooleanSubtensor, AdvancedSubtensor, advanced_subtensor1
from phintys.ops.indexing.subtensor import WHOLE, Subtensor, split_entry
from phintys.ops.shape.dimshuffle import DimShuffle, dimshuffle
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import AsTensorError
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.slice_type import NoneTypeT, SliceType, as_slice
from phintys.ops.types.tensor_type import TensorType


def getitem(x, index):
    """``x[index]``.

    Parameters
    ----------
    x : TensorVariable
    index : int, symbolic integer, slice of those, None, Ellipsis, array of integers, mask, or tuple of them
        Arrays and masks may be symbolic tensors or NumPy arrays; an array of integers may also be a list.

    Returns
    -------
    TensorVariable
        A copy if the index contains an array or mask, else a view.

    Raises
    ------
    IndexError
        For more indices than dimensions; at run time, for an integer out of range, for index arrays that cannot be
        broadcast together, or for a mask whose shape differs from that of the dimensions it indexes.
    TypeError
        For Python's bools and other objects that are not valid as an index.
    """
    entries, is_advanced = _entries(x, _as_tuple(index))
    return _advanced(x, entries) if is_advanced else _basic(x, entries)


def _as_tuple(index):
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and any([isinstance(entry, slice) for entry in index]):
        return tuple(index)
    return (index,)


def _entries(x, index):
    """The index without Ellipsis, with arrays and masks as variables, and whether it contains any of these."""
    entries, position, used, is_advanced = [], None, 0, False
    for entry in index:
        if entry is Ellipsis:
            if position is not None:
                raise IndexError("an index can only have a single ellipsis ('...')")
            position = len(entries)
            continue
        if not (type(entry) is int or entry is None or isinstance(entry, slice)):
            try:
                entry = _as_entry(entry)
            except AsTensorError as error:
                raise AsTensorError(f"{x} cannot be indexed with {entry!r}: {error}") from None
            is_advanced = is_advanced or _is_array(entry)
        used += entry.type.ndim if _is_mask(entry) else entry is not None
        entries.append(entry)
    if used > x.type.ndim:
        raise IndexError(f"too many indices for array: {x} has {x.type.ndim} dimensions, but {used} were indexed"
                         f"{_about_masks(entries)}")
    if position is not None:
        entries[position:position] = [WHOLE] * (x.type.ndim - used) or (
            _separator(entries[:position], entries[position:]) if is_advanced else [])
    return _without_slice_variables(x, entries), is_advanced


def _about_masks(entries):
    """The part of an error message that explains how many dimensions the masks of a too long index take."""
    masks = [f"the mask {entry} takes {entry.type.ndim}" for entry in entries if _is_mask(entry)]
    return "".join([f"; {text}" for text in masks]) + (", one for each of its own dimensions" if masks else "")


def _separator(before, behind):
    """The entry that replaces an ellipsis covering no dimension: it separates arrays, as in NumPy, where integers count
    as arrays. It is omitted where it has no effect, because no dimension precedes the arrays."""
    taken = [[not (entry is None or isinstance(entry, slice)) for entry in side] for side in (before, behind)]
    return [Ellipsis] if any(taken[0]) and not taken[0][0] and any(taken[1]) else []


def _without_slice_variables(x, entries):
    """The index with variables of slice type replaced by slices of integers."""
    result, axis = [], 0
    for entry in entries:
        if isinstance(entry, Variable) and isinstance(entry.type, SliceType):
            entry = as_slice(entry, partial(shape_i, x, axis))
        result.append(entry)
        axis += entry.type.ndim if _is_mask(entry) else entry not in (None, Ellipsis)
    return result


def _as_entry(entry):
    """Convert an entry to an int or a variable (an array, mask or 0-d integer); variables of slice or None type are
    returned unchanged."""
    if isinstance(entry, numpy.integer):
        return int(entry)
    if isinstance(entry, Variable) and isinstance(entry.type, (SliceType, NoneTypeT)):
        return entry if isinstance(entry.type, SliceType) else None
    _refuse_bools(entry)
    return as_index_array(entry)


def _refuse_bools(entry):
    """Raise an error for Python's bools, alone or in lists, because their meaning is ambiguous: lists treat them as
    integers, arrays as masks."""
    if isinstance(entry, (bool, numpy.bool_)):
        raise TypeError("TensorType does not support Python bools for indexing, such as tensor[[True, False]]. To use "
                        "a boolean mask, convert the mask to a NumPy array first, e.g., "
                        "tensor[numpy.array([True, False])].")
    if isinstance(entry, (list, tuple)):
        for each in entry:
            if getattr(each, "dtype", None) == "bool":
                _refuse_bools(True)
            _refuse_bools(each)


def _is_mask(entry):
    return _is_tensor(entry) and entry.type.dtype == "bool"


def _is_array(entry):
    return _is_tensor(entry) and (entry.type.ndim > 0 or entry.type.dtype == "bool")


def _is_tensor(entry):
    return isinstance(entry, Variable) and isinstance(entry.type, TensorType)


def _basic(x, entries):
    """A view: first new dimensions are added, then the result is indexed. ``new_axes`` of the Subtensor records that
    both belong to one index, for `inc_subtensor`."""
    has_new = None in entries
    if has_new:
        axes = iter(range(x.type.ndim))
        order = ["x" if entry is None else next(axes) for entry in entries] + _left_over(x, list(axes))
        entries = [WHOLE if entry is None else entry for entry in entries]
        if all([isinstance(entry, slice) and entry == WHOLE for entry in entries]):
            return DimShuffle(x.type.broadcastable, order, of_index=True)(x)
        x = dimshuffle(x, order)
    integers = []
    idx_list = [split_entry(entry, integers) for entry in entries]
    return Subtensor(idx_list, has_new)(x, *integers)


def _left_over(x, axes):
    """The last dimensions, which an index with None does not name. Theano drops them."""
    if not config.theano_rules:
        return axes
    if not all([x.type.broadcastable[axis] for axis in axes]):
        raise ValueError(f"An index with None names all dimensions but those of length 1, as in Theano: {x} has "
                         f"{x.type.ndim} dimensions, of which {len(axes)} are missing. Add a colon for each, as in "
                         "x[:, None, :], or set config.theano_rules = False, to index as NumPy does.")
    return []


def _advanced(x, entries):
    while isinstance(entries[-1], slice) and entries[-1] == WHOLE:
        entries.pop()
    if len(entries) == 1 and entries[0].type.ndim == 1 and entries[0].type.dtype in integer_dtypes:
        return advanced_subtensor1(x, entries[0])
    idx_list, inputs = split_index(entries)
    op = AdvancedBooleanSubtensor if any(map(_is_mask, entries)) else AdvancedSubtensor
    return op(idx_list)(x, *inputs)
