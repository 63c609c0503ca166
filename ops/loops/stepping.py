"""Running a loop step by step: all the work that is done for each step is in this file.

``run_loop`` calls the compiled inner graph once for each step, with views of the rows that the step reads, and copies
what it returns into the rows of the outputs. Rows that no one will read are not kept: the rows of an output that keeps
only the last of them are a ring.
"""
import numpy

from phintys.graph.errors import with_details

FIRST_ROOM = 256                # rows: of a while loop, whose number of steps is only known at its end


class Rows:
    """The rows of a state or a stacked output while the loop runs.

    Parameters
    ----------
    initial : numpy.ndarray
        The rows before the first step.
    n_steps : int
        At most so many more will come.
    kept : int or None
        How many of these are kept, the last ones; None: all.
    grows : bool
        Whether there may be far fewer than ``n_steps``.
    what : str
        For messages.
    """

    def __init__(self, initial, n_steps, kept, grows, what):
        self.depth = len(initial)
        self.is_ring = kept is not None and kept < n_steps
        room = max(self.depth + kept, 1) if self.is_ring else self.depth + (min(n_steps, FIRST_ROOM) if grows
                                                                             else n_steps)
        self.values = numpy.empty((room, *initial.shape[1:]), initial.dtype)
        self.values[:self.depth] = initial
        self.room, self.count, self.what = room, self.depth, what
        self.row_shape = initial.shape[1:]

    def row(self, step, tap):
        """The row that a tap reads in a step, a view."""
        position = self.depth + step + tap
        return self.values[position % self.room if self.is_ring else position, ...]

    def append(self, value):
        """Add the row of the next step."""
        if value.shape != self.row_shape:
            raise ValueError(f"{self.what} has the shape {value.shape}, and had the shape {self.row_shape} before: "
                             f"all rows of a loop's output have one shape")
        position = self.count
        if self.is_ring:
            position %= self.room
        elif position == self.room:
            self._grow()
        self.values[position] = value
        self.count += 1

    def _grow(self):
        self.room *= 2
        values = numpy.empty((self.room, *self.row_shape), self.values.dtype)
        values[:self.count] = self.values
        self.values = values

    def result(self):
        """All rows that are kept, in order, as memory of their own."""
        if not self.is_ring or self.count <= self.room:
            rows = self.values[:self.count]
            return rows if self.count == self.room else rows.copy()
        start = self.count % self.room
        return numpy.concatenate([self.values[start:], self.values[:start]]) if start else self.values


def run_loop(op, function, inputs):
    """The values of a loop's outputs.

    Parameters
    ----------
    op : Loop
    function : callable
        The compiled inner graph: from values of the inner inputs to a list of those of the inner outputs.
    inputs : list
        Values of a node's inputs.

    Returns
    -------
    list
    """
    given = op.parts.outer_inputs(inputs)
    n_steps = int(given.steps)
    _check(op, given, n_steps)
    if n_steps == 0:
        return _results_of_no_steps(op, function, given)
    taps, depths, is_while = op.parts.taps, op.parts.depths, op.parts.is_while
    states = [Rows(initial[-depth:], n_steps, kept, is_while, f"state {number} of {op}")
              for number, (initial, depth, kept) in enumerate(zip(given.states, depths, op.kept))]
    reads = [(state.row, tap) for state, own in zip(states, taps) for tap in own]
    stacked, sums, carried, step = None, [numpy.array(value) for value in given.summed], list(given.carried), -1
    for step in range(n_steps):
        try:
            found = function(*[sequence[step, ...] for sequence in given.sequences],
                             *[row(step, tap) for row, tap in reads], *carried, *given.wholes)
            found = op.parts.inner_outputs(found)
            if stacked is None:
                stacked = _first_rows(op, found.stacked, n_steps)
            for rows, value in zip(states, found.states):
                rows.append(value)
            for rows, value in zip(stacked, found.stacked):
                rows.append(value)
            for total, value in zip(sums, found.summed):
                _add(total, value, op)
            carried = list(found.carried)
        except Exception as error:
            raise with_details(error, f"in step {step} of {n_steps} (the first is 0) of {op}") from error.__cause__
        if is_while and found.condition:
            break
    done = [numpy.asarray(step + 1)] if is_while else []
    return [*[rows.result() for rows in states], *[rows.result() for rows in stacked], *sums, *carried, *done]


def _add(total, value, op):
    if value.shape != total.shape:
        raise ValueError(f"{op} adds a term of the shape {value.shape} to a sum of the shape {total.shape}")
    total += value


def _first_rows(op, values, n_steps):
    """Room for the rows of stacked outputs, of which the first are ``values``."""
    return [Rows(numpy.empty((0, *value.shape), value.dtype), n_steps, kept, op.parts.is_while,
                 f"output {number} of {op}")
            for number, (value, kept) in enumerate(zip(values, op.kept[op.parts.n_states:]), op.parts.n_states)]


def _check(op, given, n_steps):
    if n_steps < 0:
        raise IndexError(f"Scan was asked to run for negative number of step {n_steps}: {op}")
    for number, sequence in enumerate(given.sequences):
        if len(sequence) < n_steps:
            raise ValueError(f"Sequence {number} of {op} is shorter than the required number of steps: it has "
                             f"{len(sequence)} rows for {n_steps} steps; its shape is {sequence.shape}")
    for number, (initial, taps) in enumerate(zip(given.states, op.parts.taps)):
        if len(initial) < -min(taps):
            raise ValueError(f"The initial state of output {number} of {op} has {len(initial)} rows, but the taps "
                             f"{list(taps)} look {-min(taps)} steps back; its shape is {initial.shape}")


def _results_of_no_steps(op, function, given):
    """What a loop of no steps computes; what shape a stacked row would have is seen on rows of zeros."""
    states = [initial[-depth:].copy() for initial, depth in zip(given.states, op.parts.depths)]
    done = [numpy.asarray(0)] if op.parts.is_while else []
    sums = [numpy.array(value) for value in given.summed]
    return [*states, *(_no_rows(op, function, given) if op.parts.n_stacked else []), *sums, *given.carried, *done]


def _no_rows(op, function, given):
    sequences = [numpy.zeros(sequence.shape[1:], sequence.dtype) for sequence in given.sequences]
    taps = [numpy.zeros(initial.shape[1:], initial.dtype)
            for initial, own in zip(given.states, op.parts.taps) for _ in own]
    outputs = op.parts.inner_outputs(op.local_outputs).stacked
    try:
        values = op.parts.inner_outputs(function(*sequences, *taps, *given.carried, *given.wholes)).stacked
        shapes = [value.shape for value in values]
    except Exception:                               # zeros are no values for this body
        shapes = [[1 if flag else 0 for flag in output.type.broadcastable] for output in outputs]
    return [numpy.zeros((0, *shape), output.type.dtype) for shape, output in zip(shapes, outputs)]
