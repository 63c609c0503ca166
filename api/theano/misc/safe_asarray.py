"""Theano's ``misc.safe_asarray``: the function ``theano._asarray``."""
from phintys import _asarray

__all__ = ["_asarray"]
