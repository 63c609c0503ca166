"""Turns loops over vectors of a few numbers, such as states of differential equations, into loops over the numbers.

A body that takes vectors apart and puts them together again (``state[0]``, ``stack([...])``) runs a kernel for each of
these operations. A body on single numbers has only elementwise nodes of rank 0, and is computed in registers: 120 steps
of two equations and of their gradient take a third of the time. Bodies that mostly compute with whole vectors stay as
they are. The lengths of all vectors must be known when the function is compiled. After the loop, the numbers are joined
to rows again.
"""
from functools import partial, reduce
from itertools import islice

import numpy

from phintys.graph import hooks
from phintys.graph.toposort import io_toposort
from phintys.graph.variable import Constant
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.indexing.subtensor import IncSubtensor, Subtensor
from phintys.ops.loops.open_loop import Entry, OpenLoop
from phintys.ops.native.loops import COSTS, DEFAULT_COST
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.ops.shape.join import Join, MakeVector
from phintys.ops.shape.shape import Shape_i, patternbroadcast
from phintys.ops.shape.split import Split
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import complex_dtypes
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer.engine.forms import constant_value
from phintys.optimizer.engine.values import apply_op
from phintys.optimizer.passes.loops import each_loop

MOST_NUMBERS = 8            # in a vector
MOST_NODES = 2000           # in a body of numbers: it has to fit into 1,024 registers, and takes 0.1 ms each to compile
# In units of a sum or product of numbers, a nanosecond: what one function such as the exponential takes that a vector
# would have computed with others, and what is saved in each step, and with each node that takes a vector apart.
FUNCTION, SAVED, SAVED_BY_NODE = 100, 50, 15


def split_short_rows(fgraph):
    """Turn loops over short vectors into loops over their numbers, if their bodies take vectors apart.

    Returns
    -------
    int
        How many loops were changed.
    """
    if hooks.uses_device is not None and hooks.uses_device(fgraph):     # a device takes few large steps in less time
        return 0
    return each_loop(fgraph, _split, "scan_scalars")


def _split(fgraph, node):
    op = node.op
    if op.options.mode is not None or op.options.profile or op.parts.n_ahead:
        return None
    if not all([_count(variable) for variable in [*op.local_inputs, *op.local_outputs]]):
        return None
    nodes = io_toposort(op.local_inputs, op.local_outputs)
    if not any([type(inner.op) in TAKES_APART for inner in nodes]) or not all([_is_splittable(n) for n in nodes]):
        return None
    return _Splitting(fgraph, OpenLoop(node), nodes).pairs()


def _count(variable):
    """How many numbers a scalar or short vector has; 0 for all other values."""
    kind = variable.type
    if type(kind) is not TensorType or kind.ndim > 1 or kind.dtype in complex_dtypes or kind.dtype == "float16":
        return 0
    length = kind.shape[0] if kind.ndim else 1
    if kind.ndim and length is None and isinstance(variable, Constant):
        length = variable.data.shape[0]
    return length if length is not None and length <= MOST_NUMBERS else 0


class _Splitting:
    """A loop whose vectors are being replaced by lists of scalars.

    Attributes
    ----------
    parts : dict of Variable to list of Variable
        For each variable of the body its numbers.
    """

    def __init__(self, fgraph, loop, nodes):
        self.fgraph, self.loop, self.nodes, self.parts = fgraph, loop, nodes, {}

    def pairs(self):
        """Old outputs and new ones; None if the body would be too large."""
        loop, joined = self.loop, []
        loop.sequences = self._split_inputs(loop.sequences, _column)
        loop.wholes = self._split_inputs(loop.wholes, _number)
        for entry in loop.states + loop.carried:
            for inner in [*entry.reads, *([] if entry.before is None else [entry.before])]:
                self.parts[inner] = _scalars_like(inner)
        if not self._split_nodes():
            return None
        for entries, pick in ((loop.states, _column), (loop.stacked, None), (loop.summed, _number),
                              (loop.carried, _number)):
            split = [self._split_entry(entry, pick) for entry in entries]
            joined += zip(entries, split, [pick is not _number] * len(entries))
            entries[:] = [part for parts in split for part in parts]
        if loop.condition is not None:
            loop.condition, = self._parts_of(loop.condition)
        pairs = loop.close()
        return [*[pair for pair in pairs if pair[0] is loop.old_steps_done and pair[0] is not None],
                *[pair for entry, parts, is_rows in joined if not is_rows for pair in self._read_numbers(entry, parts)],
                *[(entry.old, _together(entry.old, parts, is_rows)) for entry, parts, is_rows in joined]]

    def _read_numbers(self, entry, parts):
        """Numbers of a vector that others read, and the loop's."""
        if entry.old is None or not entry.old.type.ndim:
            return []
        return [(node.outputs[0], parts[node.op.idx_list[0]].new) for node, _ in self.fgraph.clients[entry.old]
                if node != "output" and type(node.op) is Subtensor and isinstance(node.op.idx_list[0], int)
                and -len(parts) <= node.op.idx_list[0] < len(parts) and node.outputs[0].type == parts[0].new.type]

    def _split_inputs(self, pairs, pick):
        split = []
        for inner, outer in pairs:
            self.parts[inner] = scalars = _scalars_like(inner)
            split += [(scalar, pick(outer, inner, number)) for number, scalar in enumerate(scalars)]
        return split

    def _split_nodes(self):
        """Compute the numbers of all results; return whether this takes less time than with vectors."""
        made, extra = 0, -SAVED
        for node in self.nodes:
            given = [self._parts_of(variable) for variable in node.inputs]
            found = SPLITTERS[type(node.op)](node, given)
            for value in found:
                if value.owner is not None and value.owner._position is None:
                    value.owner._position = node._position
            rest = iter(found)
            for output in node.outputs:
                self.parts[output] = list(islice(rest, _count(output)))
            made += len(found)
            extra += (len(found) - len(node.outputs)) * (FUNCTION if _is_function(node.op) else 1)
            extra -= SAVED_BY_NODE * (type(node.op) in TAKES_APART)
        return made <= MOST_NODES and extra <= 0

    def _parts_of(self, variable):
        if variable not in self.parts:          # a constant
            data = variable.data
            self.parts[variable] = [constant(number) for number in data] if data.ndim else [variable]
        return self.parts[variable]

    def _split_entry(self, entry, pick):
        """An entry for each number of an output."""
        inner = self._parts_of(entry.inner)
        reads = [self.parts[variable] for variable in entry.reads]
        before = None if entry.before is None else self.parts[entry.before]
        return [Entry(value, None, None if pick is None else pick(entry.initial, entry.inner, number), entry.kept,
                      entry.taps, [own[number] for own in reads], None if before is None else before[number])
                for number, value in enumerate(inner)]


def _scalars_like(variable):
    """New variables for the numbers of a body's input."""
    if variable.type.ndim == 0:
        return [variable]
    return [TensorType(variable.type.dtype, ()).make_variable() for _ in range(_count(variable))]


def _column(rows, inner, number):
    """One number of each row."""
    if inner.type.ndim == 0:
        return rows
    return constant(rows.data[:, number]) if isinstance(rows, Constant) else rows[:, number]


def _number(vector, inner, number):
    if inner.type.ndim == 0:
        return vector
    if vector.owner is not None and type(vector.owner.op) is MakeVector:
        made = vector.owner.inputs[number]
        if made.type.dtype == vector.type.dtype:
            return made
    return constant(vector.data[number]) if isinstance(vector, Constant) else vector[number]


def _together(old, parts, is_rows):
    """The output that the new loop's outputs are the numbers of."""
    new = [part.new for part in parts]
    if old.type.ndim == (1 if is_rows else 0):
        return new[0]
    if is_rows:
        together = Join()(1, *[column.dimshuffle(0, "x") for column in new])
    else:
        together = MakeVector(old.type.dtype)(*new)
    return patternbroadcast(together, old.type.broadcastable)


# ---- nodes: what the numbers of their results are --------------------------------------------------------------------
def _elementwise(node, given):
    length = _count(node.outputs[0])
    return [node.op(*[numbers[position if len(numbers) > 1 else 0] for numbers in given]) for position in range(length)]


def _same(node, given):
    return given[0]


def _made(node, given):
    kind = node.op.dtype
    return [number if number.type.dtype == kind else number.astype(kind) for number, in given]


def _joined(node, given):
    kind = node.outputs[0].type.dtype
    return [number if number.type.dtype == kind else number.astype(kind)
            for numbers in given[1:] for number in numbers]


def _picked(node, given):
    entry, = node.op.idx_list
    return given[0][entry] if isinstance(entry, slice) else [given[0][entry]]


def _assigned(node, given):
    numbers, values = list(given[0]), given[1]
    entry, = node.op.idx_list
    positions = range(len(numbers))[entry] if isinstance(entry, slice) else [range(len(numbers))[entry]]
    for order, position in enumerate(positions):
        value, kind = values[order if len(values) > 1 else 0], numbers[position].type.dtype
        value = value if value.type.dtype == kind else value.astype(kind)
        numbers[position] = value if node.op.set_instead_of_inc else numbers[position] + value
    return numbers


def _summed(node, given):
    wide = [apply_op("convert_to_" + node.op.acc_dtype, number) for number in given[0]]
    return [apply_op("convert_to_" + node.outputs[0].type.dtype, reduce(partial(apply_op, "add"), wide))]


def _length(node, given):
    return [constant(numpy.int64(_count(node.inputs[0])))]


TAKES_APART = {Subtensor: _picked, IncSubtensor: _assigned, MakeVector: _made, Join: _joined, Split: _same}
SPLITTERS = {Elemwise: _elementwise, DimShuffle: _same, Sum: _summed, Shape_i: _length, **TAKES_APART}


def _is_function(op):
    """Whether one number takes an elementwise op much longer than a sum."""
    if type(op) is not Elemwise:
        return False
    loop, name = op.scalar_op.loop, str(op.scalar_op.name)
    if isinstance(loop, str):
        return COSTS.get(loop, DEFAULT_COST) > 1
    return op.scalar_op.nin == 1 and name != "sgn" and not name.startswith("convert_to")    # such as the sigmoid


def _is_splittable(node):
    op = node.op
    if type(op) not in SPLITTERS or not all([_count(output) for output in node.outputs]):
        return False
    given = node.inputs[1:] if type(op) is Join else node.inputs
    if type(op) is Split:
        return sum([_count(output) for output in node.outputs]) == _count(node.inputs[0])
    if not all([_count(variable) for variable in given]):
        return False
    if type(op) in (Subtensor, IncSubtensor):
        return len(op.idx_list) == 1 and _has_its_numbers(node)
    if type(op) is Elemwise:
        return {_count(variable) for variable in given} <= {1, _count(node.outputs[0])}
    return type(op) is not Join or constant_value(node.inputs[0]) in (0, -1)


def _has_its_numbers(node):
    """Whether a constant index is within its vector, and what is assigned has one number or one for each position."""
    entry, = node.op.idx_list
    length = _count(node.inputs[0])
    if not isinstance(entry, slice):
        return isinstance(entry, int) and -length <= entry < length and (
            type(node.op) is Subtensor or _count(node.inputs[1]) == 1)
    if not all([part is None or isinstance(part, int) for part in (entry.start, entry.stop, entry.step)]):
        return False
    positions = range(length)[entry]
    return type(node.op) is Subtensor and len(positions) > 0 or (
        type(node.op) is IncSubtensor and _count(node.inputs[1]) in (1, len(positions)))
