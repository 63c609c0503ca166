"""The parts of a loop: how its inputs and outputs, and those of its inner graph, fall into groups.

A loop has four lists of variables. All code reads these lists by the groups that this file defines:

==========  ===============================  ========================================  =================================
group       outside, an input                inside, inputs                            inside → outside, an output
==========  ===============================  ========================================  =================================
steps       how many steps at most (0-d)     —                                         — → steps done, of a while loop
sequences   rows, one for each step          the row of this step                      —
states      the rows before the first step   one for each tap: a row of earlier steps  next row → all rows
stacked     how many rows are kept at most   —                                         a row → the last rows
summed      what is added to                 —                                         a term → the sum
carried     the first value                  the value so far                          next value → the last value
wholes      any value                        the same value in each step               —
==========  ===============================  ========================================  =================================

The inputs are in this order except for those of ``stacked``, which come after ``carried``, as in Theano; if all rows
are kept, this input is ``steps`` itself. A *tap* is a negative number: -1 is the previous step's row. The rows of a
state include those before the first step, as many as its earliest tap looks back. A while loop's last inner output is
the condition that ends it.
"""
from itertools import accumulate
from typing import NamedTuple

from phintys.graph.public_names import at_home


@at_home
class Groups(NamedTuple):
    """The variables of each group, in one of the four lists; ``()`` if a list has none of a group."""

    steps: object = None
    sequences: tuple = ()
    states: tuple = ()          # of the inner inputs: a tuple with one entry for each tap
    stacked: tuple = ()
    summed: tuple = ()
    carried: tuple = ()
    wholes: tuple = ()
    condition: object = None
    ahead: tuple = ()           # of the inner inputs: rows that are computed for many steps at once


@at_home
class LoopParts(NamedTuple):
    """How many variables of each group there are.

    Attributes
    ----------
    n_sequences, n_stacked, n_summed, n_carried : int
    taps : tuple of tuple of int
        For each state its taps, in the order of its inner inputs.
    is_while : bool
        Whether the last inner output is a condition that ends the loop.
    n_ahead : int
        How many inner inputs, after those for sequences, are rows that are computed for many steps at once.
    """

    n_sequences: int = 0
    taps: tuple = ()
    n_stacked: int = 0
    n_summed: int = 0
    n_carried: int = 0
    is_while: bool = False
    n_ahead: int = 0

    @property
    def n_states(self):
        """How many states the loop has."""
        return len(self.taps)

    @property
    def depths(self):
        """For each state how many rows it has before the first step."""
        return tuple([-min(taps) for taps in self.taps])

    @property
    def n_moving(self):
        """How many inner inputs change from step to step; the others are wholes."""
        return self.n_sequences + self.n_ahead + sum(map(len, self.taps)) + self.n_carried

    @property
    def position_of_counts(self):
        """The position of the first outer input that is a number of kept rows of a stacked output."""
        return 1 + self.n_sequences + self.n_states + self.n_summed + self.n_carried

    def outer_inputs(self, variables):
        """A node's inputs by groups."""
        steps, *rest = variables
        sequences, states, summed, carried, stacked, wholes = _cut(rest, self.n_sequences, self.n_states, self.n_summed,
                                                                   self.n_carried, self.n_stacked)
        return Groups(steps, sequences, states, stacked, summed, carried, wholes)

    def inner_inputs(self, variables):
        """The inner graph's inputs by groups."""
        counts = [len(taps) for taps in self.taps]
        sequences, ahead, taps, carried, wholes = _cut(variables, self.n_sequences, self.n_ahead, sum(counts),
                                                       self.n_carried)
        return Groups(None, sequences, _cut(taps, *counts)[:-1], (), (), carried, wholes, ahead=ahead)

    def inner_outputs(self, variables):
        """The inner graph's outputs by groups."""
        states, stacked, summed, carried, rest = _cut(variables, self.n_states, self.n_stacked, self.n_summed,
                                                      self.n_carried)
        return Groups(None, (), states, stacked, summed, carried, (), rest[0] if rest else None)

    def outer_outputs(self, variables):
        """A node's outputs by groups; ``steps`` is how many a while loop has done, None of other loops."""
        states, stacked, summed, carried, rest = _cut(variables, self.n_states, self.n_stacked, self.n_summed,
                                                      self.n_carried)
        return Groups(rest[0] if rest else None, (), states, stacked, summed, carried)


def _cut(values, *counts):
    """A sequence cut into tuples of these lengths, and one with the rest."""
    ends = [0, *accumulate(counts)]
    return tuple([tuple(values[start:end]) for start, end in zip(ends, [*ends[1:], None])])
