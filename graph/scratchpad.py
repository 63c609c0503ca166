"""``tag``: an object on which anybody may leave attributes about a variable or a node.

It is made when it is first asked for, because most of a large graph never has one.
"""
import copy


class Scratchpad:
    """An empty object with free attributes."""

    def clear(self):
        """Remove all attributes."""
        self.__dict__.clear()

    def __update__(self, other):
        """Take over the attributes of another scratchpad."""
        self.__dict__.update(other.__dict__)
        return self

    def __repr__(self):
        return f"scratchpad{self.__dict__}"


class LazyTag:
    """Descriptor: makes the scratchpad and puts it where the next look-up finds it without coming here."""

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        instance.tag = pad = Scratchpad()
        return pad


def copy_tag(source, target):
    """Give ``target`` a copy of the tag of ``source``, if there is one."""
    tag = source.__dict__.get("tag")
    if tag is not None:
        target.tag = copy.copy(tag)
