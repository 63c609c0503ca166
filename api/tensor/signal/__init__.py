"""Theano's name ``tensor.signal``: convolution and pooling of images. Names only."""
from importlib import import_module as _import_module

from phintys.missing_names import unknown as _unknown

__all__ = ["conv", "pool"]


def __getattr__(name):
    if name not in __all__ and name != "downsample":
        raise _unknown(__name__, name)
    return _import_module(f"phintys.tensor.signal.{name}")


def __dir__():
    return __all__
