"""Attributes of another library that have other values for some time."""
from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Swaps:
    """Attributes that have other values while any user of them is left.

    Users come and go in any order, as blocks in threads do. Each keeps what it found, and what it found goes to the
    next one that came if there is one; so the last to go leaves what the first has found.

    Parameters
    ----------
    attributes : list of (object, str, callable)
        An object, the name of its attribute, and a function from the old value to the new one; an attribute that the
        object does not have is left out.
    """

    def __init__(self, attributes: Sequence[Sequence[Any]]) -> None:
        self.attributes = [each for each in attributes if hasattr(each[0], each[1])]
        self.users, self.lock = [], Lock()

    def begin(self) -> list[Any]:
        """Exchange the attributes, and return what ``end`` needs."""
        with self.lock:
            user = [getattr(owner, name) for owner, name, _ in self.attributes]
            self.users.append(user)
            for (owner, name, replaced), value in zip(self.attributes, user):
                setattr(owner, name, replaced(value))
        return user

    def end(self, user: Sequence[Any]) -> None:
        """Put back what this user found, unless another one needs the new values."""
        with self.lock:
            position = next(position for position, each in enumerate(self.users) if each is user)
            del self.users[position]
            if position < len(self.users):
                self.users[position][:] = user
                return
            for (owner, name, _), value in zip(self.attributes, user):
                setattr(owner, name, value)

    @contextmanager
    def used(self) -> Iterator[None]:
        """A block in which the swaps are made; blocks may overlap, in any threads."""
        user = self.begin()
        try:
            yield
        finally:
            self.end(user)


def marked(replacement: Callable[..., Any]) -> Callable[..., Any]:
    """A function from an old value to the new one, which leaves a value as it is that is a new one already."""
    def replaced(old):
        if getattr(old, "by_phintys", False):
            return old
        new = replacement(old)
        new.by_phintys = True
        return new
    return replaced
