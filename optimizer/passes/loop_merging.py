"""Loops that do the same number of steps, and do not need each other's results, become one loop.

Only loops that run on the same paths are merged: a loop of a lazy branch would run where the branch is not taken.
Every loop has a level: one more than the highest level among the loops that it depends on. Loops of one level do not
depend on each other, and merging them makes no circle, because a loop depends only on loops of lower levels.
"""
from phintys.graph.lazy_regions import known_regions
from phintys.ops.loops.first_rows import StepCount
from phintys.ops.loops.loop import Scan
from phintys.ops.loops.open_loop import OpenLoop
from phintys.ops.loops.recurrences import factor_of_recurrence


def can_merge(first, second):
    """Whether two loops, neither of which depends on the other, may run as one.

    Parameters
    ----------
    first, second : Apply
        Nodes of loops.
    """
    return _kind(first) is not None and _kind(first) == _kind(second)


def _kind(node):
    """What mergeable loops have in common; None if a loop cannot be merged."""
    if node.op.parts.is_while or factor_of_recurrence(node.op) is not None:
        return None                                     # a loop in C does the steps of a recurrence alone
    options, steps = node.op.options, node.inputs[0]
    if steps.owner is not None and type(steps.owner.op) is StepCount:
        steps = steps.owner.inputs[0]
    return steps, options.truncate_gradient, options.allow_gc, str(options.mode), options.profile


def merge_loops(fgraph):
    """Merge loops.

    Returns
    -------
    int
        How many loops there are fewer.
    """
    if sum([type(node.op) is Scan for node in fgraph.apply_nodes]) < 2:
        return 0
    groups, levels, regions = {}, {}, known_regions(fgraph)
    for node in fgraph.toposort():
        level = max([levels.get(variable, 0) for variable in node.inputs], default=0)
        if type(node.op) is Scan:
            level += 1
            groups.setdefault((level, regions and regions.of[node], _kind(node)), []).append(node)
        levels.update(dict.fromkeys(node.outputs, level))
    merged = 0
    for (_, _, kind), nodes in groups.items():
        if kind is None or len(nodes) < 2:
            continue
        loop, ops = OpenLoop(nodes[0]), {id(nodes[0].op)}
        for node in nodes[1:]:
            loop.absorb(OpenLoop(node, own=id(node.op) in ops))
            ops.add(id(node.op))
        fgraph.replace_all([(old, new) for old, new in loop.close() if fgraph.clients[old]], reason="scan_merge")
        merged += len(nodes) - 1
    return merged
