"""Theano's name ``sandbox``: ``rng_mrg`` and ``multinomial`` for random numbers, ``linalg`` for hints."""
from importlib import import_module as _import_module

from phintys.not_yet import unknown as _unknown

__all__ = ["linalg", "multinomial", "rng_mrg"]


def __getattr__(name):
    if name not in __all__:
        raise _unknown(__name__, name)
    return _import_module(f"phintys.sandbox.{name}")


def __dir__():
    return __all__
