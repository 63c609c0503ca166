"""Topological order of Apply nodes: the one walk that everything else is built on."""
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
