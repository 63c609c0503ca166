"""Names that only pickles of graphs and functions use: those of ``graph.public_names`` under this module.

Each is defined in a file that may move; an access is looked up in the file that defines it now.
"""
from importlib import import_module

from phintys.graph.public_names import HOMES

_INNER = {name: inner for inner, names in HOMES[__name__].items() for name in names.split()}
__all__ = list(_INNER)


def __getattr__(name):
    if name not in _INNER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    globals()[name] = found = getattr(import_module("phintys." + _INNER[name]), name)
    return found


def __dir__():
    return sorted({*globals(), *__all__})
