"""Theano's package ``sparse.sandbox``: sparse matrices of random numbers, in ``sp2``."""
from phintys.sparse.sandbox import sp2

__all__ = ["sp2"]
