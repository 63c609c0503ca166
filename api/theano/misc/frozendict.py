"""Theano's ``misc.frozendict``: dictionaries that cannot be changed, and can be keys of others."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["FrozenOrderedDict", "frozendict"]


class frozendict(Mapping):
    """A dictionary that cannot be changed; it is made as a dict is.

    Examples
    --------
    >>> options = frozendict(lower=True)
    >>> {options: 1}[frozendict(lower=True)]
    1
    """

    dict_cls = dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._dict = self.dict_cls(*args, **kwargs)
        self._hash = None

    def __getitem__(self, key):
        return self._dict[key]

    def __iter__(self):
        return iter(self._dict)

    def __len__(self):
        return len(self._dict)

    def __hash__(self):
        if self._hash is None:
            self._hash = hash(frozenset(self._dict.items()))
        return self._hash

    def __repr__(self):
        return f"<{type(self).__name__} {self._dict!r}>"

    def copy(self, **add_or_replace: Any) -> Any:
        """Return a copy, in which some values are replaced."""
        return type(self)(self, **add_or_replace)


class FrozenOrderedDict(frozendict):
    """The same; dictionaries keep the order of their keys.

    Examples
    --------
    >>> list(FrozenOrderedDict([("b", 1), ("a", 2)]))
    ['b', 'a']
    """
