"""Random numbers of ``numpy.random.RandomState``: functions that draw from a state; methods of RandomStreams."""
import phintys as theano  # programs that import all names of this module find Theano's package among them
from phintys.graph import public_names as _public_names
from phintys.graph.variable import Variable
from phintys.missing_names import lookup
from phintys.ops.indexing.permutation import permute_row_elements
from phintys.ops.random.random_function import RandomFunction
from phintys.ops.random.random_state_type import RandomStateType, random_state_type
from phintys.ops.random.raw_distributions import (
    _infer_ndim_bcast,  # noqa: F401  (Theano's programs import it)
    binomial,
    choice,
    choice_helper,
    multinomial,
    multinomial_helper,
    normal,
    permutation,
    permutation_helper,
    poisson,
    random_integers,
    random_integers_helper,
    uniform,
)

__all__ = ["RandomFunction", "RandomStateType", "RandomStreamsBase", "binomial", "choice", "choice_helper",
           "multinomial", "multinomial_helper", "normal", "permutation", "permutation_helper", "poisson",
           "random_integers", "random_integers_helper", "random_state_type", "theano", "uniform"]


class RandomStreamsBase:
    """The methods that make random variables, for classes that have ``gen``.

    The function of the same name in ``raw_random`` describes the distribution.

    Examples
    --------
    >>> issubclass(phintys.tensor.shared_randomstreams.RandomStreams, phintys.tensor.raw_random.RandomStreamsBase)
    True
    """

    def binomial(self, size=None, n=1, p=0.5, ndim=None, dtype="int64", prob=None):
        """How many of ``n`` trials succeed, each with probability ``p``. ``prob`` is the old name of p."""
        return self.gen(binomial, size, n, p, ndim=ndim, dtype=dtype, prob=prob)

    def uniform(self, size=None, low=0.0, high=1.0, ndim=None, dtype=None):
        """Samples from the uniform distribution between ``low`` and ``high``."""
        return self.gen(uniform, size, low, high, ndim=ndim, dtype=dtype)

    def normal(self, size=None, avg=0.0, std=1.0, ndim=None, dtype=None):
        """Samples from the normal distribution with mean ``avg`` and standard deviation ``std``."""
        return self.gen(normal, size, avg, std, ndim=ndim, dtype=dtype)

    def random_integers(self, size=None, low=0, high=1, ndim=None, dtype="int64"):
        """Integers from ``low`` to ``high``, both included."""
        return self.gen(random_integers, size, low, high, ndim=ndim, dtype=dtype)

    def choice(self, size=None, a=2, replace=True, p=None, ndim=None, dtype="int64"):
        """Elements of the vector ``a``, or of ``range(a)``, with or without replacement."""
        return self.gen(choice, size, a, replace, p, ndim=ndim, dtype=dtype)

    def poisson(self, size=None, lam=None, ndim=None, dtype="int64"):
        """Samples from the Poisson distribution with expectation ``lam``."""
        return self.gen(poisson, size, lam, ndim=ndim, dtype=dtype)

    def permutation(self, size=None, n=1, ndim=None, dtype="int64"):
        """Permutations of ``range(n)``, as many as ``size`` says, along the last dimension."""
        return self.gen(permutation, size, n, ndim=ndim, dtype=dtype)

    def multinomial(self, size=None, n=1, pvals=(0.5, 0.5), ndim=None, dtype="int64"):
        """How often each outcome occurs in ``n`` samples from the distributions along the last dimension of
        ``pvals``."""
        return self.gen(multinomial, size, n, pvals, ndim=ndim, dtype=dtype)

    def shuffle_row_elements(self, input: Variable):
        """``input`` with each row (last dimension) in a random order, which is the attribute ``permutation`` of the
        result."""
        order = self.permutation(size=input.shape[:-1], n=input.shape[-1], ndim=input.ndim - 1)
        shuffled = permute_row_elements(input, order)
        shuffled.permutation = order
        return shuffled


_public_names.adopt(globals())
__getattr__ = lookup(__name__)
