"""``container.storage``: a container as Theano's list of one element; and which array a container shows.

The list is a view: reading its element asks the container, setting it sets the container. As long as the list is held,
the container returns the same one, so that programs can see by identity whether two functions share storage. The same
is true of the array that is its value.
"""
from weakref import WeakValueDictionary

import numpy


class ContainerStorage(list):
    """The list; its own memory holds nothing."""

    def __init__(self, container):
        super().__init__([None])
        self.container = container

    def __getitem__(self, position):
        range(1)[position]                          # raises what a list of one element raises
        return self.container.value

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


_arrays = WeakValueDictionary()                     # id of a container → the array that it showed last


def the_same_array(container, array):
    """The array that the container showed last, if it is still held and looks at the same memory; else ``array``."""
    if type(array) is not numpy.ndarray:
        return array
    known = _arrays.get(id(container))
    if known is not None and _look(known) == _look(array):
        return known
    _arrays[id(container)] = array
    return array


def _look(array):
    """What an array looks at."""
    return array.ctypes.data, array.dtype, array.shape, array.strides
