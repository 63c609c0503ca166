"""Sums in normal form, as ``forms.pyx`` reads them: how they are built again, and what is the negative of what."""
from phintys.optimizer.engine.forms import TERMS, constant_value, key, read_once, sum_of
from phintys.optimizer.engine.values import apply_op, apply_wide, as_type, constant_like

KEYS = TERMS

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
