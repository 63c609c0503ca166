"""Random variables: the numbers that PyTensor's ops draw, from the same states, by the kernels of ``ops/random``.

A row is a function ``(draws, op, *parameters)`` that returns the sample, or None if it has no translation of this node.
It follows what the op's ``rng_fn`` does: which of NumPy's methods it calls, in which order, and how it computes with
their numbers. Ops whose ``rng_fn`` calls SciPy check and compute as SciPy's distributions do. PyTensor's linker for
Numba draws a few distributions in another way; where it is the default, these are drawn so.

Ops derived from one with a row have that row if they draw by the same code.
"""
from __future__ import annotations

from functools import cache, reduce
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy
from pytensor.compile.mode import get_mode
from pytensor.tensor.random import basic
from scipy import special

from phintys import tensor as T
from phintys.graph.variable import Constant
from phintys.interop.pytensor.translation import row
from phintys.interop.pytensor.types import STATE_TYPE
from phintys.interop.pytensor_versions import of_version
from phintys.ops.factorizations.cholesky import cholesky
from phintys.ops.factorizations.eigen import Eigh
from phintys.ops.factorizations.orthogonal import SVD
from phintys.ops.identity.assertion import Check
from phintys.ops.loops.building import Body, make_loop
from phintys.ops.random.draw import Draw
from phintys.ops.random.generator_order import GeneratorOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable
    from phintys.ops.operators import TensorConstant, TensorVariable

DRAWN = {}                              # class of PyTensor's op → row
late_rows = {}                          # start of a module's name → imports the rows of its ops; the package fills it
ANY, NUMPY_SCALE, SCALE, POSITIVE = "any", "at least 0", "0 or above", "above 0"
FRACTION = "from 0 to 1"
NUMBAS_DRIVERS = {(2, 38): "evd", (3, 3): "evr"}       # of LAPACK, for eigenvectors
DRAWING = ("rng_fn", "rng_fn_scipy", "perform")         # methods of an op that draw


def drawn(*classes: Any) -> Callable[..., Any]:
    """A decorator: the function is the row of random variables of these classes."""
    def add(function):
        for kind in classes:
            DRAWN[kind] = function
        return function
    return add


def is_native(op: Op) -> bool:
    """Whether a random variable has a row."""
    return _row_of(type(op)) is not None


@cache
def _row_of(kind):
    """The row of the nearest class, if it draws by the same code."""
    for start, import_rows in late_rows.items():
        if kind.__module__.startswith(start):
            import_rows()
    base = next((base for base in kind.__mro__ if base in DRAWN), None)
    if base is None or any(_code(kind, name) is not _code(base, name) for name in DRAWING):
        return None
    return DRAWN[base]


def _code(kind, name):
    method = getattr(kind, name, None)
    return getattr(method, "__func__", method)


def follows_numba() -> Any:
    """Whether PyTensor draws by Numba unless a mode is given."""
    return type(get_mode("Mode").linker).__name__ == "NumbaLinker"


@row("random.RandomVariable")
def _random_variable(op, node, state, size, *parameters):
    function = _row_of(type(op))
    if function is None or state.type != STATE_TYPE:
        return None
    draws = Draws(op, node, state, size, parameters)
    sample = function(draws, op, *parameters)
    return None if sample is None else [draws.state, sample]


class Draws:
    """The state while a random variable is translated, and the size of its sample.

    Attributes
    ----------
    state : Variable
        The state after the numbers drawn so far.
    size : Variable or list of (int or Variable)
        Without the dimensions that belong to each sample.
    ndim : int
        The length of ``size``.
    """

    def __init__(self, op: Op, node: Apply, state: Variable, size: Constant, parameters: Sequence[Constant]) -> None:
        self.state, self.ndim = state, op.batch_ndim(node)
        leads = [(each, each.type.ndim - rank) for each, rank in zip(parameters, op.ndims_params)]
        self.given = not isinstance(size.type, type(T.none_type_t))
        if self.given:
            self.size = T.cast(size, "int64")
        else:
            static = node.outputs[1].type.shape[:self.ndim]
            self.size = [_length(leads, axis - self.ndim) if length is None else length
                         for axis, length in enumerate(static)]

    # ---- draws -------------------------------------------------------------------------------------------------------
    def draw(self, name: str, *parameters: Any, size: Any = None, ndim: Any = None) -> TensorVariable:
        """Numbers of a distribution in ``ops.random.draw``, float64 or int64.

        Parameters
        ----------
        name : str
        *parameters : tuple (str, Variable, str)
            Names, values and conditions; all that the distribution does not have are only checked.
        size, ndim : optional
            Those of the sample by default.
        """
        names, values, rules = zip(*parameters) if parameters else ((), (), ())
        op = Draw(name, "PCG64", DTYPES.get(name, "float64"), self.ndim if ndim is None else ndim,
                  rules=tuple(zip(names, rules)))
        self.state, sample = op(self.state, self.size if size is None else size, *values)
        return sample

    def order(self, name: str, *parameters: Any, size: Any = None, ndim: Any = None, **options: Any) -> Any:
        """A sample of `GeneratorOrder`."""
        op = GeneratorOrder(name, "PCG64", self.ndim if ndim is None else ndim, **options)
        self.state, sample = op(self.state, self.size if size is None else size, *parameters)
        return sample

    def of_each(self, sample: Callable[..., Any], *parameters: tuple[Any, int]) -> TensorVariable:
        """The samples of a function of one item of each parameter; it may draw, for one item after the other.

        Parameters
        ----------
        sample : callable
        *parameters : tuple (Variable, int)
            How many of the last dimensions belong to each item.
        """
        lengths, first, rows = self.lengths(), self.state, []
        count = reduce(mul, lengths)
        for parameter, own in parameters:
            last = [T.shape_i(parameter, axis) for axis in range(parameter.type.ndim - own, parameter.type.ndim)]
            flat = T.reshape(T.alloc(parameter, *lengths, *last), [count, *last], ndim=1 + own)
            rows.append((T.TensorType(flat.type.dtype, flat.type.broadcastable[1:])(), flat))
        self.state = inner = first.type()
        found = sample(*[item for item, _ in rows])
        loop = make_loop(count, Body(rows, stacked=[found], carried=[(inner, self.state, first)]), "samples",
                         lifts=False)
        (stacked,), (self.state,) = loop.stacked, loop.carried
        return T.reshape(stacked, [*lengths, *[T.shape_i(stacked, axis) for axis in range(1, stacked.type.ndim)]],
                         ndim=self.ndim + found.type.ndim)

    def lengths(self, *last: Any, first: Any = ()) -> Any:
        """The size with further dimensions."""
        return [*first, *[self.size[axis] for axis in range(self.ndim)], *last]

    # ---- parameters ----------------------------------------------------------------------------------------------
    def wide(self, parameter: Constant, own: int = 0) -> TensorConstant:
        """A parameter that is computed with in Python: with the lengths of the sample where it could have the length 1
        without its type saying so, because PyTensor's elementwise ops do not repeat such dimensions, and NumPy does.

        Parameters
        ----------
        own : int
            How many of its last dimensions belong to each sample.
        """
        kind = parameter.type
        lead = kind.ndim - own
        if all(flag or length is not None for flag, length in zip(kind.broadcastable[:lead], kind.shape)):
            return parameter
        if not self.given and all(self.size[self.ndim - lead + axis] is _known_length(parameter, axis)
                                  for axis in range(lead) if not kind.broadcastable[axis]):
            return parameter
        lengths = [1 if kind.broadcastable[axis] else self.size[self.ndim - lead + axis] for axis in range(lead)]
        return T.alloc(parameter, *lengths, *[T.shape_i(parameter, lead + axis) for axis in range(own)])

    def real(self, parameter: Constant, own: int = 0) -> TensorVariable:
        """The same as float64."""
        return T.cast(self.wide(parameter, own), "float64")

    def floating(self, parameter: Any, own: int = 0) -> Any:
        """The same in the precision in which NumPy divides it by a number: integers become float64."""
        parameter = self.wide(parameter, own)
        return parameter if parameter.type.dtype.startswith("float") else T.cast(parameter, "float64")

    def quotient(self, a: Any, b: Any) -> Any:
        """``a / b`` in NumPy's precision."""
        kind = numpy.true_divide(*[numpy.ones((), each.type.dtype) for each in (a, b)]).dtype.name
        return T.cast(self.wide(a), kind) / T.cast(self.wide(b), kind)

    def of_numbas_precision(self, parameter: Any, own: int = 0) -> Any:
        """The same as float64, if PyTensor makes it so for Numba; otherwise in its own precision."""
        return self.real(parameter, own) if follows_numba() else self.floating(parameter, own=own)

    def located(self, loc: Constant, scale: Constant, sample: Variable) -> TensorVariable:
        """``loc + scale * sample``, in float64 as NumPy computes it; None means the location 0."""
        found = self.real(scale) * sample
        return found if loc is None else self.real(loc) + found

    def unless_all_zero(self, scale: Any, state: Any) -> None:
        """SciPy draws nothing if all scales are 0."""
        if not (isinstance(scale, Constant) and (scale.data != 0).any()):
            self.state = T.switch(T.all(T.eq(scale, 0)), state, self.state)


DTYPES = {"poisson": "int64", "geometric": "int64", "binomial": "int64", "integers": "int64",
          "negative_binomial": "int64", "hypergeometric": "int64"}


def _length(leads, axis):
    """The length of a dimension, counted from the last one, of the parameters broadcast together."""
    found = None
    for parameter, lead in leads:
        if lead + axis >= 0 and not parameter.type.broadcastable[lead + axis]:
            length = _known_length(parameter, lead + axis)
            if isinstance(length, int) and length != 1:
                return length
            found = length if found is None else T.switch(T.eq(found, 1), length, found)
    return 1 if found is None else found


def _known_length(parameter, axis):
    """A length as a number if the type knows it, else as a variable, which is the same one in each call."""
    length = parameter.type.shape[axis]
    return T.shape_i(parameter, axis) if length is None else length


def are_integers(*parameters: Any) -> Any:
    """Whether all parameters have discrete dtypes."""
    return all([parameter.type.dtype.startswith(("int", "uint", "bool")) for parameter in parameters])


# ---- by one method of NumPy ----------------------------------------------------------------------------------------
PLAIN = {
    basic.BetaRV: ("beta", ("a", POSITIVE), ("b", POSITIVE)),
    basic.LogNormalRV: ("lognormal", ("mean", ANY), ("sigma", NUMPY_SCALE)),
    basic.WeibullRV: ("weibull", ("a", NUMPY_SCALE)),
    basic.VonMisesRV: ("vonmises", ("mu", ANY), ("kappa", NUMPY_SCALE)),
    basic.WaldRV: ("wald", ("mean", POSITIVE), ("scale", POSITIVE)),
    basic.PoissonRV: ("poisson", ("lam", "at least 0 and at most 9.22e18")),
    basic.GeometricRV: ("geometric", ("p", "above 0 and at most 1")),
}
LOCATED = {basic.NormalRV: "normal", basic.LaplaceRV: "laplace", basic.LogisticRV: "logistic"}


def _of_nearest(table, op):
    """The entry of the class of an op, or of the nearest that it is derived from."""
    return table[next(base for base in type(op).__mro__ if base in table)]


@drawn(*PLAIN)
def _plain(draws, op, *parameters):
    name, *rules = _of_nearest(PLAIN, op)
    return draws.draw(name, *[(known, value, rule) for (known, rule), value in zip(rules, parameters)])


@drawn(*LOCATED)
def _located(draws, op, loc, scale):
    name = _of_nearest(LOCATED, op)
    return draws.located(loc, scale, draws.draw(name, ("loc", loc, ANY), ("scale", scale, NUMPY_SCALE)))


@drawn(basic.ExponentialRV)
def _exponential(draws, op, scale):
    return draws.located(None, scale, draws.draw("exponential", ("scale", scale, NUMPY_SCALE)))


@drawn(basic.UniformRV)
def _uniform(draws, op, low, high):
    width = draws.real(high) - draws.real(low)
    return draws.located(low, width, draws.draw("random", ("high - low", width, "finite, and at least 0")))


@drawn(basic.GammaRV)
def _gamma(draws, op, shape, scale):
    return draws.located(None, scale, draws.draw("gamma", ("shape", shape, NUMPY_SCALE), ("scale", scale, NUMPY_SCALE)))


@drawn(basic.InvGammaRV)
def _inverse_gamma(draws, op, shape, scale):
    return 1 / _gamma(draws, op, shape, 1 / draws.of_numbas_precision(scale))


@drawn(basic.TriangularRV)
def _triangular(draws, op, left, mode, right):
    left, mode, right = map(draws.wide, (left, mode, right))
    conditions = [("left <= mode", T.le(left, mode)), ("mode <= right", T.le(mode, right)),
                  ("left < right", T.lt(left, right))]
    return draws.draw("triangular", ("left", left, ANY), ("mode", mode, ANY), ("right", right, ANY),
                      *[(name, condition, "true") for name, condition in conditions])


@drawn(basic.BinomialRV)
def _binomial(draws, op, n, p):
    return draws.draw("binomial", ("n", n, NUMPY_SCALE), ("p", p, FRACTION)) if are_integers(n) else None


@drawn(basic.HyperGeometricRV)
def _hypergeometric(draws, op, good, bad, wanted):
    if not are_integers(good, bad, wanted):
        return None
    good, bad, wanted = map(draws.wide, (good, bad, wanted))
    count = "from 0 to 999,999,999"
    return draws.draw("hypergeometric", ("ngood", good, count), ("nbad", bad, count), ("nsample", wanted, NUMPY_SCALE),
                      ("nsample <= ngood + nbad", T.le(wanted, good + bad), "true"))


@drawn(basic.IntegersRV)
def _integers(draws, op, low, high):
    if not are_integers(low, high):
        return None
    low, last = T.cast(draws.wide(low), "int64"), T.cast(draws.wide(high), "int64") - 1
    return draws.draw("integers", ("low", low, ANY), ("high", last, ANY), ("low < high", T.le(low, last), "true"))


# ---- by SciPy --------------------------------------------------------------------------------------------------------
def by_scipy(draws: Any, loc: Any, scale: Any, name: str, *parameters: Any, then: Any = lambda number: number) -> Any:
    """``loc + scale * then(number)``, checked as SciPy's ``rvs`` does."""
    before = draws.state
    number = then(draws.draw(name, *parameters, ("scale", scale, SCALE), *fitting(loc)))
    draws.unless_all_zero(scale, before)
    return draws.located(loc, scale, number)


def fitting(*parameters: Any) -> Any:
    """Parameters that have any value, whose shapes are checked."""
    return [("loc", parameter, ANY) for parameter in parameters if parameter is not None]


@drawn(basic.HalfNormalRV)
def _half_normal(draws, op, loc, scale):
    return by_scipy(draws, loc, scale, "normal", then=T.abs)


@drawn(basic.HalfCauchyRV)
def _half_cauchy(draws, op, loc, scale):
    return by_scipy(draws, loc, scale, "random", then=lambda number: T.tan(numpy.pi / 2 * number))


@drawn(basic.CauchyRV)
def _cauchy(draws, op, loc, scale):
    if follows_numba():
        return draws.located(loc, scale, draws.draw("standard_cauchy", *fitting(loc, scale)))
    return by_scipy(draws, loc, scale, "random", then=_cauchy_quantile)


def _cauchy_quantile(p):
    """As Boost computes it: the tangent near the nearer end."""
    return T.switch(T.eq(p, 0.5), 0.0, T.switch(T.gt(p, 0.5), 1.0, -1.0) / T.tan(numpy.pi * T.minimum(p, 1 - p)))


@drawn(basic.GumbelRV)
def _gumbel(draws, op, loc, scale):
    if follows_numba():
        return draws.located(loc, scale, draws.draw("gumbel", *fitting(loc, scale)))
    return by_scipy(draws, loc, scale, "random", then=lambda number: -T.log(-T.log(number)))


@drawn(basic.ParetoRV)
def _pareto(draws, op, b, scale):
    return by_scipy(draws, None, scale, "random", ("b", b, POSITIVE),
                     then=lambda number: (1 - number) ** (-1 / draws.floating(b)))


@drawn(basic.TruncExponentialRV)
def _truncated_exponential(draws, op, b, loc, scale):
    return by_scipy(draws, loc, scale, "random", ("b", b, POSITIVE),
                     then=lambda number: -T.log1p(number * _expm1_of_scipy(-draws.wide(b))))


def _expm1_of_scipy(x):
    """SciPy computes in float64, and rounds to its result's precision."""
    return T.cast(T.expm1(T.cast(x, "float64")), special.expm1(numpy.ones((), x.type.dtype)).dtype.name)


@drawn(basic.StudentTRV)
def _student_t(draws, op, df, loc, scale):
    return by_scipy(draws, loc, scale, "standard_t", ("df", df, POSITIVE))


@drawn(basic.GenGammaRV)
def _generalized_gamma(draws, op, alpha, p, scale):
    shape = draws.quotient(alpha, p)
    p = draws.floating(p)
    return by_scipy(draws, None, scale, "gamma", ("alpha / p", shape, POSITIVE), ("p is not 0", T.neq(p, 0), "true"),
                     then=lambda number: number ** (1 / p))


@drawn(basic.BernoulliRV)
def _bernoulli(draws, op, p):
    if follows_numba():
        return T.le(draws.draw("random", ("p", p, ANY)), draws.real(p))
    return draws.draw("binomial", ("n", numpy.int64(1), ANY), ("p", p, FRACTION))


@drawn(basic.NegBinomialRV)
def _negative_binomial(draws, op, n, p):
    return draws.draw("negative_binomial", ("n", n, POSITIVE), ("p", p, "above 0 and at most 1"))


@drawn(basic.BetaBinomialRV)
def _beta_binomial(draws, op, n, a, b):
    if not are_integers(n):
        return None
    p = draws.draw("beta", ("a", a, POSITIVE), ("b", b, POSITIVE), ("n", n, SCALE))
    return draws.draw("binomial", ("n", n, NUMPY_SCALE), ("p", p, ANY))


# ---- vectors, and choices ------------------------------------------------------------------------------------------
@drawn(basic.CategoricalRV)
def _categorical(draws, op, p):
    fitting = [("p", p.sum(axis=-1), ANY)] if draws.given and p.type.ndim > 1 else []
    number, sums = draws.draw("random", *fitting), T.cumsum(p, axis=-1)
    if p.type.ndim == 1:
        return T.searchsorted(sums, number)
    return T.lt(draws.wide(sums, 1), number.dimshuffle(*range(draws.ndim), "x")).sum(axis=-1)


@drawn(basic.MultinomialRV)
def _multinomial(draws, op, n, p):
    return draws.order("multinomial", n, p, exact=False) if are_integers(n) else None


@drawn(basic.DirichletRV)
def _dirichlet(draws, op, alpha):
    if not follows_numba():
        return draws.order("dirichlet", alpha)
    size = draws.lengths(T.shape_i(alpha, alpha.type.ndim - 1))
    numbers = draws.draw("gamma", ("alpha", alpha, NUMPY_SCALE), size=size, ndim=draws.ndim + 1)
    return numbers / T.cumsum(numbers, axis=-1)[..., -1].dimshuffle(*range(draws.ndim), "x")


@drawn(basic.MvNormalRV)
def _multivariate_normal(draws, op, mean, cov):
    factor = _factor(op.method, draws.of_numbas_precision(cov, 2))
    numbers = draws.draw("normal", size=draws.lengths(T.shape_i(mean, mean.type.ndim - 1)), ndim=draws.ndim + 1)
    return transformed(draws, factor, numbers) + draws.real(mean, 1)


def _factor(method, cov):
    """What standard normal numbers are multiplied by; signs are those of the LAPACK that PyTensor calls."""
    if method == "cholesky":
        return cholesky(cov)
    if method == "svd":
        vectors, values, _ = [T.cast(each, cov.type.dtype) for each in SVD(by_numpy=not follows_numba())(cov)]
    else:
        values, vectors = Eigh(driver=of_version(NUMBAS_DRIVERS) if follows_numba() else "evd")(cov)
    return vectors * T.sqrt(values).dimshuffle(*range(values.type.ndim - 1), "x", values.type.ndim - 1)


def transformed(draws: Any, factor: Any, numbers: Any) -> Any:
    """A matrix, or one of a stack for each vector, times vectors along the last dimension."""
    if factor.type.ndim == 2:
        return T.dot(numbers, factor.T)
    return (draws.wide(factor, 2) * numbers.dimshuffle(*range(draws.ndim), "x", draws.ndim)).sum(axis=-1)


@drawn(basic.PermutationRV)
def _permutation(draws, op, x):
    own = op.ndims_params[0]
    if own == 0:
        return draws.order("permutation", _only_number(x)) if are_integers(x) else None
    order = draws.order("permutation", T.shape_i(x, x.type.ndim - own))
    if draws.ndim == 0:
        return x.take(order, axis=0)
    if own == 1:
        return T.permute_row_elements(draws.wide(x, 1), order)
    return draws.of_each(lambda x, order: x.take(order, axis=0), (x, own), (order, 1))


def _only_number(x):
    """What all numbers of a batch are equal to: others would have samples of different lengths."""
    if x.type.ndim == 0:
        return x
    first = x.flatten()[0]
    return Check("the numbers to permute must be equal, since samples of other lengths do not fit into an array")(
        first, T.all(T.eq(x, first)))


@drawn(basic.ChoiceWithoutReplacement)
def _choice(draws, op, a, *others):
    *p, wanted = others
    own = op.ndims_params[0]
    ndim = op.ndim_supp - max(own - 1, 0)
    if draws.ndim and a.type.ndim == own:
        return None                                     # PyTensor hands NumPy the batch of probabilities, which fails
    wanted = wanted[(0,) * (wanted.type.ndim - 1)]

    def chosen(a, *p):
        count = T.shape_i(a, 0) if a.type.ndim else a
        if follows_numba() and not p:
            found = draws.order("permutation", count, size=(), ndim=0)[:wanted.prod()].reshape(wanted, ndim=ndim)
        else:
            p = p[0] if p else T.constant(numpy.zeros(0))
            found = draws.order("choice", count, 0, p, size=wanted, ndim=ndim, given=p.type.dtype,
                                ascending=follows_numba())
        return a.take(found, axis=0) if a.type.ndim else found

    return draws.of_each(chosen, (a, own), *[(each, 1) for each in p]) if draws.ndim else chosen(a, *p)
