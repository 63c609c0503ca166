"""Theano's name ``tensor.slinalg`` for products of linear algebra: names only."""
from phintys.not_yet import lookup
from phintys.ops.products.products import kron

__all__ = ["kron"]
__getattr__ = lookup(__name__)
