"""Removes unused outputs, inputs and rows of loops, reads equal inputs once, and puts constants into bodies.

``simplify_loops`` runs before the tables of rewrites and once more after them, when lengths have become expressions and
zeros have become constants; ``keep_last_rows`` runs after them.
"""
from phintys.graph import hooks
from phintys.graph.lazy_regions import common_region, known_regions
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant
from phintys.ops.indexing.subtensor import Subtensor
from phintys.ops.loops.before_loops import OnlyWithSteps, cannot_fail
from phintys.ops.loops.loop import Scan
from phintys.ops.loops.open_loop import OpenLoop
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.ops.shape.shape import Rebroadcast, Shape_i


def simplify_loops(fgraph):
    """Drop outputs and inputs of loops that nothing needs, read equal inputs once, and put constants into bodies.

    Returns
    -------
    int
        How many loops were changed.
    """
    return each_loop(fgraph, _simplified, "simplify_loops")


def keep_last_rows(fgraph):
    """Keep only the last rows of outputs of which only those are read (``result[-1]``, ``result[-k:]``).

    Returns
    -------
    int
        How many loops were changed.
    """
    return each_loop(fgraph, _with_fewer_rows, "scan_save_mem")


def each_loop(fgraph, change, reason):
    """Replace loops by what ``change(fgraph, node)`` returns: pairs of old and new variables, or None.

    Loops that read others come first, because the others need not compute values that these do not need.
    """
    if not any([type(node.op) is Scan for node in fgraph.apply_nodes]):
        return 0
    total = 0
    for node in reversed(fgraph.toposort()):
        if type(node.op) is not Scan or node not in fgraph.apply_nodes:
            continue
        pairs = change(fgraph, node)
        if pairs is not None:
            fgraph.replace_all([(old, new) for old, new in pairs if fgraph.clients[old]], reason=reason)
            total += 1
    return total


# ---- values before loops ---------------------------------------------------------------------------------------------
def drop_needless_choices(fgraph):
    """Compute in any case what cannot fail and only steps of loops read; its gradients have been taken.

    A choice is made on the host. So where a device is used, lengths are taken to fit: they are compared there also if
    there is no step, and nothing is transferred for a choice.

    Returns
    -------
    int
        How many values are computed in any case.
    """
    found = [node for node in fgraph.apply_nodes if type(node.op) is OnlyWithSteps]
    pairs, regions = [], known_regions(fgraph)
    fit = bool(found) and hooks.uses_device is not None and hooks.uses_device(fgraph)
    for node in found:
        own = regions.of[node]

        def runs(variable):
            region = regions.of[variable.owner]
            return common_region(region, own) is region

        pairs += [(output, value) for output, value in zip(node.outputs, node.op.branches(node.inputs)[0])
                  if all(map(_is_loop, fgraph.clients[output])) and cannot_fail(value, runs, fit)]
    fgraph.replace_all([(old, new) for old, new in pairs if fgraph.clients[old]],
                       reason="scan_needless_choices")
    return len(pairs)


def _is_loop(client):
    node, _ = client
    return node != "output" and type(node.op) is Scan


# ---- outputs and inputs --------------------------------------------------------------------------------------------
def _simplified(fgraph, node):
    loop = OpenLoop(node)
    changed = _drop_outputs(fgraph, loop)
    changed += _share_outputs(loop)
    changed += _share_inputs(loop)
    changed += loop.drop_unread()
    return loop.close() if changed else None


def _drop_outputs(fgraph, loop):
    """Drop outputs that are not read, neither outside nor by later steps."""
    read = [entry for entry in loop.entries() if fgraph.clients[entry.old]]
    needed = set(map(id, read))
    pending, reached = [*[entry.inner for entry in read], *([] if loop.condition is None else [loop.condition])], set()
    while pending:
        reached.update(ancestors(pending, reached))
        pending = []
        for entry in loop.states + loop.carried:
            if id(entry) not in needed and not reached.isdisjoint([*entry.reads, entry.before]):
                needed.add(id(entry))
                pending.append(entry.inner)
    dropped = 0
    for entries in (loop.states, loop.stacked, loop.summed, loop.carried):
        before = len(entries)
        entries[:] = [entry for entry in entries if id(entry) in needed]
        dropped += before - len(entries)
    return dropped


def _share_outputs(loop):
    """Compute stacked outputs that are equal once."""
    first, found = {}, len(loop.same)
    for entry in loop.stacked:
        kept = first.setdefault((entry.inner, entry.kept), entry)
        if kept is not entry:
            loop.same.append((entry, kept))
    loop.stacked = list(first.values())
    return len(loop.same) - found


def _share_inputs(loop):
    """Read equal sequences and equal wholes once, and constants inside."""
    replace = {}
    sequences, wholes = {}, {}
    for inner, outer in loop.sequences:
        _unless_first(replace, inner, sequences.setdefault(outer, inner))
    for inner, outer in loop.wholes:
        if isinstance(outer, Constant):
            replace[inner] = outer
        else:
            _unless_first(replace, inner, wholes.setdefault(outer, inner))
    if replace:
        loop.sequences = [(inner, outer) for outer, inner in sequences.items()]
        loop.wholes = [(inner, outer) for outer, inner in wholes.items()]
        loop.replace(replace)
    return len(replace)


def _unless_first(replace, inner, first):
    if first is not inner:
        replace[inner] = first


# ---- rows ----------------------------------------------------------------------------------------------------------
def _with_fewer_rows(fgraph, node):
    loop, found = OpenLoop(node), {}
    for entry in loop.states + loop.stacked:
        readings = readings_of(fgraph, entry.old, -min(entry.taps, default=0))
        count = None if readings is None else max([count for count, _ in readings], default=0)
        if count is not None and (entry.kept is None or isinstance(entry.kept, int) and count < entry.kept):
            entry.kept, found[entry] = count, readings
    if not found:
        return None
    pairs = [(old, new) for old, new in loop.close() if old not in {entry.old for entry in found}]
    for entry, readings in found.items():           # the readers get the same values from fewer rows
        for _, path in readings:
            pairs.append((path[-1].outputs[0], _read_again(entry.new, path)))
    return pairs


def _read_again(rows, path):
    """The result of a chain of nodes for other rows."""
    for node in path:
        rows = node.op(rows, *node.inputs[1:])
    return rows


def readings_of(fgraph, rows, depth):
    """How the rows of an output are read, if only the last of them are.

    Parameters
    ----------
    fgraph : FunctionGraph
    rows : Variable
        All rows.
    depth : int
        How many of them come before the first step; so many are kept in any case.

    Returns
    -------
    list of (int, list of Apply), or None
        For each reading how many of the last rows that steps add must be kept, and the nodes that read; None if any
        row may be read.
    """
    found, pending = [], [(client, position, depth, []) for client, position in fgraph.clients[rows]]
    while pending:
        client, position, depth, path = pending.pop()
        if client == "output" or position != 0:
            return None
        path = [*path, client]
        skipped = _rows_skipped(client, depth)
        if skipped is not None:
            pending += [(*reader, depth - skipped, path) for reader in fgraph.clients[client.outputs[0]]]
            continue
        count = _rows_needed(client, depth)
        if count is None:
            return None
        found.append((count, path))
    return found


def initial_row(rows, position):
    """One of the rows before the first step; if there is only one, the variable that was padded to make it."""
    only = padded_row(rows)
    return rows[position] if only is None else only


def padded_row(rows):
    """The variable that was padded to make the only row, or None."""
    padded = rows.owner.inputs[0] if rows.owner is not None and type(rows.owner.op) is Rebroadcast else rows
    node = padded.owner
    if node is not None and type(node.op) is DimShuffle and node.op.new_order == ("x", *range(rows.type.ndim - 1)):
        return node.inputs[0]
    return None


def _first_entry(node):
    """The entry for the rows of an index; None if a node does not index rows."""
    return node.op.idx_list[0] if type(node.op) is Subtensor and node.op.idx_list else None


def _rows_skipped(node, depth):
    """How many rows before the first step ``rows[k:]`` leaves out; None if a node is not such an index."""
    entry = _first_entry(node)
    if isinstance(entry, slice) and len(node.op.idx_list) == 1 and entry.stop is None and entry.step in (None, 1) \
            and isinstance(entry.start, int) and 0 < entry.start <= depth:
        return entry.start
    return None


def _rows_needed(node, depth):
    """How many of the last rows a node reads; None if it may be any."""
    if type(node.op) is Shape_i and node.op.i > 0:
        return 0
    entry = _first_entry(node)
    if isinstance(entry, int):
        return max(0, -entry - depth) if entry < 0 else None
    if isinstance(entry, slice) and entry.step in (None, 1) and isinstance(entry.start, int) and entry.start < 0 \
            and (entry.stop is None or isinstance(entry.stop, int) and entry.stop < 0):
        return max(0, -entry.start - depth)
    return None
