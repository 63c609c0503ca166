"""Finds the loops that are linear recurrences of rows, ``term + factor * before`` with two sequences."""
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.loops.parts import LoopParts
from phintys.ops.loops.recurrence_body import DTYPES, RecurrenceBody

PARTS = LoopParts(n_sequences=2, taps=((-1,),))


def factor_of_recurrence(op):
    """The number of the sequence of a loop that has the factors.

    Parameters
    ----------
    op : Scan

    Returns
    -------
    int or None
        None if the body computes something else, or its values differ in type.
    """
    if op.parts != PARTS:
        return None
    sequences, ((before,),), (result,) = op.inner_inputs.sequences, op.inner_inputs.states, op.inner_outputs.states
    kinds = {variable.type for variable in [*sequences, before, result]}
    if len(kinds) > 1 or before.type.dtype not in DTYPES:
        return None
    for term, product in _operands(result, scalar.add):
        for factor, last in _operands(product, scalar.mul):
            if last is before and factor is not term and {factor, term} == set(sequences):
                return sequences.index(factor)
    return None


def recurrence_body(op):
    """The kernel that does many steps of a linear recurrence at once, a ``RecurrenceBody``; None for other loops."""
    factor = factor_of_recurrence(op)
    return None if factor is None else RecurrenceBody(op.inner_inputs.sequences[0].type.dtype, factor)


def _operands(variable, scalar_op):
    """The two operands of an elementwise operation, in both orders; empty if a variable is not a result of it."""
    owner = variable.owner
    if owner is None or type(owner.op) is not Elemwise or owner.op.scalar_op != scalar_op or len(owner.inputs) != 2:
        return []
    return [tuple(owner.inputs), tuple(owner.inputs[::-1])]
