"""``OrderedUpdates``: a dictionary from shared variables to their new values, with ``+`` as union."""
from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from phintys.graph.errors import made_at, shown
from phintys.graph.public_names import at_home
from phintys.graph.variable import Variable
from phintys.ops.indexing.inc_subtensor import set_nested, whole_of
from phintys.shared import SharedVariable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from phintys.ops.operators import TensorVariable

    Pairs = Mapping[Any, Any] | Iterable[tuple[Any, Any] | list[Any]]           # of variables

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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
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

    def update(self, other: Any = None) -> None:
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


def with_whole_targets(updates: Sequence[Sequence[Variable]]) -> list[tuple[TensorVariable, ...]]:
    """Updates of parts, ``(s[1], value)``, as updates of the shared variables that they are parts of.

    Returns
    -------
    list of (SharedVariable, value)
        The parts of one variable are set in the given order.

    Raises
    ------
    TypeError
        If a target is neither a shared variable nor a part of one, or its value does not fit into it.
    ValueError
        If a variable has two new values, or one besides those of its parts.
    """
    found, divided = {}, set()
    for target, value in updates:
        shared = _checked_shared_of(target)
        is_part = shared is not target
        if shared in found and not (is_part and shared in divided):
            raise ValueError(f"the shared variable {shown(shared)}{made_at(shared)} already has an update expression: "
                             f"{placed(found[shared])}; it cannot have {placed(value)} too")
        if is_part:
            divided.add(shared)
            value = set_nested(target, value, shared, found.get(shared, shared))
        found[shared] = value
    return list(found.items())


def shared_of(target: Variable) -> SharedVariable | None:
    """The shared variable that a variable is, or is a part of by indexing; None if there is none."""
    whole = target
    while isinstance(whole, Variable) and not isinstance(whole, SharedVariable):
        whole = whole_of(whole)
    return whole if isinstance(whole, SharedVariable) else None


def _checked_shared_of(target):
    shared = shared_of(target)
    if shared is None:
        where = made_at(target) if isinstance(target, Variable) else ""
        raise TypeError(f"update target must be a SharedVariable, got {target!r}{where}, which is no part of one "
                        "(s[1]) either. Only shared variables keep a value between calls.")
    return shared


def placed(value: Variable) -> str:
    """Describe a value, or a variable and where it was made, for a message."""
    return f"{shown(value)}{made_at(value)}" if isinstance(value, Variable) else repr(value)
