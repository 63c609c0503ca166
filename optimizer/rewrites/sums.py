"""Sums in normal form: ``constant + c1 * x1 + c2 * x2 + ...``, read from trees of add, sub and neg.

Like a `Product`, a sum describes a variable: it is a list of signed terms. Collecting goes through inner nodes without
other readers and of the same dtype. A second, bounded reading, `linear_form`, also goes through multiplication by
constants and through shared nodes; it is used to find out whether one variable is the negative of another.
"""
from phintys.optimizer.engine.values import (
    FILLED,
    apply_op,
    apply_wide,
    as_type,
    constant_like,
    constant_value,
    is_inexact,
    is_unsigned,
    keeps_value,
    key,
    read_once,
)

KEYS = frozenset(["add", "sub", "neg"])
LARGEST_FORM = 32              # a limit on nodes in `linear_form`: t and -t are cut off at the same point


class Sum:
    """A sum: ``terms`` is a list of ``(sign, variable)``; ``constant`` a number; ``operations`` as in `Product`."""

    __slots__ = ("constant", "terms", "leaves", "operations", "constants")

    def __init__(self):
        self.constant = 0
        self.terms = []
        self.leaves = []
        self.operations = 0
        self.constants = 0             # the number of constants


def sum_of(root, readers, nearby=None):
    """Return the normal form of ``root``; parameters as in `factors.product_of`."""
    result, dtype = Sum(), root.type.dtype
    stack = [(1, root)]
    while stack:
        sign, variable = stack.pop()
        name = key(variable)
        value = constant_value(variable) if name is None or name in FILLED else None
        if value is not None:
            result.constant = result.constant + sign * value
            result.constants += 1
            result.leaves.append(variable)
            continue
        if name in KEYS and not is_unsigned(variable) and (keeps_value(variable, dtype) if name == "neg" else (
                variable.type.dtype == dtype and (variable is root or (
                    readers(variable) == 1 and (nearby is None or result.operations < nearby))))):
            result.operations += 1
            inputs = variable.owner.inputs
            if name == "neg":
                stack.append((-sign, inputs[0]))
            elif name == "add":
                stack.extend([(sign, term) for term in reversed(inputs)])
            else:
                stack.append((-sign, inputs[1]))
                stack.append((sign, inputs[0]))
        else:
            result.leaves.append(variable)
            result.terms.append((sign, variable))
    return result


sum_in = read_once("sums", sum_of)                      # of (fgraph, root)


def build(terms, constant, leaves, like):
    """Return a variable for ``constant`` plus signed ``terms``, with the type of ``like``, or None if not possible."""
    positive = [term for sign, term in terms if sign > 0]
    negative = [term for sign, term in terms if sign < 0]
    if constant != 0 or not terms:
        positive.append(constant_like(constant, like))
    result = _added(positive, like)
    if negative:
        subtracted = _added(negative, like)
        result = apply_op("neg", subtracted) if result is None else apply_op("sub", result, subtracted)
    return as_type(result, like.type, leaves)


def _added(terms, like):
    if not terms:
        return None
    if len(terms) > 1:
        return apply_wide("add", terms, like.type.dtype)
    return as_type(terms[0], like.type.clone(broadcastable=terms[0].type.broadcastable), ())


def operations_to_build(terms, constant):
    """Return how many nodes `build` makes."""
    negative = sum([sign < 0 for sign, _ in terms])
    positive = len(terms) - negative + (constant != 0 or not terms)
    return (positive > 1) + (negative > 1) + (negative > 0)


def linear_form(variable):
    """Return ``variable`` as a dict from leaf variables (None: the constant 1) to coefficients; bounded in depth."""
    if not is_inexact(variable):
        return {variable: 1}
    form, stack, budget, dtype = {}, [(variable, 1)], LARGEST_FORM, variable.type.dtype
    while stack:
        current, coefficient = stack.pop()
        value = constant_value(current)
        if value is not None:
            form[None] = form.get(None, 0) + coefficient * value
            continue
        inner = _linear_parts(current, coefficient) if budget > 0 and current.type.dtype == dtype else None
        budget -= key(current) != "neg"        # so that t and -t are read to the same depth
        if inner is None:
            form[current] = form.get(current, 0) + coefficient
        else:
            stack.extend(inner)
    return {leaf: coefficient for leaf, coefficient in form.items() if coefficient != 0}


def _linear_parts(variable, coefficient):
    name = key(variable)
    if name is None or is_unsigned(variable):
        return None
    inputs = variable.owner.inputs
    if name == "add":
        return [(term, coefficient) for term in inputs]
    if name == "sub":
        return [(inputs[0], coefficient), (inputs[1], -coefficient)]
    if name == "neg":
        return [(inputs[0], -coefficient)]
    if name == "mul" and len(inputs) == 2:
        for number, other in ((inputs[0], inputs[1]), (inputs[1], inputs[0])):
            value = constant_value(number)
            if value is not None and other.type.broadcastable == variable.type.broadcastable:
                return [(other, coefficient * value)]
    return None


def opposite(form):
    """Return the form of the negative."""
    return {leaf: -coefficient for leaf, coefficient in form.items()}


def negated(variable):
    """Return a variable with the negative value; existing negations are undone."""
    name = key(variable)
    if name == "neg":
        return variable.owner.inputs[0]
    if name == "sub":
        return apply_op("sub", *reversed(variable.owner.inputs))
    if name == "mul" and len(variable.owner.inputs) == 2:
        number, other = variable.owner.inputs
        value = constant_value(number)
        if value is not None and other.type == variable.type:
            return other if value == -1 else apply_op("mul", constant_like(-value, variable), other)
    return apply_op("neg", variable)
