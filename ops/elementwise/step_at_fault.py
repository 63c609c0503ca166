"""Finds the step of a fused elementwise kernel that fails on operands of given shapes.

The kernel only detects that the shapes of two of its operands do not match. This file computes the shapes of its steps
one by one, as if each step were a separate node. It runs only after an error.
"""
from itertools import zip_longest


def step_at_fault(scalar_op, node, shapes):
    """The first step that cannot broadcast its operands.

    Parameters
    ----------
    scalar_op : ScalarOp
        A Composite, or an op that is one step.
    node : Apply
        Its inputs are those of ``scalar_op``.
    shapes : list of (tuple of int or None)

    Returns
    -------
    int or None
        None if all steps can, or if a shape is not known.
    """
    if any([shape is None for shape in shapes]):
        return None
    slots = [tuple(zip(shape, variable.type.broadcastable)) for shape, variable in zip(shapes, node.inputs)]
    if scalar_op.steps is None:
        return None if broadcast(slots) is not None else 0
    slots += [()] * len(scalar_op.constants)
    for number, (_, operands) in enumerate(scalar_op.steps):
        result = broadcast([slots[operand] for operand in operands])
        if result is None:
            return number
        slots.append(result)
    return None


def broadcast(operands):
    """(length, whether it is broadcastable) for each axis of the result, or None if the operands do not match.

    Operands of lower rank, such as constants, get broadcastable axes on the left.
    """
    result = []
    for axis in zip_longest(*[reversed(operand) for operand in operands], fillvalue=(1, True)):
        lengths = {length for length, broadcastable in axis if not broadcastable}
        if len(lengths) > 1:
            return None
        result.append((lengths.pop(), False) if lengths else (1, True))
    return tuple(reversed(result))
