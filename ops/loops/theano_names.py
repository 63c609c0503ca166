"""Theano's names for the parts of a loop, for programs that look into graphs.

Theano's op takes lists of inputs and returns the part that belongs to a group; so do these methods.
"""

PLACES = ("outer_inp", "inner_inp", "inner_out", "outer_out")


class TheanoNames:
    """Attributes and methods of Theano's ``Scan`` that other code of phintys does not need."""

    @property
    def n_seqs(self):
        """How many sequences there are."""
        return self.parts.n_sequences

    @property
    def n_nit_sot(self):
        """How many outputs later steps do not read."""
        return self.parts.n_stacked

    @property
    def as_while(self):
        """Whether a condition ends the loop."""
        return self.parts.is_while

    @property
    def truncate_gradient(self):
        """The number of last steps through which gradients flow; -1: all."""
        return self.options.truncate_gradient

    @property
    def profile(self):
        """Whether steps are measured, as the user gave it; see ``step_profile``."""
        return self.options.profile

    @property
    def var_mappings(self):
        """Which inputs and outputs, outside and inside, belong to one sequence, state or other value.

        Returns
        -------
        dict
            ``"outer_inp_from_inner_inp"`` and its like → position → position (outside, where there is one of each), or
            list of positions (inside). Where there is none outside it is -1.
        """
        return {f"{wanted}_from_{given}": {key: value for unit in self._units() for key in _as_list(unit[given])
                                           for value in [unit[wanted]]}
                for given in PLACES for wanted in PLACES if wanted != given}

    def _units(self):
        """The positions that belong together, as dictionaries from each of ``PLACES`` to a position, or positions."""
        parts, outer_in = self.parts, self.outer_of_inner_positions()
        first_sum = parts.n_states + parts.n_stacked
        outputs = {1 + parts.n_sequences + number: number for number in range(parts.n_states)}
        outputs.update({1 + parts.n_sequences + parts.n_states + number: first_sum + number
                        for number in range(parts.n_summed + parts.n_carried)})
        outputs.update({parts.position_of_counts + number: parts.n_states + number
                        for number in range(parts.n_stacked)})
        units = []
        for position in range(max([*outer_in, *outputs, 0]) + 1):
            inside = [number for number, outer in enumerate(outer_in) if outer == position]
            output = outputs.get(position, -1)
            units.append(dict(zip(PLACES, (position, inside, [output] if output >= 0 else [], output))))
        return units

    def outer_of_inner_positions(self):
        """For each inner input the position of the input outside that it is a part of."""
        parts = self.parts
        states = 1 + parts.n_sequences
        carried = states + parts.n_states + parts.n_summed
        positions = [*range(1, states), *[1] * parts.n_ahead,
                     *[states + number for number, taps in enumerate(parts.taps) for _ in taps],
                     *range(carried, carried + parts.n_carried)]
        wholes = len(self.local_inputs) - len(positions)
        return positions + [carried + parts.n_carried + parts.n_stacked + number for number in range(wholes)]

    def inner_seqs(self, list_inputs):
        """Of the inner inputs, the rows of sequences."""
        return list(self.parts.inner_inputs(list_inputs).sequences)

    def outer_seqs(self, list_inputs):
        """Of a node's inputs, the sequences."""
        return list(self.parts.outer_inputs(getattr(list_inputs, "inputs", list_inputs)).sequences)

    def inner_non_seqs(self, list_inputs):
        """Of the inner inputs, those that are the same in each step."""
        return list(self.parts.inner_inputs(list_inputs).wholes)

    def outer_non_seqs(self, list_inputs):
        """Of a node's inputs, those that are the same in each step."""
        return list(self.parts.outer_inputs(getattr(list_inputs, "inputs", list_inputs)).wholes)


def _as_list(positions):
    """Positions as a list; there is none at -1."""
    return positions if isinstance(positions, list) else [positions] if positions >= 0 else []
