"""Indexing: parts that are whole arrays, parts of parts, parts taken before other operations, values put into zeros.

A part is taken as early as possible: from the inputs of an elementwise op, a product or an Alloc instead of from their
result. Gradients of indexing are sums of zeros into which values were put; such a sum becomes one tensor, into which
all the values are put one after the other. If the operation that would have failed is removed, an index out of range
may go unnoticed; nothing else changes (`length_checks` finds lengths that nothing compares any more).
"""
import numpy

from phintys.graph.type import Type
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import Alloc
from phintys.ops.elementwise.scalar import cast_op, ge
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.identity.assertion import Check
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor1
from phintys.ops.indexing.slices import slice_length
from phintys.ops.indexing.subtensor import WHOLE, IncSubtensor, Subtensor, entry_parts, filled, split_entry
from phintys.ops.products.dot import Dot
from phintys.ops.shape.join import MakeVector
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.number_views import tensor_from_scalar
from phintys.ops.types.scalar_type import Scalar
from phintys.optimizer.engine.database import CONSTANT, FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, is_inexact, key, readers_in
from phintys.optimizer.engine.values import NUMBERS, apply_op
from phintys.optimizer.passes.shapes import feature_of
from phintys.optimizer.rewrites.fills import is_uniform, surely_repeated
from phintys.optimizer.rewrites.reductions import KEYS as REDUCTIONS
from phintys.optimizer.rewrites.reductions import axes_of, with_axes

BACKWARDS = slice(None, None, -1)
INCREMENTS = ("IncSubtensor", "AdvancedIncSubtensor1", "AdvancedIncSubtensor", "AdvancedBooleanIncSubtensor")


# ---- reading and building indices ------------------------------------------------------------------------------------
def index_of(node, first=1):
    """Return the index of a node of basic indexing, with its symbolic integers filled in."""
    return filled(node.op.idx_list, node.inputs[first:])


def part_of(x, entries):
    """Return ``x[entries]``, or x itself if everything is taken."""
    entries = list(entries)
    while entries and is_whole(entries[-1]):
        entries.pop()
    if not entries:
        return x
    integers = []
    idx_list = [split_entry(entry, integers) for entry in entries]
    return Subtensor(idx_list)(x, *integers)


def is_whole(entry):
    """Return whether an entry of an index is ``:``."""
    return isinstance(entry, slice) and entry == WHOLE


def _padded(entries, rank):
    """Return the index with an entry for each dimension."""
    return list(entries) + [WHOLE] * (rank - len(entries))


def _same_index(entries, others):
    """Return whether two indices are the same: the same constants and the same variables."""
    return len(entries) == len(others) and all([
        isinstance(entry, slice) == isinstance(other, slice)
        and all([mine is his or (type(mine) is int and type(his) is int and mine == his)
                 for mine, his in zip(entry_parts(entry), entry_parts(other))])
        for entry, other in zip(entries, others)])


def _takes_all(fgraph, entries, x):
    """Return whether the index takes everything of x, in its order."""
    return all([_takes_dimension(fgraph, entry, x, axis) for axis, entry in enumerate(entries)])


def _takes_dimension(fgraph, entry, x, axis):
    if not isinstance(entry, slice) or known_integer(1 if entry.step is None else entry.step) != 1:
        return False
    if entry.start is not None and known_integer(entry.start) != 0:
        return False
    if entry.stop is None:
        return True
    stop, length = known_integer(entry.stop), x.type.shape[axis]
    if stop is not None:
        return length is not None and stop >= length or stop == 2 ** 63 - 1
    return length is None and feature_of(fgraph).is_length(entry.stop, x, axis)


# ---- parts that are everything ---------------------------------------------------------------------------------------
def useless_part(fgraph, node):
    """``x[:] -> x``, also with bounds that have no effect."""
    x = node.inputs[0]
    return x if _takes_all(fgraph, index_of(node), x) else None


def rows_in_order(fgraph, node):
    """``x[arange(len(x))] -> x``, and ``x[[0, 1, 2]] -> x`` for an x of three rows."""
    x, positions = node.inputs
    if isinstance(positions, Constant):
        count = x.type.shape[0]
        return x if count and positions.data.size == count and (positions.data == numpy.arange(count)).all() else None
    if key(positions) != "ARange":
        return None
    start, stop, step = positions.owner.inputs
    return x if _takes_dimension(fgraph, slice(start, stop, step), x, 0) else None


def useless_change(fgraph, node):
    """Remove changes of slices without effect: setting elements to the number that they all have, or adding zero; for
    floating point numbers not those by zero, which may change signs of zeros."""
    x, y = node.inputs[:2]
    if not _takes_slices(node) or not all(y.type.broadcastable) or (is_inexact(x) and _one_number(y) == 0):
        return None
    return unchecked_change(fgraph, node)


def unchecked_change(fgraph, node):
    """Remove changes without effect, also where the index may be out of range or the lengths may differ."""
    x, y = node.inputs[:2]
    value = _one_number(y)
    if value is None:
        return None
    return x if (_one_number(x) == value if node.op.set_instead_of_inc else value == 0) else None


def _takes_slices(node):
    """Return whether no index of basic indexing can be out of range."""
    return all([isinstance(entry, slice) for entry in node.op.idx_list])


def _one_number(variable):
    """The number that all elements have, also of a constant tensor, or None."""
    if isinstance(variable, Constant) and is_uniform(variable.data):
        return variable.data.flat[0].item()
    return constant_value(variable)


def change_of_everything(fgraph, node):
    """Replace an assignment to all of x by the assigned tensor, if it has the shape of x; reversed where x was."""
    x, y = node.inputs[:2]
    if not node.op.set_instead_of_inc or y.type != x.type:
        return None
    entries = index_of(node, 2)
    forwards = [WHOLE if isinstance(entry, slice) and entry == BACKWARDS else entry for entry in entries]
    if not _takes_all(fgraph, forwards, x) or not feature_of(fgraph).same_shape(x, y):
        return None
    return part_of(y, [entry if isinstance(entry, slice) and entry == BACKWARDS else WHOLE for entry in entries])


def constant_index(fgraph, node):
    """Make constants among the symbolic integers of an index part of the op."""
    first = 1 if type(node.op) is Subtensor else 2
    if not any([isinstance(value, Constant) for value in node.inputs[first:]]):
        return None
    integers = []
    idx_list = [split_entry(entry, integers) for entry in index_of(node, first)]
    if first == 1:
        return Subtensor(idx_list)(node.inputs[0], *integers)
    op = IncSubtensor(idx_list, node.op.inplace, node.op.set_instead_of_inc, node.op.destroyhandler_tolerate_aliased)
    return op(*node.inputs[:2], *integers)


# ---- parts of parts --------------------------------------------------------------------------------------------------
def part_of_part(fgraph, node):
    """``x[a:][b:] -> x[a + b:]``, if constants determine the combined index."""
    inner = node.inputs[0].owner
    if inner is None or type(inner.op) is not Subtensor:
        return None
    outer = iter(_padded(index_of(node), node.inputs[0].type.ndim))
    entries = []
    for entry in _padded(index_of(inner), inner.inputs[0].type.ndim):
        entry = _composed(entry, next(outer)) if isinstance(entry, slice) else entry
        if entry is None:
            return None
        entries.append(entry)
    return part_of(inner.inputs[0], entries)


def _composed(inner, outer):
    """Return one entry that takes ``outer`` of the slice ``inner``; None if constants do not determine it.

    It is one for all lengths, also in what is out of range: ``x[2:][-1]`` is no element of x if there are two.
    """
    if is_whole(inner):
        return outer
    if is_whole(outer):
        return inner
    if not _is_constant_entry(inner) or not _is_constant_entry(outer):
        return None
    if inner == BACKWARDS:
        return ~outer if type(outer) is int else _turned(outer)
    return _element_of_slice(inner, outer) if type(outer) is int else _slice_of_slice(inner, outer)


def _is_constant_entry(entry):
    return all([part is None or type(part) is int for part in entry_parts(entry)])


def _turned(entry):
    """The slice of x that ``entry`` is of ``x[::-1]``, whose position i is position ``~i`` of x."""
    start, stop = [None if end is None else ~end for end in (entry.start, entry.stop)]
    step = -(1 if entry.step is None else entry.step)
    return slice(start, stop, None if step == 1 else step)


def _forward_parts(entry):
    """Start, stop (or None) and step of a slice that goes forwards; else None."""
    step = 1 if entry.step is None else entry.step
    return (entry.start or 0, entry.stop, step) if step > 0 else None


def _element_of_slice(inner, position):
    """The position of one element of a slice, or None."""
    parts = _forward_parts(inner)
    if parts is None:
        return None
    start, stop, step = parts
    if position >= 0:
        element = start + position * step
        return element if start >= 0 and (stop is None or element < stop) else None
    if step > 1 or start > 0 or (stop is not None and stop >= 0):
        return None
    element = (stop or 0) + position           # counted from the end, which is that of x
    return element if start == 0 or start <= element else None


def _slice_of_slice(inner, outer):
    """One slice that means a slice of what another takes, or None."""
    parts, outer_parts = _forward_parts(inner), _forward_parts(outer)
    if parts is None or outer_parts is None:
        return None
    start, stop, step = parts
    first, last, by = outer_parts
    begin = _begin_of_slice(start, stop, step, first)
    if begin is None:
        return None
    if last is None:
        return slice(begin, stop, step * by)
    if last >= 0:
        ends = [end for end in (stop, start + last * step) if end is not None]
        return slice(begin, min(ends), step * by) if start >= 0 and min(ends) >= 0 else None
    return slice(begin, (stop or 0) + last, step * by) if step == 1 and (stop is None or stop < 0) else None


def _begin_of_slice(start, stop, step, first):
    """The position at which ``[first:]`` of ``[start:stop:step]`` begins, or None."""
    if first == 0 or (first > 0 and start >= 0):
        return start + first * step
    if first > 0 or step > 1 or start > 0 or (stop is not None and stop >= 0):
        return None
    begin = (stop or 0) + first                # counted from the end, which is that of x
    return begin if start == 0 else max(start, begin)


def slices_of_change(fgraph, node):
    """``set_subtensor(x[i:], y)[i:] -> y``, if y has the shape of the part."""
    return part_of_change(fgraph, node) if _takes_slices(node) else None


def part_of_change(fgraph, node):
    """``set_subtensor(x[i], y)[i] -> y``, if y has the shape of the part; i may be out of range."""
    inner = node.inputs[0].owner
    if inner is None or type(inner.op) is not IncSubtensor or not inner.op.set_instead_of_inc:
        return None
    x, y = inner.inputs[:2]
    if y.type != node.outputs[0].type or not _same_index(index_of(inner, 2), index_of(node)):
        return None
    return y if feature_of(fgraph).same_shape(part_of(x, index_of(node)), y) else None


# ---- parts taken before the work -------------------------------------------------------------------------------------
def part_of_elementwise(fgraph, node):
    """``f(x, g(y))[i] -> f(x[i], g(y[i]))``, down to results with other readers."""
    whole = node.inputs[0]
    readers = readers_in(fgraph)
    if not _is_private_work(whole, readers):
        return None
    entries = _padded(index_of(node), whole.type.ndim)
    parts, stack = {}, [whole]
    while stack:
        variable = stack[-1]
        if variable not in parts:
            if not _is_private_work(variable, readers):
                parts[variable] = part_of_operand(variable, entries, whole.type.broadcastable)
            else:
                missing = [x for x in variable.owner.inputs if x not in parts]
                if missing:
                    stack.extend(missing)
                    continue
                parts[variable] = variable.owner.op(*[parts[x] for x in variable.owner.inputs])
        stack.pop()
    return parts[whole]


def _is_private_work(variable, readers):
    """Return whether an elementwise node computes it for one reader only."""
    work = variable.owner
    return (work is not None and key(variable) in SCALAR_OPS and len(work.outputs) == 1 and not work.op.destroy_map
            and readers(variable) == 1 and not _is_share(variable))


def _is_share(variable):
    """Return whether it is something divided by a sum of exponentials: a softmax, whose stable forms need all of it."""
    total = variable.owner.inputs[1] if key(variable) == "true_div" else None
    if total is not None and key(total) == "DimShuffle":
        total = total.owner.inputs[0]
    return total is not None and key(total) == "Sum" and key(total.owner.inputs[0]) == "exp"


def part_of_operand(x, entries, whole):
    """Return the part of an operand that belongs to a part of a result with the pattern ``whole``, over which it may be
    repeated."""
    return part_of(x, [entry if flag == own else WHOLE if isinstance(entry, slice) else 0
                       for entry, flag, own in zip(entries, whole, x.type.broadcastable)])


def part_of_shuffled(fgraph, node):
    """``x.T[i, j] -> x[j, i]`` and ``x[None, :][0] -> x``: the part is taken before the dimensions are shuffled."""
    shuffled = node.inputs[0]
    if key(shuffled) != "DimShuffle":
        return None
    x, order = shuffled.owner.inputs[0], shuffled.owner.op.new_order
    taken, kept = [WHOLE] * x.type.ndim, []
    for entry, axis in zip(_padded(index_of(node), len(order)), order):
        if axis != "x":
            taken[axis] = entry
        elif not (is_whole(entry) or (type(entry) is int and entry in (0, -1))):
            return None
        if isinstance(entry, slice):
            kept.append(axis)
    sliced = [axis for axis in range(x.type.ndim) if isinstance(taken[axis], slice)]
    part = part_of(x, taken)
    return part.dimshuffle(*["x" if axis == "x" else sliced.index(axis) for axis in kept])


def part_of_alloc(fgraph, node):
    """``alloc(x, n, m)[i:j] -> alloc(x, j - i, m)``; integers among the indices are checked, unless constants show
    that they are in range."""
    whole = node.inputs[0]
    if key(whole) != "Alloc":
        return None
    value, *lengths = whole.owner.inputs
    entries = _padded(index_of(node), whole.type.ndim)
    if not all([sure or is_whole(entry) for sure, entry in zip(surely_repeated(fgraph, whole.owner), entries)]):
        return None
    conditions = [condition for entry, length in zip(entries, lengths) if not isinstance(entry, slice)
                  for condition in _in_range(entry, length)]
    if None in conditions:
        return None
    if conditions:
        value = Check("an index is out of bounds for the axis of a tensor that repeats one value along it",
                      "IndexError")(value, *conditions)
    missing = whole.type.ndim - value.type.ndim
    value = part_of_operand(value, entries[missing:], whole.type.broadcastable[missing:])
    lengths = [slice_length(entry, length) for entry, length in zip(entries, lengths) if isinstance(entry, slice)]
    return Alloc()(value, *lengths) if lengths or value.type.ndim else value


def _in_range(entry, length):
    """Return the conditions for an index to be in range; ``[None]`` if it is known not to be."""
    entry, length = [value if known is None else known
                     for value, known in ((value, known_integer(value)) for value in (entry, length))]
    if isinstance(entry, int):
        bounds = [(length, entry + 1 if entry >= 0 else -entry)]
    else:
        entry = cast_op("int64")(tensor_from_scalar(entry) if isinstance(entry.type, Scalar) else entry)
        bounds = [(length, entry + 1), (entry, -length)]
    if all([isinstance(number, int) for pair in bounds for number in pair]):
        return [] if all([large >= small for large, small in bounds]) else [None]
    return [ge(large, small) for large, small in bounds]


def part_of_product(fgraph, node):
    """``dot(a, b)[i, j] -> dot(a[i], b[:, j])`` for matrices and vectors, if the product has no other readers.

    Every other column of b is no matrix of BLAS: its copy costs more than what a vector saves.
    """
    whole, entries = node.inputs[0], index_of(node)
    if key(whole) != "Dot" or not _takes_less(entries) or readers_in(fgraph)(whole) > 1:
        return None
    first, second = whole.owner.inputs
    if first.type.ndim == 1 and isinstance(entries[0], slice) and entries[0].step not in (None, 1):
        return None
    entries, of_rows = _padded(entries, whole.type.ndim), first.type.ndim - 1
    return Dot()(part_of(first, entries[:of_rows]), part_of(second, [WHOLE, *entries[of_rows:]]))


def _takes_less(entries):
    """Return whether an index may leave out elements: it does more than turn dimensions around."""
    return not all([isinstance(entry, slice) and entry in (WHOLE, BACKWARDS) for entry in entries])


def part_of_reduction(fgraph, node):
    """``sum(x, axis=1)[i] -> sum(x[i], axis=0)``, if the reduction has no other readers: the rest is not reduced."""
    whole, entries = node.inputs[0], index_of(node)
    if key(whole) not in REDUCTIONS or not _takes_less(entries) or readers_in(fgraph)(whole) > 1:
        return None
    x, axes, entries = whole.owner.inputs[0], axes_of(whole.owner), iter(_padded(entries, whole.type.ndim))
    taken = [WHOLE if axis in axes else next(entries) for axis in range(x.type.ndim)]
    left = [axis for axis, entry in enumerate(taken) if isinstance(entry, slice)]
    return with_axes(whole.owner, [left.index(axis) for axis in axes], part_of(x, taken))


def part_of_vector(fgraph, node):
    """Replace a slice of a vector made of scalars."""
    whole = node.inputs[0]
    if key(whole) != "MakeVector" or len(node.op.idx_list) != 1:
        return None
    entry, = node.op.idx_list
    if not isinstance(entry, slice) or any([isinstance(part, Type) for part in entry_parts(entry)]):
        return None
    return MakeVector(whole.type.dtype)(*whole.owner.inputs[entry])


# ---- values put into zeros -------------------------------------------------------------------------------------------
def set_zeros(fgraph, node):
    """Replace adding to zeros by setting, if no element is addressed twice."""
    x, *rest = node.inputs
    if node.op.set_instead_of_inc or constant_value(x) != 0:
        return None
    return IncSubtensor(node.op.idx_list, node.op.inplace, True)(x, *rest)


def sum_of_changes(fgraph, node):
    """``inc(zeros[i], y) + inc(zeros[j], z) + w -> inc(inc(w[i], y)[j], z)``: no sum over all elements is needed."""
    out = node.outputs[0]
    readers = readers_in(fgraph)
    changes, others = [], []
    for variable in node.inputs:
        is_change = (key(variable) in INCREMENTS and variable.type == out.type and readers(variable) == 1
                     and constant_value(variable.owner.inputs[0]) == 0 and _adds(variable.owner.op))
        (changes if is_change else others).append(variable)
    if not changes or len(node.inputs) < 2:
        return None
    result = others[0] if len(others) == 1 else apply_op("add", *others) if others else changes.pop(0)
    if result.type != out.type or not changes:
        return None
    feature = feature_of(fgraph)
    if others and not all([feature.same_shape(result, change) for change in changes]):
        return None
    for change in changes:
        result = _adding(change.owner.op)(result, *change.owner.inputs[1:])
    return result


def _adds(op):
    """Return whether putting something into zeros is the same as adding it: elements are set at most once, or added."""
    return type(op) is IncSubtensor or not op.set_instead_of_inc


def _adding(op):
    if type(op) is IncSubtensor:
        return IncSubtensor(op.idx_list)
    return AdvancedIncSubtensor1() if type(op) is AdvancedIncSubtensor1 else type(op)(idx_list=op.idx_list)


def increment_of_set_zeros(fgraph, node):
    """``inc_subtensor(set_subtensor(x[i], 0)[i], y) -> set_subtensor(x[i], y)`` for positions i that differ."""
    whole, y, rows = node.inputs
    before = whole.owner
    if node.op.set_instead_of_inc or key(whole) != "AdvancedIncSubtensor1" or not before.op.set_instead_of_inc \
            or len(fgraph.clients[whole]) != 1 or y.type.ndim != whole.type.ndim:
        return None
    x, zeros, same = before.inputs
    if same is not rows or not isinstance(rows, Constant) or constant_value(zeros) != 0 \
            or rows.data.min(initial=0) < 0 or len(set(rows.data.tolist())) != rows.data.size:
        return None
    return before.op(x, y, rows)


REWRITES = [
    Rewrite("local_useless_subtensor", ("Subtensor",), useless_part, (FAST_RUN,)),
    Rewrite("local_useless_AdvancedSubtensor1", ("AdvancedSubtensor1",), rows_in_order,
            (FAST_RUN, "local_useless_subtensor"), of=("ARange", CONSTANT)),
    Rewrite("local_useless_inc_subtensor", ("IncSubtensor",), useless_change,
            (FAST_RUN, "local_setsubtensor_of_constants"), of=NUMBERS),
    Rewrite("local_useless_inc_subtensor", INCREMENTS, unchecked_change,
            (FAST_RUN, "local_setsubtensor_of_constants", "local_useless_inc_subtensor_alloc"), of=NUMBERS,
            changes="errors"),
    Rewrite("local_setsubtensor_of_everything", ("IncSubtensor",), change_of_everything,
            (FAST_RUN, "local_useless_inc_subtensor")),
    Rewrite("local_constant_index", ("Subtensor", "IncSubtensor"), constant_index, (FAST_RUN,), of=(CONSTANT,)),
    Rewrite("local_subtensor_merge", ("Subtensor",), part_of_part, (FAST_RUN,), of=("Subtensor",)),
    Rewrite("local_subtensor_inc_subtensor", ("Subtensor",), slices_of_change, (FAST_RUN,), of=("IncSubtensor",)),
    Rewrite("local_subtensor_inc_subtensor", ("Subtensor",), part_of_change, (FAST_RUN,), of=("IncSubtensor",),
            changes="errors"),
    Rewrite("local_subtensor_lift", ("Subtensor",), part_of_elementwise, (FAST_RUN,), of=SCALAR_OPS),
    Rewrite("local_dimshuffle_subtensor", ("Subtensor",), part_of_shuffled, (FAST_RUN,), of=("DimShuffle",)),
    Rewrite("local_subtensor_of_alloc", ("Subtensor",), part_of_alloc, (FAST_RUN,), of=("Alloc",)),
    Rewrite("local_subtensor_of_dot", ("Subtensor",), part_of_product, (FAST_RUN,), of=("Dot",), changes="rounding"),
    Rewrite("local_subtensor_of_reduce", ("Subtensor",), part_of_reduction, (FAST_RUN,), of=("Sum", "Prod"),
            changes="rounding"),
    Rewrite("local_subtensor_of_reduce", ("Subtensor",), part_of_reduction, (FAST_RUN,), of=("All", "Any")),
    Rewrite("local_subtensor_of_reduce", ("Subtensor",), part_of_reduction, (FAST_RUN,), of=("Max", "Min"),
            changes="errors"),
    Rewrite("local_subtensor_make_vector", ("Subtensor",), part_of_vector, (FAST_RUN,), of=("MakeVector",)),
    Rewrite("local_incsubtensor_of_zeros_to_setsubtensor", ("IncSubtensor",), set_zeros, (FAST_RUN,), of=NUMBERS),
    Rewrite("local_increment_of_set_zeros", ("AdvancedIncSubtensor1",), increment_of_set_zeros, (FAST_RUN,),
            of=("AdvancedIncSubtensor1",)),
    Rewrite("local_IncSubtensor_serialize", ("add",), sum_of_changes, (FAST_RUN,), of=INCREMENTS,
            changes="nan range rounding"),
]
