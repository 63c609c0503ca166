"""Runs a loop step by step in Python.

``run_loop`` calls the compiled inner graph once for each step. Taps read the values that earlier calls returned. Kept
rows are copied into the array of the output. For an output that keeps only its last rows, the last returned values are
stored without a copy, and stacked at the end.
"""
from collections import deque
from itertools import islice, repeat

import numpy

from phintys.graph.config import config
from phintys.graph.errors import with_details
from phintys.graph.loop_errors import (
    NO_BOUND,
    changed_row,
    negative_rows,
    negative_steps,
    no_step,
    short_sequence,
    where,
    wrong_initial_rows,
)
from phintys.graph.progress import patience_of, with_progress

FIRST_ROOM = 256                # rows: of a while loop, whose number of steps is only known at its end


class AllRows:
    """An output that keeps all its rows, in one array.

    Parameters
    ----------
    initial : numpy.ndarray
        The rows before the first step.
    room : int
        For so many further rows there is room at first.
    """

    def __init__(self, initial, room):
        self.values = numpy.empty((len(initial) + room, *initial.shape[1:]), initial.dtype)
        self.values[:len(initial)] = initial
        self.count = len(initial)

    def append(self, value):
        """Add the row of the next step."""
        if self.count == len(self.values):
            values = numpy.empty((2 * self.count, *self.values.shape[1:]), self.values.dtype)
            values[:self.count] = self.values
            self.values = values
        self.values[self.count] = value
        self.count += 1

    def result(self):
        """All rows, in separate memory."""
        return self.values if self.count == len(self.values) else self.values[:self.count].copy()


class LastRows:
    """An output that keeps only its last rows.

    Parameters
    ----------
    initial : numpy.ndarray
        The rows before the first step.
    kept : int
        The number of kept rows, in addition to the number of rows before the first step.
    """

    def __init__(self, initial, kept):
        self.initial = initial
        self.rows = deque([initial[position, ...] for position in range(len(initial))], len(initial) + kept)
        self.append = self.rows.append

    def result(self):
        """The kept rows, in separate memory."""
        result = numpy.empty((len(self.rows), *self.initial.shape[1:]), self.initial.dtype)
        for position, row in enumerate(self.rows):
            result[position] = row
        return result


def run_loop(op, function, inputs):
    """The values of a loop's outputs.

    Parameters
    ----------
    op : Scan
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
        return _results_of_no_steps(op, given)
    if op.ahead is not None:
        given = given._replace(sequences=(*given.sequences, *op.rows_ahead(given, n_steps)))
    run = _Run(op, given, n_steps)
    try:
        run.all_steps(function)
    except Exception as error:
        raise with_details(error, where(op, run.step, n_steps)) from error.__cause__
    finally:
        if run.bar is not None:
            run.bar.close()                         # now, although a traceback may keep it alive
    return run.results()


class _Run:
    """One run of a loop.

    Attributes
    ----------
    step : int
        The step that is running.
    bar : generator or None
        That of ``with_progress``, if there is a progress bar.
    """

    def __init__(self, op, given, n_steps):
        self.op, self.given, self.n_steps, self.step, self.bar = op, given, n_steps, -1, None
        parts = op.parts
        self.recent = [deque([initial[position, ...] for position in range(len(initial))], depth)
                       for initial, depth in zip(given.states, parts.depths)]
        self.rows = [self._rows(initial, kept) for initial, kept in zip(given.states, op.kept)]
        self.shapes = [initial.shape[1:] for initial in given.states]
        self.sums = [numpy.array(value) for value in given.summed]
        self.carried = list(given.carried)

    def _rows(self, initial, kept):
        if kept is not None and kept < self.n_steps:
            return LastRows(initial, kept)
        return AllRows(initial, min(self.n_steps, FIRST_ROOM) if self.op.parts.is_while else self.n_steps)

    def all_steps(self, function):
        """Do the steps, until the condition of a while loop holds."""
        given, parts = self.given, self.op.parts
        reads = [(recent, tap) for recent, taps in zip(self.recent, parts.taps) for tap in taps]
        n_states, wholes = parts.n_states, given.wholes
        n_rows = n_states + parts.n_stacked
        n_values = n_rows + parts.n_summed
        rows_only = not (parts.n_summed or parts.n_carried or parts.is_while)
        moving = islice(zip(*given.sequences), self.n_steps) if given.sequences else repeat((), self.n_steps)
        patience = patience_of(config.scan.progress)
        if patience is not None:
            moving = self.bar = with_progress(moving, self.op.name or str(self.op),
                                              None if self.n_steps == NO_BOUND else self.n_steps, patience)
        for self.step, slices in enumerate(moving):
            found = function(*slices, *[recent[tap] for recent, tap in reads], *self.carried, *wholes)
            if len(self.rows) < n_rows:
                self._begin_stacked(found[n_states:n_rows])
            for rows, shape, value in zip(self.rows, self.shapes, found):
                if value.shape != shape:
                    raise changed_row(self.rows.index(rows), value.shape, shape)
                rows.append(value)
            for recent, value in zip(self.recent, found):
                recent.append(value)
            if rows_only:
                continue
            for total, value in zip(self.sums, found[n_rows:n_values]):
                if value.shape != total.shape:
                    raise ValueError(f"a term of the shape {value.shape} is added to a sum of the shape {total.shape}")
                total += value
            self.carried = found[n_values:n_values + parts.n_carried]
            if parts.is_while and found[-1]:
                break

    def _begin_stacked(self, values):
        """Room for the rows of stacked outputs, of which the first are ``values``."""
        for value, kept in zip(values, self.given.stacked):
            self.rows.append(self._rows(numpy.empty((0, *value.shape), value.dtype), int(kept)))
            self.shapes.append(value.shape)

    def results(self):
        """The values of the outputs."""
        done = [numpy.asarray(self.step + 1)] if self.op.parts.is_while else []
        return [*[rows.result() for rows in self.rows], *self.sums, *self.carried, *done]


def _check(op, given, n_steps):
    if n_steps < 0:
        raise negative_steps(op, n_steps)
    if n_steps == 0 and op.options.needs_step:
        raise no_step(op)
    for number, count in enumerate(given.stacked):
        if count < 0:
            raise negative_rows(op, number, int(count))
    for number, sequence in enumerate(given.sequences):
        if len(sequence) < n_steps:
            raise short_sequence(op, number, sequence.shape, n_steps)
    for number, (initial, taps) in enumerate(zip(given.states, op.parts.taps)):
        if len(initial) != -min(taps):
            raise wrong_initial_rows(op, number, initial.shape, taps)


def _results_of_no_steps(op, given):
    """The results of a loop of no steps."""
    states = [initial.copy() for initial in given.states]
    sums = [numpy.array(value) for value in given.summed]
    sequences = [numpy.zeros(sequence.shape[1:], sequence.dtype) for sequence in given.sequences]
    taps = [initial[tap] for initial, own in zip(given.states, op.parts.taps) for tap in own]
    arguments = [*sequences, *taps, *sums, *given.carried, *given.wholes]
    stacked = [numpy.empty((0, *lengths), output.type.dtype)
               for lengths, output in zip(op.row_lengths(arguments), op.inner_outputs.stacked)]
    done = [numpy.asarray(0)] if op.parts.is_while else []
    return [*states, *stacked, *sums, *given.carried, *done]
