"""Theano's name ``sandbox``: random numbers, hints on matrices, and first homes of modules of ``tensor.nnet``."""
from importlib import import_module as _import_module

from phintys.missing_names import unknown as _unknown

__all__ = ["blocksparse", "conv", "fourier", "linalg", "multinomial", "neighbours", "rng_mrg", "softsign", "solve"]


def __getattr__(name):
    if name not in __all__:
        raise _unknown(__name__, name)
    return _import_module(f"phintys.sandbox.{name}")


def __dir__():
    return __all__
