"""Indices with arrays and masks: their entries, the shape of the indexed part, and the plan for the kernels.

An index is a tuple of entries: None (a new dimension of length 1), an integer, a slice, an array of integers, or a
mask, which indexes as many dimensions as it has itself. Constant integers and slices of constants are part of the op's
``idx_list``; each symbolic part is an input of the node, and its type is in ``idx_list``. Dimensions without an entry
are kept whole. NumPy's rules apply: arrays are broadcast together, and their dimensions replace the indexed dimensions,
or come first in the result if the arrays are separated by another entry. An Ellipsis in ``idx_list`` covers no
dimension; it only separates two arrays. The ops are in ``advanced_subtensor.py``.
"""
import numpy

from phintys.graph.op import Op
from phintys.graph.type import Type
from phintys.graph.variable import Constant
from phintys.ops.elementwise.scalar import eq, switch
from phintys.ops.indexing.slices import slice_length
from phintys.ops.indexing.subtensor import (
    WHOLE,
    checked_entry,
    entry_parts,
    filled,
    index_text,
    planned_parts,
    split_entry,
)
from phintys.ops.reduction.careduce import Sum
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.tensor_type import TensorType


def as_index_array(entry):
    """Convert an array of integers or a mask to a tensor variable."""
    array = as_tensor_variable(_without_floats(entry))
    if array.type.dtype not in discrete_dtypes:
        raise TypeError(f"index must be integers or a boolean mask, got {array} of dtype {array.type.dtype}")
    return array


def _without_floats(entry):
    """Convert an empty list to an empty array of integers; NumPy would make it an array of floats."""
    if isinstance(entry, (list, tuple)) and not entry:
        return numpy.zeros(0, "int64")
    if isinstance(entry, numpy.ndarray) and not entry.size and entry.dtype != bool:
        return entry.astype("int64")
    return entry


def refuse_masks(entries):
    """Raise for masks and Python's bools: an index array of integers is expected."""
    for entry in entries:
        if isinstance(entry, (bool, numpy.bool_)) or getattr(entry, "dtype", None) == "bool":
            raise TypeError("AdvancedSubtensor does not support boolean masks for indexing. Use "
                            "AdvancedBooleanSubtensor instead.")
        if isinstance(entry, (list, tuple)):
            refuse_masks(entry)


def is_array(entry):
    """Whether an entry of an ``idx_list`` is the type of an array or a mask."""
    return isinstance(entry, Type) and (entry.ndim > 0 or entry.dtype == "bool")


def is_mask(entry):
    """Whether an entry of an ``idx_list`` is the type of a mask."""
    return isinstance(entry, Type) and entry.dtype == "bool"


def split_index(index):
    """Split a user's index into the part that belongs to the op and the symbolic parts, which become inputs.

    Returns
    -------
    (list, list of TensorVariable)

    Raises
    ------
    TypeError
        For an entry that is not a valid index.
    """
    idx_list, inputs = [], []
    for entry in index:
        if entry is Ellipsis:
            idx_list.append(entry)
        elif entry is None or isinstance(entry, slice) or type(entry) is int or isinstance(entry, numpy.integer):
            idx_list.append(split_entry(entry, inputs))
        else:
            array = as_index_array(entry)
            if isinstance(array, Constant) and array.type.ndim == 0 and array.type.dtype != "bool":
                idx_list.append(int(array.data))
            else:
                idx_list.append(array.type)
                inputs.append(array)
    return idx_list, inputs


class AdvancedIndexing(Op):
    """The base class of ops for any index.

    Attributes
    ----------
    idx_list : tuple or None
        Each entry is None, an int, a slice of ints and types, Ellipsis (which covers no dimension), or the type of an
        array, a mask or an integer. If the list itself is None, ``make_node`` takes the entries as arguments and makes
        a node of the op that has them as ``idx_list``.
    indices : tuple or None
        The entries of ``idx_list`` in hashable form.
    """

    masks = False                # whether masks are allowed

    def __init__(self, idx_list):
        self.idx_list = self.indices = None
        if idx_list is not None:
            self.idx_list = tuple([entry if entry in (None, Ellipsis) or is_array(entry)
                                   else checked_entry(type(self), entry) for entry in idx_list])
            self.indices = tuple([entry_parts(entry) for entry in self.idx_list])
        self.lead = self._lead()

    def split(self, index):
        """Split the index of a node that a user makes; an Ellipsis, and a mask in an op without masks, is an error."""
        if any([entry is Ellipsis for entry in index]):
            raise TypeError(f"{type(self).__name__} takes an entry for each dimension; write slices for the ellipsis")
        if not self.masks:
            refuse_masks(index)
        return split_index(index)

    def check_inputs(self, x, inputs):
        """Raise an error unless the inputs are those that the index needs."""
        types = [part for entry in self.idx_list for part in entry_parts(entry) if isinstance(part, Type)]
        if len(types) != len(inputs):
            raise IndexError(f"{self} takes {len(types)} symbolic indices, {len(inputs)} given")
        for value, expected in zip(inputs, types):
            if value.type.dtype != expected.dtype or value.type.ndim != expected.ndim:
                raise TypeError(f"Wrong type for the index of {self}. Expected {expected}, got {value.type}.")
        if self._axes() > x.type.ndim:
            raise IndexError(f"too many indices for array: {x} has {x.type.ndim} dimensions, but {self._axes()} were "
                             "indexed")

    # ---- the meaning of the index ------------------------------------------------------------------------
    def _axes(self):
        """The number of dimensions of x that the entries index."""
        return sum([0 if entry in (None, Ellipsis) else entry.ndim if is_mask(entry) else 1
                    for entry in self.idx_list])

    def _lead(self):
        """The number of dimensions of the result that precede those of the index arrays."""
        kept, lead, separated, inside = 0, None, False, False
        for entry in self.idx_list or ():
            if entry in (None, Ellipsis) or isinstance(entry, slice):
                kept, inside = kept + (entry is not Ellipsis), False
            else:
                separated = separated or (lead is not None and not inside)
                lead, inside = kept if lead is None else lead, True
        return 0 if separated or lead is None else lead

    def plan(self, first):
        """The index in the form that the kernels take; ``first`` is the number of the first index operand."""
        plan, operand = [], first
        for entry in self.idx_list:
            if is_array(entry):
                kind = ("mask", operand) if is_mask(entry) else ("array", operand, entry.dtype)
                plan.append((*kind, entry.ndim))
                operand += 1
            elif entry is None:
                plan.append(("new",))
            elif entry is not Ellipsis:
                parts, operand = planned_parts(entry, operand)
                plan.append(("slice" if isinstance(entry, slice) else "integer", *parts))
        return plan

    def _arrange(self, inputs, axes, kept, arrays):
        """Assemble a list with one item for each dimension of the result.

        Parameters
        ----------
        inputs : list
            The symbolic parts of the index.
        axes : list
            The item of each dimension of x.
        kept : callable
            ``kept(entry, axis)`` returns the item for a slice of a dimension (WHOLE for a dimension without entry),
            ``kept(None, None)`` that for a new dimension.
        arrays : list
            The items of the dimensions of the index arrays.
        """
        result, axis = [], 0
        for entry in filled(self.idx_list, inputs):
            if entry in (None, Ellipsis):
                result += [kept(None, None)] if entry is None else []
                continue
            if isinstance(entry, slice):
                result.append(kept(entry, axes[axis]))
            axis += entry.type.ndim if hasattr(entry, "type") and entry.type.dtype == "bool" else 1
        result += [kept(WHOLE, each) for each in axes[axis:]]
        return result[:self.lead] + arrays + result[self.lead:]

    def _arrays(self, inputs):
        """The index arrays among the symbolic parts."""
        return [value for value in inputs if is_array(value.type)]

    def region_type(self, x, inputs):
        """The type of the indexed part of ``x``."""
        dimensions = self._arrange(inputs, list(zip(x.type.broadcastable, x.type.shape)), _kept_type,
                                   _common_dimensions([_dimensions_of(array) for array in self._arrays(inputs)]))
        return TensorType(x.type.dtype, [flag for flag, _ in dimensions], shape=[length for _, length in dimensions])

    def region_shape(self, x_shape, inputs, input_shapes):
        """The lengths of the indexed part."""
        shapes = []
        for value, shape in zip(inputs, input_shapes):
            if is_mask(value.type):
                value = constant(int(value.data.sum())) if isinstance(value, Constant) else _count(value)
                shapes.append([(False, value)])
            elif value.type.ndim:
                shapes.append(list(zip(value.type.broadcastable, shape)))
        arrays = [length for _, length in _common_dimensions(shapes)]
        return tuple(self._arrange(inputs, list(x_shape), _kept_length, arrays))

    def __str__(self):
        index = "" if self.idx_list is None else f"{index_text(self.idx_list)}"
        return f"{type(self).__name__}{{{index}}}"


def _kept_type(entry, dimension):
    """The broadcastable flag and static length of a dimension that the index keeps or adds."""
    if entry is None:
        return True, 1
    flag, length = dimension
    parts = entry_parts(entry)
    if length is None or not all([part is None or type(part) is int for part in parts]) or entry.step == 0:
        return (flag, length) if entry == WHOLE else (False, None)
    length = len(range(*entry.indices(length)))
    return flag and length == 1, length


def _kept_length(entry, length):
    """The length of a dimension that the index keeps or adds."""
    return 1 if entry is None else length if entry == WHOLE else slice_length(entry, length)


def _dimensions_of(array):
    """The broadcastable flag and static length of each dimension of an index array."""
    if array.type.dtype != "bool":
        return list(zip(array.type.broadcastable, array.type.shape))
    return [(False, int(array.data.sum()) if isinstance(array, Constant) else None)]


def _common_dimensions(dimensions):
    """The flag and length of each dimension of several arrays after broadcasting.

    A length of 1 is broadcast at run time even in a dimension that is not declared broadcastable.
    """
    rank = max(map(len, dimensions), default=0)
    result = []
    for axis in range(-rank, 0):
        present = [each[axis] for each in dimensions if len(each) >= -axis]
        lengths = [length for flag, length in present if not flag and not (type(length) is int and length == 1)]
        known = [length for length in lengths if type(length) is int]
        result.append((all([flag for flag, _ in present]),
                       known[0] if known else _longest(lengths) if lengths else 1))
    return result


def _longest(lengths):
    """The common length of dimensions of which some may have length 1; None where one is not known."""
    result = lengths[0]
    for length in lengths[1:]:
        if result is None or length is None:
            return None
        if length is not result:
            result = switch(eq(result, 1), length, result)
    return result


def _count(mask):
    """The number of true elements of a mask."""
    return Sum(None, dtype="int64")(mask)
