"""Names that a module does not have: they are found in another module of phintys, or the error says what to use
instead.

The tables are in `theano_names`.

Modules ask for it in their ``__getattr__``, which `theano_finder.lookup` makes.
"""
from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from phintys.theano_names import advice, found_elsewhere


def unknown(module: str, name: str) -> Any:
    """Return the error for a name that a module does not have.

    Returns
    -------
    AttributeError
        It says what to use instead, if the tables know.
    """
    return AttributeError(f"module {module!r} has no attribute {name!r}{reason_for(module, name)}", name=name,
                          obj=sys.modules.get(module))          # from which Python suggests the nearest name


def reason_for(module: str, name: str) -> str:
    """Return the end of the message of such an error: what to use instead, or nothing."""
    reason = advice(module, name)
    return "" if reason is None else f": {reason}"


def found(module: str, name: str) -> Any:
    """Return what Theano's module has under a name: what is elsewhere here, or a submodule that is not imported yet.

    Otherwise raise the error of `unknown`.
    """
    try:
        return found_elsewhere(module, name)
    except KeyError:
        pass
    if has_module(module, name):
        return import_module(f"{module}.{name}")
    raise unknown(module, name)


def has_module(package: str, name: str) -> bool:
    """Return whether a module can be imported from a package."""
    try:
        return find_spec(f"{package}.{name}") is not None
    except ImportError:                                 # also the advice of `as_theano`, if it is not there
        return False
