"""QR factors after a change of the matrix, by rotations of neighbouring rows, in the square of the order.

The rows of ``[R | Q.T]`` are rotated in pairs, in one or two passes over them; a pass is a loop that holds one row.
Factors are full ones (``qr`` with the mode "complete"), so that ``Q`` is square. They differ from SciPy's by signs.
"""
from phintys.ops.compositions.joining import delete, insert
from phintys.ops.creation.allocation import arange, zeros
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.indexing.getitem import getitem
from phintys.ops.loops.building import Body, State, make_loop
from phintys.ops.products.products import dot
from phintys.ops.reduction import reduction
from phintys.ops.shape.dimshuffle import dimshuffle, transpose
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i, unbroadcast
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType


def _factors(name, Q, R, *others):
    """The arguments in one dtype of real floats."""
    found = [as_tensor_variable(part) for part in (Q, R, *others)]
    dtype = upcast(*[part.type.dtype for part in found])
    if dtype in complex_dtypes or [part.type.ndim for part in found[:2]] != [2, 2]:
        raise ValueError(f"{name}: real matrices are needed, got {found[0].type} and {found[1].type}")
    return [as_dtype(part, "float64" if dtype in discrete_dtypes else dtype) for part in found]


def _vector(name, x):
    if x.type.ndim != 1:
        raise ValueError(f"{name}: a vector is needed, got {x.type}")
    return x


def _inner(dtype, rank):
    return TensorType(dtype, (False,) * rank)()


def _rotation(kept, zeroed):
    """Cosine and sine of the rotation of two rows that makes an element of the second one zero."""
    are_zero = elementwise.and_(elementwise.eq(kept, 0), elementwise.eq(zeroed, 0))
    kept = elementwise.switch(are_zero, 1, kept)
    length = elementwise.hypot(kept, zeroed)                    # squares would overflow, or be 0
    return kept / length, zeroed / length


def _upwards(table, weights, first=0):
    """Rotate neighbours from the last row to row ``first`` so that a vector becomes zero below it.

    Returns
    -------
    tuple of TensorVariable
        The table, and the element that is left.
    """
    count, dtype = shape_i(table, 0), table.type.dtype
    row, below, weight, other = _inner(dtype, 1), _inner(dtype, 1), _inner(dtype, 0), _inner(dtype, 0)
    number = constant(0, dtype="int64").type()
    cosine, sine = _rotation(weight, other)
    turns = number >= first
    cosine, sine = elementwise.switch(turns, cosine, 1), elementwise.switch(turns, sine, 0)
    table, weights, last = unbroadcast(table, 0, 1), unbroadcast(weights, 0), elementwise.maximum(count - 1, 0)
    states = [State((-1,), [below], _row(table, slice(last, None)), cosine * row + sine * below),
              State((-1,), [other], _row(weights, slice(last, None)), cosine * weight + sine * other)]
    body = Body([(row, table[:-1][::-1]), (weight, weights[:-1][::-1]),
                 (number, arange(last)[::-1])], states, [cosine * below - sine * row])
    found = make_loop(last, body, "rotations upwards", lifts=False)
    top, left = [_last(state, rows) for state, rows in zip(states, found.states)]
    return concatenate([dimshuffle(top, "x", 0), found.stacked[0][::-1]], axis=0)[:count], left


def _downwards(table, width, after=None):
    """Rotate neighbours from the first row on so that the table is triangular in its first columns.

    Parameters
    ----------
    table : matrix
        With one diagonal below the main one; if ``after`` is given, without one.
    width : int64 scalar
        How many columns become triangular.
    after : vector, optional
        A further row, which has elements in all columns. It is rotated with each row.
    """
    dtype = table.type.dtype
    row, held, number = _inner(dtype, 1), _inner(dtype, 1), constant(0, dtype="int64").type()
    at = elementwise.minimum(number, shape_i(table, 1) - 1)
    upper, lower = (held, row) if after is None else (row, held)
    cosine, sine = _rotation(upper[at], lower[at])
    turns = number < width
    cosine, sine = elementwise.switch(turns, cosine, 1), elementwise.switch(turns, sine, 0)
    table = unbroadcast(table, 0, 1)
    following = table[1:] if after is None else table
    state = State((-1,), [held], _row(table, slice(1)) if after is None else dimshuffle(unbroadcast(after, 0), "x", 0),
                  cosine * lower - sine * upper)
    body = Body([(row, following), (number, arange(shape_i(following, 0)))], [state], [cosine * upper + sine * lower])
    found = make_loop(shape_i(following, 0), body, "rotations downwards", lifts=False)
    found = concatenate([found.stacked[0], dimshuffle(_last(state, found.states[0]), "x", 0)], axis=0)
    return found[:shape_i(table, 0)] if after is None else found


def _row(table, rows):
    """A slice of at most one row; without rows, of zeros."""
    return dimshuffle(reduction.sum(table[rows], axis=0), "x", *range(table.type.ndim - 1))


def _last(state, rows):
    """The value of a state after the last step, or before the first if there is none."""
    return concatenate([state.initial, rows], axis=0)[-1]


def _table(Q, R):
    return concatenate([R, transpose(Q)], axis=1)


def _parts(table, width):
    """(Q, R) of ``[R | Q.T]``."""
    return transpose(getitem(table, (slice(None), slice(width, None)))), getitem(table, (slice(None), slice(width)))


def qr_update(Q, R, u, v):
    """The QR factors of ``Q @ R + outer(u, v)``, like ``scipy.linalg.qr_update``.

    Parameters
    ----------
    Q : square matrix
    R : matrix
    u, v : vector

    Returns
    -------
    (TensorVariable, TensorVariable)

    Raises
    ------
    ValueError
        For complex numbers, or arguments of other ranks.

    Examples
    --------
    >>> Q, R = T.linalg.qr_update(T.as_tensor([[1.0, 0.0], [0.0, 1.0]]), T.as_tensor([[1.0, 2.0], [0.0, 3.0]]),
    ...                           T.as_tensor([0.0, 1.0]), T.as_tensor([1.0, 0.0]))
    >>> (Q @ R).eval().round(9)
    array([[1., 2.],
           [1., 3.]])
    """
    Q, R, u, v = _factors("qr_update", Q, R, u, v)
    width = shape_i(R, 1)
    table, left = _upwards(_table(Q, R), dot(transpose(Q), _vector("qr_update", u)))
    added = concatenate([left * _vector("qr_update", v), zeros((shape_i(Q, 0),), dtype=Q.type.dtype)])
    first = table[:1] + dimshuffle(added, "x", 0)
    return _parts(_downwards(concatenate([first, table[1:]], axis=0), width), width)


def qr_insert(Q, R, u, k, which="row"):
    """The QR factors of ``Q @ R`` with a further row or column before number ``k``, like ``scipy.linalg.qr_insert``.

    Parameters
    ----------
    Q : square matrix
    R : matrix
    u : vector
    k : int or symbolic integer
        From 0 to the number of rows or columns; negative: from the end.
    which : {'row', 'col'}

    Returns
    -------
    (TensorVariable, TensorVariable)

    Raises
    ------
    ValueError
        For complex numbers, arguments of other ranks, or another ``which``.

    Examples
    --------
    >>> Q, R = T.linalg.qr_insert(T.as_tensor([[1.0]]), T.as_tensor([[2.0]]), T.as_tensor([3.0]), 0)
    >>> (Q @ R).eval().round(9)
    array([[3.],
           [2.]])
    """
    Q, R, u = _factors("qr_insert", Q, R, u)
    width, count = shape_i(R, 1), shape_i(Q, 0)
    if _checked("qr_insert", which) == "row":
        further = insert(zeros((count,), dtype=Q.type.dtype), k, 1)
        table = concatenate([R, insert(transpose(Q), k, 0, axis=1)], axis=1)
        after = concatenate([_vector("qr_insert", u), further])
        return _parts(_downwards(table, width, after), width)
    k = as_tensor_variable(k)
    k = elementwise.switch(k < 0, k + width, k)
    column = dot(transpose(Q), _vector("qr_insert", u))
    table = concatenate([insert(R, k, column, axis=1), transpose(Q)], axis=1)
    return _parts(_upwards(table, column, k)[0], width + 1)


def qr_delete(Q, R, k, which="row"):
    """The QR factors of ``Q @ R`` without a row or column, like ``scipy.linalg.qr_delete``.

    Parameters
    ----------
    Q : square matrix
    R : matrix
    k : int or symbolic integer
    which : {'row', 'col'}

    Returns
    -------
    (TensorVariable, TensorVariable)

    Raises
    ------
    ValueError
        For complex numbers, arguments of other ranks, or another ``which``.

    Examples
    --------
    >>> Q, R = T.linalg.qr_delete(T.as_tensor([[1.0, 0.0], [0.0, 1.0]]), T.as_tensor([[1.0, 2.0], [0.0, 3.0]]), 0,
    ...                           which="col")
    >>> (Q @ R).eval().round(9)
    array([[2.],
           [3.]])
    """
    Q, R = _factors("qr_delete", Q, R)
    width = shape_i(R, 1)
    if _checked("qr_delete", which) == "row":
        table, _ = _upwards(_table(Q, R), Q[k])
        Q, R = _parts(table[1:], width)
        return delete(Q, k, axis=0), R
    return _parts(_downwards(_table(Q, delete(R, k, axis=1)), width - 1), width - 1)


def _checked(name, which):
    if which not in ("row", "col"):
        raise ValueError(f"{name}: which must be 'row' or 'col', got {which!r}")
    return which
