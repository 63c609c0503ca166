"""Random numbers of ``numpy.random.RandomState``: functions that draw from a state; methods of RandomStreams."""
from __future__ import annotations

from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

import phintys as theano  # programs that import all names of this module find Theano's package among them
from phintys.graph import public_names as _public_names
from phintys.graph.config import config
from phintys.graph.variable import Variable
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.elementwise_functions import eq, switch
from phintys.ops.indexing.permutation import permute_row_elements
from phintys.ops.random.random_function import RandomFunction
from phintys.ops.random.random_state_type import RandomStateType, random_state_type
from phintys.ops.random.raw_distributions import (
    _infer_ndim_bcast,
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
from phintys.ops.shape.join import concatenate
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.tensor_type import TensorType
from phintys.theano_finder import lookup

if TYPE_CHECKING:
    from phintys.ops.operators import TensorVariable, _TensorLike

__all__ = ["RandomFunction", "RandomStateType", "RandomStreamsBase", "binomial", "choice", "choice_helper",
           "multinomial", "multinomial_helper", "normal", "permutation", "permutation_helper", "poisson",
           "random_integers", "random_integers_helper", "random_state_type", "theano", "uniform"]


# The other distributions of RandomState, whose own methods draw: name → parameters, with their defaults.
DISTRIBUTIONS = {
    "beta": "a b", "chisquare": "df", "dirichlet": "alpha", "exponential": "scale=1.0", "f": "dfnum dfden",
    "gamma": "shape scale=1.0", "geometric": "p", "gumbel": "loc=0.0 scale=1.0", "hypergeometric": "ngood nbad nsample",
    "laplace": "loc=0.0 scale=1.0", "logistic": "loc=0.0 scale=1.0", "lognormal": "mean=0.0 sigma=1.0",
    "logseries": "p", "negative_binomial": "n p", "noncentral_chisquare": "df nonc",
    "noncentral_f": "dfnum dfden nonc", "pareto": "a", "power": "a", "rayleigh": "scale=1.0", "standard_cauchy": "",
    "standard_exponential": "", "standard_gamma": "shape", "standard_t": "df", "tomaxint": "",
    "triangular": "left mode right", "vonmises": "mu kappa", "wald": "mean scale", "weibull": "a", "zipf": "a",
}
COUNTS = frozenset("geometric hypergeometric logseries negative_binomial tomaxint zipf".split())
VECTORS = frozenset(["dirichlet"])                  # a sample is a vector


class MethodCall(NamedTuple):
    """A method of RandomState with further arguments by name, as the function of a `RandomFunction`."""

    name: str
    options: tuple = ()

    @property
    def __name__(self):
        return self.name

    def __call__(self, state: Any, *arguments: Any) -> Any:
        """Draw; the size is the last argument."""
        *parameters, size = arguments
        return getattr(state, self.name)(*parameters, size=size, **dict(self.options))


def _drawn(random_state, fn, parameters, size, ndim, dtype, added=0):
    """The new state, and a sample of a method of RandomState."""
    parameters = list(map(_as_parameter, parameters))
    if isinstance(size, (int, numpy.integer)) or isinstance(size, Variable) and size.ndim == 0:
        size = (size,)
    if size is None and (added or not parameters):
        size = ()
    _, size, flags = _infer_ndim_bcast(ndim, size, *([] if added else parameters))
    op = RandomFunction(fn, TensorType(dtype, (*flags, *[False] * added)), ndim_added=added)
    return op(random_state, size, *parameters)


def _as_parameter(value):
    """A parameter as a variable; numbers keep their precision, whatever ``config.floatX`` is."""
    numbers = None if isinstance(value, Variable) else numpy.asarray(value)
    return as_tensor_variable(value) if numbers is None or numbers.dtype.kind not in "biuf" else constant(numbers)


class RandomStreamsBase:
    """The methods that make random variables, for classes that have ``gen``.

    The function of the same name in ``raw_random`` describes the distribution; other distributions are those of the
    methods of ``numpy.random.RandomState``, whose parameters they have in the same order, with the size after them.

    Examples
    --------
    >>> issubclass(phintys.tensor.shared_randomstreams.RandomStreams, phintys.tensor.raw_random.RandomStreamsBase)
    True
    """

    def binomial(self, size: Any = None, n: _TensorLike = 1, p: _TensorLike = 0.5, ndim: int | None = None,
                 dtype: str = "int64", prob: _TensorLike | None = None) -> TensorVariable:
        """How many of ``n`` trials succeed, each with probability ``p``. ``prob`` is the old name of p."""
        return self.gen(binomial, size, n, p, ndim=ndim, dtype=dtype, prob=prob)

    def uniform(self, size: Any = None, low: _TensorLike = 0.0, high: _TensorLike = 1.0, ndim: int | None = None,
                dtype: str | None = None) -> TensorVariable:
        """Samples from the uniform distribution between ``low`` and ``high``."""
        return self.gen(uniform, size, low, high, ndim=ndim, dtype=dtype)

    def normal(self, size: Any = None, avg: _TensorLike = 0.0, std: _TensorLike = 1.0, ndim: int | None = None,
               dtype: str | None = None) -> TensorVariable:
        """Samples from the normal distribution with mean ``avg`` and standard deviation ``std``."""
        return self.gen(normal, size, avg, std, ndim=ndim, dtype=dtype)

    def random_integers(self, size: Any = None, low: _TensorLike = 0, high: _TensorLike = 1, ndim: int | None = None,
                        dtype: str = "int64") -> TensorVariable:
        """Integers from ``low`` to ``high``, both included."""
        return self.gen(random_integers, size, low, high, ndim=ndim, dtype=dtype)

    def choice(self, size: Any = None, a: _TensorLike = 2, replace: bool = True, p: _TensorLike | None = None,
               ndim: int | None = None, dtype: str = "int64") -> TensorVariable:
        """Elements of the vector ``a``, or of ``range(a)``, with or without replacement."""
        return self.gen(choice, size, a, replace, p, ndim=ndim, dtype=dtype)

    def poisson(self, size: Any = None, lam: _TensorLike | None = None, ndim: int | None = None,
                dtype: str = "int64") -> TensorVariable:
        """Samples from the Poisson distribution with expectation ``lam``."""
        return self.gen(poisson, size, lam, ndim=ndim, dtype=dtype)

    def permutation(self, size: Any = None, n: _TensorLike = 1, ndim: int | None = None,
                    dtype: str = "int64") -> TensorVariable:
        """Permutations of ``range(n)``, as many as ``size`` says, along the last dimension."""
        return self.gen(permutation, size, n, ndim=ndim, dtype=dtype)

    def multinomial(self, size: Any = None, n: _TensorLike = 1, pvals: _TensorLike = (0.5, 0.5),
                    ndim: int | None = None, dtype: str = "int64") -> TensorVariable:
        """How often each outcome occurs in ``n`` samples from the distributions along the last dimension of
        ``pvals``."""
        return self.gen(multinomial, size, n, pvals, ndim=ndim, dtype=dtype)

    # ---- as RandomState names them: the size is the last parameter ----
    def random_sample(self, size: Any = None, ndim: int | None = None, dtype: str | None = None) -> TensorVariable:
        """Uniform samples from 0 (included) to 1 (not included)."""
        return self.uniform(_as_size(size), ndim=ndim, dtype=dtype)

    random = random_sample

    def rand(self, *lengths: Any, dtype: str | None = None) -> TensorVariable:
        """Uniform samples from 0 to 1, of the given lengths."""
        return self.random_sample(lengths, dtype=dtype)

    def standard_normal(self, size: Any = None, ndim: int | None = None, dtype: str | None = None) -> TensorVariable:
        """Samples from the normal distribution with mean 0 and standard deviation 1."""
        return self.normal(_as_size(size), ndim=ndim, dtype=dtype)

    def randn(self, *lengths: Any, dtype: str | None = None) -> TensorVariable:
        """Samples from the standard normal distribution, of the given lengths."""
        return self.standard_normal(lengths, dtype=dtype)

    def randint(self, low: _TensorLike, high: _TensorLike | None = None, size: Any = None, dtype: str = "int64",
                ndim: int | None = None) -> TensorVariable:
        """Integers from ``low`` to ``high``, which is not included; from 0 to ``low`` without ``high``. The numbers
        depend on the dtype, as NumPy's do."""
        dtype = numpy.dtype(dtype).name
        low, high = (0, low) if high is None else (low, high)
        return self.gen(_drawn, MethodCall("randint", (("dtype", dtype),)), [low, high], size, ndim, dtype)

    def multivariate_normal(self, mean: _TensorLike, cov: _TensorLike, size: Any = None,
                            check_valid: str = "warn", tol: float = 1e-8, ndim: int | None = None,
                            dtype: str | None = None) -> TensorVariable:
        """Normal vectors along the last dimension, with a covariance matrix."""
        method = MethodCall("multivariate_normal", (("check_valid", check_valid), ("tol", tol)))
        return self.gen(_drawn, method, [mean, cov], size, ndim, dtype or config.floatX, 1)

    def shuffle(self, x: _TensorLike) -> TensorVariable:
        """``x`` with its rows in the order in which NumPy's ``shuffle``, which works in place, would put them."""
        x = as_tensor_variable(x)
        if x.type.ndim == 0:
            raise TypeError(f"shuffle takes a tensor with at least one dimension, got {x} of type {x.type}")
        count = x.shape[0]
        moved = count if x.type.ndim == 1 else switch(eq(x.size, 0), 0, count)
        order = self.permutation(n=moved)
        shuffled = x[concatenate([order, arange(moved, count)])]
        shuffled.rng, shuffled.update = order.rng, order.update
        return shuffled

    def shuffle_row_elements(self, input: _TensorLike) -> TensorVariable:
        """``input`` with each row (last dimension) in a random order, which is the attribute ``permutation`` of the
        result."""
        order = self.permutation(size=input.shape[:-1], n=input.shape[-1], ndim=input.ndim - 1)
        shuffled = permute_row_elements(input, order)
        shuffled.permutation = order
        return shuffled


def _as_size(size):
    """A size as Theano's methods take it: none and a number are sequences."""
    if size is None:
        return ()
    return (size,) if numpy.ndim(size) == 0 and getattr(size, "ndim", 0) == 0 else size


def _method(name, text):
    """A method of `RandomStreamsBase` for a row of ``DISTRIBUTIONS``."""
    given = [parameter.partition("=") for parameter in text.split()]
    names = [parameter for parameter, _, _ in given]
    signature = Signature([Parameter(parameter, Parameter.POSITIONAL_OR_KEYWORD,
                                     default=float(default) if default else Parameter.empty)
                           for parameter, _, default in [("self", "", ""), *given]]
                          + [Parameter(option, Parameter.POSITIONAL_OR_KEYWORD, default=None)
                             for option in ("size", "ndim", "dtype")])

    def draw(*arguments, **named):
        bound = signature.bind(*arguments, **named)
        bound.apply_defaults()
        values = bound.arguments
        dtype = values["dtype"] or ("int64" if name in COUNTS else config.floatX)
        return values["self"].gen(_drawn, name, [values[parameter] for parameter in names], values["size"],
                                  values["ndim"], dtype, int(name in VECTORS))

    draw.__name__, draw.__qualname__ = name, f"RandomStreamsBase.{name}"
    draw.__signature__ = signature
    draw.__doc__ = (f"Samples of the distribution ``numpy.random.RandomState.{name}``, of the parameters "
                    f"{', '.join(names) or 'none'}; they have no gradient.")
    return draw


for _name, _text in DISTRIBUTIONS.items():
    setattr(RandomStreamsBase, _name, _method(_name, _text))

_public_names.adopt(globals())
__getattr__ = lookup(__name__)
