"""Topological order of Apply nodes: the one walk that everything else is built on.

``general_toposort`` orders anything by a function that tells what comes before what. All orders are Theano's.
"""
from phintys.graph.errors import InconsistencyError


def io_toposort(inputs, outputs, orderings=None, known=()):
    """The Apply nodes between ``inputs`` and ``outputs``, each after all nodes that compute its inputs.

    Parameters
    ----------
    inputs : iterable of Variable
        Blockers.
    outputs : iterable of Variable
    orderings : dict, optional
        Node to nodes that must come before it although it does not read them.
    known : collection of Apply, optional
        Nodes that are treated as done: neither they nor what only they need is answered.

    Returns
    -------
    list of Apply
        Depth first from the first output on; a node's last inputs are computed first.

    Raises
    ------
    InconsistencyError
        If the graph has a cycle.
    """
    blocked = set(inputs)
    orderings = orderings or {}
    order, done, opened = [], set(), set()
    pending = [variable.owner for variable in outputs if variable.owner is not None and variable not in blocked]
    pending.reverse()
    while pending:
        node = pending[-1]
        if node in done or node in known:
            pending.pop()
            continue
        needed = [owner for variable in node.inputs if (owner := variable.owner) is not None and owner not in done
                  and variable not in blocked and owner not in known]
        if orderings:
            needed += [other for other in orderings.get(node, ()) if other not in done and other not in known]
        if not needed:
            pending.pop()
            done.add(node)
            order.append(node)
        elif node in opened:
            raise InconsistencyError(f"graph contains cycles: {node.op} depends on its own output")
        else:
            opened.add(node)
            pending.extend(needed)
    return order


def general_toposort(outputs, deps, debug_print=False, compute_deps_cache=None, deps_cache=None, clients=None):
    """Everything that ``outputs`` depend on, these included, each thing after its dependencies.

    Parameters
    ----------
    outputs : iterable
        Hashable things, for instance variables.
    deps : callable
        From a thing to the list of things that come before it; None means an empty list.
    debug_print : bool
        Accepted for Theano's sake.
    compute_deps_cache : callable, optional
        Used instead of ``deps``; it may keep what it returns in ``deps_cache``.
    deps_cache : dict, optional
        Of ``compute_deps_cache``; not used here.
    clients : dict, optional
        Is filled: thing to the list of things that depend on it.

    Returns
    -------
    list
        First what depends on nothing, as it is found depth first, last dependencies first; then whatever becomes
        possible, in this order.

    Raises
    ------
    ValueError
        If a thing depends on itself.
    TypeError
        If dependencies come in a set, so that the order would not be determined.
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
    for thing in order:                             # grows while it is walked
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
