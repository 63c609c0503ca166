"""RandomStreams: random variables whose numbers are those of a ``numpy.random.RandomState`` for the same seed."""
import numpy

from phintys.missing_names import lookup
from phintys.ops.random.generator_states import words_of_random_state
from phintys.ops.random.vector_states import STATE_TYPE
from phintys.shared import RandomStateSharedVariable, RandomVectorSharedVariable, randomstate_constructor
from phintys.tensor.raw_random import RandomStreamsBase

__all__ = ["RandomStateSharedVariable", "RandomStreams", "randomstate_constructor"]


class RandomStreams(RandomStreamsBase):
    """Makes random variables; each has its own state, a shared ``numpy.random.RandomState``.

    The state is stored as a vector, from which kernels draw.

    The seed of each state is drawn from ``RandomState(seed)``, in the order in which the variables are made. The new
    state is the default update of the state, so a function draws new numbers in each call.

    Parameters
    ----------
    seed : int, optional
        By default a new one each time.

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

    def __init__(self, seed=None):
        self.state_updates = []
        self.default_instance_seed = seed
        self.gen_seedgen = _seeded(seed)

    def updates(self):
        """A copy of ``state_updates``: updates for a function."""
        return list(self.state_updates)

    def seed(self, seed=None):
        """Give all states new seeds, which follow from ``seed``; by default from that of the constructor.

        Raises
        ------
        ValueError
            If the seed is out of range; no state is changed.
        TypeError
            If it is neither an integer nor a sequence of integers.
        """
        seedgen = _seeded(self.default_instance_seed if seed is None else seed)
        for state, _ in self.state_updates:
            state.set_value(numpy.random.RandomState(int(seedgen.randint(2 ** 30))), borrow=True)

    def __getitem__(self, item):
        """The state of a shared variable of this class: ``item.get_value(borrow=True)``."""
        return item.get_value(borrow=True)

    def __setitem__(self, item, val):
        item.set_value(val, borrow=True)

    def gen(self, op, *args, **kwargs):
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
        fresh = numpy.random.RandomState(int(self.gen_seedgen.randint(2 ** 30)))
        state = RandomVectorSharedVariable(None, STATE_TYPE, words_of_random_state(fresh), False)
        state.tag.is_rng = True
        new_state, sample = op(state, *args, **kwargs)
        sample.rng, sample.update = state, (state, new_state)
        self.state_updates.append(sample.update)
        state.default_update = new_state
        return sample


def _seeded(seed):
    """The ``RandomState`` from which the seeds of states are drawn."""
    try:
        return numpy.random.RandomState(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"a seed is an integer from 0 to 2**32 - 1, a sequence of them, or None, not {seed!r}") \
            from None


__getattr__ = lookup(__name__)
