"""``tag``: an object on which anybody may leave attributes about a variable or a node.

It is made when it is first asked for, because most of a large graph never has one. Its attribute ``trace`` is where
the user made the variable or node, as in Theano; it is worked out when somebody reads it, unless somebody has set it.
"""
import copy
from weakref import ref

from phintys.graph.public_names import at_home
from phintys.graph.trace import given_traces, theano_traces


class Trace:
    """Descriptor: the traces of what a scratchpad belongs to, as lists of (file, line, function, text)."""

    def __get__(self, pad, owner=None):
        thing = None if pad is None else pad._thing()
        traces = [] if thing is None else theano_traces(made(thing)._position)
        if not traces:
            raise AttributeError("trace: where this was made is not known")
        return traces


@at_home
class Scratchpad:
    """An empty object with free attributes."""

    __slots__ = ("__dict__", "__weakref__", "_thing")
    trace = Trace()

    def __init__(self):
        self._thing = _nothing

    def clear(self):
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
    """Descriptor: makes the scratchpad when it is first read, and tells it whose it is."""

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        pad = instance.__dict__.get("tag")
        if pad is None:
            pad = instance.__dict__["tag"] = Scratchpad()
        if isinstance(pad, Scratchpad):
            pad._thing = ref(instance)
        return pad

    def __set__(self, instance, pad):
        instance.__dict__["tag"] = pad


def made(thing):
    """What knows where a variable or node was made: the owner of a variable that is computed, else the thing itself."""
    owner = getattr(thing, "owner", None)
    return thing if owner is None else owner


def position_of(thing):
    """Where a variable or node was made, for `trace.traces_of`: what ``tag.trace`` was set to, else what was noted."""
    for candidate in (thing, made(thing)):
        given = getattr(candidate.__dict__.get("tag"), "__dict__", {}).get("trace")
        position = None if given is None else given_traces(given)
        if position is not None:
            return position
    return made(thing)._position


def _nothing():
    """The reference of a scratchpad that belongs to nothing yet."""


def copy_tag(source, target):
    """Give ``target`` a copy of the tag of ``source``, if there is one."""
    tag = source.__dict__.get("tag")
    if tag is not None:
        target.tag = copy.copy(tag)
