"""Steps of Radau's implicit method of fifth order (Radau IIA), for stiff equations.

A polynomial of degree 3 solves the equation at three times of a step, the last of which is its end. Newton's method
finds it; its matrix is made from the Jacobian at the start of the step. Several vectors of one equation, such as a
state and its derivatives, have the Jacobian of the first one as blocks of theirs.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from phintys import tensor as T
from phintys.ops.factorizations.solve import Solve
from phintys.solvers.root_loops import looped

if TYPE_CHECKING:
    from phintys.graph.variable import Variable

ROOT = numpy.sqrt(6.0)
TIMES = numpy.array([(4 - ROOT) / 10, (4 + ROOT) / 10, 1.0])
POWERS = numpy.arange(1, 4)
# The polynomial's values, which are differences from the state, are VALUES @ coefficients; its derivatives are SLOPES
# @ coefficients.
VALUES = TIMES[:, None] ** POWERS
SLOPES = POWERS * TIMES[:, None] ** (POWERS - 1)
WEIGHTS = VALUES @ numpy.linalg.inv(SLOPES)                  # of the method
COEFFICIENTS = numpy.linalg.inv(VALUES)
# The real eigenvalue of the inverse of WEIGHTS, by which the estimate of the error stays small for stiff components,
# and that estimate's weights, by Hairer and Wanner.
REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
ERROR = numpy.array([-13 - 7 * ROOT, -13 + 7 * ROOT, -1.0]) / 3
MOST_ITERATIONS = 6
EPSILON = numpy.finfo("float64").eps


class Step(NamedTuple):
    """Where a step ends, the derivative there, what is kept for states between, and how good it is."""

    after: Variable
    slope: Variable
    kept: list
    error: Any
    converged: Any
    safety: Any


def _size(x):
    return T.sqrt(T.mean(x ** 2))


def _in_blocks(matrix, values, count, rows):
    """A matrix times each block: ``values`` has ``rows`` rows of blocks of ``count`` numbers."""
    blocks = T.reshape(values, [rows, -1, count], ndim=3).dimshuffle(0, 2, 1)
    found = T.dot(matrix, T.reshape(blocks, [rows * count, -1], ndim=2))
    return T.reshape(T.reshape(found, [rows, count, -1], ndim=3).dimshuffle(0, 2, 1), [rows, -1], ndim=2)


def implicit_step(equation: Any, y: Variable, f: Variable, time: Variable, length: Variable, parameters: Any,
                  kept: list, before: Variable, share: Variable, rejected: Variable) -> Step:
    """One step of the method.

    Parameters
    ----------
    equation : _Equation
        With ``matrix``, the Jacobian of the first block.
    y, f, time, length : Variable
        The state, its derivative, the time, and the signed length of the step.
    parameters : list of Variable
    kept : list of a Variable
    before, share : Variable
        The polynomial of the last step, the state from which it starts, and this step's length as a share of its
        length: the polynomial goes on to the first guess.
    rejected : Variable
        Whether the last attempt was.
    """
    jacobian = equation.jacobian(y, time, parameters)
    jacobian = T.switch(T.all(T.isfinite(jacobian)), jacobian, numpy.nan)
    count = jacobian.shape[0]
    solve = Solve(on_error="nan")
    system = T.eye(3 * count) - length * T.kron(T.as_tensor(WEIGHTS), jacobian)
    inverse = solve(system, T.eye(3 * count))
    scale = equation.atol + abs(y) * equation.rtol
    limit = max(10 * EPSILON / equation.rtol, min(0.03, equation.rtol ** 0.5))
    ahead = (1 + share * TIMES).dimshuffle(0, "x") ** POWERS
    guess = before - y + T.dot(ahead, kept[0])
    guess = T.switch(T.all(T.isfinite(guess)), guess, 0.0)

    def iteration(values, change, iteration, converged):
        slopes = T.stack([equation.at(y + values[number], time + TIMES[number] * length, parameters)
                          for number in range(3)])
        moved = _in_blocks(inverse, length * T.dot(WEIGHTS, slopes) - values, count, 3)
        size = _size(moved / scale)
        rate = T.switch(T.eq(iteration, 0), numpy.nan, size / change)
        left = rate ** (MOST_ITERATIONS - 1 - iteration) / (1 - rate) * size
        diverges = T.or_(T.or_(T.ge(rate, 1), T.gt(left, limit)), T.isnan(size))
        converged = T.and_(T.invert(diverges), T.or_(T.eq(size, 0), T.lt(rate / (1 - rate) * size, limit)))
        following = {"values": T.switch(diverges, values, values + moved), "change": size, "iteration": iteration + 1,
                     "converged": converged}
        return following, T.or_(diverges, converged)

    found = looped("Newton's method", iteration, {
        "values": guess, "change": T.constant(0.0, dtype="float64"), "iteration": T.constant(0, dtype="int64"),
        "converged": T.constant(False)}, T.constant(MOST_ITERATIONS, dtype="int64"))
    values = found["values"]
    after = y + values[2]
    slope = equation.at(after, time + length, parameters)

    estimating = solve(REAL / length * T.eye(count) - jacobian, T.eye(count))
    scale = equation.atol + T.maximum(abs(y), abs(after)) * equation.rtol
    change = T.dot(ERROR, values) / length

    def estimate(first):
        return _in_blocks(estimating, (first + change).dimshuffle("x", 0), count, 1)[0]
    error = estimate(f)
    size = _size(error / scale)
    again = _size(estimate(equation.at(y + error, time, parameters)) / scale)
    size = T.switch(T.and_(rejected, T.gt(size, 1)), again, size)
    safety = 0.9 * (2 * MOST_ITERATIONS + 1) / (2 * MOST_ITERATIONS + found["iteration"])
    return Step(after, slope, [T.dot(COEFFICIENTS, values)], size, found["converged"], safety)


def between(share: Variable, kept: Variable) -> Variable:
    """How far the state is from that before the step, after a share of it."""
    return T.dot(T.stack([share, share ** 2, share ** 3]), kept)
