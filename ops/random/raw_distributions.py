"""Distributions as Theano draws them from a ``numpy.random.RandomState``: functions that make a RandomFunction node.

Each takes a variable that holds a state, and returns the new state and the sample. ``size`` is a sequence of integers,
in which -1 means the length of the parameters, an integer vector, or None for the shape of the parameters. The ops call
functions whose names end in ``_helper`` if NumPy's own method is not enough.
"""
import sys

import numpy

from phintys.graph.config import config
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise_functions import cast
from phintys.ops.indexing.constant_value import get_vector_length
from phintys.ops.random.orders_kernel import ROUNDING_OF_SUMS
from phintys.ops.random.random_function import RandomFunction
from phintys.ops.random.vector_states import STATE_TYPE
from phintys.ops.shape.join import stack
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import integer_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType


def _infer_ndim_bcast(ndim, shape, *args):
    """The number of dimensions of a sample, its size as an int64 vector, and which dimensions are broadcastable.

    Parameters
    ----------
    ndim : int or None
        What the user says.
    shape : sequence, integer vector or None
    *args : TensorVariable
        The parameters that are broadcast to the sample.

    Returns
    -------
    tuple (int, TensorVariable, tuple of bool)

    Raises
    ------
    ValueError
        If ``ndim``, ``shape`` and the parameters contradict each other.
    TypeError
        If the shape is not a vector of integers, or is not known.
    """
    if isinstance(shape, (tuple, list)):
        if ndim is None:
            ndim = len(shape)
        elif ndim != len(shape):
            raise ValueError(f"ndim should be equal to len(shape), but ndim = {ndim}, len(shape) = {len(shape)}, "
                             f"shape = {shape}")
        entries = [_length(length, axis - ndim, args) for axis, length in enumerate(shape)]
        bcast = [flag for _, flag in entries]
        size = stack([length for length, _ in entries]) if entries else constant([], dtype="int64")
    elif shape is None:
        if not args:
            raise TypeError("_infer_ndim_bcast cannot infer shape without either shape or args")
        template = sum(args[1:], args[0])
        size, bcast, ndim = template.shape, template.broadcastable, template.ndim
    else:
        size = as_tensor_variable(shape)
        if size.ndim == 1:
            ndim = get_vector_length(size) if ndim is None else ndim
            bcast = [False] * ndim
    if size.ndim != 1:
        raise TypeError(f"shape must be a vector or list of scalar, got '{size}'")
    if size.dtype not in integer_dtypes:
        raise TypeError(f"shape must be an integer vector or list, got {size.dtype}")
    most = max([arg.ndim for arg in args], default=0)
    if most > ndim:
        raise ValueError("ndim should be at least as big as required by args value: "
                         f"{ndim} dimensions, but a parameter has {most}")
    return ndim, cast(size, "int64"), tuple(bcast)


def _length(length, axis, args):
    """One length of a shape as a variable, and whether it is known to be 1; the axis is negative."""
    if isinstance(length, Variable):
        return length, False
    if numpy.asarray(length).dtype.kind not in "iu":
        raise TypeError(f"shape must be an integer vector or list, got the length {length!r}")
    if length >= 0:
        return constant(length, dtype="int64"), length == 1
    if length != -1:
        raise ValueError(f"a length in a shape has to be an integer variable, at least 0, or -1, not {length}")
    overlapping = [arg for arg in args if -axis <= arg.ndim]
    if not overlapping:
        raise ValueError("Auto-shape of -1 must overlap with the shape of one of the broadcastable inputs")
    for arg in overlapping:
        if not arg.broadcastable[axis]:
            return arg.shape[arg.ndim + axis], False
    return constant(1, dtype="int64"), True


def uniform(random_state, size=None, low=0.0, high=1.0, ndim=None, dtype=None):
    """Samples from the uniform distribution between ``low`` and ``high``.

    Parameters
    ----------
    random_state : Variable
    size : sequence, integer vector or None
        None: the shape of low and high.
    low, high : tensor_like
    ndim : int, optional
        The number of dimensions, if ``size`` does not say it.
    dtype : str, optional
        By default the upcast of those of low and high and ``config.floatX``.

    Returns
    -------
    list of Variable
        The new state and the sample.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3))
    >>> new_state, samples = phintys.tensor.raw_random.uniform(state, size=(2,))
    >>> samples.eval().shape
    (2,)
    """
    return _real("uniform", random_state, size, low, high, ndim, dtype)


def normal(random_state, size=None, avg=0.0, std=1.0, ndim=None, dtype=None):
    """Samples from the normal distribution with mean ``avg`` and standard deviation ``std``; see `uniform`.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3))
    >>> new_state, samples = phintys.tensor.raw_random.normal(state, size=(2,), avg=1.0, std=2.0)
    >>> numpy.allclose(samples.eval(), numpy.random.RandomState(3).normal(1.0, 2.0, 2))
    True
    """
    return _real("normal", random_state, size, avg, std, ndim, dtype)


def _real(name, random_state, size, first, second, ndim, dtype):
    first, second = as_tensor_variable(first), as_tensor_variable(second)
    if dtype is None:
        dtype = upcast(config.floatX, first.dtype, second.dtype)
    _, size, bcast = _infer_ndim_bcast(ndim, size, first, second)
    return RandomFunction(name, TensorType(dtype, bcast))(random_state, size, first, second)


def binomial(random_state, size=None, n=1, p=0.5, ndim=None, dtype="int64", prob=None):
    """How many of ``n`` trials succeed, each with probability ``p``; see `uniform`. ``prob`` is the old name of p.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3))
    >>> new_state, samples = phintys.tensor.raw_random.binomial(state, size=(3,), n=10, p=0.5)
    >>> samples.eval().shape
    (3,)
    """
    if prob is not None:
        p = prob
        print("DEPRECATION WARNING: the parameter prob to the binomal fct have been renamed to p to have the same "
              "name as numpy.", file=sys.stderr)
    n, p = as_tensor_variable(n), as_tensor_variable(p)
    ndim, size, _ = _infer_ndim_bcast(ndim, size, n, p)
    return RandomFunction("binomial", TensorType(dtype, (False,) * ndim))(random_state, size, n, p)


def random_integers_helper(random_state, low, high, size):
    """Integers from ``low`` to ``high``, both included; the bounds are broadcast to ``size``.

    Examples
    --------
    >>> low, high = numpy.array(1), numpy.array(6)
    >>> phintys.tensor.raw_random.random_integers_helper(numpy.random.RandomState(3), low, high, (3,)).shape
    (3,)
    """
    rank = max(low.ndim, high.ndim) if size is None else len(size)
    for name, bound in (("low", low), ("high", high)):
        if bound.ndim > rank:
            raise ValueError(f"{name}.ndim ({bound.ndim}) should not be larger than len(size) ({rank})")
    if low.size == high.size == 1:
        wanted = (1,) * rank if size is None else size
        return random_state.randint(low.item(), high.item() + 1, size=wanted)
    return random_state.randint(low, high + 1, size=size)


def random_integers(random_state, size=None, low=0, high=1, ndim=None, dtype="int64"):
    """Integers from ``low`` to ``high``, both included; see `uniform`.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3))
    >>> new_state, samples = phintys.tensor.raw_random.random_integers(state, size=(3,), low=1, high=6)
    >>> samples.eval().shape
    (3,)
    """
    low, high = as_tensor_variable(low), as_tensor_variable(high)
    ndim, size, bcast = _infer_ndim_bcast(ndim, size, low, high)
    op = RandomFunction(random_integers_helper, TensorType(dtype, bcast), native_name="integers")
    return op(random_state, size, low, high)


def choice_helper(random_state, a, replace, p, size):
    """Elements of ``a``, or of ``range(a)``; without elements, ``p`` means equal probabilities.

    Examples
    --------
    >>> state, p = numpy.random.RandomState(3), numpy.array([0.5, 0.5])
    >>> phintys.tensor.raw_random.choice_helper(state, numpy.array(2), True, p, (4,)).shape
    (4,)
    """
    if a.ndim > 1:
        raise ValueError(f"a.ndim ({a.ndim}) must be 0 or 1")
    if p.ndim != 1:
        raise ValueError(f"p.ndim ({p.ndim}) must be 1")
    return random_state.choice(a if a.ndim else a.item(), size, bool(replace), p if p.size else None)


def choice(random_state, size=None, a=2, replace=True, p=None, ndim=None, dtype="int64"):
    """Elements of the vector ``a``, or of ``range(a)`` for a number, with or without replacement.

    Parameters
    ----------
    random_state, size, ndim, dtype
        As for `uniform`; None is not a size here.
    a : vector or integer
    replace : bool or 0-d Variable
    p : vector, optional
        The probabilities. By default they are equal.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3))
    >>> new_state, samples = phintys.tensor.raw_random.choice(state, size=(3,), a=5)
    >>> samples.eval().shape
    (3,)
    """
    a = as_tensor_variable(a)
    replace = constant(replace, dtype="int8") if isinstance(replace, bool) else as_tensor_variable(replace)
    if not isinstance(p, Variable) and (p is None or not numpy.any(p)):
        p = constant([], dtype=config.floatX)
    _, size, bcast = _infer_ndim_bcast(ndim, size)
    op = RandomFunction(choice_helper, TensorType(dtype, bcast), native_name="choice")
    if random_state.type != STATE_TYPE or a.ndim != 1:
        return op(random_state, size, a, replace, p)
    positions = RandomFunction(choice_helper, TensorType("int64", bcast), native_name="choice")
    new_state, chosen = positions(random_state, size, a.shape[0], replace, p)
    return [new_state, cast(a[chosen], dtype)]


def poisson(random_state, size=None, lam=1.0, ndim=None, dtype="int64"):
    """Samples from the Poisson distribution with expectation ``lam``; see `uniform`. Size or ndim must be given.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3))
    >>> new_state, samples = phintys.tensor.raw_random.poisson(state, size=(3,), lam=5.0)
    >>> samples.eval().shape
    (3,)
    """
    _, size, bcast = _infer_ndim_bcast(ndim, size)
    return RandomFunction("poisson", TensorType(dtype, bcast))(random_state, size, as_tensor_variable(lam))


def permutation_helper(random_state, n, shape):
    """A permutation of ``range(n)`` for each index of ``shape``.

    Examples
    --------
    >>> phintys.tensor.raw_random.permutation_helper(numpy.random.RandomState(3), numpy.array(4), (2,)).shape
    (2, 4)
    """
    if n.shape != ():
        raise ValueError(f"permutation: n must be a number, not an array of shape {n.shape}")
    shape = () if shape is None else shape
    permutations = numpy.empty((*shape, int(n)), int)
    for index in numpy.ndindex(*shape):
        permutations[index] = random_state.permutation(int(n))
    return permutations


def permutation(random_state, size=None, n=1, ndim=None, dtype="int64"):
    """Permutations of ``range(n)``, as many as ``size`` says; one if it is None.

    The sample has one dimension more than ``size`` has entries; ``ndim`` is the number of entries.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3))
    >>> new_state, samples = phintys.tensor.raw_random.permutation(state, size=(2,), n=4)
    >>> samples.eval().shape
    (2, 4)
    """
    if size is None or isinstance(size, tuple) and size == ():
        if not (ndim is None or ndim == 1):
            raise TypeError("You asked for just one permutation but asked for more then 1 dimensions.")
        size, bcast = (), ()
    else:
        ndim, size, bcast = _infer_ndim_bcast(ndim, size)
    op = RandomFunction(permutation_helper, TensorType(dtype, (*bcast, False)), ndim_added=1,
                        native_name="permutation")
    return op(random_state, size, as_tensor_variable(n))


def multinomial_helper(random_state, n, pvals, size):
    """Counts of ``n`` samples for each row of ``pvals``; both are broadcast to ``size``.

    Examples
    --------
    >>> state = numpy.random.RandomState(3)
    >>> phintys.tensor.raw_random.multinomial_helper(state, numpy.array(10), numpy.array([0.5, 0.5]), (3,)).shape
    (3, 2)
    """
    rank = max(n.ndim, pvals.ndim - 1) if size is None else len(size)
    for name, given in (("n.ndim", n.ndim), ("pvals.ndim-1", pvals.ndim - 1)):
        if given > rank:
            raise ValueError(f"{name} ({given}) should not be larger than len(size) ({rank})")
    if size is None:
        size = numpy.broadcast_shapes((1,) * rank, n.shape, pvals.shape[:-1])
    counts = numpy.broadcast_to(n, size)
    rows = numpy.broadcast_to(pvals, (*size, pvals.shape[-1]))
    if pvals.size and not pvals.min() >= 0:
        raise ValueError(f"multinomial: probabilities must not be negative, got {pvals}")
    sample = numpy.empty(rows.shape)
    for index in numpy.ndindex(*size):
        sample[index] = random_state.multinomial(counts[index], _probabilities(rows[index]))
    return sample


def _probabilities(row):
    """Probabilities as NumPy accepts them: rounding must not make their sum larger than 1.

    If the sum differs from 1 by more than rounding, this is an error; NumPy, and Theano, add a missing part to the last
    one."""
    total = row.sum(dtype="float64")
    if abs(total - 1) > ROUNDING_OF_SUMS and not (config.theano_rules and total < 1):
        raise ValueError(f"multinomial: the sum of the probabilities is {total}, not 1: {row}")
    total = row.sum()
    if 1.0 < total < 1.0 + 1e-5 or row[-1] < 5e-5:
        row = row * (1.0 - 5e-5)
        total = row.sum()
    if not total <= 1.0:
        raise ValueError(f"multinomial: the sum of the probabilities is {total}, not 1: {row}")
    return row.astype("float64")


def multinomial(random_state, size=None, n=1, pvals=(0.5, 0.5), ndim=None, dtype="int64"):
    """How often each outcome occurs in ``n`` samples from the distribution of each row of ``pvals``.

    Parameters
    ----------
    random_state, size, ndim, dtype
        As for `uniform`; -1 in ``size`` and None mean the lengths of ``n`` and of ``pvals`` without its last
        dimension.
    n : integer tensor
    pvals : tensor_like
        The probabilities, along the last dimension.

    Returns
    -------
    list of Variable
        The new state, and the counts: one dimension more than ``size`` has entries.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3))
    >>> new_state, samples = phintys.tensor.raw_random.multinomial(state, size=(3,), n=10, pvals=[0.25, 0.75])
    >>> samples.sum(axis=1).eval()
    array([10, 10, 10])
    """
    n, pvals = as_tensor_variable(n), as_tensor_variable(pvals)
    _, size, bcast = _infer_ndim_bcast(ndim, size, n, pvals[..., 0])
    op = RandomFunction(multinomial_helper, TensorType(dtype, (*bcast, pvals.type.broadcastable[-1])), ndim_added=1,
                        native_name="multinomial")
    return op(random_state, size, n, pvals)
