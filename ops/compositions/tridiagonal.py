"""Systems with three diagonals: LAPACK's factors (gttrf) and solutions (gttrs), made row by row in a loop.

`solve_tridiagonal` takes steps in the number of rows, and its derivatives are two such solutions.
"""
import numpy

from phintys.ops.creation.allocation import zeros
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.loops.building import Body, make_loop
from phintys.ops.reduction.reduction import any as any_true
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i, unbroadcast
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType


def solve_tridiagonal(dl, d, du, b):
    """Solve a system whose matrix has three diagonals.

    Parameters
    ----------
    dl, d, du : vector
        The diagonals below, on and above the main one; ``dl`` and ``du`` are shorter by an element.
    b : vector or matrix

    Returns
    -------
    TensorVariable
        NaN if a pivot is 0.

    Raises
    ------
    ValueError
        For diagonals that are not vectors, and for complex numbers.

    Examples
    --------
    >>> T.linalg.solve_tridiagonal([1.0], T.as_tensor([2.0, 2.0]), [0.0], [2.0, 3.0]).eval()
    array([1., 1.])
    """
    given = [as_tensor_variable(part) for part in (dl, d, du, b)]
    dtype = upcast(*[part.type.dtype for part in given])
    if [part.type.ndim for part in given[:3]] != [1, 1, 1] or given[3].type.ndim not in (1, 2) or (
            dtype in complex_dtypes):
        raise ValueError("solve_tridiagonal: three real vectors and a vector or matrix are needed, got "
                         + ", ".join([str(part.type) for part in given]))
    dtype = "float64" if dtype in discrete_dtypes else dtype
    given = [unbroadcast(as_dtype(part, dtype), *range(part.type.ndim)) for part in given]
    inner = [part.type() for part in given]
    factors = factored(*inner[:3])
    found = elementwise.switch(any_true(elementwise.eq(factors[1], 0)), constant(numpy.nan, dtype=dtype),
                               solved(*factors, inner[3]))
    return OpFromGraph(inner, [found], inline=True, lop_overrides=_backward, rop_overrides=_forward,
                       connection_pattern=[[True]] * 4, name="solve_tridiagonal")(*given)


def _backward(inputs, outputs, gradients):
    """The transposed system has the gradient of b as its solution; the others are products with x."""
    dl, d, du, _ = inputs
    x, = outputs
    by_b = solve_tridiagonal(du, d, dl, gradients[0])
    return [-_along(by_b[1:], x[:-1]), -_along(by_b, x), -_along(by_b[:-1], x[1:]), by_b]


def _along(x, y):
    return x * y if x.type.ndim == 1 else sum_over(x * y, axis=1)


def _forward(inputs, moved):
    dl, d, du, b = inputs
    x = solve_tridiagonal(dl, d, du, b)
    zero = elementwise.zeros_like
    moved = [zero(part) if move is None or not hasattr(move.type, "dtype") else move
             for part, move in zip(inputs, moved)]
    by_dl, by_d, by_du = [part if x.type.ndim == 1 else dimshuffle(part, 0, "x") for part in moved[:3]]
    none = zero(x[:1])
    change = by_d * x + concatenate([none, by_dl * x[:-1]]) + concatenate([by_du * x[1:], none])
    return [solve_tridiagonal(dl, d, du, moved[3] - change)]


def _number(dtype):
    return TensorType(dtype, ())()


def factored(below, diagonal, above):
    """LAPACK's factors of a matrix with three diagonals: multipliers, three diagonals of U, pivots from 1.

    A step has row i of the matrix as the steps before have left it, ``now`` and ``right``, and row i + 1 as it was.
    """
    steps = shape_i(below, 0)
    lower, next_diagonal, next_above, now, right = [_number(diagonal.type.dtype) for _ in range(5)]
    number = _number("int64")
    stays = elementwise.ge(abs(now), abs(lower))
    multiplier = elementwise.switch(stays, elementwise.switch(elementwise.eq(now, 0), 0, lower / now), now / lower)
    swapped_right = elementwise.switch(stays, right, next_diagonal)
    rows = [multiplier, elementwise.switch(stays, now, lower), swapped_right, elementwise.switch(stays, 0, next_above)]
    body = Body(
        sequences=[(lower, below), (next_diagonal, diagonal[1:]), (next_above, _longer(above[1:], 1))],
        stacked=[*[as_dtype(each, diagonal.type.dtype) for each in rows],
                 as_dtype(number + elementwise.switch(stays, 1, 2), "int32")],
        carried=[(now, elementwise.switch(stays, next_diagonal, right) - multiplier * swapped_right, diagonal[0]),
                 (right, elementwise.switch(stays, next_above, -multiplier * next_above), _longer(above, 1)[0]),
                 (number, number + 1, constant(0, dtype="int64"))])
    results = make_loop(steps, body, "factors of a tridiagonal matrix", lifts=False)
    multipliers, main, first, second, pivots = results.stacked
    return [multipliers, concatenate([main, results.carried[0][None]]), first,
            second[:elementwise.maximum(steps - 1, 0)], concatenate([pivots, as_dtype(steps + 1, "int32")[None]])]


def solved(below, diagonal, above, second, pivots, b):
    """The solution for one or more right-hand sides, from the factors."""
    lower, pivot, following, now = _row_variables(below, pivots, b)
    stays, number = _stays(pivot)
    body = Body(sequences=[(lower, below), (pivot, pivots), (following, b[1:])],
                stacked=[elementwise.switch(stays, now, following)],
                carried=[(now, elementwise.switch(stays, following - lower * now, now - lower * following), b[0]),
                         (number, number + 1, constant(1, dtype="int64"))])
    results = make_loop(shape_i(below, 0), body, "forward substitution", lifts=False)
    half = concatenate([results.stacked[0], results.carried[0][None]])
    return _substituted(half[::-1], diagonal[::-1], _longer(above, 1)[::-1], _longer(second, 2)[::-1])[::-1]


def solved_transposed(below, diagonal, above, second, pivots, b):
    """The solution of the transposed system."""
    half = _substituted(b, diagonal, _later(above, 1, diagonal), _later(second, 2, diagonal))
    lower, pivot, before, now = _row_variables(below, pivots, b)
    steps = shape_i(below, 0)
    stays, number = _stays(pivot)
    change = before - lower * now
    body = Body(sequences=[(lower, below[::-1]), (pivot, pivots[:steps][::-1]), (before, half[:steps][::-1])],
                stacked=[elementwise.switch(stays, now, change)],
                carried=[(now, elementwise.switch(stays, change, now), half[steps]), (number, number - 1, steps)])
    results = make_loop(steps, body, "backward substitution", lifts=False)
    return concatenate([results.carried[0][None], results.stacked[0][::-1]])


def _row_variables(below, pivots, b):
    """A multiplier, a pivot, and two rows of the right-hand side, inside a loop."""
    kind = TensorType(b.type.dtype, b.type.broadcastable[1:])
    return _number(below.type.dtype), _number(pivots.type.dtype), kind(), kind()


def _stays(pivot):
    """Whether the row of a step was not exchanged with the next one; and the variable for its number, from 1."""
    number = _number("int64")
    return elementwise.eq(pivot, number), number


def _substituted(b, diagonal, first, second):
    """``x[i] = (b[i] - first[i] * x[i - 1] - second[i] * x[i - 2]) / diagonal[i]``."""
    kind = TensorType(b.type.dtype, b.type.broadcastable[1:])
    right, last, before = kind(), kind(), kind()
    middle, one, two = [_number(diagonal.type.dtype) for _ in range(3)]
    x = (right - one * last - two * before) / middle
    zero = elementwise.zeros_like(b[0])
    body = Body(sequences=[(right, b), (middle, diagonal), (one, first), (two, second)], stacked=[x],
                carried=[(last, x, zero), (before, last, zero)])
    return make_loop(shape_i(diagonal, 0), body, "substitution", lifts=False).stacked[0]


def _longer(vector, count):
    """A vector with zeros at its end."""
    return concatenate([vector, zeros((count,), dtype=vector.type.dtype)])


def _later(vector, count, like):
    """A vector after zeros, of the length of another one."""
    return concatenate([zeros((count,), dtype=vector.type.dtype), vector])[:shape_i(like, 0)]
