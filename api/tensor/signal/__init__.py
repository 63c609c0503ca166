"""``tensor.signal``: convolution and pooling of images, in ``conv`` and ``pool``."""
from importlib import import_module as _import_module

from phintys.theano_finder import lookup as _lookup

__all__ = ["conv", "pool"]
_unknown = _lookup(__name__)


def __getattr__(name):
    if name in __all__:
        return _import_module(f"phintys.tensor.signal.{name}")
    return _unknown(name)


def __dir__():
    return __all__
