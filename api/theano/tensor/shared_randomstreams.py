"""RandomStreams: random variables whose numbers are those of a ``numpy.random.RandomState`` for the same seed."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.variable import Variable
from phintys.ops.random.generator_states import words_of_random_state
from phintys.ops.random.random_function import SeededState, seeded, seeds_of_streams
from phintys.ops.random.vector_states import STATE_TYPE
from phintys.shared import RandomStateSharedVariable, RandomVectorSharedVariable, randomstate_constructor
from phintys.tensor.raw_random import RandomStreamsBase
from phintys.theano_finder import lookup

if TYPE_CHECKING:
    from phintys.graph.op import Op
    from phintys.ops.operators import TensorVariable

__all__ = ["RandomStateSharedVariable", "RandomStreams", "randomstate_constructor"]


class RandomStreams(RandomStreamsBase):
    """Makes random variables; each has its own state, a shared ``numpy.random.RandomState``.

    The state is stored as a vector, from which kernels draw.

    The seed of each state is drawn from ``RandomState(seed)``, in the order in which the variables are made. The new
    state is the default update of the state, so a function draws new numbers in each call.

    Parameters
    ----------
    seed : int, sequence of int or Variable, optional
        By default a new one each time. A variable, an integer or a vector of integers: the numbers follow from its
        value in each call, and are those of streams with this seed. Then there are no states between calls: the
        attribute ``rng`` of a random variable is a computed vector, and nothing is updated.

    Attributes
    ----------
    state_updates : list of (RandomStateSharedVariable, Variable)
        For each random variable its state and the new state; they are also the attributes ``rng`` and ``update`` of
        the random variable.

    Examples
    --------
    >>> srng = RandomStreams(seed=234)
    >>> draw = phintys.function([], srng.normal((2, 2)))
    """

    _symbolic = False                               # of streams that were pickled before there were symbolic seeds

    def __init__(self, seed: int | None = None) -> None:
        self.state_updates = []
        self.default_instance_seed = seed
        self._symbolic, self._made = isinstance(seed, Variable), 0
        self.gen_seedgen = None if self._symbolic else seeded(seed)

    def updates(self) -> Any:
        """A copy of ``state_updates``: updates for a function."""
        return list(self.state_updates)

    def seed(self, seed: Any = None) -> Any:
        """Give all states new seeds, which follow from ``seed``; by default from that of the constructor.

        Parameters
        ----------
        seed : int, sequence of int or Variable, optional
            For a variable no state is changed: a function with the returned updates seeds all states by its value.

        Returns
        -------
        list of (RandomStateSharedVariable, Variable) or None
            The updates, for a variable.

        Raises
        ------
        ValueError
            If the seed is out of range; no state is changed.
        TypeError
            If it is neither an integer nor a sequence of integers.
        """
        if isinstance(seed, Variable):
            return [(state, SeededState(position)(seed)) for position, (state, _) in enumerate(self.state_updates)]
        if self._symbolic:
            raise ValueError(f"the numbers follow from the value of {self.default_instance_seed} in each call: there "
                             "are no states to seed")
        seeds = seeds_of_streams(seeded(self.default_instance_seed if seed is None else seed))
        for state, _ in self.state_updates:
            state.set_value(numpy.random.RandomState(next(seeds)), borrow=True)

    def __getitem__(self, item):
        """The state of a shared variable of this class: ``item.get_value(borrow=True)``."""
        return item.get_value(borrow=True)

    def __setitem__(self, item, val):
        item.set_value(val, borrow=True)

    def gen(self, op: Op, *args: Any, **kwargs: Any) -> TensorVariable:
        """Make a random variable with a new state.

        Parameters
        ----------
        op : callable
            A function such as ``raw_random.uniform``: called with the state, ``*args`` and ``**kwargs``, it returns
            the new state and the sample.

        Returns
        -------
        Variable
            The sample.
        """
        if self._symbolic:
            return self._of_symbolic_seed(op, args, kwargs)
        fresh = numpy.random.RandomState(next(seeds_of_streams(self.gen_seedgen)))
        state = RandomVectorSharedVariable(None, STATE_TYPE, words_of_random_state(fresh), False)
        state.tag.is_rng = True
        new_state, sample = op(state, *args, **kwargs)
        sample.rng, sample.update = state, (state, new_state)
        self.state_updates.append(sample.update)
        state.default_update = new_state
        return sample

    def _of_symbolic_seed(self, op, args, kwargs):
        state = SeededState(self._made)(self.default_instance_seed)
        self._made += 1
        new_state, sample = op(state, *args, **kwargs)
        sample.rng, sample.update = state, (state, new_state)
        return sample


__getattr__ = lookup(__name__)
