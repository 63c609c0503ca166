"""Ordinary differential equations: Dormand's and Prince's method of fifth order with steps of adapted length, as
SciPy's RK45 takes them, and Radau's implicit one for stiff equations, in a loop; the derivatives are solutions of
equations beside the given ones.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from phintys import tensor as T
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import grad
from phintys.graph.valueless_types import DisconnectedType, disconnected_type
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.loops.building import Body, make_loop
from phintys.ops.loops.jacobian import jacobian
from phintys.ops.loops.row_map import map_rows
from phintys.ops.loops.vectorize import vectorize_graph
from phintys.ops.types.dtypes import continuous_dtypes
from phintys.optimizer.passes.loop_scalars import MOST_NUMBERS
from phintys.scan_module import scan
from phintys.solvers.implicit_steps import Step, between, implicit_step
from phintys.solvers.problem import problem_of, replaced, start_of, with_numbers
from phintys.solvers.root_loops import any_steps_if, looped

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.variable import Variable

# Dormand's and Prince's pair: times, weights of the stages, of the result, of its error, and of Shampine's polynomials
# of the share of a step.
TIMES = (0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1)
STAGES = ((), (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
          (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
          (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656))
RESULT = numpy.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84])
ERROR = numpy.array([-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40])
BETWEEN = numpy.array([
    [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
    [0, 0, 0, 0],
    [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
    [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
    [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
    [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
    [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423]])
KEPT = (0, 2, 3, 4, 5)  # stages that states between need, beside the derivative after the step
SAFETY, SHORTEST, LONGEST = 0.9, 0.2, 10        # of the factor from step to step
EPSILON = numpy.finfo("float64").eps


class _Equation(NamedTuple):
    """The inner graph: state (a vector), time, parameters, and the state's derivative; the tolerances; and for implicit
    steps, the Jacobian of the first of the blocks of which the state consists.
    """

    state: Variable
    time: Variable
    parameters: list
    slope: Variable
    rtol: float
    atol: float
    max_steps: int
    matrix: Variable | None = None

    def beside(self, state, parameters, slope, matrix=None):
        """Another equation that is solved in the same way."""
        return self._replace(state=state, parameters=parameters, slope=slope, matrix=matrix)

    def jacobian(self, state, time, parameters):
        """The derivatives of the first block's derivative by that block."""
        return replaced(self.matrix, [self.state, self.time, *self.parameters], [state, time, *parameters])

    def at(self, state, time, parameters):
        """The derivative of a state."""
        return replaced(self.slope, [self.state, self.time, *self.parameters], [state, time, *parameters])

    def along(self, states, times, parameters):
        """The derivatives of all states at their times, as rows."""
        state, time = self.state.type(), self.time.type()
        return map_rows([self.at(state, time, parameters)], [(state, states), (time, times)])[0]


def odeint(func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: float = 1.49012e-8, atol: float = 1.49012e-8,
           max_steps: int = 100_000, method: str = "RK45") -> Any:
    """Solve ordinary differential equations.

    Parameters
    ----------
    func : callable
        Takes the state, the time and ``args``, as variables, and returns the state's derivative. It may also read other
        variables.
    y0 : tensor-like
        The state at the first time, of any rank; it is converted to float64.
    t : tensor-like
        A vector of times, ascending or descending.
    *args : tensor-like
    rtol, atol : float
        The error of each step is at most ``atol + rtol * abs(state)``, as a root of a mean square.
    max_steps : int
        Between two times.
    method : {"RK45", "Radau"}
        "Radau" is implicit: it solves stiff equations in few steps, each of which takes a Jacobian.

    Returns
    -------
    TensorVariable
        The states at all times; the first dimension is that of ``t``. NaN from where a step would be shorter than
        numbers can tell, or where there would be more than ``max_steps``. Derivatives with respect to ``y0``, ``t``,
        ``args`` and other variables are solutions of further equations, of the same tolerances.

    Raises
    ------
    TypeError, ValueError
        For complex numbers, for another method, or if the derivative has another rank than the state.

    Notes
    -----
    The steps are those of ``scipy.integrate.solve_ivp(method="RK45")``; stiff equations take very many of them. Those
    of "Radau" are of the same kind as SciPy's. Gradients of "RK45" go back from the last time by the adjoint equations.
    Back in time stiff equations explode, so that "Radau" solves the equations of the derivatives by each number of
    ``y0`` and of the real ``args`` beside the state.

    Examples
    --------
    >>> rate = T.dscalar("rate")
    >>> y = phintys.solvers.odeint(lambda y, t: -rate * y, 1.0, [0.0, 1.0])
    >>> phintys.function([rate], [y[1], phintys.grad(y[1], rate)])(1.0)
    [array(0.36787944), array(-0.3678794...)]
    """
    if method not in ("RK45", "Radau"):
        raise ValueError(f"odeint: method must be 'RK45' or 'Radau', got {method!r}")
    y0, t = start_of("odeint", y0), start_of("odeint", t)
    if t.type.ndim != 1:
        raise ValueError(f"odeint: t must be a vector, got {t} of type {t.type}")
    state, time = y0.type(), T.dscalar()
    problem = with_numbers(problem_of("odeint", func, [state, time], args))
    if problem.value.type.ndim != state.type.ndim:
        raise ValueError(f"odeint: the function returns {problem.value.type.ndim} dimensions, but the state has "
                         f"{state.type.ndim}")
    lengths = [y0.shape[number] for number in range(y0.type.ndim)]
    count = problem.value.type.shape[0] if state.type.ndim == 1 else None
    vector = T.dvector() if count in (None, 1) else T.tensor("float64", shape=(count,))
    inner = [length.type() for length in lengths if state.type.ndim > 1]
    shaped = T.patternbroadcast(T.reshape(vector, inner, ndim=len(inner)), state.type.broadcastable) if inner else (
        vector if state.type.ndim else vector[0])
    slope = replaced(problem.value, [state], [shaped])
    slope = T.unbroadcast(slope.flatten() if inner else slope if state.type.ndim else slope.dimshuffle("x"), 0)
    matrix = None if method == "RK45" else jacobian(slope, vector, disconnected_inputs="ignore")
    equation = _Equation(vector, time, [*problem.parameters, *inner], slope, max(rtol, 100 * EPSILON), atol, max_steps,
                         matrix)
    found = _solved(equation, T.unbroadcast(y0.flatten(), 0), T.unbroadcast(t, 0),
                    [*problem.outer, *lengths[:len(inner)]])
    return T.reshape(found, [t.shape[0], *lengths], ndim=1 + len(lengths))


def _solved(equation, start, times, parameters, is_interval=False):
    """The states at the times, as the rows of a matrix, with their derivatives; or at the ends of an interval."""
    count = equation.state.type.shape[0]
    start = start if count is None else T.specify_shape(start, (count,))
    by_steps = _by_steps if not is_interval else _to_end
    inner = [start.type(), times.type(), *[parameter.type() for parameter in parameters]]
    op = OpFromGraph(inner, [by_steps(equation, inner[0], inner[1], inner[2:])], inline=True,
                     lop_overrides=lambda inputs, outputs, gradients: _backward(equation, inputs, outputs, gradients),
                     rop_overrides=lambda inputs, points: [_forward(equation, inputs, points)], name="odeint",
                     connection_pattern=[[variable.type.dtype in continuous_dtypes] for variable in inner])
    return op(start, times, *parameters)


# ---- steps -----------------------------------------------------------------------------------------------------------
def _size(x):
    return T.sqrt(T.mean(x ** 2))


def _first_length(equation, y, f, time, direction, whole, parameters, order):
    """Hairer's choice of the first step, from how the derivative changes."""
    scale = equation.atol + abs(y) * equation.rtol
    d0, d1 = _size(y / scale), _size(f / scale)
    h0 = T.switch(T.or_(T.lt(d0, 1e-5), T.lt(d1, 1e-5)), 1e-6, 0.01 * d0 / d1)
    h0 = T.minimum(h0, whole)
    after = equation.at(y + h0 * direction * f, time + h0 * direction, parameters)
    d2 = _size((after - f) / scale) / h0
    flat = T.and_(T.le(d1, 1e-15), T.le(d2, 1e-15))
    h1 = T.switch(flat, T.maximum(1e-6, h0 * 1e-3), (0.01 / T.maximum(d1, d2)) ** (1 / order))
    return T.minimum(T.minimum(100 * h0, h1), whole)


def _step(equation, y, f, time, length, parameters, *_):
    """Dormand's and Prince's step, which keeps the derivatives of all stages."""
    stages = [f]
    for share, weights in zip(TIMES[1:], STAGES[1:]):
        stages.append(equation.at(y + _combined(weights, stages) * length, time + share * length, parameters))
    after = y + length * _combined(RESULT, stages)
    slope = equation.at(after, time + length, parameters)
    scale = equation.atol + T.maximum(abs(y), abs(after)) * equation.rtol
    error = _size(_combined(ERROR, [*stages, slope]) * length / scale)
    return Step(after, slope, [stages[number] for number in KEPT], error, T.constant(True), SAFETY)


def _combined(weights, stages):
    """The sum of the stages, each with its weight: one kernel."""
    return sum([weight * stage for weight, stage in zip(weights, stages) if not isinstance(weight, float) or weight])


def _stepping(equation, start, times, parameters):
    """What a loop carries at first, and its step: to the end, or until the target has been reached.

    For states between, the state and the time before the last step are carried, and what else these need.
    """
    implicit = equation.matrix is not None
    one_step, order = (implicit_step, 4) if implicit else (_step, 5)
    end = T.sum(times[-1:])                         # an index could fail, and would be looked up by each step
    direction = T.switch(T.lt(end, times[0]), -1.0, 1.0)

    def step(y, f, time, length, rejected, failed, count, target=end, before=None, from_=None, **kept):
        least = 10 * abs(T.nextafter(time, direction * numpy.inf) - time)
        length = T.switch(rejected, length, T.maximum(length, least))
        too_short = T.or_(T.invert(T.ge(length, least)), T.ge(count, equation.max_steps))
        after_time = time + length * direction
        after_time = T.switch(T.gt(direction * (after_time - end), 0), end, after_time)
        signed = after_time - time
        share = None
        if before is not None:
            span = time - from_
            share = signed / T.switch(T.eq(span, 0), 1.0, span)
        found = one_step(equation, y, f, time, signed, parameters, [*kept.values()], before, share, rejected)
        good = T.and_(T.and_(T.lt(found.error, 1), found.converged), T.invert(too_short))
        change = found.safety * found.error ** (-1 / order)
        wider = T.switch(T.eq(found.error, 0), float(LONGEST), T.minimum(change, LONGEST))
        wider = T.switch(rejected, T.minimum(wider, 1), wider)
        narrower = T.switch(T.gt(change, SHORTEST), T.minimum(change, 1), SHORTEST)           # of NaN, the shortest
        narrower = T.switch(found.converged, narrower, 0.5)
        following = {"y": T.switch(good, found.after, y), "f": T.switch(good, found.slope, f),
                     "time": T.switch(good, after_time, time),
                     **{name: T.switch(good, new, kept[name]) for name, new in zip(kept, found.kept)},
                     "length": abs(signed) * T.switch(good, wider, narrower), "rejected": T.invert(good),
                     "failed": T.or_(failed, too_short), "count": count + 1, "target": target}
        if before is not None:
            following.update(before=T.switch(good, y, before), from_=T.switch(good, time, from_))
        return following, T.or_(too_short, T.ge(direction * (following["time"] - target), 0))

    f = equation.at(start, times[0], parameters)
    first = {"y": start, "f": f, "time": times[0],
             "length": _first_length(equation, start, f, times[0], direction, abs(end - times[0]), parameters,
                                      order),
             "rejected": T.constant(False), "failed": T.constant(False)}
    return first, step, direction


def _to_end(equation, start, times, parameters):
    """The states at the ends of an interval: without what states between need."""
    first, step, _ = _stepping(equation, start, times, parameters)
    last = looped("RK45", step, {**first, "count": T.constant(0, dtype="int64"), "target": times[1]},
                  any_steps_if(T.neq(times[0], times[1])))
    return T.stack([start, T.switch(last["failed"], numpy.nan, last["y"])])


def _by_steps(equation, start, times, parameters):
    """The states at all times: a loop over them, which goes on with the steps while a time has not been reached."""
    implicit = equation.matrix is not None
    first, step, direction = _stepping(equation, start, times, parameters)
    nothing = T.zeros_like(start)
    kept = [T.stack([nothing] * 3)] if implicit else [nothing] * len(KEPT)
    first.update(before=start, from_=times[0], **{f"kept_{number}": value for number, value in enumerate(kept)})
    # A short state is carried from time to time as single numbers, so that no step puts it together.
    count = start.type.shape[0]
    is_short = not implicit and count is not None and count <= MOST_NUMBERS
    numbers = {name: [value[number] for number in range(count)] if is_short and value.type.ndim else [value]
               for name, value in first.items()}
    carried = {name: [number.type() for number in parts] for name, parts in numbers.items()}
    inner = {name: T.stack(parts) if first[name].type.ndim > parts[0].type.ndim else parts[0]
             for name, parts in carried.items()}
    target = T.dscalar()
    goes = T.and_(T.lt(direction * (inner["time"] - target), 0), T.invert(inner["failed"]))
    begun = {**inner, "count": T.constant(0, dtype="int64"), "target": target}
    last = looped("Radau" if implicit else "RK45", step, begun, any_steps_if(goes))
    span = last["time"] - last["from_"]
    share = (target - last["from_"]) / T.switch(T.eq(span, 0), 1.0, span)
    after = {name: [last[name][number] for number in range(len(parts))] if last[name].type.ndim > parts[0].type.ndim
             else [last[name]] for name, parts in carried.items()}
    kept = [after[name] for name in after if name.startswith("kept")]
    if implicit:
        there = [last["before"] + between(share, last["kept_0"])]
    else:
        weights = [share * (a + share * (b + share * (c + share * d))) for a, b, c, d in BETWEEN[[*KEPT, -1]]]
        there = [T.switch(T.eq(span, 0), before, before + span * _combined(weights, stages))     # a start without slope
                 for before, *stages in zip(after["before"], *kept, after["f"])]
    there = [T.switch(last["failed"], numpy.nan, part) for part in there]
    body = Body([(target, times)], stacked=[T.stack(there) if not there[0].type.ndim else there[0]], carried=[
        pair for name in carried for pair in zip(carried[name], after[name], numbers[name])])
    return make_loop(times.shape[0], body, "odeint", lifts=False).stacked[0]        # the first is the start


# ---- derivatives -----------------------------------------------------------------------------------------------------
def _backward(equation, inputs, outputs, gradients):
    """The gradient by the adjoint equations, which are solved from the last time to the first."""
    start, times, *parameters = inputs
    by_states = gradients[0]
    if isinstance(by_states.type, DisconnectedType):
        return [disconnected_type() for _ in inputs]
    numbers = [place for place, inner in enumerate(equation.parameters) if inner.type.dtype in continuous_dtypes]
    sizes = [parameters[place].size for place in numbers]
    by_numbers = _by_adjoint if equation.matrix is None else _by_sensitivities
    slope, collected = by_numbers(equation, start, times, parameters, outputs[0], by_states, numbers, sizes)
    along = equation.along(outputs[0], times, parameters)
    by_times = T.set_subtensor((by_states * along).sum(axis=1)[:1], -T.dot(slope, along[0]).dimshuffle("x"))
    results = [slope + by_states[0], by_times, *[disconnected_type() for _ in parameters]]
    position = 0
    for place, size in zip(numbers, sizes):
        part = collected[position:position + size]
        shaped = T.reshape(part, parameters[place].shape, ndim=parameters[place].type.ndim)
        results[2 + place] = T.cast(T.patternbroadcast(shaped, parameters[place].type.broadcastable),
                                    parameters[place].type.dtype)
        position = position + size
    return results


def _by_adjoint(equation, start, times, parameters, states, by_states, numbers, sizes):
    """The derivatives by the start, of all but the first state, and by the parameters, one after the other."""
    adjoint = _adjoint(equation, numbers)
    count = equation.state.type.shape[0] or start.shape[0]
    nothing = T.zeros([sum(sizes, T.constant(0, dtype="int64"))], dtype="float64")

    def back(state, weight, now, before, slope, collected, *known):
        joined = T.concatenate([state, slope + weight, collected])
        found = _solved(adjoint, joined, T.stack([now, before]), list(known), is_interval=True)[-1]
        return found[count:2 * count], found[2 * count:]

    (slopes, collected), _ = scan(
        back, sequences=[states[:0:-1], by_states[:0:-1], times[:0:-1], times[-2::-1]],
        outputs_info=[T.zeros_like(start), nothing], non_sequences=parameters)
    # With one time only, nothing comes after the start.
    slope = T.concatenate([T.shape_padleft(T.zeros_like(start)), slopes])[-1]
    collected = T.concatenate([T.shape_padleft(nothing), collected])[-1]
    return slope, collected


def _by_sensitivities(equation, start, times, parameters, states, by_states, numbers, sizes):
    """The same by the derivatives of all states by each number, whose equations are solved beside that of the state."""
    inner = [parameter.type() for parameter in equation.parameters]
    directions = [inner[place].type() for place in numbers]
    count, joined = T.lscalar(), T.dvector()
    state, direction = equation.state.type(), equation.state.type()
    slope = equation.at(state, equation.time, inner)
    change = Rop(slope, [state, *[inner[place] for place in numbers]], [direction, *directions],
                 disconnected_outputs="ignore")
    own = [inner[place].size for place in numbers]
    every = sum(own, count)
    rows, position = {direction: T.reshape(joined[count:], [every, count], ndim=2)}, count
    for each, size in zip(directions, own):
        unit = T.cast(T.eq(T.arange(every).dimshuffle(0, "x"), position + T.arange(size)), each.type.dtype)
        shaped = T.reshape(unit, [every, *[inner[numbers[directions.index(each)]].shape[number]
                                           for number in range(each.type.ndim)]], ndim=1 + each.type.ndim)
        rows[each] = T.patternbroadcast(shaped, (False, *each.type.broadcastable))
        position = position + size
    value = T.concatenate([slope, vectorize_graph(change, rows).flatten()])
    beside = equation.beside(joined, [*inner, count], replaced(value, [state], [joined[:count]]), replaced(
        equation.jacobian(state, equation.time, inner), [state], [joined[:count]]))
    every = sum(sizes, start.shape[0])
    first = T.concatenate([start, T.eye(every, start.shape[0]).flatten()])
    found = _solved(beside, first, times, [*parameters, start.shape[0]])[:, start.shape[0]:]
    shaped = T.reshape(found, [times.shape[0], every, start.shape[0]], ndim=3)
    collected = T.tensordot(by_states[1:], shaped[1:].dimshuffle(0, 2, 1), 2)
    return collected[:start.shape[0]], collected[start.shape[0]:]


def _adjoint(equation, numbers):
    """The equation of the state, its adjoint, and the parameters' gradients, as one vector."""
    inner = [parameter.type() for parameter in equation.parameters]
    chosen = [inner[place] for place in numbers]
    state, count = equation.state.type(), equation.state.type.shape[0]
    if count is None or any([part.type.ndim for part in chosen]):
        joined = T.dvector()
        count = (joined.shape[0] - sum([part.size for part in chosen], T.constant(0, dtype="int64"))) // 2
    else:
        joined = T.tensor("float64", shape=(2 * count + len(chosen),))
    slope = equation.at(state, equation.time, inner)
    weight = T.dvector()
    found = grad(None, [state, *chosen], known_grads={slope: weight}, disconnected_inputs="ignore")
    value = T.concatenate([slope, *[T.atleast_1d(-T.cast(part, "float64")) if part.type.ndim < 2 else
                                    -T.cast(part, "float64").flatten() for part in found]])
    value = replaced(value, [state, weight], [joined[:count], joined[count:2 * count]])
    return equation.beside(joined, inner, value)


def _forward(equation, inputs, points):
    """The derivative along a direction, whose equation is solved beside that of the state."""
    start, times, *parameters = inputs
    known = [None if point is None or isinstance(point.type, DisconnectedType) else point for point in points]
    moved = [place for place, point in enumerate(known[2:]) if point is not None]
    inner = [parameter.type() for parameter in equation.parameters]
    directions = [known[2 + place].type() for place in moved]
    joined, state, direction = T.dvector(), equation.state.type(), equation.state.type()
    count = joined.shape[0] // 2
    slope = equation.at(state, equation.time, inner)
    change = Rop(slope, [state, *[inner[place] for place in moved]], [direction, *directions],
                 disconnected_outputs="ignore")
    value = replaced(T.concatenate([slope, change]), [state, direction], [joined[:count], joined[count:]])
    matrix = None if equation.matrix is None else replaced(equation.jacobian(state, equation.time, inner), [state],
                                                           [joined[:count]])
    beside = equation.beside(joined, [*inner, *directions], value, matrix)
    first = T.zeros_like(start) if known[0] is None else known[0]
    if known[1] is not None:
        first = first - equation.at(start, times[0], parameters) * known[1][0]
    found = _solved(beside, T.concatenate([start, first]), times, [*parameters, *[known[2 + place] for place in moved]])
    derivative = found[:, start.shape[0]:]
    if known[1] is None:
        return derivative
    return derivative + equation.along(found[:, :start.shape[0]], times, parameters) * known[1].dimshuffle(0, "x")
