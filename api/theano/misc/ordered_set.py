"""Theano's ``misc.ordered_set``: sets that keep the order in which elements were added."""
from __future__ import annotations

from collections.abc import Collection, MutableSet, Set
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from phintys.theano_finder import lookup as _lookup

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OrderedSet", "check_deterministic"]


def check_deterministic(iterable: Sequence[int] | set[int]) -> None:
    """Raise AssertionError for several elements without a fixed order, such as a set's.

    Examples
    --------
    >>> check_deterministic([3, 1])
    >>> check_deterministic({3, 1})
    Traceback (most recent call last):
        ...
    AssertionError: expected elements in a fixed order, got a set
    """
    if isinstance(iterable, Collection) and not isinstance(iterable, (list, tuple, str, OrderedSet, GeneratorType)) \
            and len(iterable) > 1:
        raise AssertionError(f"expected elements in a fixed order, got a {type(iterable).__name__}")


class OrderedSet(MutableSet):
    """A set that keeps the order in which elements were added.

    Raises
    ------
    AssertionError
        For several elements without a fixed order.

    Examples
    --------
    >>> list(OrderedSet([3, 1, 3]))
    [3, 1]
    """

    def __init__(self, iterable: Sequence[int] | None = None) -> None:
        self._elements = {}
        if iterable is not None:
            self.update(iterable)

    def __contains__(self, key):
        return key in self._elements

    def __iter__(self):
        return iter(self._elements)

    def __reversed__(self):
        return reversed(self._elements)

    def __len__(self):
        return len(self._elements)

    def __repr__(self):
        return f"OrderedSet({list(self)!r})" if self else "OrderedSet()"

    def __eq__(self, other):
        if isinstance(other, OrderedSet):
            return list(self) == list(other)
        if isinstance(other, Set):
            raise TypeError("an OrderedSet cannot be compared with a set: convert it with set() first")
        return NotImplemented

    __hash__ = None

    def add(self, key: Any) -> None:
        """Add an element at the end, unless it is there."""
        self._elements[key] = None

    def discard(self, key: Any) -> None:
        """Remove an element if it is there."""
        self._elements.pop(key, None)

    def pop(self, last: bool = True) -> Any:
        """Remove and return the last or the first element; KeyError if there is none."""
        if not self:
            raise KeyError("set is empty")
        key = next(reversed(self) if last else iter(self))
        self.discard(key)
        return key

    def update(self, iterable: Sequence[int]) -> None:
        """Add all elements."""
        check_deterministic(iterable)
        self._elements.update(dict.fromkeys(iterable))

    def union(self, s: Any) -> Any:
        """Return a new set with the elements of both."""
        both = self.copy()
        both.update(s)
        return both

    def copy(self) -> Any:
        """Return a new set with the same elements."""
        return OrderedSet(list(self))

    def intersection_update(self, s: Any) -> Any:
        """Keep the elements that are also in s; return this set."""
        self._elements = {key: None for key in self._elements if key in s}
        return self

    def difference_update(self, s: Any) -> Any:
        """Remove the elements that are in s; return this set."""
        check_deterministic(s)
        for key in s:
            self.discard(key)
        return self


__getattr__ = _lookup(__name__)
