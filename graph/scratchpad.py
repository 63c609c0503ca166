"""``tag``: an object with free attributes for a variable or a node.

It is made at the first access, because most nodes of a large graph never need one. Its attribute ``trace`` says where
the user made the variable or node, as in Theano; it is computed when it is read, unless it was set.
"""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any
from weakref import ref

from phintys.graph.public_names import at_home
from phintys.graph.trace import given_traces, theano_traces

if TYPE_CHECKING:
    from phintys.graph.trace import GradientTrace


class Trace:
    """Descriptor: the traces of a scratchpad's owner, as lists of (file, line, function, text)."""

    def __get__(self, pad, owner=None):
        thing = None if pad is None else pad._thing()
        traces = [] if thing is None else theano_traces(made(thing)._position)
        if not traces:
            raise AttributeError("trace: where this was made is not known")
        return traces


@at_home
class Scratchpad:
    """An empty object with free attributes.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> x.tag.note = "mine"
    >>> x.tag.note
    'mine'
    """

    __slots__ = ("__dict__", "__weakref__", "_thing")
    trace = Trace()

    def __init__(self) -> None:
        self._thing = _nothing

    def clear(self) -> None:
        """Remove all attributes."""
        self.__dict__.clear()

    def __update__(self, other):
        """Take over the attributes of another scratchpad."""
        self.__dict__.update(other.__dict__)
        return self

    def __getstate__(self):
        return self.__dict__

    def __repr__(self):
        return f"scratchpad{self.__dict__}"


class LazyTag:
    """Descriptor: makes the scratchpad at the first access, and tells it its owner."""

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        pad = instance._tag
        if pad is None:
            pad = instance._tag = Scratchpad()
        if isinstance(pad, Scratchpad):
            pad._thing = ref(instance)
        return pad

    def __set__(self, instance, pad):
        instance._tag = pad


def made(thing: Any) -> Any:
    """Return the object that stores where a variable or node was made: a computed variable's owner, else itself."""
    owner = getattr(thing, "owner", None)
    return thing if owner is None else owner


def position_of(thing: Any) -> GradientTrace | tuple[Any, ...] | None:
    """Return where a variable or node was made, for `trace.traces_of`: a ``tag.trace`` that was set, or the record."""
    for candidate in (thing, made(thing)):
        given = getattr(getattr(candidate, "_tag", None), "__dict__", {}).get("trace")
        position = None if given is None else given_traces(given)
        if position is not None:
            return position
    return made(thing)._position


def _nothing():
    """The reference of a scratchpad without an owner."""


def copy_tag(source: Any, target: Any) -> None:
    """Give ``target`` a copy of the tag of ``source``, if there is one."""
    tag = source._tag
    if tag is not None:
        target.tag = copy.copy(tag)
