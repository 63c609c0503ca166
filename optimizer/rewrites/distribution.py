"""Moves factors into a sum where they cancel divisions: ``(x / y + z) * y -> x + z * y``.

This saves operations, and a NaN where y is 0. As in Theano, a multiplication counts 1 and a division 1.5, and a factor
moves if that reduces the total. Factors are never moved out of sums, so this terminates. Of exponentials of multiples
of one value, one is a power of the other: ``(exp(2 * x) + z) * exp(-2 * x) -> 1 + z * exp(-2 * x)``.
"""
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import Product, is_inexact, is_inside, key, product_of, readers_in, sum_of
from phintys.optimizer.rewrites import factors, sums
from phintys.optimizer.rewrites.factors import NEARBY, product_in
from phintys.optimizer.rewrites.logistic import LARGEST_SUM, signed_products

COST_OF_DIVISION = 1.5


def distribute(fgraph, node):
    """Return a product with its factors moved into its sums where they cancel."""
    out = node.outputs[0]
    if not is_inexact(out) or is_inside(fgraph, out, factors.KEYS):
        return None
    readers = readers_in(fgraph)
    product = product_in(fgraph, out)
    if len(product.powers) < 2:
        return None
    changed, product = False, product.copy()
    exponentials = [factor for factor in product.powers if key(factor) == "exp"]
    for factor, exponent in list(product.powers.items()):
        if exponent == 1 and key(factor) in ("add", "sub") and factor.type.dtype == out.type.dtype \
                and readers(factor) == 1:
            changed |= _move_into(factor, product, exponentials, out, readers)
    return factors.build(product, out) if changed else None


def _move_into(factor, product, exponentials, out, readers):
    """Move factors of ``product``, among them ``exponentials``, into the sum ``factor``; return whether any moved."""
    total = sum_of(factor, readers)
    if len(total.terms) > LARGEST_SUM:
        return False
    terms = signed_products(total, readers)
    if total.constant:
        terms.append(Product())
        terms[-1].coefficient = total.constant
    for exponential in exponentials:
        for term in terms:
            _write_as_powers(term, exponential)
    opposite = dict.fromkeys([other for term in terms for other, power in term.powers.items()
                              if power * product.powers.get(other, 0) < 0])
    moving = {other: product.powers[other] for other in opposite if _saving(terms, other, product.powers[other]) > 0}
    if not moving:
        return False
    for term in terms:
        term.leaves = [factor, *moving]
        for other, exponent in moving.items():
            term.multiply(other, exponent)
    pattern = tuple(map(all, zip(*[leaf.type.broadcastable for leaf in (factor, *moving)])))
    like = out.type.clone(broadcastable=pattern)()
    built = [factors.build(term, like) for term in terms]
    if any([term is None for term in built]):
        return False
    whole = sums.build([(1, term) for term in built], 0, [factor, *moving], like)
    if whole is None:
        return False
    for other, exponent in [(factor, 1), *moving.items()]:
        product.multiply(other, -exponent)
    product.multiply(whole, 1)
    return True


def _write_as_powers(term, exponential):
    """Replace exponentials by negative powers of another one, if they are such."""
    inside = None
    for other, power in list(term.powers.items()):
        if key(other) != "exp" or other is exponential or power < 0 or other.type.dtype != exponential.type.dtype:
            continue
        inside = inside or _exponent(exponential)
        argument = _exponent(other)
        if argument.signature() == inside.signature() and argument.coefficient == -inside.coefficient:
            del term.powers[other]
            term.multiply(exponential, -power)


def _exponent(exponential):
    return product_of(exponential.owner.inputs[0], lambda variable: 1, NEARBY)


def _saving(terms, factor, exponent):
    """Return how many operations are saved with ``factor ** exponent`` in each of the terms instead of outside."""
    before = [term.powers.get(factor, 0) for term in terms]
    return _cost(exponent) + sum([_cost(power) - _cost(power + exponent) for power in before])


def _cost(exponent):
    return exponent if exponent > 0 else -COST_OF_DIVISION * exponent


REWRITES = [Rewrite("local_greedy_distributor", ("mul", "true_div"), distribute, (FAST_RUN,),
                    of=("add", "sub", *factors.KEYS), changes="nan range rounding")]
