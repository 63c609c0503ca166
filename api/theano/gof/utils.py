"""Theano's ``gof.utils``: small functions on sequences that its programs import from there."""
from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from phintys.graph.errors import MethodNotDefined
from phintys.graph.op import Op
from phintys.graph.properties import Properties as object2
from phintys.graph.scratchpad import Scratchpad as scratchpad

if TYPE_CHECKING:
    from collections.abc import Callable

add_tag_trace = Op.add_tag_trace

__all__ = ["MethodNotDefined", "add_tag_trace", "difference", "flatten", "from_return_values", "give_variables_names",
           "hash_from_code", "hist", "memoize", "object2", "remove", "scratchpad", "to_return_values", "toposort",
           "uniq", "unique"]


def flatten(a: Any) -> list[Any]:
    """The items of nested lists, tuples and sets, in one list; of anything else, a list of it.

    Examples
    --------
    >>> phintys.gof.utils.flatten([1, [2, (3, 4)]])
    [1, 2, 3, 4]
    """
    found, pending = [], [a]
    while pending:
        item = pending.pop()
        if isinstance(item, (tuple, list, set)):
            pending.extend(reversed(list(item)))
        else:
            found.append(item)
    return found


def uniq(seq: Any) -> list[Any]:
    """The different items of a sequence, in the order of their first occurrence.

    Examples
    --------
    >>> phintys.gof.utils.uniq([3, 1, 3])
    [3, 1]
    """
    try:
        return list(dict.fromkeys(seq))
    except TypeError:                               # unhashable items
        return [item for position, item in enumerate(seq) if item not in seq[:position]]


def unique(x: Any) -> bool:
    """Whether no item occurs twice.

    Examples
    --------
    >>> phintys.gof.utils.unique([3, 1, 3]), phintys.gof.utils.unique([3, 1])
    (False, True)
    """
    return len(set(x)) == len(x)


def hist(coll: Any) -> dict[Any, int]:
    """Map each item to the number of times it occurs.

    Examples
    --------
    >>> phintys.gof.utils.hist("abca")
    {'a': 2, 'b': 1, 'c': 1}
    """
    return dict(Counter(coll))


def difference(seq1: Any, seq2: Any) -> list[Any]:
    """The items of ``seq1`` that are not in ``seq2``, in order.

    Examples
    --------
    >>> phintys.gof.utils.difference([3, 1, 2], [1])
    [3, 2]
    """
    try:
        known = set(seq2)
        return [item for item in seq1 if item not in known]
    except TypeError:
        return [item for item in seq1 if item not in seq2]


def remove(predicate: Any, coll: Any) -> list[Any]:
    """The items for which the predicate is false.

    Examples
    --------
    >>> phintys.gof.utils.remove(lambda x: x > 1, [1, 2, 3])
    [1]
    """
    return [item for item in coll if not predicate(item)]


def to_return_values(values: Any) -> Any:
    """The only value of a list of one, else the list.

    Examples
    --------
    >>> phintys.gof.utils.to_return_values([1]), phintys.gof.utils.to_return_values([1, 2])
    (1, [1, 2])
    """
    return values[0] if len(values) == 1 else values


def from_return_values(values: Any) -> Any:
    """A list or tuple as it is, anything else in a list.

    Examples
    --------
    >>> phintys.gof.utils.from_return_values(1), phintys.gof.utils.from_return_values([1, 2])
    ([1], [1, 2])
    """
    return values if isinstance(values, (list, tuple)) else [values]


def toposort(prereqs_d: Any) -> list[Any]:
    """The keys of a dict from items to the sets of items before them, in such an order.

    Raises
    ------
    ValueError
        If there is a cycle, or an item is not a key.

    Examples
    --------
    >>> phintys.gof.utils.toposort({"roof": {"wall"}, "wall": {"floor"}, "floor": set()})
    ['floor', 'wall', 'roof']
    """
    waiting = {item: len(set(earlier)) for item, earlier in prereqs_d.items()}
    readers: dict[Any, list[Any]] = {}
    for item, earlier in prereqs_d.items():
        for other in set(earlier):
            readers.setdefault(other, []).append(item)
    order = [item for item, count in waiting.items() if not count]
    for item in order:                              # it grows during the loop
        for reader in readers.get(item, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                order.append(reader)
    if len(order) != len(prereqs_d):
        raise ValueError("Cannot sort topologically: there might be cycles, prereqs_d does not have a key for each "
                         "element or some orderings contain invalid elements.")
    return order


def memoize(f: Callable[..., Any]) -> Any:
    """A function that computes each result once; arguments must have a hash.

    Examples
    --------
    >>> square = phintys.gof.utils.memoize(lambda x: x ** 2)
    >>> square(3), square(3)
    (9, 9)
    """
    results = {}

    def remembered(*arguments: Any, **options: Any) -> Any:
        key = (arguments, tuple(sorted(options.items())))
        if key not in results:
            results[key] = f(*arguments, **options)
        return results[key]
    return remembered


def give_variables_names(variables: Any) -> Any:
    """Name variables without a name, or with one that others have, ``name_number``; return them.

    Raises
    ------
    ValueError
        If two variables still have the same name.

    Examples
    --------
    >>> T.dvector().auto_name.startswith("auto_")                           # what replaces it
    True
    """
    warnings.warn("give_variables_names() is deprecated: use a variable's auto_name", DeprecationWarning, stacklevel=2)
    counts = Counter([variable.name for variable in variables])
    unnamed = [variable for variable in variables if not variable.name or counts[variable.name] > 1]
    for number, variable in enumerate(unnamed):
        variable.name = f"{variable.name or ''}_{number}"
    if not unique([str(variable) for variable in variables]):
        raise ValueError("Not all variables have unique names. Maybe you've named some of the variables identically")
    return variables


def hash_from_code(msg: Any) -> str:
    """A module name made of the SHA256 of a text or bytes.

    Examples
    --------
    >>> phintys.gof.utils.hash_from_code("x = 1")[:6]
    'm8ff43'
    """
    import hashlib
    return "m" + hashlib.sha256(msg.encode() if isinstance(msg, str) else msg).hexdigest()
