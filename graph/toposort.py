"""Topological order of Apply nodes, on which all other algorithms are based.

``general_toposort`` orders any objects by a function that returns their dependencies. All orders are those of Theano.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.errors import InconsistencyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from phintys.graph.apply import Apply
    from phintys.graph.gradients.gradient_paths import StableNode
    from phintys.graph.variable import Variable


def io_toposort(inputs: Any, outputs: Iterable[Variable], orderings: Any = None, known: Any = (),
                instead: Mapping[Apply, StableNode] | None = None) -> list[Apply]:
    """Return the Apply nodes between ``inputs`` and ``outputs``, each after all nodes that compute its inputs.

    Parameters
    ----------
    inputs : iterable of Variable
        The traversal stops at them.
    outputs : iterable of Variable
    orderings : dict, optional
        Node → nodes that must come before it although it does not read their outputs.
    known : collection of Apply, optional
        Nodes that count as done: neither they nor nodes that only they need are returned.
    instead : dict, optional
        Node → another one that takes its place.

    Returns
    -------
    list of Apply
        Depth first from the first output on; a node's last inputs are computed first.

    Raises
    ------
    InconsistencyError
        If the graph has a cycle.
    """
    blocked = {variable for variable in inputs if variable.owner is not None}       # others end it by themselves
    orderings, instead = orderings or {}, instead or {}
    is_plain = not (blocked or orderings or instead or known)
    order, done, opened = [], set(), set()
    pending = [variable.owner for variable in outputs if variable.owner is not None and variable not in blocked]
    pending.reverse()
    while pending:
        written = pending[-1]
        if written in done or written in known:
            pending.pop()
            continue
        if is_plain:                                # as nearly always: a third of the time
            node = written
            needed = [owner for variable in node.inputs if (owner := variable.owner) is not None and owner not in done]
        else:
            node = instead.get(written, written)
            needed = [owner for variable in node.inputs if (owner := variable.owner) is not None and owner not in done
                      and variable not in blocked and owner not in known]
        if orderings:
            needed += [other for other in orderings.get(node, ()) if other not in done and other not in known]
        if not needed:
            pending.pop()
            done.add(written)
            order.append(node)
        elif written in opened:
            raise InconsistencyError(f"graph contains cycles: {node.op} depends on its own output")
        else:
            opened.add(written)
            pending.extend(needed)
    return order


def general_toposort(outputs: Iterable[Any], deps: Any, debug_print: bool = False, compute_deps_cache: Any = None,
                     deps_cache: Any = None, clients: Any = None) -> Any:
    """Return everything that ``outputs`` depend on, including these, each object after its dependencies.

    Parameters
    ----------
    outputs : iterable
        Hashable things, for instance variables.
    deps : callable
        Maps an object to the list of objects that come before it; None means an empty list.
    debug_print : bool
        Accepted for compatibility with Theano.
    compute_deps_cache : callable, optional
        Used instead of ``deps``; it may keep what it returns in ``deps_cache``.
    deps_cache : dict, optional
        The cache of ``compute_deps_cache``; it is not used here.
    clients : dict, optional
        It is filled with: object → the list of objects that depend on it.

    Returns
    -------
    list
        First the objects without dependencies, as they are found depth first, last dependencies first; then each object
        as soon as its dependencies are in the list.

    Raises
    ------
    ValueError
        If an object depends on itself.
    TypeError
        If dependencies are given as a set, so that the order would not be determined.

    Examples
    --------
    >>> below = {"roof": ["wall"], "wall": ["floor"], "floor": []}
    >>> phintys.gof.graph.general_toposort(["roof"], deps=lambda part: below[part])
    ['floor', 'wall', 'roof']
    """
    dependencies = deps if compute_deps_cache is None else compute_deps_cache
    waiting_for, needed_by, order = {}, {} if clients is None else clients, []
    pending = list(outputs)
    while pending:
        thing = pending.pop()
        if thing in waiting_for:
            continue
        needed = _in_order(dependencies(thing))
        waiting_for[thing] = len(needed)
        for other in needed:
            needed_by.setdefault(other, []).append(thing)
        pending.extend(needed)
        if not needed:
            order.append(thing)
    for thing in order:                             # it grows during the loop
        for other in needed_by.get(thing, ()):
            waiting_for[other] -= 1
            if not waiting_for[other]:
                order.append(other)
    if len(order) < len(waiting_for):
        looped = next(thing for thing, count in waiting_for.items() if count)
        raise ValueError(f"graph contains cycles: {looped} depends on itself")
    return order


def _in_order(needed):
    if isinstance(needed, (set, frozenset)):
        raise TypeError(f"Non-deterministic collections here make toposort non-deterministic: {needed!r}")
    return list(needed or ())
