"""The gradient of a loop: a loop that runs from the last step to the first.

In step t of the loop, the gradient by row t of a state is a sum: the gradient by this row of the output, which comes
from outside, and the terms of the taps that read the row in later steps. The latter are states of the backward loop:
the term of a tap -k, computed in step t, is needed when the backward loop comes to step t-k, which is k of its steps
later. So each tap of the loop becomes a state of the backward loop with the same single tap, which starts as zeros. The
rows that remain in it at the end are gradients by the rows before the first step.

Gradients by sequences are stacked, those by wholes are summed. Rows of sequences, states and outputs that the terms
read are sequences of the backward loop, in reversed order; other values of the body that the terms need are computed
again.
"""
from phintys.graph.config import change_flags
from phintys.graph.errors import NotScalarConstantError
from phintys.graph.gradients.gradient import float_zeros_like, grad
from phintys.graph.gradients.gradient_terms import CONTINUOUS_DTYPES
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.traversal import ancestors, io_connection_pattern
from phintys.graph.valueless_types import DisconnectedType, NullType, disconnected_type, grad_undefined
from phintys.ops.creation.allocation import alloc
from phintys.ops.elementwise import scalar
from phintys.ops.graphs.inner_graph import as_gradient, gradient_type, stacked_type
from phintys.ops.indexing.constant_value import get_scalar_constant_value
from phintys.ops.indexing.inc_subtensor import inc_subtensor
from phintys.ops.indexing.subtensor import IncSubtensor
from phintys.ops.loops.building import Body, State, make_loop, replaced
from phintys.ops.loops.recurrence_derivatives import gradients_of_recurrence, is_recurrence
from phintys.ops.loops.with_initial import with_initial
from phintys.ops.shape.join import join
from phintys.ops.shape.shape import shape_i, shape_padleft, unbroadcast
from phintys.ops.types.constant import constant

_same = ViewOp()


def is_valued(gradient):
    """Whether a gradient has a value."""
    return not isinstance(gradient.type, (DisconnectedType, NullType))


def is_continuous(variable):
    """Whether there can be a gradient by a variable."""
    return getattr(variable.type, "dtype", None) in CONTINUOUS_DTYPES


def gradients_of_loop(op, inputs, outputs, output_grads):
    """``L_op`` of a loop."""
    if is_recurrence(op) and is_valued(output_grads[0]):
        return gradients_of_recurrence(op, inputs, outputs, output_grads)
    steps, counts = inputs[0], op.parts.outer_inputs(inputs).stacked
    if any([kept is not None for kept in op.kept]) or any([count is not steps for count in counts]):
        return _gradients_by_all_rows(op, inputs, output_grads)
    with change_flags(compute_test_value="off"):
        backward = _Terms(op, output_grads)
    results = _Backward(op, backward, inputs, outputs, output_grads).gradients()
    linked = op.connection_pattern()
    reached = [is_valued(gradient) for gradient in output_grads]
    return [_checked(variable, term, any([flag and gradient for flag, gradient in zip(row, reached)]))
            for variable, term, row in zip(inputs, results, linked)]


def _gradients_by_all_rows(op, inputs, output_grads):
    """``L_op`` of a loop that keeps only some rows; the backward loop needs all of them."""
    whole, first = op.with_kept(None), op.parts.position_of_counts
    counts = inputs[first:first + op.parts.n_stacked]
    inputs = [*inputs[:first], *[inputs[0] for _ in counts], *inputs[first + len(counts):]]
    outputs = whole(*inputs[:len(inputs) - len(whole.shared_inputs)], return_list=True)
    gradients = list(output_grads)
    for number, kept in enumerate([*op.kept, *counts]):
        if kept is not None and kept is not inputs[0] and is_valued(gradients[number]):
            zeros = float_zeros_like(outputs[number])
            left_out = shape_i(zeros, 0) - shape_i(gradients[number], 0)
            gradients[number] = inc_subtensor(zeros[left_out:], gradients[number])
    return gradients_of_loop(whole, inputs, outputs, gradients)


def _checked(variable, term, is_linked):
    """A gradient that is zero, although the connection pattern says that there is a path."""
    if is_linked and isinstance(term.type, DisconnectedType) and hasattr(variable, "zeros_like"):
        return float_zeros_like(variable)
    return term


class _Terms:
    """The gradients of one step, as expressions of the inner graph.

    Attributes
    ----------
    by_state : dict of int to Variable
        For each state that gradients reach, the inner variable of the gradient by its new row.
    by_stacked, by_summed : dict of int to Variable
        The same for the other outputs; these come from outside alone.
    sequences, taps, wholes : list of Variable
        The terms by inner inputs; ``taps`` has a list for each state. Some have no value.
    """

    def __init__(self, op, output_grads):
        self.op = op
        self.inner, self.found = op.inner_inputs, op.inner_outputs
        given = op.parts.outer_outputs(output_grads)
        self.by_stacked = self._from_outside(self.found.stacked, given.stacked)
        self.by_summed = self._from_outside(self.found.summed, given.summed)
        self.by_state = {number: gradient_type(self.found.states[number].type).make_variable()
                         for number in self._reached_states(given)}
        self._take()

    @staticmethod
    def _from_outside(outputs, gradients):
        return {number: gradient_type(output.type).make_variable()
                for number, (output, gradient) in enumerate(zip(outputs, gradients))
                if is_valued(gradient) and is_continuous(output)}

    def _reached_states(self, given):
        """The states whose new rows have a gradient: from outside, or through an output of a later step."""
        states = self.found.states
        pattern = io_connection_pattern(self.op.local_inputs, self.op.local_outputs)
        taps = [[any(flags) for flags in zip(*rows)] for rows in self.op.parts.inner_inputs(pattern).states]
        first = len(states)
        last = first + len(self.found.stacked)
        pending = [number for number, gradient in enumerate(given.states)
                   if is_valued(gradient) and is_continuous(states[number])]
        reached = dict.fromkeys(pending)
        pending += [first + number for number in self.by_stacked] + [last + number for number in self.by_summed]
        while pending:
            output = pending.pop()
            for number, row in enumerate(taps):
                if row[output] and number not in reached and is_continuous(states[number]):
                    reached[number] = None
                    pending.append(number)
        return sorted(reached)

    def _take(self):
        """Differentiate the body; each output gets a separate node, so that outputs may read other outputs."""
        pairs = [(self.found.states[number], gradient) for number, gradient in self.by_state.items()]
        pairs += [(self.found.stacked[number], gradient) for number, gradient in self.by_stacked.items()]
        pairs += [(self.found.summed[number], gradient) for number, gradient in self.by_summed.items()]
        wanted = [*self.inner.sequences, *[tap for own in self.inner.states for tap in own], *self.inner.wholes]
        terms = grad(None, wanted, known_grads={_same(output): gradient for output, gradient in pairs},
                     disconnected_inputs="ignore", add_names=False, return_disconnected="Disconnected",
                     null_gradients="return") if pairs else [disconnected_type() for _ in wanted]
        terms = iter([self._defined(variable, term) for variable, term in zip(wanted, terms)])
        self.sequences = [next(terms) for _ in self.inner.sequences]
        self.taps = [[next(terms) for _ in own] for own in self.inner.states]
        self.wholes = list(terms)
        self._spread_undefined()

    def _defined(self, variable, term):
        """A term, cast to the type of its variable.

        It is undefined if it needs a carried value, which was not kept, other than through rows that the loop has."""
        if not is_valued(term):
            return term
        if not is_continuous(variable):
            return disconnected_type()
        rows = [output for output in self.found.states + self.found.stacked if output.owner is not None]
        if self.inner.carried and not set(self.inner.carried).isdisjoint(ancestors([term], rows)):
            return grad_undefined(self.op, 0, variable, "Depends on a shared variable")
        return as_gradient(term, variable.type)

    def _spread_undefined(self):
        """Mark terms that depend on an undefined gradient of a state as undefined, too."""
        pending = [(number, term) for number, own in enumerate(self.taps) for term in own
                   if isinstance(term.type, NullType)]
        handled = set()
        while pending:
            number, undefined = pending.pop()
            if number in handled or number not in self.by_state:
                continue
            handled.add(number)
            lost = self.by_state.pop(number)
            for terms in [self.sequences, self.wholes, *self.taps]:
                for position, term in enumerate(terms):
                    if is_valued(term) and lost in ancestors([term]):
                        terms[position] = undefined.type()
            pending += [(other, term) for other, own in enumerate(self.taps) for term in own
                        if isinstance(term.type, NullType) and other not in handled]


class _Backward:
    """The backward loop, outside: from the loop's inputs, outputs and output gradients to gradients by its inputs."""

    def __init__(self, op, terms, inputs, outputs, output_grads):
        self.op, self.parts, self.terms = op, op.parts, terms
        self.inputs = op.parts.outer_inputs(inputs)
        self.outputs = op.parts.outer_outputs(outputs)
        self.given = op.parts.outer_outputs(output_grads)
        self.done = self.inputs.steps if self.outputs.steps is None else self.outputs.steps
        self.is_cut = op.options.truncate_gradient != -1
        self.steps = scalar.minimum(self.done, op.options.truncate_gradient) if self.is_cut else self.done
        self.rows = {}                              # inner variable of the loop → its rows, last step first
        self.replace = {}                           # variable of the terms → what it is in the backward body
        self._collect_rows()
        self._collect_gradients()

    def _backwards(self, rows):
        rows = rows[::-1]
        return rows[:self.steps] if self.is_cut else rows

    def _collect_rows(self):
        """Collect the rows that the loop has kept: sequences, rows that taps read, and rows of outputs."""
        inner, found = self.terms.inner, self.terms.found
        for variable, outer in zip(inner.sequences, self.inputs.sequences):
            self.rows[variable] = self._backwards(outer[:self.done] if self.parts.is_while else outer)
        for own, taps, depth, outer, initial in zip(inner.states, self.parts.taps, self.parts.depths,
                                                    self.outputs.states, self.inputs.states):
            outer = with_initial(outer, initial)
            for variable, tap in zip(own, taps):
                self.rows[variable] = self._backwards(outer[depth + tap:tap])
        for variable, depth, outer in zip(found.states, self.parts.depths, self.outputs.states):
            if variable.owner is not None:
                self.rows.setdefault(variable, self._backwards(outer[depth:]))
        for variable, outer in zip(found.stacked, self.outputs.stacked):
            if variable.owner is not None:
                self.rows.setdefault(variable, self._backwards(outer))
        local = {variable: variable.type.make_variable(variable.name) for variable in self.rows}
        self.replace.update(local)
        self.sequences = [(local[variable], rows) for variable, rows in self.rows.items()]
        self.replace.update(zip(inner.wholes, self.inputs.wholes))

    def _collect_gradients(self):
        """Collect the gradients by the rows of outputs, in a step: from outside, and from taps of later steps."""
        self.reads_last_row = False                 # which must be there, then
        self.states = {}                            # (state, position of a tap) → State of the backward loop
        for number, variable in self.terms.by_state.items():
            parts, given, last = [], self.given.states[number], None
            if is_valued(given):
                last = self._gradient_by_last_row(number)
                self.reads_last_row |= last is not None
                if last is None:
                    rows = as_gradient(given, variable.type)[self.parts.depths[number]:]
                    parts.append(self._row_of(rows, variable.type))
            for position, term in enumerate(self.terms.taps[number]):
                if is_valued(term):
                    tap = self.parts.taps[number][position]
                    state = self._state_of(number, tap, last if tap == -1 else None)
                    self.states[number, position] = state
                    with change_flags(compute_test_value="off"):
                        parts.append(as_gradient(state.inner[0], variable.type))
            with change_flags(compute_test_value="off"):
                self.replace[variable] = _total(parts) if parts else self._zero(number, variable.type)
        for group, gradients in ((self.terms.by_stacked, self.given.stacked),):
            for number, variable in group.items():
                self.replace[variable] = self._row_of(as_gradient(gradients[number], variable.type), variable.type)
        for number, variable in self.terms.by_summed.items():
            self.replace[variable] = as_gradient(self.given.summed[number], variable.type)

    def _row_of(self, rows, kind):
        """The inner variable for the rows of a gradient from outside."""
        row = kind.make_variable()
        self.sequences.append((row, self._backwards(rows)))
        return row

    def _gradient_by_last_row(self, number):
        """The gradient from outside by the last row, if there is none by other rows and a state can start with it.

        This is the state of the tap -1. Its values are needed one step later, and the last row is one step before the
        first step of the backward loop.
        """
        if not any([tap == -1 and is_valued(term)
                    for tap, term in zip(self.parts.taps[number], self.terms.taps[number])]):
            return None
        rows = added_part(self.given.states[number], slice(self.parts.depths[number], None))
        return None if rows is None else added_part(rows, -1)

    def _state_of(self, number, tap, first):
        kind = gradient_type(self.terms.inner.states[number][0].type)
        initial = _zero_rows(-tap, self.outputs.states[number], kind) if first is None else \
            unbroadcast(shape_padleft(as_gradient(first, kind)), 0)
        return State((tap,), [kind.make_variable()], initial)

    def _zero(self, number, kind):
        return as_gradient(float_zeros_like(self.replace[self.terms.inner.states[number][0]]), kind)

    def gradients(self):
        """The gradients by the loop's inputs, in their order."""
        terms = self.terms
        sequences = [position for position, term in enumerate(terms.sequences) if is_valued(term)]
        wholes = [position for position, term in enumerate(terms.wholes) if is_valued(term)]
        wanted = [*[terms.taps[number][position] for number, position in self.states],
                  *[terms.sequences[position] for position in sequences],
                  *[terms.wholes[position] for position in wholes]]
        with change_flags(compute_test_value="off"):
            moved = iter(replaced(wanted, self.replace))
        for state in self.states.values():
            state.output = next(moved)
        stacked = [next(moved) for _ in sequences]
        summed = [(term, _zeros_for(self.inputs.wholes[position], term)) for position, term in zip(wholes, moved)]
        body = Body(self.sequences, list(self.states.values()), stacked, summed, outside=self.replace.values())
        name = f"grad_of_{self.op.name or 'scan_fn'}"
        options = self.op.options._replace(needs_step=self.op.options.needs_step or self.reads_last_row)
        results = make_loop(self.steps, body, name, options)
        by_sequence = {position: self._as_long_as(self.inputs.sequences[position], rows)
                       for position, rows in zip(sequences, results.stacked)}
        by_whole = dict(zip(wholes, results.summed))
        left = dict(zip(self.states, results.states))
        return [disconnected_type(),
                *[by_sequence.get(position, term) for position, term in enumerate(terms.sequences)],
                *[self._by_initial(number, left) for number in range(self.parts.n_states)],
                *[gradient if is_valued(gradient) else disconnected_type() for gradient in self.given.summed],
                *[self._by_carried(variable) for variable in self.inputs.carried],
                *[disconnected_type() for _ in self.inputs.stacked],
                *[by_whole.get(position, term) for position, term in enumerate(terms.wholes)]]

    def _as_long_as(self, sequence, rows):
        """The gradient by a sequence, with zeros for steps that were not done, or that gradients do not reach."""
        rows = rows[::-1]
        if self.is_cut:
            rows = join(0, _zero_rows(self.done - self.steps, rows, rows.type), rows)
        if self.parts.is_while:
            rows = join(0, rows, _zero_rows(shape_i(sequence, 0) - self.done, rows, rows.type))
        return rows

    def _by_initial(self, number, left):
        """The gradient by the rows of a state before the first step."""
        depth, undefined = self.parts.depths[number], [term for term in self.terms.taps[number]
                                                       if isinstance(term.type, NullType)]
        if undefined:
            return undefined[0]
        own = [(tap, left[number, position]) for position, tap in enumerate(self.parts.taps[number])
               if (number, position) in left]
        kind, total = stacked_type(gradient_type(self.terms.inner.states[number][0].type)), None
        for tap, rows in own:
            rows = self._left_over(tap, rows)
            if -tap < depth:
                total = _zero_rows(depth, rows, kind) if total is None else total
                total = inc_subtensor(total[depth + tap:], rows)
            else:
                total = rows if total is None else total + rows
        return disconnected_type() if total is None else total

    def _left_over(self, tap, rows):
        """The gradients that a tap passes to the rows before the first step, among all rows of its state."""
        rows = rows[tap:][::-1]
        if not self.is_cut:
            return rows
        missing = scalar.minimum(self.done - self.steps, -tap)
        return join(0, _zero_rows(missing, rows, rows.type), rows[:-tap - missing])

    def _by_carried(self, variable):
        reached = [number for number, gradient in enumerate([*self.given.states, *self.given.stacked,
                                                             *self.given.summed, *self.given.carried])
                   if is_valued(gradient)]
        row = self.op.connection_pattern()[self._position_of_carried(variable)]
        if any([row[number] for number in reached]):
            return grad_undefined(self.op, 0, variable, "Depends on a shared variable")
        return disconnected_type()

    def _position_of_carried(self, variable):
        first = 1 + self.parts.n_sequences + self.parts.n_states + self.parts.n_summed
        return first + [other is variable for other in self.inputs.carried].index(True)


def added_part(gradient, entry):
    """The value that was added to a part of zeros, by an index with one entry; None for other gradients."""
    owner = gradient.owner
    if owner is None or type(owner.op) is not IncSubtensor or owner.op.set_instead_of_inc \
            or owner.op.idx_list != (entry,):
        return None
    try:
        return owner.inputs[1] if get_scalar_constant_value(owner.inputs[0]) == 0 else None
    except NotScalarConstantError:
        return None


def _total(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _zero_rows(count, like, kind):
    """Rows of zeros, as long as those of ``like``, of the dtype of a type."""
    zero = constant(0, dtype=kind.dtype)
    return unbroadcast(alloc(zero, count, *[shape_i(like, axis) for axis in range(1, like.type.ndim)]), 0)


def _zeros_for(whole, term):
    """The zeros from which the sum of the terms by a whole starts."""
    zeros = float_zeros_like(whole)
    return zeros if zeros.type.dtype == term.type.dtype else zeros.astype(term.type.dtype)
