"""Names that Theano has and phintys does not have yet; accessing one raises an AttributeError that says so.

``NOT_YET`` is the only table of them. Names that are implemented are removed; a test finds any left over. Names that
are elsewhere here, or make no sense here, are in `theano_names`.
"""
import sys

from phintys.theano_names import advice, found_elsewhere

# Module → missing feature → its names in the module.
NOT_YET: dict[str, dict[str, str]] = {}

_FEATURES = {(module, name): feature for module, features in NOT_YET.items()
             for feature, names in features.items() for name in names.split()}


def promised():
    """Return all pairs (module, name) of the table."""
    return _FEATURES.keys()


def feature_of(module, name):
    """Return the missing feature that a name of a module belongs to, or None."""
    return _FEATURES.get((module, name))


def unknown(module, name):
    """Return the error for a name that a module does not have.

    Parameters
    ----------
    module, name : str

    Returns
    -------
    AttributeError
        It names the missing feature if phintys is going to have it, or says what to use instead.
    """
    return AttributeError(f"module {module!r} has no attribute {name!r}{reason_for(module, name)}", name=name,
                          obj=sys.modules.get(module))          # from which Python suggests the nearest name


def reason_for(module, name):
    """Return the end of the message of such an error: which feature is missing, and what to use instead."""
    feature = feature_of(module, name)
    reason = advice(module, name) if feature is None else f"phintys has no {feature} yet"
    return "" if reason is None else f": {reason}"


def found(module, name):
    """Return what Theano's module has under a name that phintys has elsewhere, or raise the error of `unknown`."""
    try:
        return found_elsewhere(module, name)
    except KeyError:
        raise unknown(module, name) from None


def lookup(module):
    """Return the ``__getattr__`` of a module that loads nothing else on demand."""
    def find(name):
        return found(module, name)
    return find
