"""Factors that cancel across values with other readers: ``q * y = x``, where ``q = x / y`` is also read elsewhere.

Normal forms are collected only through values without other readers, so that no work is done twice. Here the product is
collected through all values nearby. It replaces the original if a factor cancels with its inverse and no operation is
added.
"""
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.values import is_inside, key
from phintys.optimizer.rewrites import products
from phintys.optimizer.rewrites.products import product_in, product_of

NEARBY = 12                    # nodes that are read


def cancelled(fgraph, node):
    """A product in which factors cancel."""
    out = node.outputs[0]
    if not out.type.dtype.startswith("float") or is_inside(fgraph, out, products.KEYS):
        return None
    own = product_in(fgraph, out)
    if not any([key(factor) in products.KEYS for factor in own.powers]):
        return None
    product = product_of(out, lambda variable: 1, NEARBY)
    if not product.cancelled or product.coefficient == 0 \
            or products.operations_to_build(product) > products.operations_to_build(own):
        return None
    return products.build(product, out)


REWRITES = [
    Rewrite("local_cancel_shared_factors", ("mul", "true_div"), cancelled, (FAST_RUN,), of=products.KEYS),
]
