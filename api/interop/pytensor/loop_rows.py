"""Scan: translated to a loop of phintys, whose body is the translation of Scan's inner graph.

PyTensor passes the states as buffers: the rows before the first step, and room for the rows that the steps compute. The
loop makes its own rows; the outputs of Scan are cut from them.
"""
from pytensor.tensor.random.type import RandomType

from phintys import tensor as T
from phintys.graph.variable import Constant
from phintys.interop.pytensor.op_table import name_of
from phintys.interop.pytensor.translation import TranslationError, row, translated
from phintys.interop.pytensor.types import translated_type
from phintys.ops.loops.building import Body, State, make_loop
from phintys.ops.shape.shape import patternbroadcast


class _Inner:
    """The inner variables of a Scan, in order, and the variables of the body that replace them."""

    def __init__(self, inputs):
        self.inputs, self.position, self.known = inputs, 0, {}

    def take(self, count, first=()):
        """New variables for the next inner inputs; random generators are of the types of their first values."""
        taken = self.inputs[self.position:self.position + count]
        self.position += count
        kinds = [translated_type(variable.type) for variable in taken]
        for position, value in enumerate(first):
            if isinstance(taken[position].type, RandomType):
                kinds[position] = value.type
        return [self.known.setdefault(variable, kind()) for variable, kind in zip(taken, kinds)]

    def give(self, variables):
        """Set the variables for the next inner inputs."""
        for variable in variables:
            self.known[self.inputs[self.position]] = variable
            self.position += 1


class _Buffer:
    """The states of one output of Scan: how many rows come before the first step, and how many are returned."""

    def __init__(self, value, first_rows, whole):
        self.value, self.first_rows, self.whole = value, first_rows, whole

    def initial(self):
        return self.value[:self.first_rows]

    def cut(self, rows, is_while):
        """The rows that Scan returns, of all rows."""
        return rows if self.whole else _fitted(rows, T.shape_i(self.value, 0), is_while)


def _fitted(rows, count, is_while):
    """As many rows as a buffer has: the last ones, or all and then zeros. A while loop has no zeros."""
    last = rows[T.maximum(T.shape_i(rows, 0) - count, 0):]
    if is_while:
        return last
    missing = [T.maximum(count - T.shape_i(rows, 0), 0), *[T.shape_i(rows, axis) for axis in range(1, rows.type.ndim)]]
    return T.join(0, last, T.alloc(T.constant(0, dtype=rows.type.dtype), *missing))


row("compile.Scan")(lambda op, node, *inputs: _Translation(op, node, list(inputs)).outputs())


class _Translation:
    """The translation of one Scan, while it is made."""

    def __init__(self, op, node, inputs):
        self.op, self.info, self.node, self.inputs = op, op.info, node, inputs
        self._only_written = {}             # (buffer, o) → position among the outputs that are only written
        self.steps = T.cast(inputs[0], "int64")
        self.inner = _Inner(op.inner_inputs)

    def outputs(self):
        info = self.info
        sequences = list(zip(self.inner.take(info.n_seqs), [rows[:self.steps] for rows in self._outer("seqs")]))
        gradients = self._gradient_states(sequences)
        states = self._states("mitsot", info.mit_sot_in_slices) + self._states("sitsot", info.sit_sot_in_slices)
        first = self._outer("untraced_sit_sot")
        untraced = self.inner.take(info.n_untraced_sit_sot, first)
        self.inner.give(self._outer("non_seqs"))
        found = translated(self.op.inner_outputs, self.inner.known)
        condition = found.pop() if info.as_while else None
        written = self._gradient_outputs(found, gradients)
        for (state, _), output in zip(states, self.op.inner_mitsot_outs(found) + self.op.inner_sitsot_outs(found)):
            state.output = _like_first(output, state)
        body = Body(sequences, [*[state for state, _ in gradients.values()], *[state for state, _ in states]],
                    [*written, *self.op.inner_nitsot_outs(found)],
                    [], list(zip(untraced, self.op.inner_untraced_sit_sot_outs(found), first)), condition)
        results = make_loop(self.steps, body, self.op.name or "scan_fn", lifts=False)
        return self._results(results, gradients, written, states)

    def _outer(self, kind):
        return getattr(self.op, f"outer_{kind}")(self.inputs)

    # ---- states ----------------------------------------------------------------------------------------------
    def _states(self, kind, slices):
        """The states of one kind, as (State, _Buffer)."""
        given = getattr(self.op, f"outer_{kind}")(self.node.inputs)
        states = []
        for taps, buffer, variable in zip(slices, self._outer(kind), given):
            whole = _is_whole(variable, self.node.inputs[0])
            if isinstance(self.steps, Constant) and not self.info.as_while:         # known lengths say so, too
                whole |= variable.type.shape[0] == self.steps.data - min(taps)
            rows = _Buffer(buffer, -min(taps), whole)
            states.append((State(tuple(taps), self.inner.take(len(taps)), rows.initial()), rows))
        return states

    # ---- gradients (MIT-MOT) -----------------------------------------------------------------------------------
    # Step i reads the rows i + t of a buffer and writes the rows i + o. If there is an o above t, the row read at t was
    # written at the smallest such o, o - t steps ago: it is a tap of a state. Otherwise it is a row of the given
    # buffer: a sequence.
    def _gradient_states(self, sequences):
        """(buffer, o) → (State, how many rows come first); sequences that are read are added."""
        states, info = {}, self.info
        for number, (reads, writes, buffer) in enumerate(zip(
                info.normalized_mit_mot_in_slices, info.normalized_mit_mot_out_slices, self._outer("mitmot"))):
            taps = {}
            for tap, inner in zip(reads, self.inner.take(len(reads))):
                above = [out for out in writes if out > tap]
                if above:
                    taps.setdefault(min(above), []).append((tap - min(above), inner))
                else:
                    sequences.append((inner, buffer[tap:tap + self.steps]))
            for out, read in taps.items():
                deepest = -min(lag for lag, _ in read)
                states[number, out] = (State(tuple(lag for lag, _ in read), [inner for _, inner in read],
                                             buffer[out - deepest:out]), deepest)
        return states

    def _gradient_outputs(self, found, states):
        """Give the states their outputs; the rows that are only written are returned, to be stacked."""
        written = []
        for number, (writes, outputs) in enumerate(zip(self.info.normalized_mit_mot_out_slices,
                                                       self.op.inner_mitmot_outs_grouped(found))):
            for out, output in zip(writes, outputs):
                if (number, out) in states:
                    state = states[number, out][0]
                    state.output = _like_first(output, state)
                else:
                    self._only_written[number, out] = len(written)
                    written.append(output)
        return written

    def _gradient_buffers(self, results, states):
        """The buffers as they are after the last step."""
        rows = {key: results.states[position][deepest:]
                for position, (key, (_, deepest)) in enumerate(states.items())}
        rows.update({key: results.stacked[position] for key, position in self._only_written.items()})
        buffers = []
        for number, (writes, buffer) in enumerate(zip(self.info.normalized_mit_mot_out_slices, self._outer("mitmot"))):
            order = sorted(writes)
            pieces = [buffer[:order[0]], rows[number, order[0]]]
            for before, out in zip(order, order[1:]):
                new = rows[number, out]
                pieces.append(new[T.maximum(T.shape_i(new, 0) - (out - before), 0):])
            pieces.append(buffer[self.steps + order[-1]:])
            buffers.append(T.join(0, *pieces))
        return buffers

    # ---- results -------------------------------------------------------------------------------------------------
    def _results(self, results, gradients, written, states):
        found = self._gradient_buffers(results, gradients) if self.info.n_mit_mot else []
        own = results.states[len(gradients):]
        found += [rows.cut(result, self.info.as_while) for (_, rows), result in zip(states, own)]
        found += [result if _is_same(wanted, self.node.inputs[0]) else _fitted(result, count, self.info.as_while)
                  for result, count, wanted in zip(results.stacked[len(written):], self._outer("nitsot"),
                                                   self.op.outer_nitsot(self.node.inputs))]
        return found + list(results.carried)


def _like_first(output, state):
    """An output of the type of its state's earlier rows."""
    wanted = state.inner[0].type
    if output.type.ndim != wanted.ndim or output.type.dtype != wanted.dtype:
        raise TranslationError(f"a state of Scan is of type {wanted} before a step, and {output.type} after it")
    return patternbroadcast(output, wanted.broadcastable)


def _is_same(count, steps):
    """Whether a number of rows is that of the steps."""
    return count is steps or (hasattr(count, "data") and hasattr(steps, "data") and count.data == steps.data)


def _is_whole(buffer, steps):
    """Whether a buffer was made by Scan for all steps: ``set_subtensor(empty(rows + steps, ...)[:rows], first)``."""
    made = buffer.owner
    if made is None or name_of(made.op) != "tensor.IncSubtensor" or not made.op.set_instead_of_inc:
        return False
    empty = made.inputs[0].owner
    if empty is None or name_of(empty.op) != "tensor.AllocEmpty":
        return False
    length = empty.inputs[0].owner
    return length is not None and any(_is_same(part, steps) for part in length.inputs)
