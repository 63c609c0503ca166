"""Emits the code of a graph with lazy branches: jumps around arms, and blocks that run at most once.

A lazy node becomes a JUMPZ on its condition, the first arm, which ends with what the op emits for it, a JUMP, and the
second arm. A block is placed after HALT and after the blocks that it needs, and ends with BACK; NEED enters it.
``graph/lazy_regions.py`` decides which node belongs where.
"""
from phintys.graph.lazy_regions import Region


def lower_nodes(emitter, nodes, regions, lower):
    """Emit the code of nodes.

    Parameters
    ----------
    emitter : Emitter
    nodes : list of Apply
        In the order in which they run.
    regions : LazyRegions or None
    lower : callable
        Emits the code of one node that is not lazy.
    """
    if regions is None:
        for node in nodes:
            lower(node)
        return
    regions.arrange(nodes)
    labels = {block: emitter.label() for block in regions.blocks}
    for block in reversed(regions.blocks):
        emitter.begin_block(labels[block])
        lower_steps(emitter, block.steps, regions, labels, lower)
        emitter.end_block(labels[block])
    lower_steps(emitter, regions.root.steps, regions, labels, lower)


def lower_steps(emitter, steps, regions, labels, lower):
    """Emit the code of the steps of a region, with all arms in it; the work list replaces recursion."""
    waiting = [(step, None) for step in reversed(steps)]
    while waiting:
        step, jumps = waiting.pop()
        if isinstance(step, Region):
            emitter.emit("NEED", a=labels[step])
            continue
        if step not in regions.arms:
            lower(step)
            continue
        first, second = regions.arms[step]
        if jumps is None:
            jumps = otherwise, _ = emitter.label(), emitter.label()
            condition = step.inputs[regions.conditions[step]]
            emitter.emit("JUMPZ", a=otherwise, b=emitter.cell_of[condition], node=step)
            waiting.append((step, jumps))
            waiting.extend([(inner, None) for inner in reversed(first.steps)])
        elif len(jumps) == 2:
            otherwise, end = jumps
            step.op.lower_branch(emitter, step, 0)
            emitter.emit("JUMP", a=end)
            emitter.emit("LABEL", a=otherwise)
            waiting.append((step, (end,)))
            waiting.extend([(inner, None) for inner in reversed(second.steps)])
        else:
            step.op.lower_branch(emitter, step, 1)
            emitter.emit("LABEL", a=jumps[0])
