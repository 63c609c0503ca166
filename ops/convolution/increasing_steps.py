"""Whether elementwise steps are an increasing function of one operand.

The maximum of an increasing function's values is the function of the maximum. So such steps may follow max pooling
instead of preceding it: then they are computed once for each window, not for each of its elements. Because of rounding,
a step on floats is increasing only if its loop is; the last bit of a loop such as tanh may be wrong.
"""
import numpy

# How a slot depends on the operand: it grows, falls, is constant, or nothing is known.
GROWS, FALLS, CONSTANT, UNKNOWN = 1, -1, 0, None

# Loops of one operand that grow with it everywhere, also beyond the range of floats.
INCREASING = {numpy.tanh, numpy.exp, numpy.exp2, numpy.expm1, numpy.arctan, numpy.arcsinh, numpy.cbrt, numpy.rint,
              numpy.floor, numpy.ceil, numpy.trunc, numpy.positive, "erf", "softplus"}
POSITIVE = {numpy.exp, numpy.exp2, "softplus"}                              # whose values are not negative
JOINING = {numpy.add, numpy.maximum, numpy.minimum, "unless_overflow"}     # that grow with each of their operands


class Slot:
    """Known facts about a slot: how it depends on the operand, and its value or sign."""

    def __init__(self, direction, value=None, positive=False):
        self.direction, self.value = direction, value
        self.positive = positive or (value is not None and 0 < value < numpy.inf)


def are_increasing(code, position):
    """Whether the only result of scalar code grows with input ``position``."""
    slots = [Slot(GROWS if number == position else CONSTANT) for number in range(len(code.input_dtypes))]
    slots += [Slot(CONSTANT, float(value)) for value in code.constants]
    dtype = code.steps[0][2][0]
    for loop, operands, dtypes in code.steps:
        if set(dtypes) != {dtype}:
            return False
        slots.append(after(loop, [slots[operand] for operand in operands]))
    return len(code.outputs) == 1 and slots[code.outputs[0]].direction == GROWS


def after(loop, operands):
    """The slot of a step's result."""
    first = operands[0]
    if loop in INCREASING:
        return Slot(first.direction, positive=loop in POSITIVE)
    if loop in JOINING:
        return Slot(joined([operand.direction for operand in operands]),
                    positive=all([operand.positive for operand in operands]))
    if loop is numpy.negative:
        return Slot(reverse(first.direction))
    if loop is numpy.subtract:
        return Slot(joined([first.direction, reverse(operands[1].direction)]))
    if loop is numpy.multiply:
        return scaled(*operands)
    if loop == "clip" and operands[1].direction == operands[2].direction == CONSTANT:
        return Slot(first.direction)
    if loop is numpy.log1p and first.positive:
        return Slot(first.direction, positive=True)
    if loop is numpy.reciprocal and first.positive:
        return Slot(reverse(first.direction), positive=True)
    constant = all([operand.direction == CONSTANT for operand in operands])
    return Slot(CONSTANT if constant else UNKNOWN)


def reverse(direction):
    """The tensor with its spatial dimensions reversed."""
    return direction if direction is UNKNOWN else -direction


def joined(directions):
    """The direction of a value that grows with slots of these directions."""
    if UNKNOWN in directions or {GROWS, FALLS} <= set(directions):
        return UNKNOWN
    return sum(set(directions))


def scaled(a, b):
    """The product of a slot and a known number other than 0."""
    if a.value is not None:
        a, b = b, a
    if b.value is None or not numpy.isfinite(b.value) or b.value == 0:
        return Slot(CONSTANT if a.direction == b.direction == CONSTANT else UNKNOWN)
    return Slot(a.direction if b.value > 0 else reverse(a.direction), positive=a.positive and b.positive)
