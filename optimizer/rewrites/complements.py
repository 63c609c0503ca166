"""Differences that cancel: the difference of a function and its limit, as a function that keeps all digits.

    X - X*sigmoid(t) = X*sigmoid(-t)      X - X*erf(t) = X*erfc(t)      X*exp(t) - X = X*expm1(t)

and back. X is a product, and 1 in the simplest case; signs may be on either side. Sums are read in normal form, so
``-1 + erf(t)`` and ``erf(t) - 1`` are one case, and so are ``0.5 + 0.5 * erf(t)`` and ``(1 + erf(t)) / 2``.
"""
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import Product, is_inexact, key, readers_in
from phintys.optimizer.engine.values import apply_op
from phintys.optimizer.rewrites import factors, sums
from phintys.optimizer.rewrites.logistic import opposite_argument, signed_products, within
from phintys.optimizer.rewrites.sums import sum_in

# f: {k: (g, sign of the argument, sign of the result)}, where f(t) + k = +-g(+-t)
COMPLEMENTS = {
    "sigmoid": {-1: ("sigmoid", -1, -1)},
    "erf": {-1: ("erfc", 1, -1), 1: ("erfc", -1, 1)},
    "erfc": {-1: ("erf", 1, -1), -2: ("erfc", -1, -1)},
    "exp": {-1: ("expm1", 1, 1)},
    "expm1": {1: ("exp", 1, 1)},
}
_MAY_HOLD_ONE = factors.KEYS | set(COMPLEMENTS)
_SUMS = sums.KEYS - {"neg"}


def complement(fgraph, node):
    """Join the terms X and X*f(t) of a sum, for all such pairs at once."""
    out = node.outputs[0]
    if not is_inexact(out) or within(fgraph, out, _SUMS):
        return None
    readers = readers_in(fgraph)
    total = sum_in(fgraph, out)
    if not any([key(term) in _MAY_HOLD_ONE for _, term in total.terms]):
        return None
    terms = signed_products(total, readers)
    constant = Product()
    constant.coefficient = total.constant
    found = _complementary(terms + [constant])
    if not found:
        return None
    joined = [factors.build(_joined(part, factor, row, total.leaves), out) for _, part, factor, row in found]
    if any([variable is None for variable in joined]):
        return None
    gone = {id(product) for whole, part, _, _ in found for product in (whole, part)}
    kept = [pair for pair, term in zip(total.terms, terms) if id(term) not in gone]
    rest = 0 if id(constant) in gone else total.constant
    return sums.build(kept + [(1, variable) for variable in joined], rest, total.leaves, out)


def _complementary(terms):
    """Return ``[(X*c, X*f(t), f(t), row of COMPLEMENTS)]``, each term at most once."""
    by_signature = {}
    for term in terms:
        by_signature.setdefault(term.signature(), term)
    found, taken = [], set()
    for part in terms:
        for factor, exponent in part.powers.items():
            rows = COMPLEMENTS.get(key(factor))
            if rows is None or exponent < 1 or not factor.type.dtype.startswith("float"):
                continue
            whole = by_signature.get(_without(part, factor))
            if whole is None or id(whole) in taken or id(part) in taken:
                continue
            row = rows.get(whole.coefficient / part.coefficient) if part.coefficient else None
            if row is not None:
                found.append((whole, part, factor, row))
                taken.update((id(whole), id(part)))
    return found


def _without(term, factor):
    """Return the signature of ``term`` divided by one of its factors."""
    rest = dict(term.powers)
    rest[factor] -= 1
    return frozenset([item for item in rest.items() if item[1]])


def _joined(part, factor, row, leaves):
    """Return X*f(t) + c*X as one product."""
    name, sign, negative = row
    argument = factor.owner.inputs[0]
    result = part.copy()
    result.coefficient = part.coefficient * negative
    result.leaves = leaves
    result.multiply(factor, -1)
    result.multiply(apply_op(name, argument if sign > 0 else opposite_argument(argument)), 1)
    return result


REWRITES = [
    Rewrite("local_1msigmoid", ("add", "sub"), complement, (
        FAST_RUN, "local_expm1", "local_one_minus_erf", "local_one_minus_erf2", "local_one_plus_erf",
        "local_one_plus_neg_erf", "local_erf_minus_one", "local_one_minus_erfc", "local_one_minus_erfc2",
        "local_one_minus_erfc3", "local_one_add_neg_erfc", "local_erf_neg_minus_one", "local_erf_neg_minus_one2"),
        beside=COMPLEMENTS, of=_MAY_HOLD_ONE | _SUMS, changes="nan range rounding"),
]
