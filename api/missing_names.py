"""Names that a module does not have: they are found in another module of phintys, or the error says what to use
instead.

The tables are in `theano_names`.

A module uses it as its ``__getattr__``: ``__getattr__ = lookup(__name__)``.
"""
import sys

from phintys.theano_names import advice, found_elsewhere


def unknown(module, name):
    """Return the error for a name that a module does not have.

    Parameters
    ----------
    module, name : str

    Returns
    -------
    AttributeError
        It says what to use instead, if the tables know.
    """
    return AttributeError(f"module {module!r} has no attribute {name!r}{reason_for(module, name)}", name=name,
                          obj=sys.modules.get(module))          # from which Python suggests the nearest name


def reason_for(module, name):
    """Return the end of the message of such an error: what to use instead, or nothing."""
    reason = advice(module, name)
    return "" if reason is None else f": {reason}"


def found(module, name):
    """Return what Theano's module has under a name that phintys has elsewhere, or raise the error of `unknown`."""
    try:
        return found_elsewhere(module, name)
    except KeyError:
        raise unknown(module, name) from None


def lookup(module):
    """Return the ``__getattr__`` for a module that loads no other names on demand."""
    def find(name):
        return found(module, name)
    return find
