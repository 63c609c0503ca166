"""OpenLoop: a loop's node that was taken apart, so that rewrites can change it, and can be put together again.

Every output is an entry that stores the variable of the old node that it replaces. ``close`` makes the new node and
returns the replacements. Entries that a rewrite removed, because nothing reads them or because they are computed
outside, are not in the new node.
"""
from phintys.graph.trace import staying
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant
from phintys.ops.loops.building import replaced
from phintys.ops.loops.loop import Scan
from phintys.ops.loops.parts import LoopParts


class Entry:
    """One output of a loop.

    Attributes
    ----------
    inner : Variable
        What a step computes.
    old : Variable or None
        The output of the node that was taken apart; None for an output that a rewrite added.
    new : Variable or None
        The output of the new node, once there is one.
    kept : int, Variable or None
        For states and stacked outputs, the largest number of kept rows, of those that steps add. None: all.
    taps, reads : tuple of int, list of Variable
        Of states, the taps and the inner variables that read them.
    before : Variable or None
        Of carried values, the inner variable for the value so far.
    initial : Variable or None
        Outside: the rows before the first step, or the first value of a sum or carried value.
    """

    def __init__(self, inner, old=None, initial=None, kept=None, taps=(), reads=(), before=None):
        self.inner, self.old, self.initial, self.kept = inner, old, initial, kept
        self.taps, self.reads, self.before, self.new = tuple(taps), list(reads), before, None


class OpenLoop:
    """The parts of a loop.

    Parameters
    ----------
    node : Apply
        Of a Scan.
    own : bool, optional
        Whether the inner variables must be copies of those of the node's op, which other nodes may use, too.

    Attributes
    ----------
    steps : Variable
    name : str or None
    options : LoopOptions
    sequences, wholes : list of (Variable, Variable)
        Inside and outside.
    states, stacked, summed, carried : list of Entry
    condition, steps_done : Variable or None
        Of a while loop: the condition inside; the old output, then the new output.
    same : list of (Entry, Entry)
        Entries that were removed because others compute the same.
    """

    def __init__(self, node, own=False):
        op = self.op = node.op.with_kept(node.op.kept) if own else node.op
        inner, found = op.inner_inputs, op.inner_outputs
        given, outputs = op.parts.outer_inputs(node.inputs), op.parts.outer_outputs(node.outputs)
        self.steps, self.name, self.options, self.position = given.steps, op.name, op.options, node._position
        self.sequences = list(zip(inner.sequences, given.sequences))
        self.wholes = list(zip(inner.wholes, given.wholes))
        self.states = [Entry(row, old, initial, kept, taps, own) for row, old, initial, kept, taps, own
                       in zip(found.states, outputs.states, given.states, op.kept, op.parts.taps, inner.states)]
        self.stacked = [Entry(row, old, None, _kept(count, self.steps))
                        for row, old, count in zip(found.stacked, outputs.stacked, given.stacked)]
        self.summed = [Entry(term, old, initial)
                       for term, old, initial in zip(found.summed, outputs.summed, given.summed)]
        self.carried = [Entry(after, old, initial, before=before) for after, old, initial, before
                        in zip(found.carried, outputs.carried, given.carried, inner.carried)]
        self.condition, self.steps_done = found.condition, outputs.steps
        self.old_steps_done = outputs.steps
        self.same = []

    def entries(self):
        """All outputs but the steps of a while loop, in their order."""
        return [*self.states, *self.stacked, *self.summed, *self.carried]

    def inner_outputs(self):
        """The values that a step computes."""
        return [*[entry.inner for entry in self.entries()], *([] if self.condition is None else [self.condition])]

    def feeding(self):
        """The values that a step computes for later steps, or to end the loop."""
        return [*[entry.inner for entry in self.states + self.carried],
                *([] if self.condition is None else [self.condition])]

    def moving(self):
        """The inner variables that differ from step to step."""
        return [*[inner for inner, _ in self.sequences], *[tap for entry in self.states for tap in entry.reads],
                *[entry.before for entry in self.carried]]

    def replace(self, pairs):
        """Let the body read other inner variables."""
        outputs = iter(replaced(self.inner_outputs(), pairs))
        for entry in self.entries():
            entry.inner = next(outputs)
        self.condition = next(outputs, None)

    def drop_unread(self):
        """Drop sequences and wholes that the body does not read; returns how many."""
        read = set(ancestors(self.inner_outputs()))
        sequences = [pair for pair in self.sequences if pair[0] in read]
        wholes = [pair for pair in self.wholes if pair[0] in read]
        count = len(self.sequences) + len(self.wholes) - len(sequences) - len(wholes)
        self.sequences, self.wholes = sequences, wholes
        return count

    def absorb(self, other):
        """Add the work of another loop with the same number of steps and without a condition."""
        for name in ("sequences", "wholes", "states", "stacked", "summed", "carried", "same"):
            getattr(self, name).extend(getattr(other, name))
        self.options = self.options._replace(needs_step=self.options.needs_step or other.options.needs_step)
        if other.name != self.name:
            self.name = f"{self.name}&{other.name}"

    def close(self):
        """Make the new node, if anything is left to compute.

        Returns
        -------
        list of (Variable, Variable)
            Old outputs and new ones.
        """
        entries, outputs = self.entries(), self.inner_outputs()
        if not outputs:
            return []
        parts = LoopParts(len(self.sequences), tuple([entry.taps for entry in self.states]), len(self.stacked),
                          len(self.summed), len(self.carried), self.condition is not None)
        op = Scan([*self.moving(), *[inner for inner, _ in self.wholes]], outputs, parts,
                  [entry.kept for entry in self.states], self.name, self.options)
        made = op(self.steps, *[outer for _, outer in self.sequences], *[entry.initial for entry in self.states],
                  *[entry.initial for entry in self.summed], *[entry.initial for entry in self.carried],
                  *[self.steps if entry.kept is None else entry.kept for entry in self.stacked],
                  *[outer for _, outer in self.wholes], return_list=True)
        made[0].owner._position = staying(self.position)
        for entry, new in zip(entries, made):
            entry.new = new
        pairs = [(entry.old, kept.new) for entry, kept in [*zip(entries, entries), *self.same]
                 if entry.old is not None]
        if self.condition is not None:
            self.steps_done = made[-1]
            pairs.append((self.old_steps_done, self.steps_done))
        return pairs


def _kept(count, steps):
    """How many rows of a stacked output are kept, as entries say it."""
    if count is steps:
        return None
    if not isinstance(count, Constant):
        return count
    return None if isinstance(steps, Constant) and steps.data <= count.data else int(count.data)
