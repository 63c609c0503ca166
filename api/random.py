"""Random numbers of NumPy's ``Generator``, drawn in compiled functions: ``phintys.random.default_rng(seed)``.

A generator makes random variables. Each has its own state, a shared vector of uint64; the new state is the state's
default update. The first variable of ``default_rng(seed)`` draws the same numbers as
``numpy.random.default_rng(seed)``, bit by bit. The others draw the numbers of its children,
``numpy.random.default_rng(seed).spawn(n)``, one child for each variable.
"""
from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph import public_names as _public_names
from phintys.graph.config import config
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.elementwise_functions import cast, eq, le, lt, switch
from phintys.ops.indexing.permutation import permute_row_elements
from phintys.ops.random.draw import DISTRIBUTIONS, Draw
from phintys.ops.random.generator_call import METHODS, GeneratorCall
from phintys.ops.random.generator_order import GeneratorOrder
from phintys.ops.random.generator_states import KINDS, bit_generator_of, kind_of, words_of
from phintys.ops.random.sampling import rank_of, size_vector
from phintys.ops.rearranging.rearranging import moveaxis
from phintys.ops.shape.join import concatenate
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType
from phintys.shared import TensorSharedVariable
from phintys.theano_finder import lookup as _lookup

if TYPE_CHECKING:
    from phintys.ops.operators import TensorVariable, _TensorLike

__all__ = ["Generator", "GeneratorState", "default_rng"]


class GeneratorState(TensorSharedVariable):
    """The shared state of a random variable: a vector of uint64, which also says the kind of its bit generator.

    Examples
    --------
    >>> rng = phintys.random.default_rng(3)
    >>> numpy.allclose(rng.uniform(size=2).eval(), numpy.random.default_rng(3).uniform(size=2))
    True
    """

    @property
    def kind(self) -> Any:
        """The name of the class of the bit generator in ``numpy.random``."""
        return KINDS[int(self.container.get(borrow=True)[0])]

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the state.

        Parameters
        ----------
        new_value : numpy.random.Generator, numpy.random.BitGenerator or vector of uint64
            A generator of the same kind, or a vector returned by ``get_value`` of such a state.
        borrow : bool
            As for other shared variables.

        Raises
        ------
        ValueError
            If it is the state of another kind of generator; the old state stays.
        TypeError
            If it is not a state.
        """
        if not isinstance(new_value, numpy.ndarray):
            new_value = words_of(getattr(new_value, "bit_generator", new_value))
        old = self.container.get(borrow=True)
        if new_value.dtype == old.dtype and (new_value.shape != old.shape or new_value[0] != old[0]):
            raise ValueError(f"the state of a {self.kind} is a vector of {len(old)} numbers, the first of which is "
                             f"{old[0]}: this is the state of another generator, {new_value}")
        super().set_value(new_value, borrow=borrow)

    def get_generator(self) -> Any:
        """A ``numpy.random.Generator`` that will draw the same numbers."""
        return numpy.random.Generator(bit_generator_of(self.get_value(borrow=True)))


class Generator:
    """Makes random variables with the distributions of ``numpy.random.Generator``, under the same names.

    All methods take the parameters of NumPy's methods, which may be variables and are broadcast together; ``size``: an
    integer, a sequence of integers and integer variables, an integer vector, or None for the shape of the parameters;
    and ``ndim``, the number of dimensions, which is needed if it does not follow from the size. Values of parameters
    are checked when a function runs: a ``ValueError`` names the parameter, and no state changes.

    Real samples have the dtype ``config.floatX`` unless ``dtype`` is given. If NumPy has a separate algorithm for
    float32 (``random``, ``uniform``, ``normal``, ``exponential``, ``gamma``), float32 is drawn by it; other samples are
    drawn in float64 and rounded.

    Parameters
    ----------
    seed : None, int, sequence of int, numpy.random.SeedSequence, BitGenerator or Generator
        As for ``numpy.random.default_rng``. A generator is copied, and never changed.

    Attributes
    ----------
    state_updates : list of (GeneratorState, Variable)
        For each random variable its state and the new state; they are also its attributes ``rng`` and ``update``.

    Examples
    --------
    >>> rng = phintys.random.default_rng(5)
    >>> draw = phintys.function([], rng.normal(size=3))
    >>> bool((draw() == numpy.random.default_rng(5).normal(size=3)).all())
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.state_updates = []
        self._start(seed)

    def _start(self, seed):
        try:
            self._source = numpy.random.default_rng(deepcopy(seed))
        except (TypeError, ValueError) as error:
            raise type(error)(f"a seed is an integer of at least 0, a sequence of them, a SeedSequence, a generator or "
                              f"None, not {seed!r}") from None
        self._kind = kind_of(self._source.bit_generator)
        self._seed_sequence = self._source.bit_generator.seed_seq
        self._started = False

    def _next_state(self):
        """The state of the next random variable, as words."""
        if not self._started:
            self._started = True
            return words_of(self._source.bit_generator)
        child, = self._seed_sequence.spawn(1)
        return words_of(type(self._source.bit_generator)(child))

    def seed(self, seed: Any = None) -> None:
        """Start all random variables anew, as ``default_rng(seed)`` would in the order in which they were made.

        Raises
        ------
        ValueError
            If the seed is out of range, or makes another kind of generator; no state is changed.
        """
        fresh = type(self)(seed)
        if fresh._kind != self._kind:
            raise ValueError(f"the random variables draw from a {self._kind}, and the seed is a {fresh._kind}")
        states = [fresh._next_state() for _ in self.state_updates]
        self._source, self._seed_sequence, self._started = fresh._source, fresh._seed_sequence, fresh._started
        for (state, _), words in zip(self.state_updates, states):
            state.set_value(words, borrow=True)

    def updates(self) -> Any:
        """A copy of ``state_updates``: updates for a function."""
        return list(self.state_updates)

    def _draw(self, name, parameters, size, ndim, dtype):
        """Make a random variable with a new state."""
        parameters = [as_tensor_variable(parameter) for parameter in parameters]
        if size is None:
            size = sum(parameters[1:], parameters[0]).shape if parameters else ()
        size, known = size_vector(size)
        ndim = rank_of(size, known) if ndim is None else ndim
        drawn = dtype if dtype in DISTRIBUTIONS[name].dtypes else DISTRIBUTIONS[name].dtypes[0]
        return cast(self._from_next_state(Draw(name, self._kind, drawn, ndim), size, parameters), dtype)

    def _from_next_state(self, op, size, parameters):
        """A sample of the op from a new state."""
        state = GeneratorState(None, TensorType("uint64", (False,)), self._next_state(), False)
        state.tag.is_rng = True
        new_state, sample = op(state, size, *parameters)
        state.default_update = new_state
        self.state_updates.append((state, new_state))
        return sample

    def _finished(self, sample):
        """The random variable that the user gets, with its state."""
        sample.rng, sample.update = self.state_updates[-1][0], self.state_updates[-1]
        return sample

    def _located(self, name, loc, scale, size, ndim, dtype):
        """``loc + scale * sample``; None means the location 0."""
        dtype = _real(dtype)
        parameters = [scale] if loc is None else [loc, scale]
        sample = self._draw(name, parameters, size, ndim, dtype)
        if not (isinstance(scale, float) and scale == 1.0):
            sample = cast(scale, dtype) * sample
        if not (loc is None or isinstance(loc, float) and loc == 0.0):
            sample = cast(loc, dtype) + sample
        return self._finished(sample)

    def _plain(self, name, parameters, size, ndim, dtype):
        return self._finished(self._draw(name, parameters, size, ndim, dtype))

    # ---- of a location and a scale, with gradients by them ----
    def random(self, size: Any = None, dtype: str | None = None, ndim: int | None = None) -> TensorVariable:
        """Uniform samples from 0 (included) to 1 (not included)."""
        return self._plain("random", (), size, ndim, _real(dtype))

    def uniform(self, low: _TensorLike = 0.0, high: _TensorLike = 1.0, size: Any = None, dtype: str | None = None,
                ndim: int | None = None) -> TensorVariable:
        """Uniform samples from ``low`` to ``high``; they have gradients by both."""
        dtype = _real(dtype)
        low, width = as_tensor_variable(low), as_tensor_variable(high) - low
        sample = self._draw("random", [width], (low + width).shape if size is None else size, ndim, dtype)
        return self._finished(cast(low, dtype) + cast(width, dtype) * sample)

    def normal(self, loc: _TensorLike = 0.0, scale: _TensorLike = 1.0, size: Any = None, dtype: str | None = None,
               ndim: int | None = None) -> TensorVariable:
        """Normal samples with mean ``loc`` and standard deviation ``scale``; they have gradients by both."""
        return self._located("normal", loc, scale, size, ndim, dtype)

    def standard_normal(self, size: Any = None, dtype: str | None = None, ndim: int | None = None) -> TensorVariable:
        """Normal samples with mean 0 and standard deviation 1."""
        return self._plain("normal", (), size, ndim, _real(dtype))

    def exponential(self, scale: _TensorLike = 1.0, size: Any = None, dtype: str | None = None,
                    ndim: int | None = None) -> TensorVariable:
        """Exponential samples with mean ``scale``; they have a gradient by it."""
        return self._located("exponential", None, scale, size, ndim, dtype)

    def standard_exponential(self, size: Any = None, dtype: str | None = None,
                             ndim: int | None = None) -> TensorVariable:
        """Exponential samples with mean 1."""
        return self._plain("exponential", (), size, ndim, _real(dtype))

    def laplace(self, loc: _TensorLike = 0.0, scale: _TensorLike = 1.0, size: Any = None, dtype: str | None = None,
                ndim: int | None = None) -> TensorVariable:
        """Samples of the Laplace distribution; they have gradients by ``loc`` and ``scale``."""
        return self._located("laplace", loc, scale, size, ndim, dtype)

    def gumbel(self, loc: _TensorLike = 0.0, scale: _TensorLike = 1.0, size: Any = None, dtype: str | None = None,
               ndim: int | None = None) -> TensorVariable:
        """Samples of the Gumbel distribution; they have gradients by ``loc`` and ``scale``."""
        return self._located("gumbel", loc, scale, size, ndim, dtype)

    def logistic(self, loc: _TensorLike = 0.0, scale: _TensorLike = 1.0, size: Any = None, dtype: str | None = None,
                 ndim: int | None = None) -> TensorVariable:
        """Samples of the logistic distribution; they have gradients by ``loc`` and ``scale``."""
        return self._located("logistic", loc, scale, size, ndim, dtype)

    def rayleigh(self, scale: _TensorLike = 1.0, size: Any = None, dtype: str | None = None,
                 ndim: int | None = None) -> TensorVariable:
        """Samples of the Rayleigh distribution; they have a gradient by ``scale``."""
        return self._located("rayleigh", None, scale, size, ndim, dtype)

    def gamma(self, shape: _TensorLike, scale: _TensorLike = 1.0, size: Any = None, dtype: str | None = None,
              ndim: int | None = None) -> TensorVariable:
        """Samples of the gamma distribution; they have a gradient by ``scale``, and none by ``shape``."""
        dtype = _real(dtype)
        sample = self._draw("gamma", [shape, scale], size, ndim, dtype)
        return self._finished(sample if isinstance(scale, float) and scale == 1.0 else cast(scale, dtype) * sample)

    def standard_gamma(self, shape: _TensorLike, size: Any = None, dtype: str | None = None,
                       ndim: int | None = None) -> TensorVariable:
        """Samples of the gamma distribution with scale 1."""
        return self.gamma(shape, 1.0, size, dtype, ndim)

    # ---- integers ----
    def integers(self, low: _TensorLike, high: _TensorLike | None = None, size: Any = None, dtype: str = "int64",
                 endpoint: bool = False, ndim: int | None = None) -> TensorVariable:
        """Integers from ``low`` to ``high``, which is included if ``endpoint``; from 0 to ``low`` without ``high``.

        The numbers are those that NumPy draws for int64, whatever ``dtype`` is.
        """
        low, high = (0, low) if high is None else (low, high)
        low, high = cast(low, "int64"), cast(high, "int64")
        last = high if endpoint else high - 1
        return self._plain("integers", (low, last, le(low, last)), size, ndim, dtype)


    # ---- orders and choices ----
    def _order(self, name, size, ndim, parameters, **options):
        """A sample of a new state, with a size of ``ndim`` dimensions."""
        return self._from_next_state(GeneratorOrder(name, self._kind, ndim, **options), size, parameters)

    def multinomial(self, n: _TensorLike, pvals: _TensorLike, size: Any = None,
                    ndim: int | None = None) -> TensorVariable:
        """How often each outcome occurs in ``n`` trials with the probabilities ``pvals``, along the last dimension.

        Probabilities that do not sum to 1 are an error; NumPy adds the missing part to the last one.
        """
        n, pvals = as_tensor_variable(n), cast(as_tensor_variable(pvals), "float64")
        if pvals.type.ndim == 0:
            raise TypeError(f"multinomial: pvals must have at least 1 dimension, got {pvals} of type {pvals.type}")
        if size is None:
            size = (n + cast(pvals[..., 0], "int64")).shape
        size, known = size_vector(size)
        ndim = rank_of(size, known) if ndim is None else ndim
        return self._finished(self._order("multinomial", size, ndim, [n, pvals]))

    def choice(self, a: _TensorLike, size: Any = None, replace: bool = True, p: _TensorLike | None = None,
               axis: int = 0, shuffle: bool = True, ndim: int | None = None) -> TensorVariable:
        """Elements of ``a`` along an axis, or of ``range(a)`` for a number, with probabilities ``p`` if given."""
        a = as_tensor_variable(a)
        size, known = size_vector(() if size is None else size)
        ndim = rank_of(size, known) if ndim is None else ndim
        p = as_tensor_variable(numpy.zeros(0) if p is None else p)
        count = a.shape[axis] if a.type.ndim else a
        chosen = self._order("choice", size, ndim, [count, int(bool(replace)), p], shuffled=shuffle, given=p.type.dtype)
        return self._finished(a.take(chosen, axis=axis) if a.type.ndim else chosen)

    def permutation(self, x: _TensorLike, axis: int = 0) -> TensorVariable:
        """``x`` with its slices along an axis in another order, or ``range(x)`` for a number."""
        x = as_tensor_variable(x)
        order = self._order("permutation", (), 0, [x.shape[axis] if x.type.ndim else x])
        return self._finished(x.take(order, axis=axis) if x.type.ndim else order)

    def shuffle(self, x: _TensorLike, axis: int = 0) -> TensorVariable:
        """``x`` with its slices along an axis in another order; NumPy's ``shuffle`` works in place, this one returns a
        new tensor."""
        x = as_tensor_variable(x)
        if x.type.ndim == 0:
            raise TypeError(f"shuffle takes a tensor with at least one dimension, got {x} of type {x.type}")
        if x.type.ndim == 1:
            return self.permutation(x, axis)
        count = x.shape[axis]
        moved = switch(eq(x.size, 0), 0, count)             # NumPy draws no order of slices without elements
        order = concatenate([self._order("permutation", (), 0, [moved]), arange(moved, count)])
        return self._finished(x.take(order, axis=axis))

    def permuted(self, x: _TensorLike, axis: int | None = None) -> TensorVariable:
        """``x`` with the elements of each line along an axis permuted independently; without an axis, all elements
        together."""
        x = as_tensor_variable(x)
        if axis is None:
            order = self._order("permutation", (), 0, [x.size])
            return self._finished(x.flatten()[order].reshape(x.shape, ndim=x.type.ndim))
        lines = moveaxis(x, axis, -1)
        orders = self._order("permutation", lines.shape[:-1], x.type.ndim - 1, [lines.shape[-1]])
        return self._finished(moveaxis(permute_row_elements(lines, orders), -1, axis))

    # ---- of parameters with conditions between them ----
    def hypergeometric(self, ngood: _TensorLike, nbad: _TensorLike, nsample: _TensorLike, size: Any = None,
                       ndim: int | None = None) -> TensorVariable:
        """How many of ``nsample`` items that are drawn without replacement are good."""
        ngood, nbad, nsample = map(as_tensor_variable, (ngood, nbad, nsample))
        return self._plain("hypergeometric", (ngood, nbad, nsample, le(nsample, ngood + nbad)), size, ndim, "int64")

    def triangular(self, left: _TensorLike, mode: _TensorLike, right: _TensorLike, size: Any = None,
                   dtype: str | None = None, ndim: int | None = None) -> TensorVariable:
        """Samples from ``left`` to ``right`` whose density is a triangle with its peak at ``mode``; they have no
        gradient."""
        left, mode, right = map(as_tensor_variable, (left, mode, right))
        conditions = le(left, mode), le(mode, right), lt(left, right)
        return self._plain("triangular", (left, mode, right, *conditions), size, ndim, _real(dtype))

    def dirichlet(self, alpha: _TensorLike, size: Any = None, ndim: int | None = None) -> TensorVariable:
        """Samples of the Dirichlet distribution, vectors along the last dimension; they have no gradient."""
        alpha = as_tensor_variable(alpha)
        if alpha.type.ndim != 1:
            raise TypeError(f"dirichlet: alpha must have 1 dimensions, got {alpha} of type {alpha.type}")
        size, known = size_vector(() if size is None else size)
        ndim = rank_of(size, known) if ndim is None else ndim
        return self._finished(self._order("dirichlet", size, ndim, [alpha]))

    # ---- drawn by NumPy itself ----
    def _called(self, name, parameters, size, ndim, options=()):
        """A sample of a method in ``METHODS``."""
        method, parameters = METHODS[name], [as_tensor_variable(parameter) for parameter in parameters]
        if size is None:
            size, ndim = size_vector(())[0], 0
        else:
            size, known = size_vector(size)
            ndim = rank_of(size, known) if ndim is None else ndim
            options = (*options, ("sized", True))
        op = GeneratorCall(name, self._kind, TensorType(method.dtype, (False,) * (ndim + method.added)), options)
        return self._finished(self._from_next_state(op, size, parameters))

    def multivariate_hypergeometric(self, colors: _TensorLike, nsample: _TensorLike, size: Any = None,
                                    method: str = "marginals", ndim: int | None = None) -> TensorVariable:
        """How many of each colour there are in ``nsample`` items that are drawn without replacement."""
        return self._called("multivariate_hypergeometric", [colors, nsample], size, ndim, (("method", method),))

    def multivariate_normal(self, mean: _TensorLike, cov: _TensorLike, size: Any = None, method: str = "svd",
                            ndim: int | None = None) -> TensorVariable:
        """Normal vectors along the last dimension, with a covariance matrix; they have no gradient."""
        return self._called("multivariate_normal", [mean, cov], size, ndim, (("method", method),))


# The other distributions: their names, parameters and checks are in the table.
def _method(name, distribution):
    names = [parameter for parameter, _ in distribution.parameters]
    counts = distribution.dtypes == ("int64",)

    def draw(self, *parameters, size=None, dtype=None, ndim=None, **named):
        given = dict(zip(names, parameters), **named)
        sizes = parameters[len(names):]
        if sizes and size is None:
            size, sizes = sizes[0], sizes[1:]
        if sizes or set(given) != set(names):
            raise TypeError(f"{name} takes the parameters {', '.join(names) or 'none'}, and size, dtype, ndim")
        dtype = dtype or "int64" if counts else _real(dtype)
        return self._plain(name, [given[parameter] for parameter in names], size, ndim, dtype)

    draw.__name__, draw.__qualname__ = name, f"Generator.{name}"
    draw.__doc__ = (f"Samples of the distribution ``numpy.random.Generator.{name}``, of the parameters "
                    f"{', '.join(names) or 'none'}; they have no gradient.")
    return draw


for _name, _distribution in DISTRIBUTIONS.items():
    if not hasattr(Generator, _name):
        setattr(Generator, _name, _method(_name, _distribution))


def _real(dtype):
    """The dtype of real samples."""
    return config.floatX if dtype is None or dtype == "floatX" else numpy.dtype(dtype).name


def default_rng(seed: int | None = None) -> Generator:
    """Make a `Generator`; see there for ``seed``.

    Returns
    -------
    Generator

    Examples
    --------
    >>> rng = phintys.random.default_rng(3)
    >>> draw = phintys.function([], rng.normal(size=2))
    >>> expected = numpy.random.default_rng(3)
    >>> numpy.allclose(draw(), expected.normal(size=2)), numpy.allclose(draw(), expected.normal(size=2))
    (True, True)
    """
    return Generator(seed)


_public_names.adopt(globals())


__getattr__ = _lookup(__name__)
