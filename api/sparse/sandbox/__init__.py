"""Theano's package ``sparse.sandbox``: sparse matrices of random numbers, in ``sp2``."""
from phintys.missing_names import lookup as _lookup
from phintys.sparse.sandbox import sp2

__all__ = ["sp2"]
__getattr__ = _lookup(__name__)
