"""Updates in place: chooses the nodes that overwrite shared values with their own updates, after COMMIT.

An update is computed in the memory of the old value by one node, or by a chain of nodes, each of which overwrites the
result of the one before: ``inc_subtensor(inc_subtensor(w[i], a)[j], b)``, ``inc_subtensor((0.9 * w)[i], a)``. All of
them are commit nodes (``graph/destroy_handler.py`` has the rules). This file chooses the chains, and breaks cycles of
updates that read each other's old values. Everything is linear in the size of the graph, except for the sets of shared
values that a value in a chain may be stored in: these are bits of a number.
"""
from heapq import heapify, heappop

from phintys.graph.destroy_handler import Destruction, bound_to, destroyed_by, without
from phintys.vm.linking.schedule import weight_of


def has_memory(variable):
    """Return whether a value is more than a number; numbers are stored in cells."""
    layout = variable.type.layout
    return layout is None or layout[1] > 0


def mark_commits(fgraph, handler, marks):
    """Let updates overwrite their shared values.

    Parameters
    ----------
    fgraph : FunctionGraph
    handler : DestroyHandler
    marks : inplace.Marks
        Knows what ops can overwrite, and marks the nodes in the graph.
    """
    destruction = Destruction(fgraph, handler)
    marked = destruction.commits
    wanted = {node: dict(pairs) for node, pairs in marked.items()}
    for chain in chains_of_updates(destruction, marks):
        for node, output, position in chain:
            wanted.setdefault(node, {})[output] = position
    for node, pairs in without_cycles(destruction, _in_time(destruction, wanted), marked).items():
        if pairs != marked.get(node):
            marks.mark(node, pairs)


def _in_time(destruction, wanted):
    """Return those of the nodes that may run after COMMIT, and read nothing that an earlier node overwrites."""
    root_of, marked = destruction.memory.root, destruction.commits
    commits = destruction.deferrable(wanted)
    while True:
        lost = {root_of(node.inputs[position]) for node, _, position in destruction.destroyers if node not in commits}
        late = [node for node in commits if node not in marked
                and not lost.isdisjoint([root_of(variable) for variable in node.inputs])]
        if not late:
            return commits
        commits = without(commits, late)


# ---- chains ----------------------------------------------------------------------------------------------------------
def chains_of_updates(destruction, marks):
    """Return the nodes that could turn shared values into their updates in place.

    Returns
    -------
    list of list
        For each update a list of (node, output, input position) for its nodes; they overwrite the input.
    """
    found, indirect = [], {}
    for shared, output in destruction.updates.items():
        value = destruction.fgraph.outputs[output]
        if value.owner is None or not has_memory(shared) or destruction.is_overwritten_by_another(
                value.owner, 0, destruction.memory.root(shared)):
            continue
        step = next((step for step in _steps(destruction, marks, value.owner)
                     if value.owner.outputs[step[1]] is value and value.owner.inputs[step[2]] is shared), None)
        if step is not None:
            found.append([step])
        elif shared in destruction.memory.readers:
            indirect[shared] = value
    return found + _indirect_chains(destruction, marks, indirect)


def _steps(destruction, marks, node):
    """Return (node, output, position) for what the node overwrites or could overwrite in a chain."""
    return [(node, output, position) for output, position in [*destroyed_by(node.op), *marks.candidates(node)]
            if destruction.is_link(node, position)]


def _indirect_chains(destruction, marks, updates):
    """Return chains of several nodes; ``updates`` is a dict from shared values to new values."""
    if not updates:
        return []
    bit = {shared: 1 << number for number, shared in enumerate(updates)}
    origins, makers = dict(bit), {}             # value → the shared values it may be stored in; → steps that make it
    late = destruction.can_wait(destruction.memory.order)
    for node in destruction.memory.order:
        if node in late and not origins.keys().isdisjoint(node.inputs):
            for step in _steps(destruction, marks, node):
                source, made = node.inputs[step[2]], node.outputs[step[1]]
                if source in origins:
                    origins[made] = origins.get(made, 0) | origins[source]
                    makers.setdefault(made, []).append(step)
    found, taken = [], set()
    for shared, value in updates.items():
        chain = _chain(shared, value, lambda source: origins[source] & bit[shared] and source not in taken, makers)
        if chain and is_worth_it(destruction, shared, chain):
            taken.update([node.inputs[position] for node, _, position in chain])
            found.append(chain)
    return found


def _chain(shared, value, is_open, makers):
    """Return the steps from a shared value to its update, the last one first; None if there are none."""
    chain = []
    while value is not shared:
        steps = [step for step in makers.get(value, ()) if is_open(step[0].inputs[step[2]])]
        if not steps:
            return None
        chain.append(next((step for step in steps if step[0].inputs[step[2]] is shared), steps[0]))
        node, _, position = chain[-1]
        value = node.inputs[position]
    return chain


def is_worth_it(destruction, shared, chain):
    """Return whether a chain saves more than it costs: the inputs of its first nodes must be kept until COMMIT.

    Nodes that change a part of their input save a copy of the rest. Others save one temporary of the shared value's
    size, which does not pay for many inputs: a sum of 60 products would keep 120 factors.
    """
    if any([node.op.changes_part for node, _, _ in chain]):
        return True
    root_of = destruction.memory.root
    made = {node.outputs[output] for node, output, _ in chain}
    held = {root_of(variable) for node, _, _ in chain[1:] for variable in node.inputs}
    return sum([weight_of(root) for root in held if root.owner is not None and root not in made]) <= weight_of(shared)


# ---- cycles ----------------------------------------------------------------------------------------------------------
def without_cycles(destruction, commits, marked=()):
    """Return those nodes that can run after COMMIT in some order: readers before nodes that overwrite their inputs.

    If they read each other's old values in a cycle, the one that overwrites least computes its new value earlier, into
    new memory, and so do the nodes whose results it reads, and the rest of its chain.

    Parameters
    ----------
    destruction : Destruction
    commits : dict
        Node → ``{output: input position}``.
    marked : collection of Apply
        Nodes that are moved only if there are no others to move.

    Returns
    -------
    dict
    """
    # What has nothing before it, or nothing after it, is on no cycle. `free` has these nodes, in any order; taking them
    # away frees others, until only cycles and what is between them are left. Then the node of the least weight is given
    # up, which may break a cycle: only this choice needs an order, and weights do not change, so a heap is filled once.
    # Each edge is deleted once and each node leaves the heap at most once: linear, and n log n where there are cycles.
    before, after = _commit_edges(destruction, commits)
    weights = [(node in marked, sum([weight_of(node.inputs[position]) for position in pairs.values()]),
                sum([variable.owner in commits for variable in node.inputs]), number, node)
               for number, (node, pairs) in enumerate(commits.items())]
    heapify(weights)
    bound = bound_to(commits)
    left, dropped = dict.fromkeys(commits), set()
    free = [node for node in commits if not before[node] or not after[node]]

    def take(node):
        del left[node]
        for these, those in ((before, after), (after, before)):
            for other in those[node]:
                del these[other][node]
                if not these[other]:
                    free.append(other)

    while left:
        if free:
            node = free.pop()
            if node in left:
                take(node)
            continue
        node = heappop(weights)[-1]
        pending = [node] if node in left else []
        while pending:
            node = pending.pop()
            if node in dropped:
                continue
            dropped.add(node)
            if node in left:
                take(node)
            pending.extend(bound[node])
    return {node: pairs for node, pairs in commits.items() if node not in dropped}


def _commit_edges(destruction, commits):
    """Return (node → those of ``commits`` that come before it, node → those after it), dicts used as ordered sets."""
    before, after = {node: {} for node in commits}, {node: {} for node in commits}
    for node, pairs in commits.items():
        earlier = [variable.owner for variable in node.inputs]
        for position in pairs.values():
            earlier.extend(destruction.memory.readers[destruction.memory.root(node.inputs[position])])
        for other in earlier:
            if other in commits and other is not node:
                before[node][other] = None
                after[other][node] = None
    return before, after
