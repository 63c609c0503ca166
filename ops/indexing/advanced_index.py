"""What an index with arrays and masks says: its entries, the shape of the part it names, and its plan for the kernels.

An index is a tuple with an entry for each dimension or more: None (a new dimension of length 1), an integer, a slice,
an array of integers, or a mask, which stands for as many dimensions as it has. What is constant in integers and slices
stands in the op's ``idx_list``; everything symbolic is an input of the node, and its type stands in ``idx_list``.
Dimensions without an entry are kept whole. NumPy's rules hold: arrays broadcast together, and their dimensions stand
where the arrays stand, or in front if something else stands between them. An Ellipsis in ``idx_list`` stands for no
dimension at all; it is what stands between two arrays. The ops are in ``advanced_subtensor.py``.
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
    """An array of integers or a mask as a tensor variable."""
    array = as_tensor_variable(_without_floats(entry))
    if array.type.dtype not in discrete_dtypes:
        raise TypeError(f"index must be integers or a boolean mask, got {array} of dtype {array.type.dtype}")
    return array


def _without_floats(entry):
    """An index array without elements has integers, whatever NumPy makes of empty lists."""
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
    """An index as users write it, in two: what belongs to the op, and the symbolic parts, which become inputs.

    Returns
    -------
    (list, list of TensorVariable)

    Raises
    ------
    TypeError
        For an entry that is no index.
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
    """What the ops for any index share.

    Attributes
    ----------
    idx_list : tuple or None
        Per entry None, an int, a slice of ints and types, Ellipsis (for no dimension), or the type of an array, a mask
        or an integer. None: not yet
        known; ``make_node`` then takes the entries themselves and makes a node of the op that knows them.
    indices : tuple or None
        The same, hashable.
    """

    masks = False                # whether masks are allowed

    def __init__(self, idx_list):
        self.idx_list = self.indices = None
        if idx_list is not None:
            self.idx_list = tuple([entry if entry in (None, Ellipsis) or is_array(entry)
                                   else checked_entry(self, entry) for entry in idx_list])
            self.indices = tuple([entry_parts(entry) for entry in self.idx_list])
        self.lead = self._lead()

    def split(self, index):
        """The index of a node that users make, in two; Ellipsis, and masks where they do not belong, are refused."""
        if any([entry is Ellipsis for entry in index]):
            raise TypeError(f"{type(self).__name__} takes an entry for each dimension; write slices for the ellipsis")
        if not self.masks:
            refuse_masks(index)
        return split_index(index)

    def check_inputs(self, x, inputs):
        types = [part for entry in self.idx_list for part in entry_parts(entry) if isinstance(part, Type)]
        if len(types) != len(inputs):
            raise IndexError(f"{self} takes {len(types)} symbolic indices, {len(inputs)} given")
        for value, expected in zip(inputs, types):
            if value.type.dtype != expected.dtype or value.type.ndim != expected.ndim:
                raise TypeError(f"Wrong type for the index of {self}. Expected {expected}, got {value.type}.")
        if self._axes() > x.type.ndim:
            raise IndexError(f"too many indices for array: {x} has {x.type.ndim} dimensions, but {self._axes()} were "
                             "indexed")

    # ---- what the index says -----------------------------------------------------------------------------
    def _axes(self):
        """How many dimensions of x the entries speak of."""
        return sum([0 if entry in (None, Ellipsis) else entry.ndim if is_mask(entry) else 1
                    for entry in self.idx_list])

    def _lead(self):
        """How many dimensions of the result stand in front of those of the index arrays."""
        kept, lead, separated, inside = 0, None, False, False
        for entry in self.idx_list or ():
            if entry in (None, Ellipsis) or isinstance(entry, slice):
                kept, inside = kept + (entry is not Ellipsis), False
            else:
                separated = separated or (lead is not None and not inside)
                lead, inside = kept if lead is None else lead, True
        return 0 if separated or lead is None else lead

    def plan(self, first):
        """The index as the kernels take it; ``first`` is the number of the first index operand."""
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
        """Put together something that the result has per dimension.

        Parameters
        ----------
        inputs : list
            The symbolic parts of the index.
        axes : list
            What there is for each dimension of x.
        kept : callable
            ``kept(entry, axis)`` for a slice of a dimension (WHOLE for one without entry), ``kept(None, None)`` for a
            new dimension.
        arrays : list
            What there is for the dimensions of the index arrays.
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
    """Flag and static length of a dimension that the index keeps or makes."""
    if entry is None:
        return True, 1
    flag, length = dimension
    parts = entry_parts(entry)
    if length is None or not all([part is None or type(part) is int for part in parts]) or entry.step == 0:
        return (flag, length) if entry == WHOLE else (False, None)
    length = len(range(*entry.indices(length)))
    return flag and length == 1, length


def _kept_length(entry, length):
    """The length of a dimension that the index keeps or makes."""
    return 1 if entry is None else length if entry == WHOLE else slice_length(entry, length)


def _dimensions_of(array):
    """Flag and static length of each dimension of an index array."""
    if array.type.dtype != "bool":
        return list(zip(array.type.broadcastable, array.type.shape))
    return [(False, int(array.data.sum()) if isinstance(array, Constant) else None)]


def _common_dimensions(dimensions):
    """Flags and lengths per dimension of several arrays: what they have when broadcast together.

    A length of 1 is repeated when it runs, whether the flag says so or not.
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
    """How many elements of a mask are true."""
    return Sum(None, dtype="int64")(mask)
