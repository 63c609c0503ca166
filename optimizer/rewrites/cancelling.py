"""Factors that cancel across values with other readers: ``q * y = x``, where ``q = x / y`` is also read elsewhere.

Normal forms are collected only through values without other readers, so that no work is done twice. Here the product is
collected through all values nearby, and through dimshuffles: ``x * dimshuffle(1 / dimshuffle(x)) = 1``, so a sum of
weights ``w / sum(w)`` is 1. It replaces the original if a factor cancels with its inverse and no operation is added.
"""
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import is_inside, key, product_of
from phintys.optimizer.rewrites import factors
from phintys.optimizer.rewrites.factors import product_in
from phintys.optimizer.rewrites.log_sum_exp import joined, unshuffled

NEARBY = 12                    # nodes that are read


def cancelled(fgraph, node):
    """A product in which factors cancel."""
    out = node.outputs[0]
    if not out.type.dtype.startswith("float") or is_inside(fgraph, out, factors.KEYS):
        return None
    own = product_in(fgraph, out)
    if not any([key(unshuffled(factor)[0]) in factors.KEYS for factor in own.powers]):
        return None
    product = product_of(out, lambda variable: 1, NEARBY)
    _look_through_dimshuffles(product)
    if not product.cancelled or product.coefficient == 0 \
            or factors.operations_to_build(product) > factors.operations_to_build(own):
        return None
    return factors.build(product, out)


def _look_through_dimshuffles(product):
    """Replace dimshuffles of products in which another factor cancels by these products."""
    known = {_base_and_order(factor): factor for factor in product.powers}
    for factor, exponent in list(product.powers.items()):
        base, order = unshuffled(factor)
        if order is None or key(base) not in factors.KEYS:
            continue
        inner = product_of(base, lambda variable: 1, NEARBY)
        powers = {_base_and_order(leaf, order): power * exponent for leaf, power in inner.powers.items()}
        if any([product.powers.get(known.get(leaf), 0) * power < 0 for leaf, power in powers.items()]):
            del product.powers[factor]
            product.coefficient = product.coefficient * inner.coefficient ** exponent
            for leaf, power in powers.items():
                base, order = leaf
                product.multiply(known.get(leaf) or (base if order is None else base.dimshuffle(*order)), power)


def _base_and_order(variable, order=None):
    """Return what `unshuffled` does, of a dimshuffle of a variable, and None for an order without effect."""
    base, inner = unshuffled(variable)
    order = joined(inner, order)
    return base, None if order == tuple(range(base.type.ndim)) else order


REWRITES = [
    Rewrite("local_cancel_shared_factors", ("mul", "true_div", "neg"), cancelled, (FAST_RUN,),
            of=factors.KEYS | {"DimShuffle"}, changes="nan range rounding"),
]
