"""Tridiagonal systems: LAPACK's factors (gttrf) and solutions (gttrs), made row by row in a loop of phintys."""
from __future__ import annotations

from typing import Any

from phintys import tensor as T
from phintys.interop.pytensor.translation import row
from phintys.ops.loops.building import Body, make_loop

row("tensor.LUFactorTridiagonal")(lambda op, node, below, diagonal, above:
    factored(*_of_one_dtype(node, below, diagonal, above)))


@row("tensor.SolveLUFactorTridiagonal")
def _solve(op, node, below, diagonal, above, second, pivots, b):
    below, diagonal, above, second, b = _of_one_dtype(node, below, diagonal, above, second, b)
    solve = solved_transposed if op.transposed else solved
    return solve(below, diagonal, above, second, pivots, b)


def _of_one_dtype(node, *inputs):
    return [T.cast(each, node.outputs[0].type.dtype) for each in inputs]


def factored(below: Any, diagonal: Any, above: Any) -> Any:
    """LAPACK's factors of a matrix with three diagonals: multipliers, three diagonals of U, pivots from 1.

    A step has row i of the matrix as the steps before have left it, ``now`` and ``right``, and row i + 1 as it was.
    """
    steps = T.shape_i(below, 0)
    lower, next_diagonal, next_above, now, right = [T.scalar(dtype=diagonal.type.dtype) for _ in range(5)]
    number = T.lscalar()
    stays = T.ge(T.abs(now), T.abs(lower))
    multiplier = T.switch(stays, T.switch(T.eq(now, 0), 0, lower / now), now / lower)
    swapped_right = T.switch(stays, right, next_diagonal)
    rows = [multiplier, T.switch(stays, now, lower), swapped_right, T.switch(stays, 0, next_above)]
    body = Body(
        sequences=[(lower, below), (next_diagonal, diagonal[1:]), (next_above, _longer(above[1:], 1))],
        stacked=[*[T.cast(each, diagonal.type.dtype) for each in rows],
                 T.cast(number + T.switch(stays, 1, 2), "int32")],
        carried=[(now, T.switch(stays, next_diagonal, right) - multiplier * swapped_right, diagonal[0]),
                 (right, T.switch(stays, next_above, -multiplier * next_above), _longer(above, 1)[0]),
                 (number, number + 1, T.constant(0, dtype="int64"))])
    results = make_loop(steps, body, "factors of a tridiagonal matrix", lifts=False)
    multipliers, main, first, second, pivots = results.stacked
    return [multipliers, T.join(0, main, results.carried[0][None]), first, second[:T.maximum(steps - 1, 0)],
            T.join(0, pivots, T.cast(steps + 1, "int32")[None])]


def solved(below: Any, diagonal: Any, above: Any, second: Any, pivots: Any, b: Any) -> Any:
    """The solution for one or more right-hand sides, from the factors."""
    lower, pivot, following, now = _row_variables(below, pivots, b)
    stays, number = _stays(pivot)
    body = Body(sequences=[(lower, below), (pivot, pivots), (following, b[1:])],
                stacked=[T.switch(stays, now, following)],
                carried=[(now, T.switch(stays, following - lower * now, now - lower * following), b[0]),
                         (number, number + 1, T.constant(1, dtype="int64"))])
    results = make_loop(T.shape_i(below, 0), body, "forward substitution", lifts=False)
    half = T.join(0, results.stacked[0], results.carried[0][None])
    return _substituted(half[::-1], diagonal[::-1], _longer(above, 1)[::-1], _longer(second, 2)[::-1])[::-1]


def solved_transposed(below: Any, diagonal: Any, above: Any, second: Any, pivots: Any, b: Any) -> Any:
    """The solution of the transposed system."""
    half = _substituted(b, diagonal, _later(above, 1, diagonal), _later(second, 2, diagonal))
    lower, pivot, before, now = _row_variables(below, pivots, b)
    steps = T.shape_i(below, 0)
    stays, number = _stays(pivot)
    change = before - lower * now
    body = Body(sequences=[(lower, below[::-1]), (pivot, pivots[:steps][::-1]), (before, half[:steps][::-1])],
                stacked=[T.switch(stays, now, change)],
                carried=[(now, T.switch(stays, change, now), half[steps]), (number, number - 1, steps)])
    results = make_loop(steps, body, "backward substitution", lifts=False)
    return T.join(0, results.carried[0][None], results.stacked[0][::-1])


def _row_variables(below, pivots, b):
    """A multiplier, a pivot, and two rows of the right-hand side, inside a loop."""
    kind = T.TensorType(b.type.dtype, b.type.broadcastable[1:])
    return T.scalar(dtype=below.type.dtype), T.scalar(dtype=pivots.type.dtype), kind(), kind()


def _stays(pivot):
    """Whether the row of a step was not exchanged with the next one; and the variable for its number, from 1."""
    number = T.lscalar()
    return T.eq(pivot, number), number


def _substituted(b, diagonal, first, second):
    """``x[i] = (b[i] - first[i] * x[i - 1] - second[i] * x[i - 2]) / diagonal[i]``."""
    kind = T.TensorType(b.type.dtype, b.type.broadcastable[1:])
    right, last, before = kind(), kind(), kind()
    middle, one, two = [T.scalar(dtype=diagonal.type.dtype) for _ in range(3)]
    x = (right - one * last - two * before) / middle
    zero = T.zeros_like(b[0])
    body = Body(sequences=[(right, b), (middle, diagonal), (one, first), (two, second)], stacked=[x],
                carried=[(last, x, zero), (before, last, zero)])
    return make_loop(T.shape_i(diagonal, 0), body, "substitution", lifts=False).stacked[0]


def _longer(vector, count):
    """A vector with zeros at its end."""
    return T.join(0, vector, T.zeros((count,), dtype=vector.type.dtype))


def _later(vector, count, like):
    """A vector after zeros, of the length of another one."""
    return T.join(0, T.zeros((count,), dtype=vector.type.dtype), vector)[:T.shape_i(like, 0)]
