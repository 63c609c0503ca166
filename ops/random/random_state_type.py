"""The type of variables that hold a ``numpy.random.RandomState``."""
from copy import deepcopy

import numpy

from phintys.graph.type import SingletonType


class RandomStateType(SingletonType):
    """The type of ``numpy.random.RandomState``. Two values are equal if they will draw the same numbers.

    Examples
    --------
    >>> phintys.tensor.raw_random.random_state_type("state").type
    RandomStateType
    """

    def filter(self, value, strict=False, allow_downcast=None):
        if self.is_valid_value(value):
            return value
        raise TypeError(f"Expected a numpy.random.RandomState, got {value!r} of {type(value)}")

    def is_valid_value(self, value):
        return type(value) is numpy.random.RandomState

    def values_eq(self, a, b):
        (kind, keys, *rest), (other_kind, other_keys, *other_rest) = a.get_state(), b.get_state()
        if rest[1] == other_rest[1] == 0:                     # there is no second normal number, so any may be stored
            del rest[2], other_rest[2]
        return kind == other_kind and rest == other_rest and numpy.array_equal(keys, other_keys)

    def get_shape_info(self, obj):
        """None: a state has no shape."""
        return None

    def get_size(self, shape_info):
        """The size of a state in bytes."""
        _, keys, *rest = numpy.random.RandomState(0).get_state()
        return len("MT19937") + keys.nbytes + 8 * len(rest)

    @staticmethod
    def may_share_memory(a, b):
        """Whether two values are the same object."""
        return a is b


random_state_type = RandomStateType()


def twin_of(state):
    """A ``RandomState`` that will draw the same numbers."""
    return deepcopy(state)
