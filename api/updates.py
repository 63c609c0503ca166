"""``OrderedUpdates``: a dictionary from shared variables to their new values, with ``+`` as union."""
from collections import OrderedDict

from phintys.graph.public_names import at_home
from phintys.shared import SharedVariable

__all__ = ["OrderedUpdates"]


@at_home
class OrderedUpdates(OrderedDict):
    """Updates for ``function``.

    Raises
    ------
    TypeError
        If a key is not a shared variable.
    KeyError
        If ``update`` or ``+`` would give one variable two different new values.

    Examples
    --------
    >>> count = phintys.shared(0)
    >>> updates = phintys.OrderedUpdates()
    >>> updates[count] = count + 1
    >>> phintys.function([], count, updates=updates)(), count.get_value()
    (array(0), array(1))
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for key in self:
            self._check_key(key)

    @staticmethod
    def _check_key(key):
        if not isinstance(key, SharedVariable):
            raise TypeError(f"OrderedUpdates keys must inherit from SharedVariable, got {key!r}")

    def __setitem__(self, key, value):
        self._check_key(key)
        super().__setitem__(key, value)

    def update(self, other=None):
        """Add the pairs of ``other``; a key that exists already must have the same value."""
        for key, value in OrderedDict(other or ()).items():
            if key in self and self[key] is not value:
                raise KeyError(f"Collision: {key} would have two new values")
            self[key] = value

    def __add__(self, other):
        union = OrderedUpdates()
        union.update(self)
        union.update(other)
        return union

    def __radd__(self, other):
        union = OrderedUpdates()
        union.update(other)
        union.update(self)
        return union
