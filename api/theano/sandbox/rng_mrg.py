"""MRG_RandomStreams: random numbers of MRG31k3p (L'Ecuyer and Touzin, 2000) in many independent streams.

Each variable that it makes has a shared state, a row of six numbers for each of its streams; the new state is the
state's default update. Uniform samples come from the generator; all other distributions are computed from them, by the
formulas of Theano, so a seed gives Theano's numbers.
"""
from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph import public_names as _public_names
from phintys.graph.config import config
from phintys.graph.gradients.view_op import undefined_grad
from phintys.graph.variable import Constant, Variable
from phintys.ops.cumulative.product import prod
from phintys.ops.elementwise.elementwise_functions import and_, cast, cos, ge, le, log, lt, sin, sqrt
from phintys.ops.elementwise.elementwise_functions import invert as not_
from phintys.ops.identity.assertion import Assert
from phintys.ops.indexing.nonzero import nonzero
from phintys.ops.random.mrg import (
    M1,
    M2,
    A1p72,
    A1p134,
    A2p72,
    A2p134,
    DotModulo,
    MrgUniformOfMany,
    ff_2p72,
    ff_2p134,
    matVecModM,
    mrg_uniform,
    mrg_uniform_base,
    multMatVect,
    substream_states,
)
from phintys.ops.random.mrg_normal import DRAWN, normal_samples
from phintys.ops.random.multinomial import ChoiceFromUniform, MultinomialFromUniform
from phintys.ops.random.sampling import rank_of, size_vector
from phintys.ops.reduction.reduction import all as all_
from phintys.ops.shape.join import join, stack
from phintys.ops.shape.reshape import reshape
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import upcast
from phintys.ops.types.tensor_type import TensorType
from phintys.shared import TensorSharedVariable, shared
from phintys.theano_finder import lookup

if TYPE_CHECKING:
    from phintys.ops.operators import TensorVariable, _TensorLike

__all__ = ["A1p134", "A1p72", "A2p134", "A2p72", "DotModulo", "M1", "M2", "MRG_RandomStreams", "ff_2p134", "ff_2p72",
           "guess_n_streams", "matVecModM", "mrg_uniform", "mrg_uniform_base", "multMatVect"]

INTEGERS = (int, numpy.integer)
MOST_STREAMS = 60 * 256
# The standard deviation of a normal distribution that is truncated at two standard deviations.
TRUNCATED_DEVIATION = .87962566103423978


def _is_probability(values):
    return and_(ge(values, 0), le(values, 1)) if isinstance(values, Variable) else (values >= 0) & (values <= 1)


def _is_deviation(values):
    """NaN is one, as for NumPy."""
    return not_(lt(values, 0)) if isinstance(values, Variable) else ~(values < 0)


def _checked(values, message, rule):
    """A parameter whose elements must obey a rule: constants do so now, others in each call."""
    if not isinstance(values, Constant):
        return Assert(message)(values, all_(rule(values)))
    if not rule(values.data).all():
        raise ValueError(f"{message}, got {values.data}")
    return values


class MrgState(TensorSharedVariable):
    """The shared state of a random variable: a matrix of int32 with a row of six numbers for each stream."""

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the state.

        Parameters
        ----------
        new_value : matrix of int32
            A matrix returned by ``get_value`` of such a state. It may have another number of streams.
        borrow : bool
            As for other shared variables.

        Raises
        ------
        ValueError
            If it is not a state of MRG31k3p; the old state stays.
        """
        if isinstance(new_value, (list, tuple)):
            new_value = self.type.filter(new_value)
        if isinstance(new_value, numpy.ndarray) and new_value.dtype == "int32":
            _check_state(new_value)
        super().set_value(new_value, borrow=borrow)


def _check_state(state):
    if state.ndim != 2 or state.shape[1] != 6 or not len(state):
        raise ValueError("the state of an MRG_RandomStreams has a row of 6 numbers for each stream: this is the state "
                         f"of another generator, an array of shape {state.shape}")
    for numbers, modulus in ((state[:, :3], M1), (state[:, 3:], M2)):
        if not (numbers.any(axis=1).all() and numbers.min() >= 0 and numbers.max() < modulus):
            raise ValueError("the state of an MRG_RandomStreams has in each row two times three numbers, not all 0, of "
                             f"which the first are from 0 to {M1 - 1} and the last from 0 to {M2 - 1}")


def _is_known(size):
    return isinstance(size, (tuple, list)) and all([isinstance(length, INTEGERS) for length in size])


def guess_n_streams(size: Any, warn: bool = False) -> int:
    """A good number of streams for samples of a size.

    Parameters
    ----------
    size : sequence of int, or Variable
    warn : bool
        Warn if the size is not known.

    Returns
    -------
    int
        A sixth of the number of samples, at most 15,360; 15,360 if the size is not known.

    Examples
    --------
    >>> phintys.sandbox.rng_mrg.guess_n_streams((3, 4))
    2
    """
    if _is_known(size):
        samples = math.prod([int(length) for length in size])
        return min(samples // 6 if samples > 6 else samples, MOST_STREAMS)
    if warn:
        warnings.warn(f"MRG_RandomStreams Can't determine #streams from size ({size}), guessing 60*256", stacklevel=3)
    return MOST_STREAMS


class MRG_RandomStreams:
    """Makes random variables of MRG31k3p; each has its own streams.

    Parameters
    ----------
    seed : int or sequence of six int
        One number, not 0, gives all six. The first three must be below 2147483647 and not all 0, the others below
        2147462579 and not all 0.

    Attributes
    ----------
    state_updates : list of tuple
        For each random variable: its shared state, the new state, and the requested size and number of streams.
    rstate : numpy.ndarray
        The six numbers from which the next streams start.

    Examples
    --------
    >>> srng = MRG_RandomStreams(seed=234)
    >>> f = phintys.function([], srng.uniform(size=(2, 2)))
    """

    def __init__(self, seed: int = 12345) -> None:
        self.state_updates = []
        self.default_instance_seed = seed
        self.set_rstate(seed)

    def updates(self) -> Any:
        """A copy of ``state_updates``."""
        return list(self.state_updates)

    def set_rstate(self, seed: int) -> None:
        """Start the next streams from a seed.

        Raises
        ------
        ValueError
            If a number is out of range; nothing is changed.
        TypeError
            If it is not one integer or six.
        """
        self.rstate = _seeded(seed)

    def seed(self, seed: Any = None) -> None:
        """Start all streams anew.

        Parameters
        ----------
        seed : int or sequence of six int, optional
            By default that of the constructor.
        """
        self.set_rstate(self.default_instance_seed if seed is None else seed)
        for state, _, size, nstreams in self.state_updates:
            states = self.get_substream_rstates(self.n_streams(size) if nstreams is None else nstreams, config.floatX)
            state.set_value(states, borrow=True)

    def inc_rstate(self) -> None:
        """Go 2**134 steps ahead, to the start of the next stream."""
        self.rstate = ff_2p134(self.rstate)

    def get_substream_rstates(self, n_streams: int, dtype: str, inc_rstate: bool = True) -> numpy.ndarray:
        """The states of ``n_streams`` streams that are 2**72 steps apart.

        Parameters
        ----------
        n_streams : int
        dtype : str
            Has no effect.
        inc_rstate : bool
            Call ``inc_rstate`` afterwards, so that no other variable gets these streams.

        Returns
        -------
        numpy.ndarray
            A matrix of int32 with six columns.
        """
        if not isinstance(dtype, str):
            raise TypeError(f"dtype should be a string, got {dtype!r}")
        if not 0 < n_streams < 2 ** 31:
            raise ValueError(f"the number of streams should be at least 1 and below 2**31, got {n_streams}")
        states = substream_states(self.rstate, n_streams)
        if inc_rstate:
            self.inc_rstate()
        return states

    def n_streams(self, size: Any) -> int:
        """The number of streams for a size; see `guess_n_streams`."""
        return guess_n_streams(size)

    def pretty_return(self, node_rstate: Any, new_rstate: TensorVariable, sample: TensorVariable, size: Any,
                      nstreams: Any) -> TensorVariable:
        """Give a sample its state and update, record them, and return it."""
        sample.rstate = node_rstate
        sample.update = (node_rstate, new_rstate)
        self.state_updates.append((node_rstate, new_rstate, size, nstreams))
        node_rstate.default_update = new_rstate
        return sample

    def _next_state(self, streams, dtype, target):
        """The shared state of a new random variable."""
        states = self.get_substream_rstates(streams, dtype)
        if target is not None:
            state = shared(states, target=target)
        else:
            state = MrgState(None, TensorType("int32", (False, False)), states, False)
        state.tag.is_rng = True
        return state

    def uniform(self, size: Any, low: _TensorLike = 0.0, high: _TensorLike = 1.0, ndim: int | None = None,
                dtype: str | None = None, nstreams: Any = None, **kwargs: Any) -> TensorVariable:
        """Samples from the uniform distribution between ``low`` and ``high``.

        Parameters
        ----------
        size : tuple of int and 0-d integer Variable, or integer vector
        low, high : tensor_like
            They are cast to ``dtype``.
        ndim : int, optional
            The number of dimensions, if ``size`` does not say it.
        dtype : str, optional
            float16, float32 or float64; by default the upcast of ``config.floatX`` and those of low and high.
        nstreams : int, optional
            The number of streams; by default `guess_n_streams`.

        Returns
        -------
        TensorVariable
            Its attributes ``rstate`` and ``update`` are the shared state, and the pair of it and the new state.

        Raises
        ------
        ValueError
            If a length is 0 or negative.
        TypeError
            If ``size`` is of another kind.
        NotImplementedError
            If low or high have more dimensions, or longer ones, than the samples.
        """
        low, high = as_tensor_variable(low), as_tensor_variable(high)
        if dtype is None:
            dtype = upcast(config.floatX, low.dtype, high.dtype)
        low, high = undefined_grad(cast(low, dtype)), undefined_grad(cast(high, dtype))
        _check_uniform_size(size)
        target = _target(kwargs, "uniform")
        streams = self.n_streams(size) if nstreams is None else nstreams
        node_rstate = self._next_state(streams, dtype, target)
        sampled = MrgUniformOfMany if nstreams is None and not _is_known(size) else mrg_uniform
        new_rstate, sample = sampled.new(node_rstate, ndim, dtype, size)
        sample = self.pretty_return(node_rstate, new_rstate, sample, size=size, nstreams=nstreams)
        result = sample * (high - low) + low
        if sample.type.broadcastable != result.type.broadcastable:
            raise NotImplementedError(
                "Increase the size to match the broadcasting pattern of `low` and `high` arguments")
        result.rstate, result.update = sample.rstate, sample.update
        return result

    def binomial(self, size: Any = None, n: _TensorLike = 1, p: _TensorLike = 0.5, ndim: int | None = None,
                 dtype: str = "int64", nstreams: Any = None, **kwargs: Any) -> TensorVariable:
        """Ones with probability ``p``, and zeros; ``n`` has to be 1.

        Parameters
        ----------
        size, ndim, nstreams
            As for `uniform`.
        p : tensor_like
        dtype : str
            Of the result.

        Raises
        ------
        NotImplementedError
            If ``n`` is not 1.
        ValueError
            If a constant ``p`` is not from 0 to 1. What is computed is checked in each call (``AssertionError``).
        """
        if n != 1:
            raise NotImplementedError("MRG_RandomStreams.binomial with n > 1")
        p = _checked(as_tensor_variable(p), "binomial: p must be from 0 to 1", _is_probability)
        p = undefined_grad(p)
        return cast(lt(self.uniform(size=size, nstreams=nstreams, **kwargs), p), dtype)

    def multinomial(self, size: Any = None, n: _TensorLike = 1, pvals: _TensorLike | None = None,
                    ndim: int | None = None, dtype: str = "int64", nstreams: Any = None,
                    **kwargs: Any) -> TensorVariable:
        """How often each outcome occurs in ``n`` samples of each row of ``pvals``.

        Parameters
        ----------
        size, ndim
            Have to be None.
        n : int or 0-d integer Variable
        pvals : matrix
            The probabilities, a row for each distribution. A number that is not a probability, or a row that does not
            sum to 1, raises a ``ValueError`` when the function runs.
        dtype : str
            Of the result; "auto": that of ``pvals``.

        Returns
        -------
        TensorVariable
            A matrix of the shape of ``pvals``.
        """
        if pvals is None:
            raise TypeError("You have to specify pvals")
        pvals = undefined_grad(as_tensor_variable(pvals))
        if size is not None:
            if any([isinstance(length, INTEGERS) and length <= 0 for length in size]):
                raise ValueError(f"The specified size contains a dimension with value <= 0, got {size!r}")
            raise ValueError("Provided a size argument to MRG_RandomStreams.multinomial, which does not use the size "
                             "argument.")
        if ndim is not None:
            raise ValueError("Provided an ndim argument to MRG_RandomStreams.multinomial, which does not use the ndim "
                             "argument.")
        if pvals.ndim != 2:
            raise NotImplementedError("MRG_RandomStreams.multinomial only implemented for pvals.ndim = 2")
        uniform = self.uniform(size=_samples_of_rows(pvals, n), ndim=1, nstreams=nstreams, **kwargs)
        return MultinomialFromUniform(dtype)(pvals, uniform, as_tensor_variable(n))

    def choice(self, size: Any = 1, a: _TensorLike | None = None, replace: bool = True,
               p: _TensorLike | None = None, ndim: int | None = None, dtype: str = "int64", nstreams: Any = None,
               **kwargs: Any) -> TensorVariable:
        """The outcomes of ``size`` samples without replacement from each row of ``p``.

        Parameters
        ----------
        size : int or 0-d integer Variable
            At most the number of columns of ``p``.
        a, ndim
            Have to be None.
        replace : bool
            Has to be False.
        p : matrix
            The probabilities, a row for each distribution. A number that is not a probability, or a row that does not
            sum to 1, raises a ``ValueError`` when the function runs.

        Returns
        -------
        TensorVariable
            A matrix with a row for each of ``p``, and ``size`` columns.
        """
        if replace:
            raise NotImplementedError("MRG_RandomStreams.choice only works without replacement for now.")
        if a is not None:
            raise TypeError("For now, a has to be None in MRG_RandomStreams.choice. Sampled values are between 0 and "
                            "p.shape[1]-1")
        if p is None:
            raise TypeError("For now, p has to be specified in MRG_RandomStreams.choice.")
        p = undefined_grad(as_tensor_variable(p))
        if ndim is not None:
            raise ValueError("ndim argument to MRG_RandomStreams.choice is not used.")
        if p.ndim != 2:
            raise NotImplementedError("MRG_RandomStreams.choice is only implemented for p.ndim = 2")
        uniform = self.uniform(size=_samples_of_rows(p, size), ndim=1, nstreams=nstreams, **kwargs)
        return ChoiceFromUniform(odtype=dtype)(p, uniform, as_tensor_variable(size))

    def multinomial_wo_replacement(self, size: Any = None, n: _TensorLike = 1, pvals: _TensorLike | None = None,
                                   ndim: int | None = None, dtype: str = "int64", nstreams: Any = None,
                                   **kwargs: Any) -> TensorVariable:
        """The old name of `choice`, for ``size=n`` and ``p=pvals``."""
        warnings.warn("MRG_RandomStreams.multinomial_wo_replacement() is deprecated and will be removed in the next "
                      "release of Theano. Please use MRG_RandomStreams.choice() instead.", stacklevel=2)
        if size is not None:
            raise ValueError(f"multinomial_wo_replacement takes n instead of size, got size={size}")
        return self.choice(size=n, a=None, replace=False, p=pvals, dtype=dtype, nstreams=nstreams, ndim=ndim, **kwargs)

    def normal(self, size: Any, avg: _TensorLike = 0.0, std: _TensorLike = 1.0, ndim: int | None = None,
               dtype: str | None = None, nstreams: Any = None, truncate: bool = False,
               **kwargs: Any) -> TensorVariable:
        """Samples from the normal distribution, by the method of Box and Muller.

        Parameters
        ----------
        size : int, sequence of int and 0-d integer Variable, or integer vector
        avg, std : tensor_like
            Mean and standard deviation. They are cast to ``dtype``, and have no gradient.
        ndim, dtype, nstreams
            As for `uniform`.
        truncate : bool
            No sample is more than two times ``std`` away from ``avg``; the standard deviation is smaller then.

        Raises
        ------
        ValueError
            If a constant ``std`` is negative. What is computed is checked in each call (``AssertionError``).
        """
        size = _check_size(size)
        std = _checked(as_tensor_variable(std), "normal: std must be at least 0", _is_deviation)
        avg, std = undefined_grad(as_tensor_variable(avg)), undefined_grad(std)
        if dtype is None:
            dtype = upcast(config.floatX, avg.dtype, std.dtype)
        avg, std = cast(avg, dtype), cast(std, dtype)
        if dtype in DRAWN and not truncate:
            return self._normal_at_once(size, ndim, dtype, nstreams, kwargs) * std + avg
        count = prod(size, dtype="int64")
        pairs = (count + count % 2) // 2
        options = {"ndim": 1, "dtype": dtype, "nstreams": nstreams, **kwargs}
        uniform = self.uniform((2 * pairs,), low=0., high=1., **options)
        radius = sqrt(-2.0 * log(uniform[:pairs]))
        theta = numpy.array(2.0 * numpy.pi, dtype=dtype) * uniform[pairs:]
        directions = [cos(theta), sin(theta)]
        samples = [radius * direction for direction in directions]
        if truncate:
            samples = self._truncated(samples, directions, options)
        samples = reshape(join(0, *samples)[:count], size, ndim=ndim)
        return samples * std + avg

    def _normal_at_once(self, size, ndim, dtype, nstreams, kwargs):
        """Samples with mean 0 and standard deviation 1, of the streams that uniform samples of unknown size have."""
        target = _target(kwargs, "normal")
        state = self._next_state(MOST_STREAMS if nstreams is None else nstreams, dtype, target)
        size, known = size_vector(size)
        new_state, samples = normal_samples(state, rank_of(size, known) if ndim is None else ndim, dtype, size)
        return self.pretty_return(state, new_state, samples, size=(size,), nstreams=nstreams)

    def _truncated(self, samples, directions, options):
        """Samples with another radius where they are more than 2 away from 0; those are after the others."""
        outside = [(z < -2.) | (z > 2.) for z in samples]
        kept = [z[nonzero(~far)] for z, far in zip(samples, outside)]
        first, second = [nonzero(far)[0] for far in outside]
        lower = constant(1. / numpy.e ** 2, dtype=options["dtype"])
        uniform = self.uniform((first.size + second.size,), low=lower, high=1., **options)
        radius = sqrt(-2. * log(uniform))
        return [kept[0], radius[:first.size] * directions[0][first],
                kept[1], radius[first.size:] * directions[1][second]]

    def truncated_normal(self, size: Any, avg: _TensorLike = 0.0, std: _TensorLike = 1.0, ndim: int | None = None,
                         dtype: str | None = None, nstreams: Any = None, **kwargs: Any) -> TensorVariable:
        """Samples from the normal distribution without those that are far from ``avg``, with standard deviation
        ``std``; see `normal`."""
        return self.normal(size=size, avg=avg, std=std / constant(TRUNCATED_DEVIATION), truncate=True, ndim=ndim,
                           dtype=dtype, nstreams=nstreams, **kwargs)


def _seeded(seed):
    """The six numbers that a seed gives."""
    if isinstance(seed, INTEGERS):
        if seed == 0:
            raise ValueError(f"seed should not be 0, got {seed!r}")
        if seed >= M2:
            raise ValueError(f"seed should be less than {M2}, got {seed!r}")
        seed = [seed] * 6
    elif isinstance(seed, Variable) or not hasattr(seed, "__len__") or len(seed) != 6:
        hint = "; RandomStreams takes seeds that are computed" if isinstance(seed, Variable) else ""
        raise TypeError(f"seed should be 1 integer or 6 integers, got {seed!r}{hint}")
    for numbers, which, modulus in ((seed[:3], "first", M1), (seed[3:], "last", M2)):
        if not any(numbers):
            raise ValueError(f"The {which} 3 values of seed should not be all 0, got {seed!r}")
        if max(numbers) >= modulus:
            raise ValueError(f"The {which} 3 values of seed should be less than {modulus}, got {seed!r}")
        if min(numbers) < 0:
            raise ValueError(f"The {which} 3 values of seed should not be negative, got {seed!r}")
    return numpy.asarray(seed, dtype="int32")


def _target(options, method):
    """The device of the state, from the remaining keyword arguments."""
    target = options.pop("target", None if config.device == "cpu" else config.device)
    if options:
        raise TypeError(f"{method}() got unexpected keyword arguments {list(options)}")
    return target


def _samples_of_rows(pvals, n):
    """The size of ``n`` samples for each row."""
    return (pvals.shape[0] * n,)


def _check_uniform_size(size):
    """Raise an error if ``size`` is not a valid size of uniform samples."""
    if isinstance(size, Variable) and size.ndim == 1:
        return
    if not isinstance(size, tuple):
        raise TypeError("size must be a tuple of int or a Theano Variable with 1 dimension, got "
                        f"{size} of type {type(size)}")
    if not all([isinstance(length, (*INTEGERS, Variable)) for length in size]):
        raise TypeError(f"size must be a tuple of int or a Theano variable, got {size}")
    if any([isinstance(length, INTEGERS) and length <= 0 for length in size]):
        raise ValueError(f"The specified size contains a dimension with value <= 0, got {size!r}")


def _check_size(size):
    """A size as an integer vector; raises ``ValueError`` if it is not a size."""
    if isinstance(size, Variable):
        if size.ndim == 1:
            return size
        if size.ndim == 0:
            return stack([size])
        raise ValueError(f"Theano variable must have 1 dimension to be a valid size, got {size!r}")
    if isinstance(size, INTEGERS):
        return constant([size])
    if not isinstance(size, (tuple, list)):
        raise ValueError(f"Size must be a int, tuple, list or Theano variable, got {size!r}")
    for length in size:
        if isinstance(length, Variable):
            if length.ndim != 0:
                raise ValueError(f"Non-scalar Theano variable in size, got {size!r}, {length!r}")
        elif not isinstance(length, INTEGERS):
            raise ValueError(f"Only variables and integers are allowed in a size-tuple, got {size!r}, {length!r}")
        elif length <= 0:
            raise ValueError(f"Non-positive dimensions not allowed in size, got {size!r}, {length!r}")
    return as_tensor_variable(size, ndim=1)


_public_names.adopt(globals())
__getattr__ = lookup(__name__)
