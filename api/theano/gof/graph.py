"""Theano's name ``gof.graph`` for nodes and the walks over them."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph import public_names as _public_names
from phintys.graph.apply import Apply
from phintys.graph.formula import as_string
from phintys.graph.op import Op
from phintys.graph.toposort import io_toposort as depth_first_order
from phintys.graph.traversal import (
    ancestors,
    clone,
    clone_get_equiv,
    equal_computations,
    io_connection_pattern,
    is_in_ancestors,
    is_same_graph,
    list_of_nodes,
    ops,
    orphans,
    stack_search,
    variables,
    variables_and_orphans,
    view_roots,
)
from phintys.graph.traversal import graph_inputs as inputs
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Apply", "Constant", "Op", "Variable", "ancestors", "as_string", "clone", "clone_get_equiv",
           "equal_computations", "general_toposort", "inputs", "io_connection_pattern", "io_toposort",
           "is_in_ancestors", "is_same_graph", "list_of_nodes", "ops", "orphans", "stack_search", "variables",
           "variables_and_orphans", "view_roots"]


def io_toposort(inputs: Iterable[Variable], outputs: Iterable[Variable],
                orderings: dict[Apply, list[Apply]] | None = None,
                clients: dict[Any, list[Any]] | None = None) -> list[Apply]:
    """The Apply nodes between ``inputs`` and ``outputs``, each after all nodes that compute its inputs.

    Parameters
    ----------
    inputs, outputs : iterable of Variable
    orderings : dict, optional
        Apply node → nodes that must come before it although it does not read their outputs.
    clients : dict, optional
        It is filled with: variable or node → the nodes or variables that depend on it.

    Returns
    -------
    list of Apply
        Depth first; with ``orderings`` or ``clients`` in the order of ``general_toposort``, as in Theano.

    Raises
    ------
    InconsistencyError or ValueError
        If there is a cycle.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> [node.op for node in phintys.gof.graph.io_toposort([x], [T.exp(x) + 1])]
    [Elemwise{exp,no_inplace}, Elemwise{add,no_inplace}]
    """
    if not orderings and clients is None:
        return depth_first_order(inputs, outputs)
    blocked, orderings = set(inputs), orderings or {}

    def needed(thing: Any) -> Any:
        if thing in blocked:
            return []
        before = thing.inputs if isinstance(thing, Apply) else [thing.owner] if thing.owner is not None else []
        return [*before, *orderings.get(thing, ())]
    return [thing for thing in general_toposort(outputs, needed, clients=clients) if isinstance(thing, Apply)]


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


def _in_order(needed: Any) -> list[Any]:
    if isinstance(needed, (set, frozenset)):
        raise TypeError(f"Non-deterministic collections here make toposort non-deterministic: {needed!r}")
    return list(needed or ())


_public_names.adopt(globals())
