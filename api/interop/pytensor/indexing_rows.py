"""Indexing: turns an index of PyTensor into a Python index of numbers, variables and slices."""
from pytensor.tensor.subtensor import indices_from_subtensor

from phintys import tensor as T
from phintys.graph.variable import Constant
from phintys.interop.pytensor.translation import row
from phintys.interop.pytensor.types import number
from phintys.ops.lists.typed_lists import MakeList

EVERYTHING = slice(None)


row("tensor.MakeSlice")(lambda op, node, start, stop, step: [slice(number(start), number(stop), number(step))])


def _index(op, parts):
    """The index, as it is written between brackets."""
    if getattr(op, "idx_list", None) is not None:
        parts = indices_from_subtensor([number(part) for part in parts], op.idx_list)
    return tuple(_without_variables(part) for part in parts)


def _without_variables(part):
    """A part of an index with numbers in place of constants."""
    if isinstance(part, slice):
        return slice(*[number(each) for each in (part.start, part.stop, part.step)])
    if isinstance(part, Constant) and part.data is None:
        return None
    return number(part)


row("tensor.AdvancedSubtensor", "tensor.AdvancedSubtensor1")(lambda op, node, x, *parts: x[_index(op, parts)])


@row("tensor.Subtensor")
def _subtensor(op, node, x, *parts):
    index = list(_index(op, parts))
    single = {axis for axis, (part, length) in enumerate(zip(index, node.inputs[0].type.shape))
              if _is_one_of_known(part, length)}
    if not single:
        return x[tuple(index)]
    found = x[tuple([index[axis].start if axis in single else index[axis] for axis in range(len(index))])]
    kept = iter(range(found.type.ndim))
    axes = [axis for axis in range(x.type.ndim) if axis >= len(index) or isinstance(index[axis], slice)]
    return found.dimshuffle(["x" if axis in single else next(kept) for axis in axes])


def _is_one_of_known(part, length):
    """Whether a slice is ``[i:i + 1]`` of a dimension that is known to have that element."""
    return (isinstance(part, slice) and isinstance(part.start, int) and isinstance(part.stop, int)
            and part.step in (None, 1) and length is not None and 0 <= part.start < length
            and part.stop == part.start + 1)


@row("tensor.IncSubtensor", "tensor.AdvancedIncSubtensor", "tensor.AdvancedIncSubtensor1")
def _inc_subtensor(op, node, x, y, *parts):
    index = _index(op, parts)
    if x.type.shape == y.type.shape and None not in x.type.shape and all(
            isinstance(part, slice) and part == EVERYTHING for part in index):       # all of x
        return T.second(x, y) if op.set_instead_of_inc else x + y
    return T.inc_subtensor(x[index], y, set_instead_of_inc=op.set_instead_of_inc,
                           ignore_duplicates=getattr(op, "ignore_duplicates", False))


@row("tensor.Choose")
def _choose(op, node, numbers, choices):
    made = choices.owner
    return T.choose(numbers, made.inputs if made is not None and isinstance(made.op, MakeList) else choices,
                    mode=op.mode)


row("tensor.PermuteRowElements")(lambda op, node, x, orders: T.permute_row_elements(x, orders, inverse=op.inverse))
