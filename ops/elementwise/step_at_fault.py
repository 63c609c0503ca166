"""Which step of a fused elementwise kernel fails on operands of certain shapes.

The kernel itself only sees that two of its operands do not fit. Here the shapes are put through its steps one by one,
as if each had been a node of its own. It runs after an error only.
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
        None when all of them can, or a shape is not known.
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
    """The result's (length, whether it is broadcastable) of each axis, or None when operands do not fit.

    A rank that is too small, as that of constants, is filled up with broadcastable axes.
    """
    result = []
    for axis in zip_longest(*[reversed(operand) for operand in operands], fillvalue=(1, True)):
        lengths = {length for length, broadcastable in axis if not broadcastable}
        if len(lengths) > 1:
            return None
        result.append((lengths.pop(), False) if lengths else (1, True))
    return tuple(reversed(result))
