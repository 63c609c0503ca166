"""Derivatives of linear recurrences: they are linear recurrences with the same factors.

With ``r[j] = g[j] + a[j] r[j-1]``, the gradient ``b`` by the rows is ``b[j-1] = o[j-1] + a[j] b[j]``, where ``o`` comes
from outside; this is the recurrence backwards. So derivatives of any order take as long as the loop itself.
"""
from phintys.graph.gradients.gradient import float_zeros_like
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.loops.recurrences import factor_of_recurrence


def is_recurrence(op):
    """Whether the derivatives of a loop are those of this file."""
    return op.kept == (None,) and op.options.truncate_gradient == -1 and factor_of_recurrence(op) is not None


def gradients_of_recurrence(op, inputs, outputs, output_grads):
    """``L_op`` of such a loop."""
    steps, factors, terms, first = _in_order(op, inputs)
    from_outside, = output_grads
    by_rows = _applied(op, steps, conjugated(factors)[::-1], from_outside[:-1][::-1], from_outside[-1:])[::-1]
    by_terms = by_rows[1:]
    by_factors = by_terms * conjugated(outputs[0][:-1])
    return [disconnected_type(), *_sequences(op, by_factors, by_terms), by_rows[:1]]


def direction_of_recurrence(op, inputs, eval_points):
    """``R_op`` of such a loop."""
    steps, factors, terms, first = _in_order(op, inputs)
    _, by_factors, by_terms, by_first = _in_order(op, eval_points)
    if by_factors is None and by_terms is None and by_first is None:
        return [None]
    added = float_zeros_like(terms) if by_terms is None else by_terms
    if by_factors is not None:
        added = added + by_factors * op(*inputs)[:-1]
    return [_applied(op, steps, factors, added, float_zeros_like(first) if by_first is None else by_first)]


def _in_order(op, values):
    """The number of steps, the factors, the terms and the first row."""
    steps, *sequences, first = values
    factor = factor_of_recurrence(op)
    return steps, sequences[factor], sequences[1 - factor], first


def _sequences(op, by_factors, by_terms):
    """The same two in the order of the loop's sequences."""
    return [by_factors, by_terms] if factor_of_recurrence(op) == 0 else [by_terms, by_factors]


def _applied(op, steps, factors, terms, first):
    return op(steps, *_sequences(op, factors, terms), first)
