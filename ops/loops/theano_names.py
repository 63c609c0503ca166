"""Theano's names for the parts of a loop, for programs that look into graphs.

Theano's op takes lists of inputs and returns the part that belongs to a group; so do these methods.
"""


class TheanoNames:
    """What ``Scan`` of Theano has and other code of phintys does not need."""

    @property
    def n_seqs(self):
        """How many sequences there are."""
        return self.parts.n_sequences

    @property
    def n_nit_sot(self):
        """How many outputs are not fed back."""
        return self.parts.n_stacked

    @property
    def as_while(self):
        """Whether a condition ends the loop."""
        return self.parts.is_while

    @property
    def truncate_gradient(self):
        """Through how many last steps gradients flow; -1: all."""
        return self.options.truncate_gradient

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
