"""Theano's name ``tensor.slinalg`` for products of linear algebra: names only."""
from phintys.ops.products import kron

__all__ = ["kron"]
