"""Splits, slices and sums of joins become the joined tensors; splits of constants with one value everywhere; parts of
what was changed elsewhere, or only there; vectors whose parts are set one after the other become joins.

Gradients of joins are splits, and models often separate the first value of a series from the others, join the values
computed from both, and split these again. Gradients of differences ``x[1:] - x[:-1]`` are zeros that are changed twice.
The lengths of the joined tensors must be known.
"""
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import Alloc
from phintys.ops.shape.join import Join
from phintys.ops.shape.shape import patternbroadcast
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, key, only_reader
from phintys.optimizer.engine.values import apply_op, apply_wide, constant
from phintys.optimizer.passes.shapes import feature_of
from phintys.optimizer.rewrites.indexing import index_of, is_whole, part_of, part_of_operand
from phintys.optimizer.rewrites.reductions import axes_of

FEW = 4                        # parts whose sums are computed apart
SHORT = 16                     # elements of a vector that is joined from what is set in it, and zeros
CHANGES = ("IncSubtensor", "AdvancedIncSubtensor1")


def _joined(variable):
    """Return ``(axis, tensors, lengths)`` of a join along a known axis of known lengths, else None."""
    if key(variable) != "Join" or variable.owner.op.view != -1:
        return None
    axis, *tensors = variable.owner.inputs
    axis = constant_value(axis)
    if axis is None:
        return None
    axis %= variable.type.ndim
    lengths = [tensor.type.shape[axis] for tensor in tensors]
    return None if None in lengths else (axis, tensors, lengths)


def _of_dtype(variable, dtype):
    return variable if variable.type.dtype == dtype else apply_op("convert_to_" + dtype, variable)


def split_of_join(fgraph, node):
    """``split(join(x, y), lengths of x and y) -> x, y``."""
    whole, axis, splits = node.inputs
    found, axis = _joined(whole), constant_value(axis)
    if found is None or axis is None or not isinstance(splits, Constant) or axis % whole.type.ndim != found[0] \
            or splits.data.tolist() != found[2]:
        return None
    return [_of_dtype(tensor, whole.type.dtype) for tensor in found[1]]


def split_of_constant(fgraph, node):
    """The parts of a tensor that has one value everywhere."""
    whole, axis, splits = node.inputs
    value, axis = constant_value(whole), constant_value(axis)
    if value is None or axis is None or not isinstance(splits, Constant) or not whole.type.dtype.startswith("float"):
        return None
    axis %= whole.type.ndim
    length = whole.type.shape[axis]
    if length is None or splits.data.min() < 0 or splits.data.sum() != length:
        return None
    shape, parts = feature_of(fgraph).shape(whole), []
    for out, part in zip(node.outputs, splits.data.tolist()):
        lengths = [part if number == axis else other for number, other in enumerate(shape)]
        made = Alloc()(constant(value, whole.type.dtype, 0), *lengths)
        parts.append(made if fgraph.clients[out] else None)
    return parts


def slice_of_join(fgraph, node):
    """``join(x, y)[0] -> x[0]``, and other parts that belong to one of the tensors."""
    found = _joined(node.inputs[0])
    entries = list(index_of(node))
    if found is None or found[0] >= len(entries):
        return None
    axis, tensors, lengths = found
    bounds = _bounds(entries[axis], sum(lengths))
    if bounds is None:
        return None
    first, last = bounds
    start = 0
    for tensor, length in zip(tensors, lengths):
        if start <= first and last < start + length:
            entries[axis] = first - start if type(entries[axis]) is int else slice(first - start, last + 1 - start)
            return part_of(_of_dtype(tensor, node.outputs[0].type.dtype), entries)
        start += length
    return None


def _bounds(entry, length):
    """Return the first and the last position that an entry takes, if constants tell them and they are adjacent."""
    if type(entry) is int:
        return None if not -length <= entry < length else (entry % length, entry % length)
    parts = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)
    if not isinstance(entry, slice) or any([part is not None and type(part) is not int for part in parts]) \
            or entry.step not in (None, 1):
        return None
    start, stop, _ = entry.indices(length)
    return (start, stop - 1) if stop > start else None


def join_of_changes(fgraph, node):
    """``set_subtensor(set_subtensor(x[0], y)[1:], z) -> join(0, y, z)``, if these parts are all of x, or x is short and
    zero; what is added to zeros is set, too.
    """
    out = node.outputs[0]
    if out.type.ndim != 1 or not out.type.shape[0]:
        return None
    parts, base, adds = {}, out, False
    while key(base) in CHANGES and len(parts) < FEW and (base is out or len(fgraph.clients[base]) == 1):
        first, part = _part_that_is_changed(base.owner, out.type)
        if part is None or first in parts:
            return None
        parts[first] = part
        adds |= not base.owner.op.set_instead_of_inc
        base = base.owner.inputs[0]
    is_zero, reader = constant_value(base) == 0, only_reader(fgraph, out)
    if is_zero and len(parts) > 1 and out.type.shape[0] <= SHORT and (reader is None or key(reader) not in CHANGES):
        _fill_gaps(parts, out.type)
    ordered = [parts[first] for first in sorted(parts)]
    if adds and not is_zero or not _are_all(sorted(parts), ordered, out.type.shape[0]):
        return None
    return patternbroadcast(Join()(0, *ordered), out.type.broadcastable) if len(ordered) > 1 else None


def _fill_gaps(parts, kind):
    """Add zeros where a vector has no part; parts that overlap stay as they are."""
    ends = [0, *[first + parts[first].type.shape[0] for first in sorted(parts)]]
    for end, start in zip(ends, [*sorted(parts), kind.shape[0]]):
        if start > end:
            parts[end] = Alloc()(constant(0, kind.dtype, 0), start - end)


def _part_that_is_changed(change, kind):
    """Return where the part of a vector begins to which a node puts a value, and the value, or None."""
    y, entries = change.inputs[1], _changed_index(change)
    bounds = _bounds(entries[0], kind.shape[0]) if len(entries) == 1 else None
    if bounds is None:
        return None, None
    size = bounds[1] - bounds[0] + 1
    y = y.dimshuffle("x") if y.type.ndim == 0 and size == 1 else y
    return bounds[0], y if y.type.shape == (size,) and y.type.dtype == kind.dtype else None


def _changed_index(change):
    """The entries of the index of a change; the only position in a vector of positions is a number."""
    if key(change.outputs[0]) == "IncSubtensor":
        return index_of(change, 2)
    positions = change.inputs[2]
    return [int(positions.data[0])] if isinstance(positions, Constant) and positions.data.size == 1 else []


def _are_all(starts, parts, length):
    """Return whether parts of a vector follow each other from its first element to its last."""
    ends = [start + part.type.shape[0] for start, part in zip(starts, parts)]
    return bool(starts) and starts == [0, *ends[:-1]] and ends[-1] == length


class Change:
    """What puts ``y`` into adjacent positions of ``x`` along one axis of known length, between ``bounds``, which are
    None for other changes."""

    def __init__(self, node):
        self.x, self.y = node.inputs[:2]
        self.is_set, self.bounds = node.op.set_instead_of_inc, None
        entries, rank = index_of(node, 2), self.x.type.ndim
        axes = [axis for axis, entry in enumerate(entries) if not is_whole(entry)]
        if len(axes) != 1 or self.y.type.dtype != self.x.type.dtype:
            return
        self.axis, self.length = axes[0], self.x.type.shape[axes[0]]
        if type(entries[self.axis]) is int and self.y.type.ndim == rank - 1:
            self.y = self.y.dimshuffle(*range(self.axis), "x", *range(self.axis, rank - 1))
        bounds = None if self.length is None else _bounds(entries[self.axis], self.length)
        if bounds and self.y.type.ndim == rank and self.y.type.shape[self.axis] in (1, bounds[1] - bounds[0] + 1):
            self.bounds = bounds

    def part(self, entries, is_private):
        """Return a part, if all of it is changed or nothing; what is added to others is added if ``is_private``."""
        read = _bounds(entries[self.axis], self.length) if self.bounds and len(entries) > self.axis else None
        if read is None:
            return None
        (first, last), part = self.bounds, part_of(self.x, entries)
        if read[1] < first or last < read[0]:
            return part
        if read[0] < first or last < read[1] or not (self.is_set or is_private):
            return None
        entries, start = list(entries), read[0] - first
        entries[self.axis] = start if type(entries[self.axis]) is int else slice(start, read[1] + 1 - first)
        changed = part_of_operand(self.y, entries, self.x.type.broadcastable)
        changed = changed if self.is_set else apply_op("add", part, changed)
        return changed if changed.type.broadcastable == part.type.broadcastable else None


def slice_of_change(fgraph, node):
    """``set_subtensor(x[1:], y)[0] -> x[0]``, ``set_subtensor(x[1:], y)[1:3] -> y[:2]``, and ``inc_subtensor(x[1:],
    y)[1:3] -> x[1:3] + y[:2]``."""
    change, out = node.inputs[0], node.outputs[0]
    part = Change(change.owner).part(index_of(node), len(fgraph.clients[change]) == 1) \
        if key(change) == "IncSubtensor" else None
    return None if part is None else patternbroadcast(part, out.type.broadcastable)


def split_of_change(fgraph, node):
    """The parts that are read, if `slice_of_change` holds for each of them."""
    whole, axis, splits = node.inputs
    axis = constant_value(axis)
    if key(whole) != "IncSubtensor" or axis is None or not isinstance(splits, Constant):
        return None
    change, parts, start = Change(whole.owner), [], 0
    length = whole.type.shape[axis % whole.type.ndim]
    if splits.data.min() < 0 or splits.data.sum() != length:
        return None
    for out, size in zip(node.outputs, splits.data.tolist()):
        entries = [slice(None)] * (axis % whole.type.ndim) + [slice(start, start + size)]
        part = change.part(entries, len(fgraph.clients[whole]) == 1) if fgraph.clients[out] else None
        if part is None and fgraph.clients[out]:
            return None
        parts.append(None if part is None else patternbroadcast(part, out.type.broadcastable))
        start += size
    return parts if any([part is not None for part in parts]) else None


def sum_of_join(fgraph, node):
    """``sum(join(x, y)) -> sum(x) + sum(y)``, where a few are joined along an axis of the sum."""
    whole, out = node.inputs[0], node.outputs[0]
    found = _joined(whole)
    if found is None or found[0] not in axes_of(node) or len(found[1]) > FEW or len(fgraph.clients[whole]) != 1 \
            or out.type.dtype not in ("float64", "int64") or whole.type.dtype != out.type.dtype:
        return None
    if not feature_of(fgraph).same_lengths(found[1], [axis for axis in axes_of(node) if axis != found[0]]):
        return None                    # the join compares lengths that the sums do not have any more
    return apply_wide("add", [node.op(_of_dtype(tensor, whole.type.dtype)) for tensor in found[1]], out.type.dtype)


REWRITES = [
    Rewrite("local_split_of_join", ("Split",), split_of_join, (FAST_RUN,)),
    Rewrite("local_split_of_constant", ("Split",), split_of_constant, (FAST_RUN,)),
    Rewrite("local_subtensor_of_join", ("Subtensor",), slice_of_join, (FAST_RUN,), changes="errors"),
    Rewrite("local_subtensor_beside_change", ("Subtensor",), slice_of_change, (FAST_RUN,), of=("IncSubtensor",),
            changes="errors"),
    Rewrite("local_split_of_change", ("Split",), split_of_change, (FAST_RUN,), of=("IncSubtensor",)),
    Rewrite("local_join_of_changes", CHANGES, join_of_changes, (FAST_RUN,)),
    Rewrite("local_sum_of_join", ("Sum",), sum_of_join, (FAST_RUN,), changes="nan range rounding"),
]
