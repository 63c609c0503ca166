"""``linear_recurrence``: ``r[j] = g[j] + a r[j-1]`` along an axis, as a loop that `scan` could have made.

Derivatives of cumulative products need it (``ops/cumulative/cumulative.py``). All recurrences of a dtype and rank use
the same `Scan`, so its body is compiled once; the kernel of loops does the steps by a loop in C.
"""
from functools import cache

from phintys.graph.config import change_flags
from phintys.ops.elementwise import scalar
from phintys.ops.loops.loop import Scan
from phintys.ops.loops.recurrences import PARTS
from phintys.ops.shape.contiguous import cpu_contiguous
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.tensor_type import TensorType


def linear_recurrence(factors, terms, axis, backwards=False, own=True):
    """``r[j] = terms[j] + factor * r[j-1]`` along an axis.

    Parameters
    ----------
    factors, terms : TensorVariable
        Of one shape and one dtype: float32, float64, complex64 or complex128.
    axis : int
        Not negative.
    backwards : bool
        Whether to run from the last element to the first, with ``r[j+1]`` instead of ``r[j-1]``.
    own : bool
        Whether the factor is ``factors[j]``; otherwise it is the factor of the previous element, whose result it
        multiplies.

    Returns
    -------
    TensorVariable
    """
    rank = terms.type.ndim
    order = [axis, *[number for number in range(rank) if number != axis]]
    factors, terms = [rows[::-1] if backwards else rows
                      for rows in (_rows(factors, axis, order), _rows(terms, axis, order))]
    count = shape_i(terms, 0)
    # The first row is a sum of one row, or of none: no elements are a recurrence, too.
    first = dimshuffle(terms[:1].sum(axis=0, acc_dtype=terms.type.dtype), ["x", *range(rank - 1)])
    steps = scalar.maximum(count - 1, 0)
    rows = _loop(terms.type.dtype, rank - 1)(steps, factors[1:] if own else factors[:-1], terms[1:], first)[:count]
    rows = rows[::-1] if backwards else rows
    return rows if axis == 0 else dimshuffle(rows, [order.index(number) for number in range(rank)])


def _rows(x, axis, order):
    """``x`` with the axis as the first one, and rows without gaps."""
    return x if axis == 0 else cpu_contiguous(dimshuffle(x, order))


@cache
def _loop(dtype, rank):
    """The loop over rows of a rank."""
    factor, term, before = [TensorType(dtype, (False,) * rank)(name) for name in ("factor", "term", "before")]
    with change_flags(compute_test_value="off"):        # these leaves have no test values
        return Scan([factor, term, before], [term + factor * before], PARTS, name="linear_recurrence")
