"""Equality, hash and text of ops and types from the attributes they name in ``__props__``.

A class that names its properties gets ``__eq__``, ``__hash__``, ``__str__``, ``_props()`` and ``_props_dict()``,
except for those it defines itself; its subclasses inherit them. Without ``__props__``, equality is identity. The hash
is cached on the object: properties must not change after the first use. Copies and pickles do not contain the cached
hash, because a copy may get other properties, and strings have other hashes in another process.
"""
from typing import Any

from phintys.graph.public_names import at_home


class Properties:
    """Base class that reads ``__props__`` of every subclass.

    Examples
    --------
    >>> class Options(phintys.gof.object2):
    ...     __props__ = ("axis",)
    ...     def __init__(self, axis):
    ...         self.axis = axis
    >>> Options(1) == Options(1), Options(1) == Options(2)
    (True, False)
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        at_home(cls)
        names = cls.__dict__.get("__props__")
        if names is None:
            return
        if not isinstance(names, tuple):
            raise TypeError(f"{cls.__name__}.__props__ has to be a tuple, not {names!r}")
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"{cls.__name__}.__props__: elements have to be strings, not {names!r}")
        for name, method in _methods(names).items():
            if cls.__dict__.get(name) is None:      # a class that defines __eq__ alone has None as its __hash__
                setattr(cls, name, method)

    def __ne__(self, other):
        return not self == other

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_kept_hash", None)
        return state


def _methods(names):
    """Return the methods that the properties ``names`` give to a class."""

    def _props(self):
        """Return the values of the properties."""
        return tuple([getattr(self, name) for name in names])

    def _props_dict(self):
        """Return a dictionary from names to values of the properties, from which a similar object can be made."""
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other):
        return self is other or (type(self) is type(other)
                                 and all([getattr(self, name) == getattr(other, name) for name in names]))

    def __hash__(self):
        try:
            return self._kept_hash
        except AttributeError:
            self._kept_hash = kept = hash((type(self), tuple([getattr(self, name) for name in names])))
            return kept

    def __str__(self):
        if not names:
            return type(self).__name__
        return f"{type(self).__name__}{{{', '.join([f'{name}={getattr(self, name)!r}' for name in names])}}}"

    return {method.__name__: method for method in (_props, _props_dict, __eq__, __hash__, __str__)}
