"""``container.storage``: a container as Theano's list of one element.

The list is a view: reading its element asks the container, setting it sets the container. As long as somebody holds the
list, the container answers the same one, so that programs can see by identity whether two functions share storage.
"""
from weakref import WeakValueDictionary


class ContainerStorage(list):
    """The list; its own memory holds nothing."""

    def __init__(self, container):
        super().__init__([None])
        self.container = container

    def __getitem__(self, position):
        range(1)[position]                          # raises what a list of one element raises
        return self.container.get(borrow=True)

    def __setitem__(self, position, value):
        range(1)[position]
        self.container.data = value

    def __iter__(self):
        return iter((self[0],))

    def __eq__(self, other):
        return self is other

    __hash__ = None

    def __repr__(self):
        return f"[{self[0]!r}]"


_lists = WeakValueDictionary()                      # id of a container → its list, which keeps the container alive


def storage_of(container):
    """The list of a container."""
    storage = _lists.get(id(container))
    if storage is None:
        _lists[id(container)] = storage = ContainerStorage(container)
    return storage
