"""Loops in parts: a loop of many steps becomes several loops, each of which goes on where the last one ended.

A gradient reads all rows of a loop from the last one to the first. If they need too much memory, ``recomputation.py``
would have to give up all of them or none. So loops of the same number of steps are split together, with the products
that sum over their rows: a part of the backward loop reads the rows of one part of the forward loop, and these can be
computed again from the one row before them, which is a copy and stays. As with checkpoints by hand, each row is
computed twice, and only those of one part are alive.

Rows are followed through what works on rows alone: parts of the first axis, elementwise ops, products with a matrix.
What reads all rows in another way gets all of them in one block. Sums of products are added part by part in the order
of the rows; the parts of long loops have a length at which OpenBLAS begins a new sum anyway, so that the bits stay the
same. Other sums over the rows of all steps, and products of short loops, may differ in the last bits.
"""
from bisect import bisect_left
from math import prod

from phintys.ops.creation.alloc import Alloc
from phintys.ops.creation.allocation import AllocEmpty
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar import add
from phintys.ops.identity.deep_copy import deep_copy_op
from phintys.ops.indexing.inc_subtensor import inc_subtensor, set_subtensor
from phintys.ops.indexing.subtensor import IncSubtensor, Subtensor
from phintys.ops.loops.loop import Scan
from phintys.ops.products.blas import Dot22, Dot22Scalar, Gemm, dot22, dot22scalar, gemm
from phintys.ops.reduction.careduce import CAReduce, Sum, positive_axes
from phintys.ops.reduction.fused_reduction import FusedReduction
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.ops.shape.join import join
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import constant

FEWEST = 64                     # steps of a loop that is split
LENGTHS = 3840, 768, 64, 1      # parts are multiples of the largest of these that gives enough of them


def split_loops(fgraph, shapes, steps_of, count):
    """Split the loops whose rows take most memory.

    Parameters
    ----------
    fgraph : FunctionGraph
    shapes : dict
        Variable → shape, or None.
    steps_of : dict
        Loop → its number of steps, or None.
    count : int
        In how many parts, about.

    Returns
    -------
    int
        How many loops were split.
    """
    by_steps = {}
    for node in fgraph.toposort():
        steps = steps_of.get(node)
        if type(node.op) is Scan and not node.op.parts.is_while and steps is not None and steps >= FEWEST:
            by_steps.setdefault(int(steps), []).append(node)
    if not by_steps:
        return 0

    def taken(nodes):
        return sum([prod(shapes[out]) for node in nodes for out in node.outputs if shapes.get(out) is not None])
    steps = max(by_steps, key=lambda steps: taken(by_steps[steps]))
    _Splitting(fgraph, shapes, steps, _length(steps, count)).split(by_steps[steps])
    return len(by_steps[steps])


def _length(steps, count):
    """The length of a part."""
    wanted = max(steps // count, 1)
    unit = next(unit for unit in LENGTHS if unit <= wanted)
    return wanted // unit * unit


class _Splitting:
    """The parts of loops with the same number of steps.

    Rows of a variable are known by their position along its first axis. ``rows`` computes some of them from the parts.
    """

    def __init__(self, fgraph, shapes, steps, length):
        self.fgraph, self.shapes, self.steps = fgraph, shapes, steps
        first = steps - length * (steps // length - 1)          # the first part is the longest
        self.forward = [0, *range(first, steps + 1, length)]
        self.backward = [steps - end for end in self.forward[::-1]]
        self.parts, self.ends, self.turned, self.known = {}, {}, {}, {}

    def split(self, nodes):
        """Split loops, in the order in which they depend on each other."""
        for node in nodes:
            self.turned[node] = any([self._is_turned(sequence) for sequence in
                                     node.op.parts.outer_inputs(node.inputs).sequences])
            self._split(node)
        for node in self.fgraph.toposort():
            if type(node.op) in (Dot22, Dot22Scalar, Gemm):
                self._split_product(node)
            elif isinstance(node.op, Subtensor):
                self._read_few(node)
            else:
                self._split_sum(node)
        for node in nodes:
            self._replace(node)

    def _is_turned(self, variable):
        """Whether the rows of a variable come from a loop in the reverse order of its steps."""
        turned = False
        while variable.owner is not None:
            node = variable.owner
            if node in self.parts:
                return turned != self.turned[node]
            if isinstance(node.op, Subtensor):
                rows = self._slice(node)
                if rows is None:
                    return False
                turned ^= rows.step < 0
                variable = node.inputs[0]
            elif type(node.op) in (Elemwise, DimShuffle):
                variable = next((each for each in node.inputs if self._has_length(each, self._count(variable))), None)
                if variable is None:
                    return False
            else:
                return False
        return False

    # ---- a loop ------------------------------------------------------------------------------------------------------
    def _split(self, node):
        """Make the parts of a loop."""
        op, given = node.op, node.op.parts.outer_inputs(node.inputs)
        bounds = self.backward if self.turned[node] else self.forward
        self.parts[node], self.ends[node] = [], bounds
        states, summed, carried = given.states, given.summed, given.carried
        for begin, end in zip(bounds, bounds[1:]):
            steps = constant(end - begin, dtype=node.inputs[0].type.dtype)
            sequences = [self.rows(sequence, begin, end) for sequence in given.sequences]
            stacked = [steps if count is node.inputs[0] else count for count in given.stacked]
            part = op.make_node(steps, *sequences, *states, *summed, *carried, *stacked, *given.wholes)
            self.parts[node].append(part)
            found = op.parts.outer_outputs(part.outputs)
            states = [deep_copy_op(found_rows[-depth:]) for found_rows, depth in zip(found.states, op.parts.depths)]
            states = [old.type.filter_variable(new) for old, new in zip(given.states, states)]
            summed, carried = found.summed, found.carried

    def _replace(self, node):
        """Let the other readers of a loop read its parts: all rows are written to memory for the whole."""
        for old, new in zip(node.outputs, self.parts[node][-1].outputs):
            if self._has_rows(old) and self.fgraph.clients.get(old):
                bounds = [0, *self.ends[node][1:-1], self._count(old)]
                new = AllocEmpty(old.type.dtype)(bounds[-1], *[shape_i(new, axis) for axis in range(1, old.type.ndim)])
                for begin, end in zip(bounds, bounds[1:]):
                    new = set_subtensor(new[begin:end], self.rows(old, begin, end))
                new = old.type.filter_variable(new)
            self._read_instead(old, new)

    def _read_few(self, reader):
        """Let what takes one row or few rows read one part."""
        source, (entry, *others) = reader.inputs[0], reader.op.idx_list
        if others or len(reader.inputs) > 1 or reader.op.new_axes or not self._comes_from_parts(source):
            return
        count = self._count(reader.outputs[0])
        if isinstance(entry, int):
            row = entry % self._count(source)
            self._read_instead(reader.outputs[0], self.rows(source, row, row + 1)[0])
        elif self._slice(reader) is not None and 0 < count < self.forward[1]:
            self._read_instead(reader.outputs[0], self.rows(reader.outputs[0], 0, count))

    def _read_instead(self, old, new):
        self.fgraph.replace(old, new, reason="memory_limit")

    # ---- rows --------------------------------------------------------------------------------------------------------
    def _count(self, variable):
        """How many rows a variable has; 0 if that is not known."""
        if self._has_rows(variable):
            return self.steps + self._depth(variable)
        shape = self.shapes.get(variable)
        return shape[0] if shape else 0

    def _depth(self, variable):
        """How many rows of a loop's result are from before its first step."""
        node = variable.owner
        number = node.outputs.index(variable)
        return node.op.parts.depths[number] if number < node.op.parts.n_states else 0

    def _has_length(self, variable, count):
        return variable.type.ndim > 0 and not variable.type.broadcastable[0] and self._count(variable) == count

    def _has_rows(self, variable):
        """Whether a variable has a row for each step of a loop that was split."""
        node = variable.owner
        if node not in self.parts:
            return False
        number, parts = node.outputs.index(variable), node.op.parts
        if number < parts.n_states:
            return node.op.kept[number] is None
        stacked = number - parts.n_states
        return (stacked < parts.n_stacked
                and parts.outer_inputs(node.inputs).stacked[stacked] is node.inputs[0])

    def _slice(self, node):
        """What a Subtensor takes of the rows, as a range of positions; None if that is not all it does."""
        entries = node.op.idx_list
        if len(entries) != 1 or len(node.inputs) > 1 or not isinstance(entries[0], slice) or node.op.new_axes:
            return None
        return range(*entries[0].indices(self._count(node.inputs[0])))

    def rows(self, variable, begin, end):
        """Some rows of a variable."""
        key = variable, begin, end
        if key not in self.known:
            self.known[key] = self._rows(variable, begin, end)
        return self.known[key]

    def _rows(self, variable, begin, end):
        node, count = variable.owner, self._count(variable)
        if self._has_rows(variable):
            return self._rows_of_loop(variable, begin, end)
        if node is not None and isinstance(node.op, Subtensor):
            rows = self._slice(node)
            part = () if rows is None or rows.step not in (1, -1) else rows[begin:end]
            if len(part) == end - begin > 0:
                found = self.rows(node.inputs[0], min(part), max(part) + 1)
                return found if rows.step == 1 else found[::-1]
        if node is not None and isinstance(node.op, IncSubtensor):
            found = self._rows_changed(node, begin, end)
            if found is not None:
                return found
        if node is not None and type(node.op) is Alloc and not _spans_rows(node.inputs[0], variable):
            return node.op.make_node(node.inputs[0], end - begin, *node.inputs[2:]).outputs[0]
        if node is not None and self._works_on_rows(node, count):
            inputs = [self.rows(each, begin, end) if self._has_length(each, count) else each for each in node.inputs]
            made = node.op.make_node(*inputs).outputs[node.outputs.index(variable)]
            return variable.type.filter_variable(made)
        return variable[begin:end]

    def _rows_changed(self, node, begin, end):
        """Rows of what has other values in some rows; None if other dimensions are indexed, too."""
        source, values, *integers = node.inputs
        entry, *others = node.op.idx_list
        if others or integers or node.op.destroy_map or not begin < end:
            return None
        rows, set_them = self.rows(source, begin, end), node.op.set_instead_of_inc
        if isinstance(entry, int):
            at = entry % self._count(source) - begin
            return inc_subtensor(rows[at], values, set_instead_of_inc=set_them) if 0 <= at < end - begin else rows
        if not isinstance(entry, slice) or (entry.step or 1) < 0:
            return None
        changed = range(*entry.indices(self._count(source)))
        first, stop = [bisect_left(changed, position) for position in (begin, end)]
        if first == stop:
            return rows
        if values.type.ndim == source.type.ndim and not values.type.broadcastable[0]:
            values = self.rows(values, first, stop)
        return inc_subtensor(rows[changed[first] - begin:changed[stop - 1] + 1 - begin:changed.step], values,
                             set_instead_of_inc=set_them)

    def _works_on_rows(self, node, count):
        """Whether each row of the results of a node follows from that row of its operands."""
        op = node.op
        if type(op) is Dot22:
            return self._has_length(node.inputs[0], count) and not self._has_length(node.inputs[1], count)
        if count == 0 or op.destroy_map or not self._are_rows(node.inputs, count):
            return False
        if type(op) is FusedReduction or isinstance(op, CAReduce):
            axis = getattr(op, "reduction", op).axis
            return axis is not None and 0 not in positive_axes(node.inputs[0], axis)
        return type(op) is Elemwise or (type(op) is DimShuffle and tuple(op.new_order[:1]) == (0,))

    def _are_rows(self, variables, count):
        """Whether each of the variables has as many rows, or one for all of them."""
        return all([variable.type.ndim and (variable.type.broadcastable[0] or self._has_length(variable, count))
                    for variable in variables])

    def _rows_of_loop(self, variable, begin, end):
        """Rows of a state, whose first ones are from before the loop, or of a stacked output."""
        node, depth = variable.owner, self._depth(variable)
        number, bounds = node.outputs.index(variable), self.ends[node]
        found, at = [], begin
        for first, last, part in zip(bounds, bounds[1:], self.parts[node]):
            stop = min(end, last + depth)
            if first <= at < stop:
                found.append(part.outputs[number][at - first:stop - first])
                at = stop
        return found[0] if len(found) == 1 else join(0, *found)

    # ---- sums over rows ----------------------------------------------------------------------------------------------
    def _split_product(self, node):
        """Split a product of transposed rows with rows, such as a gradient by a matrix."""
        z, scale, x, y, beta = _as_gemm(node)
        turned = x.owner
        if turned is None or type(turned.op) is not DimShuffle or tuple(turned.op.new_order) != (1, 0):
            return
        rows, total = turned.inputs[0], z
        if node.op.destroy_map or not (self._comes_from_parts(rows) or self._comes_from_parts(y)):
            return
        bounds, one = self._bounds(rows, y), constant(1.0, dtype=y.type.dtype)
        for begin, end in zip(bounds, bounds[1:]):
            left, right = self.rows(rows, begin, end).dimshuffle(1, 0), self.rows(y, begin, end)
            if total is not None:
                total = gemm(total, one if scale is None else scale, left, right, one if begin else beta)
            else:
                total = dot22(left, right) if scale is None else dot22scalar(left, right, scale)
        self._read_instead(node.outputs[0], total)

    def _split_sum(self, node):
        """Split a sum over all rows into sums over the rows of parts, which are added."""
        reduction = getattr(node.op, "reduction", node.op)
        if type(node.op) not in (Sum, FusedReduction) or type(reduction) is not Sum or (
                reduction.axis is not None and 0 not in positive_axes(node.inputs[0], reduction.axis)):
            return
        rows = next((each for each in node.inputs if self._comes_from_parts(each)), None)
        if rows is None or not self._are_rows(node.inputs, self._count(rows)):
            return
        bounds, count, total = self._bounds(rows), self._count(rows), None
        for begin, end in zip(bounds, [*bounds[1:-1], count]):
            part = node.op.make_node(*[self.rows(each, begin, end) if self._has_length(each, count) else each
                                       for each in node.inputs]).outputs[0]
            total = part if total is None else add(total, part)
        self._read_instead(node.outputs[0], node.outputs[0].type.filter_variable(total))

    def _comes_from_parts(self, variable):
        """Whether rows of a variable are rows of a loop that was split."""
        count = self._count(variable)
        while variable.owner is not None:
            node = variable.owner
            if node in self.parts:
                return self._has_rows(variable)
            if isinstance(node.op, Subtensor):
                if self._slice(node) is None:
                    return False
                variable, count = node.inputs[0], self._count(node.inputs[0])
            elif self._works_on_rows(node, count):
                variable = next((each for each in node.inputs if self._has_length(each, count)), None)
                if variable is None:
                    return False
            else:
                return False
        return False

    def _bounds(self, *variables):
        """Where the parts of rows begin and end, by their positions."""
        for variable in variables:
            if self._comes_from_parts(variable):
                return self.backward if self._is_turned(variable) else self.forward
        return self.forward


def _spans_rows(value, variable):
    """Whether a value that fills an array may differ from row to row."""
    return value.type.ndim == variable.type.ndim and not value.type.broadcastable[0]


def _as_gemm(node):
    """The operands (z, a, x, y, b) of ``b * z + a * x.y``; None for those that a product does not have."""
    if type(node.op) is Gemm:
        z, scale, x, y, beta = node.inputs
        return z, scale, x, y, beta
    x, y, *scale = node.inputs
    return None, scale[0] if scale else None, x, y, None
