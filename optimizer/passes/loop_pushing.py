"""Moves work out of loops where it can be done for all steps at once.

Values that depend only on rows of sequences are computed *before* the loop, if they include a product: ``dot(x_t, W)``
becomes a product of all rows. Values that outputs need, but later steps do not, are computed *after* the loop: products
of rows that the loop keeps anyway, and sums of products, which become one product of all rows (the gradients by
weights).

``row_batching.py`` says how an op works on all rows. Values that would grow, because an operand without rows has more
dimensions than the rows, stay inside; so does work on rows that nothing keeps, unless moving it saves a product in each
step.
"""
from functools import partial

from phintys.graph.errors import NotScalarConstantError
from phintys.graph.toposort import io_toposort
from phintys.graph.trace import noted
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import alloc
from phintys.ops.graphs.inner_graph import stacked_type
from phintys.ops.graphs.row_batching import batch_of_node, is_row, repeated
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor1, AdvancedSubtensor1
from phintys.ops.indexing.constant_value import get_scalar_constant_value
from phintys.ops.indexing.subtensor import IncSubtensor, Subtensor
from phintys.ops.loops.before_loops import is_lazy, is_safe_without_rows, only_with_steps, sum_of_equal_terms
from phintys.ops.loops.building import replaced
from phintys.ops.loops.open_loop import Entry, OpenLoop
from phintys.ops.products.dot import Dot, dot_op
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.dimshuffle import DimShuffle, dimshuffle
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.constant import constant
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer.engine.forms import key
from phintys.optimizer.passes.loop_blocks import in_blocks, leaves_products
from phintys.optimizer.passes.loop_terms import gather_terms, rows_of_sum
from phintys.optimizer.passes.loops import each_loop

LOOKUPS = (Subtensor, AdvancedSubtensor1)
BACKWARDS = slice(None, None, -1)


def push_before_loops(fgraph):
    """Compute products of rows of sequences before the loop.

    Returns
    -------
    int
        How many loops were changed.
    """
    return each_loop(fgraph, _pushed_before, "scan_pushout_seqs")


def push_before_blocks(fgraph):
    """Compute products of rows of sequences before blocks of steps, for loops that keep no rows.

    Loops whose products were left inside for this, but which have been merged with loops that keep rows, are treated
    like the latter.

    Returns
    -------
    int
        How many loops were changed.
    """
    return each_loop(fgraph, _pushed_before_blocks, "scan_pushout_blocks")


def push_after_loops(fgraph):
    """Compute values that no later step needs after the loop.

    Returns
    -------
    int
        How many loops were changed.
    """
    return each_loop(fgraph, _pushed_after, "scan_pushout_outputs")


class _AllSteps:
    """Inner variables for all steps at once, as far as ops know how.

    Parameters
    ----------
    fgraph : FunctionGraph
        The graph that the loop is in.
    loop : OpenLoop
    steps : Variable
        How many rows there are.
    rows : dict of Variable to Variable
        Inner variable → its rows, of what is known to begin with.
    """

    def __init__(self, fgraph, loop, steps, rows):
        self.known = fgraph.apply_nodes
        self.made = set()                           # nodes
        self.steps, self.rows = steps, dict(rows)
        self.note = f"for {'all' if steps is loop.steps else 'many'} steps of {loop.op} at once"
        self.wholes = dict(loop.wholes)
        self.moving = set(loop.moving())
        self.most = max([_rank(entry.inner) for entry in loop.stacked], default=0)

    def add(self, node):
        """Compute a node for all steps, if that is possible; returns whether it was."""
        if any([output in self.rows or output in self.wholes for output in node.outputs]):
            return True
        flags = [variable in self.rows for variable in node.inputs]
        inputs = [self.outside(variable) for variable in node.inputs]
        if None in inputs:
            return False
        if True not in flags:
            copied = node.clone_with_new_inputs(inputs)
            copied._position = noted(node._position, self.note)
            self.wholes.update(zip(node.outputs, copied.outputs))
            return True
        results = batch_of_node(node, inputs, flags, self.steps) if self._keeps_size(node, flags) else None
        if results is None:
            return False
        self._tell_lines(results, node._position)
        for output, rows in zip(node.outputs, results):
            self.rows[output] = patternbroadcast(rows, stacked_type(output.type).broadcastable)
        return True

    def _tell_lines(self, results, position):
        """Record that new nodes do what the user wrote in the body: ``position`` is where."""
        note, pending = noted(position, self.note), [result.owner for result in results]
        while pending:
            node = pending.pop()
            if node is not None and node not in self.made and node not in self.known:
                self.made.add(node)
                node._position = note
                pending += [variable.owner for variable in node.inputs]

    def add_sum(self, node):
        """Compute a gathered sum for all steps, if it is one of products and vectors."""
        total = node.outputs[0]
        rows = rows_of_sum(total, self.outside, self.rows.__contains__)
        if rows is not None:
            self.rows[total] = patternbroadcast(rows, stacked_type(total.type).broadcastable)

    def _keeps_size(self, node, flags):
        """Whether the outputs have no more dimensions than operands that have rows, or rows that the loop stacks.

        Rows of a table that are looked up are as good as rows of a sequence.
        """
        if type(node.op) in LOOKUPS:
            return True
        most = max([self.most, *[_rank(variable) for variable, flag in zip(node.inputs, flags) if flag]])
        return all([isinstance(output.type, TensorType) and _rank(output) <= most for output in node.outputs])

    def outside(self, variable):
        """The rows of an inner variable, or its value in all steps; None if neither is known."""
        if isinstance(variable, Constant):
            return variable
        found = self.rows.get(variable)
        return self.wholes.get(variable) if found is None else found


def _rank(variable):
    """How many dimensions have a length that may be other than 1."""
    return sum([not flag for flag in getattr(variable.type, "broadcastable", ())])


def _is_heavy(node):
    return type(node.op) is Dot


# ---- before --------------------------------------------------------------------------------------------------------
def _pushed_before(fgraph, node):
    loop = OpenLoop(node)
    if loop.condition is not None or leaves_products(fgraph, loop):     # or rows of steps that are never done
        return None
    moved, rows = _rows_ahead(fgraph, loop, loop.steps, dict(loop.sequences), {})
    if not moved:
        return None
    rows = _unless_no_steps(fgraph, loop, rows, dict(loop.sequences).values(), dict(loop.wholes).values())
    fresh = {variable: variable.type.make_variable(variable.name) for variable in moved}
    loop.sequences += list(zip(fresh.values(), rows))
    loop.replace(fresh)
    loop.drop_unread()
    return loop.close()


def _pushed_before_blocks(fgraph, node):
    if leaves_products(fgraph, OpenLoop(node)):
        return in_blocks(node, partial(_rows_of_blocks, fgraph))
    return _pushed_before(fgraph, node)


def _rows_of_blocks(fgraph, loop, steps, blocks):
    sequences = dict(zip([inner for inner, _ in loop.sequences], blocks))
    return _rows_ahead(fgraph, loop, steps, sequences, {inner: inner for inner, _ in loop.wholes})


def _rows_ahead(fgraph, loop, steps, rows, wholes):
    """The inner variables that are worth computing before a loop, and their rows.

    Parameters
    ----------
    fgraph : FunctionGraph
    loop : OpenLoop
    steps : Variable
        How many rows there are.
    rows, wholes : dict of Variable to Variable
        What inner variables are outside; ``wholes`` where it is another variable than the loop has.
    """
    nodes = io_toposort(loop.moving(), loop.inner_outputs())
    if not any(map(_is_heavy, nodes)):
        return [], []
    sums = set(gather_terms(loop))
    nodes = io_toposort(loop.moving(), loop.inner_outputs())
    ahead = _AllSteps(fgraph, loop, steps, rows)
    ahead.wholes.update(wholes)
    for part in nodes:
        if part.outputs[0] in sums:
            ahead.add_sum(part)
        elif not ahead.moving.isdisjoint(part.inputs) or not ahead.moving.isdisjoint(part.outputs) \
                or any([variable in ahead.rows for variable in part.inputs]):
            ahead.add(part)
    chosen = _worth_moving(nodes, ahead, {inner for inner, _ in loop.sequences}, sums)
    read = {variable for part in nodes if not chosen.issuperset(part.outputs) for variable in part.inputs}
    read.update(loop.inner_outputs())
    moved = [variable for variable in ahead.rows if variable in chosen and variable in read]
    return moved, [ahead.rows[variable] for variable in moved]


def _worth_moving(nodes, ahead, sequences, sums):
    """The variables worth computing for all steps at once: products, their sums, and the variables that these need."""
    heavy = [output for node in nodes if _is_heavy(node) or node.outputs[0] in sums
             for output in node.outputs if output in ahead.rows]
    return {variable for variable in ancestors(heavy, sequences) if variable in ahead.rows} - sequences


# ---- after ---------------------------------------------------------------------------------------------------------
def _pushed_after(fgraph, node):
    loop = OpenLoop(node)
    nodes = io_toposort(loop.moving(), loop.inner_outputs())
    needed = set(ancestors(loop.feeding()))
    if not loop.stacked and not loop.summed:
        return None
    plan = _AfterPlan(fgraph, loop, nodes, needed)
    return plan.applied() if plan.is_worth_it() else None


class _AfterPlan:
    """Which outputs are computed after the loop, and from what rows.

    Rows that the loop has, or will have, are placeholders until the loop is closed.
    """

    def __init__(self, fgraph, loop, nodes, needed):
        self.fgraph, self.loop = fgraph, loop
        self.steps = loop.steps if loop.condition is None else loop.steps.type.make_variable()
        self.placeholders = {}                      # inner variable → its rows
        self.sequences = dict(loop.sequences)
        self.added = []                             # inner variables whose rows the loop keeps only for this
        self.kept_now = self._kept_now()
        self.after = _AllSteps(fgraph, loop, self.steps, {})
        for variable in self.kept_now:
            self._have(variable)
        self.moved = []                             # (list of the loop, entry, what is outside)
        self.nodes = [part for part in nodes if not needed.issuperset(part.outputs)]
        for part in self.nodes:
            self._add(part, needed)
        self._choose()

    def _kept_now(self):
        """The inner variables whose rows are outside in any case."""
        loop = self.loop
        kept = [inner for inner, _ in loop.sequences]
        for entry in loop.states:
            if entry.kept is None:
                kept += [entry.inner, *entry.reads]
        return dict.fromkeys(kept)

    def _have(self, variable):
        if variable not in self.after.rows and variable not in self.after.wholes:
            rows = stacked_type(variable.type).make_variable()
            self.placeholders[variable] = self.after.rows[variable] = rows

    def _add(self, part, needed):
        """Compute a node outside, from rows of what later steps need as well."""
        for variable in part.inputs:
            if variable in needed and variable.owner is not None and isinstance(variable.type, TensorType):
                self._have(variable)
        self.after.add(part)

    def _choose(self):
        for entries, rule in ((self.loop.stacked, self._stacked_outside), (self.loop.summed, self._summed_outside)):
            for entry in entries:
                outside = rule(entry)
                if outside is not None:
                    self.moved.append((entries, entry, outside))

    def _stacked_outside(self, entry):
        if entry.kept is not None:
            return None
        same = self._same_in_each_step(entry.inner)
        if same is not None:
            return repeated(same, self.steps)
        return self.after.rows.get(entry.inner)

    def _same_in_each_step(self, variable):
        return variable if isinstance(variable, Constant) else self.after.wholes.get(variable)

    def _summed_outside(self, entry):
        same = self._same_in_each_step(entry.inner)
        if same is not None:
            return sum_of_equal_terms(self.steps, entry.initial, same)
        total = self._sum(entry.inner)
        return None if total is None else entry.initial + total

    def _sum(self, term):
        """The sum of a term over all steps; None if it would take more memory than adding it up."""
        pieces, total = [term], None
        while pieces:
            piece = pieces.pop()
            if _is_addition(piece):
                pieces += piece.owner.inputs
                continue
            value = self._sum_of_piece(piece)
            if value is None:
                return None
            value = patternbroadcast(value, term.type.broadcastable)
            total = value if total is None else total + value
        return total

    def _sum_of_piece(self, piece):
        owner = piece.owner
        kind = None if owner is None else type(owner.op)
        if kind is Dot:
            return self._sum_of_products(*owner.inputs)
        if kind in (IncSubtensor, AdvancedIncSubtensor1):
            return self._sum_of_changed_rows(owner)
        if kind is DimShuffle:
            value = self._sum_of_piece(owner.inputs[0])
            return None if value is None else dimshuffle(value, list(owner.op.new_order))
        if kind is Sum and owner.op.axis is not None:
            rows = self.after.rows.get(owner.inputs[0])
            axes = (0, *[axis + 1 for axis in owner.op.axis])
        else:
            rows, axes = self.after.rows.get(piece), 0
        return None if rows is None else Sum(axes, dtype=piece.type.dtype)(rows)

    def _sum_of_products(self, left, right):
        """The sum of ``dot(left, right)`` as one product of all rows, for matrices."""
        if left.type.ndim != 2 or right.type.ndim != 2 or left.type.dtype != right.type.dtype:
            return None
        found = self._columns(left, transposed=True), self._columns(right, transposed=False)
        if None in found:
            return None
        turned = any([order == [0, 1] and self._forwards(inner) is not None for inner, order in found])
        left, right = [self._as_matrix(inner, order, turned) for inner, order in found]
        return dot_op(left.T, right)

    def _sum_of_changed_rows(self, node):
        """The sum of zeros with some changed rows: all changes added to zeros at once."""
        x, y, position = node.inputs if len(node.inputs) == 3 else (None, None, None)
        if x is None or node.op.set_instead_of_inc or type(node.op) is IncSubtensor and not is_row(node.op):
            return None
        zeros, values, positions = self._zeros(x), self.after.rows.get(y), self.after.rows.get(position)
        if zeros is None or values is None or positions is None \
                or y.type.ndim != x.type.ndim - 1 + position.type.ndim:
            return None
        if position.type.ndim:
            lengths = [shape_i(values, axis) for axis in range(values.type.ndim)]
            values = reshape(values, [lengths[0] * lengths[1], *lengths[2:]])
        return AdvancedIncSubtensor1()(zeros, values, positions.flatten())

    def _zeros(self, variable):
        """The outer value of an inner variable that is zero in each step; None if it is not known to be zero."""
        found = self.after.outside(variable)
        if found is None or not _is_zero(found):
            return None
        if variable in self.after.rows:
            return alloc(constant(0, dtype=found.type.dtype), *[shape_i(found, axis)
                                                                for axis in range(1, found.type.ndim)])
        return found

    def _columns(self, operand, transposed):
        """The variable whose rows an operand has, and the order of its dimensions: (summed over, kept)."""
        inner, order = operand, [0, 1]
        if operand.owner is not None and type(operand.owner.op) is DimShuffle:
            inner, order = operand.owner.inputs[0], list(operand.owner.op.new_order)
        if transposed:
            order = order[::-1]
        return (inner, order) if inner in self.after.rows and order in ([0, 1], ["x", 0]) else None

    def _forwards(self, inner):
        """Of a sequence whose rows are read from the last to the first, these rows from the first to the last.

        Sums over steps may be computed in either order, and matrices along which a loop runs backwards then need no
        copy to be one matrix. (Vectors are left as they are: BLAS copies them while it computes, in no more time.)
        """
        outer = self.sequences.get(inner)
        if self.loop.condition is not None or outer is None or outer.owner is None:
            return None
        op = outer.owner.op
        return outer.owner.inputs[0] if type(op) is Subtensor and list(op.idx_list) == [BACKWARDS] else None

    def _as_matrix(self, inner, order, turned):
        """The rows of all steps as one matrix, whose rows are summed over; ``turned``: the last step first."""
        rows = self.after.rows[inner]
        if turned:
            forwards = self._forwards(inner)
            rows = rows[::-1] if forwards is None else forwards
        if order == ["x", 0]:
            return rows
        lengths = [shape_i(rows, axis) for axis in range(3)]
        return reshape(rows, [lengths[0] * lengths[1], lengths[2]])

    def is_worth_it(self):
        """Whether products are saved, or outputs that cost nothing to move."""
        if not self.moved:
            return False
        outside = {output for _, _, value in self.moved for output in ancestors([value])}
        self.added = [variable for variable, rows in self.placeholders.items()
                      if rows in outside and variable not in self.kept_now]
        left = [entry.inner for entry in self.loop.entries() if not any([entry is moved for _, moved, _ in self.moved])]
        inside = set(ancestors([*left, *self.loop.feeding()]))
        gone = [node for node in self.nodes if inside.isdisjoint(node.outputs)]
        if gone and all([type(node.op) in LOOKUPS for node in gone]):
            return False                            # copying rows one by one costs what copying them all does
        return any(map(_is_heavy, gone)) or len(self.added) < len(self.moved)

    def applied(self):
        loop, inner = self.loop, {}
        for entries, entry, _ in self.moved:
            entries[:] = [other for other in entries if other is not entry]
        for variable in self.added:
            inner[variable] = Entry(variable)
            loop.stacked.append(inner[variable])
        sequences, wholes = dict(loop.sequences), dict(loop.wholes)     # also what the body will not read any more
        loop.drop_unread()
        pairs = loop.close()
        known = {rows: self._rows(variable, inner, sequences) for variable, rows in self.placeholders.items()
                 if variable in inner or variable in self.kept_now}
        if loop.condition is not None:
            known[self.steps] = loop.steps_done
        found = replaced([value for _, _, value in self.moved], known)
        rows = [*sequences.values(), *known.values()]
        return pairs + [(entry.old, *_unless_no_steps(self.fgraph, loop, [value], rows, wholes.values(), entry.initial))
                        for (_, entry, _), value in zip(self.moved, found)]

    def _rows(self, variable, inner, sequences):
        """The variable that replaces a placeholder."""
        if variable in inner:
            return inner[variable].new
        if variable in sequences:
            rows = sequences[variable]
            return rows if self.loop.condition is None else rows[:self.loop.steps_done]
        for entry in self.loop.states:
            depth = -min(entry.taps)
            if variable is entry.inner:
                return entry.new[depth:]
            for read, tap in zip(entry.reads, entry.taps):
                if variable is read:
                    return entry.new[depth + tap:tap]
        raise AssertionError(f"{variable} has no rows")


def _unless_no_steps(fgraph, loop, values, rows, wholes, unread=None):
    """Values that are computed for all steps at once, from rows; lazily if this could fail without a step."""
    if loop.options.needs_step:
        return values
    lazy, rows = {outer for outer in wholes if is_lazy(outer, loop.steps)}, set(rows)

    def is_safe(value):
        return is_safe_without_rows(value, rows, lambda variable: variable not in lazy
                                    and variable.owner in fgraph.apply_nodes)

    return only_with_steps(loop.steps, values, {*rows, *wholes}, is_safe, unread)


def _is_zero(variable):
    try:
        return get_scalar_constant_value(variable) == 0
    except NotScalarConstantError:
        return False


def _is_addition(variable):
    return key(variable) == "add" and all([part.type.broadcastable == variable.type.broadcastable
                                           for part in variable.owner.inputs])
