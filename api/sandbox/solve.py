"""Theano's old name for ``tensor.slinalg.solve``."""
from phintys.tensor.slinalg import solve

__all__ = ["solve"]
