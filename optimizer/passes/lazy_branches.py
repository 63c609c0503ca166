"""Lazy branches: makes them fewer and larger.

The rules examine one `IfElse`: a known condition, values that are the same in both branches or appear twice, and unused
values. The stages examine the regions of the whole graph. Inside a branch, at any depth, the condition is known. Nodes
in one region with the same condition become one node, if neither needs the other. Lazy values stay lazy. The last
stage, before any value is overwritten, decides which values are views.
"""
from collections import deque

import numpy

from phintys.graph.lazy_regions import Region, known_regions
from phintys.graph.trace import Traces
from phintys.graph.variable import Constant
from phintys.ops.graphs.ifelse import IfElse
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import key

# The replaced values are equal only where they are needed.
ON_ONE_PATH = frozenset(["cond_merge_nested", "scan_needless_choices"])
LARGE_GRAPH = 500              # nodes: in graphs of this size, views of numbers do not pay for an additional step


# ---- one node --------------------------------------------------------------------------------------------------------
def known_condition(fgraph, node):
    """``ifelse(1, a, b)`` → ``a``."""
    condition = node.inputs[0]
    if not isinstance(condition, Constant):
        return None
    return node.op.branches(node.inputs)[0 if numpy.all(condition.data) else 1]


def equal_branches(fgraph, node):
    """``ifelse(c, a, a)`` → ``a``."""
    pairs = list(zip(*node.op.branches(node.inputs)))
    if not any([first is second for first, second in pairs]):
        return None
    different = [output for output, (first, second) in enumerate(pairs) if first is not second]
    return [first if first is second else None for first, second in pairs] if not different else \
        _spread(node, different, {output: pairs[output][0] for output in range(len(pairs)) if output not in different})


def equal_outputs(fgraph, node):
    """``ifelse(c, (a, a), (b, b))`` → ``a`` and ``b`` once."""
    first_of, kept = {}, []
    for output, pair in enumerate(zip(*node.op.branches(node.inputs))):
        if first_of.setdefault(pair, output) == output:
            kept.append(output)
    if len(kept) == len(node.outputs):
        return None
    outputs = _spread(node, kept, {})
    return [outputs[first_of[pair]] for pair in zip(*node.op.branches(node.inputs))]


def unused_outputs(fgraph, node):
    """Remove values that are not read."""
    kept = [output for output, variable in enumerate(node.outputs) if fgraph.clients[variable]]
    return _spread(node, kept, {}) if 0 < len(kept) < len(node.outputs) else None


def same_condition_inside(branch):
    """``ifelse(c, ifelse(c, a, b), d)`` → ``ifelse(c, a, d)``, for the first or the second branch."""
    def apply(fgraph, node):
        branches = [list(values) for values in node.op.branches(node.inputs)]
        changed = False
        for position, value in enumerate(branches[branch]):
            inner = value.owner
            if inner is not None and isinstance(inner.op, IfElse) and inner.inputs[0] is node.inputs[0]:
                branches[branch][position] = inner.op.branches(inner.inputs)[branch][value.index]
                changed = True
        return node.op(node.inputs[0], *branches[0], *branches[1], return_list=True) if changed else None
    apply.__doc__ = same_condition_inside.__doc__
    return apply


def _spread(node, kept, others):
    """Return the outputs of a smaller node at their positions among all; ``others`` are given, the rest is None."""
    first, second = node.op.branches(node.inputs)
    op = IfElse(len(kept), node.op.as_view, node.op.gpu, node.op.name)
    outputs = op(node.inputs[0], *[first[output] for output in kept], *[second[output] for output in kept],
                 return_list=True)
    found = {**dict(zip(kept, outputs)), **others}
    return [found.get(output) for output in range(len(node.outputs))]


REWRITES = [Rewrite(name, ["IfElse"], apply, (FAST_RUN, "ifelse")) for name, apply in (
    ("cond_known", known_condition), ("cond_equal_branches", equal_branches), ("cond_remove_identical", equal_outputs),
    ("cond_unused_outputs", unused_outputs), ("cond_merge_ifs_true", same_condition_inside(0)),
    ("cond_merge_ifs_false", same_condition_inside(1)))]


# ---- the whole graph -------------------------------------------------------------------------------------------------
def resolve_nested(fgraph):
    """Inside a branch, replace nodes that test the branch's condition again by the values that it selects.

    Returns
    -------
    int
        The number of replaced nodes.
    """
    regions = known_regions(fgraph)
    if regions is None:
        return 0
    regions.arrange(fgraph.toposort())
    known, found = {}, []                       # condition → the branch that contains the present position
    waiting = [(step, None) for step in regions.root.steps]
    for block in regions.blocks:                # a block may be entered from several branches
        waiting.extend([(step, None) for step in block.steps])
    while waiting:
        step, leaves = waiting.pop()
        if isinstance(step, Region) or step not in regions.arms:
            continue
        condition = step.inputs[regions.conditions[step]]
        if leaves is not None:
            if leaves < 2:
                known[condition] = leaves
                waiting.append((step, leaves + 1))
                waiting.extend([(inner, None) for inner in regions.arms[step][leaves].steps])
            else:
                del known[condition]
        elif condition in known:
            if isinstance(step.op, IfElse):
                found.append((step, known[condition]))
            branch = regions.arms[step][known[condition]]
            waiting.extend([(inner, None) for inner in branch.steps])
        else:
            waiting.append((step, 0))
    for node, branch in found:
        fgraph.replace_all(list(zip(node.outputs, node.op.branches(node.inputs)[branch])), reason="cond_merge_nested")
    return len(found)


def merge_branches(fgraph):
    """Merge nodes of one region that have the same condition and do not need each other.

    A schedule is simulated, as for elementwise fusion: every other node runs when it is ready, and when none is ready,
    all waiting nodes with one condition in one region run at the same time. Nodes that only select a fill, as gradients
    of branches do, are not merged: all the zeros would be alive at the same time.

    Returns
    -------
    int
        The number of nodes made.
    """
    regions = known_regions(fgraph)
    if regions is None or len(regions.arms) < 2:
        return 0
    order = fgraph.toposort()
    waiting = {node: len({variable.owner for variable in node.inputs if variable.owner is not None}) for node in order}
    ready = deque([node for node in order if not waiting[node]])
    groups, made = {}, 0                        # region and condition → ready nodes; the oldest first
    while ready or groups:
        if ready:
            node = ready.popleft()
            if isinstance(node.op, IfElse) and not any([key(value) == "Alloc" for value in node.inputs[1:]]):
                question = regions.of[node], node.inputs[0], node.op.as_view, node.op.gpu
                groups.setdefault(question, []).append(node)
                continue
            members = [node]
        else:
            members = groups.pop(next(iter(groups)))
        readers = [dict.fromkeys([reader for output in node.outputs for reader, _ in fgraph.clients[output]
                                  if reader != "output"]) for node in members]
        for reader in [reader for some in readers for reader in some]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
        if len(members) > 1:
            made += _merged(fgraph, members)
    return made


def _merged(fgraph, members):
    """Replace several nodes by one."""
    branches = [[value for node in members for value in node.op.branches(node.inputs)[branch]] for branch in (0, 1)]
    names = [node.op.name for node in members if node.op.name]
    op = IfElse(len(branches[0]), members[0].op.as_view, members[0].op.gpu, "&".join(dict.fromkeys(names)) or None)
    merged = op.make_node(members[0].inputs[0], *branches[0], *branches[1])
    merged._position = Traces([member._position for member in members], in_parts=True)
    fgraph.replace_all(list(zip([output for node in members for output in node.outputs], merged.outputs)),
                       reason="cond_merge")
    return 1


def make_views(fgraph):
    """Make the outputs views of the selected values instead of copies.

    Returns
    -------
    int
        The number of nodes changed.
    """
    found = [node for node in fgraph.apply_nodes if isinstance(node.op, IfElse) and not node.op.as_view
             and (len(fgraph.apply_nodes) < LARGE_GRAPH
                  or any([getattr(output.type, "ndim", None) != 0 for output in node.outputs]))]
    for node in found:
        fgraph.change_op(node, IfElse(node.op.n_outs, True, node.op.gpu, node.op.name))
    return len(found)
