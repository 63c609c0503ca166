"""Integrals by Gauss's and Kronrod's rule of 21 points on intervals that are halved where the error is largest, as
QUADPACK does it, in a loop.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from phintys import tensor as T
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import grad
from phintys.graph.valueless_types import DisconnectedType, disconnected_type
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.loops.row_map import map_rows
from phintys.ops.types.dtypes import continuous_dtypes
from phintys.solvers.problem import problem_of, replaced, start_of
from phintys.solvers.root_loops import looped

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.variable import Variable

# Points on [0, 1] of the rule of 21 points, its weights, and those of the rule of 10 points, every second one.
_POINTS = numpy.array([
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720, 0.0])
_WEIGHTS = numpy.array([
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821])
_OTHERS = numpy.array([0.066671344308688137593568809893332, 0.149451349150580593145863397657697,
                       0.219086362515982043995534934228163, 0.269266719309996355091226921569469,
                       0.295524224714752870173815619188769])
POINTS = numpy.concatenate([-_POINTS[:-1], _POINTS[::-1]])
KRONROD = numpy.concatenate([_WEIGHTS[:-1], _WEIGHTS[::-1]])
GAUSS = numpy.zeros(21)
GAUSS[1:10:2], GAUSS[-2:-11:-2] = _OTHERS, _OTHERS
EPSILON, TINY = numpy.finfo("float64").eps, numpy.finfo("float64").tiny


class Integral(NamedTuple):
    """An integral, and an estimate of its largest error.

    Examples
    --------
    >>> phintys.solvers.quad(T.sin, 0.0, numpy.pi)._fields
    ('value', 'error')
    """

    value: Variable
    error: Variable


class _Integrand(NamedTuple):
    """The inner graph: place, parameters and value (a vector); and the tolerances."""

    place: Variable
    parameters: list
    value: Variable
    epsabs: float
    epsrel: float
    limit: int

    def at(self, place, parameters):
        """The value at a place."""
        return replaced(self.value, [self.place, *self.parameters], [place, *parameters])


def quad(func: Callable[..., Any], a: Any, b: Any, *args: Any, epsabs: float = 1.49e-8, epsrel: float = 1.49e-8,
         limit: int = 50) -> Integral:
    """Integrate a function of one number.

    Parameters
    ----------
    func : callable
        Takes a number and ``args``, as variables, and returns a tensor of any rank. It may also read other variables.
    a, b : tensor-like or infinite
        The limits; only Python's numbers can be infinite.
    *args : tensor-like
    epsabs, epsrel : float
        The error is at most ``max(epsabs, epsrel * abs(value))``; of several elements, that of the largest.
    limit : int
        The largest number of intervals.

    Returns
    -------
    Integral
        ``value`` and ``error``; the error is larger than asked for if ``limit`` intervals were not enough. Derivatives
        with respect to ``a``, ``b``, ``args`` and other variables are integrals of the same tolerances.

    Raises
    ------
    TypeError
        For complex numbers.
    ValueError
        If ``limit`` is less than 1, or a limit is not a number.

    Examples
    --------
    >>> k = T.dscalar("k")
    >>> area = phintys.solvers.quad(lambda x: T.exp(-k * x ** 2), -numpy.inf, numpy.inf).value
    >>> phintys.function([k], [area, phintys.grad(area, k)])(1.0)
    [array(1.77245385), array(-0.88622693)]
    """
    if limit < 1:
        raise ValueError(f"quad: limit must be at least 1, got {limit}")
    low, high, sign, over = _limits(func, a, b, args)
    place = T.dscalar()
    problem = problem_of("quad", over, [place], ())
    lengths = [problem.value.shape[number] for number in range(problem.value.type.ndim)]
    somewhere = T.constant(0.5, dtype="float64")
    shape = replaced(lengths, [*problem.parameters, place], [*problem.outer, somewhere]) if lengths else []
    integrand = _Integrand(place, problem.parameters, T.unbroadcast(problem.value.flatten(), 0), epsabs, epsrel, limit)
    value, error = _integrated(integrand, low, high, problem.outer)
    return Integral(sign * T.reshape(value, shape, ndim=len(shape)), error)


def _limits(func, a, b, args):
    """Finite limits, the sign, and the function between them."""
    a, b = [float(end) if isinstance(end, (int, float, numpy.number)) else end for end in (a, b)]
    infinite = [end for end in (a, b) if isinstance(end, float) and numpy.isinf(end)]
    if [end for end in (a, b) if isinstance(end, float) and numpy.isnan(end)]:
        raise ValueError(f"quad: the limits must be numbers, got {a} and {b}")
    if not infinite:
        return start_of("quad", a), start_of("quad", b), 1.0, lambda x: func(x, *args)
    if a == b:
        return T.constant(0.0, dtype="float64"), T.constant(0.0, dtype="float64"), 1.0, lambda x: func(x, *args)
    zero, one = [T.constant(number, dtype="float64") for number in (0.0, 1.0)]
    if len(infinite) == 2:
        return zero, one, 1.0 if a < b else -1.0, lambda share: (
            func((1 - share) / share, *args) + func((share - 1) / share, *args)) / share ** 2
    # From a finite limit to infinity, or back from there.
    outward = isinstance(b, float) and numpy.isinf(b)
    finite, end = (start_of("quad", a), b) if outward else (start_of("quad", b), a)
    side = 1.0 if end > 0 else -1.0
    return zero, one, side if outward else -side, lambda share: (
        func(finite + side * (1 - share) / share, *args) / share ** 2)


def _integrated(integrand, low, high, parameters):
    """The integrals of a vector and the largest error, with their derivatives."""
    inner = [low.type(), high.type(), *[parameter.type() for parameter in parameters]]
    op = OpFromGraph(inner, list(_by_halves(integrand, inner[0], inner[1], inner[2:])), inline=True,
                     lop_overrides=lambda inputs, outputs, gradients: _backward(integrand, inputs, gradients),
                     rop_overrides=lambda inputs, points: _forward(integrand, inputs, points), name="quad",
                     connection_pattern=[[variable.type.dtype in continuous_dtypes, False] for variable in inner])
    return op(low, high, *parameters)


# ---- intervals -------------------------------------------------------------------------------------------------------
def _by_rule(integrand, lows, highs, parameters):
    """The integrals over some intervals, a matrix, and their errors, as QUADPACK estimates them."""
    half, middle = [T.shape_padright(part) for part in ((highs - lows) / 2, (lows + highs) / 2)]
    places = middle + half * T.as_tensor_variable(POINTS)
    place = integrand.place.type()
    rows, = map_rows([integrand.at(place, parameters)], [(place, places.flatten())])
    rows = T.reshape(rows, (lows.shape[0], 21, -1), ndim=3)
    by_kronrod, by_gauss = [T.tensordot(rows, T.as_tensor_variable(weights), axes=[[1], [0]])
                            for weights in (KRONROD, GAUSS)]
    error, half_size = abs((by_kronrod - by_gauss) * half), abs(half)
    size = T.tensordot(abs(rows), T.as_tensor_variable(KRONROD), axes=[[1], [0]]) * half_size
    mean = T.shape_padaxis(by_kronrod / 2, 1)
    spread = T.tensordot(abs(rows - mean), T.as_tensor_variable(KRONROD), axes=[[1], [0]]) * half_size
    known = T.and_(T.neq(spread, 0), T.neq(error, 0))
    error = T.switch(known, spread * T.minimum(1, (200 * error / spread) ** 1.5), error)
    error = T.switch(T.gt(size, TINY / (50 * EPSILON)), T.maximum(50 * EPSILON * size, error), error)
    return by_kronrod * half, T.max(T.concatenate([error, T.zeros_like(half)], axis=1), axis=1)


def _by_halves(integrand, low, high, parameters):
    values, errors = _by_rule(integrand, low.dimshuffle("x"), high.dimshuffle("x"), parameters)
    limit = integrand.limit
    first = {"lows": T.set_subtensor(T.zeros([limit])[:1], low), "highs": T.set_subtensor(T.zeros([limit])[:1], high),
             "values": T.set_subtensor(T.zeros([limit, values.shape[1]])[:1], values),
             "errors": T.set_subtensor(T.zeros([limit])[:1], errors), "count": T.constant(1, dtype="int64")}

    def good(values, errors):
        wanted = T.maximum(integrand.epsabs, integrand.epsrel * T.max(T.concatenate([abs(values.sum(axis=0)), [0.0]])))
        return T.invert(T.gt(errors.sum(), wanted))         # NaN cannot become better

    def step(lows, highs, values, errors, count):
        worst = T.argmax(errors)
        middle = (lows[worst] + highs[worst]) / 2
        found, estimates = _by_rule(integrand, T.stack([lows[worst], middle]), T.stack([middle, highs[worst]]),
                                    parameters)
        after = {"lows": T.set_subtensor(lows[count], middle), "highs": T.set_subtensor(highs[count], highs[worst]),
                 "values": T.set_subtensor(T.set_subtensor(values[worst], found[0])[count], found[1]),
                 "errors": T.set_subtensor(T.set_subtensor(errors[worst], estimates[0])[count], estimates[1]),
                 "count": count + 1}
        after["highs"] = T.set_subtensor(after["highs"][worst], middle)
        stops = T.or_(T.ge(count + 1, limit), good(after["values"], after["errors"]))
        return after, stops

    steps = T.switch(good(first["values"], first["errors"]), T.constant(0, dtype="int64"),
                     T.constant(limit - 1, dtype="int64"))
    last = looped("quad", step, first, steps)
    return last["values"].sum(axis=0), last["errors"].sum()


# ---- derivatives -----------------------------------------------------------------------------------------------------
def _backward(integrand, inputs, gradients):
    low, high, *parameters = inputs
    weights = gradients[0]
    if isinstance(weights.type, DisconnectedType):
        return [disconnected_type() for _ in inputs]
    results = [-T.dot(weights, integrand.at(low, parameters)), T.dot(weights, integrand.at(high, parameters)),
               *[disconnected_type() for _ in parameters]]
    numbers = [place for place, inner in enumerate(integrand.parameters) if inner.type.dtype in continuous_dtypes]
    if not numbers:
        return results
    inner, weight = [parameter.type() for parameter in integrand.parameters], weights.type()
    found = grad(None, [inner[place] for place in numbers],
                 known_grads={integrand.at(integrand.place, inner): weight}, disconnected_inputs="ignore")
    flat = T.unbroadcast(T.concatenate([T.cast(part, "float64").flatten() for part in found]), 0)
    further = integrand._replace(parameters=[*inner, weight], value=flat)
    values, _ = _integrated(further, low, high, [*parameters, weights])
    position = 0
    for place in numbers:
        parameter = parameters[place]
        part = T.reshape(values[position:position + parameter.size], parameter.shape, ndim=parameter.type.ndim)
        results[2 + place] = T.cast(T.patternbroadcast(part, parameter.type.broadcastable), parameter.type.dtype)
        position = position + parameter.size
    return results


def _forward(integrand, inputs, points):
    low, high, *parameters = inputs
    known = [None if point is None or isinstance(point.type, DisconnectedType) else point for point in points]
    moved = [place for place, point in enumerate(known[2:]) if point is not None]
    total = T.zeros_like(integrand.at(low, parameters))
    if moved:
        inner = [parameter.type() for parameter in integrand.parameters]
        directions = [known[2 + place].type() for place in moved]
        change = Rop(integrand.at(integrand.place, inner), [inner[place] for place in moved], directions,
                     disconnected_outputs="ignore")
        further = integrand._replace(parameters=[*inner, *directions], value=change)
        total, _ = _integrated(further, low, high, [*parameters, *[known[2 + place] for place in moved]])
    for sign, end, point in ((-1, low, known[0]), (1, high, known[1])):
        if point is not None:
            total = total + sign * integrand.at(end, parameters) * point
    return [total, disconnected_type()]
